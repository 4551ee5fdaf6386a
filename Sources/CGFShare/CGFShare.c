#include "CGFShare.h"

#include <dlfcn.h>
#include <pthread.h>
#include <string.h>

/* By the documented interface of libgfshare 2 (soname 2). */
typedef struct _gfshare_ctx gfshare_ctx;
typedef void (*fill_function)(unsigned char *, unsigned int);

static struct {
    gfshare_ctx *(*init_enc)(unsigned char *, unsigned int, unsigned char, unsigned int);
    gfshare_ctx *(*init_dec)(unsigned char *, unsigned int, unsigned int);
    void (*free)(gfshare_ctx *);
    void (*setsecret)(gfshare_ctx *, unsigned char *);
    void (*getshare)(gfshare_ctx *, unsigned char, unsigned char *);
    void (*giveshare)(gfshare_ctx *, unsigned char, unsigned char *);
    void (*extract)(gfshare_ctx *, unsigned char *);
} gfshare;

static int is_loaded;
static _Thread_local const uint8_t *drawn;

/* The library asks for random bytes twice: for the coefficients, which the caller drew, and to overwrite what it frees. */
static void fill(unsigned char *target, unsigned int count) {
    if (drawn) {
        memcpy(target, drawn, count);
        drawn = NULL;
    } else {
        memset(target, 0, count);
    }
}

static void load(void) {
    void *library = dlopen("libgfshare.so.2", RTLD_NOW | RTLD_LOCAL);
    if (!library)
        return;
#define LOAD(field, name)                                                                                             \
    *(void **)&gfshare.field = dlsym(library, name);                                                                  \
    if (!gfshare.field)                                                                                               \
        return;
    LOAD(init_enc, "gfshare_ctx_init_enc")
    LOAD(init_dec, "gfshare_ctx_init_dec")
    LOAD(free, "gfshare_ctx_free")
    LOAD(setsecret, "gfshare_ctx_enc_setsecret")
    LOAD(getshare, "gfshare_ctx_enc_getshare")
    LOAD(giveshare, "gfshare_ctx_dec_giveshare")
    LOAD(extract, "gfshare_ctx_dec_extract")
#undef LOAD
    fill_function *source = dlsym(library, "gfshare_fill_rand");
    if (!source)
        return;
    *source = fill;
    is_loaded = 1;
}

static int is_available(void) {
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, load);
    return is_loaded;
}

enum coffret_gfshare_result coffret_gfshare_split(
    const uint8_t *secret, size_t byte_count, unsigned threshold, unsigned count, const uint8_t *coefficients,
    uint8_t *shares) {
    if (!is_available())
        return COFFRET_GFSHARE_UNAVAILABLE;
    unsigned char numbers[255];
    for (unsigned index = 0; index < count; index++)
        numbers[index] = (unsigned char)(index + 1);
    gfshare_ctx *context = gfshare.init_enc(numbers, count, (unsigned char)threshold, (unsigned)byte_count);
    if (!context)
        return COFFRET_GFSHARE_FAILED;
    drawn = coefficients;
    gfshare.setsecret(context, (unsigned char *)secret);
    drawn = NULL;
    for (unsigned index = 0; index < count; index++)
        gfshare.getshare(context, (unsigned char)index, shares + index * byte_count);
    gfshare.free(context);
    return COFFRET_GFSHARE_DONE;
}

enum coffret_gfshare_result coffret_gfshare_join(
    const uint8_t *numbers, unsigned count, const uint8_t *shares, size_t byte_count, uint8_t *secret) {
    if (!is_available())
        return COFFRET_GFSHARE_UNAVAILABLE;
    gfshare_ctx *context = gfshare.init_dec((unsigned char *)numbers, count, (unsigned)byte_count);
    if (!context)
        return COFFRET_GFSHARE_FAILED;
    for (unsigned index = 0; index < count; index++)
        gfshare.giveshare(context, (unsigned char)index, (unsigned char *)shares + index * byte_count);
    gfshare.extract(context, secret);
    gfshare.free(context);
    return COFFRET_GFSHARE_DONE;
}
