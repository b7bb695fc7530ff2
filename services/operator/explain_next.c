/* The third line of an explanation: the next request, or the end of a wait, by the core's forecast. */
#include <string.h>

#include "core/words.h"
#include "operator/explain.h"
#include "operator/forecast.h"
#include "operator/helpful_verbs.h"
#include "operator/order_rows.h"

/* Steps to be undone that the line names: the graph has all. */
#define UNDOES_NAMED 4
/* Bytes of a path: a line holds two of them. */
#define PATH_SHOWN_MAX 40
/* As the schedulers' options have them by default: only a moment of some seconds depends on them. */
#define QUIESCE_MS 3000
#define PARK_MS    1000

struct outlook {
    struct mg_buf *out;
    int64_t *first_ms; /* the first moment of the line */
    const struct mg_workflow *workflow;
    const struct mg_forecast *forecast;
    int step;
    int64_t gate_at_ms; /* the service may take requests again then; 0: not known */
    const char *gate;   /* what then happens */
};

void mg_explain_call_write(struct mg_buf *out, const struct mg_workflow *workflow, int step, int call)
{
    const struct mg_action *action = &workflow->steps[step].actions[call];
    char path[PATH_SHOWN_MAX + 1];
    if (!action->is_present) {
        mg_buf_append_text(out, mg_call_name(call));
        return;
    }
    struct mg_slice whole = action->path;
    const char *reference = memmem(whole.data, whole.len, "${", 2);
    size_t len = reference != NULL ? (size_t)(reference - whole.data) : whole.len;
    len = mg_utf8_cut((struct mg_slice){whole.data, len}, PATH_SHOWN_MAX);
    memcpy(path, whole.data, len);
    path[len] = '\0';
    mg_text_make_plain(path);
    mg_buf_printf(out, "%s %s%s", action->method, path, len < whole.len ? "…" : "");
}

static void moment_write(const struct outlook *outlook, const char *before, int64_t at_ms)
{
    char text[MG_TIME_TEXT_SIZE];
    mg_time_format(at_ms, text);
    mg_buf_printf(outlook->out, "%s%s", before, text);
    if (*outlook->first_ms == 0 || at_ms < *outlook->first_ms) {
        *outlook->first_ms = at_ms;
    }
}

static void call_write(const struct outlook *outlook, const struct mg_coming_request *request)
{
    mg_explain_call_write(outlook->out, outlook->workflow, outlook->step,
                          request->asks_undone ? MG_CALL_UNDO_VERIFY : (int)request->kind);
}

static void attempt_write(struct mg_buf *out, const char *before, const struct mg_coming_request *request)
{
    if (request->number > 0) {
        mg_buf_printf(out, "%s%s%sattempt %u of %u", before, request->is_cooled ? "a cool-down, then " : "",
                      request->kind == MG_KIND_UNDO ? "undo " : "", request->number, request->allowed);
    }
}

/* "sends POST /rooms", "asks GET /rooms/…", "undoes by DELETE /rooms/…" */
static void request_write(const struct outlook *outlook, const struct mg_coming_request *request)
{
    static const char *const verbs[MG_KIND_COUNT] = {
        [MG_KIND_DO] = "sends ", [MG_KIND_UNDO] = "undoes by ", [MG_KIND_VERIFY] = "asks "};
    mg_buf_append_text(outlook->out, verbs[request->kind]);
    call_write(outlook, request);
}

/* The request after one that fails. */
static void again_write(const struct outlook *outlook)
{
    const struct mg_forecast *forecast = outlook->forecast;
    const struct mg_coming_request *again = &forecast->again;
    bool is_verify = forecast->request.kind == MG_KIND_VERIFY;
    bool is_same = is_verify && again->kind == MG_KIND_VERIFY; /* a poll that finds nothing yet */
    if (!again->is_known || is_same) {
        return;
    }
    mg_buf_append_text(outlook->out, is_verify                              ? "; if absent: "
                                     : forecast->coming == MG_COMING_ANSWER ? "; without it: "
                                                                            : "; if it fails: ");
    if (again->number > 0) {
        attempt_write(outlook->out, "", again);
    } else {
        request_write(outlook, again);
    }
}

