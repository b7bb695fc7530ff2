/* See peer.h. */
#include "peer.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/json_write.h"
#include "io/amqp/topology.h"

/* All messages and replies: one of them has 1 MiB. */
#define ARENA_MAX_BYTES ((size_t)64 * 1024 * 1024)
#define OPEN_MS         10000
#define LOOK_MS         5 /* a condition is looked at this often */
#define WATCH_MS        500
/* Replies and reports of others are held until the end, and then go back: room for them and for ours. */
#define REPLIES_PREFETCH 500
#define DEAD_PREFETCH    500
#define ACTION_PATH_MAX  1024

enum { REPLIES, DEAD, REQUESTS, CONSUMER_COUNT };

/* ---- waiting ---- */

struct wait {
    struct mg_peer *peer;
    mg_peer_condition *is_met;
    const struct mg_sent *sent;
    int64_t until_boot_ms;
    bool is_over;
};

static void on_look(void *arg)
{
    struct wait *wait = arg;
    wait->is_over = wait->is_met != NULL && wait->is_met(wait->peer, wait->sent);
    if (wait->is_over || wait->peer->lost[0] != '\0' || wait->peer->is_crowded ||
        mg_clock_boot_ms() >= wait->until_boot_ms) {
        mg_loop_stop(wait->peer->options->loop);
    }
}

bool mg_peer_wait(struct mg_peer *peer, mg_peer_condition *is_met, const struct mg_sent *sent, int64_t ms)
{
    struct wait wait = {
        .peer = peer, .is_met = is_met, .sent = sent, .until_boot_ms = mg_clock_boot_ms() + ms};
    struct mg_timer *timer = mg_timer_create(peer->options->loop, on_look, &wait);
    if (timer == NULL) {
        snprintf(peer->lost, sizeof(peer->lost), "no memory for a wait");
        return false;
    }
    mg_timer_start(timer, 0, LOOK_MS);
    mg_loop_run(peer->options->loop);
    mg_timer_destroy(timer);
    return wait.is_over;
}

void mg_peer_rest(struct mg_peer *peer, int64_t ms)
{
    (void)mg_peer_wait(peer, NULL, NULL, ms);
}

/* ---- incoming ---- */

static void MG_PRINTF(2, 3) fault(struct mg_peer *peer, const char *format, ...)
{
    va_list args;
    if (peer->faulty++ > 0) {
        return;
    }
    va_start(args, format);
    (void)vsnprintf(peer->fault, sizeof(peer->fault), format, args);
    va_end(args);
    mg_utf8_mend(peer->fault);
}

static void report_take(struct mg_peer *peer, const struct mg_delivery *delivery)
{
    struct mg_service_report report;
    struct mg_err err;
    if (mg_service_report_parse(delivery->body, &report, &err) != MG_OK) {
        fault(peer, "a service report cannot be read: %s", err.text);
        return;
    }
    if (strcmp(report.service, peer->options->service) != 0) {
        return;
    }
    int i = 0;
    while (i < peer->agent_count && strcmp(peer->agents[i].instance, report.instance) != 0) {
        i++;
    }
    if (i == MG_PEER_AGENTS_MAX) {
        return;
    }
    peer->agent_count = i == peer->agent_count ? i + 1 : peer->agent_count;
    snprintf(peer->agents[i].instance, sizeof(peer->agents[i].instance), "%s", report.instance);
    peer->agents[i].version = report.control_version;
    peer->agents[i].reported_boot_ms = mg_clock_boot_ms();
}

/* An agent that has ended reports no more, and takes no share. */
static void silent_forget(struct mg_peer *peer)
{
    int64_t since_boot_ms = mg_clock_boot_ms() - MG_SERVICE_REPORT_VALID_MS;
    int count = 0;
    for (int i = 0; i < peer->agent_count; i++) {
        if (peer->agents[i].reported_boot_ms > since_boot_ms) {
            peer->agents[count++] = peer->agents[i];
        }
    }
    peer->agent_count = count;
}

static struct mg_sent *sent_find(struct mg_peer *peer, const struct mg_reply *reply)
{
    for (int i = 0; i < peer->sent_count; i++) {
        const struct mg_request *request = &peer->sent[i].request;
        if (request->attempt == reply->attempt && request->kind == reply->kind &&
            strcmp(request->order_id, reply->order_id) == 0 && strcmp(request->step, reply->step) == 0) {
            return &peer->sent[i];
        }
    }
    return NULL;
}

