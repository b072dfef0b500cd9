"""kafka-python and aiokafka over the same bytes: what they can read, they and we read alike."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from accounts import GOLDEN

import thawline

Row = tuple[int, int | None, bytes | None, bytes | None, list[tuple[str, bytes | None]]]

VECTORS = Path(os.environ.get("THAWLINE_VECTORS") or Path(__file__).parents[2] / "shared" / "vectors") / "kafka"


def kafka_python(data: bytes) -> Iterator[Any]:
    from kafka.record.memory_records import MemoryRecords  # noqa: PLC0415

    records = MemoryRecords(data)
    while (batch := records.next_batch()) is not None:
        yield from batch


def aiokafka(data: bytes) -> Iterator[Any]:
    from aiokafka.record.memory_records import MemoryRecords  # noqa: PLC0415

    records = MemoryRecords(data)
    while (batch := records.next_batch()) is not None:
        yield from batch


PEERS = {"kafka-python": kafka_python, "aiokafka": aiokafka}


def segments() -> list[Any]:
    found = [*GOLDEN.glob("kafka/*.log"), *VECTORS.glob("*/*.log"), *VECTORS.glob("*/*.records.bin")]
    return [pytest.param(path, id=path.name) for path in sorted(found)]


def ours(data: bytes) -> tuple[list[Row], bool]:
    """What we read, and whether anything is wrong with it."""
    with thawline.open(data, "kafka", control=True) as cold:
        names = ["offset", "timestamp_ms", "key", "value", "headers"]
        rows = [row for batch in cold.batches(names) for row in batch.to_pylist()]
        is_ok = cold.verify().ok
    found = [
        (
            row["offset"],
            row["timestamp_ms"],
            row["key"],
            row["value"],
            [(header["key"], header["value"]) for header in row["headers"]],
        )
        for row in rows
    ]
    return found, is_ok


def theirs(read: Callable[[bytes], Iterator[Any]], data: bytes) -> list[Row] | None:
    """What a peer reads; None where it cannot."""
    try:
        found = list(read(data))
        return [
            (
                record.offset,
                -1 if record.timestamp is None else record.timestamp,
                record.key,
                record.value,
                [tuple(header) for header in record.headers],
            )
            for record in found
        ]
    except Exception:  # noqa: BLE001 - they raise whatever they come upon
        return None


@pytest.mark.parametrize("peer", PEERS)
@pytest.mark.parametrize("path", segments())
def test_what_a_peer_can_read_we_read_alike(path: Path, peer: str) -> None:
    read, (found, is_ok) = theirs(PEERS[peer], path.read_bytes()), ours(path.read_bytes())
    if read is None:
        return
    if is_ok:
        assert found == read
    else:
        # They check less than we do; but what we return of a damaged file, they return, too.
        assert all(row in read for row in found)


def test_peers_read_most_of_the_files() -> None:
    files = [param.values[0] for param in segments()]
    for read in PEERS.values():
        readable = [path for path in files if theirs(read, path.read_bytes())]
        assert len(readable) > len(files) // 2
