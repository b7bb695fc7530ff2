/*
 * Would catch: statuses of one order out of order or with a gap; a status that is acked before its target has
 * taken it, or lost; a target that is down and gets a flood, or is not found when it is back; an order that
 * holds up others; a delivery that is held until the broker ends the connection; a status that is set aside
 * for its age, or for the dark time of its target.
 */
#include <stdio.h>
#include <string.h>

#include "../suite.h"
#include "gateway/window.h"
#include "world.h"

START_TEST(statuses_of_one_order_go_one_by_one_and_those_of_others_beside_them)
{
    fake_deliver("a1");
    fake_deliver("a3");
    fake_deliver("a2");
    fake_deliver("b1");
    fake_expect("send:a1 send:b1");
    fake_answer("a1", 200);
    fake_expect("ack:a1 send:a2");
    fake_answer("a2", 204);
    fake_answer("b1", 202);
    fake_expect("ack:a2 send:a3 ack:b1");
    fake_answer("a3", 299);
    fake_deliver("a2");
    fake_deliver("a4");
    fake_expect("ack:a3 send:a2");
    fake_answer("a2", 200);
    fake_expect("ack:a2 send:a4");
}
END_TEST

START_TEST(a_rejection_has_no_predecessor_and_each_is_sent)
{
    fake_deliver("a0");
    fake_answer("a0", 200);
    fake_deliver("a0");
    fake_answer("a0", 200);
    fake_deliver("a1");
    fake_expect("send:a0 ack:a0 send:a0 ack:a0 send:a1");
}
END_TEST

START_TEST(a_status_that_overtook_others_waits_for_them)
{
    fake_deliver("a3"); /* after a restart, or after statuses that are owed */
    fake_deliver("b1");
    fake_expect("ask:a>0 send:b1");
    fake_deliver("a2"); /* meanwhile one of them arrives */
    fake_rows(true, 1, 2);
    fake_expect("send:a1");
    fake_answer("a1", 200);
    fake_answer("a2", 200);
    fake_expect("send:a2 ack:a2 send:a3");
    fake_answer("a3", 200);
    fake_deliver("a5");
    fake_expect("ack:a3 ask:a>3");
    fake_rows(true, 4, 6);
    fake_answer("a4", 200);
    fake_answer("a5", 200);
    fake_expect("send:a4 send:a5 ack:a5");
    fake_deliver("a4");
    fake_answer("a4", 200);
    fake_deliver("a6");
    fake_expect("send:a4 ack:a4 send:a6");
}
END_TEST

START_TEST(copies_of_a_status_in_hand_are_acked_with_it)
{
    fake_deliver("a1");
    fake_deliver("a2");
    fake_deliver("a1");
    fake_deliver("a2");
    fake_answer("a1", 200);
    fake_answer("a2", 200);
    fake_expect("send:a1 ack:a1 ack:a1 send:a2 ack:a2 ack:a2");
}
END_TEST

START_TEST(statuses_missing_in_the_history_are_not_waited_for)
{
    fake_deliver("a3");
    fake_expect("ask:a>0");
    fake_rows(false, 0, 0);
    fake_expect("archive:a>0");
    fake_rows(true, 1, 1);
    fake_answer("a1", 200);
    fake_expect("send:a1 ask:a>1");
    fake_rows(true, 3, 3);
    fake_expect("send:a3");
    fake_answer("a3", 200);
    fake_deliver("b9");
    fake_expect("ack:a3 ask:b>0");
    fake_rows(false, 0, 0);
    fake_rows(false, 0, 0);
    fake_expect("archive:b>0 send:b9");
}
END_TEST

START_TEST(a_database_that_is_down_delays_only_what_needs_it)
{
    fake_deliver("a3");
    fake_rows_fail();
    fake_deliver("b1");
    fake_answer("b1", 200);
    fake_expect("ask:a>0 send:b1 ack:b1");
    fake_loop_pass(999);
    fake_expect("");
    fake_loop_pass(1);
    fake_rows(true, 1, 2);
    fake_expect("ask:a>0 send:a1");
}
END_TEST

