"""Lazy frames and datasets: the rows that a query would give without them, and what stays closed."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import duckdb
import polars as pl
import pyarrow as pa
import pyarrow.dataset as ds
import pytest
from accounts import GOLDEN

import thawline
from thawline.formats.kafka import records
from thawline.formats.kafka.write import KafkaSegmentWriter
from thawline.lazily import _of_arrow, _of_polars

START = dt.datetime(2023, 11, 14, 22, 13, 20, tzinfo=dt.UTC)
OFFSET = pl.col("offset")


@pytest.fixture(scope="module")
def partition(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A thousand records in a hundred batches."""
    folder = tmp_path_factory.mktemp("lazily") / "orders-3"
    with KafkaSegmentWriter(folder, compression="gzip", batch_records=10) as log:
        for offset in range(1000):
            key = None if offset % 5 == 0 else b"user-%d" % (offset % 7)
            log.append(key=key, value=b"x" * offset, timestamp=1_700_000_000_000 + 1000 * offset)
    return folder


@pytest.fixture
def opened(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[tuple[int, Any]]]:
    """How many batches of each request were decoded, and what was requested of them."""
    counts: list[tuple[int, Any]] = []
    decode = records.decode

    def counted(source: Any, heads: Any, request: Any) -> Any:
        counts.append((len(heads.positions), request))
        return decode(source, heads, request)

    monkeypatch.setattr(records, "decode", counted)
    return counts


PREDICATES = [
    (OFFSET.is_between(500, 509), 2),
    ((OFFSET >= 990) & (pl.col("value").bin.size() > 0), 2),
    (pl.lit(10) > OFFSET, 2),
    (pl.col("timestamp") < START + dt.timedelta(seconds=10), 100),
    ((pl.col("timestamp") >= START + dt.timedelta(seconds=995)) & (pl.col("key") != b"user-1"), 2),
    ((OFFSET == 7) | (OFFSET == 800), 100),
    (~(OFFSET < 990), 100),
    (pl.col("key").is_null() & (OFFSET < 20), 3),
]


@pytest.mark.parametrize(("predicate", "most"), PREDICATES, ids=[str(predicate) for predicate, _ in PREDICATES])
def test_a_lazy_frame_gives_the_rows_of_all_rows_and_leaves_others_closed(
    partition: Path, opened: list[tuple[int, Any]], predicate: pl.Expr, most: int
) -> None:
    with thawline.open_folder(partition) as folder:
        expected = pl.DataFrame(folder).filter(predicate).select("offset", "key")
        del opened[:]
        assert folder.lazy().filter(predicate).select("offset", "key").collect().equals(expected)
    assert expected.height
    assert 1 <= sum(count for count, _ in opened) <= most


def test_a_lazy_frame_reads_only_the_columns_and_rows_that_it_gives() -> None:
    asked: list[Any] = []
    with thawline.open(GOLDEN / "kafka/many-records.log") as cold:
        pruned = cold.pruned

        def watched(columns: Any, bound: Any) -> Iterator[pa.RecordBatch]:
            for batch in pruned(columns, bound):
                asked.append((set(columns), batch.num_rows))
                yield batch

        cold.pruned = watched  # type: ignore[method-assign]
        assert cold.lazy().select("offset").head(3).collect()["offset"].to_list() == [0, 1, 2]
        assert len(asked) == 1
        assert asked[0][0] == {"offset"}
        counted = cold.lazy().filter(OFFSET < 5).select(pl.len()).collect().item()
    assert counted == 5


QUERIES = [
    ('"offset" between 500 and 509', 2),
    ('"offset" >= 990 and octet_length(value) > 0', 2),
    ("\"timestamp\" >= timestamptz '2023-11-14 22:29:50+00'", 2),
    ("key = 'user-3'::blob and \"offset\" < 20", 3),
    ('"offset" in (7, 800)', 100),
    ('key is null and "offset" > 980', 3),
    ("topic = 'orders' and partition = 3 and \"offset\" = 5", 1),
    ("topic = 'it''s (\"x\") and (offset < 0)' or \"offset\" = 5", 100),
]


@pytest.mark.parametrize(("where", "most"), QUERIES, ids=[where for where, _ in QUERIES])
def test_a_query_of_duckdb_over_a_dataset_reads_what_it_needs(
    partition: Path, opened: list[tuple[int, Any]], where: str, most: int
) -> None:
    query = f'select "offset", key from {{}} where {where} order by 1'  # noqa: S608
    with thawline.open_folder(partition) as folder, duckdb.connect() as connection:
        rows = pa.table(folder)
        expected = connection.sql(query.format("rows")).fetchall()
        del opened[:], rows
        dataset = folder.dataset()
        assert connection.sql(query.format("dataset")).fetchall() == expected
        assert dataset.schema == folder.schema
    assert sum(count for count, _ in opened) <= most
    assert expected


def test_a_dataset_is_read_as_often_as_it_is_asked_for(partition: Path) -> None:
    with thawline.open_folder(partition) as folder, duckdb.connect() as connection:
        dataset = folder.dataset()
        joined = 'select count(*) from dataset a join dataset b using ("offset") where a."offset" < 30'
        assert connection.sql(joined).fetchall() == [(30,)]
        assert dataset.scanner(columns=["key"], filter=ds.field("offset") == 3).to_table().to_pylist() == [
            {"key": b"user-3"}
        ]


def test_only_what_every_wanted_row_meets_is_passed_on() -> None:
    field = ds.field
    assert len(_of_arrow((field("a") >= 1) & ((field("b") < 2) & (field("c") == "x) and (d < 1")))) == 3
    assert _of_arrow((field("a") >= 1) | (field("b") < 2)) == ()
    assert _of_arrow(~((field("a") >= 1) & (field("b") < 2))) == ()
    assert _of_arrow((field("a") >= 1).is_null()) == ()
    assert _of_polars(((OFFSET > 1) & (OFFSET < 5)).is_null()) == ()
    assert _of_polars((OFFSET > 1) | (OFFSET < 5)) == ()
    assert len(_of_polars((OFFSET > 1) & (OFFSET < 5) & OFFSET.map_elements(bool, pl.Boolean))) in {0, 2}
