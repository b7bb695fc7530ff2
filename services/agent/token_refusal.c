/* Which answers refuse the access token of a call, and not its order. */
#include <string.h>

#include "service_call.h"

#define BLANKS " \t"

/* The length of the part before the next comma outside of quotes (RFC 9110 §5.6.4). */
static size_t part_length(const char *text)
{
    bool is_quoted = false;
    size_t len = 0;
    for (; text[len] != '\0' && (is_quoted || text[len] != ','); len++) {
        if (is_quoted && text[len] == '\\' && text[len + 1] != '\0') {
            len++;
        } else if (text[len] == '"') {
            is_quoted = !is_quoted;
        }
    }
    return len;
}

/* Of `error="invalid_token"` or `error = invalid_token` the word; absent for another parameter. */
static struct mg_slice error_of(struct mg_slice parameter)
{
    size_t name_len = strcspn(parameter.data, "=" BLANKS);
    const char *at = parameter.data + name_len;
    at += strspn(at, BLANKS);
    if (*at != '=' || !mg_header_name_is((struct mg_slice){parameter.data, name_len}, "error")) {
        return (struct mg_slice){NULL, 0};
    }
    at += 1 + strspn(at + 1, BLANKS "\"");
    return (struct mg_slice){at, strcspn(at, BLANKS "\",")};
}

/* The error of the Bearer challenge among the challenges of a WWW-Authenticate; absent if it has none. */
static struct mg_slice bearer_error(const char *challenges)
{
    struct mg_slice error = {NULL, 0};
    bool is_bearer = false;
    for (const char *at = challenges; at != NULL && *at != '\0' && error.data == NULL;) {
        at += strspn(at, "," BLANKS);
        size_t len = part_length(at), word_len = strcspn(at, "=," BLANKS);
        const char *behind = at + word_len + strspn(at + word_len, BLANKS);
        const char *parameter = at;
        if (word_len > 0 && *behind != '=') { /* a scheme, with its first parameter after it */
            is_bearer = mg_header_name_is((struct mg_slice){at, word_len}, "Bearer");
            parameter = behind;
        }
        if (is_bearer && parameter < at + len) {
            error = error_of((struct mg_slice){parameter, (size_t)(at + len - parameter)});
        }
        at += len;
    }
    return error;
}

static bool is_expired_code(const struct mg_oauth2 *oauth2, const char *code)
{
    for (int i = 0; oauth2->expired_when[i] != NULL; i++) {
        if (strcmp(oauth2->expired_when[i], code) == 0) {
            return true;
        }
    }
    return false;
}

bool mg_outgoing_is_token_refused(const struct mg_outgoing *outgoing, const struct mg_http_answer *answer,
                                  const struct mg_verdict_of_try *verdict)
{
    bool may_repeat = !outgoing->request->is_at_most_once || verdict->executed == MG_EXECUTED_NO;
    bool is_refusal = answer->sent == MG_SENT_YES && !mg_outcome_has_result(verdict->outcome);
    if (outgoing->token == NULL || !is_refusal || !may_repeat) {
        return false;
    }
    struct mg_slice error = bearer_error(answer->bearer_challenge);
    bool is_named = error.data != NULL;
    return (is_named && mg_header_name_is(error, "invalid_token")) || (answer->status == 401 && !is_named) ||
           is_expired_code(&outgoing->service->auth.oauth2, verdict->code);
}
