/* One order, at once or when it has ended (?wait=20s). */
#include <stdio.h>

#include "base/clock.h"
#include "gateway/call.h"

#define WAIT_MAX_MS 60000 /* proxies in between may end a longer silence */

/* ---- the lookup of an order, in the tables and then in the archive ---- */

/* False: the order was not looked up, and the call is refused. */
static bool is_looked_up(struct mg_call *call, const struct mg_err *err)
{
    bool is_good = call->request != NULL && err == NULL;
    if (!is_good) {
        mg_call_refuse(call, 503, "could not look up the order: %s", err != NULL ? err->text : "the end");
    }
    return is_good;
}

static void order_ask(struct mg_call *call, enum mg_report report, mg_store_rows_fn *done)
{
    mg_store_report(call->gateway->store, report,
                    (const char *[]){mg_client_name(call->client), call->order_id}, 2, done, call);
}

static void on_archived(void *arg, const struct mg_rows *rows, const struct mg_err *err)
{
    struct mg_call *call = arg;
    if (!is_looked_up(call, err)) {
        return;
    }
    if (mg_rows_count(rows) > 0) {
        call->lookup->found(call, rows, true);
        return;
    }
    call->is_unknown = true;
    if (!mg_wait_begin(call, mg_lookup_again)) {
        call->lookup->missed(
            call, mg_recent_has(call->gateway->recent, mg_client_name(call->client), call->order_id));
    }
}

static void on_order(void *arg, const struct mg_rows *rows, const struct mg_err *err)
{
    struct mg_call *call = arg;
    if (!is_looked_up(call, err)) {
        return;
    }
    if (mg_rows_count(rows) > 0) {
        call->lookup->found(call, rows, false);
    } else {
        order_ask(call, MG_REPORT_ARCHIVED_ORDER_OF_CLIENT, on_archived);
    }
}

void mg_lookup_again(struct mg_call *call)
{
    order_ask(call, MG_REPORT_ORDER_OF_CLIENT, on_order);
}

void mg_lookup_begin(struct mg_call *call, const struct mg_lookup *lookup)
{
    call->lookup = lookup;
    mg_lookup_again(call);
}

/* ---- reading ---- */

static void order_found(struct mg_call *call, const struct mg_rows *rows, bool is_archived)
{
    call->is_unknown = false;
    if (is_archived || mg_is_end(mg_rows_value(rows, 0, 3)) || !mg_wait_begin(call, mg_lookup_again)) {
        mg_order_answer(call, rows);
    }
}

static void order_missed(struct mg_call *call, bool is_posted)
{
    if (is_posted) {
        mg_order_answer_state(call, "posted"); /* no scheduler has taken it yet */
    } else {
        mg_call_refuse(call, 404, "client %s has no order %s", mg_client_name(call->client), call->order_id);
    }
}

static const struct mg_lookup READ = {order_found, order_missed};

void mg_read_run(struct mg_call *call)
{
    const char *wait = mg_http_exchange_query(call->request, "wait");
    if (wait != NULL) {
        int64_t wait_ms = mg_duration_parse(wait);
        if (wait_ms < 0 || wait_ms > WAIT_MAX_MS) {
            mg_call_refuse(call, 400, "wait: expected a duration up to %d s, such as 20s",
                           WAIT_MAX_MS / 1000);
            return;
        }
        call->wait_until_ms = mg_clock_boot_ms() + wait_ms;
    }
    mg_lookup_begin(call, &READ);
}
