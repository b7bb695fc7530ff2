/*
 * PostgreSQL (libpq, non-blocking, pipeline mode, prepared statements) behind what the services ask of it.
 * One store is one session; it is connected on another thread, comes back by itself with backoff, and checks
 * at each connect that the schema is the one this program knows and that the server keeps its promises
 * (fsync, synchronous_commit).
 *
 * Every call is answered exactly once, never from within the call. A call that fails with MG_TRANSIENT may or
 * may not have been committed (the connection died in COMMIT): the caller loads again and decides again; the
 * version guard makes that safe. Memory of an answer lives until its callback returns, unless it says
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
#include "io/pg/rows.h"
#include "io/reach.h"

struct mg_store;

#define MG_SCHEMA_VERSION 15 /* the newest file in deploy/postgres/ that this program was written for */

/* A program runs on its own schema and on a newer one that says it serves it. False: `ret_reason` says what
 * to do; true: it says how they fit. `version` 0: there is none. */
bool mg_schema_serves(int64_t version, int64_t serves_from, char *ret_reason, size_t size);

/* What a session can lead: each has one leader at a time. */
enum mg_lead { MG_LEAD_SUPERVISORS, MG_LEAD_BATCHES };

struct mg_store_options {
    const char *dsn;           /* libpq connection string or URI; NULL or "": the PG* environment */
    const char *name;          /* application_name */
    bool is_plaintext_allowed; /* to a host that is not loopback */
    bool is_unsafe_durability_allowed;
    bool is_leader_session;        /* sets idle_session_timeout, so that a paused leader loses its lock */
    enum mg_lead lead;             /* of such a session */
    const char *statement_timeout; /* as PostgreSQL reads it; NULL: 10s; borrowed for as long as the store */
    bool skips_schema_check;       /* for `db migrate|status` */
    struct mg_metrics *metrics;
    /* Said once per change, and for each other reason for which the server refuses. */
    void (*on_state)(void *arg, bool is_up, const char *reason);
    /* The server answers, but this program must not use it (schema, durability): say it and exit. */
    void (*on_refused)(void *arg, const char *reason);
    void *arg;
};

enum mg_class mg_store_create(struct mg_loop *loop, const struct mg_store_options *options,
                              struct mg_store **ret_store,
                              struct mg_err *err) MG_MUSTCHECK; /* MG_BAD_INPUT: the DSN */
void mg_store_destroy(struct mg_store *store); /* calls under way end without an answer; accepts NULL */
/* Later sessions use this DSN (a changed password, say); the one that is open goes on. On error
 * (MG_BAD_INPUT) the old one stays. */
enum mg_class mg_store_set_dsn(struct mg_store *store, const char *dsn, struct mg_err *err) MG_MUSTCHECK;
bool mg_store_is_up(const struct mg_store *store, char *ret_reason, size_t size);
enum mg_reach mg_store_reach(const struct mg_store *store); /* of the last attempt to connect */
/* As mg_store_is_up, and the database refuses nothing for want of a right: for /readyz. Work goes on being
 * tried meanwhile, which is how a right that was granted is noticed. */
bool mg_store_is_ready(const struct mg_store *store, char *ret_reason, size_t size);

/* Asks the database whether it answers and has room; to be called every second or two. Nothing is sent while
 * the last question is open. */
void mg_store_probe(struct mg_store *store);
/* False, with the reason: the question is open for 3 s, or a call was refused in the last 5 s because the
 * disk is full. */
bool mg_store_is_well(const struct mg_store *store, char *ret_reason, size_t size);

/* `err` is NULL on success. */
typedef void mg_store_done_fn(void *arg, const struct mg_err *err);

/* ---- orders ---- */

struct mg_step_record {
    struct mg_slice cause;  /* identity of the cause that dispatched the running attempt, or two: chain.c */
    struct mg_slice result; /* JSON text of a done step */
    bool has_do_digest, has_undo_digest;
    uint8_t do_digest[MG_SHA256_SIZE],
        undo_digest[MG_SHA256_SIZE];        /* under the present key (law 8, derived identities) */
    struct mg_slice error_code, error_text; /* of the last failure */
};