/* "undo flight, hotel; " of the steps besides `except`. */
static void undos_write(const struct outlook *outlook, const struct mg_ending *ending, int except)
{
    struct mg_buf *out = outlook->out;
    int count = 0;
    for (int i = 0; i < ending->undone_count; i++) {
        if (ending->undone[i] != except && count++ < UNDOES_NAMED) {
            mg_buf_printf(out, "%s%s", count == 1 ? "undo " : ", ",
                          outlook->workflow->steps[ending->undone[i]].name);
        }
    }
    if (count > UNDOES_NAMED) {
        mg_buf_printf(out, " and %d more", count - UNDOES_NAMED);
    }
    mg_buf_append_text(out, count > 0 ? "; " : "");
}

/* "undo flight, hotel; the client is told compensated" */
static void ending_write(const struct outlook *outlook, const struct mg_ending *ending, int except)
{
    struct mg_buf *out = outlook->out;
    if (ending->state == MG_ORDER_PROCESSED) {
        mg_buf_append_text(out, "the order goes on");
        return;
    }
    undos_write(outlook, ending, except);
    mg_buf_append_text(out, ending->state == MG_ORDER_ERROR ? "an operator must decide; " : "");
    mg_buf_printf(out, "the client is told %s", mg_order_state_name(ending->state));
}

static void failure_write(const struct outlook *outlook, const char *before)
{
    if (outlook->forecast->failed.is_known) {
        mg_buf_append_text(outlook->out, before);
        ending_write(outlook, &outlook->forecast->failed, -1);
    }
}

/* An order on its way back has its way to the end. */
static void success_write(const struct outlook *outlook)
{
    const struct mg_forecast *forecast = outlook->forecast;
    bool is_backward = forecast->request.kind == MG_KIND_UNDO || forecast->request.asks_undone;
    if (is_backward && forecast->succeeded.is_known) {
        mg_buf_append_text(outlook->out, "; then ");
        ending_write(outlook, &forecast->succeeded, outlook->step);
    }
}

/* The service works on until the time of accepted work is over. */
static void unfinished_write(const struct outlook *outlook)
{
    const struct mg_forecast *forecast = outlook->forecast;
    if (forecast->finish_at_ms != 0 && forecast->unfinished.is_known) {
        moment_write(outlook, "; if it is not finished at ", forecast->finish_at_ms);
        mg_buf_append_text(outlook->out, ": ");
        ending_write(outlook, &forecast->unfinished, -1);
    }
}

static void request_coming(const struct outlook *outlook)
{
    const struct mg_forecast *forecast = outlook->forecast;
    const char *service = outlook->workflow->steps[outlook->step].service;
    if (forecast->coming == MG_COMING_ANSWER) {
        mg_buf_printf(outlook->out, "%s answers ", service);
        call_write(outlook, &forecast->request);
        moment_write(outlook, " by ", forecast->at_ms);
    } else if (forecast->coming == MG_COMING_GATE) {
        mg_buf_printf(outlook->out, "as soon as %s takes requests", service);
        if (outlook->gate_at_ms != 0) {
            moment_write(outlook, outlook->gate, outlook->gate_at_ms);
        }
        mg_buf_append_text(outlook->out, ": ");
        request_write(outlook, &forecast->request);
    } else {
        request_write(outlook, &forecast->request);
        moment_write(outlook, " at ", forecast->at_ms);
    }
    attempt_write(outlook->out, ", ", &forecast->request);
    success_write(outlook);
    again_write(outlook);
    failure_write(outlook, forecast->again.is_known                   ? "; if that fails: "
                           : forecast->request.kind == MG_KIND_VERIFY ? "; if absent or refused: "
                                                                      : "; if it fails: ");
    unfinished_write(outlook);
}

/* The end of the order's time comes first, or it alone has a moment. */
static void expiry_write(const struct outlook *outlook)
{
    const struct mg_forecast *forecast = outlook->forecast;
    bool is_earlier = forecast->at_ms == 0 || forecast->expires_at_ms < forecast->at_ms;
    if (forecast->expires_at_ms != 0 && is_earlier && forecast->expired.is_known) {
        moment_write(outlook, "; at ", forecast->expires_at_ms);
        mg_buf_append_text(outlook->out, " the order's time is over: ");
        ending_write(outlook, &forecast->expired, -1);
    }
}

