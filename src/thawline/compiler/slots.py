"""Which slots of a row a kernel writes, whatever it reads. A slot that is not written holds old memory."""

from __future__ import annotations

from collections.abc import Iterator

from thawline.compiler import ir
from thawline.engine.tables import Array, Table, arrays

Slot = tuple[tuple[str, ...], str]
"""A column by its path, and one of its arrays."""


def undefined(kernel: ir.Kernel) -> list[str]:
    """Arrays that some rows, or some items of their list, do not write."""
    needed = [it for it in arrays(Table("", "", kernel.columns, (), checksum=kernel.checksum)) if it.part != "data"]
    return sorted(
        ".".join((*it.path, it.part))
        for rows, body in (((), kernel.body), *_lists(kernel.body))
        for it in needed
        if it.path[:-1] == rows and _slot(it) not in _filled(body)
    )


def _slot(it: Array) -> Slot:
    return it.path, it.part


def _lists(body: list[ir.Statement]) -> Iterator[tuple[tuple[str, ...], list[ir.Statement]]]:
    """The lists that are read, each with what reads one item."""
    for statement in body:
        for inner in _blocks(statement):
            yield from _lists(inner)
        match statement:
            case ir.Loop(rows=ir.Rows(path)):
                yield path, statement.body


def _blocks(statement: ir.Statement) -> tuple[list[ir.Statement], ...]:
    match statement:
        case ir.When():
            return statement.body, statement.otherwise
        case ir.Elsewhere() | ir.Stream() | ir.Loop():
            return (statement.body,)
    return ()


def _filled(body: list[ir.Statement]) -> set[Slot]:
    """The slots that statements write on every path."""
    return {slot for statement in body for slot in _slots(statement)}


def _slots(statement: ir.Statement) -> set[Slot]:
    match statement:
        case ir.Store(rows, column, part):
            return {((*rows.path, column) if column else (), part)}
        case ir.Copy(rows, column):
            return {((*rows.path, column), "bytes")}
        case ir.Gather(rows, column):
            return {((*rows.path, column), part) for part in ("offset", "valid")[: 1 + statement.nullable]}
        case ir.When():
            return _filled(statement.body) & _filled(statement.otherwise)
        case ir.Elsewhere() | ir.Stream():
            return _filled(statement.body)
    return set()