/* An order whole: the core's aggregate and what goes with it. Slices belong to the arena of the batch. */
struct mg_order_record {
    char order_id[MG_ORDER_ID_MAX + 1];
    char workflow[MG_NAME_MAX + 1];
    int64_t workflow_version;
    int64_t revision; /* of the payload; 1 as submitted, higher when an operator repaired it */
    struct mg_slice payload;
    uint8_t digest[MG_SHA256_SIZE];           /* of the submission's body */
    struct mg_slice reply_to, correlation_id; /* where statuses go; reply_to absent: nobody asked */
    struct mg_slice traceparent;
    /* The client whose order it is: proved by the exchange that it came through; "": none was, and those who
     * share an exchange share such orders; absent: an older version stored it, and the first repetition says.
     */
    struct mg_slice client;
    int64_t created_at_ms;
    bool is_high, wants_step_status;
    uint64_t stored_steps; /* bits: steps that have a row, as of the load or of what the caller has written */
    struct mg_order order;
    /* By step index of its workflow version. Only rows that exist are filled by a load: a step's row is born
     * at its first change; the others are zero, which is MG_STEP_PENDING. */
    const char *step_names[MG_STEPS_MAX], *services[MG_STEPS_MAX];
    struct mg_step_record steps[MG_STEPS_MAX];
};

/* One cause's row in order_event. JSON texts as `order show` and law 3, re-creation, read them back. */
struct mg_event_record {
    uint64_t version; /* the order's after this cause; key of the row with order_id */
    enum mg_cause_kind cause_kind;
    struct mg_slice cause; /* identity of the cause: what makes "again" recognisable */
    struct mg_slice by;    /* instance, or operator */
    struct mg_slice step;  /* absent: the order */
    uint32_t attempt;
    struct mg_slice reason;      /* for people */
    struct mg_slice transitions; /* JSON array */
    struct mg_slice
        statuses; /* JSON array of status messages, as they were or are to be sent; absent if none */
    bool is_owed; /* the statuses have not all gone out */
};

struct mg_load {
    const char *order_id;
    struct mg_slice cause; /* absent, or: also the event that this cause made, if it did */
    bool wants_told;       /* also the status that its client was told of its state */
};
/* Events of an order in which the status is looked for at first, the newest: more are a long story (polls of
 * hours), which costs some hundredths of a second to read. The status is found there too; a repetition keeps
 * it with an event of its own then, so that the next one finds it here. */
#define MG_TOLD_EVENTS_MAX 256
struct mg_loaded {
    struct mg_order_record *record; /* NULL: there is no such order */
    struct mg_event_record *event;  /* the event asked for; NULL: none */
    struct mg_slice told;           /* the status asked for, byte for byte; absent: none */
    uint64_t told_version;          /* of the newest event that keeps it */
    bool is_owed;                   /* with the status asked for: of the events read some have not gone out */
    bool is_unreadable;             /* there is one, in words of a newer version; record and event are NULL */
};

/* What operators want of each service, and what service_state says of it in reports that have not run out. */
struct mg_service_row {
    char service[MG_NAME_MAX + 1];
    enum mg_reason gate; /* NONE, BREAKER_OPEN (open everywhere) or SERVICE_PAUSED (by an operator, or nobody
                            is ready) */
    bool is_probing;     /* NONE, but no agent has found it well yet: what goes out first finds out for all */
};

struct mg_load_answer {
    int64_t now_ms;           /* the database's clock */
    struct mg_loaded *orders; /* parallel to the question */
    const struct mg_service_row *services;
    int service_count;
};
/* Everything in the answer lives in `arena`, which the caller owns. Order ids may repeat; each gets the same
 * record. `loads` and what it points to must live until the answer. */
typedef void mg_store_load_fn(void *arg, const struct mg_load_answer *answer, const struct mg_err *err);
void mg_store_load(struct mg_store *store, struct mg_arena *arena, const struct mg_load *loads, int count,
                   mg_store_load_fn *done, void *arg);

/* What failed, of an alert that a transition opens; absent slices: no step, or nothing known. */
struct mg_failure {
    struct mg_slice workflow, step, service;
    struct mg_slice error_code; /* the service's, or the reason's word */
    struct mg_slice signature;  /* base/signature.h */
};
struct mg_alert_write {
    enum mg_alert alert;
    bool is_closed;
    const char *subject;
    const char *order_id; /* "" if it is about none */
    struct mg_slice text;
    const struct mg_failure *failure; /* NULL: it is closed, or tells of no failure of an order */
};

