/* What every compiled reader starts with: streams of bytes, structures in an arena, and columns that grow.
 *
 * It does what the Python below `runtime/` does, step for step, so that both give the same rows and the same failures. Memory of one
 * reading lies in an arena, so that an error can leave from anywhere (`fail`). Where a number needs more than 127 bits,
 * `beyond` gives up, and the reading is done again in Python. Nothing here knows Python; what only Python can do
 * (encodings, decompression, custom processes) is asked of `Ask`.
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef uint8_t u8;
typedef int64_t i64;
typedef uint64_t u64;
typedef __int128 i128;

#define UNLIKELY(x) __builtin_expect(!!(x), 0)
#define COLD __attribute__((noinline, cold))
#define UNUSED __attribute__((unused))
#define MAX_DEPTH 100
#define MAX_NOTES 100
#define MAX_TEXT ((i64)1 << 26)
#define MAX_SHIFT 4096
#define LONGEST 0x7fffffffLL
#define BLOCK ((i64)1 << 18)

typedef struct { const u8 *p; i64 n; } Span; /* bytes or a text in UTF-8; without a pointer it is not there */
typedef struct { const u8 *p; i64 pos, size, base; u64 bits; int bits_left; } Stream;
typedef struct Head Head;
struct Head { Stream *io; i64 start, end; Head *parent, *root; int type; int serial; int little; };
typedef struct { i64 n, room; void *v; } List;
enum { NOTHING, INT, REAL, BOOL, BYTES, TEXT, LIST, STRUCT };
typedef struct { int tag; union { i128 i; double r; Span s; List *l; Head *h; }; } Any;
typedef struct { const char *kind; i64 at, began, position; char reason[200]; } Note;
typedef struct Handler Handler;
struct Handler { jmp_buf env; Handler *above; int depth, undos; };
typedef struct { u8 *state; Stream *io; i64 pos; } Undo;
typedef struct Block { struct Block *next; i64 size; } Block;
typedef struct { const char *word; i64 number, size; const u8 *data; const Any *given; u8 *made; char *reason; } Question;
typedef int (*Ask)(Question *);
typedef struct {
    int at, depth, undos, notes, is_beyond, is_dirty;
    i64 began, left, used, limit;
    int serial, mark;
    u8 *next, *stop;
    Block *blocks;
    Handler *handler;
    Note failure, note[MAX_NOTES];
    Undo undo[MAX_DEPTH + 8];
    Ask ask;
    Stream io;
    Head *root;
} Ctx;

/* Errors */

static void undo(Ctx *ctx, int kept) {
    while (ctx->undos > kept) {
        Undo *one = &ctx->undo[--ctx->undos];
        *one->state = 0;
        if (one->io) { one->io->pos = one->pos; one->io->bits_left = 0; }
    }
}

__attribute__((noreturn)) COLD static void leave(Ctx *ctx) { longjmp(ctx->handler->env, 1); }

__attribute__((noreturn, format(printf, 4, 5))) COLD static void fail_at(Ctx *ctx, i64 position, const char *kind, const char *words, ...) {
    va_list given;
    va_start(given, words);
    vsnprintf(ctx->failure.reason, sizeof ctx->failure.reason, words, given);
    va_end(given);
    ctx->failure.kind = kind;
    ctx->failure.at = ctx->at;
    ctx->failure.began = ctx->began;
    ctx->failure.position = position;
    leave(ctx);
}
#define fail(ctx, kind, ...) fail_at(ctx, -1, kind, __VA_ARGS__)

__attribute__((noreturn)) COLD static void beyond(Ctx *ctx) {
    ctx->is_beyond = 1;
    while (ctx->handler->above) ctx->handler = ctx->handler->above;
    fail(ctx, "value", "a number has more than 127 bits");
}

COLD static void add_note(Ctx *ctx) {
    if (ctx->notes < MAX_NOTES) ctx->note[ctx->notes++] = ctx->failure;
}

COLD static void note(Ctx *ctx, int at, const char *kind, const char *reason) {
    Note made = {kind, at, ctx->began, -1, ""};
    snprintf(made.reason, sizeof made.reason, "%s", reason);
    if (ctx->notes < MAX_NOTES) ctx->note[ctx->notes++] = made;
}

static inline void spend(Ctx *ctx, i64 steps) {
    ctx->left -= steps;
    if (UNLIKELY(ctx->left < 0)) fail(ctx, "work", "the spec reads the same bytes again and again, or loops without reading any");
}

/* An action that may fail: 2, and a note, if it does. */
COLD static int guarded(Ctx *ctx, int (*action)(Ctx *, void *), void *x) {
    Handler here;
    here.above = ctx->handler;
    here.depth = ctx->depth;
    here.undos = ctx->undos;
    if (!_setjmp(here.env)) {
        ctx->handler = &here;
        int state = action(ctx, x);
        ctx->handler = here.above;
        return state;
    }
    ctx->handler = here.above;
    ctx->depth = here.depth;
    undo(ctx, here.undos);
    add_note(ctx);
    return 2;
}

/* Memory of a reading */

COLD static void *more_memory(Ctx *ctx, i64 size) {
    i64 room = size > BLOCK / 4 ? size : BLOCK;
    ctx->used += room;
    if (ctx->used > ctx->limit) fail(ctx, "work", "the spec makes more structures than a file of this size may have");
    Block *made = malloc(sizeof(Block) + 16 + room);
    if (!made) fail(ctx, "work", "there is no memory left");
    made->next = ctx->blocks;
    made->size = room;
    ctx->blocks = made;
    u8 *start = (u8 *)(((uintptr_t)(made + 1) + 15) & ~(uintptr_t)15);
    if (room == size) return start;
    ctx->next = start + size;
    ctx->stop = start + room;
    return start;
}

static inline void *take_memory(Ctx *ctx, i64 size) {
    size = (size + 15) & ~(i64)15;
    if (UNLIKELY(ctx->stop - ctx->next < size)) return more_memory(ctx, size);
    void *found = ctx->next;
    ctx->next += size;
    return found;
}

static void drop_memory(Ctx *ctx) {
    while (ctx->blocks) {
        Block *gone = ctx->blocks;
        ctx->blocks = gone->next;
        free(gone);
    }
}

static inline void *make(Ctx *ctx, i64 size, int type, Stream *io, Head *parent, Head *root, int little) {
    Head *made = take_memory(ctx, size);
    memset(made, 0, size);
    made->io = io;
    made->parent = parent;
    made->root = root ? root : made;
    made->start = made->end = io->pos;
    made->type = type;
    made->little = little;
    made->serial = ++ctx->serial;
    return made;
}

static inline Head *the(Ctx *ctx, void *x) {
    if (UNLIKELY(!x)) fail(ctx, "value", "a structure is not there");
    return x;
}

UNUSED static inline Head *is_a(Ctx *ctx, void *x, int type) {
    if (UNLIKELY(x && ((Head *)x)->type != type)) fail(ctx, "value", "a structure is of another type");
    return x;
}

/* Streams */

