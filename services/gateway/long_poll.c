/* Calls that wait for an order: for its end (?wait=20s), or until there is one. */
#include <stdlib.h>

#include "base/clock.h"
#include "gateway/call.h"

#define PERIOD_MS           25   /* between two looks for calls at the end of their time */
#define HANG_UP_MS          1000 /* between two looks for clients that have hung up, of a system call each */
#define WAITS_OF_CLIENT_MAX 250  /* a quarter of all: one client leaves places for others */

struct mg_waits {
    struct mg_gateway *gateway;
    struct mg_timer *timer; /* runs while calls wait */
    struct mg_metric *gauge;
    int count;
    int64_t hang_up_at_ms; /* the next look, by the clock since boot */
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
        wait_end(call);
    }
}

static bool is_gone(const struct mg_call *call)
{
    return call->request == NULL || mg_http_exchange_is_hung_up(call->request);
}

/* A client that has hung up ends its call's time. */
static void on_timer(void *arg)
{
    struct mg_waits *waits = arg;
    int64_t now_ms = mg_clock_boot_ms();
    bool is_look = waits->hang_up_at_ms <= now_ms;
    struct mg_call *next, *call = TAILQ_FIRST(&waits->gateway->calls);
    for (; call != NULL; call = next) {
        next = TAILQ_NEXT(call, entry);
        if (call->is_waiting && is_look && is_gone(call)) {
            call->wait_until_ms = now_ms;
        }
        if (call->is_waiting && (call->wait_until_ms <= now_ms || call->gateway->is_draining)) {
            wait_end(call);
        }
    }
    if (is_look) {
        waits->hang_up_at_ms = now_ms + HANG_UP_MS;
    }
    if (waits->count == 0) {
        mg_timer_stop(waits->timer);
    }
}

static int waits_of(const struct mg_gateway *gateway, const struct mg_client *client)
{
    const struct mg_call *call;
    int count = 0;
    TAILQ_FOREACH(call, &gateway->calls, entry)
    {
        count += call->is_waiting && call->client == client;
    }
    return count;
}

bool mg_wait_begin(struct mg_call *call, void (*woken)(struct mg_call *call))
{
    struct mg_waits *waits = call->gateway->waits;
    if (waits->timer == NULL) {
        waits->timer = mg_timer_create(waits->gateway->loop, on_timer, waits);
    }
    call->observer = (struct mg_observer){.client = mg_client_name(call->client),
                                          .order_id = call->order_id,
                                          .changed = on_changed,
                                          .arg = call};
    if (waits->timer == NULL || call->gateway->is_draining || mg_clock_boot_ms() >= call->wait_until_ms ||
        waits->count >= MG_WAITS_MAX || waits_of(call->gateway, call->client) >= WAITS_OF_CLIENT_MAX ||
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
