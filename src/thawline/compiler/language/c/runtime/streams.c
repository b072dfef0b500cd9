/* What every compiled reader starts with: streams of bytes, structures in an arena, and columns that grow.
 *
 * It does what `language/runtime` does in Python, step for step, so that both give the same rows and the same failures.
 * Memory of one reading lies in an arena, so that an error can leave from anywhere (`fail`). Where a number needs more
 * than 127 bits, `beyond` gives up, and the reading is done again in Python. Nothing here knows Python; what only Python
 * can do (encodings, decompression, custom processes) is asked of `Ask`.
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
