/* The only C of Coffret: system calls that Swift's importer cannot see, because they are
   variadic, macros, or newer than the C library's headers. No logic lives here. */
#ifndef COFFRET_CPLATFORM_H
#define COFFRET_CPLATFORM_H

#include "CoffretOnDemand.h"
#include "CoffretPoll.h"
#include "CoffretProcess.h"
#include "CoffretSocket.h"
#include "CoffretTraces.h"
#include "CoffretWatch.h"

/* No system header is included here, so that Swift sees their types through Glibc alone. */

/* open(2) and openat(2) are variadic; both always set O_CLOEXEC. Return -1 and errno on failure. */
int coffret_open(const char *path, int flags, unsigned int mode);
int coffret_openat(int directory, const char *path, int flags, unsigned int mode);


/* Begins to write a range of a file to the disk, by sync_file_range(2), which needs _GNU_SOURCE and promises nothing. */
int coffret_begin_writing(int descriptor, long offset, long count);

/* Terminal columns of a character, 0 to 2, by wcwidth(3) in the locale C.UTF-8, which every Debian has. 1 for characters
   that the C library does not know, and for all where the locale is missing. */
int coffret_column_count(unsigned int character);

#endif
