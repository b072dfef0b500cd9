"""Reads of mapped files that fail: only compiled code can go on after one."""

from __future__ import annotations


def guard(buf: memoryview, fd: int) -> int:  # noqa: ARG001 - as compiled code has it
    """No slot: there is no guard."""
    return -1


def unguard(slot: int) -> None:
    """Nothing to give back."""


def faults(slot: int) -> list[tuple[int, int, bool]]:  # noqa: ARG001 - as above
    """Nothing that is known."""
    return []
