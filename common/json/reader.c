/*
 * Getters for the members of a checked object. All members are found when the object is opened, so reading
 * costs one walk for any number of getters. Mistakes are collected, not returned: a definition reports all of
 * its mistakes, a message its first.
 */
#include "json/reader.h"

#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/calendar.h"
#include "base/clock.h"
#include "core/key.h"

#define WORD_MAX 64 /* longer than any known word, key or duration */

void mg_json_pointer_join(const char *pointer, struct mg_slice name, char ret_pointer[MG_JSON_POINTER_SIZE])
{
    char text[MG_JSON_POINTER_SIZE];
    int n = snprintf(text, sizeof(text), "%s/", pointer);
    size_t len = n < (int)sizeof(text) ? (size_t)n : sizeof(text) - 1;

    for (size_t i = 0; i < name.len && len + 2 < sizeof(text); i++) {
        char c = name.data[i];
        if (c == '~' || c == '/') {
            text[len++] = '~';
            c = c == '~' ? '0' : '1';
        }
        text[len++] = (unsigned char)c < 0x20 ? '?' : c;
    }
    memcpy(ret_pointer, text, len);
    ret_pointer[len] = '\0';
}

void mg_json_member_fault(const struct mg_json_object *object, enum mg_class class, const char *name,
                          const char *format, ...)
{
    char pointer[MG_JSON_POINTER_SIZE], text[MG_FAULT_TEXT_SIZE];
    va_list args;

    va_start(args, format);
    (void)vsnprintf(text, sizeof(text), format, args);
    va_end(args);
    mg_json_pointer_join(object->pointer, mg_slice_of(name), pointer);
    mg_json_fault(object->faults, class, pointer, "%s", text);
}

/* ---- opening ---- */

/* Copies a string's text into a fixed buffer. False if it does not fit whole; then as many whole characters
 * as fit. */
static bool copy_string(struct mg_slice quoted, char *ret_text, size_t size)
{
    const char *at = quoted.data + 1, *end = quoted.data + quoted.len - 1;
    size_t len = 0;
    bool is_whole = true;
    char utf8[4];
    int n;

    if ((size_t)(end - at) < size && memchr(at, '\\', (size_t)(end - at)) == NULL) { /* the usual case */
        memcpy(ret_text, at, (size_t)(end - at));
        ret_text[end - at] = '\0';
        return true;
    }
    while ((n = mg_json_char_next(&at, end, utf8)) > 0) {
        if (len + (size_t)n >= size) {
            /* A character is never cut in half. */
            if (((unsigned char)utf8[0] & 0xc0) == 0x80) {
                while (len > 0 && ((unsigned char)ret_text[len - 1] & 0xc0) == 0x80) {
                    len--;
                }
                if (len > 0) {
                    len--;
                }
            }
            is_whole = false;
            break;
        }
        memcpy(ret_text + len, utf8, (size_t)n);
        len += (size_t)n;
    }
    ret_text[len] = '\0';
    return is_whole;
}

static unsigned least(unsigned a, unsigned b)
{
    return a < b ? a : b;
}

/* Levenshtein's distance of two short words; two letters in the wrong order are one mistake, too. */
static unsigned distance(const char *a, size_t a_len, const char *b, size_t b_len)
{
    unsigned rows[3][WORD_MAX + 1]; /* the row at i, the one before it, and the one before that */
    for (size_t j = 0; j <= b_len; j++) {
        rows[0][j] = (unsigned)j;
    }
    for (size_t i = 1; i <= a_len; i++) {
        unsigned *row = rows[i % 3];
        const unsigned *above = rows[(i - 1) % 3], *second = rows[(i + 1) % 3];
        row[0] = (unsigned)i;
        for (size_t j = 1; j <= b_len; j++) {
            unsigned change = above[j - 1] + (a[i - 1] == b[j - 1] ? 0u : 1u);
            row[j] = least(change, least(above[j], row[j - 1]) + 1u);
            if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1]) {
                row[j] = least(row[j], second[j - 2] + 1u);
            }
        }
    }
    return rows[a_len % 3][b_len];
}

