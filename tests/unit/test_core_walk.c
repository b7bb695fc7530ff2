/*
 * Random orders through the decision core: random plans, a world of faults around them (core_world.h), a
 * supervisor that asks, an operator that meddles but does not lie, and a witness (core_witness.h) that holds
 * every decision against the laws. Then the faults stop, and every order must end. Deterministic: an order is
 * its number; one that fails is walked once more with its story on stderr.
 *
 * MG_WALK_FIRST and MG_WALK_COUNT choose the orders, for a longer search than a build has time for.
 */
#include <check.h>
#include <stdlib.h>
#include <sys/mman.h>

#include "core/verbs.h"
#include "core_fold.h"
#include "core_reached.h"
#include "core_witness.h"
#include "suite.h"

#define WALK_COUNT     800000 /* rare pairs of a late answer and its moment are one in some 300,000 orders */
#define WALK_BLOCKS    8      /* of orders; each a test of its own */
#define WALK_STEPS_MAX 900    /* moves of the world; an order that needs more does not end */

static bool coin(struct world *world, int percent)
{
    return world_chance(world, percent);
}

static void retry_make(struct world *world, struct mg_retry_plan *retry)
{
    retry->attempts = 1 + (uint32_t)world_pick(world, 4);
    retry->cool_downs = coin(world, 30) ? 1 : 0;
    retry->backoff_ms = 100;
    retry->max_backoff_ms = 5000;
    retry->cool_down_ms = 20000;
}

/* As far as a definition may name it (common/workflow/definition_check.c). */
static void learn_make(struct world *world, struct mg_step_plan *step)
{
    bool can_repeat = !step->is_at_most_once && !step->is_pivot;
    if (step->has_undo && coin(world, 40) && (can_repeat || step->has_verify)) {
        bool is_repeat = can_repeat && (!step->has_verify || coin(world, 60));
        step->needs_result = true;
        step->learn = is_repeat ? MG_LEARN_REPEAT : MG_LEARN_VERIFY;
    }
}

static void wait_make(struct world *world, struct mg_step_plan *step)
{
    bool is_signal = coin(world, 40), is_until = !is_signal && coin(world, 50);
    *step = (struct mg_step_plan){.is_wait = true,
                                  .is_until = is_until,
                                  .is_signal = is_signal,
                                  .is_skipped_when_over = is_signal && coin(world, 40),
                                  .wait_ms = is_until ? 0 : 1 + world_pick(world, 30000)};
}

static void call_make(struct world *world, struct mg_step_plan *step)
{
    *step = (struct mg_step_plan){.complete_within_ms = 1000 + world_pick(world, 9000),
                                  .undo_complete_within_ms = 1000 + world_pick(world, 9000),
                                  .poll_ms = 500 + world_pick(world, 2000),
                                  .has_verify = coin(world, 60),
                                  .has_undo = coin(world, 80),
                                  .is_pivot = coin(world, 12),
                                  .is_at_most_once = coin(world, 15)};
    retry_make(world, &step->retry);
    retry_make(world, &step->undo_retry);
    step->is_absent_final = step->has_verify && coin(world, 40);
    step->has_undo_verify = step->has_undo && coin(world, 40);
    step->undo_finish_within_ms =
        step->has_undo_verify && coin(world, 60) ? 5000 + world_pick(world, 20000) : 0;
    step->undo_poll_ms = 500 + world_pick(world, 2000);
    step->finish_within_ms = step->has_verify && coin(world, 40) ? 5000 + world_pick(world, 20000) : 0;
    bool can_verify = step->has_verify && coin(world, 60);
    bool can_retry = !step->is_at_most_once && coin(world, 60);
    step->on_unknown = can_verify  ? MG_ON_UNKNOWN_VERIFY
                       : can_retry ? MG_ON_UNKNOWN_RETRY
                                   : MG_ON_UNKNOWN_OPERATOR;
    if (step->is_at_most_once) {
        step->retry.attempts = 1;
        step->retry.cool_downs = 0;
    }
    learn_make(world, step);
}