COLD static void short_of(Ctx *ctx, Stream *io, i64 n) {
    i64 left = io->size > io->pos ? io->size - io->pos : 0;
    if (n < 0) fail_at(ctx, io->base + io->pos, "size", "requested invalid %lld amount of bytes", (long long)n);
    fail_at(ctx, io->base + io->pos, "end", "requested %lld bytes, but only %lld bytes available", (long long)n, (long long)left);
}

static inline const u8 *need(Ctx *ctx, Stream *io, i64 n) {
    i64 at = io->pos;
    if (UNLIKELY(n < 0 || (n > io->size - at && n > 0))) short_of(ctx, io, n);
    io->pos = at + n;
    io->bits_left = 0;
    return io->p + at;
}

static const u8 NONE[16];

static inline Span span(const void *p, i64 n) { return (Span){n > 0 ? p : NONE, n > 0 ? n : 0}; }

static inline Span cut(Ctx *ctx, Stream *io, i64 start, i64 end) {
    if (end <= start) return span(NONE, 0);
    spend(ctx, (end - start) >> 6);
    return span(io->p + start, end - start);
}

UNUSED static inline Span take(Ctx *ctx, Stream *io, i64 n) {
    i64 at = io->pos;
    need(ctx, io, n);
    return cut(ctx, io, at, at + n);
}

UNUSED static inline i64 rest_of(Stream *io) { return io->size > io->pos ? io->size - io->pos : 0; }

static inline Stream *stream(Ctx *ctx, const u8 *p, i64 size, i64 base) {
    Stream *made = take_memory(ctx, sizeof(Stream));
    *made = (Stream){p, 0, size, base, 0, 0};
    return made;
}

UNUSED static inline Stream *sub(Ctx *ctx, Stream *io, i64 n) {
    i64 at = io->pos;
    need(ctx, io, n);
    return stream(ctx, n > 0 ? io->p + at : NONE, n, io->base + at);
}

UNUSED static inline void seek(Ctx *ctx, Stream *io, i64 at) {
    if (UNLIKELY(at < 0)) fail_at(ctx, io->base, "seek", "cannot seek to invalid position %lld", (long long)at);
    io->pos = at;
    io->bits_left = 0;
}

UNUSED static inline int at_end(Stream *io) { return io->bits_left == 0 && io->pos >= io->size; }

UNUSED static inline Stream *stream_of(Ctx *ctx, Stream *io) {
    if (UNLIKELY(!io)) fail(ctx, "value", "there is no stream");
    return io;
}

#define READS(name, type, size, swap) \
    UNUSED static inline type read_##name##le(Ctx *ctx, Stream *io) { u##size v; memcpy(&v, need(ctx, io, sizeof v), sizeof v); return (type)v; } \
    UNUSED static inline type read_##name##be(Ctx *ctx, Stream *io) { u##size v; memcpy(&v, need(ctx, io, sizeof v), sizeof v); return (type)swap(v); }
typedef uint16_t u16;
typedef uint32_t u32;
READS(u2, u16, 16, __builtin_bswap16)
READS(u4, u32, 32, __builtin_bswap32)
READS(u8, u64, 64, __builtin_bswap64)
READS(s2, int16_t, 16, __builtin_bswap16)
READS(s4, int32_t, 32, __builtin_bswap32)

UNUSED static inline u8 read_u1(Ctx *ctx, Stream *io) { return *need(ctx, io, 1); }
UNUSED static inline int8_t read_s1(Ctx *ctx, Stream *io) { return (int8_t)*need(ctx, io, 1); }
/* A number of 8 bytes with a sign asks for 8 at once, and then for two halves: as the other reader does. */
UNUSED static inline i64 read_s8le(Ctx *ctx, Stream *io) { return (i64)read_u8le(ctx, io); }
UNUSED static inline i64 read_s8be(Ctx *ctx, Stream *io) { return (i64)read_u8be(ctx, io); }

static inline double real4(u32 v) { float made; memcpy(&made, &v, 4); return made; }
static inline double real8(u64 v) { double made; memcpy(&made, &v, 8); return made; }
UNUSED static inline double read_f4le(Ctx *ctx, Stream *io) { return real4(read_u4le(ctx, io)); }
UNUSED static inline double read_f4be(Ctx *ctx, Stream *io) { return real4(read_u4be(ctx, io)); }
UNUSED static inline double read_f8le(Ctx *ctx, Stream *io) { return real8(read_u8le(ctx, io)); }
UNUSED static inline double read_f8be(Ctx *ctx, Stream *io) { return real8(read_u8be(ctx, io)); }

UNUSED static u64 bits_be(Ctx *ctx, Stream *io, int n) {
    int needed = n - io->bits_left, left = needed > 0 ? (8 - (needed & 7)) & 7 : -needed;
    u64 value = io->bits_left ? io->bits : 0;
    if (needed > 0) {
        int count = (needed + 7) >> 3;
        if (count > io->size - io->pos) short_of(ctx, io, count);
        const u8 *p = io->p + io->pos;
        io->pos += count;
        while (count-- > 1) value = value << 8 | *p++;
        u64 last = *p;
        value = value << (8 - left) | last >> left;
        io->bits = last & (((u64)1 << left) - 1);
    } else {
        u64 held = value;
        value = left < 64 ? held >> left : 0;
        io->bits = held & (((u64)1 << left) - 1);
    }
    io->bits_left = left;
    return value;
}

UNUSED static u64 bits_le(Ctx *ctx, Stream *io, int n) {
    int have = io->bits_left, needed = n - have;
    u64 value = have ? io->bits : 0;
    if (needed > 0) {
        int count = (needed + 7) >> 3;
        if (count > io->size - io->pos) short_of(ctx, io, count);
        const u8 *p = io->p + io->pos;
        io->pos += count;
        while (needed > 8) { value |= (u64)*p++ << have; have += 8; needed -= 8; }
        u64 byte = *p;
        value |= (byte & (((u64)1 << needed) - 1)) << have;
        io->bits = byte >> needed;
        io->bits_left = 8 - needed;
    } else {
        io->bits = n < 64 ? value >> n : 0;
        io->bits_left = have - n;
        value &= n < 64 ? ((u64)1 << n) - 1 : ~(u64)0;
    }
    return value;
}

UNUSED static Span terminated(Ctx *ctx, Stream *io, const char *term, int width, int include, int consume, int must) {
    io->bits_left = 0;
    i64 start = io->pos, at = io->size;
    if (width == 1) {
        spend(ctx, 1);
        const u8 *found = start < io->size ? memchr(io->p + start, (u8)term[0], io->size - start) : 0;
        if (found) at = found - io->p;
    } else {
        for (i64 i = start; i + width <= io->size; i += width)
            if (!memcmp(io->p + i, term, width)) { at = i; break; }
    }
    if (at >= io->size) {
        if (must) fail_at(ctx, io->base + start, "end", "end of stream reached, but no terminator found");
        io->pos = io->size > start ? io->size : start;
        return cut(ctx, io, start, io->size);
    }
    io->pos = consume ? at + width : at;
    return cut(ctx, io, start, include ? at + width : at);
}

/* Bytes and texts */

UNUSED static Stream *stream_over(Ctx *ctx, Span s) {
    if (UNLIKELY(!s.p)) fail(ctx, "value", "there are no bytes");
    return stream(ctx, s.p, s.n, ctx->began);
}

