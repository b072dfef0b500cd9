/* Values as text, at the end of a buffer that grows. */
#ifndef THAWLINE_TEXT_H
#define THAWLINE_TEXT_H

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "arrow.h"
#if defined(__SSE2__) && (defined(__GNUC__) || defined(__clang__))
#define TEXT_BY_STEPS
#include <emmintrin.h>
#endif

/* Without memory for more, `is_short` is set, and nothing is added from then on. */
typedef struct {
    unsigned char *data;
    long long size, room;
    int is_short;
} text_out;

/* What a call of a writer works with: the plan, whose first node is the row, the names in it, the text so far, and a
 * value that has to be text before it is quoted. */
typedef struct {
    text_node *nodes;
    text_out keys, out, value;
} text_work;

static inline int open_work(text_work *work, long long nodes) {
    memset(work, 0, sizeof *work);
    work->nodes = (text_node *)calloc((size_t)nodes, sizeof *work->nodes);
    return work->nodes != NULL;
}

static inline void close_work(text_work *work) {
    free(work->nodes);
    free(work->keys.data);
    free(work->out.data);
    free(work->value.data);
}

static inline int is_short(const text_work *work) {
    return work->keys.is_short || work->out.is_short || work->value.is_short;
}

#define TEXT_STEP 16

static int grow_text(text_out *out, long long more) {
    long long room = out->room * 2 < 4096 ? 4096 : out->room * 2;
    unsigned char *data;
    if (out->is_short) return 0;
    if (room < out->size + more) room = out->size + more;
    data = (unsigned char *)realloc(out->data, (size_t)room);
    if (!data) {
        out->is_short = 1;
        out->room = out->size; /* so that no later call finds room */
        return 0;
    }
    out->data = data;
    out->room = room;
    return 1;
}

/* Whether there is room for `more` bytes and a step beyond them. */
static inline int has_room(text_out *out, long long more) {
    return out->size + more + TEXT_STEP <= out->room || grow_text(out, more + TEXT_STEP);
}

static inline void put_byte(text_out *out, unsigned char byte) {
    if (has_room(out, 1)) out->data[out->size++] = byte;
}

static inline void put_bytes(text_out *out, const unsigned char *from, long long size) {
    if (!has_room(out, size)) return;
    if (size) memcpy(out->data + out->size, from, (size_t)size);
    out->size += size;
}

static inline void put_literal(text_out *out, const char *text) {
    put_bytes(out, (const unsigned char *)text, (long long)strlen(text));
}

/* Integers. */

static const char text_pairs[201] =
    "00010203040506070809101112131415161718192021222324252627282930313233343536373839404142434445464748495051525354555657"
    "585960616263646566676869707172737475767778798081828384858687888990919293949596979899";

/* Write the digits of a number before `end`; returns their start. */
static inline unsigned char *digits_before(unsigned char *end, unsigned long long number) {
    while (number >= 100) {
        end -= 2;
        memcpy(end, text_pairs + 2 * (number % 100), 2);
        number /= 100;
    }
    if (number < 10) {
        *--end = (unsigned char)('0' + number);
        return end;
    }
    end -= 2;
    memcpy(end, text_pairs + 2 * number, 2);
    return end;
}

static inline void put_unsigned(text_out *out, unsigned long long number) {
    unsigned char digits[20], *start = digits_before(digits + sizeof digits, number);
    put_bytes(out, start, digits + sizeof digits - start);
}

static inline void put_integer(text_out *out, long long number) {
    if (number < 0) put_byte(out, '-');
    put_unsigned(out, number < 0 ? 0 - (unsigned long long)number : (unsigned long long)number);
}

/* A number with at least `least` digits. */
static inline void put_padded(text_out *out, unsigned long long number, int least) {
    unsigned char digits[20], *end = digits + sizeof digits, *start = digits_before(end, number);
    while (end - start < least) *--start = '0';
    put_bytes(out, start, end - start);
}

