/* Arrow's C data interface (https://arrow.apache.org/docs/format/CDataInterface.html), and a column as a writer of text
 * sees it. */
#ifndef THAWLINE_ARROW_H
#define THAWLINE_ARROW_H

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#ifndef ARROW_C_DATA_INTERFACE
#define ARROW_C_DATA_INTERFACE
struct ArrowSchema {
    const char *format;
    const char *name;
    const char *metadata;
    int64_t flags;
    int64_t n_children;
    struct ArrowSchema **children;
    struct ArrowSchema *dictionary;
    void (*release)(struct ArrowSchema *);
    void *private_data;
};

struct ArrowArray {
    int64_t length;
    int64_t null_count;
    int64_t offset;
    int64_t n_buffers;
    int64_t n_children;
    const void **buffers;
    struct ArrowArray **children;
    struct ArrowArray *dictionary;
    void (*release)(struct ArrowArray *);
    void *private_data;
};
#endif

/* The number in a format such as `w:16`. */
static inline long long number_after(const char *format) { return format[1] == ':' ? atoll(format + 2) : 0; }

/* Whether `d:precision,scale` has no fraction, 128 bits, which is not said, and at most so many digits. */
static inline int is_whole_decimal(const char *format, long long digits) {
    const char *scale = strchr(format, ',');
    return scale && !strcmp(scale, ",0") && number_after(format) <= digits;
}

static inline int has_bytes(const struct ArrowSchema *schema) {
    return !schema->dictionary && (strchr("zZ", schema->format[0]) || !strncmp(schema->format, "w:", 2));
}

/* Whether two fields of a struct, or a field and the companion of another, have the same name. */
static inline int has_equal_names(const struct ArrowSchema *schema) {
    int64_t one, other;
    for (one = 0; one < schema->n_children; one++) {
        const char *name = schema->children[one]->name;
        size_t size = strlen(name);
        for (other = 0; other < schema->n_children; other++) {
            const char *next = schema->children[other]->name;
            if (one != other && !strncmp(name, next, size) && (!next[size] || !strcmp(next + size, "_b64"))) return 1;
        }
    }
    return 0;
}

/* A column, or a field of a nested one. */
typedef struct {
    int kind;
    int width;                 /* bytes of a number, or of an offset; 0 where each value has `size` */
    int digits;                /* decimal places of a second */
    int count;                 /* fields of a struct; 1 for the items of a list */
    long long first;           /* the first of them, a place in the plan */
    long long size;            /* bytes of each value, or items of each list, where that is fixed */
    long long key, key_size;   /* `"name":` as JSON, a place in the plan's keys */
    long long extra, extra_size; /* the same of the companion, with the comma before it */
    const unsigned char *valid; /* the bitmap of what is not null; NULL if nothing is */
    const unsigned char *values;
    const unsigned char *offsets;
    long long offset;          /* where the first row is, in all of these */
    long long readable;        /* bytes of text that there are */
} text_node;

static inline int is_valid(const text_node *node, long long at) {
    return !node->valid || (node->valid[at >> 3] >> (at & 7) & 1);
}

static inline long long offset_at(const text_node *node, long long at) {
    if (node->width == 4) return ((const int32_t *)node->offsets)[at];
    if (node->width == 8) return ((const int64_t *)node->offsets)[at];
    return at * node->size;
}

static inline long long integer_at(const text_node *node, long long at) {
    switch (node->width) {
    case 1: return ((const int8_t *)node->values)[at];
    case 2: return ((const int16_t *)node->values)[at];
    case 4: return ((const int32_t *)node->values)[at];
    default: return ((const int64_t *)node->values)[at];
    }
}

static inline unsigned long long unsigned_at(const text_node *node, long long at) {
    switch (node->width) {
    case 1: return ((const uint8_t *)node->values)[at];
    case 2: return ((const uint16_t *)node->values)[at];
    case 4: return ((const uint32_t *)node->values)[at];
    default: return ((const uint64_t *)node->values)[at];
    }
}

static inline double double_at(const text_node *node, long long at) {
    return node->width == 4 ? (double)((const float *)node->values)[at] : ((const double *)node->values)[at];
}

static inline int bit_at(const text_node *node, long long at) { return node->values[at >> 3] >> (at & 7) & 1; }

#endif