static inline Span known(Ctx *ctx, Span s) {
    if (UNLIKELY(!s.p)) fail(ctx, "value", "bytes, or a text, are not there");
    return s;
}

UNUSED static Span strip_right(Span s, int pad) {
    while (s.n > 0 && s.p[s.n - 1] == pad) s.n--;
    return s;
}

UNUSED static Span until(Span s, const char *term, int width, int include) {
    for (i64 i = 0; i + width <= s.n; i += width)
        if (!memcmp(s.p + i, term, width)) return span(s.p, include ? i + width : i);
    return s;
}

static inline int is_ascii(const u8 *p, i64 n) {
    u64 word;
    for (; n >= 8; p += 8, n -= 8) {
        memcpy(&word, p, 8);
        if (word & 0x8080808080808080ULL) return 0;
    }
    while (n-- > 0) if (*p++ & 0x80) return 0;
    return 1;
}

static int is_utf8(const u8 *p, i64 n) {
    const u8 *end = p + n;
    while (p < end) {
        u8 c = *p++;
        if (c < 0x80) continue;
        int more = c >= 0xc2 && c <= 0xdf ? 1 : c >= 0xe0 && c <= 0xef ? 2 : c >= 0xf0 && c <= 0xf4 ? 3 : 0;
        if (!more || end - p < more) return 0;
        if ((c == 0xe0 && p[0] < 0xa0) || (c == 0xed && p[0] > 0x9f) || (c == 0xf0 && p[0] < 0x90) || (c == 0xf4 && p[0] > 0x8f)) return 0;
        while (more--) if ((*p++ & 0xc0) != 0x80) return 0;
    }
    return 1;
}

UNUSED static Span text_utf8(Ctx *ctx, Span s) {
    known(ctx, s);
    if (!is_ascii(s.p, s.n) && !is_utf8(s.p, s.n)) fail(ctx, "encoding", "these bytes are not UTF-8");
    return s;
}

UNUSED static Span text_ascii(Ctx *ctx, Span s) {
    known(ctx, s);
    if (!is_ascii(s.p, s.n)) fail(ctx, "encoding", "these bytes are not ASCII");
    return s;
}

UNUSED static Span text_latin1(Ctx *ctx, Span s) {
    known(ctx, s);
    if (is_ascii(s.p, s.n)) return s;
    u8 *made = take_memory(ctx, 2 * s.n), *to = made;
    for (i64 i = 0; i < s.n; i++) {
        if (s.p[i] < 0x80) *to++ = s.p[i];
        else { *to++ = 0xc0 | s.p[i] >> 6; *to++ = 0x80 | (s.p[i] & 0x3f); }
    }
    return span(made, to - made);
}

/* What only Python can do: `word` says what, and it makes bytes or says why not. */
UNUSED COLD static Span asked(Ctx *ctx, const char *word, Span s, i64 number, const Any *given) {
    Question q = {word, number, s.n, s.p, given, 0, ctx->failure.reason};
    if (s.p == 0 && number >= 0) known(ctx, s);
    int told = ctx->ask(&q);
    if (told == 3) beyond(ctx);
    if (told) {
        char words[200];
        snprintf(words, sizeof words, "%s", ctx->failure.reason);
        fail(ctx, told == 1 ? "encoding" : told == 2 ? "process" : "value", "%s", words);
    }
    ctx->limit += q.size;
    if (*word == 'z' || *word == 'c') ctx->left += q.size; /* what a process makes may be read, too */
    u8 *made = take_memory(ctx, q.size);
    q.made = made;
    q.word = "take";
    ctx->ask(&q);
    return span(made, q.size);
}

UNUSED static Span xored_byte(Ctx *ctx, Span s, i128 key) {
    known(ctx, s);
    if (key < 0 || key > 255) fail(ctx, "process", "this is no byte to xor with");
    u8 *made = take_memory(ctx, s.n);
    for (i64 i = 0; i < s.n; i++) made[i] = s.p[i] ^ (u8)key;
    return span(made, s.n);
}

UNUSED static Span xored(Ctx *ctx, Span s, Span key) {
    known(ctx, s);
    known(ctx, key);
    if (!key.n) fail(ctx, "process", "there is no key to xor with");
    u8 *made = take_memory(ctx, s.n);
    for (i64 i = 0, k = 0; i < s.n; i++) { made[i] = s.p[i] ^ key.p[k]; if (++k == key.n) k = 0; }
    return span(made, s.n);
}

UNUSED static Span rotated(Ctx *ctx, Span s, i128 amount) {
    known(ctx, s);
    int by = (int)(((amount % 8) + 8) % 8);
    u8 *made = take_memory(ctx, s.n);
    for (i64 i = 0; i < s.n; i++) made[i] = (u8)(s.p[i] << by | s.p[i] >> (8 - by));
    return span(made, s.n);
}

static inline int order_of(Span a, Span b) {
    i64 n = a.n < b.n ? a.n : b.n;
    int found = n ? memcmp(a.p, b.p, n) : 0;
    return found ? found : (a.n > b.n) - (a.n < b.n);
}

UNUSED static inline int same(Span a, Span b) {
    return a.p && b.p ? a.n == b.n && (!a.n || !memcmp(a.p, b.p, a.n)) : a.p == b.p;
}

UNUSED static inline int compared(Ctx *ctx, Span a, Span b) { return order_of(known(ctx, a), known(ctx, b)); }

UNUSED static i64 length_of(Ctx *ctx, Span s) {
    i64 found = 0;
    known(ctx, s);
    for (i64 i = 0; i < s.n; i++) found += (s.p[i] & 0xc0) != 0x80;
    return found;
}

UNUSED static Span joined(Ctx *ctx, Span a, Span b) {
    known(ctx, a);
    known(ctx, b);
    if (a.n + b.n > MAX_TEXT) fail(ctx, "value", "a text has more than %lld characters", (long long)MAX_TEXT);
    u8 *made = take_memory(ctx, a.n + b.n);
    memcpy(made, a.p, a.n);
    memcpy(made + a.n, b.p, b.n);
    return span(made, a.n + b.n);
}

UNUSED static Span text_of(Ctx *ctx, i128 value) {
    u8 *made = take_memory(ctx, 48), *at = made + 48;
    unsigned __int128 left = value < 0 ? -(unsigned __int128)value : (unsigned __int128)value;
    do { *--at = '0' + (int)(left % 10); left /= 10; } while (left);
    if (value < 0) *--at = '-';
    return span(at, made + 48 - at);
}

UNUSED static i128 number_of(Ctx *ctx, Span s, int base) {
    known(ctx, s);
    i64 i = 0;
    int is_negative = s.n > 1 && s.p[0] == '-';
    unsigned __int128 value = 0;
    for (i = is_negative; base >= 2 && base <= 36 && i < s.n; i++) {
        int c = s.p[i], digit = c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'z' ? c - 'a' + 10 : c >= 'A' && c <= 'Z' ? c - 'A' + 10 : 99;
        if (digit >= base || value >> 120) break;
        value = value * base + digit;
    }
    if (i == s.n && i > is_negative) return is_negative ? -(i128)value : (i128)value;
    Span found = asked(ctx, "number", s, base, 0); /* blanks, other digits, or a mistake: as Python reads it */
    i128 made;
    memcpy(&made, found.p, sizeof made);
    return made;
}

