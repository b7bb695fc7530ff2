/*
 * The check of every external JSON text, before any other code reads it. One pass over the bytes judges
 * syntax, UTF-8, duplicate names, the range of numbers, and the limits. It builds no tree: values are used as
 * slices of the text, and a tree would cost more than the rest of a message. It recurses up to the depth
 * limit; scalar.c checks strings and numbers. Errors name line and column but never quote the text,
 * which may hold data that must not be logged.
 */
#include "json/json.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "json/validator.h"

const struct mg_json_limits MG_JSON_LIMITS_DEFAULT = {
    .max_bytes = 256 * 1024,
    .max_depth = 32,
    .max_members = 10000,
};
const struct mg_json_limits MG_JSON_LIMITS_DATA = {
    .max_bytes = 256 * 1024,
    .max_depth = 32,
    .max_members = 10000,
    .any_number = true,
};
const struct mg_json_limits MG_JSON_LIMITS_SUBMISSION = {
    .max_bytes = 256 * 1024,
    .max_depth = 32,
    .max_members = 32 * 1024,
    .any_number = true,
};

#define EXPLANATION_SIZE 128
#define SORTED_ABOVE     16 /* names in one object; fewer are compared pairwise */
/* Each fault and its remedy. */
static const char *const EXPLANATIONS[] = {
    [MG_FAULT_SYNTAX] =
        "not JSON; it must follow RFC 8259 (names in double quotes, no trailing comma, no comments)",
    [MG_FAULT_END] = "the text ends in the middle of a value; send it whole",
    [MG_FAULT_MORE] = "something follows the value; send one value and nothing after it",
    [MG_FAULT_UTF8] = "invalid UTF-8; JSON text is UTF-8",
    [MG_FAULT_NUL] = "a NUL byte; JSON text has none",
    [MG_FAULT_NUL_ESCAPE] = "NUL (\\u0000) in a string; remove it",
    [MG_FAULT_SURROGATE] = "half a surrogate pair (\\ud800 to \\udfff) in a string; alone it is no character",
    [MG_FAULT_TWICE] = "a member's name occurs twice in its object; use each name once",
    [MG_FAULT_RANGE] =
        "a number out of range; integers must fit 64 bits, others a double: send it as a string",
    [MG_FAULT_DEPTH] = "too many levels of objects and arrays",
    [MG_FAULT_MEMBERS] = "too many members and elements",
};

static enum mg_check_fault check_value(struct mg_check *check);

/* ---- names ---- */

/* The decoded bytes of a quoted name, one by one. */
struct reader {
    const char *at, *end;
    char utf8[4];
    int len, next;
};

static struct reader reader_of(struct mg_slice quoted)
{
    return (struct reader){.at = quoted.data + 1, .end = quoted.data + quoted.len - 1};
}

static int reader_next(struct reader *reader) /* -1: the end */
{
    if (reader->next == reader->len) {
        reader->len = mg_json_char_next(&reader->at, reader->end, reader->utf8);
        reader->next = 0;
        if (reader->len == 0) {
            return -1;
        }
    }
    return (unsigned char)reader->utf8[reader->next++];
}

static bool is_same_name(const struct mg_check_name *a, const struct mg_check_name *b)
{
    if (!a->has_escapes && !b->has_escapes) {
        return mg_slice_equal(a->quoted, b->quoted);
    }
    struct reader left = reader_of(a->quoted), right = reader_of(b->quoted);
    for (;;) {
        int byte = reader_next(&left);
        if (byte != reader_next(&right)) {
            return false;
        }
        if (byte < 0) {
            return true;
        }
    }
}

/* Any order that makes equal names neighbours. */
static int compare_names(const void *a, const void *b)
{
    const struct mg_check_name *first = a, *second = b;
    struct reader left = reader_of(first->quoted), right = reader_of(second->quoted);
    for (;;) {
        int left_byte = reader_next(&left), right_byte = reader_next(&right);
        if (left_byte != right_byte) {
            return left_byte < right_byte ? -1 : 1;
        }
        if (left_byte < 0) {
            return 0;
        }
    }
}

