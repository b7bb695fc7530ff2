/*
 * Signals of clients: a command to the schedulers through the client's own exchange, which proves the client.
 * The exchange is bound by the names that the client may send, so the broker itself returns all others. The
 * answer waits for the schedulers' result. A repeated request has the same id and changes nothing.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "gateway/call.h"
#include "io/amqp/topology.h"

#define COMMAND_TIMEOUT_MS 5000 /* a scheduler answers within milliseconds */

/* ---- common to signals and callbacks ---- */

static void outcome_answer(struct mg_call *call, const struct mg_command_result *result)
{
    char memory[MG_ORDER_ID_MAX + 128];
    struct mg_buf json;
    mg_buf_init_fixed(&json, memory, sizeof(memory));
    mg_buf_printf(&json, "{\"signal\": \"%s\"", mg_signal_outcome_name(result->signal));
    if (result->order_id[0] != '\0' && result->version > 0) {
        mg_buf_printf(&json, ", \"order_id\": \"%s\", \"state\": \"%s\"", result->order_id,
                      mg_order_state_name(result->state));
    }
    mg_buf_append_text(&json, "}\n");
    mg_call_answer(call, 200, mg_buf_slice(&json));
}

static void on_commanded(void *arg, const struct mg_command_result *result)
{
    struct mg_call *call = arg;
    if (result == NULL) {
        mg_call_refuse(call, 503, "no scheduler has answered yet; it may still come; send the same again");
    } else if (result->verdict == MG_COMMAND_DONE && result->signal != MG_SIGNAL_NONE) {
        outcome_answer(call, result);
    } else if (result->verdict == MG_COMMAND_INVALID && result->may_pass) {
        mg_call_refuse(call, 503, "%s; send the same again", result->text);
    } else {
        call->sending->refuse(call, result);
    }
}

static void on_returned(void *arg)
{
    struct mg_call *call = arg;
    call->sending->returned(call);
}

void mg_signal_send(struct mg_call *call, struct mg_command *command, struct mg_slice payload,
                    const char *exchange, const struct mg_signal_sending *sending)
{
    call->sending = sending;
    call->payload = malloc(payload.len + 1);
    if (call->payload == NULL) {
        mg_call_refuse(call, 503, "no memory; send the same again");
        return;
    }
    if (payload.len > 0) {
        memcpy(call->payload, payload.data, payload.len);
    }
    command->kind = MG_CAUSE_SIGNAL;
    command->payload = (struct mg_slice){call->payload, payload.len};
    const char *key = command->signal[0] != '\0' ? call->signal : MG_CALLBACK_KEY;
    if (!mg_commander_send_by(call->gateway->commander, exchange, key, command, COMMAND_TIMEOUT_MS,
                              on_commanded, on_returned, call)) {
        mg_call_refuse(call, 503, "too many signals are on their way; send the same again");
    }
}

/* ---- signals of clients ---- */

static void signal_refuse(struct mg_call *call, const struct mg_command_result *result)
{
    bool is_posted = call->order_id[0] != '\0' &&
                     mg_recent_has(call->gateway->recent, mg_client_name(call->client), call->order_id);
    if (result->verdict == MG_COMMAND_NOT_FOUND && is_posted) {
        mg_call_refuse(call, 503,
                       "order %s is posted, and no scheduler has taken it yet; send the same again",
                       call->order_id);
    } else if (result->verdict == MG_COMMAND_NOT_FOUND && call->order_id[0] != '\0') {
        mg_call_refuse(call, 404, "there is no order %s that a scheduler has taken", call->order_id);
    } else if (result->verdict == MG_COMMAND_CONFLICT && result->signal == MG_SIGNAL_REFUSED) {
        mg_call_refuse(call, 403, "signal %s is refused: %s", call->signal, result->text);
    } else if (result->verdict == MG_COMMAND_CONFLICT) {
        mg_call_refuse(call, 409, "signal %s is late: %s", call->signal, result->text);
    } else if (result->verdict == MG_COMMAND_INVALID) {
        mg_call_refuse(call, 422, "signal %s is not taken: %s", call->signal, result->text);
    } else {
        mg_call_refuse(call, 503, "the schedulers gave no answer to a signal: %s", result->text);
    }
}

static void signal_returned(struct mg_call *call)
{
    const char *client = mg_client_name(call->client);
    mg_call_refuse(call, 403,
                   "client %s may not send signal %s; the operator runs: makegood broker apply --client %s "
                   "--signal %s",
                   client, call->signal, client, call->signal);
}

static const struct mg_signal_sending SIGNAL = {signal_refuse, signal_returned};

/* False: the call has been refused. */
static bool body_read(struct mg_call *call, struct mg_slice *ret_payload)
{
    struct mg_slice body = mg_http_exchange_body(call->request);
    struct mg_err err;
    *ret_payload = body.len > 0 ? body : mg_slice_of("null");
    if (body.len > MG_SIGNAL_PAYLOAD_MAX) {
        mg_call_refuse(call, 413, "%zu bytes of payload; a signal has up to %d", body.len,
                       MG_SIGNAL_PAYLOAD_MAX);
        return false;
    }
    enum mg_class class = mg_signal_payload_check(*ret_payload, &err);
    if (class != MG_OK) {
        mg_call_refuse(call, class == MG_TRANSIENT ? 503 : 400, "%s", err.text);
    }
    return class == MG_OK;
}

/* The signal's address. False: the call has been refused. */
static bool address_read(struct mg_call *call, struct mg_command *command)
{
    const char *key = mg_http_exchange_query(call->request, "key");
    memcpy(command->signal, call->signal, sizeof(command->signal));
    if (call->order_id[0] != '\0') {
        memcpy(command->order_id, call->order_id, sizeof(command->order_id));
        return true;
    }
    if (key == NULL || !mg_signal_key_is_valid(key, strlen(key))) {
        mg_call_refuse(call, 400, "key: expected in the query, " MG_SIGNAL_KEY_RIGHT);
        return false;
    }
    (void)snprintf(command->key, sizeof(command->key), "%s", key);
    return true;
}

/* False: the call has been refused. */
static bool id_read(struct mg_call *call, struct mg_command *command)
{
    struct mg_slice id;
    if (!mg_post_key_read(call->request, &id) || id.data == NULL ||
        !mg_command_id_is_valid(id.data, id.len)) {
        mg_call_refuse(call, 400, MG_KEY_HEADER ": expected, " MG_COMMAND_ID_RIGHT);
        return false;
    }
    (void)snprintf(command->command_id, sizeof(command->command_id), "%.*s", (int)id.len, id.data);
    return true;
}

void mg_signal_run(struct mg_call *call)
{
    struct mg_command command = {.kind = MG_CAUSE_SIGNAL};
    struct mg_slice payload;
    const char *client = mg_client_name(call->client), *exchange = mg_client_signals(call->client);
    if (!id_read(call, &command) || !address_read(call, &command) || !body_read(call, &payload)) {
        return;
    }
    if (exchange == NULL) {
        mg_call_refuse(
            call, 503,
            "the broker has no exchange for signals of client %s; the operator runs: makegood broker "
            "apply --client %s --signal %s",
            client, client, call->signal);
        return;
    }
    (void)snprintf(command.by, sizeof(command.by), "client %s", client);
    mg_signal_send(call, &command, payload, exchange, &SIGNAL);
}