static void outlook_write(const struct outlook *outlook)
{
    const struct mg_forecast *forecast = outlook->forecast;
    switch (forecast->coming) {
    case MG_COMING_REQUEST:
    case MG_COMING_GATE:
    case MG_COMING_ANSWER:
        request_coming(outlook);
        break;
    case MG_COMING_SIGNAL:
        mg_buf_append_text(outlook->out, "a signal ends the wait");
        moment_write(outlook, ", by ", forecast->at_ms);
        failure_write(outlook, "; without it: ");
        break;
    case MG_COMING_MOMENT:
        moment_write(outlook, "the wait ends at ", forecast->at_ms);
        break;
    case MG_COMING_TURN:
        mg_buf_append_text(outlook->out, "it begins when the orders before it in its line have ended");
        break;
    case MG_COMING_NOTHING:
        mg_buf_append_text(outlook->out, "an operator or a service must tell whether the step happened");
        break;
    }
    expiry_write(outlook);
}

/* Without the definition: the moment of the row alone. */
static void bare_write(struct mg_explanation *explanation, const struct mg_explain_facts *facts, int row)
{
    const char *wake_at = mg_table_cell(facts->order, 0, "wake_at");
    const char *due_at = mg_table_cell(facts->steps, row, "due_at");
    const char *at = due_at[0] != '\0' ? due_at : wake_at;
    mg_buf_printf(&explanation->next, "the supervisor looks at it%s%s",
                  at[0] != '\0' ? " at " : " in a moment", at);
    if (mg_moment_of(at) > 0) {
        mg_time_format(mg_moment_of(at), explanation->next_at);
    }
}

/* The end of a pause, or the next probe of an open breaker. */
static void gate_find(struct outlook *outlook, const struct mg_explain_facts *facts, int row, int64_t now_ms)
{
    const struct mg_table *controlled = facts->controlled;
    const char *service = mg_table_cell(facts->steps, row, "service");
    const char *reason = mg_table_cell(facts->steps, row, "reason");
    bool is_paused = strcmp(reason, mg_reason_name(MG_REASON_SERVICE_PAUSED)) == 0;
    bool is_known = is_paused || strcmp(reason, mg_reason_name(MG_REASON_BREAKER_OPEN)) == 0;
    for (int i = 0; is_known && controlled != NULL && i < controlled->row_count; i++) {
        int64_t at_ms = mg_moment_of(mg_table_cell(controlled, i, is_paused ? "paused_until" : "probe_at"));
        if (strcmp(mg_table_cell(controlled, i, "service"), service) == 0 && at_ms > now_ms) {
            outlook->gate = is_paused ? ", at the end of its pause at " : ", next probed at ";
            outlook->gate_at_ms = at_ms;
        }
    }
}

static int64_t now_of(const struct mg_explain_facts *facts)
{
    int64_t now_ms = facts->since != NULL ? mg_moment_of(mg_table_cell(facts->since, 0, "now")) : 0;
    return now_ms > 0 ? now_ms : mg_clock_wall_ms();
}

static void forecast_write(struct mg_explanation *explanation, const struct mg_explain_facts *facts,
                           const struct mg_workflow *workflow, int row)
{
    struct mg_order order;
    struct mg_forecast forecast;
    const struct mg_context context = {
        .now_ms = now_of(facts), .quiesce_ms = QUIESCE_MS, .park_ms = PARK_MS, .known_results = UINT64_MAX};
    int step = mg_workflow_step_index(workflow, mg_slice_of(mg_table_cell(facts->steps, row, "step")));
    if (!mg_order_of_rows(facts->order, facts->steps, workflow, &order)) {
        bare_write(explanation, facts, row);
        return;
    }
    mg_forecast_find(&workflow->plan, &context, &order, step, &forecast);
    if (forecast.coming == MG_COMING_NOTHING && step < 0) {
        bare_write(explanation, facts, row);
        return;
    }
    int64_t first_ms = 0;
    struct outlook outlook = {.out = &explanation->next,
                              .first_ms = &first_ms,
                              .workflow = workflow,
                              .forecast = &forecast,
                              .step = step};
    gate_find(&outlook, facts, row, context.now_ms);
    outlook_write(&outlook);
    if (first_ms != 0) {
        mg_time_format(first_ms, explanation->next_at);
    }
}

void mg_explain_next_write(struct mg_explanation *explanation, const struct mg_explain_facts *facts, int row)
{
    struct mg_workflow *workflow = NULL;
    struct mg_err ignored; /* one of a newer version: the rows have the moment */
    bool is_read = facts->definition.data != NULL &&
                   mg_workflow_parse(facts->definition, NULL, &workflow, &ignored) == MG_OK;
    if (is_read) {
        forecast_write(explanation, facts, workflow, row);
    } else {
        bare_write(explanation, facts, row);
    }
    mg_workflow_destroy(is_read ? workflow : NULL);
}
