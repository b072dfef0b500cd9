"""Parquet files: whoever encodes their row groups, every reader finds the same rows, statistics and page index."""

from __future__ import annotations

import io
from datetime import UTC, datetime
from itertools import accumulate, pairwise
from pathlib import Path

import duckdb
import pyarrow as pa
import pytest
from accounts import GOLDEN
from borg_repositories import run as command
from click.testing import CliRunner
from pyarrow import parquet

import thawline
from thawline import partials
from thawline.cli import commands
from thawline.errors import SourceError
from thawline.jobs import Crew
from thawline.outputs import replacing_folder
from thawline.parquet import BadCompression, ParquetSettings, ParquetWriter
from thawline.parts import divided
from thawline.thrift import decode, encode

SEGMENT = GOLDEN / "kafka" / "many-records.log"
WORKERS = (1, 2, 7)

SCHEMA = pa.schema(
    [
        ("number", pa.int64()),
        ("text", pa.string()),
        ("blob", pa.binary()),
        ("time", pa.timestamp("us", "UTC")),
        ("items", pa.list_(pa.struct([("name", pa.string()), ("score", pa.float64())]))),
    ]
)


def batch(first: int, rows: int) -> pa.RecordBatch:
    return pa.RecordBatch.from_pylist(
        [
            {
                "number": number,
                "text": None if number % 7 == 0 else f"text {number % 100}",
                "blob": bytes([number % 256]) * (number % 50),
                "time": datetime.fromtimestamp(number, UTC),
                "items": [{"name": f"n{at}", "score": at / 2} for at in range(number % 4)],
            }
            for number in range(first, first + rows)
        ],
        schema=SCHEMA,
    )


def written(settings: ParquetSettings, workers: int, batches: list[pa.RecordBatch]) -> bytes:
    file = io.BytesIO()
    writer = ParquetWriter(file, SCHEMA, settings, Crew(workers))
    for each in batches:
        writer.write(each)
    writer.close()
    return file.getvalue()


def ends_of_groups(data: bytes) -> list[int]:
    """The number of rows up to the end of each row group."""
    metadata = parquet.ParquetFile(io.BytesIO(data)).metadata
    return list(accumulate(metadata.row_group(index).num_rows for index in range(metadata.num_row_groups)))


BATCHES = [batch(1000 * number, 1000) for number in range(40)]
SMALL_GROUPS = ParquetSettings.of(row_group_bytes=64 << 10)


@pytest.fixture(scope="module", params=WORKERS)
def whole(request: pytest.FixtureRequest) -> bytes:
    return written(SMALL_GROUPS, request.param, BATCHES)


def test_rows_come_back_in_order_from_row_groups_that_were_encoded_side_by_side(whole: bytes) -> None:
    assert parquet.read_table(io.BytesIO(whole)).equals(pa.Table.from_batches(BATCHES))
    assert len(ends_of_groups(whole)) > 20


def test_the_file_is_the_same_for_any_number_of_workers(whole: bytes) -> None:
    assert whole == written(SMALL_GROUPS, 1, BATCHES)


def test_every_row_group_can_be_read_by_itself(whole: bytes) -> None:
    file = parquet.ParquetFile(io.BytesIO(whole))
    rows = pa.Table.from_batches(BATCHES).combine_chunks()
    for index, (start, end) in enumerate(pairwise([0, *ends_of_groups(whole)])):
        assert file.read_row_group(index).equals(rows.slice(start, end - start))


def test_row_groups_have_about_as_many_bytes_as_are_requested(whole: bytes) -> None:
    rows = pa.Table.from_batches(BATCHES).combine_chunks()
    spans = list(pairwise([0, *ends_of_groups(whole)]))
    sizes = [rows.slice(start, end - start).nbytes for start, end in spans]
    assert all(50_000 < size < 80_000 for size in sizes[:-1])


def test_where_row_groups_end_by_their_rows_does_not_depend_on_the_batches() -> None:
    rows = pa.Table.from_batches(BATCHES * 5).combine_chunks().to_batches()
    assert ends_of_groups(written(ParquetSettings(), 1, rows)) == [65_536, 131_072, 196_608, 200_000]
    assert written(ParquetSettings(), 2, BATCHES * 5) == written(ParquetSettings(), 1, rows)


