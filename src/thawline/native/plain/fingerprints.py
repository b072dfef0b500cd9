"""Fingerprints of rows: of their text, and counted by a dictionary."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from hashlib import blake2b

import pyarrow as pa

from thawline.native.constants.fingerprints import FINGERPRINT
from thawline.values import json_texts


def row_fingerprints(batch: pa.RecordBatch, key: memoryview, out: memoryview) -> None:
    """The keyed hash of each row of a batch."""
    for row, text in enumerate(json_texts(batch, "hex")):
        out[FINGERPRINT * row : FINGERPRINT * (row + 1)] = blake2b(text, digest_size=FINGERPRINT, key=key).digest()


def settle_fingerprints(
    a: memoryview, b: memoryview, part: int, parts: int, left_a: memoryview, left_b: memoryview
) -> int:
    """Pair rows with equal fingerprints, each with one, and clear their bits; how many pairs there are."""
    counts = Counter(each for _, each in _of_part(a, part, parts))
    partners = Counter[bytes]()
    for row, each in _of_part(b, part, parts):
        if partners[each] < counts[each]:
            partners[each] += 1
            left_b[row >> 3] &= ~(1 << (row & 7))
    pairs = partners.total()
    for row, each in _of_part(a, part, parts):
        if partners[each]:
            partners[each] -= 1
            left_a[row >> 3] &= ~(1 << (row & 7))
    return pairs


def _of_part(hashes: memoryview, part: int, parts: int) -> Iterator[tuple[int, bytes]]:
    """The fingerprints of a part, each with its row."""
    for at in range(0, len(hashes), FINGERPRINT):
        each = bytes(hashes[at : at + FINGERPRINT])
        if int.from_bytes(each[-2:], "little") & (parts - 1) == part:
            yield at // FINGERPRINT, each
