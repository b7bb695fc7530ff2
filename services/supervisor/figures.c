/*
 * Figures about the system, not about the supervisors. The leader counts open orders, open alerts, owed
 * statuses and steps that wait for a signal in the database, and the messages in the queues that belong to no
 * service. One process asks for all, so that the cost does not grow with the number of processes. A standby
 * shows none of these figures.
 *
 * Counting has a session of its own, since a slow count must not hold up a sweep. It has three bounds: the
 * rows that the statement reads, the session's statement time-out, and a period that grows with the duration
 * of the last count.
 */
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/log.h"
#include "io/amqp/topology.h"
#include "supervisor.h"

/* As often as a person looks twice; and at most a fiftieth of one session's time. A count that took long, or
 * failed late, is repeated in a minute: alerts need figures most in such a time. */
#define COUNT_PERIOD_MS   15000
#define COUNT_REST_FACTOR 50
#define COUNT_REST_MAX_MS 60000
#define QUEUE_PERIOD_MS   1000
/* The size of a state, an alert or a step; and of the labels that a row may have. */
#define WORD_SIZE   64
#define LABELS_SIZE (MG_NAME_MAX + WORD_SIZE + 32)

const char *const MG_SUPERVISOR_QUEUE_NAMES[MG_SUPERVISOR_QUEUES] = {
    MG_QUEUE_INTAKE,  MG_QUEUE_INTAKE_HIGH, MG_QUEUE_REPLIES,  MG_QUEUE_COMMANDS,
    MG_QUEUE_SIGNALS, MG_QUEUE_ALERTS,      MG_QUEUE_REJECTED, MG_QUEUE_DEAD};

/* ---- series ---- */

static struct mg_metric *gauge(struct mg_supervisor *supervisor, const char *name, const char *labels,
                               const char *help)
{
    return mg_metrics_series(supervisor->metrics, MG_GAUGE, name, labels, help);
}

/* A figure of the count: 0 where the answer does not name it, silent without an answer. */
static struct mg_metric *counted(struct mg_supervisor *supervisor, const char *name, const char *labels,
                                 const char *help)
{
    struct mg_metric *metric = gauge(supervisor, name, labels, help);
    for (int i = 0; i < supervisor->counted_count; i++) {
        if (supervisor->counted[i] == metric) {
            return metric;
        }
    }
    if (supervisor->counted_count < MG_SUPERVISOR_COUNTED_MAX) {
        supervisor->counted[supervisor->counted_count++] = metric;
        mg_metric_silence(metric);
    }
    return metric;
}

static struct mg_metric *orders_series(struct mg_supervisor *supervisor, const char *workflow,
                                       const char *state)
{
    char labels[LABELS_SIZE];
    (void)snprintf(labels, sizeof(labels), "workflow=\"%s\",state=\"%s\"", workflow, state);
    return counted(supervisor, "makegood_orders", labels,
                   "orders that are open; at most 100000 of all are counted");
}

static struct mg_metric *orders_oldest_series(struct mg_supervisor *supervisor, const char *state)
{
    char labels[LABELS_SIZE];
    (void)snprintf(labels, sizeof(labels), "state=\"%s\"", state);
    return counted(supervisor, "makegood_order_oldest_age_seconds", labels,
                   "how long ago the oldest of the open orders was submitted");
}

static struct mg_metric *waits_series(struct mg_supervisor *supervisor, const char *workflow,
                                      const char *step)
{
    char labels[LABELS_SIZE];
    (void)snprintf(labels, sizeof(labels), "workflow=\"%s\",step=\"%s\"", workflow, step);
    return counted(supervisor, "makegood_steps_waiting", labels,
                   "steps that wait for a signal: makegood order list --waiting; at most 100000 are counted");
}

static struct mg_metric *alerts_series(struct mg_supervisor *supervisor, const char *alert)
{
    char labels[LABELS_SIZE];
    (void)snprintf(labels, sizeof(labels), "alert=\"%s\"", alert);
    return counted(supervisor, "makegood_alerts", labels, "alerts that are open: makegood alert list");
}

static struct mg_metric *alerts_oldest_series(struct mg_supervisor *supervisor, const char *alert)
{
    char labels[LABELS_SIZE];
    (void)snprintf(labels, sizeof(labels), "alert=\"%s\"", alert);
    return counted(supervisor, "makegood_alert_oldest_age_seconds", labels,
                   "how long the oldest of the open alerts has been open");
}

