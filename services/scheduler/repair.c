/*
 * An operator's repair of an order's payload or of a step's result, and its limits. A step that is done or
 * maybe is undone as it was done: had the payload's total risen since the charge, the refund would rise with
 * it. So a repair that would change such an undo request is refused as a whole. So is a result that would
 * change a request which is out.
 */
#include "repair.h"

#include <string.h>

#include "core/key.h"
#include "kept_signals.h"
#include "order_input.h"

/* The values that requests are made from: payload and results, before a repair or after it. */
struct basis {
    struct mg_slice payload;
    struct mg_slice results[MG_STEPS_MAX]; /* for later steps */
    int settled;                           /* this step counts as done, with its result; -1: as it is */
};

static struct basis basis_of(const struct mg_fold *fold)
{
    struct basis basis = {.payload = fold->record->payload, .settled = -1};
    for (int i = 0; i < fold->workflow->workflow->plan.step_count; i++) {
        basis.results[i] = fold->record->steps[i].result;
    }
    return basis;
}

/* Renders a request of a step into `ret_request`. MG_TRANSIENT: no memory. Any other failure: it cannot be
 * rendered, which is reported when it is due. */
static enum mg_class request_render(const struct mg_fold *fold, int step, enum mg_kind kind,
                                    const struct basis *basis, struct mg_buf *ret_request)
{
    const struct mg_order_record *record = fold->record;
    const struct mg_workflow *workflow = fold->workflow->workflow;
    const struct mg_step *state = &record->order.steps[step];
    enum mg_kind of_key = kind == MG_KIND_UNDO ? MG_KIND_UNDO : MG_KIND_DO;
    char key[MG_KEY_SIZE], do_key[MG_KEY_SIZE];
    mg_key_write(record->order_id, workflow->steps[step].name, of_key, mg_key_generation(state, of_key), key);
    mg_key_write(record->order_id, workflow->steps[step].name, MG_KIND_DO, state->generation, do_key);
    struct mg_order_input input;
    mg_order_input_make_request(workflow, record, step, kind, &input);
    input.input.payload = basis->payload;
    if (basis->settled >= 0) {
        input.input.skipped &= ~(UINT64_C(1) << basis->settled);
    }
    for (int i = 0; i < workflow->plan.step_count; i++) {
        bool counts = i != step && (input.input.skipped >> i & 1) == 0;
        input.results[i] = counts ? basis->results[i] : input.results[i];
    }
    struct mg_err err;
    enum mg_class class = mg_workflow_render(&input.input, step, kind, key, do_key, ret_request, &err);
    return class == MG_OK && ret_request->failed ? MG_TRANSIENT : class;
}

/* MG_BAD_INPUT: the request would change. MG_TRANSIENT: no memory. */
static enum mg_class request_compare(const struct mg_fold *fold, int step, enum mg_kind kind,
                                     const struct basis *now, const struct basis *then)
{
    struct mg_buf before, after;
    mg_buf_init(&before, MG_REQUEST_MAX);
    mg_buf_init(&after, MG_REQUEST_MAX);
    enum mg_class class = request_render(fold, step, kind, now, &before);
    if (class == MG_OK) {
        class = request_render(fold, step, kind, then, &after);
        bool is_kept = class == MG_OK && mg_slice_equal(mg_buf_slice(&before), mg_buf_slice(&after));
        class = is_kept || class == MG_TRANSIENT ? class : MG_BAD_INPUT;
    } else if (class != MG_TRANSIENT) {
        class = MG_OK; /* there was none to change */
    }
    mg_buf_finish(&before);
    mg_buf_finish(&after);
    return class;
}

/* The next request of a step on the way back: its undo, or the one that learns the result for it. */
static enum mg_kind kind_back(const struct mg_fold *fold, int step)
{
    const struct mg_step_plan *plan = &fold->workflow->workflow->plan.steps[step];
    struct mg_err err;
    bool is_known = !plan->needs_result ||
                    mg_workflow_undo_check(fold->workflow->workflow, step,
                                           mg_order_undo_result(&fold->record->steps[step]), &err) == MG_OK;
    if (is_known || plan->learn == MG_LEARN_NONE) {
        return MG_KIND_UNDO;
    }
    return plan->learn == MG_LEARN_REPEAT ? MG_KIND_DO : MG_KIND_VERIFY;
}

/* In other states nothing is left to undo, or the repair is meant for the undo itself. */
static bool is_to_be_undone(const struct mg_step *step)
{
    return step->state == MG_STEP_DONE || (step->is_maybe && step->state < MG_STEP_UNDO_PENDING);
}

/* True if a step of the order may still be undone, by the version that the command carries. If not, the
 * core decides on the command alone. */
static bool is_undo_possible(const struct mg_fold *fold, const struct mg_command *command)
{
    const struct mg_order *order = &fold->record->order;
    bool is_known = command->version == 0 || command->version == order->version;
    for (int i = 0; i < order->step_count; i++) {
        if (fold->workflow->workflow->plan.steps[i].is_pivot && order->steps[i].state == MG_STEP_DONE) {
            return false; /* the order can only go forward */
        }
    }
    return is_known && order->goal == MG_GOAL_PROCESSED && order->state != MG_ORDER_PROCESSED;
}

