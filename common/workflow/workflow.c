/*
 * Reads a workflow definition member by member into the core's plan and the templates of requests, with the
 * defaults that proto/workflow.schema.json documents. It does not stop at the first mistake, so the author of
 * the file gets all of them. Checks of the whole definition are in definition_check.c.
 */
#include "workflow/workflow.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "json/reader.h"
#include "wire/http_url.h"
#include "wire/request.h"
#include "workflow/definition_check.h"
#include "workflow/expressions.h"
#include "workflow/http_action.h"
#include "workflow/input_shape.h"

#define SECOND_MS INT64_C(1000)
#define HOUR_MS   (3600 * SECOND_MS)
#define DAY_MS    (24 * HOUR_MS)

#define STEP_COMPLETE_WITHIN_DEFAULT_MS                                                                      \
    (30 * SECOND_MS) /* most HTTP calls that get an answer at all get it within this time */
#define POLL_DEFAULT_MS      (5 * SECOND_MS)
#define COOL_DOWN_DEFAULT_MS (300 * SECOND_MS) /* the usual time of a restart or a failover of a service */
#define ATTEMPTS_MAX         1000              /* more is a loop; cool-downs serve long waits */

static const struct mg_retry_plan DO_RETRY_DEFAULT = {
    .attempts = 5, .backoff_ms = 500, .max_backoff_ms = 30 * SECOND_MS};
/* An undo that is given up leaves an effect behind, so it has more attempts. */
static const struct mg_retry_plan UNDO_RETRY_DEFAULT = {
    .attempts = 10, .backoff_ms = 500, .max_backoff_ms = 30 * SECOND_MS};

static const char *const WORKFLOW_NAMES[] = {
    "$schema", "workflow", "version", "complete_within", "on_failure", "on_expiry", "labels",
    "output",  "input",    "values",  "require",         "sequence",   "steps",     NULL};
static const char *const STEP_NAMES[] = {
    "step",          "service", "after",  "needs", "when",         "require",         "complete_within",
    "finish_within", "poll",    "retry",  "pivot", "at_most_once", "absent_is_final", "on_unknown",
    "learn",         "do",      "verify", "undo",  "done_when",    "refused_when",    "result",
    "wait",          NULL};
static const char *const RETRY_NAMES[] = {"attempts",  "backoff",    "max_backoff",
                                          "cool_down", "cool_downs", NULL};
static const char *const ACTION_NAMES[] = {"method", "path",   "query",    "headers", "body",
                                           "encode", "accept", "response", NULL};
static const char *const UNDO_NAMES[] = {
    "method",   "path",  "query",           "headers",   "body",         "encode",        "accept",
    "response", "retry", "complete_within", "done_when", "refused_when", "finish_within", "poll",
    "verify",   NULL};
static const char *const ON_FAILURE[] = {"compensate", "error", NULL};
static const char *const ON_UNKNOWN[] = {"retry", "verify", "operator", NULL};
static const char *const RESULT[] = {"json", "none", NULL};
static const char *const LEARN[] = {"repeat", "verify", NULL};

/* The definition and the memory that its slices point into. */
struct owned_workflow {
    struct mg_workflow workflow; /* first, so that its address is the address of the whole */
    struct mg_arena *arena;
};

static void read_retry(const struct mg_json_object *parent, const struct mg_retry_plan *defaults,
                       struct mg_retry_plan *ret_retry)
{
    char pointer[MG_JSON_POINTER_SIZE];
    struct mg_json_object object;
    struct mg_slice value = mg_json_get(parent, "retry", MG_OPTIONAL);