UNUSED static i64 character_at(Ctx *ctx, Span s, i64 index) { /* the byte of the index-th character; the size if there are fewer */
    (void)ctx;
    for (i64 i = 0; i < s.n; i++)
        if ((s.p[i] & 0xc0) != 0x80 && index-- == 0) return i;
    return s.n;
}

UNUSED static Span substring(Ctx *ctx, Span s, i128 from, i128 to) { /* as Python cuts */
    i64 n = length_of(ctx, s);
    if (from < 0) from = from + n < 0 ? 0 : from + n;
    if (to < 0) to = to + n < 0 ? 0 : to + n;
    if (from > n) from = n;
    if (to > n) to = n;
    if (to <= from) return span(NONE, 0);
    i64 start = character_at(ctx, s, (i64)from);
    return span(s.p + start, character_at(ctx, s, (i64)to) - start);
}

UNUSED static Span reversed(Ctx *ctx, Span s) {
    known(ctx, s);
    u8 *made = take_memory(ctx, s.n), *to = made + s.n;
    for (i64 i = 0; i < s.n;) {
        i64 end = i + 1;
        while (end < s.n && (s.p[end] & 0xc0) == 0x80) end++;
        to -= end - i;
        memcpy(to, s.p + i, end - i);
        i = end;
    }
    return span(made, s.n);
}

/* Numbers */

#define CHECKED(name, builtin) \
    UNUSED static inline i128 name(Ctx *ctx, i128 a, i128 b) { i128 made; if (UNLIKELY(builtin(a, b, &made))) beyond(ctx); return made; }
CHECKED(plus, __builtin_add_overflow)
CHECKED(minus, __builtin_sub_overflow)
CHECKED(times, __builtin_mul_overflow)

COLD static void no_divisor(Ctx *ctx) { fail(ctx, "value", "division by zero"); }

UNUSED static inline i64 over64(Ctx *ctx, i64 a, i64 b) {
    if (UNLIKELY(!b)) no_divisor(ctx);
    if (b == -1) return (i64)(0 - (u64)a);
    i64 found = a / b;
    return found - (a % b != 0 && (a < 0) != (b < 0));
}

UNUSED static inline i64 modulo64(Ctx *ctx, i64 a, i64 b) {
    if (UNLIKELY(!b)) no_divisor(ctx);
    if (b == -1) return 0;
    i64 found = a % b;
    return found && (found < 0) != (b < 0) ? found + b : found;
}

UNUSED static inline i128 over(Ctx *ctx, i128 a, i128 b) {
    if (UNLIKELY(!b)) no_divisor(ctx);
    if (b == -1) return minus(ctx, 0, a);
    i128 found = a / b;
    return found - (a % b != 0 && (a < 0) != (b < 0));
}

UNUSED static inline i128 modulo(Ctx *ctx, i128 a, i128 b) {
    if (UNLIKELY(!b)) no_divisor(ctx);
    if (b == -1) return 0;
    i128 found = a % b;
    return found && (found < 0) != (b < 0) ? found + b : found;
}

UNUSED static i128 shifted_left(Ctx *ctx, i128 a, i128 by) {
    if (by < 0) fail(ctx, "value", "negative shift count");
    if (by > MAX_SHIFT) fail(ctx, "value", "a number is shifted by too many bits");
    if (!a) return 0;
    i128 made = by < 127 ? (i128)((unsigned __int128)a << by) : 0;
    if (by >= 127 || made >> by != a) beyond(ctx);
    return made;
}

UNUSED static i128 shifted_right(Ctx *ctx, i128 a, i128 by) {
    if (by < 0) fail(ctx, "value", "negative shift count");
    return by > 126 ? (a < 0 ? -1 : 0) : a >> by;
}

UNUSED static double divided(Ctx *ctx, double a, double b) {
    if (b == 0) no_divisor(ctx);
    return a / b;
}

UNUSED static double remainder_of(Ctx *ctx, double a, double b) {
    if (b == 0) no_divisor(ctx);
    double found = fmod(a, b);
    return found && (found < 0) != (b < 0) ? found + b : found ? found : copysign(0, b);
}

UNUSED static i128 whole_of(Ctx *ctx, double value) {
    if (isnan(value) || isinf(value)) fail(ctx, "value", "this is no whole number");
    if (fabs(value) > 1e38) beyond(ctx);
    return (i128)value;
}

UNUSED static inline i128 fitted(Ctx *ctx, i128 value, i128 low, i128 high) {
    if (UNLIKELY(value < low || value > high)) fail(ctx, "value", "an argument does not fit its parameter");
    return value;
}

UNUSED static inline i64 word(Ctx *ctx, i128 value) {
    if (UNLIKELY(value < INT64_MIN || value > INT64_MAX)) beyond(ctx);
    return (i64)value;
}

UNUSED static inline u64 unsigned_word(Ctx *ctx, i128 value) {
    if (UNLIKELY(value < 0 || value > UINT64_MAX)) beyond(ctx);
    return (u64)value;
}

/* A size, a position or a count; one that has no word is as good as the largest. */
UNUSED static inline i64 place(Ctx *ctx, i128 value) {
    (void)ctx;
    return value < INT64_MIN ? INT64_MIN : value > INT64_MAX ? INT64_MAX : (i64)value;
}

UNUSED static int is_in(const i128 *numbers, int n, i128 value) {
    for (int low = 0; low < n;) {
        int middle = (low + n) / 2;
        if (numbers[middle] == value) return 1;
        if (numbers[middle] < value) low = middle + 1;
        else n = middle;
    }
    return 0;
}

/* Lists, and values of several kinds */

UNUSED static inline List *list(Ctx *ctx) {
    List *made = take_memory(ctx, sizeof(List));
    *made = (List){0, 0, 0};
    return made;
}

COLD static void grow_list(Ctx *ctx, List *l, i64 width) {
    i64 room = l->room ? 2 * l->room : 8;
    void *made = take_memory(ctx, room * width);
    if (l->n) memcpy(made, l->v, l->n * width);
    l->v = made;
    l->room = room;
}

#define PUSH(ctx, l, type, value) do { type pushed = (value); if (UNLIKELY((l)->n == (l)->room)) grow_list(ctx, l, sizeof(type)); ((type *)(l)->v)[(l)->n++] = pushed; } while (0)

UNUSED static inline List *known_list(Ctx *ctx, List *l) {
    if (UNLIKELY(!l)) fail(ctx, "value", "a list is not there");
    return l;
}

UNUSED static inline i64 place_in(Ctx *ctx, i64 n, i128 index) {
    if (UNLIKELY(index >= n || index < -(i128)n)) fail(ctx, "value", "there is no such item among %lld", (long long)n);
    return (i64)(index < 0 ? index + n : index);
}

UNUSED static inline void *item_at(Ctx *ctx, List *l, i64 width, i128 index) {
    known_list(ctx, l);
    return (u8 *)l->v + width * place_in(ctx, l->n, index);
}

