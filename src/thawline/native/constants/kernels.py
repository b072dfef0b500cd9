"""The protocol of scan kernels: what they return, slots of their state, and marks in their arrays."""

from __future__ import annotations

SCAN_DONE = 0
SCAN_FULL = 1
"""The chunk has as many rows or bytes as it may have."""
SCAN_FAILED = 2
SCAN_LIST_FULL = 3
"""And the next numbers: the n-th list column has no room left; after the last of them, the n-th column of bytes."""

# Slots of the state. It describes the start of the row at which the kernel stopped.
STATE_RANGE = 0
STATE_ROWS_IN_RANGE = 1
STATE_POSITION = 2
STATE_ROWS = 3
STATE_FAILURE = 4
STATE_AT = 5
"""The byte that failed, or how many bytes a column of bytes needs."""
STATE_FIRST = 6
"""Where the chunk started."""
STATE_LISTS = 7
"""From here on, the number of items of each list column."""

# Slots of a probe's state (`engine.starts`).
PROBE_POSITION = 0
"""Where the search goes on."""
PROBE_WHY, PROBE_WHY_AT = 1, 2
"""Why no unit can start where the search began, -1 if one can; and the byte that shows it."""
PROBE_BUDGET = 3
"""Bytes that candidates may still cost; below zero, the search has ended."""
PROBE_LEAST_COST = 4
"""Bytes that a candidate costs at least."""
PROBE_PROVES = 5
"""Whether checksums are verified."""
PROBE_FAILURE, PROBE_AT = 6, 7
"""Why the last candidate is no unit, and the byte that shows it."""
PROBE_COVERED_START, PROBE_COVERED_END, PROBE_STORED = 8, 9, 10
"""What the checksum of the last candidate covers, and what it should be."""
PROBE_UNIT = 11
"""Which of several units the last candidate is, where a probe looks for more than one."""
PROBE_RISING = 12
"""What rises from unit to unit, of the last candidate."""
PROBE_LEAST, PROBE_MOST = 13, 14
"""Its bounds for units that are searched for."""
PROBE_CELLS = 15

NULL_LENGTH = -1
"""Length of a null. A lower one is `ESCAPED_LENGTH - size`, of a token that has escapes."""
ESCAPED_LENGTH = -2

COPY_STEP = 32
"""Bytes that are copied at a time. As many after gathered values may be written over."""
SHORT_STEP = 16
"""The same for values that are not longer."""
MOST_IN_STEPS = 128
"""Longer values are copied by a call."""
WORD = 8
"""Bytes that are looked at together, and rows whose bits make a byte."""
HIGHEST_BIT = 128
"""Of a byte; no byte of ASCII has it."""
BASE64_INVALID = 1 << 24
"""A bit that no group of four base-64 characters has, for those that are not of the alphabet."""
