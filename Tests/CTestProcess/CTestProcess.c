// GNU's additions to posix_spawn for the tests. The one thing to keep true: a child gets its three descriptors only.
#include "CTestProcess.h"

#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <unistd.h>

int coffret_test_pipe(int ends[2]) { return pipe2(ends, O_CLOEXEC); }

int coffret_test_spawn(
    pid_t *process, const char *path, char *const words[], char *const variables[], const char *directory,
    const int descriptors[3]) {
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attributes;
    sigset_t none, all;
    sigemptyset(&none);
    sigfillset(&all);
    posix_spawn_file_actions_init(&actions);
    posix_spawnattr_init(&attributes);
    int failure = posix_spawnattr_setsigmask(&attributes, &none);
    if (!failure) failure = posix_spawnattr_setsigdefault(&attributes, &all);
    if (!failure) failure = posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
    for (int number = 0; number < 3 && !failure; number++) {
        failure = descriptors[number] < 0
            ? posix_spawn_file_actions_addopen(&actions, number, "/dev/null", O_RDWR, 0)
            : posix_spawn_file_actions_adddup2(&actions, descriptors[number], number);
    }
    if (!failure && directory) failure = posix_spawn_file_actions_addchdir_np(&actions, directory);
    if (!failure) failure = posix_spawn_file_actions_addclosefrom_np(&actions, 3);
    if (!failure) failure = posix_spawn(process, path, &actions, &attributes, words, variables ? variables : environ);
    posix_spawnattr_destroy(&attributes);
    posix_spawn_file_actions_destroy(&actions);
    return failure;
}
