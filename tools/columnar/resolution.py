"""Names and types of expressions: a parsed expression becomes a typed value of the kernel."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from thawline.tables import Column
from tools.columnar import expressions as ex
from tools.columnar import ir, subset
from tools.columnar.expressions import ExpressionError
from tools.ksy import Spec, TypeDef

ARITHMETIC = frozenset("+-*%&|^") | {"<<", ">>"}
ORDER = frozenset({"<", ">", "<=", ">="})
EQUALITY = frozenset({"==", "!="})


@dataclass(frozen=True, slots=True)
class Token:
    """A value read by an intrinsic: a structure to ksc, of which expressions may only ask `.value`."""

    value: ir.Variable


@dataclass(slots=True)
class Scope:
    """A structure that is being read: its names, its stream and where its columns go."""

    type: TypeDef
    parent: Scope | None
    base: ir.Value | None
    """Where its stream starts; None for the kernel's whole input."""
    end: ir.Value
    rows: ir.Rows | None
    """Rows its columns belong to; None where nothing is stored."""
    columns: list[Column]
    prefix: str
    attributes: tuple[str, ...]
    """Attributes that lead to it from the row's object."""
    names: dict[str, Entry] = field(default_factory=dict)
    item_of: str = ""
    """The repeated field whose item is being read; the item itself adds no attribute."""


Entry = ir.Value | Token | Scope


@dataclass(frozen=True, slots=True)
class Resolver:
    """Turns expressions of one scope into values; `instance` lowers an instance at its first use."""

    scope: Scope
    specs: Mapping[str, Spec]
    instance: Callable[[Scope, str], Entry]
    this: Entry | None = None

    def value(self, source: Any) -> ir.Value:
        """The typed value of an expression."""
        return self.node(ex.parse(source))

    def node(self, node: ex.Node) -> ir.Value:
        """The typed value of a parsed expression."""
        match node:
            case ex.Number():
                return ir.Constant(node.value, "bool" if node.is_bool else "int")
            case ex.Member():
                return ir.Constant(self.member(node.path))
            case ex.Operation():
                return self.operation(node)
            case ex.Attribute(ex.Name("_io"), name):
                return self.stream(name)
        entry = self.entry(node)
        if isinstance(entry, Token | Scope):
            raise ExpressionError(f"{_shown(node)} is a structure, not a number")
        return entry

    def entry(self, node: ex.Node) -> Entry:
        """What a name or a dotted path stands for."""
        match node:
            case ex.Name("_"):
                if self.this is None:
                    raise ExpressionError("_ has no value here")
                return self.this
            case ex.Name(name):
                return self.lookup(self.scope, name)
            case ex.Attribute(target, name):
                return self.attribute(self.entry(target), name, node)
        raise ExpressionError(f"{_shown(node)} is not supported")

    def attribute(self, owner: Entry, name: str, node: ex.Node) -> Entry:
        """What stands behind a dot."""
        if isinstance(owner, Token) and name == "value":
            return owner.value
        if isinstance(owner, Scope):
            return self.lookup(owner, name)
        if name == "to_i" and not isinstance(owner, Token):
            return owner
        raise ExpressionError(f"{_shown(node)} is not supported")

    def lookup(self, scope: Scope, name: str) -> Entry:
        """A field that was read, an instance, or the structure around this one."""
        if name == "_parent" and scope.parent is not None:
            return scope.parent
        if name in scope.names:
            return scope.names[name]
        if name in subset.instances(scope.type):
            return self.instance(scope, name)
        raise ExpressionError(f"{name} is not known here; fields are known once they have been read")

    def stream(self, name: str) -> ir.Value:
        """`_io.size`, `_io.pos` and `_io.eof` of the scope's own stream."""
        if name == "eof":
            return ir.Operation("==", (ir.POSITION, self.scope.end), "bool")
        if self.scope.base is None:
            raise ExpressionError(f"_io.{name} of the whole file is not known inside a row")
        if name not in ("size", "pos"):
            raise ExpressionError(f"_io.{name} is not supported")
        return ir.Operation("-", (self.scope.end if name == "size" else ir.POSITION, self.scope.base), "int")

    def member(self, path: tuple[str, ...]) -> int:
        """The number of an enum's value."""
        *_, enum, wanted = path
        for data in (self.scope.type.data, self.scope.type.spec.data):
            for value, member in ((data.get("enums") or {}).get(enum) or {}).items():
                if (member["id"] if isinstance(member, dict) else member) == wanted:
                    return int(value)
        raise ExpressionError(f"{'::'.join(path)} is not in this spec")

    def operation(self, node: ex.Operation) -> ir.Value:
        """An operator whose operands fit it."""
        operands = tuple(self.node(operand) for operand in node.operands)
        return ir.Operation(node.operator, operands, _result_type(node.operator, operands))


def _result_type(operator: str, operands: tuple[ir.Value, ...]) -> ir.ValueType:
    """The type of an operation, or a refusal where its operands do not fit it."""
    types = [operand.type for operand in operands]
    if operator in ("and", "or", "not") and set(types) == {"bool"}:
        return "bool"
    if operator in EQUALITY and types[0] == types[1]:
        return "bool"
    if operator in ORDER and set(types) == {"int"}:
        return "bool"
    if operator == "?" and types[0] == "bool" and types[1] == types[2]:
        return types[1]
    if operator in ARITHMETIC | {"~"} and set(types) == {"int"}:
        _check_divisor(operator, operands)
        return "int"
    raise ExpressionError(f"operator {operator} does not fit {' and '.join(types)}")


def _check_divisor(operator: str, operands: tuple[ir.Value, ...]) -> None:
    """Only constants may divide or shift: the kernel then needs no check, and C agrees with Python."""
    right = operands[-1]
    if operator in ("%", "<<", ">>") and not (isinstance(right, ir.Constant) and right.value > 0):
        raise ExpressionError(f"operator {operator} needs a positive constant on its right")


def _shown(node: ex.Node) -> str:
    match node:
        case ex.Name(name):
            return name
        case ex.Attribute(target, name):
            return f"{_shown(target)}.{name}"
    return str(node)
