"""Kinds of values: what a field holds, and what an expression gives."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from thawline.compiler.language.declarations import Enum, Type

LEAST, MOST = -(1 << 63), (1 << 63) - 1
MOST_UNSIGNED = (1 << 64) - 1
EXACT = 1 << 53
"""A float of 8 bytes holds every integer up to this."""
UNBOUNDED = 1 << 5000
"""More than any number that a reader computes with."""


@dataclass(frozen=True, slots=True)
class Int:
    """An integer between two limits; `width` and `signed` are those of its bytes in the file, 0 if it is computed."""

    low: int = -UNBOUNDED
    high: int = UNBOUNDED
    width: int = field(default=0, compare=False)

    @property
    def is_word(self) -> bool:
        """Whether C computes with it: it fits in a signed number of 64 bits."""
        return self.low >= LEAST and self.high <= MOST

    @property
    def is_unsigned(self) -> bool:
        """Whether it is stored as an unsigned number of 64 bits."""
        return not self.is_word and self.low >= 0 and self.high <= MOST_UNSIGNED


@dataclass(frozen=True, slots=True)
class Real:
    """A floating-point number of 4 or 8 bytes."""

    width: int = field(default=8, compare=False)


@dataclass(frozen=True, slots=True)
class Bool:
    """True or false."""


@dataclass(frozen=True, slots=True)
class Bytes:
    """Bytes."""


@dataclass(frozen=True, slots=True)
class Text:
    """A string."""


@dataclass(frozen=True, slots=True)
class Label:
    """A number with a name in an enum, or without one."""

    enum: Enum
    number: Int = field(default_factory=Int, compare=False)


@dataclass(frozen=True, slots=True)
class Struct:
    """A structure of a type."""

    type: Type


@dataclass(frozen=True, slots=True)
class Union:
    """A value of one of several kinds; without any, a structure of an unknown type."""

    alternatives: tuple[Kind, ...]


@dataclass(frozen=True, slots=True)
class List:
    """Values of one kind."""

    item: Kind


@dataclass(frozen=True, slots=True)
class Io:
    """A stream."""


Kind = Int | Real | Bool | Bytes | Text | Label | Struct | Union | List | Io
ANY = Union(())


def joined(left: Kind, right: Kind) -> Kind:
    """The kind of a value that is of one or the other."""
    if isinstance(left, Int) and isinstance(right, Int):
        return Int(min(left.low, right.low), max(left.high, right.high))
    if isinstance(left, Label) and isinstance(right, Label) and left.enum is right.enum:
        number = joined(left.number, right.number)
        return Label(left.enum, number if isinstance(number, Int) else Int())
    if isinstance(left, Int | Real) and isinstance(right, Int | Real):
        return Real()
    if isinstance(left, List) and isinstance(right, List):
        return List(joined(left.item, right.item))
    if left == right:
        return left
    return Union(tuple(_both(left, right)))


def _alternatives(kind: Kind) -> tuple[Kind, ...]:
    return kind.alternatives if isinstance(kind, Union) else (kind,)


def _add(found: list[Kind], kind: Kind) -> None:
    """Add an alternative; numbers are one."""
    for index, other in enumerate(found):
        if kind == other:
            return
        if isinstance(kind, Int) and isinstance(other, Int):
            found[index] = joined(kind, other)
            return
    found.append(kind)


def either(kinds: Sequence[Kind]) -> Kind:
    """The kind of what a switch reads. Floats and integers are one if a float holds each of the integers exactly."""
    numbers = [kind for kind in kinds if isinstance(kind, Int)]
    is_exact = all(number.low >= -EXACT and number.high <= EXACT for number in numbers)
    has_real = any(isinstance(kind, Real) for kind in kinds)
    if has_real and is_exact:
        kinds = [Real() if isinstance(kind, Int) else kind for kind in kinds]
    kind = kinds[0]
    for other in kinds[1:]:
        is_apart = has_real and not is_exact
        kind = Union(tuple(_both(kind, other))) if is_apart else joined(kind, other)
    return kind.alternatives[0] if isinstance(kind, Union) and len(kind.alternatives) == 1 else kind


def _both(left: Kind, right: Kind) -> list[Kind]:
    found: list[Kind] = []
    for kind in (*_alternatives(left), *_alternatives(right)):
        _add(found, kind)
    return found


def held(kind: Kind, within: Kind) -> Kind:
    """What a value of a kind becomes among alternatives: an integer is a float where these have no integer."""
    if not isinstance(kind, Int) or not isinstance(within, Union):
        return kind
    has_integer = any(isinstance(item, Int | Label) for item in within.alternatives)
    return Real() if Real() in within.alternatives and not has_integer else kind


def is_number(kind: Kind) -> bool:
    """Whether a value of a kind is an integer or a float, whichever of its alternatives it is."""
    if isinstance(kind, Union):
        return bool(kind.alternatives) and all(isinstance(item, Int | Real) for item in kind.alternatives)
    return isinstance(kind, Int | Real)


def c_type(kind: Kind) -> str:
    """How a reader declares a variable of a kind."""
    match kind:
        case Label(number=number):
            return c_type(number)
        case Int() if kind.is_word:
            return "cython.longlong"
        case Int() if kind.is_unsigned:
            return "cython.ulonglong"
        case Real():
            return "cython.double"
        case Bool():
            return "cython.bint"
        case Struct():
            return "Structure"
        case Io():
            return "Stream"
    return "object"


def is_object(kind: Kind) -> bool:
    """Whether None can stand for a value that is not there."""
    number = kind.number if isinstance(kind, Label) else kind
    return not isinstance(number, Int) and c_type(kind) in {"object", "Structure", "Stream"}


def default(kind: Kind) -> str:
    """What a variable of a kind holds before it is read."""
    return "None" if is_object(kind) else "0"
