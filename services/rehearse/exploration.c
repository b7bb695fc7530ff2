/*
 * See exploration.h. A way is its departures: the choices that are not the first option. It is run from the
 * start, and each choice after its last departure that has a further option is a way with one more. So each
 * reachable combination is run once, and nothing of a run is kept but its last departure and its parent.
 */
#include "exploration.h"

#include <stdlib.h>
#include <string.h>

#include "bare_order.h"
#include "claim.h"
#include "core/maybe.h"
#include "expr/tree.h"
#include "workflow/answer_conditions.h"
#include "workflow/step_guard.h"

#define CHOICES_MAX     (3 * MG_STEPS_MAX) /* a guard, a do or a signal, and an undo */
#define CAUSES_MAX      20000              /* of one order; more is an order that does not end */
#define ENDS_HASH       4096               /* a power of two, far above MG_EXPLORE_ENDS_MAX */
#define UNTIL_MS        INT64_C(3600000)   /* of a moment that nothing gives */
#define ARENA_MAX_BYTES ((size_t)1024 * 1024)
#define WHY_MAX_BYTES   512
/* A quarter of a minute for each order of failures, also of a wide workflow, whose ways have many. */
#define ALL_CAUSES_MAX 16000000

/* A way by its last departure; the root has none. */
struct node {
    uint32_t parent;
    uint8_t at, chosen; /* which choice, and its option; 0: the root */
};

struct explorer {
    const struct mg_profile *profile;
    const struct mg_workflow *workflow;
    const struct mg_plan *plan;
    struct mg_exploration *found;
    const struct mg_expr *claims[MG_CLAIMS_MAX];
    struct mg_arena *arena;
    int16_t hash[ENDS_HASH]; /* index into the ends, plus one */
    /* the ways with one order of failures, by their number of departures */
    struct node *nodes;  /* owned: room for `ways_max` */
    uint64_t node_count; /* may be more: the last ones are not kept */
    uint64_t ways_max, causes, way_causes_max;
    /* the choices of the present way */
    struct {
        uint8_t chosen, options;
    } path[CHOICES_MAX];
    int depth;
    bool is_failure_first;
    /* the present order */
    struct mg_order order;
    struct mg_context context;
    struct mg_decision decision;
    uint8_t ways[MG_STEPS_MAX];            /* enum mg_way_of_step */
    struct mg_slice carried[MG_STEPS_MAX]; /* by the signals; absent: nothing */
    bool is_undo_drawn[MG_STEPS_MAX], refuses_undo[MG_STEPS_MAX];
    uint64_t sent[MG_STEPS_MAX]; /* when its request went out, or its wait began; 0: none is out */
    uint64_t sent_count;
    uint8_t undone[MG_STEPS_MAX];
    int undone_count;
    enum mg_reason reason; /* of the order's last change */
};

const char *mg_way_of_step_name(enum mg_way_of_step way)
{
    static const char *const NAMES[] = {"not reached", "done",  "refused",  "unknown",
                                        "skipped",     "early", "timed_out"};
    return NAMES[way];
}

/* ---- choices ---- */

static int choose(struct explorer *explorer, int options)
{
    if (options <= 1 || explorer->depth >= CHOICES_MAX) {
        return 0;
    }
    explorer->path[explorer->depth].options = (uint8_t)options;
    return explorer->path[explorer->depth++].chosen;
}

/* ---- guards ---- */

/* A condition that is the same as that of a step before, or its opposite, has the value that follows. 1: it
 * holds, 0: it does not, -1: nothing is known. */
static int condition_follows(const struct explorer *explorer, int step)
{
    const struct mg_guard *guard = explorer->workflow->steps[step].guard;
    for (int i = 0; i < explorer->plan->step_count; i++) {
        const struct mg_guard *other = explorer->workflow->steps[i].guard;
        bool is_known = explorer->ways[i] != MG_STEP_WAY_NONE;
        /* A step that was skipped for a step which it needs says nothing of its own condition. */
        bool is_by_needs = explorer->order.steps[i].reason == MG_REASON_NEEDS_SKIPPED;
        if (i == step || other == NULL || other->when == NULL || !is_known || is_by_needs) {
            continue;
        }
        bool held = explorer->ways[i] != MG_STEP_WAY_SKIPPED;
        if (mg_expr_is_same(guard->when, guard->when->root, other->when, other->when->root)) {
            return held;
        }
        if (mg_expr_is_opposite(guard->when, guard->when->root, other->when, other->when->root)) {
            return !held;
        }
    }
    return -1;
}

