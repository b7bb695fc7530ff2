/* See explain.h. */
#include "operator/explain.h"

#include <stdlib.h>
#include <string.h>

#include "core/words.h"
#include "operator/document.h"
#include "operator/helpful_verbs.h"
#include "operator/steps.h"
#include "wire/reply.h"

/* Steps of one kind that the line names: the graph and `order show` have all. */
#define STEPS_NAMED 3

static bool is_word(const char *a, const char *b)
{
    return strcmp(a, b) == 0;
}

static const char *reason_text(const char *word)
{
    enum mg_reason reason = MG_REASON_NONE;
    return mg_reason_parse(word, strlen(word), &reason) ? mg_reason_text(reason) : word;
}

static void queue_of(const struct mg_table *order, const char *service, char queue[MG_QUEUE_NAME_SIZE])
{
    mg_topology_request_queue(service, is_word(mg_table_cell(order, 0, "is_high"), "t"), queue);
}

static void breaker_write(struct mg_buf *out, const struct mg_table *services, const char *service)
{
    for (int row = 0; row < services->row_count; row++) {
        if (is_word(mg_table_cell(services, row, "service"), service) &&
            !is_word(mg_table_cell(services, row, "breaker"), "closed")) {
            mg_buf_printf(out, "; agent %s reports breaker %s: %s", mg_table_cell(services, row, "instance"),
                          mg_table_cell(services, row, "breaker"), mg_table_cell(services, row, "reason"));
            return;
        }
    }
}

/* Appends the name of the operator and the reason if the service is paused. */
static void pause_write(struct mg_buf *out, const struct mg_table *controlled, const char *service)
{
    for (int row = 0; row < controlled->row_count; row++) {
        if (is_word(mg_table_cell(controlled, row, "service"), service) &&
            is_word(mg_table_cell(controlled, row, "state"), "paused")) {
            mg_buf_printf(out, "; paused by %s: %s", mg_table_cell(controlled, row, "by_whom"),
                          mg_table_cell(controlled, row, "reason"));
        }
    }
}

static void queue_write(struct mg_buf *out, const struct mg_explain_queue *queue, const char *name)
{
    if (queue == NULL) {
        return;
    }
    if (queue->consumers < 0) {
        char command[MG_APPLY_COMMAND_SIZE];
        mg_topology_apply_command(&name, 1, command);
        mg_buf_printf(out, "; queue %s does not exist; run: %s", name, command);
    } else if (queue->consumers == 0) {
        mg_buf_printf(out, "; no agent consumes queue %s, which holds %lld requests", name,
                      (long long)queue->ready);
    }
}

/* Waits that end when the queue is declared or gets a consumer. */
static bool is_queue_asked(const char *reason)
{
    return is_word(reason, "no_consumer") || is_word(reason, "unpublishable");
}

static bool is_running(const char *state)
{
    return is_word(state, "running") || is_word(state, "undo_running");
}

/* The step is parked without a set time: the supervisor nudges it when the gate of its service opens. */
static bool is_for_gate(const char *reason)
{
    return is_word(reason, "no_consumer") || is_word(reason, "breaker_open") ||
           is_word(reason, "service_paused") || is_word(reason, "window_full");
}

