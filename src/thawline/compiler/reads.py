"""Single values: the statements that read and check an integer, bits, bytes, a varint, and store it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from thawline.compiler import ir
from thawline.compiler.bounds import bounds
from thawline.compiler.building import Builder
from thawline.compiler.resolution import Entry, Scope, Token
from thawline.compiler.rules import check_integer, check_structure
from thawline.compiler.stores import store_slice, store_value
from thawline.compiler.subset import BITS, Attribute
from thawline.engine.tables import Kind
from thawline.ksy.documents import contents_bytes
from thawline.ksy.names import inherited

SIGNED_KINDS: dict[int, Kind] = {8: "int8", 16: "int16", 32: "int32", 64: "int64"}
"""Spark has no unsigned integers, so an unsigned field becomes the next wider signed column."""
WIDEST_BITS = 32
BACKSLASH = 0x5C
LARGEST_BYTE = 0xFF


def column_kind(value: ir.Value) -> Kind:
    """The narrowest column that holds every value."""
    low, high = bounds(value)
    return next(kind for bits, kind in SIGNED_KINDS.items() if -(1 << bits - 1) <= low and high < 1 << bits - 1)


def read_contents(build: Builder, attribute: Attribute, scope: Scope) -> None:
    """Bytes that are required here. They are not a column."""
    attribute.is_only("fixed contents")
    contents = contents_bytes(attribute.data["contents"])
    if not contents:
        raise attribute.error("contents are empty", "contents")
    too_short, differ = attribute.failure("end of data"), attribute.failure("contents differ")
    build.add(ir.Expect(contents, too_short, differ, scope.end))


def read_integer(build: Builder, attribute: Attribute, scope: Scope, type_: str) -> ir.Variable:
    """An integer of one, two, four or eight bytes."""
    attribute.is_only("an integer")
    is_signed, size = type_[0] == "s", int(type_[1])
    most = (1 << 8 * size) - 1
    target = build.variable(attribute.name, limits=(~(most >> 1), most >> 1) if is_signed else (0, most))
    is_big = size > 1 and _endian(attribute, type_[2:]) == "be"
    build.add(ir.ReadInteger(target, size, is_signed, is_big, attribute.failure("end of data"), scope.end))
    kind = column_kind(target)
    _name(scope, attribute, target)
    target = check_integer(build, attribute, scope, target, ir.minus(ir.POSITION, ir.Constant(size)))
    store_value(build, scope, attribute, kind, target)
    return target


def _name(scope: Scope, attribute: Attribute, entry: Entry) -> None:
    """Let the field's own rule use its name, which for a repeated field would be the list."""
    if scope.item_of != attribute.name:
        scope.names[attribute.name] = entry


def _endian(attribute: Attribute, suffix: str) -> str:
    endian = suffix or inherited(attribute.owner, "endian")
    if endian not in ("be", "le"):
        raise attribute.error("an integer needs `meta/endian` to be le or be", "type")
    return str(endian)


def bit_fields(pending: list[Attribute]) -> list[Attribute]:
    """The leading bit fields of the remaining fields, up to the first that ends on a whole byte."""
    run, total = [], 0
    for attribute in pending:
        found = BITS.fullmatch(str(attribute.data.get("type")))
        if not found or "contents" in attribute.data:
            break
        attribute.is_only("a bit field")
        run.append(attribute)
        total += int(found[1])
        if total % 8 == 0:
            return run
    if run:
        raise run[0].error("bit fields must fill whole bytes")
    return run


def read_bits(build: Builder, run: list[Attribute], scope: Scope) -> None:
    """Bit fields that share their bytes, most significant bit first."""
    widths = [int(attribute.data["type"][1:]) for attribute in run]
    if inherited(run[0].owner, "bit-endian") == "le":
        raise run[0].error("bit fields must be big-endian", "type")
    if sum(widths) > WIDEST_BITS:
        raise run[0].error(f"bit fields that share their bytes must fit {WIDEST_BITS} bits", "type")
    word = build.variable("bits", limits=(0, (1 << sum(widths)) - 1))
    before = 0
    for attribute, width in zip(run, widths, strict=True):
        _read_bit_field(build, attribute, scope, word, (before, before + width))
        before += width


