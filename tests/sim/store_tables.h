/*
 * The simulated PostgreSQL: tables, and the statements of common/io/store on them. The production store
 * itself is linked. The simulation replaces the session and the server below io/pg/pg.h. A statement is
 * recognised by its name, its arrays by their names in its SQL. The C version of each SQL statement is one
 * function; tests/sim/fidelity compares the two.
 *
 * Texts are never freed: they live as long as the run, so that copies of rows share them.
 */
#ifndef SIM_STORE_TABLES_H
#define SIM_STORE_TABLES_H

#include "core/key.h"
#include "io/pg/libpq.h"
#include "sim.h"

/* ---- tables ---- */

struct sim_payload {
    int64_t revision;
    struct mg_slice text, client;
    uint8_t digest[MG_SHA256_SIZE];
};

struct sim_event_times {
    int64_t at_ms, asked_at_ms, given_up_at_ms; /* 0: never */
    struct mg_slice owed_to;                    /* absent: no queue was tried */
};

/* Columns of a step that the sweep reads and the order's loader does not. */
struct sim_parking {
    bool is_parked, is_high;
    int64_t until_ms;
};

/* An order's rows in order_process, order_step, orders, order_label and order_event. A transaction makes a
 * new one. */
struct sim_order {
    struct mg_order_record record; /* its labels are `labels` */
    struct mg_label labels[MG_LABELS_MAX];
    int64_t updated_at_ms;
    struct sim_parking parking[MG_STEPS_MAX];
    struct sim_payload *payloads;
    int payload_count;
    struct mg_event_record *events; /* by version */
    struct sim_event_times *times;  /* parallel to events */
    int event_count;
    int next; /* of the same hash; -1: none */
};

struct sim_alert {
    enum mg_alert code;
    struct mg_slice subject, order_id, text;
    struct mg_failure failure;
    int64_t opened_at_ms, closed_at_ms; /* closed_at_ms 0: open */
};

/* A client's queue that did not take a status. */
struct sim_reply_queue {
    struct mg_slice name;
    int64_t since_ms, tried_at_ms, ask_at_ms;
    bool is_open, is_forgotten; /* is_forgotten: by the current statement */
};

#define SIM_REPORT_VALID_MS 15000

struct sim_service {
    struct mg_slice service, instance, breaker, reason;
    bool is_ready, is_prober;
    int64_t in_flight, concurrency, process, sequence, reported_at_ms;
};

/* sequence_key and sequence_place. */
struct sim_sequence {
    struct mg_slice key, order_id;
    int64_t tail, length, generation, since_ms;
    bool is_called;
};
struct sim_place {
    struct mg_slice order_id, key;
    int64_t generation, place, joined_at_ms;
};
struct sim_lines {
    struct sim_sequence *keys;
    int key_count;
    struct sim_place *places;
    int place_count;
};

struct sim_workflow {
    struct mg_slice name, definition;
    int64_t version;
};

#define SIM_ORDER_HEADS 4096 /* a power of two; a run has some dozen orders */

struct sim_tables {
    struct sim_order **orders; /* in the order of their insertion */
    int order_count;
    int heads[SIM_ORDER_HEADS]; /* index of an order + 1 */
    struct sim_alert *alerts;
    int alert_count;
    struct sim_service *services;
    int service_count;
    struct sim_reply_queue *reply_queues;
    int reply_queue_count;
    struct sim_workflow *workflows;
    int workflow_count;
    struct sim_lines lines;
    struct {
        uint64_t epoch;
        struct mg_slice holder;
        int64_t seen_at_ms, swept_at_ms;
    } leader;
};

struct sim_tables *sim_tables_create(void);
struct sim_tables *sim_tables_copy(const struct sim_tables *from);
void sim_tables_destroy(struct sim_tables *tables); /* accepts NULL */
struct sim_order *sim_tables_find(const struct sim_tables *tables, struct mg_slice order_id); /* NULL: none */
/* Replaces the order with the same id, which is freed, or appends it. */
void sim_tables_put(struct sim_tables *tables, struct sim_order *order);
struct sim_order *sim_order_copy(const struct sim_order *from); /* NULL: a new one */
void sim_order_free(struct sim_order *order);                   /* accepts NULL */
void sim_order_add_event(struct sim_order *order, const struct mg_event_record *event, int64_t now_ms);
void sim_order_add_payload(struct sim_order *order, const struct sim_payload *payload);

