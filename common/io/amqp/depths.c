/*
 * Depths of queues and the presence of exchanges, by passive declares on a connection of its own. For a
 * missing one the broker closes the channel, and no important channel may be lost by that. One request at a
 * time.
 */
#include <stdlib.h>
#include <string.h>

#include "io/amqp/broker_parts.h"

#define WATCHES_MAX    512 /* all queues of Makegood for a hundred services; a gateway's 128 clients twice */
#define QUESTION_BYTES 512

struct mg_watched {
    struct mg_watch_part *part;
    LIST_ENTRY(mg_watched) entry;
    TAILQ_ENTRY(mg_watched) due_entry; /* if it is due: in the line for the next request */
    bool is_due;
    char *name;
    bool is_exchange;
    struct mg_timer *timer;
    mg_queue_seen_fn *seen; /* NULL: no callback (any more) */
    void *arg;
    bool is_consumed; /* this process consumes it: its consumers are checked in any case */
};

static void watch_opened(struct mg_link *link);
static void watch_lost(struct mg_link *link);
static void watch_method(struct mg_link *link, const amqp_method_t *method);
static bool watch_channel_closed(struct mg_link *link, const amqp_channel_close_t *close);
static void watch_on_timer(void *arg);
static void watch_next(struct mg_watch_part *part);

static const struct mg_link_events watch_events = {
    .opened = watch_opened,
    .lost = watch_lost,
    .method = watch_method,
    .writable = watch_opened,
    .channel_closed = watch_channel_closed,
};

enum mg_class mg_watches_init(struct mg_watch_part *part, struct mg_broker_base *base, struct mg_err *err)
{
    TAILQ_INIT(&part->due);
    return mg_link_init(&part->link, base, "watch", &watch_events, part, err);
}

static void watched_free(struct mg_watched *watched)
{
    mg_timer_destroy(watched->timer);
    free(watched->name);
    free(watched);
}

void mg_watches_finish(struct mg_watch_part *part)
{
    mg_link_finish(&part->link);
    while (!LIST_EMPTY(&part->all)) {
        struct mg_watched *watched = LIST_FIRST(&part->all);
        LIST_REMOVE(watched, entry);
        watched_free(watched);
    }
    TAILQ_INIT(&part->due);
    part->asked = NULL;
    part->count = 0;
}

/* NULL: none. */
static struct mg_watched *watch_find(const struct mg_watch_part *part, const char *name, bool is_exchange)
{
    struct mg_watched *watched;
    LIST_FOREACH(watched, &part->all, entry)
    {
        if (watched->is_exchange == is_exchange && strcmp(watched->name, name) == 0) {
            return watched;
        }
    }
    return NULL;
}

static enum mg_class watch_begin(struct mg_broker *broker, const char *name, bool is_exchange,
                                 int64_t period_ms, mg_queue_seen_fn *seen, void *arg, struct mg_err *err)
{
    struct mg_watch_part *part = &broker->watches;
    const char *kind = is_exchange ? "exchange" : "queue";
    struct mg_watched *known = watch_find(part, name, is_exchange);
    if (known != NULL) {
        known->is_consumed = known->is_consumed || seen == NULL;
        if (known->seen == NULL && seen != NULL) { /* so far without a callback */
            known->seen = seen;
            known->arg = arg;
            mg_timer_start(known->timer, 0, period_ms);
        }
        return MG_OK;
    }
    if (strlen(name) > MG_AMQP_SHORT_MAX || name[0] == '\0') {
        return mg_err_set(err, MG_BAD_INPUT, "cannot watch a queue whose name is empty or above %d bytes",
                          MG_AMQP_SHORT_MAX);
    }
    if (part->count >= WATCHES_MAX) {
        return mg_err_set(err, MG_PERMANENT, "cannot watch %s %s: %d are watched already", kind, name,
                          WATCHES_MAX);
    }
    struct mg_watched *watched = calloc(1, sizeof(*watched));
    char *copy = strdup(name);
    struct mg_timer *timer =
        watched == NULL ? NULL : mg_timer_create(broker->base.loop, watch_on_timer, watched);
    if (watched == NULL || copy == NULL || timer == NULL) {
        mg_timer_destroy(timer);
        free(copy);
        free(watched);
        return mg_err_set(err, MG_TRANSIENT, "could not watch %s %s: no memory", kind, name);
    }
    *watched = (struct mg_watched){.part = part,
                                   .name = copy,
                                   .is_exchange = is_exchange,
                                   .timer = timer,
                                   .seen = seen,
                                   .arg = arg,
                                   .is_consumed = seen == NULL};
    LIST_INSERT_HEAD(&part->all, watched, entry);
    part->count++;
    mg_timer_start(timer, 0, period_ms);
    mg_link_start(&part->link);
    return MG_OK;
}

enum mg_class mg_broker_watch_queue(struct mg_broker *broker, const char *queue, int64_t period_ms,
                                    mg_queue_seen_fn *seen, void *arg, struct mg_err *err)
{
    return watch_begin(broker, queue, false, period_ms, seen, arg, err);
}

enum mg_class mg_broker_watch_exchange(struct mg_broker *broker, const char *exchange, int64_t period_ms,
                                       mg_queue_seen_fn *seen, void *arg, struct mg_err *err)
{
    return watch_begin(broker, exchange, true, period_ms, seen, arg, err);
}

