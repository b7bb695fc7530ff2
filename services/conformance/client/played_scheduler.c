/* See played_scheduler.h. */
#include "played_scheduler.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "io/amqp/topology.h"
#include "wire/status.h"
#include "wire/submission.h"

#define PREFETCH         64
#define WATCH_MS         500
#define STATUS_MAX_BYTES ((size_t)4096)
#define HUGE_BYTES       ((size_t)1024 * 1024 - 64) /* the largest that the broker's interface sends */
#define USER_PREFIX      "client-"                  /* of the user of an exchange, as schedulers take it */

static const char *const QUEUES[] = {MG_QUEUE_INTAKE, MG_QUEUE_INTAKE_HIGH};
#define QUEUE_COUNT (sizeof(QUEUES) / sizeof(QUEUES[0]))

/* ---- incoming ---- */

static void text_copy(struct mg_slice text, char ret[MG_INTAKE_NAME_SIZE])
{
    snprintf(ret, MG_INTAKE_NAME_SIZE, "%.*s", (int)text.len, text.data != NULL ? text.data : "");
}

/* As schedulers derive it (law 8, derived identities): the submitted id, else that of sender and message. */
static void identity_make(const struct mg_delivery *delivery, const struct mg_submission *submission,
                          struct mg_submitted *ret)
{
    char user[MG_INTAKE_NAME_SIZE + sizeof(USER_PREFIX)], uuid[MG_UUID_SIZE];
    struct mg_slice sender = delivery->user_id.len > 0 ? delivery->user_id : delivery->app_id;
    if (ret->client[0] != '\0') {
        snprintf(user, sizeof(user), USER_PREFIX "%s", ret->client);
        sender = mg_slice_of(user);
    }
    if (submission->order_id[0] != '\0') {
        snprintf(ret->order_id, sizeof(ret->order_id), "%s", submission->order_id);
    } else if (delivery->message_id.len > 0 && sender.len > 0) {
        mg_uuid_derived(sender, delivery->message_id, uuid);
        snprintf(ret->order_id, sizeof(ret->order_id), "%s", uuid);
    } else {
        snprintf(ret->fault, sizeof(ret->fault),
                 "it has no order_id, and no message_id with app_id or user_id: the order has no identity");
    }
}

static void on_delivery(void *arg, struct mg_delivery *delivery)
{
    struct mg_intake *intake = arg;
    static struct mg_submitted submitted; /* too large for a stack */
    struct mg_submission submission;
    struct mg_slice client = {NULL, 0};
    struct mg_err err;
    submitted = (struct mg_submitted){.order_id = ""};
    if (!mg_topology_client(delivery->exchange, &client)) {
        snprintf(submitted.fault, sizeof(submitted.fault), "it came through exchange \"%.*s\"",
                 (int)delivery->exchange.len, delivery->exchange.data);
    }
    text_copy(client, submitted.client);
    text_copy(delivery->reply_to, submitted.reply_to);
    text_copy(delivery->correlation_id, submitted.correlation_id);
    mg_submission_digest(delivery->body, submitted.digest);
    if (delivery->is_oversized ||
        mg_submission_parse(delivery->body, &MG_JSON_LIMITS_SUBMISSION, &submission, &err) != MG_OK) {
        snprintf(submitted.fault, sizeof(submitted.fault), "%s",
                 delivery->is_oversized ? "it is above 1 MiB" : err.text);
    } else {
        identity_make(delivery, &submission, &submitted);
    }
    mg_broker_ack(intake->broker, delivery);
    intake->on_submitted(intake->arg, &submitted);
}

static void on_state(void *arg, bool is_up, const char *reason)
{
    struct mg_intake *intake = arg;
    if (!is_up && intake->is_open) {
        snprintf(intake->lost, sizeof(intake->lost), "%s", reason);
    }
    intake->is_open = intake->is_open || is_up;
}

static void on_seen(void *arg, const char *queue, int64_t ready, int64_t consumers)
{
    struct mg_intake *intake = arg;
    (void)queue;
    (void)ready;
    intake->is_crowded = intake->is_crowded || consumers > 1;
}

/* ---- outgoing ---- */

static void on_published(void *arg, enum mg_publish_outcome outcome)
{
    struct mg_intake *intake = arg;
    intake->unconfirmed--;
    intake->returned += outcome == MG_PUBLISH_RETURNED ? 1 : 0;
}

static void status_write(const char *order_id, const struct mg_client_send *send, struct mg_buf *ret)
{
    static const char cause[] = "{\"code\":\"unknown_workflow\",\"text\":\"a test of the client\"}";
    struct mg_status_message status = {.seq = send->seq, .status = send->status, .at_ms = mg_clock_wall_ms()};
    snprintf(status.order_id, sizeof(status.order_id), "%s", order_id);
    if (send->status == MG_STATUS_STEP_COMPLETED || send->status == MG_STATUS_WAITING) {
        snprintf(status.step, sizeof(status.step), "test");
    }
    if (send->status == MG_STATUS_WAITING) {
        snprintf(status.signal, sizeof(status.signal), "test");
        status.until_ms = status.at_ms;
    }
    if (send->status == MG_STATUS_REJECTED) {
        status.cause = mg_slice_of(cause);
        snprintf(status.reason, sizeof(status.reason), "a test of the client");
    }
    mg_status_write(&status, ret);
}

