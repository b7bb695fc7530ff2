/*
 * Spans of an agent's tries. Each is a child of its attempt's span, which the request carries. The request's
 * flag states whether its trace is recorded. The service receives the try's own identity, so that its work
 * appears under the call that caused it.
 *
 * Times are by the database's clock as far as it is known here, as those of the schedulers' spans are. The
 * path is left out, since it is made of the order's data; so are bodies and headers with their contents.
 */
#include <stdio.h>
#include <string.h>

#include "agent.h"
#include "base/clock.h"

void mg_try_trace_begin(struct mg_job *job)
{
    const struct mg_agent *agent = job->served->agent;
    const struct mg_request *request = &job->request;
    struct mg_try_trace *try = &job->trace;
    try->is_sampled = agent->options->spans != NULL &&
                      mg_trace_parse(mg_slice_of(request->traceparent), &try->trace) &&
                      (try->trace.flags & MG_TRACE_SAMPLED) != 0;
    if (!try->is_sampled) {
        return;
    }
    /* A redelivered request is tried again: those are calls of their own. */
    char correlation[MG_KEY_SIZE], identity[MG_KEY_SIZE + 32];
    mg_correlation_write(request->order_id, request->step, request->attempt, request->kind, correlation);
    snprintf(identity, sizeof(identity), "%s.%u.%d", correlation, (unsigned)job->delivery->delivery_count,
             job->tries.count);
    mg_span_id("try", identity, try->id);
    struct mg_trace own = try->trace;
    memcpy(own.parent_id, try->id, sizeof(own.parent_id));
    mg_trace_write(&own, try->traceparent);
    try->begin_us = mg_skew_now_ms(&agent->skew, mg_clock_boot_ms(), mg_clock_wall_ms()) * 1000;
    try->begin_boot_us = mg_clock_boot_us();
}

const char *mg_try_traceparent(const struct mg_job *job)
{
    return job->trace.is_sampled ? job->trace.traceparent : job->request.traceparent;
}

/* `error` holds the error's text until the span is taken. It lacks the service's own code, since collectors
 * keep an index of the values. */
static void put_verdict(struct mg_span *span, const struct mg_verdict_of_try *verdict,
                        char error[MG_ERROR_CODE_MAX + 1])
{
    const char *code = verdict == NULL ? "cancelled" : verdict->code;
    snprintf(error, MG_ERROR_CODE_MAX + 1, "%.*s", (int)strcspn(code, "/"), code);
    span->is_error = error[0] != '\0';
    if (span->is_error) {
        mg_span_put_text(span, "error.type", error);
    }
    if (verdict != NULL) {
        mg_span_put_text(span, "makegood.outcome", mg_outcome_name(verdict->outcome));
        mg_span_put_text(span, "makegood.executed", mg_executed_name(verdict->executed));
    }
}

void mg_try_trace_end(struct mg_job *job, const struct mg_verdict_of_try *verdict)
{
    struct mg_try_trace *try = &job->trace;
    const struct mg_request *request = &job->request;
    const struct mg_executor *executor = job->served->agent->executor;
    const struct mg_span_sink *spans = job->served->agent->options->spans;
    if (!try->is_sampled) {
        return;
    }
    try->is_sampled = false;
    struct mg_span span = {.trace = try->trace, .name = mg_kind_name(request->kind), .kind = MG_SPAN_CLIENT};
    memcpy(span.id, try->id, sizeof(span.id));
    span.begin_us = try->begin_us;
    span.end_us = try->begin_us + (mg_clock_boot_us() - try->begin_boot_us);
    mg_span_put_text(&span, "makegood.order_id", request->order_id);
    mg_span_put_text(&span, "makegood.step", request->step);
    mg_span_put_text(&span, "makegood.service", request->service);
    mg_span_put_text(&span, "makegood.kind", mg_kind_name(request->kind));
    mg_span_put_number(&span, "makegood.attempt", request->attempt);
    mg_span_put_number(&span, "makegood.try", job->tries.count);
    if (executor->describe != NULL) {
        executor->describe(job, &span);
    }
    char error[MG_ERROR_CODE_MAX + 1];
    put_verdict(&span, verdict, error);
    spans->take(spans->arg, &span);
}
