/* See mask.h. */
#include "mask.h"

#include <string.h>

#include "outgoing.h"

/* Two of each header with a file, three of `auth`, two access tokens. */
#define SECRETS_MAX (2 * MG_SERVICE_HEADERS_MAX + 5)

struct secrets {
    struct mg_slice each[SECRETS_MAX];
    int count;
};

/* The bytes of `text` that write the secret at its beginning; 0: it does not begin with the secret. */
static size_t match(struct mg_slice text, struct mg_slice secret)
{
    size_t at = 0;
    for (size_t i = 0; i < secret.len; i++, at++) {
        bool is_escaped =
            at + 1 < text.len && text.data[at] == '\\' && text.data[at + 1] == '/' && secret.data[i] == '/';
        at += is_escaped;
        if (at >= text.len || text.data[at] != secret.data[i]) {
            return 0;
        }
    }
    return at;
}

static size_t match_any(struct mg_slice text, const struct mg_slice *secrets, int count)
{
    size_t longest = 0;
    for (int i = 0; i < count; i++) {
        size_t len = secrets[i].len >= MG_MASK_MIN_BYTES ? match(text, secrets[i]) : 0;
        longest = len > longest ? len : longest;
    }
    return longest;
}

struct mg_slice mg_mask(struct mg_slice body, const struct mg_slice *secrets, int count,
                        struct mg_arena *arena)
{
    char *copy = NULL;
    size_t at = 0;
    while (at < body.len) {
        size_t len = match_any((struct mg_slice){body.data + at, body.len - at}, secrets, count);
        if (len > 0 && copy == NULL && (copy = mg_arena_text(arena, body)) == NULL) {
            return (struct mg_slice){NULL, 0};
        }
        if (len > 0) {
            memset(copy + at, '*', len);
        }
        at += len > 0 ? len : 1;
    }
    return copy != NULL ? (struct mg_slice){copy, body.len} : body;
}

static void add(struct secrets *secrets, const char *text)
{
    if (text != NULL) {
        secrets->each[secrets->count++] = mg_slice_of(text);
    }
}

/* The value alone: "Authorization: Bearer x" is x, "X-Api-Key: x y" is "x y". */
static void add_line(struct secrets *secrets, const char *line, bool has_scheme)
{
    const char *at = line != NULL ? strchr(line, ' ') : NULL;
    if (at != NULL && has_scheme) {
        at = strchr(at + 1, ' ');
    }
    add(secrets, at != NULL ? at + 1 : NULL);
}

struct mg_slice mg_outgoing_mask(const struct mg_outgoing *outgoing, struct mg_slice body)
{
    const struct mg_service *service = outgoing->service;
    struct secrets secrets = {.count = 0};
    for (int i = 0; service->headers[i] != NULL; i++) {
        const char *line = service->header_files[i] != NULL ? service->headers[i] : NULL;
        add_line(&secrets, line, false);
        add_line(&secrets, line, true);
    }
    add(&secrets, service->auth.secret.value);
    add(&secrets, service->auth.hmac.key.value);
    add_line(&secrets, service->auth.line, true);
    if (outgoing->token != NULL) { /* the call may have carried the one before */
        add_line(&secrets, mg_token_line(outgoing->token), true);
        add_line(&secrets, mg_token_old_line(outgoing->token), true);
    }
    return mg_mask(body, secrets.each, secrets.count, outgoing->arena);
}
