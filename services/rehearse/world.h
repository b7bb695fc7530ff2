/*
 * The world of a simulation, shared by its parts. Private to services/rehearse.
 *
 *   world.c            the plan of events
 *   simulated_calls.c  an agent's calls until their replies, breakers, parked steps
 *   simulated_waits.c  guards and moments, signals
 *   simulated_lines.c  orders that wait for others of their key
 *   simulation.c       time, the life of an order, the counts: it calls the others
 */
#ifndef MG_REHEARSE_WORLD_H
#define MG_REHEARSE_WORLD_H

#include <sys/queue.h>

#include "bare_order.h"
#include "event_heap.h"
#include "played_service.h"
#include "tally.h"
#include "wire/command.h"

enum { MG_TROUBLE_FAILED, MG_TROUBLE_UNKNOWN, MG_TROUBLE_UNDO_FAILED, MG_TROUBLE_COUNT };

/* A signal: the step for which it was sent, and the number of one of the step's choices, or one of these. */
enum { MG_CARRIES_NOTHING = -1, MG_CARRIES_REFUSAL = -2 };
struct mg_lone_signal {
    int8_t step, choice;
};
#define MG_KEPT_MAX 8 /* as MG_KEPT_SIGNALS_MAX of the scheduler */

struct mg_lone_step {
    struct mg_key_record key;
    struct mg_agent_call call;
    int64_t begun_ms; /* 0: not yet */
    uint64_t attempts;
    TAILQ_ENTRY(mg_lone_step) entry; /* in its service's queue */
    struct mg_lone_order *owner;
    bool is_queued, is_done_counted, is_failed_counted;
    /* of a wait for a signal */
    struct mg_lone_signal kept[MG_KEPT_MAX]; /* of all steps with this name, at the first of them */
    int kept_count, done_count;
    struct mg_slice result; /* of the signal that ended it; absent: it carried nothing */
};

/* One order. After its end its memory serves a later one, once no event names it any more. */
struct mg_lone_order {
    TAILQ_ENTRY(mg_lone_order) entry; /* among the open or the free ones */
    uint64_t stream;
    uint64_t known;                                   /* bits: steps with a known result */
    uint64_t drawn, skips;                            /* bits: the guards that chance has decided */
    int64_t submitted_ms, asked_ms;                   /* of its next EVENT_ASK; 0: none is planned */
    struct mg_cause_tally back;                       /* why it turned back, or ended in error */
    struct mg_cause_tally troubles[MG_TROUBLE_COUNT]; /* the latest of each kind; count 0: none */
    int refs;                                         /* events and places that name it */
    bool is_over, has_place;
    TAILQ_ENTRY(mg_lone_order) place; /* in the line of its key */
    int64_t line;
    struct mg_order *order;
    struct mg_lone_step steps[];
};
TAILQ_HEAD(mg_lone_list, mg_lone_order);

struct mg_world_service {
    const struct mg_service *service; /* NULL: no step calls it */
    struct mg_breaker breaker;
    TAILQ_HEAD(, mg_lone_step) parked; /* steps that wait for its gate, the longest first */
    int64_t second;                    /* of `calls` */
    uint64_t calls;
};

struct mg_world_line {
    struct mg_lone_list orders; /* the first one runs, or holds it up by its error */
    int64_t count;
};

struct mg_world {
    const struct mg_profile *profile;
    const struct mg_workflow *workflow;
    const struct mg_plan *plan;
    struct mg_world_service services[MG_STEPS_MAX]; /* by mg_profile_number */
    int number_of[MG_STEPS_MAX];
    struct mg_meanings *meanings; /* by step */
    struct mg_world_line *lines;
    struct mg_event_heap events;
    struct mg_lone_list open, free;
    size_t used_bytes;
    int64_t start_ms, now_ms;
    uint64_t arrived;
    struct mg_context context;
    struct mg_decision decision;
    struct mg_tally *tally;
    bool has_failed; /* no memory */
};

enum {
    MG_EVENT_TRY,
    MG_EVENT_ANSWER,
    MG_EVENT_REPLY,
    MG_EVENT_ASK,
    MG_EVENT_BREAKER,
    MG_EVENT_SIGNAL,
    MG_EVENT_CALLBACK,
    MG_EVENT_TURN
};

/* ---- world.c ---- */

/* `lone` NULL: `step` is the number of a service. */
void mg_world_plan(struct mg_world *world, int64_t at_ms, int kind, struct mg_lone_order *lone, int step);
/* One event or place fewer names the order. */
void mg_world_release(struct mg_world *world, struct mg_lone_order *lone);

/* ---- simulated_calls.c ---- */

void mg_calls_open(struct mg_world *world, const struct mg_service *const *services);
/* Whether the gate of the step's service lets a request out. */
bool mg_calls_may_go(const struct mg_world *world, int step);
void mg_calls_request(struct mg_world *world, struct mg_lone_order *lone, int step);
void mg_calls_try(struct mg_world *world, struct mg_lone_order *lone, int step);
void mg_calls_answer(struct mg_world *world, struct mg_lone_order *lone, int step);
struct mg_cause mg_calls_reply(struct mg_world *world, struct mg_lone_order *lone, int step);
/* Steps that have been parked join the queue of their service. */
void mg_calls_park(struct mg_world *world, struct mg_lone_order *lone);
/* The step that should have probed the service may have gone another way: the next one does. */
void mg_calls_probe(struct mg_world *world, int service);
void mg_calls_breaker(struct mg_world *world, int service);
void mg_calls_close(struct mg_world *world);

/* ---- simulated_waits.c ---- */

/* Plans the signals whose time counts from the acceptance. */
void mg_waits_accepted(struct mg_world *world, struct mg_lone_order *lone);
void mg_waits_facts(struct mg_world *world, struct mg_lone_order *lone, int step,
                    struct mg_cause_facts *ret_facts);
/* The step has begun to wait for a signal, or does so no longer. */
void mg_waits_change(struct mg_world *world, struct mg_lone_order *lone,
                     const struct mg_transition *transition);
/* A signal comes that was meant for `step`: its cause is to be decided, and the signal ended. False: it
 * changes nothing. The order may be over. */
bool mg_waits_signal(struct mg_world *world, struct mg_lone_order *lone, int step,
                     struct mg_lone_signal *ret_signal, struct mg_cause *ret_cause);
void mg_waits_signal_end(struct mg_world *world, struct mg_lone_order *lone,
                         const struct mg_lone_signal *signal, const struct mg_cause *cause, bool is_taken);

/* ---- simulated_lines.c ---- */

/* False: no memory. */
bool mg_lines_open(struct mg_world *world);
/* Draws the line of a new order. False: it is full, and the order is rejected. */
bool mg_lines_admit(struct mg_world *world, struct mg_lone_order *lone);
void mg_lines_effect(struct mg_world *world, struct mg_lone_order *lone, enum mg_effect_kind effect);
void mg_lines_close(struct mg_world *world);

#endif
