"""Where the fields of one unit are, told by a reader in Python as it comes to them.

A traced reader calls `begin` before a field, or an item of one, and `end` after it. What lies in bytes that were
processed has no place in the file: there the processed bytes are one field.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from enum import Enum
from functools import cache
from itertools import pairwise
from typing import Any

from thawline.compiler.language.failures import Failure
from thawline.compiler.language.processes import PROCESSES
from thawline.compiler.language.programs import Named, Program, Reading

MOST_STEPS = 1 << 20
"""A reading in Python is slow. What comes after so many steps is not told."""


@dataclass(slots=True)
class Seen:
    """A field, or an item of one, while it is read and afterwards."""

    at: int
    index: int
    start: int
    end: int
    owner: Any
    """The structure that it is in."""
    is_placed: bool
    """Whether its bytes are bytes of the file."""
    value: Any = None
    is_read: bool = False
    has_fields: bool = False


@dataclass
class Tracer:
    """Keeps the fields of a reading that touch some bytes, and all structures."""

    first: int
    last: int
    most: int
    holder: Any
    stack: list[Seen] = field(default_factory=list)
    found: list[Seen] = field(default_factory=list)
    leaves: int = 0

    def begin(self, at: int, owner: Any, io: Any, index: int, is_bits: bool) -> int:  # noqa: FBT001 - as a reader calls it
        """A field begins; where it is among those that have begun."""
        start = io.base + io.pos - (1 if is_bits and io.bits_left else 0)
        self.stack.append(Seen(at, index, start, start, owner, io.holder is self.holder))
        return len(self.stack) - 1

    def end(self, mark: int, io: Any, value: Any) -> None:
        """The field has been read."""
        seen = self.stack[mark]
        del self.stack[mark:]
        seen.end, seen.value, seen.is_read = io.base + io.pos, value, True
        seen.has_fields = hasattr(value, "ctx") and value.io.holder is self.holder
        if seen.has_fields:
            self.found.append(seen)
        elif seen.is_placed and self.touches(seen):
            self.leaves += 1
            if self.leaves <= self.most:
                self.found.append(seen)

    def touches(self, seen: Seen) -> bool:
        """Whether a field has bytes that are wanted."""
        return seen.start < self.last and seen.end > self.first


@dataclass(frozen=True, slots=True)
class Found:
    """A field with its place. Its keys are the names that lead to it, with the index of an item."""

    keys: tuple[str, ...]
    start: int
    end: int
    path: str
    value: Any
    is_leaf: bool
    is_read: bool


@dataclass(frozen=True, slots=True)
class Trail:
    """The fields of a unit in the order of the file; structures come before what is in them."""

    fields: tuple[Found, ...]
    failing: Found | None
    """The field that cannot be read."""
    failure: Failure | None
    is_cut: bool
    """Whether there are more fields."""


def trail(
    program: Program, data: memoryview, start: int, span: tuple[int, int], most: int, *, items: str = ""
) -> Trail:
    """The fields that touch a span of what begins at a position, as a traced program reads it.

    With `items`, the name of a repetition of the root, only its first item is read. Positions count from the start of
    the data.
    """
    ctx = program.reader["context"](MOST_STEPS, PROCESSES)
    stream = program.reader["stream"](ctx, data, start)
    ctx.tracer = tracer = Tracer(*span, most, stream.holder)
    root = program.reader[f"root_{program.ident}"](stream, *program.params)
    reading = Reading(program, ctx, root)
    some = (lambda: getattr(root, f"some_{items}")(1)) if items else (lambda: program.reader["read_whole"](root))
    failure = reading.attempt(some)
    open_fields = list(tracer.stack)
    if failure is None and not items:
        reading.attempt(lambda: reading.put_root(program.whole.build(program.reader["column"])))
    is_cut = tracer.leaves > most or (failure is not None and failure.kind == "work")
    keys = _Keys(program, root, tracer, open_fields)
    failing = keys.failing(failure, open_fields) if failure and failure.kind != "work" else None
    return Trail(tuple(keys.fields(failing)), failing, failure, is_cut)


class _Keys:
    """Names of fields: what leads to a structure, then their own."""

    def __init__(self, program: Program, root: Any, tracer: Tracer, open_fields: list[Seen]) -> None:
        self.program, self.tracer, self.found = program, tracer, tracer.found
        self.holds = {id(seen.value): seen for seen in self.found if seen.has_fields}
        for outer, inner in pairwise(open_fields):
            if inner.owner is not outer.owner and id(inner.owner) not in self.holds and inner.owner is not root:
                self.holds[id(inner.owner)] = outer

    def named(self, seen: Seen) -> Named:
        return self.program.named[seen.at]

    def chain(self, seen: Seen) -> list[Seen]:
        """The fields that lead to one, itself last."""
        found = [seen]
        while (outer := self.holds.get(id(found[-1].owner))) and len(found) < 200:  # noqa: PLR2004 - deeper than any
            found.append(outer)
        return found[::-1]

    def of(self, seen: Seen) -> Found:
        keys = tuple(self.named(it).name + (f"[{it.index}]" if it.index >= 0 else "") for it in self.chain(seen))
        named = self.named(seen)
        value = _labelled(seen.value, named.labels) if not hasattr(seen.value, "ctx") else None
        return Found(keys, seen.start, seen.end, named.path, value, not seen.has_fields, seen.is_read)

    def failing(self, failure: Failure, open_fields: list[Seen]) -> Found | None:
        """The field at which reading failed: the last that has begun, or one whose rule is broken."""
        placed = [seen for seen in open_fields if seen.is_placed]
        if placed:
            return self.of(placed[-1])
        paths = [seen for seen in self.found if self.named(seen).path == failure.path]
        return self.of(paths[-1]) if paths else None

    def fields(self, failing: Found | None) -> Iterator[Found]:
        """Fields in the order of the file. What an instance looks at counts where no field of a structure is."""
        plain: list[Seen] = []
        looked_at: list[Seen] = []
        for seen in self.found:
            is_elsewhere = any(self.named(it).is_instance for it in self.chain(seen))
            (looked_at if is_elsewhere else plain).append(seen)
        kept = sorted((seen for seen in plain if not seen.has_fields), key=_start)
        for seen in sorted((seen for seen in looked_at if not seen.has_fields), key=_start):
            if seen.end > seen.start and not any(it.start < seen.end and seen.start < it.end for it in kept):
                kept.append(seen)
        structures = [seen for seen in self.found if seen.has_fields and self.tracer.touches(seen)]
        made = [self.of(seen) for seen in (*structures, *kept)]
        if failing and all(it.keys != failing.keys for it in made):
            made.append(failing)
        return iter(sorted(made, key=lambda it: (it.start, len(it.keys) if not it.is_leaf else 1 << 20)))


def _start(seen: Seen) -> int:
    return seen.start


def _labelled(value: Any, labels: Mapping[int, str]) -> Any:
    """A number as the member of an enum, if it has a label."""
    if not (labels and isinstance(value, int) and value in labels):
        return value
    return _enum(tuple(labels.items())).get(value, value)


@cache
def _enum(labels: tuple[tuple[int, str], ...]) -> dict[int, Enum]:
    """The members of an enum by their numbers, but for labels that Python has no member for."""
    made: dict[int, Enum] = {}
    enum: Any = Enum
    for number, label in labels:
        with suppress(ValueError, TypeError):
            made[number] = enum("Labels", {label: number})(number)
    return made
