/*
 * Guards, read and evaluated. An evaluation sees the stored values of the order and nothing else: its
 * payload, the results and states of steps before, and computed values. So the same guard has the same result
 * whenever it is evaluated again for the same step (law 8, derived identities).
 */
#include "workflow/step_guard.h"

#include <stdio.h>

#include "wire/command.h"
#include "workflow/expressions.h"

#define REQUIREMENT_TEXT_MAX 256 /* it stands in a status's reason, next to the values */
#define WHY_MAX              400 /* bytes of the values after a verdict; the rest of an event row's reason */

static const char *const REQUIREMENT_NAMES[] = {"that", "text", NULL};

/* ---- reading ---- */

static const struct mg_expr *compile(const struct mg_workflow *workflow, struct mg_slice quoted,
                                     const char *pointer, struct mg_json_faults *faults)
{
    struct mg_workflow_exprs *exprs = workflow->exprs;
    const struct mg_expr *expr = mg_workflow_expr_read(exprs, &exprs->names, quoted, pointer, faults);
    enum mg_expr_type type = expr != NULL ? mg_expr_type_of(expr) : MG_EXPR_BOOLEAN;
    if (type != MG_EXPR_UNKNOWN && type != MG_EXPR_BOOLEAN) {
        mg_json_fault_at(faults, MG_BAD_INPUT, pointer, mg_workflow_expr_at(quoted, 1),
                         "%s; a condition is expected, as in \"payload.total > 100\"",
                         mg_expr_type_name(type));
    }
    return expr;
}

static const struct mg_expr *compile_until(const struct mg_workflow *workflow, struct mg_slice quoted,
                                           const char *pointer, struct mg_json_faults *faults)
{
    struct mg_workflow_exprs *exprs = workflow->exprs;
    const struct mg_expr *expr = mg_workflow_expr_read(exprs, &exprs->names, quoted, pointer, faults);
    enum mg_expr_type type = expr != NULL ? mg_expr_type_of(expr) : MG_EXPR_TIME;
    if (type != MG_EXPR_UNKNOWN && type != MG_EXPR_TIME && type != MG_EXPR_TEXT) {
        mg_json_fault_at(faults, MG_BAD_INPUT, pointer, mg_workflow_expr_at(quoted, 1),
                         "%s; a time is expected, as in \"payload.ship_at\" or \"time(payload.ship_at) - "
                         "duration('2h')\"",
                         mg_expr_type_name(type));
    }
    return expr;
}

static const struct mg_expr *compile_key(const struct mg_workflow *workflow, struct mg_slice quoted,
                                         const char *pointer, struct mg_json_faults *faults)
{
    struct mg_workflow_exprs *exprs = workflow->exprs;
    const struct mg_expr *expr = mg_workflow_expr_read(exprs, &exprs->names, quoted, pointer, faults);
    enum mg_expr_type type = expr != NULL ? mg_expr_type_of(expr) : MG_EXPR_TEXT;
    if (type != MG_EXPR_UNKNOWN && type != MG_EXPR_TEXT && type != MG_EXPR_NUMBER) {
        mg_json_fault_at(faults, MG_BAD_INPUT, pointer, mg_workflow_expr_at(quoted, 1),
                         "%s; a text or a number is expected, as in \"results.charge.id\"",
                         mg_expr_type_name(type));
    }
    return expr;
}

static bool is_text(const char *text, size_t len)
{
    (void)text;
    return len > 0;
}

static struct mg_requirement *read_requirement(struct mg_workflow *workflow, struct mg_slice value,
                                               const char *pointer, struct mg_arena *arena,
                                               struct mg_json_faults *faults)
{
    struct mg_json_object object;
    struct mg_requirement *requirement = mg_arena_alloc(arena, sizeof(*requirement));
    char text[REQUIREMENT_TEXT_MAX + 1], that[MG_JSON_POINTER_SIZE];

    if (requirement == NULL) {
        mg_json_fault(faults, MG_TRANSIENT, pointer, "could not be kept: no memory");
        return NULL;
    }
    if (!mg_json_object_open(&object, faults, value, pointer, REQUIREMENT_NAMES, MG_JSON_UNKNOWN_REFUSED)) {
        return NULL;
    }
    struct mg_slice quoted = mg_json_get_typed(&object, "that", MG_REQUIRED, MG_JSON_STRING);
    mg_json_get_checked(&object, "text", MG_REQUIRED, is_text, "a text of 1 to 256 bytes for the client",
                        text, sizeof(text));
    mg_json_pointer_join(pointer, mg_slice_of("that"), that);
    *requirement = (struct mg_requirement){
        .that = quoted.data != NULL ? compile(workflow, quoted, that, faults) : NULL,
        .text = mg_arena_copy(arena, mg_slice_of(text)),
    };
    return requirement;
}