    *ret_retry = *defaults;
    if (value.data == NULL) {
        return;
    }
    mg_json_pointer_join(parent->pointer, mg_slice_of("retry"), pointer);
    if (!mg_json_object_open(&object, parent->faults, value, pointer, RETRY_NAMES, MG_JSON_UNKNOWN_REFUSED)) {
        return;
    }
    ret_retry->attempts =
        (uint32_t)mg_json_get_integer(&object, "attempts", MG_OPTIONAL, 1, ATTEMPTS_MAX, defaults->attempts);
    ret_retry->backoff_ms = mg_json_get_duration(&object, "backoff", HOUR_MS, defaults->backoff_ms);
    int64_t max_default =
        defaults->max_backoff_ms > ret_retry->backoff_ms ? defaults->max_backoff_ms : ret_retry->backoff_ms;
    ret_retry->max_backoff_ms = mg_json_get_duration(&object, "max_backoff", DAY_MS, max_default);
    if (ret_retry->max_backoff_ms < ret_retry->backoff_ms) {
        mg_json_member_fault(&object, MG_BAD_INPUT, "max_backoff",
                             "less than \"backoff\"; it must be the same or more");
    }
    int64_t cool_down_ms = mg_json_get_duration(&object, "cool_down", MG_WAIT_MAX_MS, 0);
    ret_retry->cool_downs = (uint32_t)mg_json_get_integer(&object, "cool_downs", MG_OPTIONAL, 0, ATTEMPTS_MAX,
                                                          cool_down_ms > 0 ? 1 : 0);
    if (ret_retry->cool_downs > 0) {
        ret_retry->cool_down_ms = cool_down_ms > 0 ? cool_down_ms : COOL_DOWN_DEFAULT_MS;
    }
}

static struct mg_slice any_value(void *arg, const struct mg_template_piece *reference)
{
    (void)arg; /* a harmless text stands for every reference */
    (void)reference;
    return mg_slice_of("\"x\"");
}

/* Checks a path's fixed parts; the check of references reports a broken reference. */
static void check_path(const struct mg_json_object *object, struct mg_arena *arena, struct mg_slice path)
{
    const struct mg_template_values values = {any_value, NULL};
    struct mg_template template;
    struct mg_err err;
    struct mg_buf sample;

    mg_buf_init(&sample, path.len + 1);
    enum mg_class class = mg_template_compile(path, MG_TEMPLATE_PATH, arena, &template, &err);
    class = class == MG_OK ? mg_template_render(&template, &values, &sample, &err) : class;
    if (class == MG_OK) {
        const char *wrong = mg_path_fault(mg_buf_slice(&sample));
        if (wrong != NULL) {
            mg_json_member_fault(object, MG_BAD_INPUT, "path", "%s", wrong);
        }
    } else if (class == MG_TRANSIENT) {
        mg_json_member_fault(object, class, "path", "%s", err.text);
    }
    mg_buf_finish(&sample);
}

static void read_path(const struct mg_json_object *object, struct mg_arena *arena, struct mg_action *action)
{
    struct mg_slice quoted = mg_json_get_typed(object, "path", MG_REQUIRED, MG_JSON_STRING);
    struct mg_buf path;

    if (quoted.data == NULL) {
        return;
    }
    mg_buf_init(&path, quoted.len);
    (void)mg_json_string(quoted, &path); /* checked: a string */
    if (path.failed) {
        mg_json_member_fault(object, MG_TRANSIENT, "path", "could not be read: no memory");
    } else if (path.len == 0 || path.data[0] != '/') {
        mg_json_member_fault(object, MG_BAD_INPUT, "path", "the path must start with \"/\"");
    } else {
        action->path = mg_arena_copy(arena, mg_buf_slice(&path));
        if (action->path.data == NULL) {
            mg_json_fault(object->faults, MG_TRANSIENT, object->pointer, "could not be kept: no memory");
        } else {
            check_path(object, arena, action->path);
        }
    }
    mg_buf_finish(&path);
}

/* `object` is the action; the object of an undo has further members. */
static void read_action(const struct mg_json_object *object, struct mg_arena *arena,
                        struct mg_action *ret_action)
{
    int method = mg_json_get_word(object, "method", MG_REQUIRED, MG_WORDS_METHOD, MG_BAD_INPUT, -1);

