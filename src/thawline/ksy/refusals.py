"""`-refused-by` of a field or a type: what a tool of the format's owner refuses although another tool reads it.

A rule has `tool` (one, or all of them), perhaps `misread-by` (a tool that makes something else of it), `because` (the
words of the finding), and when it holds: one of `CONDITIONS`, `version` (of the file), `if` (an expression). With
`escapes`, the tool sees the text without its backslashes; with `tolerated`, the value counts as intact all the same.
A field's rule with the tool and the condition of a rule of its type takes that rule's place if it is a limit, and may
leave out `because`. `-tools` of a spec names the tools, with the code of their findings and the warning in its place.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from thawline.ksy.attributes import Attribute, all_attributes, expression
from thawline.ksy.documents import Keys, Spec, types_of
from thawline.ksy.names import find_type

KEY, TOOLS = "-refused-by", "-tools"
PATTERNS = ("written", "unless-written")
SIZES = ("longer-than", "written-longer-than", "holding", "decoded-size")
LIMITS = ("longer-than", "written-longer-than", "outside")
"""Conditions with which a rule of a field takes the place of one of its type."""
CONDITIONS = (*PATTERNS, *SIZES, "outside", "overflows")
WHERE = ("version", "if")
KEYS = frozenset({"tool", "misread-by", "because", "escapes", "tolerated", *CONDITIONS, *WHERE})
TOOL_KEYS = frozenset({"code", "warning", "heirs"})
PLACES = re.compile(r"\{(?:what|bytes|written|shown|text|value|limit)\}")
LONGEST_PATTERN = 1000
BOUNDS = 2


@dataclass(frozen=True, slots=True)
class Refusal:
    """A rule as a spec states it."""

    tools: tuple[str, ...]
    misread_by: str
    condition: str
    """One of `CONDITIONS`; empty where `versions` and `case` say all."""
    value: Any
    because: str
    keys: Keys
    has_escapes: bool = False
    is_tolerated: bool = False
    versions: tuple[str, ...] = ()
    case: str = ""
    """An expression over the fields before."""

    @property
    def against(self) -> frozenset[str]:
        """The tools that do not read the value as it was written."""
        return frozenset({*self.tools, *filter(None, [self.misread_by])})

    @property
    def _place(self) -> tuple[object, ...]:
        return self.tools, self.misread_by, self.condition, self.case

    def narrows(self, other: Refusal) -> bool:
        """Whether it takes the place of a rule of the field's type."""
        return self.condition in LIMITS and self._place == other._place

    def __str__(self) -> str:
        """The rule on one line, without its words."""
        parts = [f"{self.condition} {expression(self.value)}"] if self.condition else []
        parts += [f"in version {', '.join(self.versions)}"] if self.versions else []
        parts += [f"if {self.case}"] if self.case else []
        misread = f", misread by {self.misread_by}" if self.misread_by else ""
        tolerated = ", tolerated" if self.is_tolerated else ""
        return f"{' and '.join(self.tools)}{misread}{tolerated}: {', '.join(parts)}"


def refusals_of(spec: Spec, keys: Keys, data: Mapping[str, Any]) -> list[Refusal]:
    """The rules that a field or a type has itself; `SpecError` at the first that is malformed."""
    listed = data.get(KEY) or []
    if not isinstance(listed, list):
        raise spec.error((*keys, KEY), f"{KEY} must be a list of rules")
    return [_refusal(spec, (*keys, KEY, index), item) for index, item in enumerate(listed)]


def refusals_for(attribute: Attribute, specs: Mapping[str, Spec]) -> list[Refusal]:
    """The rules that hold for a field: those of its type, narrowed, and its own."""
    own = refusals_of(attribute.owner.spec, attribute.keys, attribute.data)
    named = str(attribute.data.get("type", "")).partition("(")[0]
    found = find_type(named, attribute.owner, specs) if named else None
    inherited = refusals_of(found.spec, found.keys, found.data) if found and "-columnar" in found.data else []
    kept = [next((_narrowed(rule, it) for rule in own if rule.narrows(it)), it) for it in inherited]
    added = [rule for rule in own if not any(rule.narrows(it) for it in inherited)]
    return [*kept, *added]


def _narrowed(rule: Refusal, base: Refusal) -> Refusal:
    return replace(rule, because=rule.because or base.because)


