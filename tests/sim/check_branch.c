/*
 * Conditions. Which steps of an order had to run, and which to be skipped or refused, follows from its
 * payload and from the answers in the ledger (choice.c). The engine's expressions and guards have no part in
 * this.
 */
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "checker.h"
#include "json/json.h"
#include "nodes.h"
#include "remote.h"
#include "wire/status.h"

/* ---- the transitions of an event ---- */

static bool word_is(struct mg_slice quoted, const char *word)
{
    size_t len = strlen(word);
    return quoted.len == len + 2 && memcmp(quoted.data + 1, word, len) == 0;
}

static struct mg_slice member_of(const struct mg_event_record *event, int index, const char *name)
{
    char pointer[48];
    (void)snprintf(pointer, sizeof(pointer), "/%d/%s", index, name);
    return mg_json_find(event->transitions, pointer);
}

static int state_read(struct mg_slice quoted)
{
    int state = 0;
    while (state < MG_STEP_STATE_COUNT && !word_is(quoted, mg_step_state_name((enum mg_step_state)state))) {
        state++;
    }
    return state;
}

static enum mg_kind kind_read(struct mg_slice quoted)
{
    int kind = 0;
    while (kind < MG_KIND_COUNT && !word_is(quoted, mg_kind_name((enum mg_kind)kind))) {
        kind++;
    }
    return (enum mg_kind)kind;
}

bool sim_check_moved(const struct mg_event_record *event, const struct mg_workflow *workflow, int index,
                     struct sim_moved *ret_moved)
{
    struct mg_slice step = member_of(event, index, "step");
    *ret_moved = (struct sim_moved){.step = -1, .reason = member_of(event, index, "reason")};
    if (ret_moved->reason.data == NULL) {
        return false;
    }
    for (int i = 0; step.data != NULL && i < workflow->plan.step_count; i++) {
        if (word_is(step, workflow->steps[i].name)) {
            ret_moved->step = i;
            ret_moved->from = (enum mg_step_state)state_read(member_of(event, index, "from"));
            ret_moved->to = (enum mg_step_state)state_read(member_of(event, index, "to"));
            ret_moved->kind = kind_read(member_of(event, index, "kind"));
        }
    }
    return true;
}

bool sim_check_moved_for(const struct sim_moved *moved, enum mg_reason reason)
{
    return word_is(moved->reason, mg_reason_name(reason));
}

/* ---- commits ---- */

/* The fate that this transition gives its step. False: it decides nothing about that. */
static bool fate_of(const struct sim_moved *moved, enum sim_fate *ret_fate)
{
    bool is_out = moved->to == MG_STEP_RUNNING || moved->to == MG_STEP_WAITING;
    bool is_begun = moved->from == MG_STEP_PENDING && is_out;
    if (is_begun) {
        *ret_fate = SIM_RUNS;
    } else if (sim_check_moved_for(moved, MG_REASON_WHEN_FALSE)) {
        *ret_fate = SIM_SKIPPED_BY_WHEN;
    } else if (sim_check_moved_for(moved, MG_REASON_NEEDS_SKIPPED)) {
        *ret_fate = SIM_SKIPPED_BY_NEED;
    } else if (sim_check_moved_for(moved, MG_REASON_REQUIREMENT)) {
        *ret_fate = SIM_REFUSED;
    } else if (sim_check_moved_for(moved, MG_REASON_EXPRESSION)) {
        *ret_fate = SIM_NOT_EVALUATED;
    } else {
        return false;
    }
    return true;
}

static void moved_check(const struct sim_submitted *order, const struct mg_workflow *workflow,
                        uint64_t skipped, const struct sim_moved *moved)
{
    enum sim_fate is, should = sim_choice_fate(&order->choice, skipped, moved->step);
    if (fate_of(moved, &is) && is != should) {
        sim_violated(
            "fate_of_a_step", "order %s: %s goes from %s to %s (%.*s), and by its payload it must %s",
            order->order_id, workflow->steps[moved->step].name, mg_step_state_name(moved->from),
            mg_step_state_name(moved->to), (int)moved->reason.len, moved->reason.data, sim_fate_name(should));
    }
}

