"""Why a unit, or a value in it, cannot be read."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from thawline.ksy.documents import SpecError


@dataclass(frozen=True, slots=True)
class Failure:
    """Where reading stopped, or what could not be computed."""

    position: int
    """The byte of the data; in bytes that a process made, that of the field that was processed."""
    path: str
    """The field, as ksc writes it: `/types/packet/seq/2`."""
    reason: str
    kind: str
    """`end`, `size`, `seek`, `contents`, `not-equal`, `less-than`, `greater-than`, `not-any-of`, `not-in-enum`, `expr`,
    `encoding`, `process`, `endian`, `value`, `depth`, `work`."""
    is_fatal: bool
    """Whether the unit cannot be read on; otherwise one value is null."""


@dataclass(frozen=True, slots=True)
class Refusal:
    """What the compiler does not accept in a spec, and where."""

    place: str
    """`file:line:column`"""
    reason: str


def refusals_of(error: SpecError) -> list[Refusal]:
    """What an error says of a spec: each reason with its place."""
    reasons = error.reasons if isinstance(error, Refused) else (str(error),)
    return [Refusal(place, reason) for place, _, reason in (it.partition(": ") for it in reasons)]


class Refused(SpecError):
    """A spec that the compiler does not accept; its message is the first reason."""

    def __init__(self, reasons: Sequence[SpecError]) -> None:
        super().__init__(str(reasons[0]))
        self.reasons = tuple(str(reason) for reason in reasons)
