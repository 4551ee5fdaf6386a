/* Markdown as blocks, spans and text, read by md4c, which is loaded when the first text is read. Raw HTML is text to it. */
#ifndef COFFRET_CMARKDOWN_H
#define COFFRET_CMARKDOWN_H

#include <stddef.h>
#include <stdint.h>

enum coffret_markdown_result {
    /* libmd4c is not installed. */
    COFFRET_MARKDOWN_UNAVAILABLE = -2,
    /* A text that md4c does not take, or too little memory. */
    COFFRET_MARKDOWN_FAILED = -1,
    COFFRET_MARKDOWN_READ = 0,
};

/* Blocks have md4c's numbers, spans those and 100. */
enum coffret_markdown_element {
    COFFRET_MARKDOWN_DOCUMENT = 0,
    COFFRET_MARKDOWN_QUOTE,
    COFFRET_MARKDOWN_LIST,
    COFFRET_MARKDOWN_ORDERED_LIST,
    COFFRET_MARKDOWN_ITEM,
    COFFRET_MARKDOWN_RULE,
    COFFRET_MARKDOWN_HEADING,
    COFFRET_MARKDOWN_CODE_BLOCK,
    COFFRET_MARKDOWN_HTML_BLOCK,
    COFFRET_MARKDOWN_PARAGRAPH,
    COFFRET_MARKDOWN_TABLE,
    COFFRET_MARKDOWN_TABLE_HEAD,
    COFFRET_MARKDOWN_TABLE_BODY,
    COFFRET_MARKDOWN_TABLE_ROW,
    COFFRET_MARKDOWN_TABLE_HEADER,
    COFFRET_MARKDOWN_TABLE_CELL,
    COFFRET_MARKDOWN_EMPHASIS = 100,
    COFFRET_MARKDOWN_STRONG,
    COFFRET_MARKDOWN_LINK,
    COFFRET_MARKDOWN_IMAGE,
    COFFRET_MARKDOWN_CODE,
    COFFRET_MARKDOWN_DELETED,
    COFFRET_MARKDOWN_WIKI_LINK = 108,
};

enum coffret_markdown_text {
    COFFRET_MARKDOWN_NORMAL = 0,
    COFFRET_MARKDOWN_NULL,
    COFFRET_MARKDOWN_BREAK,
    COFFRET_MARKDOWN_SOFT_BREAK,
    COFFRET_MARKDOWN_ENTITY,
};

struct coffret_markdown_visitor {
    /* number: the level of a heading, the start of an ordered list, 1 or 2 for an item that is an open or done task, 1 to 3 for a
       cell that is aligned left, in the middle, right; 0 otherwise. text: the destination of a link or picture as it is written. */
    void (*start)(void *context, int element, unsigned number, const uint8_t *text, size_t byte_count);
    void (*end)(void *context, int element);
    /* kind: as above; any other is text. */
    void (*text)(void *context, int kind, const uint8_t *bytes, size_t byte_count);
};

/* Reads UTF-8 text of less than 4 GiB, with tables, tasks, struck text, addresses as links, and [[links]]. */
enum coffret_markdown_result coffret_markdown_read(
    const uint8_t *text, size_t byte_count, const struct coffret_markdown_visitor *visitor, void *context);

#endif