static void own_make(struct mg_supervisor *supervisor)
{
    struct mg_metrics *metrics = supervisor->metrics;
    supervisor->leading =
        gauge(supervisor, "makegood_supervisor_leading", NULL, "1 while this process leads");
    supervisor->epoch_led = gauge(supervisor, "makegood_supervisor_epoch", NULL,
                                  "the epoch in which this process leads or led last; 0: it never did");
    supervisor->sweeps =
        mg_metrics_series(metrics, MG_COUNTER, "makegood_sweeps_total", NULL, "sweeps answered");
    supervisor->sweep_seconds = mg_metrics_series(metrics, MG_HISTOGRAM, "makegood_sweep_seconds", NULL,
                                                  "how long the database took for a sweep");
    supervisor->sweep_longest =
        gauge(supervisor, "makegood_sweep_longest_seconds", NULL,
              "how long a sweep took, answered or failed, the longest of the last 15 s or more");
    supervisor->sweep_lag =
        gauge(supervisor, "makegood_sweep_lag_seconds", NULL,
              "how late deadlines that had passed were found, the worst of the last 15 s or more");
    supervisor->schedule_lag =
        gauge(supervisor, "makegood_schedule_lag_seconds", NULL,
              "how long the oldest due slot of a schedule has been waiting for its order");
    supervisor->unasked = mg_metrics_series(metrics, MG_COUNTER, "makegood_asks_unconfirmed_total", NULL,
                                            "commands that the broker did not confirm; they are sent again");
    supervisor->violations = gauge(
        supervisor, "makegood_invariant_violations", NULL,
        "open orders without a running attempt, a due time or an alert, as found in the last 15 s or more; should be 0");
    supervisor->violations_found = mg_metrics_series(
        metrics, MG_COUNTER, "makegood_invariant_violations_found_total", NULL,
        "open orders found without a running attempt, a due time or an alert, at each look");
    supervisor->held_back = gauge(supervisor, "makegood_overdue_held_back", NULL,
                                  "overdue attempts that the brake on mass expiry held back, the most of the "
                                  "last 15 s or more");
    supervisor->passed_by = gauge(supervisor, "makegood_orders_passed_by", NULL,
                                  "orders that the leader's statements leave out, because the database "
                                  "refuses or locks their rows: alert order_passed_by");
    supervisor->count_seconds =
        mg_metrics_series(metrics, MG_HISTOGRAM, "makegood_count_seconds", NULL,
                          "how long the database took to count open orders and alerts");
    static const enum mg_cause_kind ASKS[] = {MG_CAUSE_OVERDUE, MG_CAUSE_DUE,  MG_CAUSE_EXPIRED,
                                              MG_CAUSE_NUDGE,   MG_CAUSE_OWED, MG_CAUSE_TURN,
                                              MG_CAUSE_FIRE};
    for (size_t i = 0; i < sizeof(ASKS) / sizeof(ASKS[0]); i++) {
        char label[64];
        (void)snprintf(label, sizeof(label), "ask=\"%s\"", mg_cause_name(ASKS[i]));
        supervisor->asked[ASKS[i]] = mg_metrics_series(metrics, MG_COUNTER, "makegood_asks_total", label,
                                                       "commands published for due rows");
    }
}

static void retire_make(struct mg_supervisor *supervisor)
{
    struct mg_metrics *metrics = supervisor->metrics;
    supervisor->retired = mg_metrics_series(metrics, MG_COUNTER, "makegood_orders_retired_total", NULL,
                                            "orders moved to the archive: makegood db vacuum-policy");
    supervisor->retire_seconds = mg_metrics_series(metrics, MG_HISTOGRAM, "makegood_retire_seconds", NULL,
                                                   "how long the database took to move some to the archive");
    supervisor->finished_oldest = mg_metrics_series(
        metrics, MG_GAUGE, "makegood_order_finished_oldest_age_seconds", NULL,
        "how long ago the oldest order changed that has ended and is not in the archive, as last looked for");
    mg_metric_silence(supervisor->finished_oldest);
}

