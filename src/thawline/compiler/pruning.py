"""Statements that a probe needs: of a structure with a size of its own, nothing after the last rule that counts."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import fields, replace

from thawline.compiler import ir
from thawline.engine.tables import Failure

Rule = tuple[str, str]
"""A field by the id of its spec and its path there."""


def pruned(body: list[ir.Statement], listed: set[Rule], proof: ir.Proof | None) -> list[ir.Statement]:
    """The statements of a unit that some fields need. All of its own remain, since they tell where it ends."""
    used = set(_names(proof)) if proof else set[str]()
    return _kept(body, listed, used, is_open=False)


def mentioned(body: Sequence[object]) -> set[str]:
    """The variables of statements, or of values."""
    return set(_names(list(body)))


def _kept(body: list[ir.Statement], listed: set[Rule], used: set[str], *, is_open: bool) -> list[ir.Statement]:
    """The statements without unused ones at the end, if the end is open; `used` gets the variables they use."""
    kept: list[ir.Statement] = []
    for statement in reversed(body):
        if is_open and not kept and not (_counts(statement, listed) or _defined(statement) & used):
            continue
        if isinstance(statement, ir.Stream):
            statement = replace(statement, body=_kept(statement.body, listed, used, is_open=True))  # noqa: PLW2901 - the same
        used |= set(_names(statement))
        kept.append(statement)
    return kept[::-1]


def _counts(statement: ir.Statement, listed: set[Rule]) -> bool:
    """Whether a statement checks a rule, or reads a field that is listed."""
    read = statement.take if isinstance(statement, ir.Stream) else statement
    failure: Failure | None = getattr(read, "failure", None)
    if isinstance(statement, ir.Check | ir.Expect) or (failure and (failure.spec, failure.path) in listed):
        return True
    return any(_counts(inner, listed) for inner in _inner(statement))


def _inner(statement: ir.Statement) -> list[ir.Statement]:
    match statement:
        case ir.When():
            return [*statement.body, *statement.otherwise]
        case ir.Elsewhere() | ir.Stream() | ir.Loop():
            return statement.body
    return []


def _defined(statement: ir.Statement) -> set[str]:
    """The variables that a statement sets."""
    match statement:
        case ir.ReadInteger(target) | ir.ReadBits(target) | ir.ReadZigzag(target) | ir.ReadDecimal(target):
            own = {target.name}
        case ir.Assign(target):
            own = {target.name}
        case ir.Take(start):
            own = {start.name}
        case ir.TakeUntil(start, length):
            own = {start.name, length.name}
        case ir.Stream(take, end):
            own = {take.start.name, end.name}
        case _:
            own = set()
    return own.union(*map(_defined, _inner(statement)))


def _names(part: object) -> Iterator[str]:
    """The variables in a statement or a value."""
    if isinstance(part, ir.Variable):
        yield part.name
    elif isinstance(part, list | tuple):
        for item in part:
            yield from _names(item)
    elif hasattr(part, "__dataclass_fields__") and not isinstance(part, ir.Constant):
        for item in fields(part):  # type: ignore[arg-type]
            yield from _names(getattr(part, item.name))
