"""Aerospike: problems of bins, and slots of totals."""

from __future__ import annotations

PARTICLE_OTHER = 24
"""Every particle type after the last one with a name."""

# The texts of JSON (`JSON_TEXTS`): keys of eight characters for bytes, the base-64 alphabet, hexadecimal digits.
PARTICLE_KEY = 8
ALPHABET_START = 200
HEXES_START = 264

# The words of JSON (`JSON_WORDS`), back to back: the offset and the size of each.
NULL_AT, NULL_SIZE = 0, 4
TRUE_AT, TRUE_SIZE = 4, 4
FALSE_AT, FALSE_SIZE = 8, 5
NAN_AT, NAN_SIZE = 13, 5
INFINITY_AT, INFINITY_SIZE = 18, 5
MINUS_INFINITY_AT, MINUS_INFINITY_SIZE = 23, 6
WORD_QUOTE_AT = 13
"""The offset of the first quote: `nan` and `inf` are strings in JSON."""

DIGEST_SIZE = 20
PARTITION_BYTES, PARTITION_MASK = 2, 4095
"""The first bytes of a digest that hold the partition, and the bits of them that do."""
DIGEST_SHARES = 256
"""A share for each first byte of a digest."""

BASE64_BYTES = 3
"""Four base-64 characters encode this many bytes."""
NOT_A_SEXTET = 64
"""The value of a character that is not in the base-64 alphabet."""
DEEPEST_COLLECTION = 64
"""The most levels of nested lists and maps."""
LONGEST_DOUBLE = 26
"""The most characters of a double as the tools write it."""
WORD_OF_DOUBLE = 3
"""The size of `nan` and `inf`."""
FEWEST_DIGITS, MOST_DIGITS = 15, 17
"""The digits that preserve a double: 15 often do, 17 always."""
MOST_DECIMALS = 19
"""The most decimal digits of a 64-bit integer."""
EXPONENT_DIGITS = 2
"""An exponent of three digits may exceed the range of a double."""

# HyperLogLog (particle_hll.c of the server).
SKETCH_HEAD = 11
LEAST_INDEX_BITS, MOST_INDEX_BITS = 4, 16
LEAST_MINHASH_BITS, MOST_MINHASH_BITS = 4, 51
MOST_SKETCH_BITS = 64
REGISTER_BITS = 6

# Problems of a bin, a bit each. A tool may refuse the record for the first three.
BAD_NAME = 1
BAD_DOUBLE = 2
BAD_BASE64 = 4
BAD_TEXT = 8
BAD_MSGPACK = 16
BAD_SKETCH = 32

# Slots of totals of decoded bins (`decode_bins`).
TEXTS_END = 0
"""The number of bytes of text so far."""
BYTES_END = 1
"""The number of other bytes so far."""
COLLECTIONS = 2
MOST_JSON = 3
"""The most bytes that lists and maps take as JSON."""

HASHED = 8
"""The number of digests that are computed together."""
LONGEST_MESSAGE = 1024
"""The most bytes of a set and a key. The quick check does not cover records with more."""
MESSAGE_MARGIN = 64
"""Bytes of it that are reserved for the set and the type of the key."""
