/* What the clients know of their orders (client.c), for the checker. */
#ifndef SIM_ORDERS_H
#define SIM_ORDERS_H

#include "kernel.h"
#include "table.h"

#define SIM_CLIENTS   3
#define SIM_STEPS_MAX 8 /* of the workflows of definitions.c */

#define SIM_TOLD_MAX 64 /* statuses of an order whose texts are compared */

/* What the ids of a stranger's messages, and its words in them, begin with. */
#define SIM_FORGED "forged-"

/* A deadline that has passed. */
struct sim_passed {
    uint32_t attempt;
    int64_t left_since_us; /* 0: the last sweep asked for its verdict, or none has looked */
    int64_t left_until_us; /* when the last one that might leave it alone did so */
};

struct sim_submitted {
    char order_id[72];
    int number, workflow; /* index in definitions.c; -1: one that nobody knows */
    char *body;           /* the submission as it goes out, each time the same */
    char queue[32];       /* where its statuses go first */
    char exchange[32];    /* through which its client posts it, always the same */
    int client;
    bool is_proved; /* that exchange is this client's alone */
    char message_id[48];
    bool is_high, has_app_id;
    bool is_unheard; /* its queue is never there, so nobody waits for an answer */
    int submissions;
    bool is_sent, is_answered, is_refused; /* by what its client has heard */
    uint64_t seen;                         /* bits: the statuses that its client has had, by seq */
    struct mg_slice told[SIM_TOLD_MAX];    /* what they said first */
    uint64_t told_otherwise;               /* a seq that came in two ways; 0: none did */
    /* the checker's */
    bool is_operated; /* an operator took a step out of its workflow's hands: skipped or settled it */
    bool is_repeated; /* an operator resumed or restarted it: what may be sent once was perhaps sent once more
                       */
    bool is_tail_lost, is_lost;
    uint64_t
        lost_marks;     /* bits, by event: that its statuses are owed was lost with the tail, the event not */
    bool is_cause_lost; /* with its queue, or as a dead letter of a failover: what it brought about is made
                           again by nobody but the sweep */
    int64_t moved_us;   /* when it was last written, or first posted */
    int64_t open_until_ms[SIM_STEPS_MAX]; /* an unanswered attempt of this step may act until then */
    int parked_asks[SIM_STEPS_MAX]; /* sweeps that asked about this step, parked, since the order was written
                                     */
    struct sim_passed passed[SIM_STEPS_MAX + 1]; /* deadlines: of each step's attempt, and of the order */
};

#define SIM_DEAD_QUEUE "client.dead" /* of all whose client is gone for good */
/* How long a status is owed: in runs whose clock tells the truth they see the end of it. */
int64_t sim_owed_for_ms(void);
void sim_clients_start(int orders);
void sim_clients_heal(void);
bool sim_clients_are_done(void); /* every order has been sent and answered */
struct sim_submitted *sim_submitted_find(struct mg_slice order_id); /* NULL: no client knows it */
int sim_submitted_count(void);
struct sim_submitted *sim_submitted_at(int index);

/* clock_run.c */
void sim_clock_run_start(void);

/* minority_run.c */
void sim_minority_run_start(void);
void sim_check_stopped(void); /* a node is, by a queue that takes nothing */

/* stranger.c */
void sim_strangers_start(void);
bool sim_is_forged(struct mg_slice text);
/* client.c: a client's repetition of what is not its own, by the queue of its answers. It may be refused. */
bool sim_is_foreign(struct mg_slice reply_to);
void sim_check_speakers(
    const struct mg_order_write *write); /* nothing of a stranger's is in what is stored */

/* checker.c */
void sim_check_start(void);
bool sim_check_is_rejected(const struct sim_submitted *order); /* it was put into orders.rejected */
/* What is still to be done before all is over; NULL: nothing. */
const char *sim_check_unfinished(void);
/* How often an order was written so far. */
int sim_check_commits(void);
/* All that was owed has arrived, or was given up. */
bool sim_check_is_settled(void);
/* All is over (`is_whole`), or the run's time is. */
void sim_check_end(bool is_whole);

#endif