enum mg_write_result {
    MG_WRITE_DONE,
    MG_WRITE_CONFLICT, /* the version has moved on, or the order exists: load and decide again */
    MG_WRITE_POISONED, /* this row cannot be stored whatever is tried; `text` of the result says why */
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
    const char *locked_by;
    /* answers, filled before the callback */
    enum mg_write_result result;
    char text[160];
};
/* One transaction (or, when a row poisons it, several, found by bisection). Orders must not repeat. With
 * `err` nothing is known of any of them. */
void mg_store_commit(struct mg_store *store, struct mg_order_write *writes, int count, mg_store_done_fn *done,
                     void *arg);

/* ---- services, alerts, workflows ---- */

/* Agents of one service whose reports are kept: twice as many as have shares in a limit, since at a restart
 * of all the old names stand beside the new. Two schedulers at once may keep some more for a moment. */
#define MG_SERVICE_INSTANCES_MAX 256
struct mg_service_state {
    const char *service, *instance, *breaker; /* breaker: "closed", "open", "half_open" */
    bool is_ready;
    int64_t in_flight, concurrency;
    const char *reason;
    uint64_t control_version; /* of what operators want, as far as it obeys; 0: it has heard of nothing */
    /* Of one process the row with the highest sequence stays; of process 0 what comes last. */
    uint64_t process, sequence;
    bool is_prober; /* as far as it has heard it probes for all */
};
/* An instance that is not known yet is refused while MG_SERVICE_INSTANCES_MAX others of its service have
 * valid reports: so those that are known stay, whatever names somebody invents. */
void mg_store_put_service_states(struct mg_store *store, const struct mg_service_state *states, int count,
                                 mg_store_done_fn *done, void *arg);

/* What an operator wants of a service. */
enum mg_wish { MG_WISH_PAUSE, MG_WISH_RESUME, MG_WISH_LIMIT };
struct mg_service_wish {
    const char *service;
    enum mg_wish wish;
    uint64_t version; /* of the row that it was decided on; 0: there was none */
    int64_t pause_ms; /* PAUSE: for so long; 0: until it is resumed */
    /* LIMIT, of all its agents together: digits, "0" for none, NULL to leave it as it is */
    const char *concurrency, *rate_per_s;
    const char *reason, *by;
};
enum mg_wish_result { MG_WISH_DONE, MG_WISH_CONFLICT, MG_WISH_NOT_FOUND };
/* One transaction: the row under its next version, and the line of operator_action. CONFLICT: the row is at
 * another version. NOT_FOUND: no workflow, no agent and no earlier wish names the service. */
typedef void mg_store_wish_fn(void *arg, enum mg_wish_result result, uint64_t version,
                              const struct mg_err *err);
void mg_store_wish(struct mg_store *store, const struct mg_service_wish *wish, mg_store_wish_fn *done,
                   void *arg);

/* Forgets a service that is gone: its reports, what is wanted of it, its open alert. IN_USE: a loaded
 * workflow or an open order names it, or an agent of it has reported of late; `why` says which. NOT_FOUND:
 * there is nothing to forget. One transaction, with the line of operator_action. What an agent reports later
 * makes the service known again. */
enum mg_forget_result { MG_FORGET_DONE, MG_FORGET_IN_USE, MG_FORGET_NOT_FOUND };
typedef void mg_store_forget_fn(void *arg, enum mg_forget_result result, const char *why,
                                const struct mg_err *err);
void mg_store_forget_service(struct mg_store *store, const char *service, const char *reason, const char *by,
                             mg_store_forget_fn *done, void *arg);

/* A line of operator_action: for what people do that no other call here writes down. */
struct mg_operator_action {
    const char *by, *verb, *subject, *reason; /* "dead drop", what it is done to */
    struct mg_slice detail;                   /* JSON */
};
void mg_store_note_action(struct mg_store *store, const struct mg_operator_action *action,
                          mg_store_done_fn *done, void *arg);

/* Alerts that belong to no order's transition. On a session for leading they are fenced by its epoch (law 9,
 * one leader). `opened` tells for each whether it is new (publish it) or was open. */
typedef void mg_store_alerts_fn(void *arg, const bool *is_changed, int count, const struct mg_err *err);
void mg_store_write_alerts(struct mg_store *store, const struct mg_alert_write *alerts, int count,
                           mg_store_alerts_fn *done, void *arg);

