/* Arrays of small numbers in JSON, read 64 bytes at a time.
 *
 * A mask of the commas tells where numbers end. A byte has at most three digits, so 64 characters hold at least sixteen
 * numbers, and sixteen are read without a branch. With SSSE3, four numbers at a time are moved into four lanes, by a
 * table of the places that their commas can have; else each is looked up by the low bits of its digits. */
#ifndef THAWLINE_BITS_H
#define THAWLINE_BITS_H

#include <stdint.h>
#include <string.h>

#if (defined(__GNUC__) || defined(__clang__)) && defined(__x86_64__)
#define HAS_SSSE3_BUILD 1
#include <immintrin.h>
#endif

#ifdef _MSC_VER
#include <intrin.h>
static __inline int lowest_bit(uint64_t mask) {
    unsigned long index;
    _BitScanForward64(&index, mask);
    return (int)index;
}
#else
static inline int lowest_bit(uint64_t mask) { return __builtin_ctzll(mask); }
#endif

typedef long long (*bytes_function)(const unsigned char *, long long, unsigned char *, long long *);

enum { SIXTEEN = 16, BLOCK = 64 };

/* The numbers 0..255, indexed by their digits, four bits each: the digits as text, and the number. */
static uint32_t numbers[0x1000];
/* By the number of digits, the bytes of a text that ends in the third of four bytes; none for other numbers. */
static uint32_t masks[BLOCK + 1];

static void prepare_table(void) {
    uint32_t number, text;
    for (number = 0; number < 0x1000; number++) numbers[number] = 0x00FFFFFF;
    for (number = 0; number < 256; number++) {
        text = (uint32_t)('0' + number % 10) << 16;
        if (number > 9) text |= (uint32_t)('0' + number / 10 % 10) << 8;
        if (number > 99) text |= (uint32_t)('0' + number / 100);
        numbers[(number / 100) << 8 | (number / 10 % 10) << 4 | number % 10] = number << 24 | text;
    }
    memset(masks, 0, sizeof masks);
    masks[1] = 0xFF0000;
    masks[2] = 0xFFFF00;
    masks[3] = 0xFFFFFF;
}

/* The commas among 64 bytes as a mask, eight bytes at a time. */
static inline uint64_t commas_of(const unsigned char *data) {
    const uint64_t ones = 0x0101010101010101ULL, rest = 0x7F7F7F7F7F7F7F7FULL;
    uint64_t commas = 0;
    int i;
    for (i = 0; i < 8; i++) {
        uint64_t word = 0;
#if defined(__BYTE_ORDER__) && __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
        int k;
        for (k = 7; k >= 0; k--) word = word << 8 | data[8 * i + k];
#else
        memcpy(&word, data + 8 * i, 8);
#endif
        word ^= ones * ',';
        word = ~(((word & rest) + rest) | word) & ~rest;
        commas |= (word * 0x0002040810204081ULL >> 56) << 8 * i;
    }
    return commas;
}

/* The byte whose `size` digits are before a comma; `wrong` gets bits if they are not digits of a byte.
 *
 * The low bits of the text lead to an entry, whose text is compared. A zero byte would stand for one digit less, so
 * that is checked, too. Three bytes before the comma are read. */
static inline unsigned char number_before(const unsigned char *comma, int size, uint32_t *wrong) {
    uint32_t text = (comma[-3] | (uint32_t)comma[-2] << 8 | (uint32_t)comma[-1] << 16) & masks[size];
    uint32_t number = numbers[(uint32_t)((text & 0x0F0F0F) * 0x10010010U) >> 20];
    *wrong |= ((number ^ text) & 0xFFFFFF) | (~text & masks[size] & 0x303030);
    return (unsigned char)(number >> 24);
}

/* Read bytes as decimal numbers, each followed by a comma, sixteen at a time; returns how many characters were read,
 * and in `count` how many numbers. It stops before sixteen of which one has another form. */