/* Steps come in any order, as in a definition: `after` names steps of a lower rank. */
static void plan_make(struct witness *witness)
{
    struct world *world = &witness->world;
    struct mg_plan *plan = &witness->plan;
    int order[WORLD_STEPS];
    plan->step_count = 1 + world_pick(world, WORLD_STEPS);
    plan->complete_within_ms = coin(world, 40) ? 10000 + world_pick(world, 60000) : 0;
    plan->on_failure = coin(world, 75) ? MG_ON_FAILURE_COMPENSATE : MG_ON_FAILURE_ERROR;
    plan->on_expiry = coin(world, 75) ? MG_ON_FAILURE_COMPENSATE : MG_ON_FAILURE_ERROR;
    bool is_shuffled = coin(world, 30), has_guards = coin(world, 40);
    for (int i = 0; i < plan->step_count; i++) {
        int j = is_shuffled ? world_pick(world, i + 1) : i;
        order[i] = order[j];
        order[j] = i;
    }
    for (int i = 0; i < plan->step_count; i++) {
        struct mg_step_plan *step = &plan->steps[order[i]];
        coin(world, 15) ? wait_make(world, step) : call_make(world, step);
        for (int j = 0; j < i; j++) {
            step->after |= coin(world, 45) ? UINT64_C(1) << order[j] : 0;
        }
        step->needs = has_guards ? step->after & world_random(world) : 0;
        step->has_guard = step->is_until || step->is_signal || (has_guards && coin(world, 40));
    }
    for (int round = 0; round < plan->step_count; round++) {
        for (int i = 0; i < plan->step_count; i++) {
            for (int j = 0; j < plan->step_count; j++) {
                if ((plan->steps[i].after >> j & 1) != 0) {
                    witness->followers[j] |= UINT64_C(1) << i | witness->followers[i];
                }
            }
        }
    }
}

static void trace_decision(struct witness *witness, const struct mg_cause *cause, enum mg_verdict verdict)
{
    const struct mg_cause_reply reply = reply_of(cause);
    static const char *const verdicts[] = {"go", "duplicate", "stale", "refused", "impossible"};
    const struct mg_order *order = &witness->order;
    char steps[WORLD_STEPS * 48];
    size_t len = 0;
    if (!witness->world.is_traced) {
        return;
    }
    for (int i = 0; i < order->step_count; i++) {
        const struct mg_step *step = &order->steps[i];
        len += (size_t)snprintf(steps + len, sizeof(steps) - len, " %d:%s%s/%u.%u", i,
                                mg_step_state_name(step->state), step->is_maybe ? "?" : "", step->attempt,
                                step->generation);
    }
    TRACE(&witness->world, "%s step %d attempt %u %s %s -> %s (%s); %s:%s", mg_cause_name(cause->kind),
          cause->step, cause->attempt, mg_outcome_name(reply.outcome), mg_executed_name(reply.executed),
          verdicts[verdict], witness->decision.why, mg_order_state_name(order->state), steps);
}

static enum mg_verdict decide(struct witness *witness, struct mg_cause cause);
static enum mg_verdict operate(struct witness *witness, enum mg_cause_kind kind, int step,
                               enum mg_outcome outcome, bool is_request_changed);

/* A request goes to the broker; or the broker refuses it, or it cannot be built. Or another scheduler has
 * sent it as well, and only that copy is taken. */
static void request_send(struct witness *witness, int step, uint32_t attempt)
{
    struct world *world = &witness->world;
    if (witness->order.steps[step].attempt != attempt || !is_running(&witness->order.steps[step])) {
        return;
    }
    struct mg_cause failed = {.step = step, .attempt = attempt};
    bool is_taken = true;
    if (world_fault(world, 2)) {
        failed.kind = coin(world, 70) ? MG_CAUSE_UNRENDERABLE : MG_CAUSE_REQUEST_CHANGED;
        is_taken = false;
    } else if (world_fault(world, 5)) {
        failed.kind = MG_CAUSE_UNPUBLISHABLE;
        failed.unpublishable.executed = coin(world, 50) ? MG_EXECUTED_NO : MG_EXECUTED_MAYBE;
        is_taken = failed.unpublishable.executed == MG_EXECUTED_MAYBE;
    } else if (!witness->plan.steps[step].is_at_most_once && world_fault(world, 3)) {
        struct mg_cause again = {.kind = MG_CAUSE_REPUBLISHED, .step = step, .attempt = attempt};
        world->attempts[step][attempt].is_open = true;
        (void)decide(witness, again);
        if (coin(world, 50)) {
            failed.kind = MG_CAUSE_UNPUBLISHABLE;
            failed.unpublishable.executed = MG_EXECUTED_NO;
        }
    }
    world->attempts[step][attempt].is_out = is_taken;
    if (is_taken) {
        world_send(world, step, attempt);
    }
    if (failed.kind != MG_CAUSE_SUBMITTED) {
        (void)decide(witness, failed);
    }
}

