/*
 * PostgreSQL (libpq, non-blocking, pipeline mode, prepared statements) as the services use it. One store is
 * one session. Another thread connects it, and it reconnects with backoff. At each connect it checks the
 * schema's version and the server's durability (fsync, synchronous_commit).
 *
 * Every call is answered exactly once, never from within the call. A call that fails with MG_TRANSIENT may or
 * may not have been committed (the connection broke in COMMIT). The caller loads and decides again; the
 * version guard makes that safe. An answer's memory lives until its callback returns, unless stated
 * otherwise.
 */
#ifndef MG_IO_STORE_STORE_H
#define MG_IO_STORE_STORE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/id.h"
#include "base/loop.h"
#include "base/metrics.h"
#include "core/model.h"
#include "core/spared.h"
#include "io/pg/rows.h"
#include "io/reach.h"

struct mg_store;

#define MG_SCHEMA_VERSION 46 /* newest file in deploy/postgres/ that this program was written for */

/* A program runs on its own schema, and on a newer one that serves it. `ret_reason`: if false the remedy, if
 * true how they fit. `version` 0: no schema. */
bool mg_schema_serves(int64_t version, int64_t serves_from, char *ret_reason, size_t size);

/* The leads of a session: each has one leader at a time. */
enum mg_lead { MG_LEAD_SUPERVISORS, MG_LEAD_BULK };

struct mg_store_options {
    const char *dsn;           /* libpq connection string or URI; NULL or "": the PG* environment */
    const char *name;          /* application_name */
    bool is_plaintext_allowed; /* to a host that is not loopback */
    bool is_unsafe_durability_allowed;
    bool is_leader_session;        /* sets idle_session_timeout, so that a paused leader loses its lock */
    enum mg_lead lead;             /* of a leader session */
    const char *statement_timeout; /* in PostgreSQL's syntax; NULL: 10s; borrowed for the store's life */
    bool skips_schema_check;       /* for `db migrate|status` */
    bool is_reader; /* the process lives by reports: while they fail, makegood_standstill_seconds has it */
    struct mg_metrics *metrics;
    /* Called once per change, and for each new reason of a refusal. */
    void (*on_state)(void *arg, bool is_up, const char *reason);
    /* The server answers, but this program must not use it (schema, durability): log it and exit. */
    void (*on_refused)(void *arg, const char *reason);
    void *arg;
};

enum mg_class mg_store_create(struct mg_loop *loop, const struct mg_store_options *options,
                              struct mg_store **ret_store,
                              struct mg_err *err) MG_MUSTCHECK; /* MG_BAD_INPUT: the DSN */
void mg_store_destroy(struct mg_store *store); /* open calls end without an answer; accepts NULL */
/* Later sessions use this DSN (after a change of password, for instance); the open one stays. On error
 * (MG_BAD_INPUT) the old DSN stays. */
enum mg_class mg_store_set_dsn(struct mg_store *store, const char *dsn, struct mg_err *err) MG_MUSTCHECK;
bool mg_store_is_up(const struct mg_store *store, char *ret_reason, size_t size);
enum mg_reach mg_store_reach(const struct mg_store *store); /* of the last attempt to connect */
/* The database's clock as it was read by the last connect or probe, and when this was asked for. With it a
 * process that has no work for a while notices that the clock was set meanwhile (core/far_clock.h). */
int64_t mg_store_clock_ms(const struct mg_store *store, int64_t *ret_asked_boot_ms);
/* At the last connect: why commits wait for a synchronous standby; "": they did not, or a heartbeat has been
 * kept since. */
const char *mg_store_standby(const struct mg_store *store);
/* Like mg_store_is_up, and no call is refused for a missing right; for /readyz. Calls continue meanwhile:
 * their success shows that the right was granted. */
bool mg_store_is_ready(const struct mg_store *store, char *ret_reason, size_t size);

/* Probes whether the database answers and has room; call it every second or two. Nothing is sent while the
 * last probe is open. */
void mg_store_probe(struct mg_store *store);
/* False, with the reason: the probe has been open for 3 s, or in the last 5 s a call was refused because the
 * disk is full. */
bool mg_store_is_well(const struct mg_store *store, char *ret_reason, size_t size);

/* A locked table is told within 15 s: after the first lock time-out (2 s), and before the next heartbeats of
 * gateway (4.5 s) and look at them (2 s). A change of the schema holds its locks for less. */
#define MG_READS_FAIL_MS 5000
/* How long a report has failed without a success between, with the last reason; 0: not for MG_READS_FAIL_MS.
 * A failure of requests for one thing counts only if it is a lock time-out. Needs mg_store_probe. */
int64_t mg_store_reads_fail_ms(const struct mg_store *store, char *ret_reason, size_t size);

/* `err` is NULL on success. */
typedef void mg_store_done_fn(void *arg, const struct mg_err *err);

/* ---- processes ---- */

#define MG_BEAT_REASON_SIZE 256
/* A process, by its own account. */
struct mg_beat {
    const char *kind, *instance; /* borrowed for the call */
    bool is_end;                 /* it ends as asked, and its row with it */
    int64_t age_ms;              /* since its start */
    int64_t in_hand;             /* messages that it holds */
    int64_t stands_ms;           /* no work has ended for so long, though some waits; 0: it moves */
    char oldest_order[MG_ORDER_ID_MAX + 1]; /* of the work that waits; "": none, or of no order */
    /* The last error of that work; of one that moves, why it takes no new orders; "": none. */
    char reason[MG_BEAT_REASON_SIZE];
    struct mg_slice orders_aside; /* process_state.orders_aside; borrowed for the call; absent: none */
    /* Orders that a scheduler has accepted, that ended, and that came into state error, since its
     * start. */
    bool has_orders;
    int64_t accepted, ended, failed;
};
/* Writes the row of the process. */
void mg_store_beat(struct mg_store *store, const struct mg_beat *beat, mg_store_done_fn *done, void *arg);

