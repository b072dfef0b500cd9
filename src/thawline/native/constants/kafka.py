"""Kafka: slots of what the writers and the search after damage keep, and limits."""

from __future__ import annotations

# First two bytes of compressed streams: gzip (RFC 1952), snappy as Java frames it, lz4 frames.
GZIP_1, GZIP_2 = 0x1F, 0x8B
SNAPPY_1, SNAPPY_2 = 0x82, 0x53
LZ4_1, LZ4_2 = 0x04, 0x22

LARGEST_DELTA = 0x7FFFFFFF
"""Of an offset to its batch's base offset, or to an index's; and the largest position in an index."""

# Slots of an open batch (`place_in_batch`).
OPEN_COUNT = 0
OPEN_BASE_OFFSET, OPEN_LAST_OFFSET = 1, 2
OPEN_BASE_TIMESTAMP, OPEN_MAX_TIMESTAMP = 3, 4
OPEN_IS_APPEND_TIME = 5
OPEN_SLOTS = 6

# Slots of the indexes of a segment (`index_batches`).
INDEXED_POSITION = 0
"""Where the last entry of the offset index points."""
LATEST_TIMESTAMP, LATEST_OFFSET = 1, 2
"""The latest timestamp so far, and the last offset of its batch."""
INDEXED_TIMESTAMP, INDEXED_OFFSET = 3, 4
"""Those of the last entries."""
OFFSET_ENTRIES, TIME_ENTRIES = 5, 6
"""How many entries each index has got."""

# Slots of units that are followed from one to the next (`follow_units`), of its window and of its limits.
FOLLOWED_TO = 0
FOLLOWED_OFFSET = 1
"""The last offset of the unit before."""
FOLLOWED_BUDGET = 2
"""Bytes that checksums may still cover."""
FOLLOWED_UNITS, FOLLOWED_HOLES = 3, 4
WINDOW_START, WINDOW_END = 0, 1
MOST_AHEAD, MOST_BROKEN = 0, 1
"""How far an offset may be ahead of the one before, and how many broken units in a row are followed."""

# Numbers of a unit and of a hole between units (`follow_units`).
UNIT_START, UNIT_END, UNIT_CELLS = 0, 1, 2
HOLE_START, HOLE_END, HOLE_OFFSET_BEFORE, HOLE_OFFSET_AFTER, HOLE_CELLS = 0, 1, 2, 3, 4

# What is known of a position: whether an intact unit starts there (`follow_units`).
NOT_KNOWN, KNOWN_WRONG, KNOWN_RIGHT = 0, 1, 2

# Numbers of a batch that its records are placed by (`place_records`).
HEAD_BASE_OFFSET, HEAD_LAST_DELTA, HEAD_BASE_TIMESTAMP, HEAD_TIMESTAMP, HEAD_CELLS = 0, 1, 2, 3, 4