/* Skip or go, by chance's part in the profile. */
static enum mg_fact when_choose(struct explorer *explorer, int step)
{
    uint32_t share = explorer->profile->when[step];
    if (share == 0 || share == MG_SHARE_ALL) {
        return share == 0 ? MG_FACT_SKIP : MG_FACT_GO;
    }
    int follows = condition_follows(explorer, step);
    if (follows >= 0) {
        return follows == 1 ? MG_FACT_GO : MG_FACT_SKIP;
    }
    return choose(explorer, 2) == 0 ? MG_FACT_GO : MG_FACT_SKIP;
}

/* `results`: room for those of all steps. */
static struct mg_render_input input_of(const struct explorer *explorer, struct mg_slice *results)
{
    struct mg_render_input input = {.workflow = explorer->workflow,
                                    .order_id = "order-1",
                                    .payload = explorer->profile->payload,
                                    .results = results,
                                    .accepted_at_ms = explorer->profile->accepted_at_ms};
    for (int i = 0; i < explorer->plan->step_count; i++) {
        enum mg_step_state state = explorer->order.steps[i].state;
        struct mg_slice result =
            explorer->carried[i].data != NULL ? explorer->carried[i] : explorer->profile->results[i];
        results[i] = state == MG_STEP_DONE ? result : (struct mg_slice){NULL, 0};
        input.skipped |= state == MG_STEP_SKIPPED ? UINT64_C(1) << i : 0;
    }
    return input;
}

static enum mg_fact guard_by_payload(struct explorer *explorer, int step, int64_t *ret_until_ms)
{
    struct mg_slice results[MG_STEPS_MAX], text;
    const struct mg_render_input input = input_of(explorer, results);
    char memory[WHY_MAX_BYTES];
    struct mg_buf why;
    mg_buf_init_fixed(&why, memory, sizeof(memory));
    enum mg_fact fact = mg_workflow_guard_decide(&input, step, &text, &why);
    if (fact == MG_FACT_GO) {
        mg_buf_clear(&why);
        fact = mg_workflow_wait_until(&input, step, ret_until_ms, &why);
    }
    return fact;
}

/* ---- signals ---- */

/* The ways for the signals of a step, each with the payload that they carry. */
struct signal_ways {
    struct {
        enum mg_way_of_step way;
        struct mg_slice carried;
    } items[2 * (MG_SIGNAL_CHOICES_MAX + 1) + 2];
    int count;
    bool can_time_out;
};

static void signal_way_add(struct signal_ways *ways, enum mg_way_of_step way, struct mg_slice carried)
{
    ways->items[ways->count].way = way;
    ways->items[ways->count++].carried = carried;
}

/* Signals with this payload come. */
static void coming_add(const struct explorer *explorer, int step, struct mg_slice payload,
                       struct signal_ways *ways)
{
    struct mg_slice results[MG_STEPS_MAX];
    const struct mg_render_input input = input_of(explorer, results);
    char why[MG_ERROR_TEXT_MAX + 1];
    switch (payload.data != NULL ? mg_workflow_signal_judge(&input, step, payload, why) : MG_ANSWER_DONE) {
    case MG_ANSWER_DONE:
        signal_way_add(ways, MG_STEP_WAY_DONE, payload);
        signal_way_add(ways, MG_STEP_WAY_EARLY, payload);
        break;
    case MG_ANSWER_REFUSED:
        signal_way_add(ways, MG_STEP_WAY_REFUSED, payload);
        break;
    case MG_ANSWER_OPEN:
    case MG_ANSWER_UNCLEAR: /* the wait goes on */
        ways->can_time_out = true;
        break;
    }
}

/* The signals come in all orders, within the time of the wait. */
static bool is_certain(const struct explorer *explorer, int step)
{
    const struct mg_arrival *arrival = &explorer->profile->signals[step];
    return explorer->profile->has_signal[step] && arrival->share == MG_SHARE_ALL &&
           !arrival->time.is_skewed && arrival->time.high_ms < explorer->plan->steps[step].wait_ms;
}

