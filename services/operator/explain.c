/* See explain.h. */
#include "operator/explain.h"

#include <stdlib.h>
#include <string.h>

#include "core/words.h"
#include "json/scan.h"
#include "operator/document.h"
#include "operator/forecast.h"
#include "operator/helpful_verbs.h"
#include "operator/order_rows.h"
#include "operator/steps.h"
#include "wire/reply.h"

/* Steps of one kind that a note names: the graph and `order show` have all. */
#define STEPS_NAMED 3
/* Its texts come from the database. */
#define TEXT_MAX ((size_t)1024 * 1024)

static bool is_word(const char *a, const char *b)
{
    return strcmp(a, b) == 0;
}

static enum mg_reason reason_of(const struct mg_table *table, int row)
{
    const char *word = mg_table_cell(table, row, "reason");
    enum mg_reason reason = MG_REASON_NONE;
    (void)mg_reason_parse(word, strlen(word), &reason);
    return reason;
}

static bool has_reason(const struct mg_table *steps, int row, enum mg_reason reason)
{
    return reason_of(steps, row) == reason;
}

/* A part of a line, after a semicolon if it has others. */
static void part_begin(struct mg_buf *out)
{
    mg_buf_append_text(out, out->len > 0 ? "; " : "");
}

static void queue_of(const struct mg_table *order, const char *service, char queue[MG_QUEUE_NAME_SIZE])
{
    mg_topology_request_queue(service, is_word(mg_table_cell(order, 0, "is_high"), "t"), queue);
}

/* Waits that end when the queue is declared or gets a consumer. */
static bool is_queue_asked(const char *reason)
{
    return is_word(reason, mg_reason_name(MG_REASON_NO_CONSUMER)) ||
           is_word(reason, mg_reason_name(MG_REASON_UNPUBLISHABLE));
}

static bool is_running(const char *state)
{
    return is_word(state, mg_step_state_name(MG_STEP_RUNNING)) ||
           is_word(state, mg_step_state_name(MG_STEP_UNDO_RUNNING));
}

/* The row of the step that holds the order where it is; -1: none. */
static int step_choose(const struct mg_table *row, const struct mg_table *steps)
{
    const char *state = mg_table_cell(row, 0, "state");
    struct mg_order order = {.step_count = steps->row_count < MG_STEPS_MAX ? steps->row_count : MG_STEPS_MAX};
    (void)mg_order_state_parse(state, strlen(state), &order.state);
    for (int i = 0; i < order.step_count; i++) {
        mg_step_of_row(steps, i, &order.steps[i]);
    }
    return mg_forecast_step(&order);
}

static bool is_in(const struct mg_table *order, enum mg_order_state state)
{
    return is_word(mg_table_cell(order, 0, "state"), mg_order_state_name(state));
}

bool mg_explain_has_ended(const struct mg_table *order)
{
    const char *word = mg_table_cell(order, 0, "state");
    enum mg_order_state state = MG_ORDER_PENDING;
    return mg_order_state_parse(word, strlen(word), &state) && mg_order_state_is_terminal(state);
}

bool mg_explain_asks_controlled(const struct mg_table *steps)
{
    for (int row = 0; row < steps->row_count; row++) {
        if (has_reason(steps, row, MG_REASON_SERVICE_PAUSED) ||
            has_reason(steps, row, MG_REASON_BREAKER_OPEN)) {
            return true;
        }
    }
    return false;
}

bool mg_explain_asks_queue(const struct mg_table *order, const struct mg_table *steps,
                           char ret_queue[MG_QUEUE_NAME_SIZE])
{
    int row = step_choose(order, steps);
    if (row < 0 || mg_explain_has_ended(order) ||
        (!is_running(mg_table_cell(steps, row, "state")) &&
         !is_queue_asked(mg_table_cell(steps, row, "reason")))) {
        return false;
    }
    queue_of(order, mg_table_cell(steps, row, "service"), ret_queue);
    return true;
}

/* ---- lines of orders with one key ---- */

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
    return is_in(order, MG_ORDER_PENDING) &&
           is_word(mg_table_cell(order, 0, "reason"), mg_reason_name(MG_REASON_IN_LINE));
}