/* As after a restart, when each order in hand has earlier statuses. */
START_TEST(a_status_that_needs_the_database_goes_as_soon_as_another_has_it)
{
    fake_deliver("a2");
    fake_deliver("b2");
    fake_deliver("c2");
    fake_deliver("d2");
    fake_expect("ask:a>0 ask:b>0");
    fake_rows(true, 1, 1);
    fake_expect("send:a1 ask:c>0");
    fake_rows_fail(); /* the others wait with it */
    fake_expect("");
    fake_rows(true, 1, 1);
    fake_expect("send:c1 ask:d>0");
    fake_rows(true, 1, 1);
    fake_expect("send:d1");
    fake_loop_pass(1000);
    fake_expect("ask:b>0");
}
END_TEST

START_TEST(an_order_that_is_refused_delays_no_other)
{
    fake_deliver("a1");
    fake_deliver("b1");
    fake_answer("a1", 500);
    fake_answer("b1", 200);
    fake_deliver("b2");
    fake_answer("b2", 200);
    fake_expect("send:a1 send:b1 ack:b1 send:b2 ack:b2");
    fake_loop_pass(999);
    fake_expect("");
    fake_loop_pass(1);
    fake_expect("send:a1");
    fake_answer("a1", -1);
    fake_loop_pass(1999);
    fake_expect("");
    fake_loop_pass(1);
    fake_expect("send:a1");
    ck_assert_int_eq(fake_log.loud, 0);
}
END_TEST

START_TEST(an_answer_names_the_time_of_the_next_try)
{
    fake_deliver("a1");
    fake_answer_later("a1", 429, 30000);
    fake_expect("send:a1");
    fake_loop_pass(29999);
    fake_expect("");
    fake_loop_pass(1);
    fake_expect("send:a1");
}
END_TEST

START_TEST(a_target_has_so_many_requests_at_once)
{
    char name[8];
    for (int i = 0; i < 12; i++) {
        (void)snprintf(name, sizeof(name), "%c1", 'a' + i);
        fake_deliver(name);
    }
    fake_expect("send:a1 send:b1 send:c1 send:d1 send:e1 send:f1 send:g1 send:h1");
    fake_answer("c1", 200);
    fake_expect("ack:c1 send:i1");
}
END_TEST

static void go_down(void)
{
    fake_deliver("a1");
    fake_deliver("b1");
    fake_deliver("b2");
    fake_deliver("c1");
    for (int i = 0; i < 5; i++) {
        fake_loop_pass(4000);
        char name[8] = {fake_http.calls[fake_http.count - 1].body[19], '1', '\0'};
        for (int k = 0; k < fake_http.count; k++) {
            if (fake_http.calls[k].is_open) {
                name[0] = fake_http.calls[k].body[19];
                fake_answer(name, 503);
                break;
            }
        }
    }
}

START_TEST(a_target_that_is_down_gets_one_request_at_a_time_and_ever_fewer)
{
    int64_t waits[16];
    go_down();
    for (int i = 0; i < fake_http.count; i++) { /* those that were under way when it went down */
        if (fake_http.calls[i].is_open) {
            char name[8] = {fake_http.calls[i].body[19], '1', '\0'};
            fake_answer(name, 503);
        }
    }
    ck_assert_int_eq(fake_log.loud, 1);
    for (int i = 0; i < 16; i++) {
        int before = fake_http.count;
        int64_t since_ms = fake_clock.boot_ms;
        while (fake_http.count == before) {
            fake_loop_pass(1);
        }
        waits[i] = fake_clock.boot_ms - since_ms;
        fake_loop_pass(20000);
        ck_assert_int_eq(fake_http.count, before + 1); /* one at a time */
        char name[8] = {fake_http.calls[before].body[19], '1', '\0'};
        fake_answer(name, i % 2 == 0 ? 500 : -1);
    }
    ck_assert_int_eq(waits[15], 60000);
    for (int i = 1; i < 16; i++) {
        ck_assert_int_ge(waits[i], waits[i - 1]);
    }
    ck_assert_int_eq(fake_log.loud, 1);
    fake.story[0] = '\0';
    fake_loop_pass(60000);
    char probe[8] = {fake_http.calls[fake_http.count - 1].body[19], '1', '\0'};
    fake_answer(probe, 200);
    int open = 0;
    for (int i = 0; i < fake_http.count; i++) {
        open += fake_http.calls[i].is_open;
    }
    ck_assert_int_ge(open, 2); /* all others at once */
}
END_TEST

