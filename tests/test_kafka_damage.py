"""Whatever befalls a segment, all verbs say the same of it, and what is salvaged is without damage."""

from __future__ import annotations

import os
from pathlib import Path

import pyarrow as pa
import pytest
from kafka_damage import every_kind, segments
from partitions import batch as batch_at

from thawline.batches import last
from thawline.cold import ColdFile, open_cold
from thawline.formats.kafka import salvage as kafka_salvage
from thawline.verbs.salvage import salvage

SEGMENTS = segments()
TABLES = ("records", "batches", "control")
SEEDS = 1
NAMED = "00000000000000000003.log"
EVERY_COLUMN = [
    "key", "value", "offset", "timestamp", "timestampType", "headers", "transaction", "producer_id", "sequence",
    "batch_start", "timestamp_ms", "is_control",
]  # fmt: skip


@pytest.fixture(autouse=True)
def no_waiting_for_the_disk(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "fsync", lambda _: None)


def opened(data: bytes | Path, table: str | None = None, **options: object) -> ColdFile:
    return open_cold(data, "kafka", table, **options)


def check_rows(data: bytes) -> None:
    """Every table is valid Arrow, has the rows that verify counts, and its end is what `tail` says."""
    with opened(data) as cold:
        rows = cold.verify().rows
    for table in TABLES:
        with opened(data, table) as cold:
            batches = list(cold.batches(EVERY_COLUMN if table == "records" else None))
            for batch in batches:
                batch.validate(full=True)
            if table == "records":
                assert sum(batch.num_rows for batch in batches) == rows
                schema = cold.projected(["offset", "batch_start", "value"])
                ends = (last(cold.batches(schema.names), 2), cold.tail(2, schema.names))
                cat, tail = (pa.Table.from_batches(batches, schema).to_pylist() for batches in ends)
                assert tail == cat


def check_salvage(data: bytes | Path, target: Path, *, recover: bool) -> None:
    with opened(data) as cold:
        is_damaged = not cold.verify().ok
        done = salvage(cold, target, overwrite=True, recover=recover)
    assert bool(done.lost or done.recovered or done.suspects) == is_damaged
    with opened(target) as cold:
        report = cold.verify()
        assert [finding.code.id for finding in report.findings if finding.severity == "error"] == []
        assert (report.units, report.rows, report.size) == (done.units, done.rows, done.bytes_written)


@pytest.mark.parametrize("name", SEGMENTS)
def test_whatever_befalls_a_segment_all_verbs_agree_about_it(name: str) -> None:
    for seed in range(SEEDS):
        for data in every_kind(SEGMENTS[name], seed):
            check_rows(data)


@pytest.mark.parametrize("name", SEGMENTS)
def test_what_is_salvaged_is_without_damage_whatever_befell_the_segment(name: str, tmp_path: Path) -> None:
    for seed in range(SEEDS):
        for data in every_kind(SEGMENTS[name], seed):
            check_salvage(data, tmp_path / "intact.log", recover=bool(len(data) % 2))


@pytest.mark.parametrize("name", SEGMENTS)
def test_what_is_salvaged_may_keep_the_name_of_the_segment(name: str, tmp_path: Path) -> None:
    source, target = tmp_path / "damaged" / NAMED, tmp_path / NAMED
    source.parent.mkdir()
    for data in every_kind(SEGMENTS[name], SEEDS):
        source.write_bytes(data)
        check_salvage(source, target, recover=bool(len(data) % 2))


@pytest.mark.parametrize("name", SEGMENTS)
def test_what_is_salvaged_is_without_damage_where_offsets_were_judged_often_enough(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(kafka_salvage, "ROUNDS", 0)
    for data in every_kind(SEGMENTS[name], SEEDS + 1):
        check_salvage(data, tmp_path / "intact.log", recover=bool(len(data) % 2))


def test_the_longest_series_of_offsets_is_kept_where_nothing_else_helps(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(kafka_salvage, "ROUNDS", 0)
    found = [0, 4, 8, 100, 104, 12, 16, 20]
    data = b"".join(batch_at(offset).build() for offset in found) + b"\xff" * 20
    with opened(data) as cold:
        done = salvage(cold, tmp_path / "intact.log")
    with opened(tmp_path / "intact.log") as cold:
        rows = [row["offset"] for part in cold.batches(["offset"]) for row in part.to_pylist()]
    assert (rows, [finding.code.id for finding in done.lost]) == ([*range(24)], ["KAF106", "KAF106", "KAF102"])


@pytest.mark.fuzz
@pytest.mark.parametrize("name", SEGMENTS)
def test_the_same_holds_after_many_kinds_of_damage(name: str, tmp_path: Path) -> None:
    for seed in range(100, 130):
        for data in every_kind(SEGMENTS[name], seed):
            check_rows(data)
            check_salvage(data, tmp_path / "intact.log", recover=bool(seed % 2))
