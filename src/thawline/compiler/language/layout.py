"""The columns of a table as a tree: what a person sees, and what a reader fills.

A structure is a struct, a repetition a list, a value of several kinds a struct of alternatives with `_type` beside
them. A type within itself is cut after `CUT` levels: there its bytes are a column.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from thawline.compiler.language.analysis import Analysis
from thawline.compiler.language.declarations import Enum, Field, Type
from thawline.compiler.language.kinds import (
    LEAST,
    MOST,
    MOST_UNSIGNED,
    Bool,
    Int,
    Kind,
    Label,
    List,
    Real,
    Struct,
    Text,
    Union,
)
from thawline.compiler.language.storing import alternatives, columns

NUMBER, REAL, BLOB, GROUP, ITEMS = range(5)
CUT = 4
"""How often a type may stand within itself before its bytes are a column."""
MAX_COLUMNS = 3000
LIMITS = [(CUT, 64), (3, 64), (2, 64), (1, 64), (1, 8), (1, 6), (1, 5), (1, 4), (1, 3), (1, 2)]
"""How often a type may stand within itself, and how deep structures may stand in one another: the first that gives
no more than `MAX_COLUMNS`."""
TYPE = "_type"
INTEGERS = {
    (1, False): pa.uint8(), (2, False): pa.uint16(), (4, False): pa.uint32(), (8, False): pa.uint64(),
    (1, True): pa.int8(), (2, True): pa.int16(), (4, True): pa.int32(), (8, True): pa.int64(),
}  # fmt: skip


class TooManyColumns(Exception):
    """A table that is cut too late."""


@dataclass(frozen=True, slots=True)
class Node:
    """A column, with the columns in it."""

    kind: int
    type: pa.DataType
    width: int = 0
    limits: tuple[int, int] = (LEAST, MOST)
    kids: tuple[tuple[str, Node | None], ...] = ()
    enum: Enum | None = None

    def fields(self) -> list[pa.Field]:
        """The Arrow fields of the columns in it, labels beside their numbers."""
        return [field for name, kid in self.kids if kid for field in _fields(name, kid, self.names())]

    def names(self) -> set[str]:
        """The names of the columns in it."""
        return {name for name, _ in self.kids}

    def arrow(self) -> pa.DataType:
        """Its Arrow type; of a label, that of its number."""
        if self.kind == GROUP:
            return pa.struct(self.fields())
        if self.kind == ITEMS and self.kids[0][1]:
            return pa.list_(self.kids[0][1].arrow())
        return self.type

    def build(self, column: Any) -> Any:
        """An empty column of a reader; `column` is the reader's maker of columns."""
        kids = [kid.build(column) if kid else None for _, kid in self.kids]
        return column(self.kind, self.width, *self.limits, kids)

    def only(self, paths: Collection[str], above: str = "") -> Node:
        """The requested columns; the others are not filled, and their instances not computed."""
        kids: list[tuple[str, Node | None]] = []
        for name, kid in self.kids:
            path = above + name
            number = number_name(name, self.names())
            if kid is None or path in paths or (kid.enum_within() and above + number in paths):
                kids.append((name, kid))
                continue
            inner = _inner(kid)
            if inner is not None and any(wanted.startswith(f"{path}.") for wanted in paths):
                chosen = inner.only(paths, f"{path}.")
                kids.append((name, chosen if inner is kid else replace(kid, kids=((kid.kids[0][0], chosen),))))
            else:
                kids.append((name, None))
        return replace(self, kids=tuple(kids))

    def enum_within(self) -> Enum | None:
        """Its enum, or that of its items."""
        if self.kind == ITEMS and self.kids[0][1]:
            return self.kids[0][1].enum_within()
        return self.enum


def _inner(node: Node) -> Node | None:
    """The structure in a column."""
    if node.kind == GROUP:
        return node
    item = node.kids[0][1] if node.kind == ITEMS else None
    return item if item and item.kind == GROUP else None


def number_name(name: str, taken: Collection[str]) -> str:
    """The name of the column with the numbers of labels."""
    found = f"{name}_number"
    while found in taken:
        found += "_"
    return found


def _fields(name: str, node: Node, taken: Collection[str]) -> Iterator[pa.Field]:
    if node.enum_within():
        yield pa.field(name, _labelled(node))
        yield pa.field(number_name(name, taken), node.arrow())
    else:
        yield pa.field(name, node.arrow())


def _labelled(node: Node) -> pa.DataType:
    if node.kind == ITEMS and node.kids[0][1]:
        return pa.list_(_labelled(node.kids[0][1]))
    return pa.string()


def layout(analysis: Analysis, kind: Kind) -> Node:
    """The columns of a kind, cut where that is needed."""
    for cut, depth in LIMITS:
        try:
            return _Layout(analysis, cut, depth).node(kind)
        except TooManyColumns:
            continue
    raise TooManyColumns


