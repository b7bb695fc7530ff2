/* The scheduler's metrics. Label sets are bounded: words of the state machine, and names of lanes,
 * workflows and services. */
#include "scheduler_metrics.h"

#include <stdio.h>
#include <string.h>

#define ORDERS_TOTAL  "makegood_orders_total"
#define FAILURES      "makegood_failures_total"
#define FAILURES_HELP "attempts that a reply ended as a failure, by its code"

static struct mg_metric *counter(struct mg_metrics *metrics, const char *name, const char *help)
{
    return mg_metrics_series(metrics, MG_COUNTER, name, NULL, help);
}

static void causes_init(struct mg_scheduler_metrics *series, struct mg_metrics *metrics)
{
    static const char *const VERDICTS[] = {[MG_GO] = "go",
                                           [MG_DUPLICATE] = "duplicate",
                                           [MG_STALE_CAUSE] = "stale",
                                           [MG_REFUSED] = "refused",
                                           [MG_IMPOSSIBLE] = "impossible"};
    for (int kind = 0; kind < MG_CAUSE_COUNT; kind++) {
        for (int verdict = 0; verdict <= MG_IMPOSSIBLE; verdict++) {
            char labels[96];
            snprintf(labels, sizeof(labels), "kind=\"%s\",verdict=\"%s\"",
                     mg_cause_name((enum mg_cause_kind)kind), VERDICTS[verdict]);
            series->causes[kind][verdict] = mg_metrics_series(metrics, MG_COUNTER, "makegood_causes_total",
                                                              labels, "causes decided, by kind and verdict");
        }
    }
}

static void labelled_init(struct mg_scheduler_metrics *series, struct mg_metrics *metrics)
{
    static const char *const LANES[] = {
        [MG_LANE_REPLIES] = "replies",  [MG_LANE_COMMANDS] = "commands", [MG_LANE_SIGNALS] = "signals",
        [MG_LANE_HIGH] = "intake_high", [MG_LANE_NORMAL] = "intake",     [MG_LANE_INTERNAL] = "unpublished"};
    static const char *const SENDS[] = {
        [MG_SEND_REQUEST] = "request",   [MG_SEND_STATUS] = "status", [MG_SEND_ALERT] = "alert",
        [MG_SEND_REJECTED] = "rejected", [MG_SEND_TURN] = "turn",     [MG_SEND_RESULT] = "result"};
    static const char *const SUBMITTED[] = {[MG_SUBMITTED_ACCEPTED] = "accepted",
                                            [MG_SUBMITTED_REPEATED] = "repeated",
                                            [MG_SUBMITTED_REJECTED] = "rejected"};
    char labels[96];
    for (int i = MG_SUBMITTED_ACCEPTED; i < MG_SUBMITTED_COUNT; i++) {
        snprintf(labels, sizeof(labels), "outcome=\"%s\"", SUBMITTED[i]);
        series->submissions[i] = mg_metrics_series(metrics, MG_COUNTER, "makegood_submissions_total", labels,
                                                   "submissions by outcome; repeated: the order was there");
    }
    for (int status = 0; status < MG_STATUS_COUNT; status++) {
        snprintf(labels, sizeof(labels), "status=\"%s\"", mg_status_name((enum mg_status)status));
        series->statuses[status] =
            mg_metrics_series(metrics, MG_COUNTER, "makegood_statuses_sent_total", labels,
                              "statuses that the broker confirmed, those sent again included");
    }
    for (int i = MG_SIGNAL_NONE + 1; i < MG_SIGNAL_OUTCOME_COUNT; i++) {
        snprintf(labels, sizeof(labels), "outcome=\"%s\"", mg_signal_outcome_name((enum mg_signal_outcome)i));
        series->signals[i] =
            mg_metrics_series(metrics, MG_COUNTER, "makegood_signals_total", labels, "signals by outcome");
    }
    for (int lane = 0; lane < MG_LANE_COUNT; lane++) {
        snprintf(labels, sizeof(labels), "lane=\"%s\"", LANES[lane]);
        series->waiting[lane] = mg_metrics_series(metrics, MG_GAUGE, "makegood_inbox_messages", labels,
                                                  "messages received and not yet taken into a batch");
    }
    for (int kind = 0; kind < MG_SEND_KIND_COUNT; kind++) {
        snprintf(labels, sizeof(labels), "kind=\"%s\"", SENDS[kind]);
        series->failures[kind] = mg_metrics_series(metrics, MG_COUNTER, "makegood_publish_failures_total",
                                                   labels, "messages that the broker did not take");
    }
}

