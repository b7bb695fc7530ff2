/*
 * The agent over the fakes of its unit tests: waves of recorded requests, each called, answered, replied to
 * and acked. usage: makegood-bench-counted-agent SERVICE-FILE WAVES
 *
 * The program counts nothing itself: instructions.py runs it under callgrind, twice, and takes the
 * difference.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fake_broker.h"
#include "fake_http.h"
#include "fake_loop.h"
#include "http_agent.h"
#include "recorded.h"

#define WAVE_ORDERS   16 /* at three requests each, as many as the fakes have room for */
#define WAVE_REQUESTS (WAVE_ORDERS * RECORDED_STEPS)
_Static_assert(WAVE_REQUESTS <= FAKE_CALLS_MAX, "the fakes hold all that is under way");

static struct mg_agent agent;

static void fail(const char *what)
{
    (void)fprintf(stderr, "makegood-bench-counted-agent: %s\n", what);
    exit(1);
}

static void settle(void)
{
    while (fake_loop_turn()) {
    }
}

static void deliver(const char id[RECORDED_ID_SIZE], int step)
{
    static const char *const STEPS[RECORDED_STEPS] = {"reserve", "charge", "book"};
    static const char *const PATHS[RECORDED_STEPS] = {"/reservations", "/charges", "/bookings"};
    const char *name = STEPS[step];
    char body[2048];
    (void)snprintf(body, sizeof(body), RECORDED_REQUEST, id, name, id, name, id, name, PATHS[step], id);
    fake_broker_deliver(&(struct fake_delivery){.consumer = MG_LINE_NORMAL, .type = "request", .body = body});
}

/* Drops the fakes' records of finished work, so that there is room for the next. */
static void fakes_forget(void)
{
    fake_broker_forget();
    fake_http.count = fake_broker.acked = 0;
}

static void wave(int first)
{
    const struct mg_http_answer answer = {.sent = MG_SENT_YES,
                                          .status = 200,
                                          .body = mg_slice_of(RECORDED_ANSWER),
                                          .content_type = "application/json",
                                          .retry_after_ms = -1};
    char order_id[RECORDED_ID_SIZE];
    fakes_forget();
    for (int i = 0; i < WAVE_REQUESTS; i++) {
        (void)snprintf(order_id, sizeof(order_id), RECORDED_ORDER_ID, first + i / RECORDED_STEPS);
        deliver(order_id, i % RECORDED_STEPS);
        settle();
    }
    for (int i = 0; i < fake_http.count; i++) {
        fake_http_answer(i, &answer);
        settle();
    }
    for (int i = 0; i < WAVE_REQUESTS && fake_broker_count("reply") == WAVE_REQUESTS; i++) {
        fake_broker_end("reply", MG_PUBLISH_CONFIRMED);
        settle();
    }
    if (fake_http.count != WAVE_REQUESTS || fake_broker.acked != WAVE_REQUESTS) {
        fail("the requests did not go through; look at the log above");
    }
    fake_loop_pass(1);
}

int main(int argc, char **argv)
{
    struct mg_serving_options options = {.broker = {.url = "amqp://recorded"},
                                         .instance = "recorded:1:1",
                                         .drain_timeout_ms = 30000,
                                         .skew_limit_ms = 2000,
                                         .memory_bytes = (size_t)512 << 20};
    struct mg_err err;
    if (argc != 3) {
        fail("usage: makegood-bench-counted-agent SERVICE-FILE WAVES");
    }
    struct mg_list service_files = {.items = {argv[1]}, .count = 1};
    mg_log_open("agent", options.instance, MG_LOG_WARN);
    fake_loop_reset();
    fake_broker_reset();
    fake_http_reset();
    struct mg_metrics *metrics = mg_metrics_create();
    if (mg_agent_load(&agent, &options, &service_files, 0, &err) != MG_OK ||
        mg_agent_start(&agent, NULL, metrics, &err) != MG_OK) {
        fail(err.text);
    }
    fake_broker_connect(true);
    settle();
    long waves = strtol(argv[2], NULL, 10);
    for (long i = 0; i < waves; i++) {
        wave((int)i * WAVE_ORDERS);
    }
    return 0;
}
