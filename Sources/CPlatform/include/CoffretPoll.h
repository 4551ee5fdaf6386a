/* Waiting for many sockets: epoll and eventfd are not part of Swift's view of the C library. */
#ifndef COFFRET_POLL_H
#define COFFRET_POLL_H

#define COFFRET_POLL_READ 1
#define COFFRET_POLL_WRITE 2
/* The other side is gone: an error or both ways always, its end of sending alone if it is asked for. */
#define COFFRET_POLL_GONE 4

/* A new epoll descriptor, close-on-exec; -1 and errno on failure. */
int coffret_poll_create(void);
/* Adds a descriptor or changes what it is watched for. Returns -1 and errno on failure. */
int coffret_poll_set(int poll, int descriptor, int interests, int is_new);
int coffret_poll_remove(int poll, int descriptor);
/* Waits; fills descriptors and what they are ready for. Returns their number, or -1 and errno. */
int coffret_poll_wait(int poll, int *descriptors, int *ready, int capacity, int timeout_milliseconds);

/* A non-blocking eventfd, close-on-exec. */
int coffret_wake_descriptor(void);
/* Makes a descriptor non-blocking. Returns -1 and errno on failure. */
int coffret_set_nonblocking(int descriptor);

#endif