    ret_action->is_present = true;
    if (method >= 0) {
        size_t len = strlen(MG_WORDS_METHOD[method]);
        memcpy(ret_action->method, MG_WORDS_METHOD[method], len + 1);
    }
    read_path(object, arena, ret_action);
    ret_action->body = mg_json_get(object, "body", MG_OPTIONAL);
    if (method == 0 && ret_action->body.data != NULL) {
        mg_json_member_fault(object, MG_BAD_INPUT, "body",
                             "a GET has no body; leave it out, or put values into the path");
    }
    mg_reach_read(object, arena, ret_action);
}

static bool open_action(const struct mg_json_object *step, const char *name, enum mg_json_need need,
                        const char *const *names, struct mg_json_object *ret_action)
{
    char pointer[MG_JSON_POINTER_SIZE];
    struct mg_slice value = mg_json_get(step, name, need);

    if (value.data == NULL) {
        return false;
    }
    mg_json_pointer_join(step->pointer, mg_slice_of(name), pointer);
    return mg_json_object_open(ret_action, step->faults, value, pointer, names, MG_JSON_UNKNOWN_REFUSED);
}

static void read_conditions(const struct mg_json_object *object, struct mg_conditions_source *source)
{
    source->done_when = mg_json_get_typed(object, "done_when", MG_OPTIONAL, MG_JSON_STRING);
    source->refused_when = mg_json_get_typed(object, "refused_when", MG_OPTIONAL, MG_JSON_STRING);
}

/* Of a step or an undo. */
static void read_polls(const struct mg_json_object *object, bool has_verify, int64_t *ret_finish_within_ms,
                       int64_t *ret_poll_ms)
{
    *ret_finish_within_ms = mg_json_get_duration(object, "finish_within", MG_WAIT_MAX_MS, 0);
    *ret_poll_ms = mg_json_get_duration(object, "poll", DAY_MS, POLL_DEFAULT_MS);
    if (*ret_finish_within_ms > 0 && !has_verify) {
        mg_json_member_fault(
            object, MG_BAD_INPUT, "finish_within",
            "accepted work is polled with \"verify\", and there is none; add a \"verify\" action");
    }
    if (*ret_finish_within_ms == 0 && mg_json_get(object, "poll", MG_OPTIONAL).data != NULL) {
        mg_json_member_fault(object, MG_BAD_INPUT, "poll",
                             "nothing is polled without \"finish_within\"; add it, or leave "
                             "\"poll\" out");
    }
}

static void read_undo(const struct mg_json_object *step, struct mg_arena *arena, struct mg_step_plan *plan,
                      struct mg_action *actions, struct mg_step_source *source)
{
    struct mg_json_object undo, verify;
    struct mg_slice value = mg_json_get(step, "undo", MG_OPTIONAL);

    if (value.data == NULL) {
        mg_json_fault(step->faults, MG_BAD_INPUT, step->pointer,
                      "member \"undo\" is missing; give an action, or \"none\"");
        return;
    }
    if (mg_json_type_of(value) == MG_JSON_STRING) {
        if (!mg_json_string_is(value, mg_slice_of("none"))) {
            mg_json_member_fault(step, MG_BAD_INPUT, "undo",
                                 "must be an object with method and path, or \"none\"");
        }
        return;
    }
    if (!open_action(step, "undo", MG_REQUIRED, UNDO_NAMES, &undo)) {
        return;
    }
    plan->has_undo = true;
    read_action(&undo, arena, &actions[MG_KIND_UNDO]);
    plan->undo_complete_within_ms = mg_json_get_duration(
        &undo, "complete_within", MG_STEP_COMPLETE_WITHIN_MAX_MS, plan->complete_within_ms);
    read_retry(&undo, &UNDO_RETRY_DEFAULT, &plan->undo_retry);
    read_conditions(&undo, &source->undo_conditions);
    plan->has_undo_verify = mg_json_get(&undo, "verify", MG_OPTIONAL).data != NULL;
    read_polls(&undo, plan->has_undo_verify, &plan->undo_finish_within_ms, &plan->undo_poll_ms);
    if (open_action(&undo, "verify", MG_OPTIONAL, ACTION_NAMES, &verify)) {
        read_action(&verify, arena, &actions[MG_CALL_UNDO_VERIFY]);
    }
}

