#include "CCSV.h"

#include <csv.h>
#include <dlfcn.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

static struct {
    int (*init)(struct csv_parser *, unsigned char);
    size_t (*parse)(
        struct csv_parser *, const void *, size_t, void (*)(void *, size_t, void *), void (*)(int, void *), void *);
    int (*finish)(struct csv_parser *, void (*)(void *, size_t, void *), void (*)(int, void *), void *);
    int (*error)(struct csv_parser *);
    void (*release)(struct csv_parser *);
    void (*set_delimiter)(struct csv_parser *, unsigned char);
    void (*set_space)(struct csv_parser *, int (*)(unsigned char));
    void (*set_realloc)(struct csv_parser *, void *(*)(void *, size_t));
    void (*set_free)(struct csv_parser *, void (*)(void *));
} csv;

static int is_loaded;

static void load(void) {
    void *library = dlopen("libcsv.so.3", RTLD_NOW | RTLD_LOCAL);
    if (!library)
        return;
#define LOAD(field, name)                                                                                             \
    *(void **)&csv.field = dlsym(library, name);                                                                      \
    if (!csv.field)                                                                                                   \
        return;
    LOAD(init, "csv_init")
    LOAD(parse, "csv_parse")
    LOAD(finish, "csv_fini")
    LOAD(error, "csv_error")
    LOAD(release, "csv_free")
    LOAD(set_delimiter, "csv_set_delim")
    LOAD(set_space, "csv_set_space_func")
    LOAD(set_realloc, "csv_set_realloc_func")
    LOAD(set_free, "csv_set_free_func")
#undef LOAD
    is_loaded = 1;
}

/* The library's buffer holds passwords: it is zeroed before it is given back. Its size stands in front of it. */
struct block {
    size_t byte_count;
    unsigned char bytes[];
};

static void zero_and_free(void *bytes) {
    if (!bytes)
        return;
    struct block *block = (struct block *)((char *)bytes - offsetof(struct block, bytes));
    explicit_bzero(block->bytes, block->byte_count);
    free(block);
}

static void *grow(void *bytes, size_t byte_count) {
    struct block *block = malloc(offsetof(struct block, bytes) + byte_count);
    if (!block)
        return NULL;
    block->byte_count = byte_count;
    if (bytes) {
        const struct block *old = (const struct block *)((char *)bytes - offsetof(struct block, bytes));
        memcpy(block->bytes, old->bytes, old->byte_count < byte_count ? old->byte_count : byte_count);
        zero_and_free(bytes);
    }
    return block->bytes;
}

static int is_never_space(unsigned char byte) {
    (void)byte;
    return 0;
}

struct visit {
    coffret_csv_cell cell;
    coffret_csv_row row;
    void *context;
    int is_stopped;
};

static void take_cell(void *bytes, size_t byte_count, void *data) {
    struct visit *visit = data;
    if (!visit->is_stopped)
        visit->cell(visit->context, bytes, byte_count);
}

static void take_row(int terminator, void *data) {
    (void)terminator;
    struct visit *visit = data;
    if (!visit->is_stopped)
        visit->is_stopped = visit->row(visit->context);
}

enum coffret_csv_result coffret_csv_read(
    const uint8_t *text, size_t byte_count, char delimiter, int is_loose, coffret_csv_cell cell, coffret_csv_row row,
    void *context) {
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, load);
    if (!is_loaded)
        return COFFRET_CSV_UNAVAILABLE;
    struct csv_parser parser;
    if (csv.init(&parser, is_loose ? 0 : CSV_STRICT | CSV_STRICT_FINI))
        return COFFRET_CSV_FAILED;
    csv.set_delimiter(&parser, (unsigned char)delimiter);
    csv.set_space(&parser, is_never_space);
    csv.set_realloc(&parser, grow);
    csv.set_free(&parser, zero_and_free);
    struct visit visit = {cell, row, context, 0};
    enum coffret_csv_result result = COFFRET_CSV_READ;
    const size_t piece_byte_count = 64 << 10;
    for (size_t start = 0; start < byte_count && !visit.is_stopped && result == COFFRET_CSV_READ;) {
        size_t count = byte_count - start < piece_byte_count ? byte_count - start : piece_byte_count;
        if (csv.parse(&parser, text + start, count, take_cell, take_row, &visit) != count)
            result = COFFRET_CSV_FAILED;
        start += count;
    }
    /* The library asks for the closing quote in strict mode alone: state 2 is within a cell. */
    if (result == COFFRET_CSV_READ && is_loose && parser.pstate == 2 && parser.quoted)
        result = COFFRET_CSV_TRUNCATED;
    if (result == COFFRET_CSV_READ && !visit.is_stopped && csv.finish(&parser, take_cell, take_row, &visit))
        result = csv.error(&parser) == CSV_EPARSE ? COFFRET_CSV_TRUNCATED : COFFRET_CSV_FAILED;
    csv.release(&parser);
    return result;
}
