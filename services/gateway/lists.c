/*
 * The line of the lists. A list costs the database more than a read or a post, so lists have a session of
 * their own and are read there one after the other: nothing else waits behind them. Each client may have a
 * few in the line, and clients take turns: before a client's n-th list come at most n of each other client.
 */
#include <stdlib.h>

#include "gateway/call.h"

#define LISTS_MAX           250 /* in the line: half of the places for calls that wait for no order */
#define LISTS_OF_CLIENT_MAX 8   /* one client leaves places for others */

struct mg_lists {
    struct mg_gateway *gateway;
    struct mg_call_queue line; /* by turn; the first one is being read */
    int count;
    struct mg_metric *gauge;
};

struct mg_lists *mg_lists_create(struct mg_gateway *gateway)
{
    struct mg_lists *lists = calloc(1, sizeof(*lists));
    if (lists != NULL) {
        lists->gateway = gateway;
        TAILQ_INIT(&lists->line);
        lists->gauge = mg_metrics_series(gateway->metrics, MG_GAUGE, "makegood_gateway_lists", NULL,
                                         "lists of orders that are being read or wait for it");
    }
    return lists;
}

void mg_lists_destroy(struct mg_lists *lists)
{
    free(lists);
}

/* Puts the call after all of its turn, which is the one after the last turn of its client, or the present
 * one. */
static void line_insert(struct mg_lists *lists, struct mg_call *call)
{
    struct mg_call *before = NULL, *other = TAILQ_FIRST(&lists->line);
    call->turn = other != NULL ? other->turn : 0;
    TAILQ_FOREACH(other, &lists->line, listing)
    {
        call->turn = other->client == call->client ? other->turn + 1 : call->turn;
    }
    TAILQ_FOREACH(other, &lists->line, listing)
    {
        before = other->turn <= call->turn ? other : before;
    }
    if (before != NULL) {
        TAILQ_INSERT_AFTER(&lists->line, before, call, listing);
    } else {
        TAILQ_INSERT_HEAD(&lists->line, call, listing);
    }
    mg_metric_set(lists->gauge, ++lists->count);
}

static void line_remove(struct mg_lists *lists, struct mg_call *call)
{
    TAILQ_REMOVE(&lists->line, call, listing);
    mg_metric_set(lists->gauge, --lists->count);
}

static int lists_of(const struct mg_lists *lists, const struct mg_client *client)
{
    const struct mg_call *call;
    int count = 0;
    TAILQ_FOREACH(call, &lists->line, listing)
    {
        count += call->client == client;
    }
    return count;
}

void mg_lists_begin(struct mg_call *call, void (*run)(struct mg_call *call))
{
    struct mg_lists *lists = call->gateway->lists;
    if (lists_of(lists, call->client) >= LISTS_OF_CLIENT_MAX) {
        mg_call_refuse(call, 429, "client %s waits for %d lists already, the maximum",
                       mg_client_name(call->client), LISTS_OF_CLIENT_MAX);
    } else if (lists->count >= LISTS_MAX) {
        mg_call_refuse(call, 503, "%d lists wait already, the maximum", LISTS_MAX);
    } else {
        call->woken = run;
        line_insert(lists, call);
        if (lists->count == 1) {
            run(call);
        }
    }
}

void mg_lists_end(struct mg_call *call, const struct mg_err *err)
{
    struct mg_lists *lists = call->gateway->lists;
    struct mg_call *next;
    line_remove(lists, call);
    while ((next = TAILQ_FIRST(&lists->line)) != NULL && (err != NULL || next->request == NULL)) {
        line_remove(lists, next);
        mg_call_refuse(next, 503, "could not list the orders: %s", err != NULL ? err->text : "the end");
    }
    if (next != NULL) {
        next->woken(next);
    }
}
