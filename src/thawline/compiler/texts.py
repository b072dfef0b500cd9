"""Values as Python source that Cython compiles to C's 64-bit integers."""

from __future__ import annotations

from thawline.compiler import ir
from thawline.compiler.bounds import bounds

LITERAL = 1 << 31
"""Cython takes a literal from here on for a Python object, which needs the interpreter's lock."""


def literal(number: int) -> str:
    """An integer."""
    if abs(number) < LITERAL:
        return str(number)
    # C has no literal for the most negative number, only a minus before a literal that is too large.
    return f"cython.cast(cython.longlong, {number})" if number > ir.LEAST else f"({literal(number + 1)} - 1)"


def bare(value: ir.Value) -> str:
    """The text of a value that stands alone, without parentheses around it."""
    shown = text(value)
    return shown[1:-1] if isinstance(value, ir.Operation) else shown


def text(value: ir.Value) -> str:
    """The text of a value that may be part of another."""
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
