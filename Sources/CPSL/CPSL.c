#include "CPSL.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stddef.h>

typedef struct psl_ctx_st list;

static const list *loaded;
static int (*is_acceptable)(const list *, const char *, const char *);

static void load(void) {
    void *library = dlopen("libpsl.so.5", RTLD_NOW | RTLD_LOCAL);
    if (!library)
        return;
    list *(*latest)(const char *);
    *(void **)&latest = dlsym(library, "psl_latest");
    *(void **)&is_acceptable = dlsym(library, "psl_is_cookie_domain_acceptable");
    /* The newer of the library's own list and the system's. */
    if (latest && is_acceptable)
        loaded = latest(NULL);
}

int coffret_psl_covers(const char *domain, const char *host) {
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, load);
    return loaded ? is_acceptable(loaded, host, domain) != 0 : -1;
}
