"""The plain engine: the same rows as the kernels', from the objects of the generated parsers.

It serves where the native module is not built, and the kernels are tested against it. It makes a Python object for
every field, so it is several hundred times slower.
"""

from __future__ import annotations

import binascii
from collections.abc import Iterator, Sequence
from typing import Any

import kaitaistruct
import pyarrow as pa

from thawline import checksums as algorithms
from thawline import specs
from thawline.engine.chunks import LEFT_OVER, Break, Chunk, Ranges, arrow_type, label_of, schema_of
from thawline.engine.tables import Column, Failure, Table


def read(
    table: Table,
    view: memoryview,
    ranges: Ranges,
    wanted: Sequence[Column],
    limits: tuple[int, int],
    *,
    checksums: bool = True,
) -> Iterator[Chunk | Break]:
    """Chunks of rows, and a break for each range that cannot be read to its end."""
    rows = _Rows(table, wanted, checksums=checksums)
    for index, (start, end, count) in enumerate(zip(ranges.starts, ranges.ends, ranges.counts, strict=True)):
        for found in _range_rows(table, view, (index, start, end, count)):
            if isinstance(found, Break):
                yield from rows.flush()
                yield found
                break
            if rows.is_full(*found[:2], *limits):
                yield from rows.flush()
            rows.add(*found, index)
    yield from rows.flush()


LONGEST_CHUNK = (1 << 31) - 1
"""Arrow counts the bytes of a binary column with 32 bits, so a longer chunk has only one row, as with kernels."""

Found = tuple[int, int, Any] | Break
"""A row's start, end and object."""


def _range_rows(table: Table, view: memoryview, place: tuple[int, int, int, int]) -> Iterator[Found]:
    """The rows of one range, and a break if they cannot be read to its end."""
    index, start, end, count = place
    stream = kaitaistruct.KaitaiStream(kaitaistruct.BytesIO(bytes(view[start:end])))
    parser = specs.parser(table.spec)
    done = 0
    while done < count if count >= 0 else not stream.is_eof():
        at = start + stream.pos()
        try:
            row = parser(stream)
            _touch(row, table.columns)
        except specs.PARSE_ERRORS:
            yield _break(table, bytes(view[at:end]), at, index)
            return
        yield at, start + stream.pos(), row
        done += 1
    if count >= 0 and not stream.is_eof():
        at = start + stream.pos()
        yield Break(Failure(table.spec, "", LEFT_OVER), at, at, index)


def _touch(row: Any, columns: Sequence[Column]) -> None:
    """Evaluate the instances that are columns, since ksc's parsers are lazy."""
    for column in columns:
        if column.kind != "list":
            value_of(row, column)


def _break(table: Table, data: bytes, at: int, index: int) -> Break:
    place = specs.locate(table.spec, data) or specs.Place(0, table.spec, "")
    return Break(Failure(place.spec, place.path, "cannot be read"), at, at + place.offset, index)


class _Rows:
    """Rows that wait to become a chunk."""

    def __init__(self, table: Table, wanted: Sequence[Column], *, checksums: bool) -> None:
        self.table, self.wanted = table, wanted
        is_wanted = checksums and table.checksum and any(column.name == table.checksum.column for column in wanted)
        self.checksum = table.checksum if is_wanted else None
        self.clear()

    def clear(self) -> None:
        self.spans: list[tuple[int, int, int]] = []
        self.values: list[list[Any]] = [[] for _ in self.wanted]
        self.checksums: list[int] = []

    def is_full(self, start: int, end: int, max_rows: int, max_bytes: int) -> bool:
        """Whether a row from `start` to `end` belongs to the next chunk."""
        if not self.spans:
            return False
        first = self.spans[0][0]
        return len(self.spans) == max_rows or start - first >= max_bytes or end - first > LONGEST_CHUNK

    def add(self, start: int, end: int, row: Any, index: int) -> None:
        self.spans.append((start, end, index))
        for column, values in zip(self.wanted, self.values, strict=True):
            values.append(value_of(row, column))
        if checksum := self.checksum:
            compute = getattr(algorithms, checksum.algorithm)
            self.checksums.append(compute(_follow(row, checksum.attributes)))

    def flush(self) -> Iterator[Chunk]:
        if not self.spans:
            return
        built = [pa.array(values, arrow_type(column)) for column, values in zip(self.wanted, self.values, strict=True)]
        batch = pa.RecordBatch.from_arrays(built, schema=schema_of(self.wanted))
        starts, ends, ranges = zip(*self.spans, strict=True)
        computed = pa.array(self.checksums, pa.int64()) if self.checksum else None
        yield Chunk(
            batch, pa.array(starts, pa.int64()), pa.array(ends, pa.int64()), pa.array(ranges, pa.int32()), computed
        )
        self.clear()


def value_of(row: Any, column: Column) -> Any:
    """The value of a column in one row, as Python has it."""
    value = _follow(row, column.attributes)
    if value is None:
        return None
    if column.kind == "list":
        return [{item.name: value_of(entry, item) for item in column.items} for entry in value]
    return _converted(value, column)


def _follow(value: Any, attributes: tuple[str, ...]) -> Any:
    """What a chain of attributes leads to; None if an `if` left one of them out."""
    for name in attributes:
        value = getattr(value, name, None)
    return value


def _converted(value: Any, column: Column) -> Any:
    match column.kind:
        case "enum":
            return label_of(column, int(value))
        case "escaped":
            return _unescaped(value).decode("utf-8", "replace")
        case "text":
            return value.decode("utf-8", "replace")
        case "base64":
            return _decoded(value)
        case "binary" | "bool":
            return value
    return value.value if isinstance(value, kaitaistruct.KaitaiStruct) else value


def _unescaped(token: Any) -> bytes:
    return bytes(char.literal if char.is_escape else char.byte for char in token.chars[:-1])


def _decoded(text: bytes) -> bytes | None:
    """The bytes of base-64 text; None if length, characters or padding are wrong."""
    body = text.rstrip(b"=")
    if len(text) % 4 or len(text) - len(body) > 2 or b"=" in body:  # noqa: PLR2004 - at most two characters pad
        return None
    try:
        return binascii.a2b_base64(text, strict_mode=True)
    except binascii.Error:
        return None