@dataclass
class _Layout:
    analysis: Analysis
    cut: int
    depth: int
    count: int = 0
    path: tuple[Type, ...] = ()
    is_alias: bool = False
    """Within what a value refers to: fields only, nothing that is read elsewhere."""

    def node(self, kind: Kind) -> Node:
        self.count += 1
        if self.count > MAX_COLUMNS:
            raise TooManyColumns
        match kind:
            case Label(enum, number):
                return replace(self.node(number), enum=enum)
            case Int():
                return _number(kind)
            case Real(width):
                return Node(REAL, pa.float32() if width == 4 else pa.float64(), width)  # noqa: PLR2004 - bytes
            case Bool():
                return Node(NUMBER, pa.bool_(), 1)
            case Text():
                return Node(BLOB, pa.string())
            case List(item):
                return Node(ITEMS, pa.null(), kids=(("item", self.node(item)),))
            case Union():
                return self.union(kind)
            case Struct(type_):
                return self.structure(type_)
        return Node(BLOB, pa.binary())

    def union(self, kind: Union) -> Node:
        found: list[tuple[str, Node | None]] = [(TYPE, Node(BLOB, pa.string()))]
        found += [(name, self.node(item)) for name, item in alternatives(kind)]
        return Node(GROUP, pa.null(), kids=tuple(found))

    def structure(self, type_: Type) -> Node:
        most = 1 if self.is_alias else self.cut
        if self.path.count(type_) >= most or len(self.path) >= self.depth:
            return Node(BLOB, pa.binary())
        outer, self.path = self.path, (*self.path, type_)
        kids = [(item.name, self.field(item)) for item in columns(self.analysis, type_)]
        self.path = outer
        return Node(GROUP, pa.null(), kids=tuple(kids))

    def field(self, item: Field) -> Node | None:
        kind = self.analysis.kind(item)
        if not (is_reference(item) and _has_structures(kind)):
            if self.is_alias and item.is_instance and (not item.is_value):
                return None
            return self.node(kind)
        if self.is_alias:
            return None
        path, self.path, self.is_alias = self.path, (), True
        found = self.node(kind)
        self.path, self.is_alias = path, False
        return found


def is_reference(item: Field) -> bool:
    """Whether what it holds was read elsewhere: a value, or a parameter."""
    return item.is_value or item.owner.params.get(item.name) is item


def _has_structures(kind: Kind) -> bool:
    match kind:
        case Struct():
            return True
        case List(item):
            return _has_structures(item)
        case Union(items):
            return any(_has_structures(item) for item in items)
    return False


def _number(kind: Int) -> Node:
    if kind.width:
        is_signed = kind.low < 0
        return Node(NUMBER, INTEGERS[kind.width, is_signed], kind.width, (kind.low, kind.high))
    if kind.is_unsigned:
        return Node(NUMBER, pa.uint64(), 8, (0, MOST_UNSIGNED))
    return Node(NUMBER, pa.int64(), 8)


# From filled columns to Arrow


def table(node: Node, column: Any) -> pa.RecordBatch:
    """The rows of a filled column as a record batch; the column is empty afterwards."""
    found = array(node, column)
    if node.kind != GROUP:
        return pa.RecordBatch.from_arrays([found], names=["value"])
    return pa.RecordBatch.from_struct_array(found)


def array(node: Node, column: Any) -> pa.Array:
    """A filled column as an Arrow array; of labels, their numbers."""
    kids = column_kids(column)
    rows, nulls, valid, offsets, data = column.taken(pa.allocate_buffer)
    bitmap = _bitmap(valid, rows) if nulls else None
    if node.kind == GROUP:
        return _struct(node, kids, rows, nulls, bitmap)
    if node.kind == ITEMS:
        item = node.kids[0][1]
        values = array(item, kids[0]) if item else pa.nulls(0)
        return _list(values, rows, nulls, bitmap, offsets)
    if node.kind == BLOB:
        return pa.Array.from_buffers(node.type, rows, [bitmap, offsets, data], nulls)
    if pa.types.is_boolean(node.type):
        numbers = pa.Array.from_buffers(pa.uint8(), rows, [bitmap, data], nulls)
        return pc.cast(numbers, pa.bool_())
    return pa.Array.from_buffers(node.type, rows, [bitmap, data], nulls)


def _bitmap(valid: pa.Buffer, rows: int) -> pa.Buffer:
    """A byte for each row as a bit for each."""
    return pc.cast(pa.Array.from_buffers(pa.uint8(), rows, [None, valid]), pa.bool_()).buffers()[1]


def _list(values: pa.Array, rows: int, nulls: int, bitmap: pa.Buffer | None, offsets: pa.Buffer) -> pa.Array:
    kind = pa.list_(values.type)
    return pa.Array.from_buffers(kind, rows, [bitmap, offsets], nulls, children=[values])


def column_kids(column: Any) -> list[Any]:
    """The columns in a column."""
    found: list[Any] = column.inner()
    return found


def _struct(node: Node, kids: list[Any], rows: int, nulls: int, bitmap: pa.Buffer | None) -> pa.Array:
    arrays: list[pa.Array] = []
    for (_, kid), column in zip(node.kids, kids, strict=True):
        if kid is None:
            continue
        found = array(kid, column)
        if kid.enum_within():
            arrays.append(_with_labels(kid, found))
        arrays.append(found)
    return pa.Array.from_buffers(pa.struct(node.fields()), rows, [bitmap], nulls, children=arrays)


def _with_labels(node: Node, numbers: pa.Array) -> pa.Array:
    if node.kind == ITEMS and node.kids[0][1]:
        values = _with_labels(node.kids[0][1], numbers.values)
        _, offsets = numbers.buffers()[:2]
        return pa.Array.from_buffers(
            pa.list_(values.type), len(numbers), [numbers.buffers()[0], offsets], numbers.null_count, children=[values]
        )
    known: Mapping[int, str] = node.enum.labels if node.enum else {}
    low, high = node.limits
    fitting = {number: label for number, label in known.items() if low <= number <= high}
    is_bool = pa.types.is_boolean(node.type)
    listed = [bool(number) for number in fitting] if is_bool else list(fitting)
    places = pc.index_in(numbers, pa.array(listed, node.type), skip_nulls=True)
    return pa.array(list(fitting.values()), pa.string()).take(places)
