/* See http_action.h. Mistakes that no value of an order can repair are refused here, the others when
 * rendered. */
#include "workflow/http_action.h"

#include <string.h>
#include <strings.h>

#include "wire/http_header.h"
#include "workflow/template.h"

static const char *const ENCODES[] = {"json", "form", "text", NULL};
static const char *const RESPONSES[] = {"json", "text", NULL};

/* Names that have come so far. */
struct names {
    struct mg_slice given[MG_ACTION_HEADERS_MAX];
    int count;
};

static bool is_scalar(struct mg_slice value)
{
    enum mg_json_type type = mg_json_type_of(value);
    return type == MG_JSON_STRING || type == MG_JSON_NUMBER || type == MG_JSON_BOOL;
}

static void check_scalars(const struct mg_json_object *object, struct mg_slice values, const char *member)
{
    char parent[MG_JSON_POINTER_SIZE], pointer[MG_JSON_POINTER_SIZE];
    struct mg_slice quoted, value;

    mg_json_pointer_join(object->pointer, mg_slice_of(member), parent);
    for (struct mg_json_walk walk = mg_json_walk_of(values); mg_json_walk_next(&walk, &quoted, &value);) {
        if (!is_scalar(value)) {
            mg_json_pointer_join(parent, (struct mg_slice){quoted.data + 1, quoted.len - 2}, pointer);
            mg_json_fault(object->faults, MG_BAD_INPUT, pointer,
                          "%s; a string, number or boolean is expected, %s has no nested values",
                          mg_json_type_name(mg_json_type_of(value)), member);
        }
    }
}

static void check_header_name(const struct mg_json_object *object, const char *pointer, struct mg_slice name)
{
    if (!mg_header_name_is_valid(name)) {
        mg_json_fault(object->faults, MG_BAD_INPUT, pointer,
                      "not a header's name; use up to %d letters, digits and \"-\", without a colon",
                      MG_HEADER_NAME_MAX);
    } else if (mg_header_name_is(name, "Accept")) {
        mg_json_fault(object->faults, MG_BAD_INPUT, pointer, "write the member \"accept\" instead");
    } else if (mg_header_is_reserved(name)) {
        mg_json_fault(object->faults, MG_BAD_INPUT, pointer,
                      "the agent sets this header by its service file; leave it out");
    }
}

/* HTTP compares names of headers without regard to case, JSON does not. */
static void check_header_twice(const struct mg_json_object *object, const char *pointer, struct mg_slice name,
                               struct names *names)
{
    for (int i = 0; i < names->count; i++) {
        if (names->given[i].len == name.len && strncasecmp(names->given[i].data, name.data, name.len) == 0) {
            mg_json_fault(object->faults, MG_BAD_INPUT, pointer,
                          "this header is given twice; once is enough");
            return;
        }
    }
    names->given[names->count++] = name;
}

/* The fault of a value in every order: of a whole literal, or of a literal part next to references. Values of
 * references are checked when rendered. */
static const char *literal_fault(struct mg_slice literal)
{
    if (memmem(literal.data, literal.len, "${", 2) == NULL) {
        return mg_header_value_fault(literal);
    }
    return mg_template_literals_are(literal, mg_header_part_is_printable) ? NULL : MG_HEADER_CONTROL_FAULT;
}

static void check_header_literal(const struct mg_json_object *object, const char *pointer,
                                 struct mg_slice value)
{
    struct mg_buf text;

    mg_buf_init(&text, value.len);
    if (!mg_json_string(value, &text)) {
        mg_buf_finish(&text);
        return; /* a number, a boolean, or a mistake of check_scalars */
    }
    struct mg_slice literal = text.len > 0 ? mg_buf_slice(&text) : mg_slice_of("");
    const char *wrong = literal_fault(literal);
    if (text.failed) {
        mg_json_fault(object->faults, MG_TRANSIENT, pointer, "could not be read: no memory");
    } else if (wrong != NULL) {
        mg_json_fault(object->faults, MG_BAD_INPUT, pointer,
                      "its value cannot be sent: %s; use 1 to %d bytes, all in one line", wrong,
                      MG_HEADER_VALUE_MAX);
    }
    mg_buf_finish(&text);
}

