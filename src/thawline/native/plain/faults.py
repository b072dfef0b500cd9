"""Failed reads of mapped files: only compiled code can continue after one."""

from __future__ import annotations


def guard(buf: memoryview, fd: int) -> int:  # noqa: ARG001 - as compiled code has it
    """-1, for no slot: plain code has no guard."""
    return -1


def unguard(slot: int) -> None:
    """Do nothing: there is no slot to free."""


def faults(slot: int) -> list[tuple[int, int, bool]]:  # noqa: ARG001 - as above
    """Nothing: plain code knows of no faults."""
    return []
