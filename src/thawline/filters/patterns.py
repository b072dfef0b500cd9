"""Patterns in text and bytes: SQL's `like`, and regular expressions, which take linear time (RE2)."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

import pyarrow as pa
import pyarrow.compute as pc

from thawline.filters import BadFilter
from thawline.values import is_bytes, is_text

Match = Callable[[pa.Array], pa.Array]
LONGEST = 1000
"""Letters of a regular expression."""
LETTER = r"(?:[\x00-\x7f]|[\xc0-\xff][\x80-\xbf]+)"
"""One letter of UTF-8 in bytes."""


def check(pattern: str, *, ignores_case: bool = False) -> None:
    """Raise `BadFilter` for what is no regular expression."""
    if len(pattern) > LONGEST:
        raise BadFilter(f"a regular expression has at most {LONGEST} letters")
    try:
        pc.match_substring_regex(pa.array([""]), pattern, ignore_case=ignores_case)
    except (pa.ArrowInvalid, UnicodeEncodeError) as error:
        reason = str(error).removeprefix("Invalid regular expression: ")
        raise BadFilter(f"{pattern!r} is no regular expression: {reason}") from None


def regular(pattern: str, *, ignores_case: bool = False) -> Match:
    """Whether a regular expression matches somewhere in a value."""
    check(pattern, ignores_case=ignores_case)
    return lambda values: pc.match_substring_regex(values, pattern, ignore_case=ignores_case)


def like(pattern: str, kind: pa.DataType, escape: str = "", *, ignores_case: bool = False) -> Match:
    """Whether a pattern of `like` matches a whole value: `%` stands for any text, `_` for one letter."""
    parts = _parts(pattern, escape)
    if not ignores_case and "_" not in parts and (quick := _without_regex(parts)):
        return quick
    one = LETTER if is_bytes(kind) else "."
    whole = "".join({"%": ".*", "_": one}.get(part) or re.escape(part[1:]) for part in parts)
    return regular(rf"(?s)\A{whole}\z", ignores_case=ignores_case)


def _parts(pattern: str, escape: str) -> list[str]:
    """The pattern as `%`, `_` and `=` before other text."""
    parts: list[str] = []
    letters = iter(pattern)
    for letter in letters:
        if letter in "%_" and letter != escape:
            parts.append(letter)
            continue
        if letter == escape:
            letter = next(letters, "")  # noqa: PLW2901 - the letter after the escape stands for itself
            if not letter:
                raise BadFilter(f"{pattern!r} ends with its escape character")
        if parts and parts[-1][0] == "=":
            parts[-1] += letter
        else:
            parts.append("=" + letter)
    return parts


def _without_regex(parts: list[str]) -> Match | None:
    """The simplest patterns have functions of their own, which are faster."""
    match ["%" if part == "%" else part[1:] for part in parts]:
        case [text] if parts != ["%"]:
            return lambda values: pc.equal(values, pa.scalar(text).cast(values.type))
        case [text, "%"] if parts[0] != "%" and parts[1] == "%":
            return lambda values: pc.starts_with(values, text)
        case ["%", text] if parts[0] == "%" and parts[1] != "%":
            return lambda values: pc.ends_with(values, text)
        case ["%", text, "%"] if parts[0] == parts[2] == "%" and parts[1] != "%":
            return lambda values: pc.match_substring(values, text)
    return None


def found_in(pattern: str, names: Sequence[str]) -> Callable[[pa.RecordBatch], pa.Array]:
    """Which rows have a match in some text or bytes, also within lists."""
    matches = regular(pattern)

    def mask(batch: pa.RecordBatch) -> pa.Array:
        found = pa.repeat(pa.scalar(False), batch.num_rows)  # noqa: FBT003 - a value, not a flag
        for name in names:
            found = pc.or_(found, _found(batch[name], matches))
        return found

    return mask


def texts(schema: pa.Schema, given: Sequence[str]) -> list[str]:
    """Those of the columns that have text or bytes."""
    return [name for name in given if _holds_text(schema.field(name).type)]


def _holds_text(kind: pa.DataType) -> bool:
    if pa.types.is_list(kind):
        return _holds_text(kind.value_type)
    if pa.types.is_struct(kind):
        return any(_holds_text(kind.field(at).type) for at in range(kind.num_fields))
    return is_bytes(kind) or is_text(kind)


def _found(values: pa.Array, matches: Match) -> pa.Array:
    """Which values have a match; never null."""
    kind = values.type
    if pa.types.is_list(kind):
        inner, rows = _found(pc.list_flatten(values), matches), pc.list_parent_indices(values)
        hit = rows.filter(inner)
        return pc.is_in(positions(len(values)), value_set=hit.cast(pa.int64()))
    if pa.types.is_struct(kind):
        found = pa.repeat(pa.scalar(False), len(values))  # noqa: FBT003 - a value, not a flag
        for at in range(kind.num_fields):
            if _holds_text(kind.field(at).type):
                found = pc.or_(found, _found(pc.struct_field(values, [at]), matches))
        return found
    return pc.fill_null(matches(values), False)  # noqa: FBT003 - a value, not a flag


def positions(count: int) -> pa.Array:
    """The numbers of rows, from 0."""
    return pa.array(range(count), pa.int64())
