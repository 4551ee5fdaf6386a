#include "CoffretProcess.h"

#include <errno.h>
#include <linux/magic.h>
#include <linux/memfd.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>
#include <sys/vfs.h>
#include <time.h>
#include <unistd.h>
#ifdef __GLIBC__
#include <malloc.h>
#endif

int coffret_disable_dumping(void) {
    return prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
}

int coffret_signal_descriptor(const int *signals, int count) {
    sigset_t mask;
    sigemptyset(&mask);
    for (int index = 0; index < count; index++) {
        sigaddset(&mask, signals[index]);
    }
    return signalfd(-1, &mask, SFD_CLOEXEC | SFD_NONBLOCK);
}

int coffret_next_signal(int descriptor) {
    int is_from_kernel;
    return coffret_take_signal(descriptor, &is_from_kernel);
}

int coffret_take_signal(int descriptor, int *is_from_kernel) {
    struct signalfd_siginfo information;
    ssize_t count;
    do {
        count = read(descriptor, &information, sizeof information);
    } while (count < 0 && errno == EINTR);
    if (count == (ssize_t)sizeof information) {
        *is_from_kernel = information.ssi_code == SI_KERNEL;
        return (int)information.ssi_signo;
    }
    return count < 0 && errno == EAGAIN ? 0 : -1;
}

int coffret_is_in_memory(int descriptor) {
    struct statfs information;
    if (fstatfs(descriptor, &information) != 0) {
        return -1;
    }
    return information.f_type == TMPFS_MAGIC || information.f_type == RAMFS_MAGIC;
}

int coffret_is_default_signal(int signal) {
    struct sigaction action;
    return sigaction(signal, (void *)0, &action) == 0 && action.sa_handler == SIG_DFL;
}

static volatile sig_atomic_t interrupted = 0;

static void note_interrupt(int signal) { interrupted = signal; }

void coffret_heed_interrupts(void) {
    static const int signals[] = {SIGINT, SIGTERM};
    for (unsigned index = 0; index < 2; index++) {
        struct sigaction action;
        if (sigaction(signals[index], (void *)0, &action) != 0 || action.sa_handler != SIG_DFL) {
            continue;
        }
        action.sa_handler = note_interrupt;
        action.sa_flags = SA_RESTART | (int)SA_RESETHAND;
        sigemptyset(&action.sa_mask);
        sigaction(signals[index], &action, (void *)0);
    }
}

void coffret_stop_heeding_interrupts(void) {
    static const int signals[] = {SIGINT, SIGTERM};
    for (unsigned index = 0; index < 2; index++) {
        struct sigaction action;
        if (sigaction(signals[index], (void *)0, &action) == 0 && action.sa_handler == note_interrupt) {
            action.sa_handler = SIG_DFL;
            sigaction(signals[index], &action, (void *)0);
        }
    }
}

int coffret_was_interrupted(void) { return interrupted; }

int coffret_fork(void) {
    return fork();
}

int coffret_close_from(unsigned int first) {
    return (int)syscall(SYS_close_range, first, ~0U, 0);
}

int coffret_die_with_parent(int signal) {
    return prctl(PR_SET_PDEATHSIG, signal, 0, 0, 0);
}

unsigned long long coffret_boot_nanoseconds(void) {
    struct timespec time = {0, 0};
    syscall(SYS_clock_gettime, CLOCK_BOOTTIME, &time);
    return (unsigned long long)time.tv_sec * 1000000000ULL + (unsigned long long)time.tv_nsec;
}

int coffret_memory_file(void) { return (int)syscall(SYS_memfd_create, "coffret", MFD_CLOEXEC); }

int coffret_boot_timer(void) {
    return (int)syscall(SYS_timerfd_create, CLOCK_BOOTTIME, TFD_CLOEXEC | TFD_NONBLOCK);
}

int coffret_set_boot_timer(int timer, unsigned long long nanoseconds) {
    struct itimerspec moment = {
        .it_value = {.tv_sec = (time_t)(nanoseconds / 1000000000ULL), .tv_nsec = (long)(nanoseconds % 1000000000ULL)}};
    return (int)syscall(SYS_timerfd_settime, timer, TFD_TIMER_ABSTIME, &moment, (void *)0);
}

static int argument_count;
static char **arguments;

/* The C library hands every constructor what it hands main. */
__attribute__((constructor)) static void keep_arguments(int count, char **values)
{
    argument_count = count;
    arguments = values;
}

int coffret_argument_count(void)
{
    return argument_count;
}

const char *coffret_argument(int index)
{
    return arguments[index];
}

void coffret_return_free_memory(void) {
#ifdef __GLIBC__
    malloc_trim(0);
#endif
}
