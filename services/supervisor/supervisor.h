/*
 * The supervisor: finds what is due and asks the schedulers to see to it. It changes no order and no step,
 * knows no payload and no service; the little it writes (its row, alerts, the wake-up hints of what it asked)
 * is fenced by its epoch. Several may run; the advisory lock lets one lead (lead.c). The leader sweeps
 * (sweep.c), asks about parked steps (parked.c) and for statuses that can be tried again (owed.c), publishes
 * all of it as commands (ask.c), keeps the alerts that belong to no order (watch.c), counts what is open
 * (measure.c), tells agents what operators want of their services and which are down (relay.c, health.c) and
 * has ended orders moved to the archive
 * (retire.c). Who cannot ask, because the broker is away, does not lead.
 */
#ifndef MG_SUPERVISOR_H
#define MG_SUPERVISOR_H

#include "base/config.h"
#include "base/far_clock.h"
#include "base/loop.h"
#include "base/metrics.h"
#include "base/queue_metrics.h"
#include "core/key.h"
#include "health.h"
#include "io/amqp/broker.h"
#include "io/amqp/topology.h"
#include "io/store/retention.h"
#include "io/store/store.h"

/* Queues that belong to no service. */
#define SUPERVISOR_QUEUES 7
/* Series of what is counted: three states of each workflow, and some fifty others. */
#define SUPERVISOR_COUNTED_MAX MG_METRICS_MAX
/* Services whose agents are judged together; as many as a scheduler watches. Of others each agent's own
 * breaker counts. */
#define SUPERVISOR_SERVICES_MAX 256
#define SUPERVISOR_REPLICAS_MAX 128 /* of one service; as many as have shares in a limit */
/* Queues of requests of which steps are parked; of more each has its turn. */
#define SUPERVISOR_PARKED_MAX MG_PARKED_QUEUES_MAX

struct supervisor_options {
    int64_t sweep_period_ms, sweep_batch, ask_again_ms, lead_period_ms;
    int64_t gap_ms, grace_ms, overdue_limit, window;
};

/* The conditions that the leader watches; each is one alert, open while the condition holds. */
enum watched {
    WATCHED_DEAD_LETTERS,
    WATCHED_MASS_EXPIRY,
    WATCHED_STUCK_ORDERS,
    WATCHED_RETENTION,
    WATCHED_SLOW_SWEEP,
    WATCHED_PARKED_CROWD,
    WATCHED_COUNT
};

struct watched_state {
    enum watched watched;
    int64_t looked_at_boot_ms; /* when it was last looked for; 0: never */
    int64_t seen_at_boot_ms;   /* when it was last found; 0: never */
    bool is_raised;            /* as last written to the table */
    bool is_unsaid;            /* the table knows of the change, the queue does not */
    bool is_failing;           /* that it cannot be published has been said */
    char text[256];
};

struct supervisor_service {
    char name[MG_NAME_MAX + 1];
    struct supervisor_health health;
};

/* A queue of requests of which steps are parked, or were before its place was needed for another. */
struct supervisor_parked {
    char service[MG_NAME_MAX + 1], queue[MG_QUEUE_NAME_SIZE];
    bool is_high;
    bool is_named;   /* by the last answer; else another may have its place */
    bool is_open;    /* steps are parked for it, and neither operators nor agents keep its gate closed */
    bool is_probing; /* and no agent has found the service well yet */
    bool is_blind;   /* it cannot be watched */
    bool is_seen;
    int64_t ready, consumers; /* when it was seen last */
    int64_t asked;            /* since then */
    int64_t room;             /* of the last question */
    int64_t probes; /* while probing: so many may be asked about; more each time that none of them was the
                       probe */
};

#define SUPERVISOR_UNNEEDED_MAX 16 /* closed at once; more are found the next time */

struct supervisor_duties;

struct supervisor {
    struct supervisor_options options;
    struct mg_loop *loop;
    struct mg_store *store;
    struct mg_broker *broker;
    const struct supervisor_duties *duties;
    struct mg_timer *lead_timer, *sweep_timer, *watch_timer;
    char holder[128]; /* names this process in the leader's row */
    bool is_stopping;

    /* lead.c */
    bool is_leader, is_electing, is_keeping;
    int64_t kept_at_boot_ms; /* when the session was last used only to keep it */
    uint64_t epoch;
    char refusal[256]; /* why this session can never lead; "" if it can */

