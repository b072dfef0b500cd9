"""Reads of mapped files that fail. The handler of the signal is C, in faults.h."""

import cython


def guard(buf: cython.const[cython.uchar][::1], fd: cython.int):
    """Let reads of a mapped file go on where a page of it cannot be read; a slot to ask what that was, or -1."""
    if not buf.shape[0]:
        return -1
    return guard_region(cython.address(buf[0]), cython.cast(cython.size_t, buf.shape[0]), fd)  # noqa: F821 - of faults.h


def unguard(slot: cython.int):
    """Give a slot back, before the file is unmapped."""
    unguard_region(slot)  # noqa: F821 - of faults.h


def faults(slot: cython.int):
    """Start, end, and whether the file was cut there, of what could not be read and was read as zeros."""
    region: cython.int = slot
    return [
        (
            regions[region].faults[index].start,  # noqa: F821 - of faults.h
            regions[region].faults[index].end,  # noqa: F821 - of faults.h
            regions[region].faults[index].reason == SHRUNK,  # noqa: F821 - of faults.h
        )
        for index in range(regions[region].count)  # noqa: F821 - of faults.h
    ]