UNUSED static inline i64 byte_at(Ctx *ctx, Span s, i128 index) { return place_in(ctx, s.n, index); }

UNUSED static Span bytes_of(Ctx *ctx, List *l) {
    known_list(ctx, l);
    u8 *made = take_memory(ctx, l->n);
    for (i64 i = 0; i < l->n; i++) {
        i64 byte = ((i64 *)l->v)[i];
        if (byte < 0 || byte > 255) fail(ctx, "value", "bytes must be in range(0, 256)");
        made[i] = (u8)byte;
    }
    return span(made, l->n);
}

#define EXTREME(name, type) \
    UNUSED static type extreme_##name(Ctx *ctx, List *l, int is_most) { \
        if (!known_list(ctx, l)->n) fail(ctx, "value", "an empty list has no least and no most"); \
        type found = *(type *)l->v; \
        for (i64 i = 1; i < l->n; i++) { type one = ((type *)l->v)[i]; if (is_most ? one > found : one < found) found = one; } \
        return found; \
    }
EXTREME(i64, i64)
EXTREME(i128, i128)
EXTREME(double, double)

UNUSED static Span extreme_Span(Ctx *ctx, List *l, int is_most) {
    if (!known_list(ctx, l)->n) fail(ctx, "value", "an empty list has no least and no most");
    Span found = known(ctx, *(Span *)l->v);
    for (i64 i = 1; i < l->n; i++) {
        Span one = known(ctx, ((Span *)l->v)[i]);
        if (is_most ? order_of(one, found) > 0 : order_of(one, found) < 0) found = one;
    }
    return found;
}

UNUSED static List *narrowed(Ctx *ctx, List *l) {
    if (!l) return l;
    List *made = list(ctx);
    for (i64 i = 0; i < l->n; i++) PUSH(ctx, made, i64, word(ctx, ((i128 *)l->v)[i]));
    return made;
}

#define FROM_BYTES(type) \
    UNUSED static List *type##_of_bytes(Ctx *ctx, Span s) { \
        if (!s.p) return 0; \
        List *made = list(ctx); \
        for (i64 i = 0; i < s.n; i++) PUSH(ctx, made, type, s.p[i]); \
        return made; \
    }
FROM_BYTES(i64)
FROM_BYTES(i128)

UNUSED static List *widened(Ctx *ctx, List *l) {
    if (!l) return l;
    List *made = list(ctx);
    for (i64 i = 0; i < l->n; i++) PUSH(ctx, made, i128, ((i64 *)l->v)[i]);
    return made;
}

UNUSED static i64 extreme_byte(Ctx *ctx, Span s, int is_most) {
    if (!known(ctx, s).n) fail(ctx, "value", "no bytes have no least and no most");
    u8 found = *s.p;
    for (i64 i = 1; i < s.n; i++) if (is_most ? s.p[i] > found : s.p[i] < found) found = s.p[i];
    return found;
}

UNUSED static inline Any any_int(i128 i) { Any a = {INT, {0}}; a.i = i; return a; }
UNUSED static inline Any any_real(double r) { Any a = {REAL, {0}}; a.r = r; return a; }
UNUSED static inline Any any_bool(i64 b) { Any a = {BOOL, {0}}; a.i = b; return a; }
UNUSED static inline Any any_span(int tag, Span s) { Any a = {s.p ? tag : NOTHING, {0}}; a.s = s; return a; }
UNUSED static inline Any any_list(List *l) { Any a = {l ? LIST : NOTHING, {0}}; a.l = l; return a; }
UNUSED static inline Any any_struct(void *h) { Any a = {h ? STRUCT : NOTHING, {0}}; a.h = h; return a; }

static inline void wanted(Ctx *ctx, Any *a, int tag) {
    if (UNLIKELY(a->tag != tag)) fail(ctx, "value", "a value is of another type");
}

UNUSED static inline i128 int_of(Ctx *ctx, Any a) { if (a.tag != BOOL) wanted(ctx, &a, INT); return a.i; }
UNUSED static inline double real_of(Ctx *ctx, Any a) { if (a.tag == INT) return (double)a.i; wanted(ctx, &a, REAL); return a.r; }
UNUSED static inline i64 bool_of(Ctx *ctx, Any a) { wanted(ctx, &a, BOOL); return (i64)a.i; }
UNUSED static inline Span span_of(Ctx *ctx, Any a, int tag) { if (a.tag == NOTHING) return (Span){0, 0}; wanted(ctx, &a, tag); return a.s; }
UNUSED static inline List *list_of(Ctx *ctx, Any a) { if (a.tag == NOTHING) return 0; wanted(ctx, &a, LIST); return a.l; }
UNUSED static inline Head *struct_of(Ctx *ctx, Any a) { if (a.tag == NOTHING) return 0; wanted(ctx, &a, STRUCT); return a.h; }

UNUSED static int same_any(Any a, Any b) {
    int a_number = a.tag == INT || a.tag == BOOL || a.tag == REAL, b_number = b.tag == INT || b.tag == BOOL || b.tag == REAL;
    if (a_number && b_number) {
        if (a.tag != REAL && b.tag != REAL) return a.i == b.i;
        return (a.tag == REAL ? (long double)a.r : (long double)a.i) == (b.tag == REAL ? (long double)b.r : (long double)b.i);
    }
    if (a.tag != b.tag) return 0;
    if (a.tag == BYTES || a.tag == TEXT) return same(a.s, b.s);
    return a.tag == NOTHING || a.h == b.h;
}

/* Columns */

enum { NUMBER_COLUMN, REAL_COLUMN, BLOB, GROUP, ITEMS };
enum { KIND, WIDTH, IS_UNSIGNED, ENUM, KIDS, EXTENT, FACTS };
typedef struct { int n; const i128 *numbers; const Span *labels; } Labels;
typedef struct Column Column;
struct Column {
    i64 rows, nulls, size, room;
    u8 *data;
    int kind, width, is_unsigned;
    const Labels *labels;
    i64 end, places, place_room, valid_room;
    int32_t *offsets;
    u8 *valid;
    const i64 *facts;
    Column **kids;
    int n;
};

COLD static void *grown(Ctx *ctx, void *p, i64 *room, i64 needed) {
    i64 wanted = needed + (needed >> 1) + 64;
    void *made = realloc(p, wanted);
    if (!made) fail(ctx, "work", "there is no memory left");
    *room = wanted;
    return made;
}

static Column *column(Ctx *ctx, const i64 *facts, const Labels *labels) {
    if (facts[KIND] < 0) return 0;
    Column *made = calloc(1, sizeof(Column));
    if (!made) fail(ctx, "work", "there is no memory left");
    made->kind = (int)facts[KIND];
    made->width = (int)facts[WIDTH];
    made->is_unsigned = (int)facts[IS_UNSIGNED];
    made->labels = facts[ENUM] >= 0 ? &labels[facts[ENUM]] : 0;
    made->n = (int)facts[KIDS];
    made->facts = facts;
    return made;
}