static void signal_ways_find(const struct explorer *explorer, int step, struct signal_ways *ret)
{
    const struct mg_profile *profile = explorer->profile;
    const struct mg_choices *choices = &profile->choices[step];
    bool can_come = !profile->has_signal[step] || profile->signals[step].share > 0;
    bool can_refuse = explorer->workflow->steps[step].conditions.refused_when != NULL &&
                      (choices->count == 0 || profile->habits[step][MG_KIND_DO].refuse > 0);
    uint32_t rest = MG_SHARE_ALL;
    ret->count = 0;
    ret->can_time_out = !is_certain(explorer, step);
    for (int i = 0; i < choices->count && can_come; i++) {
        rest -= choices->items[i].share;
        if (choices->items[i].share > 0) {
            coming_add(explorer, step, choices->items[i].payload, ret);
        }
    }
    if (can_come && rest > 0) {
        coming_add(explorer, step, (struct mg_slice){NULL, 0}, ret);
    }
    if (can_come && can_refuse) {
        signal_way_add(ret, MG_STEP_WAY_REFUSED, (struct mg_slice){NULL, 0});
    }
    if (ret->can_time_out) {
        signal_way_add(ret, MG_STEP_WAY_TIMED_OUT, (struct mg_slice){NULL, 0});
    }
}

static void signal_choose(struct explorer *explorer, int step, struct mg_cause_facts *facts)
{
    struct signal_ways ways;
    signal_ways_find(explorer, step, &ways);
    int chosen = choose(explorer, ways.count);
    explorer->ways[step] = (uint8_t)ways.items[chosen].way;
    explorer->carried[step] = ways.items[chosen].carried;
    bool is_early = ways.items[chosen].way == MG_STEP_WAY_EARLY;
    facts->signal = is_early ? MG_SIGNAL_FACT_DONE : MG_SIGNAL_FACT_NONE;
}

/* ---- the facts of a step ---- */

static void on_facts(void *arg, int step, struct mg_cause_facts *ret_facts)
{
    struct explorer *explorer = arg;
    const struct mg_guard *guard = explorer->workflow->steps[step].guard;
    const struct mg_step_plan *plan = &explorer->plan->steps[step];
    bool has_when = guard != NULL && guard->when != NULL;
    *ret_facts = (struct mg_cause_facts){.fact = MG_FACT_GO, .until_ms = explorer->context.now_ms + UNTIL_MS};
    if (explorer->profile->payload.data != NULL && explorer->profile->when[step] == MG_WHEN_OPEN) {
        ret_facts->fact = guard_by_payload(explorer, step, &ret_facts->until_ms);
    } else if (has_when) {
        ret_facts->fact = when_choose(explorer, step);
    }
    /* A call can be refused by its service, too; a wait only by its guard. */
    bool has_requirements = guard != NULL && guard->requirements != NULL;
    bool is_open = explorer->profile->payload.data == NULL && ret_facts->fact == MG_FACT_GO;
    if (is_open && has_requirements && plan->is_wait && choose(explorer, 2) == 1) {
        ret_facts->fact = MG_FACT_REFUSE;
        explorer->ways[step] = MG_STEP_WAY_REFUSED;
    }
    if (plan->is_signal && ret_facts->fact == MG_FACT_GO) {
        signal_choose(explorer, step, ret_facts);
    }
}

/* ---- calls ---- */

/* Its request goes out, or its wait begins. */
static void sent_note(struct explorer *explorer, int step)
{
    for (int i = 0; i < explorer->plan->step_count; i++) {
        explorer->found->has_parallel = explorer->found->has_parallel || explorer->sent[i] != 0;
    }
    explorer->sent[step] = ++explorer->sent_count;
}

static void on_request(void *arg, int step)
{
    static const enum mg_way_of_step OPTIONS[] = {MG_STEP_WAY_DONE, MG_STEP_WAY_REFUSED, MG_STEP_WAY_UNKNOWN};
    struct explorer *explorer = arg;
    bool is_undo = explorer->order.steps[step].kind == MG_KIND_UNDO;
    sent_note(explorer, step);
    if (explorer->ways[step] == MG_STEP_WAY_NONE && !is_undo) {
        explorer->ways[step] =
            (uint8_t)OPTIONS[choose(explorer, (int)(sizeof(OPTIONS) / sizeof(OPTIONS[0])))];
    }
    if (is_undo && !explorer->is_undo_drawn[step]) {
        bool is_open = explorer->profile->habits[step][MG_KIND_UNDO].refuse > 0;
        explorer->is_undo_drawn[step] = true;
        explorer->refuses_undo[step] = is_open && choose(explorer, 2) == 1;
    }
}