static void in_line_what(struct mg_buf *out, const struct mg_explain_facts *facts, int row)
{
    const char *before = mg_table_cell(facts->line, row, "before");
    mg_buf_printf(out, ": in line for %s", mg_table_cell(facts->line, row, "key"));
    if (is_word(before, "0")) {
        mg_buf_append_text(out, ", at its head");
    } else {
        mg_buf_printf(out, " after %s other%s", before, is_word(before, "1") ? "" : "s");
    }
}

/* The state of the first order of its line. */
static void in_line_why(struct mg_buf *out, const struct mg_explain_facts *facts, int row)
{
    const struct mg_table *line = facts->line;
    const char *head = mg_table_cell(line, 0, "order_id"), *state = mg_table_cell(line, 0, "state");
    if (is_word(mg_table_cell(line, row, "before"), "0")) {
        mg_buf_append_text(out, "it is at the head of its line");
    } else if (is_word(state, mg_order_state_name(MG_ORDER_ERROR))) {
        mg_buf_printf(
            out,
            "the head is %s, in error, last changed at %s: resume it, or let the next go with order "
            "release %s",
            head, mg_table_cell(line, 0, "updated_at"), head);
    } else {
        mg_buf_printf(out, "the head is %s, %s", head, state);
    }
}

/* ---- the first line: the present step ---- */

/* An attempt by the policy: "attempt 2 of 5". */
static void attempt_write(struct mg_buf *out, const char *before, const struct mg_table *steps, int row)
{
    const char *counted = mg_table_cell(steps, row, MG_STEPS_COUNTED);
    const char *allowed = mg_table_cell(steps, row, MG_STEPS_ALLOWED);
    if (allowed[0] != '\0' && !is_word(counted, "0")) {
        mg_buf_printf(out, "%s%s of %s", before, counted, allowed);
    }
}

static void running_what(struct mg_buf *out, const struct mg_table *steps, int row)
{
    const char *kind = mg_table_cell(steps, row, "kind"), *service = mg_table_cell(steps, row, "service");
    if (is_word(kind, mg_kind_name(MG_KIND_VERIFY))) {
        mg_buf_printf(out, "is asked about at service %s", service);
        return;
    }
    bool is_undo = is_word(kind, mg_kind_name(MG_KIND_UNDO));
    mg_buf_printf(out, "%s at service %s", is_undo ? "is being undone" : "runs", service);
    attempt_write(out, ", attempt ", steps, row);
}

static void step_what(struct mg_buf *out, const struct mg_table *steps, int row)
{
    const char *word = mg_table_cell(steps, row, "state"), *service = mg_table_cell(steps, row, "service");
    enum mg_step_state state = MG_STEP_PENDING;
    (void)mg_step_state_parse(word, strlen(word), &state);
    mg_buf_printf(out, "step %s ", mg_table_cell(steps, row, "step"));
    switch (state) {
    case MG_STEP_RUNNING:
    case MG_STEP_UNDO_RUNNING:
        running_what(out, steps, row);
        break;
    case MG_STEP_WAITING:
        if (has_reason(steps, row, MG_REASON_SLEEPING)) {
            mg_buf_printf(out, "waits until %s", mg_table_cell(steps, row, "due_at"));
        } else if (has_reason(steps, row, MG_REASON_AWAITING_SIGNAL)) {
            const char *why = mg_table_cell(steps, row, MG_STEPS_WHY);
            mg_buf_append_text(out, why[0] != '\0' ? why : "waits for a signal");
        } else {
            mg_buf_printf(out, "waits for service %s", service);
            attempt_write(out, ", after attempt ", steps, row);
        }
        break;
    case MG_STEP_UNKNOWN:
        mg_buf_printf(out, "is in doubt at service %s", service);
        attempt_write(out, ", after attempt ", steps, row);
        break;
    case MG_STEP_UNDO_PENDING:
    case MG_STEP_UNDO_WAITING:
        mg_buf_printf(out, "is to be undone at service %s", service);
        attempt_write(out, ", after attempt ", steps, row);
        break;
    case MG_STEP_UNDO_FAILED:
        mg_buf_printf(out, "could not be undone at service %s", service);
        break;
    case MG_STEP_FAILED:
        mg_buf_append_text(out, mg_steps_is_refused(steps, row) ? "is refused" : "has failed");
        break;
    case MG_STEP_PENDING:
    case MG_STEP_DONE:
    case MG_STEP_SKIPPED:
    case MG_STEP_UNDONE:
    case MG_STEP_STATE_COUNT:
        mg_buf_printf(out, "is %s", word);
        break;
    }
}

