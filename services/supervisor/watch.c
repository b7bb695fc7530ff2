/*
 * Alerts that belong to no order, such as dead letters, mass expiry, orders that nothing moves, and ended
 * orders that do not leave. Each is open as long as its condition holds. The table decides whether a change
 * is new, so a new leader repeats nothing. A condition that cannot be looked for leaves its alert as it is.
 */
#include <stdio.h>

#include "alert_publish.h"
#include "base/clock.h"
#include "base/log.h"
#include "io/amqp/topology.h"
#include "supervisor.h"

#define WATCH_PERIOD_MS 2000
/* A condition that was looked for and not found for this long is gone. The time is a few ask-again periods at
 * least, since orders asked about are not found in between. */
#define WATCH_GONE_MS      15000
#define WATCH_GONE_PERIODS 3
#define UNNEEDED_TEXT      "no open order needs the service"

static const enum mg_alert ALERTS[MG_WATCHED_QUEUE] = {
    [MG_WATCHED_DEAD_LETTERS] = MG_ALERT_DEAD_LETTER,
    [MG_WATCHED_MASS_EXPIRY] = MG_ALERT_MASS_EXPIRY,
    [MG_WATCHED_STUCK_ORDERS] = MG_ALERT_INVARIANT_VIOLATION,
    [MG_WATCHED_RETENTION] = MG_ALERT_RETENTION_STANDS,
    [MG_WATCHED_SLOW_SWEEP] = MG_ALERT_SLOW_SWEEP,
    [MG_WATCHED_PARKED_CROWD] = MG_ALERT_SLOW_SWEEP,
    [MG_WATCHED_PASSED_BY] = MG_ALERT_ORDER_PASSED_BY,
    [MG_WATCHED_STANDSTILL] = MG_ALERT_STANDSTILL,
    [MG_WATCHED_LINES] = MG_ALERT_LINE_HELD,
    [MG_WATCHED_SIGNALS] = MG_ALERT_SIGNAL_UNMATCHED,
};
static const char *const SUBJECTS[MG_WATCHED_QUEUE] = {
    [MG_WATCHED_DEAD_LETTERS] = MG_QUEUE_DEAD,
    [MG_WATCHED_MASS_EXPIRY] = "attempts",
    [MG_WATCHED_STUCK_ORDERS] = "orders",
    [MG_WATCHED_RETENTION] = "archive",
    [MG_WATCHED_SLOW_SWEEP] = "sweeps",
    [MG_WATCHED_PARKED_CROWD] = "parked steps",
    [MG_WATCHED_PASSED_BY] = "orders",
    [MG_WATCHED_STANDSTILL] = "processes",
    [MG_WATCHED_LINES] = "lines",
    [MG_WATCHED_SIGNALS] = "signals",
};

static enum mg_alert alert_of(enum mg_watched watched)
{
    return watched < MG_WATCHED_QUEUE ? ALERTS[watched] : MG_ALERT_QUEUE_MISSING;
}

static const char *subject_of(enum mg_watched watched)
{
    return watched < MG_WATCHED_QUEUE ? SUBJECTS[watched]
                                      : MG_SUPERVISOR_QUEUE_NAMES[watched - MG_WATCHED_QUEUE];
}

int64_t mg_supervisor_gone_ms(const struct mg_supervisor *supervisor)
{
    int64_t asking_ms = WATCH_GONE_PERIODS * supervisor->options.ask_again_ms;
    return asking_ms > WATCH_GONE_MS ? asking_ms : WATCH_GONE_MS;
}

static void dead_letters_seen(void *arg, const char *queue, int64_t ready_messages, int64_t consumers)
{
    char text[256];
    mg_supervisor_queue_seen(arg, queue, ready_messages, consumers);
    (void)snprintf(text, sizeof(text), "queue %s holds messages; check makegood dead list", queue);
    mg_supervisor_watch_looked(arg, MG_WATCHED_DEAD_LETTERS, ready_messages > 0 ? text : NULL);
}