def test_columns_have_statistics_and_a_page_index(whole: bytes) -> None:
    metadata = parquet.ParquetFile(io.BytesIO(whole)).metadata
    spans = list(pairwise([0, *ends_of_groups(whole)]))
    for index in range(metadata.num_row_groups):
        group = metadata.row_group(index)
        numbers = group.column(0)
        start, end = spans[index]
        assert (numbers.statistics.min, numbers.statistics.max) == (start, end - 1)
        assert all(group.column(at).has_offset_index for at in range(group.num_columns))
        assert numbers.has_column_index


def test_duckdb_filters_by_what_the_footer_says(whole: bytes, tmp_path: Path) -> None:
    path = tmp_path / "a.parquet"
    path.write_bytes(whole)
    rows = duckdb.read_parquet(str(path))
    found = (
        rows.filter("number between 5500 and 7499").aggregate("count(*), epoch(min(time)), max(len(items))").fetchall()
    )
    assert found == [(2000, 5500.0, 3)]
    assert [str(rows.types[at]) for at in (0, 1, 3)] == ["BIGINT", "VARCHAR", "TIMESTAMP WITH TIME ZONE"]


def test_a_page_index_names_the_pages_where_they_are(whole: bytes) -> None:
    # pyarrow does not read offset indexes; their first page must be where the footer says that data begins.
    footer = decode(whole[-8 - int.from_bytes(whole[-8:-4], "little") : -8])
    groups = footer[4][1].values
    for group in groups:
        for chunk in group[1][1].values:
            start, size = chunk[4][1], chunk[5][1]
            pages = decode(whole[start : start + size])[1][1].values
            assert pages[0][1][1] == chunk[3][1][9][1]
    assert len(groups) == len(ends_of_groups(whole))


def test_a_footer_is_encoded_as_it_was(whole: bytes) -> None:
    footer = whole[-8 - int.from_bytes(whole[-8:-4], "little") : -8]
    assert encode(decode(footer)) == footer


@pytest.mark.parametrize("workers", WORKERS)
def test_a_file_without_rows_has_its_columns(workers: int) -> None:
    table = parquet.read_table(io.BytesIO(written(ParquetSettings(), workers, [])))
    assert (table.num_rows, table.schema.names) == (0, SCHEMA.names)


@pytest.mark.parametrize(
    ("text", "name"), [("zstd:9", "ZSTD"), ("snappy", "SNAPPY"), ("lz4", "LZ4"), ("none", "UNCOMPRESSED")]
)
def test_the_compression_is_the_one_that_was_requested(text: str, name: str) -> None:
    data = written(ParquetSettings.of(text), 2, BATCHES[:2])
    assert parquet.ParquetFile(io.BytesIO(data)).metadata.row_group(0).column(0).compression == name


@pytest.mark.parametrize("text", ["brotli", "zstd:", "zstd:x", "zstd:99", "snappy:3", "none:1", ""])
def test_a_compression_that_is_not_there_is_refused(text: str) -> None:
    with pytest.raises(BadCompression):
        ParquetSettings.of(text)


# Folders of parts.


@pytest.mark.parametrize("workers", WORKERS)
def test_a_folder_of_parts_holds_the_rows_of_the_file(workers: int, tmp_path: Path) -> None:
    rows = thawline.convert(SEGMENT, f"{tmp_path}/out/", jobs=workers)
    with thawline.open(SEGMENT) as cold:
        expected = pa.Table.from_batches(cold.batches())
    assert rows == expected.num_rows
    assert parquet.read_table(tmp_path / "out").equals(expected)
    assert [path.name for path in (tmp_path / "out").iterdir()] == ["part-00000.parquet"]