/* A watch without a callback and without a consumer is dropped. If the broker owes an answer about it, it is
 * dropped after that answer. */
static void watch_forget(struct mg_watched *watched)
{
    struct mg_watch_part *part = watched->part;
    if (watched->seen != NULL || watched->is_consumed || part->asked == watched) {
        return;
    }
    LIST_REMOVE(watched, entry);
    if (watched->is_due) {
        TAILQ_REMOVE(&part->due, watched, due_entry);
    }
    part->count--;
    watched_free(watched);
}

static void watch_end(struct mg_broker *broker, const char *name, bool is_exchange)
{
    struct mg_watched *watched = watch_find(&broker->watches, name, is_exchange);
    if (watched == NULL) {
        return;
    }
    watched->seen = NULL;
    if (!watched->is_consumed) {
        mg_timer_stop(watched->timer);
    }
    watch_forget(watched);
}

void mg_broker_unwatch_queue(struct mg_broker *broker, const char *queue)
{
    watch_end(broker, queue, false);
}

void mg_broker_unwatch_exchange(struct mg_broker *broker, const char *exchange)
{
    watch_end(broker, exchange, true);
}

static void watch_on_timer(void *arg)
{
    struct mg_watched *watched = arg;
    struct mg_watch_part *part = watched->part;
    mg_broker_enter(part->link.base);
    if (!watched->is_due && part->asked != watched) {
        watched->is_due = true;
        TAILQ_INSERT_TAIL(&part->due, watched, due_entry);
    }
    watch_next(part);
    mg_broker_leave(part->link.base);
}

void mg_broker_look(struct mg_broker *broker, const char *queue)
{
    struct mg_watched *watched = watch_find(&broker->watches, queue, false);
    if (watched != NULL && (watched->seen != NULL || watched->is_consumed)) {
        watch_on_timer(watched);
    }
}

static bool question_send(struct mg_link *link, const struct mg_watched *watched)
{
    amqp_bytes_t name = amqp_cstring_bytes(watched->name);
    if (watched->is_exchange) {
        amqp_exchange_declare_t declare = {
            .exchange = name, .type = amqp_cstring_bytes("direct"), .passive = 1};
        return mg_link_send(link, AMQP_EXCHANGE_DECLARE_METHOD, &declare);
    }
    amqp_queue_declare_t declare = {.queue = name, .passive = 1};
    return mg_link_send(link, AMQP_QUEUE_DECLARE_METHOD, &declare);
}

static void watch_next(struct mg_watch_part *part)
{
    struct mg_link *link = &part->link;
    struct mg_watched *watched = TAILQ_FIRST(&part->due);
    if (!link->is_open || link->is_reopening || part->asked != NULL || watched == NULL ||
        !mg_link_has_room(link, QUESTION_BYTES)) {
        return;
    }
    TAILQ_REMOVE(&part->due, watched, due_entry);
    watched->is_due = false;
    part->asked = watched;
    if (question_send(link, watched)) {
        mg_link_asked(link);
    }
}

static void watch_opened(struct mg_link *link)
{
    watch_next(link->owner);
}

static void watch_lost(struct mg_link *link)
{
    struct mg_watch_part *part = link->owner;
    struct mg_watched *watched = part->asked;
    part->asked = NULL; /* the timer asks again */
    if (watched != NULL) {
        watch_forget(watched);
    }
}

static void watch_report(struct mg_watched *watched, int64_t ready_messages, int64_t consumers)
{
    const struct mg_watch_part *part = watched->part;
    if (part->looked != NULL && !watched->is_exchange) {
        part->looked(part->arg, watched->name, consumers);
    }
    if (watched->seen != NULL) {
        watched->seen(watched->arg, watched->name, ready_messages, consumers); /* may end the watch */
    } else {
        watch_forget(watched);
    }
}

static void watch_method(struct mg_link *link, const amqp_method_t *method)
{
    struct mg_watch_part *part = link->owner;
    struct mg_watched *watched = part->asked;
    bool is_queue = method->id == AMQP_QUEUE_DECLARE_OK_METHOD;
    if ((!is_queue && method->id != AMQP_EXCHANGE_DECLARE_OK_METHOD) || watched == NULL) {
        return;
    }
    const amqp_queue_declare_ok_t *ok = is_queue ? method->decoded : NULL;
    mg_link_answered(link);
    part->asked = NULL;
    watch_report(watched, ok != NULL ? ok->message_count : 0, ok != NULL ? ok->consumer_count : 0);
    watch_next(part);
}

static bool watch_channel_closed(struct mg_link *link, const amqp_channel_close_t *close)
{
    int code = close->reply_code;
    struct mg_watch_part *part = link->owner;
    struct mg_watched *watched = part->asked;
    if (watched == NULL || (code != AMQP_NOT_FOUND && code != AMQP_ACCESS_REFUSED)) {
        return false;
    }
    mg_link_answered(link);
    part->asked = NULL;
    if (code == AMQP_NOT_FOUND) {
        watch_report(watched, 0, -1);
    } else {
        watch_forget(watched);
    }
    return true;
}