/* An integer of 128 bits, the least significant byte first. */
static inline void put_wide(text_out *out, const unsigned char *from) {
    unsigned char digits[40], *end = digits + sizeof digits, *start = end;
    uint32_t limbs[4];
    int is_negative = from[15] >> 7, i;
    uint64_t carry = 1, rest;
    memcpy(limbs, from, 16);
    for (i = 0; is_negative && i < 4; i++) {
        carry += (uint32_t)~limbs[i];
        limbs[i] = (uint32_t)carry;
        carry >>= 32;
    }
    do {
        rest = 0;
        for (i = 3; i >= 0; i--) {
            rest = rest << 32 | limbs[i];
            limbs[i] = (uint32_t)(rest / 10);
            rest %= 10;
        }
        *--start = (unsigned char)('0' + rest);
    } while (limbs[0] | limbs[1] | limbs[2] | limbs[3]);
    if (is_negative) *--start = '-';
    put_bytes(out, start, end - start);
}

/* Times: ISO 8601, in UTC, in any year. Howard Hinnant, "chrono-Compatible Low-Level Date Algorithms". */

static inline long long floor_of(long long number, long long by) {
    return number / by - (number % by < 0);
}

static void put_date(text_out *out, long long days) {
    long long era, year;
    unsigned long long day, of_era, of_year, month;
    days += 719468; /* from 1970 to March of year 0 */
    era = floor_of(days, 146097);
    of_era = (unsigned long long)(days - era * 146097);
    of_year = (of_era - of_era / 1460 + of_era / 36524 - of_era / 146096) / 365;
    day = of_era - (365 * of_year + of_year / 4 - of_year / 100);
    month = (5 * day + 2) / 153;
    day = day - (153 * month + 2) / 5 + 1;
    month = month < 10 ? month + 3 : month - 9;
    year = (long long)of_year + era * 400 + (month <= 2);
    if (year < 0 || year > 9999) put_byte(out, year < 0 ? '-' : '+');
    put_padded(out, (unsigned long long)(year < 0 ? -year : year), 4);
    put_byte(out, '-');
    put_padded(out, month, 2);
    put_byte(out, '-');
    put_padded(out, day, 2);
}

static void put_time(text_out *out, long long ticks, int digits) {
    static const long long scales[10] = {1, 10, 100, 1000, 10000, 100000, 1000000, 10000000, 100000000, 1000000000};
    long long seconds = floor_of(ticks, scales[digits]), days = floor_of(seconds, 86400);
    unsigned long long of_day = (unsigned long long)seconds - (unsigned long long)days * 86400;
    unsigned char clock[9] = {'T', 0, 0, ':', 0, 0, ':', 0, 0};
    put_date(out, days);
    memcpy(clock + 1, text_pairs + 2 * (of_day / 3600), 2);
    memcpy(clock + 4, text_pairs + 2 * (of_day / 60 % 60), 2);
    memcpy(clock + 7, text_pairs + 2 * (of_day % 60), 2);
    put_bytes(out, clock, 9);
    if (digits) {
        put_byte(out, '.');
        put_padded(out, (unsigned long long)ticks - (unsigned long long)seconds * (unsigned long long)scales[digits], digits);
    }
    put_byte(out, 'Z');
}

/* Bytes. */

static void put_hex(text_out *out, const unsigned char *from, long long size) {
    static const char hex[] = "0123456789abcdef";
    long long at;
    if (!has_room(out, 2 * size)) return;
    for (at = 0; at < size; at++) {
        out->data[out->size++] = (unsigned char)hex[from[at] >> 4];
        out->data[out->size++] = (unsigned char)hex[from[at] & 15];
    }
}