/* Reads the step's policy for an unknown outcome, and checks its requirements. */
static void read_policy(const struct mg_json_object *step, struct mg_step_plan *plan)
{
    struct mg_retry_plan retry_default = DO_RETRY_DEFAULT;

    plan->is_pivot = mg_json_get_bool(step, "pivot", MG_OPTIONAL, false);
    plan->is_at_most_once = mg_json_get_bool(step, "at_most_once", MG_OPTIONAL, false);
    plan->is_absent_final = mg_json_get_bool(step, "absent_is_final", MG_OPTIONAL, false);
    if (plan->is_at_most_once) {
        retry_default.attempts = 1;
    }
    read_retry(step, &retry_default, &plan->retry);
    enum mg_on_unknown unknown_default = plan->has_verify        ? MG_ON_UNKNOWN_VERIFY
                                         : plan->is_at_most_once ? MG_ON_UNKNOWN_OPERATOR
                                                                 : MG_ON_UNKNOWN_RETRY;
    int on_unknown =
        mg_json_get_word(step, "on_unknown", MG_OPTIONAL, ON_UNKNOWN, MG_BAD_INPUT, (int)unknown_default);
    if (on_unknown >= 0) {
        plan->on_unknown = (enum mg_on_unknown)on_unknown;
    }
    if (plan->is_at_most_once && (plan->retry.attempts > 1 || plan->retry.cool_downs > 0)) {
        mg_json_member_fault(
            step, MG_BAD_INPUT, "retry",
            "an \"at_most_once\" step has one attempt and no cool-down; leave \"retry\" out, or "
            "\"at_most_once\"");
    }
    if (plan->is_at_most_once && on_unknown == MG_ON_UNKNOWN_RETRY) {
        mg_json_member_fault(
            step, MG_BAD_INPUT, "on_unknown",
            "\"retry\" would call an \"at_most_once\" step again; use \"verify\" or \"operator\"");
    }
    if (on_unknown == MG_ON_UNKNOWN_VERIFY && !plan->has_verify) {
        mg_json_member_fault(
            step, MG_BAD_INPUT, "on_unknown",
            "\"verify\" without a \"verify\" action; add the action, or use \"retry\" or \"operator\"");
    }
    int learn = mg_json_get_word(step, "learn", MG_OPTIONAL, LEARN, MG_BAD_INPUT, -1);
    if (learn >= 0) {
        plan->learn = learn == 0 ? MG_LEARN_REPEAT : MG_LEARN_VERIFY;
    }
    if (plan->is_absent_final && !plan->has_verify) {
        mg_json_member_fault(
            step, MG_BAD_INPUT, "absent_is_final",
            "nothing finds a step absent without a \"verify\" action; add it, or leave this out");
    }
}

static void read_times(const struct mg_json_object *step, struct mg_step_plan *plan)
{
    plan->complete_within_ms = mg_json_get_duration(step, "complete_within", MG_STEP_COMPLETE_WITHIN_MAX_MS,
                                                    STEP_COMPLETE_WITHIN_DEFAULT_MS);
    plan->undo_complete_within_ms = plan->complete_within_ms;
    read_polls(step, plan->has_verify, &plan->finish_within_ms, &plan->poll_ms);
}