static long long sixteens_plainly(const unsigned char *data, long long size, unsigned char *out, long long *count) {
    long long pos = 0, found = 0;
    while (pos + BLOCK <= size) {
        uint64_t commas = commas_of(data + pos);
        uint32_t wrong = 0;
        int start = 0, end, i;
        for (i = 0; i < SIXTEEN && commas; i++) {
            end = lowest_bit(commas);
            out[found + i] = number_before(data + pos + end, end - start, &wrong);
            start = end + 1;
            commas &= commas - 1;
        }
        if (wrong || i < SIXTEEN) break;
        pos += start;
        found += SIXTEEN;
    }
    *count = found;
    return pos;
}

#ifdef HAS_SSSE3_BUILD
/* By the places of the commas in 16 bytes: which of the shapes that four numbers of one to three digits have. */
static unsigned char ways[1 << 16];
static struct {
    unsigned char moves[16]; /* where the bytes of four lanes come from: nothing, hundreds, tens, ones */
    int32_t least[4];        /* the smallest number with that many digits, less 1 */
} lanes[82];

static void prepare_ways(void) {
    uint32_t mask, way;
    memset(ways, 81, sizeof ways);
    for (way = 0; way < 81; way++) {
        uint32_t rest = way, at = 0, commas = 0, lane, digit;
        for (lane = 0; lane < 4; lane++, rest /= 3) {
            uint32_t size = rest % 3 + 1;
            for (digit = 0; digit < 4; digit++)
                lanes[way].moves[4 * lane + digit] = digit < 4 - size ? 0x80 : (unsigned char)(at + digit - (4 - size));
            lanes[way].least[lane] = size == 1 ? -1 : size == 2 ? 9 : 99;
            at += size;
            commas |= 1u << at++;
        }
        /* Whatever is after the fourth comma. */
        for (mask = 0; mask < 1u << (16 - at); mask++) ways[commas | mask << at] = (unsigned char)way;
    }
    for (mask = 0; mask < 4; mask++) lanes[81].least[mask] = 1 << 30; /* no shape: every number is too small */
    memset(lanes[81].moves, 0x80, 16);
}

/* Where every fourth of sixteen numbers ends, from the mask of commas; 0 if there are fewer. */
typedef int (*ends_function)(uint64_t commas, int *ends);

static inline int ends_by_steps(uint64_t commas, int *ends) {
    int i, k;
    for (i = 0; i < 4; i++) {
        for (k = 0; k < 3; k++) commas &= commas - 1;
        if (!commas) return 0;
        ends[i] = lowest_bit(commas);
        commas &= commas - 1;
    }
    return 1;
}

/* In steps each waits for the one before, and the next block for the last; this does not. */
__attribute__((target("bmi2"))) static inline int ends_at_once(uint64_t commas, int *ends) {
    uint64_t last = _pdep_u64(1 << 15, commas);
    if (!last) return 0;
    ends[0] = lowest_bit(_pdep_u64(1 << 3, commas));
    ends[1] = lowest_bit(_pdep_u64(1 << 7, commas));
    ends[2] = lowest_bit(_pdep_u64(1 << 11, commas));
    ends[3] = lowest_bit(last);
    return 1;
}

