#include "CICU.h"

#include <dlfcn.h>
#include <limits.h>
#include <pthread.h>
#include <stdio.h>

/* ICU's C functions of uspoof.h, which are stable. Their names end in the library's version. */
typedef struct USpoofChecker USpoofChecker;
typedef int UErrorCode;
enum { restriction_level_check = 16, highly_restrictive = 0x30000000, version_first = 60, version_last = 99 };

static struct {
    USpoofChecker *(*open)(UErrorCode *);
    int32_t (*skeleton)(const USpoofChecker *, uint32_t, const char *, int32_t, char *, int32_t, UErrorCode *);
    void (*set_checks)(USpoofChecker *, int32_t, UErrorCode *);
    void (*set_level)(USpoofChecker *, int);
    int32_t (*check)(const USpoofChecker *, const char *, int32_t, int32_t *, UErrorCode *);
} icu;

/* Never changed after loading, so that threads may share it. */
static USpoofChecker *checker;

static void *function(void *library, const char *name, int version) {
    char full[64];
    snprintf(full, sizeof full, "%s_%d", name, version);
    return dlsym(library, full);
}

static void load(void) {
    void *library = NULL;
    int version = version_last;
    for (; version >= version_first && !library; version--) {
        char name[32];
        snprintf(name, sizeof name, "libicui18n.so.%d", version);
        library = dlopen(name, RTLD_NOW | RTLD_LOCAL);
    }
    if (!library)
        return;
    version++;
#define LOAD(field, name)                                                                                             \
    *(void **)&icu.field = function(library, name, version);                                                          \
    if (!icu.field)                                                                                                   \
        return;
    LOAD(open, "uspoof_open")
    LOAD(skeleton, "uspoof_getSkeletonUTF8")
    LOAD(set_checks, "uspoof_setChecks")
    LOAD(set_level, "uspoof_setRestrictionLevel")
    LOAD(check, "uspoof_checkUTF8")
#undef LOAD
    UErrorCode error = 0;
    USpoofChecker *opened = icu.open(&error);
    if (error > 0 || !opened)
        return;
    icu.set_checks(opened, restriction_level_check, &error);
    icu.set_level(opened, highly_restrictive);
    if (error <= 0)
        checker = opened;
}

static int is_ready(size_t byte_count) {
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, load);
    return checker && byte_count <= INT_MAX;
}

ptrdiff_t coffret_icu_skeleton(const char *text, size_t byte_count, char *skeleton, size_t capacity) {
    if (!is_ready(byte_count) || capacity > INT_MAX)
        return -1;
    UErrorCode error = 0;
    int32_t count = icu.skeleton(checker, 0, text, (int32_t)byte_count, skeleton, (int32_t)capacity, &error);
    return error > 0 || count > (int32_t)capacity ? -1 : count;
}

int coffret_icu_mixes_scripts(const char *text, size_t byte_count) {
    if (!is_ready(byte_count))
        return -1;
    UErrorCode error = 0;
    int32_t found = icu.check(checker, text, (int32_t)byte_count, NULL, &error);
    return error > 0 ? -1 : (found & restriction_level_check) != 0;
}