static void read_step(struct mg_json_faults *faults, struct owned_workflow *owned, struct mg_slice value,
                      int index, struct mg_step_source *source)
{
    char pointer[MG_JSON_POINTER_SIZE];
    struct mg_json_object object, action;
    struct mg_workflow_step *step = &owned->workflow.steps[index];
    struct mg_step_plan *plan = &owned->workflow.plan.steps[index];

    (void)snprintf(pointer, sizeof(pointer), "/steps/%d", index);
    if (!mg_json_object_open(&object, faults, value, pointer, STEP_NAMES, MG_JSON_UNKNOWN_REFUSED)) {
        return;
    }
    source->is_present = true;
    mg_json_get_name(&object, "step", MG_REQUIRED, step->name);
    source->after = mg_json_get_typed(&object, "after", MG_OPTIONAL, MG_JSON_ARRAY);
    source->needs = mg_json_get_typed(&object, "needs", MG_OPTIONAL, MG_JSON_ARRAY);
    source->guard.when = mg_json_get_typed(&object, "when", MG_OPTIONAL, MG_JSON_STRING);
    source->guard.require = mg_json_get_typed(&object, "require", MG_OPTIONAL, MG_JSON_ARRAY);
    struct mg_slice wait = mg_json_get(&object, "wait", MG_OPTIONAL);
    read_conditions(&object, &source->conditions);
    if (wait.data != NULL) {
        mg_workflow_wait_read(&object, wait, owned->arena, plan, step, source);
        owned->workflow.has_signals = owned->workflow.has_signals || plan->is_signal;
        return;
    }
    mg_json_get_name(&object, "service", MG_REQUIRED, step->service);
    step->has_no_result = mg_json_get_word(&object, "result", MG_OPTIONAL, RESULT, MG_BAD_INPUT, 0) == 1;
    plan->has_verify = mg_json_get(&object, "verify", MG_OPTIONAL).data != NULL;
    read_times(&object, plan);
    read_policy(&object, plan);
    if (open_action(&object, "do", MG_REQUIRED, ACTION_NAMES, &action)) {
        read_action(&action, owned->arena, &step->actions[MG_KIND_DO]);
    }
    if (open_action(&object, "verify", MG_OPTIONAL, ACTION_NAMES, &action)) {
        read_action(&action, owned->arena, &step->actions[MG_KIND_VERIFY]);
    }
    read_undo(&object, owned->arena, plan, step->actions, source);
}

static void read_steps(const struct mg_json_object *object, struct owned_workflow *owned,
                       struct mg_step_source sources[MG_STEPS_MAX])
{
    struct mg_slice steps = mg_json_get_typed(object, "steps", MG_REQUIRED, MG_JSON_ARRAY);
    struct mg_slice name, value;
    int count = 0;

    if (steps.data == NULL) {
        return;
    }
    for (struct mg_json_walk walk = mg_json_walk_of(steps); mg_json_walk_next(&walk, &name, &value);
         count++) {
        if (count < MG_STEPS_MAX) {
            read_step(object->faults, owned, value, count, &sources[count]);
        }
    }
    if (count == 0 || count > MG_STEPS_MAX) {
        mg_json_member_fault(object, MG_BAD_INPUT, "steps", "%d steps; a workflow has 1 to %d", count,
                             MG_STEPS_MAX);
    }
    owned->workflow.plan.step_count = count < MG_STEPS_MAX ? count : MG_STEPS_MAX;
}

/* Compiled once the names of all steps and values are known. */
static void read_guards(const struct mg_json_object *object, struct owned_workflow *owned,
                        const struct mg_step_source sources[MG_STEPS_MAX])
{
    struct mg_workflow *workflow = &owned->workflow;
    const struct mg_guard_source of_order = {
        .require = mg_json_get_typed(object, "require", MG_OPTIONAL, MG_JSON_ARRAY)};
    char pointer[MG_JSON_POINTER_SIZE];

    workflow->guard = mg_workflow_guard_read(workflow, &of_order, "", owned->arena, object->faults);
    for (int i = 0; i < workflow->plan.step_count; i++) {
        (void)snprintf(pointer, sizeof(pointer), "/steps/%d", i);
        struct mg_guard *guard =
            mg_workflow_guard_read(workflow, &sources[i].guard, pointer, owned->arena, object->faults);
        workflow->steps[i].guard = guard;
        workflow->plan.steps[i].has_guard = guard != NULL || workflow->plan.steps[i].is_signal;
        workflow->has_guards = workflow->has_guards || guard != NULL || sources[i].needs.data != NULL;
    }
}

