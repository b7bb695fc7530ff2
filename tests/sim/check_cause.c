/*
 * The cause in the statuses of an order: there if the order turns back or needs an operator, and only then.
 * It names an answer that its service gave, by the services' own ledger, and it stays the same until the end
 * of the turn.
 */
#include <stdio.h>
#include <string.h>

#include "orders.h"
#include "remote.h"
#include "wire/status.h"

static bool has_cause(enum mg_status status)
{
    return status == MG_STATUS_COMPENSATING || status == MG_STATUS_COMPENSATED ||
           status == MG_STATUS_CANCELLED || status == MG_STATUS_ERROR;
}

static bool is_named(struct mg_slice quoted, const char *name)
{
    return quoted.len == strlen(name) + 2 && memcmp(quoted.data + 1, name, strlen(name)) == 0;
}

/* True if a service has given this answer to a call of this step. An order may be in error for its undo. */
static bool is_given(const struct sim_submitted *order, struct mg_slice step, unsigned status, bool is_error)
{
    for (size_t i = 0; i < sim_ledger()->count; i++) {
        const struct sim_work *work = sim_ledger()->entries[i]->value;
        if (strcmp(work->order_id, order->order_id) == 0 && is_named(step, work->step) &&
            ((work->answers | (is_error ? work->undo_answers : 0)) >> SIM_ANSWER_BIT(status) & 1) != 0) {
            return true;
        }
    }
    return false;
}

/* A code of HTTP and its status stand together: without a code of the service's own the code is the status.
 */
static bool is_code_of(struct mg_slice code, unsigned status)
{
    char own[24];
    (void)snprintf(own, sizeof(own), "\"http_%u\"", status);
    bool is_http = strncmp(code.data, "\"http_", strlen("\"http_")) == 0; /* its text ends with the body */
    return status == 0 ? !is_http : mg_slice_is(code, own);
}

void sim_check_cause(const struct sim_submitted *order, const struct mg_status_message *status)
{
    struct mg_slice cause = status->cause;
    struct mg_slice code = mg_json_find(cause, "/code"), step = mg_json_find(cause, "/step");
    struct mg_slice digits = mg_json_find(cause, "/status");
    bool is_there = code.len > 2;
    if (has_cause(status->status) != is_there) {
        sim_violated("cause", "order %s is %s with the cause %.*s", order->order_id,
                     mg_status_name(status->status), (int)cause.len, cause.data != NULL ? cause.data : "");
    }
    unsigned number = 0;
    for (size_t i = 0; i < digits.len; i++) {
        number = number * 10 + (unsigned)(digits.data[i] - '0');
    }
    bool is_true = number == 0 || is_given(order, step, number, status->status == MG_STATUS_ERROR);
    if (is_there && (!is_true || !is_code_of(code, number))) {
        sim_violated("cause", "order %s is %s with the cause %.*s, which no service gave", order->order_id,
                     mg_status_name(status->status), (int)cause.len, cause.data);
    }
}

void sim_check_causes_end(const struct sim_submitted *order)
{
    struct mg_slice turn = {NULL, 0};
    struct mg_err err;
    for (int seq = 1; seq < SIM_SENT_MAX && !order->is_tail_lost; seq++) {
        struct mg_status_message status;
        if (order->sent[seq].data == NULL || mg_status_parse(order->sent[seq], &status, &err) != MG_OK) {
            turn = (struct mg_slice){NULL, 0}; /* a status that has not arrived may have been another turn */
            continue;
        }
        bool is_end = status.status == MG_STATUS_COMPENSATED || status.status == MG_STATUS_CANCELLED;
        if (is_end && turn.data != NULL && !mg_slice_equal(turn, status.cause)) {
            sim_violated("cause", "order %s turned back for %.*s, and ends for %.*s", order->order_id,
                         (int)turn.len, turn.data, (int)status.cause.len, status.cause.data);
        }
        if (status.status == MG_STATUS_COMPENSATING) {
            turn = status.cause;
        } else if (status.status != MG_STATUS_ERROR) {
            turn = (struct mg_slice){NULL, 0};
        }
    }
}
