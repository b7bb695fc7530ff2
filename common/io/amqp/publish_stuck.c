/*
 * The line of a publisher's messages: each is appended once, and leaves it by its outcome. Channels that
 * stall, and messages whose time is over.
 *
 * A quorum queue that has lost its majority confirms nothing, and the channel that gives it a message stalls
 * for all queues. While messages to several queues are out, the stuck queue cannot be identified. So
 * all messages that are out end as unknown with their connection. Their queues then use a second connection,
 * one queue at a time, until they answer. If a message ends as unknown there, or by its time-out, its queue
 * takes nothing. A message that was never sent ends as unsent, which proves nothing about its queue.
 */
#include <stdio.h>
#include <stdlib.h>

#include "base/clock.h"
#include "io/amqp/publishing.h"

/* Shares of the confirm time-out that may pass without an answer; a smaller one on the second connection,
 * where the queue is known. */
#define STUCK_SHARE      2
#define APART_SHARE      4
#define EXPIRY_PERIOD_MS 100

static void publish_count(const struct mg_publishing *publishing)
{
    mg_metric_set(publishing->metrics.outstanding,
                  publishing->main.line.count + publishing->apart.line.count);
}

void mg_publish_append(struct mg_publisher *publisher, struct mg_outgoing *message)
{
    mg_outgoing_append(&publisher->line, message);
    publish_count(publisher->publishing);
    mg_link_start(&publisher->link);
    mg_idle_arm(publisher->flush);
    if (!mg_timer_is_active(publisher->expiry)) {
        mg_timer_start(publisher->expiry, EXPIRY_PERIOD_MS, EXPIRY_PERIOD_MS);
    }
}

void mg_publish_settle(struct mg_publisher *publisher, struct mg_outgoing *message,
                       enum mg_publish_outcome outcome)
{
    mg_outgoing_remove(&publisher->line, message);
    publish_count(publisher->publishing);
    if (message->tag != 0 && publisher->ring[message->tag % MG_RING_SIZE] == message) {
        publisher->ring[message->tag % MG_RING_SIZE] = NULL;
    }
    struct mg_publishing *publishing = publisher->publishing;
    bool is_answered = outcome != MG_PUBLISH_UNKNOWN && outcome != MG_PUBLISH_UNSENT;
    if (is_answered && publisher->is_apart) {
        mg_unanswered_remove(&publishing->unanswered, message->routing_key);
    }
    if (outcome == MG_PUBLISH_CONFIRMED && message->is_returned) {
        outcome = MG_PUBLISH_RETURNED;
    }
    mg_published_fn *done = message->done;
    void *arg = message->arg;
    double seconds = (double)(mg_clock_boot_ms() - message->published_boot_ms) / 1000.0;
    bool is_done = message->is_done;
    free(message);
    if (is_done) {
        return;
    }
    mg_metric_add(publishing->metrics.outcomes[outcome], 1);
    if (is_answered) {
        mg_metric_observe(publishing->metrics.confirm_seconds, seconds);
    }
    if (done != NULL) {
        done(arg, outcome);
    }
}

/* The line is in order of time. A message half on the wire cannot leave it: its callback is called once, and
 * it is skipped. Messages before it have expired earlier. */
static struct mg_outgoing *publish_expired(const struct mg_publisher *publisher, int64_t latest_boot_ms)
{
    struct mg_outgoing *message = TAILQ_FIRST(&publisher->line.all);
    if (message != NULL && message->is_done) {
        message = TAILQ_NEXT(message, entry);
    }
    return message != NULL && message->published_boot_ms <= latest_boot_ms ? message : NULL;
}

/* The oldest message's queue takes nothing, and each further message to it would cost a connection too. So
 * all that wait for it end as unsent. */
