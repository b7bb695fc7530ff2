/*
 * JSON text: the validator against a second one (jansson), with and without bounds for numbers; its limits,
 * and the functions that walk over accepted text. The input is the text.
 */
#include <jansson.h>
#include <stdlib.h>

#include "fuzz.h"
#include "json/json.h"
#include "json/scan.h"

#define DEPTH_MAX 2048 /* jansson's own limit */

static const struct mg_json_limits WIDE = {FUZZ_TEXT_MAX, DEPTH_MAX, FUZZ_TEXT_MAX, false};

static bool is_taken_by_jansson(struct mg_slice text)
{
    if (text.len == 0 || memchr(text.data, '\0', text.len) != NULL) {
        return false; /* the text would end there for jansson */
    }
    json_error_t error;
    json_t *root = json_loadb(text.data, text.len, JSON_REJECT_DUPLICATES | JSON_DECODE_ANY, &error);
    json_decref(root);
    return root != NULL;
}

/* The text with a 0 for each number that JSON's grammar has; other text is not changed. */
static void numbers_replace(struct mg_slice text, struct mg_buf *ret)
{
    static const char DIGITS[] = "0123456789";
    bool is_in_string = false;
    for (size_t i = 0; i < text.len; i++) {
        char c = text.data[i];
        if (is_in_string || (c != '-' && (c < '0' || c > '9'))) {
            is_in_string = c == '"' ? !is_in_string : is_in_string;
            mg_buf_append(ret, text.data + i, 1);
            if (is_in_string && c == '\\' && i + 1 < text.len) {
                mg_buf_append(ret, text.data + ++i, 1);
            }
            continue;
        }
        mg_buf_append_text(ret, "0");
        while (i + 1 < text.len && text.data[i + 1] != '\0' &&
               (strchr(DIGITS, text.data[i + 1]) != NULL || strchr("+-.eE", text.data[i + 1]) != NULL)) {
            i++;
        }
    }
}

/* Without bounds for numbers no other text is accepted, and none is refused. */
static void any_number_changes_nothing_else(struct mg_slice text, enum mg_class class)
{
    static const struct mg_json_limits ANY = {FUZZ_TEXT_MAX, DEPTH_MAX, FUZZ_TEXT_MAX, true};
    struct mg_err err;
    struct mg_buf bounded;
    enum mg_class any = mg_json_check(text, &ANY, &err);
    FUZZ_REQUIRE(class != MG_OK || any == MG_OK);
    FUZZ_REQUIRE(any == MG_OK || strstr(err.text, "out of range") == NULL);
    if (any == MG_OK && class != MG_OK) {
        mg_buf_init(&bounded, FUZZ_TEXT_MAX);
        numbers_replace(text, &bounded);
        FUZZ_REQUIRE(mg_buf_slice(&bounded).len <= text.len && is_taken_by_jansson(mg_buf_slice(&bounded)));
        mg_buf_finish(&bounded);
    }
}

static bool is_taken_within(struct mg_slice text, struct mg_json_limits limits)
{
    struct mg_err err;
    return mg_json_check(text, &limits, &err) == MG_OK;
}

struct size {
    int depth, members;
};

/* Counted by the walk, which shares no code with the validator. */
static struct size measure(struct mg_slice value)
{
    struct mg_slice name, inner;
    struct size size = {0, 0};
    enum mg_json_type type = mg_json_type_of(value);
    if (type != MG_JSON_OBJECT && type != MG_JSON_ARRAY) {
        return size;
    }
    for (struct mg_json_walk walk = mg_json_walk_of(value); mg_json_walk_next(&walk, &name, &inner);) {
        FUZZ_REQUIRE(fuzz_is_within(inner, value) && inner.len > 0);
        FUZZ_REQUIRE((type == MG_JSON_OBJECT) == (name.data != NULL));
        struct size below = measure(inner);
        if (below.depth > size.depth) {
            size.depth = below.depth;
        }
        size.members += 1 + below.members;
    }
    size.depth++;
    return size;
}

static struct mg_json_limits within(size_t bytes, int depth, int members)
{
    return (struct mg_json_limits){.max_bytes = bytes, .max_depth = depth, .max_members = members};
}

