/*
 * Metrics of decisions. They are recorded at the decision and counted here after the commit: a decision on an
 * outdated order is repeated, and counts once.
 */
#include "decision_metrics.h"

/* An attempt's complete-by was set at its dispatch, one fixed bound ahead by the same clock. So the
 * dispatch time need not be stored. */
int64_t mg_attempt_ms(const struct mg_batch *batch, const struct mg_fold *fold, int step)
{
    const struct mg_step *state = &fold->record->order.steps[step];
    const struct mg_step_plan *plan = &fold->workflow->workflow->plan.steps[step];
    if (!mg_step_is_running(state)) {
        return -1;
    }
    int64_t within_ms =
        state->kind == MG_KIND_UNDO ? plan->undo_complete_within_ms : plan->complete_within_ms;
    int64_t passed_ms = batch->now_ms - (state->complete_by_ms - within_ms);
    return passed_ms > 0 ? passed_ms : 0; /* clocks of two servers, around a failover */
}

void mg_item_note_attempt(struct mg_item *item, int step, enum mg_kind kind, int64_t attempt_ms)
{
    item->service = item->fold->workflow->gates[step];
    item->attempt_ms = attempt_ms;
    item->attempt_kind = kind;
}

void mg_fold_count(const struct mg_fold *fold)
{
    for (int state = 0; state < MG_ORDER_STATE_COUNT; state++) {
        if (fold->entered[state] > 0) {
            mg_metric_add(fold->workflow->entered[state], fold->entered[state]);
        }
    }
    const struct mg_send *send;
    TAILQ_FOREACH(send, &fold->sends, entry)
    {
        if (send->request != NULL && !send->is_again && send->gate != NULL) {
            mg_metric_add(send->gate->metrics.attempts[send->request->kind], 1);
        }
    }
}

static bool is_failure(enum mg_outcome outcome)
{
    return outcome == MG_OUTCOME_TRANSIENT || outcome == MG_OUTCOME_PERMANENT ||
           outcome == MG_OUTCOME_UNKNOWN;
}

void mg_item_count(struct mg_shared *shared, const struct mg_item *item)
{
    if (item->submitted != MG_SUBMITTED_NOTHING) {
        mg_metric_add(shared->series.submissions[item->submitted], 1);
    }
    if (item->signal != MG_SIGNAL_NONE) {
        mg_metric_add(shared->series.signals[item->signal], 1);
    }
    if (item->service == NULL) {
        return;
    }
    struct mg_service_metrics *metrics = &item->service->metrics;
    mg_metric_add(item->reply != NULL ? metrics->outcomes[item->reply->outcome] : metrics->expirations, 1);
    if (item->reply != NULL && is_failure(item->reply->outcome)) {
        mg_metric_add(mg_service_metrics_failure(metrics, shared->metrics, item->service->service,
                                                 item->reply->error_code),
                      1);
    }
    if (item->attempt_ms >= 0) {
        mg_metric_observe(metrics->step_seconds, (double)item->attempt_ms / 1000.0);
    }
}