/* An order in error has a way on: some verb is taken, once nothing can act any more and a person knows each
 * result. */
static void verbs_check(struct witness *witness)
{
    struct mg_context context = witness->context;
    struct mg_verbs verbs;
    context.now_ms += 3600000;
    context.known_results = UINT64_MAX;
    context.is_output_unrenderable = witness->order.reason == MG_REASON_UNRENDERABLE;
    mg_verbs_find(&witness->plan, &context, &witness->order, &verbs);
    WITNESS(witness,
            verbs.can_resume || verbs.can_restart || verbs.can_compensate || verbs.can_cancel ||
                verbs.can_finish || verbs.can_settle != 0 || verbs.can_skip != 0,
            "a dead end: no verb is taken");
}

/* One decision, held against the laws. */
static enum mg_verdict decide_once(struct witness *witness, struct mg_cause cause)
{
    if (witness->failure[0] != '\0') {
        return MG_REFUSED;
    }
    uint64_t known_before = witness->context.known_results;
    witness->context.known_results = witness_known_results(witness, &cause);
    witness->context.now_ms = witness->world.now_ms;
    witness->context.random = world_random(&witness->world);
    witness->context.is_output_unrenderable =
        !witness->world.is_calm && witness->context.random % 4 == 0; /* until a repair */
    witness->before = witness->order;
    witness->context.is_output_open = witness->context.random / 4 % 2 == 0; /* in two parts, or in one */
    enum mg_verdict verdict =
        mg_order_decide(&witness->plan, &witness->context, &cause, &witness->order, &witness->decision);
    witness->context.is_output_open = false;
    if (witness->decision.asks_output) {
        WITNESS(witness,
                verdict == MG_GO &&
                    (witness->order.state == MG_ORDER_PROCESSING || witness->order.state == MG_ORDER_PENDING),
                "an order that is %s asks for its output", mg_order_state_name(witness->order.state));
        mg_order_finish(&witness->plan, &witness->context, &cause, &witness->order, &witness->decision);
    }
    trace_decision(witness, &cause, verdict);
    WITNESS(witness, verdict != MG_IMPOSSIBLE, "%s: impossible: %s", mg_cause_name(cause.kind),
            witness->decision.why);
    if (verdict == MG_GO) {
        witness_go(witness, &cause);
        if (witness->order.state == MG_ORDER_ERROR) {
            verbs_check(witness);
        }
        verdicts_look(witness, &cause);
        if (cause.kind == MG_CAUSE_RESTART) {
            witness_forget_results(witness);
        }
        return verdict;
    }
    witness->context.known_results = known_before;
    const unsigned char *before = (const void *)&witness->before, *after = (const void *)&witness->order;
    WITNESS(witness,
            memcmp(before, after, sizeof(witness->order)) == 0, /* to the byte: nothing was written */
            "the order changed without a verdict to go");
    WITNESS(witness, witness->decision.effect_count == 0 && witness->decision.transition_count == 0,
            "effects without a verdict to go");
    return verdict;
}

/* One fold: the cause, the guards of the steps that became ready, then the requests of all. */
static enum mg_verdict decide(struct witness *witness, struct mg_cause cause)
{
    struct fold fold = {0};
    enum mg_verdict verdict = decide_once(witness, cause);
    if (verdict != MG_GO) {
        return verdict;
    }
    effects_add(witness, &fold);
    while (fold.asked != 0 && witness->failure[0] == '\0') {
        int step = __builtin_ctzll(fold.asked);
        fold.asked &= fold.asked - 1;
        if (decide_once(witness, facts_find(witness, step)) == MG_GO) {
            effects_add(witness, &fold);
        }
    }
    for (; fold.sent != 0; fold.sent &= fold.sent - 1) {
        int step = __builtin_ctzll(fold.sent);
        request_send(witness, step, fold.attempts[step]);
    }
    return verdict;
}

