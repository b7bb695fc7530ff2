/*
 * Signals with a key (io/store/signal_rows.h). Each is kept until an order takes it, and its row stays as
 * long as a second copy may come; then it is deleted here. An alert names one that no order takes, early
 * enough to act: its sender and its step may have different keys.
 */
#include <stdio.h>
#include <string.h>

#include "base/log.h"
#include "io/store/signal_rows.h"
#include "supervisor.h"

#define SIGNALS_PERIOD_MS 10000 /* shorter than the time after which an alert counts as gone */
#define SIGNALS_REST_MS   1000  /* while more are to be deleted */
#define SIGNALS_BITE      1000  /* rows of one statement: some milliseconds */
/* A day: an early signal waits for its order for moments, as a rule, and six days are left to act. */
#define SIGNALS_LATE_MS INT64_C(86400000)

void mg_supervisor_signals_make(struct mg_supervisor *supervisor)
{
    struct mg_metrics *metrics = supervisor->metrics;
    supervisor->signals_kept =
        mg_metrics_series(metrics, MG_GAUGE, "makegood_signals_kept", NULL,
                          "signals with a key that no order has taken; at most 10000 are counted");
    supervisor->signal_kept_oldest =
        mg_metrics_series(metrics, MG_GAUGE, "makegood_signal_kept_oldest_age_seconds", NULL,
                          "how long the oldest of them has been kept");
    supervisor->signals_unmatched =
        mg_metrics_series(metrics, MG_COUNTER, "makegood_signals_unmatched_total", NULL,
                          "signals with a key that no order took within 7 days; they are deleted");
    mg_metric_silence(supervisor->signals_kept);
    mg_metric_silence(supervisor->signal_kept_oldest);
}

/* A client's id is kept with the client, which the text has as the sender. */
static void late_note(struct mg_supervisor *supervisor, const struct mg_kept_figures *figures)
{
    char text[MG_SUPERVISOR_ALERT_SIZE];
    (void)snprintf(
        text, sizeof(text),
        "no order waits for the key of signal %.63s with the id %.*s, by %.128s: it has been kept for more "
        "than a day (%lld such signals), and is deleted after 7 days",
        figures->signal, (int)strcspn(figures->signal_id, "/"), figures->signal_id, figures->by,
        (long long)figures->late);
    mg_supervisor_watch_looked(supervisor, MG_WATCHED_SIGNALS, figures->late > 0 ? text : NULL);
}

static void unmatched_note(struct mg_supervisor *supervisor, const struct mg_kept_figures *figures)
{
    if (figures->unmatched > 0) {
        mg_metric_add(supervisor->signals_unmatched, (double)figures->unmatched);
        mg_log(MG_LOG_WARN, "deleted signals that no order has taken within 7 days",
               MG_LOG_NUMBER("signals", figures->unmatched));
    }
}

static void signals_answered(void *arg, const struct mg_kept_figures *figures, const struct mg_err *err)
{
    struct mg_supervisor *supervisor = arg;
    supervisor->is_signals_asking = false;
    if (!supervisor->is_leader || supervisor->is_stopping) {
        return;
    }
    bool is_full = err == NULL && figures->forgotten >= SIGNALS_BITE;
    mg_timer_start(supervisor->signals_timer, is_full ? SIGNALS_REST_MS : SIGNALS_PERIOD_MS, 0);
    if (err != NULL) {
        mg_log(mg_once_set(&supervisor->signals_failure_logged) ? MG_LOG_WARN : MG_LOG_DEBUG,
               "could not count the signals that are kept; their metrics are missing",
               MG_LOG_TEXT("reason", err->text));
        mg_metric_silence(supervisor->signals_kept);
        mg_metric_silence(supervisor->signal_kept_oldest);
        return;
    }
    mg_once_reset(&supervisor->signals_failure_logged);
    mg_metric_set(supervisor->signals_kept, (double)figures->kept);
    mg_metric_set(supervisor->signal_kept_oldest, (double)figures->oldest_ms / 1000.0);
    unmatched_note(supervisor, figures);
    late_note(supervisor, figures);
}

static void signals_look(void *arg)
{
    struct mg_supervisor *supervisor = arg;
    if (!supervisor->is_leader || supervisor->is_signals_asking) {
        return;
    }
    supervisor->is_signals_asking = true;
    mg_store_forget_signals(supervisor->counting, supervisor->epoch, supervisor->holder, SIGNALS_BITE,
                            SIGNALS_LATE_MS, signals_answered, supervisor);
}

bool mg_supervisor_signals_start(struct mg_supervisor *supervisor)
{
    supervisor->is_signals_asking = false;
    if (supervisor->counting == NULL) {
        return true;
    }
    return mg_supervisor_timer_begin(supervisor, &supervisor->signals_timer, signals_look, SIGNALS_PERIOD_MS,
                                     0);
}

void mg_supervisor_signals_stop(struct mg_supervisor *supervisor)
{
    mg_supervisor_timer_end(supervisor->signals_timer);
    mg_metric_silence(supervisor->signals_kept);
    mg_metric_silence(supervisor->signal_kept_oldest);
}
