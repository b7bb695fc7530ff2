/* See option_words.h. */
#include "operator/option_words.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "base/json_write.h"
#include "core/key.h"

#define BULK_RATE_MIN 0.001
#define BULK_RATE_MAX 1000
/* Longer than any useful part of an error's text. */
#define ERROR_MAX_BYTES 255

static const char *or_empty(const char *text)
{
    return text != NULL ? text : "";
}

/* ---- limits of a service ---- */

bool mg_limit_parse(const char *text, bool is_whole, double max, const char **ret_limit)
{
    bool is_given = text != NULL && text[0] != '\0';
    if (!is_given || strcmp(text, "none") == 0) {
        *ret_limit = is_given ? "0" : NULL;
        return true;
    }
    char *end = NULL;
    size_t digits = strspn(text, is_whole ? "0123456789" : "0123456789.");
    double number = strtod(text, &end);
    *ret_limit = text;
    return digits > 0 && text[digits] == '\0' && *end == '\0' && number > 0 && number <= max;
}

/* ---- moments ---- */

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

/* Parses the end of a time: an optional fraction of a second, if `has_seconds`, and the zone "Z". Digits
 * beyond milliseconds are dropped. */
static bool time_end_parse(const char *text, bool has_seconds, int64_t *ret_ms)
{
    int64_t unit_ms = 100;
    *ret_ms = 0;
    if (has_seconds && *text == '.') {
        text++;
        if (!is_digit(*text)) {
            return false;
        }
        for (; is_digit(*text); text++, unit_ms /= 10) {
            *ret_ms += (*text - '0') * unit_ms;
        }
    }
    return strcmp(text, "Z") == 0;
}

/* strptime accepts February 31 and second 61; timegm normalizes them to another time. */
static bool is_on_calendar(const struct tm *read)
{
    struct tm tm = *read;
    (void)timegm(&tm);
    return tm.tm_mday == read->tm_mday && tm.tm_hour == read->tm_hour && tm.tm_min == read->tm_min &&
           tm.tm_sec == read->tm_sec;
}

/* Parses "2026-01-31T12:00:00.123Z", "2026-01-31T12:00Z" or "2026-01-31" to milliseconds since 1970. */
static bool time_parse(const char *text, int64_t *ret_ms)
{
    enum { TO_SECONDS, TO_MINUTES, DAY_ALONE };
    static const char *const formats[] = {
        [TO_SECONDS] = "%Y-%m-%dT%H:%M:%S", [TO_MINUTES] = "%Y-%m-%dT%H:%M", [DAY_ALONE] = "%Y-%m-%d"};
    for (size_t i = 0; i < sizeof(formats) / sizeof(formats[0]); i++) {
        struct tm tm = {0};
        int64_t ms = 0;
        const char *end = is_digit(text[0]) ? strptime(text, formats[i], &tm) : NULL;
        bool is_end =
            end != NULL && (i == DAY_ALONE ? *end == '\0' : time_end_parse(end, i == TO_SECONDS, &ms));
        if (is_end && is_on_calendar(&tm)) {
            *ret_ms = (int64_t)timegm(&tm) * 1000 + ms;
            return true;
        }
    }
    return false;
}

bool mg_moment_parse(const char *text, char ret_number[MG_MOMENT_SIZE])
{
    int64_t ms = mg_duration_parse(text);
    ret_number[0] = '\0';
    if (text[0] == '\0') {
        return true;
    }
    if (ms >= 0) {
        ms = ms > 0 ? -ms : -1;
    } else if (!time_parse(text, &ms) || ms < 0) {
        return false;
    }
    (void)snprintf(ret_number, MG_MOMENT_SIZE, "%lld", (long long)ms);
    return true;
}

/* ---- labels ---- */

#define SHOWN_MAX 80

static bool refuse(char ret_refusal[MG_LABELS_REFUSAL_SIZE], struct mg_slice text, const char *right)
{
    int len = (int)mg_utf8_cut(text, SHOWN_MAX);
    (void)snprintf(ret_refusal, MG_LABELS_REFUSAL_SIZE, "label %.*s: %s", len, text.data, right);
    return false;
}