static void on_change(void *arg, const struct mg_transition *transition)
{
    struct explorer *explorer = arg;
    if (transition->step < 0) {
        explorer->reason = transition->reason;
        return;
    }
    uint8_t *way = &explorer->ways[transition->step];
    bool is_signal = explorer->plan->steps[transition->step].is_signal;
    if (is_signal && transition->to == MG_STEP_WAITING) {
        sent_note(explorer, transition->step);
    } else if (is_signal) {
        explorer->sent[transition->step] = 0;
    }
    if (transition->to == MG_STEP_UNDONE && explorer->undone_count < MG_STEPS_MAX &&
        explorer->order.steps[transition->step].is_undo_dispatched) {
        explorer->undone[explorer->undone_count++] = (uint8_t)transition->step;
    }
    bool is_skipped = transition->to == MG_STEP_SKIPPED && transition->reason != MG_REASON_TIMED_OUT;
    *way = is_skipped                                                   ? MG_STEP_WAY_SKIPPED
           : transition->to == MG_STEP_DONE && *way == MG_STEP_WAY_NONE ? MG_STEP_WAY_DONE
                                                                        : *way;
}

static bool is_failure(const struct explorer *explorer, int step)
{
    bool is_undo = explorer->order.steps[step].kind == MG_KIND_UNDO;
    if (explorer->ways[step] == MG_STEP_WAY_TIMED_OUT && explorer->plan->steps[step].is_skipped_when_over) {
        return false; /* the order goes on */
    }
    return is_undo ? explorer->refuses_undo[step] : explorer->ways[step] != MG_STEP_WAY_DONE;
}

/* The call or the wait that ends next; -1: none is out. */
static int sent_next(const struct explorer *explorer)
{
    int next = -1;
    for (int i = 0; i < explorer->plan->step_count; i++) {
        if (explorer->sent[i] == 0) {
            continue;
        }
        bool is_other = next >= 0 && is_failure(explorer, i) != is_failure(explorer, next);
        bool is_sooner = next < 0 || (is_other ? is_failure(explorer, i) == explorer->is_failure_first
                                               : explorer->sent[i] < explorer->sent[next]);
        next = is_sooner ? i : next;
    }
    return next;
}

static void call_answer(struct explorer *explorer, const struct mg_bare_order *bare, int step)
{
    const struct mg_step *state = &explorer->order.steps[step];
    struct mg_cause cause = {.kind = MG_CAUSE_REPLY, .step = step, .attempt = state->attempt};
    bool is_undo = state->kind == MG_KIND_UNDO || mg_step_asks_undone(state);
    enum mg_way_of_step way = is_undo
                                  ? (explorer->refuses_undo[step] ? MG_STEP_WAY_REFUSED : MG_STEP_WAY_DONE)
                                  : (enum mg_way_of_step)explorer->ways[step];
    cause.reply = (struct mg_cause_reply){.kind = state->kind, .retry_after_ms = -1};
    if (way == MG_STEP_WAY_DONE) {
        cause.reply.outcome = MG_OUTCOME_DONE;
        cause.reply.executed = MG_EXECUTED_YES;
        explorer->context.known_results |= is_undo ? 0 : UINT64_C(1) << step;
    } else if (way == MG_STEP_WAY_REFUSED) {
        bool is_verify = state->kind == MG_KIND_VERIFY;
        cause.reply.outcome = is_verify ? MG_OUTCOME_ABSENT : MG_OUTCOME_PERMANENT;
        cause.reply.executed = MG_EXECUTED_NO;
    } else { /* as a connection that breaks */
        struct mg_maybe maybe = mg_maybe_of(MG_SEEN_BROKEN, state->kind);
        cause.reply.outcome = maybe.outcome;
        cause.reply.executed = maybe.executed;
        cause.reply.may_still_act = maybe.may_still_act;
    }
    explorer->sent[step] = 0;
    (void)mg_bare_decide(bare, &cause);
}

