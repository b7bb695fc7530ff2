/* See webhook.h. */
#include "wire/webhook.h"

#include <stdio.h>
#include <string.h>

#include "base/hmac.h"

#define PREFIX "whsec_"
#define SCHEME "v1," /* HMAC-SHA256 */

static bool key_read(struct mg_slice line, uint8_t ret_key[MG_WEBHOOK_KEY_MAX], size_t *ret_len)
{
    size_t prefix = strlen(PREFIX);
    return line.len > prefix && memcmp(line.data, PREFIX, prefix) == 0 &&
           mg_base64_read((struct mg_slice){line.data + prefix, line.len - prefix}, ret_key,
                          MG_WEBHOOK_KEY_MAX, ret_len) &&
           *ret_len >= MG_WEBHOOK_KEY_MIN;
}

enum mg_class mg_webhook_secrets_parse(struct mg_slice text, struct mg_webhook_secrets *ret_secrets,
                                       struct mg_err *err)
{
    *ret_secrets = (struct mg_webhook_secrets){.count = 0};
    for (int number = 1; text.len > 0; number++) {
        struct mg_slice line = mg_slice_line_take(&text);
        int place = ret_secrets->count;
        if (line.len == 0) {
            continue;
        }
        if (place == MG_WEBHOOK_SECRETS_MAX) {
            return mg_err_set(err, MG_BAD_INPUT, "it has more than %d secrets", MG_WEBHOOK_SECRETS_MAX);
        }
        if (!key_read(line, ret_secrets->keys[place], &ret_secrets->lens[place])) {
            return mg_err_set(err, MG_BAD_INPUT,
                              "line %d: expected " PREFIX " and the base64 of %d to %d random bytes", number,
                              MG_WEBHOOK_KEY_MIN, MG_WEBHOOK_KEY_MAX);
        }
        ret_secrets->count++;
    }
    return ret_secrets->count > 0 ? MG_OK : mg_err_set(err, MG_BAD_INPUT, "it has no secret");
}

void mg_webhook_secrets_wipe(struct mg_webhook_secrets *secrets)
{
    explicit_bzero(secrets, sizeof(*secrets));
}

void mg_webhook_id(const struct mg_status_identity *status, struct mg_slice body, char ret_id[MG_UUID_SIZE])
{
    char name[2 * MG_SHA256_SIZE + 1];
    uint8_t digest[MG_SHA256_SIZE];
    if (status->seq > 0) {
        (void)snprintf(name, sizeof(name), "%llu", (unsigned long long)status->seq);
    } else {
        mg_sha256(body, digest);
        *mg_hex_write(digest, sizeof(digest), name) = '\0';
    }
    mg_uuid_derived(mg_slice_of(status->order_id), mg_slice_of(name), ret_id);
}

void mg_webhook_sign(const struct mg_webhook_secrets *secrets, const char *id, int64_t at_s,
                     struct mg_slice body, struct mg_buf *ret_value)
{
    char head[MG_UUID_SIZE + 64]; /* any id of the specification's examples, and a moment */
    (void)snprintf(head, sizeof(head), "%s.%lld.", id, (long long)at_s);
    const struct mg_slice parts[] = {mg_slice_of(head), body};
    for (int i = 0; i < secrets->count; i++) {
        uint8_t digest[MG_HMAC_MAX];
        size_t len =
            mg_hmac(MG_HASH_SHA256, (struct mg_slice){(const char *)secrets->keys[i], secrets->lens[i]},
                    parts, 2, digest);
        if (len == 0) {
            ret_value->failed = ret_value->is_out_of_memory = true;
            return;
        }
        mg_buf_append_text(ret_value, i > 0 ? " " SCHEME : SCHEME);
        mg_buf_append_base64(ret_value, (struct mg_slice){(const char *)digest, len});
    }
}
