/* What kernels do with bytes that Cython's pure Python mode cannot express. */
#ifndef THAWLINE_BYTES_H
#define THAWLINE_BYTES_H

#include <string.h>

/* What a kernel does for every value. A compiler that sees many calls of a function stops copying it to each of them,
 * whatever one of them costs. */
#if defined(__GNUC__) || defined(__clang__)
#define ALWAYS_INLINE static inline __attribute__((always_inline))
#else
#define ALWAYS_INLINE static inline
#endif

/* Prefetch memory that is read soon. A compiler that does not know the hint leaves it out. */
#if defined(__GNUC__) || defined(__clang__)
static inline void prefetch(const unsigned char *at) { __builtin_prefetch(at); }
#else
static inline void prefetch(const unsigned char *at) { (void)at; }
#endif

/* The address of an empty buffer. */
static const unsigned char no_bytes[1] = {0};

/* Copy `size` bytes. After them, 32 bytes at `to` may be overwritten; at `from`, `readable` bytes may be read. So a short
 * value is copied in steps, which is quicker than a call of memcpy. */
ALWAYS_INLINE void copy_slice(unsigned char *to, const unsigned char *from, long long size, long long readable) {
    if (size <= 256 && size + 32 <= readable) {
        long long at;
        for (at = 0; at < size; at += 32) memcpy(to + at, from + at, 32);
    } else {
        memcpy(to, from, (size_t)size);
    }
}

/* Zigzag varints: groups of seven bits, the least significant first. */
static inline unsigned long long zigzag(long long number) {
    return ((unsigned long long)number << 1) ^ (unsigned long long)(number >> 63);
}

static inline long long zigzag_size(long long number) {
    unsigned long long rest = zigzag(number);
    long long size = 1;
    if (rest < 128) return size; /* as most lengths and deltas */
#if defined(__GNUC__) || defined(__clang__)
    /* One byte for each seven bits that are begun: 9 / 64 is a little more than 1 / 7. */
    return ((64 - __builtin_clzll(rest)) * 9 + 64) >> 6;
#else
    for (; rest >= 128; rest >>= 7) size++;
    return size;
#endif
}

static inline long long put_zigzag(unsigned char *to, long long number) {
    long long at = 0;
    unsigned long long rest = zigzag(number);
    for (; rest >= 128; rest >>= 7) to[at++] = (unsigned char)(rest | 128);
    to[at++] = (unsigned char)rest;
    return at;
}

/* The number of bytes before the first one that is either of two; `size` if there is none. */
#if defined(__SSE2__) && (defined(__GNUC__) || defined(__clang__))
#include <emmintrin.h>
static inline long long find_either(const unsigned char *data, long long size, unsigned char one, unsigned char other) {
    long long at = 0;
    for (; at + 16 <= size; at += 16) {
        __m128i block = _mm_loadu_si128((const __m128i *)(data + at));
        __m128i found = _mm_or_si128(
            _mm_cmpeq_epi8(block, _mm_set1_epi8((char)one)), _mm_cmpeq_epi8(block, _mm_set1_epi8((char)other)));
        int bits = _mm_movemask_epi8(found);
        if (bits) return at + __builtin_ctz((unsigned)bits);
    }
    while (at < size && data[at] != one && data[at] != other) at++;
    return at;
}
#else
static inline long long find_either(const unsigned char *data, long long size, unsigned char one, unsigned char other) {
    long long at = 0;
    while (at < size && data[at] != one && data[at] != other) at++;
    return at;
}
#endif

#endif
