/*
 * The scheduler: takes causes from four queues, decides them in batches with the pure core, stores what was
 * decided, publishes what follows, and acks a cause only when all of that is safe. Nothing here that matters
 * outlives a crash: what was not acked comes again.
 *
 * One thread, one batch in hand. A piece of work goes inbox -> batch (read, load, decide, commit) -> outbox
 * (confirms)
 * -> ack; a later batch may be decided while an earlier one's publishes are still being confirmed.
 */
#ifndef MG_SCHEDULER_SCHEDULER_H
#define MG_SCHEDULER_SCHEDULER_H

#include "base/buf.h"
#include "base/far_clock.h"
#include "base/loop.h"
#include "base/metrics.h"
#include "base/queue_metrics.h"
#include "base/rest.h"
#include "base/trace.h"
#include "core/model.h"
#include "core/suspects.h"
#include "io/broker.h"
#include "io/store_owed.h"
#include "io/topology.h"
#include "wire/json.h"
#include "wire/request.h"
#include "wire/workflow.h"

/* As often as the supervisor sweeps, and the lengths of queues in use are seen: sooner, nobody would ask for
 * a parked step. */
#define MG_TICK_MS 250
/* Most causes of one batch: beyond this a commit gets longer and not cheaper per order. */
#define MG_BATCH_MAX 1024

/*
 * What of the memory for messages each may take, as a part of so many. Beside these there are what libpq
 * holds of a batch (three times the bodies), what the broker's interface holds until it is confirmed (8 MiB),
 * and what a process has without any message: together they stay below the whole.
 */
#define MG_MEMORY_HELD  4  /* deliveries in hand, of all queues */
#define MG_MEMORY_BODY  16 /* bodies of one batch */
#define MG_MEMORY_MADE  8  /* made of one batch: what is read of the store, and messages */
#define MG_MEMORY_ARENA 4  /* the same at most, where it could not be foreseen */
#define MG_MEMORY_CACHE 8  /* orders as they were written last */
/* What a cause is taken to make until it is seen: more than most, and batches are not small. */
#define MG_FIRST_CAUSE_BYTES ((size_t)128 * 1024)

struct mg_scheduler_options {
    struct mg_broker_address broker;
    const char *pg_dsn, *instance;
    const char *workflows_dir; /* "": none are loaded at start */
    int64_t batch, prefetch, window;
    size_t memory_bytes; /* for messages, and for what is made of them: see MG_MEMORY_… */
    int64_t quiesce_ms, park_ms, owed_for_ms, drain_timeout_ms;
    bool is_unsafe_durability_allowed;
    struct mg_json_limits limits;             /* of submissions and payloads */
    const struct mg_span_sink *spans;         /* NULL: none are made */
    void (*on_end)(void *arg, int exit_code); /* it has drained, or cannot go on; the loop may be stopped */
    void *arg;
};

/* Where work waits. The first four are the consumers of the broker, in this order. */
enum mg_lane {
    MG_LANE_REPLIES,
    MG_LANE_COMMANDS,
    MG_LANE_HIGH,
    MG_LANE_NORMAL,
    MG_LANE_INTERNAL, /* requests that the broker did not take, or perhaps did not */
    MG_LANE_COUNT
};
#define MG_LANE_CONSUMERS MG_LANE_INTERNAL

enum mg_end {
    MG_END_ACK,
    MG_END_REJECT, /* to the dead-letter exchange */
    MG_END_LEAVE,  /* no memory, or it cannot be stored now: for later */
    MG_END_NEWER,  /* of a newer version: for another instance, so long as there may be one */
};

/* A delivery, or a request that could not be published, until it is acked. */
struct mg_work {
    struct mg_work *next; /* in its lane */
    struct mg_work *all_prev, *all_next;
    enum mg_lane lane;
    struct mg_delivery *delivery; /* NULL in the internal lane */
    bool is_again;                /* law 3: it may have been committed before */
    enum mg_suspicion suspicion;
    bool is_alone;       /* may spoil its neighbours: a batch of its own */
    bool is_guess_wrong; /* its order is read before it is decided again */
    bool is_settled;
    enum mg_end end;          /* what becomes of the delivery when nothing is pending any more */
    int pending;              /* confirms, marks and follow-ups that must come before the ack */
    int conflicts;            /* rounds lost to other instances */
    int shortages;            /* rounds for which, alone, there was no memory */
    int64_t leave_at_boot_ms; /* end LEAVE or NEWER: when it goes back */
    bool is_held_as_newer;    /* it takes a place among the few that wait so */

