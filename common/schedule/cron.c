/* See cron.h. The search goes from day to day, then from hour to hour: some 3,000 steps for the rarest date.
 */
#include "schedule/cron.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <time.h>

#include "base/calendar.h"

#define MINUTES_OF_DAY 1440
#define DAYS_SEARCHED  (8 * 366 + 1) /* from a 29 February across a year without one to the next */

static const char *const MONTHS[] = {"jan", "feb", "mar", "apr", "may", "jun", "jul",
                                     "aug", "sep", "oct", "nov", "dec", NULL};
static const char *const WEEKDAYS[] = {"sun", "mon", "tue", "wed", "thu", "fri", "sat", NULL};

static const struct field {
    const char *name, *example;
    int min, max;
    const char *const *words; /* NULL: numbers alone */
} FIELDS[] = {{"minute", "\"0\", \"*/15\", \"0,30\"", 0, 59, NULL},
              {"hour", "\"2\", \"8-18\", \"*/6\"", 0, 23, NULL},
              {"day of month", "\"1\", \"*\", \"1,15\"", 1, 31, NULL},
              {"month", "\"*\", \"1-6\", \"jan,jul\"", 1, 12, MONTHS},
              {"day of week", "\"*\", \"1-5\", \"mon-fri\"", 0, 7, WEEKDAYS}};
enum { MINUTE, HOUR, DAY, MONTH, WEEKDAY, FIELD_COUNT };

/* ---- reading ---- */

/* Takes digits or a word; -1: neither, or above a thousand. */
static int number_take(struct mg_slice *text, const struct field *field)
{
    int number = 0;
    size_t len = 0;
    while (len < text->len && len < 4 && text->data[len] >= '0' && text->data[len] <= '9') {
        number = number * 10 + (text->data[len++] - '0');
    }
    for (int i = 0; len == 0 && field->words != NULL && field->words[i] != NULL; i++) {
        size_t length = strlen(field->words[i]);
        if (text->len >= length && strncasecmp(text->data, field->words[i], length) == 0) {
            number = field->min + i;
            len = length;
        }
    }
    text->data += len;
    text->len -= len;
    return len > 0 && len < 4 ? number : -1;
}

static bool sign_take(struct mg_slice *text, char sign)
{
    bool is_there = text->len > 0 && *text->data == sign;
    text->data += is_there;
    text->len -= is_there;
    return is_there;
}

/* One part of a list: "*", "5", "1-5", with "/2" after a range. */
static bool part_take(struct mg_slice *text, const struct field *field, uint64_t *mask)
{
    int from = field->min, to = field->max, step = 1;
    bool is_range = sign_take(text, '*');
    if (!is_range) {
        from = to = number_take(text, field);
        is_range = from >= 0 && sign_take(text, '-');
        to = is_range ? number_take(text, field) : to;
    } else if (field->max == 7) {
        to = 6; /* Sunday counts once */
    }
    if (is_range && sign_take(text, '/')) {
        step = number_take(text, &FIELDS[MINUTE]);
    }
    bool is_over = step > 1 && step > to - from; /* it would fire once in the range, and not each `step` */
    if (from < field->min || to < from || to > field->max || step < 1 || is_over) {
        return false;
    }
    for (int i = from; i <= to; i += step) {
        *mask |= UINT64_C(1) << i;
    }
    return true;
}

static bool field_read(struct mg_slice text, const struct field *field, uint64_t *ret_mask)
{
    *ret_mask = 0;
    do {
        if (!part_take(&text, field, ret_mask)) {
            return false;
        }
    } while (sign_take(&text, ','));
    return text.len == 0;
}

static bool is_blank(char c)
{
    return c == ' ' || c == '\t';
}

static int fields_split(struct mg_slice text, struct mg_slice ret_fields[FIELD_COUNT])
{
    int count = 0;
    for (size_t at = 0; at < text.len;) {
        size_t from = at;
        while (at < text.len && !is_blank(text.data[at])) {
            at++;
        }
        if (at > from && count < FIELD_COUNT) {
            ret_fields[count] = (struct mg_slice){text.data + from, at - from};
        }
        count += at > from;
        at += at < text.len;
    }
    return count;
}

