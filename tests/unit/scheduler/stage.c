/*
 * Sets the stage: a scheduler with its fakes, started and stopped for each test, and the messages to it. Time
 * passes only by the fakes of loop and clock.
 */
#include "stage.h"

#include <check.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/clock.h"

struct mg_scheduler *stage_scheduler;
const struct mg_span_sink *stage_spans;
const char *stage_traceparent;
size_t stage_memory_bytes = STAGE_MEMORY_BYTES;
int stage_exit_code;

static struct mg_scheduler_options options;
static struct mg_metrics *metrics;

static void on_end(void *arg, int exit_code)
{
    (void)arg;
    stage_exit_code = exit_code;
}

void stage_start(void)
{
    stage_start_limited(MG_JSON_LIMITS_DATA);
}

void stage_start_limited(struct mg_json_limits limits)
{
    struct mg_err err;
    fake_loop_reset();
    fake_store_reset();
    fake_store.workflow = STAGE_WORKFLOW;
    fake_store.definition = STAGE_DEFINITION;
    fake_broker_reset();
    stage_exit_code = -1;
    options = (struct mg_scheduler_options){.broker = {.url = "amqp://test"},
                                            .pg_dsn = "",
                                            .instance = "test",
                                            .workflows_dir = "",
                                            .batch = 16,
                                            .prefetch = 64,
                                            .window = 100,
                                            .memory_bytes = stage_memory_bytes,
                                            .quiesce_ms = 3000,
                                            .park_ms = 1000,
                                            .owed_for_ms = 86400000,
                                            .drain_timeout_ms = 1000,
                                            .limits = limits,
                                            .spans = stage_spans,
                                            .on_end = on_end};
    metrics = mg_metrics_create();
    ck_assert_int_eq(mg_scheduler_create(NULL, &options, metrics, NULL, &stage_scheduler, &err), MG_OK);
    fake_store.options.on_state(fake_store.options.arg, true, "");
    fake_broker.options.on_state(fake_broker.options.arg, true, "");
    stage_settle();
}

void stage_finish(void)
{
    mg_scheduler_destroy(stage_scheduler);
    mg_metrics_destroy(metrics);
    fake_broker_reset();
    fake_store_reset();
}

void stage_settle(void)
{
    for (int turns = 0;; turns++) {
        ck_assert_msg(turns < 10000, "it never comes to rest");
        bool has_run = fake_loop_turn();
        has_run = fake_store_answer() || has_run;
        has_run = (!fake_broker.is_held && fake_broker_confirm()) || has_run;
        if (!has_run) {
            return;
        }
    }
}

void stage_submit_from(const char *order_id, const char *items, const char *reply_to, bool is_again)
{
    char body[512];
    snprintf(body, sizeof(body), "{\"order_id\":\"%s\",\"workflow\":\"two\",\"payload\":{\"items\":%s}}",
             order_id, items);
    struct fake_delivery delivery = {.consumer = MG_LANE_NORMAL,
                                     .body = body,
                                     .message_id = order_id,
                                     .reply_to = reply_to,
                                     .correlation_id = "c1",
                                     .traceparent = stage_traceparent,
                                     .is_redelivered = is_again};
    fake_broker_deliver(&delivery);
}

void stage_pass(int64_t ms)
{
    fake_store.ahead_ms += ms;
    mg_far_clock_init(&stage_scheduler->shared.db_clock, mg_clock_wall_ms(), mg_clock_boot_ms());
}

void stage_rest_over(void)
{
    for (struct mg_gate *gate = stage_scheduler->gates.first; gate != NULL; gate = gate->next) {
        gate->queues[0].rest.until_boot_ms = gate->queues[1].rest.until_boot_ms = 0;
    }
    struct mg_silence *silence = &stage_scheduler->outbox.silence;
    for (int i = 0; i < silence->count; i++) {
        silence->queues[i].rest.until_boot_ms = 0;
    }
}

void stage_submit(const char *order_id, bool is_again)
{
    stage_submit_from(order_id, "[14.00]", "client", is_again);
}

void stage_reply(const struct stage_reply *reply)
{
    char body[2048], error[1024] = "", reason[64] = "", status[32] = "";
    if (reply->reason != NULL) {
        snprintf(reason, sizeof(reason), "\"reason\":\"%s\",", reply->reason);
    }
    if (reply->http_status != 0) {
        snprintf(status, sizeof(status), ",\"http_status\":%d", reply->http_status);
    }
    if (reply->error_code != NULL) {
        snprintf(error, sizeof(error),
                 ",\"error\":{\"code\":\"%s\",%s\"text\":\"\",\"message\":\"%s\",\"body\":%s}",
                 reply->error_code, reason, reply->message != NULL ? reply->message : "",
                 reply->body != NULL ? reply->body : "\"\"");
    }
    snprintf(body, sizeof(body),
             "{\"v\":1,\"order_id\":\"%s\",\"step\":\"%s\",\"attempt\":%u,\"kind\":\"%s\",\"outcome\":\"%s\","
             "\"executed\":\"%s\",\"result\":%s%s%s%s%s}",
             reply->order_id, reply->step, reply->attempt, reply->kind != NULL ? reply->kind : "do",
             reply->outcome != NULL ? reply->outcome : "done",
             reply->executed != NULL ? reply->executed : "yes",
             reply->result != NULL ? reply->result : "{\"ref\":7.50}", error, status,
             reply->is_over ? ",\"may_still_act\":false" : "", reply->is_probe ? ",\"probe\":true" : "");
    struct fake_delivery delivery = {.consumer = MG_LANE_REPLIES,
                                     .type = "reply",
                                     .body = body,
                                     .is_redelivered = reply->is_again,
                                     .delivery_count = reply->delivery_count,
                                     .exchange = reply->exchange};
    fake_broker_deliver(&delivery);
}

static void command_deliver(const char *command_id, const char *order_id, const char *words,
                            const char *reply_to, bool is_again)
{
    char body[512];
    snprintf(body, sizeof(body), "{\"v\":1,\"command_id\":\"%s\",\"order_id\":\"%s\",%s}", command_id,
             order_id, words);
    struct fake_delivery delivery = {.consumer = MG_LANE_COMMANDS,
                                     .type = "command",
                                     .body = body,
                                     .reply_to = reply_to,
                                     .is_redelivered = is_again};
    fake_broker_deliver(&delivery);
}

void stage_command(const char *command_id, const char *order_id, const char *words, const char *reply_to)
{
    command_deliver(command_id, order_id, words, reply_to, false);
}

void stage_command_again(const char *command_id, const char *order_id, const char *words)
{
    command_deliver(command_id, order_id, words, NULL, true);
}

enum mg_step_state stage_step(const char *order_id, int step)
{
    ck_assert_ptr_nonnull(fake_store_order(order_id));
    return fake_store_order(order_id)->order.steps[step].state;
}

enum mg_order_state stage_order(const char *order_id)
{
    ck_assert_ptr_nonnull(fake_store_order(order_id));
    return fake_store_order(order_id)->order.state;
}
