"""JSON documents: cells of a record and of a pair, what may be wrong with a record, and bounds."""

from __future__ import annotations

DEEPEST_JSON = 128
"""Levels of arrays and objects inside one another that the stack of nesting has room for."""
LONGEST_KEY = 256
"""Characters of a key with escapes: a name of 42 characters, each of them escaped."""
KEY_SCRATCH = 256
"""Where the scratch memory for a key without escapes starts; the stack of nesting is before it."""
SCRATCH_BYTES = 512

# Cells of a record: these, then two a field (start and length, or value; length -1 is null).
SEEN = 0
"""A bit for each field that is not null."""
ESCAPED = 1
"""A bit for each text that has escapes."""
FAULT, FAULT_FIELD, FAULT_AT = 2, 3, 4
DATA_START, DATA_END = 5, 6
"""The bytes of the record's array of bytes."""
ANY_SEEN, ALL_SEEN, ANY_ODD = 8, 9, 10
"""Bits that any and all rows have seen, and whether the pairs of any row have no known shape."""
ENTRY_CELLS, MEMBER_CELLS = 16, 24
"""Where the cells of a pair start, and those of a member of it."""
FIRST_FIELD, FIELD_CELLS = 32, 2
MOST_FIELDS = 31
"""As many as a row of bits has, without its sign."""
WORK_CELLS = 96

# What is wrong with a record.
NOT_JSON, NOT_A_BYTE, WRONG_TYPE = 1, 2, 3

# Cells of a record that gives no row.
FAULTY_DOCUMENT, FAULTY_KIND, FAULTY_FIELD, FAULTY_AT, FAULTY_CELLS = 0, 1, 2, 3, 4

# What stands for the number of pairs of a row where they have no known shape, or are null.
NO_SHAPE, NO_PAIRS = -1, -2

# Cells of a pair.
KEY_START, KEY_LENGTH, KEY_ESCAPED = 0, 1, 2
VALUE_START, VALUE_LENGTH = 3, 4
PAIR_CELLS = 5
