#include "CPlatform.h"

int coffret_open(const char *path, int flags, mode_t mode) {
    return open(path, flags | O_CLOEXEC, mode);
}

int coffret_openat(int directory, const char *path, int flags, mode_t mode) {
    return openat(directory, path, flags | O_CLOEXEC, mode);
}
