#include "CPlatform.h"

#include <fcntl.h>
#include <locale.h>
#include <pthread.h>
#include <unistd.h>
#include <wchar.h>

int coffret_open(const char *path, int flags, unsigned int mode) {
    return open(path, flags | O_CLOEXEC, mode);
}

int coffret_openat(int directory, const char *path, int flags, unsigned int mode) {
    return openat(directory, path, flags | O_CLOEXEC, mode);
}

int coffret_begin_writing(int descriptor, long offset, long count) {
    return sync_file_range(descriptor, offset, count, SYNC_FILE_RANGE_WRITE);
}

static locale_t utf8_locale;

static void make_utf8_locale(void) { utf8_locale = newlocale(LC_CTYPE_MASK, "C.UTF-8", (locale_t)0); }

int coffret_column_count(unsigned int character) {
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, make_utf8_locale);
    if (!utf8_locale) return 1;
    locale_t before = uselocale(utf8_locale);
    int count = wcwidth((wchar_t)character);
    uselocale(before);
    return count < 0 ? 1 : count;
}
