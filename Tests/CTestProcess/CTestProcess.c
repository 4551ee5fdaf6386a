// GNU's additions to posix_spawn, and ptrace, for the tests. The one thing to keep true: a child gets its three
// descriptors only.
#include "CTestProcess.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>

int coffret_test_pipe(int ends[2]) { return pipe2(ends, O_CLOEXEC); }

static int spawn(
    pid_t *process, const char *path, char *const words[], char *const variables[], const char *directory,
    const int descriptors[3], const char *terminal) {
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attributes;
    sigset_t none, all;
    sigemptyset(&none);
    sigfillset(&all);
    posix_spawn_file_actions_init(&actions);
    posix_spawnattr_init(&attributes);
    int failure = posix_spawnattr_setsigmask(&attributes, &none);
    if (!failure) failure = posix_spawnattr_setsigdefault(&attributes, &all);
    short flags = POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF | (terminal ? POSIX_SPAWN_SETSID : 0);
    if (!failure) failure = posix_spawnattr_setflags(&attributes, flags);
    // The first terminal that a session leader opens becomes its controlling terminal.
    if (!failure && terminal) failure = posix_spawn_file_actions_addopen(&actions, 0, terminal, O_RDWR, 0);
    for (int number = terminal ? 1 : 0; number < 3 && !failure; number++) {
        failure = terminal ? posix_spawn_file_actions_adddup2(&actions, 0, number)
            : descriptors[number] < 0
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

int coffret_test_spawn(
    pid_t *process, const char *path, char *const words[], char *const variables[], const char *directory,
    const int descriptors[3]) {
    return spawn(process, path, words, variables, directory, descriptors, NULL);
}

int coffret_test_spawn_on_terminal(
    pid_t *process, const char *path, char *const words[], char *const variables[], const char *directory,
    const char *terminal) {
    return spawn(process, path, words, variables, directory, NULL, terminal);
}

int coffret_test_contains(const void *bytes, size_t count, const void *needle, size_t needle_count) {
    return memmem(bytes, count, needle, needle_count) != NULL;
}

#if defined(__x86_64__)
static int wait_for_stop(pid_t process) {
    int status = 0;
    while (waitpid(process, &status, __WALL) < 0) {
        if (errno != EINTR) return -1;
    }
    return WIFSTOPPED(status) ? 0 : -1;
}

// One system call of the stopped process, whose instruction is the one before `now`.
static long call(pid_t process, struct user_regs_struct now, long number, long first, long second) {
    now.rip -= 2;
    now.rax = (unsigned long long)number;
    now.orig_rax = (unsigned long long)-1;
    now.rdi = (unsigned long long)first;
    now.rsi = (unsigned long long)second;
    if (ptrace(PTRACE_SETREGS, process, NULL, &now) || ptrace(PTRACE_SINGLESTEP, process, NULL, NULL)) return -errno;
    if (wait_for_stop(process) || ptrace(PTRACE_GETREGS, process, NULL, &now)) return -ESRCH;
    return (long)now.rax;
}

int coffret_test_join_time(pid_t process, pid_t other) {
    enum { time_namespace = 0x80 };
    struct user_regs_struct before;
    if (ptrace(PTRACE_ATTACH, process, NULL, NULL)) return errno;
    long result = -ESRCH;
    if (!wait_for_stop(process) && !ptrace(PTRACE_GETREGS, process, NULL, &before)) {
        long instruction = ptrace(PTRACE_PEEKTEXT, process, (void *)(before.rip - 2), NULL) & 0xFFFF;
        // A wait was interrupted, by the kernel's own numbers (ERESTARTSYS, ERESTARTNOHAND, ERESTART_RESTARTBLOCK). A call
        // that has ended keeps its result, and a fork, which says ERESTARTNOINTR, would fail by what follows.
        long long outcome = (long long)before.rax;
        int waits = (long long)before.orig_rax >= 0 && (outcome == -512 || outcome == -514 || outcome == -516);
        if (!waits || instruction != 0x050F) {
            result = -EAGAIN;
        } else {
            result = call(process, before, SYS_pidfd_open, other, 0);
            if (result >= 0) {
                long descriptor = result;
                result = call(process, before, SYS_setns, descriptor, time_namespace);
                call(process, before, SYS_close, descriptor, 0);
            }
            before.rax = (unsigned long long)-EINTR;
            before.orig_rax = (unsigned long long)-1;
            ptrace(PTRACE_SETREGS, process, NULL, &before);
        }
    }
    ptrace(PTRACE_DETACH, process, NULL, NULL);
    return result < 0 ? (int)-result : 0;
}
#else
int coffret_test_join_time(pid_t process, pid_t other) { return ENOSYS; }
#endif
