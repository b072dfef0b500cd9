"""From a spec type to the statements of its encoder, the inverse of its kernel.

A row is planned first: what is given is loaded, what the spec fixes is known. Then it is settled which fields are
there, sizes are added up from the inside to the outside, and lengths and counts follow from them. At last rules are
checked, so that what `valid` refuses is not written, and the fields are written in their order.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import nullcontext
from dataclasses import replace
from typing import Any

from thawline.compiler import encoder_ir as er
from thawline.compiler import ir
from thawline.compiler.encoder_nodes import Bits, Choice, Contents, Items, Node, Number, Repeated, Slice, Structure
from thawline.compiler.encoder_plan import Planner
from thawline.compiler.encoder_rules import Rules
from thawline.compiler.encoder_sizes import Sizes
from thawline.compiler.encoder_work import Work
from thawline.compiler.resolution import Scope
from thawline.ksy.documents import Spec, TypeDef


def encoder_of(name: str, type_: TypeDef, specs: Mapping[str, Spec]) -> er.Encoder:
    """The encoder of a table: columns to consecutive occurrences of a type."""
    return _Encoding(specs).encoder(name, type_)


def frame_of(name: str, type_: TypeDef, specs: Mapping[str, Spec]) -> er.Encoder:
    """The encoder of one occurrence around its parts; of all its bytes, if it has lists, tokens or lines."""
    encoder = _Encoding(specs, is_frame=True).encoder(name, type_)
    return encoder if _has_parts(encoder) else _Encoding(specs, is_frame=True, is_whole=True).encoder(name, type_)


def _has_parts(encoder: er.Encoder) -> bool:
    """Whether what is written around the parts of a structure does not depend on their bytes, but for a checksum."""
    is_summed = any(isinstance(it, er.PutChecksum) for it in encoder.written)
    kinds = {column.kind for column in encoder.columns}
    if kinds & {"list", "escaped", "base64"} or any(isinstance(it, er.PutNumber) for it in encoder.written):
        return False
    return not (is_summed and any(column.nullable for column in encoder.columns)) and not any(
        isinstance(it, er.FindByte) for it in encoder.measured
    )


class _Encoding:
    """One type, stage by stage."""

    def __init__(self, specs: Mapping[str, Spec], *, is_frame: bool = False, is_whole: bool = False) -> None:
        self.work = Work(specs, is_frame=is_frame, is_whole=is_whole)
        self.build = self.work.build
        self.planner, self.sizes, self.rules = Planner(self.work, self._group), Sizes(self.work), Rules(self.work)

    def encoder(self, name: str, type_: TypeDef) -> er.Encoder:
        build = self.build
        scope = Scope(type_, None, None, ir.END, ir.Rows(), [], "", (), build.depth)
        nodes, size = self._group(scope, lambda: self.planner.plan(scope))
        written: list[ir.Statement] = []
        with build.inside(written):
            self._write(nodes)
            for statement in self.work.sums:
                self.work.add(statement)
        measured: Any = build.block
        made: Any = written
        return er.Encoder(
            name, type_.title, tuple(scope.columns), tuple(self.work.hidden), measured, size, made,
            tuple(build.variables), self.work.rules, self.work.is_whole,
        )  # fmt: skip

    def _group(self, scope: Scope, plan: Callable[[], list[Node]]) -> tuple[list[Node], ir.Value]:
        """All fields of a row or of an item: loaded, settled, measured and checked. Returns them, and their size."""
        nodes = plan()
        self.sizes.settle(nodes)
        size = self.sizes.searched(nodes, scope)
        self.rules.check(nodes)
        self.rules.check_given(nodes)
        return nodes, size

    def _write(self, nodes: list[Node]) -> None:
        """All fields in their order."""
        for node in nodes:
            is_part = isinstance(node, Slice) and node.is_part  # has a place in a frame, whether it is there or not
            with nullcontext() if is_part else self.work.there(node):
                self._write_node(node)

    def _write_node(self, node: Node) -> None:
        match node:
            case Contents():
                self.work.add(er.PutContents(node.data))
            case Choice():
                self._write_choice(node)
            case Number():
                self._write_number(node)
            case Bits():
                self.work.add(
                    er.PutInteger(_packed(node), sum(it.width for it in node.members) // 8, is_big_endian=True)
                )
            case Slice():
                assert node.scope.rows is not None  # noqa: S101 - as for every column
                put = er.PutSlice(node.scope.rows, node.column, node.length, node.terminator, node.is_part)
                self.work.add(put)
            case Structure():
                if node.start is not None:
                    self.work.add(er.Mark(node.start))
                self._write(node.nodes)
            case Items():
                self._write_items(node)
            case Repeated():
                with self.build.loop(node.count, None):
                    self._write(node.item.nodes)

    def _write_choice(self, node: Choice) -> None:
        with self.build.when(node.flag):
            self.work.add(er.PutContents(node.word))
        with self.build.when(ir.Operation("not", (node.flag,), "bool")):
            self.work.add(er.PutContents(node.otherwise))

    def _write_number(self, node: Number) -> None:
        if node.place is not None:
            self.work.add(er.Mark(node.place))
            self.work.add(er.PutInteger(ir.Constant(0), node.width, node.is_big_endian))
        elif node.coding == "integer":
            is_determined = node.origin is not None
            self.work.add(er.PutInteger(node.variable, node.width, node.is_big_endian, is_determined))
        else:
            coding: er.Number = "zigzag" if node.coding == "zigzag" else "decimal"
            self.work.add(er.PutNumber(coding, node.variable, node.terminator))

    def _write_items(self, node: Items) -> None:
        """The items, each of which is measured again: its lengths are not kept."""
        body: list[ir.Statement] = _unchecked(node.measured)
        with self.build.inside(body):
            self._write(node.nodes)
        made: Any = body
        self.work.add(er.Items(node.rows, made))


def _packed(node: Bits) -> ir.Value:
    word: ir.Value = ir.Constant(0)
    left = sum(member.width for member in node.members)
    for member in node.members:
        left -= member.width
        value: ir.Value = replace(member.variable, type="int")
        value = ir.Operation("<<", (value, ir.Constant(left)), "int") if left else value
        word = value if word == ir.Constant(0) else ir.Operation("|", (word, value), "int")
    return word


def _unchecked(statements: list[ir.Statement]) -> list[ir.Statement]:
    """The statements without their checks, which hold already."""
    kept: list[ir.Statement] = []
    for statement in statements:
        match statement:
            case ir.Check() | er.FindByte() | er.Compare():
                continue
            case ir.When(condition, body, otherwise):
                kept.append(ir.When(condition, _unchecked(body), _unchecked(otherwise)))
            case _:
                kept.append(statement)
    return kept
