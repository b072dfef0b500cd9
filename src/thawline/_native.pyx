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
    void prepare_powers()
    uint32_t crc32c_between(uint32_t before, uint32_t after, unsigned long long size)

cdef extern from "bytes.h" nogil:
    void prefetch(const unsigned char *)
    void copy_slice(unsigned char *, const unsigned char *, long long size, long long readable)
    long long find_either(const unsigned char *, long long size, unsigned char, unsigned char)

cdef extern from "bits.h" nogil:
    void prepare_numbers(int most)
    long long read_bytes(const unsigned char *, long long, unsigned char *, long long *)

cdef extern from "faults.h" nogil:
    enum: SHRUNK
    ctypedef struct fault:
        long long start
        long long end
        int reason
    ctypedef struct region:
        int count
        fault faults[64]
    region regions[1024]
    int guard_region(const void *start, size_t size, int fd)
    void unguard_region(int slot)

cdef extern from "ripemd160.h" nogil:
    void prepare_hashes(int use_wide)
    void rmd_hash(const unsigned char *data, const long long *starts, const long long *ends, int count, unsigned char *out)

prepare_crc(1)
prepare_numbers(2)
prepare_hashes(1)

include "asb_scalars.py"
include "asb_msgpack.py"
include "asb_json.py"
include "asb_values.py"
include "asb_checks.py"
include "gather.py"
include "kafka_encode.py"
include "rbf_reverse.py"
include "kafka_units.py"
include "json_text.py"
include "rbak_headers.py"
include "rbak_rows.py"
include "scans.py"


def guard(const unsigned char[::1] buf, int fd):
    """Let reads of a mapped file go on where a page of it cannot be read; a slot to ask what that was, or -1."""
    return guard_region(&buf[0], <size_t>buf.shape[0], fd) if buf.shape[0] else -1


def unguard(int slot):
    """Give a slot back, before the file is unmapped."""
    unguard_region(slot)


def faults(int slot):
    """Start, end, and whether the file was cut there, of what could not be read and was read as zeros."""
    return [
        (regions[slot].faults[index].start, regions[slot].faults[index].end, regions[slot].faults[index].reason == SHRUNK)
        for index in range(regions[slot].count)
    ]


def uses_crc32c_instruction():
    """Whether this CPU computes CRC-32C by itself."""
    return bool(has_crc32c_instruction())


def use_crc32c_instruction(bint wanted):
    """Choose between the CPU's instruction and the tables; for tests, which run both."""
    prepare_crc(wanted)


def use_avx2(bint wanted):
    """Choose whether hashes use the CPU's wide registers; for tests, which run both."""
    prepare_hashes(wanted)


def read_numbers_with(int most):
    """Choose how arrays of numbers are read: 0 plain arithmetic, 1 SSSE3, 2 BMI2 too; for tests, which run all."""
    prepare_numbers(most)


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


def crc32c_checkpoints(const unsigned char[::1] buf, long long step, unsigned int[::1] states):
    """The register of a CRC-32C that started with zero at byte 0, at every multiple of `step`."""
    prepare_powers()
    cdef long long index
    cdef uint32_t state = 0
    cdef const unsigned char *data = &buf[0] if buf.shape[0] else NULL
    with nogil:
        for index in range(states.shape[0]):
            states[index] = state
            if (index + 1) * step <= buf.shape[0]:
                state = crc32c_best(state, data + index * step, <size_t>step)


cdef inline uint32_t _state_at(const unsigned char *data, const unsigned int[::1] states, long long step, long long position) noexcept nogil:
    cdef long long index = position // step
    return crc32c_best(states[index], data + index * step, <size_t>(position - index * step))


def crc32c_spans(
    const unsigned char[::1] buf, const long long[::1] starts, const long long[::1] ends, long long rows,
    const unsigned int[::1] states, long long step, long long[::1] out,
):
    """CRC-32C of each range from checkpoints of the whole buffer, so that its cost does not grow with its size."""
    cdef long long row
    cdef const unsigned char *data = &buf[0] if buf.shape[0] else NULL
    with nogil:
        for row in range(rows):
            out[row] = crc32c_between(
                _state_at(data, states, step, starts[row]), _state_at(data, states, step, ends[row]),
                <unsigned long long>(ends[row] - starts[row]),
            )


def covered_bytes(const long long[::1] fences, const long long[::1] starts, long long count):
    """How many bytes the checksums of candidate frames cover together."""
    cdef long long index, total = 0
    with nogil:
        for index in range(count):
            if starts[index] >= 0:
                total += fences[index] - starts[index] - 8
    return total


def check_checksums(
    const unsigned char[::1] buf, const long long[::1] fences, long long[::1] starts, long long count,
    const unsigned int[::1] states, long long step,
):
    """Set the start of every candidate frame to -1 whose CRC-32C is wrong [F-CRC-FAIL-REJECT].

    With `states` the cost of a frame does not grow with its size; without (an empty array) it is that of its bytes.
    """
    cdef long long index, first, last
    cdef uint32_t computed
    cdef const unsigned char *data = &buf[0] if buf.shape[0] else NULL
    with nogil:
        for index in range(count):
            if starts[index] < 0:
                continue
            first, last = starts[index] + 4, fences[index] - 4
            if states.shape[0]:
                computed = crc32c_between(
                    _state_at(data, states, step, first), _state_at(data, states, step, last), <unsigned long long>(last - first)
                )
            else:
                computed = crc_of_range(crc32c_best, data + first, <size_t>(last - first))
            if computed != <uint32_t>_u4(buf, last):
                starts[index] = -1


def ripemd160_ranges(const unsigned char[::1] buf, const long long[::1] starts, const long long[::1] ends, long long rows, unsigned char[::1] out):
    """RIPEMD-160 of each range `[start, end)` of the buffer, 20 bytes each."""
    cdef long long row = 0
    cdef const unsigned char *data = &buf[0] if buf.shape[0] else NULL
    with nogil:
        while row < rows:
            rmd_hash(data, &starts[row], &ends[row], <int>min(8, rows - row), &out[20 * row])
            row += 8
