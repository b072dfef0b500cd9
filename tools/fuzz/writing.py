"""The ways into native code that writes: the encoders of tables, and rows as text. What they write is made of bytes."""

from __future__ import annotations

from array import array
from collections.abc import Iterator
from functools import cache
from typing import Any

import orjson
import pyarrow as pa

from thawline.engine.buffers import ITEM_SIZES
from thawline.engine.encoders import Encoder, Path, arguments
from thawline.engine.tables import TYPECODES, Column, lists
from thawline.native.constants.encoders import ENCODE_DONE, ENCODE_FULL, ENCODED_AT, ENCODED_SLOTS
from tools.fuzz.scans import NATIVE, How, block

MOST = 4
"""Rows, and items of a list."""
ANY = 224
"""From this byte on, numbers are any; below, they are small, or codes that the spec names."""
ROOM = 64
"""Bytes of each value at most, so that some are left for the next."""


class Bytes:
    """Bytes that values are taken from; 0 after their end."""

    def __init__(self, view: memoryview) -> None:
        self._view, self._at = view, 0

    def take(self, size: int) -> bytes:
        """The next `size` bytes."""
        self._at += size
        return bytes(self._view[self._at - size : self._at]).ljust(size, b"\0")

    def cuts(self, count: int) -> array[int]:
        """Where each value ends in the bytes of all, after 0: ascending. Values may all be of the same size."""
        size = self.take(1)[0]
        if size <= ROOM:
            return array("i", range(0, size * count + 1, size)) if size else array("i", bytes(4 * count + 4))
        return array("i", [0, *sorted(end % (ROOM + 1) for end in self.take(count))])

    def numbers(self, column: Column, count: int) -> array[int]:
        """Values of a column: mostly such as it can have."""
        typecode, how = TYPECODES[column.kind], self.take(1)[0]
        if how >= ANY:
            return array(typecode, self.take(ITEM_SIZES[typecode] * count))[:]
        labels = [*column.labels] if column.kind == "enum" else range(2) if column.kind == "bool" else range(128)
        return array(typecode, [labels[byte % len(labels)] for byte in self.take(count)])[:]


