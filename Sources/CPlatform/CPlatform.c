#include "CPlatform.h"

#include <fcntl.h>
#include <unistd.h>

int coffret_open(const char *path, int flags, unsigned int mode) {
    return open(path, flags | O_CLOEXEC, mode);
}

int coffret_openat(int directory, const char *path, int flags, unsigned int mode) {
    return openat(directory, path, flags | O_CLOEXEC, mode);
}

int coffret_begin_writing(int descriptor, long offset, long count) {
    return sync_file_range(descriptor, offset, count, SYNC_FILE_RANGE_WRITE);
}