/* A wait that times out does so at its moment, whatever else is out: calls may have begun just before. The
 * order may expire first. */
static void wait_time_out(struct explorer *explorer, const struct mg_bare_order *bare, int step)
{
    const struct mg_order *order = &explorer->order;
    const struct mg_step *state = &order->steps[step];
    bool is_expired = order->goal == MG_GOAL_PROCESSED && order->complete_by_ms != 0 &&
                      order->complete_by_ms <= state->due_at_ms;
    int64_t at_ms = is_expired ? order->complete_by_ms : state->due_at_ms;
    const struct mg_cause over = {.kind = MG_CAUSE_DUE, .step = step, .attempt = state->attempt},
                          expired = {.kind = MG_CAUSE_EXPIRED, .step = -1};
    explorer->context.now_ms = at_ms > explorer->context.now_ms ? at_ms : explorer->context.now_ms;
    explorer->sent[step] = is_expired ? explorer->sent[step] : 0;
    (void)mg_bare_decide(bare, is_expired ? &expired : &over);
}

static void wait_end(struct explorer *explorer, const struct mg_bare_order *bare, int step)
{
    bool is_refused = explorer->ways[step] == MG_STEP_WAY_REFUSED;
    const struct mg_cause cause = {
        .kind = MG_CAUSE_SIGNAL,
        .step = step,
        .signal = {.fact = is_refused ? MG_SIGNAL_FACT_REFUSED : MG_SIGNAL_FACT_DONE}};
    if (explorer->ways[step] == MG_STEP_WAY_TIMED_OUT) {
        wait_time_out(explorer, bare, step);
    } else {
        explorer->sent[step] = 0;
        (void)mg_bare_decide(bare, &cause);
    }
}

/* ---- one way ---- */

static void order_begin(struct explorer *explorer)
{
    explorer->depth = 0;
    explorer->context = (struct mg_context){.now_ms = explorer->profile->accepted_at_ms,
                                            .quiesce_ms = MG_BARE_QUIESCE_MS,
                                            .park_ms = MG_BARE_PARK_MS};
    mg_order_init(explorer->plan, &explorer->context, 0, &explorer->order);
    memset(explorer->ways, 0, sizeof(explorer->ways));
    memset(explorer->carried, 0, sizeof(explorer->carried));
    memset(explorer->is_undo_drawn, 0, sizeof(explorer->is_undo_drawn));
    memset(explorer->refuses_undo, 0, sizeof(explorer->refuses_undo));
    memset(explorer->sent, 0, sizeof(explorer->sent));
    explorer->sent_count = 0;
    explorer->undone_count = 0;
    explorer->reason = MG_REASON_NONE;
}

/* After an order's end in `error` the calls that are out are answered, as they would be. */
static void order_run(struct explorer *explorer)
{
    const struct mg_bare_events events = {
        .facts = on_facts, .request = on_request, .change = on_change, .arg = explorer};
    const struct mg_bare_order bare = {explorer->plan, &explorer->context, &explorer->order,
                                       &explorer->decision, &events};
    const struct mg_cause submitted = {.kind = MG_CAUSE_SUBMITTED, .step = -1};
    const struct mg_cause turn = {.kind = MG_CAUSE_TURN, .step = -1};
    (void)mg_bare_decide(&bare, &submitted);
    if (mg_order_is_in_line(&explorer->order)) { /* no other is in its line */
        (void)mg_bare_decide(&bare, &turn);
    }
    for (int i = 0; i < CAUSES_MAX; i++) {
        explorer->causes++;
        int step = sent_next(explorer);
        int64_t due_ms = mg_bare_due_ms(&explorer->order);
        if (step >= 0 && explorer->plan->steps[step].is_signal) {
            wait_end(explorer, &bare, step);
        } else if (step >= 0) {
            call_answer(explorer, &bare, step);
        } else if (due_ms != 0) {
            explorer->context.now_ms = due_ms > explorer->context.now_ms ? due_ms : explorer->context.now_ms;
            mg_bare_ask(&bare, UINT64_MAX);
        } else {
            return;
        }
    }
}

/* ---- findings ---- */