class Encoding:
    """The encoder of a table: it measures, writes as much, and stops where there is less room."""

    def __init__(self, encoder: Encoder) -> None:
        self.name, self.arguments = encoder.name, list(arguments(encoder.columns))
        self.lists = [path for path, _ in lists(encoder.columns)]
        self.columns = dict(_columns_at(encoder.columns))
        self.encode = getattr(NATIVE, f"encode_{encoder.name}")

    def __call__(self, view: memoryview, how: How) -> None:
        """Encode some rows."""
        given = Bytes(view)
        rows = given.take(1)[0] % (MOST + 1)
        columns = self._columns(given, rows)
        state, ends = array("q", bytes(8 * ENCODED_SLOTS)), array("q", bytes(8 * rows))[:]
        if self.encode(0, rows, state, ends, 1, block(0, 0), *columns) != ENCODE_DONE:
            return
        size = state[ENCODED_AT]
        if list(ends) != sorted(ends) or (rows and ends[-1] != size):
            raise AssertionError(f"{self.name}: rows that end at {list(ends)} of {size} bytes")
        self._write(rows, size, columns, how)
        if size:
            self._write(rows, size - 1 - size // 3, columns, how)

    def _write(self, rows: int, size: int, columns: list[Any], how: How) -> None:
        state, out = array("q", bytes(8 * ENCODED_SLOTS)), block(size, how.pattern)
        status = self.encode(0, rows, state, array("q"), 0, out, *columns)
        if status not in {ENCODE_DONE, ENCODE_FULL} or not 0 <= state[ENCODED_AT] <= size:
            raise AssertionError(f"{self.name}: status {status} at {state[ENCODED_AT]} of {size} bytes")

    def _columns(self, given: Bytes, rows: int) -> list[Any]:
        columns: list[Any] = []
        first, cuts = 0, array("i", [0])
        for it in self.arguments:
            if it.part == "start":
                cuts = given.cuts(MOST if len(it.path) > 1 else rows)
                if it.path in self.lists:
                    cuts = array("i", sorted(cut % (MOST + 1) for cut in cuts))
                columns.append(cuts)
            elif it.part == "data":
                columns.append(array("B", given.take(cuts[-1]))[:])
            elif it.part == "valid":
                first = given.take(1)[0] % 8
                columns.append(array("B", given.take((first + MOST + 7) // 8))[:])
            elif it.part == "first":
                columns.append(first)
            else:
                count = MOST if len(it.path) > 1 else rows
                columns.append(given.numbers(self.columns[it.path], count))
        return columns


def _columns_at(columns: tuple[Column, ...], above: Path = ()) -> Iterator[tuple[Path, Column]]:
    """The columns at every depth, with their paths."""
    for column in columns:
        yield (*above, column.name), column
        yield from _columns_at(column.items, (*above, column.name))


def text_rows(view: memoryview, how: How) -> None:
    """Rows of two columns as JSON or as CSV, whole or from the second one on."""
    given = Bytes(view)
    first, second, rows = (byte % size for byte, size in zip(given.take(3), (*2 * [len(KINDS)], MOST + 1), strict=True))
    schema, mode, is_csv = _schema(first, second), how.number >> 4 & 3, bool(how.number & 2)
    if NATIVE.unplanned(schema, mode, is_csv):
        return
    batch = pa.RecordBatch.from_arrays([_column(field.type, rows, given) for field in schema], schema=schema)
    batch = batch.slice(1) if how.number & 8 else batch
    if not batch.num_rows:
        return  # `slices` gives none such to write
    try:
        if is_csv:
            NATIVE.csv_rows(batch, [], mode, how.is_gathered)
        else:
            _check_json(NATIVE.json_rows(batch, [], mode, b"", b"\n"), batch.num_rows)
    except ValueError as error:
        if "is not UTF-8" not in str(error):
            raise


def _check_json(text: bytes, rows: int) -> None:
    found = [orjson.loads(line) for line in text.splitlines()]
    if len(found) != rows:
        raise AssertionError(f"{rows} rows are {text!r}")


@cache
def _schema(first: int, second: int) -> pa.Schema:
    return pa.schema([("a", KINDS[first]), ("b", KINDS[second])])


KINDS = (
    pa.string(), pa.binary(), pa.large_string(), pa.binary(3), pa.int64(), pa.uint8(), pa.float64(), pa.float32(),
    pa.bool_(), pa.timestamp("us"), pa.timestamp("ns", "UTC"), pa.decimal128(20, 0),
    pa.list_(pa.string()), pa.struct({"a": pa.binary(), "b": pa.int32()}),
)  # fmt: skip


def _column(kind: pa.DataType, rows: int, given: Bytes) -> pa.Array:
    """Values of a type, some of them null."""
    valid = _buffer(given.take(1))
    if pa.types.is_struct(kind):
        children = [_column(field.type, rows, given) for field in kind]
        return pa.StructArray.from_buffers(kind, rows, [valid], children=children)
    if pa.types.is_list(kind):
        cuts = array("i", sorted(cut % (MOST + 1) for cut in given.take(rows + 1)))
        return pa.ListArray.from_buffers(
            kind, rows, [valid, pa.py_buffer(cuts)], children=[_column(kind.value_type, MOST, given)]
        )
    if pa.types.is_fixed_size_binary(kind) or pa.types.is_primitive(kind) or pa.types.is_decimal(kind):
        return pa.Array.from_buffers(kind, rows, [valid, _buffer(given.take((kind.bit_width * rows + 7) // 8))])
    cuts = given.cuts(rows)
    offsets = array("q" if pa.types.is_large_string(kind) else "i", cuts)[:]
    return pa.Array.from_buffers(kind, rows, [valid, pa.py_buffer(offsets), _buffer(given.take(cuts[-1]))])


def _buffer(data: bytes) -> pa.Buffer:
    """Bytes in a block of their own."""
    return pa.py_buffer(array("B", data)[:])