static struct mg_requirement *read_requirements(struct mg_workflow *workflow, struct mg_slice array,
                                                const char *pointer, struct mg_arena *arena,
                                                struct mg_json_faults *faults)
{
    struct mg_requirement *first = NULL, **at = &first;
    char each[MG_JSON_POINTER_SIZE + 16];
    struct mg_slice none, value;
    int count = 0;

    for (struct mg_json_walk walk = mg_json_walk_of(array); mg_json_walk_next(&walk, &none, &value);
         count++) {
        (void)snprintf(each, sizeof(each), "%s/%d", pointer, count);
        *at = count < MG_REQUIREMENTS_MAX ? read_requirement(workflow, value, each, arena, faults) : NULL;
        at = *at != NULL ? &(*at)->next : at;
    }
    if (count == 0 || count > MG_REQUIREMENTS_MAX) {
        mg_json_fault(faults, MG_BAD_INPUT, pointer, "%d requirements; there are 1 to %d", count,
                      MG_REQUIREMENTS_MAX);
    }
    return first;
}

struct mg_guard *mg_workflow_guard_read(struct mg_workflow *workflow, const struct mg_guard_source *source,
                                        const char *pointer, struct mg_arena *arena,
                                        struct mg_json_faults *faults)
{
    char place[MG_JSON_POINTER_SIZE];

    bool is_present = source->when.data != NULL || source->require.data != NULL ||
                      source->until.data != NULL || source->key.data != NULL;
    if (!is_present || workflow->exprs == NULL) {
        return NULL;
    }
    struct mg_guard *guard = mg_arena_alloc(arena, sizeof(*guard));
    if (guard == NULL) {
        mg_json_fault(faults, MG_TRANSIENT, pointer, "could not be kept: no memory");
        return NULL;
    }
    *guard = (struct mg_guard){0};
    if (source->when.data != NULL) {
        mg_json_pointer_join(pointer, mg_slice_of("when"), place);
        guard->when = compile(workflow, source->when, place, faults);
    }
    if (source->require.data != NULL) {
        mg_json_pointer_join(pointer, mg_slice_of("require"), place);
        guard->requirements = read_requirements(workflow, source->require, place, arena, faults);
    }
    if (source->until.data != NULL) {
        (void)snprintf(place, sizeof(place), "%s/wait/until", pointer);
        guard->until = compile_until(workflow, source->until, place, faults);
    }
    if (source->key.data != NULL) {
        (void)snprintf(place, sizeof(place), "%s/wait/key", pointer);
        guard->key = compile_key(workflow, source->key, place, faults);
    }
    return guard;
}

void mg_workflow_guard_each(const struct mg_guard *guard, const char *pointer,
                            void (*seen)(void *arg, const struct mg_expr *expr, const char *pointer),
                            void *arg)
{
    char place[MG_JSON_POINTER_SIZE + 32];
    int index = 0;

    if (guard != NULL && guard->when != NULL) {
        (void)snprintf(place, sizeof(place), "%s/when", pointer);
        seen(arg, guard->when, place);
    }
    for (const struct mg_requirement *at = guard != NULL ? guard->requirements : NULL; at != NULL;
         at = at->next, index++) {
        (void)snprintf(place, sizeof(place), "%s/require/%d/that", pointer, index);
        if (at->that != NULL) {
            seen(arg, at->that, place);
        }
    }
    if (guard != NULL && guard->until != NULL) {
        (void)snprintf(place, sizeof(place), "%s/wait/until", pointer);
        seen(arg, guard->until, place);
    }
    if (guard != NULL && guard->key != NULL) {
        (void)snprintf(place, sizeof(place), "%s/wait/key", pointer);
        seen(arg, guard->key, place);
    }
}

/* ---- evaluating ---- */

struct guard_scope {
    struct mg_root_values roots;
    mg_condition_seen_fn *seen; /* NULL: the verdict alone counts */
    void *seen_arg;
};

/* One condition. Without a value the reason is the fault; else it has the values that decided. */
static enum mg_class condition_decide(struct guard_scope *from, int number, const struct mg_expr *expr,
                                      bool *ret_is_true, struct mg_buf *ret_why)
{
    const struct mg_expr_scope scope = mg_root_scope(&from->roots);
    struct mg_expr_room room;
    struct mg_err err;

    room.used = 0;
    enum mg_class class = mg_expr_decide(expr, &scope, &room, ret_is_true, &err);
    if (class != MG_OK) {
        mg_buf_append_text(ret_why, number == MG_CONDITION_WHEN ? "when: " : "require: ");
        mg_buf_append_text(ret_why, err.text);
    } else if (!*ret_is_true) {
        room.used = 0;
        mg_expr_explain(expr, &scope, &room, WHY_MAX, ret_why);
    }
    if (class == MG_OK && from->seen != NULL) {
        from->seen(from->seen_arg, number, *ret_is_true);
    }
    return class;
}

