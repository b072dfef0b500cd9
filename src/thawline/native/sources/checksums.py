"""CRCs of many ranges of a buffer, from their bytes or from checkpoints. The arithmetic is C, in crc.h."""

import cython

if not cython.compiled:
    from thawline.generated.kernels.constants import RBF_FRAME_CRC32C_INPUT_AT, RBF_FRAME_CRC32C_INPUT_REST


def uses_crc32c_instruction():
    """Whether this CPU has an instruction for CRC-32C."""
    return bool(has_crc32c_instruction())  # noqa: F821 - of crc.h


def use_crc32c_instruction(wanted: cython.bint):
    """Choose between the CPU's instruction and tables, for tests that run both."""
    prepare_crc(wanted)  # noqa: F821 - of crc.h


def read_numbers_with(most: cython.int):
    """Choose how arrays of numbers are read, for tests that run all ways: 0 plain arithmetic, 1 SSSE3, 2 also BMI2."""
    prepare_numbers(most)  # noqa: F821 - of bits.h


def crc32c_ranges(
    buf: cython.const[cython.uchar][::1],
    starts: cython.const[cython.longlong][::1],
    ends: cython.const[cython.longlong][::1],
    rows: cython.longlong,
    out: cython.longlong[::1],
):
    """CRC-32C of each range `[start, end)` of a buffer."""
    row: cython.longlong
    with cython.nogil:
        for row in range(rows):
            out[row] = _crc32c(buf, starts[row], ends[row])


def crc32_ranges(
    buf: cython.const[cython.uchar][::1],
    starts: cython.const[cython.longlong][::1],
    ends: cython.const[cython.longlong][::1],
    rows: cython.longlong,
    out: cython.longlong[::1],
):
    """CRC-32 (IEEE) of each range `[start, end)` of a buffer."""
    row: cython.longlong
    with cython.nogil:
        for row in range(rows):
            out[row] = crc_of_range(  # noqa: F821 - of crc.h
                crc32_by_tables,  # noqa: F821 - of crc.h
                _first_byte(buf) + starts[row],
                cython.cast(cython.size_t, ends[row] - starts[row]),
            )


@cython.cfunc
@cython.inline
@cython.nogil
@cython.exceptval(check=False)
def _first_byte(buf: cython.const[cython.uchar][::1]) -> cython.pointer(cython.const[cython.uchar]):
    """The address of the first byte. An empty buffer has one, too: C has no ranges of a null pointer."""
    if not cython.compiled:
        return buf
    return cython.address(buf[0]) if buf.shape[0] else no_bytes  # noqa: F821 - of bytes.h


@cython.cfunc
@cython.inline
@cython.nogil
@cython.exceptval(check=False)
def _crc32c(buf: cython.const[cython.uchar][::1], start: cython.longlong, end: cython.longlong) -> cython.uint:
    """CRC-32C of a range, from its bytes."""
    return crc_of_range(  # noqa: F821 - of crc.h
        crc32c_best,  # noqa: F821 - of crc.h
        _first_byte(buf) + start,
        cython.cast(cython.size_t, end - start),
    )


def crc32c_checkpoints(buf: cython.const[cython.uchar][::1], step: cython.longlong, states: cython.uint[::1]):
    """Write the register of a CRC-32C that starts with zero at byte 0, at every multiple of `step`."""
    index: cython.longlong
    state: cython.uint = 0
    prepare_powers()  # noqa: F821 - of crc.h
    with cython.nogil:
        for index in range(states.shape[0]):
            states[index] = state
            if (index + 1) * step <= buf.shape[0]:
                state = crc32c_best(  # noqa: F821 - of crc.h
                    state, _first_byte(buf) + index * step, cython.cast(cython.size_t, step)
                )


@cython.cfunc
@cython.inline
@cython.nogil
@cython.exceptval(check=False)
def _state_at(
    buf: cython.const[cython.uchar][::1],
    states: cython.const[cython.uint][::1],
    step: cython.longlong,
    position: cython.longlong,
) -> cython.uint:
    """The register at a position, from the checkpoint before it."""
    index: cython.longlong = position // step
    return crc32c_best(  # noqa: F821 - of crc.h
        states[index], _first_byte(buf) + index * step, cython.cast(cython.size_t, position - index * step)
    )


@cython.cfunc
@cython.inline
@cython.nogil
@cython.exceptval(check=False)
def _crc32c_between(
    buf: cython.const[cython.uchar][::1],
    states: cython.const[cython.uint][::1],
    step: cython.longlong,
    start: cython.longlong,
    end: cython.longlong,
) -> cython.uint:
    """CRC-32C of a range, from checkpoints."""
    return crc32c_between(  # noqa: F821 - of crc.h
        _state_at(buf, states, step, start),
        _state_at(buf, states, step, end),
        cython.cast(cython.ulonglong, end - start),
    )


def crc32c_spans(
    buf: cython.const[cython.uchar][::1],
    starts: cython.const[cython.longlong][::1],
    ends: cython.const[cython.longlong][::1],
    rows: cython.longlong,
    states: cython.const[cython.uint][::1],
    step: cython.longlong,
    out: cython.longlong[::1],
):
    """CRC-32C of each range, from checkpoints of the whole buffer: the cost does not grow with the range."""
    row: cython.longlong
    with cython.nogil:
        for row in range(rows):
            out[row] = _crc32c_between(buf, states, step, starts[row], ends[row])


def covered_bytes(
    fences: cython.const[cython.longlong][::1], starts: cython.const[cython.longlong][::1], count: cython.longlong
):
    """How many bytes the checksums of candidate frames cover in total."""
    index: cython.longlong
    total: cython.longlong = 0
    with cython.nogil:
        for index in range(count):
            if starts[index] >= 0:
                total += fences[index] - starts[index] - RBF_FRAME_CRC32C_INPUT_AT - RBF_FRAME_CRC32C_INPUT_REST
    return total


def check_checksums(
    buf: cython.const[cython.uchar][::1],
    fences: cython.const[cython.longlong][::1],
    starts: cython.longlong[::1],
    count: cython.longlong,
    states: cython.const[cython.uint][::1],
    step: cython.longlong,
):
    """Set the start of every candidate frame with a wrong CRC-32C to -1 [F-CRC-FAIL-REJECT].

    With checkpoints in `states`, the cost of a frame does not grow with its size; an empty array is none.
    """
    index: cython.longlong
    first: cython.longlong
    last: cython.longlong
    computed: cython.uint
    with cython.nogil:
        for index in range(count):
            if starts[index] < 0:
                continue
            first = starts[index] + RBF_FRAME_CRC32C_INPUT_AT
            last = fences[index] - RBF_FRAME_CRC32C_INPUT_REST
            computed = _crc32c_between(buf, states, step, first, last) if states.shape[0] else _crc32c(buf, first, last)
            if computed != cython.cast(cython.uint, _u4(buf, last)):  # noqa: F821 - of rbf_reverse.py
                starts[index] = -1
