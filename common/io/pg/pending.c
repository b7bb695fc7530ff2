/* See pg/pending.h. */
#include "io/pg/pending.h"

#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/log.h"

void mg_pg_calls_push(struct mg_pg_calls *list, struct mg_pg_call *call)
{
    call->next = NULL;
    if (list->first == NULL) {
        list->first = call;
    } else {
        list->last->next = call;
    }
    list->last = call;
}

struct mg_pg_call *mg_pg_calls_pop(struct mg_pg_calls *list)
{
    struct mg_pg_call *call = list->first;
    if (call != NULL) {
        list->first = call->next;
    }
    return call;
}

bool mg_pg_call_has(const struct mg_pg_call *call, const struct mg_sql *sql)
{
    for (int i = 0; i < call->statement_count; i++) {
        if (call->statements[i] == sql) {
            return true;
        }
    }
    return false;
}

void mg_pg_calls_fail(struct mg_pg_calls *list, const struct mg_pg_call *prepare)
{
    for (struct mg_pg_call *call = list->first; call != NULL; call = call->next) {
        if (call->fault != MG_PG_NONE || !mg_pg_call_has(call, prepare->prepares)) {
            continue;
        }
        call->fault = prepare->fault;
        memcpy(call->sqlstate, prepare->sqlstate, sizeof(call->sqlstate));
        call->err = prepare->err;
        (void)mg_err_prefix(&call->err, "could not prepare %s", prepare->prepares->name);
    }
}

void mg_pg_call_free(struct mg_pg_call *call)
{
    for (int i = 0; i < call->row_count; i++) {
        PQclear(call->rows[i].result);
    }
    free(call);
}

struct mg_pg_call *mg_pg_call_new(mg_pg_fn *fn, void *arg)
{
    struct mg_pg_call *call = calloc(1, sizeof(*call));
    if (call == NULL) {
        mg_log(MG_LOG_ERROR, "no memory for a database call", MG_LOG_NONE);
        abort();
    }
    call->fn = fn;
    call->arg = arg;
    call->sent_ms = mg_clock_boot_ms();
    return call;
}
