"""Rows as text: JSON objects or lines of CSV, in pieces large enough for one write each.

Native code writes them from Arrow's columns (`native/sources/text_rows.py`). Columns of types that it does not know are
written as text before, by the functions of `thawline.values`, which say what each value looks like.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import suppress

import pyarrow as pa

from thawline import native
from thawline.batches import slices
from thawline.values import (
    BYTES,
    COMPANION,
    FORMULA,
    LONGEST_INTEGER,
    Bytes,
    is_bytes,
    is_text,
    json_text,
    json_texts,
    json_values,
)

__all__ = ["csv_header", "csv_rows", "has_formula", "json_rows", "planned"]

FORMULA_SIGNS = tuple(b'"' + sign.encode() for sign in "=+-@\t\r\n＝＋－＠")  # noqa: RUF001 - as spreadsheets take them
FORMULA_CELL = re.compile(rb'(?:^|[,\n])"(?:[=+\-@\t\r\n]|\xef\xbc(?:\x9d|\x8b|\x8d)|\xef\xbc\xa0)')
"""A quoted cell with such a start. A cell of text may hold what looks like one; that is told in vain."""

PIECE_ROWS, PIECE_BYTES = 65_536, 1 << 20
"""The largest numbers of rows and bytes that are written as text at once."""


def json_rows(batch: pa.RecordBatch, mode: Bytes, before: bytes = b"", after: bytes = b"") -> Iterator[bytes]:
    r"""The rows as JSON objects, each between two texts.

    >>> list(json_rows(pa.record_batch({"a": [1, None], "b": [b"x", b"\xff"]}), "auto", after=b"\n"))
    [b'{"a":1,"b":"x"}\n{"a":null,"b":null,"b_b64":"/w=="}\n']
    """
    if _is_ambiguous(batch.schema, mode):
        yield from ((b"%b%b%b" % (before, text, after)) for text in json_texts(batch, mode))
        return
    batch = _with_numbers(batch)
    unplanned = _unplanned(batch.schema, mode, is_csv=False)
    for piece in slices(batch, PIECE_ROWS, PIECE_BYTES) if batch.num_columns else ():
        rows = _replaced(piece, {place: _json_column(piece.column(place), mode) for place in unplanned})
        yield native.functions.json_rows(rows, unplanned, BYTES.index(mode), before, after)


def csv_rows(batch: pa.RecordBatch, mode: Bytes, *, is_guarded: bool) -> Iterator[bytes]:
    r"""The rows as lines of CSV. With `auto`, every column of bytes has a companion.

    Text is quoted, to tell an empty text from a null. If guarded, a `'` is before every text that a spreadsheet would
    evaluate as a formula.

    >>> list(csv_rows(pa.record_batch({"a": [1, None], "b": ["=1", "x"]}), "auto", is_guarded=True))
    [b'1,"\'=1"\n,"x"\n']
    """
    unplanned = _unplanned(batch.schema, mode, is_csv=True)
    unquoted = [place for place in unplanned if not _is_quoted(batch.schema.field(place).type)]
    for piece in slices(batch, PIECE_ROWS, PIECE_BYTES):
        rows = _replaced(piece, {place: _csv_column(piece.column(place), mode) for place in unplanned})
        yield native.functions.csv_rows(rows, unquoted, BYTES.index(mode), is_guarded)


def planned(batch: pa.RecordBatch) -> pa.RecordBatch:
    """The batch with JSON in the place of columns that native code does not know."""
    places = _unplanned(batch.schema, "hex", is_csv=False)
    return _replaced(batch, {place: _json_column(batch.column(place), "hex") for place in places})


def has_formula(lines: bytes) -> bool:
    r"""Whether a cell of some lines of CSV begins as a formula of a spreadsheet does.

    >>> has_formula(b'1,"=1+1"\n'), has_formula(b'1,"a=""=1"\n'), has_formula(b'-1,"x"\n')
    (True, False, False)
    """
    # Looking for a few bytes is many times faster than the expression, and hardly any text has them.
    return any(sign in lines for sign in FORMULA_SIGNS) and bool(FORMULA_CELL.search(lines))


def csv_header(schema: pa.Schema, mode: Bytes, *, is_guarded: bool) -> bytes:
    """The line of CSV with the names of the columns."""
    names = []
    for field in schema:
        names += [field.name, field.name + COMPANION] if mode == "auto" and is_bytes(field.type) else [field.name]
    if is_guarded:
        names = [re.sub(FORMULA, r"'\g<0>", name) for name in names]
    return ",".join('"' + name.replace('"', '""') + '"' for name in names).encode() + b"\n"


def _with_numbers(batch: pa.RecordBatch) -> pa.RecordBatch:
    """The batch with whole decimals, such as sums of DuckDB, in a type that is written as numbers, where all fit it."""
    for place, field in enumerate(batch.schema):
        if pa.types.is_decimal128(field.type) and field.type.scale == 0 and field.type.precision > LONGEST_INTEGER:
            with suppress(pa.ArrowInvalid):
                column = batch.column(place).cast(pa.decimal128(LONGEST_INTEGER, 0))
                batch = batch.set_column(place, field.name, column)
    return batch


def _is_ambiguous(schema: pa.Schema, mode: Bytes) -> bool:
    """Whether two columns, or a column and a companion, have the same key, or C would cut a key short."""
    keys = list(schema.names)
    keys += [field.name + COMPANION for field in schema if mode == "auto" and is_bytes(field.type)]
    return len(set(keys)) < len(keys) or any("\0" in key for key in keys)


def _unplanned(schema: pa.Schema, mode: Bytes, *, is_csv: bool) -> list[int]:
    return native.functions.unplanned(schema, BYTES.index(mode), is_csv)


def _replaced(batch: pa.RecordBatch, columns: dict[int, pa.Array]) -> pa.RecordBatch:
    for place, column in columns.items():
        batch = batch.set_column(place, batch.schema.names[place], column)
    return batch


def _json_column(column: pa.Array, mode: Bytes) -> pa.Array:
    return pa.array(
        [None if value is None else json_text(value) for value in json_values(column, mode)], pa.large_string()
    )


def _csv_column(column: pa.Array, mode: Bytes) -> pa.Array:
    return _json_column(column, mode) if pa.types.is_nested(column.type) else column.cast(pa.large_string())


def _is_quoted(kind: pa.DataType) -> bool:
    """Whether CSV quotes values of a type that is in no plan: nested ones, which are JSON there, and views of text."""
    if pa.types.is_dictionary(kind):
        return _is_quoted(kind.value_type)
    is_view = pa.types.is_string_view(kind) or pa.types.is_binary_view(kind)
    return bool(pa.types.is_nested(kind) or is_view or is_text(kind))
