/* Shared by the store's files: the store itself, and the jobs that answer its callers. */
#ifndef MG_IO_STORE_STORE_PRIVATE_H
#define MG_IO_STORE_STORE_PRIVATE_H

#include <sys/queue.h>

#include "io/pg/pg.h"
#include "io/store/columns.def"
#include "io/store/store.h"

/* One open call. Its store lists it, so that destroying the store frees unanswered calls. The first member of
 * each call's own struct. */
struct mg_store_job {
    LIST_ENTRY(mg_store_job) entry;
    struct mg_store *store;
    mg_pg_fn *answered;                       /* gets the job with its answer; NULL: it has several */
    void *arg;                                /* of the caller */
    void (*finish)(struct mg_store_job *job); /* frees the job's own data; NULL: none */
};

/* A report that fails without a success between; reads.c. */
struct mg_reads {
    enum mg_report report;
    const char *name;                      /* of the report, for people */
    int64_t since_boot_ms, failed_boot_ms; /* the first and the last failure; 0: none */
    char *params;                          /* of the first, each with its NUL; NULL: none are kept */
    size_t params_size;
    int param_count;
    /* a lock timed out, or a right is missing; requests for different things failed */
    bool is_of_store, is_of_many;
    bool is_repeating, is_logged;
    char text[MG_ERR_TEXT_MAX]; /* of the last failure */
    struct mg_metric *seconds;  /* NULL: the store is no reader's */
};

struct mg_store {
    struct mg_loop *loop;
    struct mg_store_options options;
    struct mg_pg *pg;
    struct mg_timer *recheck;
    LIST_HEAD(, mg_store_job) jobs;
    uint64_t losses; /* lost sessions and failed attempts to begin one */
    enum { MG_STORE_UNKNOWN, MG_STORE_UP, MG_STORE_DOWN } state;
    char reason[MG_ERR_TEXT_MAX];          /* why it is down */
    enum mg_reach reach;                   /* of the last attempt to connect */
    int64_t clock_ms, clock_asked_boot_ms; /* the server's clock at the last connect or probe */
    int64_t
        given_up_boot_ms; /* when a search for an order that can be written found none; 0: never (commit.c) */
    bool is_written_since;        /* and an order was written after that */
    char standby[256];            /* see mg_store_standby */
    char refused[320];            /* last reason given to on_refused */
    char denied[MG_ERR_TEXT_MAX]; /* the missing right; "": none */
    int64_t probed_boot_ms;       /* when the open probe was sent; 0: none is open */
    int64_t full_boot_ms;         /* when a call was last refused for lack of disk space; 0: never */
    int64_t refused_boot_ms;      /* when a service with too many agents was last logged; 0: never */
    struct mg_reads reads;
    struct mg_passed *passed; /* orders passed by (store/pass_by.h); NULL: there were none */
    int passed_count;
    int64_t search_after_boot_ms;
    /* Leadership of this session; it ends with the session. */
    uint64_t lead_epoch; /* 0: not the leader */
    char lead_holder[128];
};

void mg_reads_create(struct mg_store *store);
void mg_reads_finish(struct mg_store *store);
/* A report has its answer. `params`: its parameters, each with its NUL. */
void mg_reads_note(struct mg_store *store, enum mg_report report, const char *name, struct mg_slice params,
                   int count, const struct mg_pg_answer *answer);
void mg_reads_look(struct mg_store *store); /* call it every second or two */
bool mg_reads_must_repeat(const struct mg_store *store);

/* ---- what a database must be (here, because start and migration judge it alike) ---- */

#define MG_SQL_HOME                                                                                          \
    "(SELECT min(relnamespace::regnamespace::text) FROM pg_class"                                            \
    " WHERE relname = 'makegood_migration' AND relkind = 'r')"
/* The first demand that the database does not meet, with the remedy; NULL: it meets all. In another encoding,
 * SQL_ASCII included, some texts of orders can be stored and then not be read. */
#define MG_SQL_UNFIT                                                                                         \
    "CASE WHEN current_setting('server_encoding') <> 'UTF8' THEN format('database %I has the encoding %s,"   \
    " and orders need UTF8: create one with ENCODING ''UTF8'' TEMPLATE template0, and move the data with"    \
    " pg_dump', current_database(), current_setting('server_encoding'))"                                     \
    " WHEN to_regclass('makegood_migration') IS NULL AND " MG_SQL_HOME " IS NOT NULL THEN format('the"       \
    " tables are in schema %s, and the search_path of this user (%s) does not show it, or the user has no"   \
    " right to it: ALTER DATABASE %I SET search_path = %s, pg_temp', " MG_SQL_HOME ","                       \
    " current_setting('search_path'), current_database(), " MG_SQL_HOME ")"                                  \
    " WHEN current_schema() IS NULL THEN format('the search_path of this user (%s) shows no schema: ALTER"   \
    " DATABASE %I SET search_path = public, pg_temp', current_setting('search_path'), current_database())"   \
    " END"

