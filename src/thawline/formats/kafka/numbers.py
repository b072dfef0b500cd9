"""Numbers of Arrow columns as native code takes them. Columns have no nulls."""

from __future__ import annotations

from array import array

import pyarrow as pa

SIZES = {"q": 8, "i": 4}


def view(values: pa.Array, typecode: str = "q") -> memoryview:
    """The numbers of a column, where they are."""
    size = SIZES[typecode]
    data = memoryview(values.buffers()[1] or b"").cast("B")
    found: memoryview = data[size * values.offset : size * (values.offset + len(values))].cast(typecode)  # type: ignore[call-overload]
    return found


def copied(values: pa.Int64Array) -> array[int]:
    """The 64-bit numbers of a column as an array of their own."""
    numbers = array("q")
    numbers.frombytes(view(values).cast("B"))
    return numbers


def column(numbers: array[int]) -> pa.Int64Array:
    """An Arrow column over an array, without a copy."""
    return pa.Array.from_buffers(pa.int64(), len(numbers), [None, pa.py_buffer(numbers)])


class Room:
    """Room for 64-bit numbers in Arrow's memory pool, to be filled by native code and then taken as a column."""

    def __init__(self, rows: int) -> None:
        self.rows = rows
        self.buffer = pa.allocate_buffer(8 * rows)
        self.view = memoryview(self.buffer).cast("B").cast("q")

    def column(self, kind: pa.DataType | None = None, validity: pa.Buffer | None = None) -> pa.Array:
        """The numbers as a column, of 64-bit integers unless another type of that size is named."""
        return pa.Array.from_buffers(kind or pa.int64(), self.rows, [validity, self.buffer])
