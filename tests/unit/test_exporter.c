/*
 * The exporter against collectors that are well, busy, gone and silent: spans sent, spans dropped, and an
 * owner that never waits.
 */
#include "base/log.h"
#include "http_fixture.h"
#include "io/exporter.h"
#include "suite.h"

#define BUSY "HTTP/1.1 503 Service Unavailable\r\nRetry-After: 0\r\nContent-Length: 0\r\n\r\n"
#define PART "HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\n1234"
#define BAD  "HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n"

static struct server server;
static bool is_serving;
static struct mg_metrics *metrics;
static struct mg_exporter *exporter;
static char url[64];
static int64_t rejected;

static int64_t rejected_of(struct mg_slice answer)
{
    return mg_slice_is(answer, "1234") ? rejected : 0;
}

static void exporter_start(void)
{
    struct mg_err err;
    (void)snprintf(url, sizeof(url), "http://127.0.0.1:%d/v1/traces", server.port);
    const struct mg_exporter_options options = {.url = url,
                                                .ca_file = "",
                                                .head = mg_slice_of("{\"spans\":"),
                                                .tail = mg_slice_of("}"),
                                                .span_max_bytes = 100,
                                                .rejected = rejected_of,
                                                .metrics = metrics};
    ck_assert_int_eq(mg_exporter_create(loop, &options, &exporter, &err), MG_OK);
}

static void collector_stop(void)
{
    if (is_serving) {
        server_stop(&server);
    }
    is_serving = false;
}

static void begin(void)
{
    set_up();
    mg_log_open("test", "test", MG_LOG_ERROR);
    metrics = mg_metrics_create();
    rejected = 0;
}

static void end(void)
{
    mg_exporter_destroy(exporter);
    exporter = NULL;
    collector_stop();
    mg_metrics_destroy(metrics);
    tear_down();
}

static double count_of(const char *name)
{
    return mg_metric_value(mg_metrics_series(metrics, MG_COUNTER, name, NULL, ""));
}

static void add(int count)
{
    for (int i = 0; i < count; i++) {
        char span[32];
        (void)snprintf(span, sizeof(span), "{\"n\":%d}", i);
        mg_exporter_add(exporter, mg_slice_of(span));
    }
}

static void stop(void *arg)
{
    (void)arg;
    mg_loop_stop(loop);
}

static void flush(int64_t within_ms)
{
    mg_exporter_flush(exporter, within_ms, stop, NULL);
    mg_loop_run(loop);
}

static double watched_until;

static void look(void *arg)
{
    (void)arg;
    if (count_of("makegood_spans_sent_total") + count_of("makegood_spans_dropped_total") >= watched_until) {
        mg_loop_stop(loop);
    }
}

/* Until so many spans have come to an end. */
static void wait_for(double count)
{
    struct mg_timer *timer = mg_timer_create(loop, look, NULL);
    watched_until = count;
    mg_timer_start(timer, 1, 1);
    mg_loop_run(loop);
    mg_timer_destroy(timer);
}

/* Busy at so many of its first requests. */
static int busy_count;

static void serve_busy_at_first(struct server *serving, int fd, int number)
{
    (void)number;
    while (read_request(serving, fd)) {
        send_text(fd, atomic_load(&serving->requests) <= busy_count ? BUSY : serving->answer);
    }
}

/* A collector with this answer, and an exporter to it; NULL: it listens and never reads. */
static void collect(const char *answer)
{
    server_start(&server, answer != NULL ? serve_busy_at_first : NULL, answer);
    is_serving = true;
    exporter_start();
}

static void assert_counts(double sent, double dropped)
{
    ck_assert_double_eq(count_of("makegood_spans_sent_total"), sent);
    ck_assert_double_eq(count_of("makegood_spans_dropped_total"), dropped);
}

/* Catches: a body that no collector reads, or a batch that waits for ever because it is not full. */
START_TEST(spans_of_one_second_are_one_batch)
{
    collect(ok_answer);
    add(3);
    wait_for(3);
    ck_assert_int_eq(atomic_load(&server.requests), 1);
    ck_assert_ptr_nonnull(strstr(server.last, "POST /v1/traces HTTP/1.1\r\n"));
    ck_assert_ptr_nonnull(strcasestr(server.last, "\r\nContent-Type: application/json\r\n"));
    ck_assert_ptr_nonnull(strstr(server.last, "\r\n\r\n{\"spans\":[{\"n\":0},{\"n\":1},{\"n\":2}]}"));
    ck_assert_double_eq(count_of("makegood_spans_sent_total"), 3);
    add(1);
    wait_for(4);
    ck_assert_int_eq(atomic_load(&server.connections), 1); /* it is kept */
}
END_TEST

/* Catches: a burst of spans that waits a second for each batch. */
START_TEST(full_batches_follow_each_other)
{
    collect(ok_answer);
    /* A second for each batch would be twice as long as the guard allows. */
    mg_timer_start(guard, MG_EXPORTER_RING / MG_EXPORTER_BATCH * MG_EXPORTER_WAIT_MS / 2, 0);
    add(MG_EXPORTER_RING);
    wait_for(MG_EXPORTER_RING);
    ck_assert_int_eq(atomic_load(&server.requests), MG_EXPORTER_RING / MG_EXPORTER_BATCH);
    ck_assert_double_eq(count_of("makegood_spans_sent_total"), MG_EXPORTER_RING);
}
END_TEST

