"""Arrow columns, assembled from the arrays that a kernel has filled."""

from __future__ import annotations

from array import array
from functools import cache

import pyarrow as pa

from thawline import native
from thawline.engine.arrays import OFFSET, PLACE, Arrays, Path
from thawline.engine.buffers import (
    ALL_VALID,
    STRING,
    Pooled,
    Slices,
    Validity,
    equal_offsets,
    gathered,
    packed,
    validity_of,
)
from thawline.engine.chunks import ARROW_TYPES, arrow_type, label_of
from thawline.engine.tables import GATHERED, SLICES, Column
from thawline.native.constants.kernels import COPY_STEP

BOOL = pa.bool_()


class Assembly:
    """The columns of one chunk after the other."""

    def __init__(self, view: memoryview, arrays: Arrays) -> None:
        self.view, self.arrays, self.columns = view, arrays, arrays.columns
        self.items: dict[Path, int] = {}
        self.types: dict[Path, pa.DataType] = {}

    def column(self, column: Column, path: Path, rows: int) -> pa.Array:
        """One Arrow array, whatever the column holds."""
        if column.kind in SLICES:
            found = self.slices(column, path, rows)
            return found.column() if column.kind in ("binary", "base64") else found.text()
        if column.kind == "list":
            return self.list_(column, path, rows)
        values, validity = self.columns[path, "value"], self.validity(column, path, rows)
        if column.kind == "enum":
            return _labels(column, values, rows, validity)
        if column.kind == "bool":
            flags, _ = packed(values.view, rows)
            return pa.Array.from_buffers(BOOL, rows, [validity[0], flags], validity[1])
        return values.column(rows, ARROW_TYPES[column.kind], validity)

    def slices(self, column: Column, path: Path, rows: int) -> Slices:
        """Values of bytes: of one size, copied by the kernel, or still scattered in the buffer."""
        if column.size:
            return Slices(rows, equal_offsets(column.size, rows), self.columns[path, "bytes"])
        if column.kind in GATHERED:
            offsets = self.columns[path, OFFSET]
            data = self.arrays.taken(path, offsets.view[rows])
            return Slices(rows, offsets, data, self.validity(column, path, rows))
        starts, lengths = (self.columns[path, part].view for part in PLACE)
        decode = native.functions.gather_base64 if column.kind == "base64" else None
        return gathered(self.view, starts, lengths, rows, decode)

    def validity(self, column: Column, path: Path, rows: int) -> Validity:
        """The validity of a column, from the byte for each row that a kernel writes if it may be null."""
        return validity_of(self.columns[path, "valid"].view, rows) if column.nullable else ALL_VALID

    def list_(self, column: Column, path: Path, rows: int) -> pa.ListArray:
        """A list of structures."""
        if path not in self.types:
            self.types[path] = arrow_type(column)
        type_, size = self.types[path], self.items[path]
        built = [self.column(item, (*path, item.name), size) for item in column.items]
        items = pa.Array.from_buffers(type_.value_type, size, [None], 0, children=built)
        offsets = self.columns[path, "value"].buffer
        return pa.Array.from_buffers(type_, rows, [None, offsets], 0, children=[items])


def _labels(column: Column, codes: Pooled, rows: int, validity: Validity) -> pa.StringArray:
    """A column of an enum's names."""
    text, label_starts = label_table(tuple(column.labels.items()))
    total = native.functions.measure_labels(label_starts, codes.view, rows)
    offsets, data = Pooled("i", rows + 1), Pooled("B", total + COPY_STEP)
    native.functions.gather_labels(text, label_starts, codes.view, rows, offsets.view, data.view)
    return Slices(rows, offsets, data, validity).column(STRING)


@cache
def label_table(labels: tuple[tuple[int, str], ...]) -> tuple[bytes, array[int]]:
    """The names of all 256 values of a byte back to back, and where each of them starts."""
    column = Column("", "enum", (), labels=dict(labels))
    names = [label_of(column, code).encode() for code in range(256)]
    starts = array("q", [0])
    for name in names:
        starts.append(starts[-1] + len(name))
    return b"".join(names) + bytes(COPY_STEP), starts
