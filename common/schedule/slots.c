/* The slots of a schedule. See schedule.h. */
#include <stdio.h>
#include <string.h>

#include "schedule/schedule.h"

#define MINUTE_MS        INT64_C(60000)
#define SLOT_VALUE_BYTES 128 /* a quoted name is the longest */

static int64_t floor_div(int64_t a, int64_t b)
{
    return a / b - (a % b < 0);
}

static bool is_within(const struct mg_schedule *schedule, int64_t civil_min)
{
    return civil_min >= schedule->from_min && civil_min < schedule->to_min;
}

/* Nothing before the first date is looked for. */
static int64_t begun_ms(const struct mg_schedule *schedule, int64_t after_ms)
{
    bool is_later = schedule->from_min != INT64_MIN && schedule->from_min * MINUTE_MS > after_ms;
    return is_later ? schedule->from_min * MINUTE_MS - 1 : after_ms;
}

int mg_schedule_every(const struct mg_schedule *schedule, int64_t after_ms, int64_t *ret_slots)
{
    int64_t slot_ms = (floor_div(begun_ms(schedule, after_ms), schedule->every_ms) + 1) * schedule->every_ms;
    int count = 0;
    while (count < MG_SLOTS_SHOWN && is_within(schedule, floor_div(slot_ms, MINUTE_MS))) {
        ret_slots[count++] = slot_ms;
        slot_ms += schedule->every_ms;
    }
    return count;
}

int mg_schedule_minutes(const struct mg_schedule *schedule, int64_t civil_ms, int64_t *ret_minutes)
{
    int64_t now_min = floor_div(begun_ms(schedule, civil_ms), MINUTE_MS);
    int64_t minute = now_min - MG_CLOCK_STEP_MIN - 1, enough = MG_CRON_NEVER;
    int count = 0, ahead = 0;
    while (count < MG_SLOT_MINUTES_MAX && (minute = mg_cron_next(&schedule->cron, minute)) <= enough &&
           minute < schedule->to_min && minute != MG_CRON_NEVER) {
        if (is_within(schedule, minute)) {
            ret_minutes[count++] = minute;
        }
        ahead += minute > now_min;
        if (ahead == MG_SLOTS_SHOWN && enough == MG_CRON_NEVER) {
            enough = minute + MG_CLOCK_STEP_MIN; /* one of these may be an earlier instant */
        }
    }
    return count;
}

int64_t mg_schedule_count(const struct mg_schedule *schedule, int64_t from_ms, int64_t to_ms)
{
    if (schedule->every_ms > 0) {
        int64_t count = floor_div(to_ms, schedule->every_ms) - floor_div(from_ms - 1, schedule->every_ms);
        return count < MG_SLOTS_COUNTED_MAX ? count : MG_SLOTS_COUNTED_MAX;
    }
    int64_t minute = floor_div(from_ms, MINUTE_MS) - 1, last = floor_div(to_ms, MINUTE_MS), count = 0;
    while (count < MG_SLOTS_COUNTED_MAX && (minute = mg_cron_next(&schedule->cron, minute)) <= last) {
        count += is_within(schedule, minute);
    }
    return count;
}

int64_t mg_schedule_queue_end(const struct mg_schedule *schedule, int64_t from_ms, int64_t to_ms)
{
    if (schedule->every_ms > 0) {
        return (floor_div(to_ms, schedule->every_ms) - MG_SLOTS_QUEUED_MAX) * schedule->every_ms;
    }
    int64_t newest[MG_SLOTS_QUEUED_MAX + 1]; /* a ring of minutes */
    int64_t minute = floor_div(from_ms, MINUTE_MS) - 1, last = floor_div(to_ms, MINUTE_MS), count = 0;
    while (count < MG_SLOTS_COUNTED_MAX && (minute = mg_cron_next(&schedule->cron, minute)) <= last) {
        newest[count % (MG_SLOTS_QUEUED_MAX + 1)] = minute;
        count += is_within(schedule, minute);
    }
    bool is_full = count > MG_SLOTS_QUEUED_MAX;
    return is_full ? newest[count % (MG_SLOTS_QUEUED_MAX + 1)] * MINUTE_MS : from_ms - 1;
}

int64_t mg_schedule_jitter_ms(const struct mg_schedule *schedule, int64_t slot_ms)
{
    uint8_t digest[MG_SHA256_SIZE];
    char text[MG_NAME_MAX + 32];
    uint64_t number = 0;
    if (schedule->jitter_ms == 0) {
        return 0;
    }
    int len = snprintf(text, sizeof(text), "%s %lld", schedule->name, (long long)slot_ms);
    mg_sha256((struct mg_slice){text, (size_t)len}, digest);
    for (size_t i = 0; i < sizeof(number); i++) {
        number = number << 8 | digest[i];
    }
    return (int64_t)(number % (uint64_t)schedule->jitter_ms);
}

void mg_schedule_order_id(const char *schedule, int64_t slot_ms, char ret_order_id[MG_UUID_SIZE])
{
    char at[MG_TIME_TEXT_SIZE], slot[MG_NAME_MAX + MG_TIME_TEXT_SIZE + 2];
    mg_time_format(slot_ms, at);
    int len = snprintf(slot, sizeof(slot), "%s %s", schedule, at);
    mg_uuid_derived(mg_slice_of("schedule"), (struct mg_slice){slot, (size_t)len}, ret_order_id);
    memcpy(ret_order_id, MG_SLOT_ID_PREFIX, sizeof(MG_SLOT_ID_PREFIX) - 1);
}

/* ---- payload ---- */

struct slot_values {
    const char *schedule;
    char at[MG_TIME_TEXT_SIZE];
    char civil[MG_TIME_TEXT_SIZE]; /* of the zone; its "Z" means nothing */
    char value[SLOT_VALUE_BYTES];  /* the last one found */
};

static struct mg_slice value_find(void *arg, const struct mg_template_piece *reference)
{
    struct slot_values *values = arg;
    const char *name = reference->text.data;
    int len = 0;
    if (strcmp(name, "/slot/at") == 0) {
        len = snprintf(values->value, sizeof(values->value), "\"%s\"", values->at);
    } else if (strcmp(name, "/slot/date") == 0) {
        len = snprintf(values->value, sizeof(values->value), "\"%.10s\"", values->civil);
    } else if (strcmp(name, "/slot/time") == 0) {
        len = snprintf(values->value, sizeof(values->value), "\"%.8s\"", values->civil + 11);
    } else {
        len = snprintf(values->value, sizeof(values->value), "\"%s\"", values->schedule);
    }
    return (struct mg_slice){values->value, (size_t)len};
}

enum mg_class mg_schedule_payload(const struct mg_schedule *schedule, int64_t slot_ms, int64_t civil_ms,
                                  struct mg_buf *ret_payload, struct mg_err *err)
{
    struct slot_values values = {.schedule = schedule->name};
    const struct mg_template_values from = {value_find, &values};
    mg_time_format(slot_ms, values.at);
    mg_time_format(civil_ms, values.civil);
    return mg_template_render(&schedule->payload, &from, ret_payload, err);
}