def _read_bit_field(
    build: Builder, attribute: Attribute, scope: Scope, word: ir.Variable, place: tuple[int, int]
) -> None:
    first, after = place
    read, wanted = (first + 7) // 8, (after + 7) // 8
    if wanted > read:
        build.add(ir.ReadBits(word, wanted - read, read > 0, attribute.failure("end of data"), scope.end))
    left_over = ir.Constant(8 * wanted - after)
    shifted = ir.Operation(">>", (word, left_over), "int") if left_over.value else word
    bits: ir.Value = ir.Operation("&", (shifted, ir.Constant((1 << after - first) - 1)), "int")
    is_flag = after - first == 1 and "enum" not in attribute.data
    kind: Kind = "bool" if is_flag else column_kind(bits)
    target = build.assign(attribute.name, ir.compare("!=", bits, ir.Constant(0)) if is_flag else bits)
    at = ir.minus(ir.POSITION, ir.Constant(wanted - first // 8))
    _name(scope, attribute, target)
    target = scope.names[attribute.name] = check_integer(build, attribute, scope, target, at)
    kept = replace(scope, rows=None) if attribute.hints.get("column") is False else scope
    store_value(build, kept, attribute, kind, target)


def read_bytes(build: Builder, attribute: Attribute, scope: Scope) -> None:
    """Bytes by size, to the end of the structure, or up to a terminator."""
    if "terminator" in attribute.data:
        attribute.is_only("bytes up to a terminator")
        taken: ir.Take | ir.TakeUntil = _take_until(build, attribute, scope, ir.Constant(_terminator(attribute)))
    else:
        attribute.is_only("bytes by size")
        taken = take(build, attribute, scope)
    build.add(taken)
    check_structure(build, attribute, scope, None, taken.start)
    if attribute.data.get("size") != 0:
        store_slice(build, scope, attribute, _bytes_kind(attribute), taken)


def _terminator(attribute: Attribute) -> int:
    terminator = attribute.data["terminator"]
    if not isinstance(terminator, int) or not 0 <= terminator <= LARGEST_BYTE:
        raise attribute.error("a terminator must be one byte", "terminator")
    return terminator


def _bytes_kind(attribute: Attribute) -> Kind:
    if {"text", "base64"} <= attribute.hints.keys():
        raise attribute.error("bytes are either text or base64", "-columnar")
    return "text" if "text" in attribute.hints else "base64" if "base64" in attribute.hints else "binary"


def take(build: Builder, attribute: Attribute, scope: Scope) -> ir.Take:
    """Bytes of the attribute's size."""
    start = build.place(f"{attribute.name}_start")
    length = build.fixed(f"{attribute.name}_length", _size(build, attribute, scope))
    least = max(bounds(length)[0], 0)
    return ir.Take(start, length, attribute.failure("does not fit"), scope.end, least)


def _size(build: Builder, attribute: Attribute, scope: Scope) -> ir.Value:
    if attribute.data.get("size-eos"):
        return ir.minus(scope.end, ir.POSITION)
    if "size" not in attribute.data:
        raise attribute.error("bytes need a size, size-eos or a terminator")
    return build.integer(attribute, scope, attribute.data["size"], "size")


def _take_until(
    build: Builder, attribute: Attribute, scope: Scope, terminator: ir.Value, *, has_escapes: bool = False
) -> ir.TakeUntil:
    start, length = build.place(f"{attribute.name}_start"), build.variable(f"{attribute.name}_length")
    escapes = build.variable(f"{attribute.name}_escapes", limits=(0, 1)) if has_escapes else None
    failure = attribute.failure("terminator is missing")
    return ir.TakeUntil(start, length, terminator, escapes, failure, scope.end)


def read_intrinsic(
    build: Builder, attribute: Attribute, scope: Scope, hints: Mapping[str, Any], arguments: str
) -> Entry | None:
    """A varint, a decimal number or an escaped token."""
    if hints["intrinsic"] == "escaped":
        _read_escaped(build, attribute, scope, arguments)
        return None
    attribute.is_only("a number of its own type")
    at = build.assign(f"{attribute.name}_at", ir.POSITION)
    if hints["intrinsic"] == "zigzag":
        limit = 1 << hints["bits"] - 1
        target = build.variable(attribute.name, limits=(-limit, limit - 1))
        build.add(ir.ReadZigzag(target, at, hints["bits"], attribute.failure("no varint"), scope.end))
    else:
        target = build.variable(attribute.name)
        build.add(ir.ReadDecimal(target, at, hints["terminator"], attribute.failure("no decimal number"), scope.end))
    _name(scope, attribute, Token(target))
    token = check_structure(build, attribute, scope, Token(target), at)
    store_value(build, scope, attribute, column_kind(target), target)
    return token


def _read_escaped(build: Builder, attribute: Attribute, scope: Scope, argument: str) -> None:
    attribute.is_only("an escaped token")
    terminator = build.integer(attribute, scope, argument, "type")
    if bounds(terminator)[0] <= BACKSLASH <= bounds(terminator)[1]:
        raise attribute.error("a token's terminator must not be its escape, the backslash", "type")
    terminator = build.fixed(f"{attribute.name}_terminator", terminator)
    taken = _take_until(build, attribute, scope, terminator, has_escapes=True)
    build.add(taken)
    store_slice(build, scope, attribute, "escaped", taken)
