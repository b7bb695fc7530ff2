/*
 * The check of every external JSON text, before any other code reads it. One pass over the bytes judges
 * syntax, UTF-8, duplicate names, the range of numbers, and the limits. It builds no tree: values are used as
 * slices of the text, and a tree would cost more than the rest of a message. It recurses up to the depth
 * limit and stops at the first fault. Errors name line and column but never quote the text, which may hold
 * data that must not be logged.
 */
#include "json/json.h"

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/id.h"
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

#define INT64_DIGITS  19 /* of INT64_MAX and INT64_MIN */
#define DOUBLE_DIGITS (DBL_MAX_10_EXP + 1)
#define SORTED_ABOVE  16 /* names in one object; fewer are compared pairwise */
/* Each fault and its remedy. */
static const char *const EXPLANATIONS[] = {
    [MG_FAULT_EMPTY] = "empty; a JSON value is expected",
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

/* ---- strings ---- */

/* Reads four hexadecimal digits; -1 if one is invalid, with `at` on it. */
static int check_hex4(struct mg_check *check)
{
    int value = 0;
    for (int i = 0; i < 4; i++, check->at++) {
        int digit = check->at < check->end ? mg_hex_digit(*check->at) : -1;
        if (digit < 0) {
            return -1;
        }
        value = value * 16 + digit;
    }
    return value;
}

/* After "\u": one code point, or a pair of surrogates; a lone surrogate is a fault. */
static enum mg_check_fault check_code(struct mg_check *check)
{
    int code = check_hex4(check);
    if (code == 0) {
        return MG_FAULT_NUL_ESCAPE;
    }
    if (code < 0) {
        return MG_FAULT_SYNTAX;
    }
    if (code < 0xd800 || code >= 0xe000) {
        return MG_FAULT_NONE;
    }
    if (code >= 0xdc00) {
        return MG_FAULT_SURROGATE;
    }
    for (const char *mark = "\\u"; *mark != '\0'; mark++, check->at++) {
        if (check->at >= check->end || *check->at != *mark) {
            return MG_FAULT_SURROGATE;
        }
    }
    code = check_hex4(check);
    if (code < 0) {
        return MG_FAULT_SYNTAX;
    }
    return code >= 0xdc00 && code < 0xe000 ? MG_FAULT_NONE : MG_FAULT_SURROGATE;
}

static enum mg_check_fault check_escape(struct mg_check *check)
{
    if (++check->at >= check->end) {
        return MG_FAULT_END;
    }
    char c = *check->at;
    if (c == '\0' || strchr("\"\\/bfnrtu", c) == NULL) {
        return MG_FAULT_SYNTAX;
    }
    check->at++;
    return c == 'u' ? check_code(check) : MG_FAULT_NONE;
}

enum mg_check_fault mg_check_string(struct mg_check *check, bool *ret_has_escapes)
{
    const char *at = check->at + 1, *end = check->end;

    *ret_has_escapes = false;
    for (;;) {
        at += mg_plain_len(at, (size_t)(end - at));
        check->at = at;
        if (at == end) {
            return MG_FAULT_END;
        }
        if (*at == '"') {
            check->at++;
            return MG_FAULT_NONE;
        }
        if (*at == '\\') {
            enum mg_check_fault fault = check_escape(check);
            if (fault != MG_FAULT_NONE) {
                return fault;
            }
            *ret_has_escapes = true;
        } else {
            if ((unsigned char)*at < 0x20) {
                return MG_FAULT_SYNTAX;
            }
            size_t len = mg_utf8_len(at, (size_t)(end - at));
            if (len == 0) {
                return MG_FAULT_UTF8;
            }
            check->at += len;
        }
        at = check->at;
    }
}

/* ---- numbers ---- */

static size_t skip_digits(struct mg_check *check)
{
    const char *begin = check->at;
    while (check->at < check->end && *check->at >= '0' && *check->at <= '9') {
        check->at++;
    }
    return (size_t)(check->at - begin);
}

static bool is_above_int64(const char *digits, size_t count, bool is_negative)
{
    if (count != INT64_DIGITS) {
        return count > INT64_DIGITS;
    }
    return memcmp(digits, is_negative ? "9223372036854775808" : "9223372036854775807", INT64_DIGITS) > 0;
}

/* A double has up to 309 digits before the point. Numbers with more are too large, numbers with fewer are
 * not. With exactly 309 these digits alone decide, since the bound between the largest double and infinity is
 * an integer. `mantissa` is digits, perhaps with a point. */
static bool is_above_double(const char *mantissa, const char *end, int64_t exponent)
{
    char digits[DOUBLE_DIGITS + 1];
    int count = 0;
    int64_t before_point = 0;
    bool is_fraction = false;

    for (; mantissa < end; mantissa++) {
        if (*mantissa == '.') {
            is_fraction = true;
            continue;
        }
        bool is_significant = count > 0 || *mantissa != '0';
        if (is_fraction ? !is_significant : is_significant) {
            before_point += is_fraction ? -1 : 1;
        }
        if (is_significant && count < DOUBLE_DIGITS) {
            digits[count++] = *mantissa;
        }
    }
    if (count == 0 || before_point + exponent != DOUBLE_DIGITS) {
        return count > 0 && before_point + exponent > DOUBLE_DIGITS;
    }
    memset(digits + count, '0', (size_t)(DOUBLE_DIGITS - count));
    digits[DOUBLE_DIGITS] = '\0';
    return isinf(strtod(digits, NULL));
}

/* After "e" or "E". The count stops far beyond any exponent that the digits of a text could balance. */
static bool check_exponent(struct mg_check *check, int64_t *ret_exponent)
{
    static const int64_t FAR = INT32_MAX;
    bool is_negative = false;

    if (check->at < check->end && (*check->at == '+' || *check->at == '-')) {
        is_negative = *check->at++ == '-';
    }
    const char *begin = check->at;
    if (skip_digits(check) == 0) {
        return false;
    }
    for (*ret_exponent = 0; begin < check->at; begin++) {
        if (*ret_exponent < FAR) {
            *ret_exponent = *ret_exponent * 10 + (*begin - '0');
        }
    }
    if (is_negative) {
        *ret_exponent = -*ret_exponent;
    }
    return true;
}

enum mg_check_fault mg_check_number(struct mg_check *check)
{
    const char *begin = check->at;
    int64_t exponent = 0;

    if (*begin == '-') {
        check->at++;
    }
    const char *mantissa = check->at;
    size_t digits = skip_digits(check);
    if (digits == 0) {
        return MG_FAULT_SYNTAX;
    }
    if (digits > 1 && *mantissa == '0') {
        check->at = mantissa + 1;
        return MG_FAULT_SYNTAX;
    }
    bool is_integer = true;
    if (check->at < check->end && *check->at == '.') {
        is_integer = false;
        check->at++;
        if (skip_digits(check) == 0) {
            return MG_FAULT_SYNTAX;
        }
    }
    const char *end = check->at;
    if (check->at < check->end && (*check->at == 'e' || *check->at == 'E')) {
        is_integer = false;
        check->at++;
        if (!check_exponent(check, &exponent)) {
            return MG_FAULT_SYNTAX;
        }
    }
    if (check->limits->any_number) {
        return MG_FAULT_NONE;
    }
    bool is_above = is_integer ? is_above_int64(mantissa, digits, begin != mantissa)
                               : is_above_double(mantissa, end, exponent);
    if (!is_above) {
        return MG_FAULT_NONE;
    }
    check->at = begin;
    return MG_FAULT_RANGE;
}

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

bool mg_check_is_same_name(const struct mg_check_name *a, const struct mg_check_name *b)
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

/* Finds a duplicate name; may reorder them. Many names are sorted and only neighbours compared, so the time
 * is not quadratic in hostile input. */
static enum mg_check_fault check_twice(struct mg_check *check, struct mg_check_name *names, size_t count)
{
    bool is_sorted = count > SORTED_ABOVE;
    if (is_sorted) {
        qsort(names, count, sizeof(*names), compare_names);
    }
    for (size_t i = 1; i < count; i++) {
        for (size_t k = is_sorted ? i - 1 : 0; k < i; k++) {
            bool may_differ_in_length = names[k].has_escapes || names[i].has_escapes;
            if ((may_differ_in_length || names[k].quoted.len == names[i].quoted.len) &&
                mg_check_is_same_name(&names[k], &names[i])) {
                const char *a = names[k].quoted.data, *b = names[i].quoted.data;
                check->at = a < b ? b : a;
                return MG_FAULT_TWICE;
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

static enum mg_check_fault check_value(struct mg_check *check);

static enum mg_check_fault check_name(struct mg_check *check)
{
    if (check_next(check) != '"') {
        return MG_FAULT_SYNTAX;
    }
    struct mg_check_name name = {.quoted.data = check->at};
    enum mg_check_fault fault = mg_check_string(check, &name.has_escapes);
    if (fault != MG_FAULT_NONE) {
        return fault;
    }
    name.quoted.len = (size_t)(check->at - name.quoted.data);
    if (!keep_name(check, name)) {
        return MG_FAULT_MEMORY;
    }
    if (check_next(check) != ':') {
        return MG_FAULT_SYNTAX;
    }
    check->at++;
    return MG_FAULT_NONE;
}

/* The members of an object or elements of an array, up to the closing bracket. */
static enum mg_check_fault check_children(struct mg_check *check, bool is_object)
{
    char close = is_object ? '}' : ']';
    int next = check_next(check);
    while (next != close) {
        if (++check->members > check->limits->max_members) {
            return MG_FAULT_MEMBERS;
        }
        enum mg_check_fault fault = is_object ? check_name(check) : MG_FAULT_NONE;
        if (fault == MG_FAULT_NONE) {
            fault = check_value(check);
        }
        if (fault != MG_FAULT_NONE) {
            return fault;
        }
        next = check_next(check);
        if (next != close && next != ',') {
            return MG_FAULT_SYNTAX;
        }
        check->at += next == ',' ? 1 : 0;
    }
    return MG_FAULT_NONE;
}

static enum mg_check_fault check_container(struct mg_check *check, bool is_object)
{
    size_t names_before = check->name_count;
    if (++check->depth > check->limits->max_depth) {
        return MG_FAULT_DEPTH;
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

static enum mg_check_fault check_value(struct mg_check *check)
{
    bool has_escapes;
    switch (check_next(check)) {
    case '{':
        return check_container(check, true);
    case '[':
        return check_container(check, false);
    case '"':
        return mg_check_string(check, &has_escapes);
    case 't':
        return check_word(check, "true");
    case 'f':
        return check_word(check, "false");
    case 'n':
        return check_word(check, "null");
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
        return mg_check_number(check);
    default:
        return MG_FAULT_SYNTAX;
    }
}

/* For the second reader; the function itself is static, so that the compiler puts it in place. */
bool mg_check_keep_name(struct mg_check *check, struct mg_check_name name)
{
    return keep_name(check, name);
}

/* ---- the whole ---- */

const char *mg_check_explain(const struct mg_check *check, enum mg_check_fault fault,
                             char ret_text[MG_CHECK_EXPLANATION_SIZE])
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
    (void)snprintf(ret_text, MG_CHECK_EXPLANATION_SIZE, "%s; up to %d are allowed", EXPLANATIONS[fault],
                   fault == MG_FAULT_DEPTH ? check->limits->max_depth : check->limits->max_members);
    return ret_text;
}

static enum mg_class refuse(struct mg_slice text, const struct mg_check *check, enum mg_check_fault fault,
                            struct mg_err *err)
{
    char memory[MG_CHECK_EXPLANATION_SIZE];
    if (fault == MG_FAULT_MEMORY) {
        return mg_err_set(err, MG_TRANSIENT, "could not check %zu bytes of JSON: no memory", text.len);
    }
    if (fault == MG_FAULT_BYTES) {
        return mg_err_set(err, MG_BAD_INPUT, "the text has %zu bytes; up to %zu are allowed", text.len,
                          check->limits->max_bytes);
    }
    const char *explanation = mg_check_explain(check, fault, memory);
    struct mg_json_place place = mg_json_place_of(text, check->at);
    return mg_err_set(err, MG_BAD_INPUT, "line %d, column %d: %s", place.line, place.column, explanation);
}

void mg_check_names_begin(struct mg_check *check)
{
    check->names = check->few;
    check->name_capacity = MG_CHECK_NAMES_FEW;
}

void mg_check_names_end(struct mg_check *check)
{
    if (check->names != check->few) {
        free(check->names);
    }
}

static enum mg_check_fault check_text(struct mg_check *check, struct mg_slice text)
{
    if (text.data == NULL || check_next(check) == -1) {
        check->at = text.data;
        return MG_FAULT_EMPTY;
    }
    if (text.len > check->limits->max_bytes) {
        return MG_FAULT_BYTES;
    }
    mg_check_names_begin(check);
    enum mg_check_fault fault = check_value(check);
    if (fault == MG_FAULT_NONE && check_next(check) != -1) {
        fault = MG_FAULT_MORE;
    }
    mg_check_names_end(check);
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
    struct mg_check check = {.at = text.data, .end = text.data + text.len, .limits = limits};
    enum mg_check_fault fault = check_text(&check, text);
    *ret_is_above = fault == MG_FAULT_BYTES || fault == MG_FAULT_DEPTH || fault == MG_FAULT_MEMBERS;
    return fault == MG_FAULT_NONE ? MG_OK : refuse(text, &check, fault, err);
}
