/* HTML as elements and text, read by libxml2's HTML parser, which is loaded when the first text is read. Nothing but the
   given text is looked at: no document type, no entity of its own, no address. */
#ifndef COFFRET_CHTML_H
#define COFFRET_CHTML_H

#include <stddef.h>
#include <stdint.h>

enum coffret_html_result {
    /* libxml2 is not installed. */
    COFFRET_HTML_UNAVAILABLE = -2,
    /* A visitor wanted no more. */
    COFFRET_HTML_STOPPED = -1,
    COFFRET_HTML_READ = 0,
};

struct coffret_html_visitor {
    /* Nonzero to stop. attributes: names and values in turn, a value may be NULL; NULL at the end; NULL for none. */
    int (*start)(void *context, const char *name, const char *const *attributes);
    int (*end)(void *context, const char *name);
    int (*text)(void *context, const uint8_t *bytes, size_t byte_count);
};

/* Reads UTF-8 text. Elements that the text leaves open are closed, and `html` and `body` added. */
enum coffret_html_result coffret_html_read(
    const uint8_t *text, size_t byte_count, const struct coffret_html_visitor *visitor, void *context);

#endif
