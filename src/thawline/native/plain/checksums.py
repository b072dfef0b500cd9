"""Checksums of ranges of a buffer."""

from __future__ import annotations

from collections.abc import MutableSequence, Sequence
from functools import lru_cache

from thawline import checksums
from thawline.generated.kernels.constants import RBF_FRAME_CRC32C_INPUT_AT, RBF_FRAME_CRC32C_INPUT_REST

MASK = 0xFFFFFFFF
POLYNOMIAL = 0x82F63B78
"""Castagnoli's, with the bit of the highest power last."""
BYTE = 3
"""A byte has 2 ** 3 bits."""


def uses_crc32c_instruction() -> bool:
    """False: only compiled code uses it."""
    return False


def use_crc32c_instruction(wanted: bool) -> None:  # noqa: FBT001 - as compiled code has it
    """Do nothing: plain code has one way only."""


def read_numbers_with(most: int) -> None:
    """Do nothing: plain code has one way only."""


def crc32c_ranges(
    buf: memoryview, starts: Sequence[int], ends: Sequence[int], rows: int, out: MutableSequence[int]
) -> None:
    """CRC-32C of each range `[start, end)` of a buffer."""
    for row in range(rows):
        out[row] = checksums.crc32c(buf, starts[row], ends[row])


def crc32_ranges(
    buf: memoryview, starts: Sequence[int], ends: Sequence[int], rows: int, out: MutableSequence[int]
) -> None:
    """CRC-32 (IEEE) of each range `[start, end)` of a buffer."""
    for row in range(rows):
        out[row] = checksums.crc32(buf, starts[row], ends[row])


def crc32c_checkpoints(buf: memoryview, step: int, states: MutableSequence[int]) -> None:
    """Write the register of a CRC-32C that starts with zero at byte 0, at every multiple of `step`."""
    state = 0
    for index in range(len(states)):
        states[index] = state
        if (index + 1) * step <= len(buf):
            state = checksums.crc32c(buf, index * step, (index + 1) * step, value=state ^ MASK) ^ MASK


def _times(one: int, other: int) -> int:
    """The product of two polynomials, modulo that of the checksum."""
    product, bit = 0, 1 << 31
    while bit:
        if one & bit:
            product ^= other
        bit >>= 1
        other = other >> 1 ^ POLYNOMIAL if other & 1 else other >> 1
    return product


@lru_cache(maxsize=4096)
def _power(size: int) -> int:
    """What `size` bytes of zeros multiply a register with."""
    square, power = 1 << 30, 1 << 31
    for _ in range(BYTE):
        square = _times(square, square)
    while size:
        if size & 1:
            power = _times(square, power)
        square, size = _times(square, square), size >> 1
    return power


def _between(buf: memoryview, states: Sequence[int], step: int, start: int, end: int) -> int:
    """CRC-32C of a range, from the checkpoints before its start and its end."""
    before, after = (_state_at(buf, states, step, position) for position in (start, end))
    return after ^ _times(_power(end - start), before ^ MASK) ^ MASK


def _state_at(buf: memoryview, states: Sequence[int], step: int, position: int) -> int:
    """The register at a position, from the checkpoint before it."""
    index = position // step
    return checksums.crc32c(buf, index * step, position, value=states[index] ^ MASK) ^ MASK


def crc32c_spans(
    buf: memoryview,
    starts: Sequence[int],
    ends: Sequence[int],
    rows: int,
    states: Sequence[int],
    step: int,
    out: MutableSequence[int],
) -> None:
    """CRC-32C of each range, from checkpoints of the whole buffer: the cost does not grow with the range."""
    for row in range(rows):
        out[row] = _between(buf, states, step, starts[row], ends[row])


def covered_bytes(fences: Sequence[int], starts: Sequence[int], count: int) -> int:
    """How many bytes the checksums of candidate frames cover in total."""
    return sum(
        fences[index] - starts[index] - RBF_FRAME_CRC32C_INPUT_AT - RBF_FRAME_CRC32C_INPUT_REST
        for index in range(count)
        if starts[index] >= 0
    )


def check_checksums(
    buf: memoryview,
    fences: Sequence[int],
    starts: MutableSequence[int],
    count: int,
    states: Sequence[int],
    step: int,
) -> None:
    """Set the start of every candidate frame with a wrong CRC-32C to -1 [F-CRC-FAIL-REJECT]."""
    for index in range(count):
        if starts[index] < 0:
            continue
        first, end = starts[index] + RBF_FRAME_CRC32C_INPUT_AT, fences[index] - RBF_FRAME_CRC32C_INPUT_REST
        computed = _between(buf, states, step, first, end) if len(states) else checksums.crc32c(buf, first, end)
        if computed != int.from_bytes(buf[end : end + RBF_FRAME_CRC32C_INPUT_REST], "little"):
            starts[index] = -1