START_TEST(a_try_has_the_time_of_its_own_and_the_id_of_its_status)
{
    fake_deliver("a1");
    fake_answer("a1", 500);
    fake_loop_pass(5000);
    ck_assert_int_eq(fake_http.count, 2);
    ck_assert_str_eq(fake_header(0, "webhook-id"), fake_header(1, "webhook-id"));
    ck_assert(mg_uuid_is_valid(fake_header(0, "webhook-id")));
    ck_assert_str_eq(fake_http.calls[0].body, fake_http.calls[1].body);
    ck_assert_str_eq(fake_header(0, "webhook-timestamp"), "1769862897");
    ck_assert_str_eq(fake_header(1, "webhook-timestamp"), "1769862898");
    ck_assert_str_ne(fake_header(0, "webhook-signature"), fake_header(1, "webhook-signature"));
    ck_assert(strncmp(fake_header(0, "webhook-signature"), "v1,", 3) == 0);
}
END_TEST

START_TEST(a_delivery_is_given_back_before_the_broker_takes_it)
{
    fake_deliver("a1");
    fake_answer("a1", 500);
    fake_deliver("a2");
    fake_loop_pass(9 * 60 * 1000);
    mg_hook_look(fake.hook);
    ck_assert_ptr_null(strstr(fake.story, "requeue"));
    for (int i = 0; i < fake_http.count; i++) {
        if (fake_http.calls[i].is_open) {
            fake_answer("a1", 500);
        }
    }
    fake.story[0] = '\0';
    fake_loop_pass(60 * 1000 - 1);
    if (fake_http.calls[fake_http.count - 1].is_open) {
        mg_hook_look(fake.hook); /* not one that is under way */
        ck_assert_ptr_null(strstr(fake.story, "requeue"));
        fake_answer("a1", 500);
    }
    fake.story[0] = '\0';
    fake_loop_pass(1);
    mg_hook_look(fake.hook);
    fake_expect("requeue:a1 requeue:a2");
    fake_deliver("a1");
    fake_expect(fake_http.calls[fake_http.count - 1].is_open ? "send:a1" : "");
}
END_TEST

#define HALF_HOUR_MS (30 * 60 * 1000)

static bool is_open(char order)
{
    bool is_open = false;
    for (int i = 0; i < fake_http.count; i++) {
        is_open = is_open || (fake_http.calls[i].is_open && fake_http.calls[i].body[19] == order);
    }
    return is_open;
}

/* The target answers a1 so again and again, while its delivery goes back to the broker and is redelivered.
 * Each half an hour it takes another status, or none. True: a1 was set aside. */
static bool is_set_aside(int half_hours, int http_status, int64_t retry_after_ms, bool takes_others)
{
    for (int i = 0; i < half_hours; i++) {
        fake.story[0] = '\0';
        fake_loop_pass(HALF_HOUR_MS);
        if (takes_others) {
            fake_deliver("b0");
            fake_answer("b0", 200);
        }
        ck_assert(is_open('a'));
        fake_answer_later("a1", http_status, retry_after_ms);
        if (strstr(fake.story, "reject:a1") != NULL) {
            return true;
        }
        mg_hook_look(fake.hook);
        ck_assert_ptr_nonnull(strstr(fake.story, "requeue:a1"));
        fake_deliver("a1");
    }
    return false;
}

/* The target was down, and takes a status when its turn comes. */
static void come_back(void)
{
    fake_deliver("b0");
    while (!is_open('b')) {
        if (is_open('a')) {
            fake_answer("a1", -1);
        }
        fake_loop_pass(60 * 1000);
    }
    fake_answer("b0", 200);
}

