/*
 * Five fields of cron as bit masks, and the civil minutes that they name. A civil minute is counted from
 * 1970-01-01 00:00 of a calendar without a zone, so every day has 1440 of them. The database turns each into
 * one instant (io/store/schedules.h). Pure: no clock, no zone.
 *
 *   minute 0-59, hour 0-23, day of month 1-31, month 1-12 or jan-dec, day of week 0-7 or sun-sat (0, 7:
 * Sunday)
 *
 * A field is "*", a number, a range "1-5", a list "1,15", or one of the first two with a step: "*" "/15",
 * "8-18/2". If both day fields are restricted, a day that fits one of them fits (POSIX crontab).
 */
#ifndef MG_SCHEDULE_CRON_H
#define MG_SCHEDULE_CRON_H

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"

#define MG_CRON_TEXT_MAX 255 /* the longest list that a person reads */
#define MG_CRON_WHY_SIZE 200

struct mg_cron {
    uint64_t minutes;                       /* bit n: minute n */
    uint32_t hours, days, months, weekdays; /* bit n: n; weekdays 0 to 6, from Sunday */
    bool is_day_free, is_weekday_free;      /* "*" */
};

/* False: `ret_why` names the field, the mistake and a valid form. */
bool mg_cron_parse(struct mg_slice text, struct mg_cron *ret_cron, char ret_why[MG_CRON_WHY_SIZE]);

/* The first minute after `minute` that it names; INT64_MAX: none within the eight years in which every date
 * occurs that ever occurs. */
#define MG_CRON_NEVER INT64_MAX
int64_t mg_cron_next(const struct mg_cron *cron, int64_t minute);

/* The civil minute at which a date begins; "2026-12-01". -1: the text is no date from 1970 to 9999. */
int64_t mg_civil_date_parse(struct mg_slice text);

#endif
