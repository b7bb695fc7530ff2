/* The state of one session. pg.c connects and loses it, pipeline.c carries its calls; for these two only. */
#ifndef MG_IO_PG_SESSION_H
#define MG_IO_PG_SESSION_H

#include "io/pg/pending.h"

/* Makegood has some hundred constant statements; a console needs most reports, and few others. */
#define MG_PG_PREPARED_MAX 96
#define MG_PG_REASON_SIZE  MG_ERR_TEXT_MAX

struct mg_pg {
    struct mg_loop *loop;
    struct mg_pg_options options;
    char *dsn, *name;
    PGconn *conn; /* NULL: not up */
    struct mg_pg_connect_job *job;
    struct mg_watch *watch;
    struct mg_timer *reconnect, *watchdog;
    struct mg_idle *idle;
    struct mg_pg_calls calls, refused;
    int call_count;
    size_t call_bytes;
    int64_t progress_ms; /* time of the last answer */
    uint32_t failures;
    bool is_broken;
    char reason[MG_PG_REASON_SIZE];
    struct mg_pg_failure failure; /* of the last attempt to connect; no text: it succeeded */
    const struct mg_sql *denied;  /* the last statement refused for a missing right */
    const struct mg_sql *prepared[MG_PG_PREPARED_MAX];
    int prepared_count;
    int callback_depth;
    bool is_destroyed;
    struct mg_metric *metric_seconds, *metric_calls, *metric_failures, *metric_connects, *metric_up;
};

/* ---- calls (pg/pipeline.c) ---- */

/* mg_pg_drop with libpq's latest message as the reason. */
void mg_pg_drop_with_message(struct mg_pg *pg);
/* Calls back with the answer that the call holds; the caller frees the call. The callback may destroy the
 * session: its memory stays while `callback_depth` is above 0, and `is_destroyed` tells. */
void mg_pg_answer_call(struct mg_pg *pg, struct mg_pg_call *call);
/* The same for a sent call, which is out of `calls` already. Reports a missing right and a full disk before,
 * and frees the call. */
void mg_pg_settle(struct mg_pg *pg, struct mg_pg_call *call);
/* Sends as much as the socket takes, and watches for room for the rest. Needs an open connection. */
void mg_pg_flush(struct mg_pg *pg);
/* Settles all calls whose answers have come, unless one of their callbacks ends the session. */
void mg_pg_receive(struct mg_pg *pg);

#endif
