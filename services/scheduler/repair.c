/*
 * An operator's repair of an order's payload or of a step's result, and its limits. A step that is done or
 * maybe is undone as it was done: had the payload's total risen since the charge, the refund would rise with
 * it. So a repair that would change such an undo request is refused as a whole. So is a result that would
 * change a request which is out.
 */
#include <string.h>

#include "item.h"
#include "order_input.h"
#include "scheduler.h"

#include "core/key.h"

/* Renders the do or the undo of a step into `ret_request`. MG_TRANSIENT: no memory. Any other failure: it
 * cannot be rendered, which is reported when it is due. */
static enum mg_class request_render(const struct mg_fold *fold, int step, enum mg_kind kind,
                                    struct mg_slice payload, const struct mg_slice *results,
                                    struct mg_buf *ret_request)
{
    const struct mg_order_record *record = fold->record;
    const struct mg_workflow *workflow = fold->workflow->workflow;
    uint32_t generation = record->order.steps[step].generation;
    char key[MG_KEY_SIZE], do_key[MG_KEY_SIZE];
    mg_key_write(record->order_id, workflow->steps[step].name, kind, generation, key);
    mg_key_write(record->order_id, workflow->steps[step].name, MG_KIND_DO, generation, do_key);
    struct mg_order_input input;
    mg_order_input_make(workflow, record, step, &input);
    input.input.payload = payload;
    for (int i = 0; i < workflow->plan.step_count; i++) {
        bool counts = (input.input.skipped >> i & 1) == 0;
        input.results[i] = counts ? results[i] : input.results[i];
    }
    struct mg_err err;
    enum mg_class class = mg_workflow_render(&input.input, step, kind, key, do_key, ret_request, &err);
    return class == MG_OK && ret_request->failed ? MG_TRANSIENT : class;
}

static void results_of(const struct mg_fold *fold, struct mg_slice ret_results[MG_STEPS_MAX])
{
    for (int i = 0; i < fold->workflow->workflow->plan.step_count; i++) {
        ret_results[i] = fold->record->steps[i].result;
    }
}

/* In other states nothing is left to undo, or the repair is meant for the undo itself. */
static bool is_to_be_undone(const struct mg_step *step)
{
    return step->state == MG_STEP_DONE || (step->is_maybe && step->state < MG_STEP_UNDO_PENDING);
}

/* MG_BAD_INPUT: the repair would change the undo. MG_TRANSIENT: no memory. */
static enum mg_class undo_compare(const struct mg_fold *fold, int step, struct mg_slice repaired)
{
    struct mg_buf before, after;
    struct mg_slice results[MG_STEPS_MAX];
    results_of(fold, results);
    mg_buf_init(&before, MG_REQUEST_MAX);
    mg_buf_init(&after, MG_REQUEST_MAX);
    enum mg_class class = request_render(fold, step, MG_KIND_UNDO, fold->record->payload, results, &before);
    if (class == MG_OK) {
        class = request_render(fold, step, MG_KIND_UNDO, repaired, results, &after);
        bool is_kept = class == MG_OK && mg_slice_equal(mg_buf_slice(&before), mg_buf_slice(&after));
        class = is_kept || class == MG_TRANSIENT ? class : MG_BAD_INPUT;
    } else if (class != MG_TRANSIENT) {
        class = MG_OK; /* there was none to change */
    }
    mg_buf_finish(&before);
    mg_buf_finish(&after);
    return class;
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
    const struct mg_json_limits *limits = &batch->scheduler->options->limits;
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

/* MG_OK: the repair leaves the undo of each step as it was. */
static enum mg_class undos_compare(const struct mg_fold *fold, struct mg_slice repaired, struct mg_err *err)
{
    const struct mg_workflow *workflow = fold->workflow->workflow;
    for (int i = 0; i < workflow->plan.step_count; i++) {
        bool matters = workflow->plan.steps[i].has_undo && is_to_be_undone(&fold->record->order.steps[i]);
        enum mg_class class = matters ? undo_compare(fold, i, repaired) : MG_OK;
        if (class == MG_TRANSIENT) {
            return mg_err_set(err, MG_TRANSIENT, "no memory");
        }
        if (class != MG_OK) {
            return mg_err_set(err, MG_BAD_INPUT,
                              "step %s is done or may be, and its undo would no longer fit the "
                              "do: keep the part of the payload that its undo uses, or compensate the order",
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
    if (class == MG_OK && is_undo_possible(fold, command)) {
        class = undos_compare(fold, repaired, err);
    }
    fold->has_failed = fold->has_failed || class == MG_TRANSIENT;
    return class == MG_OK ? repaired : (struct mg_slice){NULL, 0};
}

/* Steps whose request of this kind is out and has the same bytes when it is rendered anew. `except` counts
 * not. MG_TRANSIENT: no memory. */
static enum mg_class requests_kept(const struct mg_fold *fold, int except, enum mg_kind kind,
                                   const struct mg_slice *results, uint64_t *ret_steps)
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
        class = request_render(fold, i, kind, fold->record->payload, results, &request);
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
    struct mg_step *settled = &fold->record->order.steps[step];
    const enum mg_step_state state = settled->state;
    struct mg_slice before[MG_STEPS_MAX], after[MG_STEPS_MAX];
    uint64_t changed = 0;
    results_of(fold, before);
    results_of(fold, after);
    after[step] = result;
    for (size_t i = 0; i < sizeof(KINDS) / sizeof(KINDS[0]); i++) {
        uint64_t kept = 0, stays = 0;
        enum mg_class class = requests_kept(fold, step, KINDS[i], before, &kept);
        settled->state = MG_STEP_DONE;
        class = class == MG_OK ? requests_kept(fold, step, KINDS[i], after, &stays) : class;
        settled->state = state;
        if (class != MG_OK) {
            return mg_err_set(err, MG_TRANSIENT, "no memory");
        }
        changed |= kept & ~stays;
    }
    if (changed != 0) {
        return mg_err_set(
            err, MG_BAD_INPUT,
            "a request of step %s was made without this %s, and would differ with it; undo the step by hand "
            "and settle it with --outcome absent",
            fold->workflow->workflow->steps[__builtin_ctzll(changed)].name,
            state == MG_STEP_SKIPPED ? "step" : "result");
    }
    return MG_OK;
}
