/* See flow.h. */
#include "flow.h"

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "core/key.h"
#include "fake_loop.h"

#define PATIENCE_MS 120000 /* of the test's time, which costs none */

struct mg_agent flow_agent;
char flow_story[256];
const struct mg_span_sink *flow_spans;
static struct mg_serving_options options;
static struct mg_list service_files;
static struct mg_metrics *metrics;

static void tell(char letter)
{
    size_t len = strlen(flow_story);
    ck_assert_uint_lt(len + 1, sizeof(flow_story));
    flow_story[len] = letter;
}

static void on_action(char action, const struct mg_delivery *delivery)
{
    (void)delivery;
    tell(action);
}

static void on_publish(const struct mg_message *message)
{
    if (strcmp(message->type, "reply") == 0) {
        tell('r');
    }
}

static void on_call(const struct fake_call *call)
{
    if (call->is_open) {
        tell('c');
    }
}

static void start(const char *members)
{
    struct mg_err err;
    char text[1024], path[] = "/tmp/makegood-test-service-XXXXXX";
    int len = snprintf(text, sizeof(text),
                       "{\"service\":\"payment\",\"url\":\"http://127.0.0.1:1/base\",\"try_backoff\":\"1ms\","
                       "\"try_max_backoff\":\"2ms\"%s}",
                       members);
    int fd = mkstemp(path);
    ck_assert_int_ge(fd, 0);
    ck_assert_int_eq(write(fd, text, (size_t)len), len);
    close(fd);

    fake_broker_reset();
    fake_http_reset();
    memset(flow_story, 0, sizeof(flow_story));
    fake_broker.on_action = on_action;
    fake_broker.on_publish = on_publish;
    fake_http.on_call = on_call;
    mg_log_open("test", "test", MG_LOG_ERROR);
    memset(&options, 0, sizeof(options));
    service_files.items[0] = path;
    service_files.count = 1;
    options.broker.url = "amqp://127.0.0.1";
    options.instance = "test";
    options.drain_timeout_ms = 300;
    options.skew_limit_ms = 2000;
    options.spans = flow_spans;
    ck_assert_msg(mg_agent_load(&flow_agent, &options, &service_files, 0, &err) == MG_OK, "%s", err.text);
    unlink(path);
    fake_loop_reset();
    metrics = mg_metrics_create();
    ck_assert_msg(mg_agent_start(&flow_agent, NULL, metrics, &err) == MG_OK, "%s", err.text);
    fake_broker_connect(true);
}

static void flow_trust(void)
{
    for (int i = 0; i < MG_LINE_COUNT; i++) {
        (void)mg_suspects_came(&flow_agent.suspects, i, MG_SUSPECT_NOT);
    }
    mg_served_consume(&flow_agent.served[0]);
    memset(flow_story, 0, sizeof(flow_story));
}

void flow_start(const char *members)
{
    start(members);
    flow_trust();
}

void flow_start_anew(const char *members)
{
    start(members);
}

void flow_finish(void)
{
    mg_agent_finish(&flow_agent);
    mg_metrics_destroy(metrics);
    fake_broker_reset();
}

void flow_deliver_bytes(int consumer, const char *type, const char *body, uint32_t delivery_count)
{
    fake_broker_deliver(&(struct fake_delivery){.consumer = consumer,
                                                .type = type,
                                                .body = body,
                                                .is_redelivered = delivery_count > 0,
                                                .delivery_count = delivery_count});
}

