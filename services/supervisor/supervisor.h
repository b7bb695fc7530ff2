/*
 * The supervisor: finds due work and sends commands for it to the schedulers. It changes no order and no
 * step, reads no payload, and does not depend on the meaning of a service. Its few writes (its row, alerts,
 * the wake-up hints of orders asked about) are fenced by its epoch. Several may run; the advisory lock lets
 * one lead (lead.c). The leader sweeps (sweep.c), asks about parked steps (parked.c) and for statuses that
 * can be tried again (owed_retry.c). It publishes all of this as commands (ask.c). It keeps the alerts that
 * belong to no order (watch.c, readings.c, heartbeats.c), counts open orders and alerts (figures.c), and the
 * calls and orders of each minute (minute_count.c). It sends agents the operator settings and the health of
 * their services (settings_relay.c, health.c). It has ended orders moved to the archive (retire.c). A
 * supervisor that cannot ask, because the broker is away, does not lead.
 */
#ifndef MG_SUPERVISOR_H
#define MG_SUPERVISOR_H

#include "base/config.h"
#include "base/loop.h"
#include "base/metrics.h"
#include "base/once.h"
#include "base/queue_metrics.h"
#include "core/far_clock.h"
#include "core/key.h"
#include "health.h"
#include "io/amqp/broker.h"
#include "io/amqp/topology.h"
#include "io/store/retention.h"
#include "io/store/store.h"

/* Queues that belong to no service. */
#define MG_SUPERVISOR_QUEUES 8
/* Counted series: three states of each workflow, and some fifty others. */
#define MG_SUPERVISOR_COUNTED_MAX MG_METRICS_MAX
/* Services that are judged from the reports of their agents; as many as a scheduler watches. For any other
 * service each agent's own breaker counts. */
#define MG_SUPERVISOR_SERVICES_MAX 256
#define MG_SUPERVISOR_REPLICAS_MAX 128 /* of one service; as many as have shares in a limit */
/* Request queues with parked steps; more queues than this take turns. */
#define MG_SUPERVISOR_PARKED_MAX MG_PARKED_QUEUES_MAX

extern const char *const MG_SUPERVISOR_QUEUE_NAMES[MG_SUPERVISOR_QUEUES];

struct mg_supervisor_options {
    int64_t sweep_period_ms, sweep_batch, ask_again_ms, lead_period_ms;
    int64_t gap_ms, grace_ms, overdue_limit, window;
};

/* The conditions that the leader watches; each is one alert, open while the condition holds. */
enum mg_watched {
    MG_WATCHED_DEAD_LETTERS,
    MG_WATCHED_MASS_EXPIRY,
    MG_WATCHED_STUCK_ORDERS,
    MG_WATCHED_RETENTION,
    MG_WATCHED_SLOW_SWEEP,
    MG_WATCHED_PARKED_CROWD,
    MG_WATCHED_PASSED_BY,
    MG_WATCHED_STANDSTILL,
    MG_WATCHED_LINES,
    MG_WATCHED_SIGNALS,
    MG_WATCHED_QUEUE, /* the first of as many as there are queues without a service: it is missing */
    MG_WATCHED_COUNT = MG_WATCHED_QUEUE + MG_SUPERVISOR_QUEUES
};

/* The text of an alert: a row's key, and the database's words about it. */
#define MG_SUPERVISOR_ALERT_SIZE 640

struct mg_watched_state {
    enum mg_watched watched;
    int64_t looked_at_boot_ms;     /* when it was last looked for; 0: never */
    int64_t seen_at_boot_ms;       /* when it was last found; 0: never */
    bool is_raised;                /* as last written to the table */
    bool is_unsaid;                /* the change is in the table, and not yet in the queue */
    struct mg_once failure_logged; /* it cannot be published */
    char text[MG_SUPERVISOR_ALERT_SIZE];
};

struct mg_supervisor_service {
    char name[MG_NAME_MAX + 1];
    struct mg_supervisor_health health;
};

/* A request queue with parked steps, or one that had some until another queue needs its place. */
struct mg_supervisor_parked {
    char service[MG_NAME_MAX + 1], queue[MG_QUEUE_NAME_SIZE];
    bool is_high;
    bool is_named;   /* by the last answer; else another queue may take its place */
    bool is_open;    /* steps are parked for it, and neither operators nor agents keep its gate closed */
    bool is_probing; /* while no agent has found the service well */
    bool is_blind;   /* it cannot be watched */
    bool is_seen;
    int64_t ready, consumers; /* when it was seen last */
    int64_t asked;            /* since then */
    int64_t room;             /* of the last question */
    int64_t probes; /* while probing: so many may be asked about; grows each time that none of them was the
                       probe */
};

#define MG_SUPERVISOR_UNNEEDED_MAX 16 /* closed at once; the next look finds more */

