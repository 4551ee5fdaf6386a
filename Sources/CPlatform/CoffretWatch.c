/* See CoffretWatch.h. */
#include "CoffretWatch.h"

#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/socket.h>
#include <unistd.h>

int coffret_watch_create(void) { return inotify_init1(IN_CLOEXEC | IN_NONBLOCK); }

int coffret_watch_folder(int watch, const char *path)
{
    return inotify_add_watch(
        watch, path, IN_MODIFY | IN_CREATE | IN_MOVED_TO | IN_DELETE | IN_DELETE_SELF | IN_MOVE_SELF | IN_ONLYDIR);
}

int coffret_watch_closing(int watch, const char *path) { return inotify_add_watch(watch, path, IN_CLOSE_WRITE); }

int coffret_watch_take(int watch, int *folders, int capacity)
{
    /* Room for at least one event with the longest name. */
    char buffer[4096] __attribute__((aligned(__alignof__(struct inotify_event))));
    ssize_t count = read(watch, buffer, sizeof buffer);
    int filled = 0;
    for (ssize_t offset = 0; offset + (ssize_t)sizeof(struct inotify_event) <= count && filled < capacity;) {
        struct inotify_event event;
        memcpy(&event, buffer + offset, sizeof event);
        folders[filled++] = event.wd;
        offset += (ssize_t)sizeof event + event.len;
    }
    return filled;
}

int coffret_network_watch(void)
{
    int descriptor = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC | SOCK_NONBLOCK, NETLINK_ROUTE);
    if (descriptor < 0)
        return -1;
    struct sockaddr_nl address = {.nl_family = AF_NETLINK, .nl_groups = RTMGRP_IPV4_IFADDR | RTMGRP_IPV6_IFADDR};
    if (bind(descriptor, (struct sockaddr *)&address, sizeof address) == 0)
        return descriptor;
    close(descriptor);
    return -1;
}

int coffret_network_take(int watch)
{
    char buffer[4096];
    int found = 0;
    while (recv(watch, buffer, sizeof buffer, MSG_DONTWAIT) > 0)
        found = 1;
    return found;
}
