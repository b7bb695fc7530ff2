/*
 * The headers of one call: those of the service file, those of the step, the agent's own, and the proof of
 * origin, which is made anew for each try. A step's header replaces one of the same name in the service file,
 * but not one with a secret: an order's data must not take the place of a credential.
 */
#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "base/clock.h"
#include "base/id.h"
#include "service_call.h"
#include "wire/http_header.h"

static bool is_named(const char *line, const char *name)
{
    size_t len = strlen(name);
    return strncasecmp(line, name, len) == 0 && line[len] == ':';
}

/* True if the step gives the header of this line. */
static bool is_replaced(const struct mg_request *request, struct mg_slice name)
{
    for (int i = 0; request->headers != NULL && request->headers[i] != NULL; i++) {
        const char *line = request->headers[i];
        if (strncasecmp(line, name.data, name.len) == 0 && line[name.len] == ':') {
            return true;
        }
    }
    return false;
}

static enum mg_class refuse(struct mg_slice name, struct mg_err *err)
{
    return mg_err_set(
        err, MG_BAD_INPUT,
        "the step sets the header %.*s, and so does the service file, as a secret or key; leave one out",
        (int)name.len, name.data);
}

/* True for a header that the agent makes by the service file's `key` and `auth`. */
static bool is_own(const struct mg_service *service, struct mg_slice name)
{
    const struct mg_hmac_rule *hmac = &service->auth.hmac;
    return (hmac->header != NULL && mg_header_name_is(name, hmac->header)) ||
           (hmac->timestamp_header != NULL && mg_header_name_is(name, hmac->timestamp_header)) ||
           (strcspn(service->key_line, ":") == name.len &&
            strncasecmp(service->key_line, name.data, name.len) == 0);
}

/* Those of the service file that the step does not replace. */
static enum mg_class put_service_headers(const struct mg_outgoing *outgoing, struct mg_call_headers *headers,
                                         struct mg_err *err)
{
    const struct mg_service *service = outgoing->service;
    const struct mg_request *request = outgoing->request;
    for (int i = 0; service->headers[i] != NULL; i++) {
        const char *line = service->headers[i];
        bool is_type = is_named(line, "Content-Type");
        if (is_type && request->content_type.data != NULL) {
            continue;
        }
        struct mg_slice name = {line, strcspn(line, ":")};
        bool is_secret = service->header_files[i] != NULL;
        if (is_replaced(request, name)) {
            if (is_secret) {
                return refuse(name, err);
            }
            continue;
        }
        headers->lines[headers->count++] = line;
        headers->has_content_type = headers->has_content_type || is_type;
        headers->has_accept = headers->has_accept || is_named(line, "Accept");
    }
    return MG_OK;
}

static enum mg_class put_step_headers(const struct mg_outgoing *outgoing, struct mg_call_headers *headers,
                                      struct mg_err *err)
{
    for (int i = 0; outgoing->request->headers[i] != NULL; i++) {
        const char *line = outgoing->request->headers[i];
        struct mg_slice name = {line, strcspn(line, ":")};
        if (is_own(outgoing->service, name)) {
            return refuse(name, err);
        }
        headers->lines[headers->count++] = line;
        headers->has_accept = headers->has_accept || is_named(line, "Accept");
    }
    return MG_OK;
}

static void put(struct mg_call_headers *headers, const char *line)
{
    headers->lines[headers->count++] = line;
    headers->is_out_of_memory = headers->is_out_of_memory || line == NULL;
}

/* Without a format: every call has a key. */
static void put_key(const struct mg_outgoing *outgoing, struct mg_call_headers *headers)
{
    const char *begin = outgoing->service->key_line, *key = outgoing->request->idempotency_key;
    size_t begin_len = strlen(begin), key_len = strlen(key);
    char *line = mg_arena_alloc(outgoing->arena, begin_len + key_len + 1);
    if (line != NULL) {
        memcpy(line, begin, begin_len);
        memcpy(line + begin_len, key, key_len + 1);
    }
    put(headers, line);
}