/* The payload with the members set. MG_TRANSIENT: no memory. Any other failure: the payload would be
 * invalid. */
static enum mg_class members_set(struct mg_batch *batch, const struct mg_command *command,
                                 struct mg_slice payload, struct mg_slice *ret_repaired, struct mg_err *err)
{
    const struct mg_json_limits *limits = &batch->shared->options->limits;
    struct mg_buf buf;
    enum mg_class class = MG_OK;
    mg_buf_init(&buf, limits->max_bytes);
    for (int i = 0; class == MG_OK && i < command->set_count; i++) {
        const char *pointer = mg_arena_text(batch->arena, command->sets[i].pointer);
        mg_buf_clear(&buf);
        class = pointer != NULL ? mg_json_set(payload, pointer, command->sets[i].value, &buf, err)
                                : mg_err_set(err, MG_TRANSIENT, "no memory");
        if (class == MG_OK && buf.failed) {
            class = mg_err_set(err, mg_buf_class(&buf), "the repaired payload is above %zu bytes",
                               limits->max_bytes);
        }
        if (class == MG_OK) {
            payload = mg_arena_copy(batch->arena, mg_buf_slice(&buf));
            class = payload.data != NULL ? MG_OK : mg_err_set(err, MG_TRANSIENT, "no memory");
        }
    }
    mg_buf_finish(&buf);
    if (class == MG_OK) {
        class = mg_json_check(payload, limits, err);
    }
    if (class == MG_OK) {
        *ret_repaired = payload;
    }
    return class;
}

/* MG_OK: the repair leaves the way back of each step as it was. `except`: of no interest; -1: none. */
static enum mg_class undos_compare(const struct mg_fold *fold, int except, const struct basis *then,
                                   int *ret_step)
{
    const struct mg_workflow *workflow = fold->workflow->workflow;
    const struct basis now = basis_of(fold);
    for (int i = 0; i < workflow->plan.step_count; i++) {
        bool matters =
            i != except && workflow->plan.steps[i].has_undo && is_to_be_undone(&fold->record->order.steps[i]);
        enum mg_class class = matters ? request_compare(fold, i, kind_back(fold, i), &now, then) : MG_OK;
        if (class != MG_OK) {
            *ret_step = i;
            return class;
        }
    }
    return MG_OK;
}

/* A repaired payload is held against the same rules as a new one. */
static enum mg_class payload_check(const struct mg_fold *fold, struct mg_slice repaired, struct mg_err *err)
{
    const struct mg_workflow *workflow = fold->workflow->workflow;
    struct mg_order_input input;
    enum mg_class class = mg_workflow_payload_check(workflow, repaired, err);
    if (class == MG_OK) {
        mg_order_input_make(workflow, fold->record, -1, &input);
        input.input.payload = repaired;
        class = mg_workflow_admit(&input.input, err);
    }
    return class;
}

static enum mg_class undos_check(const struct mg_fold *fold, struct mg_slice repaired, struct mg_err *err)
{
    struct basis then = basis_of(fold);
    int step = 0;
    then.payload = repaired;
    enum mg_class class = undos_compare(fold, -1, &then, &step);
    if (class == MG_TRANSIENT) {
        return mg_err_set(err, MG_TRANSIENT, "no memory");
    }
    if (class != MG_OK) {
        return mg_err_set(err, MG_BAD_INPUT,
                          "step %s is done or may be, and its undo would no longer fit the "
                          "do: keep the part of the payload that its undo uses, or compensate the order",
                          fold->workflow->workflow->steps[step].name);
    }
    return MG_OK;
}

/* True if a person is asked: the signature stands for the payload as it was. */
static bool is_of_people(const struct mg_signal_wait *wait)
{
    return wait != NULL && (wait->of > 1 || wait->title.data != NULL || wait->choices.data != NULL);
}

/* True if the guard that has skipped the step would let it begin with the payload. */
static bool is_skipped_no_more(const struct mg_fold *fold, int step, struct mg_slice payload)
{
    struct mg_order_input input;
    struct mg_slice text;
    struct mg_buf why;
    mg_order_input_make(fold->workflow->workflow, fold->record, step, &input);
    input.input.payload = payload;
    mg_buf_init(&why, MG_ERROR_TEXT_MAX);
    bool begins = mg_workflow_guard_decide(&input.input, step, &text, &why) == MG_FACT_GO;
    mg_buf_finish(&why);
    return begins;
}

