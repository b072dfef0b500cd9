"""RBAK: fields of a record, their kinds, what may be wrong with them, and cells of a record and of a header."""

from __future__ import annotations

# Kinds of fields, in the order of `formats.rbak.records.ORDER`.
BODY, TABLE, HEADERS, TEXT, BOOL, UINT64, INT64, UINT8 = 0, 1, 2, 3, 4, 5, 6, 7

# Numbers of fields: those of a record, then those of its properties, in the order of `formats.rbak.records.FIELDS`.
BODY_FIELD, PROPERTIES_FIELD, HEADERS_FIELD = 0, 1, 2
FIRST_PROPERTY = 10
NUM_FIELDS = 23

# What is wrong with a record.
NOT_JSON, NOT_A_BYTE, WRONG_TYPE = 1, 2, 3

# Cells of a record: two a field (start and length, or value; length -1 is null), then these.
FIELD_CELLS = 2
SEEN = 46
"""A bit for each field that is not null."""
ESCAPED = 47
"""A bit for each text that has escapes."""
FAULT, FAULT_FIELD, FAULT_AT = 48, 49, 50
BODY_START, BODY_END = 51, 52
ANY_SEEN, ALL_SEEN, ANY_ODD = 61, 62, 63
"""Bits that any and all rows have seen, and whether the headers of any row have no known shape."""
ENTRY_CELLS, MEMBER_CELLS = 64, 72
"""Where the cells of a header start, and those of a member of it."""

# Cells of a record that gives no row (`decode_records`).
FAULTY_DOCUMENT, FAULTY_KIND, FAULTY_FIELD, FAULTY_AT, FAULTY_CELLS = 0, 1, 2, 3, 4

# What stands for the number of headers of a row where they have no known shape, or are null.
NO_SHAPE, NO_HEADERS = -1, -2

# Cells of a header.
ENTRY_START, ENTRY_END = 0, 1
KEY_START, KEY_LENGTH, KEY_ESCAPED = 2, 3, 4
VALUE_START, VALUE_LENGTH = 5, 6
HEADER_CELLS = 7
KEY_WORD, VALUE_WORD = 3, 5
"""Characters of the names that the members of a header have, `key` and `value`."""

MOST_HEADERS = 65536
"""More than a frame of AMQP holds: a table of headers has to fit into one, of 128 KiB unless configured otherwise."""
LONGEST_KEY = 128
"""Characters of a key with escapes; more than six times the longest name of a field."""
KEY_SCRATCH = 256
"""Where the scratch memory for a key without escapes starts; the stack of nesting is before it."""
DEEPEST_JSON = 128
"""Levels of arrays and objects inside one another: what serde_json reads."""
