/* See simulation.h. Events at one moment happen in the order in which they were planned. */
#include "simulation.h"

#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>

#include "bare_order.h"
#include "base/id.h"
#include "event_heap.h"
#include "played_service.h"

#define CONNECT_FAILS_MS 1
#define SECOND_MS        1000
#define SWEEP_MS         250 /* as --sweep-period of the supervisor, if not given */
#define WHY_MAX_BYTES    512 /* of a guard's reason, which nobody reads here */

enum { TROUBLE_FAILED, TROUBLE_UNKNOWN, TROUBLE_UNDO_FAILED, TROUBLE_COUNT };

struct lone_step {
    struct mg_key_record key;
    struct mg_agent_call call;
    int64_t begun_ms; /* 0: not yet */
    uint64_t attempts;
    TAILQ_ENTRY(lone_step) entry; /* in its service's line */
    struct lone_order *owner;
    bool is_in_line, is_done_counted, is_failed_counted;
};

/* One order. After its end its memory serves a later one, once no event names it any more. */
struct lone_order {
    TAILQ_ENTRY(lone_order) entry; /* among the open or the free ones */
    uint64_t stream;
    uint64_t known;                                /* bits: steps with a known result */
    uint64_t drawn, skips;                         /* bits: the guards that chance has decided */
    int64_t submitted_ms, asked_ms;                /* of its next EVENT_ASK; 0: none is planned */
    struct mg_cause_tally back;                    /* why it turned back, or ended in error */
    struct mg_cause_tally troubles[TROUBLE_COUNT]; /* the latest of each kind; count 0: none */
    int refs;                                      /* events and places in lines that name it */
    bool is_over;
    struct mg_order *order;
    struct lone_step steps[];
};

struct world_service {
    const struct mg_service *service; /* NULL: no step calls it */
    struct mg_breaker breaker;
    TAILQ_HEAD(, lone_step) parked; /* steps that wait for its gate, the longest first */
    int64_t second;                 /* of `calls` */
    uint64_t calls;
};

struct world {
    const struct mg_profile *profile;
    const struct mg_workflow *workflow;
    const struct mg_plan *plan;
    struct world_service services[MG_STEPS_MAX];
    int service_of[MG_STEPS_MAX];
    struct mg_meanings *meanings; /* by step */
    struct mg_event_heap events;
    TAILQ_HEAD(lone_list, lone_order) open, free;
    size_t used_bytes;
    int64_t start_ms, now_ms;
    uint64_t arrived;
    struct mg_context context;
    struct mg_decision decision;
    struct mg_tally *tally;
    bool has_failed; /* no memory */
};

enum { EVENT_TRY, EVENT_ANSWER, EVENT_REPLY, EVENT_ASK, EVENT_BREAKER };

/* One order, as the callbacks of its decision see it. */
struct scene {
    struct world *world;
    struct lone_order *lone;
};

static void event_plan(struct world *world, int64_t at_ms, int kind, struct lone_order *lone, int step)
{
    const struct mg_event event = {.at_ms = at_ms,
                                   .kind = kind,
                                   .about = lone,
                                   .step = step,
                                   .attempt =
                                       lone != NULL && step >= 0 ? lone->order->steps[step].attempt : 0};
    if (!mg_event_heap_push(&world->events, &event)) {
        world->has_failed = true;
    } else if (lone != NULL) {
        lone->refs++;
    }
}

/* ---- gates of the schedulers ---- */

static bool is_gate_open(const struct world *world, int step)
{
    return world->plan->steps[step].is_wait ||
           mg_breaker_reported(&world->services[world->service_of[step]].breaker) != MG_BREAKER_OPEN;
}

static void context_make(struct world *world, struct lone_order *lone)
{
    world->context.now_ms = world->now_ms;
    world->context.random = mg_stream_next(&lone->stream);
    world->context.known_results = lone->known;
    for (int i = 0; i < world->plan->step_count; i++) {
        world->context.gate[i] = is_gate_open(world, i) ? MG_REASON_NONE : MG_REASON_BREAKER_OPEN;
    }
}

/* ---- the agent: one call after the other, until its reply ---- */

