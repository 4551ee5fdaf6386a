#include "CExpat.h"

#include <dlfcn.h>
#include <expat.h>
#include <pthread.h>
#include <stdlib.h>

static struct {
    XML_Parser (*create)(const XML_Char *);
    void (*set_user_data)(XML_Parser, void *);
    void (*set_element_handler)(XML_Parser, XML_StartElementHandler, XML_EndElementHandler);
    void (*set_text_handler)(XML_Parser, XML_CharacterDataHandler);
    void (*set_entity_handler)(XML_Parser, XML_EntityDeclHandler);
    enum XML_Status (*parse)(XML_Parser, const char *, int, int);
    enum XML_Status (*stop)(XML_Parser, XML_Bool);
    enum XML_Error (*error)(XML_Parser);
    XML_Size (*line)(XML_Parser);
    void (*free)(XML_Parser);
} expat;

static int is_loaded;

static void load(void) {
    void *library = dlopen("libexpat.so.1", RTLD_NOW | RTLD_LOCAL);
    if (!library)
        return;
#define LOAD(field, name)                                                                                             \
    *(void **)&expat.field = dlsym(library, name);                                                                    \
    if (!expat.field)                                                                                                 \
        return;
    LOAD(create, "XML_ParserCreate")
    LOAD(set_user_data, "XML_SetUserData")
    LOAD(set_element_handler, "XML_SetElementHandler")
    LOAD(set_text_handler, "XML_SetCharacterDataHandler")
    LOAD(set_entity_handler, "XML_SetEntityDeclHandler")
    LOAD(parse, "XML_Parse")
    LOAD(stop, "XML_StopParser")
    LOAD(error, "XML_GetErrorCode")
    LOAD(line, "XML_GetCurrentLineNumber")
    LOAD(free, "XML_ParserFree")
#undef LOAD
    is_loaded = 1;
}

struct coffret_xml {
    struct coffret_xml_visitor visitor;
    void *context;
    XML_Parser parser;
    enum coffret_xml_result result;
};

static void stop(coffret_xml *xml, enum coffret_xml_result result) {
    if (xml->result != COFFRET_XML_READ)
        return;
    xml->result = result;
    expat.stop(xml->parser, XML_FALSE);
}

static void start_element(void *context, const XML_Char *name, const XML_Char **attributes) {
    coffret_xml *xml = context;
    if (xml->result == COFFRET_XML_READ && xml->visitor.start(xml->context, name, (const char *const *)attributes))
        stop(xml, COFFRET_XML_STOPPED);
}

static void end_element(void *context, const XML_Char *name) {
    coffret_xml *xml = context;
    if (xml->result == COFFRET_XML_READ && xml->visitor.end(xml->context, name))
        stop(xml, COFFRET_XML_STOPPED);
}

static void text(void *context, const XML_Char *bytes, int byte_count) {
    coffret_xml *xml = context;
    if (xml->result == COFFRET_XML_READ && xml->visitor.text(xml->context, (const uint8_t *)bytes, (size_t)byte_count))
        stop(xml, COFFRET_XML_STOPPED);
}

static void entity(
    void *context, const XML_Char *name, int is_parameter, const XML_Char *value, int value_length,
    const XML_Char *base, const XML_Char *system_id, const XML_Char *public_id, const XML_Char *notation) {
    (void)name, (void)is_parameter, (void)value, (void)value_length, (void)base, (void)system_id, (void)public_id,
        (void)notation;
    stop(context, COFFRET_XML_ENTITY);
}

coffret_xml *coffret_xml_create(const struct coffret_xml_visitor *visitor, void *context) {
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, load);
    if (!is_loaded)
        return NULL;
    coffret_xml *xml = calloc(1, sizeof *xml);
    if (!xml)
        return NULL;
    xml->parser = expat.create(NULL);
    if (!xml->parser) {
        free(xml);
        return NULL;
    }
    xml->visitor = *visitor;
    xml->context = context;
    expat.set_user_data(xml->parser, xml);
    expat.set_element_handler(xml->parser, start_element, end_element);
    expat.set_text_handler(xml->parser, text);
    expat.set_entity_handler(xml->parser, entity);
    return xml;
}

enum coffret_xml_result coffret_xml_read(coffret_xml *xml, const uint8_t *bytes, size_t byte_count, int is_last) {
    if (xml->result != COFFRET_XML_READ)
        return xml->result;
    const size_t piece_max = 1 << 20;
    do {
        size_t count = byte_count < piece_max ? byte_count : piece_max;
        byte_count -= count;
        enum XML_Status status = expat.parse(xml->parser, (const char *)bytes, (int)count, is_last && byte_count == 0);
        bytes += count;
        if (status == XML_STATUS_OK)
            continue;
        if (xml->result == COFFRET_XML_READ) {
            enum XML_Error error = expat.error(xml->parser);
            int is_cut = error == XML_ERROR_NO_ELEMENTS || error == XML_ERROR_UNCLOSED_TOKEN
                         || error == XML_ERROR_UNCLOSED_CDATA_SECTION || error == XML_ERROR_PARTIAL_CHAR;
            xml->result = is_cut ? COFFRET_XML_TRUNCATED : COFFRET_XML_FAILED;
        }
        break;
    } while (byte_count > 0);
    return xml->result;
}

unsigned long coffret_xml_line(coffret_xml *xml) { return (unsigned long)expat.line(xml->parser); }

void coffret_xml_free(coffret_xml *xml) {
    if (!xml)
        return;
    expat.free(xml->parser);
    free(xml);
}
