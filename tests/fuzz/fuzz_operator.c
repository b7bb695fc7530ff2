/*
 * Words that people enter in the tool and the console besides ids: moments, rates, limits and the filters of
 * a bulk action; and strangers' texts in their printable form. The input is one text for all readers and,
 * each after a NUL, the other words of a filter. An accepted value equals a second reader's result and fits
 * the database.
 */
#include <math.h>
#include <regex.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/clock.h"
#include "core/key.h"
#include "fuzz.h"
#include "operator/option_words.h"
#include "operator/table.h"
#include "service/service.h"
#include "wire/service_control.h"

#define MG_SERVICES_MAX 8

struct pattern {
    const char *text;
    bool is_ready;
    regex_t regex;
};
static struct pattern TIME = {.text = "^[0-9]{4}-[0-9]{2}-[0-9]{2}"
                                      "(T[0-9]{2}:[0-9]{2}(:[0-9]{2}([.][0-9]+)?)?Z)?$"};
static struct pattern WHOLE = {.text = "^[0-9]+$"};
static struct pattern DECIMAL = {.text = "^([0-9]+[.]?[0-9]*|[.][0-9]+)$"};

static bool matches(const char *text, struct pattern *pattern)
{
    if (!pattern->is_ready) {
        FUZZ_REQUIRE(regcomp(&pattern->regex, pattern->text, REG_EXTENDED | REG_NOSUB) == 0);
    }
    pattern->is_ready = true;
    return regexec(&pattern->regex, text, 0, NULL, 0) == 0;
}

/* ---- moments ---- */

struct parts {
    int year, month, day, hour, minute, second, ms;
};

static struct parts parts_of(const char *text)
{
    static const char behind[] = "--T::";
    struct parts parts = {0};
    int *const fields[] = {&parts.year, &parts.month, &parts.day, &parts.hour, &parts.minute, &parts.second};
    char fraction[4] = "000";
    const char *point = strchr(text, '.');
    for (size_t i = 0; i < sizeof(fields) / sizeof(fields[0]); i++) {
        char *end = NULL;
        *fields[i] = (int)strtol(text, &end, 10);
        if (*end == '\0' || *end != behind[i]) {
            break;
        }
        text = end + 1;
    }
    for (int i = 0; point != NULL && i < 3 && point[1 + i] >= '0' && point[1 + i] <= '9'; i++) {
        fraction[i] = point[1 + i];
    }
    parts.ms = (int)strtol(fraction, NULL, 10);
    return parts;
}

