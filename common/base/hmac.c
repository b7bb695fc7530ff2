/* See hmac.h. */
#include "base/hmac.h"

#include <openssl/core_names.h>
#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/params.h>
#include <string.h>

size_t mg_hmac(enum mg_hash hash, struct mg_slice key, const struct mg_slice *parts, int count,
               uint8_t ret_digest[MG_HMAC_MAX])
{
    char name[] = "SHA256";
    char name_512[] = "SHA512";
    const OSSL_PARAM params[] = {
        OSSL_PARAM_construct_utf8_string(OSSL_MAC_PARAM_DIGEST, hash == MG_HASH_SHA512 ? name_512 : name, 0),
        OSSL_PARAM_construct_end(),
    };
    EVP_MAC *mac = EVP_MAC_fetch(NULL, "HMAC", NULL);
    EVP_MAC_CTX *context = mac != NULL ? EVP_MAC_CTX_new(mac) : NULL;
    size_t len = 0;
    bool is_good =
        context != NULL && EVP_MAC_init(context, (const unsigned char *)key.data, key.len, params) == 1;
    for (int i = 0; i < count && is_good; i++) {
        is_good = parts[i].len == 0 ||
                  EVP_MAC_update(context, (const unsigned char *)parts[i].data, parts[i].len) == 1;
    }
    is_good = is_good && EVP_MAC_final(context, ret_digest, &len, MG_HMAC_MAX) == 1;
    EVP_MAC_CTX_free(context);
    EVP_MAC_free(mac);
    return is_good ? len : 0;
}

bool mg_secret_is_equal(const void *a, const void *b, size_t size)
{
    return CRYPTO_memcmp(a, b, size) == 0;
}

static const char DIGITS[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

void mg_buf_append_base64(struct mg_buf *buf, struct mg_slice bytes)
{
    unsigned char four[4 + 1];
    for (size_t i = 0; i < bytes.len; i += 3) {
        size_t left = bytes.len - i;
        (void)EVP_EncodeBlock(four, (const unsigned char *)bytes.data + i, left < 3 ? (int)left : 3);
        mg_buf_append(buf, (const char *)four, 4);
    }
}

bool mg_base64_read(struct mg_slice text, uint8_t *ret_bytes, size_t size, size_t *ret_len)
{
    size_t padding =
        text.len >= 2 && text.data[text.len - 1] == '=' ? 1U + (text.data[text.len - 2] == '=') : 0;
    size_t digits = text.len - padding, len = digits * 3 / 4;
    uint32_t bits = 0;
    if (text.len % 4 != 0 || len > size) {
        return false;
    }
    for (size_t i = 0; i < digits; i++) {
        const char *digit = memchr(DIGITS, text.data[i], sizeof(DIGITS) - 1);
        if (digit == NULL) {
            return false;
        }
        bits = bits << 6 | (uint32_t)(digit - DIGITS);
        if (i % 4 != 0) { /* each digit but the first of four ends a byte */
            ret_bytes[i / 4 * 3 + i % 4 - 1] = (uint8_t)(bits >> (6 - 2 * (i % 4)));
        }
    }
    *ret_len = len;
    return true;
}