/* ---- orders ---- */

struct mg_step_record {
    struct mg_slice cause;  /* identity of the cause that dispatched the running attempt, or two: chain.c */
    struct mg_slice result; /* JSON text of a done step */
    /* The result for its undo, from an earlier answer, if the last one lacks a part. Absent: `result`. */
    struct mg_slice undo_result;
    struct mg_slice
        unreadable; /* why a good answer's body gave no result; absent: it gave one, or none came */
    struct mg_slice
        open; /* of a wait for a signal: its key and the signals that have come (scheduler/kept_signals.h) */
    bool was_skipped; /* before its undo was planned, although it may have happened */
    bool has_do_digest, has_undo_digest;
    uint8_t do_digest[MG_SHA256_SIZE],
        undo_digest[MG_SHA256_SIZE];           /* under the current key (law 8, derived identities) */
    struct mg_slice error_code, error_text;    /* of the last failure */
    struct mg_slice error_message, error_body; /* the service's own words in it; absent: it gave none */
};

struct mg_label {
    const char *name;
    struct mg_slice value;
};

/* A whole order: the core's aggregate and its data. The slices belong to the batch's arena. */
struct mg_order_record {
    char order_id[MG_ORDER_ID_MAX + 1];
    char workflow[MG_NAME_MAX + 1];
    int64_t workflow_version;
    int64_t revision; /* of the payload; 1 as submitted, higher after an operator's repair */
    struct mg_slice payload;
    uint8_t digest[MG_SHA256_SIZE];           /* of the submission's body */
    struct mg_slice reply_to, correlation_id; /* where statuses go; reply_to absent: no client wants them */
    struct mg_slice traceparent;
    struct mg_slice
        failure; /* why it turned back or needs an operator: the JSON of status.schema.json's `cause` */
    /* The order's client, proved by the exchange that it came through. "": not proved; the users of a shared
     * exchange share such orders. Absent: an older version stored it, and the first repetition sets it. */
    struct mg_slice client;
    /* By the clock of the batch that accepted it. Requests may carry it (law 8, derived identities). */
    int64_t created_at_ms;
    bool is_high, wants_step_status;
    uint64_t stored_steps; /* bits: steps with a row, as of the load or the caller's writes */
    /* The labels of a new order are written with it, and never read back. */
    const struct mg_label *labels;
    int label_count;
    struct mg_order order;
    /* By step index of its workflow version. A load fills only existing rows. A step's row is created at its
     * first change; the others are zero, which is MG_STEP_PENDING. */
    const char *step_names[MG_STEPS_MAX], *services[MG_STEPS_MAX];
    struct mg_step_record steps[MG_STEPS_MAX]; /* last: the scheduler's cache cuts the record after them */
};

/* The row of one cause in order_event. `order show` and law 3, re-creation, read the JSON texts back. */
struct mg_event_record {
    uint64_t version; /* the order's version after this cause; with order_id the row's key */
    enum mg_cause_kind cause_kind;
    struct mg_slice cause; /* identity of the cause; it detects repetitions */
    struct mg_slice by;    /* instance, or operator */
    struct mg_slice step;  /* absent: the order */
    uint32_t attempt;
    struct mg_slice reason;      /* for people */
    struct mg_slice transitions; /* JSON array */
    struct mg_slice statuses;    /* JSON array of status messages, sent or to be sent; absent: none */
    bool is_owed;                /* the statuses have not all gone out */
};

struct mg_load {
    const char *order_id;
    struct mg_slice cause;  /* absent, or: also load this cause's event, if there is one */
    bool wants_sent_status; /* also load the last status about the order's state */
};
/* The newest events of an order, which are searched first for the status. More events mean a long history
 * (hours of polls), which takes some hundredths of a second to read. The status is then found there, and a
 * repetition keeps it with an event of its own, so the next one finds it here. */
#define MG_SENT_EVENTS_MAX 256
/* The kinds of refusals. The first two do not say whether the order or the database is at fault. */
enum mg_refusal {
    MG_REFUSAL_PASSING, /* the same may succeed later: a lock, an internal error */
    MG_REFUSAL_LASTING, /* it fails again until its cause is mended: a value, a right, a lost row */
    MG_REFUSAL_DAMAGED, /* its own rows are lost or cannot be read, and most others' are whole */
    MG_REFUSAL_COUNT
};
#define MG_REFUSAL_TEXT_SIZE 160
#define MG_SQLSTATE_SIZE     6
struct mg_loaded {
    struct mg_order_record *record; /* NULL: no such order */
    struct mg_event_record *event;  /* the requested event; NULL: none */
    struct mg_slice sent_status;    /* the requested status, byte for byte; absent: none */
    uint64_t sent_version;          /* of the newest event with that status */
    bool is_owed;                   /* with the status: some of the events read have unsent statuses */
    bool is_unreadable;             /* it exists, in words of a newer version; record and event are NULL */
    /* The database cannot read its rows, and reads others, or one of its rows is lost; record and event are
     * NULL. NULL: it can. */
    const char *refused;
    enum mg_refusal refusal;         /* its kind */
    char sqlstate[MG_SQLSTATE_SIZE]; /* "": the database gave none */
};

