/* Arrow's C data interface: what the columns hold, given away */

struct ArrowArray {
    i64 length, null_count, offset, n_buffers, n_children;
    const void **buffers;
    struct ArrowArray **children;
    struct ArrowArray *dictionary;
    void (*release)(struct ArrowArray *);
    void *private_data;
};
enum { WORTH_LEAVING_OUT = 8 * FACTS };
typedef struct { void **held; i64 n, room; u8 *zeros; i64 zeroed; u8 *marks; } Export;

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

/* Whether columns are left out that got no value: the caller has nulls of their type at hand, which cost nothing. */
static int is_left_out(Export *e, const i64 *facts, Column *c) {
    if (facts[EXTENT] < WORTH_LEAVING_OUT) return 0;
    *e->marks++ = c && c->rows;
    return !(c && c->rows);
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
    say_valid(ctx, c, 0);
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
        if (i >= c->said || c->valid[i]) {
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
        if (is_left_out(e, at, kid)) { a->n_children--; continue; }
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
        if (is_left_out(e, c->facts + FACTS, kid)) array_of(ctx, e, a->children[0], c->end, c->end, 0, 0);
        else if (!kid) give_nulls(ctx, e, c->facts + FACTS, a->children[0], c->end, as_labels);
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
    c->rows = c->nulls = c->said = c->end = 0;
}

static void export(Ctx *ctx, Column *c, struct ArrowArray *a, u8 *marks) {
    Export *e = calloc(1, sizeof(Export));
    if (!e) fail(ctx, "work", "there is no memory left");
    e->marks = marks;
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
