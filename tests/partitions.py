"""Folders of Kafka partitions, built with construct: segments of batches, and the files that a broker writes beside."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from crc32c import crc32c

from thawline.folder import Folder
from thawline.formats.kafka import Kafka
from thawline.model import Finding, Report
from tools.samples.kafka import wire
from tools.samples.kafka.entries import START, Batch, Record

ABORT, COMMIT = bytes(4), bytes([0, 0, 0, 1])
PRODUCER = {
    "ProducerId": 7,
    "Epoch": 0,
    "LastSequence": 0,
    "LastOffset": -1,
    "OffsetDelta": 0,
    "Timestamp": START,
    "CoordinatorEpoch": -1,
    "CurrentTxnFirstOffset": -1,
}


def batch(offset: int, size: int = 4, **fields: object) -> Batch:
    """A batch of so many records, each a millisecond later than the one before it."""
    records = tuple(Record(b"key", b"%d" % n, timestamp_delta=n, offset_delta=n) for n in range(size))
    made = Batch(base_offset=offset, records=records, base_timestamp=START + offset)
    return replace(made, **fields)  # type: ignore[arg-type]


def transactional(offset: int, producer_id: int, size: int = 1) -> Batch:
    return batch(offset, size, producer_id=producer_id, producer_epoch=0, is_transactional=True)


def marker(offset: int, producer_id: int, key: bytes) -> Batch:
    records = (Record(key, bytes(6)),)
    return replace(transactional(offset, producer_id), records=records, is_control=True, producer_epoch=1)


def log(batches: Sequence[Batch]) -> bytes:
    return b"".join(item.build() for item in batches)


def positions(batches: Sequence[Batch]) -> list[int]:
    found = [0]
    for item in batches:
        found.append(found[-1] + len(item.build()))
    return found


def index(base: int, batches: Sequence[Batch]) -> bytes:
    """An entry for every batch but the first, as with an interval of no bytes."""
    places = zip(batches[1:], positions(batches)[1:], strict=False)
    entries = [{"relativeOffset": item.last_offset - base, "physicalPosition": at} for item, at in places]
    return bytes(wire.OFFSET_INDEX.build(entries))


def time_index(base: int, batches: Sequence[Batch]) -> bytes:
    entries = [{"timestamp": item.latest, "relativeOffset": item.last_offset - base} for item in batches]
    return bytes(wire.TIME_INDEX.build(entries))


def txn_index(*aborted: tuple[int, int, int]) -> bytes:
    entries = [
        {"version": 0, "producerId": id_, "firstOffset": first, "lastOffset": last, "lastStableOffset": last + 1}
        for id_, first, last in aborted
    ]
    return bytes(wire.TRANSACTION_INDEX.build(entries))


def snapshot(*producers: Mapping[str, int]) -> bytes:
    covered = bytes(wire.PRODUCER_ENTRIES.build([{**PRODUCER, **producer} for producer in producers]))
    return bytes([0, 1]) + crc32c(covered).to_bytes(4, "big") + covered


def named(base: int, kind: str) -> str:
    return f"{base:020}.{kind}"


def segment_files(base: int, batches: Sequence[Batch]) -> dict[str, bytes]:
    return {
        named(base, "log"): log(batches),
        named(base, "index"): index(base, batches),
        named(base, "timeindex"): time_index(base, batches),
    }


def three_segments() -> dict[str, bytes]:
    """Offsets 0 to 35 in three segments of three batches."""
    files: dict[str, bytes] = {"leader-epoch-checkpoint": b"0\n1\n0 0\n"}
    for base in (0, 12, 24):
        files |= segment_files(base, [batch(base), batch(base + 4), batch(base + 8)])
    return files


def written(folder: Path, files: Mapping[str, bytes]) -> Folder:
    folder.mkdir(parents=True, exist_ok=True)
    for name, data in files.items():
        (folder / name).write_bytes(data)
    return Folder(str(folder))


def reports(folder: Folder) -> dict[str, Report]:
    """The account of each file by its name, and that of the folder by the empty one."""
    found = {}
    for report in Kafka().accounts(folder):
        name = report.file.removeprefix(folder.path).lstrip("/")
        assert name not in found
        found[name] = report
    return found


def findings(folder: Folder) -> list[tuple[str, Finding]]:
    return [(name, finding) for name, report in reports(folder).items() for finding in report.findings]


def codes(folder: Folder) -> list[tuple[str, str]]:
    """The findings as the name of the file and the code."""
    return [(name, finding.code.id) for name, finding in findings(folder)]
