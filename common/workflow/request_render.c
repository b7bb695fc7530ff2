/* The `request` member of one attempt, and the output of an order: their templates, with the values that this
 * order's references may use. */
#include <stdio.h>
#include <stdlib.h>

#include "base/json_write.h"
#include "core/key.h"
#include "wire/http_url.h"
#include "wire/status.h"
#include "workflow/expressions.h"
#include "workflow/http_action.h"

/* The memory that the first expression of a request needs; a request without one pays nothing. */
struct evaluation {
    struct mg_buf json;
    struct mg_err err; /* the fault of the last one */
    struct mg_expr_room room;
};

/* A rendering that only tries a result: its text is discarded. Requests of this size are refused anyway.
 */
#define TRIED_MAX_BYTES (1024 * 1024)

struct value_source {
    const struct mg_render_input *input;
    bool is_absent; /* the last value of a label */
    bool is_trial;  /* only the values of tried_step's result count: any text stands for others */
    int tried_step;
    struct mg_root_values roots;
    /* As JSON strings: their characters need no escaping. */
    char idempotency_key[MG_KEY_SIZE + 2], do_key[MG_KEY_SIZE + 2];
    struct evaluation *evaluation;  /* NULL until an expression is met */
    size_t max;                     /* of the request, so of each of its values */
    enum mg_class expression_class; /* of the last expression */
};

/* An undo that names nothing would find nothing, and pass for done. */
static bool names_something(struct mg_slice value)
{
    return value.data != NULL && mg_json_type_of(value) != MG_JSON_NULL && !mg_slice_is(value, "\"\"");
}

static bool evaluation_begin(struct value_source *source)
{
    if (source->evaluation == NULL) {
        source->evaluation = malloc(sizeof(*source->evaluation));
        if (source->evaluation == NULL) {
            source->expression_class = MG_TRANSIENT;
            return false;
        }
        mg_buf_init(&source->evaluation->json, source->max);
    }
    return true;
}

/* In place of the template's reason, which knows only that there is no value. */
static void note_unreadable(struct value_source *source, const char *step, struct mg_slice why)
{
    if (evaluation_begin(source)) {
        source->expression_class =
            mg_err_set(&source->evaluation->err, MG_PERMANENT,
                       "the result of step \"%s\" cannot be read: %.*s", step, (int)why.len, why.data);
    }
}

static struct mg_slice find_result(struct value_source *source, int step, const char *rest)
{
    const struct mg_render_input *input = source->input;
    if (source->is_trial && step != source->tried_step) {
        return mg_slice_of("\"x\"");
    }
    struct mg_slice value = mg_json_find(input->results[step], rest);
    if (input->faults != NULL && input->faults[step].data != NULL) {
        note_unreadable(source, input->workflow->steps[step].name, input->faults[step]);
    }
    return source->is_trial && !names_something(value) ? (struct mg_slice){0} : value;
}

struct trial {
    int step;
    bool has_other;
};

static void note_other(void *arg, const struct mg_expr_reference *reference)
{
    struct trial *trial = arg;
    trial->has_other =
        trial->has_other || reference->root != MG_ROOT_RESULTS || reference->member != trial->step;
}

static bool needs_only_tried(const struct value_source *source, const struct mg_expr *expr)
{
    struct trial trial = {.step = source->tried_step};
    mg_expr_references(expr, note_other, &trial);
    return !trial.has_other;
}

/* The need of an expression, and of the computed values in it, for the tried result. */
struct tried {
    const struct value_source *source;
    uint64_t values; /* looked at */
    bool is_lacking;
};

/* True if a condition asks for the tried result before this reference counts. */
static bool is_guarded(const struct tried *tried, const struct mg_expr_reference *reference)
{
    bool is_asked = reference->is_asked;
    for (int i = 0; i < reference->fact_count && !is_asked; i++) {
        const struct mg_expr_fact *fact = &reference->facts[i];
        is_asked = fact->is_has && fact->root == MG_ROOT_RESULTS && fact->member == tried->source->tried_step;
    }
    return is_asked;
}