/* The columns in a column are made when it gets its first value. */
COLD static void open_kids(Ctx *ctx, Column *c, const Labels *labels) {
    c->kids = calloc(c->n ? c->n : 1, sizeof(Column *));
    if (!c->kids) fail(ctx, "work", "there is no memory left");
    const i64 *at = c->facts + FACTS;
    for (int i = 0; i < c->n; i++) {
        c->kids[i] = column(ctx, at, labels);
        at += at[EXTENT];
    }
}

static void drop_column(Column *c) {
    if (!c) return;
    for (int i = 0; c->kids && i < c->n; i++) drop_column(c->kids[i]);
    free(c->kids);
    free(c->data);
    free(c->offsets);
    free(c->valid);
    free(c);
}

COLD static void say_valid(Ctx *ctx, Column *c, i64 count, int is_valid) {
    if (c->rows + count > c->valid_room) c->valid = grown(ctx, c->valid, &c->valid_room, c->rows + count);
    memset(c->valid + c->rows, is_valid, count);
}

static inline void add_place(Ctx *ctx, Column *c, i64 end) {
    if (UNLIKELY((c->places + 2) * 4 > c->place_room)) {
        c->offsets = grown(ctx, c->offsets, &c->place_room, (c->places + 2) * 4);
        if (!c->places) { c->offsets[0] = 0; c->places = 1; }
    }
    c->offsets[c->places++] = (int32_t)end;
}

COLD static void nulls(Ctx *ctx, Column *c, i64 count) {
    if (!c->nulls) {
        i64 rows = c->rows;
        c->rows = 0;
        say_valid(ctx, c, rows, 1);
        c->rows = rows;
    }
    say_valid(ctx, c, count, 0);
    c->nulls += count;
    c->rows += count;
    if (c->kind == BLOB || c->kind == ITEMS) {
        while (count-- > 0) add_place(ctx, c, c->end);
    } else if (c->kind != GROUP) {
        i64 more = count * c->width;
        if (c->size + more + 8 > c->room) c->data = grown(ctx, c->data, &c->room, c->size + more + 8);
        memset(c->data + c->size, 0, more);
        c->size += more;
    }
}

/* A column gets its nulls when its next value comes: `rows` is how many values it should have. */
static inline void level(Ctx *ctx, Column *c, i64 rows) {
    if (UNLIKELY(c->rows != rows)) nulls(ctx, c, rows - c->rows);
}

static inline void there(Ctx *ctx, Column *c) {
    if (UNLIKELY(c->nulls)) say_valid(ctx, c, 1, 1);
    c->rows++;
}

UNUSED static inline void put_int(Ctx *ctx, Column *c, i64 rows, i64 value) {
    level(ctx, c, rows);
    if (UNLIKELY(c->size + 8 > c->room)) c->data = grown(ctx, c->data, &c->room, c->size + 8);
    memcpy(c->data + c->size, &value, 8);
    c->size += c->width;
    there(ctx, c);
}

UNUSED static inline void put_real(Ctx *ctx, Column *c, i64 rows, double value) {
    level(ctx, c, rows);
    if (UNLIKELY(c->size + 8 > c->room)) c->data = grown(ctx, c->data, &c->room, c->size + 8);
    float small = (float)value;
    if (c->width == 4) memcpy(c->data + c->size, &small, 4);
    else memcpy(c->data + c->size, &value, 8);
    c->size += c->width;
    there(ctx, c);
}

UNUSED static void put_number(Ctx *ctx, Column *c, i64 rows, i128 value, int at) {
    i128 low = c->is_unsigned ? 0 : INT64_MIN, high = c->is_unsigned ? (i128)UINT64_MAX : INT64_MAX;
    if (value < low || value > high) note(ctx, at, "value", "does not fit in 64 bits");
    else put_int(ctx, c, rows, (i64)value);
}

static inline void ended(Ctx *ctx, Column *c, i64 end) {
    if (UNLIKELY(end > LONGEST)) fail(ctx, "size", "a column has more than 2 GiB");
    c->end = end;
    add_place(ctx, c, end);
    there(ctx, c);
}

UNUSED static inline void put_span(Ctx *ctx, Column *c, i64 rows, Span s) {
    if (!s.p) return;
    level(ctx, c, rows);
    if (UNLIKELY(c->size + s.n + 16 > c->room)) {
        if (c->size + s.n > LONGEST) fail(ctx, "size", "a column has more than 2 GiB");
        c->data = grown(ctx, c->data, &c->room, c->size + s.n + 16);
    }
    memcpy(c->data + c->size, s.p, s.n);
    c->size += s.n;
    ended(ctx, c, c->end + s.n);
}

UNUSED static void put_extent(Ctx *ctx, Column *c, i64 rows, Head *x) {
    i64 end = x->end < x->io->size ? x->end : x->io->size, start = x->start < end ? x->start : end;
    put_span(ctx, c, rows, span(x->io->p + start, end - start));
}

/* Arrow's C data interface: what the columns hold, given away */

struct ArrowArray {
    i64 length, null_count, offset, n_buffers, n_children;
    const void **buffers;
    struct ArrowArray **children;
    struct ArrowArray *dictionary;
    void (*release)(struct ArrowArray *);
    void *private_data;
};
typedef struct { void **held; i64 n, room; u8 *zeros; i64 zeroed; } Export;

static void *hold(Ctx *ctx, Export *e, void *p) {
    if (!p) return p;
    if (e->n == e->room) {
        i64 bytes = e->room * (i64)sizeof(void *);
        e->held = grown(ctx, e->held, &bytes, (e->n + 1) * (i64)sizeof(void *));
        e->room = bytes / (i64)sizeof(void *);
    }
    e->held[e->n++] = p;
    return p;
}

static void *fresh(Ctx *ctx, Export *e, i64 size) {
    void *made = calloc(1, size + 16);
    if (!made) fail(ctx, "work", "there is no memory left");
    return hold(ctx, e, made);
}

static void release(struct ArrowArray *a) {
    Export *e = a->private_data;
    for (i64 i = 0; i < e->n; i++) free(e->held[i]);
    free(e->held);
    free(e->zeros);
    free(e);
    a->release = 0;
}

static void release_nothing(struct ArrowArray *a) { a->release = 0; }

static const void *zeros(Ctx *ctx, Export *e, i64 size) {
    if (size > e->zeroed) {
        if (e->zeros) hold(ctx, e, e->zeros);
        e->zeros = 0;
        e->zeroed = 0;
        e->zeros = calloc(1, size);
        if (!e->zeros) fail(ctx, "work", "there is no memory left");
        e->zeroed = size;
    }
    return e->zeros;
}

static void array_of(Ctx *ctx, Export *e, struct ArrowArray *a, i64 rows, i64 nulls, int buffers, int children) {
    memset(a, 0, sizeof *a);
    a->length = rows;
    a->null_count = nulls;
    a->n_buffers = buffers;
    a->n_children = children;
    a->buffers = fresh(ctx, e, buffers * sizeof(void *));
    a->children = children ? fresh(ctx, e, children * sizeof(void *)) : 0;
    struct ArrowArray *made = children ? fresh(ctx, e, children * sizeof(struct ArrowArray)) : 0;
    for (int i = 0; i < children; i++) a->children[i] = made + i;
    a->release = release_nothing;
}

