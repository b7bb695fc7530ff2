/* See moment.h. */
#include "operator/moment.h"

#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"

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
