"""Which stretches of a file are segments with a right checksum, found in one pass however many there may be.

A segment may start at any RBAK and end at any KABR. To compute the checksum of every pair would take time with the
square of the file, so none is computed: the checksum from s to e is right if, and only if, two numbers agree, one of
which depends on s alone and the other on e alone. CRCs of files end to end combine (as zlib's crc32_combine does it):

    crc(0..e) = shifted(crc(0..s), e - s) ^ crc(s..e)

where `shifted(value, n)` is linear and what n zero bytes do to a CRC. With the size L of the file, crc(s..e) is what
the footer at e stores if shifted(crc(0..s), L - s) is shifted(crc(0..e) ^ stored, L - e).
"""

from __future__ import annotations

from array import array
from collections.abc import Callable, Iterator
from functools import cache

import pyarrow as pa
import pyarrow.compute as pc

from thawline.source import Source

Checksum = Callable[..., int]
"""A CRC of 32 bits as `thawline.checksums` has them."""

WIDTH = 32
TABLE = 256
STEP = 16 << 20
"""Bytes that are looked at in one go, so that a mapped file need not be in memory as a whole."""
AT_ONCE = 1 << 16
"""CRCs that are shifted in one go."""


def places(source: Source, magic: bytes) -> array[int]:
    """Where a magic stands in a file, rising."""
    found = array("q")
    for base in range(0, source.size, STEP):
        window = bytes(source.view(base, min(base + STEP + len(magic) - 1, source.size)))
        at = window.find(magic)
        while at >= 0:
            found.append(base + at)
            at = window.find(magic, at + 1)
        source.release(base)
    return found


def meetings(
    source: Source, starts: array[int], ends: array[int], checksum: Checksum
) -> Iterator[tuple[int, list[int]]]:
    """Starts that some end proves, rising, each with all ends that do, of which some may lie before it.

    An end is where the checksum is stored, in four bytes.
    """
    if not starts or not ends:
        return
    from_starts, from_ends = _signs(source, _numbers(starts), _numbers(ends), checksum)
    meeting: dict[int, list[int]] = {}
    for value, end in _common(from_ends, from_starts, _numbers(ends)):
        meeting.setdefault(value, []).append(end)
    for value, start in _common(from_starts, from_ends, _numbers(starts)):
        yield start, meeting[value]


def _common(values: pa.Array, others: pa.Array, places: pa.Array) -> Iterator[tuple[int, int]]:
    """Values that are among the others, too, and the place of each."""
    mask = pc.is_in(values, value_set=others)
    return zip(values.filter(mask).to_pylist(), places.filter(mask).to_pylist(), strict=True)


def _signs(
    source: Source, starts: pa.Int64Array, ends: pa.Int64Array, checksum: Checksum
) -> tuple[pa.UInt32Array, pa.UInt32Array]:
    """The number of each start and of each end, which agree where the checksum between them is right."""
    marks = pc.unique(pa.concat_arrays([starts, ends]))
    marks = marks.take(pc.array_sort_indices(marks))
    prefixes = _prefixes(source, marks, checksum)
    stored = pa.array((int.from_bytes(source.view(end, end + 4), "little") for end in ends.to_pylist()), pa.uint32())
    from_starts = prefixes.take(pc.index_in(starts, value_set=marks))
    from_ends = pc.bit_wise_xor(prefixes.take(pc.index_in(ends, value_set=marks)), stored)
    size = pa.scalar(source.size, pa.int64())
    return (
        _shifted(from_starts, pc.subtract(size, starts), checksum),
        _shifted(from_ends, pc.subtract(size, ends), checksum),
    )


def _prefixes(source: Source, marks: pa.Int64Array, checksum: Checksum) -> pa.UInt32Array:
    """The checksum of all bytes before each mark."""
    view, found = source.view(0, source.size), array("I")
    value, done, released = 0, 0, 0
    for mark in marks.to_pylist():
        value, done = checksum(view, done, mark, value=value), mark
        found.append(value)
        if done - released >= STEP:
            source.release(done)
            released = done
    return pa.Array.from_buffers(pa.uint32(), len(found), [None, pa.py_buffer(found)])


def _shifted(values: pa.UInt32Array, sizes: pa.Int64Array, checksum: Checksum) -> pa.UInt32Array:
    """What so many zero bytes make of each CRC."""
    parts = [
        _shifted_part(values[at : at + AT_ONCE], sizes[at : at + AT_ONCE], checksum)
        for at in range(0, len(values), AT_ONCE)
    ]
    return pa.concat_arrays(parts)


def _shifted_part(values: pa.UInt32Array, sizes: pa.Int64Array, checksum: Checksum) -> pa.UInt32Array:
    for bit in range(pc.max(sizes).as_py().bit_length()):
        is_due = pc.not_equal(pc.bit_wise_and(sizes, pa.scalar(1 << bit, pa.int64())), pa.scalar(0, pa.int64()))
        values = pc.if_else(is_due, _looked_up(values, _tables(checksum, bit)), values)
    return values


def _looked_up(values: pa.UInt32Array, tables: tuple[pa.UInt32Array, ...]) -> pa.UInt32Array:
    """A linear function of each value, by its four bytes."""
    made = None
    for index, table in enumerate(tables):
        byte = pc.bit_wise_and(pc.shift_right(values, pa.scalar(8 * index, pa.uint32())), pa.scalar(255, pa.uint32()))
        part = table.take(byte)
        made = part if made is None else pc.bit_wise_xor(made, part)
    return made


@cache
def _tables(checksum: Checksum, bit: int) -> tuple[pa.UInt32Array, ...]:
    """What 2 ** bit zero bytes make of a CRC: for each of its four bytes, by the byte's value."""
    columns = _columns(checksum, bit)
    return tuple(
        pa.array((_applied(columns[byte : byte + 8], value) for value in range(TABLE)), pa.uint32())
        for byte in range(0, WIDTH, 8)
    )


@cache
def _columns(checksum: Checksum, bit: int) -> tuple[int, ...]:
    """The same for each single bit of a CRC; twice as many zeros are the same function once more."""
    if bit:
        half = _columns(checksum, bit - 1)
        return tuple(_applied(half, column) for column in half)
    zero = bytes(1)
    return tuple(checksum(zero, value=1 << index) ^ checksum(zero) for index in range(WIDTH))


def _applied(columns: tuple[int, ...], value: int) -> int:
    made = 0
    for index, column in enumerate(columns):
        if value >> index & 1:
            made ^= column
    return made


def _numbers(places: array[int]) -> pa.Int64Array:
    return pa.Array.from_buffers(pa.int64(), len(places), [None, pa.py_buffer(places)])
