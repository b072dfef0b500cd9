"""Values of expressions: numbers, texts and items, each with its bound."""

from __future__ import annotations

import cython


@cython.cfunc
def o(value: object) -> object:
    """A number with which Python computes, not C."""
    return value


@cython.cfunc
def whole(value: object) -> object:
    """A number, unless it has more digits than any number in a file."""
    if -0x7FFFFFFF < value < 0x7FFFFFFF:
        return value
    if value.bit_length() > MAX_BITS:
        raise Stop("value", f"a number has more than {MAX_BITS} bits")
    return value


@cython.cfunc
def shifted(value: object, by: object) -> object:
    if by > MAX_BITS:
        raise Stop("value", f"a number is shifted by {by} bits")
    return whole(value << by)


@cython.cfunc
def joined(left: object, right: object) -> object:
    if len(left) + len(right) > MAX_TEXT:
        raise Stop("value", f"a text has more than {MAX_TEXT} characters")
    return left + right


@cython.cfunc
def number_of(text: object, base: cython.int) -> object:
    try:
        return int(text, base)
    except ValueError:
        raise Stop("value", f"{text[:40]!r} is no number") from None


@cython.cfunc
def item_of(items: object, index: object) -> object:
    if index >= len(items) or index < -len(items):
        raise Stop("value", f"there is no item {index} among {len(items)}")
    return items[index]


@cython.cfunc
def text_of(value: object) -> object:
    """A number as text."""
    return str(value)


@cython.cfunc
def sized(items: object) -> cython.longlong:
    if items is None:
        raise Stop("value", "a list that is not there has no size")
    return len(items)


@cython.cfunc
def invalid(kind: str, reason: str, value: object) -> object:
    shown = value if isinstance(value, int | float | str | bytes) else type(value).__name__
    raise Stop(kind, f"{reason}: {shown!r:.80}")


@cython.cfunc
def absent(name: str) -> object:
    raise Stop("value", f"{name} is not there")


@cython.cfunc
def fitted(value: object, low: object, high: object) -> object:
    """An argument, which must be as its parameter says."""
    if not low <= value <= high:
        raise Stop("value", f"the argument {value} is not between {low} and {high}")
    return value
