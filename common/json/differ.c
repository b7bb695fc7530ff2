/* See differ.h. The recursion is as deep as the texts, which mg_json_check has bounded. */
#include "json/differ.h"

#include <stdio.h>
#include <string.h>

#include "json/reader.h"

struct differ {
    mg_json_difference_fn *seen;
    void *arg;
    int count;
};

static void values_differ(struct differ *differ, struct mg_slice expected, struct mg_slice actual,
                          const char *pointer, bool is_named_only);

static void difference_add(struct differ *differ, const char *pointer, struct mg_slice expected,
                           struct mg_slice actual)
{
    differ->count++;
    differ->seen(differ->arg, pointer, expected, actual);
}

/* Both are quoted; their escapes are resolved. */
static bool strings_equal(struct mg_slice one, struct mg_slice two)
{
    const char *at[2] = {one.data + 1, two.data + 1};
    const char *end[2] = {one.data + one.len - 1, two.data + two.len - 1};
    char bytes[2][4];
    for (;;) {
        int len = mg_json_char_next(&at[0], end[0], bytes[0]);
        if (len != mg_json_char_next(&at[1], end[1], bytes[1])) {
            return false;
        }
        if (len == 0) {
            return true;
        }
        if (memcmp(bytes[0], bytes[1], (size_t)len) != 0) {
            return false;
        }
    }
}

static struct mg_slice member_find(struct mg_slice object, struct mg_slice quoted)
{
    struct mg_slice name, value;
    for (struct mg_json_walk walk = mg_json_walk_of(object); mg_json_walk_next(&walk, &name, &value);) {
        if (strings_equal(name, quoted)) {
            return mg_json_trim(value);
        }
    }
    return (struct mg_slice){NULL, 0};
}

/* `name` as it stands between its quotes. */
static void pointer_join(const char *pointer, struct mg_slice quoted, char ret[MG_JSON_POINTER_SIZE])
{
    char name[MG_JSON_POINTER_SIZE];
    struct mg_buf text;
    mg_buf_init_fixed(&text, name, sizeof(name));
    (void)mg_json_string(quoted, &text); /* a longer name is cut, only in messages */
    mg_json_pointer_join(pointer, mg_buf_slice(&text), ret);
}

static void objects_differ(struct differ *differ, struct mg_slice expected, struct mg_slice actual,
                           const char *pointer, bool is_named_only)
{
    struct mg_slice name, value;
    char at[MG_JSON_POINTER_SIZE];
    for (struct mg_json_walk walk = mg_json_walk_of(expected); mg_json_walk_next(&walk, &name, &value);) {
        pointer_join(pointer, name, at);
        values_differ(differ, mg_json_trim(value), member_find(actual, name), at, false);
    }
    struct mg_json_walk walk = mg_json_walk_of(actual);
    while (!is_named_only && mg_json_walk_next(&walk, &name, &value)) {
        if (member_find(expected, name).data == NULL) {
            pointer_join(pointer, name, at);
            difference_add(differ, at, (struct mg_slice){NULL, 0}, mg_json_trim(value));
        }
    }
}

static void arrays_differ(struct differ *differ, struct mg_slice expected, struct mg_slice actual,
                          const char *pointer)
{
    struct mg_json_walk walks[2] = {mg_json_walk_of(expected), mg_json_walk_of(actual)};
    struct mg_slice name, values[2];
    char at[MG_JSON_POINTER_SIZE];
    for (int i = 0;; i++) {
        bool is_there[2];
        for (int k = 0; k < 2; k++) {
            is_there[k] = mg_json_walk_next(&walks[k], &name, &values[k]);
            values[k] = is_there[k] ? mg_json_trim(values[k]) : (struct mg_slice){NULL, 0};
        }
        if (!is_there[0] && !is_there[1]) {
            return;
        }
        snprintf(at, sizeof(at), "%.*s/%d", MG_JSON_POINTER_SIZE - 16, pointer, i);
        values_differ(differ, values[0], values[1], at, false);
    }
}

static void values_differ(struct differ *differ, struct mg_slice expected, struct mg_slice actual,
                          const char *pointer, bool is_named_only)
{
    bool is_typed = expected.len > 0 && actual.len > 0;
    enum mg_json_type type = is_typed ? mg_json_type_of(expected) : MG_JSON_NULL;
    if (!is_typed || mg_json_type_of(actual) != type) {
        difference_add(differ, pointer, expected, actual);
        return;
    }
    switch (type) {
    case MG_JSON_OBJECT:
        objects_differ(differ, expected, actual, pointer, is_named_only);
        return;
    case MG_JSON_ARRAY:
        arrays_differ(differ, expected, actual, pointer);
        return;
    case MG_JSON_STRING:
        if (strings_equal(expected, actual)) {
            return;
        }
        break;
    case MG_JSON_NULL:
    case MG_JSON_BOOL:
    case MG_JSON_NUMBER:
        if (mg_slice_equal(expected, actual)) {
            return;
        }
        break;
    }
    difference_add(differ, pointer, expected, actual);
}

int mg_json_differ(struct mg_slice expected, struct mg_slice actual, const char *pointer,
                   enum mg_json_differ_how how, mg_json_difference_fn *seen, void *arg)
{
    struct differ differ = {.seen = seen, .arg = arg};
    values_differ(&differ, mg_json_trim(expected), mg_json_trim(actual), pointer, how == MG_DIFFER_NAMED);
    return differ.count;
}
