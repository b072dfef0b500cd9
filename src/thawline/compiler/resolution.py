"""Names and types of expressions resolved: a parsed expression becomes a typed value of the kernel."""

from __future__ import annotations

import operator as python
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from thawline.compiler import expressions as ex
from thawline.compiler import ir, subset
from thawline.compiler.bounds import fitting
from thawline.compiler.expressions import ExpressionError, shown
from thawline.engine.tables import Column
from thawline.ksy.documents import Spec, TypeDef
from thawline.ksy.names import find_enum

ARITHMETIC = frozenset("+-*%&|^~") | {"<<", ">>"}
ORDER = frozenset({"<", ">", "<=", ">="})
EQUALITY = frozenset({"==", "!="})
LOGIC = frozenset({"and", "or", "not"})
FOLDED: Mapping[str, Callable[..., int]] = {
    "+": python.add, "-": python.sub, "*": python.mul, "%": python.mod, "&": python.and_,
    "|": python.or_, "^": python.xor, "<<": python.lshift, ">>": python.rshift,
}  # fmt: skip
WIDEST_SHIFT = {"<<": 62, ">>": 63}


@dataclass(frozen=True, slots=True)
class Token:
    """A value of an intrinsic: for ksc a structure, of which expressions may only use `.value`."""

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
    """The rows that its columns belong to; None if nothing is stored."""
    columns: list[Column]
    prefix: str
    attributes: tuple[str, ...]
    """Attributes that lead to it from the row's object."""
    depth: int
    """The number of open blocks around its fields."""
    names: dict[str, Entry] = field(default_factory=dict)
    conditions: dict[str, ir.Value] = field(default_factory=dict)
    """The `if` of each name that has one."""
    item_of: str = ""
    """The repeated field whose item is being read. The item itself adds no attribute."""


Entry = ir.Value | Token | Scope


@dataclass(frozen=True, slots=True)
class Resolver:
    """Turns the expressions of one scope into values. `instance` lowers an instance at its first use."""

    scope: Scope
    specs: Mapping[str, Spec]
    instance: Callable[[Scope, str, bool], Entry]
    known: tuple[ir.Value, ...] = ()
    """Conditions that hold where the value is used."""
    this: Entry | None = None
    is_timeless: bool = False
    """An instance keeps the value of its first use, so it must not depend on the position."""
    may_be_skipped: bool = False

    def value(self, source: Any) -> ir.Value:
        """The typed value of an expression."""
        return fitting(self.node(ex.parse(source)))

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
            raise ExpressionError(f"{shown(node)} is a structure, not a number")
        return entry

    def entry(self, node: ex.Node) -> Entry:
        """What a name or a dotted path refers to."""
        match node:
            case ex.Name("_"):
                if self.this is None:
                    raise ExpressionError("_ has no value here")
                return self.this
            case ex.Name(name):
                return self.lookup(self.scope, name)
            case ex.Attribute(target, name):
                return self.attribute(self.entry(target), name, node)
        raise ExpressionError(f"{shown(node)} is not supported")

    def attribute(self, owner: Entry, name: str, node: ex.Node) -> Entry:
        """The part of an expression after a dot."""
        if isinstance(owner, Token) and name == "value":
            return owner.value
        if isinstance(owner, Scope):
            return self.lookup(owner, name)
        if name == "to_i" and not isinstance(owner, Token):
            return owner
        raise ExpressionError(f"{shown(node)} is not supported")

    def lookup(self, scope: Scope, name: str) -> Entry:
        """A field that was read, an instance, or the structure around this one."""
        if name == "_parent" and scope.parent is not None:
            return scope.parent
        if name.startswith("_"):
            raise ExpressionError(f"{name} is not supported here")
        if name in scope.conditions and not _holds(scope.conditions[name], self.known):
            raise ExpressionError(f"{name} may be absent here; use it under the `if` that it has itself")
        if name in scope.names:
            return scope.names[name]
        if name in subset.instances(scope.type):
            return self.instance(scope, name, self.may_be_skipped)
        raise ExpressionError(f"{name} is not known here; integers and structures are once they have been read")

    def stream(self, name: str) -> ir.Value:
        """`_io.size`, `_io.pos` and `_io.eof` of the scope's own stream."""
        if self.is_timeless and name != "size":
            raise ExpressionError(f"_io.{name} in an instance depends on when it is first used")
        if name == "eof":
            return ir.compare("==", ir.POSITION, self.scope.end)
        if name not in ("size", "pos"):
            raise ExpressionError(f"_io.{name} is not supported")
        if self.scope.base is None:
            raise ExpressionError(f"_io.{name} of the whole file is not known inside a row")
        return ir.minus(self.scope.end if name == "size" else ir.POSITION, self.scope.base)

    def member(self, path: tuple[str, ...]) -> int:
        """The number of a member of an enum."""
        *enum, wanted = path
        for value, name in (find_enum("::".join(enum), self.scope.type, self.specs) or {}).items():
            if name == wanted:
                return value
        raise ExpressionError(f"{'::'.join(path)} is not known")

    def operation(self, node: ex.Operation) -> ir.Value:
        """An operator whose operands fit it."""
        operands = self.operands(node)
        type_ = _result_type(node.operator, operands)
        constants = [operand.value for operand in operands if isinstance(operand, ir.Constant)]
        if node.operator in ARITHMETIC and len(constants) == len(operands):
            return ir.Constant(_folded(node.operator, constants))
        return fitting(ir.Operation(node.operator, tuple(map(fitting, operands)), type_))

    def operands(self, node: ex.Operation) -> tuple[ir.Value, ...]:
        """The operands. `and`, `or` and `?` may skip all but the first."""
        if node.operator not in ("and", "or", "?"):
            return tuple(self.node(operand) for operand in node.operands)
        condition, *others = node.operands
        tested = self.node(condition)
        skipped = replace(self, may_be_skipped=True)
        held = skipped if node.operator == "or" else replace(skipped, known=(*self.known, tested))
        return tested, held.node(others[0]), *(skipped.node(other) for other in others[1:])


