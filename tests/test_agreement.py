"""Compiled kernels, the same kernels uncompiled, and ksc's parsers give the same rows, breaks and checksums.

The kernels and the parsers come from the same specs by two compilers that share nothing, so each is the other's test.
Inputs are the golden files, the third-party vectors and seeded mutants of both. Where kernel and parser are allowed to
differ stands in DIFFERENCES.
"""

from __future__ import annotations

import base64
import mmap
import os
import re
import struct
import subprocess
import sys
import zlib
from array import array
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import pairwise
from pathlib import Path
from random import Random
from typing import Any

import crc32c
import pyarrow as pa
import pytest
from accounts import GOLDEN
from engines import calling
from inputs import SHORT, WITHOUT_VECTORS, Input, golden_inputs, mutants_of, short, vector_inputs
from thawline.generated.kernels.tables import TABLES

from thawline.engine import columns, kernels, parsed
from thawline.engine.chunks import LEFT_OVER, Break, Chunk, Ranges, schema_of
from thawline.engine.columns import MAX_BYTES, MAX_ROWS
from thawline.engine.tables import Failure, Table
from thawline.native import fast
from thawline.native import plain as uncompiled
from tools.mutants import mutants, varint
from tools.sanitize import exactly

LIMITS = (MAX_ROWS, MAX_BYTES)
SHORT_RUN = {
    "rbak_records": 3000, "rbf_frames": 2000, "borg_blobs": 2000,  # the only tables of their formats
    "borg_index_entries": 200, "kafka_offset_index": 200, "kafka_producers": 200,  # nothing but integers
    "kafka_time_index": 200, "kafka_transaction_index": 200,
}  # fmt: skip
"""Mutants in an ordinary run, where it is not a thousand."""
LONG_RUN = int(os.environ.get("THAWLINE_MUTANTS", "20000"))
"""Mutants of each table in the long runs."""

each_table = pytest.mark.parametrize("name", sorted(TABLES))


# The three engines, and what comes of an input in each.


Found = list[Chunk | Break]


def compiled_read(table: Table, *arguments: Any) -> Found:
    return list(kernels.read(table, *arguments))


def uncompiled_read(table: Table, *arguments: Any) -> Found:
    with calling(uncompiled):
        return list(kernels.read(table, *arguments))


def parsed_read(table: Table, *arguments: Any) -> Found:
    return list(parsed.read(table, *arguments))


def read(engine: Callable[..., Found], given: Input, ranges: Ranges | None = None, limits: Any = LIMITS) -> Found:
    table = TABLES[given.table]
    return engine(table, memoryview(given.data), ranges or given.ranges(), table.columns, limits)


def plain(found: Chunk | Break) -> Any:
    """What of a chunk or a break has to agree. The parsers do not say why a field fails."""
    if isinstance(found, Break):
        return found.failure.spec, found.failure.path, found.start, found.at, found.range_index
    return tuple(
        part for part in (found.batch, found.starts, found.ends, found.ranges, found.checksums) if part is not None
    )


def are_equal(first: Found, second: Found) -> bool:
    """Whether two engines gave equal chunks and breaks in the same order."""
    return len(first) == len(second) and all(plain(a) == plain(b) for a, b in zip(first, second, strict=True))


def rows(found: Found, name: str) -> tuple[pa.Table, list[tuple[Any, ...]]]:
    """All rows, and where each of them lies, however they were cut into chunks."""
    chunks = [part for part in found if isinstance(part, Chunk)]
    table = pa.Table.from_batches([chunk.batch for chunk in chunks], schema=schema_of(TABLES[name].columns))
    places = [
        place
        for chunk in chunks
        for place in zip(
            chunk.starts.to_pylist(),
            chunk.ends.to_pylist(),
            chunk.ranges.to_pylist(),
            chunk.checksums.to_pylist() if chunk.checksums is not None else [None] * len(chunk),
            strict=True,
        )
    ]
    return table.combine_chunks(), places


def breaks(found: Found) -> list[Break]:
    return [part for part in found if isinstance(part, Break)]


