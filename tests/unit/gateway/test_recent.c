/* The submissions that may still be in the queue: which are known, and for how many others. */
#include <check.h>
#include <stdio.h>
#include <string.h>

#include "../suite.h"
#include "gateway/call.h"

static const uint8_t BYTES[MG_SHA256_SIZE] = {1}, OTHERS[MG_SHA256_SIZE] = {2};
static struct mg_recent *recent;

static void set_up(void)
{
    recent = mg_recent_create();
    ck_assert_ptr_nonnull(recent);
}

static void tear_down(void)
{
    mg_recent_destroy(recent);
}

static const char *id_of(unsigned int number)
{
    static char id[32];
    (void)snprintf(id, sizeof(id), "order-%u", number);
    return id;
}

START_TEST(only_the_same_bytes_of_the_same_client_are_the_same)
{
    ck_assert(!mg_recent_has(recent, "shop", "a") && !mg_recent_is_other(recent, "shop", "a", BYTES));
    mg_recent_note(recent, "shop", "a", BYTES);
    ck_assert(mg_recent_has(recent, "shop", "a") && !mg_recent_is_other(recent, "shop", "a", BYTES));
    ck_assert(mg_recent_is_other(recent, "shop", "a", OTHERS));
    ck_assert(!mg_recent_has(recent, "depot", "a") && mg_recent_is_other(recent, "depot", "a", BYTES));
    ck_assert(!mg_recent_has(recent, "shop", "b") && !mg_recent_is_other(recent, "shop", "b", OTHERS));
}
END_TEST

START_TEST(an_order_is_known_by_any_post_that_may_be_in_the_queue)
{
    mg_recent_note(recent, "shop", "a", BYTES);
    mg_recent_note(recent, "shop", "a", BYTES);
    mg_recent_forget(recent, "shop", "a"); /* the first post, or its repetition */
    ck_assert(mg_recent_has(recent, "shop", "a") && mg_recent_is_other(recent, "shop", "a", OTHERS));
    mg_recent_forget(recent, "depot", "a");
    ck_assert(mg_recent_has(recent, "shop", "a"));
    mg_recent_forget(recent, "shop", "a");
    ck_assert(!mg_recent_has(recent, "shop", "a") && !mg_recent_is_other(recent, "shop", "a", OTHERS));
    mg_recent_forget(recent, "shop", "a");
    mg_recent_note(recent, "depot", "a", OTHERS);
    ck_assert(mg_recent_has(recent, "depot", "a"));
}
END_TEST

START_TEST(a_new_order_replaces_the_oldest_and_no_other)
{
    for (unsigned int i = 0; i < MG_RECENT_MAX; i++) {
        mg_recent_note(recent, i % 2 == 0 ? "shop" : "depot", id_of(i), BYTES);
    }
    for (unsigned int i = 0; i < MG_RECENT_MAX; i += 7) { /* odd ones and even ones */
        ck_assert(mg_recent_has(recent, i % 2 == 0 ? "shop" : "depot", id_of(i)));
    }
    mg_recent_note(recent, "shop", "one more", BYTES);
    ck_assert(!mg_recent_has(recent, "shop", id_of(0)) && mg_recent_has(recent, "shop", "one more"));
    ck_assert(mg_recent_has(recent, "depot", id_of(1)));
    mg_recent_forget(recent, "depot", id_of(1)); /* its place is the next one, and free */
    mg_recent_note(recent, "shop", "another", BYTES);
    ck_assert(mg_recent_has(recent, "shop", id_of(2)) && mg_recent_has(recent, "shop", "another"));
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("gateway_recent");
    TCase *tests = tcase_create("recent");
    tcase_add_checked_fixture(tests, set_up, tear_down);
    tcase_add_test(tests, only_the_same_bytes_of_the_same_client_are_the_same);
    tcase_add_test(tests, an_order_is_known_by_any_post_that_may_be_in_the_queue);
    tcase_add_test(tests, a_new_order_replaces_the_oldest_and_no_other);
    suite_add_tcase(suite, tests);
    return run_suite(suite);
}