static bool is_value(struct mg_slice value)
{
    for (size_t at = 0, step = 0; at < value.len; at += step) {
        step = mg_utf8_len(value.data + at, value.len - at);
        if (step == 0) {
            return false;
        }
    }
    return value.len > 0 && value.len <= MG_LABEL_VALUE_MAX;
}

static int compare(struct mg_slice a, struct mg_slice b)
{
    int order = memcmp(a.data, b.data, a.len < b.len ? a.len : b.len);
    return order != 0 ? order : (a.len > b.len) - (a.len < b.len);
}

bool mg_label_words_add(struct mg_label_words *words, struct mg_slice text,
                        char ret_refusal[MG_LABELS_REFUSAL_SIZE])
{
    const char *equals = memchr(text.data, '=', text.len);
    size_t len = equals != NULL ? (size_t)(equals - text.data) : 0;
    struct mg_slice name = {text.data, len}, value = {text.data + len + 1, text.len - len - 1};
    if (equals == NULL || !mg_label_name_is_valid(name.data, name.len)) {
        return refuse(ret_refusal, text, "expected " MG_LABEL_RIGHT);
    }
    if (!is_value(value)) {
        return refuse(ret_refusal, text, "a value is UTF-8 of 1 to 128 bytes");
    }
    int at = words->count;
    for (int i = words->count - 1; i >= 0 && compare(name, words->pairs[i].name) <= 0; i--) {
        at = i;
    }
    if (at < words->count && mg_slice_equal(name, words->pairs[at].name)) {
        return refuse(ret_refusal, text, "given twice; an order has one value of it");
    }
    if (words->count == MG_LABELS_MAX) {
        return refuse(ret_refusal, text, "an order has at most 8 labels");
    }
    memmove(&words->pairs[at + 1], &words->pairs[at], (size_t)(words->count - at) * sizeof(words->pairs[0]));
    words->pairs[at].name = name;
    words->pairs[at].value = value;
    words->count++;
    return true;
}

/* Whether a name and "=" begin here. */
static bool begins_label(const char *at)
{
    size_t len = strcspn(at, "=,");
    return at[len] == '=' && mg_label_name_is_valid(at, len);
}

bool mg_label_words_add_all(struct mg_label_words *words, const char *text,
                            char ret_refusal[MG_LABELS_REFUSAL_SIZE])
{
    while (*text != '\0') {
        const char *comma = strchr(text, ','), *next = NULL;
        for (; comma != NULL && next == NULL; comma = next == NULL ? strchr(comma + 1, ',') : comma) {
            const char *behind = comma + 1 + strspn(comma + 1, " ");
            next = begins_label(behind) ? behind : NULL;
        }
        size_t len = next != NULL ? (size_t)(comma - text) : strlen(text);
        if (!mg_label_words_add(words, (struct mg_slice){text, len}, ret_refusal)) {
            return false;
        }
        text = next != NULL ? next : text + len;
    }
    return true;
}

bool mg_label_words_write(const struct mg_label_words *words, char *ret_json, size_t size,
                          char ret_refusal[MG_LABELS_REFUSAL_SIZE])
{
    struct mg_buf buf;
    ret_json[0] = '\0';
    if (words->count == 0) {
        return true;
    }
    mg_buf_init_fixed(&buf, ret_json, size);
    struct mg_json_writer json = mg_json_compact(&buf);
    mg_json_object_begin(&json);
    for (int i = 0; i < words->count; i++) {
        char name[MG_LABEL_NAME_MAX + 1];
        (void)snprintf(name, sizeof(name), "%.*s", (int)words->pairs[i].name.len, words->pairs[i].name.data);
        mg_json_member_text(&json, name, words->pairs[i].value);
    }
    mg_json_object_end(&json);
    if (buf.failed) {
        (void)snprintf(ret_refusal, MG_LABELS_REFUSAL_SIZE, "label: the labels together are above %zu bytes",
                       size - 1);
    }
    return !buf.failed;
}

/* ---- the failures of a bulk action ---- */

static bool moment_read(const char *name, const char *text, char ret_number[MG_MOMENT_SIZE],
                        char ret_refusal[MG_BULK_REFUSAL_SIZE])
{
    if (!mg_moment_parse(or_empty(text), ret_number)) {
        (void)snprintf(ret_refusal, MG_BULK_REFUSAL_SIZE, "%s %.80s: expected " MG_MOMENT_RIGHT, name, text);
        return false;
    }
    return true;
}