struct mg_supervisor_duties;

struct mg_supervisor {
    struct mg_supervisor_options options;
    struct mg_loop *loop;
    struct mg_store *store;
    struct mg_broker *broker;
    const struct mg_supervisor_duties *duties;
    struct mg_timer *lead_timer, *sweep_timer, *watch_timer;
    char holder[128]; /* names this process in the leader's row */
    bool is_stopping;

    /* lead.c */
    bool is_leader, is_electing, is_keeping;
    int64_t kept_at_boot_ms; /* when the session was last used only to keep it */
    uint64_t epoch;
    char refusal[256];             /* why this session can never lead; "" if it can */
    char held_by[MG_HELD_BY_SIZE]; /* the session that keeps the lock while none leads; "": another leads */

    /* sweep.c; database clock, except where the boot clock is named */
    bool is_sweeping;
    struct mg_once failure_logged;           /* the last sweep failed */
    int64_t gap_asked_ms;                    /* length of the gap before the question under way; 0: none */
    int64_t asked_at_boot_us;                /* of the question under way */
    int64_t swept_at_ms;                     /* the moment of the last answered sweep; 0: there was none */
    int64_t answered_at_boot_ms;             /* when its answer came */
    int64_t grace_after_ms, grace_before_ms; /* the window of the last gap */
    struct mg_far_clock db_clock;
    int64_t lead_asked_at_boot_ms;
    int64_t grace_until_boot_ms;   /* 0: no grace is running */
    int64_t wake_at_boot_ms;       /* when all open orders are to be woken; 0: they need not be */
    int64_t wake_pause_ms;         /* before orders that were passed by are woken; 0: there were none */
    int64_t mute_since_boot_ms;    /* the broker is away since then; 0: it is there */
    int64_t commands_seen_boot_ms; /* when the queue of commands was last looked at; 0: never */
    int64_t commands_ready, commands_consumers;
    bool is_held;                                 /* asking waits for the schedulers, which has been logged */
    int64_t lag_ms, lag_at_boot_ms;               /* as last shown, and since when */
    int64_t held_back_most, held_back_at_boot_ms; /* likewise */
    int64_t longest_ms, longest_at_boot_ms;       /* likewise */

    /* owed_retry.c */
    bool is_asking_owed;
    struct mg_once owed_failure_logged; /* the last question failed */
    int64_t owed_asked_boot_ms;         /* 0: not yet */

    /* due_slots.c */
    bool is_asking_slots;
    struct mg_once slots_failure_logged; /* the last question failed */
    int64_t slots_at_boot_ms;            /* when to ask next */
    struct mg_metric *schedule_lag;

    /* watch.c */
    bool is_writing_alerts;
    int64_t watching_since_boot_ms;
    int written_count; /* of `written`; after them come `unneeded_written` others */
    int unneeded_written;
    enum mg_watched written[MG_WATCHED_COUNT]; /* the conditions of the write under way */
    struct mg_watched_state watched[MG_WATCHED_COUNT];

    /* parked.c */
    bool is_parked_asking;
    struct mg_once parked_failure_logged; /* the last question failed */
    int64_t parked_asked_boot_ms;
    struct mg_supervisor_parked parked[MG_SUPERVISOR_PARKED_MAX];
    int parked_count;
    struct mg_parked_place parked_after,
        parked_last;  /* answers name queues behind the first, up to the second */
    int parked_named; /* by the last answer */
    int parked_asks;  /* since these took their turn */

    /* unneeded.c */
    struct mg_timer *unneeded_timer;
    bool is_unneeded_asking;
    struct mg_once unneeded_failure_logged;                     /* the last look failed */
    int unneeded_count;                                         /* of alerts to close */
    char unneeded[MG_SUPERVISOR_UNNEEDED_MAX][MG_NAME_MAX + 1]; /* their services */

    /* line_watch.c */
    struct mg_timer *turns_timer, *lines_timer;
    bool is_turns_asking, is_lines_asking;
    struct mg_once turns_failure_logged, lines_failure_logged; /* the last look failed */
    struct mg_metric *lines_waiting, *line_oldest;

    /* signal_watch.c */
    struct mg_timer *signals_timer;
    bool is_signals_asking;
    struct mg_once signals_failure_logged; /* the last look failed */
    struct mg_metric *signals_kept, *signal_kept_oldest, *signals_unmatched;

    /* minute_count.c */
    struct mg_timer *minutes_timer;
    bool is_minutes_asking;
    struct mg_once minutes_failure_logged; /* the last count failed */

    /* heartbeats.c */
    struct mg_timer *processes_timer;
    bool is_processes_asking;
    struct mg_once processes_failure_logged; /* the last look failed */
    bool is_waiting_asking;
    char waiting[MG_SUPERVISOR_ALERT_SIZE]; /* orders that wait for the database; "": none */

