/*
 * Identity and signatures of webhooks, as in Standard Webhooks 1.0 (https://www.standardwebhooks.com):
 * receivers have libraries for it.
 */
#ifndef MG_WIRE_WEBHOOK_H
#define MG_WIRE_WEBHOOK_H

#include "base/id.h"
#include "wire/status.h"

#define MG_WEBHOOK_SECRETS_MAX 4 /* the present one, and those before that receivers still have */
/* Bytes of a secret, by the specification. */
#define MG_WEBHOOK_KEY_MIN 24
#define MG_WEBHOOK_KEY_MAX 64

struct mg_webhook_secrets {
    uint8_t keys[MG_WEBHOOK_SECRETS_MAX][MG_WEBHOOK_KEY_MAX];
    size_t lens[MG_WEBHOOK_SECRETS_MAX];
    int count; /* at least one */
};

/* Reads one secret a line, "whsec_" and base64. MG_BAD_INPUT: the text names the line and quotes nothing of
 * it. */
enum mg_class mg_webhook_secrets_parse(struct mg_slice text, struct mg_webhook_secrets *ret_secrets,
                                       struct mg_err *err) MG_MUSTCHECK;
void mg_webhook_secrets_wipe(struct mg_webhook_secrets *secrets);

/*
 * The header webhook-id: the same for each try of a status, another for each status. It is derived and not
 * "<order_id>.<seq>", because an order's id may have points. These separate the signed parts, so another
 * division of the same bytes would have the same signature. Rejections, which have no seq, differ by their
 * bytes.
 */
void mg_webhook_id(const struct mg_status_identity *status, struct mg_slice body, char ret_id[MG_UUID_SIZE]);

/* Appends the value of the header webhook-signature: one signature for each secret. Fails only without
 * memory, as the buffer does. */
void mg_webhook_sign(const struct mg_webhook_secrets *secrets, const char *id, int64_t at_s,
                     struct mg_slice body, struct mg_buf *ret_value);

#endif