    /* of the internal lane */
    struct mg_work *origin; /* whose ack waits for this */
    char order_id[MG_ORDER_ID_MAX + 1];
    char step[MG_NAME_MAX + 1];
    uint32_t attempt;
    enum mg_kind kind;
    enum mg_executed executed; /* NO: the broker surely does not have it */
    bool is_republished;       /* nobody knows whether the broker has it: it goes out once more */
    int tries;                 /* so far, of what is republished */
};

struct mg_lane_list {
    struct mg_work *first, *last;
    int count;
};

/* ---- what is published ---- */

enum mg_send_kind {
    MG_SEND_REQUEST,
    MG_SEND_STATUS,
    MG_SEND_ALERT,    /* also stands in operator_alert */
    MG_SEND_REJECTED, /* a refused submission for orders.rejected, or a forged message for dead.letters */
    MG_SEND_RESULT,   /* an answer to a command, or a status about no order: a convenience, never owed */
    MG_SEND_KIND_COUNT
};

/* Events whose owed statuses go out again: cleared when all have arrived. */
struct mg_debt {
    struct mg_owed word; /* order_id and reply_to point below */
    char order_id[MG_ORDER_ID_MAX + 1], reply_to[MG_REPLY_TO_MAX + 1];
    int open;
    bool has_failed;
};

/* A message from the decision to its confirm. One block of memory: texts follow the struct. */
struct mg_send {
    struct mg_send *prev, *next;
    struct mg_scheduler *scheduler;
    struct mg_work *work; /* whose ack waits for it; NULL: nobody's */
    enum mg_send_kind kind;
    int tries;
    /* request */
    struct mg_gate *gate;
    int step;
    bool is_again; /* it may have gone out before: the agent must not swear that nothing happened */
    struct mg_request *request;
    /* status */
    bool is_status; /* also one about no order */
    enum mg_status status;
    char order_id[MG_ORDER_ID_MAX + 1];
    uint64_t version; /* of the event that keeps it; 0: it is kept nowhere */
    struct mg_debt *debt;
    /* the message */
    const char *exchange, *type; /* constants */
    const char *routing_key, *message_id, *correlation_id, *reply_to, *traceparent, *app_id, *reason, *origin;
    struct mg_slice body;
};

struct mg_send_list {
    struct mg_send *first, *last;
};

/* What a send is made from; everything is copied. */
struct mg_send_spec {
    struct mg_work *work;
    enum mg_send_kind kind;
    const char *exchange, *type, *routing_key;
    struct mg_slice message_id, correlation_id, reply_to, traceparent, app_id, reason, origin, body;
    const struct mg_request *request;
};

/* ---- services and workflows ---- */

/* What is told of one service. */
struct mg_service_metrics {
    struct mg_metric *attempts[MG_KIND_COUNT], *outcomes[MG_OUTCOME_COUNT], *expirations, *step_seconds;
};

struct mg_gate_queue {
    char name[MG_QUEUE_NAME_SIZE];
    bool is_seen;
    int64_t ready, consumers, since; /* since: published after it was last seen */
    int64_t looked_at_boot_ms;       /* beside its period */
    int64_t arrived;                 /* of ours, since the start */
    struct mg_queue_metrics metrics;
};

struct mg_gate {
    struct mg_gate *next;
    struct mg_scheduler *scheduler;
    char service[MG_NAME_MAX + 1];
    struct mg_gate_queue queues[2]; /* normal, high */
    enum mg_reason reported;        /* what agents say of the service */
    bool is_probing;                /* they say that it was down, and is to be probed */
    int64_t probed_boot_ms;         /* when its last probe went out; 0: none has */
    struct mg_service_metrics metrics;
    enum { MG_GATE_ALERT_UNSURE, MG_GATE_ALERT_OPEN, MG_GATE_ALERT_CLOSED } alert;
    int alert_for_ticks; /* since this process saw to that */
    bool is_missed;      /* since it was said last a step had to wait because a queue is missing */
};

