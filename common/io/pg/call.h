/* The calls of one session that wait for their answers, in the order of their Syncs; for pg.c alone. */
#ifndef MG_IO_PG_CALL_H
#define MG_IO_PG_CALL_H

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

/* `fn` is told the answer. Without a record of the call its caller would wait for ever; so want of memory
 * here ends the process, and the restart is the recovery. */
struct mg_pg_call *mg_pg_call_new(mg_pg_fn *fn, void *arg);
void mg_pg_call_free(struct mg_pg_call *call); /* also its rows */

bool mg_pg_call_has(const struct mg_pg_call *call, const struct mg_sql *sql);

void mg_pg_calls_push(struct mg_pg_calls *list, struct mg_pg_call *call);
struct mg_pg_call *mg_pg_calls_pop(struct mg_pg_calls *list); /* NULL: it is empty */
/* `prepare` has failed, and what came behind it and needs its statement fails for the same reason: the server
 * will say of it only that there is no such statement. */
void mg_pg_calls_fail(struct mg_pg_calls *list, const struct mg_pg_call *prepare);

#endif
