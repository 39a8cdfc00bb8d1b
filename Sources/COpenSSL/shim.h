// What Swift cannot import of OpenSSL 3: macros, variadic functions, typed stacks; and the algorithms fetched once,
// since each implicit fetch (`EVP_sha256()`) costs more than hashing a short message.
#ifndef COUNTERSIGN_COPENSSL_SHIM_H
#define COUNTERSIGN_COPENSSL_SHIM_H

// For SHA-256 without allocations: see SHA256.swift.
#define OPENSSL_SUPPRESS_DEPRECATED

#include <openssl/core_names.h>
#include <openssl/crypto.h>
#include <openssl/ec.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/objects.h>
#include <openssl/rand.h>
#include <openssl/sha.h>
#include <openssl/x509.h>
#include <openssl/x509_vfy.h>
#include <openssl/x509v3.h>

/// SHA-256, fetched at the first call and kept until the process ends; NULL when no provider has it.
static inline const EVP_MD *cs_sha256(void) {
    static EVP_MD *fetched;
    EVP_MD *digest = __atomic_load_n(&fetched, __ATOMIC_ACQUIRE);
    if (digest) return digest;
    digest = EVP_MD_fetch(NULL, "SHA2-256", NULL);
    EVP_MD *earlier = NULL;
    if (!__atomic_compare_exchange_n(&fetched, &earlier, digest, 0, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE)) {
        EVP_MD_free(digest);
        return earlier;
    }
    return digest;
}

/// AES-256-GCM, fetched at the first call and kept until the process ends; NULL when no provider has it.
static inline const EVP_CIPHER *cs_aes256gcm(void) {
    static EVP_CIPHER *fetched;
    EVP_CIPHER *cipher = __atomic_load_n(&fetched, __ATOMIC_ACQUIRE);
    if (cipher) return cipher;
    cipher = EVP_CIPHER_fetch(NULL, "AES-256-GCM", NULL);
    EVP_CIPHER *earlier = NULL;
    if (!__atomic_compare_exchange_n(&fetched, &earlier, cipher, 0, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE)) {
        EVP_CIPHER_free(cipher);
        return earlier;
    }
    return cipher;
}

/// Whether an error code says that OpenSSL could not do its work, and nothing of what it worked on: the fatal ones (no
/// memory, not initialized, an internal error), randomness, and algorithms that could not be fetched.
static inline int cs_is_trouble(unsigned long code) {
    return ERR_FATAL_ERROR(code) || ERR_GET_LIB(code) == ERR_LIB_RAND || ERR_GET_REASON(code) == ERR_R_FETCH_FAILED;
}

static inline int cs_gcm_get_tag(EVP_CIPHER_CTX *context, void *tag, int count) {
    return EVP_CIPHER_CTX_ctrl(context, EVP_CTRL_AEAD_GET_TAG, count, tag);
}

static inline int cs_gcm_set_tag(EVP_CIPHER_CTX *context, const void *tag, int count) {
    return EVP_CIPHER_CTX_ctrl(context, EVP_CTRL_AEAD_SET_TAG, count, (void *)tag);
}

static inline EVP_PKEY *cs_generate_p256(void) { return EVP_EC_gen("P-256"); }

/// Makes encodings of an elliptic curve key name the curve and write its point uncompressed.
static inline int cs_use_uncompressed_point(EVP_PKEY *key) {
    return EVP_PKEY_set_utf8_string_param(key, OSSL_PKEY_PARAM_EC_POINT_CONVERSION_FORMAT,
                                          OSSL_PKEY_EC_POINT_CONVERSION_FORMAT_UNCOMPRESSED);
}

static inline STACK_OF(X509) *cs_certificates_new(void) { return sk_X509_new_null(); }

/// Adds a certificate without taking it over; the number of certificates then, or 0.
static inline int cs_certificates_push(STACK_OF(X509) *certificates, X509 *certificate) {
    return sk_X509_push(certificates, certificate);
}

static inline int cs_certificates_count(const STACK_OF(X509) *certificates) { return sk_X509_num(certificates); }

/// Frees the list alone.
static inline void cs_certificates_free(STACK_OF(X509) *certificates) { sk_X509_free(certificates); }

#endif