static void what_write(struct mg_buf *out, const struct mg_explain_facts *facts, int row)
{
    const char *state = mg_table_cell(facts->order, 0, "state");
    bool is_error = is_in(facts->order, MG_ORDER_ERROR);
    mg_buf_printf(out, "order %s is %s%s", mg_table_cell(facts->order, 0, "order_id"), is_error ? "in " : "",
                  state);
    if (mg_explain_has_ended(facts->order) && !is_error) {
        mg_buf_append_text(out, ": it has ended");
    } else if (is_in_line(facts->order) && line_row(facts) >= 0) {
        in_line_what(out, facts, line_row(facts));
    } else if (row >= 0) {
        mg_buf_append_text(out, ": ");
        step_what(out, facts->steps, row);
    }
}

/* ---- the second line: why, in the service's words ---- */

/* The word of a reason after its text: " (reply_transient)". */
static void code_write(struct mg_explanation *ret, struct mg_buf *out, enum mg_reason reason)
{
    bool is_told = ret->code_count > 0 && ret->codes[0] == reason;
    if (reason != MG_REASON_NONE && !is_told && ret->code_count < MG_EXPLAIN_CODES_MAX) {
        ret->codes[ret->code_count++] = reason;
        mg_buf_printf(out, " (%s)", mg_reason_name(reason));
    }
}

static void reason_write(struct mg_explanation *ret, struct mg_buf *out, enum mg_reason reason)
{
    mg_buf_append_text(out, mg_reason_text(reason));
    code_write(ret, out, reason);
}

/* The begin of `why`, from a row of MG_REPORT_ORDER_SINCE. */
static void since_put(struct mg_explanation *ret, const char *text)
{
    if (mg_moment_of(text) > 0) {
        mg_time_format(mg_moment_of(text), ret->since);
    }
}

static void step_since(struct mg_explanation *ret, const struct mg_explain_facts *facts, int row,
                       const char *column)
{
    const char *step = mg_table_cell(facts->steps, row, "step");
    for (int i = 0; facts->since != NULL && i < facts->since->row_count; i++) {
        if (is_word(mg_table_cell(facts->since, i, "step"), step)) {
            since_put(ret, mg_table_cell(facts->since, i, column));
        }
    }
}

/* Of an ended order the moment of its end, of others that of their present state. */
static void order_since(struct mg_explanation *ret, const struct mg_explain_facts *facts)
{
    const char *since = facts->since != NULL ? mg_table_cell(facts->since, 0, "order_since") : "";
    bool is_end = mg_explain_has_ended(facts->order) && !is_in(facts->order, MG_ORDER_ERROR);
    since_put(ret, is_end || since[0] == '\0' ? mg_table_cell(facts->order, 0, "updated_at") : since);
}

static void breaker_write(struct mg_buf *out, const struct mg_table *services, const char *service)
{
    for (int row = 0; services != NULL && row < services->row_count; row++) {
        if (is_word(mg_table_cell(services, row, "service"), service) &&
            !is_word(mg_table_cell(services, row, "breaker"), "closed")) {
            const char *reason = mg_table_cell(services, row, "reason");
            part_begin(out);
            mg_buf_printf(out, "agent %s reports breaker %s%s%s", mg_table_cell(services, row, "instance"),
                          mg_table_cell(services, row, "breaker"), reason[0] != '\0' ? ": " : "", reason);
            return;
        }
    }
}

