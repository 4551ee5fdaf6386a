/* libcurl, loaded when it is first needed: a program that never goes to the network must not pay for its 36 shared
   objects at start. Typed shims, because curl_easy_setopt and curl_easy_getinfo are variadic. No logic lives here. */
#ifndef COFFRET_CCURL_H
#define COFFRET_CCURL_H

#include <stddef.h>
#include <stdint.h>

/* Loads the library; 0, or -1 if it is not there or too old. May be called often, from one thread at a time. */
int coffret_curl_load(void);

typedef struct coffret_curl coffret_curl;

/* NULL without memory. The handle is used by one thread at a time. */
coffret_curl *coffret_curl_new(void);
void coffret_curl_free(coffret_curl *handle);
/* Forgets all options and keeps connections. */
void coffret_curl_reset(coffret_curl *handle);

/* Options that a request needs, each 0 or a CURLcode. */
int coffret_curl_set_url(coffret_curl *handle, const char *url, int allows_plain);
int coffret_curl_set_method(coffret_curl *handle, const char *method);
int coffret_curl_set_header(coffret_curl *handle, const char *line);
int coffret_curl_set_agent(coffret_curl *handle, const char *text);
/* "sha256//" and base64; checked beside, or instead of, certificates. */
int coffret_curl_set_pin(coffret_curl *handle, const char *pin);
/* Whether certificates and host names are checked; off only together with a pin, or to look at a certificate. */
int coffret_curl_set_verifies(coffret_curl *handle, int verifies);
int coffret_curl_set_authorities(coffret_curl *handle, const char *path);
int coffret_curl_set_proxy(coffret_curl *handle, const char *url);
/* Milliseconds; 0 means no limit in whole. Below one byte per second for `stall` seconds the transfer ends. */
int coffret_curl_set_times(coffret_curl *handle, long connect, long whole, long stall);
/* The connection is made and left to send and receive; HTTP/1.1. */
int coffret_curl_set_connect_only(coffret_curl *handle);
/* The peer's certificates are kept for coffret_curl_certificate. */
int coffret_curl_set_keeps_certificates(coffret_curl *handle);

/* Bodies. Each returns how much it took or gave; another number than was offered ends the transfer. */
typedef size_t (*coffret_curl_take)(char *bytes, size_t size, size_t count, void *context);
typedef size_t (*coffret_curl_give)(char *bytes, size_t size, size_t count, void *context);
int coffret_curl_set_take(coffret_curl *handle, coffret_curl_take body, coffret_curl_take header, void *context);
/* `count` bytes in all, or -1 if that is not known. */
int coffret_curl_set_give(coffret_curl *handle, coffret_curl_give give, int64_t count, void *context);
/* Called before the body is given once more, on another connection; 0 if it begins anew, 2 if it cannot. */
typedef int (*coffret_curl_again)(void *context, int64_t offset, int origin);
int coffret_curl_set_again(coffret_curl *handle, coffret_curl_again again, void *context);

/* 0 or a CURLcode. */
int coffret_curl_perform(coffret_curl *handle);
const char *coffret_curl_message(int code);
/* More about the last failure, or "". */
const char *coffret_curl_detail(coffret_curl *handle);
long coffret_curl_status(coffret_curl *handle);
/* The peer's own certificate in PEM, or NULL; valid until the next transfer. */
const char *coffret_curl_certificate(coffret_curl *handle);

/* On a connection that was only made. The socket, or -1. */
int coffret_curl_socket(coffret_curl *handle);
/* Bytes sent or received; 0 at the end of input, -1 if it would block, -2 on failure. */
long coffret_curl_send(coffret_curl *handle, const void *bytes, size_t count);
long coffret_curl_receive(coffret_curl *handle, void *bytes, size_t count);

/* What the program tells apart. */
enum {
    COFFRET_CURL_OK = 0,
    COFFRET_CURL_CONNECT = 1,
    COFFRET_CURL_CERTIFICATE = 2,
    COFFRET_CURL_PIN = 3,
    COFFRET_CURL_TIME = 4,
    COFFRET_CURL_ABORTED = 5,
    COFFRET_CURL_URL = 6,
    COFFRET_CURL_OTHER = 7,
    /* A connection that there was ended before the answer was whole. */
    COFFRET_CURL_BROKEN = 8,
};
/* Of the last failure of the handle. */
int coffret_curl_class(const coffret_curl *handle, int code);

#endif