struct mg_workflow_entry {
    struct mg_workflow_entry *next;
    struct mg_workflow *workflow;
    struct mg_gate *gates[MG_STEPS_MAX];
    struct mg_metric *entered[MG_ORDER_STATE_COUNT]; /* orders of this workflow, whatever its version */
    uint64_t used_in;                                /* number of the last batch that needed it */
};

struct mg_newest {
    struct mg_newest *next;
    char name[MG_NAME_MAX + 1];
    int64_t version, read_at_boot_ms;
};

enum mg_fetch_outcome { MG_FETCH_FOUND, MG_FETCH_UNKNOWN, MG_FETCH_UNREADABLE };

/* A workflow that a batch needs and the cache lacks. */
struct mg_want {
    struct mg_scheduler *scheduler;
    char name[MG_NAME_MAX + 1];
    int64_t asked;   /* 0: the newest */
    int64_t version; /* what that is, once it has been found */
    enum mg_fetch_outcome outcome;
    void (*done)(void *arg, struct mg_want *want, const struct mg_err *err);
    void *arg;
};

/* A definition of --workflows, on its way into the store. */
struct mg_definition {
    struct mg_definition *next;
    struct mg_workflow *workflow;
    char *file;
};

/* Orders as this process wrote them last, see cache.c. */
#define MG_CACHE_HEADS 4096 /* a power of two; some thousand orders are in it */
struct mg_cached;
struct mg_cache {
    struct mg_cached *heads[MG_CACHE_HEADS];
    struct mg_cached *oldest, *newest;
    size_t bytes, bytes_max;
};

struct mg_batch;
struct mg_owed_mark;
struct mg_agent_report;

/* What became of a submission. */
enum mg_submitted {
    MG_SUBMITTED_NOTHING, /* it came again, or is left to another */
    MG_SUBMITTED_ACCEPTED,
    MG_SUBMITTED_REPEATED,
    MG_SUBMITTED_REJECTED,
    MG_SUBMITTED_COUNT
};

struct mg_counters {
    struct mg_metric *causes[MG_CAUSE_COUNT][MG_IMPOSSIBLE + 1];
    struct mg_metric *submissions[MG_SUBMITTED_COUNT]; /* of nothing: none */
    struct mg_metric *statuses[MG_STATUS_COUNT];
    struct mg_metric *waiting[MG_LANE_COUNT];
    struct mg_metric *failures[MG_SEND_KIND_COUNT];
    struct mg_metric *batch_seconds, *batch_causes, *commit_seconds, *conflicts, *stale, *duplicates, *again,
        *guessed, *given_up, *dead_lettered, *poisoned, *impossible, *unknown_orders, *reports, *left;
};

/* A queue that this process consumes. */
struct mg_lane_queue {
    int64_t taken; /* for the first time, since the start */
    struct mg_queue_metrics metrics;
    int newer_held;                  /* messages of a newer version that wait here to be given back */
    int64_t newer_told_at_boot_ms;   /* of those that are left; 0: never, as below */
    int64_t newer_raised_at_boot_ms; /* the alert, of those that are set aside */
};

struct mg_scheduler {
    const struct mg_scheduler_options *options;
    struct mg_loop *loop;
    struct mg_broker *broker;
    struct mg_store *store;
    struct mg_metrics *metrics;
    struct mg_counters counters;
    struct mg_json_limits message_limits; /* of replies and commands */
    bool is_broker_up, is_store_up, is_loaded, is_draining, has_ended;
    int64_t rank;  /* among all that consume, while it may lead */
    bool has_left; /* something for others, to whom it must come first from now on */
    bool is_away;  /* the store has been down for so long that nothing is consumed */

    /* inbox */
    struct mg_lane_list lanes[MG_LANE_COUNT];
    struct mg_lane_queue queues[MG_LANE_CONSUMERS];
    struct mg_work *all;
    int work_count;
    unsigned int replies_turn, intake_turn;
    struct mg_suspects suspects;
    struct mg_work *isolated; /* waiting; the least often delivered first */
    int isolated_count;
    struct mg_timer *suspect_timer;
    struct mg_lane_list left;            /* settled, end LEAVE or NEWER */
    int64_t newer_left, newer_set_aside; /* messages of a newer version, since the start */
    struct mg_timer *leave_timer;