/* The operator settings of each service, and its state from unexpired reports in service_state. */
struct mg_service_row {
    char service[MG_NAME_MAX + 1];
    /* NONE, BREAKER_OPEN (at all agents) or SERVICE_PAUSED (by an operator, or no agent is ready) */
    enum mg_reason gate;
    bool is_probing; /* NONE, but no agent has found it well yet: the first requests probe it */
};

struct mg_load_answer {
    int64_t now_ms;           /* the database's clock */
    struct mg_loaded *orders; /* parallel to the requests */
    const struct mg_service_row *services;
    int service_count;
};
/* The answer lives in `arena`, which the caller owns. Order ids may repeat; each gets the same record.
 * `loads` and its data must live until the answer. */
typedef void mg_store_load_fn(void *arg, const struct mg_load_answer *answer, const struct mg_err *err);
void mg_store_load(struct mg_store *store, struct mg_arena *arena, const struct mg_load *loads, int count,
                   mg_store_load_fn *done, void *arg);

/* The failure in an alert that a transition opens; absent slices: no step, or not known. */
struct mg_failure {
    struct mg_slice workflow, step, service;
    struct mg_slice error_code; /* the step's, or the reason's word; failures are grouped by it */
};
struct mg_alert_write {
    enum mg_alert alert;
    bool is_closed;
    const char *subject;
    const char *order_id; /* "" if it is about no order */
    struct mg_slice text;
    const struct mg_failure *failure; /* NULL: a closing, or no failure of an order */
};

/* A write's move in the line of its order's key (core/line.h); all false: none. A place has the generation of
 * its order, so the earlier place is that of the generation before the write. */
struct mg_line_move {
    bool leaves; /* the earlier place, if there is one: the next order's turn has come */
    bool begins; /* its turn is taken */
    bool joins;  /* takes the last place, under `key` */
    uint32_t left_generation;
    struct mg_slice key;
};
/* An order that has its turn now. Its place stays until it leaves, so a turn that is lost is found again. */
struct mg_turn {
    char order_id[MG_ORDER_ID_MAX + 1]; /* "": none */
    uint32_t generation;
};
struct mg_slot_write;

enum mg_write_result {
    MG_WRITE_DONE,
    /* The version has changed, the order exists, or its schedule has made another: load and decide again. */
    MG_WRITE_CONFLICT,
    /* The database refuses this order's rows, and has stored another's since. `text` has the reason. */
    MG_WRITE_REFUSED,
    MG_WRITE_UNTRIED, /* not stored and not judged: the time for the whole commit was over */
};
/* A kept signal that a change of an order takes (signal_rows.h). */
struct mg_taken_signal {
    struct mg_slice signal, key, signal_id;
};
struct mg_order_write {
    const struct mg_order_record *record; /* the new state */
    uint64_t expected_version;            /* 0: insert a new order */
    uint64_t changed_steps;               /* bits: rows to write */
    bool is_payload_changed;              /* record->revision is new: insert the payload under it */
    const struct mg_event_record
        *events; /* at least one; versions expected_version+1 … record->order.version */
    int event_count;
    const struct mg_alert_write *alerts;
    int alert_count;
    /* If another order has taken one of them, or this order is read too late, the result is CONFLICT. */
    const struct mg_taken_signal *taken;
    int taken_count;
    struct mg_line_move line;
    const struct mg_slot_write
        *slot; /* of a schedule that makes the order (store/schedules.h); NULL: none does */
    const char *locked_by;
    bool is_hasty;   /* of all in one commit: waits for no lock, and for no statement, longer than a moment */
    bool is_patient; /* of all: a statement may nevertheless take its whole time */
    /* answers, filled before the callback */
    enum mg_write_result result;
    enum mg_refusal refusal; /* REFUSED: its kind */
    char sqlstate[MG_SQLSTATE_SIZE];
    char text[MG_REFUSAL_TEXT_SIZE];
    struct mg_turn turn; /* that this write has brought about; of several writes for one key, the first */
};
/* One transaction, or several, found by bisection, if a row is refused. Orders must not repeat. With `err`
 * the result of every order is unknown, or the database refuses all writes alike. */
void mg_store_commit(struct mg_store *store, struct mg_order_write *writes, int count, mg_store_done_fn *done,
                     void *arg);

/* The numbers of orders in the lines of some keys, parallel to `keys`; 0: none is in line. The array lives
 * until the callback returns. */
typedef void mg_store_lengths_fn(void *arg, const int64_t *lengths, const struct mg_err *err);
void mg_store_line_lengths(struct mg_store *store, const struct mg_slice *keys, int count,
                           mg_store_lengths_fn *done, void *arg);

/* ---- services, alerts, workflows ---- */

/* Kept reports of agents of one service: twice as many as have shares in a limit. After a restart of all, the
 * old names stand next to the new. Two parallel schedulers may briefly keep some more. */
#define MG_SERVICE_INSTANCES_MAX 256
struct mg_service_state {
    const char *service, *instance, *breaker; /* breaker: "closed", "open", "half_open" */
    bool is_ready;
    int64_t in_flight, concurrency;
    const char *reason;
    uint64_t control_version; /* version of the operator settings that it applies; 0: none received */
    /* For one process the row with the highest sequence stays; for process 0 the last row. */
    uint64_t process, sequence;
    bool is_prober;        /* by its own state, it probes for all */
    struct mg_slice calls; /* service_state.calls; absent: not known */
};
/* A new instance is refused while MG_SERVICE_INSTANCES_MAX others of its service have valid reports. So known
 * ones stay, however many names are invented. */
void mg_store_put_service_states(struct mg_store *store, const struct mg_service_state *states, int count,
                                 mg_store_done_fn *done, void *arg);

