/* CRC-32C and CRC-32 (IEEE) of a range of bytes. CRC-32C uses the CPU's instruction, if a check at run time finds one;
   else eight bytes at a time are looked up in eight tables. */
#ifndef THAWLINE_CRC_H
#define THAWLINE_CRC_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

typedef uint32_t crc_tables[8][256];
typedef uint32_t (*crc_function)(uint32_t crc, const unsigned char *data, size_t size);

static crc_tables crc32c_tables, crc32_tables;

static void fill_tables(crc_tables tables, uint32_t polynomial) {
    for (uint32_t byte = 0; byte < 256; byte++) {
        uint32_t crc = byte;
        for (int bit = 0; bit < 8; bit++) crc = (crc >> 1) ^ (polynomial & (0u - (crc & 1)));
        tables[0][byte] = crc;
    }
    for (int slice = 1; slice < 8; slice++)
        for (int byte = 0; byte < 256; byte++) {
            uint32_t crc = tables[slice - 1][byte];
            tables[slice][byte] = (crc >> 8) ^ tables[0][crc & 255];
        }
}

static inline uint32_t crc_by_tables(crc_tables tables, uint32_t crc, const unsigned char *data, size_t size) {
    for (; size >= 8; data += 8, size -= 8) {
        uint32_t low = crc ^ (data[0] | (uint32_t)data[1] << 8 | (uint32_t)data[2] << 16 | (uint32_t)data[3] << 24);
        crc = tables[7][low & 255] ^ tables[6][(low >> 8) & 255] ^ tables[5][(low >> 16) & 255] ^ tables[4][low >> 24]
            ^ tables[3][data[4]] ^ tables[2][data[5]] ^ tables[1][data[6]] ^ tables[0][data[7]];
    }
    for (; size; data++, size--) crc = (crc >> 8) ^ tables[0][(crc ^ *data) & 255];
    return crc;
}

static uint32_t crc32_by_tables(uint32_t crc, const unsigned char *data, size_t size) {
    return crc_by_tables(crc32_tables, crc, data, size);
}

static uint32_t crc32c_by_tables(uint32_t crc, const unsigned char *data, size_t size) {
    return crc_by_tables(crc32c_tables, crc, data, size);
}

/* Polynomials modulo that of CRC-32C, reflected: bit 31 is x^0. */
static uint32_t times_x(uint32_t a) { return (a >> 1) ^ (0x82f63b78u & (0u - (a & 1))); }

static uint32_t over_x(uint32_t a) { return a >> 31 ? (a ^ 0x82f63b78u) << 1 | 1 : a << 1; }

static uint32_t multiply(uint32_t a, uint32_t b) {
    uint32_t product = 0;
    for (; a; a <<= 1, b = times_x(b)) product ^= b & (0u - (a >> 31));
    return product;
}

/* The register after LANE and 2 * LANE zero bytes, by each byte of the register before. */
#define LANE 256
static uint32_t crc32c_lanes[2][4][256];

static inline uint32_t pass_lanes(int lanes, uint32_t crc) {
    uint32_t (*tables)[256] = crc32c_lanes[lanes - 1];
    return tables[0][crc & 255] ^ tables[1][(crc >> 8) & 255] ^ tables[2][(crc >> 16) & 255] ^ tables[3][crc >> 24];
}

static void prepare_lanes(void) {
    uint32_t lane = 0x80000000u;
    for (int bit = 0; bit < 8 * LANE; bit++) lane = times_x(lane);
    for (int place = 0; place < 4; place++)
        for (uint32_t byte = 0; byte < 256; byte++) {
            crc32c_lanes[0][place][byte] = multiply(lane, byte << (8 * place));
            crc32c_lanes[1][place][byte] = multiply(lane, crc32c_lanes[0][place][byte]);
        }
}

