"""From a spec type to the statements of its kernel: structures, conditions, repetition, instances."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from thawline.compiler import ir, reads, stores, subset
from thawline.compiler.building import Builder
from thawline.compiler.expressions import ExpressionError
from thawline.compiler.resolution import Entry, Scope
from thawline.compiler.rules import check_structure
from thawline.compiler.subset import Attribute
from thawline.engine.tables import Checksum, Kind
from thawline.ksy.documents import Spec, SpecError, TypeDef
from thawline.ksy.names import find_type


def lower(table: str, type_: TypeDef, specs: Mapping[str, Spec]) -> ir.Kernel:
    """The kernel whose rows are consecutive occurrences of a type."""
    return Lowering(specs).kernel(table, type_)


class Lowering:
    """One table. A method that returns an entry returns None for bytes and lists, which expressions cannot name."""

    def __init__(self, specs: Mapping[str, Spec]) -> None:
        self.build = Builder(specs, self.instance)
        self.checksum: Checksum | None = None
        self.pending: list[tuple[int, str]] = []
        """Instances that are being computed, to detect one that needs itself."""

    def kernel(self, table: str, type_: TypeDef) -> ir.Kernel:
        build = self.build
        scope = Scope(type_, None, None, ir.END, ir.Rows(), [], "", (), build.depth)
        self.lower_type(scope)
        if not ir.least_size(build.block):
            raise type_.spec.error((*type_.keys, "-columnar"), "a row that may be empty would repeat for ever")
        if not scope.columns:
            raise type_.spec.error((*type_.keys, "-columnar"), "a table needs a column")
        return ir.Kernel(table, type_.title, build.block, tuple(scope.columns), self.checksum, tuple(build.variables))

    def lower_type(self, scope: Scope) -> None:
        """All fields of a type, then the instances that are columns or that a checksum covers."""
        pending = self.fields(scope.type)
        while pending:
            run = reads.bit_fields(pending)
            if run:
                reads.read_bits(self.build, run, scope)
            else:
                self.lower_field(pending[0], scope)
            pending = pending[len(run) or 1 :]
        for attribute in subset.instances(scope.type).values():
            if "checksum" in attribute.hints:
                self.lower_checksum(attribute, scope)
            elif attribute.hints.get("column") and scope.rows is not None:
                self.lower_instance_column(attribute, scope)

    def fields(self, type_: TypeDef) -> list[Attribute]:
        """The fields of a type in their order."""
        return subset.fields(type_)

    def lower_field(self, attribute: Attribute, scope: Scope) -> None:
        """A field with its condition; expressions may use its name from here on."""
        kept = replace(scope, rows=None) if attribute.hints.get("column") is False else scope
        if "if" not in attribute.data:
            entry = self.lower_repeated(attribute, kept)
        else:
            entry = self.lower_optional(attribute, kept)
        if entry is not None:
            scope.names[attribute.name] = entry

    def lower_optional(self, attribute: Attribute, scope: Scope) -> Entry | None:
        condition = self.build.condition(attribute, scope, attribute.data["if"], "if")
        if _moves(condition):
            # Evaluated later it would be another condition, so it must not look like this one.
            condition = self.build.assign(f"has_{attribute.name}", condition)
        before = len(scope.columns)
        with self.build.when(condition) as when:
            entry = self.lower_repeated(attribute.without("if"), scope)
            if scope.rows is not None:
                when.otherwise.extend(stores.nulls(scope.rows, scope.columns[before:]))
        scope.conditions[attribute.name] = condition
        return entry

    def lower_repeated(self, attribute: Attribute, scope: Scope) -> Entry | None:
        if "repeat" not in attribute.data:
            return self.lower_single(attribute, scope)
        build, single = self.build, attribute.without("repeat", "repeat-expr")
        count = build.integer(attribute, scope, attribute.data["repeat-expr"], "repeat-expr")
        rows = None if scope.rows is None else ir.Rows((*scope.rows.path, scope.prefix + attribute.name))
        items = replace(scope, rows=rows, columns=[], prefix="", attributes=(), item_of=attribute.name)
        with build.loop(build.fixed(f"num_{attribute.name}", count), rows) as loop:
            self.lower_single(single, items)
        least_size = ir.least_size(loop.body)
        if not least_size:
            raise attribute.error("a list whose items may be empty has no bound", "repeat")
        if rows is not None:
            self.lower_list(attribute, scope, items, least_size)
        return None

    def lower_list(self, attribute: Attribute, scope: Scope, items: Scope, least_size: int) -> None:
        """The list, after its items were read."""
        if self.build.optional:
            raise attribute.error("a list that an `if` leaves out is not supported: it would be empty, not null")
        if not items.columns:
            raise attribute.error("a list needs a column; mark it `column: false` to read past it", "repeat")
        stores.store_list(self.build, scope, attribute, items, least_size)

    def lower_single(self, attribute: Attribute, scope: Scope) -> Entry | None:
        """One occurrence of a field, whatever its type."""
        type_ = attribute.data.get("type")
        if "contents" in attribute.data:
            reads.read_contents(self.build, attribute, scope)
            return None
        if type_ is None:
            reads.read_bytes(self.build, attribute, scope)
            return None
        if subset.INTEGER.fullmatch(type_):
            return reads.read_integer(self.build, attribute, scope, type_)
        call = subset.CALL.fullmatch(type_)
        nested = find_type(call[1] if call else type_, attribute.owner, self.build.specs)
        if nested is None:
            raise attribute.error(f"type {type_} is not supported", "type")
        if hints := subset.intrinsic(nested):
            return reads.read_intrinsic(self.build, attribute, scope, hints, call[2] if call else "")
        if call:
            raise attribute.error("parameters are not supported but for intrinsics", "type")
        return self.lower_nested(attribute, scope, nested)

    def lower_nested(self, attribute: Attribute, scope: Scope, nested: TypeDef) -> Scope:
        """A structure inside this one, in a stream of its own if it has a size."""
        attribute.is_only("a structure")
        build = self.build
        if nested.title in _titles(scope):
            raise attribute.error(f"{nested.title} inside itself is not supported", "type")
        own = () if scope.item_of == attribute.name else (attribute.name,)
        prefix = scope.prefix + attribute.hints.get("prefix", "")
        inner = Scope(
            nested, scope, scope.base, scope.end, scope.rows, scope.columns, prefix,
            (*scope.attributes, *own), build.depth,
        )  # fmt: skip
        if "size" in attribute.data or attribute.data.get("size-eos"):
            start = self.lower_stream(attribute, scope, inner)
        else:
            start = build.assign(f"{attribute.name}_at", ir.POSITION) if "valid" in attribute.data else ir.POSITION
            self.lower_type(inner)
        check_structure(build, attribute, scope, inner, start)
        return inner

    def lower_stream(self, attribute: Attribute, scope: Scope, inner: Scope) -> ir.Variable:
        """A structure in a stream of its own; returns the start of the stream."""
        stream = ir.Stream(reads.take(self.build, attribute, scope), self.build.place(f"{attribute.name}_end"))
        inner.base, inner.end = stream.take.start, stream.end
        with self.build.within(stream):
            self.lower_type(inner)
        return stream.take.start

    def instance(self, scope: Scope, name: str, may_be_skipped: bool) -> Entry:  # noqa: FBT001 - the resolver's call
        """An instance that an expression uses and that is not computed yet."""
        attribute = subset.instances(scope.type)[name]
        if (id(scope.names), name) in self.pending:
            raise ExpressionError(f"{name} needs itself")
        if "pos" in attribute.data and may_be_skipped:
            raise ExpressionError(f"{name} reads, so it cannot stand where `and`, `or` or `?` may skip it")
        entry = self.compute(attribute, scope, may_be_skipped=may_be_skipped)
        if entry is None:
            raise ExpressionError(f"{name} holds bytes, not a number")
        return entry

    def compute(self, attribute: Attribute, scope: Scope, *, may_be_skipped: bool = False) -> Entry | None:
        """The value of an instance, known from here to the end of the block."""
        subset.check_attribute(attribute)
        self.pending.append((id(scope.names), attribute.name))
        if "value" in attribute.data:
            entry: Entry | None = self.lower_value(attribute, scope, may_be_skipped=may_be_skipped)
        else:
            entry = self.lower_elsewhere(attribute, scope)
        self.pending.pop()
        if entry is not None:
            scope.names[attribute.name] = entry
            self.build.computed[-1].append((scope, attribute.name))
        return entry

    def lower_value(self, attribute: Attribute, scope: Scope, *, may_be_skipped: bool) -> ir.Variable:
        attribute.is_only("a calculated value")
        value = self.build.calculated(attribute, scope, may_be_skipped=may_be_skipped)
        return self.build.assign(attribute.name, value)

    def lower_elsewhere(self, attribute: Attribute, scope: Scope) -> Entry | None:
        """An instance that reads at another position."""
        if scope.base is None:
            raise attribute.error("a position in the file is not known inside a row", "pos")
        build = self.build
        offset = build.integer(attribute, scope, attribute.data["pos"], "pos")
        failure = attribute.failure("position outside the structure")
        elsewhere = ir.Elsewhere(
            build.fixed(f"{attribute.name}_offset", offset), build.place("resume"), failure, scope.base, scope.end
        )
        # A nested block may not run, so an instance that is first used there is stored later.
        is_stored = attribute.hints.get("column") and scope.depth == build.depth
        with build.within(elsewhere):
            return self.lower_single(attribute.without("pos"), scope if is_stored else replace(scope, rows=None))

    def lower_instance_column(self, attribute: Attribute, scope: Scope) -> None:
        """A column that is calculated or read elsewhere, unless a field needed it before."""
        if "value" in attribute.data:
            entry = scope.names.get(attribute.name) or self.instance(scope, attribute.name, may_be_skipped=False)
            if isinstance(entry, ir.Variable):
                kind: Kind = "bool" if entry.type == "bool" else "int64"
                stores.store_value(self.build, scope, attribute, kind, entry)
        elif scope.rows is not None and scope.rows.path:
            raise attribute.error("the items of a list cannot have a column that is read elsewhere", "pos")
        elif attribute.name not in scope.names:
            self.compute(attribute, scope)

    def lower_checksum(self, attribute: Attribute, scope: Scope) -> None:
        """The start and the end of the bytes that a checksum covers."""
        attribute.is_only("the range of a checksum")
        if scope.rows is None or scope.rows.path or scope.base is None or self.build.optional:
            raise attribute.error("a checksum must be one of the row's own", "-columnar")
        stored = scope.prefix + attribute.name.removesuffix("_input")
        if self.checksum or stored not in {column.name for column in scope.columns}:
            raise attribute.error(f"a table has one checksum, beside the column {stored}", "-columnar")
        start = self.checked_place(attribute, scope, scope.base, "pos")
        end = self.checked_place(attribute, scope, start, "size") if "size" in attribute.data else scope.end
        self.build.add(ir.Store(scope.rows, "", "checksum_start", start))
        self.build.add(ir.Store(scope.rows, "", "checksum_end", end))
        self.checksum = Checksum(stored, attribute.hints["checksum"], (*scope.attributes, attribute.name))

    def checked_place(self, attribute: Attribute, scope: Scope, base: ir.Value, key: str) -> ir.Variable:
        """A position in the scope's stream, from another position and a key of the attribute."""
        build = self.build
        distance = build.fixed("distance", build.integer(attribute, scope, attribute.data[key], key))
        inside = ir.compare("<=", distance, ir.minus(scope.end, base))
        is_inside = ir.every(ir.compare(">=", distance, ir.Constant(0)), inside)
        build.add(ir.Check(is_inside, attribute.failure("outside the structure"), ir.POSITION))
        place = build.place("covered")
        build.add(ir.Assign(place, ir.plus(base, distance)))
        return place


def _moves(value: ir.Value) -> bool:
    """Whether a value depends on the current position."""
    if isinstance(value, ir.Operation):
        return any(_moves(operand) for operand in value.operands)
    return value == ir.POSITION


def _titles(scope: Scope | None) -> set[str]:
    """The types of a scope and of all around it."""
    return {scope.type.title} | _titles(scope.parent) if scope else set()


__all__ = ["SpecError", "lower"]
