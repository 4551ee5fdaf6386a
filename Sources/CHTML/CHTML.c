#include "CHTML.h"

#include <dlfcn.h>
#include <pthread.h>
#include <string.h>

/* libxml2's headers lie outside the compiler's paths. These are the public declarations that this file needs; their layout
   has been the same since libxml2 2.6. */
struct sax_handler {
    void *before_start_element[14];
    void (*start_element)(void *context, const unsigned char *name, const unsigned char **attributes);
    void (*end_element)(void *context, const unsigned char *name);
    void *reference;
    void (*characters)(void *context, const unsigned char *bytes, int byte_count);
    void (*ignorable_whitespace)(void *context, const unsigned char *bytes, int byte_count);
    void *processing_instruction_to_get_parameter_entity[6];
    void (*cdata_block)(void *context, const unsigned char *bytes, int byte_count);
    void *external_subset;
    unsigned int initialized;
    void *after_initialized[4];
};

enum { ENCODING_UTF8 = 1 };
/* HTML_PARSE_RECOVER, NOERROR, NOWARNING, NONET, IGNORE_ENC. */
enum { OPTIONS = 1 << 0 | 1 << 5 | 1 << 6 | 1 << 11 | 1 << 21 };

static struct {
    void *(*create)(struct sax_handler *, void *, const char *, int, const char *, int);
    int (*use_options)(void *, int);
    int (*parse)(void *, const char *, int, int);
    void (*stop)(void *);
    void (*free)(void *);
} html;

static int is_loaded;

static void load(void) {
    void *library = dlopen("libxml2.so.2", RTLD_NOW | RTLD_LOCAL);
    if (!library)
        library = dlopen("libxml2.so.16", RTLD_NOW | RTLD_LOCAL);
    if (!library)
        return;
#define LOAD(field, name)                                                                                             \
    *(void **)&html.field = dlsym(library, name);                                                                     \
    if (!html.field)                                                                                                  \
        return;
    LOAD(create, "htmlCreatePushParserCtxt")
    LOAD(use_options, "htmlCtxtUseOptions")
    LOAD(parse, "htmlParseChunk")
    LOAD(stop, "xmlStopParser")
    LOAD(free, "htmlFreeParserCtxt")
#undef LOAD
    is_loaded = 1;
}

struct run {
    const struct coffret_html_visitor *visitor;
    void *context;
    void *parser;
    int is_stopped;
};

static void note(struct run *run, int wants_stop) {
    if (!wants_stop || run->is_stopped)
        return;
    run->is_stopped = 1;
    html.stop(run->parser);
}

static void start_element(void *context, const unsigned char *name, const unsigned char **attributes) {
    struct run *run = context;
    if (!run->is_stopped)
        note(run, run->visitor->start(run->context, (const char *)name, (const char *const *)attributes));
}

static void end_element(void *context, const unsigned char *name) {
    struct run *run = context;
    if (!run->is_stopped)
        note(run, run->visitor->end(run->context, (const char *)name));
}

static void characters(void *context, const unsigned char *bytes, int byte_count) {
    struct run *run = context;
    if (!run->is_stopped && byte_count > 0)
        note(run, run->visitor->text(run->context, bytes, (size_t)byte_count));
}

enum coffret_html_result coffret_html_read(
    const uint8_t *text, size_t byte_count, const struct coffret_html_visitor *visitor, void *context) {
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, load);
    if (!is_loaded)
        return COFFRET_HTML_UNAVAILABLE;
    struct run run = { .visitor = visitor, .context = context };
    struct sax_handler handler;
    memset(&handler, 0, sizeof handler);
    handler.start_element = start_element;
    handler.end_element = end_element;
    handler.characters = characters;
    handler.ignorable_whitespace = characters;
    handler.cdata_block = characters;
    run.parser = html.create(&handler, &run, NULL, 0, NULL, ENCODING_UTF8);
    if (!run.parser)
        return COFFRET_HTML_UNAVAILABLE;
    html.use_options(run.parser, OPTIONS);
    /* In pieces, so that a stop takes effect soon. */
    const size_t piece = 16 << 10;
    for (size_t offset = 0; offset < byte_count && !run.is_stopped; offset += piece) {
        size_t rest = byte_count - offset;
        html.parse(run.parser, (const char *)text + offset, (int)(rest < piece ? rest : piece), 0);
    }
    if (!run.is_stopped)
        html.parse(run.parser, NULL, 0, 1);
    html.free(run.parser);
    return run.is_stopped ? COFFRET_HTML_STOPPED : COFFRET_HTML_READ;
}