static void read_workflow(struct mg_json_faults *faults, struct owned_workflow *owned)
{
    struct mg_json_object object;
    struct mg_step_source sources[MG_STEPS_MAX] = {{0}};
    struct mg_workflow *workflow = &owned->workflow;

    if (!mg_json_definition_open(&object, faults, &MG_JSON_LIMITS_DEFAULT, WORKFLOW_NAMES)) {
        return;
    }
    (void)mg_json_get_typed(&object, "$schema", MG_OPTIONAL, MG_JSON_STRING); /* for editors */
    mg_json_get_name(&object, "workflow", MG_REQUIRED, workflow->name);
    workflow->version = mg_json_get_integer(&object, "version", MG_REQUIRED, 1, MG_WORKFLOW_VERSION_MAX, 1);
    workflow->plan.complete_within_ms = mg_json_get_duration(&object, "complete_within", MG_WAIT_MAX_MS, 0);
    int on_failure = mg_json_get_word(&object, "on_failure", MG_OPTIONAL, ON_FAILURE, MG_BAD_INPUT, 0);
    int on_expiry = mg_json_get_word(&object, "on_expiry", MG_OPTIONAL, ON_FAILURE, MG_BAD_INPUT, 0);
    workflow->plan.on_failure = on_failure == 1 ? MG_ON_FAILURE_ERROR : MG_ON_FAILURE_COMPENSATE;
    workflow->plan.on_expiry = on_expiry == 1 ? MG_ON_FAILURE_ERROR : MG_ON_FAILURE_COMPENSATE;
    mg_workflow_labels_read(&object, owned->arena, workflow);
    mg_workflow_sequence_read(&object, owned->arena, workflow);
    workflow->output = mg_json_get(&object, "output", MG_OPTIONAL);
    read_steps(&object, owned, sources);
    struct mg_slice input = mg_json_get_typed(&object, "input", MG_OPTIONAL, MG_JSON_OBJECT);
    if (input.data != NULL) {
        workflow->input = mg_input_read(input, owned->arena, faults);
    }
    struct mg_slice values = mg_json_get_typed(&object, "values", MG_OPTIONAL, MG_JSON_OBJECT);
    workflow->exprs = mg_workflow_exprs_read(workflow, values, owned->arena, faults);
    read_guards(&object, owned, sources);
    mg_workflow_check(workflow, sources, faults);
    if (faults->class == MG_OK) {
        mg_workflow_compile_templates(workflow, owned->arena, faults);
        mg_workflow_find_needs(workflow, owned->arena, faults);
        mg_workflow_find_trials(workflow, owned->arena, faults);
    }
}

enum mg_class mg_workflow_parse(struct mg_slice text, const struct mg_mistakes *mistakes,
                                struct mg_workflow **ret_workflow, struct mg_err *err)
{
    struct owned_workflow *owned = calloc(1, sizeof(*owned));

    if (owned == NULL) {
        return mg_err_set(err, MG_TRANSIENT, "could not read a workflow: no memory");
    }
    if (text.data == NULL) {
        text = mg_slice_of("");
    }
    /* The text, and the pieces of its templates: the shortest reference and one byte, "${=1},", become two
     * pieces of 80 bytes. The rest is the arena's overhead. */
    owned->arena = mg_arena_create(32 * text.len + 256 * 1024);
    if (owned->arena != NULL) {
        owned->workflow.text = mg_arena_copy(owned->arena, text);
    }
    if (owned->workflow.text.data == NULL) {
        mg_workflow_destroy(&owned->workflow);
        return mg_err_set(err, MG_TRANSIENT, "could not read a workflow of %zu bytes: no memory", text.len);
    }
    struct mg_json_faults faults = mg_json_definition_faults(owned->workflow.text, mistakes, err);
    read_workflow(&faults, owned);
    if (faults.class != MG_OK) {
        mg_workflow_destroy(&owned->workflow);
        return mg_json_faults_end(&faults);
    }
    *ret_workflow = &owned->workflow;
    return MG_OK;
}

enum mg_class mg_workflow_payload_check(const struct mg_workflow *workflow, struct mg_slice payload,
                                        struct mg_err *err)
{
    return workflow->input != NULL ? mg_input_check(workflow->input, payload, err) : MG_OK;
}

void mg_workflow_destroy(struct mg_workflow *workflow)
{
    struct owned_workflow *owned = (struct owned_workflow *)workflow;
    if (owned == NULL) {
        return;
    }
    mg_arena_destroy(owned->arena);
    free(owned);
}
