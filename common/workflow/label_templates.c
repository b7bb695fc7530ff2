/*
 * Labels: a workflow's templates for them, read and checked with the definition, and their values for one
 * order. They are text, so that a value is compared as it is written: 14.00 stays 14.00.
 */
#include <string.h>

#include "json/reader.h"
#include "workflow/definition_check.h"
#include "workflow/expressions.h"
#include "workflow/workflow.h"

/* A template is shown in messages up to this length. */
#define SHOWN_MAX 80

/* The rest of `pointer` after "/payload"; NULL if it does not lead there. */
static const char *behind_payload(const char *pointer)
{
    static const char ROOT[] = "/payload";
    const size_t len = sizeof(ROOT) - 1;
    bool is_below = strncmp(pointer, ROOT, len) == 0 && (pointer[len] == '\0' || pointer[len] == '/');
    return is_below ? pointer + len : NULL;
}

/* ---- reading ---- */

struct reference_check {
    struct mg_json_faults *faults;
    const char *place; /* JSON pointer of the text */
    const char *what;  /* "a label" */
};

static void check_reference(void *arg, const char *pointer)
{
    const struct reference_check *check = arg;
    bool is_expression = pointer[0] == '='; /* checked with the others, in definition_check.c */
    if (!is_expression && strcmp(pointer, "/order_id") != 0 && behind_payload(pointer) == NULL) {
        mg_json_fault(check->faults, MG_BAD_INPUT, check->place,
                      "${%.120s}: %s is made when the order comes in; it refers to ${/payload/…} and "
                      "${/order_id} only",
                      pointer, check->what);
    }
}

static void check_template(const struct reference_check *check, struct mg_slice quoted, size_t max,
                           struct mg_slice text)
{
    struct mg_err err;
    enum mg_class class = mg_template_scan(quoted, check_reference, (void *)(uintptr_t)check, &err);
    if (class != MG_OK) {
        mg_json_fault(check->faults, class, check->place, "%s", err.text);
    } else if (text.len == 0) {
        mg_json_fault(check->faults, MG_BAD_INPUT, check->place,
                      "an empty text is no %s; give a text or a reference", strchr(check->what, ' ') + 1);
    } else if (memmem(text.data, text.len, "${", 2) == NULL && text.len > max) {
        mg_json_fault(check->faults, MG_BAD_INPUT, check->place, "%zu bytes; %s has at most %zu", text.len,
                      check->what, max);
    }
}

void mg_workflow_early_read(struct mg_json_faults *faults, struct mg_arena *arena, const char *place,
                            struct mg_slice value, const char *what, size_t max, struct mg_slice *ret_text)
{
    const struct reference_check check = {faults, place, what};
    struct mg_buf text;
    if (mg_json_type_of(value) != MG_JSON_STRING) {
        mg_json_fault(faults, MG_BAD_INPUT, place, "%s; a text is expected, as in \"${/payload/customer}\"",
                      mg_json_type_name(mg_json_type_of(value)));
        return;
    }
    mg_buf_init(&text, value.len);
    (void)mg_json_string(value, &text); /* checked: a string */
    *ret_text = text.len > 0 ? mg_arena_copy(arena, mg_buf_slice(&text)) : mg_slice_of("");
    if (text.failed || ret_text->data == NULL) {
        mg_json_fault(faults, MG_TRANSIENT, place, "could not be kept: no memory");
    } else {
        check_template(&check, value, max, *ret_text);
    }
    mg_buf_finish(&text);
}

static void read_label(const struct mg_json_object *labels, struct mg_arena *arena, struct mg_slice quoted,
                       struct mg_slice value, struct mg_workflow_label *label)
{
    char root[MG_JSON_POINTER_SIZE], place[MG_JSON_POINTER_SIZE];
    struct mg_slice name = {quoted.data + 1, quoted.len - 2};

    mg_json_pointer_join(labels->pointer, mg_slice_of("labels"), root);
    mg_json_pointer_join(root, name, place);
    if (!mg_label_name_is_valid(name.data, name.len)) {
        mg_json_fault(labels->faults, MG_BAD_INPUT, place,
                      "no name of a label; it has 1 to %d of a-z, 0-9 and _, and begins with a letter",
                      MG_LABEL_NAME_MAX);
        return;
    }
    memcpy(label->name, name.data, name.len);
    mg_workflow_early_read(labels->faults, arena, place, value, "a label", MG_LABEL_VALUE_MAX, &label->text);
}

void mg_workflow_labels_read(const struct mg_json_object *object, struct mg_arena *arena,
                             struct mg_workflow *workflow)
{
    struct mg_slice labels = mg_json_get_typed(object, "labels", MG_OPTIONAL, MG_JSON_OBJECT);
    struct mg_slice name, value;
    int count = 0;

    if (labels.data == NULL) {
        return;
    }
    for (struct mg_json_walk walk = mg_json_walk_of(labels); mg_json_walk_next(&walk, &name, &value);
         count++) {
        if (count < MG_LABELS_MAX) {
            read_label(object, arena, name, value, &workflow->labels[count]);
        }
    }
    if (count == 0 || count > MG_LABELS_MAX) {
        mg_json_member_fault(object, MG_BAD_INPUT, "labels",
                             "%d labels; a workflow has 1 to %d, or no member", count, MG_LABELS_MAX);
    }
    workflow->label_count = count < MG_LABELS_MAX ? count : MG_LABELS_MAX;
}

/* ---- rendering ---- */

static enum mg_class label_render(const struct mg_workflow_label *label, const struct mg_render_input *input,
                                  struct mg_arena *arena, struct mg_buf *text, struct mg_slice *ret_value,
                                  struct mg_err *err)
{
    bool is_absent = false;
    int shown = (int)mg_utf8_cut(label->text, SHOWN_MAX);
    enum mg_class class = mg_workflow_render_label(input, &label->template, text, &is_absent, err);
    if (class != MG_OK) {
        return mg_err_prefix(err, "/labels/%s of workflow \"%s\"", label->name, input->workflow->name);
    }
    if (is_absent || (text->len == 0 && !text->failed)) {
        return MG_OK;
    }
    class = mg_buf_class(text);
    if (class != MG_OK && class != MG_TRANSIENT) {
        return mg_err_set(err, MG_PERMANENT,
                          "/labels/%s of workflow \"%s\": the value of \"%.*s\" is above %d bytes",
                          label->name, input->workflow->name, shown, label->text.data, MG_LABEL_VALUE_MAX);
    }
    if (class == MG_OK) {
        *ret_value = mg_arena_copy(arena, mg_buf_slice(text));
    }
    if (ret_value->data == NULL) {
        return mg_err_set(err, MG_TRANSIENT, "there is no memory for label \"%s\"", label->name);
    }
    return MG_OK;
}

/* No label needs a result: the check of the definition has refused those. */
enum mg_class mg_workflow_labels_render(const struct mg_render_input *input, struct mg_arena *arena,
                                        struct mg_slice ret_values[MG_LABELS_MAX], struct mg_err *err)
{
    const struct mg_workflow *workflow = input->workflow;
    enum mg_class class = MG_OK;

    for (int i = 0; i < workflow->label_count && class == MG_OK; i++) {
        struct mg_buf text;
        ret_values[i] = (struct mg_slice){0};
        mg_buf_init(&text, MG_LABEL_VALUE_MAX);
        class = label_render(&workflow->labels[i], input, arena, &text, &ret_values[i], err);
        mg_buf_finish(&text);
    }
    return class;
}