/* A change of a service's operator settings. */
enum mg_setting_verb { MG_SETTING_PAUSE, MG_SETTING_RESUME, MG_SETTING_LIMIT };
struct mg_service_setting {
    const char *service;
    enum mg_setting_verb verb;
    uint64_t version; /* version of the row on which the decision was made; 0: no row */
    int64_t pause_ms; /* PAUSE: its duration; 0: until resumed */
    /* LIMIT, for all its agents together: digits, "0" for none, NULL to keep the value */
    const char *concurrency, *rate_per_s;
    const char *reason, *by;
};
enum mg_change_result { MG_CHANGE_DONE, MG_CHANGE_CONFLICT, MG_CHANGE_NOT_FOUND };
/* One transaction: the row under its next version, and the line of operator_action. CONFLICT: the row has
 * another version. NOT_FOUND: no workflow, agent or earlier change names the service. */
typedef void mg_store_setting_fn(void *arg, enum mg_change_result result, uint64_t version,
                                 const struct mg_err *err);
void mg_store_put_setting(struct mg_store *store, const struct mg_service_setting *setting,
                          mg_store_setting_fn *done, void *arg);

/* Deletes a service that is gone: its reports, its operator settings, its open alert. IN_USE: a loaded
 * workflow or an open order names it, or one of its agents has reported lately; `why` names the reason.
 * NOT_FOUND: nothing to delete. One transaction, with the line of operator_action. A later report makes the
 * service known again. */
enum mg_forget_result { MG_FORGET_DONE, MG_FORGET_IN_USE, MG_FORGET_NOT_FOUND };
typedef void mg_store_forget_fn(void *arg, enum mg_forget_result result, const char *why,
                                const struct mg_err *err);
void mg_store_forget_service(struct mg_store *store, const char *service, const char *reason, const char *by,
                             mg_store_forget_fn *done, void *arg);

/* A line of operator_action, for operators' actions that no other call here records. */
struct mg_operator_action {
    const char *by, *verb, *subject, *reason; /* verb: "dead drop" */
    struct mg_slice detail;                   /* JSON */
};
void mg_store_note_action(struct mg_store *store, const struct mg_operator_action *action,
                          mg_store_done_fn *done, void *arg);

/* Alerts without an order's transition. On a leader session they are fenced by its epoch (law 9, one leader).
 * `is_changed` is true for each alert that this call opened (publish it) or closed. */
typedef void mg_store_alerts_fn(void *arg, const bool *is_changed, int count, const struct mg_err *err);
void mg_store_write_alerts(struct mg_store *store, const struct mg_alert_write *alerts, int count,
                           mg_store_alerts_fn *done, void *arg);

/* Orders that are set aside: no cause of them is taken until they are readmitted. `changed` false: the order
 * was set aside already, or not at all. An operator's change is recorded in operator_action. */
struct mg_aside {
    const char *order_id, *by, *reason; /* `by`: an operator, or the instance of a scheduler */
    bool is_operators;
};
typedef void mg_store_changed_fn(void *arg, bool changed, const struct mg_err *err);
void mg_store_set_aside(struct mg_store *store, const struct mg_aside *aside, mg_store_changed_fn *done,
                        void *arg);
void mg_store_readmit(struct mg_store *store, const struct mg_aside *aside, mg_store_changed_fn *done,
                      void *arg); /* an operator's */
/* `by` NULL: the order is not set aside. */
typedef void mg_store_aside_fn(void *arg, const char *by, const char *reason, const struct mg_err *err);
void mg_store_read_aside(struct mg_store *store, const char *order_id, mg_store_aside_fn *done, void *arg);
/* All of them, sorted by the bytes of their ids; at most MG_ASIDE_LISTED_MAX, which are some 100 KB of ids.
 */
#define MG_ASIDE_LISTED_MAX 1000
typedef void mg_store_asides_fn(void *arg, const char (*order_ids)[MG_ORDER_ID_MAX + 1], int count,
                                const struct mg_err *err);
void mg_store_list_aside(struct mg_store *store, mg_store_asides_fn *done, void *arg);

/* `found` false: no such workflow or version. Version 0: the newest. */
typedef void mg_store_workflow_fn(void *arg, bool found, int64_t version, struct mg_slice definition,
                                  const struct mg_err *err);
void mg_store_get_workflow(struct mg_store *store, const char *name, int64_t version,
                           mg_store_workflow_fn *done, void *arg);
/* The steps parked for a queue of a service, at most `limit`. `is_avoided`: there is a workflow whose newest
 * version does not need the service. */
typedef void mg_store_parked_count_fn(void *arg, int64_t parked, bool is_avoided, const struct mg_err *err);
void mg_store_count_parked(struct mg_store *store, const char *service, bool is_high, int64_t limit,
                           mg_store_parked_count_fn *done, void *arg);
/* Stores a definition. The same version with equal content succeeds, with other content it is
 * MG_PERMANENT. */
void mg_store_put_workflow(struct mg_store *store, const char *name, int64_t version,
                           struct mg_slice definition, mg_store_done_fn *done, void *arg);

/* ---- for the supervisor ---- */

