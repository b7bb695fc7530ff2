/*
 * Callbacks of services: a report that accepted work is finished. The address holds a token by which the
 * schedulers made it, and no client's token is needed. A token that is not valid is answered as a step that
 * there is not, in words, status and time. The signal's id is derived from token and body: a repeated
 * callback is the same signal.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/id.h"
#include "base/log.h"
#include "gateway/call.h"
#include "io/amqp/broker.h"
#include "io/amqp/topology.h"
#include "wire/callback_token.h"
#include "wire/http_header.h"

#define WATCH_PERIOD_MS 5000
#define PATH            "/v1/callbacks/"
#define NO_CALLBACK     "there is no step that awaits this callback"
_Static_assert(2 * MG_SHA256_SIZE == MG_COMMAND_ID_MAX, "a digest in hexadecimal is the id of a signal");

struct mg_callbacks {
    struct mg_gateway *gateway;
    struct mg_callback_secrets secrets;
    bool is_watched, is_there, is_missing; /* the exchange, as in clients.c; at first neither is known */
};

/* ---- secrets ---- */

enum mg_class mg_callbacks_check(const struct mg_gateway_options *options, struct mg_err *err)
{
    struct mg_callback_secrets secrets;
    if (options->callback_secret_file[0] == '\0') {
        return MG_OK;
    }
    enum mg_class class = mg_callback_secrets_read(options->callback_secret_file, &secrets, err);
    mg_callback_secrets_wipe(&secrets);
    return class;
}

static void on_seen(void *arg, const char *exchange, int64_t ready, int64_t consumers)
{
    struct mg_callbacks *callbacks = arg;
    (void)exchange, (void)ready;
    if (consumers < 0 && !callbacks->is_missing) {
        mg_log(MG_LOG_WARN,
               "callbacks are refused: the broker has no exchange for them; run: makegood broker apply",
               MG_LOG_NONE);
    }
    callbacks->is_missing = consumers < 0;
    callbacks->is_there = consumers >= 0;
}

struct mg_callbacks *mg_callbacks_create(struct mg_gateway *gateway, struct mg_err *err)
{
    struct mg_callbacks *callbacks = calloc(1, sizeof(*callbacks));
    if (callbacks == NULL) {
        (void)mg_err_set(err, MG_TRANSIENT, "could not take callbacks: no memory");
        return NULL;
    }
    callbacks->gateway = gateway;
    if (gateway->options->callback_secret_file[0] == '\0') {
        return callbacks;
    }
    enum mg_class class = mg_callbacks_reload(callbacks, err);
    if (class == MG_OK) {
        class = mg_broker_watch_exchange(gateway->broker, MG_EXCHANGE_CALLBACKS, WATCH_PERIOD_MS, on_seen,
                                         callbacks, err);
        callbacks->is_watched = class == MG_OK;
    }
    if (class != MG_OK) {
        mg_callbacks_destroy(callbacks);
        return NULL;
    }
    return callbacks;
}

void mg_callbacks_destroy(struct mg_callbacks *callbacks)
{
    if (callbacks == NULL) {
        return;
    }
    if (callbacks->is_watched) {
        mg_broker_unwatch_exchange(callbacks->gateway->broker, MG_EXCHANGE_CALLBACKS);
    }
    mg_callback_secrets_wipe(&callbacks->secrets);
    free(callbacks);
}

enum mg_class mg_callbacks_reload(struct mg_callbacks *callbacks, struct mg_err *err)
{
    return mg_callback_secrets_read(callbacks->gateway->options->callback_secret_file, &callbacks->secrets,
                                    err);
}

/* ---- the body ---- */

/* JSON is taken as it is, anything else that a service sends as a text. If a body of a JSON type is no JSON,
 * it was cut on its way, or its service made a mistake: as a text it would end the step by words that nobody
 * meant. */
