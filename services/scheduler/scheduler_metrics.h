/* The scheduler's metrics. */
#ifndef MG_SCHEDULER_SCHEDULER_METRICS_H
#define MG_SCHEDULER_SCHEDULER_METRICS_H

#include "work.h"

#include "base/metrics.h"
#include "core/model.h"
#include "io/store/store.h"
#include "wire/reply.h"

/* Codes of failures with a series of their own, the first of each service. Services make codes, so their
 * number has no other bound; few services have more that matter. */
#define MG_FAILURE_CODES_MAX 8

/* The series of one service. */
struct mg_service_metrics {
    struct mg_metric *attempts[MG_KIND_COUNT], *outcomes[MG_OUTCOME_COUNT], *expirations, *step_seconds;
    struct mg_metric *failures[MG_FAILURE_CODES_MAX], *other_failures;
    char failure_codes[MG_FAILURE_CODES_MAX][MG_ERROR_CODE_MAX + 1];
    int failure_code_count;
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
    struct mg_metric *signals[MG_SIGNAL_OUTCOME_COUNT]; /* [MG_SIGNAL_NONE] is NULL */
    struct mg_metric *waiting[MG_LANE_COUNT];
    struct mg_metric *failures[MG_SEND_KIND_COUNT];
    struct mg_metric *batch_seconds, *batch_causes, *commit_seconds, *conflicts, *stale, *duplicates, *again,
        *guessed, *given_up, *dead_lettered, *poisoned, *impossible, *unknown_orders, *reports, *left,
        *orders_aside, *refusals[MG_REFUSAL_COUNT];
};

void mg_scheduler_metrics_init(struct mg_scheduler_metrics *series, struct mg_metrics *metrics);
/* The orders that this process has accepted, that ended, and that came into state error, for its heartbeat.
 */
void mg_orders_account(const struct mg_scheduler_metrics *series, const struct mg_metrics *metrics,
                       struct mg_beat *ret_beat);
void mg_service_metrics_init(struct mg_service_metrics *service, struct mg_metrics *metrics,
                             const char *name);
/* The series of failures with this code; one for all others beyond the first MG_FAILURE_CODES_MAX, and for
 * codes that no label may hold. */
struct mg_metric *mg_service_metrics_failure(struct mg_service_metrics *service, struct mg_metrics *metrics,
                                             const char *name, const char *code);
void mg_workflow_metrics_init(struct mg_metric *entered[MG_ORDER_STATE_COUNT], struct mg_metrics *metrics,
                              const char *name);

#endif
