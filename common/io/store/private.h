/* What the store*.c files share: the store itself, and the jobs that answer its callers. */
#ifndef MG_IO_STORE_PRIVATE_H
#define MG_IO_STORE_PRIVATE_H

#include "io/pg/pg.h"
#include "io/store/store.h"

/* One call of a caller. Listed in its store, so that destroying the store frees what was not yet answered.
 * The first member of each call's own struct. */
struct mg_store_job {
    struct mg_store_job *prev, *next;
    struct mg_store *store;
    void (*finish)(struct mg_store_job *job); /* frees what hangs on it; NULL: nothing does */
};

struct mg_store {
    struct mg_loop *loop;
    struct mg_store_options options;
    struct mg_pg *pg;
    struct mg_timer *recheck;
    struct mg_store_job *jobs;
    uint64_t losses; /* sessions lost, and attempts to begin one that failed */
    enum { MG_STORE_UNKNOWN, MG_STORE_UP, MG_STORE_DOWN } state;
    char reason[MG_ERR_TEXT_MAX]; /* why it is down */
    enum mg_reach reach;          /* of the last attempt to connect */
    char refused[320];            /* what was last told to on_refused */
    char denied[MG_ERR_TEXT_MAX]; /* the right that is missing; "": none */
    int64_t probed_boot_ms;       /* when the probe that is open was sent; 0: none is */
    int64_t full_boot_ms;         /* when a call was last refused for want of room; 0: never */
    int64_t refused_boot_ms;      /* when it was last told that a service has too many agents; 0: never */
    /* Leadership of this very session; gone with it. */
    uint64_t lead_epoch; /* 0: does not lead */
    char lead_holder[128];
};

/* Zeroed memory of `size` bytes that begins with a job. Never NULL: see call_new in pg.c. */
void *mg_store_job_create(struct mg_store *store, size_t size, void (*finish)(struct mg_store_job *job));
/* Takes the job off its store's list, before its caller is answered: the callback may destroy the store. */
void mg_store_job_detach(struct mg_store_job *job);
void mg_store_job_destroy(struct mg_store_job *job); /* frees a detached job */

/* Sends if the store is up; else `fn` hears why it is not. */
void mg_store_send(struct mg_store *store, const struct mg_pg_statement *statements, int count, mg_pg_fn *fn,
                   void *arg);
/* The same for one statement; `params` (may be NULL) is finished here. */
void mg_store_send_one(struct mg_store *store, const struct mg_sql *sql, struct mg_pg_params *params,
                       mg_pg_fn *fn, void *arg);

/* A job whose caller only wants to know that it is done. */
struct mg_store_done_job {
    struct mg_store_job base;
    mg_store_done_fn *done;
    void *arg;
};
struct mg_store_done_job *mg_store_done_job_create(struct mg_store *store, mg_store_done_fn *done, void *arg);
void mg_store_done_job_answer(void *job, const struct mg_pg_answer *answer);

/* "could not <what>: <why>" with the answer's class. */
const struct mg_err *mg_store_error(const struct mg_pg_answer *answer, const char *what,
                                    struct mg_err *ret_err);

/* Which of `count` that were asked for a row is for, by its column 0; below 0, with MG_BUG: none of them. */
int mg_store_index_of(const struct mg_rows *rows, int row, int count, struct mg_err *err) MG_MUSTCHECK;

/* ---- orders as rows (store/write.c, store/rows.c) ---- */

/* The rows of any number of orders, by statement. */
#define MG_STORE_WRITE_STATEMENTS 8
struct mg_store_write {
    struct mg_pg_params params[MG_STORE_WRITE_STATEMENTS];
    int64_t row_counts[MG_STORE_WRITE_STATEMENTS];
};
void mg_store_write_begin(struct mg_store_write *write);
void mg_store_write_add(struct mg_store_write *write, const struct mg_order_write *from);
/* Sends what was added and finishes it: all of it is written, or nothing is and the answer says why. */
void mg_store_write_send(struct mg_store *store, struct mg_store_write *write, mg_pg_fn *fn, void *arg);