    /* batch */
    struct mg_idle *pump;
    struct mg_timer *backoff;
    struct mg_timer *pace; /* runs: the next batch waits until more has come */
    uint32_t failures;     /* rounds in a row that the store did not take */
    struct mg_batch *batch;
    uint64_t batch_number, causes_done;
    int64_t refused_told_at_boot_ms; /* when it was told that refused messages are not kept */
    size_t made_bytes;               /* of messages, since the start */
    size_t cause_bytes; /* of what is made of a batch, for each of its causes: the most lately, see there */
    struct mg_rest rest;
    struct mg_far_clock db_clock;
    int64_t seen_at_boot_ms; /* when it last answered; 0: not in this session */
    struct mg_cache cache;

    /* outbox */
    struct mg_send_list unsent, sent;
    int sent_count;
    struct mg_buf scratch;
    struct mg_timer *outbox_timer;

    /* owed marks and service reports: one call to the store at a time each */
    struct mg_owed_mark *marks, *marks_last, *marks_in_hand;
    struct mg_agent_report *reports, *reports_in_hand;
    struct mg_timer *store_retry;
    bool is_alert_unwritten; /* the store did not take the last one */

    struct mg_gate *gates;
    int gate_count;
    struct mg_workflow_entry *workflows;
    int workflow_count;
    struct mg_newest *newest;
    int newest_count;
    struct mg_definition *definitions;
    bool is_definition_in_hand;

    struct mg_timer *drain_timer;
    struct mg_timer *away_timer;
    struct mg_timer *tick; /* queues are looked at, and intake that a full window held back */
    bool is_lingering;     /* all is done; the last acks are leaving */
};

/* ---- scheduler.c ---- */

/* `definitions` become the scheduler's. MG_BAD_INPUT: URL or DSN. */
enum mg_class mg_scheduler_create(struct mg_loop *loop, const struct mg_scheduler_options *options,
                                  struct mg_metrics *metrics, struct mg_definition *definitions,
                                  struct mg_scheduler **ret_scheduler, struct mg_err *err) MG_MUSTCHECK;
void mg_scheduler_destroy(struct mg_scheduler *scheduler); /* accepts NULL */
/* Stops consuming, finishes what is in hand within the drain timeout, then on_end(0). */
void mg_scheduler_drain(struct mg_scheduler *scheduler);
bool mg_scheduler_is_ready(void *scheduler, char *ret_reason, size_t size);
/* Something changed that may let the next batch start, or end the drain. */
void mg_scheduler_wake(struct mg_scheduler *scheduler);
void mg_scheduler_end(struct mg_scheduler *scheduler, int exit_code);
/* Something changed that lets it lead, or others instead. */
void mg_scheduler_rank(struct mg_scheduler *scheduler);
int64_t mg_scheduler_db_now_ms(const struct mg_scheduler *scheduler);

/* ---- counters.c ---- */

void mg_counters_init(struct mg_counters *counters, struct mg_metrics *metrics);
void mg_service_metrics_init(struct mg_service_metrics *service, struct mg_metrics *metrics,
                             const char *name);
void mg_workflow_metrics_init(struct mg_workflow_entry *entry, struct mg_metrics *metrics);

/* ---- inbox.c ---- */

void mg_inbox_add(struct mg_scheduler *scheduler, struct mg_delivery *delivery);
/* How full the queues are from which it comes; only for what is told of them. */
void mg_inbox_watch(struct mg_scheduler *scheduler);
void mg_inbox_unseen(struct mg_scheduler *scheduler); /* what was seen of the queues is of long ago */
/* Deliveries of a lane that may be here unacked. */
uint16_t mg_inbox_prefetch(const struct mg_scheduler *scheduler, enum mg_lane lane);
/* At most `max` pieces of work in the order of the law: what is going on before what begins. */
int mg_inbox_take(struct mg_scheduler *scheduler, struct mg_work **ret_works, int max);
void mg_inbox_put_back(struct mg_scheduler *scheduler, struct mg_work *work); /* to the front of its lane */
void mg_inbox_give_back(struct mg_scheduler *scheduler);             /* all that waits, to the broker */
void mg_inbox_left_due(struct mg_scheduler *scheduler, bool is_all); /* LEAVE, NEWER: back to the queue */
bool mg_inbox_is_empty(const struct mg_scheduler *scheduler);
void mg_inbox_give_back_lane(struct mg_scheduler *scheduler, enum mg_lane lane);
void mg_inbox_drop(struct mg_scheduler *scheduler, struct mg_work *work); /* back to the broker, undone */
void mg_inbox_finish(struct mg_scheduler *scheduler);

