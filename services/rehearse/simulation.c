/* See simulation.h. Events at one moment happen in the order in which they were planned. */
#include "simulation.h"

#include <stdlib.h>
#include <string.h>

#include "base/id.h"
#include "world.h"

#define SWEEP_MS 250 /* as --sweep-period of the supervisor, if not given */

/* One order, as the callbacks of its decision see it. */
struct scene {
    struct mg_world *world;
    struct mg_lone_order *lone;
};

static void context_make(struct mg_world *world, struct mg_lone_order *lone)
{
    world->context.now_ms = world->now_ms;
    world->context.random = mg_stream_next(&lone->stream);
    world->context.known_results = lone->known;
    for (int i = 0; i < world->plan->step_count; i++) {
        world->context.gate[i] = mg_calls_may_go(world, i) ? MG_REASON_NONE : MG_REASON_BREAKER_OPEN;
    }
}

/* ---- decisions ---- */

static void on_facts(void *arg, int step, struct mg_cause_facts *ret_facts)
{
    struct scene *scene = arg;
    mg_waits_facts(scene->world, scene->lone, step, ret_facts);
}

static void on_request(void *arg, int step)
{
    struct scene *scene = arg;
    mg_calls_request(scene->world, scene->lone, step);
}

static void on_line(void *arg, enum mg_effect_kind effect)
{
    struct scene *scene = arg;
    mg_lines_effect(scene->world, scene->lone, effect);
}

/* A state of a step that can turn its order back, or end it. */
static int trouble_of(enum mg_step_state state)
{
    return state == MG_STEP_FAILED        ? MG_TROUBLE_FAILED
           : state == MG_STEP_UNKNOWN     ? MG_TROUBLE_UNKNOWN
           : state == MG_STEP_UNDO_FAILED ? MG_TROUBLE_UNDO_FAILED
                                          : MG_TROUBLE_COUNT;
}

/* The order's reason names the kind of trouble; the latest of that kind is meant. The step itself may be in
 * another state by now. */
static void back_note(struct mg_lone_order *lone, enum mg_order_state state, enum mg_reason why)
{
    int trouble = why == MG_REASON_STEP_FAILED       ? MG_TROUBLE_FAILED
                  : why == MG_REASON_OUTCOME_UNKNOWN ? MG_TROUBLE_UNKNOWN
                  : why == MG_REASON_UNDO_FAILED     ? MG_TROUBLE_UNDO_FAILED
                                                     : MG_TROUBLE_COUNT;
    lone->back = (struct mg_cause_tally){.step = -1};
    if (trouble < MG_TROUBLE_COUNT && lone->troubles[trouble].count > 0) {
        lone->back = lone->troubles[trouble];
    }
    lone->back.state = state;
    lone->back.why = why;
}

static void order_change(struct scene *scene, const struct mg_transition *transition)
{
    if (transition->to == MG_ORDER_COMPENSATING) {
        back_note(scene->lone, MG_ORDER_COMPENSATED, transition->reason);
    } else if (transition->to == MG_ORDER_ERROR) {
        back_note(scene->lone, MG_ORDER_ERROR, transition->reason);
    }
}

static void trouble_note(struct mg_lone_order *lone, const struct mg_transition *transition)
{
    int trouble = trouble_of((enum mg_step_state)transition->to);
    if (trouble < MG_TROUBLE_COUNT) {
        lone->troubles[trouble] = (struct mg_cause_tally){.step = transition->step,
                                                          .at = (enum mg_step_state)transition->to,
                                                          .reason = transition->reason,
                                                          .count = 1};
    }
}

static void on_change(void *arg, const struct mg_transition *transition)
{
    struct scene *scene = arg;
    if (transition->step < 0) {
        order_change(scene, transition);
        return;
    }
    trouble_note(scene->lone, transition);
    struct mg_lone_step *at = &scene->lone->steps[transition->step];
    struct mg_step_tally *tally = &scene->world->tally->steps[transition->step];
    const struct mg_step_plan *plan = &scene->world->plan->steps[transition->step];
    int64_t now_ms = scene->world->now_ms;
    if (transition->to == MG_STEP_DONE && !at->is_done_counted) {
        at->is_done_counted = true;
        tally->done++;
        mg_quantiles_add(&tally->time_ms, at->begun_ms != 0 ? now_ms - at->begun_ms : 0);
    } else if (transition->to == MG_STEP_FAILED && !at->is_failed_counted) {
        at->is_failed_counted = true;
        tally->failed++;
    } else if (transition->to == MG_STEP_WAITING && plan->is_wait) {
        at->begun_ms = now_ms;
    }
    if (plan->is_signal) {
        mg_waits_change(scene->world, scene->lone, transition);
    }
}

