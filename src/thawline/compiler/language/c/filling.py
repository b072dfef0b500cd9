"""Columns that are requested of a reader in C, and the arrays that it gives of them.

Specs of files have thousands of columns, most of which one file has no values for. Arrow takes longer to take over such
columns than a reader needs for the file. So the reader leaves out a structure, or a list, that got no value, and here
nulls take its place: one array of them is made for a type, and shared.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Iterator, Mapping
from ctypes import c_int64
from dataclasses import dataclass, field

import pyarrow as pa

from thawline.compiler.language.layout import GROUP, ITEMS, NUMBER, Node, number_name

FACTS = 6
"""Numbers that say what a column is."""
WORTH_LEAVING_OUT = 8 * FACTS
UNSIGNED = {pa.uint8(), pa.uint16(), pa.uint32(), pa.uint64()}
LEAST_NULLS = 64
MOST_KNOWN = 256

Complete = Callable[[pa.Array], pa.Array]


@dataclass(frozen=True, slots=True)
class Nulls:
    """Nulls of a type, as many as are requested, without memory of their own."""

    type: pa.DataType
    made: dict[int, pa.Array] = field(default_factory=dict)

    def of(self, rows: int) -> pa.Array:
        """Nulls of a type."""
        room = LEAST_NULLS
        while room < rows:
            room *= 2
        if room not in self.made:
            self.made[room] = pa.nulls(room, self.type)
        return self.made[room].slice(0, rows)


@dataclass(frozen=True, slots=True)
class Filled:
    """Arrays in which some columns are left out."""

    type: pa.DataType
    complete: Complete | None

    def completed(self, found: pa.Array) -> pa.Array:
        """An array with nulls where columns were left out."""
        return self.complete(found) if self.complete else found


@dataclass(frozen=True, slots=True)
class Wanted:
    """Columns that are requested of a reader."""

    node: Node
    type: pa.DataType
    facts: ctypes.Array[c_int64]
    """What each is, one after the other, as a reader in C takes them."""
    extents: Mapping[int, int]
    """How many numbers say what a column is, with those in it."""
    known: dict[bytes, Filled] = field(default_factory=dict)

    @property
    def most_marks(self) -> int:
        """How many columns may be left out."""
        return len(self.facts) // FACTS

    def filled(self, marks: bytes) -> Filled:
        """The arrays that are given where the reader marked columns as left out."""
        found = self.known.get(marks)
        if found is None:
            if len(self.known) >= MOST_KNOWN:
                self.known.clear()
            found = self.known[marks] = self._filled(self.node, iter(marks))
        return found

    def _filled(self, node: Node, marks: Iterator[int]) -> Filled:
        if node.kind == ITEMS:
            return self._items(node, marks)
        return self._group(node, marks) if node.kind == GROUP else Filled(node.arrow(), None)

    def _is_left_out(self, node: Node, marks: Iterator[int]) -> bool:
        return self.extents[id(node)] >= WORTH_LEAVING_OUT and not next(marks)

    def _items(self, node: Node, marks: Iterator[int]) -> Filled:
        item = node.kids[0][1]
        if item is None:
            return Filled(node.arrow(), None)
        if self._is_left_out(item, marks):
            none = Nulls(item.arrow())
            return Filled(pa.list_(pa.null()), _listing(node.arrow(), lambda _: none.of(0)))
        inner = self._filled(item, marks)
        return Filled(pa.list_(inner.type), _listing(node.arrow(), inner.complete) if inner.complete else None)

    def _group(self, node: Node, marks: Iterator[int]) -> Filled:
        fields: list[pa.Field] = []
        sources: list[Nulls | Complete | None] = []
        for name, kid in node.kids:
            if kid is None:
                continue
            if self._is_left_out(kid, marks):
                sources.append(Nulls(kid.arrow()))
                continue
            if kid.enum_within():
                fields.append(pa.field(name, _labels(kid)))
                sources.append(None)
                name = number_name(name, node.names())  # noqa: PLW2901 - the numbers stand beside the labels
            inner = self._filled(kid, marks)
            fields.append(pa.field(name, inner.type))
            sources.append(inner.complete)
        whole = all(source is None for source in sources)
        return Filled(pa.struct(fields), None if whole else _grouping(node.arrow(), tuple(sources)))


def wanted(node: Node, enums: Mapping[str, int]) -> Wanted:
    """What is requested of a reader."""
    extents: dict[int, int] = {}
    facts = _facts(node, enums, extents)
    return Wanted(node, node.arrow(), (c_int64 * len(facts))(*facts), extents)


def _facts(node: Node | None, enums: Mapping[str, int], extents: dict[int, int]) -> list[int]:
    if node is None:
        return [-1, 0, 0, -1, 0, FACTS]
    is_nested = node.kind in (GROUP, ITEMS)
    below = [number for _, kid in node.kids for number in _facts(kid, enums, extents)] if is_nested else []
    sign = 2 if node.type == pa.bool_() else int(node.type in UNSIGNED)
    enum = enums[node.enum.ident] if node.enum and node.kind == NUMBER else -1
    extents[id(node)] = FACTS + len(below)
    shape = [0 if is_nested else node.width, sign if node.kind == NUMBER else 0, enum, len(node.kids)]
    return [node.kind, *shape, FACTS + len(below), *below]


def _labels(node: Node) -> pa.DataType:
    item = node.kids[0][1] if node.kind == ITEMS else None
    return pa.list_(_labels(item)) if item else pa.string()


def _listing(kind: pa.DataType, items: Complete) -> Complete:
    def complete(found: pa.Array) -> pa.Array:
        buffers = found.buffers()[:2]
        children = [items(found.values)]
        return pa.Array.from_buffers(kind, len(found), buffers, found.null_count, children=children)

    return complete


def _grouping(kind: pa.DataType, sources: tuple[Nulls | Complete | None, ...]) -> Complete:
    def complete(found: pa.Array) -> pa.Array:
        children, at, rows = [], 0, len(found)
        for source in sources:
            if isinstance(source, Nulls):
                children.append(source.of(rows))
                continue
            child = found.field(at)
            children.append(source(child) if source else child)
            at += 1
        valid = found.buffers()[0] if found.null_count else None
        return pa.Array.from_buffers(kind, rows, [valid], found.null_count, children=children)

    return complete
