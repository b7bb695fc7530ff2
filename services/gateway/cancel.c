/*
 * Cancelling an order: a command to the schedulers, at any version. Its exchange lets it cancel and do
 * nothing else. An order that is cancelled already, or on its way to it, is answered as it is.
 */
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "core/model.h"
#include "gateway/call.h"
#include "operator/document.h"

#define COMMAND_TIMEOUT_MS 5000 /* a scheduler answers within milliseconds */
#define UNKNOWN_WAIT_MS    5000 /* by then an order that is posted is taken */
#define REASON_DEFAULT     "its client cancelled it"
#define REASON_MAX_TEXT    "500"
#define REASON_MAX         500
_Static_assert(REASON_MAX <= MG_COMMAND_REASON_MAX, "a reason fits into the command");

static void on_commanded(void *arg, const struct mg_command_result *result)
{
    struct mg_call *call = arg;
    if (result == NULL) {
        mg_call_refuse(call, 503, "no scheduler has answered yet; the order may still be cancelled: read it");
    } else if (result->verdict == MG_COMMAND_DONE) {
        mg_order_answer_state(call, mg_order_state_name(result->state));
    } else if (result->verdict == MG_COMMAND_NOT_FOUND) {
        mg_call_refuse(call, 404, "order %s has just been moved to the archive", call->order_id);
    } else {
        mg_call_refuse(call, 409, "could not cancel order %s: %s", call->order_id, result->text);
    }
}

/* NULL: the body is empty or has a valid reason; else the reason for a refusal. */
static const char *reason_read(const struct mg_call *call, char ret_reason[REASON_MAX + 1],
                               struct mg_err *err)
{
    struct mg_slice body = mg_http_exchange_body(call->request);
    (void)snprintf(ret_reason, REASON_MAX + 1, REASON_DEFAULT);
    if (body.len == 0) {
        return NULL;
    }
    if (mg_document_check(body, err) != MG_OK) {
        return err->text;
    }
    struct mg_slice reason = mg_json_find(body, "/reason");
    if (reason.data == NULL || mg_json_type_of(reason) != MG_JSON_STRING) {
        return NULL;
    }
    return mg_document_text(body, "/reason", ret_reason, REASON_MAX + 1) && ret_reason[0] != '\0'
               ? NULL
               : "reason: expected 1 to " REASON_MAX_TEXT " bytes of UTF-8";
}

static void order_cancel(struct mg_call *call)
{
    struct mg_command command = {.kind = MG_CAUSE_CANCEL, .outcome = MG_OUTCOME_DONE};
    char reason[REASON_MAX + 1];
    struct mg_err err;
    const char *wrong = reason_read(call, reason, &err);
    if (wrong != NULL) {
        mg_call_refuse(call, 400, "%s", wrong);
        return;
    }
    mg_uuid_random(command.command_id);
    memcpy(command.order_id, call->order_id, sizeof(command.order_id));
    (void)snprintf(command.by, sizeof(command.by), "client %s", mg_client_name(call->client));
    (void)snprintf(command.reason, sizeof(command.reason), "%s", reason);
    if (!mg_commander_send(call->gateway->commander, &command, COMMAND_TIMEOUT_MS, on_commanded, call)) {
        mg_call_refuse(call, 503, "too many orders are being cancelled; try again");
    }
}

static void ended_refuse(struct mg_call *call, const char *state)
{
    mg_call_refuse(call, 409, "order %s has ended: it is %s", call->order_id, state);
}

static void order_found(struct mg_call *call, const struct mg_rows *rows, bool is_archived)
{
    char state[32];
    mg_rows_copy(rows, 0, 3, state, sizeof(state));
    bool is_cancelled = is_archived ? strcmp(state, "cancelled") == 0
                                    : mg_slice_is(mg_rows_value(rows, 0, 4), mg_goal_name(MG_GOAL_CANCELLED));
    if (is_cancelled) {
        mg_order_answer_state(call, state);
    } else if (is_archived || strcmp(state, "processed") == 0 || strcmp(state, "compensated") == 0) {
        ended_refuse(call, state);
    } else {
        order_cancel(call);
    }
}

/* An order that waits for a scheduler, posted here or at another gateway, is taken within milliseconds. */
static void order_missed(struct mg_call *call, bool is_posted)
{
    if (is_posted) {
        mg_call_refuse(call, 503, "order %s is posted, and no scheduler has taken it yet; cancel it again",
                       call->order_id);
    } else {
        mg_call_refuse(call, 404, "client %s has no order %s that a scheduler has taken",
                       mg_client_name(call->client), call->order_id);
    }
}

static const struct mg_lookup CANCEL = {order_found, order_missed};

void mg_cancel_run(struct mg_call *call)
{
    call->wait_until_ms = mg_clock_boot_ms() + UNKNOWN_WAIT_MS;
    mg_lookup_begin(call, &CANCEL);
}
