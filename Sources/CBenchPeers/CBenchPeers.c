#include "CBenchPeers.h"

#include <openssl/evp.h>
#include <sodium.h>
#include <string.h>

static void write_counter(unsigned char *nonce, size_t counter) {
    memcpy(nonce, &counter, sizeof counter);
}

int bench_secretbox(unsigned char *out, const unsigned char *message, size_t length, size_t count,
                    const unsigned char key[32]) {
    unsigned char nonce[crypto_secretbox_NONCEBYTES] = {0};
    for (size_t i = 0; i < count; i++) {
        write_counter(nonce, i);
        if (crypto_secretbox_easy(out, message, length, nonce, key) != 0) return -1;
    }
    return 0;
}

int bench_xchacha20poly1305(unsigned char *out, const unsigned char *message, size_t length, size_t count,
                            const unsigned char key[32]) {
    unsigned char nonce[crypto_aead_xchacha20poly1305_ietf_NPUBBYTES] = {0};
    for (size_t i = 0; i < count; i++) {
        unsigned long long written = 0;
        write_counter(nonce, i);
        if (crypto_aead_xchacha20poly1305_ietf_encrypt(out, &written, message, length, NULL, 0, NULL, nonce, key) != 0)
            return -1;
    }
    return 0;
}

int bench_blake2b(unsigned char *out, const unsigned char *message, size_t length, size_t count) {
    for (size_t i = 0; i < count; i++) {
        if (crypto_generichash(out, 32, message, length, NULL, 0) != 0) return -1;
    }
    return 0;
}

int bench_aes256gcm(unsigned char *out, const unsigned char *message, size_t length, size_t count,
                    const unsigned char key[32]) {
    unsigned char nonce[12] = {0};
    int written = 0;
    int result = -1;
    EVP_CIPHER *cipher = EVP_CIPHER_fetch(NULL, "AES-256-GCM", NULL);
    EVP_CIPHER_CTX *context = EVP_CIPHER_CTX_new();
    if (cipher == NULL || context == NULL) goto done;
    if (EVP_EncryptInit_ex2(context, cipher, key, nonce, NULL) != 1) goto done;
    for (size_t i = 0; i < count; i++) {
        write_counter(nonce, i);
        if (EVP_EncryptInit_ex2(context, NULL, NULL, nonce, NULL) != 1) goto done;
        if (EVP_EncryptUpdate(context, out, &written, message, (int)length) != 1) goto done;
        if (EVP_EncryptFinal_ex(context, out + written, &written) != 1) goto done;
        if (EVP_CIPHER_CTX_ctrl(context, EVP_CTRL_AEAD_GET_TAG, 16, out + length) != 1) goto done;
    }
    result = 0;
done:
    EVP_CIPHER_CTX_free(context);
    EVP_CIPHER_free(cipher);
    return result;
}
