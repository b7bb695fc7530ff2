/* An agent's calls (world.h): one after the other until the reply, with the breaker of each service and the
 * steps that are parked for it. */
#include "serving/tries.h"
#include "world.h"

#define CONNECT_FAILS_MS 1
#define SECOND_MS        1000

void mg_calls_open(struct mg_world *world, const struct mg_service *const *services)
{
    for (int i = 0; i < world->plan->step_count; i++) {
        struct mg_world_service *of = &world->services[world->number_of[i]];
        if (world->plan->steps[i].is_wait) {
            continue;
        }
        mg_meanings_make(world->workflow, i, services[i], &world->meanings[i]);
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
}

bool mg_calls_may_go(const struct mg_world *world, int step)
{
    return world->plan->steps[step].is_wait ||
           mg_breaker_reported(&world->services[world->number_of[step]].breaker) != MG_BREAKER_OPEN;
}

/* ---- parked steps ---- */

void mg_calls_park(struct mg_world *world, struct mg_lone_order *lone)
{
    for (int i = 0; i < world->plan->step_count; i++) {
        struct mg_lone_step *at = &lone->steps[i];
        if (mg_step_is_parked(&lone->order->steps[i]) && !at->is_queued) {
            at->is_queued = true;
            lone->refs++;
            TAILQ_INSERT_TAIL(&world->services[world->number_of[i]].parked, at, entry);
        }
    }
}

/* Asks for the first `most` parked steps of a service; those that are no longer parked leave its queue. */
static void parked_release(struct mg_world *world, int service, uint64_t most)
{
    struct mg_world_service *of = &world->services[service];
    struct mg_lone_step *at;
    uint64_t released = 0;
    while (released < most && (at = TAILQ_FIRST(&of->parked)) != NULL) {
        struct mg_lone_order *lone = at->owner;
        int step = (int)(at - lone->steps);
        const struct mg_step *state = &lone->order->steps[step];
        TAILQ_REMOVE(&of->parked, at, entry);
        at->is_queued = false;
        if (!lone->is_over && mg_step_is_parked(state)) {
            int64_t at_ms = state->due_at_ms > world->now_ms ? state->due_at_ms : world->now_ms;
            mg_world_plan(world, at_ms, MG_EVENT_ASK, lone, step);
            released++;
        }
        mg_world_release(world, lone);
    }
}

void mg_calls_probe(struct mg_world *world, int service)
{
    const struct mg_breaker *breaker = &world->services[service].breaker;
    if (breaker->state == MG_BREAKER_HALF_OPEN && breaker->probes_out < breaker->rules.probes) {
        parked_release(world, service, 1);
    }
}

static void breaker_changed(struct mg_world *world, int service)
{
    struct mg_world_service *of = &world->services[service];
    if (of->breaker.state == MG_BREAKER_OPEN) {
        mg_world_plan(world, of->breaker.open_until_ms, MG_EVENT_BREAKER, NULL, service);
    } else {
        parked_release(world, service,
                       of->breaker.state == MG_BREAKER_CLOSED ? UINT64_MAX
                                                              : (uint64_t)of->breaker.rules.probes);
    }
}

void mg_calls_breaker(struct mg_world *world, int service)
{
    if (mg_breaker_tick(&world->services[service].breaker, world->now_ms)) {
        breaker_changed(world, service);
    }
}

void mg_calls_close(struct mg_world *world)
{
    for (int i = 0; i < MG_STEPS_MAX; i++) {
        struct mg_world_service *of = &world->services[i];
        struct mg_lone_step *at;
        while (of->service != NULL && (at = TAILQ_FIRST(&of->parked)) != NULL) {
            TAILQ_REMOVE(&of->parked, at, entry);
            mg_world_release(world, at->owner);
        }
    }
}

/* ---- a call ---- */

void mg_calls_request(struct mg_world *world, struct mg_lone_order *lone, int step)
{
    const struct mg_step *state = &lone->order->steps[step];
    struct mg_lone_step *at = &lone->steps[step];
    at->call =
        (struct mg_agent_call){.attempt = state->attempt,
                               .kind = state->kind,
                               .asks_undone = state->kind == MG_KIND_VERIFY && mg_step_asks_undone(state),
                               .complete_by_ms = state->complete_by_ms};
    at->attempts += state->kind == MG_KIND_DO ? 1 : 0;
    at->begun_ms = at->begun_ms == 0 ? world->now_ms : at->begun_ms;
    mg_world_plan(world, world->now_ms, MG_EVENT_TRY, lone, step);
}

static void call_count(struct mg_world *world, int service)
{
    struct mg_world_service *of = &world->services[service];
    struct mg_service_tally *tally = &world->tally->services[service];
    int64_t second = (world->now_ms - world->start_ms) / SECOND_MS;
    of->calls = second == of->second ? of->calls + 1 : 1;
    of->second = second;
    tally->calls++;
    tally->peak = of->calls > tally->peak ? of->calls : tally->peak;
}

void mg_calls_try(struct mg_world *world, struct mg_lone_order *lone, int step)
{
    int number = world->number_of[step];
    struct mg_world_service *service = &world->services[number];
    struct mg_agent_call *call = &lone->steps[step].call;
    const struct mg_habit *habit = &world->profile->habits[step][call->kind];
    int64_t budget_ms = mg_tries_budget_ms(service->service, call->complete_by_ms - world->now_ms);
    if (budget_ms <= 0) {
        return; /* an agent that is late stays silent */
    }
    if (!mg_breaker_admit(&service->breaker, &call->ticket)) {
        call->is_never_made = call->tries.count == 0;
        mg_world_plan(world, world->now_ms, MG_EVENT_REPLY, lone, step);
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
    mg_world_plan(world, world->now_ms + (took_ms < budget_ms ? took_ms : budget_ms), MG_EVENT_ANSWER, lone,
                  step);
}

static const struct mg_verdict_of_try *meaning_of(const struct mg_world *world, int step,
                                                  const struct mg_agent_call *call)
{
    int row = call->asks_undone ? MG_CALL_UNDO_VERIFY : (int)call->kind;
    return &world->meanings[step].ends[row][call->last];
}

/* A service that has an address for it reports the end of its work, unless the call itself did. */
static void callback_plan(struct mg_world *world, struct mg_lone_order *lone, int step)
{
    const struct mg_lone_step *at = &lone->steps[step];
    if (world->workflow->steps[step].has_callback && at->call.kind == MG_KIND_DO &&
        at->key.state == MG_KEY_WORKING) {
        mg_world_plan(world, at->key.until_ms, MG_EVENT_CALLBACK, lone, step);
    }
}

void mg_calls_answer(struct mg_world *world, struct mg_lone_order *lone, int step)
{
    struct mg_lone_step *at = &lone->steps[step];
    struct mg_agent_call *call = &at->call;
    struct mg_world_service *service = &world->services[world->number_of[step]];
    if (call->last != MG_CALL_END_UNREACHABLE) {
        call->last = mg_key_handle(&at->key, &world->profile->habits[step][call->kind], call,
                                   call->last == MG_CALL_END_TIMEOUT, world->now_ms, &lone->stream);
        callback_plan(world, lone, step);
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
        breaker_changed(world, world->number_of[step]);
    }
    int64_t wait_ms = service->breaker.state == MG_BREAKER_CLOSED
                          ? mg_tries_next_ms(service->service, &request, &call->tries, &verdict,
                                             call->complete_by_ms - world->now_ms)
                          : -1;
    mg_world_plan(world, world->now_ms + (wait_ms > 0 ? wait_ms : 0),
                  wait_ms >= 0 ? MG_EVENT_TRY : MG_EVENT_REPLY, lone, step);
}

struct mg_cause mg_calls_reply(struct mg_world *world, struct mg_lone_order *lone, int step)
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
    return (struct mg_cause){
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
}