static void step_write(struct mg_buf *out, const struct mg_explain_facts *facts, int row)
{
    const struct mg_table *steps = facts->steps;
    const char *state = mg_table_cell(steps, row, "state");
    const char *service = mg_table_cell(steps, row, "service");
    const char *reason = mg_table_cell(steps, row, "reason");
    char queue[MG_QUEUE_NAME_SIZE];
    queue_of(facts->order, service, queue);
    mg_buf_printf(out, "step %s ", mg_table_cell(steps, row, "step"));
    if (is_word(reason, mg_reason_name(MG_REASON_AWAITING_SIGNAL)) &&
        mg_table_cell(steps, row, MG_STEPS_WHY)[0] != '\0') {
        mg_buf_append_text(out, mg_table_cell(steps, row, MG_STEPS_WHY));
        return; /* it calls nothing */
    }
    if (is_word(reason, mg_reason_name(MG_REASON_AWAITING_SIGNAL)) ||
        is_word(reason, mg_reason_name(MG_REASON_SLEEPING))) {
        mg_buf_printf(out, "waits until %s: %s", mg_table_cell(steps, row, "due_at"), reason_text(reason));
        return;
    }
    if (is_running(state)) {
        mg_buf_printf(out, "runs attempt %s (%s) at service %s until %s, through queue %s",
                      mg_table_cell(steps, row, "attempt"), mg_table_cell(steps, row, "kind"), service,
                      mg_table_cell(steps, row, "complete_by"), queue);
        queue_write(out, facts->queue, queue);
    } else if (is_word(reason, "no_consumer") && (facts->queue == NULL || facts->queue->consumers == 0)) {
        mg_buf_printf(out, "waits: no agent consumes queue %s; start one: makegood-agent --service FILE",
                      queue);
    } else if (is_queue_asked(reason) && facts->queue != NULL && facts->queue->consumers < 0) {
        mg_buf_printf(out, "for service %s waits", service);
        queue_write(out, facts->queue, queue);
    } else if (mg_table_cell(steps, row, "due_at")[0] != '\0' && is_for_gate(reason)) {
        mg_buf_printf(out, "for service %s is parked: %s; it resumes when this ends (failures %s)", service,
                      reason_text(reason), mg_table_cell(steps, row, "failure_count"));
    } else if (is_word(reason, "asked_to_wait")) {
        mg_buf_printf(out, "for service %s waits: the service asked to wait until %s (failures %s)", service,
                      mg_table_cell(steps, row, "due_at"), mg_table_cell(steps, row, "failure_count"));
    } else if (mg_table_cell(steps, row, "due_at")[0] != '\0') {
        mg_buf_printf(out, "for service %s waits until %s: %s (failures %s)", service,
                      mg_table_cell(steps, row, "due_at"), reason_text(reason),
                      mg_table_cell(steps, row, "failure_count"));
    } else {
        mg_buf_printf(out, "for service %s is %s: %s", service, state, reason_text(reason));
    }
    const struct mg_slice code = mg_slice_of(mg_table_cell(steps, row, "error_code"));
    if (mg_error_is(code, MG_ERROR_REASON_NOT_DONE_YET) ||
        mg_error_is(code, MG_ERROR_REASON_ANSWER_UNCLEAR)) {
        mg_buf_printf(out, "; %s", mg_table_cell(steps, row, "error_text"));
    }
    breaker_write(out, facts->services, service);
    if (is_word(reason, "service_paused")) {
        pause_write(out, facts->controlled, service);
    }
}

/* The most important step: one that needs a person, then one that waits, then one that runs. On the way back
 * a step that failed is why the order turned back, and it waits for an undo. */
static int step_choose(const struct mg_table *steps)
{
    static const char *const order[] = {"undo_failed", "undo_waiting", "undo_pending", "undo_running",
                                        "failed",      "unknown",      "waiting",      "running"};
    for (size_t i = 0; i < sizeof(order) / sizeof(order[0]); i++) {
        for (int row = 0; row < steps->row_count; row++) {
            if (is_word(mg_table_cell(steps, row, "state"), order[i])) {
                return row;
            }
        }
    }
    return -1;
}

bool mg_explain_has_ended(const struct mg_table *order)
{
    const char *word = mg_table_cell(order, 0, "state");
    enum mg_order_state state = MG_ORDER_PENDING;
    return mg_order_state_parse(word, strlen(word), &state) && mg_order_state_is_terminal(state);
}

bool mg_explain_asks_controlled(const struct mg_table *steps)
{
    int row = step_choose(steps);
    return row >= 0 && is_word(mg_table_cell(steps, row, "reason"), "service_paused");
}