/* ---- the supervisor ---- */

static void supervisor_ask(struct witness *witness)
{
    int64_t now_ms = witness->world.now_ms;
    for (int i = 0; i < witness->order.step_count; i++) {
        const struct mg_step *step = &witness->order.steps[i];
        struct mg_cause ask = {.step = i, .attempt = step->attempt};
        if (world_fault(&witness->world, 10)) {
            continue; /* its command is lost and repeated */
        }
        if (is_running(step) && step->complete_by_ms <= now_ms) {
            ask.kind = MG_CAUSE_OVERDUE;
            (void)decide(witness, ask);
        } else if (!is_running(step) && step->due_at_ms != 0 && step->due_at_ms <= now_ms) {
            ask.kind = MG_CAUSE_DUE;
            (void)decide(witness, ask);
        }
    }
    const struct mg_order *order = &witness->order;
    if (order->complete_by_ms != 0 && order->complete_by_ms <= now_ms) {
        (void)decide(witness, (struct mg_cause){.kind = MG_CAUSE_EXPIRED, .step = -1});
    }
}

/* Commands that come twice, too early or too late, and those that change little. */
static void stray_cause(struct witness *witness)
{
    static const enum mg_cause_kind kinds[] = {MG_CAUSE_OVERDUE,  MG_CAUSE_DUE,  MG_CAUSE_EXPIRED,
                                               MG_CAUSE_NUDGE,    MG_CAUSE_OWED, MG_CAUSE_REATTACHED,
                                               MG_CAUSE_SUBMITTED};
    int step = world_pick(&witness->world, witness->order.step_count);
    struct mg_cause cause = {.kind = kinds[world_pick(&witness->world, 7)], .step = step};
    cause.attempt = witness->order.steps[step].attempt;
    if (cause.attempt > 0 && coin(&witness->world, 50)) {
        cause.attempt--;
    }
    if (cause.kind == MG_CAUSE_NUDGE && coin(&witness->world, 50)) {
        cause.version = witness->order.version - 1;
    }
    if (coin(&witness->world, 20)) { /* a reply of an agent that mixes up its kinds */
        cause.kind = MG_CAUSE_REPLY;
        cause.reply = (struct mg_cause_reply){.kind = (witness->order.steps[step].kind + 1) % MG_KIND_COUNT,
                                              .executed = MG_EXECUTED_YES,
                                              .retry_after_ms = -1};
    }
    (void)decide(witness, cause);
}

/* ---- clients, and services that call back ---- */

static void wait_signal(struct witness *witness, int step)
{
    static const enum mg_signal_fact facts[] = {MG_SIGNAL_FACT_KEPT, MG_SIGNAL_FACT_DONE, MG_SIGNAL_FACT_DONE,
                                                MG_SIGNAL_FACT_REFUSED};
    bool is_early = witness->order.steps[step].state == MG_STEP_PENDING;
    struct mg_cause cause = {
        .kind = MG_CAUSE_SIGNAL,
        .step = step,
        .signal = {.fact = is_early ? MG_SIGNAL_FACT_KEPT : facts[world_pick(&witness->world, 4)]}};
    enum mg_verdict verdict = decide(witness, cause);
    witness->has_early_signal[step] = witness->has_early_signal[step] || (is_early && verdict == MG_GO);
}

/* A service does not lie, either: it calls back about work that is done, or refused for good. */
static void service_call_back(struct witness *witness, int step)
{
    const struct mg_step *at = &witness->order.steps[step];
    const struct remote_key *key = &witness->world.keys[step][at->generation % WORLD_GENERATIONS];
    bool is_refused = key->is_work_refused && !key->is_working;
    if (witness->plan.steps[step].finish_within_ms > 0 && (key->stands || is_refused)) {
        struct mg_cause cause = {
            .kind = MG_CAUSE_SIGNAL,
            .step = step,
            .signal = {.fact = key->stands ? MG_SIGNAL_FACT_DONE : MG_SIGNAL_FACT_REFUSED}};
        (void)decide(witness, cause);
    }
}

static void signal_send(struct witness *witness)
{
    int step = world_pick(&witness->world, witness->order.step_count);
    if (witness->plan.steps[step].is_signal) {
        wait_signal(witness, step);
    } else if (!witness->plan.steps[step].is_wait) {
        service_call_back(witness, step);
    }
}

