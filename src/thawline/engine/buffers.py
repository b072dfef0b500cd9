"""Memory that Arrow and native code share: arrays to fill, views of columns, and columns over memory.

Native code takes arrays of numbers as memory views. A typecode is one of `array`: `q` is a 64-bit integer, `i` one of
32 bits, `B` a byte.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache

import pyarrow as pa

from thawline import native
from thawline.native.constants.kernels import COPY_STEP

ITEM_SIZES = {"q": 8, "i": 4, "I": 4, "h": 2, "b": 1, "B": 1}
TYPES = {"q": pa.int64(), "i": pa.int32(), "I": pa.uint32(), "h": pa.int16(), "b": pa.int8(), "B": pa.uint8()}
BINARY, STRING = pa.binary(), pa.string()
LONGEST = (1 << 31) - 1
"""Bytes that a column of bytes may have: Arrow counts them with 32 bits."""

SMALL = 16 << 10
"""Bytes up to which an array is Python's own memory. Arrow's pool lets go of the interpreter's lock for a moment, which
another thread then takes: to get it back costs more than all else."""

Validity = tuple[pa.Buffer | None, int]
"""A bitmap of the rows that are not null, and the number of nulls; without nulls there is no bitmap."""
ALL_VALID: Validity = (None, 0)
Decode = Callable[..., int]
"""A native function that writes values without their encoding, and returns the number of nulls."""


class Pooled:
    """An array of numbers in Arrow's memory pool, which native code fills and a column takes."""

    __slots__ = ("buffer", "typecode", "view")

    def __init__(self, typecode: str, size: int, *, is_zero: bool = False) -> None:
        self.typecode = typecode
        needed = size * ITEM_SIZES[typecode]
        self.buffer = pa.allocate_buffer(needed) if needed > SMALL else pa.py_buffer(bytearray(needed))
        self.view = view(self.buffer, typecode)
        if is_zero:
            memoryview(self.buffer).cast("B")[:] = bytes(self.buffer.size)

    def column(self, rows: int, type_: pa.DataType | None = None, validity: Validity = ALL_VALID) -> pa.Array:
        """The first numbers as a column, of integers unless another type of the same size is named.

        >>> pooled = Pooled("q", 2, is_zero=True)
        >>> pooled.view[1] = 5
        >>> pooled.column(2).to_pylist()
        [0, 5]
        """
        valid, nulls = validity
        return pa.Array.from_buffers(type_ or TYPES[self.typecode], rows, [valid, self.buffer], nulls)

    def copy(self, size: int, room: int = 0) -> Pooled:
        """The first numbers in memory of their own, with room for more after them."""
        copied = Pooled(self.typecode, size + room)
        copied.view[:size] = self.view[:size]
        return copied


