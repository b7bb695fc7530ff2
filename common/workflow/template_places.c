/*
 * The templates of a checked definition, compiled once. Each of their references gets the place of its value,
 * so an order's request is made without another look at the definition.
 */
#include <string.h>

#include "workflow/definition_check.h"
#include "workflow/expressions.h"

/* The rest of `pointer` after `root`, or NULL if it does not lead there. */
static const char *behind(const char *pointer, const char *root)
{
    size_t len = strlen(root);
    bool is_there = strncmp(pointer, root, len) == 0 && (pointer[len] == '\0' || pointer[len] == '/');
    return is_there ? pointer + len : NULL;
}

static void place_find(const struct mg_workflow *workflow, struct mg_template_piece *piece)
{
    const char *text = piece->text.data, *rest;
    if (text[0] == '=') {
        piece->place = MG_PLACE_EXPRESSION;
        piece->expr = mg_workflow_exprs_find(workflow->exprs, text + 1);
    } else if ((rest = behind(text, "/payload")) != NULL) {
        piece->place = MG_PLACE_PAYLOAD;
        piece->rest = rest;
    } else if ((rest = behind(text, "/results")) != NULL && *rest == '/') {
        struct mg_slice step = {rest + 1, strcspn(rest + 1, "/")};
        piece->place = MG_PLACE_RESULT;
        piece->step = mg_workflow_step_index(workflow, step);
        piece->rest = step.data + step.len;
    } else {
        piece->place = strcmp(text, "/order_id") == 0          ? MG_PLACE_ORDER_ID
                       : strcmp(text, "/idempotency_key") == 0 ? MG_PLACE_IDEMPOTENCY_KEY
                       : strcmp(text, "/callback_url") == 0    ? MG_PLACE_CALLBACK_URL
                                                               : MG_PLACE_DO_KEY;
    }
}

static void compile(struct mg_workflow *workflow, struct mg_slice text, enum mg_template_form form,
                    struct mg_arena *arena, struct mg_json_faults *faults, struct mg_template *ret_template)
{
    struct mg_err err;
    enum mg_class class =
        text.data != NULL ? mg_template_compile(text, form, arena, ret_template, &err) : MG_OK;
    if (class != MG_OK) { /* the template has passed its check: a lack of memory */
        mg_json_fault(faults, class, "", "%s", err.text);
    }
    for (struct mg_template_piece *piece = ret_template->pieces; piece != NULL; piece = piece->next) {
        if (piece->kind != MG_PIECE_LITERAL) {
            place_find(workflow, piece);
        }
    }
}

void mg_workflow_compile_templates(struct mg_workflow *workflow, struct mg_arena *arena,
                                   struct mg_json_faults *faults)
{
    struct mg_action_part parts[MG_ACTION_PARTS];
    for (int i = 0; i < workflow->plan.step_count; i++) {
        for (int call = 0; call < MG_CALL_COUNT; call++) {
            struct mg_action *action = &workflow->steps[i].actions[call];
            mg_action_parts(action, parts);
            for (int k = 0; k < MG_ACTION_PARTS; k++) {
                compile(workflow, parts[k].text, k == MG_PART_PATH ? MG_TEMPLATE_PATH : MG_TEMPLATE_JSON,
                        arena, faults, &action->templates[k]);
            }
        }
    }
    for (int i = 0; i < workflow->label_count; i++) {
        struct mg_workflow_label *label = &workflow->labels[i];
        compile(workflow, label->text, MG_TEMPLATE_LABEL, arena, faults, &label->template);
    }
    compile(workflow, workflow->sequence.key, MG_TEMPLATE_LABEL, arena, faults, &workflow->sequence.template);
    compile(workflow, workflow->output, MG_TEMPLATE_JSON, arena, faults, &workflow->output_template);
}