def shown(given: Input, **outcomes: Found) -> str:
    """A disagreement, so that it can be reproduced."""
    said = [
        f"{engine}: {[plain(part) if isinstance(part, Break) else part.batch.to_pylist() for part in found]}"
        for engine, found in outcomes.items()
    ]
    return "\n".join([f"{given.table}, count {given.count}, bytes.fromhex('{given.data.hex()}')", *said])


# Where kernel and parser may differ: the kernel refuses what the parser takes, after the same rows.


@dataclass(frozen=True, slots=True)
class Difference:
    name: str
    reason: str
    explains: Callable[[bytes, Break], bool]


DECIMAL_WORDS = {("aerospike_record", "/types/sized/seq/0"), ("aerospike_index", "/seq/8"), ("aerospike_udf", "/seq/4")}
"""Numbers that a space ends; the others end with their line."""


def is_number_to_python_only(data: bytes, end: Break) -> bool:
    terminator = b" " if (end.failure.spec, end.failure.path) in DECIMAL_WORDS else b"\n"
    text, found, _ = data[end.at :].partition(terminator)
    if not found or end.failure.reason != "no decimal number" or re.fullmatch(rb"-?[0-9]+", text):
        return False
    try:
        return -(1 << 63) <= int(text.decode("ascii")) < 1 << 63
    except ValueError:
        return False


DIFFERENCES = (
    Difference(
        name="Python's int() takes more for a number than the specs do",
        reason="ksc turns `.to_i` into int(), which takes `+5`, `1_0` and blanks around a number. No writer makes them,"
        " both Aerospike tools refuse them, and the specs say that they are no numbers.",
        explains=is_number_to_python_only,
    ),
    # Two more that no mutant shows, each with a test of its own below:
    # - int() refuses more than 4300 digits, even where all but a few are leading zeros, which the specs allow.
    # - Values of 2 GiB and more, in one row or in all items of a list, do not fit an Arrow column of 32-bit offsets.
)


def is_deliberate(given: Input, kernel: Found, parser: Found) -> bool:
    """Whether the kernel stopped at something in DIFFERENCES, after the rows that the parser found too."""
    if not kernel or not isinstance(end := kernel[-1], Break):
        return False
    (table, places), (all_rows, all_places) = rows(kernel, given.table), rows(parser, given.table)
    has_same_rows = places == all_places[: len(places)] and table == all_rows.slice(0, len(places)).combine_chunks()
    goes_on = len(all_places) > len(places) or any(later.at > end.at for later in breaks(parser))
    return has_same_rows and goes_on and any(known.explains(given.data, end) for known in DIFFERENCES)


def check_agreement(given: Input, *, is_uncompiled_too: bool) -> None:
    kernel, parser = read(compiled_read, given), read(parsed_read, given)
    assert are_equal(kernel, parser) or is_deliberate(given, kernel, parser), shown(given, kernel=kernel, parser=parser)
    for part in kernel:
        if isinstance(part, Chunk):
            part.batch.validate(full=True)
    if is_uncompiled_too:
        plainly = read(uncompiled_read, given)
        assert are_equal(kernel, plainly), shown(given, compiled=kernel, uncompiled=plainly)
        assert [end.failure for end in breaks(kernel)] == [end.failure for end in breaks(plainly)]


def check_mutants(inputs: Sequence[Input], seed: int, count: int) -> None:
    """All agree on mutants; every fifth is read uncompiled too."""
    for index, mutant in enumerate(mutants_of(inputs, seed, count)):
        check_agreement(mutant, is_uncompiled_too=index % 5 == 0)


each_table_with_vectors = pytest.mark.parametrize("name", sorted(TABLES.keys() - WITHOUT_VECTORS))


@each_table
def test_kernels_and_parser_agree_on_every_golden_file(name: str) -> None:
    assert golden_inputs(name)
    for given in golden_inputs(name):
        check_agreement(given, is_uncompiled_too=len(given.data) <= SHORT)


@each_table_with_vectors
def test_kernels_and_parser_agree_on_every_vector(vectors: Path, name: str) -> None:
    assert vector_inputs(vectors, name)
    for given in vector_inputs(vectors, name):
        check_agreement(given, is_uncompiled_too=len(given.data) <= SHORT)


