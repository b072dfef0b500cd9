"""Hashes of ranges of a buffer."""

from __future__ import annotations

from collections.abc import Sequence

from thawline.ripemd160 import SIZE, ripemd160


def use_avx2(wanted: bool) -> None:  # noqa: FBT001 - as compiled code has it
    """Do nothing: plain code has one way only."""


def ripemd160_ranges(buf: memoryview, starts: Sequence[int], ends: Sequence[int], rows: int, out: memoryview) -> None:
    """RIPEMD-160 of each range `[start, end)` of a buffer, 20 bytes each."""
    for row in range(rows):
        out[SIZE * row : SIZE * (row + 1)] = ripemd160(bytes(buf[starts[row] : ends[row]]))
