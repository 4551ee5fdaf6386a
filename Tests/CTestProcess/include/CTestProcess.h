// Starting programs with GNU's additions to posix_spawn, which Swift does not import.
#pragma once
#include <sys/types.h>

/// A pipe whose ends no child inherits by accident; returns 0, or -1 with errno.
int coffret_test_pipe(int ends[2]);

/// Starts `path` in `directory` (where we are when NULL) with `descriptors` as its standard ones, -1 for /dev/null,
/// and with nothing else: no other descriptor, no held back or ignored signal. Returns 0, or an error number.
int coffret_test_spawn(
    pid_t *process, const char *path, char *const words[], char *const variables[], const char *directory,
    const int descriptors[3]);