/* ---- the life of an order ---- */

static void steps_count(struct mg_world *world, const struct mg_lone_order *lone)
{
    for (int i = 0; i < world->plan->step_count; i++) {
        enum mg_step_state state = lone->order->steps[i].state;
        struct mg_step_tally *step = &world->tally->steps[i];
        step->skipped += state == MG_STEP_SKIPPED ? 1 : 0;
        step->undone += state == MG_STEP_UNDONE ? 1 : 0;
        step->undo_failed += state == MG_STEP_UNDO_FAILED ? 1 : 0;
        step->begun += lone->steps[i].begun_ms != 0 ? 1 : 0;
        if (lone->steps[i].attempts > 0) {
            mg_quantiles_add(&step->attempts, (int64_t)lone->steps[i].attempts);
        }
    }
}

static void order_end(struct mg_world *world, struct mg_lone_order *lone)
{
    struct mg_ended *end = &world->tally->ends[lone->order->state];
    end->count++;
    mg_quantiles_add(&end->time_ms, world->now_ms - lone->submitted_ms);
    if (lone->order->state != MG_ORDER_PROCESSED) {
        mg_tally_cause(world->tally, &lone->back);
    }
    steps_count(world, lone);
    lone->is_over = true;
    TAILQ_REMOVE(&world->open, lone, entry);
}

/* The sweep of the supervisor that finds the due moment; 0: none is due. */
static int64_t sweep_after_ms(const struct mg_world *world, int64_t due_ms)
{
    int64_t at_ms = due_ms > world->now_ms ? due_ms : world->now_ms;
    int64_t since_ms = at_ms - world->start_ms;
    return due_ms == 0 ? 0 : world->start_ms + (since_ms + SWEEP_MS - 1) / SWEEP_MS * SWEEP_MS;
}

/* After a decision the order has ended, or the next moment is planned at which it is asked about. */
static void order_settle(struct mg_world *world, struct mg_lone_order *lone)
{
    world->tally->decisions++;
    if (lone->is_over) {
        return;
    }
    world->tally->stopped_ms = world->now_ms - world->start_ms;
    if (mg_order_state_is_terminal(lone->order->state)) {
        order_end(world, lone);
        return;
    }
    mg_calls_park(world, lone);
    int64_t due_ms = sweep_after_ms(world, mg_bare_due_ms(lone->order));
    if (due_ms != 0 && (lone->asked_ms == 0 || due_ms < lone->asked_ms)) {
        lone->asked_ms = due_ms;
        mg_world_plan(world, due_ms, MG_EVENT_ASK, lone, -1);
    }
}

/* Decides a cause, or asks for all that is due if it is NULL; `asks_parked` as in mg_bare_ask. */
static enum mg_verdict order_decide(struct mg_world *world, struct mg_lone_order *lone,
                                    const struct mg_cause *cause, uint64_t asks_parked)
{
    struct scene scene = {world, lone};
    const struct mg_bare_events events = {
        .facts = on_facts, .request = on_request, .change = on_change, .line = on_line, .arg = &scene};
    const struct mg_bare_order bare = {world->plan, &world->context, lone->order, &world->decision, &events};
    enum mg_verdict verdict = MG_GO;
    context_make(world, lone);
    if (cause != NULL) {
        verdict = mg_bare_decide(&bare, cause);
    } else {
        mg_bare_ask(&bare, asks_parked);
    }
    order_settle(world, lone);
    return verdict;
}

static struct mg_lone_order *order_take(struct mg_world *world)
{
    struct mg_lone_order *lone = TAILQ_FIRST(&world->free);
    int count = world->plan->step_count;
    size_t own_bytes = sizeof(*lone) + (size_t)count * sizeof(lone->steps[0]);
    size_t order_bytes = offsetof(struct mg_order, steps) + (size_t)count * sizeof(struct mg_step);
    struct mg_order *order = lone != NULL ? lone->order : NULL;
    if (lone != NULL) {
        TAILQ_REMOVE(&world->free, lone, entry);
    } else if (world->used_bytes + own_bytes + order_bytes <= MG_SIMULATION_MAX_BYTES) {
        lone = malloc(own_bytes);
        order = malloc(order_bytes);
        world->used_bytes += own_bytes + order_bytes;
    }
    if (lone == NULL || order == NULL) {
        free(lone);
        free(order);
        world->has_failed = true;
        return NULL;
    }
    memset(lone, 0, own_bytes);
    lone->order = order;
    TAILQ_INSERT_TAIL(&world->open, lone, entry);
    return lone;
}

