"""The fields of a row to encode: what is given is loaded, what the spec fixes is known."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from thawline.compiler import encoder_ir as er
from thawline.compiler import inversion, ir, reads, stores, subset
from thawline.compiler.bounds import bounds
from thawline.compiler.encoder_nodes import (
    Bits,
    Choice,
    Contents,
    Items,
    Node,
    Number,
    Repeated,
    Slice,
    Structure,
    fits,
)
from thawline.compiler.encoder_work import Work
from thawline.compiler.inversion import Equal, Flagged
from thawline.compiler.resolution import Scope, Token
from thawline.compiler.subset import Attribute
from thawline.engine.tables import Column, Kind
from thawline.ksy.documents import TypeDef, contents_bytes
from thawline.ksy.names import find_type, inherited

LONG = "u8"
"""Not a column, since no column holds it. A single structure may have one, up to the largest signed number."""

Group = Callable[[Scope, Callable[[], list[Node]]], tuple[list[Node], ir.Value]]
"""Encodes the items of a list as rows of their own."""


class Planner:
    """Makes the tree of a row's fields."""

    def __init__(self, work: Work, group: Group) -> None:
        self.work, self.build, self.group = work, work.build, group

    def plan(self, scope: Scope) -> list[Node]:
        """The fields of a type. What is given is loaded, whether the row has it or not."""
        for parameter in subset.parameters(scope.type) if scope.parent is None else ():
            self._plan_field(parameter, scope)  # it is known, and has no bytes
        for attribute in subset.instances(scope.type).values():
            if "pos" in attribute.data and attribute.hints.get("column"):
                self._plan_elsewhere(attribute, scope)
        nodes: list[Node] = []
        pending = subset.head_fields(scope.type) if self.work.is_frame else subset.fields(scope.type)
        while pending:
            run = reads.bit_fields(pending)
            node = self._plan_bits(run, scope) if run else self._plan_field(pending[0], scope)
            nodes += [node] if node else []
            pending = pending[len(run) or 1 :]
        return nodes

    def _plan_elsewhere(self, attribute: Attribute, scope: Scope) -> None:
        """A structure that is read at the place of other fields: only its values count, those fields repeat them."""
        if not inversion.is_repeated(attribute, self.work.specs):
            raise attribute.error("an encoder has to know from a rule which fields these bytes are", "pos")
        self.work.note(attribute)
        self.work.is_elsewhere = True
        node = self._plan_type(attribute.without("pos"), scope)
        self.work.is_elsewhere = False
        assert isinstance(node, Structure)  # noqa: S101 - what is repeated is a structure
        scope.names[attribute.name] = node.inner

    def _plan_field(self, attribute: Attribute, scope: Scope) -> Node | None:
        """A field with its condition; None for one without bytes, which only has a rule about where it is."""
        self.work.note(attribute)
        if attribute.data.get("size") == 0:
            return None
        if "if" not in attribute.data:
            return self._plan_repeated(attribute, scope)
        self.build.optional += 1
        node = self._plan_repeated(attribute, scope)
        self.build.optional -= 1
        return node

    def _plan_repeated(self, attribute: Attribute, scope: Scope) -> Node:
        if "repeat" not in attribute.data:
            return self._plan_type(attribute, scope)
        if attribute.hints.get("column") is False or scope.rows is None:
            return self._plan_repetition(attribute, scope)
        rows = ir.Rows((*scope.rows.path, scope.prefix + attribute.name))
        items = replace(scope, rows=rows, columns=[], prefix="", attributes=(), item_of=attribute.name, names={})
        node = Items(attribute, scope, rows=rows, count=self.build.variable(f"num_{attribute.name}"))
        self.work.add(er.LoadCount(node.count, rows))
        outer, self.build.optional = self.build.optional, 0
        with self.build.inside(node.measured):
            single = attribute.without("repeat", "repeat-expr", "if")
            node.nodes, node.size = self.group(items, lambda: [self._plan_type(single, items)])
        self.build.optional = outer
        column = Column(scope.prefix + attribute.name, "list", (), items=tuple(items.columns))
        scope.columns.append(column)
        return node

    def _plan_repetition(self, attribute: Attribute, scope: Scope) -> Repeated:
        """A structure that is repeated without being a column: a rule has to say what its fields are."""
        node = Repeated(attribute, scope)
        single = attribute.without("repeat", "repeat-expr", "valid")
        item = self._plan_type(single, replace(scope, rows=None))
        if not isinstance(item, Structure):
            raise attribute.error("an encoder needs to know the fields of what is repeated", "repeat")
        node.item = item
        return node

    def _plan_type(self, attribute: Attribute, scope: Scope) -> Node:
        """One occurrence of a field, whatever its type."""
        type_ = attribute.data.get("type")
        if type_ == "str":
            return self._plan_text(attribute, scope)
        if self.work.is_frame and attribute.hints.get("part"):
            return self._plan_slice(attribute, scope, is_part=True)
        if "contents" in attribute.data:
            return Contents(attribute, scope, data=contents_bytes(attribute.data["contents"]))
        if type_ is None:
            return self._plan_slice(attribute, scope)
        if subset.INTEGER.fullmatch(type_) or type_ == LONG:
            return self._plan_integer(attribute, scope, type_)
        call = subset.CALL.fullmatch(type_)
        nested = find_type(call[1] if call else type_, attribute.owner, self.work.specs)
        if nested is None:
            raise attribute.error(f"type {type_} is not supported", "type")
        if hints := subset.intrinsic(nested):
            return self._plan_intrinsic(attribute, scope, hints)
        return self._plan_structure(attribute, scope, nested)

    def _plan_integer(self, attribute: Attribute, scope: Scope, type_: str) -> Number:
        is_signed, size = type_[0] == "s", int(type_[1])
        most = (1 << 8 * size) - 1
        limits = (~(most >> 1), most >> 1) if is_signed else (0, min(most, ir.MOST))
        is_big = (type_[2:] or inherited(attribute.owner, "endian")) == "be"
        node = Number(attribute, scope, coding="integer", width=size, is_big_endian=is_big)
        return self._plan_number(node, limits)

    def _plan_intrinsic(self, attribute: Attribute, scope: Scope, hints: Mapping[str, Any]) -> Node:
        if hints["intrinsic"] == "escaped":
            node = self._plan_slice(attribute, scope, "escaped")
            node.terminator = ir.Constant(0)  # known once all fields are: `settle`
            return node
        if hints["intrinsic"] == "zigzag":
            limit = 1 << hints["bits"] - 1
            return self._plan_number(Number(attribute, scope, coding="zigzag"), (-limit, limit - 1))
        number = Number(attribute, scope, coding="decimal", terminator=hints["terminator"])
        return self._plan_number(number, (ir.LEAST, ir.MOST))

    def _plan_text(self, attribute: Attribute, scope: Scope) -> Node:
        """A word: one of two that a flag tells, or one that is given."""
        origin = inversion.worded(attribute)
        if origin is None:
            node = self._plan_slice(attribute, scope)
            node.words = inversion.words(attribute)
            return node
        assert scope.rows is not None  # noqa: S101 - as for every column
        instance = subset.instances(attribute.owner)[origin.instance]
        flag = self.build.variable(origin.instance, "bool", (0, 1))
        self.work.add(er.Load(flag, scope.rows, self._column(scope, instance, "bool")))
        scope.names[origin.instance] = flag
        return Choice(attribute, scope, flag=flag, word=origin.word, otherwise=origin.otherwise)

    def _plan_bits(self, run: list[Attribute], scope: Scope) -> Bits:
        node = Bits(run[0], scope)
        for attribute in run:
            self.work.note(attribute)
            width = int(attribute.data["type"][1:])
            member = Number(attribute, scope, coding="bits", width=width)
            node.members.append(self._plan_number(member, (0, (1 << width) - 1)))
        return node

    def _plan_number(self, node: Number, limits: tuple[int, int]) -> Number:
        """A number: known, loaded, or to be known later."""
        attribute, scope, build = node.attribute, node.scope, self.build
        is_flag = node.coding == "bits" and node.width == 1 and "enum" not in attribute.data
        node.variable = build.variable(attribute.name, "bool" if is_flag else "int", limits)
        node.origin = inversion.origin(attribute, self.work.specs)
        is_number = node.coding in ("zigzag", "decimal")
        if scope.item_of != attribute.name:
            scope.names[attribute.name] = Token(node.variable) if is_number else node.variable
        if isinstance(node.origin, Equal) and isinstance(value := inversion.constant(node.origin.source), int):
            build.add(ir.Assign(node.variable, ir.Constant(value, node.variable.type)))
        elif isinstance(node.origin, Flagged):
            self._load_flag(node, node.origin)
        elif node.origin is None and self.work.is_elsewhere and attribute.hints.get("column") is False:
            self.work.free.append((node.variable, limits[1]))
        elif node.origin is None and scope.rows is None:
            build.add(ir.Assign(node.variable, ir.Constant(0, node.variable.type)))
        elif node.origin is None:
            self._load(node, "bool" if is_flag else reads.column_kind(node.variable))
        return node

    def _load(self, node: Number, kind: Kind) -> None:
        """Load a number, refuse one that its field cannot hold, and keep whether it is null."""
        build, attribute, rows = self.build, node.attribute, node.scope.rows
        assert rows is not None  # noqa: S101 - fields without rows are not loaded
        labels = stores.enum_of(build, attribute) if "enum" in attribute.data else {}
        column = self._column(node.scope, attribute, "enum" if labels else kind, labels=labels)
        self.work.add(er.Load(node.variable, rows, column))
        if bounds(node.variable) != _held("int64" if self.work.is_frame or kind == "bool" else kind):
            self.work.refuse_unless(attribute, _within(node.variable), fits(node))
        self._load_given(node, attribute, column)

    def _load_given(self, node: Number, attribute: Attribute, column: Column) -> None:
        """Keep whether a number is null, where it may be."""
        if self.build.optional and attribute.hints.get("column") is not False and node.scope.rows is not None:
            node.given = self.build.variable(f"has_{attribute.name}", "bool", (0, 1))
            self.work.add(er.LoadGiven(node.given, node.scope.rows, column))

    def _load_flag(self, node: Number, origin: Flagged) -> None:
        """Load the calculated column that a code follows from."""
        assert node.scope.rows is not None  # noqa: S101 - what has no rows has no columns
        attribute = subset.instances(node.attribute.owner)[origin.instance]
        node.flag = self.build.variable(origin.instance, "bool", (0, 1))
        column = self._column(node.scope, attribute, "bool")
        self.work.add(er.Load(node.flag, node.scope.rows, column))
        self._load_given(node, attribute, column)

    def _plan_slice(self, attribute: Attribute, scope: Scope, kind: Kind = "binary", *, is_part: bool = False) -> Slice:
        """Bytes of a column. Bytes that no table has may be left out: then they are empty, or zeros."""
        build, rows = self.build, scope.rows
        if rows is None:
            raise attribute.error("an encoder does not know these bytes")
        if kind == "binary":
            kind = "text" if "text" in attribute.hints else "base64" if "base64" in attribute.hints else "binary"
        size = attribute.data.get("size")
        fixed = size if isinstance(size, int) else 0
        column = self._column(scope, attribute, kind, size=fixed if kind == "binary" else 0)
        node = Slice(attribute, scope, column=column, is_hidden=attribute.hints.get("column") is False)
        node.is_part = is_part or (self.work.is_frame and not self.work.is_whole and not isinstance(size, int))
        node.length = build.variable(f"{attribute.name}_length", limits=(-1, ir.LONGEST))
        self.work.add(er.LoadLength(node.length, rows, column, fixed if node.is_hidden else -1))
        if "terminator" in attribute.data:
            node.terminator = ir.Constant(attribute.data["terminator"])
        return node

    def _plan_structure(self, attribute: Attribute, scope: Scope, nested: TypeDef) -> Node:
        own = () if scope.item_of == attribute.name else (attribute.name,)
        prefix = scope.prefix + attribute.hints.get("prefix", "")
        node = Structure(attribute, scope, is_stream="size" in attribute.data or bool(attribute.data.get("size-eos")))
        node.inner = Scope(
            nested, scope, scope.base, scope.end, scope.rows, scope.columns, prefix,
            (*scope.attributes, *own), self.build.depth,
        )  # fmt: skip
        if scope.item_of != attribute.name:
            scope.names[attribute.name] = node.inner
        node.nodes = self.plan(node.inner)
        return node

    def _column(self, scope: Scope, attribute: Attribute, kind: Kind, **more: Any) -> Column:
        """A column that is given."""
        column = Column(scope.prefix + attribute.name, kind, (), nullable=self.build.optional > 0, **more)
        if any(other.name == column.name for other in scope.columns):
            raise attribute.error(f"a column {column.name} is there already; give one of them a prefix")
        scope.columns.append(column)
        if attribute.hints.get("column") is False:
            self.work.hidden.append((*_path(scope.rows), column.name))
        return column


def _path(rows: ir.Rows | None) -> tuple[str, ...]:
    return rows.path if rows is not None else ()


def _held(kind: Kind) -> tuple[int, int]:
    bits = next(bits for bits, name in reads.SIGNED_KINDS.items() if name == kind)
    return -(1 << bits - 1), (1 << bits - 1) - 1


def _within(variable: ir.Variable) -> ir.Value:
    low, high = variable.low, variable.high
    held = replace(variable, low=ir.LEAST, high=ir.MOST)
    return ir.every(ir.compare(">=", held, ir.Constant(low)), ir.compare("<=", held, ir.Constant(high)))