@each_table
def test_kernels_and_parser_agree_on_mutants_of_golden_files(name: str) -> None:
    check_mutants(golden_inputs(name), seed=1, count=SHORT_RUN.get(name, 1000))


@each_table_with_vectors
def test_kernels_and_parser_agree_on_mutants_of_vectors(vectors: Path, name: str) -> None:
    check_mutants(vector_inputs(vectors, name), seed=2, count=SHORT_RUN.get(name, 1000))


@pytest.mark.fuzz
@each_table
def test_kernels_and_parser_agree_on_many_mutants_of_golden_files(name: str) -> None:
    check_mutants(golden_inputs(name), seed=1 << 32, count=LONG_RUN)


@pytest.mark.fuzz
@each_table_with_vectors
def test_kernels_and_parser_agree_on_many_mutants_of_vectors(vectors: Path, name: str) -> None:
    check_mutants(vector_inputs(vectors, name), seed=1 << 33, count=LONG_RUN)


@pytest.mark.fuzz
@each_table
def test_kernels_and_parser_agree_on_every_cut_of_golden_files(name: str) -> None:
    inputs = [given for given in golden_inputs(name) if len(given.data) <= 512]
    cuts = {Input(name, given.data[:size], given.count) for given in inputs for size in range(len(given.data))}
    for cut in sorted(cuts, key=lambda cut: cut.data):
        check_agreement(cut, is_uncompiled_too=False)


# That the mutants above are worth something: between them they fail every check that can fail.

TOO_LONG, TOO_LONG_ROW = "longer than a column can hold", "longer than a batch can hold"
"""Need 2 GiB; tested with sparse files below."""
HOLDS = {
    "kafka_batches": {f"/types/body/seq/{index}" for index in (0, 1, 2, 4, 5, 6, 7, 8, 9, 10)}
    | {"/types/attributes/seq/0"},
    "kafka_messages": {f"/types/body/seq/{index}" for index in (0, 1, 3)} | {"/types/attributes/seq/0"},
    "rbf_frames": {f"/types/body/seq/{index}" for index in (0, 3, 4)} | {"/types/frame_status/seq/0"},
}
"""Fields that cannot be cut off, since a structure of the least size that `valid` allows holds them."""
NEVER = {
    ("kafka_batches", "/types/body/seq/11"), ("kafka_messages", "/types/body/seq/8"),  # size-eos fits by definition
    ("kafka_records", "/types/body/seq/9"),  # so do no bytes at all
    ("kafka_batches", "/types/body/instances/crc_input"), ("kafka_messages", "/types/body/instances/crc_input"),
    ("rbf_frames", "/types/body/instances/crc32c_input"), ("rbf_frames", "/types/body/instances/last_status"),
    ("rbf_frames", "/types/body/seq/1"),  # the least size leaves room for these
}  # fmt: skip


TINY_MESSAGE = struct.pack(">qiIBBqH", 0, 16, 0, 1, 0, 0, 0)
"""A Kafka message with a timestamp that is cut off in its key's length, although its own length is right."""