const char *mg_json_nearest(const char *const *names, struct mg_slice name)
{
    const char *nearest = NULL;
    unsigned best = name.len < 4 ? 2 : 4; /* a hint at a greater distance would mislead */

    if (name.len > WORD_MAX) {
        return NULL;
    }
    for (; *names != NULL; names++) {
        size_t len = strlen(*names);
        if (len > WORD_MAX) {
            continue;
        }
        unsigned d = distance(name.data, name.len, *names, len);
        bool is_alike = name.len > 1 && len > 1 && memcmp(name.data, *names, 2) == 0; /* so they begin */
        if (d < best || (d == best && nearest != NULL && is_alike)) {
            best = d;
            nearest = *names;
        }
    }
    return nearest;
}

static void list_words(const char *const *words, char *ret_text, size_t size)
{
    size_t len = 0;
    ret_text[0] = '\0';
    for (; *words != NULL; words++) {
        int n = snprintf(ret_text + len, size - len, "%s\"%s\"", len > 0 ? ", " : "", *words);
        if (n < 0 || (size_t)n >= size - len) {
            ret_text[len] = '\0'; /* whole words only */
            return;
        }
        len += (size_t)n;
    }
}

static void refuse_unknown(const struct mg_json_object *object, struct mg_slice quoted_name)
{
    char name[WORD_MAX + 1], known[MG_FAULT_TEXT_SIZE - 64], pointer[MG_JSON_POINTER_SIZE];

    if (mg_json_faults_are_many(object->faults) && object->faults->class != MG_STALE) {
        object->faults->count++;
        return;
    }
    (void)copy_string(quoted_name, name, sizeof(name));
    mg_json_pointer_join(object->pointer, mg_slice_of(name), pointer);
    const char *nearest = mg_json_nearest(object->names, mg_slice_of(name));
    if (nearest != NULL) {
        mg_json_fault_at(object->faults, MG_BAD_INPUT, pointer, quoted_name.data,
                         "no such member; did you mean \"%s\"?", nearest);
    } else {
        list_words(object->names, known, sizeof(known));
        mg_json_fault_at(object->faults, MG_BAD_INPUT, pointer, quoted_name.data,
                         "no such member; there are %s", known);
    }
}

bool mg_json_object_open(struct mg_json_object *ret_object, struct mg_json_faults *faults,
                         struct mg_slice value, const char *pointer, const char *const *names,
                         enum mg_json_unknown unknown)
{
    struct mg_slice name, member;

    *ret_object = (struct mg_json_object){.faults = faults, .names = names};
    (void)snprintf(ret_object->pointer, sizeof(ret_object->pointer), "%s", pointer);
    value = mg_json_trim(value);
    if (mg_json_type_of(value) != MG_JSON_OBJECT) {
        mg_json_fault(faults, MG_BAD_INPUT, pointer, "%s; an object is expected",
                      mg_json_type_name(mg_json_type_of(value)));
        return false;
    }
    int count = 0, index = 0;
    while (names[count] != NULL) {
        count++;
    }
    assert(count <= MG_JSON_NAMES_MAX);
    for (struct mg_json_walk walk = mg_json_walk_of(value); mg_json_walk_next(&walk, &name, &member);) {
        int tried = 0; /* members mostly come in the order of names: it begins after the last match */
        while (tried < count && !mg_json_string_is(name, mg_slice_of(names[index]))) {
            index = (index + 1) % count;
            tried++;
        }
        if (tried < count) {
            ret_object->values[index] = member;
        } else if (unknown == MG_JSON_UNKNOWN_REFUSED) {
            refuse_unknown(ret_object, name);
        }
    }
    return true;
}

bool mg_json_message_open(struct mg_json_object *ret_object, struct mg_json_faults *faults,
                          struct mg_slice body, const struct mg_json_limits *limits, const char *const *names,
                          enum mg_json_unknown unknown)
{
    faults->class = mg_json_check(body, limits, faults->err);
    faults->count += faults->class != MG_OK ? 1 : 0;
    return faults->class == MG_OK && mg_json_object_open(ret_object, faults, body, "", names, unknown);
}

int mg_json_get_version(const struct mg_json_object *object, int newest)
{
    int64_t version = mg_json_get_integer(object, "v", MG_REQUIRED, 1, INT64_MAX, 1);
    if (version > newest) {
        object->faults->is_newer = true;
        mg_json_member_fault(object, MG_STALE, "v",
                             "version %" PRId64
                             " of the message; this program reads version %d and leaves it for a newer one",
                             version, newest);
        return newest;
    }
    return (int)version;
}