static void call_count(struct world *world, int service)
{
    struct world_service *of = &world->services[service];
    struct mg_service_tally *tally = &world->tally->services[service];
    int64_t second = (world->now_ms - world->start_ms) / SECOND_MS;
    of->calls = second == of->second ? of->calls + 1 : 1;
    of->second = second;
    tally->calls++;
    tally->peak = of->calls > tally->peak ? of->calls : tally->peak;
}

static void try_begin(struct world *world, struct lone_order *lone, int step)
{
    int number = world->service_of[step];
    struct world_service *service = &world->services[number];
    struct mg_agent_call *call = &lone->steps[step].call;
    const struct mg_habit *habit = &world->profile->habits[step][call->kind];
    int64_t budget_ms = mg_tries_budget_ms(service->service, call->complete_by_ms - world->now_ms);
    if (budget_ms <= 0) {
        return; /* an agent that is late stays silent */
    }
    if (!mg_breaker_admit(&service->breaker, &call->ticket)) {
        call->is_never_made = call->tries.count == 0;
        event_plan(world, world->now_ms, EVENT_REPLY, lone, step);
        return;
    }
    call->is_probe = service->breaker.state == MG_BREAKER_HALF_OPEN;
    call->tries.count++;
    call_count(world, number);
    int64_t took_ms = mg_spread_draw(&habit->time, &lone->stream);
    if (mg_outages_have(&world->profile->outages[number], world->now_ms - world->start_ms)) {
        call->last = MG_CALL_END_UNREACHABLE;
        took_ms = CONNECT_FAILS_MS;
    } else {
        call->last = took_ms >= budget_ms ? MG_CALL_END_TIMEOUT : MG_CALL_END_DONE; /* the service decides */
    }
    event_plan(world, world->now_ms + (took_ms < budget_ms ? took_ms : budget_ms), EVENT_ANSWER, lone, step);
}

static const struct mg_verdict_of_try *meaning_of(const struct world *world, int step,
                                                  const struct mg_agent_call *call)
{
    int row = call->asks_undone ? MG_CALL_UNDO_VERIFY : (int)call->kind;
    return &world->meanings[step].ends[row][call->last];
}

static void breaker_changed(struct world *world, int service);

static void try_end(struct world *world, struct lone_order *lone, int step)
{
    struct lone_step *at = &lone->steps[step];
    struct mg_agent_call *call = &at->call;
    struct world_service *service = &world->services[world->service_of[step]];
    if (call->last != MG_CALL_END_UNREACHABLE) {
        call->last = mg_key_handle(&at->key, &world->profile->habits[step][call->kind], call,
                                   call->last == MG_CALL_END_TIMEOUT, world->now_ms, &lone->stream);
    }
    struct mg_verdict_of_try verdict = *meaning_of(world, step, call);
    const struct mg_request request = {
        .kind = call->kind,
        .version = mg_workflow_request_version(world->workflow, step, call->kind),
        .is_at_most_once = call->kind == MG_KIND_DO && world->plan->steps[step].is_at_most_once};
    mg_tries_note(&call->tries, &request, &verdict);
    call->executed = verdict.executed;
    bool is_down = verdict.health == MG_CALL_FAILING || verdict.health == MG_CALL_UNREACHABLE;
    call->is_probe = call->is_probe && is_down && call->tries.count == 1;
    if (mg_breaker_record(&service->breaker, call->ticket, verdict.health, world->now_ms)) {
        breaker_changed(world, world->service_of[step]);
    }
    int64_t wait_ms = service->breaker.state == MG_BREAKER_CLOSED
                          ? mg_tries_next_ms(service->service, &request, &call->tries, &verdict,
                                             call->complete_by_ms - world->now_ms)
                          : -1;
    event_plan(world, world->now_ms + (wait_ms > 0 ? wait_ms : 0), wait_ms >= 0 ? EVENT_TRY : EVENT_REPLY,
               lone, step);
}

/* ---- decisions ---- */

