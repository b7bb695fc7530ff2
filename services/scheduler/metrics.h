/* The scheduler's metrics. */
#ifndef MG_SCHEDULER_METRICS_H
#define MG_SCHEDULER_METRICS_H

#include "outbox.h"
#include "work.h"

#include "base/metrics.h"
#include "core/model.h"

/* The series of one service. */
struct mg_service_metrics {
    struct mg_metric *attempts[MG_KIND_COUNT], *outcomes[MG_OUTCOME_COUNT], *expirations, *step_seconds;
};

/* The result of a submission. */
enum mg_submitted {
    MG_SUBMITTED_NOTHING, /* a redelivery, or left to another instance */
    MG_SUBMITTED_ACCEPTED,
    MG_SUBMITTED_REPEATED,
    MG_SUBMITTED_REJECTED,
    MG_SUBMITTED_COUNT
};

struct mg_scheduler_metrics {
    struct mg_metric *causes[MG_CAUSE_COUNT][MG_IMPOSSIBLE + 1];
    struct mg_metric *submissions[MG_SUBMITTED_COUNT]; /* [MG_SUBMITTED_NOTHING] is NULL */
    struct mg_metric *statuses[MG_STATUS_COUNT];
    struct mg_metric *waiting[MG_LANE_COUNT];
    struct mg_metric *failures[MG_SEND_KIND_COUNT];
    struct mg_metric *batch_seconds, *batch_causes, *commit_seconds, *conflicts, *stale, *duplicates, *again,
        *guessed, *given_up, *dead_lettered, *poisoned, *impossible, *unknown_orders, *reports, *left;
};

void mg_scheduler_metrics_init(struct mg_scheduler_metrics *series, struct mg_metrics *metrics);
void mg_service_metrics_init(struct mg_service_metrics *service, struct mg_metrics *metrics,
                             const char *name);
void mg_workflow_metrics_init(struct mg_metric *entered[MG_ORDER_STATE_COUNT], struct mg_metrics *metrics,
                              const char *name);

#endif
