#include "CPlatform.h"

#include <fcntl.h>
#include <unistd.h>

int coffret_open(const char *path, int flags, unsigned int mode) {
    return open(path, flags | O_CLOEXEC, mode);
}

int coffret_openat(int directory, const char *path, int flags, unsigned int mode) {
    return openat(directory, path, flags | O_CLOEXEC, mode);
}

int coffret_syncfs(int descriptor) {
    return syncfs(descriptor);
}