static bool has_failed_step(const struct mg_order *order)
{
    for (int i = 0; i < order->step_count; i++) {
        if (order->steps[i].state == MG_STEP_FAILED) {
            return true;
        }
    }
    return false;
}

/* A step begins, or is skipped, in the same commit in which the last step before it is done or skipped. So
 * does the order's end. */
void sim_check_ready_begin(const struct mg_order_record *record)
{
    const struct mg_order *order = &record->order;
    const struct mg_workflow *workflow = sim_check_workflow(record->workflow);
    bool is_open = (order->state == MG_ORDER_PENDING || order->state == MG_ORDER_PROCESSING) &&
                   !mg_order_is_in_line(order);
    bool is_late = order->complete_by_ms != 0 && order->complete_by_ms <= sim_store_now_ms();
    if (!is_open || order->goal != MG_GOAL_PROCESSED || is_late || has_failed_step(order) ||
        !sim_is_time_true()) {
        return;
    }
    uint64_t finished = 0;
    for (int i = 0; i < order->step_count; i++) {
        enum mg_step_state state = order->steps[i].state;
        finished |= state == MG_STEP_DONE || state == MG_STEP_SKIPPED ? UINT64_C(1) << i : 0;
    }
    if (finished == (UINT64_C(1) << order->step_count) - 1) {
        sim_violated("ready_steps_begin", "order %s is %s, and all of its steps are over", record->order_id,
                     mg_order_state_name(order->state));
    }
    for (int i = 0; i < order->step_count; i++) {
        if (order->steps[i].state == MG_STEP_PENDING && (workflow->plan.steps[i].after & ~finished) == 0) {
            sim_violated("ready_steps_begin", "order %s: %s is pending, and all steps before it are over",
                         record->order_id, workflow->steps[i].name);
        }
    }
}

static bool is_branching(const struct mg_order_record *record, const struct sim_submitted *order)
{
    /* Another body under the id of an order that a failover lost makes an order of another workflow. */
    return order->choice.is_branching && sim_workflow_branches(record->workflow);
}

void sim_check_branch_committed(const struct mg_order_record *before, const struct mg_order_write *write)
{
    const struct mg_order_record *record = write->record;
    const struct sim_submitted *order = sim_submitted_find(mg_slice_of(record->order_id));
    if (!is_branching(record, order)) {
        return;
    }
    if (!sim_choice_is_taken(&order->choice)) {
        sim_violated("fate_of_a_step", "order %s is stored, and its requirement is not met", order->order_id);
    }
    const struct mg_workflow *workflow = sim_check_workflow(record->workflow);
    uint64_t skipped = 0;
    for (int i = 0; before != NULL && i < record->order.step_count; i++) {
        skipped |= before->order.steps[i].state == MG_STEP_SKIPPED ? UINT64_C(1) << i : 0;
    }
    for (int i = 0; i < write->event_count; i++) {
        struct sim_moved moved;
        for (int k = 0; sim_check_moved(&write->events[i], workflow, k, &moved); k++) {
            if (moved.step < 0) {
                continue;
            }
            moved_check(order, workflow, skipped, &moved);
            uint64_t bit = UINT64_C(1) << moved.step;
            skipped = moved.to == MG_STEP_SKIPPED ? skipped | bit : skipped & ~bit;
        }
    }
}

/* ---- calls ---- */

/* The number in the body is that of this order's own step, or 0 without one. */
static void number_check(const struct sim_submitted *order, const char *step, struct mg_slice number,
                         enum sim_branch_step of, const char *name)
{
    bool is_its_own = mg_slice_is(number, "0");
    bool may_have_run = sim_choice_fate_alone(&order->choice, of) == SIM_RUNS;
    for (size_t i = 0; number.data != NULL && may_have_run && i < sim_ledger()->count; i++) {
        const struct sim_work *work = sim_ledger()->entries[i]->value;
        char text[24];
        (void)snprintf(text, sizeof(text), "%llu", (unsigned long long)work->number);
        is_its_own =
            is_its_own || (mg_slice_is(number, text) && strcmp(work->order_id, order->order_id) == 0 &&
                           strcmp(work->step, name) == 0);
    }
    if (number.data != NULL && !is_its_own) {
        sim_violated("fate_of_a_step", "order %s: %s names number %.*s of %s, which has no such",
                     order->order_id, step, (int)number.len, number.data, name);
    }
}

