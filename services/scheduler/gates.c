/*
 * May a request for a service go out now (law 7, waiting is not failing)? No, if its agents report an open
 * breaker or are not ready, if no agent consumes its queue, or if its window is full.
 *
 * The assumed length of a queue is the observed one plus all requests published since. Only the broker knows
 * the consumption since then. So the queue is looked at every quarter of a second, and at once when the
 * uncertain part is half of the room. Otherwise requests that are long gone would hold back a busy service.
 * Between two looks windows are soft: they keep a queue short and do not count exactly. A queue that is
 * empty, served and not published to is looked at every second: nothing waits for the result.
 *
 * A service that was down is probed by one request for all. No other goes out until its agents report more.
 *
 * A step held back here is parked and costs nothing; the supervisor sends a command for it later. So a full
 * queue holds up its own steps only, within the bound of park.c.
 */
#include "gates.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/log.h"

#define MG_GATES_MAX 256 /* services named by all workflows in use; two watched queues each */
/* Minimum interval of extra looks at a full queue: a hundred queries a second have no noticeable cost. */
#define MG_GATE_LOOK_MS 10
/* A queue at rest can only lose its consumers or be deleted. */
#define MG_GATE_REST_MS 1000
/* A consumer that starts anew, for another prefetch, is back sooner. */
#define MG_GATE_LEFT_MS 1000
/* Most complete-bys are shorter. Then an agent of others, which serves one queue only, is believed. */
#define MG_GATE_LEFT_MAX_MS (5 * 60 * 1000)
/* This process trusts its own last alert for so long. Since then another one may have closed the alert, or
 * opened it and died. */
#define MG_GATE_ALERT_MS    30000
#define MG_GATE_ALERT_TICKS (MG_GATE_ALERT_MS / MG_TICK_MS)
/* Longer than agents take under load to report that they have the probe, and then its result. */
#define MG_GATE_PROBE_MS 1000
/* A full queue has room again for moments, and is full as soon as new orders have used it. */
#define MG_GATE_HELD_MS 5000
/* The last quarter of a window is for orders that have begun. If new ones filled it, each later step would
 * be parked. Where steps are parked, it is for those, for undos and for retries. */
#define MG_GATE_BEGUN_SHARE 4
/* A line ends when the queue holds less than this part of the window: those asked about do not fill it. */
#define MG_GATE_LINE_SHARE 2

static bool has_missing_queue(const struct mg_gate *gate)
{
    return gate->queues[0].consumers < 0 || gate->queues[1].consumers < 0;
}

static void on_queue_seen(void *arg, const char *queue, int64_t ready_messages, int64_t consumers)
{
    struct mg_gate *gate = arg;
    bool was_missing = has_missing_queue(gate);
    for (int i = 0; i < 2; i++) {
        struct mg_gate_queue *seen = &gate->queues[i];
        if (strcmp(seen->name, queue) == 0) {
            seen->is_seen = true;
            if (seen->consumers < 0 && consumers >= 0) { /* it has been declared */
                mg_queue_rest_end(&seen->rest);
            }
            if (consumers != 0) {
                seen->left_boot_ms = 0;
            } else if (seen->consumers > 0) {
                seen->left_boot_ms = mg_clock_boot_ms();
            }
            seen->is_returned = false;
            seen->ready = ready_messages;
            seen->consumers = consumers;
            seen->since = 0;
            /* Messages that left the queue have been consumed. Publishes of other processes are not
             * counted here, so the result is rather too low. */
            mg_queue_metrics_seen(&seen->metrics, ready_messages, 0, consumers,
                                  seen->arrived - ready_messages, *gate->gates->unconfirmed);
        }
    }
    if (has_missing_queue(gate) != was_missing) { /* if possible, before a request is lost */
        mg_gate_published(gate, was_missing);
    }
    mg_scheduler_wake(gate->gates->shared); /* intake may have waited for this */
}