static void publish_blame_first(struct mg_publisher *publisher)
{
    char queue[MG_AMQP_SHORT_MAX + 1];
    const struct mg_outgoing *first = TAILQ_FIRST(&publisher->line.all);
    (void)snprintf(queue, sizeof(queue), "%.*s", (int)first->routing_key.len, first->routing_key.data);
    mg_publish_settle(publisher, TAILQ_FIRST(&publisher->line.all), MG_PUBLISH_UNKNOWN);
    int left = publisher->line.count; /* excludes messages published by the callbacks */
    for (; left > 0; left--) {
        struct mg_outgoing *message = mg_outgoing_find_waiting(&publisher->line, queue);
        if (message == NULL) {
            return;
        }
        mg_publish_settle(publisher, message, MG_PUBLISH_UNSENT);
    }
}

/* Any of the sent messages may be the one without an answer. Waiting messages for the same queues go apart
 * from now on. */
static void publish_suspect_sent(struct mg_publishing *publishing)
{
    struct mg_outgoing *message = TAILQ_FIRST(&publishing->main.line.all);
    for (; message != NULL && message->tag != 0; message = TAILQ_NEXT(message, entry)) {
        mg_unanswered_add(&publishing->unanswered, message->routing_key);
    }
    while (message != NULL) {
        struct mg_outgoing *next = TAILQ_NEXT(message, entry);
        if (mg_unanswered_has(&publishing->unanswered, message->routing_key)) {
            mg_outgoing_remove(&publishing->main.line, message);
            mg_publish_append(&publishing->apart, message);
        }
        message = next;
    }
}

static void publish_unstick(struct mg_publisher *publisher)
{
    struct mg_link *link = &publisher->link;
    int64_t now = mg_clock_boot_ms();
    int64_t patience_ms =
        publisher->publishing->confirm_timeout_ms / (publisher->is_apart ? APART_SHARE : STUCK_SHARE);
    if (!link->is_open || link->is_blocked || publisher->is_doubted ||
        TAILQ_FIRST(&publisher->line.all) == NULL ||
        TAILQ_FIRST(&publisher->line.all)->state != MG_OUTGOING_SENT ||
        now - link->received_boot_ms < patience_ms ||
        now - TAILQ_FIRST(&publisher->line.all)->sent_boot_ms < patience_ms) {
        return;
    }
    if (publisher->is_apart) {
        publish_blame_first(publisher);
    } else {
        publish_suspect_sent(publisher->publishing);
    }
    if (link->is_open) {
        mg_link_fail(link, MG_TROUBLE_UNREACHABLE, "nothing is confirmed any more");
    }
}

/* If there is no second connection, all queues share the first. */
static void publish_note_expired(const struct mg_publisher *publisher, const struct mg_outgoing *message)
{
    struct mg_publishing *publishing = publisher->publishing;
    if (message->state == MG_OUTGOING_SENT) {
        mg_unanswered_add(&publishing->unanswered, message->routing_key);
    } else if (publisher->is_apart && !publisher->link.is_open) {
        mg_unanswered_remove(&publishing->unanswered, message->routing_key);
    }
}

void mg_publish_on_expiry(void *arg)
{
    struct mg_publisher *publisher = arg;
    struct mg_publishing *publishing = publisher->publishing;
    mg_broker_enter(publisher->link.base);
    publish_unstick(publisher);
    int64_t latest_boot_ms = mg_clock_boot_ms() - publishing->confirm_timeout_ms;
    for (;;) {
        struct mg_outgoing *message = publish_expired(publisher, latest_boot_ms);
        if (message == NULL) {
            break;
        }
        if (message->state != MG_OUTGOING_SENDING) {
            bool is_sent = message->state == MG_OUTGOING_SENT;
            publish_note_expired(publisher, message);
            mg_publish_settle(publisher, message, is_sent ? MG_PUBLISH_UNKNOWN : MG_PUBLISH_UNSENT);
            continue;
        }
        message->is_done = true;
        mg_metric_add(publishing->metrics.outcomes[MG_PUBLISH_UNKNOWN], 1);
        if (message->done != NULL) {
            message->done(message->arg, MG_PUBLISH_UNKNOWN);
        }
    }
    if (TAILQ_FIRST(&publisher->line.all) == NULL && publisher->expiry != NULL) {
        mg_timer_stop(publisher->expiry);
    }
    mg_broker_leave(publisher->link.base);
}