void mg_json_version_check(const struct mg_json_object *object)
{
    (void)mg_json_get_version(object, 1);
}

/* ---- getters ---- */

struct mg_slice mg_json_get(const struct mg_json_object *object, const char *name, enum mg_json_need need)
{
    int i = 0;
    while (object->names[i] != NULL && strcmp(object->names[i], name) != 0) {
        i++;
    }
    assert(object->names[i] != NULL); /* a getter for a name that is not in the list of open */
    if (object->values[i].data == NULL && need == MG_REQUIRED) {
        mg_json_fault(object->faults, MG_BAD_INPUT, object->pointer, "member \"%s\" is missing; add it",
                      name);
    }
    return object->values[i];
}

struct mg_slice mg_json_get_typed(const struct mg_json_object *object, const char *name,
                                  enum mg_json_need need, enum mg_json_type type)
{
    struct mg_slice value = mg_json_get(object, name, need);
    if (value.data != NULL && mg_json_type_of(value) != type) {
        mg_json_member_fault(object, MG_BAD_INPUT, name, "%s; %s is expected",
                             mg_json_type_name(mg_json_type_of(value)), mg_json_type_name(type));
        return (struct mg_slice){0};
    }
    return value;
}

void mg_json_get_text(const struct mg_json_object *object, const char *name, enum mg_json_need need,
                      char *ret_text, size_t size)
{
    struct mg_slice value = mg_json_get_typed(object, name, need, MG_JSON_STRING);
    ret_text[0] = '\0';
    if (value.data != NULL) {
        (void)copy_string(value, ret_text, size);
    }
}

void mg_json_get_checked(const struct mg_json_object *object, const char *name, enum mg_json_need need,
                         bool (*is_valid)(const char *text, size_t len), const char *right, char *ret_text,
                         size_t size)
{
    struct mg_slice value = mg_json_get_typed(object, name, need, MG_JSON_STRING);
    ret_text[0] = '\0';
    if (value.data == NULL) {
        return;
    }
    if (!copy_string(value, ret_text, size) || !is_valid(ret_text, strlen(ret_text))) {
        mg_json_member_fault(object, MG_BAD_INPUT, name, "\"%.40s\" is not allowed; it must be %s", ret_text,
                             right);
        ret_text[0] = '\0';
    }
}

void mg_json_get_name(const struct mg_json_object *object, const char *name, enum mg_json_need need,
                      char *ret_name)
{
    mg_json_get_checked(object, name, need, mg_name_is_valid,
                        "1 to 63 characters a-z, 0-9, \"_\", \"-\", the first a letter", ret_name,
                        MG_NAME_MAX + 1);
}

void mg_json_get_order_id(const struct mg_json_object *object, const char *name, enum mg_json_need need,
                          char *ret_id)
{
    mg_json_get_checked(object, name, need, mg_order_id_is_valid,
                        "1 to 64 characters A-Z, a-z, 0-9, \".\", \"_\", \":\", \"-\"", ret_id,
                        MG_ORDER_ID_MAX + 1);
}

/* A number as a C string; false if it was cut. */
static bool number_text(struct mg_slice value, char *ret_text, size_t size)
{
    size_t len = value.len < size ? value.len : size - 1;
    memcpy(ret_text, value.data, len);
    ret_text[len] = '\0';
    return len == value.len;
}

int64_t mg_json_get_integer(const struct mg_json_object *object, const char *name, enum mg_json_need need,
                            int64_t min, int64_t max, int64_t absent)
{
    struct mg_slice value = mg_json_get_typed(object, name, need, MG_JSON_NUMBER);
    char text[24], *end = NULL;

    if (value.data == NULL) {
        return absent;
    }
    bool is_whole = number_text(value, text, sizeof(text));
    errno = 0;
    long long number = strtoll(text, &end, 10);
    if (!is_whole || errno != 0 || *end != '\0' || number < min || number > max) {
        mg_json_member_fault(object, MG_BAD_INPUT, name,
                             "%s is not allowed; it must be an integer from %" PRId64 " to %" PRId64, text,
                             min, max);
        return absent;
    }
    return number;
}

