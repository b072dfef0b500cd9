/* RIPEMD-160 of many short messages, eight at a time: each lane of a vector is one message.
 *
 * https://homes.esat.kuleuven.be/~bosselae/ripemd160/pdf/AB-9601/AB-9601.pdf
 */
#include <stdint.h>
#include <string.h>

#define RMD_LANES 8
typedef uint32_t rmd_lanes __attribute__((vector_size(4 * RMD_LANES)));
#define RMD_INLINE static inline __attribute__((always_inline))

static const unsigned char rmd_words[2][80] = {
    {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 7, 4, 13, 1, 10, 6, 15, 3, 12, 0, 9, 5, 2, 14, 11, 8,
     3, 10, 14, 4, 9, 15, 8, 1, 2, 7, 0, 6, 13, 11, 5, 12, 1, 9, 11, 10, 0, 8, 12, 4, 13, 3, 7, 15, 14, 5, 6, 2,
     4, 0, 5, 9, 7, 12, 2, 10, 14, 1, 3, 8, 11, 6, 15, 13},
    {5, 14, 7, 0, 9, 2, 11, 4, 13, 6, 15, 8, 1, 10, 3, 12, 6, 11, 3, 7, 0, 13, 5, 10, 14, 15, 8, 12, 4, 9, 1, 2,
     15, 5, 1, 3, 7, 14, 6, 9, 11, 8, 12, 2, 10, 0, 4, 13, 8, 6, 4, 1, 3, 11, 15, 0, 5, 12, 2, 13, 9, 7, 10, 14,
     12, 15, 10, 4, 1, 5, 8, 7, 6, 2, 13, 14, 0, 3, 9, 11}};
static const unsigned char rmd_shifts[2][80] = {
    {11, 14, 15, 12, 5, 8, 7, 9, 11, 13, 14, 15, 6, 7, 9, 8, 7, 6, 8, 13, 11, 9, 7, 15, 7, 12, 15, 9, 11, 7, 13, 12,
     11, 13, 6, 7, 14, 9, 13, 15, 14, 8, 13, 6, 5, 12, 7, 5, 11, 12, 14, 15, 14, 15, 9, 8, 9, 14, 5, 6, 8, 6, 5, 12,
     9, 15, 5, 11, 6, 8, 13, 12, 5, 12, 13, 14, 11, 8, 5, 6},
    {8, 9, 9, 11, 13, 15, 15, 5, 7, 7, 8, 11, 14, 14, 12, 6, 9, 13, 15, 7, 12, 8, 9, 11, 7, 7, 12, 7, 6, 15, 13, 11,
     9, 7, 15, 11, 8, 6, 6, 14, 12, 13, 5, 14, 13, 13, 7, 5, 15, 5, 8, 11, 14, 14, 6, 14, 6, 9, 12, 9, 12, 5, 15, 8,
     8, 5, 12, 9, 12, 5, 14, 6, 8, 13, 6, 5, 15, 13, 11, 11}};
static const uint32_t rmd_constants[2][5] = {
    {0, 0x5a827999u, 0x6ed9eba1u, 0x8f1bbcdcu, 0xa953fd4eu}, {0x50a28be6u, 0x5c4dd124u, 0x6d703ef3u, 0x7a6d76e9u, 0}};
static const uint32_t rmd_start[5] = {0x67452301u, 0xefcdab89u, 0x98badcfeu, 0x10325476u, 0xc3d2e1f0u};

#define RMD_ROTATED(x, n) (((x) << (n)) | ((x) >> (32 - (n))))

/* The functions of the five rounds; the right line has them in reverse order. */
#define RMD_F0(x, y, z) ((x) ^ (y) ^ (z))
#define RMD_F1(x, y, z) (((x) & (y)) | (~(x) & (z)))
#define RMD_F2(x, y, z) (((x) | ~(y)) ^ (z))
#define RMD_F3(x, y, z) (((x) & (z)) | ((y) & ~(z)))
#define RMD_F4(x, y, z) ((x) ^ ((y) | ~(z)))

#define RMD_ROUND(line, number, F)                                                                                     \
    for (int step = 16 * (number); step < 16 * (number) + 16; step++) {                                                \
        const int turn = rmd_shifts[line][step];                                                                       \
        rmd_lanes sum = a + F(b, c, d) + words[rmd_words[line][step]] + rmd_constants[line][number];                   \
        sum = RMD_ROTATED(sum, turn) + e;                                                                              \
        a = e, e = d, d = RMD_ROTATED(c, 10), c = b, b = sum;                                                          \
    }

