"""The functions of filters, by their names in SQL."""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Callable
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from thawline.filters import BadFilter
from thawline.filters.operators import TRUTH, compared, joined, required, unknown
from thawline.filters.patterns import Match, like, regular
from thawline.filters.terms import Sort, Term, derived, fitted
from thawline.times import UNITS

Call = Callable[[list[Term], dt.tzinfo, str], Term]
LENGTHS = {**{name: name for name in UNITS.values()}, **{name.removesuffix("s"): name for name in UNITS.values()}}
LENGTHS |= {"milliseconds": "milliseconds", "millisecond": "milliseconds"}
PIECE = re.compile(r"(-?\d{1,12}(?:\.\d{1,9})?)\s*([a-z]+)", re.ASCII)


def between(value: Term, low: Term, high: Term, zone: dt.tzinfo, shown: str) -> Term:
    """Whether a value lies within bounds, both included."""
    ends = [compared(">=", value, low, zone, shown), compared("<=", value, high, zone, shown)]
    return joined(ends, shown, by=pc.and_kleene)


def interval(node: Any, shown: str) -> pa.Scalar:
    """A length of time, such as interval '1 day 2 hours' or interval 90 minutes."""
    amount = node.this.name if node.this is not None else ""
    text = f"{amount} {node.args['unit'].name}" if node.args.get("unit") else amount
    text = text.strip().lower()
    pieces = PIECE.findall(text)
    if not pieces or PIECE.sub("", text).strip() or not all(unit in LENGTHS for _, unit in pieces):
        raise BadFilter(f"{shown}: a length of time is like interval '1 hour', in weeks down to milliseconds")
    try:
        length = sum((dt.timedelta(**{LENGTHS[unit]: float(count)}) for count, unit in pieces), dt.timedelta())
        return pa.scalar(length, pa.duration("us"))
    except (OverflowError, pa.ArrowInvalid):
        raise BadFilter(f"{shown}: is too long a time") from None


def matched(value: Term, pattern: Term, shown: str, *, escape: str, ignores_case: bool) -> Term:
    """Whether a pattern of `like` matches."""
    required(value, shown, "text", "bytes")
    if "nothing" in {value.sort, pattern.sort}:
        return unknown(shown)
    match = like(_text(pattern, shown), value.type, escape, ignores_case=ignores_case)
    return derived(TRUTH, shown, match, value)


def _text(term: Term, shown: str) -> str:
    if term.text is None:
        raise BadFilter(f"{shown}: the pattern has to be text as it stands, in single quotes")
    return term.text


def _counted(terms: list[Term], least: int, most: int, shown: str) -> None:
    if not least <= len(terms) <= most:
        raise BadFilter(f"{shown}: takes {least if least == most else f'{least} or more'} values")


def _of_one(kind: pa.DataType | None, sorts: tuple[Sort, ...], function: Callable[[Any], Any]) -> Call:
    """A function of one value; of its type if no other is given."""

    def call(terms: list[Term], _zone: dt.tzinfo, shown: str) -> Term:
        _counted(terms, 1, 1, shown)
        value = required(terms[0], shown, *sorts)
        if value.sort == "nothing":
            return unknown(shown, kind or pa.null())
        return derived(kind or value.type, shown, function, value)

    return call


def _of_pattern(make: Callable[[str], Match]) -> Call:
    """Whether a text that is fixed occurs in a value, in some way."""

    def call(terms: list[Term], _zone: dt.tzinfo, shown: str) -> Term:
        _counted(terms, 2, 2, shown)
        value = required(terms[0], shown, "text", "bytes")
        if "nothing" in {value.sort, terms[1].sort}:
            return unknown(shown)
        return derived(TRUTH, shown, make(_text(terms[1], shown)), value)

    return call


def _regexp_matches(terms: list[Term], _zone: dt.tzinfo, shown: str) -> Term:
    _counted(terms, 2, 3, shown)
    flags = _text(terms[2], shown) if len(terms) > 2 else ""  # noqa: PLR2004 - the third is its flags
    if set(flags) - {"i", "c"}:
        raise BadFilter(f"{shown}: the flags are i or c, for whether the case of letters counts")
    return _of_pattern(lambda text: regular(text, ignores_case="i" in flags))(terms[:2], _zone, shown)


def _coalesce(terms: list[Term], zone: dt.tzinfo, shown: str) -> Term:
    """The first of some values that is not null."""
    _counted(terms, 1, 1000, shown)
    known = [term for term in terms if term.sort != "nothing"]
    if not known:
        return unknown(shown, pa.null())
    done = known[0]
    for term in known[1:]:
        left, right = fitted(done, term, zone, shown)
        done = derived(left.type, shown, pc.coalesce, left, right)
    return done


def _length(terms: list[Term], _zone: dt.tzinfo, shown: str) -> Term:
    """Letters of text, bytes of bytes, entries of a list."""
    _counted(terms, 1, 1, shown)
    value = required(terms[0], shown, "text", "bytes", "list")
    counts = {"text": pc.utf8_length, "bytes": pc.binary_length, "list": pc.list_value_length}
    if value.sort == "nothing":
        return unknown(shown, pa.int64())
    return derived(pa.int64(), shown, lambda it: pc.cast(counts[value.sort](it), pa.int64()), value)


FUNCTIONS: dict[str, Call] = {
    "abs": _of_one(None, ("number",), pc.abs),
    "lower": _of_one(None, ("text",), pc.utf8_lower),
    "upper": _of_one(None, ("text",), pc.utf8_upper),
    "length": _length,
    "octet_length": _of_one(pa.int64(), ("text", "bytes"), lambda it: pc.cast(pc.binary_length(it), pa.int64())),
    "coalesce": _coalesce,
    "contains": _of_pattern(lambda text: lambda values: pc.match_substring(values, text)),
    "starts_with": _of_pattern(lambda text: lambda values: pc.starts_with(values, text)),
    "ends_with": _of_pattern(lambda text: lambda values: pc.ends_with(values, text)),
    "regexp_matches": _regexp_matches,
    "regexp_like": _regexp_matches,
}