/* Orders of the same key come and go in between. A turn may come late, twice, or for an earlier place. */
static void line_move(struct witness *witness)
{
    struct world *world = &witness->world;
    struct mg_cause turn = {.kind = MG_CAUSE_TURN, .step = -1};
    turn.turn.generation = witness->order.generation;
    if (mg_order_is_in_line(&witness->order) && (world->is_calm || coin(world, 20))) {
        (void)decide(witness, turn);
    } else if (world_fault(world, 5)) {
        turn.turn.generation -= coin(world, 50) && turn.turn.generation > 0 ? 1 : 0;
        bool is_early =
            mg_order_is_in_line(&witness->order) && turn.turn.generation == witness->order.generation;
        is_early ? (void)0 : (void)decide(witness, turn);
    }
    if (witness->order.state == MG_ORDER_ERROR && world_fault(world, 5)) {
        (void)operate(witness, MG_CAUSE_RELEASE, -1, MG_OUTCOME_DONE, false);
    }
}

/* ---- the operator does not lie: settles "done" for effects that stand, "absent" for others ---- */

static enum mg_verdict operate(struct witness *witness, enum mg_cause_kind kind, int step,
                               enum mg_outcome outcome, bool is_request_changed)
{
    struct mg_cause cause = {.kind = kind,
                             .step = step,
                             .version = witness->order.version - (world_fault(&witness->world, 10) ? 1 : 0)};
    if (kind == MG_CAUSE_RESUME) {
        cause.resume.is_request_changed = is_request_changed;
    } else if (kind == MG_CAUSE_SETTLE) {
        cause.settle = (struct mg_cause_settle){
            .outcome = outcome,
            .has_result = outcome == MG_OUTCOME_DONE && coin(&witness->world, 70),
            .is_result_missing = step >= 0 && (witness->context.known_results >> step & 1) == 0};
    }
    return decide(witness, cause);
}

static void operator_settle(struct witness *witness, int step)
{
    const struct mg_step *at = &witness->order.steps[step];
    const struct remote_key *key = &witness->world.keys[step][at->generation % WORLD_GENERATIONS];
    if (witness->plan.steps[step].is_wait) { /* both words are tried: one ends it, one is refused */
        (void)operate(witness, MG_CAUSE_SETTLE, step,
                      coin(&witness->world, 50) ? MG_OUTCOME_DONE : MG_OUTCOME_ABSENT, false);
    } else if (key->stands) {
        bool is_backward = is_undo_open(at) || at->state == MG_STEP_UNDO_FAILED;
        bool lacks_result =
            witness->plan.steps[step].needs_result && (witness->context.known_results >> step & 1) == 0;
        if (!is_backward || lacks_result) {
            (void)operate(witness, MG_CAUSE_SETTLE, step, MG_OUTCOME_DONE, false);
        }
    } else if (!key->is_working && !world_is_unsettled(&witness->world, step)) {
        (void)operate(witness, MG_CAUSE_SETTLE, step, MG_OUTCOME_ABSENT, false);
    }
}

/* With evidence that nothing stands and nothing can act any more. */
static void operator_repeat(struct witness *witness, int step)
{
    const struct remote_key *key =
        &witness->world.keys[step][witness->order.steps[step].generation % WORLD_GENERATIONS];
    if (!key->stands && !key->is_working && !world_is_unsettled(&witness->world, step)) {
        (void)decide(witness, (struct mg_cause){.kind = MG_CAUSE_RESUME,
                                                .step = step,
                                                .version = witness->order.version,
                                                .resume = {.is_repeat = true}});
    }
}

static void operator_meddle(struct witness *witness)
{
    struct world *world = &witness->world;
    int step = world_pick(world, witness->order.step_count);
    switch (world_pick(world, 9)) {
    case 8:
        operator_repeat(witness, step);
        return;
    case 0:
        (void)operate(witness, MG_CAUSE_CANCEL, -1, MG_OUTCOME_DONE, false);
        return;
    case 1:
        (void)operate(witness, MG_CAUSE_COMPENSATE, -1, MG_OUTCOME_DONE, false);
        return;
    case 2:
    case 3:
        (void)operate(witness, MG_CAUSE_RESUME, -1, MG_OUTCOME_DONE, coin(world, 25));
        return;
    case 4:
        (void)operate(witness, MG_CAUSE_SKIP, step, MG_OUTCOME_DONE, false);
        return;
    case 5:
        (void)operate(witness, MG_CAUSE_RESTART, -1, MG_OUTCOME_DONE, false);
        return;
    default:
        operator_settle(witness, step);
        return;
    }
}

