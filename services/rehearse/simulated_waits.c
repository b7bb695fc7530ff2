/*
 * Guards, moments and signals of a simulation (world.h). A signal goes to its step as in production: to one
 * that waits for its name, if it means something to it (scheduler/signal_apply.c). A step that has not begun
 * keeps it, for the first one of the name that begins (scheduler/kept_signals.c).
 */

#include "workflow/answer_conditions.h"
#include "world.h"

#define WHY_MAX_BYTES 512 /* of a guard's reason, which nobody reads here */

/* The values that the expressions of an order see. */
struct sight {
    struct mg_slice results[MG_STEPS_MAX];
    struct mg_render_input input;
};

static void sight_make(const struct mg_world *world, const struct mg_lone_order *lone, struct sight *ret)
{
    *ret = (struct sight){.input = {.workflow = world->workflow,
                                    .order_id = "order-1",
                                    .payload = world->profile->payload,
                                    .results = ret->results,
                                    .accepted_at_ms = lone->submitted_ms}};
    for (int i = 0; i < world->plan->step_count; i++) {
        enum mg_step_state state = lone->order->steps[i].state;
        bool has_own = lone->steps[i].result.data != NULL;
        if (state == MG_STEP_DONE) {
            ret->results[i] = has_own ? lone->steps[i].result : world->profile->results[i];
        }
        ret->input.skipped |= state == MG_STEP_SKIPPED ? UINT64_C(1) << i : 0;
    }
}

/* ---- signals ---- */

static struct mg_signal_tally *tally_of(const struct mg_world *world, int step)
{
    return &world->tally->signals[world->number_of[step]];
}

static void signals_plan(struct mg_world *world, struct mg_lone_order *lone, int step)
{
    const struct mg_arrival *arrival = &world->profile->signals[step];
    if (!mg_share_draw(arrival->share, &lone->stream)) {
        return;
    }
    for (int i = 0; i < world->workflow->steps[step].signal->of; i++) {
        mg_world_plan(world, world->now_ms + mg_spread_draw(&arrival->time, &lone->stream), MG_EVENT_SIGNAL,
                      lone, step);
    }
}

void mg_waits_accepted(struct mg_world *world, struct mg_lone_order *lone)
{
    for (int i = 0; i < world->plan->step_count; i++) {
        if (world->plan->steps[i].is_signal && world->profile->signals[i].is_since_acceptance) {
            signals_plan(world, lone, i);
        }
    }
}

static struct mg_lone_signal signal_draw(const struct mg_profile *profile, int step, uint64_t *stream)
{
    const struct mg_choices *choices = &profile->choices[step];
    struct mg_lone_signal signal = {(int8_t)step, MG_CARRIES_NOTHING};
    if (mg_share_draw(profile->habits[step][MG_KIND_DO].refuse, stream)) {
        signal.choice = MG_CARRIES_REFUSAL;
    } else if (choices->count > 0) {
        uint32_t at = (uint32_t)(mg_stream_next(stream) % MG_SHARE_ALL), sum = 0;
        for (int i = 0; i < choices->count && signal.choice == MG_CARRIES_NOTHING; i++) {
            sum += choices->items[i].share;
            signal.choice = at < sum ? (int8_t)i : MG_CARRIES_NOTHING;
        }
    }
    return signal;
}

/* A signal with a payload is judged by the conditions of the step; `ret_payload` is absent for others. */
static enum mg_answer_meaning signal_judge(const struct mg_world *world, const struct mg_lone_order *lone,
                                           int step, struct mg_lone_signal signal,
                                           struct mg_slice *ret_payload)
{
    struct sight sight;
    char why[MG_ERROR_TEXT_MAX + 1];
    *ret_payload = (struct mg_slice){NULL, 0};
    if (signal.choice < 0) {
        return signal.choice == MG_CARRIES_REFUSAL ? MG_ANSWER_REFUSED : MG_ANSWER_DONE;
    }
    *ret_payload = world->profile->choices[signal.step].items[signal.choice].payload;
    sight_make(world, lone, &sight);
    return mg_workflow_signal_judge(&sight.input, step, *ret_payload, why);
}

