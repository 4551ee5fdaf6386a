#include "COpenSSL.h"

#include <pthread.h>

#include "CoffretOnDemand.h"

#define LIBRARY "libcrypto.so.3"

/* OpenSSL reads its configuration at its first use, and a configuration can load code and change what an algorithm's
   name means. The environment may name that file. Nothing of Coffret's wants one. */
static void begin(void) {
    __typeof__(&OPENSSL_init_crypto) initialise =
        (__typeof__(&OPENSSL_init_crypto))coffret_function(LIBRARY, "OPENSSL_init_crypto");
    initialise(OPENSSL_INIT_NO_LOAD_CONFIG, (void *)0);
}

static void *find(const char *name) {
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, begin);
    return coffret_function(LIBRARY, name);
}

/* Every function of OpenSSL that Coffret calls. The compiler compares each line with OpenSSL's header. */
#define CALL(result, name, parameters, arguments)                                                                     \
    COFFRET_ON_DEMAND(find, result, name, parameters, arguments)

CALL(int, BIO_free, (BIO *a), (a))
CALL(BIO *, BIO_new_mem_buf, (const void *a, int b), (a, b))
CALL(void, BN_CTX_free, (BN_CTX *a), (a))
CALL(BN_CTX *, BN_CTX_secure_new, (void), ())
CALL(BIGNUM *, BN_bin2bn, (const unsigned char *a, int b, BIGNUM *c), (a, b, c))
CALL(int, BN_bn2binpad, (const BIGNUM *a, unsigned char *b, int c), (a, b, c))
CALL(int, BN_bn2lebinpad, (const BIGNUM *a, unsigned char *b, int c), (a, b, c))
CALL(int, BN_bn2nativepad, (const BIGNUM *a, unsigned char *b, int c), (a, b, c))
CALL(void, BN_clear_free, (BIGNUM *a), (a))
CALL(int, BN_cmp, (const BIGNUM *a, const BIGNUM *b), (a, b))
CALL(int, BN_div, (BIGNUM *a, BIGNUM *b, const BIGNUM *c, const BIGNUM *d, BN_CTX *e), (a, b, c, d, e))
CALL(void, BN_free, (BIGNUM *a), (a))
CALL(int, BN_is_negative, (const BIGNUM *a), (a))
CALL(int, BN_is_zero, (const BIGNUM *a), (a))
CALL(BIGNUM *, BN_secure_new, (void), ())
CALL(void, BN_set_flags, (BIGNUM *a, int b), (a, b))
CALL(int, BN_sub_word, (BIGNUM *a, unsigned long b), (a, b))
CALL(void, CRYPTO_free, (void *a, const char *b, int c), (a, b, c))
CALL(const BIGNUM *, EC_GROUP_get0_order, (const EC_GROUP *a), (a))
CALL(EC_GROUP *, EC_GROUP_new_by_curve_name, (int a), (a))
CALL(void, EC_POINT_clear_free, (EC_POINT *a), (a))
CALL(
    int, EC_POINT_mul,
    (const EC_GROUP *a, EC_POINT *b, const BIGNUM *c, const EC_POINT *d, const BIGNUM *e, BN_CTX *f),
    (a, b, c, d, e, f))
CALL(EC_POINT *, EC_POINT_new, (const EC_GROUP *a), (a))
CALL(
    size_t, EC_POINT_point2oct,
    (const EC_GROUP *a, const EC_POINT *b, point_conversion_form_t c, unsigned char *d, size_t e, BN_CTX *f),
    (a, b, c, d, e, f))
CALL(void, ERR_clear_error, (void), ())
CALL(int, EVP_CIPHER_CTX_ctrl, (EVP_CIPHER_CTX *a, int b, int c, void *d), (a, b, c, d))
CALL(void, EVP_CIPHER_CTX_free, (EVP_CIPHER_CTX *a), (a))
CALL(EVP_CIPHER_CTX *, EVP_CIPHER_CTX_new, (void), ())
CALL(int, EVP_CIPHER_CTX_set_padding, (EVP_CIPHER_CTX *a, int b), (a, b))
CALL(EVP_CIPHER *, EVP_CIPHER_fetch, (OSSL_LIB_CTX *a, const char *b, const char *c), (a, b, c))
CALL(int, EVP_CIPHER_get_iv_length, (const EVP_CIPHER *a), (a))
CALL(int, EVP_CIPHER_get_key_length, (const EVP_CIPHER *a), (a))
CALL(int, EVP_CipherFinal_ex, (EVP_CIPHER_CTX *a, unsigned char *b, int *c), (a, b, c))
CALL(
    int, EVP_CipherInit_ex,
    (EVP_CIPHER_CTX *a, const EVP_CIPHER *b, ENGINE *c, const unsigned char *d, const unsigned char *e, int f),
    (a, b, c, d, e, f))
CALL(
    int, EVP_CipherInit_ex2,
    (EVP_CIPHER_CTX *a, const EVP_CIPHER *b, const unsigned char *c, const unsigned char *d, int e,
     const OSSL_PARAM *f),
    (a, b, c, d, e, f))
CALL(
    int, EVP_CipherUpdate,
    (EVP_CIPHER_CTX *a, unsigned char *b, int *c, const unsigned char *d, int e),
    (a, b, c, d, e))
CALL(
    int, EVP_DecryptUpdate,
    (EVP_CIPHER_CTX *a, unsigned char *b, int *c, const unsigned char *d, int e),
    (a, b, c, d, e))
CALL(int, EVP_DigestFinal_ex, (EVP_MD_CTX *a, unsigned char *b, unsigned int *c), (a, b, c))
CALL(int, EVP_DigestInit_ex2, (EVP_MD_CTX *a, const EVP_MD *b, const OSSL_PARAM *c), (a, b, c))
CALL(
    int, EVP_DigestSign,
    (EVP_MD_CTX *a, unsigned char *b, size_t *c, const unsigned char *d, size_t e),
    (a, b, c, d, e))