/* The last failure of a service to which no call is made: the step itself has none. */
static void service_failure_write(struct mg_buf *out, const struct mg_table *controlled, const char *service)
{
    for (int row = 0; controlled != NULL && row < controlled->row_count; row++) {
        const char *text = mg_table_cell(controlled, row, "error_text");
        if (is_word(mg_table_cell(controlled, row, "service"), service) && text[0] != '\0') {
            part_begin(out);
            mg_buf_printf(out, "its last failure: %s, at %s", text,
                          mg_table_cell(controlled, row, "error_at"));
            return;
        }
    }
}

/* The operator and the reason of a pause. False: no operator has paused the service. */
static bool pause_write(struct mg_buf *out, const struct mg_table *controlled, const char *service)
{
    for (int row = 0; controlled != NULL && row < controlled->row_count; row++) {
        if (is_word(mg_table_cell(controlled, row, "service"), service) &&
            is_word(mg_table_cell(controlled, row, "state"), "paused")) {
            const char *until = mg_table_cell(controlled, row, "paused_until");
            mg_buf_printf(out, "service %s is paused by %s%s%s: %s", service,
                          mg_table_cell(controlled, row, "by_whom"), until[0] != '\0' ? " until " : "", until,
                          mg_table_cell(controlled, row, "reason"));
            return true;
        }
    }
    return false;
}

static void queue_write(struct mg_buf *out, const struct mg_explain_queue *queue, const char *name,
                        const char *service)
{
    if (queue == NULL) {
        return;
    }
    if (queue->consumers < 0) {
        char command[MG_APPLY_COMMAND_SIZE];
        mg_topology_apply_command(&name, 1, command);
        part_begin(out);
        mg_buf_printf(out,
                      "no agent serves %s, and queue %s does not exist; in makegood dev give --service "
                      "%s=URL; elsewhere run: %s; then start an agent: makegood-agent --service FILE",
                      service, name, service, command);
    } else if (queue->consumers == 0) {
        part_begin(out);
        mg_buf_printf(out,
                      "no agent consumes queue %s, which holds %lld requests; start one: makegood-agent "
                      "--service FILE",
                      name, (long long)queue->ready);
    }
}

/* One part of a cause, behind the parts before it. */
static void cause_part(struct mg_buf *out, struct mg_slice cause, const char *pointer, const char *first,
                       const char *later, bool *has_part)
{
    struct mg_slice text = mg_json_find(cause, pointer);
    if (text.len > strlen("\"\"") && mg_json_type_of(text) == MG_JSON_STRING) {
        mg_buf_append_text(out, *has_part ? later : first);
        (void)mg_json_string(text, out);
        *has_part = true;
    }
}

/* The cause as the client gets it, for an order that has turned back. Without one, the order's reason. */
static void cause_write(struct mg_explanation *ret, const struct mg_table *order)
{
    struct mg_buf *out = &ret->why;
    struct mg_err err;
    int64_t status;
    bool has_part = false;
    enum mg_reason reason = reason_of(order, 0), code = MG_REASON_NONE;
    char word[MG_NAME_MAX + 1];
    const char *failure = mg_table_cell(order, 0, "failure"); /* the gateway's report names it otherwise */
    struct mg_slice cause = mg_slice_of(failure[0] != '\0' ? failure : mg_table_cell(order, 0, "cause"));
    if (cause.len == 0 || mg_document_check(cause, &err) != MG_OK) { /* or without memory */
        code_write(ret, out, reason);
        return;
    }
    (void)mg_document_text(cause, "/code", word, sizeof(word));
    ret->codes[ret->code_count++] = reason;
    if (mg_reason_parse(word, strlen(word), &code) && code != reason) {
        ret->codes[ret->code_count++] = code;
    }
    cause_part(out, cause, "/step", " (step ", "", &has_part);
    cause_part(out, cause, "/code", " (", ": ", &has_part);
    if (!mg_json_string_is(mg_json_find(cause, "/text"), mg_slice_of(mg_reason_text(reason)))) {
        cause_part(out, cause, "/text", " (", ", ", &has_part);
    }
    if (has_part && mg_document_integer(cause, "/status", &status)) {
        mg_buf_printf(out, ", HTTP status %lld", (long long)status);
    }
    mg_buf_append_text(out, has_part ? ")" : "");
}

