/*
 * Schedules. A refusal has its place in the file. An accepted one has slots in their order, after the moment
 * that is asked for, and a payload that a submission may have, for each of them.
 */
#include <stdio.h>
#include <string.h>

#include "core/key.h"
#include "fuzz.h"
#include "json/reader.h"
#include "schedule/schedule.h"

#define NOW_MS INT64_C(1774747800000)

struct told {
    struct mg_slice text;
    int count;
};

static void on_mistake(void *arg, struct mg_json_place place, const char *pointer, const char *text)
{
    struct told *told = arg;
    bool is_blank = pointer == NULL && mg_json_trim(told->text).len == 0; /* its text names the place */
    FUZZ_REQUIRE(is_blank || fuzz_has_place(told->text, place));
    FUZZ_REQUIRE(text[0] != '\0' && ++told->count <= MG_JSON_FAULTS_MAX);
}

static void payload_is_sound(const struct mg_schedule *schedule, int64_t slot_ms)
{
    struct mg_buf payload;
    struct mg_err err;
    char order_id[MG_UUID_SIZE];
    mg_buf_init(&payload, MG_SCHEDULE_MAX_BYTES);
    enum mg_class class = mg_schedule_payload(schedule, slot_ms, slot_ms, &payload, &err);
    FUZZ_REQUIRE(class == MG_OK || class == MG_PERMANENT); /* too large */
    if (class == MG_OK) {
        FUZZ_REQUIRE(mg_json_check(mg_buf_slice(&payload), &MG_JSON_LIMITS_SUBMISSION, &err) == MG_OK);
        FUZZ_REQUIRE(mg_json_type_of(mg_buf_slice(&payload)) == MG_JSON_OBJECT);
    }
    mg_buf_finish(&payload);
    mg_schedule_order_id(schedule->name, slot_ms, order_id);
    FUZZ_REQUIRE(mg_order_id_is_valid(order_id, strlen(order_id)));
    int64_t jitter_ms = mg_schedule_jitter_ms(schedule, slot_ms);
    FUZZ_REQUIRE(jitter_ms >= 0 && (jitter_ms == 0 || jitter_ms < schedule->jitter_ms));
}

static void slots_are_sound(const struct mg_schedule *schedule)
{
    int64_t minutes[MG_SLOT_MINUTES_MAX];
    bool is_cron = schedule->every_ms == 0;
    int count = is_cron ? mg_schedule_minutes(schedule, NOW_MS, minutes)
                        : mg_schedule_every(schedule, NOW_MS, minutes);
    FUZZ_REQUIRE(count >= 0 && count <= (is_cron ? MG_SLOT_MINUTES_MAX : MG_SLOTS_SHOWN));
    for (int i = 0; i < count; i++) {
        FUZZ_REQUIRE(i == 0 || minutes[i] > minutes[i - 1]);
        FUZZ_REQUIRE(is_cron || (minutes[i] > NOW_MS && minutes[i] % schedule->every_ms == 0));
        int64_t minute = is_cron ? minutes[i] : minutes[i] / 60000;
        FUZZ_REQUIRE(minute >= schedule->from_min && minute < schedule->to_min);
    }
    FUZZ_REQUIRE(mg_schedule_count(schedule, NOW_MS, NOW_MS + 86400000) <= MG_SLOTS_COUNTED_MAX);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct told told = {.text = {(const char *)data, size}};
    const struct mg_mistakes mistakes = {on_mistake, &told};
    struct mg_schedule *schedule = NULL;
    struct mg_err err;
    enum mg_class class = mg_schedule_parse(told.text, &mistakes, &schedule, &err);
    if (class != MG_OK) {
        fuzz_require_refusal(class, &err, NULL, 0);
        FUZZ_REQUIRE(class == MG_BAD_INPUT && told.count > 0 && schedule == NULL);
        return 0;
    }
    FUZZ_REQUIRE(told.count == 0 && mg_slice_equal(schedule->text, told.text));
    slots_are_sound(schedule);
    payload_is_sound(schedule, NOW_MS);
    mg_schedule_destroy(schedule);
    return 0;
}