static void note_need(void *arg, const struct mg_expr_reference *reference)
{
    struct tried *tried = arg;
    const struct mg_workflow_exprs *exprs = tried->source->input->workflow->exprs;
    int step = tried->source->tried_step;
    char memory[MG_JSON_POINTER_SIZE];
    struct mg_buf pointer;
    if (is_guarded(tried, reference)) {
        return;
    }
    if (reference->root == MG_ROOT_RESULTS && reference->member == step) {
        mg_buf_init_fixed(&pointer, memory, sizeof(memory));
        mg_expr_reference_pointer(reference, &pointer);
        const char *asked = pointer.len > 0 && !pointer.failed ? pointer.data : ""; /* "": the whole */
        struct mg_slice result = tried->source->input->results[step];
        tried->is_lacking = tried->is_lacking || !names_something(mg_json_find(result, asked));
    } else if (reference->root == MG_ROOT_VALUES && (exprs->value_steps[reference->member] >> step & 1) &&
               !(tried->values >> reference->member & 1)) {
        tried->values |= UINT64_C(1) << reference->member;
        mg_expr_references(exprs->values[reference->member], note_need, tried);
    }
}

static bool lacks_tried(const struct value_source *source, const struct mg_expr *expr)
{
    struct tried tried = {.source = source};
    mg_expr_references(expr, note_need, &tried);
    return tried.is_lacking;
}

/* The JSON of an expression's value; absent, with the reason in `evaluation`, if it has none. */
static struct mg_slice evaluate(struct value_source *source, const struct mg_expr *expr)
{
    const struct mg_expr_scope scope = mg_root_scope(&source->roots);
    struct mg_expr_value value;

    if (source->is_trial && lacks_tried(source, expr)) {
        return (struct mg_slice){0};
    }
    if (source->is_trial && !needs_only_tried(source, expr)) {
        return mg_slice_of("\"x\"");
    }
    if (!evaluation_begin(source)) {
        return (struct mg_slice){0};
    }
    struct evaluation *evaluation = source->evaluation;
    mg_buf_clear(&evaluation->json);
    source->expression_class =
        mg_expr_evaluate(expr, &scope, &evaluation->room, &value, NULL, &evaluation->err);
    if (source->expression_class != MG_OK) {
        return (struct mg_slice){0};
    }
    mg_expr_write_json(&value, &evaluation->json);
    source->expression_class = mg_buf_class(&evaluation->json);
    if (source->expression_class != MG_OK) {
        (void)mg_err_set(&evaluation->err, source->expression_class,
                         "its value is above %zu bytes, or no memory", source->max);
        return (struct mg_slice){0};
    }
    return mg_buf_slice(&evaluation->json);
}

static void evaluation_end(struct value_source *source)
{
    if (source->evaluation != NULL) {
        mg_buf_finish(&source->evaluation->json);
        free(source->evaluation);
    }
}

/* An expression's own reason in place of the template's, which knows only that there is no value. */
static enum mg_class template_fault(const struct value_source *source, enum mg_class class,
                                    struct mg_err *err)
{
    if (source->expression_class == MG_OK) {
        return class;
    }
    if (source->evaluation == NULL) {
        return mg_err_set(err, source->expression_class, "there is no memory for an expression");
    }
    *err = source->evaluation->err;
    return err->class;
}

static struct mg_slice find_value(void *arg, const struct mg_template_piece *reference)
{
    struct value_source *source = arg;
    if (reference->place == MG_PLACE_EXPRESSION) {
        return evaluate(source, reference->expr);
    }
    if (reference->place == MG_PLACE_RESULT) {
        return find_result(source, reference->step, reference->rest);
    }
    if (source->is_trial) {
        return mg_slice_of("\"x\"");
    }
    switch (reference->place) {
    case MG_PLACE_PAYLOAD:
        return mg_json_find(source->input->payload, reference->rest);
    case MG_PLACE_ORDER_ID:
        return mg_slice_of(source->roots.order_id);
    case MG_PLACE_IDEMPOTENCY_KEY:
        return mg_slice_of(source->idempotency_key);
    case MG_PLACE_DO_KEY:
        return mg_slice_of(source->do_key);
    case MG_PLACE_CALLBACK_URL:
        return source->input->callback_url;
    case MG_PLACE_NONE:
    case MG_PLACE_RESULT:
    case MG_PLACE_EXPRESSION:
        break;
    }
    return (struct mg_slice){0};
}