    /* sweep.c; database clock, except where the boot clock is named */
    bool is_sweeping;
    bool is_failing;             /* the last sweep failed, which has been said */
    int64_t gap_asked_ms;        /* how long the gap was before the question under way; 0: there was none */
    int64_t asked_at_boot_us;    /* of the question under way */
    int64_t swept_at_ms;         /* the moment of the last answered sweep; 0: none was ever made */
    int64_t answered_at_boot_ms; /* when its answer came */
    int64_t grace_after_ms, grace_before_ms; /* the window of the last gap */
    struct mg_far_clock db_clock;
    int64_t lead_asked_at_boot_ms;
    int64_t grace_until_boot_ms;   /* 0: no grace is running */
    int64_t wake_at_boot_ms;       /* from when on all open orders are to be woken; 0: they need not be */
    int64_t mute_since_boot_ms;    /* since when the broker is away; 0: it is there */
    int64_t commands_seen_boot_ms; /* when the queue of commands was last looked at; 0: never */
    int64_t commands_ready, commands_consumers;
    bool is_held;                                 /* that asking waits for the schedulers has been said */
    int64_t lag_ms, lag_at_boot_ms;               /* as last told, and since when */
    int64_t held_back_most, held_back_at_boot_ms; /* likewise */
    int64_t longest_ms, longest_at_boot_ms;       /* likewise */

    /* owed.c */
    bool is_asking_owed;
    bool is_owed_failing;       /* that the last question failed has been said */
    int64_t owed_asked_boot_ms; /* 0: not yet */

    /* watch.c */
    bool is_writing_alerts;
    int64_t watching_since_boot_ms;
    int written_count; /* of `written`; behind them so many as `unneeded_written` */
    int unneeded_written;
    enum watched written[WATCHED_COUNT]; /* what the write under way is about */
    struct watched_state watched[WATCHED_COUNT];

    /* parked.c */
    bool is_parked_asking;
    bool is_parked_failing; /* that the last question failed has been said */
    int64_t parked_asked_boot_ms;
    struct supervisor_parked parked[SUPERVISOR_PARKED_MAX];
    int parked_count;
    struct mg_parked_place parked_after,
        parked_last;  /* answers name queues behind the one, up to the other */
    int parked_named; /* by the last answer */
    int parked_asks;  /* since these have their turn */

    /* unneeded.c */
    struct mg_timer *unneeded_timer;
    bool is_unneeded_asking;
    bool is_unneeded_failing;                                /* that the last look failed has been said */
    int unneeded_count;                                      /* of alerts that are to be closed */
    char unneeded[SUPERVISOR_UNNEEDED_MAX][MG_NAME_MAX + 1]; /* their services */

    /* measure.c */
    /* A session for what must not hold up a sweep; NULL: nothing is counted or relayed. */
    struct mg_store *counting;
    struct mg_timer *count_timer;
    bool is_counting;
    bool is_count_failing; /* that the last count failed has been said */
    int64_t counting_since_boot_us;
    struct mg_metrics *metrics;
    struct mg_metric *counted[SUPERVISOR_COUNTED_MAX];
    int counted_count;
    struct mg_queue_metrics queues[SUPERVISOR_QUEUES];
    struct mg_metric *owed, *owed_oldest, *count_seconds;

    /* relay.c */
    struct mg_timer *relay_timer;
    bool is_relay_asking;
    bool is_relay_failing;                                       /* that the last look failed has been said */
    int64_t relay_asked_boot_ms;                                 /* of the look under way */
    struct mg_buf relayed;                                       /* the rows as they were last told */
    int64_t relayed_boot_ms;                                     /* and when; 0: not yet */
    struct supervisor_service services[SUPERVISOR_SERVICES_MAX]; /* all that reported since it leads */
    int service_count;

    /* retire.c */
    struct mg_timer *retire_timer;
    bool is_retiring;
    int retire_bite;               /* orders asked for in one; shrinks when it takes long */
    int64_t retiring_boot_ms;      /* since when the bite under way is */
    int64_t retire_failed_boot_ms; /* since when none has gone well; 0: the last has */
    int64_t finished_oldest_ms;    /* of the round under way, as far as it has come */
    struct mg_metric *retired, *retire_seconds, *finished_oldest;

    struct mg_metric *leading, *epoch_led, *sweeps, *sweep_seconds, *sweep_longest, *sweep_lag,
        *asked[MG_CAUSE_COUNT], *unasked, *violations, *violations_found, *held_back;
};

