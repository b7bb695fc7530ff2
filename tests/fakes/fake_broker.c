/* See fake_broker.h. */
#include "fake_broker.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"

struct fake_broker fake_broker;

static struct {
    char queue[128];
    mg_queue_seen_fn *seen;
    void *arg;
} watched[FAKE_WATCHED_MAX];

/* A delivery with its texts after it: the test's own may be gone before the delivery is settled. */
struct kept {
    struct mg_delivery delivery;
    struct kept *next;
    char texts[];
};
static struct kept *held;

static void held_forget(void)
{
    while (held != NULL) {
        struct kept *kept = held;
        held = kept->next;
        free(kept);
    }
}

void fake_broker_forget(void)
{
    for (int i = 0; i < fake_broker.count; i++) {
        free(fake_broker.published[i].body);
    }
    memset(fake_broker.published, 0, (size_t)fake_broker.count * sizeof(fake_broker.published[0]));
    fake_broker.count = 0;
}

void fake_broker_reset(void)
{
    held_forget();
    fake_broker_forget();
    memset(&fake_broker, 0, sizeof(fake_broker));
    fake_broker.room = 1000;
    fake_broker.queue_consumers = -2;
}

enum mg_class mg_broker_create(struct mg_loop *loop, const struct mg_broker_options *options,
                               struct mg_broker **ret_broker, struct mg_err *err)
{
    (void)loop;
    (void)err;
    fake_broker.options = *options;
    for (int i = 0; i < options->consumer_count; i++) {
        fake_broker.prefetch[i] = options->consumers[i].prefetch;
    }
    *ret_broker = (struct mg_broker *)&fake_broker;
    return MG_OK;
}

void mg_broker_destroy(struct mg_broker *broker)
{
    (void)broker;
    held_forget();
}

enum mg_class mg_broker_set_url(struct mg_broker *broker, const char *url, struct mg_err *err)
{
    (void)broker, (void)url, (void)err;
    return MG_OK;
}

bool mg_broker_is_up(const struct mg_broker *broker, char *ret_reason, size_t size)
{
    (void)broker;
    (void)snprintf(ret_reason, size, "%s", fake_broker.is_down ? "the broker is away" : "");
    return !fake_broker.is_down;
}

bool mg_broker_can_publish(const struct mg_broker *broker)
{
    (void)broker;
    return !fake_broker.is_down && !fake_broker.is_barred;
}

bool mg_broker_is_barred(const struct mg_broker *broker)
{
    (void)broker;
    return fake_broker.is_barred;
}

void fake_broker_connect(bool is_up)
{
    fake_broker.is_down = !is_up;
    fake_broker.options.on_state(fake_broker.options.arg, is_up, is_up ? "" : "gone");
}

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
    delivery->arrived_boot_ms = mg_clock_boot_ms();
    kept->next = held;
    held = kept;
    fake_broker.options.on_delivery(fake_broker.options.arg, delivery);
}

static void act(char action, const struct mg_delivery *delivery)
{
    if (fake_broker.on_action != NULL) {
        fake_broker.on_action(action, delivery);
    }
}

static void delivery_end(struct mg_delivery *delivery, char action, int *count)
{
    struct kept **at = &held;
    while (*at != NULL && &(*at)->delivery != delivery) {
        at = &(*at)->next;
    }
    assert(*at != NULL); /* a delivery is ended twice, or after its connection */
    struct kept *kept = *at;
    *at = kept->next;
    (*count)++;
    act(action, delivery);
    free(kept);
}

void mg_broker_ack(struct mg_broker *broker, struct mg_delivery *delivery)
{
    (void)broker;
    delivery_end(delivery, 'a', &fake_broker.acked);
}

void mg_broker_reject(struct mg_broker *broker, struct mg_delivery *delivery)
{
    (void)broker;
    delivery_end(delivery, 'x', &fake_broker.rejected);
}

void mg_broker_requeue(struct mg_broker *broker, struct mg_delivery *delivery)
{
    (void)broker;
    delivery_end(delivery, 'q', &fake_broker.requeued);
}

void mg_broker_pause(struct mg_broker *broker, int consumer)
{
    (void)broker;
    fake_broker.paused++;
    fake_broker.is_off[consumer] = true;
    act('p', NULL);
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
    act('u', NULL);
}