void flow_deliver(const struct flow_request *wanted)
{
    struct mg_request request = {
        .attempt = 3,
        .kind = wanted->kind,
        .is_at_most_once = wanted->is_at_most_once,
        .is_pollable = true,
        .version = wanted->version > 0       ? wanted->version
                   : wanted->request != NULL ? MG_REQUEST_VERSION_REACH
                                             : 1,
        .request = mg_slice_of(wanted->request != NULL
                                   ? wanted->request
                                   : "{\"method\":\"POST\",\"path\":\"/charges\",\"body\":{\"sum\":14.00}}"),
    };
    snprintf(request.traceparent, sizeof(request.traceparent), "%s",
             wanted->traceparent ? wanted->traceparent
                                 : "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01");
    int64_t now_ms = mg_clock_wall_ms();
    request.sent_at_ms = now_ms - wanted->sent_ago_ms;
    request.complete_by_ms = now_ms + (wanted->left_ms == 0 ? 10000 : wanted->left_ms);
    snprintf(request.order_id, sizeof(request.order_id), "%s", wanted->order_id ? wanted->order_id : "o1");
    snprintf(request.step, sizeof(request.step), "charge");
    snprintf(request.service, sizeof(request.service), "%s", wanted->service ? wanted->service : "payment");
    mg_key_write(request.order_id, request.step, wanted->kind, 0, request.idempotency_key);
    mg_key_write(request.order_id, request.step, MG_KIND_DO, 0, request.do_key);
    struct mg_buf body;
    mg_buf_init(&body, 65536);
    mg_request_write(&request, &body);
    ck_assert(!body.failed);
    uint32_t count = wanted->delivery_count > 0 ? wanted->delivery_count : wanted->is_redelivered ? 1 : 0;
    flow_deliver_bytes(wanted->consumer, "request", body.data, count);
    mg_buf_finish(&body);
}

/* ---- waiting ---- */

/* One turn of the loop, or else the next timers, at their time. False: nothing is left to do until then. */
static bool step(int64_t until_ms)
{
    if (fake_loop_turn()) {
        return true;
    }
    int64_t rest_ms = fake_loop_rest_ms(), left_ms = until_ms - mg_clock_boot_ms();
    bool is_due = rest_ms >= 0 && rest_ms <= left_ms;
    int64_t pass_ms = is_due ? rest_ms : left_ms;
    fake_loop_pass(pass_ms);
    return is_due;
}

struct wait {
    const char *story;
    int calls, replies;
};

static bool is_met(const struct wait *wait)
{
    return (wait->story == NULL || strcmp(wait->story, flow_story) == 0) && fake_http.count >= wait->calls &&
           fake_broker_count("reply") >= wait->replies;
}

static bool wait_for(const struct wait *wait)
{
    int64_t until_ms = mg_clock_boot_ms() + PATIENCE_MS;
    while (!is_met(wait) && step(until_ms)) {
    }
    return is_met(wait);
}

void flow_wait_story(const char *story)
{
    ck_assert_msg(wait_for(&(struct wait){.story = story}), "story is \"%s\", not \"%s\"", flow_story, story);
}

void flow_wait_calls(int count)
{
    ck_assert_msg(wait_for(&(struct wait){.calls = count}), "%d calls, not %d; story \"%s\"", fake_http.count,
                  count, flow_story);
}

void flow_wait_replies(int count)
{
    ck_assert_msg(wait_for(&(struct wait){.replies = count}), "%d replies, not %d; story \"%s\"",
                  fake_broker_count("reply"), count, flow_story);
}

void flow_linger(int64_t ms)
{
    int64_t until_ms = mg_clock_boot_ms() + ms;
    while (step(until_ms)) {
    }
}

void flow_run(void)
{
    int64_t until_ms = mg_clock_boot_ms() + PATIENCE_MS;
    while (fake_loop_stops() == 0) {
        ck_assert_msg(step(until_ms), "the agent does not stop the loop");
    }
}

/* ---- answers and replies ---- */

void flow_answer_status(int call, int status, const char *body)
{
    struct mg_http_answer answer = {.sent = MG_SENT_YES,
                                    .status = status,
                                    .body = mg_slice_of(body),
                                    .content_type = "application/json",
                                    .retry_after_ms = -1};
    fake_http_answer(call, &answer);
}

void flow_answer_unreachable(int call)
{
    struct mg_http_answer answer = {
        .sent = MG_SENT_NO, .content_type = "", .retry_after_ms = -1, .reason = "connection refused"};
    fake_http_answer(call, &answer);
}

void flow_answer_broken(int call)
{
    struct mg_http_answer answer = {
        .sent = MG_SENT_MAYBE, .content_type = "", .retry_after_ms = -1, .reason = "connection reset"};
    fake_http_answer(call, &answer);
}

const struct mg_reply *flow_reply(int number)
{
    static struct mg_reply reply;
    struct mg_err err;
    ck_assert_int_lt(number, fake_broker_count("reply"));
    enum mg_class class = mg_reply_parse(mg_slice_of(fake_broker_nth("reply", number)->body),
                                         &MG_JSON_LIMITS_DATA, &reply, &err);
    ck_assert_msg(class == MG_OK, "%s", err.text);
    return &reply;
}