    /* figures.c */
    /* A session for work that must not hold up a sweep; NULL: nothing is counted or relayed. */
    struct mg_store *counting;
    struct mg_timer *count_timer;
    bool is_counting;
    struct mg_once count_failure_logged; /* the last count failed */
    int64_t counting_since_boot_us;
    struct mg_metrics *metrics;
    struct mg_metric *counted[MG_SUPERVISOR_COUNTED_MAX];
    int counted_count;
    struct mg_queue_metrics queues[MG_SUPERVISOR_QUEUES];
    struct mg_metric *owed, *owed_oldest, *count_seconds;

    /* settings_relay.c */
    struct mg_timer *relay_timer;
    bool is_relay_asking;
    struct mg_once relay_failure_logged;                               /* the last look failed */
    int64_t relay_asked_boot_ms;                                       /* of the look under way */
    struct mg_buf relayed;                                             /* the rows as last sent */
    int64_t relayed_boot_ms;                                           /* when they were sent; 0: not yet */
    struct mg_supervisor_service services[MG_SUPERVISOR_SERVICES_MAX]; /* all that reported since it leads */
    int service_count;

    /* retire.c */
    struct mg_timer *retire_timer;
    bool is_retiring;
    int retire_bite;               /* orders in one bite; shrinks when it takes long */
    int64_t retiring_boot_ms;      /* when the bite under way began */
    int64_t retire_failed_boot_ms; /* no bite has succeeded since then; 0: the last one has */
    int64_t finished_oldest_ms;    /* of the round under way, so far */
    struct mg_metric *retired, *retire_seconds, *finished_oldest;

    struct mg_metric *leading, *epoch_led, *sweeps, *sweep_seconds, *sweep_longest, *sweep_lag,
        *asked[MG_CAUSE_COUNT], *unasked, *violations, *violations_found, *held_back, *passed_by;
};

/* The duties of a leader. `start` false: no memory. A leader that lost the lead stops all of them. */
struct mg_supervisor_duties {
    bool (*start)(struct mg_supervisor *supervisor, int64_t now_ms, int64_t swept_at_ms);
    void (*stop)(struct mg_supervisor *supervisor);
};
extern const struct mg_supervisor_duties MG_SUPERVISOR_DUTIES;

/* `duties` begin and end with each lead; borrowed. False: no memory. */
bool mg_supervisor_lead_start(struct mg_supervisor *supervisor, const struct mg_supervisor_duties *duties);
void mg_supervisor_lead_soon(struct mg_supervisor *supervisor); /* a server has come up: try at once */
void mg_supervisor_lead_session(void *arg, bool is_up, const char *reason); /* the store's on_state */
bool mg_supervisor_lead_is_ready(void *arg, char *ret_reason,
                                 size_t size); /* a standby is: it can take over */
void mg_supervisor_lead_lost(struct mg_supervisor *supervisor, const char *why);
/* Steps down, so that a supervisor in a better state can lead. */
void mg_supervisor_lead_give_back(struct mg_supervisor *supervisor, const char *why);
void mg_supervisor_lead_stop(struct mg_supervisor *supervisor); /* gives the lock back, then ends the loop */

/* On taking the lead; `swept_at_ms` 0: there was never a sweep. False: no memory. */
bool mg_supervisor_sweep_start(struct mg_supervisor *supervisor, int64_t now_ms, int64_t swept_at_ms);
/* Takes the database's time from an answer; its question was asked at `asked_boot_ms`. A standby follows that
 * clock, too: a failover that brings another one begins a new lead. True: the clock was set forward since the
 * last answer. */
bool mg_supervisor_clock_read(struct mg_supervisor *supervisor, int64_t now_ms, int64_t asked_boot_ms);
/* Wakes all open orders again, a while from now: some of the woken ones could not be asked about. */
void mg_supervisor_wake_later(struct mg_supervisor *supervisor);
/* True: they are being woken now, and no sweep may come between: it would put the first ones back to
 * sleep. */
bool mg_supervisor_is_waking(struct mg_supervisor *supervisor);
void mg_supervisor_sweep_stop(struct mg_supervisor *supervisor); /* it leads no more */

/* Asks about steps that wait for open gates; `most` is the limit. */
void mg_supervisor_parked_ask(struct mg_supervisor *supervisor, int64_t most);

/* Publishes one due item as a command. False: no room; the rest stays due in the table. */
bool mg_supervisor_ask(struct mg_supervisor *supervisor, const struct mg_due *due);

/* Publishes the command for a slot of a schedule. False: no room; it stays due in the table. */
struct mg_due_slot; /* io/store/schedules.h */
bool mg_supervisor_fire(struct mg_supervisor *supervisor, const struct mg_due_slot *slot);
/* Asks for due slots, if the next one may be due, or a schedule may have changed. */
void mg_supervisor_slots_ask(struct mg_supervisor *supervisor);
void mg_supervisor_slots_start(struct mg_supervisor *supervisor); /* on taking the lead */

