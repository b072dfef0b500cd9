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
    if (UNLIKELY(value < low || value > high)) fail(ctx, "value", "the argument %lld is not between %lld and %lld", (long long)value, (long long)low, (long long)high);
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
    if (UNLIKELY(index >= n || index < -(i128)n)) fail(ctx, "value", "there is no item %lld among %lld", (long long)index, (long long)n);
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
EXTREME(u64, u64)
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
