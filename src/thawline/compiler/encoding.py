"""From a spec type to the statements of its encoder, the inverse of its kernel.

A row is planned first: what is given is loaded, what the spec fixes is known. Then it is settled which fields are
there, sizes are added up from the inside to the outside, and lengths and counts follow from them. At last rules are
checked, so that what `valid` refuses is not written, and the fields are written in their order.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace
from typing import Any

from thawline.compiler import encoder_ir as er
from thawline.compiler import expressions as ex
from thawline.compiler import inversion, ir, reads, stores, subset
from thawline.compiler.bounds import bounds, fitting
from thawline.compiler.building import Builder
from thawline.compiler.encoder_nodes import (
    Bits,
    Contents,
    Items,
    Node,
    Number,
    Repeated,
    Slice,
    Structure,
    first_given,
    leaves,
)
from thawline.compiler.expressions import ExpressionError
from thawline.compiler.inversion import Counted, Equal, Flagged, Marks, Sized, Summed
from thawline.compiler.resolution import Entry, Resolver, Scope, Token
from thawline.compiler.rules import check_integer, check_structure
from thawline.compiler.subset import Attribute
from thawline.engine.tables import Column, Failure, Kind
from thawline.ksy.documents import Spec, TypeDef, contents_bytes
from thawline.ksy.names import find_type, inherited

LONG = "u8"
"""Not a column, since no column holds it. A single structure may have one, up to the largest signed number."""
NOWHERE = ir.Constant(0)
"""A row that is encoded has no bytes yet that could be named."""


def encoder_of(name: str, type_: TypeDef, specs: Mapping[str, Spec]) -> er.Encoder:
    """The encoder of a table: columns to consecutive occurrences of a type."""
    return _Encoding(specs, is_frame=False).encoder(name, type_)


def frame_of(name: str, type_: TypeDef, specs: Mapping[str, Spec]) -> er.Encoder | None:
    """The encoder of one occurrence around its parts; None if a type has lists, tokens, or values that may be null."""
    encoder = _Encoding(specs, is_frame=True).encoder(name, type_)
    plain = all(column.kind not in ("list", "escaped", "base64") and not column.nullable for column in encoder.columns)
    return encoder if plain and not any(isinstance(it, er.FindByte) for it in encoder.measured) else None


class _Encoding:
    """One type, and everything in it."""

    def __init__(self, specs: Mapping[str, Spec], *, is_frame: bool) -> None:
        self.specs, self.is_frame = specs, is_frame
        self.build = Builder(specs, self.instance)
        self.hidden: list[tuple[str, ...]] = []
        self.free: list[tuple[ir.Variable, int]] = []
        """Fields that nothing determines in structures that are read elsewhere, with the most they can be."""
        self.is_elsewhere = False
        """Whether the fields that are planned only repeat others."""
        self.sums: list[er.PutChecksum] = []
        self.rules: dict[Failure, er.Refusable] = {}

    def encoder(self, name: str, type_: TypeDef) -> er.Encoder:
        build = self.build
        scope = Scope(type_, None, None, ir.END, ir.Rows(), [], "", (), build.depth)
        nodes, size = self.group(scope, lambda: self.plan(scope))
        written: list[ir.Statement] = []
        with build.inside(written):
            self.write(nodes)
            for statement in self.sums:
                self.add(statement)
        measured: Any = build.block
        made: Any = written
        return er.Encoder(
            name, type_.title, tuple(scope.columns), tuple(self.hidden), measured, size, made,
            tuple(build.variables), self.rules,
        )  # fmt: skip

    def add(self, statement: er.Statement) -> None:
        added: Any = statement
        self.build.add(added)

    def group(self, scope: Scope, plan: Callable[[], list[Node]]) -> tuple[list[Node], ir.Value]:
        """All fields of a row or of an item: loaded, settled, measured and checked. Returns them, and their size."""
        nodes = plan()
        self.settle(nodes)
        size = self.searched(nodes, scope)
        self.check(nodes)
        self.check_given(nodes)
        return nodes, size

    # What there is.

    def plan(self, scope: Scope) -> list[Node]:
        """The fields of a type. What is given is loaded, whether the row has it or not."""
        for attribute in subset.instances(scope.type).values():
            if "pos" in attribute.data and attribute.hints.get("column"):
                self.plan_elsewhere(attribute, scope)
        nodes: list[Node] = []
        pending = subset.fields(scope.type)
        while pending:
            run = reads.bit_fields(pending)
            node = self.plan_bits(run, scope) if run else self.plan_field(pending[0], scope)
            nodes += [node] if node else []
            pending = pending[len(run) or 1 :]
        return nodes

    def plan_elsewhere(self, attribute: Attribute, scope: Scope) -> None:
        """A structure that is read at the place of other fields: only its values count, those fields repeat them."""
        self.note(attribute)
        self.is_elsewhere = True
        node = self.plan_type(attribute.without("pos"), scope)
        self.is_elsewhere = False
        assert isinstance(node, Structure)  # noqa: S101 - the kernel's lowering refuses others as columns
        scope.names[attribute.name] = node.inner

    def plan_field(self, attribute: Attribute, scope: Scope) -> Node | None:
        """A field with its condition; None for one without bytes, which only has a rule about where it is."""
        self.note(attribute)
        if attribute.data.get("size") == 0:
            return None
        if "if" not in attribute.data:
            return self.plan_repeated(attribute, scope)
        self.build.optional += 1
        node = self.plan_repeated(attribute, scope)
        self.build.optional -= 1
        return node

    def plan_repeated(self, attribute: Attribute, scope: Scope) -> Node:
        if "repeat" not in attribute.data:
            return self.plan_type(attribute, scope)
        if attribute.hints.get("column") is False or scope.rows is None:
            return self.plan_repetition(attribute, scope)
        rows = ir.Rows((*scope.rows.path, scope.prefix + attribute.name))
        items = replace(scope, rows=rows, columns=[], prefix="", attributes=(), item_of=attribute.name, names={})
        node = Items(attribute, scope, rows=rows, count=self.build.variable(f"num_{attribute.name}"))
        self.add(er.LoadCount(node.count, rows))
        outer, self.build.optional = self.build.optional, 0
        with self.build.inside(node.measured):
            single = attribute.without("repeat", "repeat-expr", "if")
            node.nodes, node.size = self.group(items, lambda: [self.plan_type(single, items)])
        self.build.optional = outer
        column = Column(scope.prefix + attribute.name, "list", (), items=tuple(items.columns))
        scope.columns.append(column)
        return node

    def plan_repetition(self, attribute: Attribute, scope: Scope) -> Repeated:
        """A structure that is repeated without being a column: a rule has to say what its fields are."""
        node = Repeated(attribute, scope)
        single = attribute.without("repeat", "repeat-expr", "valid")
        item = self.plan_type(single, replace(scope, rows=None))
        if not isinstance(item, Structure):
            raise attribute.error("an encoder needs to know the fields of what is repeated", "repeat")
        node.item = item
        return node

    def repeat_values(self, node: Repeated) -> None:
        """Give the fields of what is repeated the values that its rule says."""
        rule = node.attribute.data.get("valid")
        values = inversion.item_values(rule.get("expr") if isinstance(rule, dict) else None)
        for leaf in leaves([node.item]):
            if isinstance(leaf, Number) and leaf.name in values:
                value = self.resolved(node.attribute, node.scope, values[leaf.name])
                self.build.add(ir.Assign(leaf.variable, value))

    def plan_type(self, attribute: Attribute, scope: Scope) -> Node:
        """One occurrence of a field, whatever its type."""
        type_ = attribute.data.get("type")
        if "contents" in attribute.data:
            return Contents(attribute, scope, data=contents_bytes(attribute.data["contents"]))
        if type_ is None:
            return self.plan_slice(attribute, scope)
        if subset.INTEGER.fullmatch(type_) or type_ == LONG:
            return self.plan_integer(attribute, scope, type_)
        call = subset.CALL.fullmatch(type_)
        nested = find_type(call[1] if call else type_, attribute.owner, self.specs)
        if nested is None:
            raise attribute.error(f"type {type_} is not supported", "type")
        if hints := subset.intrinsic(nested):
            return self.plan_intrinsic(attribute, scope, hints)
        return self.plan_structure(attribute, scope, nested)

    def plan_integer(self, attribute: Attribute, scope: Scope, type_: str) -> Number:
        is_signed, size = type_[0] == "s", int(type_[1])
        most = (1 << 8 * size) - 1
        limits = (~(most >> 1), most >> 1) if is_signed else (0, min(most, ir.MOST))
        is_big = (type_[2:] or inherited(attribute.owner, "endian")) == "be"
        node = Number(attribute, scope, coding="integer", width=size, is_big_endian=is_big)
        return self.plan_number(node, limits)

    def plan_intrinsic(self, attribute: Attribute, scope: Scope, hints: Mapping[str, Any]) -> Node:
        if hints["intrinsic"] == "escaped":
            node = self.plan_slice(attribute, scope, "escaped")
            node.terminator = ir.Constant(0)  # known once all fields are: `settle`
            return node
        if hints["intrinsic"] == "zigzag":
            limit = 1 << hints["bits"] - 1
            return self.plan_number(Number(attribute, scope, coding="zigzag"), (-limit, limit - 1))
        number = Number(attribute, scope, coding="decimal", terminator=hints["terminator"])
        return self.plan_number(number, (ir.LEAST, ir.MOST))

    def plan_bits(self, run: list[Attribute], scope: Scope) -> Bits:
        node = Bits(run[0], scope)
        for attribute in run:
            self.note(attribute)
            width = int(attribute.data["type"][1:])
            member = Number(attribute, scope, coding="bits", width=width)
            node.members.append(self.plan_number(member, (0, (1 << width) - 1)))
        return node

    def plan_number(self, node: Number, limits: tuple[int, int]) -> Number:
        """A number: known, loaded, or to be known later."""
        attribute, scope, build = node.attribute, node.scope, self.build
        is_flag = node.coding == "bits" and node.width == 1 and "enum" not in attribute.data
        node.variable = build.variable(attribute.name, "bool" if is_flag else "int", limits)
        node.origin = inversion.origin(attribute, self.specs)
        is_number = node.coding in ("zigzag", "decimal")
        if scope.item_of != attribute.name:
            scope.names[attribute.name] = Token(node.variable) if is_number else node.variable
        if isinstance(node.origin, Equal) and isinstance(value := _constant(node.origin.source), int):
            build.add(ir.Assign(node.variable, ir.Constant(value, node.variable.type)))
        elif isinstance(node.origin, Flagged):
            self.load_flag(node, node.origin)
        elif node.origin is None and self.is_elsewhere and attribute.hints.get("column") is False:
            self.free.append((node.variable, limits[1]))
        elif node.origin is None and scope.rows is None:
            build.add(ir.Assign(node.variable, ir.Constant(0, node.variable.type)))
        elif node.origin is None:
            self.load(node, "bool" if is_flag else reads.column_kind(node.variable))
        return node

    def load(self, node: Number, kind: Kind) -> None:
        """Load a number, refuse one that its field cannot hold, and keep whether it is null."""
        build, attribute, rows = self.build, node.attribute, node.scope.rows
        assert rows is not None  # noqa: S101 - fields without rows are not loaded
        labels = stores.enum_of(build, attribute) if "enum" in attribute.data else {}
        column = self.column(node.scope, attribute, "enum" if labels else kind, labels=labels)
        self.add(er.Load(node.variable, rows, column))
        if bounds(node.variable) != _held("int64" if self.is_frame or kind == "bool" else kind):
            self.refuse_unless(attribute, _within(node.variable), self.fits(node))
        self.load_given(node, attribute, column)

    def load_given(self, node: Number, attribute: Attribute, column: Column) -> None:
        """Keep whether a number is null, where it may be."""
        if self.build.optional and attribute.hints.get("column") is not False and node.scope.rows is not None:
            node.given = self.build.variable(f"has_{attribute.name}", "bool", (0, 1))
            self.add(er.LoadGiven(node.given, node.scope.rows, column))

    def load_flag(self, node: Number, origin: Flagged) -> None:
        """Load the calculated column that a code follows from."""
        assert node.scope.rows is not None  # noqa: S101 - what has no rows has no columns
        attribute = subset.instances(node.attribute.owner)[origin.instance]
        node.flag = self.build.variable(origin.instance, "bool", (0, 1))
        column = self.column(node.scope, attribute, "bool")
        self.add(er.Load(node.flag, node.scope.rows, column))
        self.load_given(node, attribute, column)

    def fits(self, node: Number) -> str:
        """The rule that a number is one of its type."""
        return f"fits {node.attribute.data['type']}"

    def plan_slice(self, attribute: Attribute, scope: Scope, kind: Kind = "binary", *, is_part: bool = False) -> Slice:
        """Bytes of a column. Bytes that no table has may be left out: then they are empty, or zeros."""
        build, rows = self.build, scope.rows
        if rows is None:
            raise attribute.error("an encoder does not know these bytes")
        if kind == "binary":
            kind = "text" if "text" in attribute.hints else "base64" if "base64" in attribute.hints else "binary"
        size = attribute.data.get("size")
        fixed = size if isinstance(size, int) else 0
        column = self.column(scope, attribute, kind, size=fixed if kind == "binary" else 0)
        node = Slice(attribute, scope, column=column, is_hidden=attribute.hints.get("column") is False)
        node.is_part = is_part or (self.is_frame and not isinstance(size, int))
        node.length = build.variable(f"{attribute.name}_length", limits=(-1, ir.LONGEST))
        self.add(er.LoadLength(node.length, rows, column, fixed if node.is_hidden else -1))
        if "terminator" in attribute.data:
            node.terminator = ir.Constant(attribute.data["terminator"])
        return node

    def plan_structure(self, attribute: Attribute, scope: Scope, nested: TypeDef) -> Node:
        if self.is_frame and attribute.hints.get("part"):
            return self.plan_slice(attribute, scope, is_part=True)
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

    def column(self, scope: Scope, attribute: Attribute, kind: Kind, **more: Any) -> Column:
        """A column that is given."""
        column = Column(scope.prefix + attribute.name, kind, (), nullable=self.build.optional > 0, **more)
        if any(other.name == column.name for other in scope.columns):
            raise attribute.error(f"a column {column.name} is there already; give one of them a prefix")
        scope.columns.append(column)
        if attribute.hints.get("column") is False:
            self.hidden.append((*_path(scope.rows), column.name))
        return column

    # Which fields are there.

    def settle(self, nodes: list[Node]) -> None:
        """Know codes that tell what is there, and then the condition of every field."""
        for node in nodes:
            self.settle_presence(node, nodes)
        for leaf in _numbers(nodes):
            self.settle_code(leaf, nodes)
        for node in nodes:
            if isinstance(node, Structure):
                self.settle(node.nodes)
            if "if" in node.attribute.data and not node.is_told:
                condition = self.build.condition(node.attribute, node.scope, node.attribute.data["if"], "if")
                node.condition = self.build.fixed(f"has_{node.name}", condition)
            if isinstance(node, Slice) and node.column.kind == "escaped":
                node.terminator = self.terminator(node)

    def settle_presence(self, node: Node, nodes: list[Node]) -> None:
        """Where a length or a code follows from a field being there, the column tells whether it is."""
        if "if" not in node.attribute.data:
            return
        names = set(inversion.names_in(ex.parse(node.attribute.data["if"])))
        told = (it.origin for it in _numbers(nodes) if it.name in names)
        is_told = any(isinstance(it, Sized | Marks) and node.name in _of(it) for it in told)
        first = first_given(node) if is_told else None
        if first is not None:
            there = first.given if isinstance(first, Number) else ir.compare(">=", first.length, NOWHERE)
            assert there is not None  # noqa: S101 - `first_given` finds no others
            node.condition, node.is_told = self.build.fixed(f"has_{node.name}", there), True

    def settle_code(self, node: Number, nodes: list[Node]) -> None:
        match node.origin:
            case Marks(fields, code, otherwise):
                told = [it.condition for it in nodes if it.name in fields and it.condition is not None]
                self.choose(node, ir.some(*told), code, otherwise)
            case Flagged(_, code, otherwise) if node.flag is not None:
                self.choose(node, node.flag, code, otherwise)

    def choose(self, node: Number, condition: ir.Value, code: int, otherwise: int) -> None:
        value = ir.Operation("?", (condition, ir.Constant(code), ir.Constant(otherwise)), "int")
        self.build.add(ir.Assign(node.variable, value))

    def terminator(self, node: Slice) -> ir.Value:
        call = subset.CALL.fullmatch(node.attribute.data["type"])
        value = self.build.integer(node.attribute, node.scope, call[2] if call else "", "type")
        return self.build.fixed(f"{node.name}_terminator", value)

    # Sizes.

    def searched(self, nodes: list[Node], scope: Scope) -> ir.Value:
        """The size of a row. A free number is the least one with which the rules of all lengths hold."""
        found = [it for it in self.free if scope.rows is not None and not scope.rows.path]
        if not found:
            return self.total(nodes)
        ((variable, most),) = found
        search = er.Search(variable, most)
        body: Any = search.body
        outer, self.build.block = self.build.block, body
        size = self.total(nodes)
        for leaf in _numbers_within(nodes):
            if isinstance(leaf.origin, Sized) and "valid" in leaf.attribute.data:
                search.condition.append(self.rule(leaf))
        self.build.block = outer
        self.add(search)
        return size

    def rule(self, node: Number) -> ir.Value:
        """The rule of a length as a condition."""
        checks: list[ir.Statement] = []
        with self.build.inside(checks):
            check_integer(self.build, node.attribute, node.scope, node.variable, NOWHERE)
        return ir.every(*(check.condition for check in checks if isinstance(check, ir.Check)))

    def total(self, nodes: list[Node]) -> ir.Value:
        """The size of some fields; those that follow from the size of another are measured last."""
        lengths = [it for it in nodes if isinstance(it, Number) and isinstance(it.origin, Sized | Counted)]
        for node in nodes:
            if node not in lengths:
                self.measure(node)
        for length in lengths:
            self.derive(length, nodes)
            self.measure(length)
        return self.added([node.size for node in nodes])

    def added(self, sizes: list[ir.Value]) -> ir.Value:
        fixed = sum(size.value for size in sizes if isinstance(size, ir.Constant))
        total: ir.Value = ir.Constant(fixed)
        for size in sizes:
            if not isinstance(size, ir.Constant):
                total = ir.plus(total, size) if total != ir.Constant(0) else size
        return total

    def measure(self, node: Node) -> None:
        """The size of a field, 0 where it is absent."""
        if node.condition is None or isinstance(node, Slice):
            node.size = self.measured(node)
            return
        size = self.build.variable(f"{node.name}_size", limits=(0, ir.FARTHEST))
        self.build.add(ir.Assign(size, ir.Constant(0)))
        with self.build.when(node.condition):
            self.build.add(ir.Assign(size, self.measured(node)))
        node.size = size

    def measured(self, node: Node) -> ir.Value:
        match node:
            case Contents():
                return ir.Constant(len(node.data))
            case Number(coding="integer"):
                return ir.Constant(node.width)
            case Number(coding="zigzag" | "decimal"):
                return self.measured_number(node)
            case Bits():
                return ir.Constant(sum(member.width for member in node.members) // 8)
            case Slice():
                return self.measured_slice(node)
            case Structure():
                return self.measured_structure(node)
            case Items():
                return self.measured_items(node)
            case Repeated():
                return self.measured_repetition(node)
        raise AssertionError(node)

    def measured_number(self, node: Number) -> ir.Value:
        size = self.build.variable(f"{node.name}_size", limits=(1, 20))
        self.add(er.MeasureNumber(size, "zigzag" if node.coding == "zigzag" else "decimal", node.variable))
        return ir.plus(size, ir.Constant(1)) if node.coding == "decimal" else size

    def measured_slice(self, node: Slice) -> ir.Value:
        length: ir.Value = node.length
        if node.column.nullable or node.is_hidden:
            least = ir.Constant(0)
            length = ir.Operation("?", (ir.compare(">", node.length, least), node.length, least), "int")
        if node.column.kind in ("escaped", "base64"):
            size = self.build.place(f"{node.name}_size")
            assert node.scope.rows is not None  # noqa: S101 - as for every column
            self.add(er.MeasureSlice(size, node.scope.rows, node.column, node.length))
            length = size
        if node.terminator is None:
            return self.build.fixed(f"{node.name}_size", length)
        ended = ir.plus(length, ir.Constant(1))
        if node.condition is not None:
            ended = ir.Operation("?", (node.condition, ended, ir.Constant(0)), "int")
        return self.build.fixed(f"{node.name}_size", ended)

    def measured_structure(self, node: Structure) -> ir.Value:
        size = self.build.fixed(f"{node.name}_size", self.total(node.nodes))
        if node.is_stream:
            _set_stream(node, size)
        return size

    def measured_items(self, node: Items) -> ir.Value:
        size = self.build.place(f"{node.name}_size")
        self.build.add(ir.Assign(size, ir.Constant(0)))
        body: Any = [*node.measured, ir.Assign(size, ir.plus(size, node.size))]
        self.add(er.Items(node.rows, body))
        return size

    def measured_repetition(self, node: Repeated) -> ir.Value:
        size = self.total(node.item.nodes)
        if not isinstance(size, ir.Constant):
            raise node.attribute.error("an encoder repeats only what has a fixed size", "repeat")
        count = self.build.integer(node.attribute, node.scope, node.attribute.data["repeat-expr"], "repeat-expr")
        node.count = self.build.fixed(f"num_{node.name}", count)
        return ir.Operation("*", (node.count, size), "int")

    def derive(self, node: Number, nodes: list[Node]) -> None:
        """A length or a count from what it is of."""
        assert isinstance(node.origin, Sized | Counted)  # noqa: S101 - `total` calls it for these only
        of = next(it for it in nodes if it.name == node.origin.field)
        value: ir.Value = of.count if isinstance(of, Items) else of.size
        if isinstance(node.origin, Sized):
            value = self.sized(of, node.origin)
        value = self.build.fixed(f"{node.name}_wanted", value)
        low, high = bounds(node.variable)
        if not (low <= bounds(value)[0] and bounds(value)[1] <= high):
            within = ir.every(ir.compare(">=", value, ir.Constant(low)), ir.compare("<=", value, ir.Constant(high)))
            self.refuse_unless(node.attribute, within, self.fits(node))
        self.build.add(ir.Assign(node.variable, value))

    def sized(self, of: Node, found: Sized) -> ir.Value:
        is_plain = isinstance(of, Slice) and of.column.kind in ("binary", "text") and of.terminator is None
        if isinstance(of, Slice) and is_plain and not found.more and (of.condition is None or found.absent == -1):
            return of.length  # which is -1 for null
        size = ir.plus(of.size, ir.Constant(found.more)) if found.more else of.size
        if of.condition is None:
            return size
        return ir.Operation("?", (of.condition, size, ir.Constant(found.absent)), "int")

    # Rules.

    def check(self, nodes: list[Node]) -> None:
        """Every rule of the fields, now that all values are known."""
        for node in nodes:
            with self.there(node):
                self.check_node(node)

    def there(self, node: Node) -> AbstractContextManager[object]:
        return self.build.when(node.condition) if node.condition is not None else nullcontext()

    def check_node(self, node: Node) -> None:
        match node:
            case Number():
                self.check_number(node)
            case Bits():
                for member in node.members:
                    self.check_number(member)
            case Slice():
                self.check_slice(node)
            case Repeated():
                self.repeat_values(node)
            case Structure():
                self.check(node.nodes)
                self.check_size(node)
                self.cover(node)
                if not _is_about_position(node.attribute):
                    check_structure(self.build, node.attribute, node.scope, node.inner, NOWHERE)

    def check_given(self, nodes: list[Node], around: tuple[ir.Value, ...] = ()) -> None:
        """What is given must be what the row has, and the other way round."""
        for node in nodes:
            there = around if node.condition is None else (*around, node.condition)
            match node:
                case Structure():
                    self.check_given(node.nodes, there)
                case Bits():
                    self.check_given([*node.members], there)
                case Number(given=ir.Variable() as given) if there != (given,):
                    self.refuse_unless(node.attribute, ir.compare("==", given, _all(there)), "if")
                case Slice(is_hidden=False) if there and not node.is_told:
                    given_bytes = ir.compare(">=", node.length, NOWHERE)
                    self.refuse_unless(node.attribute, ir.compare("==", given_bytes, _all(there)), "if")
            if node.is_told and _sizes_itself(node) is None:
                condition = self.build.condition(node.attribute, node.scope, node.attribute.data["if"], "if")
                self.refuse_unless(node.attribute, ir.compare("==", condition, _all(there)), "if")

    def check_number(self, node: Number) -> None:
        if isinstance(node.origin, Equal):
            if _constant(node.origin.source) is None:
                value = self.build.integer(node.attribute, node.scope, node.origin.source, *node.origin.keys)
                self.build.add(ir.Assign(node.variable, value))
        elif isinstance(node.origin, Marks | Flagged | Summed) or _is_about_position(node.attribute):
            return
        elif node.coding in ("zigzag", "decimal"):
            check_structure(self.build, node.attribute, node.scope, Token(node.variable), NOWHERE)
        else:
            check_integer(self.build, node.attribute, node.scope, node.variable, NOWHERE)

    def check_slice(self, node: Slice) -> None:
        if node.scope.rows is None:
            return
        if not _is_about_position(node.attribute):
            check_structure(self.build, node.attribute, node.scope, None, NOWHERE)
        if node.column.nullable is False and not node.is_hidden:
            self.refuse_unless(node.attribute, ir.compare(">=", node.length, NOWHERE), "given")
        if node.terminator is not None and node.column.kind != "escaped" and isinstance(node.terminator, ir.Constant):
            found = self.build.variable(f"{node.name}_ended", "bool", (0, 1))
            self.add(er.FindByte(found, node.scope.rows, node.column, node.length, node.terminator.value))
            self.refuse_unless(node.attribute, ir.Operation("not", (found,), "bool"), "no terminator inside")
        self.check_size(node)

    def check_size(self, node: Node) -> None:
        """A size that no field follows from is what the spec says."""
        if "size" not in node.attribute.data or isinstance(_sizes_itself(node), Sized):
            return
        wanted = self.build.integer(node.attribute, node.scope, node.attribute.data["size"], "size")
        self.refuse_unless(node.attribute, ir.compare("==", node.size, wanted), f"size {node.attribute.data['size']}")

    def refuse_unless(self, attribute: Attribute, condition: ir.Value, rule: str) -> None:
        self.note(attribute)
        self.build.add(ir.Check(condition, attribute.failure(rule), NOWHERE))

    def note(self, attribute: Attribute) -> None:
        """Keep the name and the rules of a field, for messages."""
        rule = attribute.data.get("valid")
        keys = rule.items() if isinstance(rule, dict) else [("eq", rule)]
        for key, wanted in keys if rule is not None else ():
            self.refusable(attribute, f"valid/{key}", f"valid/{key} {wanted}" if key != "in-enum" else "valid/in-enum")
        for reason in ("given", "if", "no terminator inside"):
            self.refusable(attribute, reason, f"if {attribute.data.get('if')}" if reason == "if" else reason)
        for key in ("size", "type"):
            shown = f"{'fits ' if key == 'type' else 'size '}{attribute.data.get(key)}"
            self.refusable(attribute, shown, shown)

    def refusable(self, attribute: Attribute, reason: str, rule: str) -> None:
        failure = attribute.failure(reason)
        self.rules.setdefault(failure, er.Refusable(attribute.name, rule, failure.spec, failure.path))

    # Checksums.

    def cover(self, node: Structure) -> None:
        """The checksum of a structure, which is written when its bytes are."""
        for attribute in subset.instances(node.inner.type).values():
            target = next((it for it in node.nodes if isinstance(it, Number) and _sums(it, attribute)), None)
            if target is None or node.inner.base is None:
                continue
            node.start, target.place = self.build.place(f"{node.name}_at"), self.build.place(f"{target.name}_at")
            first = self.build.integer(attribute, node.inner, attribute.data["pos"], "pos")
            start = ir.plus(node.start, self.build.fixed("covered", first))
            end = ir.plus(node.start, node.size)
            if "size" in attribute.data:
                size = self.build.integer(attribute, node.inner, attribute.data["size"], "size")
                end = ir.plus(start, self.build.fixed("covered", size))
            self.sums.append(
                er.PutChecksum(
                    attribute.hints["checksum"], start, end, target.place, target.width, target.is_big_endian
                )
            )

    # Bytes.

    def write(self, nodes: list[Node]) -> None:
        """All fields in their order."""
        for node in nodes:
            with self.there(node):
                self.write_node(node)

    def write_node(self, node: Node) -> None:
        match node:
            case Contents():
                self.add(er.PutContents(node.data))
            case Number():
                self.write_number(node)
            case Bits():
                self.add(er.PutInteger(_packed(node), sum(it.width for it in node.members) // 8, is_big_endian=True))
            case Slice():
                assert node.scope.rows is not None  # noqa: S101 - as for every column
                put = er.PutSlice(node.scope.rows, node.column, node.length, node.terminator, node.is_part)
                self.add(put)
            case Structure():
                if node.start is not None:
                    self.add(er.Mark(node.start))
                self.write(node.nodes)
            case Items():
                self.write_items(node)
            case Repeated():
                with self.build.loop(node.count, None):
                    self.write(node.item.nodes)

    def write_number(self, node: Number) -> None:
        if node.place is not None:
            self.add(er.Mark(node.place))
            self.add(er.PutContents(bytes(node.width)))
        elif node.coding == "integer":
            self.add(er.PutInteger(node.variable, node.width, node.is_big_endian))
        else:
            coding: er.Number = "zigzag" if node.coding == "zigzag" else "decimal"
            self.add(er.PutNumber(coding, node.variable, node.terminator))

    def write_items(self, node: Items) -> None:
        """The items, each of which is measured again: its lengths are not kept."""
        body: list[ir.Statement] = _unchecked(node.measured)
        with self.build.inside(body):
            self.write(node.nodes)
        made: Any = body
        self.add(er.Items(node.rows, made))

    # Expressions.

    def resolved(self, attribute: Attribute, scope: Scope, node: ex.Node) -> ir.Value:
        resolver = Resolver(scope, self.specs, self.instance, self.build.known)
        try:
            return fitting(resolver.node(node))
        except ExpressionError as error:
            raise attribute.error(str(error), "valid") from None

    def instance(self, scope: Scope, name: str, may_be_skipped: bool) -> Entry:  # noqa: FBT001 - the resolver's call
        """A calculated instance that an expression uses."""
        attribute = subset.instances(scope.type)[name]
        if "value" not in attribute.data:
            raise ExpressionError(f"{name} is read elsewhere; an encoder knows it only if it is a column")
        value = self.build.calculated(attribute, scope, may_be_skipped=may_be_skipped)
        return self.build.fixed(name, value)


def _all(conditions: tuple[ir.Value, ...]) -> ir.Value:
    """Whether all conditions hold; so where there is none."""
    return ir.every(*conditions) if conditions else ir.Constant(1, "bool")


def _path(rows: ir.Rows | None) -> tuple[str, ...]:
    return rows.path if rows is not None else ()


def _held(kind: Kind) -> tuple[int, int]:
    bits = next(bits for bits, name in reads.SIGNED_KINDS.items() if name == kind)
    return -(1 << bits - 1), (1 << bits - 1) - 1


def _within(variable: ir.Variable) -> ir.Value:
    low, high = variable.low, variable.high
    held = replace(variable, low=ir.LEAST, high=ir.MOST)
    return ir.every(ir.compare(">=", held, ir.Constant(low)), ir.compare("<=", held, ir.Constant(high)))


def _constant(source: object) -> int | None:
    match ex.parse(source):
        case ex.Number(value):
            return value
    return None


def _numbers(nodes: list[Node]) -> list[Number]:
    """The numbers of a type itself."""
    members = [member for node in nodes if isinstance(node, Bits) for member in node.members]
    return [*(node for node in nodes if isinstance(node, Number)), *members]


def _numbers_within(nodes: list[Node]) -> list[Number]:
    return [leaf for leaf in leaves(nodes) if isinstance(leaf, Number)]


def _of(found: Sized | Marks) -> tuple[str, ...]:
    return (found.field,) if isinstance(found, Sized) else found.fields


def _sizes_itself(node: Node) -> Sized | None:
    """The field of the same type that gets this one's size."""
    fields = subset.fields(node.attribute.owner)
    origins = (inversion.sized_by(it.name, node.attribute.owner) for it in fields)
    return next((it for it in origins if it is not None and it.field == node.name), None)