struct mg_gate *mg_gates_of(struct mg_gates *gates, const char *service)
{
    for (struct mg_gate *gate = gates->first; gate != NULL; gate = gate->next) {
        if (strcmp(gate->service, service) == 0) {
            return gate;
        }
    }
    struct mg_gate *gate = gates->count < MG_GATES_MAX ? calloc(1, sizeof(*gate)) : NULL;
    if (gate == NULL) {
        mg_log(MG_LOG_WARN, "the queues of a service are not watched: its requests are sent without a window",
               MG_LOG_TEXT("service", service));
        return NULL;
    }
    gate->gates = gates;
    snprintf(gate->service, sizeof(gate->service), "%s", service);
    mg_service_metrics_init(&gate->metrics, gates->shared->metrics, service);
    for (int i = 0; i < 2; i++) {
        struct mg_err err;
        gate->queues[i].park.shared = gates->shared;
        mg_topology_request_queue(service, i == 1, gate->queues[i].name);
        mg_queue_metrics_init(&gate->queues[i].metrics, gates->shared->metrics, gate->queues[i].name);
        if (mg_broker_watch_queue(gates->shared->broker, gate->queues[i].name, MG_GATE_REST_MS, on_queue_seen,
                                  gate, &err) != MG_OK) {
            mg_log(MG_LOG_WARN, "could not watch a queue", MG_LOG_TEXT("queue", gate->queues[i].name),
                   MG_LOG_TEXT("why", err.text));
        }
    }
    gate->next = gates->first;
    gates->first = gate;
    gates->count++;
    return gate;
}

static bool is_at_rest(const struct mg_gate_queue *queue)
{
    return queue->is_seen && queue->consumers > 0 && queue->ready == 0 && queue->since == 0;
}

void mg_gates_unseen(struct mg_gates *gates)
{
    for (struct mg_gate *gate = gates->first; gate != NULL; gate = gate->next) {
        for (int i = 0; i < 2; i++) {
            mg_queue_metrics_silence(&gate->queues[i].metrics);
        }
    }
}

/* True if a queue holds `window` messages or more, by the known counts. */
static bool queue_holds(struct mg_gate *gate, struct mg_gate_queue *queue, int64_t window)
{
    if (!queue->is_seen) {
        return false;
    }
    int64_t now_ms = queue->since * 2 >= window - queue->ready ? mg_clock_boot_ms() : 0;
    if (now_ms >= queue->looked_at_boot_ms + MG_GATE_LOOK_MS) {
        queue->looked_at_boot_ms = now_ms;
        mg_broker_look(gate->gates->shared->broker, queue->name);
    }
    return queue->ready + queue->since >= window;
}

static bool gate_holds_intake(struct mg_gate *gate, bool is_high)
{
    int64_t window = gate->gates->shared->options->window;
    struct mg_gate_queue *queue = &gate->queues[is_high ? 1 : 0];
    int64_t full = queue->park.has_line ? window / MG_GATE_LINE_SHARE : window - window / MG_GATE_BEGUN_SHARE;
    bool is_served = queue->consumers > 0 && gate->reported == MG_REASON_NONE;
    if (!is_served || !queue_holds(gate, queue, full)) {
        queue->park.has_line = false;
        return false;
    }
    return mg_park_holds(&queue->park, gate->service, is_high);
}

void mg_gates_look(struct mg_gates *gates)
{
    for (struct mg_gate *gate = gates->first; gate != NULL; gate = gate->next) {
        if (gate->alert != MG_GATE_ALERT_UNSURE && ++gate->alert_for_ticks >= MG_GATE_ALERT_TICKS) {
            gate->alert = MG_GATE_ALERT_UNSURE;
            if (gate->is_missed) {
                mg_gate_held(gate);
            }
        }
        for (int i = 0; i < 2; i++) {
            if (!is_at_rest(&gate->queues[i])) {
                mg_broker_look(gates->shared->broker, gate->queues[i].name);
            }
            if (gate->queues[i].park.has_line) { /* it also ends while no order comes */
                (void)gate_holds_intake(gate, i == 1);
            }
        }
    }
}

static bool is_probe_out(const struct mg_gate *gate)
{
    return gate->is_probing && gate->probed_boot_ms != 0 &&
           mg_clock_boot_ms() - gate->probed_boot_ms < MG_GATE_PROBE_MS;
}

/* A consumer that has ended still counts in its queue while requests are in its hands. Agents consume both
 * queues of their service, so the other one shows it. */