static void order_arrive(struct mg_world *world)
{
    struct mg_lone_order *lone = order_take(world);
    struct mg_order whole; /* mg_order_init clears all of it */
    if (lone == NULL) {
        return;
    }
    lone->stream = mg_stream_of((uint64_t)world->profile->seed, world->arrived);
    lone->submitted_ms = world->now_ms;
    for (int i = 0; i < world->plan->step_count; i++) {
        lone->steps[i].owner = lone;
    }
    world->arrived++;
    world->tally->orders++;
    if (!mg_lines_admit(world, lone)) {
        world->tally->rejected++;
        lone->is_over = true;
        TAILQ_REMOVE(&world->open, lone, entry);
        TAILQ_INSERT_HEAD(&world->free, lone, entry);
        return;
    }
    context_make(world, lone);
    mg_order_init(world->plan, &world->context, 0, &whole);
    memcpy(lone->order, &whole, mg_order_size(&whole));
    const struct mg_cause cause = {.kind = MG_CAUSE_SUBMITTED, .step = -1};
    lone->refs++;
    mg_waits_accepted(world, lone);
    (void)order_decide(world, lone, &cause, 0);
    mg_world_release(world, lone);
}

/* ---- events ---- */

/* `step` was parked, and joins its queue anew if its gate is closed; -1: all that is due. */
static void ask_take(struct mg_world *world, struct mg_lone_order *lone, int step)
{
    if (step < 0) {
        if (lone->asked_ms != world->now_ms) {
            return; /* an earlier moment was planned later, and has asked */
        }
        lone->asked_ms = 0;
    }
    (void)order_decide(world, lone, NULL, step >= 0 ? UINT64_C(1) << step : 0);
    if (step >= 0) {
        mg_calls_probe(world, world->number_of[step]);
    }
}

/* By its body the callback gives the step's result, unless it is late. */
static void callback_take(struct mg_world *world, struct mg_lone_order *lone, int step)
{
    const struct mg_cause cause = {
        .kind = MG_CAUSE_SIGNAL, .step = step, .signal = {.fact = MG_SIGNAL_FACT_DONE}};
    uint64_t known = lone->known;
    lone->known |= UINT64_C(1) << step;
    if (order_decide(world, lone, &cause, 0) != MG_GO) {
        lone->known = known;
    }
}

static void signal_take(struct mg_world *world, struct mg_lone_order *lone, int step)
{
    struct mg_lone_signal signal;
    struct mg_cause cause;
    if (mg_waits_signal(world, lone, step, &signal, &cause)) {
        bool is_taken = order_decide(world, lone, &cause, 0) == MG_GO;
        mg_waits_signal_end(world, lone, &signal, &cause, is_taken);
    }
}

static void order_event(struct mg_world *world, struct mg_lone_order *lone, const struct mg_event *event)
{
    struct mg_cause cause = {.kind = MG_CAUSE_TURN, .step = -1};
    switch (event->kind) {
    case MG_EVENT_TRY:
        mg_calls_try(world, lone, event->step);
        break;
    case MG_EVENT_ANSWER:
        mg_calls_answer(world, lone, event->step);
        break;
    case MG_EVENT_REPLY:
        cause = mg_calls_reply(world, lone, event->step);
        (void)order_decide(world, lone, &cause, 0);
        break;
    case MG_EVENT_CALLBACK:
        callback_take(world, lone, event->step);
        break;
    case MG_EVENT_TURN:
        cause.turn.generation = lone->order->generation;
        (void)order_decide(world, lone, &cause, 0);
        break;
    default:
        ask_take(world, lone, event->step);
        break;
    }
}

static void event_take(struct mg_world *world, const struct mg_event *event)
{
    struct mg_lone_order *lone = event->about;
    if (lone == NULL) {
        mg_calls_breaker(world, event->step);
        return;
    }
    bool is_of_call =
        event->kind == MG_EVENT_TRY || event->kind == MG_EVENT_ANSWER || event->kind == MG_EVENT_REPLY;
    bool is_current = !is_of_call || lone->steps[event->step].call.attempt == event->attempt;
    if (event->kind == MG_EVENT_SIGNAL) {
        signal_take(world, lone, event->step); /* the only one that still counts after an end: as late */
    } else if (!lone->is_over && is_current) {
        order_event(world, lone, event);
    }
    mg_world_release(world, lone);
}

/* ---- the run ---- */

static bool world_open(struct mg_world *world, const struct mg_profile *profile,
                       const struct mg_service *const *services)
{
    world->profile = profile;
    world->workflow = profile->workflow;
    world->plan = &profile->workflow->plan;
    world->start_ms = world->now_ms = profile->accepted_at_ms;
    TAILQ_INIT(&world->open);
    TAILQ_INIT(&world->free);
    world->context.quiesce_ms = MG_BARE_QUIESCE_MS;
    world->context.park_ms = MG_BARE_PARK_MS;
    world->meanings = calloc((size_t)world->plan->step_count, sizeof(*world->meanings));
    world->tally = calloc(1, sizeof(*world->tally));
    if (world->meanings == NULL || world->tally == NULL) {
        return false;
    }
    for (int i = 0; i < world->plan->step_count; i++) {
        world->number_of[i] = mg_profile_number(profile->workflow, i);
    }
    mg_calls_open(world, services);
    return mg_lines_open(world);
}

