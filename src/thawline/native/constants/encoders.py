"""The protocol of encoders: what they return, slots of their state, and characters of their codings."""

from __future__ import annotations

ENCODE_DONE = 0
ENCODE_FULL = 1
"""The next row has no room."""
ENCODE_REFUSED = 2

# Slots of the state. It describes the row at which the encoder stopped.
ENCODED_ROW = 0
ENCODED_AT = 1
"""How many bytes are written, or measured."""
ENCODED_NEEDED = 2
"""How many bytes there have to be for the next row to have room."""
ENCODED_REFUSAL = 3
ENCODED_SLOTS = 4

VARINT_BITS = 7
VARINT_MORE = 128
"""The bit of a varint's byte that says that another follows."""
BASE64_GROUP, BASE64_DIGITS, BASE64_BITS = 3, 4, 6
BASE64_SMALL, BASE64_NUMBERS, BASE64_PLUS, BASE64_SLASH = 26, 52, 62, 63
"""Where the small letters, the digits and the two signs of the alphabet start."""
TEN = 10
"""The base of decimal numbers."""