static bool is_left(const struct mg_gate *gate)
{
    for (int i = 0; i < 2; i++) {
        int64_t left_boot_ms = gate->queues[i].left_boot_ms;
        int64_t left_ms = left_boot_ms != 0 ? mg_clock_boot_ms() - left_boot_ms : 0;
        if (left_ms >= MG_GATE_LEFT_MS && left_ms < MG_GATE_LEFT_MAX_MS) {
            return true;
        }
    }
    return false;
}

enum mg_reason mg_gate_reason(struct mg_gate *gate, bool is_high, bool is_first)
{
    if (gate == NULL) {
        return MG_REASON_NONE;
    }
    struct mg_gate_queue *queue = &gate->queues[is_high ? 1 : 0];
    /* Before the consumers: an open breaker stops consuming, and the cause is reported, not the symptom. */
    if (gate->reported != MG_REASON_NONE) {
        return gate->reported;
    }
    if ((queue->is_seen && queue->consumers <= 0) || is_left(gate)) {
        return MG_REASON_NO_CONSUMER;
    }
    if (is_probe_out(gate)) {
        return MG_REASON_BREAKER_OPEN;
    }
    if (mg_queue_rest_holds(&queue->rest)) {
        return queue->rest_reason;
    }
    bool is_full =
        (is_first && queue->park.has_line) || queue_holds(gate, queue, gate->gates->shared->options->window);
    return is_full ? MG_REASON_WINDOW_FULL : MG_REASON_NONE;
}

void mg_gate_parked(struct mg_gate *gate, bool is_high)
{
    if (gate != NULL) {
        gate->queues[is_high ? 1 : 0].park.since++;
    }
}

bool mg_gate_take(struct mg_gate *gate, bool is_high)
{
    if (gate == NULL) {
        return false;
    }
    struct mg_gate_queue *queue = &gate->queues[is_high ? 1 : 0];
    queue->since++;
    gate->probed_boot_ms = gate->is_probing ? mg_clock_boot_ms() : 0;
    return mg_queue_rest_try(&queue->rest);
}

void mg_gate_served(struct mg_gate *gate)
{
    if (gate != NULL) {
        gate->probed_boot_ms = 0;
    }
}

void mg_gates_report(struct mg_gates *gates, const struct mg_service_row *rows, int count)
{
    for (struct mg_gate *gate = gates->first; gate != NULL; gate = gate->next) {
        enum mg_reason reported = MG_REASON_NONE;
        bool is_probing = false;
        for (int i = 0; i < count; i++) {
            if (strcmp(rows[i].service, gate->service) == 0) {
                reported = rows[i].gate;
                is_probing = rows[i].is_probing;
            }
        }
        gate->is_probing = is_probing;
        gate->probed_boot_ms = is_probing ? gate->probed_boot_ms : 0;
        if (reported != gate->reported) {
            mg_log(MG_LOG_INFO, "the gate of a service changed", MG_LOG_TEXT("service", gate->service),
                   MG_LOG_TEXT("gate", mg_reason_name(reported)));
            gate->reported = reported;
        }
    }
}

bool mg_gates_hold_intake(const struct mg_gates *gates, bool is_high)
{
    bool is_held = false;
    for (struct mg_gate *gate = gates->first; gate != NULL; gate = gate->next) {
        is_held = gate_holds_intake(gate, is_high) || is_held;
    }
    return is_held;
}

const struct mg_gate *mg_gates_held_by(const struct mg_gates *gates, bool *ret_is_at_most)
{
    int64_t since_boot_ms = mg_clock_boot_ms() - MG_GATE_HELD_MS;
    const struct mg_gate *found = NULL;
    for (const struct mg_gate *gate = gates->first; gate != NULL; gate = gate->next) {
        for (int i = 0; i < 2; i++) {
            const struct mg_park *park = &gate->queues[i].park;
            if (park->held_boot_ms != 0 && park->held_boot_ms >= since_boot_ms) {
                found = gate;
                since_boot_ms = park->held_boot_ms;
                *ret_is_at_most = mg_park_is_at_most(park);
            }
        }
    }
    return found;
}