struct mg_slice sim_text(struct mg_slice text); /* a permanent copy; absent stays absent */
/* The same, but returns `old` if its text is equal. */
struct mg_slice sim_text_keep(struct mg_slice text, struct mg_slice old);
void *sim_grow(void *array, int count,
               size_t size); /* room for one more of `size` bytes; ends the process if memory runs out */
/* A copy with the room that sim_grow would have made: it may grow. */
void *sim_copy_of(const void *array, int count, size_t size);

/* ---- transactions ---- */

struct sim_session; /* store_server.c */

/* An order that a transaction writes. */
struct sim_change {
    struct sim_order *before, *after; /* before NULL: it is new */
    uint64_t expected_version;        /* version that its writer has read; 0: none */
    uint64_t changed_steps;
    bool is_payload_changed;
    int first_event; /* new events begin here */
};

struct sim_transaction {
    struct sim_tables *tables;
    int64_t now_ms;
    int64_t sent_us;             /* when its client sent it */
    struct sim_session *session; /* NULL: a replay by the standby */
    /* Selects rows locked by other transactions, which SKIP LOCKED skips; 0: none. */
    uint64_t locked_salt;
    struct sim_change *changes;
    int change_count, change_hint;
    struct sim_alert *alerts; /* applied at its end: alerts to open, or, with closed_at_ms, to close */
    int alert_count;
    struct sim_lines *lines; /* its own, in place of the tables' at its end; NULL: it moves no line */
    char sqlstate[6];        /* "": none of its statements has failed */
    const char *what;
};

bool sim_store_is_locked(struct mg_slice order_id);                  /* by somebody else's session */
#define SIM_WITNESS_TEXT "invalid input: the witness is rolled back" /* store/witness.c */

void sim_transaction_fail(struct sim_transaction *transaction, const char *sqlstate, const char *what);
/* Applies its changes to the tables and reports them to the checker; drops them if it has failed. */
void sim_transaction_end(struct sim_transaction *transaction);
struct sim_change *sim_transaction_change(struct sim_transaction *transaction, struct mg_slice order_id);

/* ---- statements ---- */

#define SIM_COLUMNS_MAX MG_PG_PARAMS_MAX

/* A statement's parameters: arrays side by side, row by row, and scalars. */
struct sim_input {
    struct sim_transaction *transaction;
    const struct mg_pg_params *params;
    const int *places; /* per column of the statement: index of its parameter */
    int column_count;
    int row_count, row;
    const char *at[SIM_COLUMNS_MAX];
    struct mg_slice values[SIM_COLUMNS_MAX]; /* of the current row, by column */
};
/* False: there are no more rows, or the row's text is not UTF-8, and the transaction has failed. */
bool sim_input_next(struct sim_input *input);
int64_t sim_int(struct mg_slice value); /* NULL: 0 */
bool sim_bool(struct mg_slice value);
struct mg_slice sim_scalar(const struct sim_input *input, int number); /* $number */

/* Rows of a statement as libpq returns them; columns that are not set are NULL. */
struct sim_output {
    PGresult *result;
    int row;
};
void sim_output_begin(struct sim_output *output, int column_count);
void sim_output_row(struct sim_output *output);
void sim_output_text(struct sim_output *output, int column, struct mg_slice text);
void sim_output_word(struct sim_output *output, int column, const char *word);
void sim_output_int(struct sim_output *output, int column, int64_t number);
void sim_output_time(struct sim_output *output, int column, int64_t time_ms); /* 0: NULL */
void sim_output_bool(struct sim_output *output, int column, bool is_true);
void sim_output_bytes(struct sim_output *output, int column, const uint8_t *bytes, size_t size);

typedef void sim_statement_fn(struct sim_input *input, struct sim_output *output);
struct sim_statement {
    const char *name;
    sim_statement_fn *run;
    const char *const *columns; /* its arrays, with the names of its SQL */
    int column_count;
    bool is_write;
};
#define SIM_STATEMENT(name, run, columns, is_write)                                                          \
    {                                                                                                        \
        name, run, columns, (int)(sizeof(columns) / sizeof(columns[0])), is_write                            \
    }
#define SIM_SCALARS(name, run, is_write)                                                                     \
    {                                                                                                        \
        name, run, NULL, 0, is_write                                                                         \
    }
/* The orders that a refused statement would take (common/io/store/pass_by.h): none, so that it fails as a
 * whole, and is sent again. */
