"""Hashes over ranges of a buffer."""

from __future__ import annotations

from collections.abc import Sequence

from thawline.ripemd160 import SIZE, ripemd160


def use_avx2(wanted: bool) -> None:  # noqa: FBT001 - as compiled code has it
    """There is but one way here."""


def ripemd160_ranges(buf: memoryview, starts: Sequence[int], ends: Sequence[int], rows: int, out: memoryview) -> None:
    """RIPEMD-160 of each range `[start, end)` of the buffer, 20 bytes each."""
    for row in range(rows):
        out[SIZE * row : SIZE * (row + 1)] = ripemd160(bytes(buf[starts[row] : ends[row]]))
