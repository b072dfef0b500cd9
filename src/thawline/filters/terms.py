"""Terms: parts of an expression that have a type, and a value for each row."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Literal

import pyarrow as pa
import pyarrow.compute as pc

from thawline.filters import BadFilter
from thawline.filters.values import value_of
from thawline.values import is_bytes, is_text

Sort = Literal["number", "text", "bytes", "time", "truth", "while", "list", "struct", "nothing", "other"]
WORDS: dict[Sort, str] = {
    "number": "a number",
    "text": "text",
    "bytes": "bytes",
    "time": "a time",
    "truth": "true or false",
    "while": "a length of time",
    "list": "a list",
    "struct": "a structure",
    "nothing": "null",
    "other": "of a type that no expression can have",
}
WIDE = pa.decimal128(38, 0)
"""Holds every 64-bit number, with a sign or without."""
DEEPEST = 150
NO_ROWS: Any = None
"""What a constant is evaluated for."""


@dataclass(frozen=True, slots=True)
class Term:
    """A part of an expression."""

    type: pa.DataType
    of: Callable[[pa.RecordBatch], Any]
    """Its value for each row of a batch: an array, or a scalar for all."""
    shown: str
    """How it is written in messages."""
    is_constant: bool = False
    column: str = ""
    """Its name if it is a column and nothing else."""
    text: str | None = None
    """What was written, if it is a text literal: it takes the type of what it meets."""
    depth: int = 0
    """How many terms lie within each other in it."""

    @property
    def sort(self) -> Sort:
        """What can be done with it."""
        kind, types = self.type, pa.types
        sorts: list[tuple[Sort, bool]] = [
            ("nothing", types.is_null(kind)),
            ("truth", types.is_boolean(kind)),
            ("number", types.is_integer(kind) or types.is_floating(kind) or types.is_decimal(kind)),
            ("text", is_text(kind)),
            ("bytes", is_bytes(kind)),
            ("time", types.is_timestamp(kind)),
            ("while", types.is_duration(kind)),
            ("list", types.is_list(kind)),
            ("struct", types.is_struct(kind)),
        ]
        return next((sort for sort, holds in sorts if holds), "other")

    @property
    def value(self) -> pa.Scalar:
        """The value of a constant."""
        return self.of(NO_ROWS)

    @property
    def described(self) -> str:
        """What it is, for messages."""
        kind = f" ({self.type})" if self.column else ""
        return f"{self.shown} is {WORDS[self.sort]}{kind}"


def constant(value: pa.Scalar, shown: str, text: str | None = None) -> Term:
    """A term with the same value for all rows."""
    return Term(value.type, lambda _batch: value, shown, is_constant=True, text=text)


def derived(kind: pa.DataType, shown: str, function: Callable[..., Any], *terms: Term) -> Term:
    """A term computed from others; a constant if they all are."""
    depth = 1 + max(term.depth for term in terms)
    if depth > DEEPEST:
        raise BadFilter("the filter is nested too deeply")
    if all(term.is_constant for term in terms):
        return constant(function(*(term.value for term in terms)), shown)
    return Term(kind, lambda batch: function(*(term.of(batch) for term in terms)), shown, depth=depth)


def fitted(left: Term, right: Term, zone: dt.tzinfo, doing: str) -> tuple[Term, Term]:
    """Two terms as the same type, so that they can be compared; a text literal takes the other's type."""
    if left.sort == "nothing" or right.sort == "nothing":
        return left, right
    left, right = _literal(left, right, zone), _literal(right, left, zone)
    sorts = {left.sort, right.sort}
    if sorts == {"text", "bytes"}:
        return _as_bytes(left), _as_bytes(right)
    if len(sorts) > 1 or sorts & {"list", "struct", "other"}:
        raise BadFilter(f"{doing}: {left.described}, and {right.described}")
    if sorts == {"number"}:
        return _alike(left, right)
    return left, right


def _literal(term: Term, other: Term, zone: dt.tzinfo) -> Term:
    """A literal in the type of the other term: text as it is read there, bytes also as a number."""
    if term.is_constant and term.sort == "bytes" and other.sort == "number":
        number = int.from_bytes(term.value.as_py(), "big")
        return constant(pa.scalar(number, WIDE if number < 10**38 else pa.float64()), term.shown)
    if term.text is None or other.sort in {"text", "bytes", "list", "struct", "other"}:
        return term
    name = other.shown if other.column else "the other side"
    try:
        return constant(value_of(term.text, pa.field(name, other.type), zone), term.shown)
    except (ValueError, pa.ArrowInvalid) as error:
        raise BadFilter(str(error)) from None


def _as_bytes(term: Term) -> Term:
    return (
        derived(pa.binary(), term.shown, lambda value: value.cast(pa.binary()), term) if term.sort == "text" else term
    )


def _alike(left: Term, right: Term) -> tuple[Term, Term]:
    if left.type == right.type:
        return left, right
    if pa.types.is_floating(left.type) or pa.types.is_floating(right.type):
        return as_type(left, pa.float64()), as_type(right, pa.float64())
    exact = pa.int64() if all(_fits(term) for term in (left, right)) else WIDE
    return as_type(left, exact), as_type(right, exact)


def _fits(term: Term) -> bool:
    """Whether all values of a whole number fit into 64 bits with a sign."""
    if pa.types.is_decimal(term.type):
        value = term.value.as_py() if term.is_constant else None
        return term.is_constant and (value is None or -(1 << 63) <= value < 1 << 63)
    return not pa.types.is_uint64(term.type)


def as_type(term: Term, kind: pa.DataType) -> Term:
    """A term as another type, which holds all of its values."""
    if term.type == kind:
        return term
    made = derived(kind, term.shown, lambda value: pc.cast(value, kind, safe=False), term)
    return replace(made, column=term.column, text=term.text)