void sim_no_keys(struct sim_input *input, struct sim_output *output);
extern const struct sim_statement SIM_WRITE_STATEMENTS[], SIM_READ_STATEMENTS[], SIM_MARK_STATEMENTS[],
    SIM_LEAD_STATEMENTS[], SIM_PARKED_STATEMENTS[], SIM_OWED_STATEMENTS[], SIM_COUNT_STATEMENTS[],
    SIM_LINE_STATEMENTS[]; /* each ends with a name of NULL */

/* Ends the run if the SQL is unknown. */
const struct sim_statement *sim_statement_of(const struct mg_sql *sql);
/* Runs the statement, unless the transaction has failed. */
void sim_statement_run(struct sim_transaction *transaction, const struct mg_sql *sql,
                       const struct mg_pg_params *params, struct sim_output *output);

/* store_lines.c */
struct sim_lines sim_lines_copy(const struct sim_lines *from);
void sim_lines_free(struct sim_lines *lines);
/* Applies or drops the lines of a transaction. */
void sim_lines_end(struct sim_transaction *transaction, bool is_committed);

/* store_sweep.c */
void sim_sweep(struct sim_input *input, struct sim_output *output);
void sim_wake(struct sim_input *input, struct sim_output *output);
/* $1 epoch, $2 holder: whether they equal the leader's row; otherwise the sweep reads nothing. */
bool sim_sweep_is_leader(const struct sim_input *input);
/* The same, and the row records its time; of a sweep, also the sweep's time. */
bool sim_is_leader(const struct sim_input *input, bool is_sweep);
/* One order in four, if other transactions are writing; a replay by the standby skips the same ones. */
bool sim_is_skipped(const struct sim_transaction *transaction, const char *order_id);

/* store_parked.c */
bool sim_waits_for_gate(const struct mg_step *step);

/* store_read.c */
const char *sim_gate_of(const struct sim_input *input, struct mg_slice service); /* NULL: unknown */
bool sim_is_probing(const struct sim_input *input, struct mg_slice service);

/* ---- alerts, for more than one file ---- */

struct sim_alert *sim_alert_find_open(struct sim_tables *tables, enum mg_alert code, struct mg_slice subject);
/* False: an equal alert is open already, or (to close) none is open. */
bool sim_alert_open(struct sim_tables *tables, const struct sim_alert *alert, int64_t now_ms);
bool sim_alert_close(struct sim_tables *tables, const struct sim_alert *alert, int64_t now_ms);

/* ---- sessions (store_server.c), as statements see them ---- */

int sim_session_pid(const struct sim_session *session);
void sim_session_set_idle_limit(struct sim_session *session, int64_t limit_ms); /* 0: none */
void sim_session_set_statement_limit(struct sim_session *session, int64_t limit_ms);
bool sim_session_try_lock(struct sim_session *session); /* true: it now holds the leaders' lock */
bool sim_session_has_lock(const struct sim_session *session);
void sim_session_unlock(struct sim_session *session);

/* ---- sessions, as their clients see them (store_client.c) ---- */

/* Statements of one transaction on their way, and the answer on its way back. References are counted. */
struct sim_request {
    int references;
    struct sim_session *session;
    struct sim_request *next;     /* of the same session */
    struct sim_request *next_log; /* of the standby's log */
    int count, run_count;         /* run_count: statements that were run */
    const struct mg_sql *sqls[MG_PG_STATEMENTS_MAX];
    struct mg_pg_params *params; /* `count` of them, owned */
    struct sim_output outputs[MG_PG_STATEMENTS_MAX];
    bool is_write, is_torn, is_late, is_begun;
    bool is_lagging;  /* it has read the clock at its begin, */
    int64_t begun_ms; /* which showed this time */
    int64_t sent_us, committed_us, now_ms;
    uint64_t locked_salt;
    char sqlstate[6]; /* "": it succeeded */
    const char *what;
};

/* Copies the values. The answer frees the request. */
struct sim_request *sim_request_create(const struct mg_pg_statement *statements, int count);
void sim_request_hold(struct sim_request *request);
void sim_request_release(struct sim_request *request);

/* Begins to connect, for the node whose code is running. */
struct sim_session *sim_session_open(struct mg_pg *pg);
void sim_session_send(struct sim_session *session, struct sim_request *request);
/* The client receives nothing more; statements sent before may still run. */
void sim_session_close(struct sim_session *session);

/* Calls to the client, on its node, one after the other in the server's order. */
void sim_client_connected(struct mg_pg *pg);
void sim_client_answered(struct mg_pg *pg, struct sim_request *request);
void sim_client_lost(struct mg_pg *pg, const char *reason); /* also: the connection failed */

#endif
