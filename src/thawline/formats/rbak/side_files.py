"""JSON beside segments, manifest and definitions, read with bounds: no value of it is believed to have a type or size.

`load` bounds what reading may cost, whatever the file says. `Fields` takes single values out of objects, each of the
kind that a small schema names; what is of another is None, and noted with its place.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

import orjson

from thawline.errors import FormatError
from thawline.wording import counted, grouped

LARGEST = 64 << 20
"""Bytes of such a file, decompressed."""
MOST_VALUES = 2 << 20
"""Values of such a file. Each takes a hundred bytes of memory or more, and a segment of a manifest has about ten."""
DEEPEST = 128
NAMED = 100
SHOWN = 40
"""Of what is wrong in such a file so many places are named, and so many characters of a value are shown."""


def load(data: bytes, file: str) -> dict[str, Any]:
    """The object that a file holds; `FormatError` says why it cannot be read."""
    values = 1 + data.count(b",") + data.count(b"[") + data.count(b"{")
    if values > MOST_VALUES:
        raise FormatError(f"may hold {grouped(values)} values, {grouped(MOST_VALUES)} are the most", file=file)
    try:
        found = orjson.loads(data)
    except orjson.JSONDecodeError as error:
        raise FormatError(f"is not JSON: {error}", file=file, offset=error.pos) from error
    if not isinstance(found, dict):
        raise FormatError("is no JSON object", file=file)
    if _is_deep(found):
        raise FormatError(f"is nested more than {DEEPEST} levels deep", file=file)
    return found


def _is_deep(value: object) -> bool:
    level = [value]
    for _ in range(DEEPEST):
        lists = (item.values() if isinstance(item, dict) else item for item in level if isinstance(item, dict | list))
        level = [item for items in lists for item in items]
        if not level:
            return False
    return True


def doubled(data: bytes) -> list[str]:
    """Keys that an object of a file has twice, of which readers take the first, the last or none; some of them.

    The file is one that `load` reads.
    """
    found: dict[str, None] = {}

    def note(pairs: list[tuple[str, None]]) -> None:
        if len({key for key, _ in pairs}) < len(pairs) and len(found) < NAMED:
            seen: set[str] = set()
            found.update(dict.fromkeys(key for key, _ in pairs if key in seen or seen.add(key)))  # type: ignore[func-returns-value]

    # Numbers are not converted: those of thousands of digits take long.
    json.loads(data, object_pairs_hook=note, parse_int=len, parse_float=len)
    return list(found)[:NAMED]


class Kind(Protocol):
    """What a value may be."""

    def refusal(self, value: object) -> str:
        """Why a value is none; empty if it is one."""
        ...


@dataclass(frozen=True, slots=True)
class Text:
    """Text of so many characters at most."""

    most: int

    def refusal(self, value: object) -> str:
        """Why a value is none."""
        if not isinstance(value, str):
            return "no text"
        return (
            f"text of {counted(len(value), 'character')}, {grouped(self.most)} are the most"
            if (len(value) > self.most)
            else ""
        )


@dataclass(frozen=True, slots=True)
class Whole:
    """A whole number in a range, both ends included."""

    least: int
    most: int

    def refusal(self, value: object) -> str:
        """Why a value is none."""
        if not isinstance(value, int) or isinstance(value, bool):
            return "no whole number of 64 bits"
        return "" if self.least <= value <= self.most else f"not within {self.least} and {self.most}"


@dataclass(slots=True)
class Fields:
    """Takes values out of objects, and notes those that are not of their kind."""

    problems: list[str] = field(default_factory=list)
    """The first of them: place, what it is not, and what stands there."""
    count: int = 0

    def take(self, entry: Mapping[str, Any], place: str, name: str, kind: Kind) -> Any:
        """The value of a name; None if there is none, or it is null or of another kind."""
        value = entry.get(name)
        if value is None:
            return None
        if not (reason := kind.refusal(value)):
            return value
        self.note(f"{place}{name} is {reason}: {shown(value)}")
        return None

    def note(self, problem: str) -> None:
        """Keep a problem, or count it."""
        self.count += 1
        if len(self.problems) < NAMED:
            self.problems.append(problem)

    def told(self) -> Iterator[str]:
        """All of it, a line each; the last may say how many more there are."""
        yield from self.problems
        if self.count > len(self.problems):
            yield f"{grouped(self.count - len(self.problems))} more"


def shown(value: object) -> str:
    """The start of a value as JSON."""
    # Of a large one only the kind is told: to write it out takes as long as it is.
    if isinstance(value, dict | list) and value:
        return f"{'an object' if isinstance(value, dict) else 'an array'} of {counted(len(value), 'item')}"
    text = json.dumps(value[: SHOWN + 1] if isinstance(value, str) else value, ensure_ascii=False)
    return text if len(text) <= SHOWN else f"{text[:SHOWN]}…"