/* What only a leader does. `start` false: there is no memory. A leader that lost the lead stops all of it. */
struct supervisor_duties {
    bool (*start)(struct supervisor *supervisor, int64_t now_ms, int64_t swept_at_ms);
    void (*stop)(struct supervisor *supervisor);
};
extern const struct supervisor_duties SUPERVISOR_DUTIES;

/* `duties` begin with each lead and end with it; borrowed. False: no memory. */
bool supervisor_lead_start(struct supervisor *supervisor, const struct supervisor_duties *duties);
void supervisor_lead_soon(
    struct supervisor *supervisor); /* something that leading needs has come up: try at once */
void supervisor_lead_session(void *arg, bool is_up, const char *reason); /* the store's on_state */
bool supervisor_lead_is_ready(void *arg, char *ret_reason, size_t size); /* a standby is: it can take over */
void supervisor_lead_lost(struct supervisor *supervisor, const char *why);
/* Steps down of its own will: whoever can do better leads next. */
void supervisor_lead_give_back(struct supervisor *supervisor, const char *why);
void supervisor_lead_stop(struct supervisor *supervisor); /* gives the lock back, then ends the loop */

/* On taking the lead; `swept_at_ms` 0: nobody ever swept. False: no memory. */
bool supervisor_sweep_start(struct supervisor *supervisor, int64_t now_ms, int64_t swept_at_ms);
/* What the database answered to a question that was asked at `asked_boot_ms`. A standby follows that clock,
 * too: a failover that brings another one begins a new lead. True: it was set forward since the last answer.
 */
bool supervisor_clock_read(struct supervisor *supervisor, int64_t now_ms, int64_t asked_boot_ms);
/* All open orders are woken again, a while from now: not all that was woken could be asked about. */
void supervisor_wake_later(struct supervisor *supervisor);
/* True: they are being woken now, and no sweep may come between: it would put those woken first to sleep. */
bool supervisor_is_waking(struct supervisor *supervisor);
void supervisor_sweep_stop(struct supervisor *supervisor); /* it leads no more */

/* Asks about the steps that wait for gates which are open; about so many at the most. */
void supervisor_parked_ask(struct supervisor *supervisor, int64_t most);

/* Publishes one due thing as a command. False: no room; what is left stays due in the table. */
bool supervisor_ask(struct supervisor *supervisor, const struct mg_due *due);

/* Asks for owed statuses, at most once a sweep period. */
void supervisor_owed_ask(struct supervisor *supervisor);
void supervisor_owed_start(struct supervisor *supervisor); /* on taking the lead */

bool supervisor_watch_start(struct supervisor *supervisor); /* on taking the lead; false: no memory */
void supervisor_watch_stop(struct supervisor *supervisor);
int64_t supervisor_gone_ms(const struct supervisor *supervisor); /* what was not found for so long is gone */
/* A condition was looked for; `text` NULL: it does not hold. */
void supervisor_watch_looked(struct supervisor *supervisor, enum watched watched, const char *text);

bool supervisor_unneeded_start(struct supervisor *supervisor); /* on taking the lead; false: no memory */
void supervisor_unneeded_stop(struct supervisor *supervisor);

bool supervisor_relay_start(struct supervisor *supervisor); /* on taking the lead; false: no memory */
void supervisor_relay_stop(struct supervisor *supervisor);
void supervisor_relay_finish(struct supervisor *supervisor);

bool supervisor_retire_start(struct supervisor *supervisor); /* on taking the lead; false: no memory */
void supervisor_retire_stop(struct supervisor *supervisor);

void supervisor_metrics_make(struct supervisor *supervisor, struct mg_metrics *metrics);
bool supervisor_measure_start(struct supervisor *supervisor); /* on taking the lead; false: no memory */
void supervisor_measure_stop(struct supervisor *supervisor);  /* it leads no more: others know better */
void supervisor_count_session(void *arg, bool is_up, const char *reason); /* on_state of `counting` */
void supervisor_queue_seen(struct supervisor *supervisor, const char *queue, int64_t ready,
                           int64_t consumers);

/* A value of a report's rows; "" and 0 if it is NULL. The text is cut after `size` - 1 bytes. */
void supervisor_row_text(const struct mg_rows *rows, int row, int column, char *ret_text, size_t size);
double supervisor_row_number(const struct mg_rows *rows, int row, int column);

#endif