double mg_json_get_number(const struct mg_json_object *object, const char *name, double above, double max,
                          double absent)
{
    struct mg_slice value = mg_json_get_typed(object, name, MG_OPTIONAL, MG_JSON_NUMBER);
    char text[64];

    if (value.data == NULL) {
        return absent;
    }
    bool is_whole = number_text(value, text, sizeof(text));
    double number = strtod(text, NULL);
    if (!is_whole || !(number > above) || !(number <= max)) {
        mg_json_member_fault(object, MG_BAD_INPUT, name,
                             "%s is not allowed; it must be above %.15g and up to %.15g", text, above, max);
        return absent;
    }
    return number;
}

bool mg_json_get_bool(const struct mg_json_object *object, const char *name, enum mg_json_need need,
                      bool absent)
{
    struct mg_slice value = mg_json_get_typed(object, name, need, MG_JSON_BOOL);
    return value.data == NULL ? absent : value.data[0] == 't';
}

int64_t mg_json_get_duration(const struct mg_json_object *object, const char *name, int64_t max_ms,
                             int64_t absent_ms)
{
    struct mg_slice value = mg_json_get(object, name, MG_OPTIONAL);
    char text[WORD_MAX + 1], max_text[WORD_MAX];

    if (value.data == NULL) {
        return absent_ms;
    }
    bool is_text = mg_json_type_of(value) == MG_JSON_STRING;
    bool is_whole = (is_text ? copy_string : number_text)(value, text, sizeof(text));
    int64_t ms = is_text && is_whole && text[0] >= '1' && text[0] <= '9' ? mg_duration_parse(text) : -1;
    if (ms < 1) {
        mg_json_member_fault(
            object, MG_BAD_INPUT, name,
            "\"%.40s\" is no duration; write digits and one unit of ms, s, m, h, d: \"500ms\", \"15m\"",
            text);
        return absent_ms;
    }
    if (ms > max_ms) {
        mg_duration_format(max_ms, max_text, sizeof(max_text));
        mg_json_member_fault(object, MG_BAD_INPUT, name, "\"%s\" is too long; up to \"%s\" is allowed", text,
                             max_text);
        return absent_ms;
    }
    return ms;
}

int mg_json_word_of(const struct mg_json_object *object, const char *name, struct mg_slice value,
                    const char *const *words, enum mg_class unknown)
{
    char word[WORD_MAX + 1], known[MG_FAULT_TEXT_SIZE / 2];

    for (int i = 0; words[i] != NULL; i++) {
        if (mg_json_string_is(value, mg_slice_of(words[i]))) {
            return i;
        }
    }
    (void)copy_string(value, word, sizeof(word));
    list_words(words, known, sizeof(known));
    mg_json_member_fault(object, unknown, name, "unknown word \"%s\"; known are %s", word, known);
    return -1;
}

int mg_json_get_word(const struct mg_json_object *object, const char *name, enum mg_json_need need,
                     const char *const *words, enum mg_class unknown, int absent)
{
    struct mg_slice value = mg_json_get_typed(object, name, need, MG_JSON_STRING);
    if (value.data == NULL) {
        return need == MG_REQUIRED || mg_json_get(object, name, need).data != NULL ? -1 : absent;
    }
    return mg_json_word_of(object, name, value, words, unknown);
}

/* ---- time ---- */

/* In UTC, since 1970. */
static bool time_read(const char *text, int64_t *ret_ms)
{
    struct mg_slice moment = mg_slice_of(text);
    int64_t seconds;
    int ns;
    if (!mg_moment_read(moment, &seconds, &ns) || seconds < 0 || text[sizeof("2026-01-31") - 1] != 'T' ||
        text[moment.len - 1] != 'Z') {
        return false;
    }
    *ret_ms = seconds * 1000 + ns / 1000000;
    return true;
}

int64_t mg_json_get_time(const struct mg_json_object *object, const char *name)
{
    struct mg_slice value = mg_json_get_typed(object, name, MG_REQUIRED, MG_JSON_STRING);
    char text[WORD_MAX + 1];
    int64_t ms = 0;

    if (value.data == NULL) {
        return 0;
    }
    if (!copy_string(value, text, sizeof(text)) || !time_read(text, &ms)) {
        mg_json_member_fault(object, MG_BAD_INPUT, name,
                             "\"%.40s\" is no time; write RFC 3339 in UTC: \"2026-01-31T12:34:56.789Z\"",
                             text);
    }
    return ms;
}
