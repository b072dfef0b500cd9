"""The rules of a row's fields, checked before anything is written, and the ranges of its checksums."""

from __future__ import annotations

from thawline.compiler import encoder_ir as er
from thawline.compiler import expressions as ex
from thawline.compiler import inversion, ir, subset
from thawline.compiler.encoder_nodes import Bits, Node, Number, Repeated, Slice, Structure, leaves
from thawline.compiler.encoder_work import NOWHERE, Work
from thawline.compiler.inversion import Equal, Flagged, Marks, Summed
from thawline.compiler.resolution import Token
from thawline.compiler.rules import check_integer, check_structure
from thawline.compiler.subset import Attribute


class Rules:
    """Adds the checks of fields whose values and sizes are known."""

    def __init__(self, work: Work) -> None:
        self.work, self.build = work, work.build

    def check(self, nodes: list[Node]) -> None:
        """Every rule of the fields, now that all values are known."""
        for node in nodes:
            with self.work.there(node):
                self._check_node(node)

    def _check_node(self, node: Node) -> None:
        match node:
            case Number():
                self._check_number(node)
            case Bits():
                for member in node.members:
                    self._check_number(member)
            case Slice():
                self._check_slice(node)
            case Repeated():
                self._repeat_values(node)
            case Structure():
                self.check(node.nodes)
                self._check_size(node)
                self._cover(node)
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
                    self.work.refuse_unless(node.attribute, ir.compare("==", given, _all(there)), "if")
                case Slice(is_hidden=False) if there and not node.is_told:
                    given_bytes = ir.compare(">=", node.length, NOWHERE)
                    self.work.refuse_unless(node.attribute, ir.compare("==", given_bytes, _all(there)), "if")
            if node.is_told and not _is_sized(node):
                condition = self.build.condition(node.attribute, node.scope, node.attribute.data["if"], "if")
                self.work.refuse_unless(node.attribute, ir.compare("==", condition, _all(there)), "if")

    def _check_number(self, node: Number) -> None:
        if isinstance(node.origin, Equal):
            if inversion.constant(node.origin.source) is None:
                value = self.build.integer(node.attribute, node.scope, node.origin.source, *node.origin.keys)
                self.build.add(ir.Assign(node.variable, value))
        elif isinstance(node.origin, Marks | Flagged | Summed) or _is_about_position(node.attribute):
            return
        elif node.coding in ("zigzag", "decimal"):
            check_structure(self.build, node.attribute, node.scope, Token(node.variable), NOWHERE)
        else:
            check_integer(self.build, node.attribute, node.scope, node.variable, NOWHERE)

    def _check_slice(self, node: Slice) -> None:
        if node.scope.rows is None:
            return
        if node.words:
            self._check_words(node)
        elif not _is_about_position(node.attribute):
            check_structure(self.build, node.attribute, node.scope, None, NOWHERE)
        if node.column.nullable is False and not node.is_hidden:
            self.work.refuse_unless(node.attribute, ir.compare(">=", node.length, NOWHERE), "given")
        if node.terminator is not None and (self.work.is_whole or node.column.kind != "escaped"):
            found = self.build.variable(f"{node.name}_ended", "bool", (0, 1))
            self.work.add(er.FindByte(found, node.scope.rows, node.column, node.length, node.terminator))
            self.work.refuse_unless(node.attribute, ir.Operation("not", (found,), "bool"), "no terminator inside")
        self._check_size(node)

    def _check_words(self, node: Slice) -> None:
        assert node.scope.rows is not None  # noqa: S101 - as for every column
        found = self.build.variable(f"is_{node.name}", "bool", (0, 1))
        self.work.add(er.Compare(found, node.scope.rows, node.column, node.length, node.words))
        self.work.refuse_unless(node.attribute, found, "valid/any-of")

    def _check_size(self, node: Node) -> None:
        """A size that no field follows from is what the spec says."""
        if "size" not in node.attribute.data or _is_sized(node):
            return
        wanted = self.build.integer(node.attribute, node.scope, node.attribute.data["size"], "size")
        self.work.refuse_unless(
            node.attribute, ir.compare("==", node.size, wanted), f"size {node.attribute.data['size']}"
        )

    def _repeat_values(self, node: Repeated) -> None:
        """Give the fields of what is repeated the values that its rule says."""
        rule = node.attribute.data.get("valid")
        values = inversion.item_values(rule.get("expr") if isinstance(rule, dict) else None)
        for leaf in leaves([node.item]):
            if isinstance(leaf, Number) and leaf.name in values:
                value = self.work.resolved(node.attribute, node.scope, values[leaf.name])
                self.build.add(ir.Assign(leaf.variable, value))

    def _cover(self, node: Structure) -> None:
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
                if given := inversion.fields_in(attribute.data["size"], attribute.owner) - {"_io.size"}:
                    raise attribute.error(f"what a checksum covers may not depend on {min(given)}", "size")
                size = self.build.integer(attribute, node.inner, attribute.data["size"], "size")
                end = ir.plus(start, self.build.fixed("covered", size))
            self.work.sums.append(
                er.PutChecksum(
                    attribute.hints["checksum"], start, end, target.place, target.width, target.is_big_endian
                )
            )


def _all(conditions: tuple[ir.Value, ...]) -> ir.Value:
    """Whether all conditions hold; so where there is none."""
    return ir.every(*conditions) if conditions else ir.Constant(1, "bool")


def _is_sized(node: Node) -> bool:
    """Whether a field of the same type gets this one's size."""
    owner = node.attribute.owner
    origins = (inversion.sized_by(field.name, owner) for field in subset.head_fields(owner))
    return any(it is not None and it.field == node.name for it in origins)


def _is_about_position(attribute: Attribute) -> bool:
    """Whether a rule is about where a field is, which is so for what is written field by field."""
    rule = attribute.data.get("valid")
    source = rule.get("expr") if isinstance(rule, dict) else None
    return source is not None and bool({"_io.eof", "_io.pos"} & set(inversion.names_in(ex.parse(source))))


def _sums(node: Number, attribute: Attribute) -> bool:
    return isinstance(node.origin, Summed) and node.origin.instance == attribute.name
