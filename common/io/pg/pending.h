/* The unanswered calls of one session, in the order of their Syncs; only for pg.c and pipeline.c. */
#ifndef MG_IO_PG_PENDING_H
#define MG_IO_PG_PENDING_H

#include "io/pg/libpq.h"

struct mg_pg_call {
    struct mg_pg_call *next;
    mg_pg_fn *fn;
    void *arg;
    const struct mg_sql *prepares; /* an internal call: PREPARE of this statement */
    const struct mg_sql *statements[MG_PG_STATEMENTS_MAX];
    int64_t sent_ms;
    size_t bytes;
    int statement_count, row_count;
    struct mg_rows rows[MG_PG_STATEMENTS_MAX];
    enum mg_pg_fault fault;
    char sqlstate[6];
    struct mg_err err;
};

struct mg_pg_calls {
    struct mg_pg_call *first, *last;
};

/* `fn` gets the answer. Without a record of the call its caller would wait for ever. So without memory for
 * the record the process ends, and the restart recovers (law 15, restart recovers). */
struct mg_pg_call *mg_pg_call_new(mg_pg_fn *fn, void *arg);
void mg_pg_call_free(struct mg_pg_call *call); /* frees its rows too */

bool mg_pg_call_has(const struct mg_pg_call *call, const struct mg_sql *sql);

void mg_pg_calls_push(struct mg_pg_calls *list, struct mg_pg_call *call);
struct mg_pg_call *mg_pg_calls_pop(struct mg_pg_calls *list); /* NULL: the list is empty */
/* `prepare` has failed: the calls after it that need its statement fail for the same reason. The server's
 * own error for them would only be that there is no such statement. */
void mg_pg_calls_fail(struct mg_pg_calls *list, const struct mg_pg_call *prepare);

#endif
