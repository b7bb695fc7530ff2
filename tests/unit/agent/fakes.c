/* See fakes.h. */
#include "fakes.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "io/amqp/topology.h"
#include "io/http/server.h"
#include "io/tls/check.h"

struct fakes fakes;

struct mg_broker {
    int unused;
};
struct mg_http_client {
    int unused;
};
struct mg_http_call {
    int index;
};
static struct mg_broker the_broker;
static struct mg_http_client the_client;
static struct mg_http_call call_handles[FAKE_MAX];

void fakes_reset(void)
{
    memset(&fakes, 0, sizeof(fakes));
}

static void tell(char letter)
{
    size_t len = strlen(fakes.story);
    assert(len + 1 < sizeof(fakes.story));
    fakes.story[len] = letter;
}

/* ---- broker ---- */

enum mg_class mg_broker_create(struct mg_loop *loop, const struct mg_broker_options *options,
                               struct mg_broker **ret_broker, struct mg_err *err)
{
    (void)loop;
    (void)err;
    fakes.broker = *options;
    for (int i = 0; i < options->consumer_count; i++) {
        fakes.prefetch[i] = options->consumers[i].prefetch;
    }
    *ret_broker = &the_broker;
    return MG_OK;
}

void mg_broker_destroy(struct mg_broker *broker)
{
    (void)broker;
}

bool mg_broker_is_up(const struct mg_broker *broker, char *ret_reason, size_t size)
{
    (void)broker;
    if (size > 0) {
        ret_reason[0] = '\0';
    }
    return true;
}

bool mg_broker_can_publish(const struct mg_broker *broker)
{
    (void)broker;
    return !fakes.is_away && !fakes.is_barred;
}

bool mg_broker_is_barred(const struct mg_broker *broker)
{
    (void)broker;
    return fakes.is_barred;
}

void fakes_connect(bool is_up)
{
    fakes.is_away = !is_up;
    fakes.broker.on_state(fakes.broker.arg, is_up, is_up ? "" : "gone");
}

static void delivery_end(struct mg_delivery *delivery, char letter)
{
    tell(letter);
    free((void *)(uintptr_t)delivery->body.data);
    free(delivery);
}

void mg_broker_ack(struct mg_broker *broker, struct mg_delivery *delivery)
{
    (void)broker;
    delivery_end(delivery, 'a');
}

int mg_broker_unsent_acks(const struct mg_broker *broker, int consumer)
{
    (void)broker;
    return fakes.unsent_acks[consumer];
}

void mg_broker_reject(struct mg_broker *broker, struct mg_delivery *delivery)
{
    (void)broker;
    delivery_end(delivery, 'x');
}

void mg_broker_requeue(struct mg_broker *broker, struct mg_delivery *delivery)
{
    (void)broker;
    delivery_end(delivery, 'q');
}

void mg_broker_pause(struct mg_broker *broker, int consumer)
{
    (void)broker;
    fakes.prefetch[consumer] = 0;
    tell('p');
}

void mg_broker_resume(struct mg_broker *broker, int consumer, uint16_t prefetch)
{
    (void)broker;
    fakes.prefetch[consumer] = prefetch;
    tell('u');
}

const char *mg_publish_outcome_name(enum mg_publish_outcome outcome)
{
    (void)outcome;
    return "as the test said";
}

enum mg_class mg_broker_publish(struct mg_broker *broker, const struct mg_message *message,
                                mg_published_fn *done, void *arg, struct mg_err *err)
{
    (void)broker;
    if (strcmp(message->type, "service_report") == 0) {
        fakes.report_count++;
        snprintf(fakes.last_report, sizeof(fakes.last_report), "%.*s", (int)message->body.len,
                 message->body.data);
        return MG_OK;
    }
    if (fakes.is_publish_full) {
        return mg_err_set(err, MG_TRANSIENT, "the window is full");
    }
    assert(fakes.reply_count < FAKE_MAX);
    struct fake_publish *reply = &fakes.replies[fakes.reply_count++];
    snprintf(reply->type, sizeof(reply->type), "%s", message->type);
    snprintf(reply->correlation_id, sizeof(reply->correlation_id), "%s", message->correlation_id);
    snprintf(reply->routing_key, sizeof(reply->routing_key), "%s", message->routing_key);
    snprintf(reply->body, sizeof(reply->body), "%.*s", (int)message->body.len, message->body.data);
    reply->done = done;
    reply->arg = arg;
    reply->is_open = true;
    tell('r');
    return MG_OK;
}

void fakes_confirm(enum mg_publish_outcome outcome)
{
    for (int i = fakes.reply_count - 1; i >= 0; i--) {
        if (fakes.replies[i].is_open) {
            fakes.replies[i].is_open = false;
            fakes.replies[i].done(fakes.replies[i].arg, outcome);
            return;
        }
    }
    assert(!"no reply is open");
}

void mg_topology_control_exchange(const char *service, char ret_exchange[MG_QUEUE_NAME_SIZE])
{
    snprintf(ret_exchange, MG_QUEUE_NAME_SIZE, "makegood.control.%s", service);
}

void mg_topology_control_queue(const char *service, char ret_prefix[MG_QUEUE_NAME_SIZE])
{
    snprintf(ret_prefix, MG_QUEUE_NAME_SIZE, "agent.%s.control.", service);
}

enum mg_class mg_broker_listen(struct mg_broker *broker, const char *exchange, const char *queue_prefix,
                               mg_received_fn *received, void *arg, struct mg_err *err)
{
    (void)broker;
    (void)err;
    snprintf(fakes.listened_names, sizeof(fakes.listened_names), "%s %s", exchange, queue_prefix);
    fakes.received = received;
    fakes.received_arg = arg;
    return MG_OK;
}

