"""The least and the largest value of an expression, so that 64-bit integers agree with Kaitai's unbounded ones."""

from __future__ import annotations

import operator
from dataclasses import replace

from thawline.compiler import ir
from thawline.compiler.expressions import ExpressionError

Bounds = tuple[int, int]

MONOTONE = {"+": operator.add, "-": operator.sub, "*": operator.mul, "<<": operator.lshift, ">>": operator.rshift}
"""Operators whose result is extreme only where their operands are."""


def bounds(value: ir.Value) -> Bounds:
    """The smallest and the largest number a value can be."""
    match value:
        case ir.Constant(number):
            return number, number
        case ir.Variable():
            return value.low, value.high
        case ir.Operation(type="bool"):
            return 0, 1
        case ir.Operation("?", (_, then, otherwise)):
            return _hull(bounds(then), bounds(otherwise))
        case ir.Operation(sign, (operand,)):
            low, high = bounds(operand)
            return (-high, -low) if sign == "-" else (~high, ~low)
        case ir.Operation(sign, (left, right)):
            return _binary(sign, bounds(left), bounds(right))
    raise AssertionError(value)


def _hull(left: Bounds, right: Bounds) -> Bounds:
    return min(left[0], right[0]), max(left[1], right[1])


def _binary(sign: str, left: Bounds, right: Bounds) -> Bounds:
    if sign in MONOTONE:
        corners = [MONOTONE[sign](a, b) for a in left for b in right]
        return min(corners), max(corners)
    if sign == "%":
        return 0, right[1] - 1
    masks = [high for low, high in (left, right) if low >= 0]
    if sign == "&" and masks:
        return 0, min(masks)
    most = (1 << max(number.bit_length() for number in (*left, *right))) - 1
    return 0 if len(masks) == len((left, right)) else ~most, most


def fitting(value: ir.Value) -> ir.Value:
    """The value itself; refused if it may exceed 64 bits, where C and Python differ."""
    low, high = bounds(value)
    if isinstance(value, ir.Constant) and not ir.LEAST <= low <= ir.MOST:
        raise ExpressionError(f"{low} does not fit 64 bits")
    if low < ir.LEAST or high > ir.MOST:
        raise ExpressionError("a number may not fit 64 bits here; bound the field it comes from with `valid`")
    return value


def narrowed(variable: ir.Variable, condition: ir.Value) -> ir.Variable:
    """The variable with the bounds that it has if the condition holds."""
    low, high = _held(variable, condition)
    return replace(variable, low=max(low, variable.low), high=min(high, variable.high))


def _held(variable: ir.Variable, condition: ir.Value) -> Bounds:
    match condition:
        case ir.Operation("and", parts):
            each = [_held(variable, part) for part in parts]
            return max(low for low, _ in each), min(high for _, high in each)
        case ir.Operation("or", parts) if parts:
            each = [_held(variable, part) for part in parts]
            return min(low for low, _ in each), max(high for _, high in each)
        case ir.Operation(sign, (left, right)) if left == variable:
            low, high = bounds(right)
            allowed = {"==": (low, high), ">=": (low, ir.MOST), ">": (low + 1, ir.MOST)}
            return (allowed | {"<=": (ir.LEAST, high), "<": (ir.LEAST, high - 1)}).get(sign, (ir.LEAST, ir.MOST))
    return ir.LEAST, ir.MOST