int mg_broker_prefetch(const struct mg_broker *broker, int consumer)
{
    (void)broker;
    return fake_broker.is_off[consumer] ? 0 : fake_broker.prefetch[consumer];
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
    bool is_refused =
        fake_broker.refused_type != NULL && strcmp(fake_broker.refused_type, message->type) == 0;
    if (fake_broker.room == 0 || fake_broker.count == FAKE_PUBLISHED_MAX || is_refused) {
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
    if (fake_broker.on_publish != NULL) {
        fake_broker.on_publish(message);
    }
    return MG_OK;
}

size_t mg_broker_publish_room(const struct mg_broker *broker)
{
    (void)broker;
    return fake_broker.room;
}

static void publish_end(struct fake_published *published, enum mg_publish_outcome outcome)
{
    published->is_open = false;
    fake_broker.room++;
    published->done(published->arg, outcome);
}

bool fake_broker_confirm(void)
{
    for (int i = 0; i < fake_broker.count; i++) {
        struct fake_published *published = &fake_broker.published[i];
        if (published->is_open) {
            bool is_failing =
                fake_broker.fails_type != NULL && strcmp(fake_broker.fails_type, published->type) == 0;
            publish_end(published, is_failing ? fake_broker.failure : MG_PUBLISH_CONFIRMED);
            return true;
        }
    }
    return false;
}

void fake_broker_end(const char *type, enum mg_publish_outcome outcome)
{
    for (int i = fake_broker.count - 1; i >= 0; i--) {
        if (fake_broker.published[i].is_open && strcmp(fake_broker.published[i].type, type) == 0) {
            publish_end(&fake_broker.published[i], outcome);
            return;
        }
    }
    assert(!"no such publish is open");
}

/* Its place among the watched ones, or after them. */
static int watch_find(const char *queue)
{
    int place = 0;
    while (place < fake_broker.watched && strcmp(watched[place].queue, queue) != 0) {
        place++;
    }
    return place;
}

enum mg_class mg_broker_watch_queue(struct mg_broker *broker, const char *queue, int64_t period_ms,
                                    mg_queue_seen_fn *seen, void *arg, struct mg_err *err)
{
    (void)broker;
    (void)period_ms;
    int place = watch_find(queue);
    if (place < fake_broker.watched) {
        return MG_OK;
    }
    if (fake_broker.is_unwatchable || place == FAKE_WATCHED_MAX) {
        return mg_err_set(err, MG_PERMANENT, "too many are watched");
    }
    text_keep(watched[place].queue, sizeof(watched[0].queue), queue);
    watched[place].seen = seen;
    watched[place].arg = arg;
    fake_broker.watched++;
    return MG_OK;
}

void mg_broker_unwatch_queue(struct mg_broker *broker, const char *queue)
{
    (void)broker;
    int place = watch_find(queue);
    if (place < fake_broker.watched) {
        watched[place] = watched[--fake_broker.watched];
    }
}

void fake_broker_queue_seen(const char *queue, int64_t ready, int64_t consumers)
{
    int place = watch_find(queue);
    assert(place < fake_broker.watched);
    watched[place].seen(watched[place].arg, queue, ready, consumers);
}

enum mg_class mg_broker_listen(struct mg_broker *broker, const char *exchange, const char *queue_prefix,
                               mg_received_fn *received, void *arg, struct mg_err *err)
{
    (void)broker, (void)err;
    (void)snprintf(fake_broker.listened_names, sizeof(fake_broker.listened_names), "%s %s", exchange,
                   queue_prefix);
    fake_broker.received = received;
    fake_broker.received_arg = arg;
    return MG_OK;
}

void fake_broker_say(const char *body)
{
    fake_broker.received(fake_broker.received_arg, mg_slice_of(body));
}

void mg_broker_cast(struct mg_broker *broker, const char *exchange, const char *routing_key, const char *type,
                    struct mg_slice body)
{
    (void)broker;
    if (fake_broker.on_cast != NULL) {
        fake_broker.on_cast(exchange, routing_key, type, body);
    }
}

void mg_broker_look(struct mg_broker *broker, const char *queue)
{
    (void)broker;
    (void)queue;
    fake_broker.looks++;
}

void fake_broker_seen(void)
{
    for (int i = 0; i < fake_broker.watched; i++) {
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

const struct fake_published *fake_broker_nth(const char *type, int n)
{
    for (int i = 0; i < fake_broker.count; i++) {
        if (strcmp(fake_broker.published[i].type, type) == 0 && n-- == 0) {
            return &fake_broker.published[i];
        }
    }
    return NULL;
}

const struct fake_published *fake_broker_last(const char *type)
{
    int count = fake_broker_count(type);
    return count == 0 ? NULL : fake_broker_nth(type, count - 1);
}

bool mg_broker_is_stopped(const struct mg_broker *broker, int consumer)
{
    (void)broker;
    return fake_broker.is_off[consumer] && !fake_broker.is_on_its_way[consumer];
}

int mg_broker_unsent_acks(const struct mg_broker *broker, int consumer)
{
    (void)broker;
    return fake_broker.unsent_acks[consumer];
}
