/*
 * See poster.h. Orders in hand are in one list, by which they are posted again, and in a hash table by id,
 * for their statuses. Those to be posted stand in a second list. A post that is under way has a record of its
 * own, so that its order may be removed, or posted again, before the broker has answered.
 */
#include "client/poster.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/key.h"
#include "io/amqp/topology.h"

/* Posts without a confirm. This stays below the broker client's publish window and keeps the intake queue
 * short. */
#define WINDOW 256
/* After a post that was not confirmed: an intake queue that is full takes some time to have room again. */
#define PAUSE_MS 100
/* Statuses on their way and in hand. They are small, and read as they come. */
#define PREFETCH     256
#define STATUSES_MAX ((size_t)16 * 1024 * 1024)
#define QUEUE_SIZE   256 /* the longest name of a queue, and NUL */
#define SLOTS_FIRST  64  /* a power of two, as all its successors */

struct mg_post {
    TAILQ_ENTRY(mg_post) entry;
    struct mg_poster *poster;
    struct mg_posting *posting; /* NULL: its order was removed, or is posted again */
};

TAILQ_HEAD(posting_list, mg_posting);

struct mg_poster {
    struct mg_broker *broker;
    struct mg_idle *pump;
    struct mg_timer *pause;
    bool is_paused, wants_statuses;
    bool (*on_posted)(void *arg, struct mg_posting *posting, enum mg_publish_outcome outcome);
    bool (*on_status)(void *arg, struct mg_posting *posting, struct mg_slice body);
    void (*on_state)(void *arg, bool is_up, const char *reason);
    void *arg;
    char exchange[MG_QUEUE_NAME_SIZE], signals[MG_QUEUE_NAME_SIZE]; /* "": a client without a name has none */
    char reply_queue[QUEUE_SIZE];                                   /* "": none yet */
    bool has_own_queue; /* the client's, which outlives connections */

    struct posting_list in_hand, due;
    TAILQ_HEAD(, mg_post) posts;
    int unconfirmed;
    size_t count, slot_count;
    struct mg_posting **slots;
};

/* ---- orders by id ---- */

static struct mg_posting **slot_of(const struct mg_poster *poster, struct mg_slice order_id)
{
    uint64_t hash = 14695981039346656037u; /* FNV-1a */
    for (size_t i = 0; i < order_id.len; i++) {
        hash = (hash ^ (unsigned char)order_id.data[i]) * 1099511628211u;
    }
    return &poster->slots[hash & (poster->slot_count - 1)];
}

struct mg_posting *mg_poster_find(const struct mg_poster *poster, struct mg_slice order_id)
{
    struct mg_posting *posting = *slot_of(poster, order_id);
    while (posting != NULL && !mg_slice_is(order_id, posting->order_id)) {
        posting = posting->next_of_slot;
    }
    return posting;
}

static void slot_add(struct mg_poster *poster, struct mg_posting *posting)
{
    struct mg_posting **slot = slot_of(poster, mg_slice_of(posting->order_id));
    posting->next_of_slot = *slot;
    *slot = posting;
}

/* As many slots as orders at least, so that a slot has one or two. Without memory the table stays as it is.
 */
static void slots_grow(struct mg_poster *poster)
{
    size_t slot_count = poster->slots == NULL ? SLOTS_FIRST : 2 * poster->slot_count;
    struct mg_posting **slots = calloc(slot_count, sizeof(struct mg_posting *));
    struct mg_posting *posting;
    if (slots == NULL) {
        return;
    }
    free(poster->slots);
    poster->slots = slots;
    poster->slot_count = slot_count;
    TAILQ_FOREACH(posting, &poster->in_hand, in_hand)
    {
        slot_add(poster, posting);
    }
}

/* ---- posting ---- */

static void posting_make_due(struct mg_poster *poster, struct mg_posting *posting)
{
    if (posting->post != NULL) {
        posting->post->posting = NULL; /* its answer is not waited for */
        posting->post = NULL;
        posting->is_maybe = true;
    }
    if (!posting->is_due) {
        posting->is_due = true;
        TAILQ_INSERT_TAIL(&poster->due, posting, due);
    }
    mg_idle_arm(poster->pump);
}

static void posting_make_not_due(struct mg_poster *poster, struct mg_posting *posting)
{
    if (posting->is_due) {
        posting->is_due = false;
        TAILQ_REMOVE(&poster->due, posting, due);
    }
}

static void pause_begin(struct mg_poster *poster)
{
    if (!poster->is_paused) {
        poster->is_paused = true;
        mg_timer_start(poster->pause, PAUSE_MS, 0);
    }
}

