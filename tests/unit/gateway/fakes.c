/* See fakes.h. */
#include "fakes.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/log.h"
#include "io/amqp/broker.h"
#include "io/amqp/topology.h"
#include "io/http/client.h"

#define SECRET "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"

struct fake_world fake;

static void tell(const char *action, const char *status)
{
    size_t len = strlen(fake.story);
    ck_assert_uint_lt((size_t)snprintf(fake.story + len, sizeof(fake.story) - len, "%s%s:%s",
                                       len > 0 ? " " : "", action, status),
                      sizeof(fake.story) - len);
}

/* The name of a status, from its body. */
static void name_of(struct mg_slice body, char ret_name[16])
{
    struct mg_status_identity identity;
    struct mg_err err;
    if (mg_status_identify(body, &identity, &err) != MG_OK) {
        (void)snprintf(ret_name, 16, "?");
        return;
    }
    (void)snprintf(ret_name, 16, "%.4s%d", identity.order_id, (int)identity.seq);
}

static void body_of(const char *order, int seq, char ret_body[128])
{
    (void)snprintf(ret_body, 128,
                   "{\"v\":1,\"order_id\":\"%.1s\",\"seq\":%d,\"status\":\"%s\",\"at\":\"" FAKE_AT "\"}",
                   order, seq, seq == 0 ? "rejected" : "accepted");
}

/* ---- clock, loop, log ---- */

int64_t mg_clock_boot_ms(void)
{
    return fake.boot_ms;
}

int64_t mg_clock_wall_ms(void)
{
    return fake.wall_ms;
}

uint64_t mg_random_u64(void)
{
    return fake.random;
}

void mg_log_write(enum mg_log_level level, const char *message, const struct mg_log_field *fields)
{
    (void)message;
    (void)fields;
    fake.log_count += level >= MG_LOG_WARN;
}

struct mg_timer {
    mg_loop_fn *fn;
    void *arg;
};
static struct mg_timer the_timer;

struct mg_timer *mg_timer_create(struct mg_loop *loop, mg_loop_fn *fn, void *arg)
{
    (void)loop;
    the_timer = (struct mg_timer){fn, arg};
    return &the_timer;
}

void mg_timer_destroy(struct mg_timer *timer)
{
    (void)timer;
    fake.timer_at_ms = 0;
}

void mg_timer_start(struct mg_timer *timer, int64_t after_ms, int64_t repeat_ms)
{
    ck_assert(timer == &the_timer && repeat_ms == 0);
    fake.timer_at_ms = fake.boot_ms + (after_ms < 1 ? 1 : after_ms);
}

void fake_pass(int64_t ms)
{
    int64_t end_ms = fake.boot_ms + ms;
    while (fake.timer_at_ms != 0 && fake.timer_at_ms <= end_ms) {
        fake.wall_ms += fake.timer_at_ms - fake.boot_ms;
        fake.boot_ms = fake.timer_at_ms;
        fake.timer_at_ms = 0;
        the_timer.fn(the_timer.arg);
    }
    fake.wall_ms += end_ms - fake.boot_ms;
    fake.boot_ms = end_ms;
}

/* ---- broker ---- */

struct mg_broker {
    struct mg_broker_options options;
    struct mg_delivery *held[FAKE_MAX];
    int held_count;
};
static struct mg_broker the_broker;

void mg_topology_webhook_queue(const char *client, char ret_queue[MG_QUEUE_NAME_SIZE])
{
    (void)snprintf(ret_queue, MG_QUEUE_NAME_SIZE, "client.%s.webhook", client);
}

enum mg_class mg_broker_create(struct mg_loop *loop, const struct mg_broker_options *options,
                               struct mg_broker **ret_broker, struct mg_err *err)
{
    (void)loop;
    (void)err;
    the_broker = (struct mg_broker){.options = *options};
    ck_assert(options->only_consumes && options->consumer_count == 1);
    ck_assert_str_eq(options->consumers[0].queue, "client.shop.webhook");
    *ret_broker = &the_broker;
    return MG_OK;
}

static void held_free(struct mg_delivery *delivery)
{
    free((void *)(uintptr_t)delivery->body.data);
    free(delivery);
}

void mg_broker_destroy(struct mg_broker *broker)
{
    for (int i = 0; i < broker->held_count; i++) {
        held_free(broker->held[i]);
    }
    broker->held_count = 0;
}

enum mg_class mg_broker_set_url(struct mg_broker *broker, const char *url, struct mg_err *err)
{
    (void)broker;
    (void)url;
    (void)err;
    return MG_OK;
}

bool mg_broker_is_up(const struct mg_broker *broker, char *ret_reason, size_t size)
{
    ck_assert_ptr_eq(broker, &the_broker);
    (void)snprintf(ret_reason, size, "%s", fake.has_no_queue ? "no queue" : "");
    return !fake.has_no_queue;
}

