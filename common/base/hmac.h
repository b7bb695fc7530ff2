/* Keyed digests (RFC 2104) and base64 (RFC 4648 §4), as signatures and credentials of HTTP calls need them.
 */
#ifndef MG_BASE_HMAC_H
#define MG_BASE_HMAC_H

#include "base/buf.h"

enum mg_hash { MG_HASH_SHA256, MG_HASH_SHA512 };

#define MG_HMAC_MAX 64 /* bytes of the longest digest */

/* The digest over all parts, as if they were one text; absent parts count as empty. Returns its length; 0: no
 * memory. */
size_t mg_hmac(enum mg_hash hash, struct mg_slice key, const struct mg_slice *parts, int count,
               uint8_t ret_digest[MG_HMAC_MAX]);

/* Compares in constant time, so that the duration does not reveal the first difference. */
bool mg_secret_is_equal(const void *a, const void *b, size_t size);

void mg_buf_append_base64(struct mg_buf *buf, struct mg_slice bytes); /* with padding */
/* False: it is no base64 with padding, or has more than `size` bytes. */
bool mg_base64_read(struct mg_slice text, uint8_t *ret_bytes, size_t size, size_t *ret_len);

#endif