static enum mg_class payload_make(const struct mg_http_exchange *request, struct mg_buf *ret_payload,
                                  struct mg_err *err)
{
    struct mg_slice body = mg_http_exchange_body(request);
    const char *type = mg_http_exchange_header(request, "Content-Type");
    bool is_said = type != NULL && mg_media_type_is_json(type);
    if (body.len == 0) {
        mg_buf_append_text(ret_payload, "null");
        return MG_OK;
    }
    enum mg_class class = is_said || type == NULL ? mg_signal_payload_check(body, err) : MG_BAD_INPUT;
    if (class == MG_OK) {
        mg_buf_append(ret_payload, body.data, body.len);
    } else if (!is_said && class == MG_BAD_INPUT) {
        mg_buf_append_json_mended(ret_payload, body);
        class = MG_OK;
    }
    return class;
}

/* ---- the call ---- */

static void callback_refuse(struct mg_call *call, const struct mg_command_result *result)
{
    bool is_invalid = result->verdict == MG_COMMAND_INVALID; /* for good: the step awaits no callback */
    if (result->verdict == MG_COMMAND_NOT_FOUND || is_invalid) {
        mg_call_refuse(call, 404, NO_CALLBACK);
    } else if (result->verdict == MG_COMMAND_CONFLICT) {
        mg_call_refuse(call, 409, "the callback is late: %s", result->text);
    } else {
        mg_call_refuse(call, 503, "the schedulers could not take the callback: %s", result->text);
    }
}

static void callback_returned(struct mg_call *call)
{
    mg_call_refuse(call, 503,
                   "there is no queue for callbacks; the operator runs: makegood broker apply; send the same "
                   "again");
}

static const struct mg_signal_sending CALLBACK = {callback_refuse, callback_returned};

static void id_make(struct mg_slice token, struct mg_slice body, char ret_id[MG_COMMAND_ID_MAX + 1],
                    struct mg_buf *scratch)
{
    uint8_t digest[MG_SHA256_SIZE];
    mg_buf_append(scratch, token.data, token.len);
    mg_buf_append_text(scratch, "\n"); /* no token has one in it */
    mg_buf_append(scratch, body.data, body.len);
    mg_sha256(mg_buf_slice(scratch), digest);
    *mg_hex_write(digest, sizeof(digest), ret_id) = '\0';
}

static void callback_send(struct mg_call *call, struct mg_slice token, const struct mg_callback *callback)
{
    struct mg_command command = {.kind = MG_CAUSE_SIGNAL, .generation = callback->generation};
    struct mg_slice body = mg_http_exchange_body(call->request);
    struct mg_buf payload, scratch;
    mg_buf_init(&payload, MG_SIGNAL_PAYLOAD_MAX);
    mg_buf_init(&scratch, MG_SIGNAL_PAYLOAD_MAX + MG_CALLBACK_TOKEN_SIZE);
    struct mg_err err;
    enum mg_class class =
        body.len <= MG_SIGNAL_PAYLOAD_MAX ? payload_make(call->request, &payload, &err) : MG_OK;
    id_make(token, body, command.command_id, &scratch);
    memcpy(command.order_id, callback->order_id, sizeof(command.order_id));
    memcpy(command.step, callback->step, sizeof(command.step));
    (void)snprintf(command.by, sizeof(command.by), "callback");
    if (body.len > MG_SIGNAL_PAYLOAD_MAX || (payload.failed && !payload.is_out_of_memory)) {
        mg_call_refuse(call, 413, "a callback has up to %d bytes of JSON", MG_SIGNAL_PAYLOAD_MAX);
    } else if (payload.failed || scratch.failed || class == MG_TRANSIENT) {
        mg_call_refuse(call, 503, "no memory; send the same again");
    } else if (class != MG_OK) {
        mg_call_refuse(call, 400, "the body is not the JSON that its Content-Type names: %s", err.text);
    } else if (!call->gateway->callbacks->is_there) {
        callback_returned(call);
    } else {
        mg_signal_send(call, &command, mg_buf_slice(&payload), MG_EXCHANGE_CALLBACKS, &CALLBACK);
    }
    mg_buf_finish(&payload);
    mg_buf_finish(&scratch);
}

void mg_callback_run(struct mg_call *call)
{
    struct mg_slice token = mg_slice_of(mg_http_exchange_path(call->request) + strlen(PATH));
    struct mg_callback callback;
    if (mg_callback_token_read(&call->gateway->callbacks->secrets, token, &callback)) {
        callback_send(call, token, &callback);
    } else {
        mg_call_refuse(call, 404, NO_CALLBACK);
    }
}
