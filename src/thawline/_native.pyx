# cython: language_level=3
"""The scan kernels, the gathering of values and checksums over many ranges, compiled into one module."""

from libc.stdint cimport uint32_t

cdef extern from "crc.h" nogil:
    ctypedef uint32_t (*crc_function)(uint32_t, const unsigned char *, size_t)
    void prepare_crc(int use_instruction)
    crc_function crc32c_best
    uint32_t crc32_by_tables(uint32_t, const unsigned char *, size_t)
    uint32_t crc_of_range(crc_function, const unsigned char *, size_t)
    int has_crc32c_instruction()

prepare_crc(1)

include "gather.py"
include "scans.py"


def uses_crc32c_instruction():
    """Whether this CPU computes CRC-32C by itself."""
    return bool(has_crc32c_instruction())


def use_crc32c_instruction(bint wanted):
    """Choose between the CPU's instruction and the tables; for tests, which run both."""
    prepare_crc(wanted)


def crc32c_ranges(const unsigned char[::1] buf, const long long[::1] starts, const long long[::1] ends, long long rows, long long[::1] out):
    """CRC-32C of each range `[start, end)` of the buffer."""
    _crc_ranges(crc32c_best, buf, starts, ends, rows, out)


def crc32_ranges(const unsigned char[::1] buf, const long long[::1] starts, const long long[::1] ends, long long rows, long long[::1] out):
    """CRC-32 (IEEE) of each range `[start, end)` of the buffer."""
    _crc_ranges(crc32_by_tables, buf, starts, ends, rows, out)


cdef void _crc_ranges(crc_function update, const unsigned char[::1] buf, const long long[::1] starts, const long long[::1] ends, long long rows, long long[::1] out):
    cdef long long row
    cdef const unsigned char *data = &buf[0] if buf.shape[0] else NULL
    with nogil:
        for row in range(rows):
            out[row] = crc_of_range(update, data + starts[row], <size_t>(ends[row] - starts[row]))