/* Hash one block of each lane's message into its state. */
RMD_INLINE void rmd_compress(rmd_lanes state[5], const rmd_lanes words[16])
{
    rmd_lanes a = state[0], b = state[1], c = state[2], d = state[3], e = state[4];
    RMD_ROUND(0, 0, RMD_F0)
    RMD_ROUND(0, 1, RMD_F1)
    RMD_ROUND(0, 2, RMD_F2)
    RMD_ROUND(0, 3, RMD_F3)
    RMD_ROUND(0, 4, RMD_F4)
    const rmd_lanes left[5] = {a, b, c, d, e};
    a = state[0], b = state[1], c = state[2], d = state[3], e = state[4];
    RMD_ROUND(1, 0, RMD_F4)
    RMD_ROUND(1, 1, RMD_F3)
    RMD_ROUND(1, 2, RMD_F2)
    RMD_ROUND(1, 3, RMD_F1)
    RMD_ROUND(1, 4, RMD_F0)
    const rmd_lanes first = state[1] + left[2] + d;
    state[1] = state[2] + left[3] + e;
    state[2] = state[3] + left[4] + a;
    state[3] = state[4] + left[0] + b;
    state[4] = state[0] + left[1] + c;
    state[0] = first;
}

static uint32_t rmd_load(const unsigned char *at)
{
    return at[0] | (uint32_t)at[1] << 8 | (uint32_t)at[2] << 16 | (uint32_t)at[3] << 24;
}

/* The block of a message at a multiple of 64, padded if the message ends in it or before it. */
static void rmd_block(const unsigned char *message, uint64_t size, uint64_t at, unsigned char block[64])
{
    const uint64_t left = at < size ? size - at : 0;
    if (left >= 64) {
        memcpy(block, message + at, 64);
        return;
    }
    memset(block, 0, 64);
    if (left)
        memcpy(block, message + at, left);
    if (at <= size)
        block[left] = 0x80;
    if (left < 56)
        for (int byte = 0; byte < 8; byte++)
            block[56 + byte] = (unsigned char)((size << 3) >> (8 * byte));
}

RMD_INLINE void rmd_hash_lanes(const unsigned char *data, const long long *starts, const long long *ends, int count,
                               unsigned char *out)
{
    rmd_lanes state[5], words[16];
    uint64_t blocks[RMD_LANES], most = 0;
    for (int lane = 0; lane < count; lane++) {
        blocks[lane] = ((uint64_t)(ends[lane] - starts[lane]) + 8) / 64 + 1;
        most = blocks[lane] > most ? blocks[lane] : most;
    }
    for (int part = 0; part < 5; part++)
        state[part] = (rmd_lanes){0} + rmd_start[part];
    memset(words, 0, sizeof words);
    for (uint64_t number = 0; number < most; number++) {
        for (int lane = 0; lane < count; lane++) {
            unsigned char block[64];
            rmd_block(data + starts[lane], (uint64_t)(ends[lane] - starts[lane]), 64 * number, block);
            for (int word = 0; word < 16; word++)
                words[word][lane] = rmd_load(block + 4 * word);
        }
        rmd_compress(state, words);
        for (int lane = 0; lane < count; lane++)
            if (blocks[lane] == number + 1)
                for (int part = 0; part < 5; part++)
                    for (int byte = 0; byte < 4; byte++)
                        out[20 * lane + 4 * part + byte] = (unsigned char)(state[part][lane] >> (8 * byte));
    }
}

/* The same code, compiled a second time for processors with registers for eight lanes. */
#if defined(__x86_64__) && defined(__GNUC__)
__attribute__((target("avx2"))) static void rmd_hash_wide(const unsigned char *data, const long long *starts,
                                                          const long long *ends, int count, unsigned char *out)
{
    rmd_hash_lanes(data, starts, ends, count, out);
}
#define RMD_HAS_WIDE __builtin_cpu_supports("avx2")
#else
#define rmd_hash_wide rmd_hash_lanes
#define RMD_HAS_WIDE 0
#endif

static int rmd_is_wide = 0;

static void prepare_hashes(int use_wide) { rmd_is_wide = use_wide && RMD_HAS_WIDE; }

/* Hashes of up to eight messages `[starts[i], ends[i])`, 20 bytes each. */
static void rmd_hash(const unsigned char *data, const long long *starts, const long long *ends, int count,
                     unsigned char *out)
{
    if (rmd_is_wide)
        rmd_hash_wide(data, starts, ends, count, out);
    else
        rmd_hash_lanes(data, starts, ends, count, out);
}