#define MG_HELD_BY_SIZE 320
struct mg_lead_answer {
    bool is_leader;
    const char
        *held_by; /* none leads: the session that keeps the lock all the same; NULL or "": another leads */
    uint64_t epoch;
    int64_t now_ms;
    /* time of the last leader's last sweep; 0: never. Ahead of now: the clock before it went back, while
     * orders are still being woken */
    int64_t swept_at_ms;
    const char *refusal; /* NULL, or why this session can never lead (transaction pooling) */
};
typedef void mg_store_lead_fn(void *arg, const struct mg_lead_answer *answer, const struct mg_err *err);
/* Tries to take the advisory lock and, with it, the next epoch. Only on a store with is_leader_session. */
void mg_store_try_lead(struct mg_store *store, const char *holder, mg_store_lead_fn *done, void *arg);
void mg_store_stop_leading(struct mg_store *store, mg_store_done_fn *done, void *arg);

struct mg_due {
    char order_id[MG_ORDER_ID_MAX + 1];
    enum mg_cause_kind ask; /* OVERDUE, DUE, EXPIRED, NUDGE; OWED: store/owed.h */
    char step[MG_NAME_MAX + 1];
    uint32_t attempt;
    uint64_t version, seq;
    int64_t due_at_ms; /* the deadline that passed; shows whether it passed in a gap */
    /* OVERDUE, EXPIRED: when the deadline was set. For an attempt the latest write of its order stands for
     * it, for an order its creation; an operator may have set its complete-by anew since. */
    int64_t set_at_ms;
    bool is_stuck;  /* NUDGE of an open order without a running, waiting or due step */
    bool is_parked; /* DUE of a step that waits for its service's gate */
};
struct mg_sweep_options {
    uint64_t epoch;
    const char *holder;
    int limit; /* orders read in one sweep, and asks for the woken ones among them */
    /* wake_at of orders asked for moves this far ahead: the leader's memory, kept in the table */
    int64_t ask_again_ms;
    /* deadlines (overdue, expired) in (grace_after_ms, grace_before_ms] are left alone; 0: none */
    int64_t grace_before_ms;
    int64_t grace_after_ms;
    /* time-outs of waits for signals in (gap_after_ms, gap_before_ms]; 0: none. A scheduler spares those that
     * only a clock has passed. */
    int64_t gap_before_ms, gap_after_ms;
    /* deadlines of the high clock: in (grace_high_after_ms, grace_before_ms] */
    int64_t grace_high_after_ms;
    struct mg_high_clock high;
    /* brake: limit of OVERDUE and EXPIRED, from each service in turn; the rest stays due */
    int overdue_limit;
    int step_limit; /* open steps read in one sweep, or those of one order; further orders stay due */
};
struct mg_sweep_answer {
    bool is_leader; /* false: (epoch, holder) no longer leads; nothing was changed */
    int64_t now_ms;
    const struct mg_due *dues;
    int due_count;
    int64_t overdue_total; /* overdue ones found, including those held back by the brake */
    bool is_full;          /* a limit of orders or steps was reached: sweep again at once */
};
typedef void mg_store_sweep_fn(void *arg, const struct mg_sweep_answer *answer, const struct mg_err *err);
/* One statement. It finds rows due by wake_at, decides the ask for each, and pushes wake_at forward. No
 * version changes: wake_at is a hint, not state. Fenced by (epoch, holder) under a row lock. */
void mg_store_sweep(struct mg_store *store, const struct mg_sweep_options *options, mg_store_sweep_fn *done,
                    void *arg);

/* A queue of requests with parked steps. */
struct mg_parked_queue {
    char service[MG_NAME_MAX + 1];
    bool is_high;
    bool is_open;    /* by operators and reports; only the broker has the state of its queue */
    bool is_probing; /* as in mg_service_row */
    int asked;       /* number of its steps in `dues` */
};
struct mg_parked_room {
    const char *service;
    bool is_high;
    int room; /* limit of its steps to ask for; above 0 */
};
/* Queues in one answer; beyond it they take turns. Together with a supervisor's own queues this is the number
 * that a process watches. */
#define MG_PARKED_QUEUES_MAX 240
struct mg_parked_place { /* in the order of the returned queues: by service, the normal queue first */
    char service[MG_NAME_MAX + 1];
    bool is_high;
};
struct mg_parked_options {
    uint64_t epoch;
    const char *holder;
    int64_t ask_again_ms;               /* steps asked for are left alone this long */
    struct mg_parked_place after;       /* returns the queues behind this one; service "": from the first */
    const struct mg_parked_room *rooms; /* for any queues */
    int room_count;
};
struct mg_parked_answer {
    bool is_leader;
    const struct mg_parked_queue
        *queues; /* queues with parked steps; fewer than the maximum: the last ones are included */
    int queue_count;
    const struct mg_due *dues;
    int due_count;
};
typedef void mg_store_parked_fn(void *arg, const struct mg_parked_answer *answer, const struct mg_err *err);
/* For queues with room and an open gate: the longest parked steps, as DUE. It changes no step: the time of
 * the next ask is a hint. Parked steps behind a closed gate cost one index access for each queue, however
 * many there are. Fenced like a sweep. */
void mg_store_ask_parked(struct mg_store *store, const struct mg_parked_options *options,
                         mg_store_parked_fn *done, void *arg);

typedef void mg_store_wake_fn(void *arg, bool is_leader, bool is_full, const struct mg_err *err);
/* After the database's clock went back: wakes at most `limit` open orders, those with the longest sleep first
 * (`is_full`: there may be more). A clock that was ahead may have set their waits. So the next sweeps read
 * each order and ask for all its waits; the scheduler has the limit of each wait. It waits shortly for
 * orders that are being written; those locked for longer are passed by and sleep on. Fenced like a sweep. */
void mg_store_wake(struct mg_store *store, uint64_t epoch, const char *holder, int limit,
                   mg_store_wake_fn *done, void *arg);