START_TEST(a_status_that_alone_is_refused_for_a_day_is_set_aside)
{
    fake_deliver("a1");
    fake_answer("a1", 400);
    ck_assert(!is_set_aside(47, 400, -1, true));
    ck_assert(is_set_aside(1, 400, -1, true));
    ck_assert_int_eq(fake_log.loud, 1);
    fake.story[0] = '\0';
    fake_deliver("a1"); /* an operator requeues it */
    fake_answer("a1", 400);
    fake_deliver("a2");
    fake_loop_pass(1000);
    fake_answer("a1", 200);
    fake_expect("send:a1 send:a1 ack:a1 send:a2");
}
END_TEST

START_TEST(the_time_of_a_status_is_no_time_of_its_refusal)
{
    fake_clock.wall_ms += INT64_C(60) * 60 * 60 * 1000; /* its target was dark, or the clock is wrong */
    fake_deliver("a1");
    fake_answer("a1", 500);
    fake_deliver("b1");
    fake_answer("b1", 200);
    fake_loop_pass(1000);
    fake_answer("a1", 500);
    fake_expect("send:a1 send:b1 ack:b1 send:a1");
}
END_TEST

START_TEST(the_dark_time_of_a_target_is_no_refusal_of_one_status)
{
    fake_deliver("a1");
    fake_answer("a1", 500);
    ck_assert(!is_set_aside(2, 500, -1, true));
    ck_assert(!is_set_aside(96, -1, -1, false)); /* a weekend */
    come_back();
    ck_assert(!is_set_aside(47, 500, -1, true));
    ck_assert(is_set_aside(2, 500, -1, true));
}
END_TEST

START_TEST(a_busy_target_refuses_no_status)
{
    fake_deliver("a1");
    fake_answer("a1", 429);
    ck_assert(!is_set_aside(50, 429, -1, true));
    ck_assert(!is_set_aside(50, 503, 5000, true));
    ck_assert(!is_set_aside(48, 503, -1, true)); /* this one may be about the status */
    ck_assert(is_set_aside(1, 503, -1, true));
}
END_TEST

START_TEST(a_new_target_has_refused_nothing)
{
    struct mg_hook_target moved = fake_target("https://new.example.org/");
    fake_deliver("a1");
    fake_answer("a1", 400);
    ck_assert(!is_set_aside(47, 400, -1, true));
    mg_hook_set_target(fake.hook, &moved);
    fake_answer("a1", 400); /* of the earlier one */
    ck_assert(!is_set_aside(48, 400, -1, true));
    ck_assert(is_set_aside(1, 400, -1, true));
}
END_TEST

START_TEST(a_status_that_was_taken_has_no_refusals)
{
    fake_deliver("a1");
    fake_answer("a1", 400);
    ck_assert(!is_set_aside(47, 400, -1, true));
    fake_answer("a1", 200);
    fake_deliver("a1"); /* a copy */
    ck_assert(!is_set_aside(48, 400, -1, true));
}
END_TEST

START_TEST(the_refusal_of_the_longest_ago_is_forgotten_first)
{
    const int64_t later_ms = 2000 + MG_WINDOW_GIVE_UP_MS;
    struct mg_window window;
    struct mg_window_status status = {.identity = {.order_id = "a"}, .body = mg_slice_of("")};
    ck_assert(mg_window_init(&window));
    for (int i = 0; i <= MG_WINDOW_REFUSALS_MAX; i++) { /* one more than there is room for */
        status.identity.seq = (uint64_t)i + 1;
        ck_assert(!mg_window_refused(&window, &status, 1000 + i));
    }
    window.taken_at_ms = later_ms;
    ck_assert(mg_window_refused(&window, &status, later_ms));
    status.identity.seq = 2;
    ck_assert(mg_window_refused(&window, &status, later_ms));
    status.identity.seq = 1;
    ck_assert(!mg_window_refused(&window, &status, later_ms));
    mg_window_finish(&window);
}
END_TEST