/* The fact of a step that waits, with one more signal. KEPT: it needs more. NONE: the signal means nothing to
 * it. */
static enum mg_signal_fact signal_count(const struct mg_world *world, struct mg_lone_order *lone, int step,
                                        struct mg_lone_signal signal)
{
    struct mg_slice payload;
    enum mg_answer_meaning meaning = signal_judge(world, lone, step, signal, &payload);
    if (meaning != MG_ANSWER_DONE) {
        return meaning == MG_ANSWER_REFUSED ? MG_SIGNAL_FACT_REFUSED : MG_SIGNAL_FACT_NONE;
    }
    if (++lone->steps[step].done_count < world->workflow->steps[step].signal->of) {
        return MG_SIGNAL_FACT_KEPT;
    }
    lone->steps[step].result = payload;
    return MG_SIGNAL_FACT_DONE;
}

static bool is_end(enum mg_signal_fact fact)
{
    return fact == MG_SIGNAL_FACT_DONE || fact == MG_SIGNAL_FACT_REFUSED;
}

/* A step that begins takes the kept signals that mean something to it, so many as it needs. The others stay
 * for the next step of the name. */
static enum mg_signal_fact kept_take(const struct mg_world *world, struct mg_lone_order *lone, int step)
{
    struct mg_lone_step *keeper = &lone->steps[world->number_of[step]];
    enum mg_signal_fact fact = MG_SIGNAL_FACT_NONE;
    int count = keeper->kept_count;
    keeper->kept_count = 0;
    lone->steps[step].done_count = 0;
    for (int i = 0; i < count; i++) {
        enum mg_signal_fact next =
            is_end(fact) ? MG_SIGNAL_FACT_NONE : signal_count(world, lone, step, keeper->kept[i]);
        fact = is_end(next) ? next : fact;
        if (next == MG_SIGNAL_FACT_NONE) {
            keeper->kept[keeper->kept_count++] = keeper->kept[i];
        }
    }
    tally_of(world, step)->early += is_end(fact) ? 1 : 0;
    return fact;
}

/* 3: a step that waits, and the signal means something; 2: one that waits; 1: one that has not begun. */
static int rank_of(const struct mg_world *world, const struct mg_lone_order *lone, int step,
                   struct mg_lone_signal signal)
{
    const struct mg_step *state = &lone->order->steps[step];
    struct mg_slice payload;
    if (!mg_step_is_open(state)) {
        return state->state == MG_STEP_PENDING ? 1 : 0;
    }
    enum mg_answer_meaning meaning = signal_judge(world, lone, step, signal, &payload);
    return meaning == MG_ANSWER_DONE || meaning == MG_ANSWER_REFUSED ? 3 : 2;
}

/* The step of its name to which a signal goes; -1: none. */
static int place_find(const struct mg_world *world, const struct mg_lone_order *lone,
                      struct mg_lone_signal signal)
{
    int best = 0, place = -1;
    for (int i = 0; i < world->plan->step_count && !lone->is_over; i++) {
        bool is_it = world->plan->steps[i].is_signal && world->number_of[i] == world->number_of[signal.step];
        int rank = is_it ? rank_of(world, lone, i, signal) : 0;
        place = rank > best ? i : place;
        best = rank > best ? rank : best;
    }
    return place;
}