/* All repairs open to a person with full evidence of every step's outcome. */
static void operator_repair(struct witness *witness)
{
    for (int i = 0; i < witness->order.step_count; i++) {
        const struct mg_step *step = &witness->order.steps[i];
        if (step->state == MG_STEP_UNKNOWN || step->state == MG_STEP_UNDO_FAILED ||
            (step->is_maybe && !is_running(step) && step->state != MG_STEP_DONE)) {
            operator_settle(witness, i);
        }
    }
    if (witness->order.state == MG_ORDER_ERROR) {
        (void)operate(witness, MG_CAUSE_RESUME, -1, MG_OUTCOME_DONE, false);
    }
}

/* ---- the walk ---- */

static void world_turn(struct witness *witness)
{
    struct world *world = &witness->world;
    int next = -1;
    for (int i = 0; i < WORLD_MESSAGES; i++) {
        if (world->messages[i].is_used &&
            (next < 0 || world->messages[i].at_ms < world->messages[next].at_ms)) {
            next = i;
        }
    }
    int64_t wake_ms = witness->order.wake_at_ms;
    if (wake_ms != 0 && wake_ms <= world->now_ms) {
        wake_ms = world->now_ms + 250; /* the supervisor's period */
    }
    if (next >= 0 && (wake_ms == 0 || world->messages[next].at_ms <= wake_ms)) {
        struct message message = world->messages[next];
        world->messages[next].is_used = false;
        world->now_ms = message.at_ms > world->now_ms ? message.at_ms : world->now_ms;
        world_work(world);
        if (message.kind == MESSAGE_REPLY) {
            (void)decide(witness, message.reply);
        } else {
            world_deliver(world, &message);
        }
    } else {
        world->now_ms = wake_ms != 0 ? wake_ms : world->now_ms + 1000;
        world_work(world);
        if (wake_ms != 0) {
            supervisor_ask(witness);
        }
    }
}

static void faults_make(struct witness *witness)
{
    static const enum mg_reason gates[] = {MG_REASON_NO_CONSUMER, MG_REASON_BREAKER_OPEN,
                                           MG_REASON_SERVICE_PAUSED, MG_REASON_WINDOW_FULL};
    struct world *world = &witness->world;
    int step = world_pick(world, witness->order.step_count);
    if (coin(world, 5)) {
        witness->context.gate[step] = gates[world_pick(world, 4)];
    } else if (coin(world, 8)) {
        witness->context.gate[step] = MG_REASON_NONE;
    }
    if (coin(world, 3)) {
        stray_cause(witness);
    }
    if (coin(world, 4)) {
        operator_meddle(witness);
    }
    if (coin(world, 12)) {
        signal_send(witness);
    }
}

static bool has_messages(const struct world *world)
{
    for (int i = 0; i < WORLD_MESSAGES; i++) {
        if (world->messages[i].is_used) {
            return true;
        }
    }
    return false;
}

static bool is_over(const struct witness *witness)
{
    return mg_order_state_is_terminal(witness->order.state) && witness->order.state != MG_ORDER_ERROR &&
           !has_messages(&witness->world);
}

static bool needs_person(const struct witness *witness)
{
    bool is_asking = false;
    for (int i = 0; i < witness->order.step_count; i++) {
        is_asking = is_asking || witness->open_alerts[i + 1][MG_ALERT_OUTCOME_UNKNOWN];
    }
    return witness->order.wake_at_ms == 0 && (witness->order.state == MG_ORDER_ERROR || is_asking) &&
           !has_messages(&witness->world);
}

