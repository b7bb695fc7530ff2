/*
 * A scheduler's spans. The span of an order runs from its submission to its end, below the client's span. The
 * span of an attempt runs from its dispatch to the reply or complete-by that ends it, below the order's. The
 * attempt's identity goes with the request, so that the agent's calls are below it.
 *
 * A span is emitted after the commit, by the process that made it, with times of the database's clock. An
 * order that continues after its end (resumed, undone) emits a longer span with the same identity at its next
 * end.
 */
#include "order_spans.h"

#include <stdio.h>

/* False: this trace is not sampled. */
static bool trace_of(const struct mg_span_sink *spans, const struct mg_order_record *record,
                     struct mg_trace *ret_trace)
{
    if (mg_trace_parse(record->traceparent, ret_trace)) {
        return (ret_trace->flags & MG_TRACE_SAMPLED) != 0; /* the client's decision */
    }
    mg_trace_of_order(record->order_id, ret_trace);
    ret_trace->flags = MG_TRACE_SAMPLED;
    return mg_trace_is_chosen(ret_trace, spans->threshold);
}

static void attempt_id(const char *order_id, const char *step, uint32_t attempt, enum mg_kind kind,
                       uint8_t ret_id[MG_SPAN_ID_SIZE])
{
    char correlation[MG_KEY_SIZE];
    mg_correlation_write(order_id, step, attempt, kind, correlation);
    mg_span_id("attempt", correlation, ret_id);
}

void mg_request_trace(const struct mg_span_sink *spans, const struct mg_order_record *record,
                      struct mg_request *request)
{
    struct mg_trace trace;
    if (trace_of(spans, record, &trace)) {
        attempt_id(request->order_id, request->step, request->attempt, request->kind, trace.parent_id);
        mg_trace_write(&trace, request->traceparent);
    }
}

static void span_export(const struct mg_span_sink *spans, const struct mg_span *span)
{
    spans->take(spans->arg, span);
}

void mg_fold_trace(const struct mg_batch *batch, const struct mg_fold *fold)
{
    const struct mg_order_record *record = fold->record;
    struct mg_span span = {.kind = MG_SPAN_CONSUMER, .end_us = batch->now_ms * 1000};
    if (record == NULL || !mg_order_state_is_terminal(record->order.state) ||
        fold->entered[record->order.state] == 0 ||
        !trace_of(batch->shared->options->spans, record, &span.trace)) {
        return;
    }
    char name[MG_NAME_MAX + 16];
    snprintf(name, sizeof(name), "order %s", record->workflow);
    mg_span_id("order", record->order_id, span.id);
    span.name = name;
    span.begin_us = record->created_at_ms * 1000;
    span.is_error = record->order.state == MG_ORDER_ERROR;
    mg_span_put_text(&span, "makegood.order_id", record->order_id);
    mg_span_put_text(&span, "makegood.workflow", record->workflow);
    mg_span_put_text(&span, "makegood.outcome", mg_order_state_name(record->order.state));
    mg_span_put_text(&span, "makegood.reason", mg_reason_name(record->order.reason));
    span_export(batch->shared->options->spans, &span);
}

void mg_item_trace(const struct mg_batch *batch, const struct mg_item *item)
{
    struct mg_span span = {.kind = MG_SPAN_INTERNAL, .end_us = batch->now_ms * 1000};
    if (item->service == NULL || item->attempt_ms < 0 ||
        !trace_of(batch->shared->options->spans, item->fold->record, &span.trace)) {
        return;
    }
    const struct mg_order_record *record = item->fold->record;
    const struct mg_reply *reply = item->reply; /* NULL: complete-by has passed */
    const char *step = reply != NULL ? reply->step : item->command->step;
    const uint32_t attempt = reply != NULL ? reply->attempt : item->command->attempt;
    char name[MG_NAME_MAX + 16];
    snprintf(name, sizeof(name), "%s %s", mg_kind_name(item->attempt_kind), step);
    attempt_id(record->order_id, step, attempt, item->attempt_kind, span.id);
    mg_span_id("order", record->order_id, span.trace.parent_id);
    span.name = name;
    span.begin_us = span.end_us - item->attempt_ms * 1000;
    span.is_error =
        reply == NULL || (reply->outcome != MG_OUTCOME_DONE && reply->outcome != MG_OUTCOME_ACCEPTED &&
                          reply->outcome != MG_OUTCOME_ABSENT);
    mg_span_put_text(&span, "makegood.order_id", record->order_id);
    mg_span_put_text(&span, "makegood.workflow", record->workflow);
    mg_span_put_text(&span, "makegood.step", step);
    mg_span_put_text(&span, "makegood.service", item->service->service);
    mg_span_put_text(&span, "makegood.kind", mg_kind_name(item->attempt_kind));
    mg_span_put_number(&span, "makegood.attempt", attempt);
    mg_span_put_text(&span, "makegood.outcome", reply != NULL ? mg_outcome_name(reply->outcome) : "expired");
    mg_span_put_text(&span, "makegood.executed",
                     mg_executed_name(reply != NULL ? reply->executed : MG_EXECUTED_MAYBE));
    span_export(batch->shared->options->spans, &span);
}