bool mg_waits_signal(struct mg_world *world, struct mg_lone_order *lone, int step,
                     struct mg_lone_signal *ret_signal, struct mg_cause *ret_cause)
{
    *ret_signal = signal_draw(world->profile, step, &lone->stream);
    int to = place_find(world, lone, *ret_signal);
    if (to < 0) {
        tally_of(world, step)->late++;
        return false;
    }
    bool is_open = mg_step_is_open(&lone->order->steps[to]);
    if (!is_open && lone->steps[world->number_of[to]].kept_count == MG_KEPT_MAX) {
        return false;
    }
    enum mg_signal_fact fact = is_open ? signal_count(world, lone, to, *ret_signal) : MG_SIGNAL_FACT_KEPT;
    *ret_cause = (struct mg_cause){
        .kind = MG_CAUSE_SIGNAL, .step = to, .signal = {.fact = is_end(fact) ? fact : MG_SIGNAL_FACT_KEPT}};
    return true;
}

void mg_waits_signal_end(struct mg_world *world, struct mg_lone_order *lone,
                         const struct mg_lone_signal *signal, const struct mg_cause *cause, bool is_taken)
{
    struct mg_lone_step *keeper = &lone->steps[world->number_of[cause->step]];
    if (!is_taken) {
        tally_of(world, cause->step)->late++;
    } else if (lone->order->steps[cause->step].state == MG_STEP_PENDING) {
        keeper->kept[keeper->kept_count++] = *signal;
    }
}

void mg_waits_change(struct mg_world *world, struct mg_lone_order *lone,
                     const struct mg_transition *transition)
{
    int step = transition->step;
    struct mg_signal_tally *tally = tally_of(world, step);
    if (transition->to == MG_STEP_WAITING) {
        tally->waited++;
        if (!world->profile->signals[step].is_since_acceptance) {
            signals_plan(world, lone, step);
        }
    } else if (transition->from == MG_STEP_WAITING) {
        tally->done += transition->to == MG_STEP_DONE ? 1 : 0;
        tally->refused += transition->reason == MG_REASON_SIGNAL_REFUSED ? 1 : 0;
        tally->timed_out += transition->reason == MG_REASON_TIMED_OUT ? 1 : 0;
        mg_quantiles_add(&tally->time_ms, world->now_ms - lone->steps[step].begun_ms);
    }
}

/* ---- the facts of a step ---- */

static enum mg_fact guard_decide(const struct mg_world *world, struct mg_lone_order *lone, int step,
                                 const struct mg_render_input *input, struct mg_buf *why)
{
    uint32_t share = world->profile->when[step];
    uint64_t bit = UINT64_C(1) << step;
    struct mg_slice text;
    if (share == MG_WHEN_OPEN) {
        return input->payload.data != NULL ? mg_workflow_guard_decide(input, step, &text, why) : MG_FACT_GO;
    }
    if ((lone->drawn & bit) == 0) {
        lone->drawn |= bit;
        lone->skips |= mg_share_draw(share, &lone->stream) ? 0 : bit;
    }
    return (lone->skips & bit) != 0 ? MG_FACT_SKIP : MG_FACT_GO;
}

void mg_waits_facts(struct mg_world *world, struct mg_lone_order *lone, int step,
                    struct mg_cause_facts *ret_facts)
{
    const struct mg_step_plan *plan = &world->plan->steps[step];
    const struct mg_habit *habit = &world->profile->habits[step][MG_KIND_DO];
    struct sight sight;
    char memory[WHY_MAX_BYTES];
    struct mg_buf why;
    sight_make(world, lone, &sight);
    mg_buf_init_fixed(&why, memory, sizeof(memory));
    *ret_facts = (struct mg_cause_facts){.fact = guard_decide(world, lone, step, &sight.input, &why)};
    if (ret_facts->fact != MG_FACT_GO) {
        return;
    }
    if (plan->is_signal) {
        ret_facts->signal = kept_take(world, lone, step);
    } else if (plan->is_until && habit->has_time) {
        ret_facts->until_ms = world->now_ms + mg_spread_draw(&habit->time, &lone->stream);
    } else if (plan->is_until) {
        mg_buf_clear(&why);
        ret_facts->fact = mg_workflow_wait_until(&sight.input, step, &ret_facts->until_ms, &why);
    }
}
