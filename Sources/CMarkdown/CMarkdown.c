#include "CMarkdown.h"

#include <dlfcn.h>
#include <pthread.h>

/* md4c's public declarations that this file needs; their layout has been the same since md4c 0.3. */
struct attribute {
    const char *text;
    unsigned byte_count;
    const void *kinds;
    const unsigned *offsets;
};

struct parser {
    unsigned abi_version;
    unsigned flags;
    int (*enter_block)(int kind, void *detail, void *context);
    int (*leave_block)(int kind, void *detail, void *context);
    int (*enter_span)(int kind, void *detail, void *context);
    int (*leave_span)(int kind, void *detail, void *context);
    int (*text)(int kind, const char *text, unsigned byte_count, void *context);
    void (*debug_log)(const char *message, void *context);
    void (*syntax)(void);
};

enum { FIRST_SPAN = 100 };
/* PERMISSIVEURLAUTOLINKS, NOHTMLBLOCKS, NOHTMLSPANS, TABLES, STRIKETHROUGH, TASKLISTS, WIKILINKS. */
enum { FLAGS = 0x0004 | 0x0020 | 0x0040 | 0x0100 | 0x0200 | 0x0800 | 0x2000 };

static int (*parse)(const char *, unsigned, const struct parser *, void *);

static void load(void) {
    void *library = dlopen("libmd4c.so.0", RTLD_NOW | RTLD_LOCAL);
    if (library)
        *(void **)&parse = dlsym(library, "md_parse");
}

struct run {
    const struct coffret_markdown_visitor *visitor;
    void *context;
};

static void start(struct run *run, int element, unsigned number, const struct attribute *text) {
    run->visitor->start(
        run->context, element, number, text ? (const uint8_t *)text->text : 0, text ? text->byte_count : 0);
}

static int enter_block(int kind, void *detail, void *context) {
    unsigned number = 0;
    switch (kind) {
    case COFFRET_MARKDOWN_ORDERED_LIST:
    case COFFRET_MARKDOWN_HEADING:
    case COFFRET_MARKDOWN_TABLE_HEADER:
    case COFFRET_MARKDOWN_TABLE_CELL:
        number = *(unsigned *)detail;
        break;
    case COFFRET_MARKDOWN_ITEM: {
        const struct {
            int is_task;
            char mark;
        } *item = detail;
        number = item->is_task ? (item->mark == ' ' ? 1 : 2) : 0;
        break;
    }
    default:
        break;
    }
    start(context, kind, number, 0);
    return 0;
}

static int leave_block(int kind, void *detail, void *context) {
    (void)detail;
    struct run *run = context;
    run->visitor->end(run->context, kind);
    return 0;
}

static int enter_span(int kind, void *detail, void *context) {
    int element = FIRST_SPAN + kind;
    /* The destination is the first member of each. */
    int has_destination = element == COFFRET_MARKDOWN_LINK || element == COFFRET_MARKDOWN_IMAGE ||
                          element == COFFRET_MARKDOWN_WIKI_LINK;
    start(context, element, 0, has_destination ? detail : 0);
    return 0;
}

static int leave_span(int kind, void *detail, void *context) {
    (void)detail;
    struct run *run = context;
    run->visitor->end(run->context, FIRST_SPAN + kind);
    return 0;
}

static int text(int kind, const char *bytes, unsigned byte_count, void *context) {
    struct run *run = context;
    run->visitor->text(run->context, kind, (const uint8_t *)bytes, byte_count);
    return 0;
}

enum coffret_markdown_result coffret_markdown_read(
    const uint8_t *bytes, size_t byte_count, const struct coffret_markdown_visitor *visitor, void *context) {
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, load);
    if (!parse)
        return COFFRET_MARKDOWN_UNAVAILABLE;
    if (byte_count > UINT32_MAX)
        return COFFRET_MARKDOWN_FAILED;
    struct run run = {visitor, context};
    struct parser parser = {
        .flags = FLAGS,
        .enter_block = enter_block,
        .leave_block = leave_block,
        .enter_span = enter_span,
        .leave_span = leave_span,
        .text = text,
    };
    return parse((const char *)bytes, (unsigned)byte_count, &parser, &run) == 0 ? COFFRET_MARKDOWN_READ
                                                                               : COFFRET_MARKDOWN_FAILED;
}