void mg_supervisor_metrics_make(struct mg_supervisor *supervisor, struct mg_metrics *metrics)
{
    supervisor->metrics = metrics;
    own_make(supervisor);
    mg_supervisor_lines_make(supervisor);
    mg_supervisor_signals_make(supervisor);
    retire_make(supervisor);
    for (int i = 0; i < MG_SUPERVISOR_QUEUES; i++) {
        mg_queue_metrics_init(&supervisor->queues[i], metrics, MG_SUPERVISOR_QUEUE_NAMES[i]);
    }
    for (int i = 0; i < MG_ALERT_COUNT; i++) {
        (void)alerts_series(supervisor, mg_alert_name((enum mg_alert)i));
        (void)alerts_oldest_series(supervisor, mg_alert_name((enum mg_alert)i));
    }
    for (int i = 0; i < MG_ORDER_STATE_COUNT; i++) {
        if (!mg_order_state_is_terminal((enum mg_order_state)i)) {
            (void)orders_oldest_series(supervisor, mg_order_state_name((enum mg_order_state)i));
        }
    }
    supervisor->owed = counted(supervisor, "makegood_statuses_owed", NULL,
                               "events of which a status has not reached its client's queue");
    supervisor->owed_oldest = counted(supervisor, "makegood_status_owed_oldest_age_seconds", NULL,
                                      "how long the oldest of them has been owed");
}

/* ---- counting ---- */

static void counted_silence(struct mg_supervisor *supervisor)
{
    for (int i = 0; i < supervisor->counted_count; i++) {
        mg_metric_silence(supervisor->counted[i]);
    }
}

/* Several workflows can have orders in one state: the oldest of all counts. */
static void raise_to(struct mg_metric *metric, double value)
{
    if (value > mg_metric_value(metric)) {
        mg_metric_set(metric, value);
    }
}

enum { COLUMN_FIGURE, COLUMN_WORD, COLUMN_WORKFLOW, COLUMN_NUMBER, COLUMN_OLDEST };

static void figure_set(struct mg_supervisor *supervisor, const struct mg_rows *rows, int row)
{
    char figure[16], word[WORD_SIZE], workflow[MG_NAME_MAX + 1];
    mg_supervisor_row_text(rows, row, COLUMN_FIGURE, figure, sizeof(figure));
    mg_supervisor_row_text(rows, row, COLUMN_WORD, word, sizeof(word));
    mg_supervisor_row_text(rows, row, COLUMN_WORKFLOW, workflow, sizeof(workflow));
    double number = mg_supervisor_row_number(rows, row, COLUMN_NUMBER);
    double oldest_s = mg_supervisor_row_number(rows, row, COLUMN_OLDEST) / 1000.0;
    if (strcmp(figure, "orders") == 0) {
        mg_metric_set(orders_series(supervisor, workflow, word), number);
        raise_to(orders_oldest_series(supervisor, word), oldest_s);
    } else if (strcmp(figure, "alerts") == 0) {
        mg_metric_set(alerts_series(supervisor, word), number);
        mg_metric_set(alerts_oldest_series(supervisor, word), oldest_s);
    } else if (strcmp(figure, "waits") == 0) {
        mg_metric_set(waits_series(supervisor, workflow, word), number);
    } else {
        mg_metric_set(supervisor->owed, number);
        mg_metric_set(supervisor->owed_oldest, oldest_s);
    }
}

static void count_answered(void *arg, const struct mg_rows *rows, const struct mg_err *err)
{
    struct mg_supervisor *supervisor = arg;
    int64_t took_us = mg_clock_boot_us() - supervisor->counting_since_boot_us;
    int64_t next_ms = mg_clock_rest_ms(took_us / 1000, COUNT_REST_FACTOR, COUNT_REST_MAX_MS);
    if (supervisor->is_leader && !supervisor->is_stopping) {
        mg_timer_start(supervisor->count_timer, next_ms > COUNT_PERIOD_MS ? next_ms : COUNT_PERIOD_MS, 0);
    }
    if (!mg_supervisor_answered(supervisor, &supervisor->is_counting, &supervisor->count_failure_logged,
                                "could not count open orders and alerts; their metrics are missing", err)) {
        counted_silence(supervisor);
        return;
    }
    mg_metric_observe(supervisor->count_seconds, (double)took_us / 1e6);
    for (int i = 0; i < supervisor->counted_count; i++) {
        mg_metric_set(supervisor->counted[i], 0);
    }
    for (int i = 0; i < mg_rows_count(rows); i++) {
        figure_set(supervisor, rows, i);
    }
}

