/* Schedules: their definitions, their slots, and the verdict on a slot. */
#include "schedule/schedule.h"

#include <stdio.h>
#include <string.h>

#include "suite.h"

#define MINUTE INT64_C(60000)
#define HOUR   (60 * MINUTE)
#define DAY    (24 * HOUR)

static struct mg_schedule *schedule;

static void end(void)
{
    mg_schedule_destroy(schedule);
    schedule = NULL;
}

/* The definition of a schedule with these members. */
static enum mg_class schedule_read(const char *members, struct mg_err *err)
{
    char text[1024];
    end();
    snprintf(text, sizeof(text), "{\"schedule\":\"nightly\",\"workflow\":\"settle\",%s}", members);
    return mg_schedule_parse(mg_slice_of(text), NULL, &schedule, err);
}

static void schedule_is(const char *members)
{
    struct mg_err err;
    ck_assert_msg(schedule_read(members, &err) == MG_OK, "%s: %s", members, err.text);
}

/* Would catch: a member that is read as another, or a default that is not the documented one. */
START_TEST(a_definition_has_its_members_and_defaults)
{
    schedule_is("\"cron\":\"30 2 * * *\",\"zone\":\"Europe/Zurich\"");
    ck_assert_str_eq(schedule->name, "nightly");
    ck_assert_str_eq(schedule->workflow, "settle");
    ck_assert_str_eq(schedule->zone, "Europe/Zurich");
    ck_assert_int_eq(schedule->overlap, MG_OVERLAP_SKIP);
    ck_assert_int_eq(schedule->catch_up_ms, 10 * MINUTE);
    ck_assert_int_eq(schedule->jitter_ms, 0);
    schedule_is(
        "\"every\":\"15m\",\"overlap\":\"cancel\",\"catch_up\":\"1h\",\"jitter\":\"5m\",\"from\":\"1970-01-02\","
        "\"to\":\"1970-01-02\"");
    ck_assert_int_eq(schedule->every_ms, 15 * MINUTE);
    ck_assert_str_eq(schedule->zone, "UTC");
    ck_assert_int_eq(schedule->overlap, MG_OVERLAP_CANCEL);
    ck_assert_int_eq(schedule->catch_up_ms, HOUR);
    ck_assert_int_eq(schedule->from_min, 1440);
    ck_assert_int_eq(schedule->to_min, 2880);
}
END_TEST

/* Would catch: a mistake that is taken, or named without its place. */
START_TEST(a_mistake_is_refused_with_its_place)
{
    static const char *const MISTAKES[][2] = {
        {"\"cron\":\"30 2 * * *\"", "\"zone\" is missing"},
        {"\"cron\":\"30 2 * *\",\"zone\":\"UTC\"", "/cron"},
        {"\"cron\":\"30 2 * * *\",\"zone\":\"Zürich\"", "/zone"},
        {"\"every\":\"5s\"", "/every"},
        {"\"every\":\"15m\",\"zone\":\"UTC\"", "/zone"},
        {"\"every\":\"15m\",\"cron\":\"0 2 * * *\"", "either"},
        {"\"overlap\":\"skip\"", "either"},
        {"\"every\":\"15m\",\"overlap\":\"wait\"", "/overlap"},
        {"\"every\":\"15m\",\"jitter\":\"15m\"", "/jitter"},
        {"\"cron\":\"0,5 2 * * *\",\"zone\":\"UTC\",\"jitter\":\"6m\"", "/jitter"},
        {"\"every\":\"15m\",\"from\":\"2026-02-30\"", "/from"},
        {"\"every\":\"15m\",\"from\":\"2026-02-02\",\"to\":\"2026-02-01\"", "/to"},
        {"\"every\":\"15m\",\"payload\":[]", "/payload"},
        {"\"every\":\"15m\",\"payload\":{\"a\":[{\"b\":\"${/payload/x}\"}]}", "/payload"},
        {"\"every\":\"15m\",\"payload\":{\"a\":\"${= 1 + 1}\"}", "/payload"},
        {"\"every\":\"15m\",\"payload\":{\"a\":\"${/slot/at\"}", "/payload"},
        {"\"every\":\"15m\",\"evry\":1", "evry"},
    };
    for (size_t i = 0; i < sizeof(MISTAKES) / sizeof(MISTAKES[0]); i++) {
        struct mg_err err;
        ck_assert_msg(schedule_read(MISTAKES[i][0], &err) == MG_BAD_INPUT, "%s", MISTAKES[i][0]);
        ck_assert_msg(strstr(err.text, MISTAKES[i][1]) != NULL, "%s: %s", MISTAKES[i][0], err.text);
    }
}
END_TEST

