/* Reading a shape, and holding a payload against it. Depth is that of checked JSON. */
#include "workflow/input_shape.h"

#include <stdio.h>
#include <string.h>

#include "expr/tree.h"

#define MEMBERS_MAX 64 /* of one object */

enum kind { KIND_TEXT, KIND_NUMBER, KIND_BOOLEAN, KIND_TIME, KIND_ANY, KIND_LIST, KIND_OBJECT };
static const char *const WORDS[] = {"text", "number", "boolean", "time", "any", NULL}; /* by kind */

struct mg_input_shape {
    enum kind kind;
    bool is_optional;
    const char *name;                   /* of a member, without "?" */
    const struct mg_input_shape *first; /* member, or the element of a list */
    const struct mg_input_shape *next;  /* member */
    const char *const *names;           /* of an object's members, NULL-ended */
    const char *const *words;           /* a text is one of these, NULL-ended; NULL: any */
};

struct reading {
    struct mg_arena *arena;
    struct mg_json_faults *faults;
    int count;
};

static bool read_shape(struct reading *reading, struct mg_slice value, const char *pointer,
                       struct mg_input_shape *ret_shape);

static struct mg_input_shape *add_shape(struct reading *reading, const char *pointer)
{
    if (reading->count++ == MG_INPUT_SHAPES_MAX) {
        mg_json_fault(reading->faults, MG_BAD_INPUT, pointer, "more than %d members and lists; write \"any\"",
                      MG_INPUT_SHAPES_MAX);
        return NULL;
    }
    struct mg_input_shape *shape = mg_arena_alloc(reading->arena, sizeof(*shape));
    if (shape == NULL) {
        mg_json_fault(reading->faults, MG_TRANSIENT, pointer, "could not be kept: no memory");
    }
    return shape;
}

/* Takes the "?" off the end. */
static bool take_mark(struct mg_slice *text)
{
    if (text->len == 0 || text->data[text->len - 1] != '?') {
        return false;
    }
    text->len--;
    return true;
}

static bool read_word(struct reading *reading, struct mg_slice value, const char *pointer,
                      struct mg_input_shape *ret_shape)
{
    struct mg_slice word = {value.data + 1, value.len - 2};
    if (take_mark(&word)) {
        ret_shape->is_optional = true;
    }
    for (int i = 0; WORDS[i] != NULL; i++) {
        if (mg_slice_is(word, WORDS[i])) {
            ret_shape->kind = (enum kind)i;
            return true;
        }
    }
    const char *nearest = mg_json_nearest(WORDS, word);
    mg_json_fault(reading->faults, MG_BAD_INPUT, pointer, "no such type; %s%s%s",
                  nearest != NULL ? "did you mean \""
                                  : "there are \"text\", \"number\", \"boolean\", \"time\" and "
                                    "\"any\"",
                  nearest != NULL ? nearest : "", nearest != NULL ? "\"?" : "");
    return false;
}

static bool read_list(struct reading *reading, struct mg_slice value, const char *pointer,
                      struct mg_input_shape *ret_shape)
{
    struct mg_slice name, element, more;
    char inner[MG_JSON_POINTER_SIZE];

    struct mg_json_walk walk = mg_json_walk_of(value);
    if (!mg_json_walk_next(&walk, &name, &element) || mg_json_walk_next(&walk, &name, &more)) {
        mg_json_fault(reading->faults, MG_BAD_INPUT, pointer,
                      "a list has the shape of its elements, once: [\"text\"]");
        return false;
    }
    mg_json_pointer_join(pointer, mg_slice_of("0"), inner);
    struct mg_input_shape *shape = add_shape(reading, inner);
    ret_shape->kind = KIND_LIST;
    ret_shape->first = shape;
    return shape != NULL && read_shape(reading, element, inner, shape);
}

