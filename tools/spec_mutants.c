/* Mutants of files through one compiled reader, in blocks of memory without a byte to spare: see `spec_mutants.py`. */

static u64 state = 88172645463325252ULL;
static u64 chance(u64 below) {
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return below ? state % below : 0;
}

static const u8 *held;
static i64 held_size;

/* What only Python can do is not done here: an encoding, or a process, leaves bytes as they are. */
static int unchanged(Question *q) {
    if (!strcmp(q->word, "take")) memcpy(q->made, held, (size_t)held_size);
    else if (!strcmp(q->word, "number")) return 3;
    else { held = q->data; held_size = q->size; }
    return 0;
}

static i64 mutated(u8 *data, i64 size) {
    static const u8 odd[] = {0, 1, 0x7f, 0x80, 0xff};
    for (u64 changes = 1 + chance(4); changes && size; changes--) {
        u64 at = chance(chance(2) ? (u64)size : (u64)(size < 400 ? size : 400));
        data[at] = chance(2) ? odd[chance(sizeof odd)] : (u8)chance(256);
    }
    return chance(5) ? size : (i64)chance((u64)size + 1);
}

static void through(const Reader *reader, const u8 *data, i64 size, const i64 *facts, u8 *room, i64 *counts) {
    Answer answer;
    Reading *r = thawline_kernel.open(reader, data, size, 0, (1 << 20) + 64 * size, (64 << 20) + 512 * size, unchanged);
    struct ArrowArray *made = (struct ArrowArray *)room;
    thawline_kernel.act(r, OPEN, -1, 0, 0, 0, &answer);
    thawline_kernel.act(r, READ, -1, 0, 0, 0, &answer);
    counts[answer.result < 0]++;
    if (answer.result >= 0) thawline_kernel.act(r, PUT, -1, 0, facts, 0, &answer);
    if (answer.result >= 0) {
        thawline_kernel.act(r, EXPORT, -1, 0, 0, room, &answer);
        made->release(made);
    }
    thawline_kernel.close(r);
}

int main(int count, char **words) { /* mutants, seed, files */
    i64 mutants = atoll(words[1]), counts[2] = {0, 0};
    state ^= (u64)atoll(words[2]) * 2654435761ULL;
    u8 *room = malloc(sizeof(struct ArrowArray) + sizeof FACTS_OF_ROOT / sizeof(i64));
    for (i64 i = 0; i < mutants; i++) {
        FILE *file = fopen(words[3 + chance((u64)(count - 3))], "rb");
        fseek(file, 0, SEEK_END);
        i64 size = ftell(file), kept;
        rewind(file);
        u8 *whole = malloc((size_t)size + 1);
        if (fread(whole, 1, (size_t)size, file) != (size_t)size) return 2;
        fclose(file);
        kept = mutated(whole, size);
        u8 *exact = malloc((size_t)kept);
        if (kept) memcpy(exact, whole, (size_t)kept);
        through(&READER, exact, kept, FACTS_OF_ROOT, room, counts);
        free(exact);
        free(whole);
    }
    free(room);
    printf("%lld read, %lld refused\n", (long long)counts[0], (long long)counts[1]);
    return 0;
}