/* Checks the state that the remote services keep, when all is over. */
static void ledger_check(struct witness *witness)
{
    for (int i = 0; i < witness->order.step_count; i++) {
        int standing = world_standing(&witness->world, i);
        const struct mg_step *step = &witness->order.steps[i];
        if (witness->order.state == MG_ORDER_PROCESSED) {
            WITNESS(witness, step->state == MG_STEP_DONE || step->state == MG_STEP_SKIPPED,
                    "processed, and step %d is %s", i, mg_step_state_name(step->state));
            WITNESS(witness,
                    standing == (witness->plan.steps[i].is_wait ? 0 : 1) || step->state != MG_STEP_DONE,
                    "step %d is done, and stands %d times", i, standing);
        } else {
            WITNESS(witness, standing == 0 || !witness->plan.steps[i].has_undo,
                    "step %d stands in an order that is %s", i, mg_order_state_name(witness->order.state));
        }
        WITNESS(witness, standing <= 1, "step %d stands under %d keys", i, standing);
    }
}

static void order_walk(struct witness *witness)
{
    struct world *world = &witness->world;
    int faults = 10 + world_pick(world, 120);
    mg_order_init(&witness->plan, &witness->context, 0, &witness->order);
    (void)decide(witness, (struct mg_cause){.kind = MG_CAUSE_SUBMITTED, .step = -1});
    for (int i = 0; witness->failure[0] == '\0'; i++) {
        world->is_calm = i >= faults;
        if (!world->is_calm) {
            faults_make(witness);
        } else if (i == faults) {
            TRACE(world, "--- the faults stop");
            memset(witness->context.gate, 0, sizeof(witness->context.gate));
        } else if (is_over(witness)) {
            ledger_check(witness);
            return;
        }
        if (world->is_calm && needs_person(witness)) {
            world->now_ms += 20000;
            operator_repair(witness);
        }
        world_turn(witness);
        if (witness->plan.sequence != MG_SEQUENCE_NONE) {
            line_move(witness);
        }
        WITNESS(witness, world->doubled == 0, "step %d acts twice at a service that does not de-duplicate",
                world->doubled - 1);
        WITNESS(witness, i < WALK_STEPS_MAX, "it does not end; it is %s",
                mg_order_state_name(witness->order.state));
    }
}

static struct witness *walk_one(uint64_t seed, bool is_traced)
{
    static struct witness witness;
    memset(&witness, 0, sizeof(witness));
    witness.world.random = seed * 0x2545F4914F6CDD1Du;
    witness.world.is_traced = is_traced;
    witness.world.plan = &witness.plan;
    witness.world.now_ms = witness.context.now_ms = 1000000;
    witness.world.quiesce_ms = witness.context.quiesce_ms = 3000;
    witness.context.park_ms = 1000;
    plan_make(&witness);
    witness.plan.sequence =
        seed % 8 == 0 ? (seed % 16 == 0 ? MG_SEQUENCE_HOLD : MG_SEQUENCE_RELEASE) : MG_SEQUENCE_NONE;
    witness.context.wants_step_status = coin(&witness.world, 50);
    order_walk(&witness);
    return &witness;
}

static uint64_t option(const char *name, uint64_t otherwise)
{
    const char *text = getenv(name);
    return text != NULL ? strtoull(text, NULL, 10) : otherwise;
}

START_TEST(laws_hold_on_random_walks)
{
    uint64_t count = option("MG_WALK_COUNT", WALK_COUNT) / WALK_BLOCKS;
    uint64_t first = option("MG_WALK_FIRST", 1) + count * (uint64_t)_i;
    for (uint64_t seed = first; seed < first + count; seed++) {
        if (walk_one(seed, false)->failure[0] != '\0') {
            const struct witness *witness = walk_one(seed, true);
            ck_abort_msg("order %llu: %s", (unsigned long long)seed, witness->failure);
        }
    }
}
END_TEST

int main(void)
{
    reached = mmap(NULL, sizeof(*reached), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (reached == MAP_FAILED) {
        return EXIT_FAILURE;
    }
    Suite *suite = suite_create("core_walk");
    TCase *cases = tcase_create("laws");
    tcase_set_timeout(cases, 100);
    tcase_add_loop_test(cases, laws_hold_on_random_walks, 0, WALK_BLOCKS);
    tcase_add_test(cases, every_cell_that_allows_a_transition_is_reached_or_rare);
    tcase_add_test(cases, every_verdict_of_a_condition_is_reached);
    suite_add_tcase(suite, cases);
    return run_suite(suite);
}