void mg_scheduler_metrics_init(struct mg_scheduler_metrics *series, struct mg_metrics *metrics)
{
    causes_init(series, metrics);
    labelled_init(series, metrics);
    series->batch_seconds = mg_metrics_series(metrics, MG_HISTOGRAM, "makegood_batch_seconds", NULL,
                                              "from taking a batch to its commit");
    series->batch_causes =
        mg_metrics_series(metrics, MG_HISTOGRAM_SIZES, "makegood_batch_causes", NULL, "causes of a batch");
    series->commit_seconds = mg_metrics_series(metrics, MG_HISTOGRAM, "makegood_commit_seconds", NULL,
                                               "from sending a batch's rows to the database's reply that "
                                               "they are stored");
    series->conflicts = counter(metrics, "makegood_conflicts_total",
                                "orders decided again because they were not as supposed");
    series->guessed = counter(metrics, "makegood_guessed_total", "orders decided without reading them first");
    series->stale = counter(metrics, "makegood_stale_total", "causes that came too late to matter");
    series->duplicates =
        counter(metrics, "makegood_duplicates_total", "causes that changed nothing, being repeats");
    series->again =
        counter(metrics, "makegood_again_total", "causes that came again and re-created their effects");
    series->dead_lettered =
        counter(metrics, "makegood_dead_lettered_total", "messages sent to the dead letters");
    series->poisoned = counter(metrics, "makegood_poisoned_total", "messages that could not be stored");
    series->impossible =
        counter(metrics, "makegood_impossible_total", "causes that no correct run brings about");
    series->unknown_orders =
        counter(metrics, "makegood_unknown_orders_total", "messages about no known order");
    series->reports =
        counter(metrics, "makegood_service_reports_total", "reports of agents about their service");
    series->given_up = counter(metrics, "makegood_statuses_given_up_total",
                               "events whose statuses were owed for too long, and are tried no more");
    static const char *const REFUSALS[] = {
        [MG_REFUSAL_PASSING] = "passing", [MG_REFUSAL_LASTING] = "lasting", [MG_REFUSAL_DAMAGED] = "damaged"};
    for (int i = 0; i < MG_REFUSAL_COUNT; i++) {
        char labels[32];
        snprintf(labels, sizeof(labels), "class=\"%s\"", REFUSALS[i]);
        series->refusals[i] =
            mg_metrics_series(metrics, MG_COUNTER, "makegood_scheduler_refusals_total", labels,
                              "orders that the database refused while it worked for others, by each try");
    }
    series->orders_aside =
        mg_metrics_series(metrics, MG_GAUGE, "makegood_scheduler_orders_aside", NULL,
                          "orders that wait by themselves because the database refuses them");
    series->left =
        counter(metrics, "makegood_left_total", "messages of a newer version, left to another instance");
}

void mg_workflow_metrics_init(struct mg_metric *entered[MG_ORDER_STATE_COUNT], struct mg_metrics *metrics,
                              const char *name)
{
    for (int state = 0; state < MG_ORDER_STATE_COUNT; state++) {
        char labels[MG_NAME_MAX + 64];
        snprintf(labels, sizeof(labels), "workflow=\"%s\",state=\"%s\"", name,
                 mg_order_state_name((enum mg_order_state)state));
        entered[state] = mg_metrics_series(metrics, MG_COUNTER, ORDERS_TOTAL, labels,
                                           "orders that entered a state by this process");
    }
}

