/*
 * Renders query, headers and encoded bodies. The bytes of a form or a text are made here, not by an agent:
 * they are part of the `request` member, so its digest holds them (law 8, derived identities).
 */
#include <string.h>

#include "base/buf.h"
#include "wire/http_header.h"
#include "wire/request.h"
#include "workflow/http_action.h"

/* Appends the text of a string, number or boolean. False: another type. */
static bool scalar_append(struct mg_slice value, struct mg_buf *ret)
{
    enum mg_json_type type = mg_json_type_of(value);
    if (type == MG_JSON_STRING) {
        return mg_json_string(value, ret);
    }
    if (type != MG_JSON_NUMBER && type != MG_JSON_BOOL) {
        return false;
    }
    mg_buf_append_slice(ret, value);
    return true;
}

static enum mg_class not_a_scalar(const char *what, struct mg_slice quoted_name, struct mg_slice value,
                                  struct mg_err *err)
{
    int len = quoted_name.len < 80 ? (int)quoted_name.len : 80;
    return mg_err_set(err, MG_PERMANENT, "%s %.*s: its value is %s; a string, number or boolean is needed",
                      what, len, quoted_name.data, mg_json_type_name(mg_json_type_of(value)));
}

static enum mg_class buf_check(const struct mg_buf *buf, const char *what, struct mg_err *err)
{
    enum mg_class class = mg_buf_class(buf);
    if (class == MG_TRANSIENT) {
        return mg_err_set(err, class, "%s: there is no memory", what);
    }
    return class == MG_OK ? MG_OK : mg_err_set(err, class, "%s: above %zu bytes", what, buf->max);
}

typedef void encode_fn(struct mg_buf *buf, struct mg_slice text);

/* Appends "name=value&…" for the members of `object`, in their order. `before`: the first separator. */
static enum mg_class append_pairs(struct mg_slice object, const char *what, encode_fn *encode,
                                  const char *before, struct mg_buf *ret, struct mg_err *err)
{
    struct mg_slice quoted, value;
    struct mg_buf text;
    enum mg_class class = MG_OK;

    mg_buf_init(&text, ret->max);
    struct mg_json_walk walk = mg_json_walk_of(object);
    while (class == MG_OK && mg_json_walk_next(&walk, &quoted, &value)) {
        mg_buf_append_text(ret, before);
        before = "&";
        mg_buf_clear(&text);
        (void)mg_json_string(quoted, &text); /* checked: a string */
        encode(ret, mg_buf_slice(&text));
        mg_buf_append(ret, "=", 1);
        mg_buf_fail_with(ret, &text);
        mg_buf_clear(&text);
        if (!scalar_append(value, &text)) {
            class = not_a_scalar(what, quoted, value, err);
        }
        encode(ret, mg_buf_slice(&text));
        mg_buf_fail_with(ret, &text);
    }
    mg_buf_finish(&text);
    return class == MG_OK ? buf_check(ret, what, err) : class;
}

enum mg_class mg_reach_render_query(const struct mg_template *query, const struct mg_template_values *values,
                                    struct mg_buf *ret_path, struct mg_err *err)
{
    struct mg_buf rendered;
    bool has_query = memchr(ret_path->data, '?', ret_path->len) != NULL;

    mg_buf_init(&rendered, ret_path->max);
    enum mg_class class = mg_template_render(query, values, &rendered, err);
    if (class == MG_OK) {
        class = append_pairs(mg_buf_slice(&rendered), "query", mg_buf_append_percent, has_query ? "&" : "?",
                             ret_path, err);
    } else {
        (void)mg_err_prefix(err, "query");
    }
    mg_buf_finish(&rendered);
    return class;
}

bool mg_reach_is_used(const struct mg_action *action)
{
    return action->headers.data != NULL || action->accept.data != NULL || action->is_text_answer ||
           action->encode != MG_ENCODE_JSON;
}

bool mg_workflow_is_polled(const struct mg_workflow *workflow, int step, enum mg_kind kind, bool asks_undone)
{
    const struct mg_step_plan *plan = &workflow->plan.steps[step];
    bool is_of_undo = kind == MG_KIND_UNDO || asks_undone;
    return (is_of_undo ? plan->undo_finish_within_ms : plan->finish_within_ms) > 0;
}

int mg_workflow_request_version(const struct mg_workflow *workflow, int step, enum mg_kind kind)
{
    const struct mg_workflow_step *of = &workflow->steps[step];
    bool is_polled_undo = kind == MG_KIND_UNDO && mg_workflow_is_polled(workflow, step, kind, false);
    bool may_be_refused =
        kind != MG_KIND_VERIFY && mg_workflow_conditions(of, kind, false)->refused_when != NULL;
    if (is_polled_undo || may_be_refused) {
        return MG_REQUEST_VERSION_JUDGED;
    }
    return mg_reach_is_used(&of->actions[kind]) ? MG_REQUEST_VERSION_REACH : 1;
}