static int has_labels(const i64 *facts) {
    if (facts[KIND] == ITEMS && facts[FACTS + KIND] >= 0) return has_labels(facts + FACTS);
    return facts[KIND] == NUMBER_COLUMN && facts[ENUM] >= 0;
}

static int children_of(const i64 *facts) {
    if (facts[KIND] == ITEMS) return 1;
    int found = 0;
    const i64 *at = facts + FACTS;
    for (i64 i = 0; facts[KIND] == GROUP && i < facts[KIDS]; i++, at += at[EXTENT])
        if (at[KIND] >= 0) found += 1 + has_labels(at);
    return found;
}

/* An array of nulls; `as_labels` where the labels of numbers are meant. */
static void give_nulls(Ctx *ctx, Export *e, const i64 *facts, struct ArrowArray *a, i64 rows, int as_labels) {
    const void *zero = zeros(ctx, e, 8 * rows + 64);
    int kind = (int)facts[KIND];
    if (kind < 0) { /* the items of a list whose items nobody wants */
        array_of(ctx, e, a, rows, rows, 0, 0);
        return;
    }
    if (kind == NUMBER_COLUMN && as_labels) kind = BLOB;
    array_of(ctx, e, a, rows, rows, kind == BLOB ? 3 : kind == GROUP ? 1 : 2, children_of(facts));
    for (int i = 0; i < a->n_buffers; i++) a->buffers[i] = zero;
    if (kind == ITEMS) give_nulls(ctx, e, facts + FACTS, a->children[0], 0, as_labels);
    const i64 *at = facts + FACTS;
    for (i64 i = 0, k = 0; kind == GROUP && i < facts[KIDS]; i++, at += at[EXTENT]) {
        if (at[KIND] < 0) continue;
        if (has_labels(at)) give_nulls(ctx, e, at, a->children[k++], rows, 1);
        give_nulls(ctx, e, at, a->children[k++], rows, 0);
    }
}

static const void *bitmap(Ctx *ctx, Export *e, Column *c) {
    if (!c->nulls) return 0;
    u8 *made = fresh(ctx, e, (c->rows + 7) / 8 + 8);
    for (i64 i = 0; i < c->rows; i++) made[i >> 3] |= (c->valid[i] & 1) << (i & 7);
    return made;
}

static i128 number_in(Column *c, i64 row) {
    const u8 *p = c->data + row * c->width;
    switch (c->width) {
    case 1: return c->is_unsigned ? (i128)*p : (i128)(int8_t)*p;
    case 2: { u16 v; memcpy(&v, p, 2); return c->is_unsigned ? (i128)v : (i128)(int16_t)v; }
    case 4: { u32 v; memcpy(&v, p, 4); return c->is_unsigned ? (i128)v : (i128)(int32_t)v; }
    }
    u64 v;
    memcpy(&v, p, 8);
    return c->is_unsigned ? (i128)v : (i128)(i64)v;
}

static const Span *label_of(const Labels *all, i128 value) {
    for (int low = 0, high = all->n; low < high;) {
        int middle = (low + high) / 2;
        if (all->numbers[middle] == value) return &all->labels[middle];
        if (all->numbers[middle] < value) low = middle + 1;
        else high = middle;
    }
    return 0;
}

static void give_labels(Ctx *ctx, Export *e, Column *c, struct ArrowArray *a) {
    i64 rows = c->rows, room = 0, size = 0, missing = 0;
    u8 *data = 0, *valid = fresh(ctx, e, rows / 8 + 8);
    int32_t *offsets = fresh(ctx, e, (rows + 1) * 4);
    i128 last = 0;
    const Span *found = 0;
    for (i64 i = 0; i < rows; i++) {
        const Span *label = 0;
        if (!c->nulls || c->valid[i]) {
            i128 value = number_in(c, i);
            label = i && found && value == last ? found : label_of(c->labels, value);
            last = value;
            found = label;
        }
        if (label) {
            if (size + label->n > room) data = grown(ctx, data, &room, size + label->n);
            memcpy(data + size, label->p, label->n);
            size += label->n;
            valid[i >> 3] |= 1 << (i & 7);
        } else missing++;
        offsets[i + 1] = (int32_t)size;
    }
    hold(ctx, e, data);
    array_of(ctx, e, a, rows, missing, 3, 0);
    a->buffers[0] = missing ? valid : 0;
    a->buffers[1] = offsets;
    a->buffers[2] = data ? data : NONE;
}

static void give(Ctx *ctx, Export *e, Column *c, struct ArrowArray *a, int as_labels);

static void give_kids(Ctx *ctx, Export *e, Column *c, struct ArrowArray *a) {
    const i64 *at = c->facts + FACTS;
    for (int i = 0, k = 0; i < c->n; i++, at += at[EXTENT]) {
        if (at[KIND] < 0) continue;
        Column *kid = c->kids ? c->kids[i] : 0;
        for (int as_labels = has_labels(at); as_labels >= 0; as_labels--) {
            if (!kid || !kid->rows) give_nulls(ctx, e, at, a->children[k++], c->rows, as_labels);
            else {
                level(ctx, kid, c->rows);
                give(ctx, e, kid, a->children[k++], as_labels);
            }
        }
    }
}

/* The values of a column as an array. Labels are made first, since the numbers are given away. */
static void give(Ctx *ctx, Export *e, Column *c, struct ArrowArray *a, int as_labels) {
    if (c->kind == NUMBER_COLUMN && as_labels) { give_labels(ctx, e, c, a); return; }
    array_of(ctx, e, a, c->rows, c->nulls, c->kind == BLOB ? 3 : c->kind == GROUP ? 1 : 2, children_of(c->facts));
    a->buffers[0] = bitmap(ctx, e, c);
    if (c->kind == GROUP) { give_kids(ctx, e, c, a); return; }
    if (c->kind == BLOB || c->kind == ITEMS) {
        if (!c->places) add_place(ctx, c, 0), c->places = 1;
        a->buffers[1] = c->offsets;
    }
    if (c->kind == BLOB) { a->buffers[2] = c->data ? c->data : (u8 *)NONE; return; }
    if (c->kind == ITEMS) {
        Column *kid = c->kids ? c->kids[0] : 0;
        if (!kid) give_nulls(ctx, e, c->facts + FACTS, a->children[0], c->end, as_labels);
        else {
            level(ctx, kid, c->end);
            give(ctx, e, kid, a->children[0], as_labels);
        }
        return;
    }
    if (c->kind == NUMBER_COLUMN && c->facts[IS_UNSIGNED] == 2) { /* true and false: a bit each */
        u8 *made = fresh(ctx, e, c->rows / 8 + 8);
        for (i64 i = 0; i < c->rows; i++) made[i >> 3] |= (c->data[i] & 1) << (i & 7);
        a->buffers[1] = made;
        return;
    }
    a->buffers[1] = c->data ? c->data : (u8 *)NONE;
}