static void form_check(struct mg_peer *peer, const struct mg_delivery *delivery, const struct mg_sent *sent)
{
    if (!mg_slice_is(delivery->type, "reply")) {
        fault(peer, "the AMQP type of a reply is not \"reply\"");
    } else if (!mg_topology_is_reply_of(delivery->exchange, peer->options->service)) {
        fault(peer, "a reply came through exchange \"%.*s\", not makegood.replies.%s",
              (int)delivery->exchange.len, delivery->exchange.data, peer->options->service);
    } else if (!mg_slice_is(delivery->correlation_id, sent->message_id)) {
        fault(peer, "the correlation_id of a reply is not that of its request");
    } else if (sent->replies > sent->copies) {
        fault(peer, "a request was answered %d times", sent->replies);
    }
}

/* No order of a client has such an id: "agent-test-", and 16 digits. */
static bool is_of_a_test(const char *order_id)
{
    size_t len = strlen(MG_PEER_PREFIX);
    return strncmp(order_id, MG_PEER_PREFIX, len) == 0 &&
           strspn(order_id + len, "0123456789abcdef") == MG_PEER_DIGITS;
}

/* A test that was ended, or an agent that answers many times, leaves replies behind it; nobody waits for
 * them. */
static bool is_of_a_former_test(const struct mg_delivery *delivery)
{
    struct mg_reply reply;
    struct mg_err err;
    return mg_reply_parse(delivery->body, &MG_JSON_LIMITS_DATA, &reply, &err) == MG_OK &&
           is_of_a_test(reply.order_id);
}

/* False: it is a reply to others, and is held. */
static bool reply_take(struct mg_peer *peer, const struct mg_delivery *delivery)
{
    struct mg_reply reply;
    struct mg_err err;
    struct mg_slice body = mg_arena_copy(peer->arena, delivery->body);
    if (delivery->is_oversized) {
        fault(peer, "a reply is larger than 1 MiB; it may have 64 KiB of result");
        return true;
    }
    if (mg_reply_parse(body, &MG_JSON_LIMITS_DATA, &reply, &err) != MG_OK) {
        fault(peer, "a reply cannot be read: %s", err.text);
        return true;
    }
    struct mg_sent *sent = sent_find(peer, &reply);
    if (sent == NULL) {
        bool is_ours = strncmp(reply.order_id, peer->prefix, strlen(peer->prefix)) == 0;
        if (is_ours) {
            fault(peer, "a reply has an identity that no request had: %s.%s.%u.%s", reply.order_id,
                  reply.step, reply.attempt, mg_kind_name(reply.kind));
        }
        return is_ours || is_of_a_test(reply.order_id);
    }
    sent->last = reply;
    sent->replied_boot_ms = delivery->arrived_boot_ms;
    if (sent->replies++ == 0) {
        sent->first = reply;
    }
    form_check(peer, delivery, sent);
    return true;
}

static struct mg_sent *sent_of(struct mg_peer *peer, struct mg_slice message_id)
{
    for (int i = 0; i < peer->sent_count; i++) {
        if (mg_slice_is(message_id, peer->sent[i].message_id)) {
            return &peer->sent[i];
        }
    }
    return NULL;
}

/* Without a scheduler, the reports of processes that have ended stay in the queue: they prove nothing. A
 * reply from before the test is one to others. False: it is held. */
static bool answer_take(struct mg_peer *peer, const struct mg_delivery *delivery)
{
    bool is_report = mg_slice_is(delivery->type, "service_report");
    peer->backlog--;
    if (!peer->has_begun) {
        return is_report || is_of_a_former_test(delivery);
    }
    if (is_report) {
        report_take(peer, delivery);
        return true;
    }
    return reply_take(peer, delivery);
}

/* Messages of others are held, and go back when the connection ends. */
static void on_delivery(void *arg, struct mg_delivery *delivery)
{
    struct mg_peer *peer = arg;
    struct mg_sent *sent = delivery->consumer == REPLIES ? NULL : sent_of(peer, delivery->message_id);
    switch (delivery->consumer) {
    case REPLIES:
        if (answer_take(peer, delivery)) {
            mg_broker_ack(peer->broker, delivery);
        } else {
            peer->others++;
        }
        return;
    case DEAD:
        if (sent != NULL) {
            sent->is_dead = true;
            mg_broker_ack(peer->broker, delivery);
        }
        return;
    default:
        if (sent != NULL && sent->taken == NULL) {
            sent->taken = delivery;
        } else {
            mg_broker_requeue(peer->broker, delivery);
        }
    }
}