static bool services_read(const struct mg_list *list, char ret_text[MG_BULK_SERVICES_MAX],
                          char ret_refusal[MG_BULK_REFUSAL_SIZE])
{
    size_t len = 0;
    ret_text[0] = '\0';
    for (int i = 0; list != NULL && i < list->count; i++) {
        const char *name = list->items[i];
        bool is_name = mg_name_is_valid(name, strlen(name)) || strcmp(name, MG_FAILURE_NONE) == 0;
        if (!is_name || len + strlen(name) + 2 > MG_BULK_SERVICES_MAX) {
            (void)snprintf(ret_refusal, MG_BULK_REFUSAL_SIZE,
                           "service %.80s: invalid name, or too many services", name);
            return false;
        }
        len += (size_t)snprintf(ret_text + len, MG_BULK_SERVICES_MAX - len, "%s%s", i > 0 ? " " : "", name);
    }
    return true;
}

_Static_assert(MG_LABELS_REFUSAL_SIZE == MG_BULK_REFUSAL_SIZE, "a refusal goes out as it is");

static bool labels_read(const struct mg_bulk_words *words, char ret_json[MG_LABELS_TEXT_SIZE],
                        char ret_refusal[MG_BULK_REFUSAL_SIZE])
{
    struct mg_label_words labels = {.count = 0};
    for (int i = 0; words->labels != NULL && i < words->labels->count; i++) {
        if (!mg_label_words_add(&labels, mg_slice_of(words->labels->items[i]), ret_refusal)) {
            return false;
        }
    }
    return mg_label_words_add_all(&labels, or_empty(words->label_text), ret_refusal) &&
           mg_label_words_write(&labels, ret_json, MG_LABELS_TEXT_SIZE, ret_refusal);
}

bool mg_bulk_filter_read(const struct mg_bulk_words *words, struct mg_bulk_filter *ret,
                         char ret_refusal[MG_BULK_REFUSAL_SIZE])
{
    ret->filter = (struct mg_failure_filter){.workflow = or_empty(words->workflow),
                                             .step = or_empty(words->step),
                                             .error = or_empty(words->error),
                                             .services = ret->services,
                                             .since = ret->since,
                                             .until = ret->until,
                                             .labels = ret->labels};
    if (strlen(ret->filter.error) > ERROR_MAX_BYTES || strlen(ret->filter.workflow) > MG_NAME_MAX ||
        strlen(ret->filter.step) > MG_NAME_MAX) {
        (void)snprintf(ret_refusal, MG_BULK_REFUSAL_SIZE,
                       "workflow, step and error: up to %d, %d and %d bytes", MG_NAME_MAX, MG_NAME_MAX,
                       ERROR_MAX_BYTES);
        return false;
    }
    return services_read(words->services, ret->services, ret_refusal) &&
           labels_read(words, ret->labels, ret_refusal) &&
           moment_read("since", words->since, ret->since, ret_refusal) &&
           moment_read("until", words->until, ret->until, ret_refusal);
}

bool mg_bulk_filter_is_narrow(const struct mg_failure_filter *filter)
{
    return filter->workflow[0] != '\0' || filter->step[0] != '\0' || filter->error[0] != '\0' ||
           filter->services[0] != '\0' || filter->since[0] != '\0' || filter->until[0] != '\0' ||
           filter->labels[0] != '\0';
}

bool mg_bulk_verb_parse(const char *word, enum mg_cause_kind *ret_verb)
{
    return mg_cause_parse(word, strlen(word), ret_verb) &&
           (*ret_verb == MG_CAUSE_RESUME || *ret_verb == MG_CAUSE_COMPENSATE || *ret_verb == MG_CAUSE_CANCEL);
}

bool mg_bulk_rate_parse(const char *text, const char **ret_rate)
{
    char *end = NULL;
    *ret_rate = or_empty(text)[0] != '\0' ? text : MG_BULK_RATE;
    double number = strtod(*ret_rate, &end);
    return strspn(*ret_rate, "0123456789.") == strlen(*ret_rate) && *end == '\0' && number >= BULK_RATE_MIN &&
           number <= BULK_RATE_MAX;
}