/* ---- suspects.c ---- */

/* What has come to a lane says how the queues are consumed from now on. True: it is isolated, and kept. */
bool mg_work_isolate(struct mg_scheduler *scheduler, struct mg_work *work);
void mg_work_clear(struct mg_scheduler *scheduler, struct mg_work *work); /* no suspect, or about to end */
struct mg_work *mg_isolated_take(struct mg_scheduler *scheduler); /* NULL: none, or it is not yet alone */
void mg_isolated_give_back(struct mg_scheduler *scheduler);
/* Starts or stops each consumer, as it should be now. */
void mg_inbox_consume(struct mg_scheduler *scheduler);

/* ---- inbox.c ---- */

/* A follow-up of `origin`, whose ack waits for it. NULL: no memory. */
struct mg_work *mg_work_create_internal(struct mg_scheduler *scheduler, struct mg_work *origin);
void mg_work_hold(struct mg_work *work); /* one thing more before the ack */
void mg_work_release(struct mg_scheduler *scheduler, struct mg_work *work);                 /* may free it */
void mg_work_settle(struct mg_scheduler *scheduler, struct mg_work *work, enum mg_end end); /* may free it */
/* What follows from a cause that is settled, and not yet acked, cannot be done or stored: it is left, to come
 * again and re-create its effects (law 3). NULL: there is no cause. */
void mg_work_give_up(struct mg_work *work);

/* ---- publish.c, owed.c ---- */

struct mg_send *mg_send_create(struct mg_scheduler *scheduler,
                               const struct mg_send_spec *spec); /* NULL: no memory */
void mg_send_list_add(struct mg_send_list *list, struct mg_send *send);
void mg_send_list_drop(struct mg_send_list *list);
/* Moves a list into the outbox; the ack of each send's work now waits for it. */
void mg_outbox_add(struct mg_scheduler *scheduler, struct mg_send_list *list);
void mg_outbox_pump(struct mg_scheduler *scheduler);
void mg_outbox_finish(struct mg_scheduler *scheduler);
/* An alert that belongs to no order's transition: stored, and published if that is news. */
void mg_alert_raise(struct mg_scheduler *scheduler, enum mg_alert alert, const char *subject,
                    const char *text, bool is_closed);

/* Marks an event's statuses as owed, or no longer; the ack of `work` waits for it. Copies the word. */
void mg_owed_mark(struct mg_scheduler *scheduler, struct mg_work *work, const struct mg_owed *word);
/* The supervisor asks: publish what an order's client is still owed. Settles the work. */
void mg_owed_resend(struct mg_scheduler *scheduler, struct mg_work *work, const char *order_id);
/* The client has posted its order again: the same, and the ack of `work` waits for it. */
void mg_owed_recall(struct mg_scheduler *scheduler, struct mg_work *work, const char *order_id);
/* A status message as it goes out and is kept. */
struct mg_status_text {
    uint64_t version; /* of the event that keeps it; 0: it is kept nowhere */
    uint64_t seq;     /* 0: it cannot be read */
    enum mg_status status;
    struct mg_slice body;
};
struct mg_status_text mg_status_text_of(struct mg_slice body); /* kept nowhere */
/* The status that an event keeps at `index`; false: there are no more. */
bool mg_status_kept(const struct mg_event_record *event, int index, struct mg_status_text *ret_status);
/* A status of an order, on its way to the order's client; NULL: nobody asked, it cannot be read, or no
 * memory.
 */
