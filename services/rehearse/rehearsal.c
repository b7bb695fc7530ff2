/* See rehearsal.h. Time passes only when nothing else is left to happen. */
#include "rehearsal.h"

#include <stdio.h>
#include <string.h>

#include "base/id.h"
#include "base/json_write.h"
#include "play.h"

/* Causes of one order: a hundred attempts of each of 64 steps. More is an order that does not end. */
#define CAUSES_MAX 6400
/* One case: its messages and calls. An order of 64 steps with large payloads fits. */
#define ARENA_MAX_BYTES      ((size_t)256 * 1024 * 1024)
#define SUBMISSION_MAX_BYTES ((size_t)MG_CASES_MAX_BYTES + 4096) /* the scheduler's own limit refuses it */

/* ---- events of the desk ---- */

static void on_request(void *arg, int step, const struct mg_request *request)
{
    mg_play_call(arg, step, request);
}

static struct mg_slice kept(struct mg_play *play, struct mg_slice found, struct mg_slice before)
{
    if (found.data == NULL) {
        return before;
    }
    struct mg_slice copy = mg_arena_copy(play->rehearsal->arena, found);
    play->has_failed = play->has_failed || copy.data == NULL;
    return copy;
}

static void on_status(void *arg, struct mg_slice body)
{
    struct mg_play *play = arg;
    play->output = kept(play, mg_json_find(body, "/output"), play->output);
    play->cause = kept(play, mg_json_find(body, "/cause"), play->cause);
    if (mg_slice_is(mg_json_find(body, "/status"), "\"rejected\"")) {
        play->is_rejected = true;
        play->refusal = kept(play, mg_json_find(body, "/reason"), play->refusal);
    }
}

/* Failed without a request. It does not show the order's way after the service's own refusal. */
static bool is_failed_by_guard(const struct mg_desk_change *change)
{
    static const enum mg_reason reasons[] = {MG_REASON_REQUIREMENT, MG_REASON_EXPRESSION,
                                             MG_REASON_SKIP_REFUSED, MG_REASON_TIMED_OUT,
                                             MG_REASON_SIGNAL_REFUSED};
    for (size_t i = 0; i < sizeof(reasons) / sizeof(reasons[0]); i++) {
        if (mg_slice_is(change->reason, mg_reason_name(reasons[i]))) {
            return true;
        }
    }
    return false;
}

/* The end of a wait for a signal. */
static void wait_note(struct mg_play *play, const struct mg_desk_change *change)
{
    bool *seen = play->coverage->seen[change->step];
    if (play->workflow->steps[change->step].signal == NULL) {
        return;
    }
    seen[MG_BRANCH_TIMED_OUT] =
        seen[MG_BRANCH_TIMED_OUT] || mg_slice_is(change->reason, mg_reason_name(MG_REASON_TIMED_OUT));
    seen[MG_BRANCH_ANSWER_DONE] = seen[MG_BRANCH_ANSWER_DONE] || change->to == MG_STEP_DONE;
    seen[MG_BRANCH_ANSWER_REFUSED] = seen[MG_BRANCH_ANSWER_REFUSED] ||
                                     (change->to == MG_STEP_FAILED &&
                                      mg_slice_is(change->reason, mg_reason_name(MG_REASON_SIGNAL_REFUSED)));
}

static void on_change(void *arg, const struct mg_desk_change *change)
{
    struct mg_play *play = arg;
    bool *seen = play->coverage->seen[change->step];
    bool is_refused = change->to == MG_STEP_FAILED && !is_failed_by_guard(change);
    seen[MG_BRANCH_DONE] = seen[MG_BRANCH_DONE] || change->to == MG_STEP_DONE;
    seen[MG_BRANCH_REFUSED] = seen[MG_BRANCH_REFUSED] || is_refused;
    seen[MG_BRANCH_UNKNOWN] = seen[MG_BRANCH_UNKNOWN] || change->to == MG_STEP_UNKNOWN;
    seen[MG_BRANCH_UNDONE] = seen[MG_BRANCH_UNDONE] || change->to == MG_STEP_UNDONE;
    seen[MG_BRANCH_SKIPPED] = seen[MG_BRANCH_SKIPPED] || change->to == MG_STEP_SKIPPED;
    wait_note(play, change);
}