static void limits_hold(struct mg_slice text)
{
    struct size size = measure(mg_json_trim(text));
    FUZZ_REQUIRE(is_taken_within(text, within(text.len, size.depth, size.members)));
    FUZZ_REQUIRE(!is_taken_within(text, within(text.len - 1, size.depth, size.members)));
    if (size.depth > 0) {
        FUZZ_REQUIRE(!is_taken_within(text, within(text.len, size.depth - 1, size.members)));
    }
    if (size.members > 0) {
        FUZZ_REQUIRE(!is_taken_within(text, within(text.len, size.depth, size.members - 1)));
    }
}

/* RFC 6901 §3 */
static void append_escaped(struct mg_buf *pointer, struct mg_slice name)
{
    for (size_t i = 0; i < name.len; i++) {
        if (name.data[i] == '~') {
            mg_buf_append_text(pointer, "~0");
        } else if (name.data[i] == '/') {
            mg_buf_append_text(pointer, "~1");
        } else {
            mg_buf_append(pointer, name.data + i, 1);
        }
    }
}

/* A value is found at its pointer and can be replaced there. */
static void is_found_and_set(struct mg_slice text, const char *pointer, struct mg_slice value)
{
    struct mg_err err;
    struct mg_buf changed;
    FUZZ_REQUIRE(mg_json_find(text, pointer).data == value.data);
    FUZZ_REQUIRE(mg_json_find(text, pointer).len == value.len);
    mg_buf_init(&changed, FUZZ_TEXT_MAX);
    FUZZ_REQUIRE(mg_json_set(text, pointer, mg_slice_of("\"other\""), &changed, &err) == MG_OK);
    FUZZ_REQUIRE(mg_json_check(mg_buf_slice(&changed), &WIDE, &err) == MG_OK);
    FUZZ_REQUIRE(mg_slice_is(mg_json_find(mg_buf_slice(&changed), pointer), "\"other\""));
    mg_buf_finish(&changed);
}

/* A string that is written and read again is the same string. */
static void text_comes_back(struct mg_slice quoted)
{
    struct mg_err err;
    struct mg_buf plain, written, again;
    mg_buf_init(&plain, FUZZ_TEXT_MAX);
    mg_buf_init(&written, FUZZ_TEXT_MAX);
    mg_buf_init(&again, FUZZ_TEXT_MAX);
    FUZZ_REQUIRE(mg_json_string(quoted, &plain));
    struct mg_slice text = plain.len > 0 ? mg_buf_slice(&plain) : mg_slice_of("");
    mg_buf_append_json(&written, text);
    FUZZ_REQUIRE(mg_json_check(mg_buf_slice(&written), &WIDE, &err) == MG_OK);
    FUZZ_REQUIRE(mg_json_string_is(mg_buf_slice(&written), text));
    FUZZ_REQUIRE(mg_json_string(mg_buf_slice(&written), &again));
    mg_buf_finish(&written);
    fuzz_require_same(&plain, &again);
}

static void members_are_found(struct mg_slice text)
{
    struct mg_slice name, value, whole = mg_json_trim(text);
    struct mg_buf pointer, plain;
    if (mg_json_type_of(whole) == MG_JSON_STRING) {
        text_comes_back(whole);
    }
    if (mg_json_type_of(whole) != MG_JSON_OBJECT) {
        return;
    }
    mg_buf_init(&pointer, FUZZ_TEXT_MAX);
    mg_buf_init(&plain, FUZZ_TEXT_MAX);
    for (struct mg_json_walk walk = mg_json_walk_of(whole); mg_json_walk_next(&walk, &name, &value);) {
        text_comes_back(name);
        mg_buf_clear(&plain);
        mg_buf_clear(&pointer);
        FUZZ_REQUIRE(mg_json_string(name, &plain));
        mg_buf_append_text(&pointer, "/");
        append_escaped(&pointer, mg_buf_slice(&plain));
        FUZZ_REQUIRE(mg_json_pointer_is_valid(pointer.data));
        is_found_and_set(text, pointer.data, value);
    }
    mg_buf_finish(&pointer);
    mg_buf_finish(&plain);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct mg_slice text = {(const char *)data, size};
    struct mg_err err;
    char nothing = 0x5A;
    enum mg_class class = mg_json_check(text, &WIDE, &err);
    FUZZ_REQUIRE((class == MG_OK) == is_taken_by_jansson(text));
    any_number_changes_nothing_else(text, class);
    if (class != MG_OK) {
        FUZZ_REQUIRE_REFUSAL(class, err, nothing);
        return 0;
    }
    limits_hold(text);
    is_found_and_set(text, "", mg_json_trim(text));
    members_are_found(text);
    return 0;
}