static enum mg_class render_action(const struct mg_action *action, struct value_source *source,
                                   struct mg_buf *ret_request, struct mg_err *err)
{
    const struct mg_template_values values = {find_value, source};
    struct mg_json_writer json = mg_json_compact(ret_request);
    struct mg_buf path;
    mg_buf_init(&path, ret_request->max);
    enum mg_class class = mg_template_render(&action->templates[MG_PART_PATH], &values, &path, err);
    if (class == MG_OK && action->query.data != NULL) {
        class = mg_reach_render_query(&action->templates[MG_PART_QUERY], &values, &path, err);
    }
    if (class == MG_OK) {
        const char *wrong = mg_path_fault(mg_buf_slice(&path));
        if (wrong != NULL) {
            class = mg_err_set(err, MG_PERMANENT, "path: %s", wrong);
        }
    } else {
        (void)template_fault(source, class, err);
        class = mg_err_prefix(err, "path");
    }
    if (class == MG_OK) {
        mg_json_object_begin(&json);
        mg_json_member_word(&json, "method", action->method);
        mg_json_member_text(&json, "path", mg_buf_slice(&path));
    }
    mg_buf_finish(&path);
    if (class != MG_OK) {
        return class;
    }
    if (mg_reach_is_used(action)) {
        class = mg_reach_render(action, &values, &json, err);
        if (class != MG_OK) {
            return template_fault(source, class, err);
        }
    }
    if (action->body.data != NULL && action->encode == MG_ENCODE_JSON) {
        mg_json_name(&json, "body");
        class = mg_template_render(&action->templates[MG_PART_BODY], &values, ret_request, err);
        if (class != MG_OK) {
            (void)template_fault(source, class, err);
            return mg_err_prefix(err, "body");
        }
    }
    mg_json_object_end(&json);
    class = mg_buf_class(ret_request);
    if (class == MG_TRANSIENT) {
        return mg_err_set(err, class, "there is no memory for the request");
    }
    if (class != MG_OK) {
        return mg_err_set(err, class, "the request is above %zu bytes", ret_request->max);
    }
    return MG_OK;
}

enum mg_class mg_workflow_render(const struct mg_render_input *input, int step, enum mg_kind kind,
                                 const char *idempotency_key, const char *do_key, struct mg_buf *ret_request,
                                 struct mg_err *err)
{
    const struct mg_workflow_step *source_step = &input->workflow->steps[step];
    bool is_asking = kind == MG_KIND_VERIFY && input->asks_undone;
    const struct mg_action *action = &source_step->actions[is_asking ? MG_CALL_UNDO_VERIFY : (int)kind];
    struct value_source source = {.input = input, .max = ret_request->max};

    if (!action->is_present) {
        return mg_err_set(err, MG_BUG, "cannot render step \"%s\": it has no \"%s\"", source_step->name,
                          mg_kind_name(kind));
    }
    mg_root_values_make(input, &source.roots);
    (void)snprintf(source.idempotency_key, sizeof(source.idempotency_key), "\"%s\"", idempotency_key);
    (void)snprintf(source.do_key, sizeof(source.do_key), "\"%s\"", do_key);
    enum mg_class class = render_action(action, &source, ret_request, err);
    evaluation_end(&source);
    if (class == MG_OK) {
        return MG_OK;
    }
    return mg_err_prefix(err, "could not render \"%s\" of step \"%s\"", mg_kind_name(kind),
                         source_step->name);
}

/* Status messages and their readers have these limits; the status adds one level and some members. */
static enum mg_class check_output(struct mg_slice output, struct mg_err *err)
{
    const struct mg_json_limits limits = {.max_bytes = MG_OUTPUT_MAX_BYTES,
                                          .max_depth = MG_JSON_LIMITS_DEFAULT.max_depth - 1,
                                          .max_members =
                                              MG_JSON_LIMITS_DEFAULT.max_members - MG_STATUS_MEMBERS_MAX,
                                          .any_number = true};
    return mg_json_check(output, &limits, err);
}