static bool is_on_calendar(const struct parts *parts)
{
    static const int days[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
    bool is_leap = parts->year % 4 == 0 && (parts->year % 100 != 0 || parts->year % 400 == 0);
    return parts->year >= 1970 && parts->month >= 1 && parts->month <= 12 && parts->day >= 1 &&
           parts->day <= days[parts->month - 1] + (parts->month == 2 && is_leap) && parts->hour < 24 &&
           parts->minute < 60 && parts->second < 60;
}

static bool is_time(const char *text)
{
    struct parts parts = parts_of(text);
    return matches(text, &TIME) && is_on_calendar(&parts);
}

/* The text has its literal meaning and is equal after formatting the parsed time. A fraction is one of
 * seconds. */
static void time_is_right(const char *text, const char *number)
{
    const char *last_colon = strrchr(text, ':');
    FUZZ_REQUIRE(strchr(text, '.') == NULL || (last_colon != NULL && strchr(text, ':') != last_colon));
    char written[MG_TIME_TEXT_SIZE], again[MG_MOMENT_SIZE];
    mg_time_format(strtoll(number, NULL, 10), written);
    struct parts meant = parts_of(text), taken = parts_of(written);
    FUZZ_REQUIRE(memcmp(&meant, &taken, sizeof(meant)) == 0);
    FUZZ_REQUIRE(mg_moment_parse(written, again) && strcmp(number, again) == 0);
}

static void try_moment(const char *text)
{
    char number[MG_MOMENT_SIZE];
    int64_t ms = mg_duration_parse(text);
    bool is_taken = mg_moment_parse(text, number);
    FUZZ_REQUIRE(is_taken || !(ms >= 0 || text[0] == '\0' || is_time(text)));
    if (!is_taken) {
        return;
    }
    if (text[0] == '\0') {
        FUZZ_REQUIRE(number[0] == '\0');
    } else if (ms >= 0) {
        FUZZ_REQUIRE(strtoll(number, NULL, 10) == (ms > 0 ? -ms : -1));
    } else {
        FUZZ_REQUIRE(matches(number, &WHOLE));
        time_is_right(text, number);
    }
}

/* ---- numbers ---- */

static bool is_number(const char *text, bool is_whole, double above, double max)
{
    double number = strtod(text, NULL);
    return matches(text, is_whole ? &WHOLE : &DECIMAL) && number >= above && number <= max;
}

static void try_rate(const char *text)
{
    const char *rate = NULL;
    bool is_taken = mg_bulk_rate_parse(text, &rate);
    FUZZ_REQUIRE(is_taken == (text[0] == '\0' || is_number(text, false, 0.001, 1000)));
    FUZZ_REQUIRE(!is_taken || is_number(rate, false, 0.001, 1000));
}

static void try_limit(const char *text, bool is_whole, double max)
{
    const char *limit = "";
    bool is_wordless = text[0] == '\0' || strcmp(text, "none") == 0;
    bool is_taken = mg_limit_parse(text, is_whole, max, &limit);
    FUZZ_REQUIRE(is_taken == (is_wordless || is_number(text, is_whole, nextafter(0, 1), max)));
    if (is_taken && !is_wordless) {
        FUZZ_REQUIRE(limit == text);
    }
    if (is_taken && is_wordless) {
        FUZZ_REQUIRE(text[0] == '\0' ? limit == NULL : strcmp(limit, "0") == 0);
    }
}

/* ---- filters of failures ---- */

/* Blanks separate the joined services again. */
static void services_come_back(const char *joined, const struct mg_list *services)
{
    for (int i = 0; i < services->count; i++) {
        size_t len = strcspn(joined, " ");
        FUZZ_REQUIRE(len == strlen(services->items[i]) && memcmp(joined, services->items[i], len) == 0);
        joined += len + (i + 1 < services->count);
    }
    FUZZ_REQUIRE(joined[0] == '\0');
}

static void try_filter(const char *text, struct mg_slice rest)
{
    char *workflow = fuzz_take_text(&rest), *step = fuzz_take_text(&rest), *until = fuzz_take_text(&rest);
    char *names[MG_SERVICES_MAX], refusal[MG_BULK_REFUSAL_SIZE];
    struct mg_list services = {.count = 0};
    struct mg_bulk_filter filter;
    while (rest.len > 0 && services.count < MG_SERVICES_MAX) {
        names[services.count] = fuzz_take_text(&rest);
        services.items[services.count] = names[services.count];
        services.count++;
    }
    const struct mg_bulk_words words = {
        .workflow = workflow, .step = step, .error = text, .until = until, .services = &services};
    if (mg_bulk_filter_read(&words, &filter, refusal)) {
        bool is_narrow = workflow[0] != '\0' || step[0] != '\0' || text[0] != '\0' || until[0] != '\0' ||
                         services.count > 0;
        FUZZ_REQUIRE(mg_bulk_filter_is_narrow(&filter.filter) == is_narrow);
        FUZZ_REQUIRE(strlen(filter.filter.workflow) <= MG_NAME_MAX && strlen(filter.filter.error) <= 255);
        services_come_back(filter.filter.services, &services);
    } else {
        FUZZ_REQUIRE(memchr(refusal, '\0', sizeof(refusal)) != NULL && refusal[0] != '\0');
    }
    for (int i = 0; i < services.count; i++) {
        free(names[i]);
    }
    free(workflow);
    free(step);
    free(until);
}

/* ---- texts for a terminal ---- */

static bool steers(const char *text)
{
    return strchr(text, '\n') != NULL || fuzz_steers(text, strlen(text));
}

static void try_plain(const char *text)
{
    char *plain = strdup(text), *again;
    FUZZ_REQUIRE(plain != NULL);
    mg_text_make_plain(plain);
    FUZZ_REQUIRE(strlen(plain) == strlen(text) && !steers(plain));
    FUZZ_REQUIRE(steers(text) || strcmp(plain, text) == 0);
    again = strdup(plain);
    FUZZ_REQUIRE(again != NULL);
    mg_text_make_plain(again);
    FUZZ_REQUIRE(strcmp(plain, again) == 0);
    free(again);
    free(plain);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct mg_slice rest = {(const char *)data, size};
    char *text = fuzz_take_text(&rest);
    enum mg_cause_kind verb;
    try_moment(text);
    try_rate(text);
    try_limit(text, true, MG_SERVICE_CONCURRENCY_MAX);
    try_limit(text, false, MG_SERVICE_RATE_MAX);
    if (mg_bulk_verb_parse(text, &verb)) {
        FUZZ_REQUIRE(strcmp(mg_cause_name(verb), text) == 0);
    }
    try_filter(text, rest);
    try_plain(text);
    free(text);
    return 0;
}