static void post_finish(struct mg_post *post)
{
    TAILQ_REMOVE(&post->poster->posts, post, entry);
    post->poster->unconfirmed--;
    free(post);
}

static void post_settled(void *arg, enum mg_publish_outcome outcome)
{
    struct mg_post *post = arg;
    struct mg_poster *poster = post->poster;
    struct mg_posting *posting = post->posting;
    post_finish(post);
    if (outcome != MG_PUBLISH_CONFIRMED) {
        pause_begin(poster);
    }
    mg_idle_arm(poster->pump);
    if (posting == NULL) {
        return;
    }
    posting->post = NULL;
    posting->is_maybe = posting->is_maybe || outcome == MG_PUBLISH_UNKNOWN;
    if (poster->on_posted(poster->arg, posting, outcome) && outcome != MG_PUBLISH_CONFIRMED) {
        posting_make_due(poster, posting);
    }
}

static bool posting_send(struct mg_poster *poster, struct mg_posting *posting)
{
    struct mg_err err;
    struct mg_post *post = calloc(1, sizeof(*post));
    if (post == NULL) {
        return false;
    }
    bool is_signal = posting->signal != NULL;
    const char *intake = posting->is_high ? MG_QUEUE_INTAKE_HIGH : MG_QUEUE_INTAKE;
    struct mg_message message = {.exchange = is_signal ? poster->signals : poster->exchange,
                                 .routing_key = is_signal ? posting->signal : intake,
                                 .type = is_signal ? "command" : "submission",
                                 .message_id = is_signal ? posting->signal_id : posting->order_id,
                                 .correlation_id = posting->order_id,
                                 .reply_to = poster->wants_statuses ? poster->reply_queue : NULL,
                                 .traceparent = posting->traceparent,
                                 .body = posting->body};
    if (mg_broker_publish(poster->broker, &message, post_settled, post, &err) != MG_OK) {
        free(post);
        return false;
    }
    *post = (struct mg_post){.poster = poster, .posting = posting};
    TAILQ_INSERT_TAIL(&poster->posts, post, entry);
    posting->post = post;
    poster->unconfirmed++;
    return true;
}

static void pump_run(void *arg)
{
    struct mg_poster *poster = arg;
    struct mg_posting *posting;
    bool has_queue = !poster->wants_statuses || poster->reply_queue[0] != '\0';
    if (poster->is_paused || !has_queue || !mg_broker_is_up(poster->broker, NULL, 0)) {
        return; /* the end of each calls it again */
    }
    while (poster->unconfirmed < WINDOW && (posting = TAILQ_FIRST(&poster->due)) != NULL) {
        if (!posting_send(poster, posting)) {
            pause_begin(poster);
            return;
        }
        posting_make_not_due(poster, posting);
    }
}

static void pause_end(void *arg)
{
    struct mg_poster *poster = arg;
    poster->is_paused = false;
    pump_run(poster);
}

static void all_post_again(struct mg_poster *poster)
{
    struct mg_posting *posting;
    TAILQ_FOREACH(posting, &poster->in_hand, in_hand)
    {
        if (!posting->is_over) {
            posting_make_due(poster, posting);
        }
    }
}

/* ---- the connection ---- */

/* The private queue is new: at the start, and after each reconnect. */
static void queue_named(void *arg, int consumer, const char *queue)
{
    struct mg_poster *poster = arg;
    (void)consumer;
    (void)snprintf(poster->reply_queue, sizeof(poster->reply_queue), "%s", queue);
    all_post_again(poster);
}

static void state_changed(void *arg, bool is_up, const char *reason)
{
    struct mg_poster *poster = arg;
    if (is_up && poster->has_own_queue) {
        all_post_again(poster); /* the queue kept its statuses, but it may have been made anew */
    }
    if (is_up) {
        mg_idle_arm(poster->pump);
    }
    if (poster->on_state != NULL) {
        poster->on_state(poster->arg, is_up, reason);
    }
}

static void status_came(void *arg, struct mg_delivery *delivery)
{
    struct mg_poster *poster = arg;
    struct mg_posting *posting =
        delivery->correlation_id.data != NULL ? mg_poster_find(poster, delivery->correlation_id) : NULL;
    if (posting != NULL && poster->on_status(poster->arg, posting, delivery->body)) {
        posting->is_over = true;
        posting_make_not_due(poster, posting);
    }
    mg_broker_ack(poster->broker, delivery);
}