static void put_signature(const struct mg_outgoing *outgoing, struct mg_call_headers *headers)
{
    const struct mg_hmac_rule *hmac = &outgoing->service->auth.hmac;
    char timestamp[24], digest_text[2 * MG_HMAC_MAX + 1];
    uint8_t digest[MG_HMAC_MAX];
    (void)snprintf(timestamp, sizeof(timestamp), "%" PRId64, mg_clock_wall_ms() / 1000);
    const struct mg_slice parts[] = {mg_slice_of(timestamp), mg_slice_of("."), outgoing->request->content};
    int skipped = hmac->is_timestamp_signed ? 0 : 2;
    size_t len = mg_hmac(hmac->hash, mg_slice_of(hmac->key.value), parts + skipped, 3 - skipped, digest);

    if (hmac->is_base64) {
        struct mg_buf encoded;
        mg_buf_init_fixed(&encoded, digest_text, sizeof(digest_text));
        mg_buf_append_base64(&encoded, (struct mg_slice){(const char *)digest, len});
    } else {
        *mg_hex_write(digest, len, digest_text) = '\0';
    }
    if (hmac->timestamp_header != NULL) {
        put(headers, mg_arena_printf(outgoing->arena, "%s: %s", hmac->timestamp_header, timestamp));
    }
    put(headers, len == 0 ? NULL
                          : mg_arena_printf(outgoing->arena, "%s: %s%s", hmac->header,
                                            hmac->prefix != NULL ? hmac->prefix : "", digest_text));
}

static void put_auth(const struct mg_outgoing *outgoing, struct mg_call_headers *headers)
{
    const struct mg_auth *auth = &outgoing->service->auth;
    if (auth->line != NULL) {
        put(headers, auth->line);
    }
    if (outgoing->token != NULL) {
        put(headers, mg_token_line(outgoing->token));
    }
    if (auth->hmac.header != NULL) {
        put_signature(outgoing, headers);
    }
}

enum mg_class mg_outgoing_write_headers(const struct mg_outgoing *outgoing,
                                        struct mg_call_headers *ret_headers, struct mg_err *err)
{
    const struct mg_request *request = outgoing->request;
    char complete_by[MG_TIME_TEXT_SIZE];
    struct mg_call_headers *headers = ret_headers;

    headers->count = 0;
    headers->has_accept = headers->is_out_of_memory = false;
    headers->has_content_type = request->content.data == NULL;
    enum mg_class class = put_service_headers(outgoing, headers, err);
    if (class == MG_OK && request->headers != NULL) {
        class = put_step_headers(outgoing, headers, err);
    }
    if (class != MG_OK) {
        return class;
    }
    mg_time_format(request->complete_by_ms, complete_by);
    put_key(outgoing, headers);
    put(headers, mg_arena_printf(outgoing->arena, "X-Makegood-Complete-By: %s", complete_by));
    put(headers, mg_arena_printf(outgoing->arena, "X-Makegood-Order: %s", request->order_id));
    put(headers, mg_arena_printf(outgoing->arena, "X-Makegood-Step: %s", request->step));
    put(headers, mg_arena_printf(outgoing->arena, "X-Makegood-Attempt: %" PRIu32, request->attempt));
    if (outgoing->traceparent[0] != '\0') {
        put(headers, mg_arena_printf(outgoing->arena, "traceparent: %s", outgoing->traceparent));
    }
    if (!headers->has_accept) {
        put(headers, "Accept: application/json");
    }
    if (request->content_type.data != NULL) {
        put(headers, mg_arena_printf(outgoing->arena, "Content-Type: %.*s", (int)request->content_type.len,
                                     request->content_type.data));
    } else if (!headers->has_content_type) {
        put(headers, "Content-Type: application/json");
    }
    put_auth(outgoing, headers);
    assert(headers->count <= MG_CALL_HEADERS_MAX);
    headers->lines[headers->count] = NULL;
    return headers->is_out_of_memory ? mg_err_set(err, MG_TRANSIENT, "no memory for the call") : MG_OK;
}