static enum mg_check_fault name_twice(struct mg_check *check, const struct mg_check_name *a,
                                      const struct mg_check_name *b)
{
    bool is_in_order = a->quoted.data < b->quoted.data;
    struct mg_slice first = is_in_order ? a->quoted : b->quoted, second = is_in_order ? b->quoted : a->quoted;
    if (mg_check_mend_twice(check, first, second)) {
        return MG_FAULT_NONE;
    }
    check->at = second.data;
    return MG_FAULT_TWICE;
}

/* Finds duplicate names; may reorder them. Many names are sorted and only neighbours compared, so the time is
 * not quadratic in hostile input. */
static enum mg_check_fault check_twice(struct mg_check *check, struct mg_check_name *names, size_t count)
{
    bool is_sorted = count > SORTED_ABOVE;
    if (is_sorted) {
        qsort(names, count, sizeof(*names), compare_names);
    }
    for (size_t i = 1; i < count; i++) {
        for (size_t k = is_sorted ? i - 1 : 0; k < i; k++) {
            if (is_same_name(&names[k], &names[i])) {
                enum mg_check_fault fault = name_twice(check, &names[k], &names[i]);
                if (fault != MG_FAULT_NONE) {
                    return fault;
                }
            }
        }
    }
    return MG_FAULT_NONE;
}

static bool keep_name(struct mg_check *check, struct mg_check_name name)
{
    if (check->name_count == check->name_capacity) {
        bool is_first = check->names == check->few;
        size_t capacity = 2 * check->name_capacity;
        struct mg_check_name *names = realloc(is_first ? NULL : check->names, capacity * sizeof(*names));
        if (names == NULL) {
            return false;
        }
        if (is_first) {
            memcpy(names, check->few, sizeof(check->few));
        }
        check->names = names;
        check->name_capacity = capacity;
    }
    check->names[check->name_count++] = name;
    return true;
}

/* ---- values ---- */

/* The next character that is not blank; -1 at the end. */
static int check_next(struct mg_check *check)
{
    while (check->at < check->end &&
           (*check->at == ' ' || *check->at == '\n' || *check->at == '\t' || *check->at == '\r')) {
        check->at++;
    }
    return check->at < check->end ? (unsigned char)*check->at : -1;
}

/* A name that is read up to its end: quoted, or mended. */
static enum mg_check_fault check_quoted_name(struct mg_check *check)
{
    while (check_next(check) != '"') {
        enum mg_mend mend = mg_check_mend(check, MG_WANT_NAME);
        if (mend != MG_MEND_AGAIN) {
            return mend == MG_MEND_TAKEN ? MG_FAULT_NONE : MG_FAULT_SYNTAX;
        }
    }
    struct mg_check_name name = {.quoted.data = check->at};
    enum mg_check_fault fault = mg_check_string(check, &name.has_escapes);
    if (fault != MG_FAULT_NONE) {
        return mg_check_mend_scalar(check, name.quoted.data, fault);
    }
    name.quoted.len = (size_t)(check->at - name.quoted.data);
    return keep_name(check, name) ? MG_FAULT_NONE : MG_FAULT_MEMORY;
}

static enum mg_check_fault check_name(struct mg_check *check)
{
    enum mg_check_fault fault = check_quoted_name(check);
    if (fault != MG_FAULT_NONE) {
        return fault;
    }
    while (check_next(check) != ':') {
        enum mg_mend mend = mg_check_mend(check, MG_WANT_COLON);
        if (mend != MG_MEND_AGAIN) {
            return mend == MG_MEND_TAKEN ? MG_FAULT_NONE : MG_FAULT_SYNTAX;
        }
    }
    check->at++;
    return MG_FAULT_NONE;
}

/* After a member or an element. `ret_is_over`: at the closing bracket, or at a bracket that stands for it.
 */
