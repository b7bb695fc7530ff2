/* The gateway and the console of `makegood dev`, and the way in to them; words for a shell. */
#ifndef MG_DEV_DOORS_H
#define MG_DEV_DOORS_H

#include "base/buf.h"
#include "dev_folder.h"

#define MG_DEV_CLIENT "dev" /* the client that posts orders through the gateway */

/* Below the state folder. */
#define MG_DOORS_GATEWAY_TOKENS "gateway-tokens"
#define MG_DOORS_CONSOLE_TOKENS "console-tokens"
#define MG_DOORS_WEBHOOKS       "webhooks"
#define MG_DOORS_WEBHOOK_SECRET "webhook-secret"

/* Draws the token, the same for both doors and for later starts, and writes the files of their tokens. */
enum mg_class mg_doors_write_tokens(const struct mg_state *state, char ret_token[MG_STATE_SECRET_SIZE],
                                    struct mg_err *err) MG_MUSTCHECK;

/* Draws the secret of the webhook, the same for later starts, and writes the gateway's files of webhooks. */
enum mg_class mg_doors_write_webhook(const struct mg_state *state, const char *url,
                                     struct mg_err *err) MG_MUSTCHECK;

/* Appends the text as one word, in single quotes (POSIX.1-2017, Shell Command Language, 2.2.2). */
void mg_shell_append(struct mg_buf *buf, struct mg_slice text);

struct mg_doors_view {
    const char *state; /* the state folder, as it was given */
    const char *token;
    const char *gateway, *console; /* "ADDRESS:PORT" */
    const char *webhook_url;       /* "": none */
    const char *workflow;          /* an example; NULL: none is loaded */
    struct mg_slice payload;
    const char *workflows_folder; /* NULL: none */
};
/* Appends the lines for people: addresses, token, an order by curl, where to look. */
void mg_doors_describe(const struct mg_doors_view *view, struct mg_buf *ret_text);

#endif
