#include "CCurl.h"

#include <curl/curl.h>
#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

static struct {
    void *library;
    CURLcode (*global_init)(long);
    CURL *(*init)(void);
    void (*cleanup)(CURL *);
    void (*reset)(CURL *);
    CURLcode (*setopt)(CURL *, CURLoption, ...);
    CURLcode (*getinfo)(CURL *, CURLINFO, ...);
    CURLcode (*perform)(CURL *);
    CURLcode (*send)(CURL *, const void *, size_t, size_t *);
    CURLcode (*recv)(CURL *, void *, size_t, size_t *);
    const char *(*message)(CURLcode);
    struct curl_slist *(*append)(struct curl_slist *, const char *);
    void (*free_list)(struct curl_slist *);
} curl;

struct coffret_curl {
    CURL *easy;
    struct curl_slist *headers;
    char detail[CURL_ERROR_SIZE];
};

int coffret_curl_load(void) {
    if (curl.library)
        return 0;
    void *library = dlopen("libcurl.so.4", RTLD_NOW | RTLD_LOCAL);
    if (!library)
        return -1;
#define LOAD(field, name)                                                                                             \
    *(void **)&curl.field = dlsym(library, name);                                                                     \
    if (!curl.field)                                                                                                  \
        goto missing;
    LOAD(global_init, "curl_global_init")
    LOAD(init, "curl_easy_init")
    LOAD(cleanup, "curl_easy_cleanup")
    LOAD(reset, "curl_easy_reset")
    LOAD(setopt, "curl_easy_setopt")
    LOAD(getinfo, "curl_easy_getinfo")
    LOAD(perform, "curl_easy_perform")
    LOAD(send, "curl_easy_send")
    LOAD(recv, "curl_easy_recv")
    LOAD(message, "curl_easy_strerror")
    LOAD(append, "curl_slist_append")
    LOAD(free_list, "curl_slist_free_all")
#undef LOAD
    if (curl.global_init(CURL_GLOBAL_DEFAULT) != CURLE_OK)
        goto missing;
    curl.library = library;
    return 0;
missing:
    dlclose(library);
    return -1;
}

coffret_curl *coffret_curl_new(void) {
    coffret_curl *handle = calloc(1, sizeof *handle);
    if (!handle)
        return NULL;
    handle->easy = curl.init();
    if (!handle->easy) {
        free(handle);
        return NULL;
    }
    return handle;
}

void coffret_curl_free(coffret_curl *handle) {
    curl.cleanup(handle->easy);
    curl.free_list(handle->headers);
    free(handle);
}

void coffret_curl_reset(coffret_curl *handle) {
    curl.reset(handle->easy);
    curl.free_list(handle->headers);
    handle->headers = NULL;
    handle->detail[0] = 0;
}

#define SET(option, value)                                                                                            \
    do {                                                                                                              \
        CURLcode code = curl.setopt(handle->easy, option, value);                                                     \
        if (code != CURLE_OK)                                                                                         \
            return (int)code;                                                                                         \
    } while (0)

int coffret_curl_set_url(coffret_curl *handle, const char *url, int allows_plain) {
    SET(CURLOPT_URL, url);
    SET(CURLOPT_PROTOCOLS_STR, allows_plain ? "https,http" : "https");
    SET(CURLOPT_REDIR_PROTOCOLS_STR, "https");
    SET(CURLOPT_FOLLOWLOCATION, 0L);
    SET(CURLOPT_NOSIGNAL, 1L);
    SET(CURLOPT_SSLVERSION, (long)CURL_SSLVERSION_TLSv1_2);
    SET(CURLOPT_HTTP_VERSION, (long)CURL_HTTP_VERSION_2TLS);
    SET(CURLOPT_ERRORBUFFER, handle->detail);
    return 0;
}

int coffret_curl_set_method(coffret_curl *handle, const char *method) {
    if (strcmp(method, "HEAD") == 0)
        SET(CURLOPT_NOBODY, 1L);
    else
        SET(CURLOPT_CUSTOMREQUEST, method);
    return 0;
}

int coffret_curl_set_header(coffret_curl *handle, const char *line) {
    struct curl_slist *headers = curl.append(handle->headers, line);
    if (!headers)
        return CURLE_OUT_OF_MEMORY;
    handle->headers = headers;
    SET(CURLOPT_HTTPHEADER, headers);
    return 0;
}

int coffret_curl_set_agent(coffret_curl *handle, const char *text) {
    SET(CURLOPT_USERAGENT, text);
    return 0;
}

int coffret_curl_set_pin(coffret_curl *handle, const char *pin) {
    SET(CURLOPT_PINNEDPUBLICKEY, pin);
    return 0;
}

int coffret_curl_set_verifies(coffret_curl *handle, int verifies) {
    SET(CURLOPT_SSL_VERIFYPEER, verifies ? 1L : 0L);
    SET(CURLOPT_SSL_VERIFYHOST, verifies ? 2L : 0L);
    return 0;
}

int coffret_curl_set_authorities(coffret_curl *handle, const char *path) {
    SET(CURLOPT_CAINFO, path);
    SET(CURLOPT_CAPATH, NULL);
    return 0;
}

int coffret_curl_set_proxy(coffret_curl *handle, const char *url) {
    SET(CURLOPT_PROXY, url);
    return 0;
}

int coffret_curl_set_times(coffret_curl *handle, long connect, long whole, long stall) {
    SET(CURLOPT_CONNECTTIMEOUT_MS, connect);
    SET(CURLOPT_TIMEOUT_MS, whole);
    SET(CURLOPT_LOW_SPEED_LIMIT, 1L);
    SET(CURLOPT_LOW_SPEED_TIME, stall);
    return 0;
}