static enum mg_check_fault check_more(struct mg_check *check, char close, bool *ret_is_over)
{
    for (;;) {
        int next = check_next(check);
        *ret_is_over = next == close;
        if (next == close) {
            return MG_FAULT_NONE;
        }
        if (next == ',') {
            check->at++;
            return MG_FAULT_NONE;
        }
        enum mg_mend mend = mg_check_mend(check, MG_WANT_MORE);
        *ret_is_over = mend == MG_MEND_CLOSED;
        if (mend == MG_MEND_TAKEN || mend == MG_MEND_CLOSED) {
            return MG_FAULT_NONE;
        }
        if (mend == MG_MEND_NONE) {
            return MG_FAULT_SYNTAX;
        }
    }
}

/* The members of an object or elements of an array, up to the closing bracket. */
static enum mg_check_fault check_children(struct mg_check *check, bool is_object)
{
    char close = is_object ? '}' : ']';
    bool is_over = check_next(check) == close;
    while (!is_over) {
        if (++check->members > check->limits->max_members) {
            return MG_FAULT_MEMBERS;
        }
        enum mg_check_fault fault = is_object ? check_name(check) : MG_FAULT_NONE;
        if (fault == MG_FAULT_NONE) {
            fault = check_value(check);
        }
        if (fault == MG_FAULT_SYNTAX && mg_check_mend_comma(check, close)) {
            return MG_FAULT_NONE;
        }
        if (fault == MG_FAULT_NONE) {
            fault = check_more(check, close, &is_over);
        }
        if (fault != MG_FAULT_NONE) {
            return fault;
        }
    }
    return MG_FAULT_NONE;
}

static enum mg_check_fault check_container(struct mg_check *check, bool is_object)
{
    size_t names_before = check->name_count;
    if (++check->depth > check->limits->max_depth) {
        return MG_FAULT_DEPTH;
    }
    if (check->mender != NULL && check->depth <= MG_MEND_DEPTH_MAX) {
        check->mender->open[check->depth - 1] = check->at;
    }
    check->at++;
    enum mg_check_fault fault = check_children(check, is_object);
    if (fault != MG_FAULT_NONE) {
        return fault;
    }
    fault = check_twice(check, check->names + names_before, check->name_count - names_before);
    if (fault != MG_FAULT_NONE) {
        return fault;
    }
    check->name_count = names_before;
    check->depth--;
    check->at++;
    return MG_FAULT_NONE;
}

static enum mg_check_fault check_word(struct mg_check *check, const char *word)
{
    size_t len = strlen(word), left = (size_t)(check->end - check->at);
    if (left < len || memcmp(check->at, word, len) != 0) {
        return MG_FAULT_SYNTAX;
    }
    check->at += len;
    return MG_FAULT_NONE;
}

static enum mg_check_fault check_scalar(struct mg_check *check, bool is_string)
{
    const char *begin = check->at;
    bool has_escapes;
    enum mg_check_fault fault = is_string ? mg_check_string(check, &has_escapes) : mg_check_number(check);
    return fault == MG_FAULT_NONE ? MG_FAULT_NONE : mg_check_mend_scalar(check, begin, fault);
}

/* Where no value begins, or a word is not one of JSON's. */
static enum mg_check_fault check_other(struct mg_check *check)
{
    enum mg_mend mend = mg_check_mend(check, MG_WANT_VALUE);
    if (mend == MG_MEND_AGAIN) {
        return check_value(check); /* the mender's bound of mistakes bounds the recursion */
    }
    return mend == MG_MEND_TAKEN ? MG_FAULT_NONE : MG_FAULT_SYNTAX;
}

static enum mg_check_fault check_value(struct mg_check *check)
{
    enum mg_check_fault fault = MG_FAULT_SYNTAX;
    switch (check_next(check)) {
    case '{':
        return check_container(check, true);
    case '[':
        return check_container(check, false);
    case '"':
        return check_scalar(check, true);
    case 't':
        fault = check_word(check, "true");
        break;
    case 'f':
        fault = check_word(check, "false");
        break;
    case 'n':
        fault = check_word(check, "null");
        break;
    case '-':
    case '0':
    case '1':
    case '2':
    case '3':
    case '4':
    case '5':
    case '6':
    case '7':
    case '8':
    case '9':
        return check_scalar(check, false);
    default:
        break;
    }
    return fault == MG_FAULT_NONE ? MG_FAULT_NONE : check_other(check);
}