static void alert_published(void *arg, enum mg_publish_outcome outcome)
{
    struct mg_watched_state *state = arg;
    if (outcome == MG_PUBLISH_CONFIRMED) {
        mg_once_reset(&state->failure_logged);
        return;
    }
    state->is_unsaid = true;
    if (mg_once_set(&state->failure_logged)) {
        mg_log(MG_LOG_WARN, "could not publish an alert; the database has it, and it is published again",
               MG_LOG_TEXT("alert", mg_alert_name(alert_of(state->watched))),
               MG_LOG_TEXT("outcome", mg_publish_outcome_name(outcome)));
    }
}

static void alert_publish(struct mg_supervisor *supervisor, struct mg_watched_state *state)
{
    struct mg_alert_message alert = {
        .alert = alert_of(state->watched), .is_closed = !state->is_raised, .at_ms = supervisor->swept_at_ms};
    (void)snprintf(alert.subject, sizeof(alert.subject), "%s", subject_of(state->watched));
    (void)snprintf(alert.text, sizeof(alert.text), "%s", state->text);
    state->is_unsaid = false;
    if (!mg_alert_publish(supervisor->broker, MG_EXCHANGE_ALERTS, &alert, alert_published, state)) {
        alert_published(state, MG_PUBLISH_REFUSED);
    }
}

/* The table holds the closed alert. A client that only listens receives the message once, or not at all. */
static void unneeded_published(void *arg, enum mg_publish_outcome outcome)
{
    (void)arg;
    if (outcome != MG_PUBLISH_CONFIRMED) {
        mg_log(MG_LOG_WARN, "could not publish the end of an alert; the database has it",
               MG_LOG_TEXT("outcome", mg_publish_outcome_name(outcome)));
    }
}

static void unneeded_publish(struct mg_supervisor *supervisor, const char *service)
{
    struct mg_alert_message alert = {
        .alert = MG_ALERT_UNPUBLISHABLE, .is_closed = true, .at_ms = supervisor->swept_at_ms};
    (void)snprintf(alert.subject, sizeof(alert.subject), "%s", service);
    (void)snprintf(alert.text, sizeof(alert.text), "%s", UNNEEDED_TEXT);
    mg_log(MG_LOG_INFO, "alert closed", MG_LOG_TEXT("alert", mg_alert_name(alert.alert)),
           MG_LOG_TEXT("subject", service), MG_LOG_TEXT("text", alert.text));
    if (!mg_alert_publish(supervisor->broker, MG_EXCHANGE_ALERTS, &alert, unneeded_published, supervisor)) {
        unneeded_published(supervisor, MG_PUBLISH_REFUSED);
    }
}

static void alerts_written(void *arg, const bool *is_changed, int count, const struct mg_err *err)
{
    struct mg_supervisor *supervisor = arg;
    supervisor->is_writing_alerts = false;
    if (err != NULL) {
        return; /* the next period writes them */
    }
    for (int i = 0; i < supervisor->unneeded_written && supervisor->written_count + i < count; i++) {
        if (is_changed[supervisor->written_count + i]) {
            unneeded_publish(supervisor, supervisor->unneeded[i]);
        }
    }
    if (supervisor->unneeded_written > 0) { /* else those that were found meanwhile are still to be written */
        supervisor->unneeded_count = supervisor->unneeded_written = 0;
    }
    for (int i = 0; i < count && i < supervisor->written_count; i++) {
        struct mg_watched_state *state = &supervisor->watched[supervisor->written[i]];
        if (is_changed[i]) {
            mg_log(MG_LOG_WARN, state->is_raised ? "alert" : "alert closed",
                   MG_LOG_TEXT("alert", mg_alert_name(alert_of(state->watched))),
                   MG_LOG_TEXT("text", state->text));
        }
        if (is_changed[i] || state->is_unsaid) {
            alert_publish(supervisor, state);
        }
    }
}

