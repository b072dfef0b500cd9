# cython: language_level=3
"""The constants, all sources and the generated kernels, compiled into one module, with the names that are C's."""

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
    const unsigned char *no_bytes
    void copy_slice(unsigned char *, const unsigned char *, long long size, long long readable)
    long long zigzag_size(long long number)
    long long put_zigzag(unsigned char *, long long number)
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

include "constants.pxi"
include "sources.pxi"

