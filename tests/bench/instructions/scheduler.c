/*
 * The scheduler over the fakes of its unit tests: waves of recorded orders, each from its submission to its
 * last reply, in batches as large as under load. usage: makegood-bench-counted-scheduler WORKFLOW-FILE WAVES
 *
 * The program counts nothing itself: instructions.py runs it under callgrind, twice, and takes the
 * difference.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "fake_broker.h"
#include "fake_clock.h"
#include "fake_loop.h"
#include "fake_store.h"
#include "recorded.h"
#include "scheduler.h"

#define WAVE_ORDERS 64 /* under load a batch has some 75 causes */
#define PACE_MS     10 /* batches of that size begin so far apart */

/* The defaults of the program. */
static struct mg_scheduler_options options = {.broker = {.url = "amqp://recorded"},
                                              .pg_dsn = "",
                                              .instance = "recorded:1:1",
                                              .workflows_dir = "",
                                              .batch = 256,
                                              .prefetch = 256,
                                              .window = 1000,
                                              .memory_bytes = (size_t)512 << 20,
                                              .quiesce_ms = 3000,
                                              .park_ms = 1000,
                                              .owed_for_ms = 86400000,
                                              .drain_timeout_ms = 10000};

static void fail(const char *what)
{
    (void)fprintf(stderr, "makegood-bench-counted-scheduler: %s\n", what);
    exit(1);
}

/* Until no work is left; then it is the next batch's time. */
static void settle(void)
{
    bool has_run = true;
    while (has_run) {
        has_run = fake_loop_turn();
        has_run = fake_store_answer() || has_run;
        has_run = fake_broker_confirm() || has_run;
    }
    fake_loop_pass(PACE_MS);
}

struct order {
    char id[RECORDED_ID_SIZE];
};

static void submit(const struct order *order)
{
    char body[2048];
    (void)snprintf(body, sizeof(body), RECORDED_SUBMISSION, order->id);
    const struct fake_delivery delivery = {.consumer = MG_LANE_NORMAL,
                                           .type = "submission",
                                           .body = body,
                                           .message_id = order->id,
                                           .reply_to = RECORDED_REPLY_QUEUE,
                                           .correlation_id = order->id,
                                           .exchange = MG_EXCHANGE_INTAKE};
    fake_broker_deliver(&delivery);
}

static void reply(const struct order *order, int step)
{
    static const char *const STEPS[RECORDED_STEPS] = {"reserve", "charge", "book"};
    char body[512], id[128];
    (void)snprintf(body, sizeof(body), RECORDED_REPLY, order->id, STEPS[step]);
    (void)snprintf(id, sizeof(id), "%.36s.%s.1.do", order->id, STEPS[step]);
    const struct fake_delivery delivery = {.consumer = MG_LANE_REPLIES,
                                           .type = "reply",
                                           .body = body,
                                           .message_id = id,
                                           .correlation_id = id,
                                           .exchange = MG_EXCHANGE_REPLIES ".bench"};
    fake_broker_deliver(&delivery);
}

/* Checks the results of each order: three requests, `accepted` and `processed`. Otherwise the run counted
 * other work. */
static void wave(int first)
{
    struct order orders[WAVE_ORDERS];
    for (int i = 0; i < WAVE_ORDERS; i++) {
        (void)snprintf(orders[i].id, sizeof(orders[i].id), RECORDED_ORDER_ID, first + i);
        submit(&orders[i]);
    }
    settle();
    for (int step = 0; step < RECORDED_STEPS; step++) {
        for (int i = 0; i < WAVE_ORDERS; i++) {
            reply(&orders[i], step);
        }
        settle();
    }
    if (fake_broker_count("request") != RECORDED_STEPS * WAVE_ORDERS ||
        fake_broker_count("status") != 2 * WAVE_ORDERS) {
        fail("the orders did not go through; look at the log above");
    }
    fake_broker_forget();
}

int main(int argc, char **argv)
{
    static char definition[16384];
    struct mg_scheduler *scheduler = NULL;
    struct mg_err err;
    FILE *file = argc == 3 ? fopen(argv[1], "re") : NULL;
    if (file == NULL || fread(definition, 1, sizeof(definition) - 1, file) == 0) {
        fail("usage: makegood-bench-counted-scheduler WORKFLOW-FILE WAVES");
    }
    (void)fclose(file);
    mg_log_open("scheduler", options.instance, MG_LOG_WARN);
    options.limits = MG_JSON_LIMITS_DATA;
    fake_loop_reset();
    fake_store_reset();
    fake_broker_reset();
    fake_store.keeps_nothing = true;
    fake_store.workflow = "bench";
    fake_store.definition = definition;
    struct mg_metrics *metrics = mg_metrics_create();
    if (mg_scheduler_create(NULL, &options, metrics, NULL, &scheduler, &err) != MG_OK) {
        fail(err.text);
    }
    fake_store.options.on_state(fake_store.options.arg, true, "");
    fake_broker.options.on_state(fake_broker.options.arg, true, "");
    settle();
    long waves = strtol(argv[2], NULL, 10);
    for (long i = 0; i < waves; i++) {
        wave((int)i * WAVE_ORDERS);
    }
    return 0;
}