static void put_base64(text_out *out, const unsigned char *from, long long size) {
    static const char letters[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    long long at = 0;
    unsigned char *to;
    unsigned int group;
    if (!has_room(out, (size + 2) / 3 * 4)) return;
    to = out->data + out->size;
    for (; at < size; at += 3, to += 4) {
        group = (unsigned int)from[at] << 16;
        if (at + 1 < size) group |= (unsigned int)from[at + 1] << 8;
        if (at + 2 < size) group |= from[at + 2];
        to[0] = (unsigned char)letters[group >> 18];
        to[1] = (unsigned char)letters[group >> 12 & 63];
        to[2] = (unsigned char)(at + 1 < size ? letters[group >> 6 & 63] : '=');
        to[3] = (unsigned char)(at + 2 < size ? letters[group & 63] : '=');
    }
    out->size = to - out->data;
}

/* UTF-8 (RFC 3629, section 4): the size of the character that starts here, which is not ASCII. Below zero, none does:
 * so many bytes begin one that does not go on, or one byte begins none. A decoder replaces them together. */
static inline int character_size(const unsigned char *p, long long size) {
    unsigned char first = p[0], low = 0x80, high = 0xbf;
    int wanted = first < 0xe0 ? 2 : first < 0xf0 ? 3 : 4, at;
    if (first < 0xc2 || first > 0xf4) return -1;
    if (first == 0xe0) low = 0xa0;
    if (first == 0xed) high = 0x9f;
    if (first == 0xf0) low = 0x90;
    if (first == 0xf4) high = 0x8f;
    for (at = 1; at < wanted; at++) {
        if (at >= size || p[at] < low || p[at] > high) return -at;
        low = 0x80;
        high = 0xbf;
    }
    return wanted;
}

static inline unsigned int character_at(const unsigned char *p, int size) {
    if (size == 2) return (p[0] & 31u) << 6 | (p[1] & 63u);
    if (size == 3) return (p[0] & 15u) << 12 | (p[1] & 63u) << 6 | (p[2] & 63u);
    return (p[0] & 7u) << 18 | (p[1] & 63u) << 12 | (p[2] & 63u) << 6 | (p[3] & 63u);
}

/* Whether a character beyond ASCII controls a terminal or the direction of text: `UNSEEN` of values.py. */
static inline int is_unseen(unsigned int code) {
    if (code < 0x61c) return code <= 0x9f || code == 0xad;
    if (code < 0x200b) return code == 0x61c || code == 0x180e;
    if (code <= 0x206f) return code <= 0x200f || (code >= 0x2028 && code <= 0x202e) || code >= 0x2060;
    return code == 0xfeff || (code >= 0xfff9 && code <= 0xfffb) || (code >= 0xe0000 && code <= 0xe007f);
}

static inline void put_unit(text_out *out, unsigned int unit) {
    static const char hex[] = "0123456789abcdef";
    unsigned char escape[6] = {'\\', 'u', 0, 0, 0, 0};
    int at;
    for (at = 0; at < 4; at++) escape[2 + at] = (unsigned char)hex[unit >> (12 - 4 * at) & 15];
    put_bytes(out, escape, 6);
}

static void put_escape(text_out *out, unsigned int code) {
    static const char shorts[] = "btn\0fr"; /* of the characters from 8 on */
    unsigned char escape[2] = {'\\', 0};
    if (code == '"' || code == '\\') escape[1] = (unsigned char)code;
    if (code >= 8 && code <= 13) escape[1] = (unsigned char)shorts[code - 8];
    if (escape[1]) {
        put_bytes(out, escape, 2);
    } else if (code < 0x10000) {
        put_unit(out, code);
    } else {
        put_unit(out, 0xd800 + ((code - 0x10000) >> 10));
        put_unit(out, 0xdc00 + ((code - 0x10000) & 0x3ff));
    }
}

/* Copy what needs no escape in JSON; returns the number of bytes. `readable` bytes may be read, of which `size` count. */
static inline long long put_harmless(text_out *out, const unsigned char *from, long long size, long long readable) {
    long long at = 0;
    unsigned char *to;
    if (!has_room(out, size)) return size;
    to = out->data + out->size;
#ifdef TEXT_BY_STEPS
    for (; at < size && at + TEXT_STEP <= readable; at += TEXT_STEP) {
        __m128i block = _mm_loadu_si128((const __m128i *)(from + at));
        /* Bytes beyond ASCII are negative here. */
        __m128i found = _mm_or_si128(
            _mm_or_si128(_mm_cmplt_epi8(block, _mm_set1_epi8(0x20)), _mm_cmpeq_epi8(block, _mm_set1_epi8(0x7f))),
            _mm_or_si128(_mm_cmpeq_epi8(block, _mm_set1_epi8('"')), _mm_cmpeq_epi8(block, _mm_set1_epi8('\\'))));
        unsigned int bits = (unsigned int)_mm_movemask_epi8(found);
        _mm_storeu_si128((__m128i *)(to + at), block);
        if (bits) {
            at += __builtin_ctz(bits);
            if (at > size) at = size;
            out->size += at;
            return at;
        }
    }
    if (at > size) at = size;
#else
    (void)readable;
#endif
    for (; at < size; at++) {
        if (from[at] < 0x20 || from[at] >= 0x7f || from[at] == '"' || from[at] == '\\') break;
        to[at] = from[at];
    }
    out->size += at;
    return at;
}

/* A text as JSON, in quotes. Returns 0 if it is not UTF-8, unless that is replaced; then a part of it is written. */
static int put_json_text(text_out *out, const unsigned char *from, long long size, long long readable, int replaces) {
    long long at = 0;
    int wide;
    unsigned int code;
    put_byte(out, '"');
    while ((at += put_harmless(out, from + at, size - at, readable - at)) < size) {
        if (from[at] < 0x80) {
            put_escape(out, from[at++]);
            continue;
        }
        do {
            wide = character_size(from + at, size - at);
            if (wide < 0 && !replaces) return 0;
            code = wide < 0 ? 0xfffd : character_at(from + at, wide);
            if (wide < 0) put_literal(out, "\xef\xbf\xbd");
            else if (is_unseen(code)) put_escape(out, code);
            else put_bytes(out, from + at, wide);
            at += wide < 0 ? -wide : wide;
        } while (at < size && from[at] >= 0x80);
    }
    put_byte(out, '"');
    return 1;
}

/* A text with a replacement character for what is not UTF-8. */
static void put_replaced(text_out *out, const unsigned char *from, long long size) {
    long long at = 0, start = 0;
    int wide;
    while (at < size) {
        wide = from[at] < 0x80 ? 1 : character_size(from + at, size - at);
        if (wide < 0) {
            put_bytes(out, from + start, at - start);
            put_literal(out, "\xef\xbf\xbd");
            start = at - wide;
        }
        at += wide < 0 ? -wide : wide;
    }
    put_bytes(out, from + start, size - start);
}

/* CSV (RFC 4180). */

/* Whether a spreadsheet evaluates a text as a formula: `FORMULA` of values.py. */
static inline int is_formula(const unsigned char *p, long long size) {
    if (size && (p[0] == '=' || p[0] == '+' || p[0] == '-' || p[0] == '@')) return 1;
    if (size && (p[0] == '\t' || p[0] == '\r' || p[0] == '\n')) return 1;
    return size >= 3 && p[0] == 0xef && p[1] == 0xbc && (p[2] == 0x9d || p[2] == 0x8b || p[2] == 0x8d || p[2] == 0xa0);
}

/* Copy bytes, and write each quote twice. */
static inline void put_doubled(text_out *out, const unsigned char *from, long long size, long long readable) {
    long long at = 0;
#ifdef TEXT_BY_STEPS
    if (!has_room(out, size)) return;
    while (at < size && at + TEXT_STEP <= readable) {
        __m128i block = _mm_loadu_si128((const __m128i *)(from + at));
        unsigned int bits = (unsigned int)_mm_movemask_epi8(_mm_cmpeq_epi8(block, _mm_set1_epi8('"')));
        long long run = bits ? __builtin_ctz(bits) : TEXT_STEP;
        _mm_storeu_si128((__m128i *)(out->data + out->size), block);
        if (run >= size - at) {
            out->size += size - at;
            return;
        }
        out->size += run;
        at += run;
        if (bits) {
            put_literal(out, "\"\"");
            if (!has_room(out, size - ++at)) return;
        }
    }
#else
    (void)readable;
#endif
    for (; at < size; at++) {
        if (from[at] == '"') put_byte(out, '"');
        put_byte(out, from[at]);
    }
}

static void put_csv_text(text_out *out, const unsigned char *from, long long size, long long readable, int is_guarded) {
    put_byte(out, '"');
    if (is_guarded && is_formula(from, size)) put_byte(out, '\'');
    put_doubled(out, from, size, readable);
    put_byte(out, '"');
}

#endif