CALL(
    int, EVP_DigestSignInit_ex,
    (EVP_MD_CTX *a, EVP_PKEY_CTX **b, const char *c, OSSL_LIB_CTX *d, const char *e, EVP_PKEY *f,
     const OSSL_PARAM *g),
    (a, b, c, d, e, f, g))
CALL(int, EVP_DigestUpdate, (EVP_MD_CTX *a, const void *b, size_t c), (a, b, c))
CALL(
    int, EVP_DigestVerify,
    (EVP_MD_CTX *a, const unsigned char *b, size_t c, const unsigned char *d, size_t e),
    (a, b, c, d, e))
CALL(
    int, EVP_DigestVerifyInit_ex,
    (EVP_MD_CTX *a, EVP_PKEY_CTX **b, const char *c, OSSL_LIB_CTX *d, const char *e, EVP_PKEY *f,
     const OSSL_PARAM *g),
    (a, b, c, d, e, f, g))
CALL(
    int, EVP_EncryptUpdate,
    (EVP_CIPHER_CTX *a, unsigned char *b, int *c, const unsigned char *d, int e),
    (a, b, c, d, e))
CALL(void, EVP_MD_CTX_free, (EVP_MD_CTX *a), (a))
CALL(EVP_MD_CTX *, EVP_MD_CTX_new, (void), ())
CALL(EVP_MD *, EVP_MD_fetch, (OSSL_LIB_CTX *a, const char *b, const char *c), (a, b, c))
CALL(void, EVP_PKEY_CTX_free, (EVP_PKEY_CTX *a), (a))
CALL(EVP_PKEY_CTX *, EVP_PKEY_CTX_new_from_name, (OSSL_LIB_CTX *a, const char *b, const char *c), (a, b, c))
CALL(EVP_PKEY_CTX *, EVP_PKEY_CTX_new_from_pkey, (OSSL_LIB_CTX *a, EVP_PKEY *b, const char *c), (a, b, c))
CALL(int, EVP_PKEY_CTX_set_group_name, (EVP_PKEY_CTX *a, const char *b), (a, b))
CALL(int, EVP_PKEY_copy_parameters, (EVP_PKEY *a, const EVP_PKEY *b), (a, b))
CALL(int, EVP_PKEY_derive, (EVP_PKEY_CTX *a, unsigned char *b, size_t *c), (a, b, c))
CALL(int, EVP_PKEY_derive_init, (EVP_PKEY_CTX *a), (a))
CALL(int, EVP_PKEY_derive_set_peer_ex, (EVP_PKEY_CTX *a, EVP_PKEY *b, int c), (a, b, c))
CALL(void, EVP_PKEY_free, (EVP_PKEY *a), (a))
CALL(int, EVP_PKEY_fromdata, (EVP_PKEY_CTX *a, EVP_PKEY **b, int c, OSSL_PARAM *d), (a, b, c, d))
CALL(int, EVP_PKEY_fromdata_init, (EVP_PKEY_CTX *a), (a))
CALL(int, EVP_PKEY_generate, (EVP_PKEY_CTX *a, EVP_PKEY **b), (a, b))
CALL(int, EVP_PKEY_get_bn_param, (const EVP_PKEY *a, const char *b, BIGNUM **c), (a, b, c))
CALL(
    int, EVP_PKEY_get_octet_string_param,
    (const EVP_PKEY *a, const char *b, unsigned char *c, size_t d, size_t *e),
    (a, b, c, d, e))
CALL(int, EVP_PKEY_keygen_init, (EVP_PKEY_CTX *a), (a))
CALL(EVP_PKEY *, EVP_PKEY_new, (void), ())
CALL(int, EVP_PKEY_set1_encoded_public_key, (EVP_PKEY *a, const unsigned char *b, size_t c), (a, b, c))
CALL(
    int, EVP_PKEY_sign,
    (EVP_PKEY_CTX *a, unsigned char *b, size_t *c, const unsigned char *d, size_t e),
    (a, b, c, d, e))
CALL(int, EVP_PKEY_sign_init, (EVP_PKEY_CTX *a), (a))
CALL(
    int, EVP_PKEY_verify,
    (EVP_PKEY_CTX *a, const unsigned char *b, size_t c, const unsigned char *d, size_t e),
    (a, b, c, d, e))
CALL(int, EVP_PKEY_verify_init, (EVP_PKEY_CTX *a), (a))
CALL(OSSL_PARAM, OSSL_PARAM_construct_BN, (const char *a, unsigned char *b, size_t c), (a, b, c))
CALL(OSSL_PARAM, OSSL_PARAM_construct_end, (void), ())
CALL(OSSL_PARAM, OSSL_PARAM_construct_octet_string, (const char *a, void *b, size_t c), (a, b, c))
CALL(OSSL_PARAM, OSSL_PARAM_construct_utf8_string, (const char *a, char *b, size_t c), (a, b, c))
CALL(
    int, PKCS5_PBKDF2_HMAC,
    (const char *a, int b, const unsigned char *c, int d, int e, const EVP_MD *f, int g, unsigned char *h),
    (a, b, c, d, e, f, g, h))
CALL(X509 *, PEM_read_bio_X509, (BIO *a, X509 **b, pem_password_cb *c, void *d), (a, b, c, d))
CALL(void, X509_free, (X509 *a), (a))
CALL(X509_PUBKEY *, X509_get_X509_PUBKEY, (const X509 *a), (a))
CALL(int, i2d_X509_PUBKEY, (const X509_PUBKEY *a, unsigned char **b), (a, b))
