/*
 * Calls that wait for the end of an order (?wait=20s). One report reads the states of all their orders, as
 * long as any call waits. The reports take at most a twentieth of the database's time, so many waiting calls
 * make the answers later, and not the database slower.
 */
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "gateway/call.h"

#define WAITS_MAX   1000
#define PERIOD_MS   25 /* between two reports; a person does not notice it */
#define REST_FACTOR 20 /* times the duration of the last report */
#define IDS_MAX     ((size_t)WAITS_MAX * (MG_ORDER_ID_MAX + 1))

struct mg_waits {
    struct mg_gateway *gateway;
    void (*ended)(struct mg_call *call);
    struct mg_timer *timer; /* runs while calls wait */
    struct mg_metric *gauge;
    struct mg_buf ids;
    int count;
    bool is_asking;
    int64_t asked_ms, ask_at_ms; /* by the clock since boot */
};

struct mg_waits *mg_waits_create(struct mg_gateway *gateway, void (*ended)(struct mg_call *call))
{
    struct mg_waits *waits = calloc(1, sizeof(*waits));
    if (waits != NULL) {
        waits->gateway = gateway;
        waits->ended = ended;
        mg_buf_init(&waits->ids, IDS_MAX);
        waits->gauge = mg_metrics_series(gateway->metrics, MG_GAUGE, "makegood_gateway_waiting_calls", NULL,
                                         "calls that wait for the end of an order");
    }
    return waits;
}

void mg_waits_destroy(struct mg_waits *waits)
{
    if (waits != NULL) {
        mg_timer_destroy(waits->timer);
        mg_buf_finish(&waits->ids);
    }
    free(waits);
}

static bool is_end(struct mg_slice state)
{
    return mg_slice_is(state, "processed") || mg_slice_is(state, "compensated") ||
           mg_slice_is(state, "cancelled") || mg_slice_is(state, "error");
}

static struct mg_call *next_waiting(struct mg_call *call)
{
    while (call != NULL && !call->is_waiting) {
        call = TAILQ_NEXT(call, entry);
    }
    return call;
}

static void wait_end(struct mg_waits *waits, struct mg_call *call)
{
    call->is_waiting = false;
    mg_metric_set(waits->gauge, --waits->count);
    waits->ended(call); /* may free it */
}

static void order_seen(struct mg_waits *waits, struct mg_slice order_id, bool has_ended)
{
    struct mg_call *next, *call = next_waiting(TAILQ_FIRST(&waits->gateway->calls));
    for (; call != NULL; call = next) {
        next = next_waiting(TAILQ_NEXT(call, entry));
        if (mg_slice_is(order_id, call->order_id) && (has_ended || call->is_unknown)) {
            call->is_seen = true;
            wait_end(waits, call);
        }
    }
}

static void over_end(struct mg_waits *waits)
{
    int64_t now_ms = mg_clock_boot_ms();
    struct mg_call *next, *call = next_waiting(TAILQ_FIRST(&waits->gateway->calls));
    for (; call != NULL; call = next) {
        next = next_waiting(TAILQ_NEXT(call, entry));
        if (call->wait_until_ms <= now_ms) {
            wait_end(waits, call);
        }
    }
}

static void on_versions(void *arg, const struct mg_rows *rows, const struct mg_err *err)
{
    struct mg_waits *waits = arg;
    waits->is_asking = false;
    for (int i = 0; err == NULL && i < mg_rows_count(rows); i++) {
        order_seen(waits, mg_rows_value(rows, i, 0), is_end(mg_rows_value(rows, i, 2)));
    }
    int64_t now_ms = mg_clock_boot_ms();
    waits->ask_at_ms = now_ms + (now_ms - waits->asked_ms) * REST_FACTOR;
}

/* Reads the states of all awaited orders. Without memory it is tried again. */
static void orders_ask(struct mg_waits *waits)
{
    mg_buf_clear(&waits->ids);
    for (struct mg_call *call = next_waiting(TAILQ_FIRST(&waits->gateway->calls)); call != NULL;
         call = next_waiting(TAILQ_NEXT(call, entry))) {
        mg_buf_printf(&waits->ids, "%s%s", waits->ids.len > 0 ? " " : "", call->order_id);
    }
    if (waits->ids.failed) {
        return;
    }
    waits->is_asking = true;
    waits->asked_ms = mg_clock_boot_ms();
    mg_store_report(waits->gateway->store, MG_REPORT_VERSIONS, (const char *[]){waits->ids.data}, 1,
                    on_versions, waits);
}

static void on_timer(void *arg)
{
    struct mg_waits *waits = arg;
    over_end(waits);
    if (waits->count == 0) {
        mg_timer_stop(waits->timer);
    } else if (!waits->is_asking && waits->ask_at_ms <= mg_clock_boot_ms()) {
        orders_ask(waits);
    }
}

bool mg_wait_begin(struct mg_waits *waits, struct mg_call *call)
{
    if (waits->timer == NULL) {
        waits->timer = mg_timer_create(waits->gateway->loop, on_timer, waits);
    }
    if (waits->timer == NULL || waits->count >= WAITS_MAX) {
        return false;
    }
    call->is_waiting = true;
    waits->count++;
    mg_metric_set(waits->gauge, waits->count);
    if (!mg_timer_is_active(waits->timer)) {
        mg_timer_start(waits->timer, PERIOD_MS, PERIOD_MS);
    }
    return true;
}