static void on_facts(void *arg, int step, struct mg_cause_facts *ret_facts)
{
    struct scene *scene = arg;
    struct world *world = scene->world;
    struct lone_order *lone = scene->lone;
    uint64_t bit = UINT64_C(1) << step;
    const struct mg_profile *profile = world->profile;
    struct mg_slice results[MG_STEPS_MAX] = {{NULL, 0}}, text;
    struct mg_render_input input = {.workflow = world->workflow,
                                    .order_id = "order-1",
                                    .payload = profile->payload,
                                    .results = results,
                                    .accepted_at_ms = lone->submitted_ms};
    *ret_facts = (struct mg_cause_facts){.fact = MG_FACT_GO};
    for (int i = 0; i < world->plan->step_count; i++) {
        bool is_skipped = lone->order->steps[i].state == MG_STEP_SKIPPED;
        results[i] = lone->order->steps[i].state == MG_STEP_DONE ? profile->results[i] : results[i];
        input.skipped |= is_skipped ? UINT64_C(1) << i : 0;
    }
    char memory[WHY_MAX_BYTES];
    struct mg_buf why;
    mg_buf_init_fixed(&why, memory, sizeof(memory));
    if (profile->when[step] != MG_WHEN_OPEN) {
        if ((lone->drawn & bit) == 0) {
            lone->drawn |= bit;
            lone->skips |= mg_share_draw(profile->when[step], &lone->stream) ? 0 : bit;
        }
        ret_facts->fact = (lone->skips & bit) != 0 ? MG_FACT_SKIP : MG_FACT_GO;
    } else if (profile->payload.data != NULL) {
        ret_facts->fact = mg_workflow_guard_decide(&input, step, &text, &why);
    }
    if (!world->plan->steps[step].is_until || ret_facts->fact != MG_FACT_GO) {
        return;
    }
    if (profile->habits[step][MG_KIND_DO].has_time) {
        ret_facts->until_ms =
            world->now_ms + mg_spread_draw(&profile->habits[step][MG_KIND_DO].time, &lone->stream);
    } else {
        mg_buf_clear(&why);
        ret_facts->fact = mg_workflow_wait_until(&input, step, &ret_facts->until_ms, &why);
    }
}

static void on_request(void *arg, int step)
{
    struct scene *scene = arg;
    struct lone_order *lone = scene->lone;
    const struct mg_step *state = &lone->order->steps[step];
    struct lone_step *at = &lone->steps[step];
    at->call =
        (struct mg_agent_call){.attempt = state->attempt,
                               .kind = state->kind,
                               .asks_undone = state->kind == MG_KIND_VERIFY && mg_step_asks_undone(state),
                               .complete_by_ms = state->complete_by_ms};
    at->attempts += state->kind == MG_KIND_DO ? 1 : 0;
    at->begun_ms = at->begun_ms == 0 ? scene->world->now_ms : at->begun_ms;
    event_plan(scene->world, scene->world->now_ms, EVENT_TRY, lone, step);
}

/* A state of a step that can turn its order back, or end it. */
static int trouble_of(enum mg_step_state state)
{
    return state == MG_STEP_FAILED        ? TROUBLE_FAILED
           : state == MG_STEP_UNKNOWN     ? TROUBLE_UNKNOWN
           : state == MG_STEP_UNDO_FAILED ? TROUBLE_UNDO_FAILED
                                          : TROUBLE_COUNT;
}

/* The order's reason names the kind of trouble; the latest of that kind is meant. The step itself may be in
 * another state by now. */
