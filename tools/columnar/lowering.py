"""From a spec type to the statements of its kernel."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Any

from thawline.tables import Checksum, Column, Failure, Kind
from tools.columnar import ir, subset
from tools.columnar.expressions import ExpressionError
from tools.columnar.resolution import Entry, Resolver, Scope, Token
from tools.columnar.subset import Attribute
from tools.ksy import Spec, SpecError, TypeDef, contents_bytes, find_type

INTEGER_KINDS: dict[tuple[bool, int], Kind] = {
    (True, 1): "int8", (False, 1): "int16", (True, 2): "int16", (False, 2): "int32",
    (True, 4): "int32", (False, 4): "int64", (True, 8): "int64",
}  # fmt: skip
"""Spark has no unsigned integers, so an unsigned field becomes the next wider signed column."""

LONGEST_VALUE = (1 << 31) - 1
"""Arrow counts the bytes of a binary column with 32 bits."""


def lower(table: str, type_: TypeDef, specs: Mapping[str, Spec]) -> ir.Kernel:
    """The kernel whose rows are consecutive occurrences of a type."""
    return _Lowering(specs).kernel(table, type_)


@dataclass
class _Lowering:
    specs: Mapping[str, Spec]
    block: list[ir.Statement] = field(default_factory=list)
    variables: list[str] = field(default_factory=list)
    optional: int = 0
    """How many `if`s of the current row stand around what is being lowered."""
    cached: list[list[tuple[Scope, str]]] = field(default_factory=lambda: [[]])
    """Instances computed in each open block: their values are not there once the block ends."""
    checksum: Checksum | None = None

    def kernel(self, table: str, type_: TypeDef) -> ir.Kernel:
        scope = Scope(type_, None, None, ir.Variable("end"), ir.Rows(), [], "", ())
        self.lower_type(scope)
        if not ir.least_size(self.block):
            raise type_.spec.error(type_.keys, "a row that may be empty would repeat for ever")
        return ir.Kernel(table, type_.title, self.block, tuple(scope.columns), self.checksum, tuple(self.variables))

    def variable(self, name: str, type_: ir.ValueType = "int") -> ir.Variable:
        unique = f"{name}_{len(self.variables)}"
        self.variables.append(unique)
        return ir.Variable(unique, type_)

    def add(self, statement: ir.Statement) -> None:
        self.block.append(statement)

    def assign(self, name: str, value: ir.Value) -> ir.Variable:
        target = self.variable(name, value.type)
        self.add(ir.Assign(target, value))
        return target

    @contextmanager
    def inside(self, block: list[ir.Statement]) -> Iterator[None]:
        """Lower into a nested block; instances computed there are forgotten after it."""
        outer, self.block = self.block, block
        self.cached.append([])
        yield
        for scope, name in self.cached.pop():
            scope.names.pop(name, None)
        self.block = outer

    def value(self, attribute: Attribute, scope: Scope, source: Any, *keys: str, this: Entry | None = None) -> ir.Value:
        """The value of an expression; a refusal names the key it stands under."""
        try:
            return Resolver(scope, self.specs, self.instance, this).value(source)
        except ExpressionError as error:
            raise attribute.error(str(error), *keys) from None

    def instance(self, scope: Scope, name: str) -> Entry:
        """An instance, computed where it is first used."""
        attribute = subset.instances(scope.type)[name]
        subset.check_attribute(attribute)
        if "value" in attribute.data:
            entry: Entry = self.assign(name, self.value(attribute, scope, attribute.data["value"], "value"))
        else:
            entry = self.lower_elsewhere(attribute, scope)
        scope.names[name] = entry
        self.cached[-1].append((scope, name))
        return entry

    def lower_elsewhere(self, attribute: Attribute, scope: Scope) -> Entry:
        if scope.base is None:
            raise attribute.error("a position in the file is not known inside a row", "pos")
        offset = self.value(attribute, scope, attribute.data["pos"], "pos")
        position = ir.Operation("+", (scope.base, offset), "int")
        failure = self.failure(attribute, "position outside the structure")
        elsewhere = ir.Elsewhere(position, self.variable("saved"), failure, scope.base, scope.end)
        kept = scope if attribute.hints.get("column") else replace(scope, rows=None)
        outer, self.block = self.block, elsewhere.body
        entry = self.lower_single(replace(attribute, data=_without(attribute.data, "pos")), kept)
        self.block = outer
        self.add(elsewhere)
        if entry is None:
            raise attribute.error("an instance that reads bytes cannot be used in an expression")
        return entry

    def failure(self, attribute: Attribute, reason: str) -> Failure:
        return Failure(attribute.owner.spec.id, attribute.path, reason)

    def lower_type(self, scope: Scope) -> None:
        """All fields of a type, then the instances that are columns or name what a checksum covers."""
        pending = subset.fields(scope.type)
        while pending:
            run = _bit_run(pending)
            if run:
                self.lower_bits(run, scope)
            else:
                run = pending[:1]
                entry = self.lower_field(run[0], scope)
                if entry is not None:
                    scope.names[run[0].name] = entry
            pending = pending[len(run) :]
        for attribute in subset.instances(scope.type).values():
            self.lower_instance_column(attribute, scope)

    def lower_instance_column(self, attribute: Attribute, scope: Scope) -> None:
        if attribute.hints.get("checksum"):
            self.lower_checksum(attribute, scope)
        elif attribute.hints.get("column") and "value" in attribute.data:
            entry = scope.names.get(attribute.name) or self.instance(scope, attribute.name)
            kind: Kind = "bool" if entry.type == "bool" else "int64"  # type: ignore[union-attr]
            self.store_value(scope, attribute, kind, entry)  # type: ignore[arg-type]

    def lower_checksum(self, attribute: Attribute, scope: Scope) -> None:
        """Where the bytes that a checksum covers start and end."""
        if scope.rows is None or scope.rows.path or scope.base is None or self.optional:
            raise attribute.error("a checksum must be one of the row's own", "-columnar")
        offset = self.value(attribute, scope, attribute.data["pos"], "pos")
        start = self.assign("checksum_start", ir.Operation("+", (scope.base, offset), "int"))
        end: ir.Value = scope.end
        if "size" in attribute.data:
            size = self.value(attribute, scope, attribute.data["size"], "size")
            end = self.assign("checksum_end", ir.Operation("+", (start, size), "int"))
        bounds = [_compare("<=", scope.base, start), _compare("<=", start, end)]
        bounds += [_compare("<=", end, scope.end)] if end != scope.end else []
        self.add(ir.Check(_all(*bounds), self.failure(attribute, "outside the structure"), start))
        self.add(ir.Store(scope.rows, "", "checksum_start", start))
        self.add(ir.Store(scope.rows, "", "checksum_end", end))
        stored = scope.prefix + attribute.name.removesuffix("_input")
        self.checksum = Checksum(stored, attribute.hints["checksum"], (*scope.attributes, attribute.name))

    def lower_field(self, attribute: Attribute, scope: Scope) -> Entry | None:
        """A field with its condition and its repetition."""
        if attribute.hints.get("column") is False:
            scope = replace(scope, rows=None)
        if "if" not in attribute.data:
            return self.lower_repeated(attribute, scope)
        condition = self.value(attribute, scope, attribute.data["if"], "if")
        when = ir.When(condition)
        before = len(scope.columns)
        self.optional += 1
        with self.inside(when.body):
            entry = self.lower_repeated(attribute, scope)
        self.optional -= 1
        if scope.rows is not None:
            when.otherwise.extend(_nulls(scope.rows, scope.columns[before:]))
        self.add(when)
        return entry

    def lower_repeated(self, attribute: Attribute, scope: Scope) -> Entry | None:
        if "repeat" not in attribute.data:
            return self.lower_single(attribute, scope)
        count = self.assign("count", self.value(attribute, scope, attribute.data["repeat-expr"], "repeat-expr"))
        single = replace(attribute, data=_without(attribute.data, "repeat", "repeat-expr"))
        if scope.rows is None:
            loop = ir.Loop(count, self.variable("turn"), None)
            with self.inside(loop.body):
                self.lower_single(single, scope)
            self.add(loop)
        else:
            self.lower_list(single, scope, count)
        return None

    def lower_list(self, attribute: Attribute, scope: Scope, count: ir.Variable) -> None:
        name = scope.prefix + attribute.name
        rows = ir.Rows((*scope.rows.path, name))  # type: ignore[union-attr]
        items = replace(scope, rows=rows, columns=[], prefix="", attributes=(), item_of=attribute.name)
        loop = ir.Loop(count, self.variable("turn"), rows)
        optional, self.optional = self.optional, 0
        with self.inside(loop.body):
            self.lower_single(attribute, items)
        self.optional = optional
        self.add(loop)
        least_size = ir.least_size(loop.body)
        if not least_size:
            raise attribute.error("a list whose items may be empty has no bound")
        self.new_column(scope, attribute, "list", items=tuple(items.columns), least_size=least_size)
        self.add(ir.Store(scope.rows, name, "value", ir.Variable(rows.counter)))  # type: ignore[arg-type]

    def lower_single(self, attribute: Attribute, scope: Scope) -> Entry | None:
        """One occurrence of a field, whatever its type."""
        type_ = attribute.data.get("type")
        if "contents" in attribute.data:
            self.lower_contents(attribute, scope)
            return None
        if type_ is None:
            self.lower_bytes(attribute, scope)
            return None
        if found := subset.INTEGER.fullmatch(type_):
            return self.lower_integer(attribute, scope, found.group())
        call = subset.CALL.fullmatch(type_)
        nested = find_type(call[1] if call else type_, attribute.owner, self.specs)
        if nested is None:
            raise attribute.error(f"type {type_} is not supported", "type")
        arguments = [call[2]] if call and call[2].strip() else []
        if hints := subset.intrinsic(nested):
            return self.lower_intrinsic(attribute, scope, hints, arguments)
        if arguments:
            raise attribute.error("parameters are not supported but for intrinsics", "type")
        return self.lower_nested(attribute, scope, nested)

    def lower_contents(self, attribute: Attribute, scope: Scope) -> None:
        contents = contents_bytes(attribute.data["contents"])
        too_short = self.failure(attribute, "end of data")
        self.add(ir.Expect(contents, too_short, self.failure(attribute, "contents differ"), scope.end))

    def lower_integer(self, attribute: Attribute, scope: Scope, type_: str) -> ir.Variable:
        is_signed, size = type_[0] == "s", int(type_[1])
        endian = type_[2:] or attribute.owner.spec.data["meta"].get("endian", "le")
        target = self.variable(attribute.name)
        failure = self.failure(attribute, "end of data")
        self.add(ir.ReadInteger(target, size, is_signed, endian == "be", failure, scope.end))
        at = ir.Operation("-", (ir.POSITION, ir.Constant(size)), "int")
        self.lower_valid(attribute, scope, target, at)
        self.store_value(scope, attribute, INTEGER_KINDS[is_signed, size], target)
        return target

    def lower_bits(self, run: list[Attribute], scope: Scope) -> None:
        """Adjacent bit fields, which together fill whole bytes."""
        widths = [int(attribute.data["type"][1:]) for attribute in run]
        total = sum(widths)
        if total % 8 or total > 32 or attribute_is_little(run[0]):  # noqa: PLR2004 - four bytes fit every shift
            raise run[0].error("bit fields must be big-endian and fill one to four whole bytes")
        word = self.variable("bits")
        self.add(ir.ReadBits(word, total // 8, self.failure(run[0], "end of data"), scope.end))
        before = 0
        for attribute, width in zip(run, widths, strict=True):
            self.lower_bit_field(attribute, scope, word, (before, width, total))
            before += width

    def lower_bit_field(
        self, attribute: Attribute, scope: Scope, word: ir.Variable, place: tuple[int, int, int]
    ) -> None:
        before, width, total = place
        shifted = ir.Operation(">>", (word, ir.Constant(total - before - width)), "int")
        bits: ir.Value = ir.Operation("&", (shifted, ir.Constant((1 << width) - 1)), "int")
        is_flag = width == 1 and "enum" not in attribute.data
        target = self.assign(attribute.name, _compare("!=", bits, ir.Constant(0)) if is_flag else bits)
        scope.names[attribute.name] = target
        at = ir.Operation("-", (ir.POSITION, ir.Constant(total // 8 - before // 8)), "int")
        self.lower_valid(attribute, scope, target, at)
        kind: Kind = "bool" if is_flag else "int8" if width < 8 else "int64"  # noqa: PLR2004 - bits of a byte
        kept = replace(scope, rows=None) if attribute.hints.get("column") is False else scope
        self.store_value(kept, attribute, kind, target)

    def lower_bytes(self, attribute: Attribute, scope: Scope) -> None:
        """Bytes by size, to the end of the structure, or up to a terminator."""
        start, length = self.variable("start"), self.variable("length")
        if "terminator" in attribute.data:
            failure = self.failure(attribute, "terminator is missing")
            terminator = ir.Constant(attribute.data["terminator"])
            self.add(ir.TakeUntil(start, length, terminator, has_escapes=False, failure=failure, end=scope.end))
        else:
            self.add(ir.Assign(length, self.size(attribute, scope)))
            self.add(ir.Take(start, length, self.failure(attribute, "does not fit"), scope.end))
        self.lower_valid(attribute, scope, None, start)
        if attribute.data.get("size") != 0:
            kind: Kind = "text" if attribute.hints.get("text") else "binary"
            self.store_slice(scope, attribute, "base64" if attribute.hints.get("base64") else kind, start, length)

    def size(self, attribute: Attribute, scope: Scope) -> ir.Value:
        if attribute.data.get("size-eos"):
            return ir.Operation("-", (scope.end, ir.POSITION), "int")
        if "size" not in attribute.data:
            raise attribute.error("bytes need a size, size-eos or a terminator")
        return self.value(attribute, scope, attribute.data["size"], "size")

    def lower_intrinsic(
        self, attribute: Attribute, scope: Scope, hints: Mapping[str, Any], arguments: list[str]
    ) -> Entry:
        """A varint, a decimal number or an escaped token."""
        at = self.assign("at", ir.POSITION)
        match hints["intrinsic"]:
            case "zigzag":
                target = self.variable(attribute.name)
                self.add(ir.ReadZigzag(target, at, hints["bits"], self.failure(attribute, "no varint"), scope.end))
                kind: Kind = "int32" if hints["bits"] == 32 else "int64"  # noqa: PLR2004 - bits
            case "decimal":
                target, kind = self.variable(attribute.name), "int64"
                failure = self.failure(attribute, "no decimal number")
                self.add(ir.ReadDecimal(target, at, hints["terminator"], failure, scope.end))
            case _:
                return self.lower_escaped(attribute, scope, arguments[0])
        token = Token(target)
        self.lower_valid(attribute, scope, token, at)
        self.store_value(scope, attribute, kind, target)
        return token

    def lower_escaped(self, attribute: Attribute, scope: Scope, argument: str) -> Entry:
        terminator = self.assign("terminator", self.value(attribute, scope, argument, "type"))
        start, length = self.variable("start"), self.variable("length")
        failure = self.failure(attribute, "terminator is missing")
        self.add(ir.TakeUntil(start, length, terminator, has_escapes=True, failure=failure, end=scope.end))
        self.store_slice(scope, attribute, "escaped", start, length)
        return Token(length)

    def lower_nested(self, attribute: Attribute, scope: Scope, nested: TypeDef) -> Scope:
        """A structure inside this one, in a stream of its own if it has a size."""
        is_stream = "size" in attribute.data or attribute.data.get("size-eos")
        base, end = scope.base, scope.end
        if is_stream:
            start, length = self.variable("base"), self.variable("length")
            self.add(ir.Assign(length, self.size(attribute, scope)))
            self.add(ir.Take(start, length, self.failure(attribute, "does not fit"), scope.end))
            base, end = start, self.assign("end", ir.POSITION)
            self.add(ir.Assign(ir.POSITION, start))
        elif attribute.data.get("valid") is not None:
            start = self.assign("at", ir.POSITION)
        is_item = scope.item_of == attribute.name
        inner = Scope(
            nested, scope, base, end, scope.rows, scope.columns,
            scope.prefix + attribute.hints.get("prefix", ""),
            scope.attributes if is_item else (*scope.attributes, attribute.name),
        )  # fmt: skip
        self.lower_type(inner)
        if is_stream:
            self.add(ir.Assign(ir.POSITION, end))
        if attribute.data.get("valid") is not None:
            self.lower_valid(attribute, scope, inner, start)
        return inner

    def lower_valid(self, attribute: Attribute, scope: Scope, this: Entry | None, at: ir.Value) -> None:
        rule = attribute.data.get("valid")
        if rule is None:
            return
        for key, wanted in (rule if isinstance(rule, dict) else {"eq": rule}).items():
            condition = self.condition(attribute, scope, this, (key, wanted))
            self.add(ir.Check(condition, self.failure(attribute, f"valid/{key}"), at))

    def condition(self, attribute: Attribute, scope: Scope, this: Entry | None, rule: tuple[str, Any]) -> ir.Value:
        key, wanted = rule
        if key == "expr":
            return self.value(attribute, scope, wanted, "valid", this=this)
        if not isinstance(this, ir.Variable):
            raise attribute.error(f"valid/{key} is supported for integers only", "valid")
        if key == "in-enum":
            known = [ir.Constant(value) for value in self.enum(attribute)]
            return _any(*(_compare("==", this, value) for value in known))
        if key == "any-of":
            values = [self.value(attribute, scope, item, "valid", this=this) for item in wanted]
            return _any(*(_compare("==", this, value) for value in values))
        operator = {"eq": "==", "min": ">=", "max": "<="}[key]
        return _compare(operator, this, self.value(attribute, scope, wanted, "valid", this=this))

    def enum(self, attribute: Attribute) -> dict[int, str]:
        """Values and names of an attribute's enum."""
        name = attribute.data["enum"]
        members = (attribute.owner.data.get("enums") or {}).get(name) or attribute.owner.spec.data["enums"].get(name)
        if members is None:
            raise attribute.error(f"enum {name} is not in this spec", "enum")
        return {value: member["id"] if isinstance(member, dict) else member for value, member in members.items()}

    def store_value(self, scope: Scope, attribute: Attribute, kind: Kind, value: ir.Value) -> None:
        if scope.rows is None:
            return
        labels = self.enum(attribute) if "enum" in attribute.data else {}
        if labels and kind not in ("int8", "int16"):
            raise attribute.error("an enum column must be a byte or less", "enum")
        column = self.new_column(scope, attribute, "enum" if labels else kind, labels=labels)
        self.add(ir.Store(scope.rows, column.name, "value", value))
        if column.nullable:
            self.add(ir.Store(scope.rows, column.name, "valid", ir.Constant(1)))

    def store_slice(
        self, scope: Scope, attribute: Attribute, kind: Kind, start: ir.Variable, length: ir.Variable
    ) -> None:
        if scope.rows is None:
            return
        column = self.new_column(scope, attribute, kind)
        fits = _compare("<=", length, ir.Constant(LONGEST_VALUE))
        self.add(ir.Check(fits, self.failure(attribute, "longer than a column can hold"), start))
        self.add(ir.Store(scope.rows, column.name, "start", start))
        self.add(ir.Store(scope.rows, column.name, "length", length))

    def new_column(self, scope: Scope, attribute: Attribute, kind: Kind, **more: Any) -> Column:
        name = scope.prefix + attribute.name
        if any(column.name == name for column in scope.columns):
            raise attribute.error(f"a column {name} is there already; give one of them a prefix")
        column = Column(name, kind, (*scope.attributes, attribute.name), nullable=self.optional > 0, **more)
        scope.columns.append(column)
        return column


