"""Short RBF runs share a scan, and each gives the rows that it gives alone."""

from __future__ import annotations

from typing import Any

import pytest
from thawline.generated.tables.rbf import FRAMES

import thawline
from thawline.engine import columns
from thawline.formats.contract import Depth, read
from thawline.formats.rbf import Log, Rbf, rows
from thawline.formats.rbf.findings import leading_fences
from thawline.model import Finding, Run
from thawline.source import open_source
from tools.bench import attack
from tools.bench.attack import FENCE, file_of, frame

BROKEN = attack.changed(4, b"x")
MIXED = FENCE + b"".join(
    (frame(b"%d" * (number % 5) % ((number,) * (number % 5)), number % 3, is_tombstone=number % 7 == 0) + FENCE)
    + (BROKEN if number % 4 == 0 else b"gap!" + FENCE if number % 3 == 0 else b"")
    for number in range(300)
)
CARRYING = file_of(frame(b"first"), frame(b"tag." + file_of(frame(b"in"), frame(b"side")) + b"gap." + FENCE, 2))
LOGS = {"mixed": MIXED, "suspects": CARRYING[:-8] + b"????" + FENCE + MIXED[4:]} | {
    name: build(1 << 13) for name, build in attack.ATTACKS.items()
}


def given(reading: Any) -> list[object]:
    """Runs with their rows, and findings."""
    return [
        item if isinstance(item, Finding) else (item[0], [row for batch in item[1] for row in batch.to_pylist()])
        for item in reading
    ]


@pytest.mark.parametrize("tag", [None, (1,), (1, 2), (9,)])
@pytest.mark.parametrize("name", LOGS)
def test_each_run_gives_the_rows_that_it_gives_alone(
    name: str, tag: tuple[int, ...] | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    names = FRAMES.schema.names
    with open_source(LOGS[name]) as source:
        log = Log(Rbf(tag=tag))
        alone = [
            found
            for item in log.walk(source, Depth.EVERYTHING)
            for found in given(log.rows(source, [item], "frames", names) if isinstance(item, Run) else [item])
        ]
        assert given(read(log, source, "frames", names)) == alone
        monkeypatch.setattr(columns, "MAX_ROWS", 7)
        assert given(read(log, source, "frames", names)) == alone
        monkeypatch.setattr(rows, "MOST_ITEMS", 3)
        assert given(read(log, source, "frames", names)) == alone


def test_rows_and_damage_keep_their_order() -> None:
    data = file_of(frame(b"a"), frame(b"b")) + b"gap!" + FENCE + frame(b"c") + FENCE + BROKEN
    with thawline.open(data, "rbf", on_error="keep") as cold:
        found = [row for batch in cold.batches(["payload", "_corrupt_record"]) for row in batch.to_pylist()]
    assert [row["payload"] or row["_corrupt_record"] for row in found] == [b"a", b"b", b"gap!" + FENCE, b"c", BROKEN]


def test_many_short_runs_take_few_scans(monkeypatch: pytest.MonkeyPatch) -> None:
    scans, scan = [], columns.scan

    def counted(table: str, *given: Any, **options: Any) -> Any:
        scans.append(table)
        return scan(table, *given, **options)

    monkeypatch.setattr(columns, "scan", counted)
    with thawline.open(attack.speckled(1 << 16), "rbf") as cold:
        assert sum(batch.num_rows for batch in cold.batches()) == (1 << 16) // 32
    assert len(scans) < 10


def test_no_more_of_a_gap_is_copied_than_is_looked_at(monkeypatch: pytest.MonkeyPatch) -> None:
    looked_at, leading = [], leading_fences

    def counted(part: bytes) -> int:
        looked_at.append(len(part))
        return leading(part)

    monkeypatch.setattr("thawline.formats.rbf.findings.leading_fences", counted)
    data = attack.ATTACKS["broken frames"](1 << 16)
    with thawline.open(data, "rbf") as cold:
        assert len(cold.verify().findings) == len(data) // 24
    assert sum(looked_at) < len(data)