/* ---- the whole ---- */

/* The fault with its remedy. */
static const char *explain(const struct mg_check *check, enum mg_check_fault fault, char *ret_text,
                           size_t size)
{
    if (fault == MG_FAULT_SYNTAX || fault == MG_FAULT_MORE) {
        if (check->at >= check->end) {
            fault = MG_FAULT_END;
        } else if (*check->at == '\0') {
            fault = MG_FAULT_NUL;
        }
    }
    if (fault != MG_FAULT_DEPTH && fault != MG_FAULT_MEMBERS) {
        return EXPLANATIONS[fault];
    }
    (void)snprintf(ret_text, size, "%s; up to %d are allowed", EXPLANATIONS[fault],
                   fault == MG_FAULT_DEPTH ? check->limits->max_depth : check->limits->max_members);
    return ret_text;
}

static enum mg_class refuse(struct mg_slice text, const struct mg_check *check, enum mg_check_fault fault,
                            struct mg_err *err)
{
    char explanation[EXPLANATION_SIZE];
    struct mg_json_place place = mg_json_place_of(text, check->at);
    if (fault == MG_FAULT_MEMORY) {
        return mg_err_set(err, MG_TRANSIENT, "could not check %zu bytes of JSON: no memory", text.len);
    }
    return mg_err_set(err, MG_BAD_INPUT, "line %d, column %d: %s", place.line, place.column,
                      explain(check, fault, explanation, sizeof(explanation)));
}

static enum mg_check_fault check_text(struct mg_check *check)
{
    check->names = check->few;
    check->name_capacity = MG_CHECK_NAMES_FEW;
    enum mg_check_fault fault = check_value(check);
    if (fault == MG_FAULT_NONE && check_next(check) != -1) {
        fault = MG_FAULT_MORE;
    }
    if (check->names != check->few) {
        free(check->names);
    }
    return fault;
}

enum mg_class mg_json_check(struct mg_slice text, const struct mg_json_limits *limits, struct mg_err *err)
{
    bool is_above_limit;
    return mg_json_check_limits(text, limits, &is_above_limit, err);
}

enum mg_class mg_json_check_limits(struct mg_slice text, const struct mg_json_limits *limits,
                                   bool *ret_is_above, struct mg_err *err)
{
    *ret_is_above = false;
    if (text.data == NULL || mg_json_trim(text).len == 0) {
        return mg_err_set(err, MG_BAD_INPUT, "line 1, column 1: empty; a JSON value is expected");
    }
    if (text.len > limits->max_bytes) {
        *ret_is_above = true;
        return mg_err_set(err, MG_BAD_INPUT, "the text has %zu bytes; up to %zu are allowed", text.len,
                          limits->max_bytes);
    }
    struct mg_check check = {.at = text.data, .end = text.data + text.len, .limits = limits};
    enum mg_check_fault fault = check_text(&check);
    *ret_is_above = fault == MG_FAULT_DEPTH || fault == MG_FAULT_MEMBERS;
    return fault == MG_FAULT_NONE ? MG_OK : refuse(text, &check, fault, err);
}

void mg_json_check_all(struct mg_slice text, const struct mg_json_limits *limits,
                       void (*report)(void *arg, const char *at, const char *text), void *arg)
{
    char explanation[EXPLANATION_SIZE];
    struct mg_mender mender = {.text = text, .report = report, .arg = arg};
    struct mg_check check = {
        .at = text.data, .end = text.data + text.len, .mender = &mender, .limits = limits};
    enum mg_check_fault fault = check_text(&check);
    if (fault != MG_FAULT_NONE) {
        mg_check_mend_end(&check, fault, explain(&check, fault, explanation, sizeof(explanation)));
    }
}
