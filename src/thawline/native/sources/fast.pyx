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

cdef extern from "arrow.h" nogil:
    struct ArrowSchema:
        const char *format
        const char *name
        const char *metadata
        long long n_children
        ArrowSchema **children
        ArrowSchema *dictionary
    struct ArrowArray:
        long long length
        long long null_count
        long long offset
        long long n_buffers
        const void **buffers
        ArrowArray **children
    ctypedef struct text_node:
        int kind
        int width
        int digits
        int count
        long long first
        long long size
        long long key
        long long key_size
        long long extra
        long long extra_size
        const unsigned char *valid
        const unsigned char *values
        const unsigned char *offsets
        long long offset
        long long readable
    long long number_after(const char *format)
    int is_whole_decimal(const char *format, long long digits)
    int has_bytes(const ArrowSchema *)
    int has_equal_names(const ArrowSchema *)
    int is_valid(const text_node *, long long at)
    long long offset_at(const text_node *, long long at)
    long long integer_at(const text_node *, long long at)
    unsigned long long unsigned_at(const text_node *, long long at)
    double double_at(const text_node *, long long at)
    int bit_at(const text_node *, long long at)

cdef extern from "text.h" nogil:
    ctypedef struct text_out:
        unsigned char *data
        long long size
    ctypedef struct text_work:
        text_node *nodes
        text_out keys
        text_out out
        text_out value
    int open_work(text_work *, long long nodes)
    void close_work(text_work *)
    int is_short(const text_work *)
    void put_byte(text_out *, unsigned char)
    void put_bytes(text_out *, const unsigned char *, long long size)
    void put_literal(text_out *, const char *)
    void put_integer(text_out *, long long)
    void put_unsigned(text_out *, unsigned long long)
    void put_wide(text_out *, const unsigned char *)
    void put_time(text_out *, long long ticks, int digits)
    void put_hex(text_out *, const unsigned char *, long long size)
    void put_base64(text_out *, const unsigned char *, long long size)
    int put_json_text(text_out *, const unsigned char *, long long size, long long readable, int replaces)
    void put_replaced(text_out *, const unsigned char *, long long size)
    void put_csv_text(text_out *, const unsigned char *, long long size, long long readable, int is_guarded)

cdef extern from "floats.h" nogil:
    int has_powers
    void set_power(int exponent, unsigned long long high, unsigned long long low)
    void put_double(text_out *, double)

cdef extern from "siphash.h" nogil:
    void siphash(const unsigned char *text, long long size, const unsigned char *key, unsigned char *out)
    ctypedef struct hash_slot:
        unsigned long long count
        unsigned long long paired
    ctypedef struct hash_table:
        pass
    int open_table(hash_table *, long long rows)
    void close_table(hash_table *)
    hash_slot *slot_of(const hash_table *, const unsigned char *hash)
    void await_slot(const hash_table *, const unsigned char *hash)
    void clear_bit(unsigned char *bits, long long at)

prepare_crc(1)
prepare_numbers(2)
prepare_hashes(1)

include "constants.pxi"
include "sources.pxi"

