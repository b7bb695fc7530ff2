/* The orders that submissions meet in the database, over a fake store. */
#include <check.h>
#include <stdio.h>
#include <string.h>

#include "../suite.h"
#include "fake_report.h"
#include "gateway/call.h"

#define POSTS_MAX 600

static struct {
    struct mg_gateway gateway;
    struct mg_post posts[POSTS_MAX];
    char story[POSTS_MAX * 16]; /* "3:0" for a post and its row, "3:!" for one that failed */
    struct mg_post *next;       /* is asked about within the answer to another */
} fake;

static void on_ask(const struct fake_report *report)
{
    ck_assert_int_eq(fake_reports.open_count, 1);
    ck_assert(report->report == MG_REPORT_SUBMISSIONS_MEET && report->param_count == 3);
}

/* The parameters of the open question. */
static void assert_asks(const char *ids, const char *workflows, const char *versions)
{
    ck_assert_str_eq(fake_reports.open[0].params[0], ids);
    ck_assert_str_eq(fake_reports.open[0].params[1], workflows);
    ck_assert_str_eq(fake_reports.open[0].params[2], versions);
}

/* A post sees the number of its row alone. */
static void answer(void)
{
    fake_report_answer(0, &(struct mg_rows){0, 0, NULL}, NULL);
}

static void on_met(struct mg_post *post, const struct mg_rows *rows, int row, const struct mg_err *err)
{
    size_t len = strlen(fake.story);
    struct mg_post *next = fake.next;
    ck_assert((rows == NULL) == (err != NULL));
    if (err != NULL) {
        (void)snprintf(fake.story + len, sizeof(fake.story) - len, " %s:!", post->order_id);
    } else {
        (void)snprintf(fake.story + len, sizeof(fake.story) - len, " %s:%d", post->order_id, row);
    }
    fake.next = NULL;
    if (next != NULL) {
        mg_meets_ask(fake.gateway.meets, next);
    }
}

static void setup(void)
{
    memset(&fake, 0, sizeof(fake));
    fake_reports_reset();
    fake_reports.on_ask = on_ask;
    fake.gateway.meets = mg_meets_create(&fake.gateway);
    ck_assert_ptr_nonnull(fake.gateway.meets);
    for (int i = 0; i < POSTS_MAX; i++) {
        struct mg_post *post = &fake.posts[i];
        post->met = on_met;
        post->submission.workflow_version = i;
        (void)snprintf(post->order_id, sizeof(post->order_id), "%d", i);
        (void)snprintf(post->submission.workflow, sizeof(post->submission.workflow), "w%d", i);
    }
}

static void teardown(void)
{
    mg_meets_destroy(fake.gateway.meets);
    fake_reports_reset();
}

static void ask(int first, int last)
{
    for (int i = first; i <= last; i++) {
        mg_meets_ask(fake.gateway.meets, &fake.posts[i]);
    }
}

/* Would catch: a statement for each post, and a post that gets the row of another. */
START_TEST(posts_that_come_meanwhile_share_a_report)
{
    ask(0, 3);
    assert_asks("0", "w0", "0");
    answer();
    ck_assert_str_eq(fake.story, " 0:0");
    assert_asks("1 2 3", "w1 w2 w3", "1 2 3");
    answer();
    ck_assert_str_eq(fake.story, " 0:0 1:0 2:1 3:2");
    ck_assert_int_eq(fake_reports.open_count, 0);
    ask(4, 4);
    answer();
    ck_assert_str_eq(fake.story, " 0:0 1:0 2:1 3:2 4:0");
}
END_TEST

/* Would catch: a report without bound, and posts beyond its bound that are never asked about. */
START_TEST(a_report_is_bounded_and_the_rest_follows)
{
    ask(0, POSTS_MAX - 1);
    while (fake_reports.open_count > 0) {
        answer();
    }
    ck_assert_int_eq(fake_reports.asked, 1 + 3);
    ck_assert_str_eq(strrchr(fake.story, ' '), " 599:86");
}
END_TEST

/* Would catch: a post that waits for ever after a failure, and a question to a store that is being destroyed.
 */
START_TEST(a_failure_is_that_of_all_that_wait)
{
    ask(0, 2);
    fake.next = &fake.posts[3];
    fake_report_answer(0, NULL, "down");
    ck_assert_str_eq(fake.story, " 0:! 1:! 2:! 3:!");
    ck_assert_int_eq(fake_reports.asked, 1);
    ask(4, 4);
    assert_asks("4", "w4", "4");
}
END_TEST

/* Would catch: a batch that goes on within an answer, and mixes its next post into the report that is read.
 */
START_TEST(a_post_that_follows_another_is_asked_about_next)
{
    ask(0, 0);
    fake.next = &fake.posts[7];
    answer();
    ck_assert_str_eq(fake.story, " 0:0");
    assert_asks("7", "w7", "7");
    answer();
    ck_assert_str_eq(fake.story, " 0:0 7:0");
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("gateway_meets");
    TCase *tcase = tcase_create("meets");
    tcase_add_checked_fixture(tcase, setup, teardown);
    tcase_add_test(tcase, posts_that_come_meanwhile_share_a_report);
    tcase_add_test(tcase, a_report_is_bounded_and_the_rest_follows);
    tcase_add_test(tcase, a_failure_is_that_of_all_that_wait);
    tcase_add_test(tcase, a_post_that_follows_another_is_asked_about_next);
    suite_add_tcase(suite, tcase);
    return run_suite(suite);
}
