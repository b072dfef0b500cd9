"""A value of a column, from the text that a person wrote for it."""

from __future__ import annotations

import datetime as dt
import re

import pyarrow as pa

from thawline.times import moment

TRUE, FALSE = frozenset({"true", "yes", "1"}), frozenset({"false", "no", "0"})
LONGEST_NUMBER = 40
"""Letters of a number: more than 38 digits fit no column, and Python takes quadratic time for them."""


def value_of(text: str, field: pa.Field, zone: dt.tzinfo = dt.UTC) -> pa.Scalar:
    """A value of a column, from text; ValueError names what is accepted.

    >>> value_of("0x100", pa.field("tag", pa.int64())).as_py()
    256
    """
    kind = field.type
    try:
        if pa.types.is_boolean(kind):
            return pa.scalar(_flag(text))
        if pa.types.is_integer(kind) or (pa.types.is_decimal(kind) and kind.scale == 0):
            return pa.scalar(_number(text), kind)
        if pa.types.is_floating(kind):
            return pa.scalar(_real(text), kind)
        if pa.types.is_binary(kind):
            return pa.scalar(bytes.fromhex(text[2:]) if re.match("0[xX]", text) else text.encode())
        if pa.types.is_string(kind):
            return pa.scalar(text)
        if pa.types.is_timestamp(kind):
            return pa.scalar(moment(text, zone)).cast(kind)
    except (ValueError, OverflowError) as error:
        raise ValueError(f"{field.name} is {kind}, and {text!r} is no such value: {error}") from error
    raise ValueError(f"{field.name} is {kind}; rows cannot be chosen by it")


def _flag(text: str) -> bool:
    if text.lower() not in TRUE | FALSE:
        raise ValueError("write true or false")
    return text.lower() in TRUE


def _real(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise ValueError("write a number, such as 2.5") from None


def _number(text: str) -> int:
    if len(text) > LONGEST_NUMBER:
        raise ValueError("it is too long for a number")
    try:
        return int(text, 0)
    except ValueError:
        raise ValueError("write a whole number, such as 5 or 0x5") from None