static void read_headers(const struct mg_json_object *object, struct mg_action *action)
{
    char parent[MG_JSON_POINTER_SIZE], pointer[MG_JSON_POINTER_SIZE];
    struct mg_slice quoted, value;
    struct names names = {.count = 0};
    int count = 0;

    action->headers = mg_json_get_typed(object, "headers", MG_OPTIONAL, MG_JSON_OBJECT);
    mg_json_pointer_join(object->pointer, mg_slice_of("headers"), parent);
    struct mg_json_walk walk = mg_json_walk_of(action->headers);
    for (; mg_json_walk_next(&walk, &quoted, &value); count++) {
        /* An escape makes a name invalid, and a valid name needs none. */
        struct mg_slice name = {quoted.data + 1, quoted.len - 2};
        if (count >= MG_ACTION_HEADERS_MAX) {
            mg_json_member_fault(object, MG_BAD_INPUT, "headers", "more than %d headers; leave some out",
                                 MG_ACTION_HEADERS_MAX);
            return;
        }
        mg_json_pointer_join(parent, name, pointer);
        check_header_name(object, pointer, name);
        check_header_twice(object, pointer, name, &names);
        check_header_literal(object, pointer, value);
    }
    check_scalars(object, action->headers, "headers");
}

static void read_query(const struct mg_json_object *object, struct mg_action *action)
{
    action->query = mg_json_get_typed(object, "query", MG_OPTIONAL, MG_JSON_OBJECT);
    int count = mg_json_count(action->query);
    if (count > MG_QUERY_MAX) {
        mg_json_member_fault(object, MG_BAD_INPUT, "query", "%d parameters; at most %d are sent", count,
                             MG_QUERY_MAX);
    }
    check_scalars(object, action->query, "query");
}

/* True if a text may become another value once its references are filled in. */
static bool is_reference(struct mg_slice quoted)
{
    return mg_json_type_of(quoted) == MG_JSON_STRING && quoted.len > 3 &&
           strncmp(quoted.data + 1, "${", 2) == 0;
}

static void read_encode(const struct mg_json_object *object, struct mg_action *action)
{
    int encode = mg_json_get_word(object, "encode", MG_OPTIONAL, ENCODES, MG_BAD_INPUT, MG_ENCODE_JSON);

    action->encode = encode > 0 ? (enum mg_encode)encode : MG_ENCODE_JSON;
    if (action->encode == MG_ENCODE_JSON) {
        return;
    }
    if (action->body.data == NULL) {
        mg_json_member_fault(object, MG_BAD_INPUT, "encode",
                             "there is no \"body\" to encode; add it, or leave this out");
    } else if (action->encode == MG_ENCODE_FORM && mg_json_type_of(action->body) == MG_JSON_OBJECT) {
        check_scalars(object, action->body, "body");
    } else if (action->encode == MG_ENCODE_FORM && !is_reference(action->body)) {
        mg_json_member_fault(object, MG_BAD_INPUT, "body",
                             "%s; a form is an object of names and plain values",
                             mg_json_type_name(mg_json_type_of(action->body)));
    } else if (action->encode == MG_ENCODE_TEXT && !is_scalar(action->body)) {
        mg_json_member_fault(object, MG_BAD_INPUT, "body", "%s; a text is a string",
                             mg_json_type_name(mg_json_type_of(action->body)));
    }
}

static void read_accept(const struct mg_json_object *object, struct mg_arena *arena, struct mg_action *action)
{
    struct mg_slice quoted = mg_json_get_typed(object, "accept", MG_OPTIONAL, MG_JSON_STRING);
    struct mg_buf text;

    if (quoted.data == NULL) {
        return;
    }
    mg_buf_init(&text, quoted.len);
    (void)mg_json_string(quoted, &text); /* checked: a string */
    const char *wrong = mg_media_type_fault(text.len > 0 ? mg_buf_slice(&text) : mg_slice_of(""));
    if (text.failed) {
        mg_json_member_fault(object, MG_TRANSIENT, "accept", "could not be read: no memory");
    } else if (wrong != NULL) {
        mg_json_member_fault(object, MG_BAD_INPUT, "accept", "%s", wrong);
    } else {
        action->accept = mg_arena_copy(arena, mg_buf_slice(&text));
        if (action->accept.data == NULL) {
            mg_json_member_fault(object, MG_TRANSIENT, "accept", "could not be kept: no memory");
        }
    }
    mg_buf_finish(&text);
}

void mg_reach_read(const struct mg_json_object *object, struct mg_arena *arena, struct mg_action *ret_action)
{
    read_headers(object, ret_action);
    read_query(object, ret_action);
    read_encode(object, ret_action);
    read_accept(object, arena, ret_action);
    ret_action->is_text_answer =
        mg_json_get_word(object, "response", MG_OPTIONAL, RESPONSES, MG_BAD_INPUT, 0) == 1;
}