def tools_of(specs: Mapping[str, Spec]) -> dict[str, Mapping[str, Any]]:
    """The tools that specs name, with their codes."""
    found: dict[str, Mapping[str, Any]] = {}
    for spec in specs.values():
        tools = spec.data.get(TOOLS) or {}
        if not isinstance(tools, dict):
            raise spec.error((TOOLS,), f"{TOOLS} must be a mapping")
        for name, data in tools.items():
            if not isinstance(data, dict) or not {"code", "warning"} <= data.keys() <= TOOL_KEYS:
                raise spec.error((TOOLS, name), f"a tool has {', '.join(sorted(TOOL_KEYS))}")
            found[str(name)] = data
    return found


def all_refusals(spec: Spec) -> Iterator[Refusal]:
    """Every rule of a spec."""
    for keys, data in owners_of(spec):
        yield from refusals_of(spec, keys, data)


def check_refusals(spec: Spec) -> None:
    """Raise `SpecError` at the first malformed rule or tool of a spec."""
    for _ in all_refusals(spec):
        pass
    tools_of({spec.id: spec})


def owners_of(spec: Spec) -> Iterator[tuple[Keys, Mapping[str, Any]]]:
    """All types and fields of a spec, which may have rules, with their places."""
    yield from ((type_.keys, type_.data) for type_ in types_of(spec))
    yield from ((attribute.keys, attribute.data) for attribute in all_attributes(spec))


def _refusal(spec: Spec, keys: Keys, data: Any) -> Refusal:
    if not isinstance(data, dict):
        raise spec.error(keys, "a rule must be a mapping, such as `tool: asrestore`")
    for key in data:
        if key not in KEYS:
            raise spec.error((*keys, key), f"{key} is no key of a rule; there are {', '.join(sorted(KEYS))}")
    tools, versions = _words(spec, keys, data, "tool"), _words(spec, keys, data, "version")
    if not tools:
        raise spec.error(keys, "a rule needs a tool")
    conditions = [key for key in CONDITIONS if key in data]
    if len(conditions) > 1 or not (conditions or data.keys() & set(WHERE)):
        raise spec.error(keys, f"a rule has one of {', '.join(CONDITIONS)}, or version or if")
    for key in conditions:
        _check_condition(spec, (*keys, key), key, data[key])
    because = str(data.get("because", ""))
    if re.search(r"[{}]", PLACES.sub("", because)):
        raise spec.error((*keys, "because"), "places are what, bytes, written, shown, text, value and limit, in braces")
    condition = conditions[0] if conditions else ""
    return Refusal(
        tools,
        str(data.get("misread-by", "")),
        condition,
        data.get(condition),
        because,
        keys,
        has_escapes=_flag(spec, keys, data, "escapes"),
        is_tolerated=_flag(spec, keys, data, "tolerated"),
        versions=versions,
        case=expression(data.get("if", "")),
    )


def _words(spec: Spec, keys: Keys, data: Mapping[str, Any], key: str) -> tuple[str, ...]:
    value = data.get(key, [])
    found: Sequence[Any] = value if isinstance(value, list) else [value]
    if not all(isinstance(item, str) and item for item in found):
        raise spec.error((*keys, key), f"{key} must be a word, or a list of words")
    return tuple(found)


def _flag(spec: Spec, keys: Keys, data: Mapping[str, Any], key: str) -> bool:
    value = data.get(key, False)
    if not isinstance(value, bool):
        raise spec.error((*keys, key), f"{key} must be true or false")
    return value


def _check_condition(spec: Spec, keys: Keys, key: str, value: Any) -> None:
    if key in PATTERNS:
        _check_pattern(spec, keys, value)
    elif key in SIZES and (type(value) is not int or value < 0):
        raise spec.error(keys, f"{key} must be a number")
    elif key == "outside" and not is_range(value):
        raise spec.error(keys, "outside must be the least and the most number that is read")
    elif key == "overflows" and value != "double":
        raise spec.error(keys, "only what overflows a double is known")


def is_range(value: Any) -> bool:
    """Whether a value is a list of the least and the most number.

    >>> is_range([0, 5]), is_range([5, 0]), is_range([5])
    (True, False, False)
    """
    is_pair = isinstance(value, list) and len(value) == BOUNDS and all(type(item) is int for item in value)
    return is_pair and value[0] <= value[1]


def _check_pattern(spec: Spec, keys: Keys, value: Any) -> None:
    if not isinstance(value, str) or len(value) > LONGEST_PATTERN:
        raise spec.error(keys, f"a pattern is a text of at most {LONGEST_PATTERN} characters")
    try:
        re.compile(value.encode("ascii"), re.DOTALL)
    except (re.error, UnicodeEncodeError, OverflowError, RecursionError) as error:
        raise spec.error(keys, f"no regular expression: {error}") from None
