/*
 * Moments and durations as text. No clock is read here. Output and input are exact inverses, so a printed
 * configuration or log line can be read back without loss.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"

/* Ten years: longer than any order lives, and small enough that sums of durations and moments cannot
 * overflow. */
#define DURATION_MAX_MS (INT64_C(10) * 365 * 24 * 3600 * 1000)

/* RFC 3339 has four digits for the year: 0000-01-01T00:00:00.000Z to 9999-12-31T23:59:59.999Z. */
#define TIME_MIN_MS INT64_C(-62167219200000)
#define TIME_MAX_MS INT64_C(253402300799999)

static const struct {
    const char *name;
    int64_t ms;
} UNITS[] = {{"d", 24 * 3600 * 1000}, {"h", 3600 * 1000}, {"m", 60 * 1000}, {"s", 1000}, {"ms", 1}};
#define UNIT_COUNT (sizeof(UNITS) / sizeof(UNITS[0]))

/* Writes `number` with `digits` decimal digits, then `behind`; returns the end. */
static char *put_digits(char *at, int number, int digits, char behind)
{
    for (int i = digits - 1; i >= 0; i--) {
        at[i] = (char)('0' + number % 10);
        number /= 10;
    }
    at[digits] = behind;
    return at + digits + 1;
}

void mg_time_format(int64_t wall_ms, char ret_text[MG_TIME_TEXT_SIZE])
{
    if (wall_ms < TIME_MIN_MS) {
        wall_ms = TIME_MIN_MS;
    }
    if (wall_ms > TIME_MAX_MS) {
        wall_ms = TIME_MAX_MS;
    }
    int64_t ms = wall_ms % 1000;
    if (ms < 0) {
        ms += 1000; /* before 1970, too, the fraction counts forward */
    }
    time_t seconds = (time_t)((wall_ms - ms) / 1000);

    struct tm tm = {0};
    (void)gmtime_r(&seconds, &tm); /* cannot fail within the years above */
    char *at = put_digits(ret_text, tm.tm_year + 1900, 4, '-');
    at = put_digits(at, tm.tm_mon + 1, 2, '-');
    at = put_digits(at, tm.tm_mday, 2, 'T');
    at = put_digits(at, tm.tm_hour, 2, ':');
    at = put_digits(at, tm.tm_min, 2, ':');
    at = put_digits(at, tm.tm_sec, 2, '.');
    at = put_digits(at, (int)ms, 3, 'Z');
    *at = '\0';
}

int64_t mg_duration_parse(const char *text)
{
    int64_t value = 0;
    const char *at = text;

    if (!text) {
        return -1;
    }
    for (; *at >= '0' && *at <= '9'; at++) {
        value = value * 10 + (*at - '0');
        if (value > DURATION_MAX_MS) {
            return -1;
        }
    }
    if (at == text) {
        return -1;
    }
    for (size_t i = 0; i < UNIT_COUNT; i++) {
        if (strcmp(at, UNITS[i].name) == 0) {
            return value > DURATION_MAX_MS / UNITS[i].ms ? -1 : value * UNITS[i].ms;
        }
    }
    return -1;
}

void mg_duration_format(int64_t ms, char *ret_text, size_t size)
{
    if (ms == 0) {
        (void)snprintf(ret_text, size, "0s");
        return;
    }
    /* The largest unit that divides evenly gives the fewest characters. */
    size_t i = 0;
    while (ms % UNITS[i].ms != 0) {
        i++;
    }
    (void)snprintf(ret_text, size, "%" PRId64 "%s", ms / UNITS[i].ms, UNITS[i].name);
}