static struct mg_order_way way_of(const struct explorer *explorer)
{
    struct mg_order_way way = {.is_failure_first = explorer->is_failure_first, .end = explorer->order.state};
    memcpy(way.steps, explorer->ways, sizeof(way.steps));
    for (int i = 0; i < explorer->plan->step_count; i++) {
        way.refused_undos |= explorer->refuses_undo[i] ? UINT64_C(1) << i : 0;
    }
    return way;
}

static bool is_end(const struct explorer *explorer, const struct mg_explored_end *end)
{
    return end->end == explorer->order.state && end->reason == explorer->reason &&
           end->undone_count == explorer->undone_count &&
           memcmp(end->undone, explorer->undone, (size_t)end->undone_count) == 0;
}

static uint64_t hash_of(const struct explorer *explorer)
{
    uint64_t hash = (uint64_t)explorer->order.state * MG_REASON_COUNT + (uint64_t)explorer->reason;
    for (int i = 0; i < explorer->undone_count; i++) {
        hash = (hash + explorer->undone[i] + 1) * UINT64_C(0x9E3779B97F4A7C15);
    }
    return (hash * UINT64_C(0x9E3779B97F4A7C15)) >> 32;
}

static void end_note(struct explorer *explorer)
{
    struct mg_exploration *found = explorer->found;
    size_t at = hash_of(explorer) % ENDS_HASH;
    while (explorer->hash[at] != 0 && !is_end(explorer, &found->ends[explorer->hash[at] - 1])) {
        at = (at + 1) % ENDS_HASH;
    }
    if (explorer->hash[at] == 0 && found->end_count == MG_EXPLORE_ENDS_MAX) {
        found->other_ends++;
        return;
    }
    if (explorer->hash[at] == 0) {
        struct mg_explored_end *end = &found->ends[found->end_count++];
        explorer->hash[at] = (int16_t)found->end_count;
        end->end = explorer->order.state;
        end->reason = explorer->reason;
        end->undone_count = explorer->undone_count;
        memcpy(end->undone, explorer->undone, sizeof(end->undone));
        end->first = way_of(explorer);
    }
    found->ends[explorer->hash[at] - 1].count++;
}

static enum mg_class claims_note(struct explorer *explorer, struct mg_err *err)
{
    for (int i = 0; i < explorer->found->claim_count; i++) {
        struct mg_explored_claim *claim = &explorer->found->claims[i];
        bool is_true = false;
        if (mg_claim_decide(explorer->workflow, explorer->claims[i], &explorer->order, &is_true, err) !=
            MG_OK) {
            err->class = MG_BAD_INPUT;
            return mg_err_prefix(err, "the claim \"%.*s\" has no value", (int)claim->text.len,
                                 claim->text.data);
        }
        if (is_true && claim->count++ == 0) {
            claim->first = way_of(explorer);
        }
    }
    return MG_OK;
}

/* ---- all ways ---- */

/* The choices of a way. Returns the number of the first that none of its departures has made. */
static int path_set(struct explorer *explorer, uint64_t number)
{
    const struct node *node = &explorer->nodes[number];
    int own = node->chosen != 0 ? node->at + 1 : 0;
    memset(explorer->path, 0, sizeof(explorer->path));
    for (; node->chosen != 0; node = &explorer->nodes[node->parent]) {
        explorer->path[node->at].chosen = node->chosen;
    }
    return own;
}

static enum mg_class way_take(struct explorer *explorer, uint64_t number, struct mg_err *err)
{
    uint64_t before = explorer->causes;
    int first = path_set(explorer, number);
    order_begin(explorer);
    order_run(explorer);
    uint64_t causes = explorer->causes - before;
    explorer->way_causes_max = causes > explorer->way_causes_max ? causes : explorer->way_causes_max;
    explorer->found->ways++;
    end_note(explorer);
    for (int at = explorer->depth - 1; at >= first; at--) {
        for (int option = 1; option < explorer->path[at].options; option++, explorer->node_count++) {
            if (explorer->node_count < explorer->ways_max) {
                explorer->nodes[explorer->node_count] =
                    (struct node){(uint32_t)number, (uint8_t)at, (uint8_t)option};
            }
        }
    }
    return claims_note(explorer, err);
}

