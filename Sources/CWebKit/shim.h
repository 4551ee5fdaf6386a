#ifndef COFFRET_WEBKIT_H
#define COFFRET_WEBKIT_H

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>
#include <webkit/webkit.h>

static inline int coffret_write_file(const char *path, const char *text) {
    const size_t length = strlen(text);
    const int file = open(path, O_WRONLY | O_CLOEXEC);
    if (file < 0) return -1;
    const ssize_t count = write(file, text, length);
    close(file);
    return count == (ssize_t)length ? 0 : -1;
}

static inline int coffret_enter_empty_network(void) {
    const long new_user = 0x10000000, new_network = 0x40000000;
    char users[64], groups[64];
    snprintf(users, sizeof users, "%u %u 1", geteuid(), geteuid());
    snprintf(groups, sizeof groups, "%u %u 1", getegid(), getegid());
    if (syscall(SYS_unshare, new_user | new_network) != 0) return -1;
    /* The files below /proc/self belong to root while a process may not be dumped. */
    prctl(PR_SET_DUMPABLE, 1, 0, 0, 0);
    const int failed = coffret_write_file("/proc/self/setgroups", "deny")
        || coffret_write_file("/proc/self/uid_map", users) || coffret_write_file("/proc/self/gid_map", groups);
    prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
    return failed ? -1 : 0;
}

/* Puts this process, while it has one thread, into a network of its own, which leads nowhere; its user stays who it is.
   Another process tries it first, because half a step cannot be taken back.
   Returns 0, or -1 where the system does not allow it and nothing was changed. */
static inline int coffret_leave_network(void) {
    const pid_t child = fork();
    int status = 0;
    if (child < 0) return -1;
    if (child == 0) _exit(coffret_enter_empty_network() == 0 ? 0 : 1);
    if (waitpid(child, &status, 0) != child || status != 0) return -1;
    return coffret_enter_empty_network();
}

#endif
