"""The fields of a row to encode, as a tree: each with its size, its condition, and where its value comes from."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Literal

from thawline.compiler import ir
from thawline.compiler.inversion import Origin
from thawline.compiler.resolution import Scope
from thawline.compiler.subset import Attribute
from thawline.engine.tables import Column

NOTHING = ir.Constant(0)


@dataclass(slots=True)
class Node:
    """A field."""

    attribute: Attribute
    scope: Scope
    condition: ir.Value | None = None
    """Whether it is there, where it may be absent."""
    is_told: bool = False
    """Whether its column, not a field before it, tells that it is there."""
    size: ir.Value = NOTHING

    @property
    def name(self) -> str:
        """Its id in the spec."""
        return self.attribute.name


@dataclass(slots=True)
class Contents(Node):
    """Bytes that the spec fixes."""

    data: bytes = b""


@dataclass(slots=True)
class Choice(Node):
    """One of two words, as a flag tells."""

    flag: ir.Variable = field(default_factory=lambda: ir.Variable(""))
    word: bytes = b""
    otherwise: bytes = b""


@dataclass(slots=True)
class Number(Node):
    """An integer, a varint, a decimal number, or a field of bits."""

    variable: ir.Variable = field(default_factory=lambda: ir.Variable(""))
    coding: Literal["integer", "zigzag", "decimal", "bits"] = "integer"
    width: int = 0
    """Bytes of an integer, or bits of a field of bits."""
    is_big_endian: bool = False
    terminator: int = 0
    origin: Origin | None = None
    given: ir.Variable | None = None
    """Whether it is given, where it may be null."""
    flag: ir.Variable | None = None
    """The calculated column that it follows from."""
    place: ir.Variable | None = None
    """Where a checksum is written, once it is known."""


@dataclass(slots=True)
class Bits(Node):
    """Fields of bits that share their bytes, most significant bit first."""

    members: list[Number] = field(default_factory=list)


@dataclass(slots=True)
class Slice(Node):
    """Bytes of a column."""

    column: Column = field(default_factory=lambda: Column("", "binary", ()))
    length: ir.Variable = field(default_factory=lambda: ir.Variable(""))
    terminator: ir.Value | None = None
    is_hidden: bool = False
    is_part: bool = False
    words: tuple[bytes, ...] = ()
    """What it may be, where only some words are allowed."""


@dataclass(slots=True)
class Structure(Node):
    """A structure, in a stream of its own if it has a size."""

    inner: Scope = field(init=False)
    nodes: list[Node] = field(default_factory=list)
    is_stream: bool = False
    start: ir.Variable | None = None
    """Where its stream is written."""


@dataclass(slots=True)
class Items(Node):
    """A list whose items are rows of their own."""

    rows: ir.Rows = field(default_factory=ir.Rows)
    count: ir.Variable = field(default_factory=lambda: ir.Variable(""))
    measured: list[ir.Statement] = field(default_factory=list)
    nodes: list[Node] = field(default_factory=list)


@dataclass(slots=True)
class Repeated(Node):
    """A structure of a fixed size that is repeated, and whose fields follow from others."""

    item: Structure = field(init=False)
    count: ir.Value = NOTHING


def leaves(nodes: list[Node]) -> Iterator[Number | Slice]:
    """The numbers and bytes of a row, without those of lists."""
    for node in nodes:
        match node:
            case Number() | Slice():
                yield node
            case Bits():
                yield from node.members
            case Structure():
                yield from leaves(node.nodes)


def first_given(node: Node) -> Number | Slice | None:
    """The first value in a field that is there whenever the field is, and is given."""
    match node:
        case Slice():
            return node
        case Number() if node.given is not None:
            return node
        case Structure():
            always = (inner for inner in node.nodes if inner.condition is None and "if" not in inner.attribute.data)
            return next((found for inner in always if (found := first_given(inner))), None)
    return None


def numbers(nodes: list[Node]) -> list[Number]:
    """The numbers of a type itself, without those of structures in it."""
    members = [member for node in nodes if isinstance(node, Bits) for member in node.members]
    return [*(node for node in nodes if isinstance(node, Number)), *members]


def fits(node: Number) -> str:
    """The rule that a number is one of its type."""
    return f"fits {node.attribute.data['type']}"