/* Ways with the same number of departures are all taken, or none. Of a second order of failures, none with
 * more departures than of the first. */
static enum mg_class ways_take(struct explorer *explorer, bool is_failure_first, struct mg_err *err)
{
    struct mg_exploration *found = explorer->found;
    uint64_t next = 0, end = 1; /* the root */
    enum mg_class class = MG_OK;
    explorer->is_failure_first = is_failure_first;
    explorer->node_count = end;
    explorer->causes = 0;
    for (int departures = 0; class == MG_OK && next < end; departures++) {
        bool does_fit = end <= explorer->ways_max &&
                        explorer->causes + (end - next) * explorer->way_causes_max <= ALL_CAUSES_MAX;
        if (!does_fit || (found->is_cut && departures > found->departures)) {
            found->is_cut = true;
            found->departures = departures - 1;
            return MG_OK;
        }
        found->departures = departures > found->departures ? departures : found->departures;
        for (; next < end && class == MG_OK; next++) {
            class = way_take(explorer, next, err);
        }
        end = explorer->node_count;
    }
    return class;
}

static enum mg_class claims_compile(struct explorer *explorer, struct mg_err *err)
{
    const struct mg_profile *profile = explorer->profile;
    for (int i = 0; i < profile->claim_count; i++) {
        enum mg_class class = mg_claim_compile(explorer->workflow, profile->claims[i], explorer->arena,
                                               &explorer->claims[i], err);
        if (class != MG_OK) {
            return mg_err_prefix(err, "the claim \"%.*s\"", (int)profile->claims[i].len,
                                 profile->claims[i].data);
        }
        explorer->found->claims[i].text = profile->claims[i];
        explorer->found->claim_count++;
    }
    return MG_OK;
}

static int compare(const void *a, const void *b)
{
    const struct mg_explored_end *left = a, *right = b;
    if (left->end != right->end) {
        return left->end < right->end ? -1 : 1;
    }
    if (left->count != right->count) {
        return left->count > right->count ? -1 : 1;
    }
    if (left->undone_count != right->undone_count) {
        return left->undone_count < right->undone_count ? -1 : 1;
    }
    int order = memcmp(left->undone, right->undone, (size_t)left->undone_count);
    return order != 0 ? order : (int)left->reason - (int)right->reason;
}

static enum mg_class explore(struct explorer *explorer, struct mg_err *err)
{
    enum mg_class class = claims_compile(explorer, err);
    class = class == MG_OK ? ways_take(explorer, false, err) : class;
    if (class == MG_OK && explorer->found->has_parallel) {
        class = ways_take(explorer, true, err);
    }
    qsort(explorer->found->ends, (size_t)explorer->found->end_count, sizeof(explorer->found->ends[0]),
          compare);
    return class;
}

enum mg_class mg_explore(const struct mg_profile *profile, uint64_t ways_max,
                         struct mg_exploration *ret_exploration, struct mg_err *err)
{
    struct explorer *explorer = calloc(1, sizeof(*explorer));
    memset(ret_exploration, 0, sizeof(*ret_exploration));
    ret_exploration->ends = calloc(MG_EXPLORE_ENDS_MAX, sizeof(ret_exploration->ends[0]));
    struct mg_arena *arena = mg_arena_create(ARENA_MAX_BYTES);
    enum mg_class class = MG_TRANSIENT;
    struct node *nodes = calloc(ways_max, sizeof(*nodes));
    if (explorer != NULL && nodes != NULL && ret_exploration->ends != NULL && arena != NULL) {
        explorer->nodes = nodes;
        explorer->ways_max = ways_max;
        explorer->profile = profile;
        explorer->workflow = profile->workflow;
        explorer->plan = &profile->workflow->plan;
        explorer->found = ret_exploration;
        explorer->arena = arena;
        class = explore(explorer, err);
    } else {
        (void)mg_err_set(err, MG_TRANSIENT, "could not explore: no memory");
    }
    mg_arena_destroy(arena);
    free(nodes);
    free(explorer);
    if (class != MG_OK) {
        mg_exploration_finish(ret_exploration);
    }
    return class;
}

void mg_exploration_finish(struct mg_exploration *exploration)
{
    free(exploration->ends);
    exploration->ends = NULL;
    exploration->end_count = 0;
}
