/*
 * One PostgreSQL session for the store's files: statements go out in libpq's pipeline mode, answers come back
 * as rows. libpq stays in this folder; this layer has no tables.
 *
 * A call is a few statements in one implicit transaction (one Sync). It is answered exactly once, never from
 * within mg_pg_send. It succeeds only when the server has acknowledged the Sync, which is its COMMIT. Each
 * error carries the caller's next action (`enum mg_pg_fault`), from one table of SQLSTATEs.
 */
#ifndef MG_IO_PG_PG_H
#define MG_IO_PG_PG_H

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/loop.h"
#include "io/pg/rows.h"
#include "io/reach.h"

/* ---- parameters ---- */

enum mg_pg_type { MG_PG_TEXT, MG_PG_INT, MG_PG_BOOL, MG_PG_BYTES };

#define MG_PG_PARAMS_MAX 40 /* the widest statement has 33; PostgreSQL allows 65535 */
/* Bound of one parameter; a batch is far below. A larger one is refused before it fills memory. */
#define MG_PG_PARAM_BYTES_MAX (64u * 1024 * 1024)

/* Parameters of one statement in PostgreSQL's binary format: scalars, and arrays that grow by one element at
 * a time. A failure sets `failed`, which the send checks once. */
struct mg_pg_param {
    struct mg_buf bytes;
    enum mg_pg_type type;
    bool is_array, is_null, has_null_element;
    int32_t element_count;
};
struct mg_pg_params {
    struct mg_pg_param items[MG_PG_PARAMS_MAX];
    int count;
    bool failed;
    bool is_out_of_memory; /* why it failed; false: a value is too large */
};

void mg_pg_params_init(struct mg_pg_params *params);
void mg_pg_params_finish(struct mg_pg_params *params);
/* False: no memory; `ret_params` needs no finish then. */
bool mg_pg_params_copy(const struct mg_pg_params *params, struct mg_pg_params *ret_params);
void mg_pg_add_text(struct mg_pg_params *params, struct mg_slice text); /* absent slice: NULL */
void mg_pg_add_int(struct mg_pg_params *params, int64_t number);
/* returns its index, for the pushes */
int mg_pg_add_array(struct mg_pg_params *params, enum mg_pg_type type);
void mg_pg_push_text(struct mg_pg_params *params, int index,
                     struct mg_slice text); /* text or bytes; absent slice: NULL */
void mg_pg_push_int(struct mg_pg_params *params, int index, int64_t number);
void mg_pg_push_time(struct mg_pg_params *params, int index, int64_t time_ms); /* 0: NULL */
void mg_pg_push_bool(struct mg_pg_params *params, int index, bool is_true);
void mg_pg_push_null(struct mg_pg_params *params, int index); /* for an array of any type */
size_t mg_pg_params_size(const struct mg_pg_params *params);
/* Writes the arrays' headers; call it before the bytes are read. */
void mg_pg_params_seal(struct mg_pg_params *params);

/* ---- the session ---- */

/* Times cross the wire as milliseconds since 1970; 0 is NULL. Fractions are cut, so "now" is never ahead. */
#define MG_SQL_MS(time) "floor(extract(epoch FROM " time ") * 1000)::bigint"
#define MG_SQL_TIME(ms) "('epoch'::timestamptz + " ms " * interval '1 millisecond')"
#define MG_SQL_NOW      "clock_timestamp()"
/* Advisory locks of Makegood: "MG" and a number. 1: leading supervisor; 2: migrations; 3: runner of bulk
 * actions; 4: start of a bulk action; 5: dropping days of the archive. */
#define MG_SQL_LOCK_CLASS   "19783"
#define MG_SQL_LOCK(number) MG_SQL_LOCK_CLASS ", " number

/* A statement, prepared at its first use in a session. Constants with static storage: the address identifies
 * them. */
struct mg_sql {
    const char *name;
    const char *text;
};

