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
UNUSED COLD static void not_so_real(Ctx *ctx, const char *kind, const char *reason, double v) {
    char shown[40];
    int digits = 1;
    do snprintf(shown, sizeof shown - 2, "%.*g", digits, v);
    while (strtod(shown, 0) != v && digits++ < 17);
    if (!strpbrk(shown, ".eni")) strcat(shown, ".0");
    fail(ctx, kind, "%s: %s", reason, shown);
}

/* Bytes, or a text, as Python shows them. */
UNUSED COLD static void not_so_span(Ctx *ctx, const char *kind, const char *reason, Span s, int is_text) {
    char shown[96];
    int n = snprintf(shown, 4, is_text ? "" : "b"), most = 80;
    char quote = memchr(s.p, '\'', s.n) && !memchr(s.p, '"', s.n) ? '"' : '\'';
    shown[n++] = quote;
    for (i64 i = 0; i < s.n && n < most; i++) {
        u8 c = s.p[i];
        if (c == quote || c == '\\') n += sprintf(shown + n, "\\%c", c);
        else if (c == '\n' || c == '\r' || c == '\t') n += sprintf(shown + n, "\\%c", c == '\n' ? 'n' : c == '\r' ? 'r' : 't');
        else if ((c >= 0x20 && c < 0x7f) || (is_text && c >= 0x80)) shown[n++] = (char)c;
        else n += sprintf(shown + n, "\\x%02x", c);
    }
    if (n < most) shown[n++] = quote;
    fail(ctx, kind, "%s: %.*s", reason, n < most ? n : most, shown);
}
UNUSED COLD static void not_so_bytes(Ctx *ctx, const char *kind, const char *reason, Span s) { not_so_span(ctx, kind, reason, s, 0); }
UNUSED COLD static void not_so_text(Ctx *ctx, const char *kind, const char *reason, Span s) { not_so_span(ctx, kind, reason, s, 1); }
UNUSED COLD static void not_so_bool(Ctx *ctx, const char *kind, const char *reason, i64 v) { fail(ctx, kind, "%s: %s", reason, v ? "True" : "False"); }

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
    case EXPORT: export(ctx, r->column, given, (u8 *)given + sizeof(struct ArrowArray)); return 0;
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

static Reading *ksy_open(const Reader *reader, const u8 *data, i64 size, i64 start, i64 work, i64 memory, Ask ask) {
    Reading *r = calloc(1, sizeof(Reading));
    if (!r) return 0;
    r->reader = reader;
    r->ctx.left = work;
    r->ctx.limit = memory;
    r->ctx.ask = ask;
    r->ctx.io = (Stream){size ? data : NONE, start, size, 0, 0, 0};
    return r;
}

static const Note *ksy_notes(Reading *r) {
    r->ctx.notes = 0;
    return r->ctx.note;
}

static void ksy_close(Reading *r) {
    drop_memory(&r->ctx);
    drop_values(r->column);
    free(r->column);
    free(r);
}

typedef struct { i64 version; Reading *(*open)(const Reader *, const u8 *, i64, i64, i64, i64, Ask); void (*act)(Reading *, int, int, i64, const i64 *, void *, Answer *);
    const Note *(*notes)(Reading *); void (*close)(Reading *); } Kernel;
extern const Kernel thawline_kernel;
const Kernel thawline_kernel = {1, ksy_open, ksy_do, ksy_notes, ksy_close};