/* The status of HTTP stands in the first line, before the end that is missing. */
START_TEST(an_answer_that_is_cut_off_takes_no_status)
{
    fake_deliver("a1");
    fake_answer_cut("a1", 200);
    fake_expect("send:a1");
    fake_loop_pass(1000);
    fake_answer("a1", 200);
    fake_expect("send:a1 ack:a1");
}
END_TEST

START_TEST(bytes_that_are_no_status_are_set_aside)
{
    fake_deliver("?");
    fake_deliver("-");
    fake_deliver("a1");
    fake_expect("reject:? reject:- send:a1");
}
END_TEST

START_TEST(a_new_address_is_tried_at_once)
{
    struct mg_hook_target same = fake_target("https://shop.example.org/");
    struct mg_hook_target moved = fake_target("https://new.example.org/");
    fake_deliver("a1");
    fake_answer_later("a1", 410, 60000);
    mg_hook_set_target(fake.hook, &same);
    fake_expect("send:a1");
    mg_hook_set_target(fake.hook, &moved);
    fake_expect("send:a1");
    ck_assert_str_eq(fake_http.calls[1].url, "https://new.example.org/");
}
END_TEST

START_TEST(the_answer_of_an_earlier_address_holds_up_nothing)
{
    struct mg_hook_target moved = fake_target("https://new.example.org/");
    char name[8];
    for (int i = 0; i < 8; i++) {
        (void)snprintf(name, sizeof(name), "%c1", 'a' + i);
        fake_deliver(name);
    }
    mg_hook_set_target(fake.hook, &moved);
    fake.story[0] = '\0';
    fake_answer_later("a1", 503, 600000);
    fake_expect("send:a1");
    for (int i = 1; i < 7; i++) {
        (void)snprintf(name, sizeof(name), "%c1", 'a' + i);
        fake_answer(name, i % 2 == 0 ? 400 : -1);
    }
    fake_expect("send:b1 send:c1 send:d1 send:e1 send:f1 send:g1");
    fake_answer("h1", 200); /* it was in time */
    fake_expect("ack:h1");
    ck_assert_int_eq(fake_log.loud, 0);
    ck_assert_str_eq(fake_http.calls[8].url, "https://new.example.org/");
    fake_answer("a1", 500); /* of the new address: its first failure */
    fake_loop_pass(1000);
    fake_expect("send:a1");
}
END_TEST

START_TEST(a_new_address_has_not_failed_yet)
{
    struct mg_hook_target moved = fake_target("https://new.example.org/");
    const struct mg_metric *failing = mg_metrics_series(
        fake.gateway.metrics, MG_GAUGE, "makegood_webhook_failing_seconds", "client=\"" FAKE_CLIENT "\"", "");
    fake_deliver("a1");
    for (int i = 0; i < 4; i++) {
        fake_answer("a1", 500);
        fake_loop_pass(60000);
    }
    mg_hook_look(fake.hook);
    ck_assert(mg_metric_value(failing) > 0);
    fake_answer("a1", 500);
    fake.story[0] = '\0';
    mg_hook_set_target(fake.hook, &moved);
    mg_hook_look(fake.hook);
    ck_assert(mg_metric_value(failing) == 0);
    fake_answer("a1", 500);
    fake_loop_pass(1000);
    fake_expect("send:a1 send:a1");
}
END_TEST

START_TEST(a_request_that_cannot_begin_is_a_failure)
{
    fake_http.refusal = MG_TRANSIENT;
    fake_deliver("a1");
    fake_expect("refused:a1");
    fake_http.refusal = MG_OK;
    fake_loop_pass(1000);
    fake_expect("send:a1");
}
END_TEST

START_TEST(a_queue_that_is_not_read_shows_in_its_metric)
{
    const struct mg_metric *queue_up = mg_metrics_series(
        fake.gateway.metrics, MG_GAUGE, "makegood_webhook_queue_up", "client=\"" FAKE_CLIENT "\"", "");
    mg_hook_look(fake.hook);
    ck_assert(mg_metric_value(queue_up) == 1);
    fake_broker.is_down = true;
    mg_hook_look(fake.hook);
    ck_assert(mg_metric_value(queue_up) == 0);
}
END_TEST

