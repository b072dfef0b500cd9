"""What is computed with terms: comparisons, arithmetic, logic of three values, entries of lists."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Sequence
from functools import reduce
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from thawline.filters import BadFilter
from thawline.filters.patterns import positions
from thawline.filters.terms import WORDS, Sort, Term, as_type, constant, derived, fitted

COMPARED: dict[str, Callable[..., Any]] = {
    "=": pc.equal,
    "<>": pc.not_equal,
    "<": pc.less,
    "<=": pc.less_equal,
    ">": pc.greater,
    ">=": pc.greater_equal,
}
TRUTH = pa.bool_()
UNKNOWN = pa.scalar(None, TRUTH)
ZERO = 0


def required(term: Term, shown: str, *sorts: Sort) -> Term:
    """The term; `BadFilter` if it is of none of the sorts, with null of any."""
    if term.sort in {*sorts, "nothing"}:
        return term
    wanted = " or ".join(WORDS[sort] for sort in sorts)
    raise BadFilter(f"{shown}: needs {wanted}, and {term.described}")


def unknown(shown: str, kind: pa.DataType = TRUTH) -> Term:
    """Null, of a type."""
    return constant(pa.scalar(None, kind), shown)


def compared(sign: str, left: Term, right: Term, zone: dt.tzinfo, shown: str) -> Term:
    """A comparison; null where a side is null."""
    left, right = fitted(left, right, zone, shown)
    if "nothing" in {left.sort, right.sort}:
        return unknown(shown)
    return derived(TRUTH, shown, COMPARED[sign], left, right)


def distinct(left: Term, right: Term, zone: dt.tzinfo, shown: str) -> Term:
    """Whether two terms differ, where null is a value like others."""
    left, right = fitted(left, right, zone, shown)
    if left.sort == "nothing" or right.sort == "nothing":
        both = [inverted(is_null(term, shown), shown) for term in (left, right)]
        return derived(TRUTH, shown, pc.or_, *both)

    def differ(one: Any, other: Any) -> Any:
        nulls = pc.not_equal(pc.is_null(one), pc.is_null(other))
        values = pc.fill_null(pc.not_equal(one, other), False)  # noqa: FBT003 - a value, not a flag
        return pc.or_(nulls, values)

    return derived(TRUTH, shown, differ, left, right)


def truth(term: Term, shown: str) -> Term:
    """A term that is true, false or null."""
    if term.sort == "nothing":
        return unknown(shown)
    return required(term, shown, "truth")


def joined(terms: Sequence[Term], shown: str, *, by: Callable[..., Any]) -> Term:
    """Terms joined by and, or by or."""
    return derived(TRUTH, shown, lambda *values: reduce(by, values), *(truth(term, shown) for term in terms))


def inverted(term: Term, shown: str) -> Term:
    """The contrary; null stays null."""
    return derived(TRUTH, shown, pc.invert, truth(term, shown))


def is_null(term: Term, shown: str) -> Term:
    """Whether a term is null."""
    return derived(TRUTH, shown, pc.is_null, term)


def is_truth(term: Term, shown: str, *, wanted: bool) -> Term:
    """Whether a term is true, or false, and not null."""
    known = truth(term, shown) if wanted else inverted(term, shown)
    return derived(TRUTH, shown, lambda value: pc.fill_null(value, False), known)  # noqa: FBT003 - a value


def among(term: Term, items: Sequence[Term], zone: dt.tzinfo, shown: str) -> Term:
    """Whether a term equals one of some; null if it equals none and one of them is null."""
    pairs = [fitted(term, item, zone, shown) for item in items]
    known = [pair for pair in pairs if pair[1].sort != "nothing"]
    kinds = {pair[0].type for pair in known} | {pair[1].type for pair in known}
    if not all(item.is_constant for item in items) or len(kinds) != 1 or term.sort == "nothing":
        return joined([compared("=", term, item, zone, shown) for item in items], shown, by=pc.or_kleene)
    values = pa.array([pair[1].value.as_py() for pair in known], next(iter(kinds))).drop_null()
    has_null = len(values) < len(items)

    def within(value: Any) -> Any:
        found = pc.is_in(value, value_set=values)
        doubt = pc.is_null(value) if not has_null else pc.or_(pc.is_null(value), pc.invert(found))
        return pc.if_else(doubt, UNKNOWN, found)

    return derived(TRUTH, shown, within, known[0][0])


def calculated(sign: str, left: Term, right: Term, shown: str) -> Term:
    """A sum, difference, product, quotient or rest; null for a division by zero."""
    sorts = (left.sort, right.sort)
    if sorts in {("time", "time"), ("time", "while"), ("while", "time"), ("while", "while")}:
        return _shifted(sign, left, right, shown)
    left, right = (required(term, shown, "number") for term in (left, right))
    if "nothing" in {left.sort, right.sort}:
        return unknown(shown, pa.int64())
    is_whole = sign != "/" and all(pa.types.is_integer(term.type) for term in (left, right))
    kind = pa.int64() if is_whole else pa.float64()
    return derived(kind, shown, CALCULATED[sign], as_type(left, kind), as_type(right, kind))


def _shifted(sign: str, left: Term, right: Term, shown: str) -> Term:
    """Times and lengths of time, added or subtracted."""
    kinds = {
        ("-", "time", "time"): pa.duration("us"),
        ("-", "time", "while"): left.type,
        ("+", "time", "while"): left.type,
        ("+", "while", "time"): right.type,
        ("+", "while", "while"): left.type,
        ("-", "while", "while"): left.type,
    }
    kind = kinds.get((sign, left.sort, right.sort))
    if kind is None:
        raise BadFilter(f"{shown}: {left.described}, and {right.described}")
    return derived(kind, shown, pc.add if sign == "+" else pc.subtract, left, right)


def negated(term: Term, shown: str) -> Term:
    """The number with the other sign."""
    required(term, shown, "number")
    return calculated("-", constant(pa.scalar(0, pa.int64()), "0"), term, shown)


def _bounded(exact: Callable[..., Any], rough: Callable[..., Any]) -> Callable[..., Any]:
    """A calculation that goes on with doubles where a result has more than 64 bits: no value ends a query."""

    def calculate(left: Any, right: Any) -> Any:
        try:
            return exact(left, right)
        except pa.ArrowInvalid:
            return rough(pc.cast(left, pa.float64(), safe=False), pc.cast(right, pa.float64(), safe=False))

    return calculate


def _quotient(left: Any, right: Any) -> Any:
    return pc.divide(left, _not_zero(right))


def _whole_quotient(left: Any, right: Any) -> Any:
    done = pc.divide(left, _not_zero(right))
    return pc.trunc(done) if pa.types.is_floating(done.type) else done


def _rest(left: Any, right: Any) -> Any:
    return pc.subtract(left, pc.multiply(_whole_quotient(left, right), right))


def _not_zero(value: Any) -> Any:
    return pc.if_else(pc.equal(value, pa.scalar(ZERO).cast(value.type)), pa.scalar(None, value.type), value)


CALCULATED: dict[str, Callable[..., Any]] = {
    "+": _bounded(pc.add_checked, pc.add),
    "-": _bounded(pc.subtract_checked, pc.subtract),
    "*": _bounded(pc.multiply_checked, pc.multiply),
    "/": _quotient,
    "//": _whole_quotient,
    "%": _rest,
}


def entry(term: Term, key: Term, shown: str) -> Term:
    """The value of a key in a list of keys and values, the last if there are several; null where there is none.

    Where an entry has more than a key and a value, it is the entry.
    """
    kind = required(term, shown, "list").type
    item = kind.value_type if term.sort == "list" else None
    if item is None or not pa.types.is_struct(item) or not pa.types.is_string(item.field(0).type) or key.text is None:
        raise BadFilter(f"{shown}: write a list of keys and values and a key, such as headers['trace']")
    has_value = item.num_fields == 2  # noqa: PLR2004 - a key and its value
    made = item.field(1).type if has_value else item
    wanted = pa.scalar(key.text)

    def look_up(lists: Any) -> Any:
        entries, rows = pc.list_flatten(lists), pc.list_parent_indices(lists).cast(pa.int64())
        hits = pc.indices_nonzero(pc.fill_null(pc.equal(pc.struct_field(entries, [0]), wanted), False))  # noqa: FBT003
        rows = rows.take(hits)
        if len(rows) > 1:  # the last of a row's
            is_last = pa.concat_arrays([pc.not_equal(rows[:-1], rows[1:]), pa.array([True])])
            hits, rows = hits.filter(is_last), rows.filter(is_last)
        at = pc.index_in(positions(len(lists)), value_set=rows)
        values = pc.struct_field(entries, [1]) if has_value else entries
        return values.take(hits).take(at)

    return derived(made, shown, look_up, term)


def member(term: Term, name: str, shown: str) -> Term:
    """A field of a structure."""
    kind = required(term, shown, "struct").type
    names = [kind.field(at).name for at in range(kind.num_fields)] if term.sort == "struct" else []
    if name not in names:
        raise BadFilter(f"{shown}: there is no {name}; there are {', '.join(names) or 'none'}")
    at = names.index(name)
    return derived(kind.field(at).type, shown, lambda value: pc.struct_field(value, [at]), term)