/* The statement of a file in sql/ (sql.cmake); in io/store/sql.h. Its parameters have the file's order. */
#define MG_SQL_OF(name)                                                                                      \
    {                                                                                                        \
#name, MG_SQL_##name                                                                                 \
    }

/* Zeroed memory of `size` bytes that begins with a job. Never NULL: see mg_pg_call_new in pg/pending.h. */
void *mg_store_job_create(struct mg_store *store, size_t size, mg_pg_fn *answered, void *arg,
                          void (*finish)(struct mg_store_job *job));
/* The answer of a job that has one: it is out of the list meanwhile, and freed at the end. Its store is there
 * up to the caller's callback, which may destroy it. */
void mg_store_job_answer(void *job, const struct mg_pg_answer *answer);
/* Removes the job from its store's list. Call it before the caller's callback, which may destroy the
 * store. */
void mg_store_job_detach(struct mg_store_job *job);
void mg_store_job_destroy(struct mg_store_job *job); /* frees a detached job */

/* Sends if the store is up; otherwise `fn` gets the reason why it is down. */
void mg_store_send(struct mg_store *store, const struct mg_pg_statement *statements, int count, mg_pg_fn *fn,
                   void *arg);
/* The same for one statement; `params` (may be NULL) is finished here. */
void mg_store_send_one(struct mg_store *store, const struct mg_sql *sql, struct mg_pg_params *params,
                       mg_pg_fn *fn, void *arg);

/* A job without a result but its error. */
struct mg_store_done_job {
    struct mg_store_job base;
    mg_store_done_fn *done;
};
struct mg_store_done_job *mg_store_done_job_create(struct mg_store *store, mg_store_done_fn *done, void *arg);
void mg_store_done_job_answer(void *job, const struct mg_pg_answer *answer);

/* "could not `what`: `reason`" with the answer's class. */
const struct mg_err *mg_store_error(const struct mg_pg_answer *answer, const char *what,
                                    struct mg_err *ret_err);

/* The kind of a refusal, by its fault; not MG_PG_LOST. */
enum mg_refusal mg_store_refusal_of(enum mg_pg_fault fault);

/* The index, below `count`, of the request that a row answers, from its column 0. Below 0, with MG_BUG: none
 * of them. */
int mg_store_index_of(const struct mg_rows *rows, int row, int count, struct mg_err *err) MG_MUSTCHECK;

/* ---- orders as rows (store/write.c, store/records.c) ---- */

/* The rows of any number of orders, by statement. */
#define MG_STORE_WRITE_STATEMENTS 10
#define MG_STORE_LINE_STATEMENTS  3
#define MG_STORE_SLOT_STATEMENTS  2
struct mg_store_write {
    struct mg_pg_params params[MG_STORE_WRITE_STATEMENTS];
    int64_t row_counts[MG_STORE_WRITE_STATEMENTS];
    struct mg_slot_params *slots; /* of orders that schedules made; NULL: of none. Owned */
};
struct mg_slot_params {
    struct mg_pg_params holds, ends;
};
/* The moves of orders in the lines of their keys (store/line_rows.c); without a move there is no statement.
 */
struct mg_store_lines {
    struct mg_pg_params params;
    bool has_any;
};
void mg_store_lines_begin(struct mg_store_lines *lines);
/* `n`: of the write, in the order of acceptance. */
void mg_store_lines_add(struct mg_store_lines *lines, int n, const struct mg_order_write *write);
/* The statements of the added moves, at most MG_STORE_LINE_STATEMENTS; they come last in their call, and the
 * rows of the last one are for mg_store_lines_take. */
int mg_store_lines_list(struct mg_store_lines *lines, struct mg_pg_statement *ret_statements);
void mg_store_lines_take(const struct mg_rows *rows, struct mg_order_write *writes, int count);
void mg_store_lines_finish(struct mg_store_lines *lines);
void mg_store_write_begin(struct mg_store_write *write);
void mg_store_write_add(struct mg_store_write *write, const struct mg_order_write *from);
/* The statements of the added rows, at most MG_STORE_WRITE_STATEMENTS and MG_STORE_SLOT_STATEMENTS, to be
 * sent as one call. */
int mg_store_write_list(struct mg_store_write *write, struct mg_pg_statement *ret_statements);
void mg_store_write_finish(struct mg_store_write *write);

/* schedule_rows.c: the parameters of the statements that record slots, and that count the orders of their
 * schedules. */
