"""Rows that other libraries ask for: Polars' lazy frames and DuckDB's scans say which columns and rows they want.

Columns that are not wanted are not read. Comparisons that every wanted row meets go to the format, which passes over
units that hold none. The library filters the remaining rows itself, so both need not agree on every comparison.
"""

from __future__ import annotations

import datetime as dt
import json
import re
from collections.abc import Collection, Iterator, Mapping
from typing import TYPE_CHECKING, Any, cast

import pyarrow as pa
import pyarrow.dataset as ds

from thawline.errors import MissingExtra
from thawline.filters import Bound
from thawline.filters.pushdown import EPOCH, Comparison, Condition

if TYPE_CHECKING:
    import polars as pl

    from thawline.cold import ArrowRows

SIGNS: dict[str, Comparison] = {"Eq": "=", "Lt": "<", "LtEq": "<=", "Gt": ">", "GtEq": ">="}
TURNED: dict[Comparison, Comparison] = {"=": "=", "<": ">", "<=": ">=", ">": "<", ">=": "<="}
INTEGER = re.compile(r"(Dyn)?U?Int(8|16|32|64)?")
PER_SECOND = {"Milliseconds": 1_000, "Microseconds": 1_000_000, "Nanoseconds": 1_000_000_000}
COMPARED = re.compile(r"\((?P<column>\w+) (?P<sign>==|<=|>=|<|>) (?P<value>.+)\)", re.DOTALL)
TIME = re.compile(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d(\.\d{1,6})?Z")
NUMBER = re.compile(r"-?\d{1,19}")


# Polars.


def lazy_frame(rows: ArrowRows) -> pl.LazyFrame:
    """The rows as a lazy frame of Polars."""
    try:
        import polars as pl  # noqa: PLC0415 - not a dependency
        from polars.io.plugins import register_io_source  # noqa: PLC0415 - as above
    except ImportError:
        raise MissingExtra("a lazy frame needs Polars: pip install polars") from None

    def source(
        columns: list[str] | None, predicate: pl.Expr | None, limit: int | None, _batch_size: int | None
    ) -> Iterator[pl.DataFrame]:
        needed = (
            None if columns is None else {*columns, *(predicate.meta.root_names() if predicate is not None else ())}
        )
        for batch in rows.pruned(needed, Bound(conditions=_of_polars(predicate))):
            kept = batch if limit is None else batch.slice(0, limit)
            limit = None if limit is None else limit - kept.num_rows
            frame = cast("pl.DataFrame", pl.from_arrow(kept))
            if predicate is not None:
                frame = frame.filter(predicate)
            yield frame if columns is None else frame.select(columns)
            if limit == 0:
                return

    empty = cast("pl.DataFrame", pl.from_arrow(rows.schema.empty_table()))
    return register_io_source(source, schema=empty.schema)


def _of_polars(predicate: pl.Expr | None) -> tuple[Condition, ...]:
    """Comparisons that each row meets that a predicate is true for; of forms that are not known, none."""
    if predicate is None:
        return ()
    try:
        return tuple(_conditions(json.loads(predicate.meta.serialize(format="json"))))
    except Exception:  # noqa: BLE001 - an expression of Python cannot be written down; Polars applies it all the same
        return ()


def _conditions(node: Any) -> Iterator[Condition]:
    match node:
        case {"BinaryExpr": {"op": "And", "left": left, "right": right}}:
            yield from _conditions(left)
            yield from _conditions(right)
        case {"BinaryExpr": {"op": op, "left": {"Column": str(name)}, "right": {"Literal": literal}}} if op in SIGNS:
            yield from _condition(name, SIGNS[op], literal)
        case {"BinaryExpr": {"op": op, "left": {"Literal": literal}, "right": {"Column": str(name)}}} if op in SIGNS:
            yield from _condition(name, TURNED[SIGNS[op]], literal)
        case {
            "Function": {"input": [{"Column": str(name)}, {"Literal": low}, {"Literal": high}], "function": function}
        }:
            if isinstance(function, dict) and "IsBetween" in str(function.get("Boolean")):
                yield from _condition(name, ">=", low)
                yield from _condition(name, "<=", high)


def _condition(name: str, sign: Comparison, literal: Mapping[str, Any]) -> Iterator[Condition]:
    """A comparison with a literal: a number, a text or a time."""
    for holder in ("Scalar", "Dyn"):
        for kind, value in literal.get(holder, {}).items() if isinstance(literal.get(holder), dict) else ():
            is_number = INTEGER.fullmatch(kind) and isinstance(value, int)
            if is_number or (kind in {"String", "Str"} and isinstance(value, str)):
                yield Condition(name, sign, value)
            elif kind == "Datetime" and value[1] in PER_SECOND and value[2]:
                # Cut to microseconds, it may be too early; a comparison with the next microsecond includes it.
                wide: Comparison = {"<": "<=", ">": ">="}.get(sign, sign)  # type: ignore[assignment]
                if sign != "=" or value[1] != "Nanoseconds":
                    yield Condition(name, wide, EPOCH + dt.timedelta(microseconds=_microseconds(value)))


def _microseconds(value: list[Any]) -> int:
    return int(value[0]) * 1_000_000 // PER_SECOND[value[1]]


# DuckDB, and other libraries that scan datasets of pyarrow.


class RowsDataset(ds.Dataset):  # type: ignore[misc]  # pyarrow has no types
    """The rows as a dataset of pyarrow: DuckDB's queries over it read the columns and the units that they need."""

    def __init__(self, rows: ArrowRows) -> None:
        self._rows = rows

    @property
    def schema(self) -> pa.Schema:
        """The schema of the rows."""
        return self._rows.schema

    def scanner(
        self,
        columns: Collection[str] | None = None,
        filter: Any = None,  # noqa: A002 - the name that pyarrow has
        **options: Any,
    ) -> ds.Scanner:
        """A scan of some columns of the rows that meet a filter."""
        known = {name: value for name, value in options.items() if name in {"batch_size", "use_threads", "memory_pool"}}
        needed = self._needed(columns, filter)
        schema = pa.schema([field for field in self.schema if needed is None or field.name in needed])
        batches = self._rows.pruned(needed, Bound(conditions=_of_arrow(filter)))
        reader = pa.RecordBatchReader.from_batches(schema, batches)
        return ds.Scanner.from_batches(reader, columns=columns, filter=filter, **known)

    def _needed(self, columns: Any, condition: Any) -> set[str] | None:
        """The columns that a scan looks at: those that are wanted, and any that its filter may name."""
        if columns is None or isinstance(columns, dict):
            return None
        text = str(condition)
        return {*columns, *(name for name in self.schema.names if condition is not None and name in text)} or None


def _of_arrow(condition: Any) -> tuple[Condition, ...]:
    """Comparisons that each row meets that an expression of pyarrow is true for, as far as its text says so."""
    return () if condition is None else tuple(_compared(str(condition)))


def _compared(text: str) -> Iterator[Condition]:
    parts = _conjuncts(text)
    if len(parts) > 1:
        for part in parts:
            yield from _compared(part)
        return
    if (found := COMPARED.fullmatch(text)) and (value := _value(found["value"])) is not None:
        sign = cast("Comparison", "=" if found["sign"] == "==" else found["sign"])
        yield Condition(found["column"], sign, value)


def _conjuncts(text: str) -> list[str]:
    """The two sides of `(… and …)`; the text itself if it is none."""
    depth, is_quoted, at = 0, False, 0
    while at < len(text):
        letter = text[at]
        if is_quoted:
            at += letter == "\\"
            is_quoted = letter != '"'
        elif letter == '"':
            is_quoted = True
        else:
            depth += (letter in "([{") - (letter in ")]}")
            if depth == 1 and text.startswith(" and ", at) and text[0] == "(" and text[-1] == ")":
                return [text[1:at], text[at + 5 : -1]]
            if depth == 0 and at < len(text) - 1:
                break
        at += 1
    return [text]


def _value(text: str) -> int | str | dt.datetime | None:
    """The constant that a text of pyarrow stands for; None for those that no format passes over units by."""
    if NUMBER.fullmatch(text):
        return int(text)
    if TIME.fullmatch(text):
        return dt.datetime.fromisoformat(text)
    if text.startswith('"'):
        try:
            found = json.loads(text)
        except ValueError:
            return None
        return found if isinstance(found, str) else None
    return None
