"""Aerospike: particle types, limits of both tools, what may be wrong with a bin, and slots of totals."""

from __future__ import annotations

# Particle types of the server (as_particle_type in as_bytes.h).
PARTICLE_INTEGER = 1
PARTICLE_DOUBLE = 2
PARTICLE_STRING = 3
PARTICLE_BYTES = 4
PARTICLE_GEOJSON = 23
PARTICLE_OTHER = 24
"""Stands for every type beyond the last that has a name."""

# The texts that JSON is written with: keys of eight characters for bytes, base-64's alphabet, hexadecimal digits.
PARTICLE_KEY = 8
ALPHABET_START = 200
HEXES_START = 264

# The words of JSON, which stand one after the other: where each starts, and its size.
NULL_AT, NULL_SIZE = 0, 4
TRUE_AT, TRUE_SIZE = 4, 4
FALSE_AT, FALSE_SIZE = 8, 5
NAN_AT, NAN_SIZE = 13, 5
INFINITY_AT, INFINITY_SIZE = 18, 5
MINUS_INFINITY_AT, MINUS_INFINITY_SIZE = 23, 6
WORD_QUOTE_AT = 13
"""Of the quote that the words for doubles start with."""

LONGEST_NAMESPACE = 31
LONGEST_SET = 63
LONGEST_BIN_NAME = 15
DIGEST_SIZE = 20
EXPIRATION_BITS = 32
PARTITION_BYTES, PARTITION_MASK = 2, 4095
"""Of a digest: how many bytes tell the partition, and which bits of them."""
DIGEST_SHARES = 256
"""One for each first byte of a digest."""

BASE64_BYTES = 3
"""Bytes of a group of four base-64 characters."""
NOT_A_SEXTET = 64
"""What stands for a character that is not of base-64's alphabet."""
DEEPEST_COLLECTION = 64
"""Levels of lists and maps inside one another."""
LONGEST_DOUBLE = 26
"""Characters of a double as the tools write it."""
WORD_OF_DOUBLE = 3
"""Of `nan` and `inf`."""
FEWEST_DIGITS, MOST_DIGITS = 15, 17
"""Digits that a double may need to be read back as itself."""
MOST_DECIMALS = 19
"""Decimal digits of a 64-bit integer."""
EXPONENT_DIGITS = 2
"""Three may be too many for a double."""

# HyperLogLog (particle_hll.c of the server).
SKETCH_HEAD = 11
LEAST_INDEX_BITS, MOST_INDEX_BITS = 4, 16
LEAST_MINHASH_BITS, MOST_MINHASH_BITS = 4, 51
MOST_SKETCH_BITS = 64
REGISTER_BITS = 6

# What may be wrong with a bin, a bit each. The first three may keep a tool from reading it.
BAD_NAME = 1
BAD_DOUBLE = 2
BAD_BASE64 = 4
BAD_TEXT = 8
BAD_MSGPACK = 16
BAD_SKETCH = 32

# Slots of totals of decoded bins (`decode_bins`).
TEXTS_END = 0
"""Bytes of text so far."""
BYTES_END = 1
"""Other bytes so far."""
COLLECTIONS = 2
MOST_JSON = 3
"""The most bytes that lists and maps take as JSON."""

HASHED = 8
"""How many digests are computed together."""
LONGEST_MESSAGE = 1024
"""Bytes of a set and a key. Records with more get the closer look."""
MESSAGE_MARGIN = 64
"""Bytes of it that are kept for the set, and for what a key starts with."""
