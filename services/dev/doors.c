/* See doors.h. */
#include "doors.h"

#include <stdio.h>
#include <string.h>

#include "base/id.h"

#define TOKEN_FILE "token"
#define LINE_SIZE  256
/* The secret without the form that the gateway wants. */
#define WEBHOOK_KEY_FILE "webhook-key"
#define WEBHOOK_LINE_MAX 4096
#define BODY_MAX         ((size_t)64 * 1024) /* of the order that is shown */

void mg_shell_append(struct mg_buf *buf, struct mg_slice text)
{
    mg_buf_append_text(buf, "'");
    for (size_t i = 0; i < text.len; i++) {
        if (text.data[i] == '\'') {
            mg_buf_append_text(buf, "'\\''"); /* no escape inside: the quotes end and begin again */
        } else {
            mg_buf_append(buf, &text.data[i], 1);
        }
    }
    mg_buf_append_text(buf, "'");
}

static enum mg_class tokens_write(const struct mg_state *state, const char *file, const char *user,
                                  const char *token, struct mg_err *err)
{
    uint8_t digest[MG_SHA256_SIZE];
    char hex[2 * MG_SHA256_SIZE + 1], line[LINE_SIZE];
    mg_sha256(mg_slice_of(token), digest);
    *mg_hex_write(digest, sizeof(digest), hex) = '\0';
    (void)snprintf(line, sizeof(line), "%s %s\n", user, hex);
    return mg_state_write(state, file, mg_slice_of(line), err);
}

enum mg_class mg_doors_write_tokens(const struct mg_state *state, char ret_token[MG_STATE_SECRET_SIZE],
                                    struct mg_err *err)
{
    enum mg_class class = mg_state_secret(state, TOKEN_FILE, ret_token, err);
    if (class == MG_OK) {
        class = tokens_write(state, MG_DOORS_GATEWAY_TOKENS, "submit,read,cancel,signal " MG_DEV_CLIENT,
                             ret_token, err);
    }
    return class == MG_OK ? tokens_write(state, MG_DOORS_CONSOLE_TOKENS, "operator dev", ret_token, err)
                          : class;
}

enum mg_class mg_doors_write_webhook(const struct mg_state *state, const char *url, struct mg_err *err)
{
    char key[MG_STATE_SECRET_SIZE], text[WEBHOOK_LINE_MAX];
    enum mg_class class = mg_state_secret(state, WEBHOOK_KEY_FILE, key, err);
    if (class == MG_OK) {
        (void)snprintf(text, sizeof(text), "whsec_%s\n", key); /* hexadecimal digits are base64, too */
        class = mg_state_write(state, MG_DOORS_WEBHOOK_SECRET, mg_slice_of(text), err);
    }
    int len = snprintf(text, sizeof(text), "%s %s %s\n", MG_DEV_CLIENT, url, MG_DOORS_WEBHOOK_SECRET);
    if (class == MG_OK && (size_t)len >= sizeof(text)) {
        return mg_err_set(err, MG_BAD_INPUT, "--webhook-url: it has more than %d characters",
                          WEBHOOK_LINE_MAX / 2);
    }
    return class == MG_OK ? mg_state_write(state, MG_DOORS_WEBHOOKS, mg_slice_of(text), err) : class;
}

/* "http://127.0.0.1:9280"; an address of all interfaces is reached by the name of this machine. */
static void url_write(const char *address, char ret_url[LINE_SIZE])
{
    const char *colon = strrchr(address, ':');
    bool is_any = strncmp(address, "0.0.0.0:", 8) == 0 || strncmp(address, "[::]:", 5) == 0;
    (void)snprintf(ret_url, LINE_SIZE, "http://%s%s", is_any ? "localhost" : "", is_any ? colon : address);
}

static void order_describe(const struct mg_doors_view *view, const char *gateway, struct mg_buf *text)
{
    struct mg_buf body;
    mg_buf_init(&body, BODY_MAX);
    mg_buf_printf(&body, "{\"order_id\": \"first\", \"workflow\": \"%s\", \"payload\": ", view->workflow);
    mg_buf_append_slice(&body, view->payload);
    mg_buf_append_text(&body, "}");
    mg_buf_printf(text, "\nan order, and its end:\n  curl -s -H \"Authorization: Bearer %s\" --json ",
                  view->token);
    mg_shell_append(text, mg_buf_slice(&body));
    mg_buf_finish(&body);
    mg_buf_printf(text, " %s/v1/orders\n", gateway);
    mg_buf_printf(text, "  curl -s -H \"Authorization: Bearer %s\" '%s/v1/orders/first?wait=20s'\n",
                  view->token, gateway);
}

void mg_doors_describe(const struct mg_doors_view *view, struct mg_buf *ret_text)
{
    char gateway[LINE_SIZE], console[LINE_SIZE];
    url_write(view->gateway, gateway);
    url_write(view->console, console);
    mg_buf_printf(ret_text, "\nready\n  gateway  %s\n  console  %s\n  token    %s (of both)\n", gateway,
                  console, view->token);
    if (view->webhook_url[0] != '\0') {
        mg_buf_printf(ret_text, "  webhook  %s (the secret is in %s/" MG_DOORS_WEBHOOK_SECRET ")\n",
                      view->webhook_url, view->state);
    }
    if (view->workflow != NULL) {
        order_describe(view, gateway, ret_text);
    }
    mg_buf_printf(ret_text, "\nthe tool, in another shell:\n  . %s/env && makegood order list\n",
                  view->state);
    if (view->workflows_folder != NULL) {
        mg_buf_printf(ret_text, "\na changed file of %s is loaded; logs are in %s/logs; Ctrl-C ends all\n\n",
                      view->workflows_folder, view->state);
    } else {
        mg_buf_printf(ret_text,
                      "\nthere is no folder of workflows (--workflows); logs are in %s/logs; Ctrl-C "
                      "ends all\n\n",
                      view->state);
    }
}