static void back_note(struct lone_order *lone, enum mg_order_state state, enum mg_reason why)
{
    int trouble = why == MG_REASON_STEP_FAILED       ? TROUBLE_FAILED
                  : why == MG_REASON_OUTCOME_UNKNOWN ? TROUBLE_UNKNOWN
                  : why == MG_REASON_UNDO_FAILED     ? TROUBLE_UNDO_FAILED
                                                     : TROUBLE_COUNT;
    lone->back = (struct mg_cause_tally){.step = -1};
    if (trouble < TROUBLE_COUNT && lone->troubles[trouble].count > 0) {
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

static void trouble_note(struct lone_order *lone, const struct mg_transition *transition)
{
    int trouble = trouble_of((enum mg_step_state)transition->to);
    if (trouble < TROUBLE_COUNT) {
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
    struct lone_step *at = &scene->lone->steps[transition->step];
    struct mg_step_tally *tally = &scene->world->tally->steps[transition->step];
    int64_t now_ms = scene->world->now_ms;
    if (transition->to == MG_STEP_DONE && !at->is_done_counted) {
        at->is_done_counted = true;
        tally->done++;
        mg_quantiles_add(&tally->time_ms, at->begun_ms != 0 ? now_ms - at->begun_ms : 0);
    } else if (transition->to == MG_STEP_FAILED && !at->is_failed_counted) {
        at->is_failed_counted = true;
        tally->failed++;
    } else if (transition->to == MG_STEP_WAITING && transition->reason == MG_REASON_SLEEPING) {
        at->begun_ms = now_ms;
    }
}

static struct mg_bare_order bare_of(struct world *world, struct lone_order *lone,
                                    const struct mg_bare_events *events)
{
    context_make(world, lone);
    return (struct mg_bare_order){.plan = world->plan,
                                  .context = &world->context,
                                  .order = lone->order,
                                  .decision = &world->decision,
                                  .events = events};
}

/* ---- the life of an order ---- */

static void order_release(struct world *world, struct lone_order *lone)
{
    if (--lone->refs == 0 && lone->is_over) {
        TAILQ_INSERT_HEAD(&world->free, lone, entry);
    }
}

static void order_end(struct world *world, struct lone_order *lone)
{
    struct mg_tally *tally = world->tally;
    struct mg_ended *end = &tally->ends[lone->order->state];
    end->count++;
    mg_quantiles_add(&end->time_ms, world->now_ms - lone->submitted_ms);
    if (lone->order->state != MG_ORDER_PROCESSED) {
        mg_tally_cause(tally, &lone->back);
    }
    for (int i = 0; i < world->plan->step_count; i++) {
        enum mg_step_state state = lone->order->steps[i].state;
        struct mg_step_tally *step = &tally->steps[i];
        step->skipped += state == MG_STEP_SKIPPED ? 1 : 0;
        step->undone += state == MG_STEP_UNDONE ? 1 : 0;
        step->undo_failed += state == MG_STEP_UNDO_FAILED ? 1 : 0;
        step->begun += lone->steps[i].begun_ms != 0 ? 1 : 0;
        if (lone->steps[i].attempts > 0) {
            mg_quantiles_add(&step->attempts, (int64_t)lone->steps[i].attempts);
        }
    }
    lone->is_over = true;
    TAILQ_REMOVE(&world->open, lone, entry);
}

/* The sweep of the supervisor that finds the due moment; 0: none is due. */
static int64_t sweep_after_ms(const struct world *world, int64_t due_ms)
{
    int64_t at_ms = due_ms > world->now_ms ? due_ms : world->now_ms;
    int64_t since_ms = at_ms - world->start_ms;
    return due_ms == 0 ? 0 : world->start_ms + (since_ms + SWEEP_MS - 1) / SWEEP_MS * SWEEP_MS;
}

/* Parked steps join the line of their service; the next moment of the others is planned. */
static void order_settle(struct world *world, struct lone_order *lone)
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
    for (int i = 0; i < world->plan->step_count; i++) {
        struct lone_step *at = &lone->steps[i];
        if (mg_step_is_parked(&lone->order->steps[i]) && !at->is_in_line) {
            at->is_in_line = true;
            lone->refs++;
            TAILQ_INSERT_TAIL(&world->services[world->service_of[i]].parked, at, entry);
        }
    }
    int64_t due_ms = sweep_after_ms(world, mg_bare_due_ms(lone->order));
    if (due_ms != 0 && (lone->asked_ms == 0 || due_ms < lone->asked_ms)) {
        lone->asked_ms = due_ms;
        event_plan(world, due_ms, EVENT_ASK, lone, -1);
    }
}

static void order_decide(struct world *world, struct lone_order *lone, const struct mg_cause *cause)
{
    struct scene scene = {world, lone};
    const struct mg_bare_events events = {on_facts, on_request, on_change, &scene};
    const struct mg_bare_order bare = bare_of(world, lone, &events);
    (void)mg_bare_decide(&bare, cause);
    order_settle(world, lone);
}

/* Its events end with the moments at which they were planned: only the latest plan asks again. */
static void order_ask(struct world *world, struct lone_order *lone, uint64_t asks_parked)
{
    struct scene scene = {world, lone};
    const struct mg_bare_events events = {on_facts, on_request, on_change, &scene};
    const struct mg_bare_order bare = bare_of(world, lone, &events);
    mg_bare_ask(&bare, asks_parked);
    order_settle(world, lone);
}

static struct lone_order *order_take(struct world *world)
{
    struct lone_order *lone = TAILQ_FIRST(&world->free);
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

static void order_arrive(struct world *world)
{
    struct lone_order *lone = order_take(world);
    struct mg_order whole; /* mg_order_init clears all of it */
    if (lone == NULL) {
        return;
    }
    lone->stream = mg_stream_of((uint64_t)world->profile->seed, world->arrived);
    lone->submitted_ms = world->now_ms;
    for (int i = 0; i < world->plan->step_count; i++) {
        lone->steps[i].owner = lone;
    }
    context_make(world, lone);
    mg_order_init(world->plan, &world->context, 0, &whole);
    memcpy(lone->order, &whole, mg_order_size(&whole));
    world->arrived++;
    world->tally->orders++;
    const struct mg_cause cause = {.kind = MG_CAUSE_SUBMITTED, .step = -1};
    lone->refs++;
    order_decide(world, lone, &cause);
    order_release(world, lone);
}

/* ---- events ---- */

static void reply_take(struct world *world, struct lone_order *lone, int step)
{
    const struct mg_agent_call *call = &lone->steps[step].call;
    struct mg_verdict_of_try verdict;
    if (call->is_never_made) {
        mg_verdict_not_made(MG_ERROR_REASON_BREAKER_OPEN, "", &verdict);
    } else {
        verdict = *meaning_of(world, step, call);
        verdict.executed = call->executed;
    }
    const struct mg_step *state = &lone->order->steps[step];
    bool is_learning = mg_step_is_backward(state) && call->kind == MG_KIND_DO;
    bool is_of_do = call->kind != MG_KIND_UNDO && !call->asks_undone;
    if (is_of_do && verdict.outcome == MG_OUTCOME_DONE) {
        lone->known |= UINT64_C(1) << step;
    }
    const struct mg_cause cause = {
        .kind = MG_CAUSE_REPLY,
        .step = step,
        .attempt = call->attempt,
        .reply = {.kind = call->kind,
                  .outcome = verdict.outcome,
                  .executed = is_learning ? mg_maybe_learned(verdict.outcome, verdict.executed,
                                                             call->last == MG_CALL_END_REFUSED)
                                          : verdict.executed,
                  .may_still_act = call->tries.may_still_act,
                  .is_service_down = verdict.reason == MG_ERROR_REASON_BREAKER_OPEN || call->is_probe,
                  .retry_after_ms = verdict.retry_after_ms}};
    order_decide(world, lone, &cause);
}

/* Asks for the first `most` parked steps of a service; those that are no longer parked leave the line. */
static void parked_release(struct world *world, int service, uint64_t most)
{
    struct world_service *of = &world->services[service];
    struct lone_step *at;
    uint64_t released = 0;
    while (released < most && (at = TAILQ_FIRST(&of->parked)) != NULL) {
        struct lone_order *lone = at->owner;
        int step = (int)(at - lone->steps);
        const struct mg_step *state = &lone->order->steps[step];
        TAILQ_REMOVE(&of->parked, at, entry);
        at->is_in_line = false;
        if (!lone->is_over && mg_step_is_parked(state)) {
            int64_t at_ms = state->due_at_ms > world->now_ms ? state->due_at_ms : world->now_ms;
            event_plan(world, at_ms, EVENT_ASK, lone, step);
            released++;
        }
        order_release(world, lone);
    }
}

/* The step that should have probed the service has gone another way: the next one does. */
static void probe_find(struct world *world, int service)
{
    const struct mg_breaker *breaker = &world->services[service].breaker;
    if (breaker->state == MG_BREAKER_HALF_OPEN && breaker->probes_out < breaker->rules.probes) {
        parked_release(world, service, 1);
    }
}

static void breaker_changed(struct world *world, int service)
{
    struct world_service *of = &world->services[service];
    if (of->breaker.state == MG_BREAKER_OPEN) {
        event_plan(world, of->breaker.open_until_ms, EVENT_BREAKER, NULL, service);
    } else {
        parked_release(world, service,
                       of->breaker.state == MG_BREAKER_CLOSED ? UINT64_MAX
                                                              : (uint64_t)of->breaker.rules.probes);
    }
}

/* A step names an order's own plan, -1 all that is due. A parked step that finds its gate closed joins the
 * line anew. */
static void ask_take(struct world *world, struct lone_order *lone, int step)
{
    if (step < 0) {
        if (lone->asked_ms != world->now_ms) {
            return; /* an earlier moment was planned later, and has asked */
        }
        lone->asked_ms = 0;
    }
    order_ask(world, lone, step >= 0 ? UINT64_C(1) << step : 0);
    if (step >= 0) {
        probe_find(world, world->service_of[step]);
    }
}

static void event_take(struct world *world, const struct mg_event *event)
{
    struct lone_order *lone = event->about;
    if (event->kind == EVENT_BREAKER) {
        if (mg_breaker_tick(&world->services[event->step].breaker, world->now_ms)) {
            breaker_changed(world, event->step);
        }
        return;
    }
    bool is_of_attempt = event->kind != EVENT_ASK;
    bool is_current = !is_of_attempt || lone->steps[event->step].call.attempt == event->attempt;
    if (!lone->is_over && is_current) {
        switch (event->kind) {
        case EVENT_TRY:
            try_begin(world, lone, event->step);
            break;
        case EVENT_ANSWER:
            try_end(world, lone, event->step);
            break;
        case EVENT_REPLY:
            reply_take(world, lone, event->step);
            break;
        default:
            ask_take(world, lone, event->step);
            break;
        }
    }
    order_release(world, lone);
}

/* ---- the run ---- */

static bool world_open(struct world *world, const struct mg_profile *profile,
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
        if (world->plan->steps[i].is_wait) {
            continue;
        }
        int number = world->service_of[i] = mg_profile_service(profile->workflow, i);
        struct world_service *of = &world->services[number];
        mg_meanings_make(profile->workflow, i, services[i], &world->meanings[i]);
        if (of->service == NULL) {
            const struct mg_breaker_rules rules = {.failure_ratio = services[i]->breaker.failure_ratio,
                                                   .min_calls = services[i]->breaker.min_calls,
                                                   .window_ms = services[i]->breaker.window_ms,
                                                   .open_ms = services[i]->breaker.open_ms,
                                                   .probes = services[i]->breaker.probes,
                                                   .unreachable_max = services[i]->tries};
            of->service = services[i];
            mg_breaker_init(&of->breaker, &rules);
            TAILQ_INIT(&of->parked);
        }
    }
    return true;
}

static int64_t arrival_ms(const struct world *world, uint64_t number)
{
    return world->start_ms + (int64_t)(number * UINT64_C(1000000) / (uint64_t)world->profile->rate);
}

/* False: nothing more happens before the end. */
static bool world_step(struct world *world, int64_t stop_ms)
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

static void open_count(struct world *world, const struct lone_order *lone)
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
}

static void opens_count(struct world *world)
{
    const struct lone_order *lone;
    TAILQ_FOREACH(lone, &world->open, entry)
    {
        open_count(world, lone);
    }
}

static void parked_forget(struct world *world, struct world_service *service)
{
    struct lone_step *at;
    while (service->service != NULL && (at = TAILQ_FIRST(&service->parked)) != NULL) {
        TAILQ_REMOVE(&service->parked, at, entry);
        order_release(world, at->owner);
    }
}

static void orders_free(struct lone_list *list)
{
    struct lone_order *lone;
    while ((lone = TAILQ_FIRST(list)) != NULL) {
        TAILQ_REMOVE(list, lone, entry);
        free(lone->order);
        free(lone);
    }
}

/* Orders that are over, but still named by an event, are in neither list. */
static void world_close(struct world *world)
{
    while (mg_event_heap_first(&world->events) != NULL) {
        const struct mg_event event = mg_event_heap_pop(&world->events);
        if (event.about != NULL) {
            order_release(world, event.about);
        }
    }
    for (int i = 0; i < MG_STEPS_MAX; i++) {
        parked_forget(world, &world->services[i]);
    }
    orders_free(&world->open);
    orders_free(&world->free);
    mg_event_heap_finish(&world->events);
    free(world->meanings);
}

enum mg_class mg_simulate(const struct mg_profile *profile, const struct mg_service *const *services,
                          struct mg_tally **ret_tally, struct mg_err *err)
{
    struct world *world = calloc(1, sizeof(*world));
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