bool mg_explain_asks_queue(const struct mg_table *order, const struct mg_table *steps,
                           char ret_queue[MG_QUEUE_NAME_SIZE])
{
    const char *state = mg_table_cell(order, 0, "state");
    int row = step_choose(steps);
    if (row < 0 || is_word(state, "error") || mg_explain_has_ended(order) ||
        (!is_running(mg_table_cell(steps, row, "state")) &&
         !is_queue_asked(mg_table_cell(steps, row, "reason")))) {
        return false;
    }
    queue_of(order, mg_table_cell(steps, row, "service"), ret_queue);
    return true;
}

/* One part of a cause, behind the parts before it. */
static void part_write(struct mg_buf *out, struct mg_slice cause, const char *pointer, const char *first,
                       const char *later, bool *has_part)
{
    struct mg_slice text = mg_json_find(cause, pointer);
    if (text.len > strlen("\"\"") && mg_json_type_of(text) == MG_JSON_STRING) {
        mg_buf_append_text(out, *has_part ? later : first);
        (void)mg_json_string(text, out);
        *has_part = true;
    }
}

/* The cause as the client gets it, for an order that has turned back. */
static void cause_write(struct mg_buf *out, const struct mg_table *order)
{
    struct mg_err err;
    int64_t status;
    bool has_part = false;
    struct mg_slice cause = mg_slice_of(mg_table_cell(order, 0, "failure"));
    if (cause.len == 0 || mg_document_check(cause, &err) != MG_OK) {
        return; /* without memory the line lacks it */
    }
    part_write(out, cause, "/step", " (step ", "", &has_part);
    part_write(out, cause, "/code", " (", ": ", &has_part);
    part_write(out, cause, "/text", " (", ", ", &has_part);
    if (has_part && mg_document_integer(cause, "/status", &status)) {
        mg_buf_printf(out, ", HTTP status %lld", (long long)status);
    }
    mg_buf_append_text(out, has_part ? ")" : "");
}

/* The step's last failure, with the service's own words; or the reason of its guard. */
static void failure_write(struct mg_buf *out, const struct mg_table *steps, int row)
{
    if (mg_steps_is_refused(steps, row)) {
        mg_buf_printf(out, "; step %s is refused: %s", mg_table_cell(steps, row, "step"),
                      mg_table_cell(steps, row, MG_STEPS_WHY));
        return;
    }
    const char *message = mg_table_cell(steps, row, "error_message");
    const char *body = mg_table_cell(steps, row, "error_body");
    const char *text = mg_table_cell(steps, row, "error_text");
    text = text[0] != '\0' ? text : reason_text(mg_table_cell(steps, row, "reason"));
    mg_buf_printf(out, "; step %s is %s: %s%s%s%s%s", mg_table_cell(steps, row, "step"),
                  mg_table_cell(steps, row, "state"), text, message[0] != '\0' ? ": " : "", message,
                  body[0] != '\0' ? "; its answer: " : "", body);
}

/* The other steps that may have happened, and of which nobody knows it: a verb about one of them, or about
 * the order, leaves them in doubt. */
static void doubts_write(struct mg_buf *out, const struct mg_table *steps, int named)
{
    int count = 0;
    for (int row = 0; row < steps->row_count; row++) {
        const char *state = mg_table_cell(steps, row, "state");
        bool is_in_doubt = is_word(mg_table_cell(steps, row, "maybe"), "t") &&
                           !is_word(state, mg_step_state_name(MG_STEP_DONE)) &&
                           !is_word(state, mg_step_state_name(MG_STEP_UNDONE));
        if (is_in_doubt && row != named && count++ < STEPS_NAMED) {
            mg_buf_printf(out, "; step %s is %s, and may have happened", mg_table_cell(steps, row, "step"),
                          state);
        }
    }
    if (count > STEPS_NAMED) {
        mg_buf_printf(out, "; so may %d more", count - STEPS_NAMED);
    }
}

