/*
 * Inside of the core: one decision in the making. judge.c finds out what a cause means for its step,
 * operator.c what an operator's wish means, plan.c what follows for the whole order; all of them change
 * states through the two functions here, which ask the tables.
 */
#ifndef MG_CORE_DECIDER_H
#define MG_CORE_DECIDER_H

#include "core/model.h"

struct mg_decider {
    const struct mg_plan *plan;
    const struct mg_context *context;
    const struct mg_cause *cause;
    struct mg_order order; /* the copy that is worked on */
    struct mg_decision *decision;
    bool is_changed;
};

/* Applies an event to a step: state, reason and due_at_ms, and the transition for the order's story. Returns
 * the cell's verdict; anything but MG_GO changes nothing and sets the decision's reason. */
enum mg_verdict mg_decider_step(struct mg_decider *decider, int step, enum mg_step_event event,
                                enum mg_reason reason, int64_t due_at_ms);
/* The same for the order; statuses and alerts that the table's cell names are emitted. */
enum mg_verdict mg_decider_order(struct mg_decider *decider, enum mg_order_event event, enum mg_reason reason,
                                 int step);

/* An order in `error` gets a graver reason, and its alert with it. */
void mg_decider_worsen(struct mg_decider *decider, enum mg_reason reason);

/* Verdict and reason in one: nothing is to be written. */
enum mg_verdict mg_decider_end(struct mg_decider *decider, enum mg_verdict verdict, const char *why);
/* A number that differs by step, from the one drawn for the decision. */
uint64_t mg_decider_random(const struct mg_decider *decider, int step);

static inline int64_t mg_later(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

static inline int64_t mg_earlier(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

/* A database clock that was set forward has passed it too early. */
static inline bool mg_is_spared(const struct mg_context *context, int64_t deadline_ms)
{
    return deadline_ms > context->spared_after_ms && deadline_ms <= context->spared_before_ms;
}

/* False also of what is spared. `deadline_ms` 0: there is none. */
static inline bool mg_has_passed(const struct mg_context *context, int64_t deadline_ms)
{
    return deadline_ms != 0 && deadline_ms <= context->now_ms && !mg_is_spared(context, deadline_ms);
}

static inline bool mg_step_is_running(const struct mg_step *step)
{
    return step->state == MG_STEP_RUNNING || step->state == MG_STEP_UNDO_RUNNING;
}

/* Its undo is under way or planned. */
static inline bool mg_step_is_to_undo(const struct mg_step *step)
{
    return step->state == MG_STEP_UNDO_PENDING || step->state == MG_STEP_UNDO_WAITING ||
           step->state == MG_STEP_UNDO_RUNNING;
}

/* Law 8, derived identities: no undo has gone out under the new key. */
static inline void mg_step_renew_key(struct mg_step *step)
{
    step->generation++;
    step->is_undo_dispatched = false;
}

/* quiet.c */
/* Law 11, quiesce: before this an earlier attempt of the step may still act. A moment that a clock which was
 * ahead has set is cut to what an attempt that begins now may take: an agent calls nothing of that clock
 * later. */
int64_t mg_quiet_at(struct mg_decider *decider, int step);
/* An attempt that had until `complete_by_ms` is over for its order, and perhaps not for the service. */
void mg_quiet_extend(struct mg_decider *decider, int step, int64_t complete_by_ms);
/* That moment has passed, or there is none; and when it will have: now, if it has. */
bool mg_quiet_is_reached(struct mg_decider *decider, int step);
int64_t mg_quiet_due_at(struct mg_decider *decider, int step);

/* judge.c */
enum mg_verdict mg_judge_reply(struct mg_decider *decider);
enum mg_verdict mg_judge_overdue(struct mg_decider *decider);
enum mg_verdict mg_judge_unpublishable(struct mg_decider *decider);
enum mg_verdict mg_judge_republished(struct mg_decider *decider);
enum mg_verdict mg_judge_unsendable(struct mg_decider *decider, enum mg_reason reason);
/* The step's wait goes on for longer than its policies allow: a database clock that was ahead has set it.
 * `*ret_due_at_ms`: when it may end at the earliest. */
bool mg_judge_wait_is_too_long(struct mg_decider *decider, int step, int64_t *ret_due_at_ms);

/* operator.c */
enum mg_verdict mg_operator_decide(struct mg_decider *decider);

/* plan.c */
void mg_plan_order(struct mg_decider *decider);
bool mg_plan_is_pivot_done(const struct mg_plan *plan, const struct mg_order *order);
/* True while a pivot other than `except` runs or is in a doubt that only a person can end: it may yet turn
 * the order forward again, whatever its goal. */
bool mg_plan_is_pivot_open(const struct mg_plan *plan, const struct mg_order *order, int except);
bool mg_plan_has_failed_undo(const struct mg_order *order);

#endif
