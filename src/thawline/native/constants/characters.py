"""Characters of ASCII, and the bounds of UTF-8 and UTF-16."""

from __future__ import annotations

NUL = 0
BACKSPACE = 8
TAB = 9
LINE_FEED = 10
FORM_FEED = 12
CARRIAGE_RETURN = 13
SPACE = 32
"""The first that is not a control character."""
QUOTE = 34
PLUS = 43
COMMA = 44
MINUS = 45
POINT = 46
SLASH = 47
DIGIT_0 = 48
DIGIT_9 = 57
COLON = 58
EQUALS = 61
UPPER_A = 65
UPPER_E = 69
UPPER_F = 70
UPPER_I = 73
UPPER_N = 78
OPENING_BRACKET = 91
BACKSLASH = 92
CLOSING_BRACKET = 93
LOWER_A = 97
LOWER_B = 98
LOWER_E = 101
LOWER_F = 102
LOWER_I = 105
LOWER_L = 108
LOWER_N = 110
LOWER_R = 114
LOWER_S = 115
LOWER_T = 116
LOWER_U = 117
OPENING_BRACE = 123
CLOSING_BRACE = 125
CLOSING_DISTANCE = 2
"""From `[` to `]`, and from `{` to `}`."""
SHORT_ESCAPE = 2
UNICODE_ESCAPE = 6
"""Sizes of JSON's escapes, such as `\\n`, and of those with four hexadecimal digits."""

# UTF-8 (RFC 3629, section 4): the first bytes of sequences, and the bounds of those that follow.
UTF8_TAIL = 0x80
UTF8_TAIL_LAST = 0xBF
UTF8_TWO = 0xC2
UTF8_TWO_END = 0x800
"""The first character that takes more than two bytes."""
UTF8_THREE = 0xE0
UTF8_THREE_TAIL = 0xA0
"""The lowest second byte after `UTF8_THREE`: below it a shorter sequence would do."""
UTF8_SURROGATES = 0xED
UTF8_SURROGATES_TAIL_LAST = 0x9F
UTF8_FOUR = 0xF0
UTF8_FOUR_TAIL = 0x90
UTF8_LAST = 0xF4
UTF8_LAST_TAIL_LAST = 0x8F
"""The highest second byte after `UTF8_LAST`: beyond it Unicode ends."""

# UTF-16: the surrogates, of which a pair stands for a character from `FIRST_IN_PAIRS` on.
HIGH_SURROGATE = 0xD800
LOW_SURROGATE = 0xDC00
LAST_SURROGATE = 0xDFFF
FIRST_IN_PAIRS = 0x10000