static enum mg_fact requirements_decide(struct guard_scope *scope, const struct mg_guard *guard,
                                        const struct mg_requirement **ret_broken, struct mg_buf *ret_why)
{
    bool is_true;
    int number = 0;

    for (const struct mg_requirement *at = guard->requirements; at != NULL; at = at->next, number++) {
        if (condition_decide(scope, number, at->that, &is_true, ret_why) != MG_OK) {
            return MG_FACT_ERROR;
        }
        if (!is_true) {
            *ret_broken = at;
            return MG_FACT_REFUSE;
        }
    }
    return MG_FACT_GO;
}

static void scope_make(struct guard_scope *scope, const struct mg_render_input *input)
{
    mg_root_values_make(input, &scope->roots);
    scope->seen = NULL;
}

static enum mg_fact guard_decide(struct guard_scope *scope, const struct mg_guard *guard,
                                 const struct mg_requirement **ret_broken, struct mg_buf *ret_why)
{
    bool is_true = true;

    if (guard->when != NULL &&
        condition_decide(scope, MG_CONDITION_WHEN, guard->when, &is_true, ret_why) != MG_OK) {
        return MG_FACT_ERROR;
    }
    return is_true ? requirements_decide(scope, guard, ret_broken, ret_why) : MG_FACT_SKIP;
}

enum mg_fact mg_workflow_guard_decide(const struct mg_render_input *input, int step,
                                      struct mg_slice *ret_text, struct mg_buf *ret_why)
{
    const struct mg_guard *guard = input->workflow->steps[step].guard;
    const struct mg_requirement *broken = NULL;
    struct guard_scope scope;

    *ret_text = (struct mg_slice){NULL, 0};
    if (guard == NULL) {
        return MG_FACT_GO;
    }
    scope_make(&scope, input);
    enum mg_fact fact = guard_decide(&scope, guard, &broken, ret_why);
    *ret_text = broken != NULL ? broken->text : *ret_text;
    return fact;
}

enum mg_fact mg_workflow_wait_until(const struct mg_render_input *input, int step, int64_t *ret_until_ms,
                                    struct mg_buf *ret_why)
{
    const struct mg_guard *guard = input->workflow->steps[step].guard;
    struct mg_expr_value value;
    struct mg_expr_room room = {.used = 0};
    struct guard_scope from;
    struct mg_err err;

    *ret_until_ms = 0;
    if (guard == NULL || guard->until == NULL) {
        return MG_FACT_GO;
    }
    scope_make(&from, input);
    const struct mg_expr_scope scope = mg_root_scope(&from.roots);
    mg_buf_append_text(ret_why, "wait: until: ");
    if (mg_expr_evaluate(guard->until, &scope, &room, &value, NULL, &err) != MG_OK) {
        mg_buf_append_text(ret_why, err.text);
        return MG_FACT_ERROR;
    }
    if (!mg_expr_value_time(&value, ret_until_ms)) {
        mg_expr_write_json(&value, ret_why);
        mg_buf_append_text(ret_why, " is no time; RFC 3339 with an offset is expected: 2026-01-31T12:00:00Z");
        return MG_FACT_ERROR;
    }
    return MG_FACT_GO;
}

enum mg_fact mg_workflow_signal_key(const struct mg_render_input *input, int step, struct mg_buf *ret_key,
                                    struct mg_buf *ret_why)
{
    const struct mg_guard *guard = input->workflow->steps[step].guard;
    struct mg_expr_value value;
    struct mg_expr_room room = {.used = 0};
    struct guard_scope from;
    struct mg_buf json;
    struct mg_err err;

