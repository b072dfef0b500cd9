"""The `valid` of a value, as checks of the kernel."""

from __future__ import annotations

from typing import Any

from thawline.compiler import ir
from thawline.compiler.bounds import narrowed
from thawline.compiler.building import Builder
from thawline.compiler.resolution import Entry, Scope, Token
from thawline.compiler.stores import enum_of
from thawline.compiler.subset import Attribute

OPERATORS = {"eq": "==", "min": ">=", "max": "<="}


def check_integer(build: Builder, attribute: Attribute, scope: Scope, value: ir.Variable, at: ir.Value) -> ir.Variable:
    """Check an integer whose first byte is at `at`; returns it with the bounds that its rules give it."""
    for key, wanted in _rules(attribute).items():
        condition = _condition(build, attribute, scope, value, key, wanted)
        build.add(ir.Check(condition, attribute.failure(f"valid/{key}"), at))
        value = narrowed(value, condition)
    return value


def check_structure(
    build: Builder, attribute: Attribute, scope: Scope, this: Scope | Token | None, at: ir.Value
) -> Entry | None:
    """Check a value that is not a plain integer, for which only an expression can be a rule."""
    for key, wanted in _rules(attribute).items():
        if key != "expr":
            raise attribute.error(f"valid/{key} is supported for integers only", "valid", key)
        condition = build.condition(attribute, scope, wanted, "valid", key, this=this)
        build.add(ir.Check(condition, attribute.failure("valid/expr"), at))
        this = Token(narrowed(this.value, condition)) if isinstance(this, Token) else this
    return this


def _rules(attribute: Attribute) -> dict[str, Any]:
    rule = attribute.data.get("valid", {})
    return rule if isinstance(rule, dict) else {"eq": rule}


def _condition(
    build: Builder, attribute: Attribute, scope: Scope, value: ir.Variable, key: str, wanted: Any
) -> ir.Value:
    if key == "expr":
        return build.condition(attribute, scope, wanted, "valid", key, this=value)
    if key == "in-enum":
        return ir.some(*(ir.compare("==", value, ir.Constant(code)) for code in enum_of(build, attribute)))
    evaluate = build.condition if value.type == "bool" else build.integer
    if key == "any-of":
        values = [evaluate(attribute, scope, item, "valid", key, this=value) for item in wanted]
        return ir.some(*(ir.compare("==", value, item) for item in values))
    return ir.compare(OPERATORS[key], value, evaluate(attribute, scope, wanted, "valid", key, this=value))