enum mg_class mg_workflow_render_output(const struct mg_render_input *input, struct mg_buf *ret_output,
                                        struct mg_err *err)
{
    struct value_source source = {.input = input, .max = ret_output->max};
    const struct mg_template_values values = {find_value, &source};

    mg_root_values_make(input, &source.roots);
    enum mg_class class = mg_template_render(&input->workflow->output_template, &values, ret_output, err);
    class =
        class == MG_OK ? check_output(mg_buf_slice(ret_output), err) : template_fault(&source, class, err);
    evaluation_end(&source);
    return class == MG_OK ? MG_OK : mg_err_prefix(err, "could not render the output");
}

/* An expression that has no value, or null: a mistake, while a reference without a value is no mistake. */
static struct mg_slice find_label_value(void *arg, const struct mg_template_piece *reference)
{
    struct value_source *source = arg;
    struct mg_slice value = find_value(source, reference);
    bool is_null = value.data != NULL && mg_json_type_of(value) == MG_JSON_NULL;
    if (reference->place == MG_PLACE_EXPRESSION && is_null) {
        source->expression_class =
            mg_err_set(&source->evaluation->err, MG_PERMANENT,
                       "${%.120s}: its value is null; a text, a number or a boolean is "
                       "expected, or \"\" for no label",
                       reference->text.data);
    }
    source->is_absent = value.data == NULL || is_null;
    return source->is_absent ? (struct mg_slice){0} : value;
}

enum mg_class mg_workflow_render_label(const struct mg_render_input *input,
                                       const struct mg_template *template, struct mg_buf *ret_text,
                                       bool *ret_is_absent, struct mg_err *err)
{
    struct value_source source = {.input = input, .max = MG_OUTPUT_MAX_BYTES};
    const struct mg_template_values values = {find_label_value, &source};

    mg_root_values_make(input, &source.roots);
    enum mg_class class = mg_template_join(template, &values, ret_text, err);
    *ret_is_absent = source.is_absent;
    class = template_fault(&source, source.is_absent ? MG_OK : class, err);
    evaluation_end(&source);
    return class;
}

static const struct mg_payload_need *unmet(const struct mg_payload_need *need, struct mg_slice payload)
{
    while (need != NULL && mg_json_find(payload, need->pointer).data != NULL) {
        need = need->next;
    }
    return need;
}

const struct mg_payload_need *mg_workflow_lacks(const struct mg_workflow *workflow, struct mg_slice payload)
{
    return unmet(workflow->needs, payload);
}

const struct mg_payload_need *mg_workflow_lacks_behind(const struct mg_payload_need *need,
                                                       struct mg_slice payload)
{
    return unmet(need->next, payload);
}

enum mg_class mg_workflow_undo_check(const struct mg_workflow *workflow, int step, struct mg_slice result,
                                     struct mg_err *err)
{
    struct mg_slice results[MG_STEPS_MAX] = {{0}};
    struct mg_render_input input = {.workflow = workflow, .order_id = "", .results = results};
    struct value_source source = {
        .input = &input, .is_trial = true, .tried_step = step, .max = TRIED_MAX_BYTES};
    struct mg_buf tried;

    results[step] = result;
    mg_root_values_make(&input, &source.roots);
    mg_buf_init(&tried, TRIED_MAX_BYTES);
    const struct mg_action *actions = workflow->steps[step].actions;
    enum mg_class class = render_action(&actions[MG_KIND_UNDO], &source, &tried, err);
    if (class == MG_OK && actions[MG_CALL_UNDO_VERIFY].is_present) {
        mg_buf_clear(&tried);
        class = render_action(&actions[MG_CALL_UNDO_VERIFY], &source, &tried, err);
    }
    mg_buf_finish(&tried);
    evaluation_end(&source);
    return class == MG_OK || class == MG_TRANSIENT ? class : MG_PERMANENT;
}
