"""A filter bound to the columns of a table: its expressions checked, and made into functions of Arrow."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Iterator, Sequence
from difflib import get_close_matches
from typing import Any, cast

import pyarrow as pa
import pyarrow.compute as pc
from sqlglot import exp

from thawline.filters import BadFilter, Bound, Filter
from thawline.filters.functions import FUNCTIONS, between, interval, matched
from thawline.filters.operators import (
    among,
    calculated,
    compared,
    distinct,
    entry,
    inverted,
    is_null,
    is_truth,
    joined,
    member,
    negated,
    truth,
)
from thawline.filters.patterns import found_in, texts
from thawline.filters.pushdown import Comparison, Condition
from thawline.filters.reading import as_written, cut, read
from thawline.filters.terms import WIDE, Term, constant, fitted
from thawline.filters.values import LONGEST_NUMBER, value_of
from thawline.times import moment

SIGNS: dict[type[exp.Expression], str] = {
    exp.EQ: "=",
    exp.NEQ: "<>",
    exp.LT: "<",
    exp.LTE: "<=",
    exp.GT: ">",
    exp.GTE: ">=",
}
TURNED: dict[str, Comparison] = {"=": "=", "<": ">", "<=": ">=", ">": "<", ">=": "<="}
ARITHMETIC: dict[type[exp.Expression], str] = {
    exp.Add: "+",
    exp.Sub: "-",
    exp.Mul: "*",
    exp.Div: "/",
    exp.IntDiv: "//",
    exp.Mod: "%",
}
KNOWN_PARTS = {"this", "expression", "expressions", "quoted", "table", "db", "low", "high", "negate", "to", "unit"}
"""Arguments of nodes that are understood; others say that the expression means something else."""
HARMLESS_PARTS = {
    "typed",
    "safe",
    "is_string",
    "action",
    "default",
    "nested",
    "offset",
    "returns_list_for_maps",
    "json",
}
TIMES = {"TIMESTAMP", "TIMESTAMPTZ", "TIMESTAMPNTZ", "DATE", "DATETIME", "TIMESTAMPLTZ"}


def bind(chosen: Filter, schema: pa.Schema, table: str, given: Sequence[str]) -> Bound:
    """A filter for the columns of a table."""
    try:
        return _bound(chosen, schema, table, given)
    except RecursionError:
        raise BadFilter("the filter is nested too deeply") from None
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError, pa.ArrowTypeError) as error:
        raise BadFilter(f"the filter cannot be computed: {error}") from None


def _bound(chosen: Filter, schema: pa.Schema, table: str, given: Sequence[str]) -> Bound:
    binder = Binder(schema, table, chosen.zone)
    trees = [read(expression) for expression in chosen.expressions]
    terms = [truth(binder.term(tree), as_written(tree)) for tree in trees]
    conditions = tuple(condition for tree in trees for condition in binder.conditions(tree))
    masks = [_mask(term) for term in terms]
    columns = set(binder.columns)
    if chosen.pattern:
        searched = texts(schema, given)
        masks.append(found_in(chosen.pattern, searched))
        columns |= set(searched)
    return Bound(frozenset(columns), conditions, _all_of(masks))


def _mask(term: Term) -> Callable[[pa.RecordBatch], pa.Array]:
    def mask(batch: pa.RecordBatch) -> pa.Array:
        value = term.of(batch)
        return pa.repeat(value, batch.num_rows) if isinstance(value, pa.Scalar) else value

    return mask


def _all_of(masks: list[Callable[[pa.RecordBatch], pa.Array]]) -> Callable[[pa.RecordBatch], pa.Array]:
    def mask(batch: pa.RecordBatch) -> pa.Array:
        found = masks[0](batch)
        for other in masks[1:]:
            found = pc.and_kleene(found, other(batch))
        return found

    return mask


class Binder:
    """Makes terms of the nodes of a tree, for the columns of one table."""

    def __init__(self, schema: pa.Schema, table: str, zone: dt.tzinfo) -> None:
        self.schema, self.table, self.zone = schema, table, zone
        self.columns: set[str] = set()

    def term(self, node: Any) -> Term:
        """The term of a node; `BadFilter` for what no filter can say."""
        shown = as_written(node) if isinstance(node, exp.Expression) else str(node)
        unknown_parts = {name for name, value in node.args.items() if value} - KNOWN_PARTS - HARMLESS_PARTS
        if unknown_parts and not isinstance(node, exp.Func | exp.DataType):
            raise BadFilter(f"{shown}: no filter has this form")
        made = self._made(node, shown)
        return inverted(made, shown) if node.args.get("negate") else made

    def _made(self, node: Any, shown: str) -> Term:  # noqa: C901, PLR0912 - a line for each kind of node
        term = self.term
        match node:
            case exp.Paren():
                return term(node.this)
            case exp.And():
                return joined([term(part) for part in node.flatten()], shown, by=pc.and_kleene)
            case exp.Or():
                return joined([term(part) for part in node.flatten()], shown, by=pc.or_kleene)
            case exp.Not():
                return inverted(term(node.this), shown)
            case exp.EQ() | exp.NEQ() | exp.LT() | exp.LTE() | exp.GT() | exp.GTE():
                return compared(SIGNS[type(node)], *self._sides(node), self.zone, shown)
            case exp.NullSafeEQ():
                return inverted(distinct(*self._sides(node), self.zone, shown), shown)
            case exp.NullSafeNEQ():
                return distinct(*self._sides(node), self.zone, shown)
            case exp.Between():
                low, high = term(node.args["low"]), term(node.args["high"])
                return between(term(node.this), low, high, self.zone, shown)
            case exp.In() if node.expressions:
                return among(term(node.this), [term(item) for item in node.expressions], self.zone, shown)
            case exp.Is():
                return self._is(node, shown)
            case exp.Add() | exp.Sub() | exp.Mul() | exp.Div() | exp.IntDiv() | exp.Mod():
                return calculated(ARITHMETIC[type(node)], *self._sides(node), shown)
            case exp.Neg():
                return negated(term(node.this), shown)
            case exp.Like() | exp.ILike() | exp.Escape():
                return self._like(node, shown)
            case exp.Bracket() if len(node.expressions) == 1:
                return entry(term(node.this), term(node.expressions[0]), shown)
            case exp.Dot() if isinstance(node.expression, exp.Identifier):
                return member(term(node.this), node.expression.name, shown)
            case exp.Column():
                return self._column(node, shown)
            case exp.Literal() | exp.HexString() | exp.Boolean() | exp.Null() | exp.Interval() | exp.Cast():
                return self._constant(node, shown)
            case exp.CurrentTimestamp():
                return self._time("now", shown)
            case exp.Func():
                return self._call(node, shown)
        raise BadFilter(f"{shown}: no filter has this form")

    def _sides(self, node: Any) -> tuple[Term, Term]:
        left, right = self.term(node.this), self.term(node.expression)
        if isinstance(node.expression, exp.Literal) and "short" in node.expression.meta and left.column:
            return left, self._short(node.expression.name, left)
        return left, right

    def _short(self, text: str, column: Term) -> Term:
        """The value in `column=value`: also bytes may be written in hexadecimal."""
        try:
            return constant(value_of(text, pa.field(column.column, column.type), self.zone), f"'{text}'")
        except ValueError as error:
            raise BadFilter(str(error)) from None

    def _is(self, node: exp.Is, shown: str) -> Term:
        match node.expression:
            case exp.Null():
                return is_null(self.term(node.this), shown)
            case exp.Boolean() as wanted:
                return is_truth(self.term(node.this), shown, wanted=bool(wanted.this))
        raise BadFilter(f"{shown}: write is null, is true or is false")

    def _like(self, node: Any, shown: str) -> Term:
        escape = ""
        if isinstance(node, exp.Escape):
            escape, node = node.expression.name, node.this
        if len(escape) > 1 or not isinstance(node, exp.Like | exp.ILike):
            raise BadFilter(f"{shown}: an escape is one character, of a like")
        value, pattern = self.term(node.this), self.term(node.expression)
        done = matched(value, pattern, shown, escape=escape, ignores_case=isinstance(node, exp.ILike))
        return inverted(done, shown) if node.args.get("negate") and isinstance(node.parent, exp.Escape) else done

    def _column(self, node: exp.Column, shown: str) -> Term:
        first, *rest = cast("list[exp.Identifier]", node.parts)
        name = self._name(first)
        self.columns.add(name)
        found = Term(self.schema.field(name).type, lambda batch: batch[name], name, column=name)
        for part in rest:
            found = member(found, part.name, shown)
        return found

    def _name(self, part: exp.Identifier) -> str:
        """The column's name in the table; the case of letters counts only where it must."""
        written, names = part.name, list[str](self.schema.names)
        if written in names:
            return written
        alike = [name for name in names if name.lower() == written.lower()]
        if len(alike) == 1 and not part.args.get("quoted"):
            return alike[0]
        near = get_close_matches(written.lower(), [name.lower() for name in names], 1)
        meant = [f"did you mean {name}? It" for name in names if name.lower() in near][:1] or ["it"]
        raise BadFilter(f"{self.table} has no column {cut(written)}; {meant[0]} has {', '.join(names)}")

    def _constant(self, node: Any, shown: str) -> Term:
        match node:
            case exp.Literal() if node.is_string:
                return constant(pa.scalar(node.name), shown, node.name)
            case exp.Literal():
                return constant(_number(node.name, shown), shown)
            case exp.HexString():
                return constant(_bytes(node.name, shown), shown)
            case exp.Boolean():
                return constant(pa.scalar(bool(node.this)), shown)
            case exp.Interval():
                return constant(interval(node, shown), shown)
            case exp.Cast() if isinstance(node.this, exp.Literal) and node.to.this.name in TIMES:
                return self._time(node.this.name, shown)
            case exp.Cast():
                raise BadFilter(f"{shown}: only text is cast, to a time, as in timestamp '2026-11-16 12:00'")
        return constant(pa.scalar(None), shown)

    def _time(self, text: str, shown: str) -> Term:
        try:
            return constant(pa.scalar(moment(text, self.zone), pa.timestamp("us", "UTC")), shown)
        except (ValueError, OverflowError) as error:
            raise BadFilter(f"{shown}: {error}") from None

    def _call(self, node: Any, shown: str) -> Term:
        name = (node.name if isinstance(node, exp.Anonymous) else node.sql_name()).lower()
        if name == "now" and not node.expressions:
            return self._time("now", shown)
        given = list(node.iter_expressions())
        if name not in FUNCTIONS:
            raise BadFilter(f"{cut(name)}() is no function of filters; there are {', '.join(sorted(FUNCTIONS))}, now")
        return FUNCTIONS[name]([self.term(part) for part in given], self.zone, shown)

    def conditions(self, node: Any) -> Iterator[Condition]:
        """Comparisons of columns with constants that every wanted row meets."""
        match node:
            case exp.Paren():
                yield from self.conditions(node.this)
            case exp.And():
                for part in node.flatten():
                    yield from self.conditions(part)
            case exp.EQ() | exp.LT() | exp.LTE() | exp.GT() | exp.GTE():
                yield from self._condition(SIGNS[type(node)], *self._sides(node))
            case exp.Between():
                low, high = (self.term(node.args[name]) for name in ("low", "high"))
                yield from self._condition(">=", self.term(node.this), low)
                yield from self._condition("<=", self.term(node.this), high)
            case exp.In() if node.expressions:
                yield from self._listed(self.term(node.this), [self.term(item) for item in node.expressions])

    def _condition(self, sign: str, left: Term, right: Term) -> Iterator[Condition]:
        if right.column:
            left, right, sign = right, left, TURNED[sign]
        if not (left.column and right.is_constant):
            return
        fixed = fitted(left, right, self.zone, sign)[1]
        if (value := _python(fixed)) is not None:
            yield Condition(left.column, TURNED[TURNED[sign]], value)

    def _listed(self, left: Term, items: list[Term]) -> Iterator[Condition]:
        if left.column and all(item.is_constant for item in items):
            values = [_python(fitted(left, item, self.zone, "in")[1]) for item in items]
            if None not in values:
                yield Condition(left.column, "in", tuple(values))


def _python(term: Term) -> Any:
    """The value of a constant as a format's option takes it; None if it has no such value."""
    try:
        value = term.value.as_py()
    except (ValueError, OverflowError):  # datetime supports no year beyond 9999
        return None
    return int(value) if pa.types.is_decimal(term.type) and value is not None else value


def _number(text: str, shown: str) -> pa.Scalar:
    try:
        if not text.isdigit():
            return pa.scalar(float(text))
        value = int(text) if len(text) <= LONGEST_NUMBER else 10**LONGEST_NUMBER
        return pa.scalar(value, pa.int64() if value < 1 << 63 else WIDE)
    except (ValueError, pa.ArrowInvalid):
        raise BadFilter(f"{shown}: is too large a number") from None


def _bytes(text: str, shown: str) -> pa.Scalar:
    try:
        return pa.scalar(bytes.fromhex(text if len(text) % 2 == 0 else "0" + text))
    except ValueError:
        raise BadFilter(f"{shown}: is not hexadecimal") from None