/* `found` false: no such workflow or version. Version 0: the newest. */
typedef void mg_store_workflow_fn(void *arg, bool found, int64_t version, struct mg_slice definition,
                                  const struct mg_err *err);
void mg_store_get_workflow(struct mg_store *store, const char *name, int64_t version,
                           mg_store_workflow_fn *done, void *arg);
/* Stores a definition; the same version with the same content is fine, with other content MG_PERMANENT. */
void mg_store_put_workflow(struct mg_store *store, const char *name, int64_t version,
                           struct mg_slice definition, mg_store_done_fn *done, void *arg);

/* ---- the supervisor's ---- */

struct mg_lead_answer {
    bool is_leader;
    uint64_t epoch;
    int64_t now_ms;
    int64_t swept_at_ms; /* when the last leader last swept, or, ahead of now, what the clock said before it
                          * went back and all was woken; 0: never */
    const char *refusal; /* NULL, or why this session can never lead (transaction pooling) */
};
typedef void mg_store_lead_fn(void *arg, const struct mg_lead_answer *answer, const struct mg_err *err);
/* Tries to take the advisory lock and, with it, the next epoch. On a store with is_leader_session only. */
void mg_store_try_lead(struct mg_store *store, const char *holder, mg_store_lead_fn *done, void *arg);
void mg_store_stop_leading(struct mg_store *store, mg_store_done_fn *done, void *arg);

struct mg_due {
    char order_id[MG_ORDER_ID_MAX + 1];
    enum mg_cause_kind ask; /* OVERDUE, DUE, EXPIRED, NUDGE; OWED: store/owed.h */
    char step[MG_NAME_MAX + 1];
    uint32_t attempt;
    uint64_t version, seq;
    int64_t due_at_ms; /* the deadline that passed, to tell what passed in a gap */
    bool is_stuck;     /* NUDGE of an open order in which nothing is running, waiting or due */
    bool is_parked;    /* DUE of a step that waits for its service's gate */
};
struct mg_sweep_options {
    uint64_t epoch;
    const char *holder;
    int limit; /* orders looked at in one sweep; and what is asked about those of them that were woken */
    int64_t ask_again_ms; /* wake_at of what is asked goes this far forward: the leader's memory, kept in the
                             table */
    int64_t grace_before_ms; /* deadlines (overdue, expired) in (grace_after_ms, grace_before_ms] are left
                                alone; 0: none */
    int64_t grace_after_ms;
    int overdue_limit; /* brake: at most so many OVERDUE and EXPIRED, from each service in turn; the rest
                          stays due */
    int step_limit;    /* open steps looked at in one sweep, or one order's; the orders beyond stay due */
};
struct mg_sweep_answer {
    bool is_leader; /* false: (epoch, holder) is no longer the leader's; nothing was changed */
    int64_t now_ms;
    const struct mg_due *dues;
    int due_count;
    int64_t overdue_total; /* overdue found, with those the brake held back */
    bool is_full;          /* a limit of orders or steps was reached: sweep again at once */
};
typedef void mg_store_sweep_fn(void *arg, const struct mg_sweep_answer *answer, const struct mg_err *err);
/* One statement: rows due by wake_at, what to ask about each, and wake_at pushed forward (no version changes:
 * it is a hint, not state). Fenced by (epoch, holder) under a row lock. */
void mg_store_sweep(struct mg_store *store, const struct mg_sweep_options *options, mg_store_sweep_fn *done,
                    void *arg);

