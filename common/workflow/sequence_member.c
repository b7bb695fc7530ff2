/*
 * `sequence`: the orders of one key run one at a time, in the order in which they were accepted
 * (core/line.h). Workflows whose keys are the same text share a line.
 */
#include "json/reader.h"
#include "workflow/definition_check.h"
#include "workflow/expressions.h"

static const char *const SEQUENCE_NAMES[] = {"key", "on_error", "at_most", NULL};
static const char *const ON_ERROR[] = {"hold", "release", NULL};

void mg_workflow_sequence_read(const struct mg_json_object *object, struct mg_arena *arena,
                               struct mg_workflow *workflow)
{
    struct mg_workflow_sequence *sequence = &workflow->sequence;
    struct mg_slice value = mg_json_get(object, "sequence", MG_OPTIONAL);
    struct mg_json_object member;

    if (value.data == NULL || !mg_json_object_open(&member, object->faults, value, "/sequence",
                                                   SEQUENCE_NAMES, MG_JSON_UNKNOWN_REFUSED)) {
        return;
    }
    struct mg_slice key = mg_json_get(&member, "key", MG_REQUIRED);
    int on_error = mg_json_get_word(&member, "on_error", MG_OPTIONAL, ON_ERROR, MG_BAD_INPUT, 0);
    sequence->at_most =
        mg_json_get_integer(&member, "at_most", MG_OPTIONAL, 1, MG_LINE_AT_MOST_MAX, MG_LINE_AT_MOST_DEFAULT);
    if (key.data != NULL) {
        workflow->plan.sequence = on_error == 1 ? MG_SEQUENCE_RELEASE : MG_SEQUENCE_HOLD;
        mg_workflow_early_read(object->faults, arena, "/sequence/key", key, "a key", MG_LINE_KEY_MAX,
                               &sequence->key);
    }
}

static enum mg_class key_render(const struct mg_render_input *input, struct mg_buf *text, struct mg_err *err)
{
    const struct mg_workflow *workflow = input->workflow;
    bool is_absent = false;
    enum mg_class class =
        mg_workflow_render_label(input, &workflow->sequence.template, text, &is_absent, err);
    if (class != MG_OK) {
        return mg_err_prefix(err, "/sequence/key of workflow \"%s\"", workflow->name);
    }
    if (is_absent || (text->len == 0 && !text->failed)) {
        return mg_err_set(
            err, MG_PERMANENT, "/sequence/key of workflow \"%s\": the order has no value for \"%.*s\"",
            workflow->name, (int)mg_utf8_cut(workflow->sequence.key, 80), workflow->sequence.key.data);
    }
    class = mg_buf_class(text);
    return class == MG_OK || class == MG_TRANSIENT
               ? class
               : mg_err_set(err, MG_PERMANENT, "/sequence/key of workflow \"%s\": the key is above %d bytes",
                            workflow->name, MG_LINE_KEY_MAX);
}

enum mg_class mg_workflow_line_key(const struct mg_render_input *input, struct mg_arena *arena,
                                   struct mg_slice *ret_key, struct mg_err *err)
{
    struct mg_buf text;

    *ret_key = (struct mg_slice){0};
    if (input->workflow->plan.sequence == MG_SEQUENCE_NONE) {
        return MG_OK;
    }
    mg_buf_init(&text, MG_LINE_KEY_MAX);
    enum mg_class class = key_render(input, &text, err);
    if (class == MG_OK) {
        *ret_key = mg_arena_copy(arena, mg_buf_slice(&text));
        class = ret_key->data != NULL ? MG_OK : MG_TRANSIENT;
    }
    mg_buf_finish(&text);
    return class == MG_TRANSIENT ? mg_err_set(err, MG_TRANSIENT, "there is no memory for the key of a line")
                                 : class;
}
