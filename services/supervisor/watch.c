/*
 * Alerts that belong to no order: dead letters, mass expiry, orders that nothing moves. Each is open as long
 * as its condition holds; the table decides whether a change is new, so a leader that follows another repeats
 * nothing.
 */
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/log.h"
#include "io/topology.h"
#include "supervisor.h"
#include "wire/alert.h"

#define WATCH_PERIOD_MS 2000
/* A condition that has not been found for so long is gone: well above the periods at which it is looked for.
 */
#define WATCH_GONE_MS   15000
#define ALERT_MAX_BYTES 4096

static const enum mg_alert alert_of[WATCHED_COUNT] = {
    [WATCHED_DEAD_LETTERS] = MG_ALERT_DEAD_LETTER,
    [WATCHED_MASS_EXPIRY] = MG_ALERT_MASS_EXPIRY,
    [WATCHED_STUCK_ORDERS] = MG_ALERT_INVARIANT_VIOLATION,
};
static const char *const subject_of[WATCHED_COUNT] = {
    [WATCHED_DEAD_LETTERS] = MG_QUEUE_DEAD,
    [WATCHED_MASS_EXPIRY] = "attempts",
    [WATCHED_STUCK_ORDERS] = "orders",
};

void supervisor_watch_saw(struct supervisor *supervisor, enum watched watched, const char *text)
{
    supervisor->seen_at_boot_ms[watched] = mg_clock_boot_ms();
    (void)snprintf(supervisor->seen_text[watched], sizeof(supervisor->seen_text[watched]), "%s", text);
}

static void dead_letters_seen(void *arg, const char *queue, int64_t ready_messages, int64_t consumers)
{
    (void)consumers;
    if (ready_messages > 0) {
        char text[256];
        (void)snprintf(text, sizeof(text), "%lld messages lie in %s", (long long)ready_messages, queue);
        supervisor_watch_saw(arg, WATCHED_DEAD_LETTERS, text);
    }
}

static void alert_published(void *arg, enum mg_publish_outcome outcome)
{
    (void)arg;
    if (outcome != MG_PUBLISH_CONFIRMED) {
        mg_log(MG_LOG_WARN, "could not publish an alert; it stands in the table operator_alert",
               MG_LOG_TEXT("outcome", mg_publish_outcome_name(outcome)));
    }
}

static void alert_publish(struct supervisor *supervisor, enum watched watched)
{
    struct mg_alert_message alert = {.alert = alert_of[watched],
                                     .is_closed = !supervisor->is_raised[watched],
                                     .at_ms = supervisor->swept_at_ms};
    (void)snprintf(alert.subject, sizeof(alert.subject), "%s", subject_of[watched]);
    (void)snprintf(alert.text, sizeof(alert.text), "%s", supervisor->seen_text[watched]);
    struct mg_buf body;
    struct mg_err err;
    mg_buf_init(&body, ALERT_MAX_BYTES);
    mg_alert_write(&alert, &body);
    struct mg_message message = {.exchange = MG_EXCHANGE_ALERTS,
                                 .routing_key = MG_QUEUE_ALERTS,
                                 .type = "alert",
                                 .body = mg_buf_slice(&body)};
    if (body.failed ||
        mg_broker_publish(supervisor->broker, &message, alert_published, supervisor, &err) != MG_OK) {
        alert_published(supervisor, MG_PUBLISH_UNKNOWN);
    }
    mg_buf_finish(&body);
}

static void alerts_written(void *arg, const bool *is_changed, int count, const struct mg_err *err)
{
    struct supervisor *supervisor = arg;
    supervisor->is_writing_alerts = false;
    if (err != NULL) {
        return; /* the next period writes them */
    }
    for (int i = 0; i < count; i++) {
        if (is_changed[i]) {
            mg_log(MG_LOG_WARN, supervisor->is_raised[i] ? "alert" : "alert closed",
                   MG_LOG_TEXT("alert", mg_alert_name(alert_of[i])),
                   MG_LOG_TEXT("text", supervisor->seen_text[i]));
            alert_publish(supervisor, (enum watched)i);
        }
    }
}

static void alerts_write(void *arg)
{
    struct supervisor *supervisor = arg;
    if (!supervisor->is_leader || supervisor->is_writing_alerts) {
        return;
    }
    int64_t now_boot_ms = mg_clock_boot_ms();
    struct mg_alert_write writes[WATCHED_COUNT];
    for (int i = 0; i < WATCHED_COUNT; i++) {
        int64_t seen_at_ms = supervisor->seen_at_boot_ms[i];
        supervisor->is_raised[i] = seen_at_ms != 0 && now_boot_ms - seen_at_ms < WATCH_GONE_MS;
        writes[i] = (struct mg_alert_write){.alert = alert_of[i],
                                            .is_closed = !supervisor->is_raised[i],
                                            .subject = subject_of[i],
                                            .order_id = "",
                                            .text = mg_slice_of(supervisor->seen_text[i])};
    }
    supervisor->is_writing_alerts = true;
    mg_store_write_alerts(supervisor->store, writes, WATCHED_COUNT, alerts_written, supervisor);
}

void supervisor_watch_start(struct supervisor *supervisor)
{
    struct mg_err err;
    supervisor->is_writing_alerts = false;
    if (supervisor->watch_timer == NULL) {
        supervisor->watch_timer = mg_timer_create(supervisor->loop, alerts_write, supervisor);
        if (mg_broker_watch_queue(supervisor->broker, MG_QUEUE_DEAD, WATCH_PERIOD_MS, dead_letters_seen,
                                  supervisor, &err) != MG_OK) {
            mg_log(MG_LOG_WARN, "could not watch the dead letters", MG_LOG_TEXT("reason", err.text));
        }
    }
    if (supervisor->watch_timer != NULL) {
        /* First after a while: a new leader has not looked yet, and must not close what its predecessor
         * opened. */
        mg_timer_start(supervisor->watch_timer, 2 * WATCH_PERIOD_MS, WATCH_PERIOD_MS);
    }
}
