/* XML as elements and text, read piece by piece by expat, which is loaded when the first text is read. A text that declares
   an entity is refused; nothing outside of the text is looked at. */
#ifndef COFFRET_CEXPAT_H
#define COFFRET_CEXPAT_H

#include <stddef.h>
#include <stdint.h>

enum coffret_xml_result {
    /* A visitor wanted no more. */
    COFFRET_XML_STOPPED = -3,
    /* The text declares an entity. */
    COFFRET_XML_ENTITY = -2,
    /* The text is no XML. */
    COFFRET_XML_FAILED = -1,
    COFFRET_XML_READ = 0,
    /* The text ends before its last element does. */
    COFFRET_XML_TRUNCATED = 1,
};

struct coffret_xml_visitor {
    /* Nonzero to stop. attributes: names and values in turn, NULL at the end. */
    int (*start)(void *context, const char *name, const char *const *attributes);
    int (*end)(void *context, const char *name);
    int (*text)(void *context, const uint8_t *bytes, size_t byte_count);
};

typedef struct coffret_xml coffret_xml;

/* NULL where expat is not installed. The visitor is copied. */
coffret_xml *coffret_xml_create(const struct coffret_xml_visitor *visitor, void *context);

/* Reads the next piece; the last one may be empty. After anything but READ only free may follow. */
enum coffret_xml_result coffret_xml_read(coffret_xml *xml, const uint8_t *bytes, size_t byte_count, int is_last);

/* The line that was reached, from 1. */
unsigned long coffret_xml_line(coffret_xml *xml);

void coffret_xml_free(coffret_xml *xml);

#endif
