"""Rows read from one buffer after the other are those of one buffer, though each buffer is gone when the next comes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import nullcontext
from random import Random
from unittest.mock import patch

import pytest
from engines import plainly

from thawline.engine import columns
from thawline.engine.chunks import Break, Chunk, Ranges, Rows
from thawline.native import fast
from tools.bench.data import zigzag

WANTED = ["timestamp_delta", "offset_delta", "key", "value", "headers"]
EVERY_ENGINE = pytest.mark.parametrize("engine", ["native", "plain"])
Payload = tuple[bytes, int]
"""Records of one batch, and how many its head says that they are."""


def record(delta: int, key: bytes | None, value: bytes | None, headers: Sequence[tuple[bytes, bytes | None]]) -> bytes:
    def sized(data: bytes | None) -> bytes:
        return zigzag(-1) if data is None else zigzag(len(data)) + data

    pairs = b"".join(zigzag(len(name)) + name + sized(content) for name, content in headers)
    body = b"\0" + zigzag(7 * delta) + zigzag(delta) + sized(key) + sized(value) + zigzag(len(headers)) + pairs
    return zigzag(len(body)) + body


def payload(random: Random, rows: int) -> Payload:
    def some(most: int) -> bytes | None:
        return None if random.random() < 0.2 else random.randbytes(random.randrange(most))

    def headers() -> list[tuple[bytes, bytes | None]]:
        return [(random.choice([b"a", "ä".encode(), b""]), some(9)) for _ in range(random.choice([0, 0, 1, 9]))]

    return b"".join(record(delta, some(20), some(300), headers()) for delta in range(rows)), rows


def payloads(seed: int = 1, batches: int = 40) -> list[Payload]:
    random = Random(seed)
    return [payload(random, random.choice([0, 1, 2, 30])) for _ in range(batches)]


def in_pieces(found: Sequence[Payload], sizes: Sequence[int]) -> Iterator[tuple[memoryview, Ranges]]:
    """Several batches in a piece, each time in the same memory, of which nothing is left for the next."""
    memory = bytearray(max(sum(len(data) for data, _ in found), 1))
    first = 0
    for size in sizes:
        ranges, at = [], 0
        for data, count in found[first : first + size]:
            memory[at : at + len(data)] = data
            ranges.append((at, at + len(data), count))
            at += len(data)
        yield memoryview(memory)[:at], Ranges.of(ranges)
        memory[:] = b"\xa5" * len(memory)
        first += size


def whole(found: Sequence[Payload]) -> tuple[bytes, Ranges]:
    ranges, at = [], 0
    for data, count in found:
        ranges.append((at, at + len(data), count))
        at += len(data)
    return b"".join(data for data, _ in found), Ranges.of(ranges)


def account(items: Iterator[Chunk | Rows | Break]) -> tuple[list[tuple[int, object]], list[tuple[int, str]]]:
    """Rows with their ranges, and breaks."""
    rows: list[tuple[int, object]] = []
    breaks: list[tuple[int, str]] = []
    for item in items:
        if isinstance(item, Break):
            breaks.append((item.range_index, item.failure.reason))
        else:
            item.batch.validate(full=True)
            rows += zip(item.ranges.to_pylist(), item.batch.to_pylist(), strict=True)
    return rows, breaks


def divided(found: Sequence[Payload], random: Random) -> list[int]:
    sizes: list[int] = []
    while sum(sizes) < len(found):
        sizes.append(random.choice([0, 1, 2, 7]))
    return sizes


@EVERY_ENGINE
@pytest.mark.parametrize(("max_rows", "max_bytes"), [(1000, 1 << 20), (7, 1 << 20), (1000, 100), (1, 1)])
def test_pieces_give_the_rows_of_one_buffer(engine: str, max_rows: int, max_bytes: int) -> None:
    found = payloads()
    with nullcontext() if engine == "native" else plainly():
        pieces = in_pieces(found, divided(found, Random(2)))
        assert account(columns.scan_pieces("kafka_records", pieces, WANTED, max_rows, max_bytes)) == account(
            columns.scan("kafka_records", *whole(found), columns=WANTED)
        )


@EVERY_ENGINE
@pytest.mark.parametrize("seed", range(60))
def test_what_is_broken_in_a_piece_is_what_is_broken_in_one_buffer(engine: str, seed: int) -> None:
    random = Random(seed)
    found = payloads(seed, 12)
    for _ in range(random.randrange(1, 4)):
        batch = random.randrange(len(found))
        data, count = bytearray(found[batch][0]), found[batch][1]
        if data:
            data[random.randrange(len(data))] ^= 1 << random.randrange(8)
        found[batch] = bytes(data), count
    with nullcontext() if engine == "native" else plainly():
        pieces = in_pieces(found, divided(found, random))
        assert account(columns.scan_pieces("kafka_records", pieces, WANTED, 50, 2000)) == account(
            columns.scan("kafka_records", *whole(found), columns=WANTED)
        )


def test_pieces_share_a_chunk_up_to_its_bytes() -> None:
    found = [payload(Random(3), 10) for _ in range(30)]
    size = len(found[0][0])
    chunks = list(columns.scan_pieces("kafka_records", in_pieces(found, [1] * 30), WANTED, 1000, 10 * size))
    assert [len(chunk) for chunk in chunks if isinstance(chunk, Rows)] == [100, 100, 100]


def test_a_piece_that_is_larger_than_a_chunk_is_read_all_the_same() -> None:
    found = [payload(Random(3), 2), payload(Random(4), 500), payload(Random(5), 2)]
    pieces = columns.scan_pieces("kafka_records", in_pieces(found, [1, 1, 1]), WANTED, 1000, 1000)
    assert account(pieces) == account(columns.scan("kafka_records", *whole(found), columns=WANTED))


def test_rows_behind_broken_ranges_share_a_chunk_so_that_damage_costs_no_memory() -> None:
    good, bad = payload(Random(3), 10), (b"\x7f" * 10, 60_000)
    pieces = in_pieces([good, bad] * 500, [7] * 143)
    found = list(columns.scan_pieces("kafka_records", pieces, WANTED, 1 << 16, 8 << 20))
    assert [len(item) for item in found if isinstance(item, Rows)] == [5000]
    assert [item.range_index for item in found if isinstance(item, Break)] == list(range(1, 1000, 2))


def test_a_kernel_that_says_it_is_done_is_not_asked_again_whatever_its_state() -> None:
    # One that a bounds check of `make sanitize` stops cannot write its state.
    with patch.object(fast, "scan_kafka_records", lambda *_: 0):
        assert not list(columns.scan("kafka_records", *whole(payloads()), columns=WANTED))
        assert not list(columns.scan_pieces("kafka_records", in_pieces(payloads(), [20, 20]), WANTED, 10))


def test_no_piece_gives_no_chunk() -> None:
    assert not list(columns.scan_pieces("kafka_records", iter(()), WANTED, 10))
    assert not list(columns.scan_pieces("kafka_records", in_pieces([], [0, 0]), WANTED, 10))


def test_columns_that_need_the_whole_buffer_are_refused() -> None:
    with pytest.raises(ValueError, match="whole buffer"):
        list(columns.scan_pieces("aerospike_records", iter(()), ["digest"], 10))


def test_ranges_beyond_a_piece_are_refused() -> None:
    with pytest.raises(ValueError, match="not within"):
        list(columns.scan_pieces("kafka_records", iter([(memoryview(b"abc"), Ranges.of([(0, 4, 1)]))]), WANTED, 10))