static bool read_object(struct reading *reading, struct mg_slice value, const char *pointer,
                        struct mg_input_shape *ret_shape)
{
    struct mg_slice quoted, member;
    char inner[MG_JSON_POINTER_SIZE];
    const char **names = mg_arena_alloc(reading->arena, (MEMBERS_MAX + 1) * sizeof(*names));
    struct mg_input_shape *last = NULL;
    bool is_good = true;

    ret_shape->kind = KIND_OBJECT;
    ret_shape->names = names;
    struct mg_json_walk walk = mg_json_walk_of(value);
    for (int count = 0; mg_json_walk_next(&walk, &quoted, &member); count++) {
        struct mg_slice name = {quoted.data + 1, quoted.len - 2};
        mg_json_pointer_join(pointer, name, inner);
        bool is_optional = take_mark(&name);
        struct mg_input_shape *shape = count < MEMBERS_MAX ? add_shape(reading, inner) : NULL;
        if (shape == NULL || names == NULL || memchr(name.data, '\\', name.len) != NULL) {
            mg_json_fault(reading->faults, MG_BAD_INPUT, inner,
                          "an object has at most %d members, and their names no escapes", MEMBERS_MAX);
            return false;
        }
        is_good = read_shape(reading, member, inner, shape) && is_good;
        shape->is_optional = shape->is_optional || is_optional;
        shape->name = mg_arena_text(reading->arena, name);
        if (shape->name == NULL) {
            mg_json_fault(reading->faults, MG_TRANSIENT, inner, "could not be kept: no memory");
            return false;
        }
        names[count] = shape->name;
        if (last == NULL) {
            ret_shape->first = shape;
        } else {
            last->next = shape;
        }
        last = shape;
    }
    return is_good;
}

static bool read_shape(struct reading *reading, struct mg_slice value, const char *pointer,
                       struct mg_input_shape *ret_shape)
{
    enum mg_json_type type = mg_json_type_of(value);
    if (type == MG_JSON_STRING) {
        return read_word(reading, value, pointer, ret_shape);
    }
    if (type == MG_JSON_ARRAY) {
        return read_list(reading, value, pointer, ret_shape);
    }
    if (type == MG_JSON_OBJECT) {
        return read_object(reading, value, pointer, ret_shape);
    }
    mg_json_fault(
        reading->faults, MG_BAD_INPUT, pointer,
        "%s; a type is expected: \"text\", \"number\", \"boolean\", \"time\", \"any\", a list or an object",
        mg_json_type_name(type));
    return false;
}

const struct mg_input_shape *mg_input_read(struct mg_slice input, struct mg_arena *arena,
                                           struct mg_json_faults *faults)
{
    struct reading reading = {arena, faults, 0};
    struct mg_input_shape *shape = add_shape(&reading, "/input");
    return shape != NULL && read_shape(&reading, input, "/input", shape) ? shape : NULL;
}

/* ---- payloads ---- */

static const char *expected(const struct mg_input_shape *shape)
{
    static const char *const NAMES[] = {
        "a string",  "a number",
        "a boolean", "an RFC 3339 time as \"2026-01-31T12:34:56Z\", in UTC of the years 1 to 9999,",
        "a value",   "an array",
        "an object"};
    return NAMES[shape->kind];
}

static void check_value(const struct mg_input_shape *shape, struct mg_slice value, const char *pointer,
                        struct mg_json_faults *faults);

static const struct mg_input_shape *find_member(const struct mg_input_shape *object, struct mg_slice quoted)
{
    for (const struct mg_input_shape *member = object->first; member != NULL; member = member->next) {
        if (mg_json_string_is(quoted, mg_slice_of(member->name))) {
            return member;
        }
    }
    return NULL;
}

static void check_missing(const struct mg_input_shape *object, struct mg_slice value, const char *pointer,
                          struct mg_json_faults *faults)
{
    char inner[MG_JSON_POINTER_SIZE];
    for (const struct mg_input_shape *member = object->first; member != NULL; member = member->next) {
        mg_json_pointer_join("", mg_slice_of(member->name), inner);
        if (!member->is_optional && mg_json_find(value, inner).data == NULL) {
            mg_json_pointer_join(pointer, mg_slice_of(member->name), inner);
            mg_json_fault(faults, MG_BAD_INPUT, inner, "is missing; %s is expected", expected(member));
        }
    }
}

