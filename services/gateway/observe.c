/*
 * Changes of orders. One report asks for all observed orders that have changed since their last notice, as
 * long as any is observed. The reports take at most a twentieth of the database's time while each takes less
 * than 50 ms. So many observers make the notices later, and not the database slower.
 */
#include <stdlib.h>

#include "base/clock.h"
#include "gateway/call.h"

#define PERIOD_MS    25   /* between two reports; a person does not notice it */
#define REST_FACTOR  20   /* times the duration of the last report */
#define REST_MAX_MS  1000 /* a report that took long, as in a stall, delays the next one by no more */
#define RETRY_MS     250  /* after a failure, of which the duration is no measure of the load */
#define VERSION_SIZE 20   /* digits of an int64, and a blank */
#define IDS_MAX      ((size_t)MG_OBSERVERS_MAX * (MG_ORDER_ID_MAX + 1))
#define VERSIONS_MAX ((size_t)MG_OBSERVERS_MAX * VERSION_SIZE)
#define CLIENTS_MAX  ((size_t)MG_OBSERVERS_MAX * (MG_NAME_MAX + 1))

struct mg_observers {
    struct mg_gateway *gateway;
    struct mg_timer *timer; /* runs while there are observers */
    TAILQ_HEAD(, mg_observer) all;
    int count;
    struct mg_observer
        *asked[MG_OBSERVERS_MAX]; /* of the report under way, in its order; NULL: it has left */
    struct mg_buf ids, versions, clients;
    bool is_asking;
    int64_t asked_ms, ask_at_ms; /* by the clock since boot */
};

struct mg_observers *mg_observers_create(struct mg_gateway *gateway)
{
    struct mg_observers *observers = calloc(1, sizeof(*observers));
    if (observers != NULL) {
        observers->gateway = gateway;
        TAILQ_INIT(&observers->all);
        mg_buf_init(&observers->ids, IDS_MAX);
        mg_buf_init(&observers->versions, VERSIONS_MAX);
        mg_buf_init(&observers->clients, CLIENTS_MAX);
    }
    return observers;
}

void mg_observers_destroy(struct mg_observers *observers)
{
    if (observers != NULL) {
        mg_timer_destroy(observers->timer);
        mg_buf_finish(&observers->ids);
        mg_buf_finish(&observers->versions);
        mg_buf_finish(&observers->clients);
    }
    free(observers);
}

int mg_observers_count(const struct mg_observers *observers)
{
    return observers != NULL ? observers->count : 0;
}

bool mg_is_end(struct mg_slice state)
{
    enum mg_order_state parsed;
    return mg_order_state_parse(state.data, state.len, &parsed) && mg_order_state_is_terminal(parsed);
}

static void change_take(struct mg_observers *observers, const struct mg_rows *rows, int row)
{
    int64_t place = mg_rows_int(rows, row, 0) - 1; /* the report counts from 1 */
    struct mg_observer *observer = observers->asked[place];
    if (observer != NULL) {
        observer->version = mg_rows_int(rows, row, 1);
        observer->changed(observer->arg, mg_is_end(mg_rows_value(rows, row, 2)));
    }
}

static void on_changes(void *arg, const struct mg_rows *rows, const struct mg_err *err)
{
    struct mg_observers *observers = arg;
    observers->is_asking = false;
    for (int row = 0; err == NULL && row < mg_rows_count(rows); row++) {
        change_take(observers, rows, row);
    }
    int64_t now_ms = mg_clock_boot_ms();
    int64_t rest_ms = mg_clock_rest_ms(now_ms - observers->asked_ms, REST_FACTOR, REST_MAX_MS);
    observers->ask_at_ms = now_ms + (err == NULL ? rest_ms : RETRY_MS);
}

/* Without memory it is tried again. */
static void changes_ask(struct mg_observers *observers)
{
    int place = 0;
    struct mg_observer *observer;
    mg_buf_clear(&observers->ids);
    mg_buf_clear(&observers->versions);
    mg_buf_clear(&observers->clients);
    TAILQ_FOREACH(observer, &observers->all, entry)
    {
        const char *blank = place > 0 ? " " : "";
        mg_buf_printf(&observers->ids, "%s%s", blank, observer->order_id);
        mg_buf_printf(&observers->versions, "%s%lld", blank, (long long)observer->version);
        mg_buf_printf(&observers->clients, "%s%s", blank, observer->client);
        observer->place = place;
        observers->asked[place++] = observer;
    }
    if (observers->ids.failed || observers->versions.failed || observers->clients.failed) {
        return;
    }
    observers->is_asking = true;
    observers->asked_ms = mg_clock_boot_ms();
    mg_store_report(observers->gateway->store, MG_REPORT_CHANGES,
                    (const char *[]){observers->ids.data, observers->versions.data, observers->clients.data},
                    3, on_changes, observers);
}

static void on_timer(void *arg)
{
    struct mg_observers *observers = arg;
    if (!observers->is_asking && observers->ask_at_ms <= mg_clock_boot_ms()) {
        changes_ask(observers);
    }
}

bool mg_observe_begin(struct mg_observers *observers, struct mg_observer *observer)
{
    if (observers->timer == NULL) {
        observers->timer = mg_timer_create(observers->gateway->loop, on_timer, observers);
    }
    if (observers->timer == NULL || observers->count >= MG_OBSERVERS_MAX) {
        return false;
    }
    observer->place = -1;
    TAILQ_INSERT_TAIL(&observers->all, observer, entry);
    if (observers->count++ == 0) {
        mg_timer_start(observers->timer, PERIOD_MS, PERIOD_MS);
    }
    return true;
}

void mg_observe_end(struct mg_observers *observers, struct mg_observer *observer)
{
    if (observer->place >= 0) {
        observers->asked[observer->place] = NULL;
    }
    TAILQ_REMOVE(&observers->all, observer, entry);
    if (--observers->count == 0) {
        mg_timer_stop(observers->timer);
    }
}
