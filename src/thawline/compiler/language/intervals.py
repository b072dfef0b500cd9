"""Between which limits the result of arithmetic is."""

from __future__ import annotations

from collections.abc import Callable

from thawline.compiler.language.kinds import LEAST, MOST, UNBOUNDED, Int

MOST_SHIFTED = 4096


def arithmetic(operator: str, operands: list[Int]) -> Int:
    """The limits of what an operator gives."""
    if len(operands) == 1:
        only = operands[0]
        return Int(-only.high, -only.low) if operator == "-" else Int(~only.high, ~only.low)
    return _limited(OPERATORS[operator](operands[0], operands[1]))


def _limited(found: Int) -> Int:
    return Int(max(found.low, -UNBOUNDED), min(found.high, UNBOUNDED))


def _corners(compute: Callable[[int, int], int], left: Int, right: Int) -> Int:
    found = [compute(a, b) for a in (left.low, left.high) for b in (right.low, right.high)]
    return Int(min(found), max(found))


def _divided(left: Int, right: Int) -> Int:
    most = max(abs(left.low), abs(left.high))
    if right.low > 0:
        return Int(min(left.low // right.low, left.low // right.high), max(left.high // right.low, 0))
    return Int(-most, most)


def _remainder(_: Int, right: Int) -> Int:
    return Int(min(right.low + 1, 0), max(right.high - 1, 0))


def _and(left: Int, right: Int) -> Int:
    if left.low >= 0 and right.low >= 0:
        return Int(0, min(left.high, right.high))
    if left.low >= 0 or right.low >= 0:
        return Int(0, left.high if left.low >= 0 else right.high)
    return _bits(left, right)


def _bits(left: Int, right: Int) -> Int:
    """All numbers of as many bits as the operands have."""
    size = max(value.bit_length() for limits in (left, right) for value in (limits.low, limits.high))
    least = 0 if left.low >= 0 and right.low >= 0 else -(1 << size)
    found = Int(least, (1 << size) - 1)
    return Int(max(found.low, LEAST), min(found.high, MOST)) if left.is_word and right.is_word else found


def _left(left: Int, right: Int) -> Int:
    if right.low < 0 or right.high > MOST_SHIFTED or abs(left.low) >= UNBOUNDED or left.high >= UNBOUNDED:
        return Int(0 if left.low >= 0 else -UNBOUNDED, UNBOUNDED)
    return _corners(lambda a, b: a << b, left, right)


def _right(left: Int, right: Int) -> Int:
    if right.low < 0 or right.high > MOST_SHIFTED:
        return Int(min(left.low, 0), max(left.high, 0))
    return _corners(lambda a, b: a >> b, left, right)


OPERATORS: dict[str, Callable[[Int, Int], Int]] = {
    "+": lambda left, right: Int(left.low + right.low, left.high + right.high),
    "-": lambda left, right: Int(left.low - right.high, left.high - right.low),
    "*": lambda left, right: _corners(lambda a, b: a * b, left, right),
    "/": _divided,
    "%": _remainder,
    "&": _and,
    "|": _bits,
    "^": _bits,
    "<<": _left,
    ">>": _right,
}