static void owed_write(struct mg_buf *out, const struct mg_table *owed)
{
    if (owed == NULL || owed->row_count == 0) {
        return;
    }
    const char *number = mg_table_cell(owed, 0, "owed"), *given_up = mg_table_cell(owed, 0, "given_up");
    if (!is_word(number, "0")) {
        mg_buf_printf(out, "; queue %s has accepted no statuses since %s; delivery is retried",
                      mg_table_cell(owed, 0, "reply_to"), mg_table_cell(owed, 0, "owed_since"));
    }
    if (!is_word(given_up, "0")) {
        mg_buf_printf(out,
                      "; statuses of %s events were given up, the last at %s, because no queue accepted them",
                      given_up, mg_table_cell(owed, 0, "given_up_at"));
    }
}

/* The steps in this state that have a reason; `words` stand between step and reason. */
static void whys_write(struct mg_buf *out, const struct mg_table *steps, const char *state, const char *words)
{
    int count = 0;
    for (int row = 0; row < steps->row_count; row++) {
        const char *why = mg_table_cell(steps, row, MG_STEPS_WHY);
        if (!is_word(mg_table_cell(steps, row, "state"), state) || why[0] == '\0') {
            continue;
        }
        if (count++ < STEPS_NAMED) {
            mg_buf_printf(out, "; step %s is %s: %s", mg_table_cell(steps, row, "step"), words, why);
        }
    }
    if (count > STEPS_NAMED) {
        mg_buf_printf(out, "; so %s %d more", count == STEPS_NAMED + 1 ? "is" : "are", count - STEPS_NAMED);
    }
}

/* Unreadable results: the steps are done, and all that needs them fails. */
static void unreadable_write(struct mg_buf *out, const struct mg_table *steps)
{
    for (int row = 0; row < steps->row_count; row++) {
        const char *unreadable = mg_table_cell(steps, row, "unreadable");
        if (unreadable[0] != '\0' && mg_table_cell(steps, row, "result")[0] == '\0') {
            mg_buf_printf(out, "; step %s has a result that cannot be read: %s",
                          mg_table_cell(steps, row, "step"), unreadable);
        }
    }
}

/* The branches of an order that goes forward, or has gone: taken back, they matter no more. */
static void branches_write(struct mg_buf *out, const struct mg_table *order, const struct mg_table *steps)
{
    static const enum mg_order_state back[] = {MG_ORDER_COMPENSATING, MG_ORDER_COMPENSATED,
                                               MG_ORDER_CANCELLED};
    for (size_t i = 0; i < sizeof(back) / sizeof(back[0]); i++) {
        if (is_word(mg_table_cell(order, 0, "state"), mg_order_state_name(back[i]))) {
            return;
        }
    }
    whys_write(out, steps, mg_step_state_name(MG_STEP_SKIPPED), "skipped");
    whys_write(out, steps, MG_STEPS_NOT_YET, "not yet decided");
    whys_write(out, steps, mg_step_state_name(MG_STEP_PENDING), "pending");
}

/* ---- lines ---- */

/* The order's own row of its line; -1: it has none. */
static int line_row(const struct mg_explain_facts *facts)
{
    const char *order_id = mg_table_cell(facts->order, 0, "order_id");
    for (int row = 0; facts->line != NULL && row < facts->line->row_count; row++) {
        if (is_word(mg_table_cell(facts->line, row, "order_id"), order_id)) {
            return row;
        }
    }
    return -1;
}

const char *mg_explain_line_key(const struct mg_explain_facts *facts)
{
    int row = line_row(facts);
    return row >= 0 ? mg_table_cell(facts->line, row, "key") : "";
}