static void condition_note(struct mg_play *play, int row, int number, bool is_true)
{
    int branch = number == MG_CONDITION_WHEN ? (is_true ? MG_BRANCH_WHEN_TRUE : MG_BRANCH_WHEN_FALSE)
                                             : MG_BRANCH_REQUIRE + 2 * number + (is_true ? 0 : 1);
    play->coverage->seen[row][branch] = true;
}

static void on_condition(void *arg, int step, int number, bool is_true)
{
    condition_note(arg, step, number, is_true);
}

static void on_order_condition(void *arg, int number, bool is_true)
{
    condition_note(arg, MG_COVERED_ORDER, number, is_true);
}

static void on_answer(void *arg, int step, enum mg_answer_meaning meaning)
{
    static const int branches[] = {[MG_ANSWER_DONE] = MG_BRANCH_ANSWER_DONE,
                                   [MG_ANSWER_REFUSED] = MG_BRANCH_ANSWER_REFUSED,
                                   [MG_ANSWER_OPEN] = MG_BRANCH_ANSWER_OPEN};
    struct mg_play *play = arg;
    if (meaning != MG_ANSWER_UNCLEAR) { /* a fault of the definition or the service, and no way to plan for */
        play->coverage->seen[step][branches[meaning]] = true;
    }
}

/* A step that waits for its next attempt, and of which an attempt may have acted. */
static void doubts_note(struct mg_play *play)
{
    const struct mg_order *order = mg_desk_order(play->desk);
    for (int i = 0; order != NULL && i < order->step_count; i++) {
        const struct mg_step *step = &order->steps[i];
        bool is_between =
            step->state == MG_STEP_WAITING || step->state == MG_STEP_UNKNOWN || step->state == MG_STEP_FAILED;
        if (is_between && step->is_maybe && !step->is_accepted) {
            play->coverage->seen[i][MG_BRANCH_UNKNOWN] = true;
        }
    }
}

/* ---- the run ---- */

/* The order's own requirements, which a submission meets after the shape of its payload. */
static void requirements_note(struct mg_play *play)
{
    const struct mg_render_input input = {.workflow = play->workflow,
                                          .order_id = MG_DESK_ORDER_ID,
                                          .payload = play->one->payload,
                                          .accepted_at_ms = play->one->accepted_at_ms};
    struct mg_err err;
    if (mg_workflow_payload_check(play->workflow, input.payload, &err) == MG_OK &&
        mg_workflow_lacks(play->workflow, input.payload) == NULL) {
        mg_workflow_guard_watch(&input, MG_STEP_OF_ORDER, on_order_condition, play);
    }
}

static bool submit(struct mg_play *play)
{
    struct mg_buf body;
    mg_buf_init(&body, SUBMISSION_MAX_BYTES);
    struct mg_json_writer json = mg_json_compact(&body);
    mg_json_object_begin(&json);
    mg_json_member_word(&json, "order_id", MG_DESK_ORDER_ID);
    mg_json_member_word(&json, "workflow", play->workflow->name);
    mg_json_member_raw(&json, "payload", play->one->payload);
    mg_json_object_end(&json);
    bool is_done = !body.failed && mg_desk_submit(play->desk, mg_buf_slice(&body), play->now_ms);
    mg_buf_finish(&body);
    requirements_note(play);
    return is_done;
}

static void signal_give(struct mg_play *play, const struct mg_case_signal *of)
{
    struct mg_desk_signal signal = {
        .name = of->name,
        .id = of->id,
        .by = of->by,
        .payload = of->payload.data != NULL ? of->payload : mg_slice_of("null"),
    };
    play->has_failed = !mg_desk_signal(play->desk, &signal, play->now_ms) || play->has_failed;
    bool is_taken = signal.outcome == MG_SIGNAL_TAKEN || signal.outcome == MG_SIGNAL_KEPT ||
                    signal.outcome == MG_SIGNAL_COUNTED;
    if (of->answer == MG_SIGNAL_NONE ? !is_taken : signal.outcome != of->answer) {
        mg_play_fault(
            play, of->pointer, "expected %s, and it was %s (%s)",
            of->answer == MG_SIGNAL_NONE ? "taken, kept or counted" : mg_signal_outcome_name(of->answer),
            signal.outcome == MG_SIGNAL_NONE ? "for no order" : mg_signal_outcome_name(signal.outcome),
            signal.text);
    }
}

