/* The only C of Coffret: system calls that Swift's importer cannot see, because they are
   variadic, macros, or newer than the C library's headers. No logic lives here. */
#ifndef COFFRET_CPLATFORM_H
#define COFFRET_CPLATFORM_H

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/types.h>

/* open(2) and openat(2) are variadic; both always set O_CLOEXEC. Return -1 and errno on failure. */
int coffret_open(const char *path, int flags, mode_t mode);
int coffret_openat(int directory, const char *path, int flags, mode_t mode);

#endif
