/* The shortest decimal that reads back as a double: Raffaello Giulietti, "The Schubfach way to render doubles". */
#ifndef THAWLINE_FLOATS_H
#define THAWLINE_FLOATS_H

#include "text.h"

#define POWERS_FIRST (-292)
#define POWERS_LAST 324

/* The highest 128 bits of the powers of ten, rounded up: the higher and the lower 64. */
static uint64_t float_powers[POWERS_LAST - POWERS_FIRST + 1][2];
static int has_powers = 0;

static void set_power(int exponent, uint64_t high, uint64_t low) {
    float_powers[exponent - POWERS_FIRST][0] = high;
    float_powers[exponent - POWERS_FIRST][1] = low;
    has_powers = exponent == POWERS_LAST;
}

/* The higher 64 bits of a product; the lower ones go to `low`. */
static inline uint64_t product(uint64_t one, uint64_t other, uint64_t *low) {
#if defined(__SIZEOF_INT128__)
    unsigned __int128 full = (unsigned __int128)one * other;
    *low = (uint64_t)full;
    return (uint64_t)(full >> 64);
#else
    uint64_t a = one >> 32, b = (uint32_t)one, c = other >> 32, d = (uint32_t)other;
    uint64_t middle = a * d + (b * d >> 32), rest = b * c + (uint32_t)middle;
    *low = one * other;
    return a * c + (middle >> 32) + (rest >> 32);
#endif
}

static inline uint64_t rounded_to_odd(const uint64_t *power, uint64_t number) {
    uint64_t ignored, low, from_low = product(power[1], number, &ignored), high = product(power[0], number, &low);
    low += from_low;
    high += low < from_low;
    return high | (low > 1);
}

/* The digits of a positive double, as an integer; `exponent` is that of ten. */
static uint64_t shortest_digits(uint64_t fraction, int biased, int *exponent) {
    uint64_t c = biased ? fraction | 1ull << 52 : fraction, lower, upper, middle, s, tens;
    int q = (biased ? biased : 1) - 1075, is_edge = !fraction && biased > 1, odd = (int)(c & 1), k, h, below, above;
    const uint64_t *power;
    if (q <= 0 && q > -53 && !(c & ((1ull << -q) - 1))) {
        *exponent = 0;
        return c >> -q;
    }
    k = (q * 1262611 - (is_edge ? 524031 : 0)) >> 22; /* the logarithm of 2^q, or of 3/4 of it */
    h = q + ((-k * 1741647) >> 19) + 1;
    power = float_powers[-k - POWERS_FIRST];
    lower = rounded_to_odd(power, (4 * c - 2 + (uint64_t)is_edge) << h) + (uint64_t)odd;
    middle = rounded_to_odd(power, (4 * c) << h);
    upper = rounded_to_odd(power, (4 * c + 2) << h) - (uint64_t)odd;
    s = middle / 4;
    *exponent = k;
    if (s >= 10) {
        tens = s / 10;
        below = lower <= 40 * tens;
        above = 40 * tens + 40 <= upper;
        if (below != above) {
            *exponent = k + 1;
            return tens + (uint64_t)above;
        }
    }
    below = lower <= 4 * s;
    above = 4 * s + 4 <= upper;
    if (below != above) return s + (uint64_t)above;
    return s + (middle > 4 * s + 2 || (middle == 4 * s + 2 && (s & 1)));
}

static void put_zeros(text_out *out, long long count) {
    while (count-- > 0) put_byte(out, '0');
}

/* Digits with their point after the `point`-th, or an exponent where that takes many zeros, as orjson has it. */
static void put_pointed(text_out *out, const unsigned char *digits, long long count, long long point) {
    if (point > 16 || point <= -5) {
        put_byte(out, digits[0]);
        if (count > 1) put_byte(out, '.');
        put_bytes(out, digits + 1, count - 1);
        put_byte(out, 'e');
        put_byte(out, point > 0 ? '+' : '-');
        put_unsigned(out, (unsigned long long)(point > 0 ? point - 1 : 1 - point));
    } else if (point <= 0) {
        put_literal(out, "0.");
        put_zeros(out, -point);
        put_bytes(out, digits, count);
    } else if (count <= point) {
        put_bytes(out, digits, count);
        put_zeros(out, point - count);
        put_literal(out, ".0");
    } else {
        put_bytes(out, digits, point);
        put_byte(out, '.');
        put_bytes(out, digits + point, count - point);
    }
}

/* A double as JSON; JSON has neither infinities nor what is no number. */
static void put_double(text_out *out, double number) {
    unsigned char digits[20], *end = digits + sizeof digits, *start;
    uint64_t bits, fraction;
    int biased, exponent = 0;
    memcpy(&bits, &number, 8);
    fraction = bits & ((1ull << 52) - 1);
    biased = (int)(bits >> 52 & 2047);
    if (biased == 2047) {
        put_literal(out, "null");
        return;
    }
    if (bits >> 63) put_byte(out, '-');
    if (!fraction && !biased) {
        put_literal(out, "0.0");
        return;
    }
    start = digits_before(end, shortest_digits(fraction, biased, &exponent));
    while (end - start > 1 && end[-1] == '0') {
        end--;
        exponent++;
    }
    put_pointed(out, start, end - start, end - start + exponent);
}

#endif
