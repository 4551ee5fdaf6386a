// Starting programs, and looking into them, by calls that Swift does not import.
#pragma once
#include <sys/types.h>

/// A pipe whose ends no child inherits by accident; returns 0, or -1 with errno.
int coffret_test_pipe(int ends[2]);

/// Starts `path` in `directory` (where we are when NULL) with `descriptors` as its standard ones, -1 for /dev/null,
/// and with nothing else: no other descriptor, no held back or ignored signal. Returns 0, or an error number.
int coffret_test_spawn(
    pid_t *process, const char *path, char *const words[], char *const variables[], const char *directory,
    const int descriptors[3]);

/// The same in a session of its own, whose terminal is the one of that name: it is all three standard descriptors.
int coffret_test_spawn_on_terminal(
    pid_t *process, const char *path, char *const words[], char *const variables[], const char *directory,
    const char *terminal);

/// Whether `needle` stands somewhere in `bytes`.
int coffret_test_contains(const void *bytes, size_t count, const void *needle, size_t needle_count);

/// Lets a running process of one thread join the time namespace of `other`, as a debugger would: from its next
/// instruction on, its clocks that count sleep are the other's. Returns 0, or an error number; ENOSYS on machines
/// other than x86-64, EAGAIN while the process is not waiting for anything.
int coffret_test_join_time(pid_t process, pid_t other);