bool mg_cron_parse(struct mg_slice text, struct mg_cron *ret_cron, char ret_why[MG_CRON_WHY_SIZE])
{
    struct mg_slice fields[FIELD_COUNT];
    uint64_t masks[FIELD_COUNT];
    int count = fields_split(text, fields);
    if (count != FIELD_COUNT) {
        (void)snprintf(ret_why, MG_CRON_WHY_SIZE,
                       "%d fields; five are expected: minute, hour, day of month, month, day of week, as in "
                       "\"30 2 * * *\"",
                       count);
        return false;
    }
    for (int i = 0; i < FIELD_COUNT; i++) {
        if (!field_read(fields[i], &FIELDS[i], &masks[i])) {
            (void)snprintf(ret_why, MG_CRON_WHY_SIZE,
                           "\"%.*s\" is no %s; write numbers from %d to %d, and steps within that range, for "
                           "example %s",
                           (int)(fields[i].len < 40 ? fields[i].len : 40), fields[i].data, FIELDS[i].name,
                           FIELDS[i].min, FIELDS[i].max, FIELDS[i].example);
            return false;
        }
    }
    masks[WEEKDAY] = (masks[WEEKDAY] | masks[WEEKDAY] >> 7) & 0x7f;
    *ret_cron = (struct mg_cron){.minutes = masks[MINUTE],
                                 .hours = (uint32_t)masks[HOUR],
                                 .days = (uint32_t)masks[DAY],
                                 .months = (uint32_t)masks[MONTH],
                                 .weekdays = (uint32_t)masks[WEEKDAY],
                                 .is_day_free = *fields[DAY].data == '*',
                                 .is_weekday_free = *fields[WEEKDAY].data == '*'};
    if (mg_cron_next(ret_cron, 0) == MG_CRON_NEVER) {
        (void)snprintf(ret_why, MG_CRON_WHY_SIZE, "no month of these has such a day; it never comes");
        return false;
    }
    return true;
}

/* ---- searching ---- */

static bool is_day_named(const struct mg_cron *cron, int64_t day)
{
    time_t seconds = day * MINUTES_OF_DAY * 60;
    struct tm date;
    if (gmtime_r(&seconds, &date) == NULL) {
        return false; /* its year does not fit into an int */
    }
    bool fits_day = (cron->days >> date.tm_mday & 1) != 0;
    bool fits_weekday = (cron->weekdays >> date.tm_wday & 1) != 0;
    bool is_either = !cron->is_day_free && !cron->is_weekday_free;
    return (cron->months >> (date.tm_mon + 1) & 1) != 0 &&
           (is_either ? fits_day || fits_weekday : fits_day && fits_weekday);
}

/* The first minute of a day from `from` on that hours and minutes name; -1: none. */
static int minute_of_day(const struct mg_cron *cron, int from)
{
    for (int hour = from / 60; hour < 24; hour++) {
        uint64_t left = cron->minutes >> (hour == from / 60 ? from % 60 : 0);
        if ((cron->hours >> hour & 1) != 0 && left != 0) {
            return hour * 60 + (hour == from / 60 ? from % 60 : 0) + __builtin_ctzll(left);
        }
    }
    return -1;
}

int64_t mg_cron_next(const struct mg_cron *cron, int64_t minute)
{
    int64_t first = minute + 1;
    int64_t day = first >= 0 ? first / MINUTES_OF_DAY : -((-first + MINUTES_OF_DAY - 1) / MINUTES_OF_DAY);
    int from = (int)(first - day * MINUTES_OF_DAY);
    for (int i = 0; i < DAYS_SEARCHED; i++, from = 0) {
        int found = is_day_named(cron, day + i) ? minute_of_day(cron, from) : -1;
        if (found >= 0) {
            return (day + i) * MINUTES_OF_DAY + found;
        }
    }
    return MG_CRON_NEVER;
}

int64_t mg_civil_date_parse(struct mg_slice text)
{
    char moment[sizeof("1970-01-01T00:00:00Z")];
    int64_t seconds = -1;
    int ns;
    (void)snprintf(moment, sizeof(moment), "%.*sT00:00:00Z", text.len == 10 ? 10 : 0, text.data);
    return mg_moment_read(mg_slice_of(moment), &seconds, &ns) && seconds >= 0 ? seconds / 60 : -1;
}
