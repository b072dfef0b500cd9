/* SipHash-2-4 with 128 bits (https://www.aumasson.jp/siphash/siphash.pdf): nobody who does not know the key can make two
 * texts with the same hash. */
#ifndef THAWLINE_SIPHASH_H
#define THAWLINE_SIPHASH_H

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "bytes.h"

#define SIP_ROTATED(x, n) (((x) << (n)) | ((x) >> (64 - (n))))

static inline void sip_rounds(uint64_t v[4], int rounds)
{
    while (rounds--) {
        v[0] += v[1], v[1] = SIP_ROTATED(v[1], 13) ^ v[0], v[0] = SIP_ROTATED(v[0], 32);
        v[2] += v[3], v[3] = SIP_ROTATED(v[3], 16) ^ v[2];
        v[0] += v[3], v[3] = SIP_ROTATED(v[3], 21) ^ v[0];
        v[2] += v[1], v[1] = SIP_ROTATED(v[1], 17) ^ v[2], v[2] = SIP_ROTATED(v[2], 32);
    }
}

static inline uint64_t sip_word(const unsigned char *from, long long size)
{
    uint64_t word = 0;
    for (long long i = 0; i < size; i++) word |= (uint64_t)from[i] << 8 * i;
    return word;
}

/* The hash of a text, 16 bytes, with a key of 16 bytes. */
static inline void siphash(const unsigned char *text, long long size, const unsigned char *key, unsigned char *out)
{
    const uint64_t key_low = sip_word(key, 8), key_high = sip_word(key + 8, 8);
    uint64_t v[4] = {0x736f6d6570736575u ^ key_low, 0x646f72616e646f6du ^ key_high ^ 0xee,
                     0x6c7967656e657261u ^ key_low, 0x7465646279746573u ^ key_high};
    long long at = 0;
    for (; at + 8 <= size; at += 8) {
        const uint64_t word = sip_word(text + at, 8);
        v[3] ^= word;
        sip_rounds(v, 2);
        v[0] ^= word;
    }
    const uint64_t last = sip_word(text + at, size - at) | (uint64_t)size << 56;
    v[3] ^= last;
    sip_rounds(v, 2);
    v[0] ^= last;
    v[2] ^= 0xee;
    for (int half = 0; half < 2; half++) {
        if (half) v[1] ^= 0xdd;
        sip_rounds(v, 4);
        const uint64_t word = v[0] ^ v[1] ^ v[2] ^ v[3];
        for (int i = 0; i < 8; i++) out[8 * half + i] = (unsigned char)(word >> 8 * i);
    }
}

/* Hashes that are counted: how many rows of one side have each, and how many of these have a partner on the other. */
typedef struct {
    uint64_t low, high, count, paired;
} hash_slot;

typedef struct {
    hash_slot *slots;
    uint64_t mask;
} hash_table;

static inline int open_table(hash_table *table, long long rows)
{
    uint64_t size = 64;
    while (size < 2 * (uint64_t)rows) size *= 2;
    table->mask = size - 1;
    table->slots = (hash_slot *)calloc(size, sizeof *table->slots);
    return table->slots != NULL;
}

static inline void close_table(hash_table *table) { free(table->slots); }

/* The slot of a hash, or the free one where it belongs. */
static inline hash_slot *slot_of(const hash_table *table, const unsigned char *hash)
{
    uint64_t low, high, at;
    memcpy(&low, hash, 8);
    memcpy(&high, hash + 8, 8);
    for (at = low & table->mask;; at = (at + 1) & table->mask) {
        hash_slot *slot = table->slots + at;
        if (!slot->count) slot->low = low, slot->high = high;
        if (slot->low == low && slot->high == high) return slot;
    }
}

/* Have the slot of a hash brought near, which is needed soon. */
static inline void await_slot(const hash_table *table, const unsigned char *hash)
{
    uint64_t low;
    memcpy(&low, hash, 8);
    prefetch((const unsigned char *)(table->slots + (low & table->mask)));
}

static inline void clear_bit(unsigned char *bits, long long at) { bits[at >> 3] &= (unsigned char)~(1u << (at & 7)); }

#endif