def _holds(condition: ir.Value, known: tuple[ir.Value, ...]) -> bool:
    """Whether a condition is known to hold, as a whole or by its parts."""
    if condition in {part for whole in known for part in _parts(whole)}:
        return True
    parts = _parts(condition)
    return len(parts) > 1 and all(_holds(part, known) for part in parts[1:])


def _parts(condition: ir.Value) -> list[ir.Value]:
    """A condition, and the parts that hold with it if it is an `and`."""
    if isinstance(condition, ir.Operation) and condition.operator == "and":
        return [condition, *(part for operand in condition.operands for part in _parts(operand))]
    return [condition]


def _result_type(operator: str, operands: tuple[ir.Value, ...]) -> ir.ValueType:
    """The type of an operation; refused if its operands do not fit."""
    types = [operand.type for operand in operands]
    if operator in LOGIC and set(types) == {"bool"}:
        return "bool"
    if operator in EQUALITY and types[0] == types[1]:
        return "bool"
    if operator in ORDER and set(types) == {"int"}:
        return "bool"
    if operator == "?" and types[0] == "bool" and types[1] == types[2]:
        return types[1]
    if operator in ARITHMETIC and set(types) == {"int"}:
        _check_right(operator, operands[-1])
        return "int"
    if operator == "/":
        raise ExpressionError("operator / is not supported")
    raise ExpressionError(f"operator {operator} does not fit {' and '.join(types)}")


def _check_right(operator: str, right: ir.Value) -> None:
    """Only constants may divide or shift: the kernel needs no check, and C agrees with Python."""
    if operator in ("%", "<<", ">>") and not (isinstance(right, ir.Constant) and right.value > 0):
        raise ExpressionError(f"operator {operator} needs a positive constant on its right")
    if operator in WIDEST_SHIFT and isinstance(right, ir.Constant) and right.value > WIDEST_SHIFT[operator]:
        raise ExpressionError(f"operator {operator} by more than {WIDEST_SHIFT[operator]} bits is not supported")


def _folded(operator: str, numbers: list[int]) -> int:
    """Arithmetic of constants, which C would do in 32 bits."""
    if len(numbers) == 1:
        return -numbers[0] if operator == "-" else ~numbers[0]
    return FOLDED[operator](*numbers)