/* An approval stands for the payload that was seen, and so does the condition that asked nobody. */
static enum mg_class signatures_check(const struct mg_fold *fold, struct mg_slice repaired,
                                      struct mg_err *err)
{
    const struct mg_workflow *workflow = fold->workflow->workflow;
    for (int i = 0; i < workflow->plan.step_count; i++) {
        const struct mg_step *step = &fold->record->order.steps[i];
        if (!is_of_people(workflow->steps[i].signal)) {
            continue;
        }
        if (step->state == MG_STEP_DONE || mg_kept_signals_count(fold->record->steps[i].open) > 0) {
            return mg_err_set(
                err, MG_BAD_INPUT,
                "step %s is signed for the payload as it is: compensate or cancel the order, and "
                "post it anew",
                workflow->steps[i].name);
        }
        if (step->state == MG_STEP_SKIPPED && step->reason == MG_REASON_WHEN_FALSE &&
            is_skipped_no_more(fold, i, repaired)) {
            return mg_err_set(err, MG_BAD_INPUT,
                              "step %s was skipped, and would ask a person with this payload: compensate or "
                              "cancel the order, and post it anew",
                              workflow->steps[i].name);
        }
    }
    return MG_OK;
}

struct mg_slice mg_repair_payload(struct mg_batch *batch, struct mg_fold *fold,
                                  const struct mg_command *command, struct mg_err *err)
{
    struct mg_slice repaired = {NULL, 0};
    enum mg_class class = members_set(batch, command, fold->record->payload, &repaired, err);
    if (class == MG_OK) {
        class = payload_check(fold, repaired, err);
    }
    if (class == MG_OK && fold->workflow->workflow->has_signals) {
        class = signatures_check(fold, repaired, err);
    }
    if (class == MG_OK && is_undo_possible(fold, command)) {
        class = undos_check(fold, repaired, err);
    }
    fold->has_failed = fold->has_failed || class == MG_TRANSIENT;
    return class == MG_OK ? repaired : (struct mg_slice){NULL, 0};
}

/* Steps whose request of this kind is out and has the same bytes when it is rendered anew. `except` counts
 * not. MG_TRANSIENT: no memory. */
static enum mg_class requests_kept(const struct mg_fold *fold, int except, enum mg_kind kind,
                                   const struct basis *basis, uint64_t *ret_steps)
{
    const struct mg_workflow *workflow = fold->workflow->workflow;
    enum mg_class class = MG_OK;
    struct mg_buf request;
    *ret_steps = 0;
    mg_buf_init(&request, MG_REQUEST_MAX);
    for (int i = 0; i < workflow->plan.step_count && class != MG_TRANSIENT; i++) {
        const struct mg_step_record *record = &fold->record->steps[i];
        const uint8_t *digest = kind == MG_KIND_DO ? record->do_digest : record->undo_digest;
        if (i == except || !(kind == MG_KIND_DO ? record->has_do_digest : record->has_undo_digest)) {
            continue;
        }
        mg_buf_clear(&request);
        class = request_render(fold, i, kind, basis, &request);
        if (class == MG_OK) {
            uint8_t now[MG_SHA256_SIZE];
            mg_sha256(mg_buf_slice(&request), now);
            *ret_steps |= memcmp(now, digest, sizeof(now)) == 0 ? UINT64_C(1) << i : 0;
        }
    }
    mg_buf_finish(&request);
    return class == MG_TRANSIENT ? MG_TRANSIENT : MG_OK;
}

enum mg_class mg_repair_check_settled(struct mg_fold *fold, int step, struct mg_slice result,
                                      struct mg_err *err)
{
    static const enum mg_kind KINDS[] = {MG_KIND_DO, MG_KIND_UNDO};
    const struct mg_workflow *workflow = fold->workflow->workflow;
    const struct basis now = basis_of(fold);
    struct basis then = now;
    uint64_t changed = 0;
    int undone = 0;
    then.results[step] = result;
    then.settled = step;
    enum mg_class class = MG_OK;
    for (size_t i = 0; i < sizeof(KINDS) / sizeof(KINDS[0]) && class == MG_OK; i++) {
        uint64_t kept = 0, stays = 0;
        class = requests_kept(fold, step, KINDS[i], &now, &kept);
        class = class == MG_OK ? requests_kept(fold, step, KINDS[i], &then, &stays) : class;
        changed |= kept & ~stays;
    }
    enum mg_class compared = class == MG_OK ? undos_compare(fold, step, &then, &undone) : class;
    if (class != MG_OK || compared == MG_TRANSIENT) {
        return mg_err_set(err, MG_TRANSIENT, "no memory");
    }
    const char *lack = fold->record->order.steps[step].state == MG_STEP_SKIPPED ? "step" : "result";
    if (changed != 0) {
        return mg_err_set(
            err, MG_BAD_INPUT,
            "a request of step %s was made without this %s, and would differ with it; undo the step by hand "
            "and settle it with --outcome absent",
            workflow->steps[__builtin_ctzll(changed)].name, lack);
    }
    if (compared != MG_OK) {
        return mg_err_set(
            err, MG_BAD_INPUT,
            "step %s was done without this %s, and its undo would differ with it; undo the step by hand and "
            "settle it with --outcome absent",
            workflow->steps[undone].name, lack);
    }
    return MG_OK;
}