/* Would catch: a template that is not filled in, or bytes of the payload that change. */
START_TEST(a_payload_has_the_values_of_its_slot)
{
    struct mg_buf payload;
    struct mg_err err;
    schedule_is(
        "\"cron\":\"30 2 * * *\",\"zone\":\"Europe/Zurich\",\"payload\":{\"day\": \"${/slot/date}\", \"n\": 14.00,"
        "\"t\":[\"at ${/slot/time}, ${/slot/at}\"],\"by\":\"${/schedule}\",\"x\":\"$${a}\"}");
    mg_buf_init(&payload, MG_SCHEDULE_MAX_BYTES);
    int64_t slot = INT64_C(1774747800000); /* 2026-03-29T01:30:00Z */
    ck_assert_int_eq(mg_schedule_payload(schedule, slot, slot + 2 * HOUR, &payload, &err), MG_OK);
    ck_assert_str_eq(payload.data, "{\"day\":\"2026-03-29\",\"n\":14.00,\"t\":[\"at 03:30:00, "
                                   "2026-03-29T01:30:00.000Z\"],\"by\":\"nightly\",\"x\":\"${a}\"}");
    mg_buf_finish(&payload);
    schedule_is("\"every\":\"15m\"");
    mg_buf_init(&payload, MG_SCHEDULE_MAX_BYTES);
    ck_assert_int_eq(mg_schedule_payload(schedule, slot, slot, &payload, &err), MG_OK);
    ck_assert_str_eq(payload.data, "{}");
    mg_buf_finish(&payload);
}
END_TEST

/* Would catch: a slot that is counted from the load, or one outside of its dates. */
START_TEST(slots_of_every_are_counted_from_midnight)
{
    int64_t slots[MG_SLOTS_SHOWN];
    schedule_is("\"every\":\"15m\"");
    ck_assert_int_eq(mg_schedule_every(schedule, DAY + 7 * MINUTE, slots), MG_SLOTS_SHOWN);
    ck_assert_int_eq(slots[0], DAY + 15 * MINUTE);
    ck_assert_int_eq(slots[4], DAY + 75 * MINUTE);
    ck_assert_int_eq(mg_schedule_every(schedule, DAY + 15 * MINUTE, slots), MG_SLOTS_SHOWN);
    ck_assert_int_eq(slots[0], DAY + 30 * MINUTE); /* after, not at */
    schedule_is("\"every\":\"10h\",\"from\":\"1970-01-03\",\"to\":\"1970-01-03\"");
    ck_assert_int_eq(mg_schedule_every(schedule, 0, slots), 3);
    ck_assert_int_eq(slots[0], 50 * HOUR);
    ck_assert_int_eq(slots[1], 60 * HOUR);
    ck_assert_int_eq(mg_schedule_every(schedule, 70 * HOUR, slots), 0);
}
END_TEST

/* Would catch: minutes that are left out although a clock's step makes their instants the next ones. */
START_TEST(minutes_reach_across_a_step_of_the_clock)
{
    int64_t minutes[MG_SLOT_MINUTES_MAX];
    schedule_is("\"cron\":\"30 2 * * *\",\"zone\":\"Europe/Zurich\"");
    int count = mg_schedule_minutes(schedule, 2 * DAY + 2 * HOUR + 45 * MINUTE, minutes);
    ck_assert_int_eq(count, 1 + MG_SLOTS_SHOWN);
    ck_assert_int_eq(minutes[0], 2 * 1440 + 150); /* if the clock goes back, it comes */
    ck_assert_int_eq(minutes[1], 3 * 1440 + 150);
    schedule_is("\"cron\":\"* * * * *\",\"zone\":\"UTC\"");
    ck_assert_int_eq(mg_schedule_minutes(schedule, 5 * DAY, minutes), MG_SLOT_MINUTES_MAX);
    ck_assert_int_eq(minutes[0], 5 * 1440 - MG_CLOCK_STEP_MIN);
    schedule_is("\"cron\":\"0 12 * * *\",\"zone\":\"UTC\",\"from\":\"1970-02-01\",\"to\":\"1970-02-02\"");
    ck_assert_int_eq(mg_schedule_minutes(schedule, 0, minutes), 2);
    ck_assert_int_eq(minutes[0], 31 * 1440 + 720);
}
END_TEST

