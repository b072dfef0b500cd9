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
    i64 end, places, place_room, valid_room, said; /* how many values `valid` speaks of; those that follow are there */
    int32_t *offsets;
    u8 *valid;
    const i64 *facts;
    Column **kids;
    int n;
};

COLD static void *grown(Ctx *ctx, void *p, i64 *room, i64 needed) {
    i64 wanted = needed < 128 ? 256 : 2 * needed;
    void *made = realloc(p, wanted);
    if (!made) fail(ctx, "work", "there is no memory left");
    *room = wanted;
    return made;
}

static void set_up(Column *made, const i64 *facts, const Labels *labels) {
    made->kind = (int)facts[KIND];
    made->width = (int)facts[WIDTH];
    made->is_unsigned = (int)facts[IS_UNSIGNED];
    made->labels = facts[ENUM] >= 0 ? &labels[facts[ENUM]] : 0;
    made->n = (int)facts[KIDS];
    made->facts = facts;
}

static Column *column(Ctx *ctx, const i64 *facts, const Labels *labels) {
    Column *made = calloc(1, sizeof(Column));
    if (!made) fail(ctx, "work", "there is no memory left");
    set_up(made, facts, labels);
    return made;
}

/* The columns in a column are made when it gets its first value. */
COLD static void open_kids(Ctx *ctx, Column *c, const Labels *labels) {
    c->kids = calloc(c->n + 1, sizeof(Column *) + sizeof(Column));
    if (!c->kids) fail(ctx, "work", "there is no memory left");
    Column *made = (Column *)(c->kids + c->n + 1);
    const i64 *at = c->facts + FACTS;
    for (int i = 0; i < c->n; i++, at += at[EXTENT]) {
        if (at[KIND] < 0) continue;
        c->kids[i] = made + i;
        set_up(made + i, at, labels);
    }
}

static void drop_values(Column *c) {
    if (!c) return;
    for (int i = 0; c->kids && i < c->n; i++) drop_values(c->kids[i]);
    free(c->kids);
    free(c->data);
    free(c->offsets);
    free(c->valid);
}

static inline void say_valid(Ctx *ctx, Column *c, i64 nulls) {
    i64 rows = c->rows;
    if (UNLIKELY(rows + nulls > c->valid_room)) c->valid = grown(ctx, c->valid, &c->valid_room, rows + nulls);
    u8 *valid = c->valid;
    for (i64 i = c->said; i < rows; i++) valid[i] = 1;
    for (i64 i = 0; i < nulls; i++) valid[rows + i] = 0;
    c->said = rows + nulls;
}

static inline void add_place(Ctx *ctx, Column *c, i64 end) {
    if (UNLIKELY((c->places + 2) * 4 > c->place_room)) {
        c->offsets = grown(ctx, c->offsets, &c->place_room, (c->places + 2) * 4);
        if (!c->places) { c->offsets[0] = 0; c->places = 1; }
    }
    c->offsets[c->places++] = (int32_t)end;
}

__attribute__((noinline)) static void nulls(Ctx *ctx, Column *c, i64 count) {
    say_valid(ctx, c, count);
    c->nulls += count;
    c->rows += count;
    if (c->kind == BLOB || c->kind == ITEMS) {
        while (count-- > 0) add_place(ctx, c, c->end);
    } else if (c->kind != GROUP) {
        i64 more = count * c->width;
        if (c->size + more + 8 > c->room) c->data = grown(ctx, c->data, &c->room, c->size + more + 8);
        if (more <= 8) memset(c->data + c->size, 0, 8);
        else memset(c->data + c->size, 0, more);
        c->size += more;
    }
}

/* A column gets its nulls when its next value comes: `rows` is how many values it should have. */
static inline void level(Ctx *ctx, Column *c, i64 rows) {
    if (c->rows != rows) nulls(ctx, c, rows - c->rows);
}

static inline void there(Column *c) { c->rows++; }

UNUSED static inline void put_int(Ctx *ctx, Column *c, i64 rows, i64 value) {
    level(ctx, c, rows);
    if (UNLIKELY(c->size + 8 > c->room)) c->data = grown(ctx, c->data, &c->room, c->size + 8);
    memcpy(c->data + c->size, &value, 8);
    c->size += c->width;
    there(c);
}

UNUSED static inline void put_real(Ctx *ctx, Column *c, i64 rows, double value) {
    level(ctx, c, rows);
    if (UNLIKELY(c->size + 8 > c->room)) c->data = grown(ctx, c->data, &c->room, c->size + 8);
    float small = (float)value;
    if (c->width == 4) memcpy(c->data + c->size, &small, 4);
    else memcpy(c->data + c->size, &value, 8);
    c->size += c->width;
    there(c);
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
    there(c);
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