static void check_object(const struct mg_input_shape *shape, struct mg_slice value, const char *pointer,
                         struct mg_json_faults *faults)
{
    struct mg_slice quoted, member;
    char inner[MG_JSON_POINTER_SIZE];

    for (struct mg_json_walk walk = mg_json_walk_of(value); mg_json_walk_next(&walk, &quoted, &member);) {
        struct mg_slice name = {quoted.data + 1, quoted.len - 2};
        const struct mg_input_shape *known = find_member(shape, quoted);
        mg_json_pointer_join(pointer, name, inner);
        if (known != NULL) {
            check_value(known, member, inner, faults);
        } else {
            const char *nearest =
                mg_json_faults_are_many(faults) ? NULL : mg_json_nearest(shape->names, name);
            mg_json_fault(faults, MG_BAD_INPUT, inner, "no such member%s%s%s",
                          nearest != NULL ? "; did you mean \"" : " in the workflow's input; leave it out",
                          nearest != NULL ? nearest : "", nearest != NULL ? "\"?" : "");
        }
    }
    check_missing(shape, value, pointer, faults);
}

static void check_list(const struct mg_input_shape *shape, struct mg_slice value, const char *pointer,
                       struct mg_json_faults *faults)
{
    struct mg_slice name, element;
    char inner[MG_JSON_POINTER_SIZE], index[16];

    struct mg_json_walk walk = mg_json_walk_of(value);
    for (int i = 0; mg_json_walk_next(&walk, &name, &element); i++) {
        (void)snprintf(index, sizeof(index), "%d", i);
        mg_json_pointer_join(pointer, mg_slice_of(index), inner);
        check_value(shape->first, element, inner, faults);
    }
}

static bool is_time(struct mg_slice quoted)
{
    mg_int128 ns;
    return mg_expr_time_read((struct mg_slice){quoted.data + 1, quoted.len - 2}, &ns);
}

static void check_value(const struct mg_input_shape *shape, struct mg_slice value, const char *pointer,
                        struct mg_json_faults *faults)
{
    static const enum mg_json_type TYPES[] = {MG_JSON_STRING, MG_JSON_NUMBER, MG_JSON_BOOL,  MG_JSON_STRING,
                                              MG_JSON_NULL,   MG_JSON_ARRAY,  MG_JSON_OBJECT};
    enum mg_json_type type = mg_json_type_of(value);
    struct mg_decimal number;

    if (shape->kind == KIND_ANY) {
        return;
    }
    if (type != TYPES[shape->kind]) {
        mg_json_fault(faults, MG_BAD_INPUT, pointer, "%s; %s is expected%s", mg_json_type_name(type),
                      expected(shape),
                      shape->is_optional && type == MG_JSON_NULL ? ", or leave the member out" : "");
    } else if (shape->kind == KIND_TIME && !is_time(value)) {
        mg_json_fault(faults, MG_BAD_INPUT, pointer, "\"%.*s\" is no time; %s is expected",
                      value.len < 42 ? (int)value.len - 2 : 40, value.data + 1, expected(shape));
    } else if (shape->kind == KIND_NUMBER && !mg_decimal_read(value, &number)) {
        mg_json_fault(faults, MG_BAD_INPUT, pointer, "a number of more than %d digits; send it as a string",
                      MG_DECIMAL_READ_DIGITS);
    } else if (shape->kind == KIND_OBJECT) {
        check_object(shape, value, pointer, faults);
    } else if (shape->kind == KIND_LIST) {
        check_list(shape, value, pointer, faults);
    }
}