void mg_orders_account(const struct mg_scheduler_metrics *series, const struct mg_metrics *metrics,
                       struct mg_beat *ret_beat)
{
    double ended = 0;
    for (int i = 0; i < MG_ORDER_STATE_COUNT; i++) {
        char label[64];
        enum mg_order_state state = (enum mg_order_state)i;
        snprintf(label, sizeof(label), "state=\"%s\"", mg_order_state_name(state));
        if (state == MG_ORDER_ERROR) {
            ret_beat->failed = (int64_t)mg_metrics_sum(metrics, ORDERS_TOTAL, label);
        } else if (mg_order_state_is_terminal(state)) {
            ended += mg_metrics_sum(metrics, ORDERS_TOTAL, label);
        }
    }
    ret_beat->accepted = (int64_t)mg_metric_value(series->submissions[MG_SUBMITTED_ACCEPTED]);
    ret_beat->ended = (int64_t)ended;
    ret_beat->has_orders = true;
}

void mg_service_metrics_init(struct mg_service_metrics *service, struct mg_metrics *metrics, const char *name)
{
    char labels[MG_NAME_MAX + 64];
    for (int kind = 0; kind < MG_KIND_COUNT; kind++) {
        snprintf(labels, sizeof(labels), "service=\"%s\",kind=\"%s\"", name,
                 mg_kind_name((enum mg_kind)kind));
        service->attempts[kind] = mg_metrics_series(metrics, MG_COUNTER, "makegood_attempts_total", labels,
                                                    "attempts dispatched to a service's agents");
    }
    for (int outcome = 0; outcome < MG_OUTCOME_COUNT; outcome++) {
        snprintf(labels, sizeof(labels), "service=\"%s\",outcome=\"%s\"", name,
                 mg_outcome_name((enum mg_outcome)outcome));
        service->outcomes[outcome] = mg_metrics_series(metrics, MG_COUNTER, "makegood_outcomes_total", labels,
                                                       "attempts that a reply ended, by its outcome");
    }
    snprintf(labels, sizeof(labels), "service=\"%s\"", name);
    service->expirations = mg_metrics_series(metrics, MG_COUNTER, "makegood_expirations_total", labels,
                                             "attempts that ended without a reply, by their complete-by");
    service->step_seconds = mg_metrics_series(
        metrics, MG_HISTOGRAM, "makegood_step_seconds", labels,
        "from the dispatch of a step's attempt to its end by a reply or by its complete-by");
    snprintf(labels, sizeof(labels), "service=\"%s\",code=\"other\"", name);
    service->other_failures = mg_metrics_series(metrics, MG_COUNTER, FAILURES, labels, FAILURES_HELP);
}

/* Agents in any language send codes: a label has the characters of our own agents only. */
static bool is_plain_code(const char *code)
{
    static const char PLAIN[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._-/";
    return code[0] != '\0' && code[strspn(code, PLAIN)] == '\0';
}

struct mg_metric *mg_service_metrics_failure(struct mg_service_metrics *service, struct mg_metrics *metrics,
                                             const char *name, const char *code)
{
    char labels[MG_NAME_MAX + MG_ERROR_CODE_MAX + 64];
    for (int i = 0; i < service->failure_code_count; i++) {
        if (strcmp(service->failure_codes[i], code) == 0) {
            return service->failures[i];
        }
    }
    if (service->failure_code_count == MG_FAILURE_CODES_MAX || !is_plain_code(code)) {
        return service->other_failures;
    }
    int new = service->failure_code_count++;
    snprintf(service->failure_codes[new], sizeof(service->failure_codes[new]), "%s", code);
    snprintf(labels, sizeof(labels), "service=\"%s\",code=\"%s\"", name, code);
    service->failures[new] = mg_metrics_series(metrics, MG_COUNTER, FAILURES, labels, FAILURES_HELP);
    return service->failures[new];
}