/* True if the condition can be judged now; `is_raised` then holds the result. */
static bool state_judge(const struct mg_supervisor *supervisor, struct mg_watched_state *state,
                        int64_t now_boot_ms)
{
    int64_t gone_ms = mg_supervisor_gone_ms(supervisor);
    bool is_there = state->seen_at_boot_ms != 0 && now_boot_ms - state->seen_at_boot_ms < gone_ms;
    /* A new leader must have looked for as long before it closes its predecessor's alerts. */
    bool is_gone = !is_there && now_boot_ms - supervisor->watching_since_boot_ms >= gone_ms &&
                   state->looked_at_boot_ms != 0 && now_boot_ms - state->looked_at_boot_ms < gone_ms;
    if (is_there || is_gone) {
        state->is_raised = is_there;
    }
    if (is_gone && state->text[0] == '\0') {
        (void)snprintf(state->text, sizeof(state->text), "the cause no longer exists");
    }
    return is_there || is_gone;
}

/* Rows that a statement of this leader leaves out, and orders that wait for the database. Their number is
 * small, and the first is named. */
static void passed_by_look(struct mg_supervisor *supervisor)
{
    struct mg_passed_row first;
    char text[MG_SUPERVISOR_ALERT_SIZE];
    int count = mg_store_passed_rows(supervisor->store, &first, 1);
    if (count > 0) {
        (void)snprintf(text, sizeof(text),
                       "%s %s cannot be %s (%d such rows); the others go on. Mend it, or makegood order "
                       "set-aside: %.100s",
                       first.noun, first.key, first.verb, count, first.why);
    } else {
        (void)snprintf(text, sizeof(text), "%s", supervisor->waiting);
    }
    mg_metric_set(supervisor->passed_by, count);
    mg_supervisor_watch_looked(supervisor, MG_WATCHED_PASSED_BY, text[0] != '\0' ? text : NULL);
}

static void alerts_write(void *arg)
{
    struct mg_supervisor *supervisor = arg;
    struct mg_alert_write writes[MG_WATCHED_COUNT + MG_SUPERVISOR_UNNEEDED_MAX];
    int count = 0;
    if (!supervisor->is_leader || supervisor->is_writing_alerts) {
        return;
    }
    passed_by_look(supervisor);
    for (int i = 0; i < MG_WATCHED_COUNT; i++) {
        struct mg_watched_state *state = &supervisor->watched[i];
        if (state_judge(supervisor, state, mg_clock_boot_ms())) {
            supervisor->written[count] = (enum mg_watched)i;
            writes[count++] = (struct mg_alert_write){.alert = alert_of((enum mg_watched)i),
                                                      .is_closed = !state->is_raised,
                                                      .subject = subject_of((enum mg_watched)i),
                                                      .order_id = "",
                                                      .text = mg_slice_of(state->text)};
        }
    }
    supervisor->written_count = count;
    supervisor->unneeded_written = supervisor->unneeded_count;
    for (int i = 0; i < supervisor->unneeded_count; i++) {
        writes[count++] = (struct mg_alert_write){.alert = MG_ALERT_UNPUBLISHABLE,
                                                  .is_closed = true,
                                                  .subject = supervisor->unneeded[i],
                                                  .order_id = "",
                                                  .text = mg_slice_of(UNNEEDED_TEXT)};
    }
    if (count > 0) {
        supervisor->is_writing_alerts = true;
        mg_store_write_alerts(supervisor->store, writes, count, alerts_written, supervisor);
    }
}

bool mg_supervisor_watch_start(struct mg_supervisor *supervisor)
{
    struct mg_err err;
    supervisor->is_writing_alerts = false;
    supervisor->unneeded_written = 0;
    supervisor->watching_since_boot_ms = mg_clock_boot_ms();
    for (int i = 0; i < MG_WATCHED_COUNT; i++) {
        supervisor->watched[i].watched = (enum mg_watched)i;
    }
    if (mg_broker_watch_queue(supervisor->broker, MG_QUEUE_DEAD, WATCH_PERIOD_MS, dead_letters_seen,
                              supervisor, &err) != MG_OK) {
        mg_log(MG_LOG_WARN, "could not watch the dead letters", MG_LOG_TEXT("reason", err.text));
    }
    return mg_supervisor_timer_begin(supervisor, &supervisor->watch_timer, alerts_write, WATCH_PERIOD_MS,
                                     WATCH_PERIOD_MS);
}

void mg_supervisor_watch_stop(struct mg_supervisor *supervisor)
{
    mg_supervisor_timer_end(supervisor->watch_timer);
}