enum mg_class mg_input_check(const struct mg_input_shape *shape, struct mg_slice payload, struct mg_err *err)
{
    struct mg_json_faults faults = {.err = err};
    check_value(shape, mg_json_trim(payload), "/payload", &faults);
    return faults.class == MG_OK ? MG_OK : mg_json_faults_end(&faults);
}

/* ---- an example ---- */

/* Recursion is bounded by the depth of checked JSON. */
void mg_input_example(const struct mg_input_shape *shape, struct mg_buf *ret_json)
{
    static const char *const VALUES[] = {"\"…\"", "1", "true", "\"2030-01-01T00:00:00Z\"",
                                         "\"…\""}; /* by kind */
    const char *comma = "";
    if (shape->kind == KIND_LIST) {
        mg_buf_append_text(ret_json, "[");
        mg_input_example(shape->first, ret_json);
        mg_buf_append_text(ret_json, "]");
    } else if (shape->kind == KIND_OBJECT) {
        mg_buf_append_text(ret_json, "{");
        for (const struct mg_input_shape *member = shape->first; member != NULL; member = member->next) {
            if (!member->is_optional) {
                mg_buf_append_text(ret_json, comma);
                mg_buf_append_json(ret_json, mg_slice_of(member->name));
                mg_buf_append_text(ret_json, ":");
                mg_input_example(member, ret_json);
                comma = ",";
            }
        }
        mg_buf_append_text(ret_json, "}");
    } else {
        mg_buf_append_text(ret_json, VALUES[shape->kind]);
    }
}

/* ---- types ---- */

enum mg_expr_type mg_input_type(void *arg, const void *shape)
{
    static const enum mg_expr_type TYPES[] = {MG_EXPR_TEXT,    MG_EXPR_NUMBER, MG_EXPR_BOOLEAN, MG_EXPR_TEXT,
                                              MG_EXPR_UNKNOWN, MG_EXPR_LIST,   MG_EXPR_OBJECT};
    (void)arg;
    return TYPES[((const struct mg_input_shape *)shape)->kind];
}

const void *mg_input_member(void *arg, const void *shape, struct mg_slice name, bool *ret_is_there,
                            const char **ret_nearest)
{
    const struct mg_input_shape *object = shape;
    (void)arg;
    if (object->kind != KIND_OBJECT) {
        return NULL;
    }
    for (const struct mg_input_shape *member = object->first; member != NULL; member = member->next) {
        if (mg_slice_is(name, member->name)) {
            return member;
        }
    }
    *ret_is_there = false;
    *ret_nearest = mg_json_nearest(object->names, name);
    return NULL;
}

const void *mg_input_element(void *arg, const void *shape)
{
    (void)arg;
    return ((const struct mg_input_shape *)shape)->kind == KIND_LIST
               ? ((const struct mg_input_shape *)shape)->first
               : NULL;
}

bool mg_input_is_optional(const void *shape)
{
    return ((const struct mg_input_shape *)shape)->is_optional;
}

const char *const *mg_input_words(void *arg, const void *shape)
{
    (void)arg;
    return ((const struct mg_input_shape *)shape)->words;
}

const struct mg_input_shape *mg_input_shape_of(enum mg_expr_type type)
{
    static const struct mg_input_shape TEXT = {.kind = KIND_TEXT}, NUMBER = {.kind = KIND_NUMBER},
                                       BOOLEAN = {.kind = KIND_BOOLEAN}, LIST = {.kind = KIND_LIST};
    return type == MG_EXPR_TEXT      ? &TEXT
           : type == MG_EXPR_NUMBER  ? &NUMBER
           : type == MG_EXPR_BOOLEAN ? &BOOLEAN
           : type == MG_EXPR_LIST    ? &LIST
                                     : NULL;
}

const struct mg_input_shape *mg_input_shape_of_words(const char *const *words, struct mg_arena *arena)
{
    struct mg_input_shape *shape = mg_arena_alloc(arena, sizeof(*shape));
    if (shape != NULL) {
        *shape = (struct mg_input_shape){.kind = KIND_TEXT, .words = words};
    }
    return shape;
}