static void held_end(struct mg_broker *broker, struct mg_delivery *delivery, const char *action)
{
    char name[16] = "-";
    int place = 0;
    while (place < broker->held_count && broker->held[place] != delivery) {
        place++;
    }
    ck_assert_int_lt(place, broker->held_count);
    broker->held[place] = broker->held[--broker->held_count];
    if (!delivery->is_oversized) {
        name_of(delivery->body, name);
    }
    tell(action, name);
    held_free(delivery);
}

void mg_broker_ack(struct mg_broker *broker, struct mg_delivery *delivery)
{
    held_end(broker, delivery, "ack");
}

void mg_broker_reject(struct mg_broker *broker, struct mg_delivery *delivery)
{
    held_end(broker, delivery, "reject");
}

void mg_broker_requeue(struct mg_broker *broker, struct mg_delivery *delivery)
{
    held_end(broker, delivery, "requeue");
}

void fake_deliver(const char *status)
{
    char body[128] = "no status";
    struct mg_delivery *delivery = calloc(1, sizeof(*delivery));
    ck_assert_ptr_nonnull(delivery);
    if (status[0] != '?' && status[0] != '-') {
        body_of(status, (int)strtol(status + 1, NULL, 10), body);
    }
    delivery->is_oversized = status[0] == '-';
    delivery->body = (struct mg_slice){strdup(body), strlen(body)};
    delivery->arrived_boot_ms = fake.boot_ms;
    ck_assert_int_lt(the_broker.held_count, FAKE_MAX);
    the_broker.held[the_broker.held_count++] = delivery;
    the_broker.options.on_delivery(the_broker.options.arg, delivery);
}

/* ---- HTTP client ---- */

struct mg_http_client {
    int unused;
};
static struct mg_http_client the_client;
static mg_http_done_fn *request_done;

enum mg_class mg_http_client_create(struct mg_loop *loop, const struct mg_http_client_options *options,
                                    struct mg_http_client **ret_client, struct mg_err *err)
{
    (void)loop;
    (void)err;
    ck_assert_int_eq(options->max_connections, 64);
    *ret_client = &the_client;
    return MG_OK;
}

void mg_http_client_destroy(struct mg_http_client *client)
{
    (void)client;
    for (int i = 0; i < fake.request_count; i++) {
        fake.requests[i].is_open = false;
    }
}

void mg_http_client_reload(struct mg_http_client *client, bool keeps_connections)
{
    (void)client;
    (void)keeps_connections;
}

static void header_keep(const struct mg_http_request *request, const char *name, char *ret_value, size_t size)
{
    for (const char *const *header = request->headers; *header != NULL; header++) {
        if (strncmp(*header, name, strlen(name)) == 0) {
            ck_assert_int_lt(snprintf(ret_value, size, "%s", *header + strlen(name)), (int)size);
            return;
        }
    }
    ck_abort_msg("no header %s", name);
}

enum mg_class mg_http_client_call(struct mg_http_client *client, const struct mg_http_request *request,
                                  mg_http_done_fn *done, void *arg, struct mg_http_call **ret_call,
                                  struct mg_err *err)
{
    char name[16];
    (void)client;
    name_of(request->body, name);
    if (fake.refuses_calls) {
        tell("refused", name);
        return mg_err_set(err, MG_TRANSIENT, "no descriptors");
    }
    ck_assert_int_lt(fake.request_count, FAKE_MAX);
    struct fake_request *kept = &fake.requests[fake.request_count++];
    *kept = (struct fake_request){.arg = arg, .is_open = true};
    ck_assert_str_eq(request->method, "POST");
    (void)snprintf(kept->url, sizeof(kept->url), "%s", request->url);
    (void)snprintf(kept->body, sizeof(kept->body), "%.*s", (int)request->body.len, request->body.data);
    header_keep(request, "webhook-id: ", kept->id, sizeof(kept->id));
    header_keep(request, "webhook-timestamp: ", kept->timestamp, sizeof(kept->timestamp));
    header_keep(request, "webhook-signature: ", kept->signature, sizeof(kept->signature));
    request_done = done;
    *ret_call = NULL;
    tell("send", name);
    return MG_OK;
}

static void request_answer(const char *status, struct mg_http_answer answer)
{
    char name[16];
    for (int i = 0; i < fake.request_count; i++) {
        struct fake_request *request = &fake.requests[i];
        if (!request->is_open) {
            continue;
        }
        name_of(mg_slice_of(request->body), name);
        if (strcmp(name, status) == 0) {
            request->is_open = false;
            request_done(request->arg, &answer);
            return;
        }
    }
    ck_abort_msg("no open request of %s", status);
}

