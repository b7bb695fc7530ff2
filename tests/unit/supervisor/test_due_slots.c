/* Slots of schedules: which ones the leader asks for, and how seldom it looks for them. */
#include <check.h>
#include <string.h>

#include "../suite.h"
#include "schedule/schedule.h"
#include "world.h"

static void setup(void)
{
    (void)fake_start();
}

static void teardown(void)
{
    fake_finish();
}

static struct mg_due_slot slot_of(const char *schedule, int64_t due_at_ms)
{
    struct mg_due_slot slot = {.slot_ms = due_at_ms - 7, .due_at_ms = due_at_ms};
    snprintf(slot.schedule, sizeof(slot.schedule), "%s", schedule);
    return slot;
}

/* The sweeps of so much time are answered; the question about slots stays open once it is asked. */
static void sweep_for(int64_t ms)
{
    for (int64_t passed = 0; passed < ms; passed += 250) {
        fake_pass(250);
        if (fake.is_sweep_open) {
            fake_answer_sweep(NULL, 0);
        }
    }
}

/* Would catch: a slot that is fired before it is due, or a command that names another order. */
START_TEST(a_due_slot_is_one_command_with_its_order)
{
    fake_lead(100);
    fake_answer_sweep(NULL, 0);
    int64_t now_ms = fake_database_ms();
    const struct mg_due_slot slots[] = {slot_of("nightly", now_ms - 10), slot_of("hourly", now_ms + 1)};
    fake_answer_slots(slots, 2);
    ck_assert_int_eq(fake.command_count, 1);
    const struct mg_command *command = &fake.commands[0];
    char order_id[MG_UUID_SIZE];
    mg_schedule_order_id("nightly", now_ms - 17, order_id);
    ck_assert_int_eq(command->kind, MG_CAUSE_FIRE);
    ck_assert_str_eq(command->schedule, "nightly");
    ck_assert_int_eq(command->slot_ms, now_ms - 17);
    ck_assert_str_eq(command->order_id, order_id);
    ck_assert(!command->is_backfill);
}
END_TEST

/* Would catch: a question in each sweep, a slot that waits for the next look, one that is asked for without
 * end. */
START_TEST(slots_are_looked_for_when_the_next_is_due_and_after_a_while)
{
    fake_lead(100);
    fake_answer_sweep(NULL, 0);
    fake_answer_slots(NULL, 0);
    sweep_for(4500);
    ck_assert_int_eq(fake.slot_asks, 1);
    sweep_for(1000);
    ck_assert_int_eq(fake.slot_asks, 2); /* a schedule may be new */
    const struct mg_due_slot next = slot_of("nightly", fake_database_ms() + 1000);
    fake_answer_slots(&next, 1);
    sweep_for(1500);
    ck_assert_int_eq(fake.slot_asks, 3);
    fake_answer_slots(&next, 1);
    ck_assert_int_eq(fake.command_count, 1);
    sweep_for(1500);
    ck_assert_int_eq(fake.slot_asks, 3);
    sweep_for(1000);
    ck_assert_int_eq(fake.slot_asks, 4);
    fake_answer_slots(&next, 1);
    ck_assert_int_eq(fake.command_count, 2);
    ck_assert_str_eq(fake.commands[0].command_id, fake.commands[1].command_id);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("due slots");
    TCase *tests = tcase_create("due slots");
    tcase_add_checked_fixture(tests, setup, teardown);
    tcase_add_test(tests, a_due_slot_is_one_command_with_its_order);
    tcase_add_test(tests, slots_are_looked_for_when_the_next_is_due_and_after_a_while);
    suite_add_tcase(suite, tests);
    return run_suite(suite);
}
