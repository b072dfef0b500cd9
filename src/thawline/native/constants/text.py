"""How the values of a column become text: what a node of a plan (`arrow.h`) is."""

from __future__ import annotations

# Ways to write bytes, in the order of `values.BYTES`.
BYTES_AUTO = 0
BYTES_HEX = 1
BYTES_BASE64 = 2
BYTES_UTF8 = 3

AS_UNKNOWN = 0
"""A type that plans do not have; its column is written by Python before."""
AS_NULL = 1
AS_BOOL = 2
AS_INTEGER = 3
AS_UNSIGNED = 4
AS_DOUBLE = 5
AS_WIDE = 6
"""A decimal of up to `WIDE_DIGITS` digits and no fraction, of 128 bits."""
AS_TIME = 7
AS_TEXT = 8
AS_TEXT_OR_BASE64 = 9
"""Bytes: text if they are UTF-8, else null, and the companion has them."""
AS_HEX = 10
AS_BASE64 = 11
AS_REPLACED = 12
"""Bytes as text, with a replacement character for what is not UTF-8."""
AS_LIST = 13
AS_STRUCT = 14
AS_WRITTEN = 15
"""Text that Python has written, to be copied as it is."""

WIDE_DIGITS = 20
"""`values.LONGEST_INTEGER`."""
WIDE_SIZE = 16
NARROW_OFFSETS = 4
WIDE_OFFSETS = 8
"""Bytes of an offset into text or lists."""
DEEPEST = 32
"""Levels of lists and structs that a plan may have."""
MOST_NAMES = 256
"""Fields of a struct inside of a column, whose names are compared with one another."""
MIDDLE_PLACES = 6
FINEST_PLACES = 9
"""Decimal places of a second, of microseconds and nanoseconds."""
COARSE_PLACES = 3
"""And of milliseconds."""
LOWEST_POWER = -292
HIGHEST_POWER = 324
"""Powers of ten that doubles need (`floats.h`)."""