/* The status with one member more, or another. */
static void status_change(const char *order_id, const struct mg_client_send *send, const char *pointer,
                          const char *value, struct mg_buf *ret)
{
    struct mg_buf plain;
    struct mg_err err;
    mg_buf_init(&plain, STATUS_MAX_BYTES);
    status_write(order_id, send, &plain);
    if (plain.failed || mg_json_set(mg_buf_slice(&plain), pointer, mg_slice_of(value), ret, &err) != MG_OK) {
        ret->failed = true;
    }
    mg_buf_finish(&plain);
}

static void body_write(const char *order_id, const struct mg_client_send *send, struct mg_buf *ret)
{
    static char huge[HUGE_BYTES]; /* deep as well: a reader without a bound recurses */
    switch (send->message) {
    case MG_MESSAGE_NONE:
    case MG_MESSAGE_STATUS:
    case MG_MESSAGE_FOREIGN:
        status_write(order_id, send, ret);
        break;
    case MG_MESSAGE_MORE:
        status_change(order_id, send, "/later", "{\"of\":[1,14.00,null],\"v\":99}", ret);
        break;
    case MG_MESSAGE_WORD:
        status_change(order_id, send, "/status", "\"" MG_CLIENT_LATER_WORD "\"", ret);
        break;
    case MG_MESSAGE_TEXT:
        mg_buf_append_text(ret, "not JSON");
        break;
    case MG_MESSAGE_WORDLESS:
        mg_buf_printf(ret, "{\"v\":1,\"order_id\":\"%s\",\"seq\":%" PRIu64 "}", order_id, send->seq);
        break;
    case MG_MESSAGE_HUGE:
        memset(huge, '[', sizeof(huge));
        mg_buf_append(ret, huge, sizeof(huge));
        break;
    }
}

void mg_intake_send(struct mg_intake *intake, const struct mg_submitted *to,
                    const struct mg_client_send *send)
{
    char order_id[MG_UUID_SIZE], message_id[MG_INTAKE_NAME_SIZE];
    struct mg_buf body;
    struct mg_err err;
    bool is_foreign = send->message == MG_MESSAGE_FOREIGN;
    mg_uuid_random(order_id);
    const char *of = is_foreign ? order_id : to->order_id;
    snprintf(message_id, sizeof(message_id), "%s.%" PRIu64, of, send->seq);
    mg_buf_init(&body, HUGE_BYTES);
    body_write(of, send, &body);
    const struct mg_message message = {.exchange = "",
                                       .routing_key = to->reply_to,
                                       .type = "status",
                                       .message_id = message_id,
                                       .correlation_id = is_foreign                      ? order_id
                                                         : to->correlation_id[0] != '\0' ? to->correlation_id
                                                                                         : NULL,
                                       .body = mg_buf_slice(&body)};
    if (body.failed) {
        snprintf(intake->lost, sizeof(intake->lost), "no memory for a status");
    } else if (mg_broker_publish(intake->broker, &message, on_published, intake, &err) != MG_OK) {
        snprintf(intake->lost, sizeof(intake->lost), "%s", err.text);
    } else {
        intake->unconfirmed++;
    }
    mg_buf_finish(&body);
}

/* ---- opening ---- */

static enum mg_class place_check(const struct mg_broker_address *address, struct mg_err *err)
{
    for (size_t i = 0; i < QUEUE_COUNT; i++) {
        struct mg_service_queues found;
        enum mg_class class = mg_topology_ask_queue(address, QUEUES[i], &found, err);
        if (class != MG_OK) {
            return class;
        }
        if (found.consumers < 0) {
            return mg_err_set(err, MG_PERMANENT,
                              "the queues are missing; run: makegood broker apply --client NAME");
        }
        if (found.consumers > 0) {
            return mg_err_set(
                err, MG_STALE,
                "schedulers consume %s here, and would take the client's orders: stop them, or use "
                "another virtual host",
                QUEUES[i]);
        }
        if (found.ready > 0) {
            return mg_err_set(err, MG_STALE,
                              "%s holds %" PRId64
                              " orders: let schedulers take them, or use another virtual host",
                              QUEUES[i], found.ready);
        }
    }
    return MG_OK;
}

enum mg_class mg_intake_open(struct mg_intake *intake, struct mg_loop *loop,
                             const struct mg_broker_address *address, mg_submitted_fn *on_submitted,
                             void *arg, struct mg_err *err)
{
    struct mg_broker_options options = {.address = *address,
                                        .name = "makegood client test",
                                        .consumer_count = QUEUE_COUNT,
                                        .on_delivery = on_delivery,
                                        .on_state = on_state,
                                        .arg = intake};
    *intake = (struct mg_intake){.on_submitted = on_submitted, .arg = arg};
    for (size_t i = 0; i < QUEUE_COUNT; i++) {
        options.consumers[i] = (struct mg_consumer){.queue = QUEUES[i], .prefetch = PREFETCH};
    }
    enum mg_class class = place_check(address, err);
    class = class == MG_OK ? mg_broker_create(loop, &options, &intake->broker, err) : class;
    for (size_t i = 0; i < QUEUE_COUNT && class == MG_OK; i++) {
        class = mg_broker_watch_queue(intake->broker, QUEUES[i], WATCH_MS, on_seen, intake, err);
    }
    return class;
}

bool mg_intake_is_up(const struct mg_intake *intake, char *ret_reason, size_t size)
{
    return mg_broker_is_up(intake->broker, ret_reason, size);
}

void mg_intake_close(struct mg_intake *intake)
{
    if (intake->broker != NULL) {
        mg_broker_destroy(intake->broker);
    }
}
