/* See CoffretPoll.h. */
#include "CoffretPoll.h"

#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>

#define BATCH 256

int coffret_poll_create(void) { return epoll_create1(EPOLL_CLOEXEC); }

int coffret_poll_set(int poll, int descriptor, int interests, int is_new)
{
    struct epoll_event event = {0};
    if (interests & COFFRET_POLL_READ)
        event.events |= EPOLLIN;
    if (interests & COFFRET_POLL_WRITE)
        event.events |= EPOLLOUT;
    if (interests & COFFRET_POLL_GONE)
        event.events |= EPOLLRDHUP;
    event.data.fd = descriptor;
    return epoll_ctl(poll, is_new ? EPOLL_CTL_ADD : EPOLL_CTL_MOD, descriptor, &event);
}

int coffret_poll_remove(int poll, int descriptor) { return epoll_ctl(poll, EPOLL_CTL_DEL, descriptor, NULL); }

int coffret_poll_wait(int poll, int *descriptors, int *ready, int capacity, int timeout_milliseconds)
{
    struct epoll_event events[BATCH];
    int count = epoll_wait(poll, events, capacity < BATCH ? capacity : BATCH, timeout_milliseconds);
    for (int index = 0; index < count; index++) {
        descriptors[index] = events[index].data.fd;
        ready[index] = (events[index].events & EPOLLIN ? COFFRET_POLL_READ : 0)
            | (events[index].events & EPOLLOUT ? COFFRET_POLL_WRITE : 0)
            | (events[index].events & (EPOLLHUP | EPOLLERR | EPOLLRDHUP) ? COFFRET_POLL_GONE : 0);
    }
    return count;
}

int coffret_wake_descriptor(void) { return eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC); }

int coffret_set_nonblocking(int descriptor)
{
    int flags = fcntl(descriptor, F_GETFL);
    return flags < 0 ? -1 : fcntl(descriptor, F_SETFL, flags | O_NONBLOCK);
}
