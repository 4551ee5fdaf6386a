#include <openssl/core_names.h>
#include <openssl/crypto.h>
#include <openssl/ec.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/kdf.h>
#include <openssl/params.h>
#include <openssl/rand.h>

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
