#include <openssl/core_names.h>
#include <openssl/crypto.h>
#include <openssl/ec.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/kdf.h>
#include <openssl/params.h>
#include <openssl/pem.h>
#include <openssl/rand.h>
#include <openssl/x509.h>

/* Macros that the importer cannot read. */
static const int coffret_EVP_PKEY_KEYPAIR = EVP_PKEY_KEYPAIR;
static const int coffret_EVP_PKEY_PUBLIC_KEY = EVP_PKEY_PUBLIC_KEY;
static const int coffret_EVP_PKEY_KEY_PARAMETERS = EVP_PKEY_KEY_PARAMETERS;

/* A parameter keeps a pointer to its name. Swift would pass a temporary copy of the name, so these
   take it from C, where a literal lives as long as the process. */
static inline OSSL_PARAM coffret_parameter_group(char *name) {
    return OSSL_PARAM_construct_utf8_string(OSSL_PKEY_PARAM_GROUP_NAME, name, 0);
}

static inline OSSL_PARAM coffret_parameter_public(void *point, size_t byte_count) {
    return OSSL_PARAM_construct_octet_string(OSSL_PKEY_PARAM_PUB_KEY, point, byte_count);
}

static inline OSSL_PARAM coffret_parameter_private(unsigned char *native_number, size_t byte_count) {
    return OSSL_PARAM_construct_BN(OSSL_PKEY_PARAM_PRIV_KEY, native_number, byte_count);
}

/* The numbers of an RSA key, in the order of RSANumbers.Name. */
static inline OSSL_PARAM coffret_rsa_parameter(int index, unsigned char *native_number, size_t byte_count) {
    static const char *const names[] = {
        OSSL_PKEY_PARAM_RSA_N, OSSL_PKEY_PARAM_RSA_E, OSSL_PKEY_PARAM_RSA_D, OSSL_PKEY_PARAM_RSA_FACTOR1,
        OSSL_PKEY_PARAM_RSA_FACTOR2, OSSL_PKEY_PARAM_RSA_EXPONENT1, OSSL_PKEY_PARAM_RSA_EXPONENT2,
        OSSL_PKEY_PARAM_RSA_COEFFICIENT1,
    };
    return OSSL_PARAM_construct_BN(names[index], native_number, byte_count);
}

/* The numbers of a Diffie-Hellman key: prime, generator, public. */
static inline OSSL_PARAM coffret_dh_parameter(int index, unsigned char *native_number, size_t byte_count) {
    static const char *const names[] = {OSSL_PKEY_PARAM_FFC_P, OSSL_PKEY_PARAM_FFC_G, OSSL_PKEY_PARAM_PUB_KEY};
    return OSSL_PARAM_construct_BN(names[index], native_number, byte_count);
}

/* A certificate is never encrypted; without this OpenSSL would ask the terminal for a passphrase. */
static inline int coffret_no_passphrase(char *buffer, int byte_count, int writing, void *context) {
    (void)buffer, (void)byte_count, (void)writing, (void)context;
    return -1;
}

/* The SubjectPublicKeyInfo of the first certificate in PEM text, in DER, to be freed with OPENSSL_free; its size, or 0. */
static inline size_t coffret_certificate_key(const void *pem, size_t byte_count, unsigned char **key) {
    *key = NULL;
    if (byte_count > INT32_MAX) return 0;
    BIO *bio = BIO_new_mem_buf(pem, (int)byte_count);
    if (!bio) return 0;
    X509 *certificate = PEM_read_bio_X509(bio, NULL, coffret_no_passphrase, NULL);
    BIO_free(bio);
    int length = certificate ? i2d_X509_PUBKEY(X509_get_X509_PUBKEY(certificate), key) : 0;
    X509_free(certificate);
    ERR_clear_error();
    return length > 0 ? (size_t)length : 0;
}

static inline void coffret_free_certificate_key(unsigned char *key) { OPENSSL_free(key); }