/* As `sixteens_plainly`, four numbers at a time. */
__attribute__((target("ssse3"), always_inline)) static inline long long in_lanes(
    const unsigned char *data, long long size, unsigned char *out, long long *count, ends_function find_ends) {
    const __m128i weights = _mm_set1_epi32(0x010A6400), ones = _mm_set1_epi16(1), most = _mm_set1_epi32(255);
    const __m128i picked = _mm_setr_epi8(0, 4, 8, 12, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1);
    long long pos = 0, found = 0;
    while (pos + BLOCK <= size) {
        const unsigned char *block = data + pos;
        uint64_t commas = 0, digits = 0;
        __m128i wrong = _mm_setzero_si128();
        int start = 0, ends[4], i;
        for (i = 0; i < 4; i++) {
            __m128i bytes = _mm_loadu_si128((const __m128i *)(block + 16 * i));
            __m128i values = _mm_sub_epi8(bytes, _mm_set1_epi8('0'));
            __m128i is_digit = _mm_cmpeq_epi8(_mm_min_epu8(values, _mm_set1_epi8(9)), values);
            commas |= (uint64_t)(uint32_t)_mm_movemask_epi8(_mm_cmpeq_epi8(bytes, _mm_set1_epi8(','))) << 16 * i;
            digits |= (uint64_t)(uint32_t)_mm_movemask_epi8(is_digit) << 16 * i;
        }
        /* Twelve valid numbers leave 16 bytes for the next four; after others the block may end sooner. */
        if (!find_ends(commas, ends) || ends[2] >= BLOCK - 16) break;
        for (i = 0; i < 4; i++) {
            unsigned way = ways[commas >> start & 0xFFFF];
            __m128i bytes = _mm_loadu_si128((const __m128i *)(block + start)), values;
            __m128i moved = _mm_shuffle_epi8(bytes, _mm_loadu_si128((const __m128i *)lanes[way].moves));
            uint32_t four;
            /* '0' is subtracted from digits only: an empty place is 0 and remains 0. */
            moved = _mm_subs_epu8(moved, _mm_set1_epi8('0'));
            values = _mm_madd_epi16(_mm_maddubs_epi16(moved, weights), ones);
            wrong = _mm_or_si128(wrong, _mm_cmpgt_epi32(values, most));
            wrong = _mm_or_si128(
                wrong, _mm_cmpeq_epi32(_mm_setzero_si128(),
                                       _mm_cmpgt_epi32(values, _mm_loadu_si128((const __m128i *)lanes[way].least))));
            four = (uint32_t)_mm_cvtsi128_si32(_mm_shuffle_epi8(values, picked));
            memcpy(out + found + 4 * i, &four, 4);
            start = ends[i] + 1;
        }
        /* All characters up to the last comma are digits or commas. */
        if (_mm_movemask_epi8(wrong) || (~(commas | digits) & (((uint64_t)1 << (start - 1)) - 1))) break;
        pos += start;
        found += SIXTEEN;
    }
    *count = found;
    return pos;
}

__attribute__((target("ssse3"))) static long long sixteens_in_lanes(
    const unsigned char *data, long long size, unsigned char *out, long long *count) {
    return in_lanes(data, size, out, count, ends_by_steps);
}

__attribute__((target("ssse3,bmi2"))) static long long sixteens_by_bits(
    const unsigned char *data, long long size, unsigned char *out, long long *count) {
    return in_lanes(data, size, out, count, ends_at_once);
}

/* On AMD's first two generations with BMI2, one such instruction takes as long as all the steps. */
static int has_quick_bits(void) {
    return __builtin_cpu_supports("bmi2") && !__builtin_cpu_is("znver1") && !__builtin_cpu_is("znver2");
}
#endif

static bytes_function sixteens = sixteens_plainly;

/* Read bytes as decimal numbers, each followed by a comma, up to the first that has another form. */
static inline long long read_bytes(const unsigned char *data, long long size, unsigned char *out, long long *count) {
    long long pos = sixteens(data, size, out, count);
    if (pos + BLOCK <= size) {
        uint64_t commas = commas_of(data + pos);
        uint32_t wrong = 0;
        int start = 0;
        for (; commas; commas &= commas - 1) {
            int end = lowest_bit(commas);
            out[*count] = number_before(data + pos + end, end - start, &wrong);
            if (wrong) break;
            *count += 1;
            start = end + 1;
        }
        pos += start;
    }
    return pos;
}

/* Make the tables, and choose how to read: 0 plain arithmetic, 1 lanes by steps, 2 lanes by bits; at most what this CPU
 * has. */
static void prepare_numbers(int most) {
    prepare_table();
    sixteens = sixteens_plainly;
#ifdef HAS_SSSE3_BUILD
    prepare_ways();
    __builtin_cpu_init();
    if (most > 0 && __builtin_cpu_supports("ssse3"))
        sixteens = most > 1 && has_quick_bits() ? sixteens_by_bits : sixteens_in_lanes;
#else
    (void)most;
#endif
}

#endif