enum mg_pg_fault {
    MG_PG_NONE,
    MG_PG_LOST, /* no session, or it was lost; the commit may or may not have happened */
    /* the same transaction may succeed if repeated at once: serialization, deadlock, lock or time limit. */
    MG_PG_RETRY,
    MG_PG_BUSY,  /* the same may succeed later: disk full, an internal error */
    MG_PG_DATA,  /* the same fails again with these values */
    MG_PG_WRONG, /* the same fails again with any: a missing table or right, a damaged row, or a bug */
};

#define MG_PG_STATEMENTS_MAX 16 /* in one call; none of ours has more */

struct mg_pg_answer {
    const struct mg_rows *rows[MG_PG_STATEMENTS_MAX]; /* one for each statement, if `err` is NULL */
    enum mg_pg_fault fault;
    const char *sqlstate;     /* "" if none */
    const struct mg_err *err; /* NULL on success */
};
typedef void mg_pg_fn(void *arg, const struct mg_pg_answer *answer);

struct mg_pg_statement {
    const struct mg_sql *sql;
    struct mg_pg_params *params; /* NULL: none. Read only within mg_pg_send */
};

struct mg_pg;
struct mg_pg_options {
    const char *dsn, *name;
    struct mg_metrics *metrics; /* may be NULL */
    void (*on_connected)(void *arg);
    /* A statement was refused for a missing right (`reason` names it, for people), or the refused one has now
     * succeeded (NULL). Called once for each change; may be NULL. */
    void (*on_denied)(void *arg, const char *reason);
    /* An attempt to connect failed; on_lost follows with the reason. May be NULL. */
    void (*on_unreached)(void *arg, enum mg_reach reach);
    void (*on_full)(void *arg); /* a call was refused because the disk is full; may be NULL */
    /* Called after all calls were answered; also for a failed attempt to connect. */
    void (*on_lost)(void *arg, const char *reason);
    void *arg;
};

enum mg_class mg_pg_create(struct mg_loop *loop, const struct mg_pg_options *options, struct mg_pg **ret_pg,
                           struct mg_err *err) MG_MUSTCHECK;
void mg_pg_destroy(struct mg_pg *pg); /* open calls end without an answer; accepts NULL */
void mg_pg_send(struct mg_pg *pg, const struct mg_pg_statement *statements, int count, mg_pg_fn *fn,
                void *arg);
/* Answers `fn` in the loop's next turn with `fault`, MG_PG_LOST or another refusal. */
void mg_pg_refuse(struct mg_pg *pg, enum mg_pg_fault fault, const char *reason, mg_pg_fn *fn, void *arg);
/* Applies to later sessions; the open one stays. */
enum mg_class mg_pg_set_dsn(struct mg_pg *pg, const char *dsn, struct mg_err *err) MG_MUSTCHECK;
/* Ends the session; another begins later. */
void mg_pg_drop(struct mg_pg *pg, const char *reason);
/* The process id of the backend, from the handshake; behind a pooler it is another. */
int mg_pg_backend_pid(const struct mg_pg *pg);

/* ---- blocking, for the tool's migrations ---- */

struct mg_pg_once;
enum mg_class mg_pg_once_open(const char *dsn, struct mg_pg_once **ret_once, struct mg_err *err) MG_MUSTCHECK;
void mg_pg_once_close(struct mg_pg_once *once);
/* Runs `text` (several statements only without parameters). `ret_rows` may be NULL; else mg_rows_destroy it.
 */
enum mg_class mg_pg_once_run(struct mg_pg_once *once, const char *text, const char *const *params,
                             int param_count, struct mg_rows **ret_rows, struct mg_err *err) MG_MUSTCHECK;
/* Calls `fn` each half second while a statement runs; NULL: no more. */
void mg_pg_once_watch(struct mg_pg_once *once, void (*fn)(void *arg), void *arg);
/* The last failed statement got no lock in time, or others waited for its locks in a circle. */
bool mg_pg_once_is_blocked(const struct mg_pg_once *once);
int mg_pg_once_backend_pid(const struct mg_pg_once *once);
void mg_rows_destroy(struct mg_rows *rows);

#endif