static void emptied(Ctx *ctx, Export *e, Column *c) {
    if (!c) return;
    for (int i = 0; c->kids && i < c->n; i++) emptied(ctx, e, c->kids[i]);
    hold(ctx, e, c->data);
    c->data = 0;
    c->room = c->size = 0;
    hold(ctx, e, c->offsets);
    c->offsets = 0;
    c->place_room = c->places = 0;
    c->rows = c->nulls = c->end = 0;
}

static void export(Ctx *ctx, Column *c, struct ArrowArray *a) {
    Export *e = calloc(1, sizeof(Export));
    if (!e) fail(ctx, "work", "there is no memory left");
    give(ctx, e, c, a, 0);
    emptied(ctx, e, c);
    a->release = release;
    a->private_data = e;
}

UNUSED static i64 bytes_held(Column *c) {
    i64 found = c ? c->size + 4 * c->places : 0;
    for (int i = 0; c && c->kids && i < c->n; i++) found += bytes_held(c->kids[i]);
    return found;
}

/* Structures */

static inline void enter(Ctx *ctx, Head *made, void (*reading)(Ctx *, void *)) {
    spend(ctx, 1);
    if (UNLIKELY(ctx->depth >= MAX_DEPTH)) fail(ctx, "depth", "structures are nested more than %d deep", MAX_DEPTH);
    ctx->depth++;
    made->start = made->end = made->io->pos;
    reading(ctx, made);
    ctx->depth--;
    made->end = made->io->pos;
}

UNUSED static void not_so(Ctx *ctx, const char *kind, const char *reason) { fail(ctx, kind, "%s", reason); }
UNUSED COLD static void not_so_number(Ctx *ctx, const char *kind, const char *reason, i128 v) {
    Span shown = text_of(ctx, v);
    fail(ctx, kind, "%s: %.*s", reason, (int)shown.n, shown.p);
}
UNUSED COLD static void not_so_real(Ctx *ctx, const char *kind, const char *reason, double v) { fail(ctx, kind, "%s: %g", reason, v); }
UNUSED COLD static void not_so_span(Ctx *ctx, const char *kind, const char *reason, Span s) {
    char shown[81];
    int n = 0;
    for (i64 i = 0; i < s.n && n < 76; i++)
        n += snprintf(shown + n, sizeof shown - n, s.p[i] >= 0x20 && s.p[i] < 0x7f && s.p[i] != '\'' && s.p[i] != '\\' ? "%c" : "\\x%02x", s.p[i]);
    fail(ctx, kind, "%s: '%.*s'", reason, n, shown);
}

/* What a reader offers */

typedef struct {
    Head *(*root)(Ctx *, Stream *, const Any *);
    void (*read)(Ctx *, void *);
    void (*step)(Ctx *, void *, int);
    int (*some)(Ctx *, void *, int, i64);
    void (*put)(Ctx *, void *, Column *);
    i64 (*put_items)(Ctx *, void *, int, Column *, i64);
    const Labels *labels;
} Reader;
enum { OPEN, READ, STEP, SOME, PUT, EXPORT };
typedef struct { Ctx ctx; const Reader *reader; Column *column; i64 first, mark_used; Block *mark_blocks; u8 *mark_next, *mark_stop; int is_marked; } Reading;
typedef struct { i64 result, rows, bytes, start, end, at, began, position, notes, is_beyond; const char *kind, *reason; } Answer;

static void forget(Reading *r) { /* the structures of items that are in their columns */
    Ctx *ctx = &r->ctx;
    if (ctx->is_dirty) return;
    while (ctx->blocks != r->mark_blocks) {
        Block *gone = ctx->blocks;
        ctx->blocks = gone->next;
        free(gone);
    }
    ctx->next = r->mark_next;
    ctx->stop = r->mark_stop;
    ctx->used = r->mark_used;
}

static i64 some_items(Reading *r, int index, i64 count) {
    Ctx *ctx = &r->ctx;
    if (!r->is_marked) {
        r->is_marked = 1;
        r->mark_blocks = ctx->blocks;
        r->mark_next = ctx->next;
        r->mark_stop = ctx->stop;
        r->mark_used = ctx->used;
        ctx->mark = ctx->serial;
    }
    return r->reader->some(ctx, ctx->root, index, count);
}

static i64 done(Reading *r, int what, int index, i64 count, const i64 *facts, void *given) {
    Ctx *ctx = &r->ctx;
    switch (what) {
    case OPEN: ctx->root = r->reader->root(ctx, &ctx->io, given); return 0;
    case READ: enter(ctx, ctx->root, r->reader->read); return 0;
    case STEP: r->reader->step(ctx, ctx->root, index); ctx->root->end = ctx->io.pos; return 0;
    case SOME: return some_items(r, index, count);
    case PUT:
        if (!r->column) r->column = column(ctx, facts, r->reader->labels);
        if (index < 0) r->reader->put(ctx, ctx->root, r->column);
        else {
            i64 kept = r->reader->put_items(ctx, ctx->root, index, r->column, r->first);
            if (kept < 0) r->first = 0, forget(r);
            else r->first = kept;
        }
        return 0;
    case EXPORT: export(ctx, r->column, given); return 0;
    }
    return 0;
}

static void ksy_do(Reading *r, int what, int index, i64 count, const i64 *facts, void *given, Answer *answer) {
    Handler here;
    Ctx *ctx = &r->ctx;
    here.above = 0;
    ctx->handler = &here;
    ctx->depth = ctx->undos = 0;
    if (!_setjmp(here.env)) answer->result = done(r, what, index, count, facts, given);
    else {
        undo(ctx, 0);
        answer->result = -1;
        answer->at = ctx->failure.at;
        answer->began = ctx->failure.began;
        answer->position = ctx->failure.position;
        answer->kind = ctx->failure.kind;
        answer->reason = ctx->failure.reason;
    }
    answer->rows = r->column ? r->column->rows : 0;
    answer->bytes = bytes_held(r->column);
    answer->start = ctx->root ? ctx->root->start : 0;
    answer->end = ctx->root ? ctx->root->end : 0;
    answer->notes = ctx->notes;
    answer->is_beyond = ctx->is_beyond;
}

static Reading *ksy_open(const Reader *reader, const u8 *data, i64 size, i64 base, i64 work, i64 memory, Ask ask) {
    Reading *r = calloc(1, sizeof(Reading));
    if (!r) return 0;
    r->reader = reader;
    r->ctx.left = work;
    r->ctx.limit = memory;
    r->ctx.ask = ask;
    r->ctx.io = (Stream){size ? data : NONE, 0, size, base, 0, 0};
    return r;
}

static const Note *ksy_notes(Reading *r) {
    r->ctx.notes = 0;
    return r->ctx.note;
}

static void ksy_close(Reading *r) {
    drop_memory(&r->ctx);
    drop_column(r->column);
    free(r);
}

typedef struct { i64 version; Reading *(*open)(const Reader *, const u8 *, i64, i64, i64, i64, Ask); void (*act)(Reading *, int, int, i64, const i64 *, void *, Answer *);
    const Note *(*notes)(Reading *); void (*close)(Reading *); } Kernel;
extern const Kernel thawline_kernel;
const Kernel thawline_kernel = {1, ksy_open, ksy_do, ksy_notes, ksy_close};