/* Rows that the database refuses a statement over many for: they are damaged, refused by a trigger, or locked
 * by another session. The statement goes on without them (store/pass_by.h). Texts are valid until the next
 * turn of the loop. Returns how many there are, of which `max` are filled in. */
struct mg_passed_row {
    const char *noun; /* "order" */
    const char *key;
    const char *verb; /* it cannot be "swept" */
    const char *why;  /* the database's words and the SQLSTATE */
};
int mg_store_passed_rows(const struct mg_store *store, struct mg_passed_row *ret_rows, int max);

/* ---- reading, for the operator's tool ---- */

/* Parameters of MG_REPORT_ORDERS. */
enum mg_orders_param {
    MG_ORDERS_STATE, /* "open": any of the open states */
    MG_ORDERS_WORKFLOW,
    MG_ORDERS_SINCE,
    MG_ORDERS_UNTIL,
    MG_ORDERS_CURSOR, /* the page's `next`, or the order before */
    MG_ORDERS_LIMIT,
    MG_ORDERS_LABELS, /* a JSON object of texts; all of them match */
    MG_ORDERS_CLIENT,
    MG_ORDERS_PARAMS
};
#define MG_ORDERS_LISTED_COLUMNS 15 /* of its orders; those of the page follow */

/* Parameters of MG_REPORT_AWAITING. */
enum mg_awaiting_param {
    MG_AWAITING_SIGNAL,
    MG_AWAITING_WORKFLOW,
    MG_AWAITING_ORDER,
    MG_AWAITING_CURSOR,
    MG_AWAITING_LIMIT,
    MG_AWAITING_PAYLOAD_MAX,
    MG_AWAITING_PARAMS
};
#define MG_AWAITING_LISTED_COLUMNS 16 /* of its steps; those of the page follow */

/* Their steps are read one order at a time by their key: some 50 ms. */
#define MG_STEPS_COUNTED_ORDERS 5000

/* Named reports: MG_REPORT_NAME is sql/report_name.sql, or a text of report.c. A column's SQL type is the
 * form of its values in JSON. Lists begin with the newest. A parameter '' means any; times are milliseconds
 * since 1970 or, below 0, before now. */
