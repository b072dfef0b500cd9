"""What memory held before is never read: kernels leave a value in every slot, and nobody computes with one that is not.

Memory that comes back from an earlier chunk holds anything. A record without a set has no place where its set starts;
whoever computes with that place all the same reads outside of the file.
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from backups import HEADER, Lines, keyed, numbered
from inputs import golden_inputs
from thawline.generated.kernels.tables import TABLES

import thawline
from thawline import native
from thawline.compiler import ir
from thawline.compiler.slots import undefined
from thawline.engine import kernels
from thawline.engine.chunks import Places, Ranges
from thawline.engine.columns import MAX_BYTES, MAX_ROWS
from thawline.engine.tables import Column
from tools.filled import PATTERNS, filled

each_pattern = pytest.mark.parametrize("pattern", PATTERNS)
ODD_RECORDS = {
    "no key": numbered(1),
    "no key and no set": Lines(found_set=b"").data(),
    "no set": Lines(found_set=b"", key=b"I 7").data(),
    "no bins": Lines(()).data(),
    "nil": numbered(1, b"- N a"),
    "integer": numbered(1, b"- I a 5"),
    "double": numbered(1, b"- D a 0.5"),
    "broken double": numbered(1, b"- D a 0x1"),
    "boolean": numbered(1, b"- Z a T"),
    "escapes": Lines(namespace=rb"a\ b", found_set=rb"c\ d").data(),
    "a key": keyed(1),
    "a wrong key": keyed(1).replace(b"user1", b"user2"),
}
"""Records in which something is not there that others have."""


def nullable(found: tuple[Column, ...], above: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
    """Paths of the columns of bytes that a row may lack."""
    for column in found:
        path = (*above, column.name)
        if column.nullable and column.kind in ("binary", "text", "escaped", "base64"):
            yield path
        yield from nullable(column.items, path)


@each_pattern
@pytest.mark.parametrize("name", [name for name, table in TABLES.items() if any(nullable(table.columns))])
def test_a_value_that_is_not_there_starts_at_zero(name: str, pattern: str) -> None:
    table, seen = TABLES[name], 0
    for given in golden_inputs(name):
        ranges, limits = Ranges.of([(0, len(given.data), given.count)]), (MAX_ROWS, MAX_BYTES)
        with filled(pattern):
            found = next(kernels.places(table, memoryview(given.data), ranges, table.columns, limits), None)
        if not isinstance(found, Places):
            continue
        for path in nullable(table.columns):
            count = found.items.get(path[:-1], found.rows)
            lengths, starts = (found.arrays[path, part][:count] for part in ("length", "start"))
            absent = [start for start, length in zip(starts, lengths, strict=True) if length == -1]
            assert absent == [0] * len(absent), path
            seen += len(absent)
    assert seen


@each_pattern
@pytest.mark.parametrize("odd", ODD_RECORDS)
def test_what_memory_held_before_changes_no_verdict(odd: str, pattern: str) -> None:
    if not native.is_compiled:
        pytest.skip("the plain parsers have no such memory")
    data = HEADER + numbered(0) + ODD_RECORDS[odd] + keyed(2)
    expected = thawline.open(data, "aerospike").verify()
    with filled(pattern):
        assert thawline.open(data, "aerospike").verify() == expected


def test_a_kernel_that_leaves_a_slot_of_some_rows_is_not_generated() -> None:
    rows, column = ir.Rows(), Column("set", "escaped", ("set",), nullable=True)
    length = [ir.Store(rows, "set", "length", ir.Constant(-1))]
    both: list[ir.Statement] = [ir.Store(rows, "set", "start", ir.Constant(7)), *length]
    when = ir.When(ir.Constant(1, "bool"), both, [*length])
    assert undefined(ir.Kernel("t", "t", [when], (column,), None, ())) == ["set.start"]
    whole = ir.When(ir.Constant(1, "bool"), both, both)
    assert undefined(ir.Kernel("t", "t", [whole], (column,), None, ())) == []


def test_a_kernel_that_leaves_a_slot_of_some_items_is_not_generated() -> None:
    items = ir.Rows(("bins",))
    column = Column("bins", "list", ("bins",), items=(Column("count", "int64", ("count",)),))
    loop = ir.Loop(ir.Constant(1), ir.Variable("turn"), items)
    body: list[ir.Statement] = [loop, ir.Store(ir.Rows(), "bins", "value", ir.Constant(0))]
    kernel = ir.Kernel("t", "t", body, (column,), None, ())
    assert undefined(kernel) == ["bins.count.value"]
    loop.body.append(ir.Store(items, "count", "value", ir.Constant(0)))
    assert undefined(kernel) == []
