"""Chunks have the same rows however they are cut, and each range is read by itself."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from itertools import pairwise
from random import Random
from typing import Any

import pyarrow as pa
import pytest
from agreement import (
    EACH_LIMIT,
    LIMITS,
    Found,
    are_equal,
    breaks,
    compiled_read,
    each_engine,
    each_limit,
    each_table,
    parsed_read,
    read,
    record,
    rows,
    shown,
    sized,
    uncompiled_read,
    zigzag,
)
from inputs import Input, golden_inputs, mutants_of, short

from thawline.engine.chunks import LEFT_OVER, Break, Chunk, Ranges
from tools.mutants import mutants


@each_limit
@each_table
def test_chunks_of_any_size_hold_the_rows_of_one_large_chunk(name: str, limits: tuple[int, int]) -> None:
    for given in short(golden_inputs(name))[:40]:
        whole, cut = read(compiled_read, given), read(compiled_read, given, limits=limits)
        assert rows(cut, name) == rows(whole, name)
        assert breaks(cut) == breaks(whole)


@each_limit
@each_table
def test_chunks_of_kernel_and_parser_are_cut_alike(name: str, limits: tuple[int, int]) -> None:
    for given in short(golden_inputs(name))[:40]:
        kernel, parser = (read(engine, given, limits=limits) for engine in (compiled_read, parsed_read))
        assert are_equal(kernel, parser), shown(given, kernel=kernel, parser=parser)


@each_limit
@each_table
def test_a_chunk_keeps_its_limits_and_is_never_empty(name: str, limits: tuple[int, int]) -> None:
    max_rows, max_bytes = limits
    for given in short(golden_inputs(name))[:40]:
        for chunk in read(compiled_read, given, limits=limits):
            if isinstance(chunk, Chunk):
                first, *_, last = (chunk.starts[0].as_py(), chunk.starts[-1].as_py())
                assert 1 <= len(chunk) <= max_rows
                assert last - first < max_bytes


LISTS = {
    "none": [0, 0, 0], "one long": [300], "long after none": [0, 0, 300, 0], "longer and longer": [1, 5, 25, 125, 625],
    "many": [20] * 50, "just the first room": [4] * 10, "one more than the first room": [5] * 10,
}  # fmt: skip
"""Headers of each record. A list has room for four items a row at first."""


@pytest.mark.parametrize("limits", [LIMITS, *EACH_LIMIT], ids=str)
@pytest.mark.parametrize("sizes", LISTS.values(), ids=LISTS)
def test_a_list_that_outgrows_its_room_is_read_to_its_end(sizes: list[int], limits: tuple[int, int]) -> None:
    records = [record(*((b"h%d" % i, None if i % 3 else b"v") for i in range(size))) for size in sizes]
    given = Input("kafka_records", b"".join(records), len(records))
    found = [read(engine, given, limits=limits) for engine in (compiled_read, uncompiled_read, parsed_read)]
    assert are_equal(found[0], found[1]), shown(given, compiled=found[0], uncompiled=found[1])
    assert are_equal(found[0], found[2]), shown(given, kernel=found[0], parser=found[2])
    assert [len(row) for row in rows(found[0], "kafka_records")[0]["headers"].to_pylist()] == sizes


def test_a_count_of_items_allocates_no_more_than_the_input_can_hold() -> None:
    hostile = zigzag(12) + b"\0\0\0" + sized(None) + sized(b"") + zigzag((1 << 31) - 1) + b"\0\1"
    before = pa.total_allocated_bytes()
    [end] = read(compiled_read, Input("kafka_records", hostile))
    assert isinstance(end, Break)
    assert end.failure.path == "/types/header/seq/0"
    assert pa.total_allocated_bytes() - before < 10_000


@cache
def record_sets() -> list[Input]:
    return [given for given in golden_inputs("kafka_records") if given.count >= 0 and len(given.data) < 500]


def test_ranges_of_any_kind_are_read_alike() -> None:
    random = Random(3)
    for _ in range(600):
        given, ranges = random_ranges(random)
        limits = random.choice([LIMITS, *EACH_LIMIT])
        kernel, parser = (read(engine, given, ranges, limits) for engine in (compiled_read, parsed_read))
        assert are_equal(kernel, parser), (ranges, limits, shown(given, kernel=kernel, parser=parser))
        if not random.randrange(5):
            assert are_equal(kernel, read(uncompiled_read, given, ranges, limits))


def random_ranges(random: Random) -> tuple[Input, Ranges]:
    """Sound, damaged and empty ranges with right and wrong counts, some of them apart."""
    data, stretches = b"", []
    for _ in range(random.randrange(7)):
        given = random.choice(record_sets())
        stretch = random.choice(
            (given.data, given.data, given.data, b"", *mutants(given.data, random.randrange(99), 1))
        )
        data += random.randbytes(random.choice((0, 0, 1, 40)))
        count = random.choice((given.count, given.count, -1, 0, given.count + 1, max(given.count - 1, 0), 1 << 40))
        stretches.append((len(data), len(data) + len(stretch), count))
        data += stretch
    return Input("kafka_records", data), Ranges.of(stretches)


@each_engine
def test_a_broken_range_does_not_stop_the_others(engine: Callable[..., Found]) -> None:
    good, bad = record(value=b"good"), record(value=b"bad")[:-1]
    data = good + bad + good
    ends = [0, len(good), len(good + bad), len(data)]
    ranges = Ranges.of([(start, end, 1) for start, end in pairwise(ends)])
    first, end, last = read(engine, Input("kafka_records", data), ranges)
    assert isinstance(first, Chunk)
    assert isinstance(end, Break)
    assert isinstance(last, Chunk)
    assert (first.ranges.to_pylist(), end.range_index, last.ranges.to_pylist()) == ([0], 1, [2])
    assert (end.failure.path, end.start, end.at) == ("/types/record/seq/1", len(good), len(good) + 1)


@each_engine
def test_a_count_beyond_what_is_there_breaks_where_the_bytes_end(engine: Callable[..., Found]) -> None:
    data = record() * 2
    chunk, end = read(engine, Input("kafka_records", data, 3))
    assert isinstance(chunk, Chunk)
    assert isinstance(end, Break)
    assert (len(chunk), end.failure.path, end.start, end.at) == (2, "/types/record/seq/0", len(data), len(data))


@each_engine
def test_bytes_left_after_the_counted_rows_are_a_break(engine: Callable[..., Found]) -> None:
    data = record() * 2
    chunk, end = read(engine, Input("kafka_records", data, 1))
    assert isinstance(chunk, Chunk)
    assert isinstance(end, Break)
    assert (end.failure.reason, end.start, end.at) == (LEFT_OVER, len(record()), len(record()))


@each_engine
@each_table
def test_nothing_comes_of_nothing(engine: Callable[..., Found], name: str) -> None:
    nothing = Input(name, b"")
    assert read(engine, nothing) == []
    assert read(engine, nothing, Ranges.of([])) == []
    assert read(engine, nothing, Ranges.of([(0, 0, 0), (0, 0, -1), (0, 0, 0)])) == []


@each_table
def test_a_range_is_read_as_if_nothing_lay_around_it(name: str) -> None:
    inputs = short(golden_inputs(name))
    for given in [*inputs, *mutants_of(inputs, 4, 300)]:
        alone = read(compiled_read, given)
        for around in (bytes(8), b"\xff" * 8, b"1 \nRBF1\n"):
            surrounded = Input(name, around + given.data + around)
            ranges = Ranges.of([(8, 8 + len(given.data), given.count)])
            assert [moved(part, -8) for part in read(compiled_read, surrounded, ranges)] == [moved(p, 0) for p in alone]


def moved(found: Chunk | Break, by: int) -> Any:
    """What was found, as if it lay elsewhere."""
    if isinstance(found, Break):
        return found.failure, found.start + by, found.at + by
    starts, ends = ([place + by for place in places.to_pylist()] for places in (found.starts, found.ends))
    return found.batch, starts, ends, found.checksums and found.checksums.to_pylist()