static void count_ask(void *arg)
{
    static const char *const with_waits[] = {"true"};
    struct mg_supervisor *supervisor = arg;
    if (!supervisor->is_leader || supervisor->is_counting) {
        return;
    }
    supervisor->is_counting = true;
    supervisor->counting_since_boot_us = mg_clock_boot_us();
    mg_store_report(supervisor->counting, MG_REPORT_FIGURES, with_waits, 1, count_answered, supervisor);
}

void mg_supervisor_count_session(void *arg, bool is_up, const char *reason)
{
    struct mg_supervisor *supervisor = arg;
    (void)reason;
    if (is_up && supervisor->is_leader && supervisor->count_timer != NULL) {
        mg_timer_start(supervisor->count_timer, 0, 0);
    }
}

/* ---- queues ---- */

static void missing_look(struct mg_supervisor *supervisor, int queue, bool is_missing)
{
    char text[256];
    (void)snprintf(text, sizeof(text), "queue %s is missing; run: makegood broker apply",
                   MG_SUPERVISOR_QUEUE_NAMES[queue]);
    mg_supervisor_watch_looked(supervisor, (enum mg_watched)(MG_WATCHED_QUEUE + queue),
                               is_missing ? text : NULL);
}

void mg_supervisor_queue_seen(struct mg_supervisor *supervisor, const char *queue, int64_t ready,
                              int64_t consumers)
{
    if (!supervisor->is_leader) {
        return;
    }
    for (int i = 0; i < MG_SUPERVISOR_QUEUES; i++) {
        if (strcmp(MG_SUPERVISOR_QUEUE_NAMES[i], queue) ==
            0) { /* the consumers count the messages taken more exactly */
            mg_queue_metrics_seen(&supervisor->queues[i], ready, 0, consumers, 0, 0);
            missing_look(supervisor, i, consumers < 0);
        }
    }
}

static void on_queue_seen(void *arg, const char *queue, int64_t ready_messages, int64_t consumers)
{
    mg_supervisor_queue_seen(arg, queue, ready_messages, consumers);
}

/* ---- while leading ---- */

bool mg_supervisor_figures_start(struct mg_supervisor *supervisor)
{
    struct mg_err err;
    mg_metric_set(supervisor->epoch_led, (double)supervisor->epoch);
    /* Queues that sweep.c and watch.c watch for their own sake are watched already, and their looks come
     * here. */
    for (int i = 0; i < MG_SUPERVISOR_QUEUES; i++) {
        if (mg_broker_watch_queue(supervisor->broker, MG_SUPERVISOR_QUEUE_NAMES[i], QUEUE_PERIOD_MS,
                                  on_queue_seen, supervisor, &err) != MG_OK) {
            mg_log(MG_LOG_WARN, "could not watch a queue", MG_LOG_TEXT("queue", MG_SUPERVISOR_QUEUE_NAMES[i]),
                   MG_LOG_TEXT("reason", err.text));
        }
    }
    if (supervisor->counting == NULL) {
        return true;
    }
    /* A session that is about to begin reports its begin by on_state. One that does not begin shows as a
     * failed count. */
    char reason[256];
    bool is_up = mg_store_is_up(supervisor->counting, reason, sizeof(reason));
    return mg_supervisor_timer_begin(supervisor, &supervisor->count_timer, count_ask,
                                     is_up ? 0 : COUNT_PERIOD_MS, 0);
}

void mg_supervisor_figures_stop(struct mg_supervisor *supervisor)
{
    mg_supervisor_timer_end(supervisor->count_timer);
    counted_silence(supervisor);
    for (int i = 0; i < MG_SUPERVISOR_QUEUES; i++) {
        mg_queue_metrics_silence(&supervisor->queues[i]);
    }
    mg_metric_set(supervisor->violations, 0);
    mg_metric_set(supervisor->sweep_lag, 0);
    mg_metric_set(supervisor->schedule_lag, 0);
    supervisor->lag_ms = supervisor->lag_at_boot_ms = 0;
    mg_metric_set(supervisor->held_back, 0);
    mg_metric_set(supervisor->passed_by, 0);
    supervisor->held_back_most = supervisor->held_back_at_boot_ms = 0;
}