@pytest.mark.fuzz
@each_table
def test_damage_reaches_every_check_of_a_kernel(name: str) -> None:
    inputs = [*golden_inputs(name), *([Input(name, TINY_MESSAGE)] if name == "kafka_messages" else [])]
    counted = [Input(name, given.data, 1) for given in inputs]
    cuts = [Input(name, given.data[:at]) for given in short(inputs) for at in range(min(512, len(given.data)))]
    flips = [Input(name, flipped(given.data, at)) for given in short(inputs) for at in range(min(512, len(given.data)))]
    damaged = {*counted, *cuts, *flips, *mutants_of(inputs, 1 << 34, LONG_RUN // 4)}
    reached = {end.failure for given in damaged for end in breaks(read(compiled_read, given))}
    missed = set(TABLES[name].failures) - reached
    assert {failure for failure in missed if not is_out_of_reach(name, failure)} == set()


def flipped(data: bytes, at: int) -> bytes:
    return data[:at] + bytes([data[at] ^ 0xFF]) + data[at + 1 :]


def is_out_of_reach(name: str, failure: Failure) -> bool:
    is_held = failure.reason == "end of data" and failure.path in HOLDS.get(name, ())
    return is_held or failure.reason in (TOO_LONG, TOO_LONG_ROW) or (name, failure.path) in NEVER


# Chunks: the same rows, however they are cut.

EACH_LIMIT = [
    (1, MAX_BYTES), (2, MAX_BYTES), (7, MAX_BYTES), (MAX_ROWS, 1), (MAX_ROWS, 16), (MAX_ROWS, 100), (3, 100),
]  # fmt: skip
each_limit = pytest.mark.parametrize("limits", EACH_LIMIT, ids=lambda limits: f"{limits[0]}rows-{limits[1]}bytes")


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


def record(*headers: tuple[bytes, bytes | None], key: bytes | None = None, value: bytes | None = b"value") -> bytes:
    """A Kafka record."""
    body = b"\0\0\0" + sized(key) + sized(value) + zigzag(len(headers))
    body += b"".join(sized(name) + sized(content) for name, content in headers)
    return zigzag(len(body)) + body


def sized(value: bytes | None) -> bytes:
    return zigzag(-1) if value is None else zigzag(len(value)) + value


def zigzag(number: int) -> bytes:
    return varint(number << 1 ^ number >> 63)


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


# Ranges: each is read by itself.


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


ENGINES = [compiled_read, uncompiled_read, parsed_read]
each_engine = pytest.mark.parametrize("engine", ENGINES)


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


# Columns.


@each_engine
@each_table
def test_a_column_alone_is_what_it_is_among_all(engine: Callable[..., Found], name: str) -> None:
    given = max(short(golden_inputs(name)), key=lambda given: len(given.data))
    table, view = TABLES[name], memoryview(given.data)
    whole, _ = rows(read(engine, given), name)
    for column in table.columns:
        parts = engine(table, view, given.ranges(), [column], LIMITS)
        alone = pa.Table.from_batches([part.batch for part in parts if isinstance(part, Chunk)], schema_of([column]))
        assert alone.combine_chunks() == whole.select([column.name])


@pytest.mark.parametrize("module", [fast, uncompiled], ids=["compiled", "uncompiled"])
@pytest.mark.parametrize("type_", [pa.int32(), pa.int64()])
def test_numbers_count_from_the_base_of_their_range_and_wrap_around(module: Any, type_: pa.DataType) -> None:
    bases = pa.array([7, (1 << 63) - 1, -(1 << 63), 0])[:3]
    ranges, numbers = pa.array([9, 0, 0, 1, 2, 1], pa.int32())[1:], pa.array([5, -5, 1, -1, 0], type_)
    with calling(module):
        found = kernels.add_bases(bases, ranges, numbers).to_pylist()
    assert found == [12, 2, -(1 << 63), (1 << 63) - 1, (1 << 63) - 1]
    by_arrow = pa.compute.add(bases.take(ranges), numbers)
    assert found == by_arrow.to_pylist()


VALUES = {
    "none": [],
    "nothing": [b"", b"", b""],
    "one size": [b"abc"] * 20,
    "one long size": [bytes(range(200))] * 3,
    "sizes around the steps": [bytes(range(size)) for size in (1, 15, 16, 17, 31, 32, 33, 127, 128, 129, 255)],
    "nulls": [None, b"a", None, b"", None, b"b" * 40, *[None] * 9],
    "nulls only": [None] * 8,
}


@pytest.mark.parametrize("values", VALUES.values(), ids=VALUES)
@pytest.mark.parametrize("margin", [0, 100])
def test_values_of_any_size_are_copied_whole(values: list[bytes | None], margin: int) -> None:
    for kept in (values, values[::-1]):
        data = b"".join(record(value=value) for value in kept) + bytes(margin)
        given, ranges = Input("kafka_records", data), Ranges.of([(0, len(data) - margin, -1)])
        for engine in (compiled_read, uncompiled_read):
            assert rows(read(engine, given, ranges), given.table)[0]["value"].to_pylist() == kept


def message(random: Random) -> bytes:
    """A Kafka message with or without timestamp, key and value."""
    magic = random.randrange(2)
    parts = [random.choice((None, b"", random.randbytes(3))) for _ in range(2)]
    body = bytes((magic, random.randrange(4) | random.randrange(2) << 3)) + random.randbytes(8 * magic)
    body += b"".join(struct.pack(">i", -1 if part is None else len(part)) + (part or b"") for part in parts)
    return struct.pack(">qiI", 0, 4 + len(body), zlib.crc32(body)) + body


def test_nulls_and_checksums_are_right_however_many_rows_there_are() -> None:
    messages = [message(Random(seed)) for seed in range(203)]
    for size in (1, 7, 8, 9, 63, 64, 65, 203):
        given = Input("kafka_messages", b"".join(messages[-size:]))
        check_agreement(given, is_uncompiled_too=True)
        table, places = rows(read(compiled_read, given), given.table)
        assert len(table) == size
        assert table["crc"].to_pylist() == [checksum for *_, checksum in places]


NOT_UTF_8 = [
    b"\x80", b"\xc3", b"\xc0\x80", b"\xe0\x80\x80", b"\xed\xa0\x80", b"\xf4\x90\x80\x80", b"\xf8\x88\x80\x80\x80",
    b"\xff",
]  # fmt: skip
"""A lone tail, a lone head, overlong forms, a surrogate, a character beyond the last, and what never occurs."""


@pytest.mark.parametrize("text", NOT_UTF_8, ids=bytes.hex)
def test_text_that_is_not_utf_8_is_replaced_alike(text: bytes) -> None:
    keys = [b"plain", "ä€😀".encode(), b"a" + text + b"b", text, b""]
    given = Input("kafka_records", record(*((key, key) for key in keys)))
    check_agreement(given, is_uncompiled_too=True)
    [headers] = rows(read(compiled_read, given), given.table)[0]["headers"].to_pylist()
    assert [header["key"] for header in headers] == [key.decode("utf-8", "replace") for key in keys]
    assert [header["value"] for header in headers] == keys


DIGESTS = {
    b"AAECAwQFBgcICQoLDA0ODyD/f4A=": True,
    b"AAECAwQFBgcICQoLDA0ODyD/f4B=": True,
    b"AAECAwQFBgcICQoLDA0ODyD/f+==": True,
    b"AAECAwQFBgcICQoLDA0ODyD/f+AA": True,
    b"AAECAwQFBgcICQoLDA0ODyD/f===": False,
    b"AAECAwQFBgcICQoLDA0ODyD/====": False,
    b"AAECAwQFBgcICQoLDA0ODyD/f=A=": False,
    b"AAEC=wQFBgcICQoLDA0ODyD/f4A=": False,
    b"AA==AwQFBgcICQoLDA0ODyD/f4A=": False,
    b"AAECAwQFBgcICQoLDA0ODyD_f4A=": False,
    b"AAECAwQFBgcICQoLDA0ODyD-f4A=": False,
    b"AAEC wQFBgcICQoLDA0ODyD/f4A=": False,
    b"AAEC\nwQFBgcICQoLDA0ODyD/f4A=": False,
    b"AAECAwQFBgcICQoLDA0ODyD\xff\x80\x00A=": False,
    b"\0" * 28: False,
}
"""Whether the bytes in a digest's place are base-64."""


@pytest.mark.parametrize("digest, is_good", DIGESTS.items(), ids=repr)
def test_base_64_is_decoded_or_refused_alike(digest: bytes, *, is_good: bool) -> None:
    good = b"+ n test\n+ d AAECAwQFBgcICQoLDA0ODyD/f4A=\n+ g 0\n+ t 0\n+ b 0\n"
    other = good.replace(b"AAECAwQFBgcICQoLDA0ODyD/f4A=", digest)
    given = Input("aerospike_records", good + other + good)
    check_agreement(given, is_uncompiled_too=True)
    digests = rows(read(compiled_read, given), given.table)[0]["digest"]
    assert [value is not None for value in digests.to_pylist()] == [True, is_good, True]
    assert not is_good or digests[1].as_py() == base64.b64decode(digest)


SPARK_TYPES = {pa.int8(), pa.int16(), pa.int32(), pa.int64(), pa.bool_(), pa.string(), pa.binary()}


@each_table
def test_schemas_use_types_that_spark_takes_as_they_are(name: str) -> None:
    assert set(leaves(pa.struct(list(columns.schema(name))))) <= SPARK_TYPES


def leaves(type_: pa.DataType) -> Iterator[pa.DataType]:
    if isinstance(type_, pa.StructType):
        yield from (leaf for inner in type_ for leaf in leaves(inner.type))
    elif isinstance(type_, pa.ListType):
        yield from leaves(type_.value_type)
    else:
        yield type_


@each_table
def test_batches_have_the_schema_of_their_table(name: str) -> None:
    for given in short(golden_inputs(name)):
        for part in read(compiled_read, given):
            assert isinstance(part, Break) or part.batch.schema.equals(columns.schema(name), check_metadata=True)


# Numbers of many digits, and values beyond 2 GiB.


def test_leading_zeros_are_digits_to_the_kernel_and_too_many_to_python() -> None:
    line = b"* u L a.lua %s1 x\n"
    for zeros in (0, 1, 4200, 5000):
        [chunk] = read(compiled_read, given := Input("aerospike_udfs", line % (b"0" * zeros)))
        assert isinstance(chunk, Chunk)
        assert are_equal([chunk], read(parsed_read, given)) == (zeros < sys.get_int_max_str_digits())


GIB = 1 << 30


def sparse(path: Path, size: int, pieces: Collection[tuple[int, bytes]]) -> mmap.mmap:
    """A large file of zeros but for some pieces."""
    with path.open("wb") as file:
        for at, piece in pieces:
            file.seek(at)
            file.write(piece)
        file.truncate(size)
    with path.open("rb") as file:
        return mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)


def test_a_value_longer_than_a_column_can_hold_is_refused(tmp_path: Path) -> None:
    with sparse(tmp_path / "long", 4 + 2 * GIB, [(0, struct.pack("<I", 2 * GIB))]) as buffer:
        [end] = columns.scan("rbak_records", buffer)
        assert isinstance(end, Break)
        assert (end.failure.path, end.failure.reason, end.at) == ("/types/record/seq/1", TOO_LONG, 4)


def test_a_chunk_ends_before_its_values_outgrow_a_column(tmp_path: Path) -> None:
    lengths = [100, 2 * GIB - 1, 100, 100]
    places = [sum(lengths[:i]) + 4 * i for i in range(len(lengths) + 1)]
    heads = [(place, struct.pack("<I", length)) for place, length in zip(places, lengths, strict=False)]
    with sparse(tmp_path / "long", places[-1], heads) as buffer:
        chunks = [
            part for part in columns.scan("rbak_records", buffer, columns=["len_json"]) if isinstance(part, Chunk)
        ]
        assert [chunk.batch["len_json"].to_pylist() for chunk in chunks] == [lengths[:1], lengths[1:2], lengths[2:]]


def test_a_list_longer_than_a_column_can_hold_is_refused(tmp_path: Path) -> None:
    head = b"+ n test\n+ d AAECAwQFBgcICQoLDA0ODyD/f4A=\n+ g 0\n+ t 0\n+ b 2\n"
    item = b"- B! a %d " % (3 * GIB // 2)
    second = len(head) + len(item) + 3 * GIB // 2
    size = second + 1 + len(item) + 3 * GIB // 2 + 1
    with sparse(tmp_path / "long", size, [(0, head + item), (second, b"\n" + item), (size - 1, b"\n")]) as buffer:
        [end] = columns.scan("aerospike_records", buffer)
        assert isinstance(end, Break)
        assert (end.failure.path, end.failure.reason, end.at) == ("", TOO_LONG_ROW, 0)


# Checksums.


@pytest.fixture(params=[True, False], ids=["instruction", "tables"])
def crc_way(request: pytest.FixtureRequest) -> Iterator[None]:
    fast.use_crc32c_instruction(request.param)
    yield
    fast.use_crc32c_instruction(wanted=True)


@pytest.mark.usefixtures("crc_way")
@pytest.mark.parametrize("name, reference", [("crc32c", crc32c.crc32c), ("crc32", zlib.crc32)])
def test_native_checksums_are_right_for_every_length_and_offset(name: str, reference: Callable[[bytes], int]) -> None:
    data = Random(5).randbytes(2400)
    # Every short length, and those around one, two and three times the three lanes of 256 bytes.
    sizes = [*range(301), *range(760, 780), *range(1530, 1550), *range(2300, 2312)]
    places = [(start, start + size) for start in (0, 1, 3, 7, 8, 13) for size in sizes]
    starts, ends = (array("q", side) for side in zip(*places, strict=True))
    computed = array("q", bytes(8 * len(places)))
    getattr(fast, f"{name}_ranges")(data, starts, ends, len(places), computed)
    assert list(computed) == [reference(data[start:end]) for start, end in places]


def test_native_checksums_of_nothing_are_zero() -> None:
    for function in (fast.crc32c_ranges, fast.crc32_ranges):
        computed = array("q", [-1])
        function(b"", array("q", [0]), array("q", [0]), 1, computed)
        assert computed[0] == 0


# Without the native module.

SAMPLES = {
    "rbf_frames": "rbf/many-frames.rbf", "borg_blobs": "borg/none-types.pack",
    "kafka_batches": "kafka/many-records.log",
    "kafka_messages": "kafka/v1-plain.log", "kafka_time_index": "kafka/many-records.timeindex",
}  # fmt: skip
SCRIPT = """
import sys
from pathlib import Path
{before}
from thawline.engine import columns
for table, path in zip(sys.argv[1::2], sys.argv[2::2]):
    for part in columns.scan(table, Path(path).read_bytes(), max_rows=5):
        print(part.batch.to_pylist() if isinstance(part, columns.Chunk) else (part.failure.path, part.start, part.at))
"""


def run(before: str = "", **environment: str) -> subprocess.CompletedProcess[str]:
    arguments = [word for table, path in SAMPLES.items() for word in (table, str(GOLDEN / path))]
    command = [sys.executable, "-c", SCRIPT.format(before=before), *arguments]
    return subprocess.run(command, env=os.environ | environment, capture_output=True, text=True, check=True)


def test_switched_off_the_parsers_serve_the_same_rows_in_silence() -> None:
    native, plainly = run(), run(THAWLINE_NATIVE="0")
    assert plainly.stdout == native.stdout
    assert len(native.stdout.splitlines()) > len(SAMPLES)
    assert (native.stderr, plainly.stderr) == ("", "")


def test_where_it_is_not_built_the_parsers_serve_the_same_rows_and_one_line_says_so() -> None:
    plainly = run(before='sys.modules["thawline.native.fast"] = None')
    assert plainly.stdout == run().stdout
    assert plainly.stderr == (
        "thawline: the native module is not built; reading with the plain parsers, which is slower\n"
    )


# Out of bounds: `python -m tools.sanitize` runs this with a module that the address sanitizer watches.


def read_exactly(inputs: Sequence[Input], seed: int) -> None:
    """Read inputs and mutants of them from buffers of exact size, and all that comes of it."""
    for given in [*inputs, *mutants_of(inputs, seed, LONG_RUN)]:
        table = TABLES[given.table]
        with exactly(given.data) as view:
            for part in kernels.read(table, view, given.ranges(), table.columns, LIMITS):
                if isinstance(part, Chunk):
                    part.batch.validate(full=True)


@pytest.mark.fuzz
@each_table
def test_kernels_read_golden_files_in_buffers_of_exact_size(name: str) -> None:
    read_exactly(golden_inputs(name), seed=1 << 35)


@pytest.mark.fuzz
@each_table_with_vectors
def test_kernels_read_vectors_in_buffers_of_exact_size(vectors: Path, name: str) -> None:
    read_exactly(vector_inputs(vectors, name), seed=1 << 36)