int coffret_curl_set_connect_only(coffret_curl *handle) {
    SET(CURLOPT_CONNECT_ONLY, 1L);
    SET(CURLOPT_HTTP_VERSION, (long)CURL_HTTP_VERSION_1_1);
    SET(CURLOPT_FRESH_CONNECT, 1L);
    /* A proxy is to pass bytes on, whatever the scheme. */
    SET(CURLOPT_HTTPPROXYTUNNEL, 1L);
    return 0;
}

int coffret_curl_set_keeps_certificates(coffret_curl *handle) {
    SET(CURLOPT_CERTINFO, 1L);
    return 0;
}

int coffret_curl_set_take(coffret_curl *handle, coffret_curl_take body, coffret_curl_take header, void *context) {
    SET(CURLOPT_WRITEFUNCTION, body);
    SET(CURLOPT_WRITEDATA, context);
    SET(CURLOPT_HEADERFUNCTION, header);
    SET(CURLOPT_HEADERDATA, context);
    return 0;
}

int coffret_curl_set_give(coffret_curl *handle, coffret_curl_give give, int64_t count, void *context) {
    SET(CURLOPT_UPLOAD, 1L);
    SET(CURLOPT_READFUNCTION, give);
    SET(CURLOPT_READDATA, context);
    SET(CURLOPT_INFILESIZE_LARGE, (curl_off_t)count);
    return 0;
}

int coffret_curl_set_again(coffret_curl *handle, coffret_curl_again again, void *context) {
    SET(CURLOPT_SEEKFUNCTION, again);
    SET(CURLOPT_SEEKDATA, context);
    return 0;
}

int coffret_curl_perform(coffret_curl *handle) { return (int)curl.perform(handle->easy); }

const char *coffret_curl_message(int code) { return curl.message((CURLcode)code); }

const char *coffret_curl_detail(coffret_curl *handle) { return handle->detail; }

long coffret_curl_status(coffret_curl *handle) {
    long status = 0;
    curl.getinfo(handle->easy, CURLINFO_RESPONSE_CODE, &status);
    return status;
}

const char *coffret_curl_certificate(coffret_curl *handle) {
    struct curl_certinfo *info = NULL;
    if (curl.getinfo(handle->easy, CURLINFO_CERTINFO, &info) != CURLE_OK || !info || info->num_of_certs < 1)
        return NULL;
    for (struct curl_slist *item = info->certinfo[0]; item; item = item->next)
        if (strncmp(item->data, "Cert:", 5) == 0)
            return item->data + 5;
    return NULL;
}

int coffret_curl_socket(coffret_curl *handle) {
    curl_socket_t socket = CURL_SOCKET_BAD;
    if (curl.getinfo(handle->easy, CURLINFO_ACTIVESOCKET, &socket) != CURLE_OK || socket == CURL_SOCKET_BAD)
        return -1;
    return (int)socket;
}

static long moved(CURLcode code, size_t count) {
    if (code == CURLE_OK)
        return (long)count;
    return code == CURLE_AGAIN ? -1 : -2;
}

long coffret_curl_send(coffret_curl *handle, const void *bytes, size_t count) {
    size_t sent = 0;
    return moved(curl.send(handle->easy, bytes, count, &sent), sent);
}

long coffret_curl_receive(coffret_curl *handle, void *bytes, size_t count) {
    size_t received = 0;
    return moved(curl.recv(handle->easy, bytes, count, &received), received);
}

/* Whether the peer went away within the TLS handshake; libcurl has one code for that and for a peer without TLS, and
   says which in words: its own of the socket, or OpenSSL's where that found no fault in what came. */
static int went_away(const coffret_curl *handle) {
    static const char *const words[] = {"Recv failure", "Send failure", "SSL_connect: ", "unexpected eof"};
    for (size_t index = 0; index < sizeof words / sizeof *words; index++)
        if (strstr(handle->detail, words[index]))
            return 1;
    return 0;
}

int coffret_curl_class(const coffret_curl *handle, int code) {
    switch ((CURLcode)code) {
    case CURLE_OK:
        return COFFRET_CURL_OK;
    case CURLE_COULDNT_RESOLVE_PROXY:
    case CURLE_COULDNT_RESOLVE_HOST:
    case CURLE_COULDNT_CONNECT:
    case CURLE_PROXY:
        return COFFRET_CURL_CONNECT;
    case CURLE_SSL_CONNECT_ERROR:
        return went_away(handle) ? COFFRET_CURL_BROKEN : COFFRET_CURL_OTHER;
    case CURLE_PARTIAL_FILE:
    case CURLE_GOT_NOTHING:
    case CURLE_SEND_ERROR:
    case CURLE_SEND_FAIL_REWIND:
    case CURLE_RECV_ERROR:
    case CURLE_HTTP2:
    case CURLE_HTTP2_STREAM:
        return COFFRET_CURL_BROKEN;
    case CURLE_PEER_FAILED_VERIFICATION:
    case CURLE_SSL_CACERT_BADFILE:
    case CURLE_SSL_ISSUER_ERROR:
    case CURLE_SSL_INVALIDCERTSTATUS:
        return COFFRET_CURL_CERTIFICATE;
    case CURLE_SSL_PINNEDPUBKEYNOTMATCH:
        return COFFRET_CURL_PIN;
    case CURLE_OPERATION_TIMEDOUT:
        return COFFRET_CURL_TIME;
    case CURLE_WRITE_ERROR:
    case CURLE_READ_ERROR:
    case CURLE_ABORTED_BY_CALLBACK:
        return COFFRET_CURL_ABORTED;
    case CURLE_URL_MALFORMAT:
    case CURLE_UNSUPPORTED_PROTOCOL:
        return COFFRET_CURL_URL;
    default:
        return COFFRET_CURL_OTHER;
    }
}