enum mg_report {
    /* A page of orders, newest first, of all or of one client: order_id, workflow, state, goal, reason,
     * failure_count, created_at, updated_at, complete_by, line; waits_step, waits_service, waits_reason of
     * the first step that waits, failed_step, failed_error of the first that failed (NULL: none). Each row
     * has its page, too: looked_at (orders read), back_to (time of the oldest of them), next (cursor of the
     * next page or NULL). A page without orders has one row, whose order_id is NULL. For tables of any size a
     * page reads at most some ten thousand rows; a page without a match may still have a next. */
    MG_REPORT_ORDERS,
    MG_REPORT_CLIENT_ORDERS, /* the same for a gateway: no step is known */
    /* The same of open orders, oldest first; also is_full: open ones are left unread. $1 state, $2 workflow,
     * $3 since, $4 until, $5 cursor, $6 limit */
    MG_REPORT_PAGE_OPEN,
    /* The same of orders with a step that is parked for a service. $1 service, $2 cursor, $3 limit */
    MG_REPORT_PAGE_PARKED,
    /* The same of orders with their own deadline within a time, the nearest first. $1 ms, $2 limit */
    MG_REPORT_PAGE_DUE,
    /* $1 text, $2 limit, of each kind: found_by ('id', 'label NAME'), order_id, workflow, state, created_at,
     * archived_on (NULL: not in the archive), reason (NULL). Ids that begin with the text, and labels with
     * this value */
    MG_REPORT_FIND,
    /* $1 client, $2 order_id: order_id, workflow, workflow_version, state, goal, reason, failure_count,
     * created_at, updated_at, complete_by, version, labels, output, cause. No row: the client has no such
     * order in the tables. */
    MG_REPORT_ORDER_OF_CLIENT,
    MG_REPORT_ARCHIVED_ORDER_OF_CLIENT, /* the same of an archived order, with archived_on */
    /* $1 order ids, $2 the workflow of each, $3 its version (0: the newest), all separated by blanks. A row
     * for each, in their order: state (NULL: no such order), client, digest of the order, workflow_version
     * (NULL: not loaded) */
    MG_REPORT_SUBMISSIONS_MEET,
    /* $1 client, $2 order_id, $3 seq, $4 version, $5 limit: the statuses after that seq, of events from that
     * version on (0: all), oldest first: state of the order, version of the event, seq, status (its word),
     * body. An order without such statuses has one row, whose seq is NULL. No row: as above. */
    MG_REPORT_STATUSES_OF_CLIENT,
    /* $1 client, $2 order_id, $3 seq, $4 limit: the same of an archived order */
    MG_REPORT_ARCHIVED_STATUSES_OF_CLIENT,
    /* $1 order ids, $2 a version and $3 the client of each, all separated by blanks: place (from 1), version,
     * state, of the client's orders that have another version */
    MG_REPORT_CHANGES,
    MG_REPORT_VERSIONS, /* $1 order ids, separated by blanks: order_id, version, state */
    /* Open alerts about orders. $1 workflow, $2 step, $3 part of the error, $4 services, separated by blanks,
     * $5 since, $6 until, $7 after this alert, $8 limit, $9 labels: alert_id, order_id, workflow, state,
     * step, service, error, error_code, alert, opened_at, acked_by, text */
    MG_REPORT_FAILURES,
    /* By cause, most orders first. $1 to $6 as above, $7 limit, $8 labels: workflow, step, service, error,
     * count, oldest, example */
    MG_REPORT_FAILURE_GROUPS,
    /* How far back both reports read. $1 since, $2 until, $3 after this alert: looked_at, is_full (there may
     * be older ones), oldest (rounded up, so that nothing lies between) */
    MG_REPORT_FAILURES_LOOKED_AT,
    MG_REPORT_ORDER,        /* $1 order_id: the process row with its orders row, all columns named */
    MG_REPORT_ORDER_STEPS,  /* $1 order_id: step rows in the workflow's order */
    MG_REPORT_ORDER_EVENTS, /* $1 order_id: event rows by version */
    MG_REPORT_DOSSIER,      /* $1 order_id: the whole order as one JSON text (proto/dossier.schema.json) */
    /* The same for an archived order, from its dossier; of several under one id the last. Order and dossier
     * also have archived_on. */
    MG_REPORT_ARCHIVED_ORDER,
    MG_REPORT_ARCHIVED_STEPS,
    MG_REPORT_ARCHIVED_EVENTS,
    MG_REPORT_ARCHIVED_DOSSIER,
    /* $1 order_id, $2 step: step, generation, undo_generation, do_digest, undo_digest, undo_result,
     * was_skipped, is_asked (it is $2), in the workflow's order */
    MG_REPORT_CALLS,
    /* $1 order_id: step (NULL: the order itself), since (it has its present reason), changed_at, order_since
     * (the order has its state), now; an order without an event has one row */
    MG_REPORT_ORDER_SINCE,
    /* $1 order_id: the columns of MG_REPORT_ORDER_STEPS that its client may see, with since, changed_at,
     * order_since and now as above in each row; an order without steps has one row, and its step is NULL */
    MG_REPORT_STEPS_OF_CLIENT,
    MG_REPORT_ORDER_ASIDE, /* $1 order: since, by_whom, reason; no row: it is not set aside */
    /* $1 order, or '' for all: order_id, since, reason, held_by (NULL: no lock is seen). Orders that wait
     * aside at schedulers, and overdue ones that sweeps pass by for their locks; the oldest first */
    MG_REPORT_WAITING,
    /* Parameters: enum mg_awaiting_param, the last the bytes of a payload that is shown. Steps that wait for
     * a signal, the longest first: order_id, workflow, workflow_version, step, signal, title, since,
     * until, on_timeout, counted (signals that have come, of them that are needed), of, signed_by, from,
     * choices, labels, payload. Each row has its page, too: next (NULL: the last page). A page without steps
     * has one row, whose order_id is NULL */
    MG_REPORT_AWAITING,
    MG_REPORT_ORDER_OWED, /* $1 order: reply_to, owed, owed_since, given_up, given_up_at; no row: neither */
    /* number, oldest_ms; of the clients' queues that take nothing their number and the one that has taken
     * nothing for longest (queue, queue_ms); at most 100,000 are counted */
    MG_REPORT_OWED,
    /* hot, keep (NULL: for ever), each also in ms, by_whom, reason, set_at, number of partitions from today
     * on, oldest kept day */
    MG_REPORT_RETENTION,
    MG_REPORT_ALERTS, /* $1 'open' (of 100,000 of them) or 'all', $2 limit */
    /* $1 limit. Open alerts (100,000 of them) by cause, unknown causes first: alert_id, subject, order_id and
     * text of the newest, code, workflow, step, service, error, count, oldest, oldest_ms, newest, acked_at,
     * acked_by (NULL: the cause is unknown) */
    MG_REPORT_ALERT_CAUSES,
    /* $1 since, $2 until, $3 by, $4 subject, $5 after this action, $6 limit: action_id, at, by_whom, verb,
     * subject, reason, outcome, detail of operators' acts. Those of an order include the acts of bulk actions
     * on it. outcome: 'done', 'no effect' (refused, or not taken yet), or NULL: the act is no command about
     * an order, or not known */
    MG_REPORT_ACTIONS,
    /* By name: schedule, workflow, zone, is_paused, next_slot, next_at, next_local, upcoming, last_end,
     * last_slot, last_order, skipped, version, by_whom, reason, changed_at */
    MG_REPORT_SCHEDULES,
    MG_REPORT_SCHEDULE, /* $1 name: the same and its definition */
    /* $1 name, $2 limit: slot, end, order_id, state, slots, text, by_whom, at, the newest first */
    MG_REPORT_SCHEDULE_RUNS,
    /* One row: the number of schedules; paused, unloaded (their workflow), late and missed ones, of each the
     * first name; callback_workflow: the first of the newest versions that give services an address for
     * callbacks */
    MG_REPORT_SCHEDULE_HEALTH,
    MG_REPORT_WORKFLOW,  /* $1 name: name, version, loaded_at, definition of the newest version */
    MG_REPORT_WORKFLOWS, /* name, version, loaded_at, open orders (of 100,000 in all) */
    /* workflow, step, and the number of orders in which the step is done, failed, unknown, waiting (also for
     * its undo), running, undone, or skipped; of the newest MG_STEPS_COUNTED_ORDERS orders of the last day,
     * whose number is in the column looked_at. By workflow, and by the step's place in its newest version */
    MG_REPORT_WORKFLOW_STEPS,
    MG_REPORT_SERVICES, /* service_state, and since when each agent's calls fail */
    /* $1 service, or '' for all with calls: service, and of each minute of the last hour, the present one
     * last: calls, failed, refused, p95_ms (JSON arrays) */
    MG_REPORT_SERVICE_MINUTES,
    MG_REPORT_ORDER_MINUTES, /* the same of orders, one row: accepted, ended, failed */
    /* operator settings of each service, one row for each of its reporting agents: service, version,
     * is_paused, concurrency, rate_per_s, instance, breaker, is_ready; in this order. Without settings
     * version is 0, without an agent instance is '' */
    MG_REPORT_CONTROL,
    /* Each service with its agents as one row: settings, agents that apply them, calls that they may make
     * together (capacity), breakers that are not closed. A service without agents and settings is included if
     * the newest version of a workflow names it (is_used). since: it is paused, or no call is answered (NULL:
     * neither); calls_per_s, p50_ms, p95_ms, failed_percent, refused_percent: of the last one to two minutes;
     * usual_ms: the p95 of most of the hour before (NULL: not known); slow_since: it is much slower than that
     * (NULL: it is not); error_code, error_text, error_at: the last failure; probe_at: when an open breaker
     * lets a call through; waiting: steps parked for it, at most 10,000. */
    MG_REPORT_CONTROLLED,
    MG_REPORT_KEPT_SERVICES, /* service: of the workflow versions that open orders keep (of 100,000 orders) */
    MG_REPORT_LEADER,        /* supervisor_leader with age in ms */
    /* process_state with ages in ms, and each agent that reports no more although a scheduler takes reports
     * (kind agent, instance <service>/<instance>); one that another process has replaced is left out */
    MG_REPORT_PROCESSES,
    MG_REPORT_COUNTS, /* orders by state */
    /* $1 true: with waits. figure ('orders', 'alerts', 'owed', 'waits'), word, workflow, number, oldest_ms:
     * open ones, at most 100,000 of each are read. Of the steps that wait for a signal, word is the step, and
     * no age is read */
    MG_REPORT_FIGURES,
    /* $1 limit: the oldest among the open orders of figures: order_id, workflow, state, reason, age_ms,
     * and waits_step, waits_service, waits_reason as above */
    MG_REPORT_OLDEST,
    MG_REPORT_ACCEPTED, /* now, accepted: orders stored since the server's counter began, some seconds late */
    /* open orders that nothing will move; of those with a moment to wake, the next 30,000 are looked at */
    MG_REPORT_STUCK,
    /* The contents of a bulk action of these failures. $1 workflow, $2 step, $3 part of the error, $4
     * services separated by blanks, $5 since, $6 until, $7 labels: orders, not_in_error, in_other_bulk,
     * of_lost_state (left out), oldest, newest */
    MG_REPORT_BULK_CHOICE,
    MG_REPORT_BULK_LIST, /* $1 limit, newest first */
    MG_REPORT_BULK,      /* $1 bulk_id: the same columns */
    /* $1 bulk_id, $2 result, $3 after this n, $4 limit: n, order_id, result, state, asked_at, ended_at,
     * text */
    MG_REPORT_BULK_ORDERS,
    /* holder, epoch, seen_at, age_ms (NULL: no runner), and the number of open bulk actions */
    MG_REPORT_BULK_RUNNER,
    /* subject: open alerts `unpublishable` of services for which no step of an open order waits. None while
     * more than 100,000 orders are open. */
    MG_REPORT_UNNEEDED_ALERTS,
    /* $1 for at least this long (ms), $2 limit: order_id, generation of the heads of lines that have not
     * taken their turn */
    MG_REPORT_LINE_TURNS,
    /* $1 for at least this long (ms): orders that wait in lines, oldest_ms of them (NULL: none waits), held
     * (lines that an order in error holds up for so long), order_id of the longest of these, others in it */
    MG_REPORT_LINE_FIGURES,
    /* $1 key, $2 '', $3 limit: key, before, order_id, workflow, state, reason, joined_at, updated_at, length
     * of the line, its head first. $1 '', $2 an order: only the head of its line, and the order */
    MG_REPORT_LINE,
    /* server version, clock, clock in ms, fsync, synchronous_commit, in_recovery, schema version */
    MG_REPORT_SETTINGS,
    MG_REPORT_COLLATION, /* of the database, and what depends on it */
    MG_REPORT_COUNT
};
typedef void mg_store_rows_fn(void *arg, const struct mg_rows *rows, const struct mg_err *err);
/* The statement itself, for EXPLAIN. */
const char *mg_store_report_sql(enum mg_report report);
void mg_store_report(struct mg_store *store, enum mg_report report, const char *const *params,
                     int param_count, mg_store_rows_fn *done, void *arg);
