"""Entries of one kind and another by turns: told as if each were read by itself, and read many at a time."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Callable, Iterator
from random import Random
from typing import Any

import pytest
import zstandard
from backups import HEADER, numbered
from seeds import SEED

import thawline
from thawline import native
from thawline.engine import columns
from thawline.formats.aerospike import Aerospike, Backup, rows, salvage, text
from thawline.formats.aerospike.text import entries_of
from thawline.formats.aerospike.walk import Walk
from thawline.formats.contract import Depth, Kind, read
from thawline.model import Finding, Run
from thawline.source import LocalSource, Source

HEAD = b"Version 3.1\n# namespace test\n"
RECORD = b"+ n test\n+ d " + b64encode(bytes(range(20))) + b"\n+ s demo\n+ g 1\n+ t 0\n+ b 1\n- I a 1\n"
BROKEN = RECORD.replace(b"+ g 1", b"+ g x")
REFUSED = RECORD.replace(b"+ g 1", b"+ g ")
INDEX, UDF = b"* i test demo ix N 1 a N\n", b"* u L a 1 x\n"
PIECES = [
    RECORD, RECORD * 3, RECORD * 80, BROKEN, REFUSED, INDEX, INDEX.replace(b"N\n", b"N x\n"), b"* e" + INDEX[3:], UDF,
    INDEX.replace(b" 1 ", b" 2 "), b"\n", b"- I b 1\n", b"* q\n", b"+ n test\n", b"+ k I 1\n" + RECORD,
    RECORD.replace(b"demo", b"de\\mo"), RECORD.replace(b"- I a 1", b"- S a 1 \xff"),
    RECORD.replace(b"- I a 1", b"- L! a 1 x"), RECORD.replace(b"- I a 1", b"- D a 0x1p3"),
    RECORD.replace(b"- I a 1", b"- I " + b"n" * 20 + b" 1"), RECORD.replace(b"- I a 1", b"- S a 200 x"),
    RECORD.replace(b"+ b 1", b"+ b 2"), RECORD.replace(b"test", b"te\0st"), b"* u L a 9 x\n",
]  # fmt: skip

needs_native = pytest.mark.skipif(not native.is_compiled, reason="the plain parsers read entries one by one")


def mixed(random: Random) -> bytes:
    """A backup of some kinds of entries by turns; one in four is compressed, in two frames."""
    some = random.sample(PIECES, 4)
    version = random.choice([b"Version 3.0\n", HEAD, b"Version 3.2\n"])
    data = version + b"".join(random.choice(some) for _ in range(random.randrange(2, 60)))
    if random.random() < 0.75:
        return data
    middle = random.randrange(len(data))
    return zstandard.compress(data[:middle]) + zstandard.compress(data[middle:])


def told(data: bytes, *, strict: bool | None) -> list[object]:
    """Everything that a scan, a reading and a salvage say; intact runs that touch are one."""
    kind, source = Backup(Aerospike(strict=strict)), LocalSource("x.asb", data)
    said: list[object] = list(joined(kind.walk(source, Depth.EVERYTHING)))
    for table, held in kind.tables.items():
        names = {*held.schema.names, *held.extras.names}
        for item in read(kind, source, table, names):
            batches = () if isinstance(item, Finding) else item[1]
            said += [item] if isinstance(item, Finding) else [row for batch in batches for row in batch.to_pylist()]
    return [*said, b"".join(map(bytes, kind.salvage(source, kind.intact(source))))]


def joined(items: Iterator[Run | Finding]) -> Iterator[object]:
    kept: tuple[Any, ...] | None = None
    for item in items:
        if isinstance(item, Finding):
            yield from (item,) if kept is None else (kept, item)
            kept = None
            continue
        kind = entries_of(item).table, entries_of(item).suspect
        if kept and kept[0] == kind and kept[2] == item.span.start:
            kept = kind, kept[1], item.span.end, kept[3] + item.units
            continue
        if kept:
            yield kept
        kept = kind, item.span.start, item.span.end, item.units
    if kept:
        yield kept


@needs_native
@pytest.mark.parametrize("strict", [None, True, False])
def test_entries_by_turns_are_told_as_if_each_were_read_by_itself(
    *, strict: bool | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    random = Random(SEED)
    cases = [mixed(random) for _ in range(15)]
    together = [told(data, strict=strict) for data in cases]
    monkeypatch.setattr(Walk, "_patch", lambda *_, **__: iter(()))
    for data, found in zip(cases, together, strict=True):
        assert found == told(data, strict=strict), f"THAWLINE_SEED={SEED}"


def counted(monkeypatch: pytest.MonkeyPatch, where: object, name: str) -> list[str]:
    """A list that grows with every call of a function."""
    calls: list[str] = []
    before: Callable[..., Any] = getattr(where, name)

    def watched(*given: Any, **options: Any) -> Any:
        calls.append(name)
        return before(*given, **options)

    monkeypatch.setattr(where, name, watched)
    return calls


@needs_native
@pytest.mark.parametrize("turns", [RECORD + BROKEN, RECORD + INDEX, INDEX + UDF, REFUSED, RECORD + REFUSED])
def test_the_number_of_scans_does_not_grow_with_the_number_of_turns(
    turns: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    calls = counted(monkeypatch, columns, "scan")
    with thawline.open(HEAD + 1000 * turns, "aerospike") as cold:
        rows = sum(batch.num_rows for batch in cold.batches())
    assert rows == 1000 * (turns.count(RECORD) + turns.count(REFUSED))
    assert len(calls) < 20


@needs_native
@pytest.mark.parametrize("turns", [RECORD + BROKEN, RECORD + INDEX, INDEX + UDF, REFUSED, RECORD + REFUSED])
@pytest.mark.parametrize("chosen", ["demo", "other"])
def test_so_it_does_where_only_some_sets_are_requested(
    turns: bytes, chosen: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    calls = counted(monkeypatch, columns, "scan")
    with thawline.open(HEAD + 1000 * turns, "aerospike", set=chosen) as cold:
        rows = sum(batch.num_rows for batch in cold.batches())
    assert rows == (1000 * (turns.count(RECORD) + turns.count(REFUSED)) if chosen == "demo" else 0)
    assert len(calls) < 30


@needs_native
def test_the_rows_of_a_chunk_are_made_once_however_many_of_them_are_wrong(monkeypatch: pytest.MonkeyPatch) -> None:
    calls = counted(monkeypatch, rows, "record_batch")
    with thawline.open(HEAD + 1000 * (RECORD + b"+ k I 1\n" + RECORD), "aerospike") as cold:
        suspects = [row["suspect"] for batch in cold.batches() for row in batch.to_pylist()]
    assert suspects == 1000 * [None, "digest"]
    assert len(calls) < 10


def test_a_version_3_0_entry_with_a_backslash_needs_no_text_for_its_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    calls = counted(monkeypatch, salvage, "encode")
    data = b"Version 3.0\n" + 50 * RECORD.replace(b"demo", b"de\\mo")
    with thawline.open(data, "aerospike") as cold:
        assert {row["set"] for batch in cold.batches() for row in batch.to_pylist()} == {"de\\mo"}
    assert len(calls) == 50, "each is encoded once, for the kernel"


def test_bytes_that_start_no_frame_are_not_decompressed_to_see_that(monkeypatch: pytest.MonkeyPatch) -> None:
    calls = counted(monkeypatch, text, "zstd_blocks")
    whole = zstandard.compress(HEAD + RECORD)
    data = memoryview(1000 * text.ZSTD_MAGIC + whole)
    found = text.next_frame(data, 0)
    assert found
    assert found.start == 4000
    assert len(calls) < 5


def test_a_walk_that_looks_ahead_still_knows_the_frames_of_what_it_tells() -> None:
    frames = [zstandard.compress(HEAD)] + 30 * [zstandard.compress(RECORD), zstandard.compress(BROKEN + INDEX)]
    source = LocalSource("x.asb", b"".join(frames))
    kind = Backup(Aerospike())
    walked = kind.walk(source, Depth.EVERYTHING)
    runs = [item for item in walked if isinstance(item, Run) and entries_of(item).table == "records"]
    assert rows_of(kind, source, runs, "set") == 30 * ["demo"]
    starts = [sum(map(len, frames[:number])) for number in range(1, len(frames), 2)]
    assert [frame[0] for run in runs if (frame := entries_of(run).frame)] == starts


def rows_of(kind: Kind, source: Source, runs: list[Run], column: str) -> list[object]:
    """A column of the records of some runs."""
    reading = kind.rows(source, [run.portable() for run in runs], "records", [column])
    batches = (batch for item in reading if not isinstance(item, Finding) for batch in item[1])
    return [row[column] for batch in batches for row in batch.to_pylist()]


def test_records_behind_a_broken_frame_are_read_again_from_where_they_lie() -> None:
    frames = [zstandard.compress(b"".join(map(numbered, range(10 * n, 10 * n + 10)))) for n in range(3)]
    data = zstandard.compress(HEADER) + frames[0] + frames[1][:-9] + frames[2]
    with thawline.open(data, "aerospike") as cold:
        runs = [item for item in cold.scan() if isinstance(item, Run) and item.rows]
        assert [entries_of(run).segment for run in runs] == [0, data.index(frames[2])]
        digests = rows_of(cold.kind, cold.source, runs, "digest")
        assert digests == [row["digest"] for batch in cold.batches(["digest"]) for row in batch.to_pylist()]
    assert len(digests) == 20


def test_what_is_said_of_a_broken_frame_does_not_depend_on_what_was_read_before() -> None:
    broken = zstandard.compress(HEADER + Random(1).randbytes(3000).hex().encode())
    broken = zstandard.compress(HEADER) + broken[:-200] + bytes(200)

    def reasons() -> list[object]:
        with thawline.open(broken, "aerospike") as cold:
            return [finding.detail.get("reason") for finding in cold.findings()]

    before = reasons()
    assert before
    thawline.open(zstandard.compress(HEADER + b"".join(map(numbered, range(20_000)))), "aerospike").verify()
    assert reasons() == before