static void on_state(void *arg, bool is_up, const char *reason)
{
    struct mg_peer *peer = arg;
    if (!is_up && peer->is_open) {
        snprintf(peer->lost, sizeof(peer->lost), "%s", reason);
    }
}

/* Alongside this consumer of the replies there is another one: a scheduler. */
static void on_seen(void *arg, const char *queue, int64_t ready, int64_t consumers)
{
    struct mg_peer *peer = arg;
    (void)queue;
    (void)ready;
    peer->is_crowded = peer->is_crowded || consumers > 1;
}

static void on_control(void *arg, struct mg_slice body)
{
    struct mg_peer *peer = arg;
    static struct mg_service_control control; /* too large for a stack */
    struct mg_err err;
    if (mg_service_control_parse(body, &control, &err) == MG_OK) {
        peer->is_crowded = peer->is_crowded || control.epoch != peer->control.epoch;
    }
}

/* ---- outgoing ---- */

int64_t mg_peer_now_ms(const struct mg_peer *peer)
{
    return mg_clock_wall_ms() + peer->offset_ms;
}

void mg_peer_control(struct mg_peer *peer)
{
    struct mg_buf body;
    peer->control.sent_at_ms = mg_peer_now_ms(peer);
    mg_buf_init(&body, MG_CAST_BYTES_MAX);
    mg_service_control_write(&peer->control, &body);
    if (!body.failed) {
        mg_broker_cast(peer->broker, MG_EXCHANGE_CONTROL, peer->options->service, "service_control",
                       mg_buf_slice(&body));
        peer->controls++;
    }
    mg_buf_finish(&body);
}

static void on_control_timer(void *arg)
{
    silent_forget(arg);
    mg_peer_control(arg);
}

/* {"method": …, "path": …, "body": …} */
static void action_write(const struct mg_peer *peer, const struct mg_request *request, struct mg_buf *ret)
{
    static const char *const methods[] = {
        [MG_KIND_DO] = "POST", [MG_KIND_UNDO] = "DELETE", [MG_KIND_VERIFY] = "GET"};
    char path[ACTION_PATH_MAX + MG_KEY_SIZE];
    const char *base = strcmp(peer->options->path, "/") == 0 ? "" : peer->options->path;
    bool is_do = request->kind == MG_KIND_DO;
    snprintf(path, sizeof(path), "%s%s%s", is_do ? peer->options->path : base, is_do ? "" : "/by-key/",
             is_do ? "" : request->do_key);
    struct mg_json_writer json = mg_json_compact(ret);
    mg_json_object_begin(&json);
    mg_json_member_word(&json, "method", methods[request->kind]);
    mg_json_member_string(&json, "path", path);
    if (is_do) {
        mg_json_member_raw(&json, "body", peer->options->payload);
    }
    mg_json_object_end(&json);
}

static struct mg_sent *sent_add(struct mg_peer *peer, struct mg_slice body)
{
    struct mg_slice copy = mg_arena_copy(peer->arena, body);
    if (copy.data == NULL || peer->sent_count == MG_PEER_SENT_MAX) {
        snprintf(peer->lost, sizeof(peer->lost), "no memory for a message");
        return NULL;
    }
    struct mg_sent *sent = &peer->sent[peer->sent_count++];
    sent->body = copy;
    return sent;
}