@pytest.mark.parametrize("workers", WORKERS)
def test_a_part_that_is_full_is_followed_by_another(
    workers: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("thawline.parts.PART_BYTES", 1)
    monkeypatch.setattr("thawline.parquet.MOST_ROWS", 200)
    thawline.convert(SEGMENT, f"{tmp_path}/out/", jobs=workers)
    parts = sorted((tmp_path / "out").iterdir())
    assert len(parts) > 2
    with thawline.open(SEGMENT) as cold:
        expected = pa.Table.from_batches(cold.batches())
    assert pa.concat_tables(parquet.read_table(part) for part in parts).equals(expected)


@pytest.mark.parametrize("workers", WORKERS)
def test_values_of_a_column_become_folders_that_spark_and_duckdb_know(workers: int, tmp_path: Path) -> None:
    source = GOLDEN / "rbf" / "many-frames.rbf"
    thawline.convert(source, f"{tmp_path}/out/", partition_by="tag", jobs=workers)
    with thawline.open(source) as cold:
        table = pa.Table.from_batches(cold.batches())
    rows = duckdb.read_parquet(f"{tmp_path}/out/*/*.parquet", hive_partitioning=True)
    found = rows.aggregate("tag, count(*)").fetchall()
    expected = table.group_by("tag").aggregate([([], "count_all")]).to_pylist()
    assert sorted(found) == sorted((row["tag"], row["count_all"]) for row in expected)
    for folder in (tmp_path / "out").iterdir():
        files = pa.concat_tables(parquet.read_table(part, partitioning=None) for part in sorted(folder.iterdir()))
        assert "tag" not in files.schema.names
        addresses = files["address"].to_pylist()
        assert addresses == sorted(addresses)


def test_rows_without_a_value_and_values_with_slashes_have_folders_of_their_own() -> None:
    rows = pa.record_batch({"a": ["x/../y", None, "", "ä=b", "x/../y"], "b": [1, 2, 3, 4, 5]})
    found = [(name, part["b"].to_pylist()) for name, part in divided(rows, "a")]
    null = "a=__HIVE_DEFAULT_PARTITION__"
    assert found == [("a=x%2F..%2Fy", [1, 5]), (null, [2]), (null, [3]), ("a=%C3%A4%3Db", [4])]


@pytest.mark.parametrize("column", ["value", "timestamp", "nothing", "offset"])
def test_a_column_that_rows_cannot_be_divided_by_is_refused_and_nothing_is_left(column: str, tmp_path: Path) -> None:
    code, _, told = command("convert", SEGMENT, "-o", f"{tmp_path}/out/", "--partition-by", column)
    assert (code, list(tmp_path.iterdir())) == (2, [])
    assert column in told


def test_a_folder_is_replaced_only_on_request_and_only_if_it_holds_parts_alone(tmp_path: Path) -> None:
    out = f"{tmp_path}/out/"
    assert command("convert", SEGMENT, "-o", out)[0] == 0
    first = (tmp_path / "out" / "part-00000.parquet").read_bytes()
    assert command("convert", SEGMENT, "-o", out, "--columns", "offset")[0] == 2
    assert (tmp_path / "out" / "part-00000.parquet").read_bytes() == first
    assert command("convert", SEGMENT, "-o", out, "--columns", "offset", "--overwrite")[0] == 0
    assert parquet.read_schema(tmp_path / "out" / "part-00000.parquet").names == ["offset"]
    (tmp_path / "out" / "notes.txt").write_text("mine", encoding="utf-8")
    code, _, told = command("convert", SEGMENT, "-o", out, "--overwrite")
    assert code == 2
    assert "notes.txt: is no part of an earlier output" in told
    assert sorted(path.name for path in tmp_path.iterdir()) == ["out"]


def test_a_folder_appears_complete_or_not_at_all(tmp_path: Path) -> None:
    target = tmp_path / "out"

    def write_half() -> None:
        with replacing_folder(target) as staged:
            (staged / "part-00000.parquet").write_bytes(b"half")
            assert not target.exists()
            raise SourceError("no more")

    with pytest.raises(SourceError, match="no more"):
        write_half()
    assert list(tmp_path.iterdir()) == []


def test_the_folder_of_a_run_that_was_killed_goes_with_the_next_one(tmp_path: Path) -> None:
    left, other = partials.new(tmp_path / "out", ".parts"), partials.new(tmp_path / "out", ".parts")
    for folder, name in ((left / "a=1", "part-00000.parquet"), (other, "precious.txt")):
        folder.mkdir(parents=True)
        (folder / name).write_bytes(b"half")
    assert command("convert", SEGMENT, "-o", f"{tmp_path}/out/")[0] == 0
    assert {path.name for path in tmp_path.iterdir()} == {"out", other.name}
    partials.forget(other)


@pytest.mark.parametrize(
    "arguments",
    [
        ("-o", "{}/a.csv", "--compression", "snappy"),
        ("-o", "{}/a.csv", "--row-group-bytes", "1MB"),
        ("-o", "{}/a.parquet", "--partition-by", "offset"),
        ("-o", "{}/a.parquet", "--compression", "brotli"),
        ("-o", "{}/a.parquet", "--row-group-bytes", "1"),
        ("-o", "{}/a.parquet", "--jobs", "0"),
    ],
)
def test_an_option_that_does_not_fit_the_output_is_refused(arguments: tuple[str, ...], tmp_path: Path) -> None:
    done = CliRunner().invoke(commands, ["convert", str(SEGMENT), *(each.format(tmp_path) for each in arguments)])
    assert list(tmp_path.iterdir()) == []
    assert done.exit_code == 2 or isinstance(done.exception, BadCompression)
