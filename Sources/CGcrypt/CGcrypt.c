#include "CGcrypt.h"

#include <dlfcn.h>
#include <pthread.h>

/* By the documented interface of libgcrypt 1.10, whose ABI has been the same since 1.6 (soname 20). */
enum { algorithm_argon2 = 64, algorithm_twofish = 10, mode_cbc = 3 };

static struct {
    const char *(*check_version)(const char *);
    unsigned (*kdf_open)(
        void **, int, int, const unsigned long *, unsigned, const void *, size_t, const void *, size_t, const void *,
        size_t, const void *, size_t);
    unsigned (*kdf_compute)(void *, const void *);
    unsigned (*kdf_final)(void *, size_t, void *);
    void (*kdf_close)(void *);
    unsigned (*cipher_open)(void **, int, int, unsigned);
    void (*cipher_close)(void *);
    unsigned (*cipher_setkey)(void *, const void *, size_t);
    unsigned (*cipher_setiv)(void *, const void *, size_t);
    unsigned (*cipher_decrypt)(void *, void *, size_t, const void *, size_t);
} gcrypt;

static int is_loaded;

static void load(void) {
    void *library = dlopen("libgcrypt.so.20", RTLD_NOW | RTLD_LOCAL);
    if (!library)
        return;
#define LOAD(field, name)                                                                                             \
    *(void **)&gcrypt.field = dlsym(library, name);                                                                   \
    if (!gcrypt.field)                                                                                                \
        return;
    LOAD(check_version, "gcry_check_version")
    LOAD(kdf_open, "gcry_kdf_open")
    LOAD(kdf_compute, "gcry_kdf_compute")
    LOAD(kdf_final, "gcry_kdf_final")
    LOAD(kdf_close, "gcry_kdf_close")
    LOAD(cipher_open, "gcry_cipher_open")
    LOAD(cipher_close, "gcry_cipher_close")
    LOAD(cipher_setkey, "gcry_cipher_setkey")
    LOAD(cipher_setiv, "gcry_cipher_setiv")
    LOAD(cipher_decrypt, "gcry_cipher_decrypt")
#undef LOAD
    /* Asking for the version prepares the library. */
    is_loaded = gcrypt.check_version("1.10.0") != NULL;
}

static int is_available(void) {
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, load);
    return is_loaded;
}

enum coffret_gcrypt_result coffret_argon2(
    int variant, unsigned long pass_count, unsigned long memory_kibibytes, unsigned long lane_count,
    const uint8_t *password, size_t password_count, const uint8_t *salt, size_t salt_count, uint8_t *output,
    size_t output_count) {
    if (!is_available())
        return COFFRET_GCRYPT_UNAVAILABLE;
    const unsigned long parameters[] = {output_count, pass_count, memory_kibibytes, lane_count};
    void *kdf = NULL;
    if (gcrypt.kdf_open(
            &kdf, algorithm_argon2, variant, parameters, 4, password, password_count, salt, salt_count, NULL, 0, NULL,
            0))
        return COFFRET_GCRYPT_FAILED;
    enum coffret_gcrypt_result result = COFFRET_GCRYPT_FAILED;
    if (!gcrypt.kdf_compute(kdf, NULL) && !gcrypt.kdf_final(kdf, output_count, output))
        result = COFFRET_GCRYPT_DONE;
    gcrypt.kdf_close(kdf);
    return result;
}

enum coffret_gcrypt_result coffret_twofish_open(
    const uint8_t *key, const uint8_t *vector, const uint8_t *input, size_t byte_count, uint8_t *output) {
    if (!is_available())
        return COFFRET_GCRYPT_UNAVAILABLE;
    void *cipher = NULL;
    if (gcrypt.cipher_open(&cipher, algorithm_twofish, mode_cbc, 0))
        return COFFRET_GCRYPT_FAILED;
    enum coffret_gcrypt_result result = COFFRET_GCRYPT_FAILED;
    if (!gcrypt.cipher_setkey(cipher, key, 32) && !gcrypt.cipher_setiv(cipher, vector, 16)
        && !gcrypt.cipher_decrypt(cipher, output, byte_count, input, byte_count))
        result = COFFRET_GCRYPT_DONE;
    gcrypt.cipher_close(cipher);
    return result;
}