struct mg_sent *mg_peer_make(struct mg_peer *peer, const struct mg_peer_plan *plan)
{
    struct mg_request request = {.attempt = ++peer->attempts,
                                 .kind = plan->kind,
                                 .sent_at_ms = mg_peer_now_ms(peer),
                                 .complete_by_ms = mg_peer_now_ms(peer) + plan->within_ms,
                                 .is_at_most_once = plan->is_at_most_once};
    struct mg_buf action, body;
    snprintf(request.order_id, sizeof(request.order_id), "%s-%d", peer->prefix, plan->order);
    snprintf(request.step, sizeof(request.step), "test");
    snprintf(request.service, sizeof(request.service), "%s", peer->options->service);
    mg_key_write(request.order_id, request.step, MG_KIND_DO, 0, request.do_key);
    mg_key_write(request.order_id, request.step, plan->kind == MG_KIND_UNDO ? MG_KIND_UNDO : MG_KIND_DO, 0,
                 request.idempotency_key);
    mg_buf_init(&action, MG_REQUEST_LIMITS.max_bytes);
    mg_buf_init(&body, MG_REQUEST_LIMITS.max_bytes);
    action_write(peer, &request, &action);
    request.request = mg_buf_slice(&action);
    mg_request_write(&request, &body);
    struct mg_sent *sent = action.failed || body.failed ? NULL : sent_add(peer, mg_buf_slice(&body));
    mg_buf_finish(&action);
    mg_buf_finish(&body);
    if (sent != NULL) {
        request.request = (struct mg_slice){NULL, 0};
        sent->request = request;
        sent->is_high = plan->is_high;
        mg_correlation_write(request.order_id, request.step, request.attempt, request.kind, sent->message_id);
    }
    return sent;
}

struct mg_sent *mg_peer_make_raw(struct mg_peer *peer, const char *name, struct mg_slice body)
{
    struct mg_sent *sent = sent_add(peer, body);
    if (sent != NULL) {
        snprintf(sent->message_id, sizeof(sent->message_id), "%s.%s", peer->prefix, name);
    }
    return sent;
}

static void on_published(void *arg, enum mg_publish_outcome outcome)
{
    struct mg_sent *sent = arg;
    sent->is_refused = sent->is_refused || outcome != MG_PUBLISH_CONFIRMED;
}

/* A copy counts at once: its reply may overtake the broker's confirm. */
void mg_peer_publish(struct mg_peer *peer, struct mg_sent *sent)
{
    char queue[MG_QUEUE_NAME_SIZE];
    mg_topology_request_queue(peer->options->service, sent->is_high, queue);
    const struct mg_message message = {.exchange = MG_EXCHANGE_REQUESTS,
                                       .routing_key = queue,
                                       .type = "request",
                                       .message_id = sent->message_id,
                                       .correlation_id = sent->message_id,
                                       .reply_to = MG_QUEUE_REPLIES,
                                       .body = sent->body};
    struct mg_err err;
    if (sent->copies++ == 0) {
        sent->sent_boot_ms = mg_clock_boot_ms();
    }
    if (mg_broker_publish(peer->broker, &message, on_published, sent, &err) != MG_OK) {
        snprintf(peer->lost, sizeof(peer->lost), "%s", err.text);
    }
}

/* ---- taking a message before the agent ---- */

static bool is_taking(const struct mg_peer *peer, const struct mg_sent *sent)
{
    (void)sent;
    return mg_broker_prefetch(peer->broker, REQUESTS) > 0;
}

static bool is_not_taking(const struct mg_peer *peer, const struct mg_sent *sent)
{
    (void)sent;
    return mg_broker_is_stopped(peer->broker, REQUESTS);
}

bool mg_peer_take_begin(struct mg_peer *peer)
{
    mg_broker_resume(peer->broker, REQUESTS, 1);
    return mg_peer_wait(peer, is_taking, NULL, OPEN_MS);
}

void mg_peer_take_end(struct mg_peer *peer, struct mg_sent *sent)
{
    mg_broker_pause(peer->broker, REQUESTS);
    (void)mg_peer_wait(peer, is_not_taking, NULL, OPEN_MS); /* otherwise it would come back here */
    if (sent->taken != NULL) {
        mg_broker_requeue(peer->broker, sent->taken);
        sent->taken = NULL;
    }
}

void mg_peer_drop(struct mg_peer *peer, struct mg_sent *sent)
{
    if (sent->taken != NULL) {
        mg_broker_ack(peer->broker, sent->taken);
        sent->taken = NULL;
    }
}

/* ---- opening ---- */

static enum mg_class place_check(struct mg_peer *peer, struct mg_err *err)
{
    const char *queue = peer->request_queue;
    struct mg_service_queues replies, requests;
    char command[MG_APPLY_COMMAND_SIZE];
    enum mg_class class = mg_topology_ask_queue(&peer->options->address, MG_QUEUE_REPLIES, &replies, err);
    if (class == MG_OK) {
        class = mg_topology_ask_queue(&peer->options->address, peer->request_queue, &requests, err);
    }
    if (class != MG_OK) {
        return class;
    }
    if (replies.consumers < 0 || requests.consumers < 0) {
        mg_topology_apply_command(&queue, 1, command);
        return mg_err_set(err, MG_PERMANENT, "the queues are missing; run: %s", command);
    }
    if (replies.consumers > 0) {
        return mg_err_set(err, MG_STALE,
                          "schedulers consume %s here, and would get the agent's answers: stop them, or use "
                          "another virtual host",
                          MG_QUEUE_REPLIES);
    }
    if (requests.consumers == 0) {
        return mg_err_set(err, MG_PERMANENT, "no agent consumes %s: start it first", peer->request_queue);
    }
    peer->backlog = replies.ready;
    return MG_OK;
}

