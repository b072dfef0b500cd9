"""A kernel under construction: its open block, its variables, and the values of expressions there."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from thawline.compiler import ir
from thawline.compiler.bounds import bounds
from thawline.compiler.expressions import ExpressionError
from thawline.compiler.resolution import Entry, Resolver, Scope
from thawline.compiler.subset import Attribute
from thawline.ksy.documents import Spec


@dataclass
class Builder:
    """Where statements go, and what holds there."""

    specs: Mapping[str, Spec]
    instance: Callable[[Scope, str, bool], Entry]
    """Computes an instance that an expression uses."""
    block: list[ir.Statement] = field(default_factory=list)
    variables: list[str] = field(default_factory=list)
    uses: Counter[str] = field(default_factory=Counter)
    """The number of variables of each name."""
    optional: int = 0
    """The number of `if`s of the current row around the block."""
    known: tuple[ir.Value, ...] = ()
    """The conditions of those `if`s."""
    computed: list[list[tuple[Scope, str]]] = field(default_factory=lambda: [[]])
    """Instances computed in each open block. Their values are lost at the end of the block."""

    @property
    def depth(self) -> int:
        """The number of open blocks."""
        return len(self.computed)

    def variable(self, name: str, type_: ir.ValueType = "int", limits: tuple[int, int] | None = None) -> ir.Variable:
        """A new variable. Its number tells it from others of its name, and from keywords of Python and Cython."""
        self.uses[name] += 1
        unique = f"{name}_{self.uses[name]}"
        self.variables.append(unique)
        return ir.Variable(unique, type_, *(limits or (ir.LEAST, ir.MOST)))

    def place(self, name: str) -> ir.Variable:
        """A new variable for a position."""
        return self.variable(name, limits=(0, ir.FARTHEST))

    def add(self, statement: ir.Statement) -> None:
        """Append a statement to the open block."""
        self.block.append(statement)

    def assign(self, name: str, value: ir.Value) -> ir.Variable:
        """A new variable with this value."""
        target = self.variable(name, value.type, bounds(value))
        self.add(ir.Assign(target, value))
        return target

    def fixed(self, name: str, value: ir.Value) -> ir.Value:
        """The value under a name, unless it has one or is a constant."""
        return self.assign(name, value) if isinstance(value, ir.Operation) else value

    @contextmanager
    def inside(self, block: list[ir.Statement]) -> Iterator[None]:
        """Build a nested block; instances computed there are not known after it."""
        outer, self.block = self.block, block
        self.computed.append([])
        yield
        for scope, name in self.computed.pop():
            scope.names.pop(name, None)
        self.block = outer

    @contextmanager
    def within(self, statement: ir.Elsewhere | ir.Stream) -> Iterator[None]:
        """Build the body of a statement that always runs it; instances computed there remain known."""
        self.add(statement)
        outer, self.block = self.block, statement.body
        yield
        self.block = outer

    @contextmanager
    def when(self, condition: ir.Value) -> Iterator[ir.When]:
        """Build statements that run only if a condition holds."""
        when = ir.When(condition)
        outer, self.known = self.known, (*self.known, condition)
        self.optional += 1
        with self.inside(when.body):
            yield when
        self.optional -= 1
        self.known = outer
        self.add(when)

    @contextmanager
    def loop(self, count: ir.Value, rows: ir.Rows | None) -> Iterator[ir.Loop]:
        """Build statements that are repeated; the items of a list are rows of their own."""
        loop = ir.Loop(count, self.variable("turn"), rows)
        outer, self.optional = self.optional, 0 if rows else self.optional
        with self.inside(loop.body):
            yield loop
        self.optional = outer
        self.add(loop)

    def integer(
        self, attribute: Attribute, scope: Scope, source: Any, *keys: str, this: Entry | None = None
    ) -> ir.Value:
        """The value of an expression that must be a number; a refusal names its key."""
        return self._value("int", attribute, scope, source, keys, this)

    def condition(
        self, attribute: Attribute, scope: Scope, source: Any, *keys: str, this: Entry | None = None
    ) -> ir.Value:
        """The value of an expression that must be true or false."""
        return self._value("bool", attribute, scope, source, keys, this)

    def calculated(self, attribute: Attribute, scope: Scope, *, may_be_skipped: bool) -> ir.Value:
        """The value of an instance's expression, whatever its type."""
        resolver = Resolver(
            scope, self.specs, self.instance, self.known, is_timeless=True, may_be_skipped=may_be_skipped
        )
        return self._resolved(resolver, attribute, attribute.data["value"], ("value",))

    def _value(
        self,
        wanted: ir.ValueType,
        attribute: Attribute,
        scope: Scope,
        source: Any,
        keys: tuple[str, ...],
        this: Entry | None,
    ) -> ir.Value:
        resolver = Resolver(scope, self.specs, self.instance, self.known, this=this, is_timeless=attribute.is_instance)
        value = self._resolved(resolver, attribute, source, keys)
        if value.type != wanted:
            raise attribute.error(f"{source} is {value.type}, not {wanted}", *keys)
        return value

    @staticmethod
    def _resolved(resolver: Resolver, attribute: Attribute, source: Any, keys: tuple[str, ...]) -> ir.Value:
        try:
            return resolver.value(source)
        except ExpressionError as error:
            raise attribute.error(str(error), *keys) from None