static void alert_text(const struct mg_gate *gate, char *ret_text, size_t size)
{
    for (int i = 0; i < 2; i++) {
        const char *queue = gate->queues[i].name;
        if (gate->queues[i].consumers < 0 || gate->queues[i].is_returned) {
            char command[MG_APPLY_COMMAND_SIZE];
            mg_topology_apply_command(&queue, 1, command);
            snprintf(ret_text, size, "%s: queue %s does not exist; run: %s",
                     mg_alert_text(MG_ALERT_UNPUBLISHABLE), queue, command);
            return;
        }
    }
    snprintf(ret_text, size, "%s: %s", mg_alert_text(MG_ALERT_UNPUBLISHABLE), gate->queues[0].name);
}

static void alert_raise(const struct mg_gate *gate, const char *text, bool is_closed)
{
    const struct mg_gates *gates = gate->gates;
    gates->raise(gates->arg, MG_ALERT_UNPUBLISHABLE, gate->service, text, is_closed);
}

/* The alert of a service is opened when a queue of it is missing or a request is not taken. It is closed
 * when the queue is back or a request is taken. Another process may have closed it, or have opened it and
 * died, so it is raised again now and then. A failed store call does not shorten that interval: a call
 * that waits for a lock in the store holds up all other calls of the session. */
void mg_gate_published(struct mg_gate *gate, bool has_arrived)
{
    if (gate == NULL) {
        return;
    }
    if (has_arrived && !has_missing_queue(gate) && gate->alert != MG_GATE_ALERT_CLOSED) {
        gate->alert = MG_GATE_ALERT_CLOSED;
        gate->alert_for_ticks = 0;
        alert_raise(gate, "the queue accepts requests again", true);
    } else if (!has_arrived && gate->alert != MG_GATE_ALERT_OPEN) {
        gate->alert = MG_GATE_ALERT_OPEN;
        gate->alert_for_ticks = 0;
        char text[512];
        gate->is_missed = false;
        alert_text(gate, text, sizeof(text));
        alert_raise(gate, text, false);
    }
}

/* The supervisor may have closed the alert meanwhile, as one that no order needs (its unneeded.c). While
 * this process still trusts its own last alert, it postpones the repetition. */
void mg_gate_held(struct mg_gate *gate)
{
    if (gate != NULL && has_missing_queue(gate)) {
        gate->is_missed = true;
        mg_gate_published(gate, false);
    }
}

static struct mg_gate_queue *queue_find(struct mg_gate *gate, const char *name)
{
    for (int i = 0; i < 2; i++) {
        if (strcmp(gate->queues[i].name, name) == 0) {
            return &gate->queues[i];
        }
    }
    return NULL;
}

void mg_gate_arrived(struct mg_gate *gate, const char *queue)
{
    if (gate == NULL) {
        return;
    }
    struct mg_gate_queue *found = queue_find(gate, queue);
    if (found != NULL) {
        found->arrived++;
        mg_queue_rest_end(&found->rest);
    }
}

void mg_gate_untry(struct mg_gate *gate, const char *queue)
{
    struct mg_gate_queue *found = gate != NULL ? queue_find(gate, queue) : NULL;
    if (found != NULL) {
        mg_queue_rest_untry(&found->rest);
    }
}

bool mg_gate_is_resting(struct mg_gate *gate, const char *queue)
{
    const struct mg_gate_queue *found = gate != NULL ? queue_find(gate, queue) : NULL;
    return found != NULL && mg_queue_rest_stops(&found->rest);
}

void mg_gate_refused(struct mg_gate *gate, const char *queue, enum mg_publish_outcome outcome)
{
    struct mg_gate_queue *found = gate != NULL ? queue_find(gate, queue) : NULL;
    if (found == NULL) {
        return;
    }
    found->is_returned = found->is_returned || outcome == MG_PUBLISH_RETURNED;
    mg_gate_published(gate, false);
    if (mg_queue_rest_begin(&found->rest, outcome == MG_PUBLISH_UNKNOWN)) {
        found->rest_reason = outcome == MG_PUBLISH_REFUSED ? MG_REASON_WINDOW_FULL : MG_REASON_NO_CONSUMER;
    }
}

void mg_gates_finish(struct mg_gates *gates)
{
    while (gates->first != NULL) {
        struct mg_gate *gate = gates->first;
        gates->first = gate->next;
        free(gate);
    }
}