def _set_stream(node: Structure, size: ir.Value) -> None:
    """Let expressions in a structure know the size of its stream."""
    node.inner.base, node.inner.end = ir.Constant(0), size
    for inner in node.nodes:
        if isinstance(inner, Structure) and not inner.is_stream:
            _set_stream(inner, size)


def _is_about_position(attribute: Attribute) -> bool:
    """Whether a rule is about where a field is, which is so for what is written field by field."""
    rule = attribute.data.get("valid")
    source = rule.get("expr") if isinstance(rule, dict) else None
    return source is not None and bool({"_io.eof", "_io.pos"} & set(inversion.names_in(ex.parse(source))))


def _sums(node: Number, attribute: Attribute) -> bool:
    return isinstance(node.origin, Summed) and node.origin.instance == attribute.name


def _packed(node: Bits) -> ir.Value:
    word: ir.Value = ir.Constant(0)
    left = sum(member.width for member in node.members)
    for member in node.members:
        left -= member.width
        value: ir.Value = replace(member.variable, type="int")
        value = ir.Operation("<<", (value, ir.Constant(left)), "int") if left else value
        word = value if word == ir.Constant(0) else ir.Operation("|", (word, value), "int")
    return word


def _unchecked(statements: list[ir.Statement]) -> list[ir.Statement]:
    """The statements without their checks, which hold already."""
    kept: list[ir.Statement] = []
    for statement in statements:
        match statement:
            case ir.Check() | er.FindByte():
                continue
            case ir.When(condition, body, otherwise):
                kept.append(ir.When(condition, _unchecked(body), _unchecked(otherwise)))
            case _:
                kept.append(statement)
    return kept