struct mg_slot_write; /* store/schedules.h */
extern const struct mg_sql MG_STORE_SETTLE_SLOTS, MG_STORE_HOLD_SLOTS;
void mg_store_holds_begin(struct mg_pg_params *params);
void mg_store_holds_add(struct mg_pg_params *params, const struct mg_slot_write *slot);
void mg_store_slots_begin(struct mg_pg_params *params);
void mg_store_slots_add(struct mg_pg_params *params, const struct mg_slot_write *slot);

/* The first statement of a call that waits for no lock, and for no other of its statements, longer than a
 * moment. The search for a slow order among many takes some of these moments, and other orders wait for it.
 */
extern const struct mg_sql MG_STORE_HASTEN, MG_STORE_HASTEN_LOCKS; /* the latter: for no lock */

/*
 * Whether the store works for others than the one that it has just refused: writes a synthetic order to all
 * tables, changes it, reads it, and rolls all of it back. Without this witness no order is judged.
 */
void mg_store_witness_send(struct mg_store *store, mg_pg_fn *fn, void *arg);
bool mg_store_witness_holds(const struct mg_pg_answer *answer);
/* For an order that was read without some of its rows the witness is the store's other orders: true if most
 * of a sample are whole. The answer's only value. */
extern const struct mg_sql MG_STORE_ARE_OTHERS_WHOLE;

/* Parameters: two arrays, n from 0 to below `count`, and order_id. The result fills `orders[n].record` of
 * each existing order. */
extern const struct mg_sql MG_STORE_LOAD_ORDERS;
enum mg_class mg_store_take_orders(struct mg_arena *arena, const struct mg_rows *rows,
                                   struct mg_loaded *orders, int count, struct mg_err *err) MG_MUSTCHECK;
/* The one of `count` orders that a row belongs to, by its column 0; NULL: none of them. */
struct mg_loaded *mg_store_loaded_of(const struct mg_rows *rows, int row, struct mg_loaded *orders, int count,
                                     struct mg_err *err) MG_MUSTCHECK;

/* The session that holds a leader's lock and has done nothing for so long, if the row `seen_at` is as old;
 * else NULL. Then none leads: the server ends an idle session of a leader after 10 s, and each statement too.
 * A role that may not see a session takes it for one that does nothing. */
#define MG_SQL_LEADERLESS "interval '15 s'"
#define MG_SQL_HELD_BY(number, seen_at)                                                                           \
    "CASE WHEN " seen_at " < " MG_SQL_NOW " - " MG_SQL_LEADERLESS " THEN (SELECT"                                 \
    " format('session %s (%s, from %s) holds the leader''s lock and does nothing; SELECT"                         \
    " pg_terminate_backend(%s) ends it, unless its server process stands', l.pid,"                                \
    "  coalesce(nullif(a.application_name, ''), 'of no name'), coalesce(host(a.client_addr), 'a socket'), l.pid)" \
    " FROM pg_locks l LEFT JOIN pg_stat_activity a USING (pid)"                                                   \
    " WHERE l.locktype = 'advisory' AND l.classid = " MG_SQL_LOCK_CLASS " AND l.objid = " number                  \
    "  AND l.objsubid = 2 AND l.granted"                                                                          \
    "  AND l.database = (SELECT oid FROM pg_database WHERE datname = current_database())"                         \
    "  AND coalesce(a.state_change < clock_timestamp() - " MG_SQL_LEADERLESS ", true) LIMIT 1) END"

/* The statement that finds owed statuses, and the one before it; a test checks the plan. */
struct mg_many_sql; /* store/pass_by.h */
extern const struct mg_sql MG_STORE_BY_KEY;
extern const struct mg_many_sql MG_STORE_ASK_OWED;
/* The sweep's statement; a test counts the rows that its plan reads. */
extern const struct mg_many_sql MG_STORE_SWEEP;

/* By the type of a column: its value as mg_rows_… reads it. */
#define MG_READ_text(column)        column
#define MG_READ_bigint(column)      column
#define MG_READ_boolean(column)     column
#define MG_READ_bytea(column)       column
#define MG_READ_json(column)        column
#define MG_READ_timestamptz(column) MG_SQL_MS(column)

/* The loaded columns of order_event e, after one key column. */
#define MG_SQL_EVENT_COLUMN(name, type, ...) ", " MG_READ_##type("e." #name)
#define MG_SQL_EVENT_COLUMNS                 MG_EVENT_COLUMNS(MG_LOADED, MG_SQL_EVENT_COLUMN)
enum mg_class mg_store_take_event(struct mg_arena *arena, const struct mg_rows *rows, int row,
                                  struct mg_event_record *event, struct mg_err *err) MG_MUSTCHECK;

#endif