START_TEST(an_end_with_work_in_hand_frees_all_of_it)
{
    fake_deliver("a1");
    fake_deliver("a2");
    fake_deliver("b3");
    mg_hook_destroy(fake.hook);
    fake.hook = NULL;
    fake_rows(true, 1, 2); /* the answer to a question of the hook that is gone */
}
END_TEST

START_TEST(an_order_is_remembered_among_thousands)
{
    struct mg_window window;
    char order_id[16];
    ck_assert(mg_window_init(&window));
    for (int i = 0; i < 4000; i++) {
        (void)snprintf(order_id, sizeof(order_id), "order-%d", i);
        mg_window_note(&window, order_id, i);
    }
    int known = 0;
    for (int i = 0; i < 4000; i++) {
        (void)snprintf(order_id, sizeof(order_id), "order-%d", i);
        known += mg_window_last(&window, order_id) == i;
    }
    ck_assert_int_gt(known, 3700); /* of sets with four places, 5 in 100 get a fifth order */
    ck_assert_int_eq(mg_window_last(&window, "order-4000"), -1);
    mg_window_note(&window, "order-3999", 7);
    ck_assert_int_eq(mg_window_last(&window, "order-3999"), 7);
    mg_window_finish(&window);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("hook");
    TCase *tests = tcase_create("hook");
    tcase_add_checked_fixture(tests, fake_start, fake_end);
    tcase_add_test(tests, statuses_of_one_order_go_one_by_one_and_those_of_others_beside_them);
    tcase_add_test(tests, a_rejection_has_no_predecessor_and_each_is_sent);
    tcase_add_test(tests, a_status_that_overtook_others_waits_for_them);
    tcase_add_test(tests, copies_of_a_status_in_hand_are_acked_with_it);
    tcase_add_test(tests, statuses_missing_in_the_history_are_not_waited_for);
    tcase_add_test(tests, a_database_that_is_down_delays_only_what_needs_it);
    tcase_add_test(tests, a_status_that_needs_the_database_goes_as_soon_as_another_has_it);
    tcase_add_test(tests, an_order_that_is_refused_delays_no_other);
    tcase_add_test(tests, an_answer_names_the_time_of_the_next_try);
    tcase_add_test(tests, a_target_has_so_many_requests_at_once);
    tcase_add_test(tests, a_target_that_is_down_gets_one_request_at_a_time_and_ever_fewer);
    tcase_add_test(tests, a_try_has_the_time_of_its_own_and_the_id_of_its_status);
    tcase_add_test(tests, a_delivery_is_given_back_before_the_broker_takes_it);
    tcase_add_test(tests, a_status_that_alone_is_refused_for_a_day_is_set_aside);
    tcase_add_test(tests, the_time_of_a_status_is_no_time_of_its_refusal);
    tcase_add_test(tests, the_dark_time_of_a_target_is_no_refusal_of_one_status);
    tcase_add_test(tests, a_busy_target_refuses_no_status);
    tcase_add_test(tests, a_new_target_has_refused_nothing);
    tcase_add_test(tests, a_status_that_was_taken_has_no_refusals);
    tcase_add_test(tests, the_refusal_of_the_longest_ago_is_forgotten_first);
    tcase_add_test(tests, an_answer_that_is_cut_off_takes_no_status);
    tcase_add_test(tests, bytes_that_are_no_status_are_set_aside);
    tcase_add_test(tests, a_new_address_is_tried_at_once);
    tcase_add_test(tests, the_answer_of_an_earlier_address_holds_up_nothing);
    tcase_add_test(tests, a_new_address_has_not_failed_yet);
    tcase_add_test(tests, a_request_that_cannot_begin_is_a_failure);
    tcase_add_test(tests, a_queue_that_is_not_read_shows_in_its_metric);
    tcase_add_test(tests, an_end_with_work_in_hand_frees_all_of_it);
    tcase_add_test(tests, an_order_is_remembered_among_thousands);
    suite_add_tcase(suite, tests);
    return run_suite(suite);
}