static bool is_up(const struct mg_peer *peer, const struct mg_sent *sent)
{
    char reason[16];
    (void)sent;
    return mg_broker_is_up(peer->broker, reason, sizeof(reason));
}

static bool is_past_backlog(const struct mg_peer *peer, const struct mg_sent *sent)
{
    (void)sent;
    return peer->backlog <= 0 || peer->others > 0;
}

static enum mg_class connect(struct mg_peer *peer, struct mg_err *err)
{
    char exchange[MG_QUEUE_NAME_SIZE], prefix[MG_QUEUE_NAME_SIZE], reason[MG_ERR_TEXT_MAX];
    const struct mg_broker_options options = {
        .address = peer->options->address,
        .name = "makegood agent test",
        .consumers = {[REPLIES] = {.queue = MG_QUEUE_REPLIES, .prefetch = REPLIES_PREFETCH},
                      [DEAD] = {.queue = MG_QUEUE_DEAD, .prefetch = DEAD_PREFETCH},
                      [REQUESTS] = {.queue = peer->request_queue, .prefetch = 1}},
        .consumer_count = CONSUMER_COUNT,
        .rank = 1, /* above the agent's */
        .on_delivery = on_delivery,
        .on_state = on_state,
        .arg = peer,
    };
    enum mg_class class = mg_broker_create(peer->options->loop, &options, &peer->broker, err);
    if (class != MG_OK) {
        return class;
    }
    mg_broker_pause(peer->broker, REQUESTS);
    mg_topology_control_exchange(peer->options->service, exchange);
    mg_topology_control_queue(peer->options->service, prefix);
    class = mg_broker_listen(peer->broker, exchange, prefix, on_control, peer, err);
    if (class == MG_OK) {
        class = mg_broker_watch_queue(peer->broker, MG_QUEUE_REPLIES, WATCH_MS, on_seen, peer, err);
    }
    if (class == MG_OK && !mg_peer_wait(peer, is_up, NULL, OPEN_MS)) {
        (void)mg_broker_is_up(peer->broker, reason, sizeof(reason));
        class = mg_err_set(err, MG_TRANSIENT, "could not reach the broker: %s", reason);
    }
    return class;
}

enum mg_class mg_peer_open(struct mg_peer *peer, const struct mg_conformance_options *options,
                           const char *prefix, struct mg_err *err)
{
    *peer = (struct mg_peer){.options = options, .prefix = prefix};
    mg_topology_request_queue(options->service, false, peer->request_queue);
    /* Above the epoch of any supervisor, which counts its elections. An agent forgets it after 5 s. */
    peer->control.epoch = (uint64_t)mg_clock_wall_ms();
    peer->control.version = 1;
    snprintf(peer->control.service, sizeof(peer->control.service), "%s", options->service);
    enum mg_class class = place_check(peer, err);
    if (class != MG_OK) {
        return class;
    }
    peer->arena = mg_arena_create(ARENA_MAX_BYTES);
    peer->control_timer = mg_timer_create(options->loop, on_control_timer, peer);
    if (peer->arena == NULL || peer->control_timer == NULL) {
        return mg_err_set(err, MG_TRANSIENT, "no memory for the messages");
    }
    class = connect(peer, err);
    if (class == MG_OK) {
        peer->is_open = true;
        (void)mg_peer_wait(peer, is_past_backlog, NULL, OPEN_MS); /* silent_forget takes what is left */
        peer->has_begun = true;
        mg_timer_start(peer->control_timer, 1, MG_SERVICE_CONTROL_PERIOD_MS);
    }
    return class;
}

void mg_peer_close(struct mg_peer *peer)
{
    mg_timer_destroy(peer->control_timer);
    if (peer->broker != NULL) {
        mg_broker_destroy(peer->broker);
    }
    mg_arena_destroy(peer->arena);
}
