/*
 * Watched queues against a real RabbitMQ. They are looked at, existing or not, at their period and on
 * request, and no more once they are let go.
 */
#include <stdio.h>

#include "../unit/suite.h"
#include "broker_fixture.h"

static struct fixture fixture;
static char queue[64];

static void setup(void)
{
    fixture_init_queue(&fixture, test_amqp_url(), "watch", queue);
}

static void teardown(void)
{
    fixture_finish(&fixture);
    test_queue_delete(queue);
}

static bool has_outcomes(const struct fixture *f)
{
    return fixture_outcome_count(f) >= 7;
}

static void on_seen(void *arg, const char *name, int64_t ready, int64_t consumers)
{
    struct fixture *f = arg;
    (void)name;
    f->ready = ready;
    f->consumers = consumers;
    f->seen_count++;
}

static bool is_seen_missing(const struct fixture *f)
{
    return f->seen_count >= 3 && f->consumers == -1;
}

static bool is_seen_full(const struct fixture *f)
{
    return f->consumers == 0 && f->ready == 7;
}

/* Would catch: a missing watched queue that takes the channel, or the other questions, down with it. */
START_TEST(watched_queue_is_seen_missing_then_full)
{
    char other[64];
    test_queue_name("watched", other);
    fixture_start(&fixture);
    struct mg_err err;
    ck_assert_int_eq(mg_broker_watch_queue(fixture.broker, other, 20, on_seen, &fixture, &err), MG_OK);
    ck_assert_int_eq(mg_broker_watch_queue(fixture.broker, other, 20, on_seen, &fixture, &err), MG_OK);
    ck_assert(fixture_run(&fixture, is_seen_missing, WAIT_MS));
    test_queue_declare(other, 0);
    for (int i = 0; i < 7; i++) {
        fixture_publish(&fixture, other, "{}");
    }
    ck_assert(fixture_run(&fixture, is_seen_full, WAIT_MS));
    ck_assert_int_eq(fixture.down_count, 0);
    test_queue_delete(other);
    fixture.seen_count = 0;
    ck_assert(fixture_run(&fixture, is_seen_missing, WAIT_MS));
}
END_TEST

static bool is_seen_there(const struct fixture *f)
{
    return f->seen_count >= 3 && f->consumers == 0;
}

/* Would catch: a publish to a client's exchange that is missing, which ends the channel for all clients. */
START_TEST(watched_exchange_is_seen_missing_or_there)
{
    char other[64];
    test_queue_name("exchange", other);
    fixture_start(&fixture);
    struct mg_err err;
    ck_assert_int_eq(mg_broker_watch_exchange(fixture.broker, other, 20, on_seen, &fixture, &err), MG_OK);
    ck_assert(fixture_run(&fixture, is_seen_missing, WAIT_MS));
    mg_broker_unwatch_exchange(fixture.broker, other);
    fixture.seen_count = 0;
    ck_assert_int_eq(mg_broker_watch_exchange(fixture.broker, "amq.direct", 20, on_seen, &fixture, &err),
                     MG_OK);
    ck_assert(fixture_run(&fixture, is_seen_there, WAIT_MS));
    ck_assert_int_eq(fixture.down_count, 0);
}
END_TEST

static bool is_seen_once(const struct fixture *f)
{
    return f->seen_count == 1;
}

/* Would catch: a look on request that still waits for the watch's period. */
START_TEST(watched_queue_is_looked_at_when_asked)
{
    char other[64];
    test_queue_name("looked", other);
    fixture_start(&fixture);
    struct mg_err err;
    int64_t hour_ms = (int64_t)60 * 60 * 1000;
    ck_assert_int_eq(mg_broker_watch_queue(fixture.broker, other, hour_ms, on_seen, &fixture, &err), MG_OK);
    ck_assert(fixture_run(&fixture, is_seen_once, WAIT_MS));
    test_queue_declare(other, 0);
    for (int i = 0; i < 7; i++) {
        fixture_publish(&fixture, other, "{}");
    }
    ck_assert(fixture_run(&fixture, has_outcomes, WAIT_MS));
    mg_broker_look(fixture.broker, "test-nobody-watches-this");
    mg_broker_look(fixture.broker, other);
    ck_assert(fixture_run(&fixture, is_seen_full, WAIT_MS));
    test_queue_delete(other);
}
END_TEST

/* Would catch: watches that only ever grow in number, until none is left for a queue that matters. */
START_TEST(a_queue_that_is_let_go_is_watched_no_more_and_may_be_again)
{
    char other[64];
    test_queue_name("let-go", other);
    fixture_start(&fixture);
    struct mg_err err;
    for (int i = 0; i < 600; i++) { /* more than can be watched at once; some are let go while asked about */
        char name[80];
        snprintf(name, sizeof(name), "%s-%d", other, i);
        ck_assert_int_eq(mg_broker_watch_queue(fixture.broker, name, 20, on_seen, &fixture, &err), MG_OK);
        if (i % 50 == 0) {
            fixture.seen_count = 0;
            ck_assert(fixture_run(&fixture, is_seen_missing, WAIT_MS));
        }
        mg_broker_unwatch_queue(fixture.broker, name);
        mg_broker_look(fixture.broker, name);
    }
    int64_t hour_ms = (int64_t)60 * 60 * 1000;
    ck_assert_int_eq(mg_broker_watch_queue(fixture.broker, other, hour_ms, on_seen, &fixture, &err), MG_OK);
    fixture.seen_count = 0;
    ck_assert(fixture_run(&fixture, is_seen_once, WAIT_MS));
    mg_broker_unwatch_queue(fixture.broker, other);
    ck_assert_int_eq(mg_broker_watch_queue(fixture.broker, other, hour_ms, on_seen, &fixture, &err), MG_OK);
    fixture.seen_count = 0;
    ck_assert(fixture_run(&fixture, is_seen_once, WAIT_MS));
    ck_assert_int_eq(fixture.down_count, 0);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("broker_watch");
    TCase *tests = tcase_create("broker_watch");
    tcase_set_timeout(tests, 60);
    tcase_add_checked_fixture(tests, setup, teardown);
    tcase_add_test(tests, watched_queue_is_seen_missing_then_full);
    tcase_add_test(tests, watched_exchange_is_seen_missing_or_there);
    tcase_add_test(tests, watched_queue_is_looked_at_when_asked);
    tcase_add_test(tests, a_queue_that_is_let_go_is_watched_no_more_and_may_be_again);
    suite_add_tcase(suite, tests);
    return run_suite(suite);
}