static bool is_in_line(const struct mg_table *order)
{
    return is_word(mg_table_cell(order, 0, "state"), mg_order_state_name(MG_ORDER_PENDING)) &&
           is_word(mg_table_cell(order, 0, "reason"), mg_reason_name(MG_REASON_IN_LINE));
}

static void in_line_write(struct mg_buf *out, const struct mg_explain_facts *facts)
{
    const struct mg_table *line = facts->line;
    int row = line_row(facts);
    if (row < 0) {
        mg_buf_printf(out, ": %s", mg_reason_text(MG_REASON_IN_LINE));
        return;
    }
    const char *before = mg_table_cell(line, row, "before"), *state = mg_table_cell(line, 0, "state");
    mg_buf_printf(out, ": in line for %s", mg_table_cell(line, row, "key"));
    if (is_word(before, "0")) {
        mg_buf_append_text(out, ", at its head: it begins in a moment");
        return;
    }
    mg_buf_printf(out, " after %s other%s; the head is %s, ", before, is_word(before, "1") ? "" : "s",
                  mg_table_cell(line, 0, "order_id"));
    if (is_word(state, mg_order_state_name(MG_ORDER_ERROR))) {
        mg_buf_printf(out,
                      "in error, last changed at %s: resume it, or let the next go with order release %s",
                      mg_table_cell(line, 0, "updated_at"), mg_table_cell(line, 0, "order_id"));
    } else {
        mg_buf_append_text(out, state);
    }
}

/* The others that an order in error holds up. */
static void holds_write(struct mg_buf *out, const struct mg_explain_facts *facts)
{
    int row = line_row(facts);
    int64_t length = row < 0 ? 0 : strtoll(mg_table_cell(facts->line, row, "length"), NULL, 10);
    if (row >= 0 && is_word(mg_table_cell(facts->line, row, "before"), "0") && length > 1) {
        mg_buf_printf(out, "; %lld others wait in line for %s: order release lets the next go",
                      (long long)length - 1, mg_table_cell(facts->line, row, "key"));
    }
}

void mg_explain_write(struct mg_buf *out, const struct mg_explain_facts *facts)
{
    const struct mg_table *order = facts->order, *steps = facts->steps;
    const char *state = mg_table_cell(order, 0, "state");
    int row = step_choose(steps);
    mg_buf_printf(out, "order %s is %s", mg_table_cell(order, 0, "order_id"), state);
    if (is_word(state, "error")) {
        bool is_of_output = row < 0 && is_word(mg_table_cell(order, 0, "reason"), "unrenderable");
        mg_buf_printf(out, ": %s",
                      is_of_output ? mg_table_cell(order, 0, "status_reason")
                                   : reason_text(mg_table_cell(order, 0, "reason")));
        if (row >= 0) {
            failure_write(out, steps, row);
        }
        doubts_write(out, steps, row);
        mg_buf_append_text(out, "; it needs an operator: ");
        mg_operator_verbs_write(out, order, steps, facts->definition);
        holds_write(out, facts);
    } else if (mg_explain_has_ended(order)) {
        const char *reason = reason_text(mg_table_cell(order, 0, "reason"));
        const char *archived_on = mg_table_cell(order, 0, "archived_on");
        mg_buf_printf(out, "%s%s", reason[0] != '\0' ? ", because " : "", reason);
        cause_write(out, order);
        mg_buf_append_text(out, ": it has ended");
        if (archived_on[0] != '\0') {
            mg_buf_printf(out, ", and was archived on %s: it is read-only", archived_on);
        }
    } else if (is_in_line(order)) {
        in_line_write(out, facts);
    } else if (row >= 0) {
        cause_write(out, order);
        mg_buf_append_text(out, ": ");
        step_write(out, facts, row);
    } else {
        mg_buf_printf(out, ": no request has been sent yet; the supervisor checks it at %s",
                      mg_table_cell(order, 0, "wake_at"));
    }
    unreadable_write(out, steps);
    branches_write(out, order, steps);
    owed_write(out, facts->owed);
}