void fakes_say(const char *body)
{
    fakes.received(fakes.received_arg, mg_slice_of(body));
}

static void deliver(int consumer, const char *type, const char *body, bool is_redelivered,
                    uint32_t delivery_count, bool is_oversized)
{
    struct mg_delivery *delivery = calloc(1, sizeof(*delivery));
    assert(delivery != NULL);
    delivery->is_oversized = is_oversized;
    delivery->consumer = consumer;
    delivery->is_redelivered = is_redelivered;
    delivery->delivery_count = delivery->given_count = delivery_count;
    delivery->type = mg_slice_of(type);
    char *copy = strdup(body);
    delivery->body = mg_slice_of(copy);
    delivery->arrived_boot_ms = mg_clock_boot_ms();
    fakes.broker.on_delivery(fakes.broker.arg, delivery);
}

void fakes_deliver(int consumer, const char *body, bool is_redelivered, uint32_t delivery_count)
{
    deliver(consumer, "request", body, is_redelivered, delivery_count, false);
}

void fakes_deliver_oversized(int consumer)
{
    deliver(consumer, "request", "", false, 0, true);
}

void fakes_deliver_typed(int consumer, const char *type, const char *body, uint32_t delivery_count)
{
    deliver(consumer, type, body, delivery_count > 0, delivery_count, false);
}

void mg_topology_request_queue(const char *service, bool is_high, char ret_queue[MG_QUEUE_NAME_SIZE])
{
    snprintf(ret_queue, MG_QUEUE_NAME_SIZE, "agent.%s.requests%s", service, is_high ? ".high" : "");
}

void mg_topology_reply_exchange(const char *service, char ret_exchange[MG_QUEUE_NAME_SIZE])
{
    snprintf(ret_exchange, MG_QUEUE_NAME_SIZE, "makegood.replies.%s", service);
}

/* ---- HTTP ---- */

enum mg_class mg_http_client_create(struct mg_loop *loop, const struct mg_http_client_options *options,
                                    struct mg_http_client **ret_client, struct mg_err *err)
{
    (void)loop;
    (void)options;
    (void)err;
    *ret_client = &the_client;
    return MG_OK;
}

/* The certificates of the fake's services are always good. */
enum mg_class mg_tls_check(const struct mg_tls_files *files, char *ret_warning, size_t size,
                           struct mg_err *err)
{
    (void)files, (void)err;
    (void)snprintf(ret_warning, size, "%s", "");
    return MG_OK;
}

void mg_http_client_destroy(struct mg_http_client *client)
{
    (void)client;
}

void mg_http_client_reload(struct mg_http_client *client, bool keeps_connections)
{
    (void)client, (void)keeps_connections;
}

enum mg_class mg_http_client_call(struct mg_http_client *client, const struct mg_http_request *request,
                                  mg_http_done_fn *done, void *arg, struct mg_http_call **ret_call,
                                  struct mg_err *err)
{
    (void)client;
    if (fakes.call_class != MG_OK) {
        return mg_err_set(err, fakes.call_class, "the test takes no call");
    }
    assert(fakes.call_count < FAKE_MAX);
    int index = fakes.call_count++;
    struct fake_call *call = &fakes.calls[index];
    snprintf(call->method, sizeof(call->method), "%s", request->method);
    snprintf(call->url, sizeof(call->url), "%s", request->url);
    size_t len = 0;
    for (int i = 0; request->headers[i] != NULL; i++) {
        len +=
            (size_t)snprintf(call->headers + len, sizeof(call->headers) - len, "%s\n", request->headers[i]);
    }
    snprintf(call->body, sizeof(call->body), "%.*s", (int)request->body.len,
             request->body.data != NULL ? request->body.data : "");
    call->timeout_ms = request->timeout_ms;
    call->is_fresh = request->is_fresh;
    call->is_open = true;
    call->done = done;
    call->arg = arg;
    call_handles[index].index = index;
    *ret_call = &call_handles[index];
    tell('c');
    return MG_OK;
}

void mg_http_call_cancel(struct mg_http_call *call)
{
    fakes.calls[call->index].is_open = false;
    fakes.calls[call->index].is_cancelled = true;
}

void fakes_answer(int call, const struct mg_http_answer *answer)
{
    assert(call < fakes.call_count && fakes.calls[call].is_open);
    fakes.calls[call].is_open = false;
    fakes.calls[call].done(fakes.calls[call].arg, answer);
}

enum mg_class mg_http_server_create(struct mg_loop *loop, const struct mg_http_server_options *options,
                                    struct mg_http_server **ret_server, struct mg_err *err)
{
    (void)loop;
    (void)options;
    *ret_server = NULL;
    return mg_err_set(err, MG_PERMANENT, "there is no HTTP server in this test");
}

void mg_http_server_destroy(struct mg_http_server *server)
{
    (void)server;
}

struct mg_http_room *mg_http_room_create(struct mg_loop *loop, size_t max_bytes)
{
    (void)loop;
    (void)max_bytes;
    return (struct mg_http_room *)&fakes;
}

void mg_http_room_destroy(struct mg_http_room *room)
{
    (void)room;
}

bool mg_broker_is_stopped(const struct mg_broker *broker, int consumer)
{
    (void)broker;
    return fakes.prefetch[consumer] == 0 && !fakes.is_on_its_way[consumer];
}

int mg_broker_prefetch(const struct mg_broker *broker, int consumer)
{
    (void)broker;
    return fakes.prefetch[consumer];
}
