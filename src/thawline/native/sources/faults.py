"""Failed reads of mapped files. The signal handler is C, in faults.h."""

import cython


def guard(buf: cython.const[cython.uchar][::1], fd: cython.int):
    """Read pages of a mapped file that fail as zeros; returns a slot that knows which did, or -1."""
    if not buf.shape[0]:
        return -1
    return guard_region(cython.address(buf[0]), cython.cast(cython.size_t, buf.shape[0]), fd)  # noqa: F821 - of faults.h


def unguard(slot: cython.int):
    """Free a slot, before the file is unmapped."""
    unguard_region(slot)  # noqa: F821 - of faults.h


def faults(slot: cython.int):
    """The stretches that could not be read: start, end, and whether the file was cut there."""
    region: cython.int = slot
    return [
        (
            regions[region].faults[index].start,  # noqa: F821 - of faults.h
            regions[region].faults[index].end,  # noqa: F821 - of faults.h
            regions[region].faults[index].reason == SHRUNK,  # noqa: F821 - of faults.h
        )
        for index in range(regions[region].count)  # noqa: F821 - of faults.h
    ]
