/*
 * Inside of the core: one decision in progress. decide.c passes a cause to judge.c or operator.c, and then to
 * plan.c. All of them change states through the two functions here, which use the tables of transition.c.
 */
#ifndef MG_CORE_DECIDER_H
#define MG_CORE_DECIDER_H

#include <assert.h>

#include "core/model.h"

struct mg_decider {
    const struct mg_plan *plan;
    const struct mg_context *context;
    const struct mg_cause *cause;
    struct mg_order order; /* the working copy */
    struct mg_decision *decision;
    const char *why; /* of the last verdict */
    bool is_changed;
    bool has_passed_by; /* planning skipped a step, or ended a wait, in its present round */
    uint64_t asked;     /* steps whose guards this decision asks about */
};

/* Applies an event to a step: state, reason, due_at_ms, the transition for the event row, and the effects of
 * its cell. Returns the cell's verdict. Any verdict but MG_GO changes nothing. */
enum mg_verdict mg_decider_step(struct mg_decider *decider, int step, enum mg_step_event event,
                                enum mg_reason reason, int64_t due_at_ms);
/* The same for the order. `step`: the step in its status; -1: none. */
enum mg_verdict mg_decider_order(struct mg_decider *decider, enum mg_order_event event, enum mg_reason reason,
                                 int step);

/* Gives an order in `error` a graver reason, and changes its alert to match. */
void mg_decider_worsen(struct mg_decider *decider, enum mg_reason reason);

/* Adds a status to the client, under the order's next seq. */
void mg_decider_status(struct mg_decider *decider, enum mg_status status, enum mg_reason reason, int step);
/* Opens an alert about a step that no event of the tables opens. */
void mg_decider_alert(struct mg_decider *decider, enum mg_alert alert, enum mg_reason reason, int step);
/* Asks the handler for the facts of a step's guard; the answer is the cause FACTS. */
void mg_decider_ask(struct mg_decider *decider, int step);
/* Moves the order within the line of its key: one of the effects MG_EFFECT_LINE_…. */
void mg_decider_line(struct mg_decider *decider, enum mg_effect_kind kind);
/* Opens and closes the alerts about failing polls, by comparison with `before`: a good poll closes one, and
 * so does any other end of the polling. */
void mg_decider_poll_alerts(struct mg_decider *decider, const struct mg_order *before);

/* Gives the verdict its reason. */
enum mg_verdict mg_decider_end(struct mg_decider *decider, enum mg_verdict verdict, const char *why);
/* A number for each step, derived from the decision's random number. */
uint64_t mg_decider_random(const struct mg_decider *decider, int step);

/* The reply that is decided on. */
static inline const struct mg_cause_reply *mg_decider_reply(const struct mg_decider *decider)
{
    assert(decider->cause->kind == MG_CAUSE_REPLY);
    return &decider->cause->reply;
}

/* The cause is a reply by which no call was made. */
static inline bool mg_decider_is_service_down(const struct mg_decider *decider)
{
    return decider->cause->kind == MG_CAUSE_REPLY && decider->cause->reply.is_service_down;
}

/* The undo of this step refers to its result, and no answer has carried that part of it. */
static inline bool mg_decider_lacks_result(const struct mg_decider *decider, int step)
{
    return decider->plan->steps[step].needs_result && (decider->context->known_results >> step & 1) == 0;
}

static inline int64_t mg_later(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

static inline int64_t mg_earlier(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

/* True if only a database clock that was set forward has passed the deadline. */
static inline bool mg_is_spared(const struct mg_context *context, int64_t deadline_ms)
{
    return deadline_ms > context->spared.after_ms && deadline_ms <= context->spared.before_ms;
}

/* False for a spared deadline, too. `deadline_ms` 0: none. */
static inline bool mg_has_passed(const struct mg_context *context, int64_t deadline_ms)
{
    return deadline_ms != 0 && deadline_ms <= context->now_ms && !mg_is_spared(context, deadline_ms);
}

/* A moment set for the end of something that takes `within_ms` at most. If it is further away, a clock that
 * was ahead has set it: then the end of an action that begins now, by the clock in force for it. */
static inline int64_t mg_moment_cut_ms(const struct mg_context *context, int64_t moment_ms, int64_t within_ms)
{
    int64_t now_ms = mg_is_spared(context, moment_ms) ? context->spared.after_ms : context->now_ms;
    return mg_earlier(moment_ms, now_ms + within_ms);
}

/* Law 8, derived identities: no undo has gone out under the new key. */
static inline void mg_step_renew_key(struct mg_step *step)
{
    step->generation++;
    step->is_undo_dispatched = false;
}

#endif