/* Acknowledges an open alert and all others of its cause (MG_REPORT_ALERT_CAUSES), in one transaction with
 * the line of operator_action. `alerts`: their number; 0: no such open alert, or nothing to change. */
struct mg_alert_ack {
    int64_t alert_id;
    const char *by, *reason;
};
typedef void mg_store_acked_fn(void *arg, int64_t alerts, const struct mg_err *err);
void mg_store_ack_alert(struct mg_store *store, const struct mg_alert_ack *ack, mg_store_acked_fn *done,
                        void *arg);

/* Reads the files that mg_store_migrate applies. MG_BAD_INPUT: the folder is missing, or has none or a wrong
 * one. Blocks (for the tool). */
enum mg_class mg_store_migrations_check(const char *directory, struct mg_err *err) MG_MUSTCHECK;
/* Applies the missing numbered files of `directory`, each in its own transaction, under an advisory lock.
 * Blocks (for the tool). */
struct mg_migrate_options {
    const char *dsn, *directory;
    int64_t lock_wait_ms; /* how long a file may wait for the locks of other sessions; 0: a minute */
    void (*report)(void *arg, const char *line); /* may be NULL */
    void *arg;
};
enum mg_class mg_store_migrate(const struct mg_migrate_options *options, struct mg_err *err) MG_MUSTCHECK;

#endif