/* Asks for owed statuses, at most once a sweep period. */
void mg_supervisor_owed_ask(struct mg_supervisor *supervisor);
void mg_supervisor_owed_start(struct mg_supervisor *supervisor); /* on taking the lead */

bool mg_supervisor_watch_start(struct mg_supervisor *supervisor); /* on taking the lead; false: no memory */
void mg_supervisor_watch_stop(struct mg_supervisor *supervisor);
int64_t
mg_supervisor_gone_ms(const struct mg_supervisor *supervisor); /* a condition unseen for so long is gone */
/* True while the leader sees that a queue is missing; `ret_reason` names it. */
bool mg_supervisor_is_queue_missing(const struct mg_supervisor *supervisor, char *ret_reason, size_t size);
/* Records a look for a condition; `text` NULL: it does not hold. */
void mg_supervisor_watch_looked(struct mg_supervisor *supervisor, enum mg_watched watched, const char *text);

/* Lines: turns that were lost, figures, and the alert about held ones. */
void mg_supervisor_lines_make(struct mg_supervisor *supervisor);  /* its metrics */
bool mg_supervisor_lines_start(struct mg_supervisor *supervisor); /* on taking the lead; false: no memory */
void mg_supervisor_lines_stop(struct mg_supervisor *supervisor);

/* Signals with a key: old ones are deleted, figures, and the alert about those that no order takes. */
void mg_supervisor_signals_make(struct mg_supervisor *supervisor);  /* its metrics */
bool mg_supervisor_signals_start(struct mg_supervisor *supervisor); /* on taking the lead; false: no memory */
void mg_supervisor_signals_stop(struct mg_supervisor *supervisor);

/* The numbers of each minute: calls of services, orders that are accepted and end. */
bool mg_supervisor_minutes_start(struct mg_supervisor *supervisor); /* on taking the lead; false: no memory */
void mg_supervisor_minutes_stop(struct mg_supervisor *supervisor);

bool mg_supervisor_unneeded_start(
    struct mg_supervisor *supervisor); /* on taking the lead; false: no memory */
void mg_supervisor_unneeded_stop(struct mg_supervisor *supervisor);

bool mg_supervisor_processes_start(
    struct mg_supervisor *supervisor); /* on taking the lead; false: no memory */
void mg_supervisor_processes_stop(struct mg_supervisor *supervisor);
/* True: sweeps are due, and none is answered. */
bool mg_supervisor_stands(const struct mg_supervisor *supervisor, char *ret_reason, size_t size);
void mg_supervisor_account(void *supervisor, struct mg_beat *ret_beat); /* for its heartbeat */

bool mg_supervisor_relay_start(struct mg_supervisor *supervisor); /* on taking the lead; false: no memory */
void mg_supervisor_relay_stop(struct mg_supervisor *supervisor);
void mg_supervisor_relay_finish(struct mg_supervisor *supervisor);

bool mg_supervisor_retire_start(struct mg_supervisor *supervisor); /* on taking the lead; false: no memory */
void mg_supervisor_retire_stop(struct mg_supervisor *supervisor);

void mg_supervisor_metrics_make(struct mg_supervisor *supervisor, struct mg_metrics *metrics);
bool mg_supervisor_figures_start(struct mg_supervisor *supervisor); /* on taking the lead; false: no memory */
void mg_supervisor_figures_stop(
    struct mg_supervisor *supervisor); /* it leads no more: its figures are stale */
void mg_supervisor_count_session(void *arg, bool is_up, const char *reason); /* on_state of `counting` */
void mg_supervisor_queue_seen(struct mg_supervisor *supervisor, const char *queue, int64_t ready,
                              int64_t consumers);

/* A leader's question is over. True: its answer counts. A failure is logged as a warning once until the next
 * answer. */
bool mg_supervisor_answered(const struct mg_supervisor *supervisor, bool *is_asking,
                            struct mg_once *failure_logged, const char *failure, const struct mg_err *err);

/* The timer of a duty, made at its first begin. False: no memory. */
bool mg_supervisor_timer_begin(struct mg_supervisor *supervisor, struct mg_timer **timer, mg_loop_fn *fn,
                               int64_t first_ms, int64_t period_ms);
void mg_supervisor_timer_end(struct mg_timer *timer); /* accepts NULL */

/* A value of a report's rows; "" and 0 if it is NULL. The text is cut after `size` - 1 bytes. */
void mg_supervisor_row_text(const struct mg_rows *rows, int row, int column, char *ret_text, size_t size);
double mg_supervisor_row_number(const struct mg_rows *rows, int row, int column);

#endif