/* The step's last failure, with the service's own words. False: it has none, or no call was made. */
static bool failure_write(struct mg_buf *out, const struct mg_table *steps, int row)
{
    const struct mg_slice code = mg_slice_of(mg_table_cell(steps, row, "error_code"));
    const enum mg_error_reason reason = mg_error_facts_read(code).reason;
    const char *text = mg_table_cell(steps, row, "error_text");
    const char *message = mg_table_cell(steps, row, "error_message");
    if (text[0] == '\0' || is_word(text, mg_reason_text(reason_of(steps, row))) ||
        reason == MG_ERROR_REASON_SERVICE_PAUSED || reason == MG_ERROR_REASON_BREAKER_OPEN) {
        return false;
    }
    part_begin(out);
    mg_buf_printf(out, "%s%s%s", text, message[0] != '\0' ? ": " : "", message);
    return true;
}

static void wait_why(struct mg_explanation *ret, const struct mg_explain_facts *facts, int row)
{
    struct mg_buf *out = &ret->why;
    const struct mg_table *steps = facts->steps;
    enum mg_reason reason = reason_of(steps, row);
    const char *service = mg_table_cell(steps, row, "service");
    bool is_told = reason == MG_REASON_NO_CONSUMER && facts->queue != NULL &&
                   facts->queue->consumers <= 0; /* by the queue itself */
    part_begin(out);
    if (reason == MG_REASON_ASKED_TO_WAIT) {
        mg_buf_printf(out, "the service asked to wait until %s", mg_table_cell(steps, row, "due_at"));
        code_write(ret, out, reason);
    } else if (reason == MG_REASON_SERVICE_PAUSED && pause_write(out, facts->controlled, service)) {
        code_write(ret, out, reason);
    } else if (!is_told) {
        reason_write(ret, out, reason);
    }
    (void)failure_write(out, steps, row);
    if (reason == MG_REASON_BREAKER_OPEN) {
        service_failure_write(out, facts->controlled, service);
    }
}

/* `since`: the column of its begin. */
static void step_why(struct mg_explanation *ret, const struct mg_explain_facts *facts, int row,
                     const char **ret_since)
{
    struct mg_buf *out = &ret->why;
    const struct mg_table *steps = facts->steps;
    const char *service = mg_table_cell(steps, row, "service");
    char queue[MG_QUEUE_NAME_SIZE];
    bool is_out = is_running(mg_table_cell(steps, row, "state"));
    queue_of(facts->order, service, queue);
    if (!is_out) {
        wait_why(ret, facts, row);
    } else if (is_word(mg_table_cell(steps, row, "is_accepted"), "t")) { /* it is polled */
        part_begin(out);
        reason_write(ret, out, MG_REASON_REMOTE_WORKING);
    } else if (is_word(mg_table_cell(steps, row, MG_STEPS_COUNTED), "1") || !failure_write(out, steps, row)) {
        part_begin(out);
        mg_buf_append_text(out, "its request is out, and has no answer yet");
        *ret_since = "changed_at";
    }
    if (is_out || is_queue_asked(mg_table_cell(steps, row, "reason"))) {
        queue_write(out, facts->queue, queue, service);
    }
    breaker_write(out, facts->services, service);
}

static void error_why(struct mg_explanation *ret, const struct mg_explain_facts *facts, int row)
{
    struct mg_buf *out = &ret->why;
    const char *status = mg_table_cell(facts->order, 0, "status_reason");
    enum mg_reason reason = reason_of(facts->order, 0);
    if (row < 0 && status[0] != '\0') { /* of its output, the status alone names the missing value */
        mg_buf_append_text(out, status);
        ret->codes[ret->code_count++] = reason;
        return;
    }
    reason_write(ret, out, reason);
    enum mg_reason its = row < 0 ? MG_REASON_NONE : reason_of(facts->steps, row);
    const char *refusal = mg_table_cell(facts->steps, row, MG_STEPS_WHY);
    if (row >= 0 && mg_steps_is_refused(facts->steps, row) && refusal[0] != '\0') {
        mg_buf_printf(out, ": %s", refusal);
        code_write(ret, out, its);
    } else if (row >= 0 && failure_write(out, facts->steps, row)) {
        code_write(ret, out, its);
    } else if (its != MG_REASON_NONE) {
        part_begin(out);
        reason_write(ret, out, its);
    }
}

