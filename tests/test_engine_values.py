"""Values of columns: numbers, bytes, nulls, text, base-64 and checksums, the same in all engines."""

from __future__ import annotations

import base64
import struct
import sys
import zlib
from array import array
from collections.abc import Callable, Iterator
from random import Random
from typing import Any

import crc32c
import pyarrow as pa
import pytest
from agreement import (
    LIMITS,
    Found,
    are_equal,
    check_agreement,
    compiled_read,
    each_engine,
    each_table,
    parsed_read,
    read,
    record,
    rows,
    uncompiled_read,
)
from engines import calling
from inputs import Input, golden_inputs, short
from thawline.generated.kernels.tables import TABLES

from thawline.engine import columns, kernels
from thawline.engine.chunks import Break, Chunk, Ranges, schema_of
from thawline.native import fast
from thawline.native import plain as uncompiled


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


def test_leading_zeros_are_digits_to_the_kernel_and_too_many_to_python() -> None:
    line = b"* u L a.lua %s1 x\n"
    for zeros in (0, 1, 4200, 5000):
        [chunk] = read(compiled_read, given := Input("aerospike_udfs", line % (b"0" * zeros)))
        assert isinstance(chunk, Chunk)
        assert are_equal([chunk], read(parsed_read, given)) == (zeros < sys.get_int_max_str_digits())


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