def attribute_is_little(attribute: Attribute) -> bool:
    """Whether bit fields of this spec start at the least significant bit."""
    return bool(attribute.owner.spec.data["meta"].get("bit-endian") == "le")


def _bit_run(pending: list[Attribute]) -> list[Attribute]:
    run = []
    for attribute in pending:
        if not subset.BITS.fullmatch(str(attribute.data.get("type"))):
            break
        if "if" in attribute.data or "repeat" in attribute.data:
            raise attribute.error("a bit field with `if` or `repeat` is not supported")
        run.append(attribute)
    return run


def _nulls(rows: ir.Rows, columns: list[Column]) -> Iterator[ir.Statement]:
    """Stores for a row in which optional columns are absent."""
    for column in columns:
        if column.kind in ("binary", "text", "escaped", "base64"):
            yield ir.Store(rows, column.name, "start", ir.Constant(0))
            yield ir.Store(rows, column.name, "length", ir.Constant(-1))
        elif column.kind == "list":
            yield ir.Store(rows, column.name, "value", ir.Variable(ir.Rows((*rows.path, column.name)).counter))
        else:
            yield ir.Store(rows, column.name, "value", ir.Constant(0))
            yield ir.Store(rows, column.name, "valid", ir.Constant(0))


def _compare(operator: str, left: ir.Value, right: ir.Value) -> ir.Value:
    return ir.Operation(operator, (left, right), "bool")


def _all(*conditions: ir.Value) -> ir.Value:
    return ir.Operation("and", conditions, "bool")


def _any(*conditions: ir.Value) -> ir.Value:
    return ir.Operation("or", conditions, "bool")


def _without(data: Mapping[str, Any], *keys: str) -> dict[str, Any]:
    return {key: value for key, value in data.items() if key not in keys}


__all__ = ["SpecError", "lower"]