def bitmap(rows: int, *, is_zero: bool = False) -> Pooled:
    """A bit for each row, eight in a byte."""
    return Pooled("B", (rows + 7) // 8, is_zero=is_zero)


def view(buffer: pa.Buffer | None, typecode: str = "B") -> memoryview:
    """The memory of a buffer as numbers; empty where there is no buffer."""
    plain = memoryview(b"" if buffer is None else buffer).cast("B")
    return plain if typecode == "B" else plain.cast(typecode)  # type: ignore[call-overload]


def numbers(values: pa.Array, typecode: str = "q") -> memoryview:
    """The numbers of a column, without a copy.

    >>> list(numbers(pa.array([1, 2, 3])[1:]))
    [2, 3]
    """
    return _items(values.buffers()[1], typecode, values.offset, len(values))


def _items(buffer: pa.Buffer | None, typecode: str, first: int, count: int) -> memoryview:
    """Some numbers of a buffer, whose own size may not be a multiple of theirs."""
    size = ITEM_SIZES[typecode]
    found: memoryview = view(buffer)[size * first : size * (first + count)].cast(typecode)  # type: ignore[call-overload]
    return found


def copied_numbers(values: pa.Int64Array) -> array[int]:
    """The 64-bit numbers of a column in an array of their own."""
    copied = array("q")
    copied.frombytes(numbers(values).cast("B"))
    return copied


def column_of(values: array[int]) -> pa.Array:
    """An Arrow column over an array, without a copy.

    >>> column_of(array("q", [1, 2])).to_pylist()
    [1, 2]
    """
    return pa.Array.from_buffers(TYPES[values.typecode], len(values), [None, pa.py_buffer(values)])


def slices(values: pa.BinaryArray | pa.StringArray) -> tuple[memoryview, memoryview]:
    """Where each value of a column starts, and at last where they end, with the bytes that these positions are in.

    >>> starts, data = slices(pa.array(["a", "bc", "d"])[1:])
    >>> list(starts), bytes(data)
    ([1, 3, 4], b'abcd')
    """
    _, offsets, data = values.buffers()
    if offsets is None or not offsets.size:  # Arrow allows that of a column without rows
        return memoryview(array("i", [0])), memoryview(b"")
    starts = _items(offsets, "i", values.offset, len(values) + 1)
    return starts, view(data)[: starts[-1]]


def valid_bits(values: pa.Array) -> memoryview:
    """The validity bitmap of a column, whose first row has the bit `values.offset`; empty where no value is null."""
    return view(values.buffers()[0] if values.null_count else None)


def bits(values: pa.BooleanArray) -> memoryview:
    """The bitmap of a column of booleans, whose first row has the bit `values.offset`."""
    return view(values.buffers()[1])


def packed(flags: memoryview, rows: int) -> tuple[pa.Buffer, int]:
    """A bitmap of flags of a byte each, 0 or 1, and how many of them are 0."""
    made = bitmap(rows)
    return made.buffer, native.functions.pack_bits(flags, rows, made.view)


def validity_of(flags: memoryview, rows: int) -> Validity:
    """The validity of rows from a byte for each, 0 for null."""
    if b"\0" not in bytes(flags[:rows]):  # the usual case, and this test is quicker than packing
        return ALL_VALID
    return packed(flags, rows)


@dataclass(frozen=True, slots=True)
class Slices:
    """Values of bytes in the memory that Arrow columns take."""

    rows: int
    offsets: Pooled
    data: Pooled
    validity: Validity = ALL_VALID

    @property
    def size(self) -> int:
        """How many bytes the values have together."""
        return self.offsets.view[self.rows]

    def column(self, type_: pa.DataType = BINARY) -> pa.Array:
        """A column of bytes, or of text that is known to be UTF-8."""
        valid, nulls = self.validity
        return pa.Array.from_buffers(type_, self.rows, [valid, self.offsets.buffer, self.data.buffer], nulls)

    def text(self) -> pa.StringArray:
        """A column of text, with U+FFFD for what is not UTF-8. Most text is ASCII, which is quicker to see."""
        is_ascii = native.functions.is_ascii(self.data.view, self.size)
        return self.column(STRING) if is_ascii else text_of(self.column())


def gathered(
    view_: memoryview, starts: memoryview, lengths: memoryview, rows: int, decode: Decode | None = None
) -> Slices:
    """Values that are scattered in a buffer, copied; `decode` is for values that are not stored as they are.

    A length of -1 is a null, and a lower one is that of a token with escapes, which are removed.
    """
    total, is_mixed, size = native.functions.measure(lengths, rows)
    data = Pooled("B", total + COPY_STEP)
    if size and decode is None:
        native.functions.gather_equal(view_, starts, size, rows, data.view)
        return Slices(rows, equal_offsets(size, rows), data)
    offsets = Pooled("i", rows + 1)
    arguments = (view_, starts, lengths, rows, offsets.view, data.view)
    if not is_mixed and decode is None:
        native.functions.gather_plain(*arguments)
        return Slices(rows, offsets, data)
    valid = bitmap(rows)
    nulls = (decode or native.functions.gather_optional)(*arguments, valid.view)
    return Slices(rows, offsets, data, (valid.buffer, nulls) if nulls else ALL_VALID)


def equal_offsets(size: int, rows: int) -> Pooled:
    """Offsets of values of one size. Columns share them; they are never written to."""
    room = 1 << rows.bit_length()
    return _equal_offsets(size, room if room * size <= LONGEST else rows)


@lru_cache(maxsize=32)
def _equal_offsets(size: int, rows: int) -> Pooled:
    offsets = Pooled("i", rows + 1)
    native.functions.fill_steps(offsets.view, size)
    return offsets


def text_of(values: pa.BinaryArray) -> pa.StringArray:
    """Text of UTF-8 bytes, with U+FFFD for what is not UTF-8, as Kafka and Spark decode it."""
    try:
        return values.cast(STRING)
    except pa.ArrowInvalid:
        decoded = [None if value is None else value.decode("utf-8", "replace") for value in values.to_pylist()]
        return pa.array(decoded, STRING)
