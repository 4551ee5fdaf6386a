/* Unix sockets: the control-message macros are invisible to Swift. */
#ifndef COFFRET_SOCKET_H
#define COFFRET_SOCKET_H

#define COFFRET_DESCRIPTORS_MAX 4

/* Descriptors beside bytes; `count` is at most COFFRET_DESCRIPTORS_MAX. Return the bytes sent or received, 0 at
   the end, or -1 and errno. A receiver gets close-on-exec descriptors; more than fit are closed, with EMSGSIZE.
   Without `waits` they fail with EAGAIN where they would have to wait. */
long coffret_send_descriptors(
    int socket, const void *bytes, unsigned long length, const int *descriptors, int count, int waits);
long coffret_receive_descriptors(
    int socket, void *bytes, unsigned long length, int *descriptors, int *count, int waits);

/* Two connected sockets that keep messages apart, close-on-exec. */
int coffret_message_pair(int *ends);

/* accept4(2) with close-on-exec, which needs _GNU_SOURCE. Returns -1 and errno on failure. */
int coffret_accept(int socket);

/* Who is at the other end of a connected socket, as the kernel saw it when it was connected. */
int coffret_peer_credentials(int socket, int *process, unsigned int *user, unsigned int *group);

#endif
