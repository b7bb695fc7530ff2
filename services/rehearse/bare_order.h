/*
 * One order around the pure core, without messages, rows and texts: the scheduler's fold in short. A cause is
 * decided, and so are the facts that the core asks for. Requests and changes go to callbacks. The caller has
 * the clock, the services and the guards.
 */
#ifndef MG_REHEARSE_BARE_ORDER_H
#define MG_REHEARSE_BARE_ORDER_H

#include "core/decide.h"
#include "core/order.h"

/* As --quiesce and --park of the scheduler, if not given. */
#define MG_BARE_QUIESCE_MS 3000
#define MG_BARE_PARK_MS    1000

struct mg_bare_events {
    /* The result of the step's guard, which is about to begin. */
    void (*facts)(void *arg, int step, struct mg_cause_facts *ret_facts);
    /* The running attempt of the step goes out. It may decide nothing before mg_bare_decide returns. */
    void (*request)(void *arg, int step);
    /* Each change of state of a step (-1: of the order), in the order in which they happen. */
    void (*change)(void *arg, const struct mg_transition *transition);
    /* It takes a place in the line of its key, begins, or gives the place up. NULL: nobody asks. */
    void (*line)(void *arg, enum mg_effect_kind effect);
    void *arg;
};

struct mg_bare_order {
    const struct mg_plan *plan;
    const struct mg_context *context; /* of the present moment */
    struct mg_order *order;           /* has room up to its last step */
    struct mg_decision *decision;     /* scratch */
    const struct mg_bare_events *events;
};

/* Decides one cause and all that follows from it. Returns the verdict on the cause. */
enum mg_verdict mg_bare_decide(const struct mg_bare_order *bare, const struct mg_cause *cause);

/* The attempts of the step that have run out, its waits that are over, and the order's own end: decided as a
 * supervisor's commands. `asks_parked` says whether the gate of a step is worth the question. */
void mg_bare_ask(const struct mg_bare_order *bare, uint64_t asks_parked);

/* The next moment at which mg_bare_ask has something to ask; 0: none. Steps that are parked have none: they
 * wait for their gate. */
int64_t mg_bare_due_ms(const struct mg_order *order);

/* The effect of the step stands, or may stand. */
bool mg_bare_stands(const struct mg_plan *plan, const struct mg_order *order, int step);

#endif