static void turned_why(struct mg_explanation *ret, const struct mg_table *order)
{
    enum mg_reason reason = reason_of(order, 0);
    bool is_processed = reason == MG_REASON_NONE && is_in(order, MG_ORDER_PROCESSED);
    mg_buf_append_text(&ret->why, is_processed ? "every step is done or skipped" : mg_reason_text(reason));
    cause_write(ret, order);
}

static void line_why(struct mg_explanation *ret, const struct mg_explain_facts *facts)
{
    if (line_row(facts) < 0) {
        reason_write(ret, &ret->why, MG_REASON_IN_LINE);
        return;
    }
    in_line_why(&ret->why, facts, line_row(facts));
    code_write(ret, &ret->why, MG_REASON_IN_LINE);
}

static void why_write(struct mg_explanation *ret, const struct mg_explain_facts *facts, int row)
{
    const struct mg_table *order = facts->order;
    bool has_turned = is_in(order, MG_ORDER_COMPENSATING), has_ended = mg_explain_has_ended(order);
    const char *since = "since";
    if (is_in(order, MG_ORDER_ERROR)) {
        error_why(ret, facts, row);
    } else if (has_turned || has_ended) {
        turned_why(ret, order);
    }
    if (!has_ended && is_in_line(order)) {
        line_why(ret, facts);
    } else if (!has_ended && row >= 0) {
        step_why(ret, facts, row, &since);
    } else if (!has_ended) {
        part_begin(&ret->why);
        mg_buf_append_text(&ret->why, "no request has been sent yet");
    }
    if (has_turned || has_ended || row < 0 || is_in_line(order)) {
        order_since(ret, facts);
    } else {
        step_since(ret, facts, row, since);
    }
}

/* ---- the third line ---- */

static void next_write(struct mg_explanation *explanation, const struct mg_explain_facts *facts, int row)
{
    const char *archived_on = mg_table_cell(facts->order, 0, "archived_on");
    struct mg_buf *out = &explanation->next;
    if (is_in(facts->order, MG_ORDER_ERROR)) {
        mg_buf_append_text(out, "it needs an operator: ");
        mg_operator_verbs_write(out, facts->order, facts->steps, facts->definition);
    } else if (mg_explain_has_ended(facts->order)) {
        mg_buf_append_text(out, "nothing");
        if (archived_on[0] != '\0') {
            mg_buf_printf(out, ": it was archived on %s, and it is read-only", archived_on);
        }
    } else {
        mg_explain_next_write(explanation, facts, row);
    }
}

/* ---- notes ---- */

/* The body that the service refused with. */
static void body_note(struct mg_buf *out, const struct mg_table *steps, int row)
{
    const char *body = row >= 0 ? mg_table_cell(steps, row, "error_body") : "";
    if (body[0] != '\0') {
        mg_buf_printf(out, "its answer: %s\n", body);
    }
}

/* The other steps that may have happened, and of which nobody knows it: a verb about one of them, or about
 * the order, leaves them in doubt. */
static void doubts_note(struct mg_buf *out, const struct mg_table *steps, int named)
{
    int count = 0;
    for (int row = 0; row < steps->row_count; row++) {
        const char *state = mg_table_cell(steps, row, "state");
        bool is_in_doubt = is_word(mg_table_cell(steps, row, "maybe"), "t") &&
                           !is_word(state, mg_step_state_name(MG_STEP_DONE)) &&
                           !is_word(state, mg_step_state_name(MG_STEP_UNDONE));
        if (is_in_doubt && row != named && count++ < STEPS_NAMED) {
            mg_buf_printf(out, "step %s is %s, and may have happened\n", mg_table_cell(steps, row, "step"),
                          state);
        }
    }
    if (count > STEPS_NAMED) {
        mg_buf_printf(out, "%d more may have happened\n", count - STEPS_NAMED);
    }
}

