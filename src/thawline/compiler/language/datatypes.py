"""What the `type` of a field can be: numbers, strings, bits, structures, and the kinds of parameters."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from thawline.compiler.language.kinds import ANY, Bool, Bytes, Int, Io, Kind, List, Real, Text

if TYPE_CHECKING:
    from thawline.compiler.language.declarations import Type

NUMBER = re.compile(r"([us])([1248])(le|be)?|(f)([48])(le|be)?")
BITS = re.compile(r"b([1-9]\d*)(le|be)?")
NAMED = re.compile(r"((?:::)?[a-z_][a-z0-9_]*(?:::[a-z_][a-z0-9_]*)*)(?:\((.*)\))?", re.DOTALL)
PARAMETERS: dict[str, Kind] = {
    "str": Text(),
    "strz": Text(),
    "bytes": Bytes(),
    "bool": Bool(),
    "io": Io(),
    "struct": ANY,
    "any": ANY,
}
MAX_BITS = 64


@dataclass(frozen=True, slots=True)
class Number:
    """An integer or a float: its name without the order of bytes, and the order if the type says it."""

    name: str
    order: str | None

    @property
    def width(self) -> int:
        """How many bytes it has."""
        return int(self.name[1])

    @property
    def kind(self) -> Int | Real:
        """What its values are."""
        bits = 8 * self.width
        if self.name[0] == "f":
            return Real(self.width)
        if self.name[0] == "u":
            return Int(0, (1 << bits) - 1, self.width)
        return Int(-(1 << bits - 1), (1 << bits - 1) - 1, self.width)


@dataclass(frozen=True, slots=True)
class Bits:
    """Some bits: one is true or false."""

    count: int
    order: str | None

    @property
    def kind(self) -> Int | Bool:
        """What its values are, without an enum."""
        if self.count == 1:
            return Bool()
        width = next(width for width in (1, 2, 4, 8) if 8 * width >= self.count)
        return Int(0, (1 << self.count) - 1, width)


@dataclass(frozen=True, slots=True)
class String:
    """A string: with `strz`, up to a zero."""

    is_terminated: bool


@dataclass(frozen=True, slots=True)
class Raw:
    """Bytes."""


@dataclass(frozen=True, slots=True)
class User:
    """A structure, with the texts of its arguments."""

    type: Type
    arguments: tuple[str, ...]


DataType = Number | Bits | String | Raw | User


def primitive(text: str) -> Number | Bits | String | None:
    """The type that a word stands for, if it is no structure."""
    if text in ("str", "strz"):
        return String(text == "strz")
    if found := NUMBER.fullmatch(text):
        kind, size, order = (found.group(1) or found.group(4)), (found.group(2) or found.group(5)), None
        order = found.group(3) or found.group(6)
        return Number(f"{kind}{size}", order if size != "1" else None)
    if found := BITS.fullmatch(text):
        return Bits(int(found.group(1)), found.group(2))
    return None


def parameter(text: str) -> Kind | None:
    """The kind of a parameter whose type is no structure."""
    if text.endswith("[]"):
        item = parameter(text[:-2])
        return List(item) if item else None
    known = primitive(text)
    if isinstance(known, Number | Bits):
        return known.kind
    return PARAMETERS.get(text)


def arguments(text: str) -> tuple[str, ...]:
    """The texts between the commas of a list of arguments."""
    found: list[str] = []
    depth, start, quote = 0, 0, ""
    for at, character in enumerate(text):
        if quote:
            quote = "" if character == quote and text[at - 1] != "\\" else quote
        elif character in "\"'":
            quote = character
        elif character in "([":
            depth += 1
        elif character in ")]":
            depth -= 1
        elif character == "," and not depth:
            found.append(text[start:at])
            start = at + 1
    last = text[start:]
    return (*found, last) if last.strip() or found else ()