/* Asked with two arrays, n from 0 to below `count` and order_id; fills `orders[n].record` of each order that
 * there is. */
extern const struct mg_sql MG_STORE_LOAD_ORDERS;
enum mg_class mg_store_take_orders(struct mg_arena *arena, const struct mg_rows *rows,
                                   struct mg_loaded *orders, int count, struct mg_err *err) MG_MUSTCHECK;
/* The one of `count` that a row is for, by its column 0; NULL: of none that was asked for. */
struct mg_loaded *mg_store_loaded_of(const struct mg_rows *rows, int row, struct mg_loaded *orders, int count,
                                     struct mg_err *err) MG_MUSTCHECK;

/* The wake_at of an order that was woken: before all others, and kept by whoever writes the order. */
#define MG_SQL_WOKEN MG_SQL_TIME("1")

/* A step that waits for its service's gate: order_step.parked_high says so. Schedulers of schema 10 and below
 * do not; the sweep marks what it finds. */
#define MG_SQL_WAITS_FOR_GATE(step)                                                                          \
    "(" step ".state IN ('waiting', 'undo_waiting', 'unknown')"                                              \
    " AND " step ".reason IN ('no_consumer', 'breaker_open', 'service_paused', 'window_full'))"

/* A word of an agent runs out after this time without a report (wire/reply.h: MG_SERVICE_REPORT_VALID_MS). */
#define MG_SQL_REPORT_VALID "interval '15 seconds'"
/* The services of which anything is known, with their gate: a word of enum mg_reason. What an operator wants
 * outweighs what agents report; an open breaker everywhere outweighs unreadiness: agents with an open breaker
 * may report both. Where none of those that are ready has found the service well, its gate is open for a
 * probe. Two walks along primary keys: for a union of both tables, with sequential scans disabled,
 * PostgreSQL starts parallel workers at each load. */
#define MG_SQL_GATES                                                                                         \
    "(SELECT service, CASE WHEN p.is_paused THEN 'service_paused' WHEN a.is_open THEN 'breaker_open'"        \
    "   WHEN a.is_ready THEN 'none' ELSE 'service_paused' END AS gate,"                                      \
    "  coalesce(a.is_ready AND NOT a.is_well AND p.is_paused IS NULL, false) AS is_probing FROM ("           \
    "  SELECT service, bool_and(breaker = 'open') AS is_open,"                                               \
    "   bool_or(is_ready AND breaker <> 'open') AS is_ready,"                                                \
    "   bool_or(is_ready AND breaker = 'closed') AS is_well"                                                 \
    "  FROM service_state WHERE reported_at > " MG_SQL_NOW " - " MG_SQL_REPORT_VALID " GROUP BY service) a"  \
    " FULL JOIN (SELECT service, is_paused FROM service_control"                                             \
    "  WHERE is_paused AND (paused_until IS NULL OR paused_until > " MG_SQL_NOW ")) p USING (service))"

/* What finds owed statuses, and what goes before it; a test looks at its plan. */
extern const struct mg_sql MG_STORE_BY_KEY, MG_STORE_ASK_OWED;
/* The sweep's statement; a test counts the rows that its plan touches. */
extern const struct mg_sql MG_STORE_SWEEP;

/* A row of one key column and these. */
#define MG_SQL_EVENT_COLUMNS                                                                                 \
    "e.version, e.cause_kind, e.cause, e.by_whom, e.step, e.attempt, e.reason, e.transitions, e.statuses, "  \
    "e.owed"
enum mg_class mg_store_take_event(struct mg_arena *arena, const struct mg_rows *rows, int row,
                                  struct mg_event_record *event, struct mg_err *err) MG_MUSTCHECK;

#endif