#if defined(__x86_64__) && (defined(__GNUC__) || defined(__clang__))
#include <nmmintrin.h>
/* The instruction takes three cycles, and one can start in each cycle: three lanes cost no more than one. */
__attribute__((target("sse4.2")))
static uint32_t crc32c_by_instruction(uint32_t crc, const unsigned char *data, size_t size) {
    uint64_t wide = crc, word;
    for (; size >= 3 * LANE; data += 3 * LANE, size -= 3 * LANE) {
        uint64_t second = 0, third = 0;
        for (size_t at = 0; at < LANE; at += 8) {
            memcpy(&word, data + at, 8);
            wide = _mm_crc32_u64(wide, word);
            memcpy(&word, data + LANE + at, 8);
            second = _mm_crc32_u64(second, word);
            memcpy(&word, data + 2 * LANE + at, 8);
            third = _mm_crc32_u64(third, word);
        }
        wide = pass_lanes(2, (uint32_t)wide) ^ pass_lanes(1, (uint32_t)second) ^ (uint32_t)third;
    }
    for (; size >= 8; data += 8, size -= 8) {
        memcpy(&word, data, 8);
        wide = _mm_crc32_u64(wide, word);
    }
    crc = (uint32_t)wide;
    if (size >= 4) {
        uint32_t half;
        memcpy(&half, data, 4);
        crc = _mm_crc32_u32(crc, half);
        data += 4, size -= 4;
    }
    for (; size; data++, size--) crc = _mm_crc32_u8(crc, *data);
    return crc;
}
static int has_crc32c_instruction(void) { return __builtin_cpu_supports("sse4.2"); }
#elif defined(__aarch64__) && defined(__linux__) && (defined(__GNUC__) || defined(__clang__))
#include <sys/auxv.h>
#include <arm_acle.h>
#define THAWLINE_HWCAP_CRC32 (1 << 7)
__attribute__((target("+crc")))
static uint32_t crc32c_by_instruction(uint32_t crc, const unsigned char *data, size_t size) {
    uint64_t word;
    for (; size >= 8; data += 8, size -= 8) {
        memcpy(&word, data, 8);
        crc = __crc32cd(crc, word);
    }
    for (; size; data++, size--) crc = __crc32cb(crc, *data);
    return crc;
}
static int has_crc32c_instruction(void) { return (getauxval(AT_HWCAP) & THAWLINE_HWCAP_CRC32) != 0; }
#else
#define crc32c_by_instruction crc32c_by_tables
static int has_crc32c_instruction(void) { return 0; }
#endif

static crc_function crc32c_best = crc32c_by_tables;

static void prepare_crc(int use_instruction) {
    fill_tables(crc32c_tables, 0x82f63b78u);
    fill_tables(crc32_tables, 0xedb88320u);
    prepare_lanes();
    crc32c_best = use_instruction && has_crc32c_instruction() ? crc32c_by_instruction : crc32c_by_tables;
}

static inline uint32_t crc_of_range(crc_function update, const unsigned char *data, size_t size) {
    return ~update(0xffffffffu, data, size);
}

/* CRC-32C of a range from the register before and after it: after ^ before * x^(8 size) mod P. The powers are looked up
   for 12 bits of the size at a time. */
#define POWER_BITS 12
#define POWER_DIGITS 3
typedef uint32_t power_tables[POWER_DIGITS][1 << POWER_BITS];
typedef uint32_t (*move_function)(uint32_t state, uint64_t size);

static power_tables crc32c_powers;

static uint32_t move_by_tables(uint32_t state, uint64_t size) {
    for (int digit = 0; size; digit++, size >>= POWER_BITS)
        if (size & ((1 << POWER_BITS) - 1)) state = multiply(crc32c_powers[digit][size & ((1 << POWER_BITS) - 1)], state);
    return state;
}

#if defined(__x86_64__) && (defined(__GNUC__) || defined(__clang__))
#include <wmmintrin.h>
/* The product without carries, reduced by the instruction for CRC-32C. That also multiplies by x^33, which the powers
   leave out. */
#define EXCESS 33
__attribute__((target("sse4.2,pclmul")))
static uint32_t move_by_instruction(uint32_t state, uint64_t size) {
    for (int digit = 0; size; digit++, size >>= POWER_BITS) {
        uint32_t power = crc32c_powers[digit][size & ((1 << POWER_BITS) - 1)];
        __m128i product = _mm_clmulepi64_si128(_mm_cvtsi32_si128((int)power), _mm_cvtsi32_si128((int)state), 0);
        state = (uint32_t)_mm_crc32_u64(0, (uint64_t)_mm_cvtsi128_si64(product));
    }
    return state;
}
static int has_product_instruction(void) { return __builtin_cpu_supports("sse4.2") && __builtin_cpu_supports("pclmul"); }
#else
#define EXCESS 0
#define move_by_instruction move_by_tables
static int has_product_instruction(void) { return 0; }
#endif

static move_function crc32c_move = move_by_tables;
static crc_function powers_are_for = NULL;

/* Make the powers for sizes below 2^36. Call it before `crc32c_between`, and again after `prepare_crc`. */
static void prepare_powers(void) {
    uint32_t step = 0x00800000u; /* x^8: one byte */
    int excess = 0;
    if (powers_are_for == crc32c_best) return;
    powers_are_for = crc32c_best;
    crc32c_move = move_by_tables;
    if (crc32c_best != crc32c_by_tables && has_product_instruction()) {
        crc32c_move = move_by_instruction;
        excess = EXCESS;
    }
    for (int digit = 0; digit < POWER_DIGITS; digit++) {
        uint32_t power = 0x80000000u;
        for (int times = 0; times < 1 << POWER_BITS; times++) {
            uint32_t stored = power;
            for (int i = 0; i < excess; i++) stored = over_x(stored);
            crc32c_powers[digit][times] = stored;
            power = multiply(power, step);
        }
        step = power;
    }
}

static inline uint32_t crc32c_between(uint32_t before, uint32_t after, uint64_t size) {
    return ~(after ^ crc32c_move(before ^ 0xffffffffu, size));
}

#endif
