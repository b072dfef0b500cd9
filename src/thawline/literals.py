"""Arrow values from Python values, built from their bytes.

`pyarrow.scalar` and `pyarrow.array` import pandas where it is installed, which takes longer than verifying 50 MB.
"""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from functools import lru_cache
from itertools import accumulate

import pyarrow as pa

from thawline.wording import utf8

LARGEST_SHARED = 1 << 20
"""A column of one text with more characters is not cached: each segment of a folder has a file name of its own."""


def integer(value: int) -> pa.Int64Scalar:
    """A 64-bit integer scalar.

    >>> integer(5)
    <pyarrow.Int64Scalar: 5>
    """
    return pa.Array.from_buffers(pa.int64(), 1, [None, pa.py_buffer(array("q", [value]))])[0]


def null(type_: pa.DataType) -> pa.Scalar:
    """The null scalar of a type."""
    return pa.nulls(1, type_)[0]


def texts(values: Sequence[str]) -> pa.StringArray:
    r"""A column of texts. What is not UTF-8, as a file name may be, is escaped.

    >>> texts(["a", "b\udcff"]).to_pylist()
    ['a', 'b\\udcff']
    """
    encoded = [utf8(value).encode() for value in values]
    ends = array("i", accumulate(map(len, encoded), initial=0))
    buffers = [None, pa.py_buffer(ends), pa.py_buffer(b"".join(encoded))]
    return pa.Array.from_buffers(pa.string(), len(encoded), buffers)


def repeated(value: int | str | bytes | None, kind: pa.DataType, rows: int) -> pa.Array:
    """A column of one value. Columns of the same value share their memory, which is never written to.

    >>> repeated("a", pa.string(), 3).to_pylist()
    ['a', 'a', 'a']
    """
    room = 1 << rows.bit_length()
    if isinstance(value, str | bytes) and room * len(value) > LARGEST_SHARED:
        return pa.repeat(_one(value), rows)
    return _repeated(value, kind, room)[:rows]


@lru_cache(maxsize=32)
def _repeated(value: int | str | bytes | None, kind: pa.DataType, rows: int) -> pa.Array:
    if value is None:
        return pa.nulls(rows, kind)
    if isinstance(value, str | bytes):
        return pa.repeat(_one(value), rows)
    return pa.repeat(integer(value), rows).cast(kind)


def _one(value: str | bytes) -> pa.Scalar:
    """A text, or bytes, as a scalar."""
    if isinstance(value, str):
        return texts([value])[0]
    buffers = [None, pa.py_buffer(array("i", [0, len(value)])), pa.py_buffer(value)]
    return pa.Array.from_buffers(pa.binary(), 1, buffers)[0]