static enum mg_class poster_name(struct mg_poster *poster, const char *client, struct mg_err *err)
{
    if (client == NULL || client[0] == '\0') {
        (void)snprintf(poster->exchange, sizeof(poster->exchange), "%s", MG_EXCHANGE_INTAKE);
        return MG_OK;
    }
    if (!mg_name_is_valid(client, strlen(client))) {
        return mg_err_set(
            err, MG_BAD_INPUT,
            "%.80s is no name of a client: 1 to %d characters a-z, 0-9, \"_\", \"-\", the first a letter",
            client, MG_NAME_MAX);
    }
    (void)snprintf(poster->exchange, sizeof(poster->exchange), "%s%s", MG_INTAKE_PREFIX, client);
    mg_topology_signal_exchange(client, poster->signals);
    (void)snprintf(poster->reply_queue, sizeof(poster->reply_queue), "%s%s.statuses", MG_CLIENT_PREFIX,
                   client);
    poster->has_own_queue = true;
    return MG_OK;
}

enum mg_class mg_poster_create(struct mg_loop *loop, const struct mg_poster_options *options,
                               struct mg_poster **ret_poster, struct mg_err *err)
{
    struct mg_poster *poster = calloc(1, sizeof(*poster));
    if (poster == NULL) {
        return mg_err_set(err, MG_TRANSIENT, "could not start to post orders: no memory");
    }
    TAILQ_INIT(&poster->in_hand);
    TAILQ_INIT(&poster->due);
    TAILQ_INIT(&poster->posts);
    poster->wants_statuses = options->wants_statuses;
    poster->on_posted = options->on_posted;
    poster->on_status = options->on_status;
    poster->on_state = options->on_state;
    poster->arg = options->arg;
    poster->pump = mg_idle_create(loop, pump_run, poster);
    poster->pause = mg_timer_create(loop, pause_end, poster);
    slots_grow(poster);
    enum mg_class class = poster_name(poster, options->client, err);
    if (class == MG_OK && (poster->pump == NULL || poster->pause == NULL || poster->slots == NULL)) {
        class = mg_err_set(err, MG_TRANSIENT, "could not start to post orders: no memory");
    }
    if (class == MG_OK) {
        struct mg_broker_options broker = {.address = options->address,
                                           .name = options->name,
                                           .on_delivery = status_came,
                                           .on_state = state_changed,
                                           .arg = poster};
        if (poster->wants_statuses && poster->has_own_queue) {
            broker.consumers[0] = (struct mg_consumer){
                .queue = poster->reply_queue, .prefetch = PREFETCH, .bytes_max = STATUSES_MAX};
            broker.consumer_count = 1;
        }
        class = mg_broker_create(loop, &broker, &poster->broker, err);
    }
    if (class != MG_OK) {
        mg_poster_destroy(poster);
        return class;
    }
    if (poster->wants_statuses && !poster->has_own_queue) {
        mg_broker_consume_private(poster->broker, PREFETCH, queue_named, poster);
    }
    *ret_poster = poster;
    return MG_OK;
}

void mg_poster_destroy(struct mg_poster *poster)
{
    if (poster == NULL) {
        return;
    }
    mg_broker_destroy(poster->broker);
    while (!TAILQ_EMPTY(&poster->posts)) { /* they end without a callback */
        post_finish(TAILQ_FIRST(&poster->posts));
    }
    mg_idle_destroy(poster->pump);
    mg_timer_destroy(poster->pause);
    free(poster->slots);
    free(poster);
}

void mg_poster_add(struct mg_poster *poster, struct mg_posting *posting)
{
    if (poster->count >= poster->slot_count) {
        slots_grow(poster);
    }
    posting->post = NULL;
    posting->is_maybe = posting->is_due = posting->is_over = false;
    slot_add(poster, posting);
    TAILQ_INSERT_TAIL(&poster->in_hand, posting, in_hand);
    poster->count++;
    posting_make_due(poster, posting);
}

void mg_poster_remove(struct mg_poster *poster, struct mg_posting *posting)
{
    struct mg_posting **place = slot_of(poster, mg_slice_of(posting->order_id));
    while (*place != posting) {
        place = &(*place)->next_of_slot;
    }
    *place = posting->next_of_slot;
    if (posting->post != NULL) {
        posting->post->posting = NULL;
    }
    posting_make_not_due(poster, posting);
    TAILQ_REMOVE(&poster->in_hand, posting, in_hand);
    poster->count--;
}

struct mg_broker *mg_poster_broker(const struct mg_poster *poster)
{
    return poster->broker;
}
