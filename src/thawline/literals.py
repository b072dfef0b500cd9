"""Arrow values of Python's own, made of their bytes.

`pyarrow.scalar` and `pyarrow.array` import pandas wherever it is installed, which takes longer than to verify 50 MB.
"""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from functools import lru_cache
from itertools import accumulate

import pyarrow as pa

from thawline.wording import utf8

LARGEST_SHARED = 1 << 20
"""Characters of a column of one text that are kept for the next one: a folder of segments has a name for each."""


def integer(value: int) -> pa.Int64Scalar:
    """An integer of 64 bits.

    >>> integer(5)
    <pyarrow.Int64Scalar: 5>
    """
    return pa.Array.from_buffers(pa.int64(), 1, [None, pa.py_buffer(array("q", [value]))])[0]


def null(type_: pa.DataType) -> pa.Scalar:
    """The null of a type."""
    return pa.nulls(1, type_)[0]


def texts(values: Sequence[str]) -> pa.StringArray:
    r"""Some texts. What is not UTF-8, as the name of a file may be, is escaped.

    >>> texts(["a", "b\udcff"]).to_pylist()
    ['a', 'b\\udcff']
    """
    encoded = [utf8(value).encode() for value in values]
    ends = array("i", accumulate(map(len, encoded), initial=0))
    buffers = [None, pa.py_buffer(ends), pa.py_buffer(b"".join(encoded))]
    return pa.Array.from_buffers(pa.string(), len(encoded), buffers)


def repeated(value: int | str | None, kind: pa.DataType, rows: int) -> pa.Array:
    """A column of one value. Columns of the same value share their memory, since nobody writes to it.

    >>> repeated("a", pa.string(), 3).to_pylist()
    ['a', 'a', 'a']
    """
    room = 1 << rows.bit_length()
    if isinstance(value, str) and room * len(value) > LARGEST_SHARED:
        return pa.repeat(texts([value])[0], rows)
    return _repeated(value, kind, room)[:rows]


@lru_cache(maxsize=32)
def _repeated(value: int | str | None, kind: pa.DataType, rows: int) -> pa.Array:
    if value is None:
        return pa.nulls(rows, kind)
    if isinstance(value, str):
        return pa.repeat(texts([value])[0], rows)
    return pa.repeat(integer(value), rows).cast(kind)