/* The answer to one batch, after so many that the collector is busy; how often it is sent, and its spans at
 * the end. */
static const struct {
    const char *answer;
    int busy;
    int64_t rejected;
    int spans, requests, sent, dropped;
} OUTCOMES[] = {
    {ok_answer, 1, 0, 2, 2, 2, 0}, /* once more for a collector that was busy for a moment */
    {ok_answer, 2, 0, 2, 2, 0, 2}, /* and no more */
    {BAD, 0, 0, 2, 1, 0, 2},       /* one that the collector will never take */
    {PART, 0, 2, 3, 1, 1, 2},      /* spans that it reports as rejected */
    {PART, 0, 1000, 3, 1, 0, 3},   /* more than there were */
};

/* Catches: spans lost to a collector that was busy for a moment; a batch that is tried for ever, or dropped
 * without being counted; a batch that the collector will never take, sent again; rejected spans that are
 * counted as taken. */
START_TEST(a_batch_ends_by_the_answer_of_its_collector)
{
    busy_count = OUTCOMES[_i].busy;
    rejected = OUTCOMES[_i].rejected;
    collect(OUTCOMES[_i].answer);
    add(OUTCOMES[_i].spans);
    wait_for(OUTCOMES[_i].spans);
    ck_assert_int_eq(atomic_load(&server.requests), OUTCOMES[_i].requests);
    assert_counts(OUTCOMES[_i].sent, OUTCOMES[_i].dropped);
    bool is_taken = OUTCOMES[_i].answer == ok_answer; /* the next one, as if nothing had been */
    add(1);
    wait_for(OUTCOMES[_i].spans + 1);
    assert_counts(OUTCOMES[_i].sent + is_taken, OUTCOMES[_i].dropped + !is_taken);
}
END_TEST

/* Catches: the oldest spans dropped for the newest, so that no trace is whole. */
START_TEST(without_room_the_newest_span_is_dropped)
{
    char end[32];
    (void)snprintf(end, sizeof(end), "{\"n\":%d}]}", MG_EXPORTER_RING - 1);
    collect(ok_answer);
    add(MG_EXPORTER_RING + 7);
    flush(GUARD_MS);
    assert_counts(MG_EXPORTER_RING, 7);
    ck_assert_ptr_nonnull(strstr(server.last, end));
}
END_TEST

/* Catches: memory that grows while a collector is silent, or an end that waits for it. */
START_TEST(behind_a_silent_collector_memory_stays_bounded)
{
    collect(NULL);
    add(MG_EXPORTER_BATCH);
    flush(100);
    ck_assert_double_eq(count_of("makegood_spans_dropped_total"), MG_EXPORTER_BATCH);
    mg_exporter_destroy(exporter);
    exporter_start();
    add(MG_EXPORTER_RING + 7);
    ck_assert_double_eq(count_of("makegood_spans_dropped_total"), MG_EXPORTER_BATCH + 7);
    flush(100);
    assert_counts(0, MG_EXPORTER_BATCH + MG_EXPORTER_RING + 7);
}
END_TEST

/* Catches: an end that waits for a collector that is not there. */
START_TEST(an_absent_collector_is_no_reason_to_wait)
{
    collect(NULL);
    collector_stop(); /* now the port refuses */
    add(5);
    flush(GUARD_MS);
    ck_assert_double_eq(count_of("makegood_spans_dropped_total"), 5);
}
END_TEST

/* Catches: one span that is too large, and with it a whole batch. */
START_TEST(a_span_that_is_too_large_is_dropped_alone)
{
    char large[200];
    memset(large, ' ', sizeof(large));
    collect(ok_answer);
    add(1);
    mg_exporter_add(exporter, (struct mg_slice){large, sizeof(large)});
    mg_exporter_drop(exporter); /* and one that could not even be written */
    flush(GUARD_MS);
    assert_counts(1, 2);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("exporter");
    TCase *cases = tcase_create("spans");
    tcase_add_checked_fixture(cases, begin, end);
    tcase_set_timeout(cases, 2.0 * GUARD_MS / 1000);
    tcase_add_test(cases, spans_of_one_second_are_one_batch);
    tcase_add_test(cases, full_batches_follow_each_other);
    tcase_add_loop_test(cases, a_batch_ends_by_the_answer_of_its_collector, 0,
                        (int)(sizeof(OUTCOMES) / sizeof(OUTCOMES[0])));
    tcase_add_test(cases, without_room_the_newest_span_is_dropped);
    tcase_add_test(cases, behind_a_silent_collector_memory_stays_bounded);
    tcase_add_test(cases, an_absent_collector_is_no_reason_to_wait);
    tcase_add_test(cases, a_span_that_is_too_large_is_dropped_alone);
    suite_add_tcase(suite, cases);
    return run_suite(suite);
}
