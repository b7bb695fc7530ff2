/* Calls that wait for an order: for its end (?wait=20s), or until there is one. */
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "gateway/call.h"

#define PERIOD_MS 25 /* between two looks for calls at the end of their time */

struct mg_waits {
    struct mg_gateway *gateway;
    struct mg_timer *timer; /* runs while calls wait */
    struct mg_metric *gauge;
    int count;
};

struct mg_waits *mg_waits_create(struct mg_gateway *gateway)
{
    struct mg_waits *waits = calloc(1, sizeof(*waits));
    if (waits != NULL) {
        waits->gateway = gateway;
        waits->gauge = mg_metrics_series(gateway->metrics, MG_GAUGE, "makegood_gateway_waiting_calls", NULL,
                                         "calls that wait for an order or for its end");
    }
    return waits;
}

void mg_waits_destroy(struct mg_waits *waits)
{
    if (waits != NULL) {
        mg_timer_destroy(waits->timer);
    }
    free(waits);
}

static void wait_end(struct mg_call *call)
{
    struct mg_waits *waits = call->gateway->waits;
    mg_observe_end(call->gateway->observers, &call->observer);
    call->is_waiting = false;
    mg_metric_set(waits->gauge, --waits->count);
    call->woken(call); /* may free it */
}

static void on_changed(void *arg, bool is_end)
{
    struct mg_call *call = arg;
    if (is_end || call->is_unknown) {
        call->is_seen = true;
        wait_end(call);
    }
}

static void on_timer(void *arg)
{
    struct mg_waits *waits = arg;
    int64_t now_ms = mg_clock_boot_ms();
    struct mg_call *next, *call = TAILQ_FIRST(&waits->gateway->calls);
    for (; call != NULL; call = next) {
        next = TAILQ_NEXT(call, entry);
        if (call->is_waiting && call->wait_until_ms <= now_ms) {
            wait_end(call);
        }
    }
    if (waits->count == 0) {
        mg_timer_stop(waits->timer);
    }
}

bool mg_wait_begin(struct mg_call *call, void (*woken)(struct mg_call *call))
{
    struct mg_waits *waits = call->gateway->waits;
    if (waits->timer == NULL) {
        waits->timer = mg_timer_create(waits->gateway->loop, on_timer, waits);
    }
    call->observer = (struct mg_observer){.order_id = call->order_id, .changed = on_changed, .arg = call};
    if (waits->timer == NULL || waits->count >= MG_WAITS_MAX || mg_clock_boot_ms() >= call->wait_until_ms ||
        !mg_observe_begin(call->gateway->observers, &call->observer)) {
        return false;
    }
    call->woken = woken;
    call->is_waiting = true;
    mg_metric_set(waits->gauge, ++waits->count);
    if (!mg_timer_is_active(waits->timer)) {
        mg_timer_start(waits->timer, PERIOD_MS, PERIOD_MS);
    }
    return true;
}
