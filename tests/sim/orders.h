/* The clients' record of their orders (client.c), for the checker. */
#ifndef SIM_ORDERS_H
#define SIM_ORDERS_H

#include "choice.h"
#include "kernel.h"
#include "table.h"

#define SIM_CLIENTS   3
#define SIM_STEPS_MAX 8 /* of the workflows of definitions.c */

#define SIM_LINE_WORKFLOW "queue" /* of one key: all its orders are in one line */

#define SIM_SENT_MAX 64 /* statuses of an order with compared texts */

/* Prefix of the ids and words of a stranger's messages. */
#define SIM_FORGED "forged-"

/* A deadline that has passed. */
struct sim_passed {
    int64_t of;            /* the attempt of a step; of the order its complete-by, which a resume sets anew */
    int64_t left_since_us; /* 0: the last sweep asked for the verdict, or there was none */
    int64_t left_until_us; /* the last time that a sweep was allowed to leave it alone */
};

/* The attempts of a step since some moment. */
struct sim_pace {
    int64_t since_us;
    uint32_t attempt; /* the number at that moment */
};

struct sim_submitted {
    char order_id[72];
    int number, workflow; /* index in definitions.c; -1: an unknown workflow */
    struct sim_choice choice;
    char *body;        /* the submission, with the same bytes each time */
    char queue[32];    /* its first reply queue */
    char exchange[32]; /* its client's exchange for this order, always the same */
    int client;
    bool is_proved; /* that exchange is this client's alone */
    char message_id[48];
    bool is_high, has_app_id;
    bool is_unheard; /* its reply queue never exists, so it awaits no answer */
    int submissions;
    bool is_sent, is_answered, is_refused; /* according to its client */
    uint64_t seen;                         /* bits, by seq: statuses that its client has received */
    struct mg_slice sent[SIM_SENT_MAX];    /* first text of each status */
    uint64_t sent_otherwise;               /* a seq with two different texts; 0: none */
    /* fields of the checker */
    bool is_operated;    /* an operator skipped or settled a step of it */
    bool is_repeated;    /* an operator resumed or restarted it: an at-most-once request may be out twice */
    uint64_t may_repeat; /* bits, by step: an operator had its do sent once more, although it may have
                            happened */
    bool is_tail_lost, is_lost;
    uint64_t lost_marks; /* bits, by event: the mark that its statuses are owed was lost with the tail, the
                            event was not */
    bool is_cause_lost;  /* with its queue, or as a dead letter of a failover: only the sweep repeats its
                            effects */
    int64_t moved_us;    /* last write, or first post */
    unsigned int nods;   /* bits: a signal `nod` with ok false, and with ok true, was sent */
    int64_t open_until_ms[SIM_STEPS_MAX]; /* an unanswered attempt of this step may act until then */
    int parked_asks[SIM_STEPS_MAX];       /* sweeps that asked about this parked step since the last write */
    struct sim_pace pace[SIM_STEPS_MAX];
    struct sim_passed passed[SIM_STEPS_MAX + 1]; /* deadlines: of each step's attempt, and of the order */
};

#define SIM_DEAD_QUEUE "client.dead" /* of all clients that are gone for good */
/* How long a status is owed: short enough that runs without clock jumps reach the end of that time. */
int64_t sim_owed_for_ms(void);
void sim_clients_start(int orders);
void sim_clients_heal(void);
bool sim_clients_are_done(void); /* every order has been sent and answered */
struct sim_submitted *sim_submitted_find(struct mg_slice order_id); /* NULL: no client posted it */
int sim_submitted_count(void);
struct sim_submitted *sim_submitted_at(int index);

/* The operator's command, as the ledger has it; none if a settle would have to wait. `step` -1: the order. */
void sim_operator_command(const struct sim_stored *stored, enum mg_cause_kind kind, int step);
/* close.c: for each order in error a verb that brings it further. False: none is in error. */
bool sim_operator_close(void);
void sim_check_closed(void); /* no order is in error any more */

/* clock_run.c */
void sim_clock_run_start(void);

/* minority_run.c */
void sim_minority_run_start(void);
void sim_check_stopped(void); /* a node is stopped by a queue that accepts nothing */

/* full_run.c */
void sim_full_run_start(void);

/* stranger.c */
void sim_strangers_start(void);
bool sim_is_forged(struct mg_slice text);
/* client.c: a repetition of another client's submission, by its reply queue. It may be refused. */
bool sim_is_foreign(struct mg_slice reply_to);
void sim_check_speakers(
    const struct mg_order_write *write); /* checks that no stored value comes from a stranger */

/* signals.c: those of an order of the workflow approve, at times of their own */
void sim_signals_start(struct sim_submitted *order);
void sim_check_signals(const struct mg_order_record *before, const struct mg_order_write *write);

/* check_cause.c */
struct mg_status_message;
void sim_check_cause(const struct sim_submitted *order, const struct mg_status_message *status);
void sim_check_causes_end(const struct sim_submitted *order); /* its statuses in their order */

/* checker.c */
void sim_check_start(void);
bool sim_check_is_rejected(const struct sim_submitted *order); /* it was put into orders.rejected */
/* Remaining work before the end; NULL: none. */
const char *sim_check_unfinished(void);
/* The number of order writes so far. */
int sim_check_commits(void);
/* All owed statuses have arrived or were given up. */
bool sim_check_is_settled(void);
/* Final checks: everything has ended (`is_whole`), or the run's time is over. */
void sim_check_end(bool is_whole);

#endif