static int64_t arrival_ms(const struct mg_world *world, uint64_t number)
{
    return world->start_ms + (int64_t)(number * UINT64_C(1000000) / (uint64_t)world->profile->rate);
}

/* False: nothing more happens before the end. */
static bool world_step(struct mg_world *world, int64_t stop_ms)
{
    bool has_order = world->arrived < (uint64_t)world->profile->orders;
    int64_t order_ms = has_order ? arrival_ms(world, world->arrived) : INT64_MAX;
    const struct mg_event *next = mg_event_heap_first(&world->events);
    if (has_order && (next == NULL || order_ms < next->at_ms)) {
        world->now_ms = order_ms;
        order_arrive(world);
        return true;
    }
    if (next == NULL || next->at_ms > stop_ms) {
        return false;
    }
    const struct mg_event event = mg_event_heap_pop(&world->events);
    world->now_ms = event.at_ms;
    event_take(world, &event);
    return true;
}

/* A step that itself waits for something explains an open order; others wait for that step. */
static bool is_before_others(enum mg_step_state state)
{
    return state == MG_STEP_RUNNING || state == MG_STEP_WAITING || state == MG_STEP_UNKNOWN ||
           state == MG_STEP_UNDO_RUNNING || state == MG_STEP_UNDO_WAITING;
}

static void open_count(struct mg_world *world, const struct mg_lone_order *lone)
{
    const struct mg_order *order = lone->order;
    struct mg_cause_tally cause = {.state = order->state, .step = -1, .why = order->reason};
    for (int i = 0; i < order->step_count && cause.step < 0; i++) {
        if (is_before_others(order->steps[i].state)) {
            cause.step = i;
            cause.at = order->steps[i].state;
            cause.reason = order->steps[i].reason;
        }
    }
    world->tally->open++;
    mg_tally_cause(world->tally, &cause);
    steps_count(world, lone);
}

static void opens_count(struct mg_world *world)
{
    const struct mg_lone_order *lone;
    TAILQ_FOREACH(lone, &world->open, entry)
    {
        open_count(world, lone);
    }
}

static void orders_free(struct mg_lone_list *list)
{
    struct mg_lone_order *lone;
    while ((lone = TAILQ_FIRST(list)) != NULL) {
        TAILQ_REMOVE(list, lone, entry);
        free(lone->order);
        free(lone);
    }
}

/* Orders that are over, but still named by an event or a place, are in neither list. */
static void world_close(struct mg_world *world)
{
    while (mg_event_heap_first(&world->events) != NULL) {
        const struct mg_event event = mg_event_heap_pop(&world->events);
        if (event.about != NULL) {
            mg_world_release(world, event.about);
        }
    }
    mg_calls_close(world);
    mg_lines_close(world);
    orders_free(&world->open);
    orders_free(&world->free);
    mg_event_heap_finish(&world->events);
    free(world->meanings);
}

enum mg_class mg_simulate(const struct mg_profile *profile, const struct mg_service *const *services,
                          struct mg_tally **ret_tally, struct mg_err *err)
{
    struct mg_world *world = calloc(1, sizeof(*world));
    if (world == NULL) {
        return mg_err_set(err, MG_TRANSIENT, "could not simulate: no memory");
    }
    mg_random_fix((uint64_t)profile->seed); /* the waits between an agent's tries */
    world->has_failed = !world_open(world, profile, services);
    int64_t stop_ms =
        world->has_failed ? 0 : arrival_ms(world, (uint64_t)profile->orders - 1) + profile->stop_after_ms;
    while (!world->has_failed && world_step(world, stop_ms)) {
    }
    struct mg_tally *tally = world->tally;
    uint64_t arrived = world->arrived;
    bool has_failed = world->has_failed,
         is_full = world->used_bytes + sizeof(*world) > MG_SIMULATION_MAX_BYTES / 2;
    if (!has_failed) {
        opens_count(world);
    }
    world_close(world);
    free(world);
    if (!has_failed) {
        mg_tally_sort(tally);
        *ret_tally = tally;
        return MG_OK;
    }
    free(tally);
    return mg_err_set(
        err, MG_TRANSIENT, "could not simulate order %llu: no memory%s", (unsigned long long)arrived + 1,
        is_full ? "; too many orders are open at one time: simulate fewer, or shorter waits" : "");
}