    if (guard == NULL || guard->key == NULL) {
        return MG_FACT_SKIP;
    }
    scope_make(&from, input);
    const struct mg_expr_scope scope = mg_root_scope(&from.roots);
    if (mg_expr_evaluate(guard->key, &scope, &room, &value, NULL, &err) != MG_OK) {
        mg_buf_printf(ret_why, "wait: key: %s", err.text);
        return MG_FACT_ERROR;
    }
    mg_buf_init(&json, 8 * MG_SIGNAL_KEY_MAX); /* escaped; a longer one is too long in any case */
    mg_expr_write_json(&value, &json);
    struct mg_slice text = mg_buf_slice(&json);
    bool is_string = text.len > 0 && text.data[0] == '"';
    bool is_number = text.len > 0 && (text.data[0] == '-' || (text.data[0] >= '0' && text.data[0] <= '9'));
    if (is_string) {
        (void)mg_json_string(text, ret_key);
    } else if (is_number) {
        mg_buf_append_slice(ret_key, text);
    }
    bool is_good = !json.failed && !ret_key->failed && (is_string || is_number) &&
                   ret_key->len <= MG_SIGNAL_KEY_MAX && mg_signal_key_is_valid(ret_key->data, ret_key->len);
    if (!is_good) {
        mg_buf_printf(ret_why, "wait: key: %.*s is no key; it is a text of 1 to %d bytes or a number",
                      (int)mg_utf8_cut(text, 80), text.data != NULL ? text.data : "", MG_SIGNAL_KEY_MAX);
    }
    mg_buf_finish(&json);
    return is_good ? MG_FACT_GO : MG_FACT_ERROR;
}

static const struct mg_guard *guard_of(const struct mg_workflow *workflow, int step)
{
    return step == MG_STEP_OF_ORDER ? workflow->guard : workflow->steps[step].guard;
}

void mg_workflow_guard_watch(const struct mg_render_input *input, int step, mg_condition_seen_fn *seen,
                             void *arg)
{
    const struct mg_guard *guard = guard_of(input->workflow, step);
    const struct mg_requirement *broken = NULL;
    struct guard_scope scope;
    struct mg_buf why;

    if (guard == NULL) {
        return;
    }
    mg_buf_init(&why, WHY_MAX);
    scope_make(&scope, input);
    scope.seen = seen;
    scope.seen_arg = arg;
    (void)guard_decide(&scope, guard, &broken, &why);
    mg_buf_finish(&why);
}

bool mg_workflow_condition(const struct mg_workflow *workflow, int step, int number,
                           struct mg_slice *ret_expr, struct mg_slice *ret_text)
{
    const struct mg_guard *guard = guard_of(workflow, step);
    const struct mg_requirement *at = guard != NULL ? guard->requirements : NULL;

    *ret_text = (struct mg_slice){NULL, 0};
    if (number == MG_CONDITION_WHEN) {
        if (guard != NULL && guard->when != NULL) {
            *ret_expr = mg_expr_text(guard->when);
        }
        return guard != NULL && guard->when != NULL;
    }
    while (at != NULL && number-- > 0) {
        at = at->next;
    }
    if (at != NULL) {
        *ret_expr = mg_expr_text(at->that);
        *ret_text = at->text;
    }
    return at != NULL;
}

enum mg_class mg_workflow_require(const struct mg_render_input *input, struct mg_err *err)
{
    const struct mg_workflow *workflow = input->workflow;
    const struct mg_requirement *broken = NULL;
    struct guard_scope scope;
    struct mg_buf why;

    if (workflow->guard == NULL) {
        return MG_OK;
    }
    mg_buf_init(&why, sizeof(err->text));
    scope_make(&scope, input);
    enum mg_class class = MG_OK;
    enum mg_fact fact = requirements_decide(&scope, workflow->guard, &broken, &why);
    if (why.failed && fact != MG_FACT_GO && why.len == 0) {
        class = mg_err_set(err, MG_TRANSIENT, "there is no memory for a requirement's reason");
    } else if (fact == MG_FACT_REFUSE) {
        class = mg_err_set(err, MG_PERMANENT, "requirement: %.*s (%.*s)", (int)broken->text.len,
                           broken->text.data, (int)why.len, why.len > 0 ? why.data : "");
    } else if (fact == MG_FACT_ERROR) {
        class = mg_err_set(err, MG_BAD_INPUT, "expression: %.*s", (int)why.len, why.data);
    }
    mg_buf_finish(&why);
    return class;
}

uint64_t mg_workflow_skippable(const struct mg_workflow *workflow)
{
    const struct mg_plan *plan = &workflow->plan;
    uint64_t all = 0, last;

    for (int i = 0; i < plan->step_count; i++) {
        const struct mg_guard *guard = workflow->steps[i].guard;
        bool may_time_out = plan->steps[i].is_skipped_when_over;
        all |= may_time_out || (guard != NULL && guard->when != NULL) ? UINT64_C(1) << i : 0;
    }
    do { /* bits are only added */
        last = all;
        for (int i = 0; i < plan->step_count; i++) {
            all |= (plan->steps[i].needs & all) != 0 ? UINT64_C(1) << i : 0;
        }
    } while (all != last);
    return all;
}
