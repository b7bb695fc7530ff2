/*
 * Guards, moments and signals of a simulation (world.h). A signal comes to its order as in production: to the
 * first step that waits for its name, or will (scheduler/signal_apply.c). A step that has not begun keeps it
 * (scheduler/kept_signals.c).
 */
#include <string.h>

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

/* Adds one signal to those that have counted for the step. NONE: the step waits for more. */
static enum mg_signal_fact signal_count(const struct mg_world *world, struct mg_lone_order *lone, int step,
                                        struct mg_lone_signal signal)
{
    struct sight sight;
    char why[MG_ERROR_TEXT_MAX + 1];
    bool is_refusal = signal.choice == MG_CARRIES_REFUSAL;
    enum mg_answer_meaning meaning = is_refusal ? MG_ANSWER_REFUSED : MG_ANSWER_DONE;
    struct mg_slice payload = {NULL, 0};
    if (signal.choice >= 0) {
        payload = world->profile->choices[signal.step].items[signal.choice].payload;
        sight_make(world, lone, &sight);
        meaning = mg_workflow_signal_judge(&sight.input, step, payload, why);
    }
    if (meaning == MG_ANSWER_REFUSED) {
        return MG_SIGNAL_FACT_REFUSED;
    }
    if (meaning != MG_ANSWER_DONE ||
        ++lone->steps[step].done_count < world->workflow->steps[step].signal->of) {
        return MG_SIGNAL_FACT_NONE;
    }
    lone->steps[step].result = payload;
    return MG_SIGNAL_FACT_DONE;
}

/* The signals that were kept for a step which begins: its own, and those of steps just before it that wait
 * for the same and were skipped. */
static enum mg_signal_fact kept_count(const struct mg_world *world, struct mg_lone_order *lone, int step)
{
    enum mg_signal_fact fact = MG_SIGNAL_FACT_NONE;
    int first = step;
    for (int i = step - 1; i >= 0; i--) {
        bool is_same = world->plan->steps[i].is_signal && world->number_of[i] == world->number_of[step];
        if (is_same && lone->order->steps[i].state != MG_STEP_SKIPPED) {
            break;
        }
        first = is_same ? i : first;
    }
    lone->steps[step].done_count = 0;
    for (int i = first; i <= step; i++) {
        bool is_same = world->plan->steps[i].is_signal && world->number_of[i] == world->number_of[step];
        for (int n = 0; is_same && n < lone->steps[i].kept_count && fact == MG_SIGNAL_FACT_NONE; n++) {
            fact = signal_count(world, lone, step, lone->steps[i].kept[n]);
        }
    }
    tally_of(world, step)->early += fact != MG_SIGNAL_FACT_NONE ? 1 : 0;
    return fact;
}

/* The first step that still needs a signal of this name; -1: none. */
static int awaiting_find(const struct mg_world *world, const struct mg_lone_order *lone, int number)
{
    for (int i = 0; i < world->plan->step_count && !lone->is_over; i++) {
        const struct mg_step *state = &lone->order->steps[i];
        bool is_it = world->plan->steps[i].is_signal && world->number_of[i] == number;
        if (is_it && (state->state == MG_STEP_PENDING || mg_step_is_open(state))) {
            return i;
        }
    }
    return -1;
}

bool mg_waits_signal(struct mg_world *world, struct mg_lone_order *lone, int step,
                     struct mg_lone_signal *ret_signal, struct mg_cause *ret_cause)
{
    int to = awaiting_find(world, lone, world->number_of[step]);
    if (to < 0) {
        tally_of(world, step)->late++;
        return false;
    }
    bool is_open = mg_step_is_open(&lone->order->steps[to]);
    *ret_signal = signal_draw(world->profile, step, &lone->stream);
    if (!is_open && lone->steps[to].kept_count == MG_KEPT_MAX) {
        return false;
    }
    enum mg_signal_fact fact = is_open ? signal_count(world, lone, to, *ret_signal) : MG_SIGNAL_FACT_KEPT;
    *ret_cause =
        (struct mg_cause){.kind = MG_CAUSE_SIGNAL,
                          .step = to,
                          .signal = {.fact = fact == MG_SIGNAL_FACT_NONE ? MG_SIGNAL_FACT_KEPT : fact}};
    return true;
}

void mg_waits_signal_end(struct mg_world *world, struct mg_lone_order *lone,
                         const struct mg_lone_signal *signal, const struct mg_cause *cause, bool is_taken)
{
    struct mg_lone_step *to = &lone->steps[cause->step];
    if (!is_taken) {
        tally_of(world, cause->step)->late++;
    } else if (lone->order->steps[cause->step].state == MG_STEP_PENDING) {
        to->kept[to->kept_count++] = *signal;
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
        ret_facts->signal = kept_count(world, lone, step);
    } else if (plan->is_until && habit->has_time) {
        ret_facts->until_ms = world->now_ms + mg_spread_draw(&habit->time, &lone->stream);
    } else if (plan->is_until) {
        mg_buf_clear(&why);
        ret_facts->fact = mg_workflow_wait_until(&sight.input, step, &ret_facts->until_ms, &why);
    }
}