struct mg_send *mg_status_send(struct mg_scheduler *scheduler, struct mg_work *work,
                               const struct mg_order_record *record, const struct mg_status_text *status);
void mg_debt_settle(struct mg_scheduler *scheduler, struct mg_send *send, bool has_arrived);
void mg_owed_flush(struct mg_scheduler *scheduler);
void mg_owed_finish(struct mg_scheduler *scheduler);

/* ---- report.c ---- */

void mg_reports_add(struct mg_scheduler *scheduler, struct mg_work *work);
void mg_reports_flush(struct mg_scheduler *scheduler);
void mg_reports_finish(struct mg_scheduler *scheduler);

/* ---- gates.c ---- */

struct mg_gate *mg_gates_of(struct mg_scheduler *scheduler,
                            const char *service); /* NULL: no memory, too many */
enum mg_reason mg_gate_reason(struct mg_gate *gate, bool is_high);
/* Room for one more in the window is taken when it is decided, so that the next order of the batch sees it.
 */
void mg_gate_take(struct mg_gate *gate, bool is_high);
/* Its service has done what it was asked: an agent that wants more than one probe gets the next. */
void mg_gate_served(struct mg_gate *gate);
/* A step of its service waits, because nothing consumes its queue. */
void mg_gate_held(struct mg_gate *gate);
void mg_gates_look(struct mg_scheduler *scheduler);   /* at queues that are in use; at each tick */
void mg_gates_unseen(struct mg_scheduler *scheduler); /* as mg_inbox_unseen */
void mg_gates_report(struct mg_scheduler *scheduler, const struct mg_service_row *rows, int count);
bool mg_gates_is_full(const struct mg_scheduler *scheduler,
                      bool is_high); /* a served queue has all that new orders may give it */
void mg_gate_published(struct mg_gate *gate, bool has_arrived);
/* A request of ours is in the queue. */
void mg_gate_arrived(struct mg_gate *gate, const char *queue);
void mg_gates_finish(struct mg_scheduler *scheduler);

/* ---- workflows.c ---- */

/* Reads and checks every *.json of a directory; each mistake goes to stderr with file and pointer. */
enum mg_class mg_definitions_read(const char *directory, struct mg_definition **ret_definitions,
                                  struct mg_err *err) MG_MUSTCHECK;
void mg_definitions_destroy(struct mg_definition *definitions);
void mg_definitions_store(struct mg_scheduler *scheduler); /* wakes the scheduler when all are in */
/* From the cache; version 0: the newest, if that was read within the last `max_age_ms`. */
struct mg_workflow_entry *mg_workflows_find(struct mg_scheduler *scheduler, const char *name, int64_t version,
                                            int64_t max_age_ms);
void mg_workflows_fetch(struct mg_want *want);
void mg_workflows_finish(struct mg_scheduler *scheduler);

/* ---- cache.c ---- */

/* An order that ended elsewhere may leave for the archive a day later (MG_HOT_MIN_MS), and its id be that of
 * a new one, with the same versions: so what was written longer ago is forgotten. */
#define MG_CACHE_AGE_MAX_MS (INT64_C(3600) * 1000)
/* Some thousand orders of a few KiB, as many as are under way at full load. What is above is read again. */
#define MG_CACHE_MAX_BYTES ((size_t)16 * 1024 * 1024)
/* One block of memory, to be freed with free(). NULL: this process did not write it, or not lately. */
struct mg_cached *mg_cache_take(struct mg_cache *cache, const char *order_id, int64_t now_boot_ms);
/* The record in `arena`, its texts in `cached`; NULL: no memory. Of its steps' names and services nothing is
 * kept: they are the workflow's. */
struct mg_order_record *mg_cached_record(const struct mg_cached *cached, struct mg_arena *arena);
/* Keeps a copy of what has just been written; the order must not be in the cache. */
void mg_cache_put(struct mg_cache *cache, struct mg_order_record *record, int64_t now_boot_ms);
void mg_cache_clear(struct mg_cache *cache);
uint32_t mg_order_hash(const char *order_id);

/* ---- batch.c ---- */

void mg_batch_start(struct mg_scheduler *scheduler); /* if there is work and none is in hand */
void mg_batch_destroy(struct mg_batch *batch);       /* accepts NULL */

#endif
