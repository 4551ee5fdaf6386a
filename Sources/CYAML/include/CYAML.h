/* One value of YAML, read by libyaml, which is loaded when the first value is read. */
#ifndef COFFRET_CYAML_H
#define COFFRET_CYAML_H

#include <stddef.h>
#include <stdint.h>

enum coffret_yaml_kind {
    /* libyaml is not installed. */
    COFFRET_YAML_UNAVAILABLE = -2,
    /* The text is no YAML, or no map with one key. */
    COFFRET_YAML_FAILED = -1,
    COFFRET_YAML_SCALAR = 0,
    COFFRET_YAML_LIST = 1,
    /* Maps, lists in lists, anchors and tags. */
    COFFRET_YAML_OTHER = 2,
};

/* A scalar, or an item of a list. `bytes` is NULL for a list in a list, which stands on `line` from `column` to
   `end_column`, counted in characters; it is -1 if it takes several lines. */
struct coffret_yaml_item {
    const uint8_t *bytes;
    size_t byte_count;
    /* Written without quotes. */
    int is_plain;
    /* Written as a block behind | or >. */
    int is_block;
    long line, column, end_column;
};

typedef void (*coffret_yaml_visit)(void *context, const struct coffret_yaml_item *item);

/* Reads the value of the only key of a map, and visits the scalar or the items of the list. Items may have been visited
   where the kind turns out to be COFFRET_YAML_OTHER or COFFRET_YAML_FAILED. */
enum coffret_yaml_kind coffret_yaml_value(
    const uint8_t *text, size_t byte_count, coffret_yaml_visit visit, void *context);

#endif
