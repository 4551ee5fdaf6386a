/* What other programs' files need and libsodium and OpenSSL 3.0 do not have: Argon2 with lanes and in its variant d, and
   Twofish. Both by libgcrypt, which is loaded when the first such file is opened. */
#ifndef COFFRET_CGCRYPT_H
#define COFFRET_CGCRYPT_H

#include <stddef.h>
#include <stdint.h>

enum coffret_gcrypt_result {
    COFFRET_GCRYPT_DONE = 0,
    /* libgcrypt is not installed, or older than 1.10. */
    COFFRET_GCRYPT_UNAVAILABLE = 1,
    /* A parameter that it does not take, or too little memory. */
    COFFRET_GCRYPT_FAILED = 2,
};

/* variant: 0 for d, 2 for id. Version 0x13. */
enum coffret_gcrypt_result coffret_argon2(
    int variant, unsigned long pass_count, unsigned long memory_kibibytes, unsigned long lane_count,
    const uint8_t *password, size_t password_count, const uint8_t *salt, size_t salt_count, uint8_t *output,
    size_t output_count);

/* Decrypts in cipher block chaining with a key of 32 bytes; byte_count is a multiple of 16. Padding stays. */
enum coffret_gcrypt_result coffret_twofish_open(
    const uint8_t *key, const uint8_t *vector, const uint8_t *input, size_t byte_count, uint8_t *output);

#endif
