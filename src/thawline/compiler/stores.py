"""The columns of a type, and the statements that store the values of a row."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from thawline.compiler import ir
from thawline.compiler.bounds import bounds
from thawline.compiler.building import Builder
from thawline.compiler.resolution import Scope
from thawline.compiler.subset import Attribute
from thawline.engine.tables import GATHERED, SLICES, Column, Kind
from thawline.ksy.names import find_enum

LARGEST_CODE = 255
"""Names of enums are looked up by one byte."""
LARGEST_COPY = 64
"""Bytes of a fixed size up to a cache line are copied while their row is read; more would displace the row."""


def enum_of(build: Builder, attribute: Attribute) -> dict[int, str]:
    """Values and names of an attribute's enum."""
    name = attribute.data.get("enum", "")
    labels = find_enum(name, attribute.owner, build.specs)
    if labels is None:
        raise attribute.error(f"enum {name} is not known", "enum")
    for code, label in labels.items():
        if not isinstance(label, str):
            raise attribute.error(f"the name of {code} in enum {name} is read as {label!r}; put it in quotes", "enum")
    return labels


def store_value(build: Builder, scope: Scope, attribute: Attribute, kind: Kind, value: ir.Value) -> None:
    """Store an integer, a flag or an enum's value."""
    if scope.rows is None:
        return
    if "enum" in attribute.data:
        column = _enum_column(build, scope, attribute, value)
    else:
        column = new_column(build, scope, attribute, kind)
    build.add(ir.Store(scope.rows, column.name, "value", value))
    if column.nullable:
        build.add(ir.Store(scope.rows, column.name, "valid", ir.Constant(1)))


def _enum_column(build: Builder, scope: Scope, attribute: Attribute, value: ir.Value) -> Column:
    low, high = bounds(value)
    if low < 0 or high > LARGEST_CODE:
        raise attribute.error("an enum column must be an unsigned byte or less", "enum")
    return new_column(build, scope, attribute, "enum", labels=enum_of(build, attribute))


def store_slice(build: Builder, scope: Scope, attribute: Attribute, kind: Kind, taken: ir.Take | ir.TakeUntil) -> None:
    """Store the place of bytes, or the bytes; a few of a fixed size are always copied."""
    if scope.rows is None:
        return
    match taken.length:
        case ir.Constant(size) if 0 < size <= LARGEST_COPY and kind in ("binary", "text") and not build.optional:
            column = new_column(build, scope, attribute, kind, size=size)
            build.add(ir.Copy(scope.rows, column.name, taken.start, size))
            return
    column = new_column(build, scope, attribute, kind)
    if bounds(taken.length)[1] > ir.LONGEST:
        fits = ir.compare("<=", taken.length, ir.Constant(ir.LONGEST))
        build.add(ir.Check(fits, attribute.failure("longer than a column can hold"), taken.start))
    build.add(ir.Store(scope.rows, column.name, "start", taken.start))
    build.add(ir.Store(scope.rows, column.name, "length", _marked(taken)))
    if kind in GATHERED:
        build.add(ir.Gather(scope.rows, column.name, taken.start, taken.length, column.nullable))


def _marked(taken: ir.Take | ir.TakeUntil) -> ir.Value:
    """The length, or -2 - length with escapes, so that values without them can be copied as they are."""
    if isinstance(taken, ir.Take) or taken.escapes is None:
        return taken.length
    has_escapes = ir.compare("!=", taken.escapes, ir.Constant(0))
    return ir.Operation("?", (has_escapes, ir.minus(ir.Constant(-2), taken.length), taken.length), "int")


def store_list(build: Builder, scope: Scope, attribute: Attribute, items: Scope, least_size: int) -> None:
    """Store the end of the items of the row's list."""
    if scope.rows is None or items.rows is None:
        return
    column = new_column(build, scope, attribute, "list", items=tuple(items.columns), least_size=least_size)
    build.add(ir.Store(scope.rows, column.name, "value", ir.Variable(items.rows.counter)))


def new_column(build: Builder, scope: Scope, attribute: Attribute, kind: Kind, **more: Any) -> Column:
    """A column of the scope's rows, nullable if an `if` is around it."""
    name = scope.prefix + attribute.name
    if any(column.name == name for column in scope.columns):
        raise attribute.error(f"a column {name} is there already; give one of them a prefix")
    own = () if scope.item_of == attribute.name else (attribute.name,)
    column = Column(name, kind, (*scope.attributes, *own), nullable=build.optional > 0, **more)
    scope.columns.append(column)
    return column


def nulls(rows: ir.Rows, columns: list[Column]) -> Iterator[ir.Statement]:
    """Stores of nulls, for a row without optional columns."""
    for column in columns:
        if column.kind in SLICES:
            yield ir.Store(rows, column.name, "start", ir.Constant(0))
            yield ir.Store(rows, column.name, "length", ir.Constant(-1))
            if column.kind in GATHERED:
                yield ir.Gather(rows, column.name, None, ir.Constant(0), column.nullable)
        else:
            yield ir.Store(rows, column.name, "value", ir.Constant(0))
            yield ir.Store(rows, column.name, "valid", ir.Constant(0))