/* Would catch: a count that is one off, or one without a bound. */
START_TEST(missed_slots_are_counted_up_to_a_bound)
{
    schedule_is("\"every\":\"15m\"");
    ck_assert_int_eq(mg_schedule_count(schedule, HOUR, 2 * HOUR), 5);
    ck_assert_int_eq(mg_schedule_count(schedule, HOUR, HOUR), 1);
    ck_assert_int_eq(mg_schedule_count(schedule, 0, 100000 * DAY), MG_SLOTS_COUNTED_MAX);
    schedule_is("\"cron\":\"*/10 * * * *\",\"zone\":\"UTC\"");
    ck_assert_int_eq(mg_schedule_count(schedule, HOUR, 2 * HOUR - 1), 6);
    schedule_is("\"cron\":\"* * * * *\",\"zone\":\"UTC\"");
    ck_assert_int_eq(mg_schedule_count(schedule, 0, 10000 * DAY), MG_SLOTS_COUNTED_MAX);
}
END_TEST

/* Would catch: identities that are drawn, or that two slots share. */
START_TEST(a_slot_has_one_order_and_one_jitter)
{
    char one[MG_UUID_SIZE], again[MG_UUID_SIZE], other[MG_UUID_SIZE];
    mg_schedule_order_id("nightly", DAY, one);
    mg_schedule_order_id("nightly", DAY, again);
    ck_assert_str_eq(one, again);
    mg_schedule_order_id("nightly", DAY + 1, other);
    ck_assert_str_ne(one, other);
    mg_schedule_order_id("nightl", DAY, other);
    ck_assert_str_ne(one, other);
    schedule_is("\"every\":\"15m\",\"jitter\":\"5m\"");
    int64_t least = INT64_MAX, most = 0;
    for (int i = 0; i < 1000; i++) {
        int64_t jitter = mg_schedule_jitter_ms(schedule, i * 15 * MINUTE);
        ck_assert_int_eq(jitter, mg_schedule_jitter_ms(schedule, i * 15 * MINUTE));
        ck_assert(jitter >= 0 && jitter < 5 * MINUTE);
        least = jitter < least ? jitter : least;
        most = jitter > most ? jitter : most;
    }
    ck_assert(least < 5000 && most > 295000);
}
END_TEST

/* Would catch: a slot that passes by the one before it, or one that is lost although it could wait. */
START_TEST(a_slot_waits_for_the_order_before_it)
{
    schedule_is("\"every\":\"15m\",\"overlap\":\"queue\"");
    const struct mg_slot_facts due = {.source = MG_SLOT_DUE,
                                      .slot_ms = HOUR,
                                      .now_ms = HOUR + 9 * HOUR,
                                      .next_slot_ms = HOUR,
                                      .next_at_ms = HOUR + 9 * HOUR,
                                      .is_open = true,
                                      .queued = 37};
    struct mg_slot_facts facts = due;
    ck_assert_int_eq(mg_slot_judge(schedule, &facts), MG_SLOT_WAITS);
    facts.now_ms--;
    ck_assert_int_eq(mg_slot_judge(schedule, &facts), MG_SLOT_STALE); /* it was looked at a moment ago */
    facts = due;
    facts.is_open = false;
    facts.ended_at_ms = facts.now_ms - 10 * MINUTE;
    ck_assert_int_eq(mg_slot_judge(schedule, &facts), MG_SLOT_FIRES);
    facts.ended_at_ms--;
    ck_assert_int_eq(mg_slot_judge(schedule, &facts),
                     MG_SLOT_MISSED); /* no supervisor fired it for so long */
    facts.ended_at_ms = 0;
    ck_assert_int_eq(mg_slot_judge(schedule, &facts), MG_SLOT_MISSED);
    facts = due;
    facts.queued = MG_SLOTS_QUEUED_MAX;
    ck_assert_int_eq(mg_slot_judge(schedule, &facts), MG_SLOT_WAITS);
    facts.queued++;
    ck_assert_int_eq(mg_slot_judge(schedule, &facts), MG_SLOT_MISSED);
    facts = due;
    facts.source = MG_SLOT_RUN;
    ck_assert_int_eq(mg_slot_judge(schedule, &facts), MG_SLOT_OVERLAPS);
    facts.is_open = false;
    ck_assert_int_eq(mg_slot_judge(schedule, &facts), MG_SLOT_FIRES);
}
END_TEST