static enum mg_class write_headers(struct mg_slice object, struct mg_json_writer *json, struct mg_err *err)
{
    struct mg_slice quoted, value;
    struct mg_buf text;
    enum mg_class class = MG_OK;

    mg_buf_init(&text, json->buf->max);
    struct mg_json_walk walk = mg_json_walk_of(object);
    while (class == MG_OK && mg_json_walk_next(&walk, &quoted, &value)) {
        mg_buf_clear(&text);
        if (!scalar_append(value, &text)) {
            class = not_a_scalar("header", quoted, value, err);
            break;
        }
        const char *wrong = mg_header_value_fault(mg_buf_slice(&text));
        class = buf_check(&text, "headers", err);
        if (class == MG_OK && wrong != NULL) {
            class = mg_err_set(err, MG_PERMANENT, "header %.*s: its value cannot be sent: %s",
                               (int)quoted.len, quoted.data, wrong);
        }
        mg_json_name_of(json, quoted.data + 1, quoted.len - 2); /* a token: nothing is escaped */
        mg_buf_append_json(json->buf, text.len > 0 ? mg_buf_slice(&text) : mg_slice_of(""));
    }
    mg_buf_finish(&text);
    return class;
}

static enum mg_class render_headers(const struct mg_action *action, const struct mg_template_values *values,
                                    struct mg_json_writer *json, struct mg_err *err)
{
    struct mg_buf rendered;
    enum mg_class class = MG_OK;

    mg_buf_init(&rendered, json->buf->max);
    mg_json_member_object(json, "headers");
    if (action->accept.data != NULL) {
        mg_json_member_text(json, "Accept", action->accept);
    }
    if (action->headers.data != NULL) {
        class = mg_template_render(&action->templates[MG_PART_HEADERS], values, &rendered, err);
        class = class == MG_OK ? write_headers(mg_buf_slice(&rendered), json, err)
                               : mg_err_prefix(err, "headers");
    }
    mg_json_object_end(json);
    mg_buf_finish(&rendered);
    return class;
}

static enum mg_class encode_body(enum mg_encode encode, struct mg_slice rendered, struct mg_buf *ret_text,
                                 struct mg_err *err)
{
    if (encode == MG_ENCODE_TEXT) {
        if (!scalar_append(rendered, ret_text)) {
            return mg_err_set(err, MG_PERMANENT, "body: it is %s; \"encode\": \"text\" needs a string",
                              mg_json_type_name(mg_json_type_of(rendered)));
        }
        return buf_check(ret_text, "body", err);
    }
    if (mg_json_type_of(rendered) != MG_JSON_OBJECT) {
        return mg_err_set(err, MG_PERMANENT, "body: it is %s; \"encode\": \"form\" needs an object",
                          mg_json_type_name(mg_json_type_of(rendered)));
    }
    return append_pairs(rendered, "body", mg_buf_append_form, "", ret_text, err);
}

static enum mg_class render_body(const struct mg_action *action, const struct mg_template_values *values,
                                 struct mg_json_writer *json, struct mg_err *err)
{
    struct mg_buf rendered, text;

    mg_buf_init(&rendered, json->buf->max);
    mg_buf_init(&text, json->buf->max);
    enum mg_class class = mg_template_render(&action->templates[MG_PART_BODY], values, &rendered, err);
    class = class == MG_OK ? encode_body(action->encode, mg_buf_slice(&rendered), &text, err)
                           : mg_err_prefix(err, "body");
    if (class == MG_OK) {
        mg_json_member_text(json, "body", text.len > 0 ? mg_buf_slice(&text) : mg_slice_of(""));
    }
    mg_buf_finish(&rendered);
    mg_buf_finish(&text);
    return class;
}

enum mg_class mg_reach_render(const struct mg_action *action, const struct mg_template_values *values,
                              struct mg_json_writer *json, struct mg_err *err)
{
    if (action->headers.data != NULL || action->accept.data != NULL) {
        enum mg_class class = render_headers(action, values, json, err);
        if (class != MG_OK) {
            return class;
        }
    }
    if (action->is_text_answer) {
        mg_json_member_word(json, "response", "text");
    }
    if (action->encode == MG_ENCODE_JSON) {
        return MG_OK;
    }
    mg_json_member_word(json, "content_type",
                        action->encode == MG_ENCODE_FORM ? "application/x-www-form-urlencoded"
                                                         : "text/plain; charset=utf-8");
    return render_body(action, values, json, err);
}
