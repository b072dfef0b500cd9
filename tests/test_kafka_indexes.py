"""Index files are built as brokers build them."""

from __future__ import annotations

import struct
from array import array
from collections.abc import Iterator
from pathlib import Path
from random import Random

import pyarrow as pa
import pyarrow.compute as pc
import pytest
from accounts import golden_files

from thawline import native
from thawline.engine import columns
from thawline.engine.chunks import Chunk
from thawline.formats.kafka.salvage import IndexBuilder, Indexes, NotIndexable, build_indexes
from thawline.native import plain

Head = tuple[int, int, int]
"""Position, last offset, largest timestamp."""


def heads_of(data: bytes) -> Iterator[pa.RecordBatch]:
    for chunk in columns.scan("kafka_batches", data):
        assert isinstance(chunk, Chunk)
        heads = chunk.batch
        last_offset = pc.add(heads["base_offset"], heads["last_offset_delta"].cast(pa.int64()))
        names = ["position", "size", "base_offset", "last_offset", "max_timestamp"]
        sizes = pc.subtract(chunk.ends, chunk.starts)
        arrays = [chunk.starts, sizes, heads["base_offset"], last_offset, heads["max_timestamp"]]
        yield pa.RecordBatch.from_arrays(arrays, names)


def batch_of(heads: list[Head]) -> pa.RecordBatch:
    names = ("position", "last_offset", "max_timestamp")
    return pa.RecordBatch.from_pydict({name: [head[n] for head in heads] for n, name in enumerate(names)})


def entries(data: bytes, layout: str) -> list[tuple[int, ...]]:
    return list(struct.iter_unpack(layout, data))


def used(index: Path, size: int) -> bytes:
    """An index of a segment that was never closed, without the zeros behind its entries."""
    data = index.read_bytes()
    while data and not any(data[-size:]):
        data = data[:-size]
    return data


@pytest.mark.parametrize("base_offset", [0, 7729])
def test_indexes_are_those_of_a_broker(vectors: Path, base_offset: int) -> None:
    folder = vectors / "kafka" / "pinterest-tiered-storage" / "timeindex_test"
    log = folder / f"{base_offset:020d}.log"
    built = build_indexes(heads_of(log.read_bytes()), base_offset)
    assert len(built.offset_index) > 1900
    assert built == Indexes(used(log.with_suffix(".index"), 8), used(log.with_suffix(".timeindex"), 12))


@pytest.mark.parametrize("base_offset", [0, 362, 644])
def test_indexes_of_an_older_broker_differ_in_the_offset_of_a_time_only(vectors: Path, base_offset: int) -> None:
    log = vectors / "kafka" / "pinterest-tiered-storage" / "test_topic_a-0" / f"{base_offset:020d}.log"
    built = build_indexes(heads_of(log.read_bytes()), base_offset)
    assert built.offset_index == used(log.with_suffix(".index"), 8)
    theirs = entries(used(log.with_suffix(".timeindex"), 12), ">qi")
    ours = entries(built.time_index, ">qi")
    assert [time for time, _ in ours] == [time for time, _ in theirs]
    assert all(batch_end >= record for (_, batch_end), (_, record) in zip(ours, theirs, strict=True))


def test_every_batch_but_the_first_has_an_entry_where_the_interval_is_zero() -> None:
    by_name = {golden.file.name: golden.data for golden in golden_files("kafka")}
    built = build_indexes(heads_of(by_name["many-records.log"]), 0, interval=0)
    assert built == Indexes(by_name["many-records.index"], by_name["many-records.timeindex"])


def modelled(heads: list[Head], base_offset: int, interval: int) -> tuple[list[tuple[int, int]], list[tuple[int, int]]]:
    """What Kafka's LogSegment.recover does, in its own order."""
    offset_index, time_index = [], []
    latest, latest_offset, last_entry, last_time = -1, base_offset, 0, -1
    for position, last_offset, timestamp in heads:
        if timestamp > latest:
            latest, latest_offset = timestamp, last_offset
        if position - last_entry > interval:
            offset_index.append((last_offset - base_offset, position))
            if latest > last_time:
                time_index.append((latest, latest_offset - base_offset))
                last_time = latest
            last_entry = position
    if latest > last_time:
        time_index.append((latest, latest_offset - base_offset))
    return offset_index, time_index


def random_heads(random: Random, base_offset: int) -> list[Head]:
    position, offset, heads = 0, base_offset, []
    for _ in range(random.randrange(400)):
        offset += random.choice([0, 1, 500])
        heads.append((position, offset, random.choice([-1, random.randrange(1000), offset])))
        position += random.choice([61, 70, 1000, 5000])
        offset += 1
    return heads


@pytest.mark.parametrize("engine", ["native", "uncompiled"])
def test_indexes_follow_kafkas_own_algorithm(engine: str, monkeypatch: pytest.MonkeyPatch) -> None:
    if engine == "uncompiled":
        monkeypatch.setattr(native, "functions", plain)
    random = Random(5)
    for interval in (0, 61, 4096, 10**6):
        for base_offset in (0, 10**15):
            heads = random_heads(random, base_offset)
            cuts = sorted(random.choices(range(len(heads) + 1), k=3))
            parts = [heads[a:b] for a, b in zip([0, *cuts], [*cuts, len(heads)], strict=True)]
            built = build_indexes(map(batch_of, filter(None, parts)), base_offset, interval=interval)
            offset_index, time_index = modelled(heads, base_offset, interval)
            assert entries(built.offset_index, ">ii") == offset_index
            assert entries(built.time_index, ">qi") == time_index


def test_messages_without_a_timestamp_leave_the_time_index_empty() -> None:
    heads = [(n * 5000, n, -1) for n in range(10)]
    built = build_indexes([batch_of(heads)], 0)
    assert len(built.offset_index) == 9 * 8
    assert built.time_index == b""


def test_a_segment_without_batches_has_empty_indexes() -> None:
    assert build_indexes([], 17) == Indexes(b"", b"")


def test_offsets_that_fall_back_are_left_out_of_the_index() -> None:
    built = build_indexes([batch_of([(0, 0, 1), (5000, 50, 2), (10_000, 20, 3), (15_000, 60, 4)])], 0)
    assert entries(built.offset_index, ">ii") == [(50, 5000), (60, 15_000)]


@pytest.mark.parametrize("head", [(1 << 31, 5, 0), (0, 1 << 31, 0), (0, -1, 0)])
def test_what_an_index_cannot_hold_is_refused(head: Head) -> None:
    with pytest.raises(NotIndexable, match="indexes hold 31 bits"):
        build_indexes([batch_of([head])], 0)
    with pytest.raises(ValueError, match="base offset 0"):
        IndexBuilder(0).add(*(array("q", [number]) for number in head))


def test_a_null_is_refused() -> None:
    heads = pa.RecordBatch.from_pydict({"position": [0], "last_offset": [1], "max_timestamp": pa.nulls(1, pa.int64())})
    with pytest.raises(ValueError, match="is null"):
        build_indexes([heads], 0)