void fake_answer_later(const char *status, int http_status, int64_t retry_after_ms)
{
    request_answer(status, (struct mg_http_answer){.status = http_status < 0 ? 0 : http_status,
                                                   .sent = http_status < 0 ? MG_SENT_MAYBE : MG_SENT_YES,
                                                   .retry_after_ms = retry_after_ms});
}

void fake_answer_cut(const char *status, int http_status)
{
    request_answer(status, (struct mg_http_answer){.status = http_status,
                                                   .sent = MG_SENT_MAYBE,
                                                   .retry_after_ms = -1,
                                                   .reason = "answer's head is cut off"});
}

void fake_answer(const char *status, int http_status)
{
    fake_answer_later(status, http_status, -1);
}

/* ---- store ---- */

struct mg_rows {
    int first, count; /* count 0 with an order: one row without a status */
    bool has_order;
};
/* The open questions, the oldest first. */
static struct question {
    char order[8];
    mg_store_rows_fn *done;
    void *arg;
} questions[FAKE_QUESTIONS_MAX];
static int question_count;
static char row_order[8], row_body[128];

void mg_store_report(struct mg_store *store, enum mg_report report, const char *const *params, int count,
                     mg_store_rows_fn *done, void *arg)
{
    char what[32];
    (void)store;
    ck_assert_int_lt(question_count, FAKE_QUESTIONS_MAX);
    ck_assert_int_eq(count, report == MG_REPORT_STATUSES_OF_CLIENT ? 5 : 4);
    ck_assert_str_eq(params[0], FAKE_CLIENT);
    struct question *question = &questions[question_count++];
    *question = (struct question){.done = done, .arg = arg};
    (void)snprintf(question->order, sizeof(question->order), "%s", params[1]);
    (void)snprintf(what, sizeof(what), "%s>%s", params[1], params[2]);
    tell(report == MG_REPORT_STATUSES_OF_CLIENT ? "ask" : "archive", what);
}

int mg_rows_count(const struct mg_rows *rows)
{
    return !rows->has_order ? 0 : rows->count > 0 ? rows->count : 1;
}

bool mg_rows_is_null(const struct mg_rows *rows, int row, int column)
{
    ck_assert(row < mg_rows_count(rows) && column == 2);
    return rows->count == 0;
}

int64_t mg_rows_int(const struct mg_rows *rows, int row, int column)
{
    ck_assert(row < rows->count && column == 2);
    return rows->first + row;
}

struct mg_slice mg_rows_value(const struct mg_rows *rows, int row, int column)
{
    ck_assert(row < rows->count && column == 4);
    body_of(row_order, rows->first + row, row_body);
    return mg_slice_of(row_body);
}

static void question_answer(const struct mg_rows *rows, const struct mg_err *err)
{
    ck_assert_int_gt(question_count, 0);
    const struct question question = questions[0];
    memmove(&questions[0], &questions[1], (size_t)--question_count * sizeof(questions[0]));
    memcpy(row_order, question.order, sizeof(row_order));
    question.done(question.arg, rows, err);
}

void fake_rows(bool has_order, int first, int last)
{
    const struct mg_rows rows = {
        .first = first, .count = last == 0 ? 0 : last - first + 1, .has_order = has_order};
    question_answer(&rows, NULL);
}

void fake_rows_fail(void)
{
    const struct mg_err err = {.class = MG_TRANSIENT, .text = "the database is down"};
    question_answer(NULL, &err);
}

/* ---- the hook ---- */

struct mg_hook_target fake_target(const char *url)
{
    struct mg_hook_target target = {.client = FAKE_CLIENT, .url = strdup(url), .concurrency = 8};
    struct mg_err err;
    ck_assert_int_eq(mg_webhook_secrets_parse(mg_slice_of(SECRET), &target.secrets, &err), MG_OK);
    return target;
}

void fake_start(void)
{
    struct mg_hook_target target = fake_target("https://shop.example.org/");
    struct mg_err err;
    question_count = 0;
    fake = (struct fake_world){.boot_ms = 1000000, .wall_ms = FAKE_AT_MS + 1000, .random = FAKE_LONGEST};
    fake.options =
        (struct mg_gateway_options){.process = &fake.process, .webhook_ca_file = "", .webhooks_file = ""};
    fake.gateway = (struct mg_gateway){.options = &fake.options, .metrics = mg_metrics_create()};
    ck_assert_int_eq(mg_hook_create(&fake.gateway, &target, 0, &fake.hook, &err), MG_OK);
    ck_assert(target.url == NULL && target.secrets.count == 0);
}

void fake_end(void)
{
    mg_hook_destroy(fake.hook);
    mg_metrics_destroy(fake.gateway.metrics);
}

void fake_expect(const char *story)
{
    ck_assert_str_eq(fake.story, story);
    fake.story[0] = '\0';
}
