"""Hashes over many ranges of a buffer. The arithmetic is C, in ripemd160.h."""

import cython

if not cython.compiled:
    from thawline.native.constants.aerospike import DIGEST_SIZE, HASHED


def use_avx2(wanted: cython.bint):
    """Choose whether hashes use the CPU's wide registers, for tests that run both."""
    prepare_hashes(wanted)  # noqa: F821 - of ripemd160.h


def ripemd160_ranges(
    buf: cython.const[cython.uchar][::1],
    starts: cython.const[cython.longlong][::1],
    ends: cython.const[cython.longlong][::1],
    rows: cython.longlong,
    out: cython.uchar[::1],
):
    """RIPEMD-160 of each range `[start, end)` of a buffer, 20 bytes each."""
    row: cython.longlong = 0
    with cython.nogil:
        while row < rows:
            rmd_hash(  # noqa: F821 - of ripemd160.h
                _first_byte(buf),  # noqa: F821 - of checksums.py
                cython.address(starts[row]),
                cython.address(ends[row]),
                cython.cast(cython.int, min(HASHED, rows - row)),
                cython.address(out[DIGEST_SIZE * row]),
            )
            row += HASHED