START_TEST(the_newest_slots_wait)
{
    schedule_is("\"every\":\"15m\",\"overlap\":\"queue\"");
    int64_t end = mg_schedule_queue_end(schedule, HOUR, HOUR + 40 * HOUR + 1);
    ck_assert_int_eq(end, HOUR + 15 * HOUR);
    ck_assert_int_eq(mg_schedule_count(schedule, end + 1, HOUR + 40 * HOUR + 1), MG_SLOTS_QUEUED_MAX);
    schedule_is("\"cron\":\"0,30 * * * *\",\"zone\":\"UTC\",\"overlap\":\"queue\"");
    end = mg_schedule_queue_end(schedule, HOUR, HOUR + 60 * HOUR + 1);
    ck_assert_int_eq(end, HOUR + 10 * HOUR);
    ck_assert_int_eq(mg_schedule_count(schedule, end + MINUTE, HOUR + 60 * HOUR + 1), MG_SLOTS_QUEUED_MAX);
    ck_assert_int_lt(mg_schedule_queue_end(schedule, HOUR, HOUR + 49 * HOUR), HOUR);
}
END_TEST

/* Would catch: a slot that fires early, twice, or after its time. */
START_TEST(row_and_clock_decide_about_a_slot)
{
    schedule_is("\"every\":\"15m\"");
    const struct mg_slot_facts due = {.source = MG_SLOT_DUE,
                                      .slot_ms = HOUR,
                                      .now_ms = HOUR + MINUTE,
                                      .next_slot_ms = HOUR,
                                      .next_at_ms = HOUR + MINUTE};
    ck_assert_int_eq(mg_slot_judge(schedule, &due), MG_SLOT_FIRES);
    struct mg_slot_facts facts = due;
    facts.now_ms--;
    ck_assert_int_eq(mg_slot_judge(schedule, &facts), MG_SLOT_STALE); /* not due */
    facts = due;
    facts.is_paused = true;
    ck_assert_int_eq(mg_slot_judge(schedule, &facts), MG_SLOT_STALE);
    facts = due;
    facts.next_slot_ms += 15 * MINUTE;
    ck_assert_int_eq(mg_slot_judge(schedule, &facts), MG_SLOT_STALE); /* the row has moved on */
    facts = due;
    facts.now_ms = facts.next_at_ms + 10 * MINUTE;
    ck_assert_int_eq(mg_slot_judge(schedule, &facts), MG_SLOT_FIRES);
    facts.now_ms++;
    ck_assert_int_eq(mg_slot_judge(schedule, &facts), MG_SLOT_MISSED);
    facts = due;
    facts.is_open = true;
    ck_assert_int_eq(mg_slot_judge(schedule, &facts), MG_SLOT_OVERLAPS);
    facts.source = MG_SLOT_RUN;
    ck_assert_int_eq(mg_slot_judge(schedule, &facts), MG_SLOT_OVERLAPS);
    facts.source = MG_SLOT_BACKFILL;
    facts.is_paused = true;
    facts.now_ms += 100 * DAY;
    ck_assert_int_eq(mg_slot_judge(schedule, &facts), MG_SLOT_FIRES);
    facts.slot_ms = facts.now_ms + 1;
    ck_assert_int_eq(mg_slot_judge(schedule, &facts), MG_SLOT_STALE);
    facts.has_order = true;
    ck_assert_int_eq(mg_slot_judge(schedule, &facts), MG_SLOT_HAS_ORDER);
    schedule_is("\"every\":\"15m\",\"overlap\":\"allow\"");
    facts = due;
    facts.is_open = true;
    ck_assert_int_eq(mg_slot_judge(schedule, &facts), MG_SLOT_FIRES);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("schedule");
    TCase *tests = tcase_create("schedule");
    tcase_add_checked_fixture(tests, NULL, end);
    tcase_add_test(tests, a_definition_has_its_members_and_defaults);
    tcase_add_test(tests, a_mistake_is_refused_with_its_place);
    tcase_add_test(tests, a_payload_has_the_values_of_its_slot);
    tcase_add_test(tests, slots_of_every_are_counted_from_midnight);
    tcase_add_test(tests, minutes_reach_across_a_step_of_the_clock);
    tcase_add_test(tests, missed_slots_are_counted_up_to_a_bound);
    tcase_add_test(tests, a_slot_has_one_order_and_one_jitter);
    tcase_add_test(tests, row_and_clock_decide_about_a_slot);
    tcase_add_test(tests, a_slot_waits_for_the_order_before_it);
    tcase_add_test(tests, the_newest_slots_wait);
    suite_add_tcase(suite, tests);
    return run_suite(suite);
}