/* A queue of requests whose steps are parked. */
struct mg_parked_queue {
    char service[MG_NAME_MAX + 1];
    bool is_high;
    bool is_open;    /* by operators and reports; what its queue says is known to the broker alone */
    bool is_probing; /* as in mg_service_row */
    int asked;       /* of `dues` */
};
struct mg_parked_room {
    const char *service;
    bool is_high;
    int room; /* so many of its steps are asked about at the most; above 0 */
};
/* Of one answer; of more each has its turn. With a supervisor's own queues as many as a process watches. */
#define MG_PARKED_QUEUES_MAX 240
struct mg_parked_place { /* in the order in which queues are named: by service, the normal queue first */
    char service[MG_NAME_MAX + 1];
    bool is_high;
};
struct mg_parked_options {
    uint64_t epoch;
    const char *holder;
    int64_t ask_again_ms;               /* what was asked about is left alone for so long */
    struct mg_parked_place after;       /* queues behind it are named; service "": from the first one on */
    const struct mg_parked_room *rooms; /* of any queues */
    int room_count;
};
struct mg_parked_answer {
    bool is_leader;
    const struct mg_parked_queue
        *queues; /* those that have parked steps; fewer than may be: up to the last */
    int queue_count;
    const struct mg_due *dues;
    int due_count;
};
typedef void mg_store_parked_fn(void *arg, const struct mg_parked_answer *answer, const struct mg_err *err);
/* Of the queues for which there is room, and whose gate is open: the steps that have been parked for longest,
 * as DUE. It changes no step: when it may be asked about again is a hint. What is parked behind a closed gate
 * costs one look at an index for each queue, however many steps that are. Fenced as a sweep. */
void mg_store_ask_parked(struct mg_store *store, const struct mg_parked_options *options,
                         mg_store_parked_fn *done, void *arg);

typedef void mg_store_wake_fn(void *arg, bool is_leader, bool is_full, const struct mg_err *err);
/* After the database's clock went back: wakes at most `limit` open orders, those that sleep longest first
 * (`is_full`: there may be more). The next sweeps look at each and ask about all its waits, because a clock
 * that was ahead may have set them; the scheduler knows how long each may be. Who is writing one is waited
 * for. Fenced as a sweep. */
void mg_store_wake(struct mg_store *store, uint64_t epoch, const char *holder, int limit,
                   mg_store_wake_fn *done, void *arg);

/* ---- reading, for the operator's tool ---- */

