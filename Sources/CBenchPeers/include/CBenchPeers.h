/* Loops over the C libraries, so that the Swift layer can be compared with calls from C in one process. */
#ifndef COFFRET_BENCH_PEERS_H
#define COFFRET_BENCH_PEERS_H

#include <stddef.h>

/* Each runs `count` times over one message of `length` bytes and returns 0, or -1 on failure.
   `out` holds at least length + 64 bytes. */
int bench_secretbox(unsigned char *out, const unsigned char *message, size_t length, size_t count,
                    const unsigned char key[32]);
int bench_xchacha20poly1305(unsigned char *out, const unsigned char *message, size_t length, size_t count,
                            const unsigned char key[32]);
int bench_blake2b(unsigned char *out, const unsigned char *message, size_t length, size_t count);
int bench_aes256gcm(unsigned char *out, const unsigned char *message, size_t length, size_t count,
                    const unsigned char key[32]);

#endif
