/* A broker that records publishes and confirms them on the test's command. */
#include <stdlib.h>
#include <string.h>

#include "fakes.h"

#define WATCHED_MAX 16

struct fake_broker fake_broker;

static struct {
    char queue[128];
    mg_queue_seen_fn *seen;
    void *arg;
} watched[WATCHED_MAX];
static int watched_count;

void fake_broker_reset(void)
{
    for (int i = 0; i < fake_broker.count; i++) {
        free(fake_broker.published[i].body);
    }
    memset(&fake_broker, 0, sizeof(fake_broker));
    fake_broker.room = 1000;
    fake_broker.queue_consumers = -2;
    watched_count = 0;
}

enum mg_class mg_broker_create(struct mg_loop *loop, const struct mg_broker_options *options,
                               struct mg_broker **ret_broker, struct mg_err *err)
{
    (void)loop;
    (void)err;
    fake_broker.options = *options;
    *ret_broker = (struct mg_broker *)&fake_broker;
    return MG_OK;
}

void mg_broker_destroy(struct mg_broker *broker)
{
    (void)broker;
}

bool mg_broker_is_up(const struct mg_broker *broker, char *ret_reason, size_t size)
{
    (void)broker;
    (void)ret_reason;
    (void)size;
    return !fake_broker.is_down;
}

/* A delivery with its texts after it: the test's own may be gone before the delivery is settled. */
struct kept {
    struct mg_delivery delivery;
    char texts[];
};

static struct mg_slice slice_keep(char **end, const char *text)
{
    if (text == NULL) {
        return (struct mg_slice){NULL, 0};
    }
    size_t size = strlen(text) + 1;
    struct mg_slice kept = {memcpy(*end, text, size), size - 1};
    *end += size;
    return kept;
}

void fake_broker_deliver(const struct fake_delivery *from)
{
    const char *texts[] = {from->body,           from->type,   from->message_id, from->reply_to,
                           from->correlation_id, from->app_id, from->exchange,   from->traceparent};
    size_t size = 0;
    for (size_t i = 0; i < sizeof(texts) / sizeof(*texts); i++) {
        size += texts[i] != NULL ? strlen(texts[i]) + 1 : 0;
    }
    struct kept *kept = calloc(1, sizeof(*kept) + size);
    char *end = kept->texts;
    struct mg_delivery *delivery = &kept->delivery;
    delivery->consumer = from->consumer;
    delivery->is_redelivered = from->is_redelivered;
    delivery->is_oversized = from->is_oversized;
    delivery->has_died = from->has_died;
    delivery->delivery_count = delivery->given_count = from->delivery_count;
    delivery->body = slice_keep(&end, from->body);
    delivery->type = slice_keep(&end, from->type);
    delivery->message_id = slice_keep(&end, from->message_id);
    delivery->reply_to = slice_keep(&end, from->reply_to);
    delivery->correlation_id = slice_keep(&end, from->correlation_id);
    delivery->app_id = slice_keep(&end, from->app_id);
    delivery->exchange = slice_keep(&end, from->exchange);
    delivery->traceparent = slice_keep(&end, from->traceparent);
    fake_broker.options.on_delivery(fake_broker.options.arg, delivery);
}

static void delivery_free(struct mg_delivery *delivery)
{
    free((struct kept *)delivery); /* its first member */
}

void mg_broker_ack(struct mg_broker *broker, struct mg_delivery *delivery)
{
    (void)broker;
    fake_broker.acked++;
    delivery_free(delivery);
}

void mg_broker_reject(struct mg_broker *broker, struct mg_delivery *delivery)
{
    (void)broker;
    fake_broker.rejected++;
    delivery_free(delivery);
}

void mg_broker_requeue(struct mg_broker *broker, struct mg_delivery *delivery)
{
    (void)broker;
    fake_broker.requeued++;
    delivery_free(delivery);
}

void mg_broker_pause(struct mg_broker *broker, int consumer)
{
    (void)broker;
    fake_broker.paused++;
    fake_broker.is_off[consumer] = true;
}

void mg_broker_set_rank(struct mg_broker *broker, int64_t rank)
{
    (void)broker;
    fake_broker.options.rank = rank;
}