/* The moment in the body is that of the order's row, in each copy of each request. */
static void moment_check(const struct sim_submitted *order, const char *step, struct mg_slice moment)
{
    struct sim_stored stored;
    char text[MG_TIME_TEXT_SIZE];
    if (moment.data == NULL || order->is_tail_lost || !sim_store_find(order->order_id, &stored)) {
        return;
    }
    mg_time_format(stored.record->created_at_ms, text);
    if (!word_is(moment, text)) {
        sim_violated("moment_of_acceptance", "order %s: %s has the moment %.*s, and its row has %s",
                     order->order_id, step, (int)moment.len, moment.data, text);
    }
}

void sim_check_called(const char *order_id, const char *step, struct mg_slice body)
{
    const struct sim_submitted *order = sim_submitted_find(mg_slice_of(order_id));
    if (order == NULL || order->workflow < 0 || !order->choice.is_branching) {
        return;
    }
    int index =
        mg_workflow_step_index(sim_check_workflow(sim_workflow_name(order->workflow)), mg_slice_of(step));
    if (index < 0) {
        return; /* of another body's workflow, after a failover */
    }
    enum sim_fate fate = sim_choice_fate_alone(&order->choice, index);
    if (fate != SIM_RUNS) {
        sim_violated("fate_of_a_step", "order %s: a service is called for %s, which by its payload must %s",
                     order->order_id, step, sim_fate_name(fate));
    }
    if (body.data != NULL) {
        number_check(order, step, mg_json_find(body, "/wrap"), SIM_WRAP, "wrap");
        number_check(order, step, mg_json_find(body, "/insured"), SIM_INSURE, "insure");
        moment_check(order, step, mg_json_find(body, "/at"));
    }
}

/* ---- the end ---- */

bool sim_check_had_to_run(const struct mg_order_record *record, const struct sim_submitted *order, int step)
{
    return !is_branching(record, order) || sim_choice_fate_alone(&order->choice, step) == SIM_RUNS;
}

void sim_check_branch_ended(const struct mg_order_record *record, const struct sim_submitted *order)
{
    const struct mg_workflow *workflow = sim_check_workflow(record->workflow);
    bool is_judged = is_branching(record, order) && record->order.state == MG_ORDER_PROCESSED &&
                     !order->is_tail_lost && !order->is_operated;
    for (int i = 0; is_judged && i < record->order.step_count; i++) {
        const struct mg_step *step = &record->order.steps[i];
        enum sim_fate fate = sim_choice_fate_alone(&order->choice, i);
        enum mg_reason reason = fate == SIM_SKIPPED_BY_WHEN   ? MG_REASON_WHEN_FALSE
                                : fate == SIM_SKIPPED_BY_NEED ? MG_REASON_NEEDS_SKIPPED
                                                              : MG_REASON_NONE;
        bool is_right = fate == SIM_RUNS ? step->state == MG_STEP_DONE
                                         : step->state == MG_STEP_SKIPPED && step->reason == reason;
        if (!is_right) {
            sim_violated("fate_of_a_step",
                         "order %s is processed, and %s is %s (%s); by its payload it must %s",
                         record->order_id, workflow->steps[i].name, mg_step_state_name(step->state),
                         mg_reason_name(step->reason), sim_fate_name(fate));
        }
    }
}

void sim_check_refusal(const struct sim_submitted *order, const struct mg_status_message *status)
{
    bool is_for_payload = strstr(status->reason, SIM_REQUIREMENT) != NULL;
    bool is_excused = sim_has_happened(SIM_STORE_FAILOVER) || order->workflow < 0;
    if (!is_excused && is_for_payload == sim_choice_is_taken(&order->choice)) {
        sim_violated("fate_of_a_step", "order %s is refused: %s", order->order_id, status->reason);
    }
}

void sim_check_not_refused(const struct sim_submitted *order)
{
    if (!sim_choice_is_taken(&order->choice) && !order->is_refused) {
        sim_violated("fate_of_a_step", "order %s does not meet its requirement, and is not refused",
                     order->order_id);
    }
}