/* The next cause: a reply or a signal that has come, or a question of the supervisor. False: nothing is left.
 */
static bool cause_take(struct mg_play *play)
{
    struct mg_coming *coming = play->coming;
    int64_t due_ms = mg_desk_due_ms(play->desk);
    bool has_come = coming != NULL && (due_ms == 0 || coming->at_ms <= due_ms);
    if (!has_come && due_ms == 0) {
        return false;
    }
    int64_t at_ms = has_come ? coming->at_ms : due_ms;
    play->now_ms = at_ms > play->now_ms ? at_ms : play->now_ms;
    if (has_come) {
        play->coming = coming->next;
    }
    if (has_come && coming->signal != NULL) {
        signal_give(play, coming->signal);
    } else if (has_come) {
        play->has_failed = !mg_desk_reply(play->desk, coming->body, play->now_ms) || play->has_failed;
    } else {
        play->has_failed = !mg_desk_ask(play->desk, play->now_ms) || play->has_failed;
    }
    doubts_note(play);
    return true;
}

static void signals_await(struct mg_play *play)
{
    for (const struct mg_case_signal *signal = play->one->signals; signal != NULL; signal = signal->next) {
        mg_play_await(
            play, &(struct mg_coming){.at_ms = play->one->accepted_at_ms + signal->at_ms, .signal = signal});
    }
}

static void run(struct mg_play *play)
{
    int count = 0;
    signals_await(play);
    play->has_failed = !submit(play) || play->has_failed;
    while (!play->has_failed && !play->lacks_answer && cause_take(play)) {
        if (++count >= CAUSES_MAX) {
            mg_play_fault(play, play->one->pointer, "the order did not end after %d messages", count);
            return;
        }
    }
}

static void end_write(struct mg_play *play)
{
    const struct mg_order *order = mg_desk_order(play->desk);
    const char *end = order == NULL ? "rejected" : mg_order_state_name(order->state);
    if (order != NULL && !mg_order_state_is_terminal(order->state)) {
        end = "waiting";
    }
    snprintf(play->rehearsal->end, sizeof(play->rehearsal->end), "%s", end);
    play->rehearsal->took_ms = play->now_ms - play->one->accepted_at_ms;
}

enum mg_class mg_rehearse(const struct mg_workflow *workflow, const struct mg_cases *cases,
                          const struct mg_case *one, const struct mg_service *const *services,
                          struct mg_coverage *coverage, struct mg_rehearsal *ret_rehearsal,
                          struct mg_err *err)
{
    memset(ret_rehearsal, 0, sizeof(*ret_rehearsal));
    struct mg_play play = {.workflow = workflow,
                           .cases = cases,
                           .one = one,
                           .services = services,
                           .coverage = coverage,
                           .rehearsal = ret_rehearsal,
                           .now_ms = one->accepted_at_ms};
    const struct mg_desk_events events = {.request = on_request,
                                          .status = on_status,
                                          .change = on_change,
                                          .condition = on_condition,
                                          .answer = on_answer,
                                          .arg = &play};
    play.last_call = &play.calls;
    ret_rehearsal->arena = mg_arena_create(ARENA_MAX_BYTES);
    mg_random_fix(1);
    play.desk = ret_rehearsal->arena != NULL ? mg_desk_create(workflow, &events) : NULL;
    play.has_failed = play.desk == NULL;
    if (!play.has_failed) {
        run(&play);
        end_write(&play);
        mg_play_judge(&play);
    }
    mg_desk_destroy(play.desk);
    if (!play.has_failed) {
        return MG_OK;
    }
    mg_rehearsal_finish(ret_rehearsal);
    return mg_err_set(err, MG_TRANSIENT, "could not rehearse case \"%s\": no memory", one->name);
}

void mg_rehearsal_finish(struct mg_rehearsal *rehearsal)
{
    mg_arena_destroy(rehearsal->arena);
    rehearsal->arena = NULL;
    rehearsal->faults = NULL;
}