void mg_broker_resume(struct mg_broker *broker, int consumer, uint16_t prefetch)
{
    (void)broker;
    fake_broker.resumed++;
    fake_broker.prefetch[consumer] = prefetch;
    fake_broker.is_off[consumer] = false;
}

const char *mg_publish_outcome_name(enum mg_publish_outcome outcome)
{
    static const char *const NAMES[] = {"confirmed", "refused", "returned", "unknown", "unsent"};
    return NAMES[outcome];
}

static void text_keep(char *to, size_t size, const char *text)
{
    strncpy(to, text != NULL ? text : "", size - 1);
}

enum mg_class mg_broker_publish(struct mg_broker *broker, const struct mg_message *message,
                                mg_published_fn *done, void *arg, struct mg_err *err)
{
    (void)broker;
    if (fake_broker.room == 0 || fake_broker.count == FAKE_PUBLISHED_MAX) {
        return mg_err_set(err, MG_TRANSIENT, "no room");
    }
    fake_broker.room--;
    struct fake_published *published = &fake_broker.published[fake_broker.count++];
    text_keep(published->type, sizeof(published->type), message->type);
    text_keep(published->traceparent, sizeof(published->traceparent), message->traceparent);
    text_keep(published->queue, sizeof(published->queue), message->routing_key);
    text_keep(published->correlation, sizeof(published->correlation), message->correlation_id);
    text_keep(published->message_id, sizeof(published->message_id), message->message_id);
    text_keep(published->reason, sizeof(published->reason), message->reason);
    text_keep(published->origin, sizeof(published->origin), message->origin);
    text_keep(published->app_id, sizeof(published->app_id), message->app_id);
    published->body = strndup(message->body.data, message->body.len);
    published->is_again = message->is_again;
    published->is_open = true;
    published->done = done;
    published->arg = arg;
    return MG_OK;
}

size_t mg_broker_publish_room(const struct mg_broker *broker)
{
    (void)broker;
    return fake_broker.room;
}

bool fake_broker_confirm(void)
{
    for (int i = 0; i < fake_broker.count; i++) {
        struct fake_published *published = &fake_broker.published[i];
        if (published->is_open) {
            bool is_failing =
                fake_broker.fails_type != NULL && strcmp(fake_broker.fails_type, published->type) == 0;
            published->is_open = false;
            fake_broker.room++;
            published->done(published->arg, is_failing ? fake_broker.failure : MG_PUBLISH_CONFIRMED);
            return true;
        }
    }
    return false;
}

enum mg_class mg_broker_watch_queue(struct mg_broker *broker, const char *queue, int64_t period_ms,
                                    mg_queue_seen_fn *seen, void *arg, struct mg_err *err)
{
    (void)broker;
    (void)period_ms;
    if (watched_count == WATCHED_MAX) {
        return mg_err_set(err, MG_PERMANENT, "too many");
    }
    text_keep(watched[watched_count].queue, sizeof(watched[0].queue), queue);
    watched[watched_count].seen = seen;
    watched[watched_count++].arg = arg;
    return MG_OK;
}

void mg_broker_look(struct mg_broker *broker, const char *queue)
{
    (void)broker;
    (void)queue;
    fake_broker.looks++;
}

void fake_broker_seen(void)
{
    for (int i = 0; i < watched_count; i++) {
        watched[i].seen(watched[i].arg, watched[i].queue, fake_broker.queue_ready,
                        fake_broker.queue_consumers);
    }
}

int fake_broker_count(const char *type)
{
    int count = 0;
    for (int i = 0; i < fake_broker.count; i++) {
        count += strcmp(fake_broker.published[i].type, type) == 0 ? 1 : 0;
    }
    return count;
}

const struct fake_published *fake_broker_last(const char *type)
{
    for (int i = fake_broker.count - 1; i >= 0; i--) {
        if (strcmp(fake_broker.published[i].type, type) == 0) {
            return &fake_broker.published[i];
        }
    }
    return NULL;
}

bool mg_broker_is_stopped(const struct mg_broker *broker, int consumer)
{
    (void)broker;
    return fake_broker.is_off[consumer];
}

int mg_broker_unsent_acks(const struct mg_broker *broker, int consumer)
{
    (void)broker;
    (void)consumer;
    return 0;
}