/* The others that an order in error holds up. */
static void holds_note(struct mg_buf *out, const struct mg_explain_facts *facts)
{
    int row = line_row(facts);
    int64_t length = row < 0 ? 0 : strtoll(mg_table_cell(facts->line, row, "length"), NULL, 10);
    if (row >= 0 && is_word(mg_table_cell(facts->line, row, "before"), "0") && length > 1) {
        mg_buf_printf(out, "%lld others wait in line for %s: order release lets the next go\n",
                      (long long)length - 1, mg_table_cell(facts->line, row, "key"));
    }
}

static void owed_note(struct mg_buf *out, const struct mg_table *owed)
{
    if (owed == NULL || owed->row_count == 0) {
        return;
    }
    const char *number = mg_table_cell(owed, 0, "owed"), *given_up = mg_table_cell(owed, 0, "given_up");
    if (!is_word(number, "0")) {
        mg_buf_printf(out, "queue %s has accepted no statuses since %s; delivery is retried\n",
                      mg_table_cell(owed, 0, "reply_to"), mg_table_cell(owed, 0, "owed_since"));
    }
    if (!is_word(given_up, "0")) {
        mg_buf_printf(out,
                      "statuses of %s events were given up, the last at %s, because no queue accepted them\n",
                      given_up, mg_table_cell(owed, 0, "given_up_at"));
    }
}

/* The steps in this state that have a reason; `words` stand between step and reason. */
static void whys_note(struct mg_buf *out, const struct mg_table *steps, const char *state, const char *words)
{
    int count = 0;
    for (int row = 0; row < steps->row_count; row++) {
        const char *why = mg_table_cell(steps, row, MG_STEPS_WHY);
        if (is_word(mg_table_cell(steps, row, "state"), state) && why[0] != '\0' && count++ < STEPS_NAMED) {
            mg_buf_printf(out, "step %s is %s: %s\n", mg_table_cell(steps, row, "step"), words, why);
        }
    }
    if (count > STEPS_NAMED) {
        mg_buf_printf(out, "%d more step%s %s\n", count - STEPS_NAMED,
                      count == STEPS_NAMED + 1 ? " is" : "s are", words);
    }
}

/* The other steps that wait for signals. */
static void waits_note(struct mg_buf *out, const struct mg_table *steps, int named)
{
    int count = 0;
    for (int row = 0; row < steps->row_count; row++) {
        const char *why = mg_table_cell(steps, row, MG_STEPS_WHY);
        bool is_waiting = is_word(mg_table_cell(steps, row, "state"), mg_step_state_name(MG_STEP_WAITING));
        if (is_waiting && row != named && why[0] != '\0' && count++ < STEPS_NAMED) {
            mg_buf_printf(out, "step %s %s\n", mg_table_cell(steps, row, "step"), why);
        }
    }
    if (count > STEPS_NAMED) {
        mg_buf_printf(out, "%d more wait\n", count - STEPS_NAMED);
    }
}

/* Unreadable results: the steps are done, and all that needs them fails. */
static void unreadable_note(struct mg_buf *out, const struct mg_table *steps)
{
    for (int row = 0; row < steps->row_count; row++) {
        const char *unreadable = mg_table_cell(steps, row, "unreadable");
        if (unreadable[0] != '\0' && mg_table_cell(steps, row, "result")[0] == '\0') {
            mg_buf_printf(out, "step %s has a result that cannot be read: %s\n",
                          mg_table_cell(steps, row, "step"), unreadable);
        }
    }
}

/* The branches of an order that goes forward, or has gone: taken back, they matter no more. */
static void branches_note(struct mg_buf *out, const struct mg_table *order, const struct mg_table *steps)
{
    if (is_in(order, MG_ORDER_COMPENSATING) || is_in(order, MG_ORDER_COMPENSATED) ||
        is_in(order, MG_ORDER_CANCELLED)) {
        return;
    }
    whys_note(out, steps, mg_step_state_name(MG_STEP_SKIPPED), "skipped");
    whys_note(out, steps, MG_STEPS_NOT_YET, "not yet decided");
    whys_note(out, steps, mg_step_state_name(MG_STEP_PENDING), "pending");
}