/* Named reports; their queries stand in store/report.c. */
enum mg_report {
    /* Lists begin with the newest. A parameter that is '' asks for nothing; times are milliseconds since 1970
     * or, below 0, before now. */
    MG_REPORT_ORDERS, /* $1 state, $2 workflow, $3 since, $4 until, $5 behind this order, $6 limit: order_id,
                         workflow, state, goal, reason, failure_count, created_at, updated_at, complete_by */
    /* Pages of the console, each a row with one column `page`, JSON: {"orders": [as above], "looked_at": how
     * many, "is_full": there are open ones that it did not look at, "back_to": the time of the oldest of
     * these, "next": the cursor of the next page or null}. However large the tables, no page looks at more
     * than some ten thousand rows; one that found nothing in them has a next. */
    MG_REPORT_PAGE_OPEN,   /* open orders, those that came first first. $1 state, $2 workflow, $3 since, $4
                              until, $5 cursor, $6 limit */
    MG_REPORT_PAGE_NEWEST, /* all orders, newest first; parameters likewise */
    MG_REPORT_VERSIONS,    /* $1 order ids, parted by blanks: order_id, version, state */
    /* Open alerts about orders. $1 workflow, $2 step, $3 part of the error, $4 services, parted by blanks,
     * $5 since, $6 until, $7 behind this alert, $8 limit: alert_id, order_id, workflow, state, step, service,
     * error, error_code, alert, opened_at, acked_by, text */
    MG_REPORT_FAILURES,
    /* By cause, most orders first. $1 to $6 as above, $7 limit: workflow, step, service, error, count,
     * oldest, example */
    MG_REPORT_FAILURE_GROUPS,
    /* How far back both look. $1 since, $2 until, $3 behind this alert: looked_at, is_full (there may be
     * older ones), oldest (rounded up, so that nothing lies between) */
    MG_REPORT_FAILURES_LOOKED_AT,
    MG_REPORT_ORDER,        /* $1 order_id: the process row with its orders row, all columns named */
    MG_REPORT_ORDER_STEPS,  /* $1 order_id: step rows in the workflow's order */
    MG_REPORT_ORDER_EVENTS, /* $1 order_id: event rows by version */
    MG_REPORT_DOSSIER,      /* $1 order_id: all of it as one JSON text (proto/dossier.schema.json) */
    /* The same of an order that has left these tables, from its dossier; of several under one id the last.
     * Order and dossier have archived_on beside. */
    MG_REPORT_ARCHIVED_ORDER,
    MG_REPORT_ARCHIVED_STEPS,
    MG_REPORT_ARCHIVED_EVENTS,
    MG_REPORT_ARCHIVED_DOSSIER,
    MG_REPORT_ORDER_OWED, /* $1 order: reply_to, owed, owed_since, given_up, given_up_at; no row: neither */
    MG_REPORT_OWED, /* number, oldest_ms, and of the clients' queues that take nothing the one that has not
                       for longest (queue, queue_ms) and how many there are; at most 100,000 are counted */
    MG_REPORT_RETENTION, /* hot, keep (NULL: for ever), by_whom, reason, set_at, how many partitions there are
                            from today on, the oldest day that is kept */
    MG_REPORT_ALERTS,    /* $1 'open' (of 100,000 of them) or 'all', $2 limit */
    MG_REPORT_WORKFLOWS, /* name, version, loaded_at, open orders (of 100,000 in all) */
    MG_REPORT_SERVICES,  /* service_state */
    MG_REPORT_CONTROL,   /* what operators want of each service, as a row for each agent of it that reports:
                            service, version, is_paused, concurrency, rate_per_s, instance, breaker, is_ready;
                            ordered so. Without a wish version is 0, without an agent instance is '' */
    /* Each service with its agents as one row: what is wanted, how many obey, what calls they may make
     * together (capacity), how many breakers are not closed. A service that no agent reports and nobody
     * controls is here if the newest version of a workflow names it (is_used). */
    MG_REPORT_CONTROLLED,
    MG_REPORT_KEPT_SERVICES, /* service: of the workflow versions that open orders keep (of 100,000 orders) */
    MG_REPORT_LEADER,        /* supervisor_leader with age in ms */
    MG_REPORT_COUNTS,        /* orders by state */
    MG_REPORT_FIGURES,  /* figure ('orders', 'alerts', 'owed'), word, workflow, number, oldest_ms: what is
                           open, at most 100,000 of each are looked at */
    MG_REPORT_OLDEST,   /* $1 limit: of the open orders of figures those that came first: order_id, workflow,
                           state, reason, age_ms */
    MG_REPORT_ACCEPTED, /* now, accepted: orders stored since the server began to count, some seconds late */
    MG_REPORT_STUCK,    /* open orders with nothing that will move them */
    /* What a batch of these failures would hold. $1 workflow, $2 step, $3 part of the error, $4 services
     * parted by blanks, $5 since, $6 until: orders, not_in_error, in_other_batches, of_lost_state (left out),
     * oldest, newest */
    MG_REPORT_BATCH_CHOICE,
    MG_REPORT_BATCHES, /* $1 limit, newest first */
    MG_REPORT_BATCH,   /* $1 batch_id: the same columns */
    /* $1 batch_id, $2 result, $3 behind this n, $4 limit: n, order_id, result, state, asked_at, ended_at,
       text */
    MG_REPORT_BATCH_ORDERS,
    /* holder, epoch, seen_at, age_ms (NULL: nobody drives them), and how many batches are open */
    MG_REPORT_BATCH_RUNNER,
    /* subject: open alerts `unpublishable` of services for which no step of an open order waits. None of them
     * while more than 100,000 orders are open. */
    MG_REPORT_UNNEEDED_ALERTS,
    MG_REPORT_SETTINGS, /* server version, clock in ms, fsync, synchronous_commit, in_recovery, schema version
                         */
    MG_REPORT_COUNT
};
typedef void mg_store_rows_fn(void *arg, const struct mg_rows *rows, const struct mg_err *err);
/* The statement itself, for EXPLAIN. */
const char *mg_store_report_sql(enum mg_report report);
void mg_store_report(struct mg_store *store, enum mg_report report, const char *const *params,
                     int param_count, mg_store_rows_fn *done, void *arg);
/* Acknowledges an open alert by id. `changed` false: no such open alert, or nothing to change about it. */
typedef void mg_store_changed_fn(void *arg, bool changed, const struct mg_err *err);
void mg_store_ack_alert(struct mg_store *store, int64_t alert_id, const char *by, mg_store_changed_fn *done,
                        void *arg);

/* Applies the numbered files of `directory` that are missing, each in its own transaction, under an advisory
 * lock; blocks (for the tool). */
enum mg_class mg_store_migrate(const char *dsn, const char *directory,
                               void (*report)(void *arg, const char *line), void *arg,
                               struct mg_err *err) MG_MUSTCHECK;

#endif
