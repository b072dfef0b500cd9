"""Values of a kernel as source: expressions that C and Python evaluate to the same numbers."""

from __future__ import annotations

from collections.abc import Iterator

from thawline.compiler import ir
from thawline.compiler.bounds import bounds

WORD = 8
LITERAL = 1 << 31
"""Cython takes a literal from here on for a Python object, which needs the interpreter's lock."""


def words(contents: bytes) -> Iterator[str]:
    """Comparisons with the bytes at `pos`, as many at a time as a C literal holds."""
    for at in range(0, len(contents), WORD // 2):
        part = contents[at : at + WORD // 2]
        word = unsigned(len(part), is_big_endian=False, first=at)
        yield f"({word}) == {literal(int.from_bytes(part, 'little'))}"


def integer(read: ir.ReadInteger, first: int = 0) -> str:
    """An integer from the bytes at `pos`, or `first` bytes after it, by steps that do not overflow."""
    half = WORD // 2
    if read.size == WORD:
        high, low = (first, first + half) if read.is_big_endian else (first + half, first)
        upper = _signed(unsigned(half, read.is_big_endian, high), half)
        return f"{upper} * (one << {8 * half}) + ({unsigned(half, read.is_big_endian, low)})"
    value = unsigned(read.size, read.is_big_endian, first)
    return _signed(value, read.size) if read.is_signed else value


def _signed(value: str, size: int) -> str:
    """The value of unsigned bytes in two's complement."""
    sign = f"(one << {8 * size - 1})"
    return f"((({value}) ^ {sign}) - {sign})"


def unsigned(size: int, is_big_endian: bool, first: int = 0) -> str:  # noqa: FBT001 - of two byte orders
    """An unsigned integer from the bytes at `pos`; gcc makes one load of it."""
    places = reversed(range(size)) if is_big_endian else range(size)
    parts = [
        f"(cython.cast(cython.longlong, {_byte(first + at)}) << {8 * place})" if place else _byte(first + at)
        for at, place in enumerate(places)
    ]
    return " | ".join(parts)


def _byte(at: int) -> str:
    return f"buf[pos + {at}]" if at else "buf[pos]"


def literal(number: int) -> str:
    """A number."""
    if abs(number) < LITERAL:
        return str(number)
    # C has no literal for the most negative number, only a minus before a literal that is too large.
    return f"cython.cast(cython.longlong, {number})" if number > ir.LEAST else f"({literal(number + 1)} - 1)"


def within(value: ir.Value, size: str) -> str:
    """The condition that a length or an offset is not negative and at most `size`."""
    said = text(value)
    return f"{said} <= {size}" if bounds(value)[0] >= 0 else f"{said} >= 0 and {said} <= {size}"


def bare(value: ir.Value) -> str:
    """The text of a value that stands alone, without parentheses around it."""
    said = text(value)
    return said[1:-1] if isinstance(value, ir.Operation) else said


def text(value: ir.Value) -> str:
    """A value, in parentheses if it has operators."""
    match value:
        case ir.Constant(number):
            return literal(number)
        case ir.Variable(name):
            return name
        case ir.Operation("?", (condition, then, otherwise)):
            return f"({text(then)} if {text(condition)} else {text(otherwise)})"
        case ir.Operation(operator, (operand,)) if operator in ("-", "~", "not"):
            return f"({operator} {text(operand)})"
        case ir.Operation("<<", (operand, ir.Constant(places))) if bounds(operand)[0] < 0:
            # C does not define a left shift of a negative number.
            return f"({text(operand)} * {literal(1 << places)})"
        case ir.Operation(operator, operands):
            return "(" + f" {operator} ".join(text(operand) for operand in operands) + ")"
