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

UNUSED static Span text_utf8(Ctx *ctx, Span s) {
    known(ctx, s);
    return is_ascii(s.p, s.n) || is_utf8(s.p, s.n) ? s : asked(ctx, "decode:UTF-8", s, 0, 0); /* which says why not */
}

UNUSED static Span text_ascii(Ctx *ctx, Span s) {
    known(ctx, s);
    return is_ascii(s.p, s.n) ? s : asked(ctx, "decode:ASCII", s, 0, 0);
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

UNUSED static Span xored_byte(Ctx *ctx, Span s, i128 key) {
    known(ctx, s);
    if (key < 0 || key > 255) fail(ctx, "process", "%lld is no byte to xor with", (long long)key);
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
