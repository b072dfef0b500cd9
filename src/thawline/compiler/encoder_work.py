"""What the stages of an encoder share: the statements so far, what is given, and what is refused."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import AbstractContextManager, nullcontext
from typing import Any

from thawline.compiler import encoder_ir as er
from thawline.compiler import expressions as ex
from thawline.compiler import ir, subset
from thawline.compiler.bounds import fitting
from thawline.compiler.building import Builder
from thawline.compiler.encoder_nodes import Node
from thawline.compiler.expressions import ExpressionError
from thawline.compiler.resolution import Entry, Resolver, Scope
from thawline.compiler.subset import Attribute
from thawline.engine.tables import Failure
from thawline.ksy.documents import Spec

NOWHERE = ir.Constant(0)
"""A row that is encoded has no bytes yet that could be named."""


class Work:
    """One type, and everything in it."""

    def __init__(self, specs: Mapping[str, Spec], *, is_frame: bool, is_whole: bool) -> None:
        self.specs, self.is_frame, self.is_whole = specs, is_frame, is_whole
        self.build = Builder(specs, self.instance)
        self.hidden: list[tuple[str, ...]] = []
        self.free: list[tuple[ir.Variable, int]] = []
        """Fields that nothing determines in structures that are read elsewhere, with the most they can be."""
        self.is_elsewhere = False
        """Whether the fields that are planned only repeat others."""
        self.sums: list[er.PutChecksum] = []
        self.rules: dict[Failure, er.Refusable] = {}

    def add(self, statement: er.Statement) -> None:
        """Append a statement to the open block."""
        added: Any = statement
        self.build.add(added)

    def there(self, node: Node) -> AbstractContextManager[object]:
        """Build statements that run only for rows that have a field."""
        return self.build.when(node.condition) if node.condition is not None else nullcontext()

    def refuse_unless(self, attribute: Attribute, condition: ir.Value, rule: str) -> None:
        """Refuse a row for which a condition does not hold."""
        self.note(attribute)
        self.build.add(ir.Check(condition, attribute.failure(rule), NOWHERE))

    def note(self, attribute: Attribute) -> None:
        """Keep the name and the rules of a field, for messages."""
        rule = attribute.data.get("valid")
        keys = rule.items() if isinstance(rule, dict) else [("eq", rule)]
        for key, wanted in keys if rule is not None else ():
            self._refusable(attribute, f"valid/{key}", f"valid/{key} {wanted}" if key != "in-enum" else "valid/in-enum")
        for reason in ("given", "if", "no terminator inside"):
            self._refusable(attribute, reason, f"if {attribute.data.get('if')}" if reason == "if" else reason)
        for key in ("size", "type"):
            shown = f"{'fits ' if key == 'type' else 'size '}{attribute.data.get(key)}"
            self._refusable(attribute, shown, shown)

    def _refusable(self, attribute: Attribute, reason: str, rule: str) -> None:
        failure = attribute.failure(reason)
        self.rules.setdefault(failure, er.Refusable(attribute.name, rule, failure.spec, failure.path))

    def resolved(self, attribute: Attribute, scope: Scope, node: ex.Node) -> ir.Value:
        """The value of a part of an attribute's rule."""
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
