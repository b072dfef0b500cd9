"""`valid` rules compared: whether the new one accepts less, more, or something else."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from thawline.ksy.attributes import Attribute, expression, words
from thawline.ksy.documents import Spec
from thawline.ksy.layouts import NUMBER
from thawline.ksy.names import find_enum
from thawline.review.matching import Renames

Relation = Literal["same", "stricter", "looser", "disjoint", "unknown"]
INFINITE = float("inf")


@dataclass(frozen=True, slots=True)
class Values:
    """The values that a rule accepts: some, a range, or those for which an expression holds."""

    some: frozenset[object] | None = None
    low: float = -INFINITE
    high: float = INFINITE
    expression: str | None = None


def relation(
    old: Attribute, new: Attribute, versions: tuple[Mapping[str, Spec], Mapping[str, Spec]], renames: Renames
) -> Relation:
    """What the new rule does to values that the old one accepts."""
    before, after = _values(old, versions[0]), _values(new, versions[1])
    if before.expression is None and after.expression is None:
        return _of_values(before, after)
    return _of_expressions(before, after, renames)


def _values(attribute: Attribute, specs: Mapping[str, Spec]) -> Values:
    rule = attribute.data.get("valid")
    if rule is None:
        return _all(attribute)
    if not isinstance(rule, dict):
        return _some([rule])
    if "eq" in rule:
        return _some([rule["eq"]])
    if "any-of" in rule and isinstance(rule["any-of"], list):
        return _some(rule["any-of"])
    if "in-enum" in rule:
        members = find_enum(str(attribute.data.get("enum", "")), attribute.owner, specs)
        return Values(some=frozenset(members or ()))
    if rule.keys() <= {"min", "max"}:
        return _between(rule, _all(attribute))
    return Values(expression=expression(rule.get("expr", rule)))


def _all(attribute: Attribute) -> Values:
    """Every value that the type of a field can have."""
    found = NUMBER.fullmatch(str(attribute.data.get("type", "")))
    if not found or attribute.data["type"][0] == "f":
        return Values()
    bits = 8 * int(found[1])
    is_signed = attribute.data["type"][0] == "s"
    return Values(low=-(2 ** (bits - 1)) if is_signed else 0, high=2 ** (bits - is_signed) - 1)


def _some(given: list[Any]) -> Values:
    numbers = [_number(value) for value in given]
    if any(number is None for number in numbers):
        return Values(expression=" or ".join(f"_ == {expression(value)}" for value in given))
    return Values(some=frozenset(numbers))


def _between(rule: Mapping[str, Any], whole: Values) -> Values:
    ends = {key: _number(value) for key, value in rule.items()}
    if None in ends.values():
        return Values(expression=" and ".join(f"{key} {expression(value)}" for key, value in rule.items()))
    return Values(low=max(ends.get("min") or 0, whole.low) if "min" in ends else whole.low,
                  high=min(ends.get("max") or 0, whole.high) if "max" in ends else whole.high)  # fmt: skip


def _number(value: Any) -> int | float | None:
    if isinstance(value, int | float):
        return value
    try:
        return int(str(value), 0)
    except ValueError:
        return None


def _of_values(before: Values, after: Values) -> Relation:
    if (before.some, before.low, before.high) == (after.some, after.low, after.high):
        return "same"
    is_less, is_more = _within(after, before), _within(before, after)
    if is_less and is_more:
        return "same"
    if is_less or is_more:
        return "stricter" if is_less else "looser"
    return "unknown" if _overlap(before, after) else "disjoint"


def _within(inner: Values, outer: Values) -> bool:
    if inner.some is not None:
        return all(_lets(outer, value) for value in inner.some)
    if outer.some is not None:
        room = inner.high - inner.low
        return room < len(outer.some) and all(_lets(outer, inner.low + step) for step in range(int(room) + 1))
    return outer.low <= inner.low and inner.high <= outer.high


def _overlap(before: Values, after: Values) -> bool:
    for one, other in ((before, after), (after, before)):
        if one.some is not None:
            return any(_lets(other, value) for value in one.some)
    return before.low <= after.high and after.low <= before.high


def _lets(values: Values, value: Any) -> bool:
    if values.some is not None:
        return value in values.some
    return isinstance(value, int | float) and values.low <= value <= values.high


def _of_expressions(before: Values, after: Values, renames: Renames) -> Relation:
    """Compare two expressions, if one only adds a condition to the other."""
    if before.expression is None or after.expression is None:
        if before.expression is None and _is_all(before):
            return "stricter"
        return "looser" if after.expression is None and _is_all(after) else "unknown"
    old, new = words(before.expression), words(after.expression)
    if same_words(old, new, renames):
        return "same"
    if _continues(old, new, "or", renames):
        return "stricter"
    if _continues(new, old, "or", renames):
        return "looser"
    return _of_conjunctions(old, new, renames)


def _of_conjunctions(old: list[str], new: list[str], renames: Renames) -> Relation:
    """Compare conditions that all have to hold: bounds of the value by number, others by presence."""
    if {"or", "?"} & {*old, *new}:
        return "unknown"
    before, after = _clauses(old), _clauses(new)
    bounds = _of_values(_bounds(before), _bounds(after))
    dropped = [one for one in _others(before) if not any(same_words(one, other, renames) for other in _others(after))]
    added = [one for one in _others(after) if not any(same_words(other, one, renames) for other in _others(before))]
    if bounds in {"same", "stricter"} and not dropped:
        return "stricter" if added or bounds == "stricter" else "same"
    if bounds in {"same", "looser"} and not added:
        return "looser"
    return "disjoint" if bounds == "disjoint" else "unknown"


def _clauses(condition: list[str]) -> list[list[str]]:
    """The parts of a condition between its `and`s."""
    parts: list[list[str]] = [[]]
    depth = 0
    for word in condition:
        depth += (word == "(") - (word == ")")
        if word == "and" and not depth:
            parts.append([])
        else:
            parts[-1].append(word)
    return parts


def _bounds(clauses: list[list[str]]) -> Values:
    """What the clauses that compare the value with a number accept."""
    low, high = -INFINITE, INFINITE
    for clause in filter(_is_bound, clauses):
        number = int(clause[2])
        if clause[1] in {">=", ">", "=="}:
            low = max(low, number + (clause[1] == ">"))
        if clause[1] in {"<=", "<", "=="}:
            high = min(high, number - (clause[1] == "<"))
    return Values(low=low, high=high)


def _others(clauses: list[list[str]]) -> list[list[str]]:
    return [clause for clause in clauses if not _is_bound(clause)]


def _is_bound(clause: list[str]) -> bool:
    """Whether a clause is like `_ >= 20`."""
    is_short = len(clause) == len(("_", ">=", "20"))
    return is_short and clause[0] == "_" and clause[1] in {">=", ">", "<=", "<", "=="} and clause[2].isdigit()


def _is_all(values: Values) -> bool:
    return values.some is None


def _continues(longer: list[str], shorter: list[str], operator: str, renames: Renames) -> bool:
    """Whether an expression is another one with a condition added, and no operator that would bind it otherwise."""
    head, tail = longer[: len(shorter)], longer[len(shorter) :]
    other = "or" if operator == "and" else "and"
    is_joined = tail[:1] == [operator] and other not in longer and "?" not in longer
    return is_joined and same_words(shorter, head, renames)


def same_words(old: list[str], new: list[str], renames: Renames) -> bool:
    """Whether two expressions are the same, apart from renamed names."""
    if len(old) != len(new):
        return False
    return all(one == other or (one, other) in renames for one, other in zip(old, new, strict=True))
