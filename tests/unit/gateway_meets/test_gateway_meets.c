/* The orders that submissions meet in the database, over a fake store. */
#include <check.h>
#include <stdio.h>
#include <string.h>

#include "../suite.h"
#include "gateway/call.h"

#define POSTS_MAX 600

/* A row is its own number in the report: the test sees whether each post gets its own. */
struct mg_rows {
    int count;
};

static struct {
    struct mg_gateway gateway;
    struct mg_post posts[POSTS_MAX];
    char ids[POSTS_MAX * 8], workflows[POSTS_MAX * 8], versions[POSTS_MAX * 8]; /* of the open question */
    mg_store_rows_fn *done;
    void *arg;
    int questions;
    char story[POSTS_MAX * 16]; /* "3:0" for a post and its row, "3:!" for one that failed */
    struct mg_post *next;       /* is asked about within the answer to another */
} fake;

void mg_store_report(struct mg_store *store, enum mg_report report, const char *const *params, int count,
                     mg_store_rows_fn *done, void *arg)
{
    (void)store;
    ck_assert_ptr_null(fake.done);
    ck_assert(report == MG_REPORT_SUBMISSIONS_MEET && count == 3);
    (void)snprintf(fake.ids, sizeof(fake.ids), "%s", params[0]);
    (void)snprintf(fake.workflows, sizeof(fake.workflows), "%s", params[1]);
    (void)snprintf(fake.versions, sizeof(fake.versions), "%s", params[2]);
    fake.done = done;
    fake.arg = arg;
    fake.questions++;
}

static void answer(const struct mg_err *err)
{
    const struct mg_rows rows = {0};
    mg_store_rows_fn *done = fake.done;
    ck_assert_ptr_nonnull(done);
    fake.done = NULL;
    done(fake.arg, err == NULL ? &rows : NULL, err);
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
    ck_assert_str_eq(fake.ids, "0");
    answer(NULL);
    ck_assert_str_eq(fake.story, " 0:0");
    ck_assert_str_eq(fake.ids, "1 2 3");
    ck_assert_str_eq(fake.workflows, "w1 w2 w3");
    ck_assert_str_eq(fake.versions, "1 2 3");
    answer(NULL);
    ck_assert_str_eq(fake.story, " 0:0 1:0 2:1 3:2");
    ck_assert_ptr_null(fake.done);
    ask(4, 4);
    answer(NULL);
    ck_assert_str_eq(fake.story, " 0:0 1:0 2:1 3:2 4:0");
}
END_TEST

/* Would catch: a report without bound, and posts beyond its bound that are never asked about. */
START_TEST(a_report_is_bounded_and_the_rest_follows)
{
    ask(0, POSTS_MAX - 1);
    while (fake.done != NULL) {
        answer(NULL);
    }
    ck_assert_int_eq(fake.questions, 1 + 3);
    ck_assert_str_eq(strrchr(fake.story, ' '), " 599:86");
}
END_TEST

/* Would catch: a post that waits for ever after a failure, and a question to a store that is being destroyed.
 */
START_TEST(a_failure_is_that_of_all_that_wait)
{
    struct mg_err err;
    (void)mg_err_set(&err, MG_TRANSIENT, "down");
    ask(0, 2);
    fake.next = &fake.posts[3];
    answer(&err);
    ck_assert_str_eq(fake.story, " 0:! 1:! 2:! 3:!");
    ck_assert_int_eq(fake.questions, 1);
    ask(4, 4);
    ck_assert_str_eq(fake.ids, "4");
}
END_TEST

/* Would catch: a batch that goes on within an answer, and mixes its next post into the report that is read.
 */
START_TEST(a_post_that_follows_another_is_asked_about_next)
{
    ask(0, 0);
    fake.next = &fake.posts[7];
    answer(NULL);
    ck_assert_str_eq(fake.story, " 0:0");
    ck_assert_str_eq(fake.ids, "7");
    answer(NULL);
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
