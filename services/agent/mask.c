/* See mask.h. */
#include "mask.h"

#include <string.h>

#include "json/scan.h"
#include "service_call.h"

/* For each header with a file two, for `auth` three, and as many from before the last renewal; two access
 * tokens. */
#define SECRETS_MAX (4 * MG_SERVICE_HEADERS_MAX + 8)

struct secrets {
    struct mg_slice each[SECRETS_MAX];
    int count;
};

/* The bytes of `text` that write the secret at its beginning, in plain text or, if `is_json`, with escapes:
 * "\/" and "\u003c" are common. 0: it does not begin with the secret. */
static size_t match(struct mg_slice text, struct mg_slice secret, bool is_json)
{
    const char *at = text.data, *end = text.data + text.len;
    char character[4];
    size_t done = 0;
    while (done < secret.len && at < end) {
        size_t len = 1;
        character[0] = *at;
        if (is_json) {
            len = (size_t)mg_json_char_next(&at, end, character);
        } else {
            at++;
        }
        if (len == 0 || len > secret.len - done || memcmp(secret.data + done, character, len) != 0) {
            return 0;
        }
        done += len;
    }
    return done == secret.len ? (size_t)(at - text.data) : 0;
}

static size_t longer(size_t a, size_t b)
{
    return a > b ? a : b;
}

static size_t match_any(struct mg_slice text, const struct mg_slice *secrets, int count)
{
    size_t longest = 0;
    for (int i = 0; i < count; i++) {
        if (secrets[i].len >= MG_MASK_MIN_BYTES) {
            longest = longer(longest, match(text, secrets[i], false));
            longest = longer(longest, match(text, secrets[i], true));
        }
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

static void add_header(struct secrets *secrets, const char *line)
{
    add_line(secrets, line, false);
    add_line(secrets, line, true);
}

static void add_secret(struct secrets *secrets, const struct mg_secret *secret)
{
    add(secrets, secret->value);
    add(secrets, secret->old);
}

/* The call may have begun before the secrets were renewed. */
struct mg_slice mg_outgoing_mask(const struct mg_outgoing *outgoing, struct mg_slice body)
{
    const struct mg_service *service = outgoing->service;
    struct secrets secrets = {.count = 0};
    for (int i = 0; service->headers[i] != NULL; i++) {
        add_header(&secrets, service->header_files[i] != NULL ? service->headers[i] : NULL);
        add_header(&secrets, service->old_headers[i]);
    }
    add_secret(&secrets, &service->auth.secret);
    add_secret(&secrets, &service->auth.hmac.key);
    add_line(&secrets, service->auth.line, true);
    add_line(&secrets, service->auth.old_line, true);
    if (outgoing->token != NULL) {
        add_line(&secrets, mg_token_line(outgoing->token), true);
        add_line(&secrets, mg_token_old_line(outgoing->token), true);
    }
    return mg_mask(body, secrets.each, secrets.count, outgoing->arena);
}
