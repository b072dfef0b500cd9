"""Which fields a row has, and how many bytes they take; lengths, counts and codes follow from that."""

from __future__ import annotations

from typing import Any

from thawline.compiler import encoder_ir as er
from thawline.compiler import expressions as ex
from thawline.compiler import inversion, ir, subset
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
    first_given,
    fits,
    leaves,
    numbers,
)  # fmt: skip
from thawline.compiler.encoder_work import NOWHERE, Work
from thawline.compiler.inversion import Counted, Flagged, Marks, Sized
from thawline.compiler.resolution import Scope
from thawline.compiler.rules import check_integer


class Sizes:
    """Settles which fields are there, and adds up their sizes from the inside to the outside."""

    def __init__(self, work: Work) -> None:
        self.work, self.build = work, work.build

    def settle(self, nodes: list[Node]) -> None:
        """Know codes that tell what is there, and then the condition of every field."""
        for node in nodes:
            self._settle_presence(node, nodes)
        for leaf in numbers(nodes):
            self._settle_code(leaf, nodes)
        for node in nodes:
            if isinstance(node, Structure):
                self.settle(node.nodes)
            if "if" in node.attribute.data and not node.is_told:
                self._refuse_unsettled(node, nodes)
                condition = self.build.condition(node.attribute, node.scope, node.attribute.data["if"], "if")
                node.condition = self.build.fixed(f"has_{node.name}", condition)
            if isinstance(node, Slice) and node.column.kind == "escaped":
                node.terminator = self._terminator(node)

    def _refuse_unsettled(self, node: Node, nodes: list[Node]) -> None:
        """Refuse a condition that needs a length or a count of something else: these are known only after it."""
        names = inversion.fields_in(node.attribute.data["if"], node.attribute.owner)
        late = [it.name for it in numbers(nodes) if isinstance(it.origin, Sized | Counted) and it.name in names]
        if late:
            raise node.attribute.error(f"an encoder has to know this before it knows {late[0]}", "if")

    def _settle_presence(self, node: Node, nodes: list[Node]) -> None:
        """Where a length or a code follows from a field being there, the column tells whether it is."""
        if "if" not in node.attribute.data:
            return
        names = set(inversion.names_in(ex.parse(node.attribute.data["if"])))
        told = (it.origin for it in numbers(nodes) if it.name in names)
        is_told = any(isinstance(it, Sized | Marks) and node.name in _of(it) for it in told)
        first = first_given(node) if is_told else None
        if first is not None:
            there = first.given if isinstance(first, Number) else ir.compare(">=", first.length, NOWHERE)
            assert there is not None  # noqa: S101 - `first_given` finds no others
            node.condition, node.is_told = self.build.fixed(f"has_{node.name}", there), True

    def _settle_code(self, node: Number, nodes: list[Node]) -> None:
        match node.origin:
            case Marks(fields, code, otherwise):
                told = [it.condition for it in nodes if it.name in fields and it.condition is not None]
                self._choose(node, ir.some(*told), code, otherwise)
            case Flagged(_, code, otherwise) if node.flag is not None:
                self._choose(node, node.flag, code, otherwise)

    def _choose(self, node: Number, condition: ir.Value, code: int, otherwise: int) -> None:
        value = ir.Operation("?", (condition, ir.Constant(code), ir.Constant(otherwise)), "int")
        self.build.add(ir.Assign(node.variable, value))

    def _terminator(self, node: Slice) -> ir.Value:
        call = subset.CALL.fullmatch(node.attribute.data["type"])
        value = self.build.integer(node.attribute, node.scope, call[2] if call else "", "type")
        return self.build.fixed(f"{node.name}_terminator", value)

    def searched(self, nodes: list[Node], scope: Scope) -> ir.Value:
        """The size of a row. A free number is the least one with which the rules of all lengths hold."""
        found = [it for it in self.work.free if scope.rows is not None and not scope.rows.path]
        if not found:
            return self._total(nodes)
        ((variable, most),) = found
        search = er.Search(variable, most)
        body: Any = search.body
        outer, self.build.block = self.build.block, body
        size = self._total(nodes)
        for leaf in _numbers_within(nodes):
            if isinstance(leaf.origin, Sized) and "valid" in leaf.attribute.data:
                search.condition.append(self._rule(leaf))
        self.build.block = outer
        self.work.add(search)
        return size

    def _rule(self, node: Number) -> ir.Value:
        """The rule of a length as a condition."""
        checks: list[ir.Statement] = []
        with self.build.inside(checks):
            check_integer(self.build, node.attribute, node.scope, node.variable, NOWHERE)
        return ir.every(*(check.condition for check in checks if isinstance(check, ir.Check)))

    def _total(self, nodes: list[Node]) -> ir.Value:
        """The size of some fields; those that follow from the size of another are measured last."""
        lengths = [it for it in nodes if isinstance(it, Number) and isinstance(it.origin, Sized | Counted)]
        for node in nodes:
            if node not in lengths:
                self._measure(node)
        for length in lengths:
            self._derive(length, nodes)
            self._measure(length)
        return self._added([node.size for node in nodes])

    def _added(self, sizes: list[ir.Value]) -> ir.Value:
        fixed = sum(size.value for size in sizes if isinstance(size, ir.Constant))
        total: ir.Value = ir.Constant(fixed)
        for size in sizes:
            if not isinstance(size, ir.Constant):
                total = ir.plus(total, size) if total != ir.Constant(0) else size
        return total

    def _measure(self, node: Node) -> None:
        """The size of a field, 0 where it is absent."""
        if node.condition is None or isinstance(node, Slice):
            node.size = self._measured(node)
            return
        size = self.build.variable(f"{node.name}_size", limits=(0, ir.FARTHEST))
        self.build.add(ir.Assign(size, ir.Constant(0)))
        with self.build.when(node.condition):
            self.build.add(ir.Assign(size, self._measured(node)))
        node.size = size

    def _measured(self, node: Node) -> ir.Value:
        match node:
            case Contents(data=data) | Choice(word=data):
                return ir.Constant(len(data))
            case Number(coding="integer"):
                return ir.Constant(node.width)
            case Number(coding="zigzag" | "decimal"):
                return self._measured_number(node)
            case Bits():
                return ir.Constant(sum(member.width for member in node.members) // 8)
            case Slice():
                return self._measured_slice(node)
            case Structure():
                return self._measured_structure(node)
            case Items():
                return self._measured_items(node)
            case Repeated():
                return self._measured_repetition(node)
        raise AssertionError(node)

    def _measured_number(self, node: Number) -> ir.Value:
        size = self.build.variable(f"{node.name}_size", limits=(1, 20))
        self.work.add(er.MeasureNumber(size, "zigzag" if node.coding == "zigzag" else "decimal", node.variable))
        return ir.plus(size, ir.Constant(1)) if node.coding == "decimal" else size

    def _measured_slice(self, node: Slice) -> ir.Value:
        length: ir.Value = node.length
        if node.column.nullable or node.is_hidden:
            least = ir.Constant(0)
            length = ir.Operation("?", (ir.compare(">", node.length, least), node.length, least), "int")
        if node.column.kind in ("escaped", "base64"):
            size = self.build.place(f"{node.name}_size")
            assert node.scope.rows is not None  # noqa: S101 - as for every column
            self.work.add(er.MeasureSlice(size, node.scope.rows, node.column, node.length))
            length = size
        if node.terminator is None:
            return self.build.fixed(f"{node.name}_size", length)
        ended = ir.plus(length, ir.Constant(1))
        if node.condition is not None:
            ended = ir.Operation("?", (node.condition, ended, ir.Constant(0)), "int")
        return self.build.fixed(f"{node.name}_size", ended)

    def _measured_structure(self, node: Structure) -> ir.Value:
        size = self.build.fixed(f"{node.name}_size", self._total(node.nodes))
        if node.is_stream:
            _set_stream(node, size)
        return size

    def _measured_items(self, node: Items) -> ir.Value:
        size = self.build.place(f"{node.name}_size")
        self.build.add(ir.Assign(size, ir.Constant(0)))
        body: Any = [*node.measured, ir.Assign(size, ir.plus(size, node.size))]
        self.work.add(er.Items(node.rows, body))
        return size

    def _measured_repetition(self, node: Repeated) -> ir.Value:
        size = self._total(node.item.nodes)
        if not isinstance(size, ir.Constant):
            raise node.attribute.error("an encoder repeats only what has a fixed size", "repeat")
        count = self.build.integer(node.attribute, node.scope, node.attribute.data["repeat-expr"], "repeat-expr")
        node.count = self.build.fixed(f"num_{node.name}", count)
        return ir.Operation("*", (node.count, size), "int")

    def _derive(self, node: Number, nodes: list[Node]) -> None:
        """A length or a count from what it is of."""
        assert isinstance(node.origin, Sized | Counted)  # noqa: S101 - `total` calls it for these only
        of = next(it for it in nodes if it.name == node.origin.field)
        value: ir.Value = of.count if isinstance(of, Items) else of.size
        if isinstance(node.origin, Sized):
            value = self._sized(of, node.origin)
        value = self.build.fixed(f"{node.name}_wanted", value)
        low, high = bounds(node.variable)
        if not (low <= bounds(value)[0] and bounds(value)[1] <= high):
            within = ir.every(ir.compare(">=", value, ir.Constant(low)), ir.compare("<=", value, ir.Constant(high)))
            self.work.refuse_unless(node.attribute, within, fits(node))
        self.build.add(ir.Assign(node.variable, value))

    def _sized(self, of: Node, found: Sized) -> ir.Value:
        is_plain = isinstance(of, Slice) and of.column.kind in ("binary", "text") and of.terminator is None
        if isinstance(of, Slice) and is_plain and not found.more and (of.condition is None or found.absent == -1):
            return of.length  # which is -1 for null
        size = ir.plus(of.size, ir.Constant(found.more)) if found.more else of.size
        if of.condition is None:
            return size
        return ir.Operation("?", (of.condition, size, ir.Constant(found.absent)), "int")


def _numbers_within(nodes: list[Node]) -> list[Number]:
    return [leaf for leaf in leaves(nodes) if isinstance(leaf, Number)]


def _of(found: Sized | Marks) -> tuple[str, ...]:
    return (found.field,) if isinstance(found, Sized) else found.fields


def _set_stream(node: Structure, size: ir.Value) -> None:
    """Let expressions in a structure know the size of its stream."""
    node.inner.base, node.inner.end = ir.Constant(0), size
    for inner in node.nodes:
        if isinstance(inner, Structure) and not inner.is_stream:
            _set_stream(inner, size)
