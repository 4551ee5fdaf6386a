#include "CYAML.h"

#include <dlfcn.h>
#include <pthread.h>
#include <yaml.h>

static struct {
    int (*initialize)(yaml_parser_t *);
    void (*set_input)(yaml_parser_t *, const unsigned char *, size_t);
    int (*parse)(yaml_parser_t *, yaml_event_t *);
    void (*delete_event)(yaml_event_t *);
    void (*delete_parser)(yaml_parser_t *);
} yaml;

static int is_loaded;

static void load(void) {
    void *library = dlopen("libyaml-0.so.2", RTLD_NOW | RTLD_LOCAL);
    if (!library)
        return;
#define LOAD(field, name)                                                                                             \
    *(void **)&yaml.field = dlsym(library, name);                                                                     \
    if (!yaml.field)                                                                                                  \
        return;
    LOAD(initialize, "yaml_parser_initialize")
    LOAD(set_input, "yaml_parser_set_input_string")
    LOAD(parse, "yaml_parser_parse")
    LOAD(delete_event, "yaml_event_delete")
    LOAD(delete_parser, "yaml_parser_delete")
#undef LOAD
    is_loaded = 1;
}

/* Reads the next event; its type, or YAML_NO_EVENT for an error. The caller deletes it. */
static yaml_event_type_t next(yaml_parser_t *parser, yaml_event_t *event) {
    return yaml.parse(parser, event) ? event->type : YAML_NO_EVENT;
}

/* Reads an event that has nothing but its type; 1 if it is the expected one. */
static int expect(yaml_parser_t *parser, yaml_event_type_t type) {
    yaml_event_t event;
    yaml_event_type_t found = next(parser, &event);
    if (found != YAML_NO_EVENT)
        yaml.delete_event(&event);
    return found == type;
}

static void visit_scalar(const yaml_event_t *event, coffret_yaml_visit visit, void *context) {
    yaml_scalar_style_t style = event->data.scalar.style;
    struct coffret_yaml_item item = {
        .bytes = event->data.scalar.value,
        .byte_count = event->data.scalar.length,
        .is_plain = style == YAML_PLAIN_SCALAR_STYLE,
        .is_block = style == YAML_LITERAL_SCALAR_STYLE || style == YAML_FOLDED_SCALAR_STYLE,
    };
    visit(context, &item);
}

static int is_bare_scalar(const yaml_event_t *event) {
    return event->type == YAML_SCALAR_EVENT && !event->data.scalar.anchor && !event->data.scalar.tag;
}

/* The items of a list whose start was read. */
static enum coffret_yaml_kind list(yaml_parser_t *parser, int is_flow, coffret_yaml_visit visit, void *context) {
    for (;;) {
        yaml_event_t event;
        yaml_event_type_t type = next(parser, &event);
        if (type == YAML_NO_EVENT)
            return COFFRET_YAML_FAILED;
        int is_item = is_bare_scalar(&event);
        if (is_item)
            visit_scalar(&event, visit, context);
        yaml_mark_t start = event.start_mark;
        yaml.delete_event(&event);
        if (type == YAML_SEQUENCE_END_EVENT)
            return COFFRET_YAML_LIST;
        if (is_item)
            continue;
        /* In a list of lines, [[a link]] is a list in a list for YAML, and a text for people. */
        if (type != YAML_SEQUENCE_START_EVENT || is_flow)
            return COFFRET_YAML_OTHER;
        yaml_mark_t end = start;
        for (int depth = 1; depth > 0;) {
            type = next(parser, &event);
            if (type == YAML_NO_EVENT)
                return COFFRET_YAML_FAILED;
            end = event.end_mark;
            yaml.delete_event(&event);
            if (type == YAML_SEQUENCE_START_EVENT || type == YAML_MAPPING_START_EVENT)
                depth += 1;
            if (type == YAML_SEQUENCE_END_EVENT || type == YAML_MAPPING_END_EVENT)
                depth -= 1;
        }
        struct coffret_yaml_item item = {
            .line = start.line == end.line ? (long)start.line : -1,
            .column = (long)start.column,
            .end_column = (long)end.column,
        };
        visit(context, &item);
    }
}

static enum coffret_yaml_kind value(yaml_parser_t *parser, coffret_yaml_visit visit, void *context) {
    yaml_event_t event;
    yaml_event_type_t type = next(parser, &event);
    if (type == YAML_NO_EVENT)
        return COFFRET_YAML_FAILED;
    enum coffret_yaml_kind kind = COFFRET_YAML_OTHER;
    if (is_bare_scalar(&event)) {
        visit_scalar(&event, visit, context);
        kind = COFFRET_YAML_SCALAR;
    }
    int is_list = type == YAML_SEQUENCE_START_EVENT && !event.data.sequence_start.anchor && !event.data.sequence_start.tag;
    int is_flow = is_list && event.data.sequence_start.style == YAML_FLOW_SEQUENCE_STYLE;
    yaml.delete_event(&event);
    if (is_list)
        kind = list(parser, is_flow, visit, context);
    if (kind == COFFRET_YAML_FAILED || kind == COFFRET_YAML_OTHER)
        return kind;
    return expect(parser, YAML_MAPPING_END_EVENT) && expect(parser, YAML_DOCUMENT_END_EVENT)
                   && expect(parser, YAML_STREAM_END_EVENT)
               ? kind
               : COFFRET_YAML_FAILED;
}

enum coffret_yaml_kind coffret_yaml_value(
    const uint8_t *text, size_t byte_count, coffret_yaml_visit visit, void *context) {
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, load);
    if (!is_loaded)
        return COFFRET_YAML_UNAVAILABLE;
    yaml_parser_t parser;
    if (!yaml.initialize(&parser))
        return COFFRET_YAML_FAILED;
    yaml.set_input(&parser, text, byte_count);
    enum coffret_yaml_kind kind = COFFRET_YAML_FAILED;
    if (expect(&parser, YAML_STREAM_START_EVENT) && expect(&parser, YAML_DOCUMENT_START_EVENT)
        && expect(&parser, YAML_MAPPING_START_EVENT) && expect(&parser, YAML_SCALAR_EVENT))
        kind = value(&parser, visit, context);
    yaml.delete_parser(&parser);
    return kind;
}