static void notes_write(struct mg_buf *out, const struct mg_explain_facts *facts, int row)
{
    if (is_in(facts->order, MG_ORDER_ERROR)) {
        body_note(out, facts->steps, row);
        doubts_note(out, facts->steps, row);
        holds_note(out, facts);
    }
    waits_note(out, facts->steps, row);
    unreadable_note(out, facts->steps);
    if (facts->has_branches) {
        branches_note(out, facts->order, facts->steps);
    }
    owed_note(out, facts->owed);
}

/* ---- the whole ---- */

void mg_explanation_init(struct mg_explanation *ret)
{
    *ret = (struct mg_explanation){.since = ""};
    mg_buf_init(&ret->what, TEXT_MAX);
    mg_buf_init(&ret->why, TEXT_MAX);
    mg_buf_init(&ret->next, TEXT_MAX);
    mg_buf_init(&ret->notes, TEXT_MAX);
}

void mg_explanation_make(struct mg_explanation *ret, const struct mg_explain_facts *facts)
{
    int row = step_choose(facts->order, facts->steps);
    mg_explanation_init(ret);
    what_write(&ret->what, facts, row);
    why_write(ret, facts, row);
    next_write(ret, facts, row);
    notes_write(&ret->notes, facts, row);
}

void mg_explanation_free(struct mg_explanation *explanation)
{
    mg_buf_finish(&explanation->what);
    mg_buf_finish(&explanation->why);
    mg_buf_finish(&explanation->next);
    mg_buf_finish(&explanation->notes);
}

/* The next note, without its end; absent: there is none. */
static struct mg_slice note_take(struct mg_slice *rest)
{
    const char *end = rest->len > 0 ? memchr(rest->data, '\n', rest->len) : NULL;
    struct mg_slice note = {rest->data, end != NULL ? (size_t)(end - rest->data) : rest->len};
    size_t taken = end != NULL ? note.len + 1 : note.len;
    *rest = (struct mg_slice){rest->data + taken, rest->len - taken};
    return note;
}

void mg_explanation_write(struct mg_json_writer *json, const struct mg_explanation *explanation)
{
    struct mg_slice rest = mg_buf_slice(&explanation->notes);
    mg_json_member_object(json, "explanation");
    mg_json_member_text(json, "what", mg_buf_slice(&explanation->what));
    mg_json_member_string_or_null(json, "since", explanation->since);
    mg_json_member_text(json, "why", mg_buf_slice(&explanation->why));
    mg_json_member_array(json, "codes");
    for (int i = 0; i < explanation->code_count; i++) {
        mg_json_element_text(json, mg_slice_of(mg_reason_name(explanation->codes[i])));
    }
    mg_json_array_end(json);
    mg_json_member_text(json, "next", mg_buf_slice(&explanation->next));
    mg_json_member_string_or_null(json, "next_at", explanation->next_at);
    mg_json_member_array(json, "notes");
    while (rest.len > 0) {
        mg_json_element_text(json, note_take(&rest));
    }
    mg_json_array_end(json);
    mg_json_object_end(json);
}

static void line_format(struct mg_buf *out, const char *before, struct mg_slice text, int64_t now_ms)
{
    mg_buf_append_text(out, before);
    mg_moments_format(out, text, now_ms);
    mg_buf_append_text(out, "\n");
}

void mg_explanation_format(struct mg_buf *out, const struct mg_explanation *explanation, int64_t now_ms)
{
    struct mg_slice rest = mg_buf_slice(&explanation->notes);
    line_format(out, "", mg_buf_slice(&explanation->what), now_ms);
    mg_buf_append_text(out, explanation->since[0] != '\0' ? "since " : "");
    mg_moments_format(out, mg_slice_of(explanation->since), now_ms);
    line_format(out, explanation->since[0] != '\0' ? ": " : "", mg_buf_slice(&explanation->why), now_ms);
    line_format(out, "next: ", mg_buf_slice(&explanation->next), now_ms);
    while (rest.len > 0) {
        line_format(out, "also: ", note_take(&rest), now_ms);
    }
}
