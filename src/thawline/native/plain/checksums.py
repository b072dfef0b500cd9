"""Checksums over ranges of a buffer."""

from __future__ import annotations

from collections.abc import MutableSequence, Sequence

from thawline import checksums

MASK = 0xFFFFFFFF


def uses_crc32c_instruction() -> bool:
    """Never here."""
    return False


def use_crc32c_instruction(wanted: bool) -> None:  # noqa: FBT001 - as compiled code has it
    """There is but one way here."""


def read_numbers_with(most: int) -> None:
    """There is but one way here."""


def crc32c_ranges(
    buf: memoryview, starts: Sequence[int], ends: Sequence[int], rows: int, out: MutableSequence[int]
) -> None:
    """CRC-32C of each range `[start, end)` of the buffer."""
    for row in range(rows):
        out[row] = checksums.crc32c(buf, starts[row], ends[row])


def crc32_ranges(
    buf: memoryview, starts: Sequence[int], ends: Sequence[int], rows: int, out: MutableSequence[int]
) -> None:
    """CRC-32 (IEEE) of each range `[start, end)` of the buffer."""
    for row in range(rows):
        out[row] = checksums.crc32(buf, starts[row], ends[row])


def crc32c_checkpoints(buf: memoryview, step: int, states: MutableSequence[int]) -> None:
    """The register of a CRC-32C that started with zero at byte 0, at every multiple of `step`."""
    state = 0
    for index in range(len(states)):
        states[index] = state
        if (index + 1) * step <= len(buf):
            state = checksums.crc32c(buf, index * step, (index + 1) * step, value=state ^ MASK) ^ MASK


def crc32c_spans(
    buf: memoryview,
    starts: Sequence[int],
    ends: Sequence[int],
    rows: int,
    states: Sequence[int],  # noqa: ARG001 - only compiled code is quicker with them
    step: int,  # noqa: ARG001 - as above
    out: MutableSequence[int],
) -> None:
    """CRC-32C of each range; without compiled code its cost grows with its size."""
    crc32c_ranges(buf, starts, ends, rows, out)


def covered_bytes(fences: Sequence[int], starts: Sequence[int], count: int) -> int:
    """How many bytes the checksums of candidate frames cover together."""
    return sum(fences[index] - starts[index] - 8 for index in range(count) if starts[index] >= 0)


def check_checksums(
    buf: memoryview,
    fences: Sequence[int],
    starts: MutableSequence[int],
    count: int,
    states: Sequence[int],  # noqa: ARG001 - as above
    step: int,  # noqa: ARG001 - as above
) -> None:
    """Set the start of every candidate frame to -1 whose CRC-32C is wrong [F-CRC-FAIL-REJECT]."""
    for index in range(count):
        if starts[index] >= 0:
            end = fences[index] - 4
            stored = int.from_bytes(buf[end : end + 4], "little")
            if checksums.crc32c(buf, starts[index] + 4, end) != stored:
                starts[index] = -1
