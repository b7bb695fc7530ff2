/*
 * Channels that stall, and messages whose time is over.
 *
 * A quorum queue that has lost its majority confirms nothing, and the channel that gives it a message stalls
 * for all queues. While messages to several queues are out, the stuck queue cannot be identified. So
 * all messages that are out end as unknown with their connection. Their queues then use a second connection,
 * one queue at a time, until they answer. If a message ends as unknown there, or by its time-out, its queue
 * takes nothing. A message that was never sent ends as unsent, which proves nothing about its queue.
 */
#include <stdio.h>

#include "base/clock.h"
#include "io/amqp/broker_parts.h"

/* Shares of the confirm time-out that may pass without an answer; a smaller one on the second connection,
 * where the queue is known. */
#define STUCK_SHARE 2
#define APART_SHARE 4

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
static void publish_suspect_sent(struct mg_broker *broker)
{
    struct mg_outgoing *message = TAILQ_FIRST(&broker->publish.line.all);
    for (; message != NULL && message->tag != 0; message = TAILQ_NEXT(message, entry)) {
        mg_unanswered_add(&broker->unanswered, message->routing_key);
    }
    while (message != NULL) {
        struct mg_outgoing *next = TAILQ_NEXT(message, entry);
        if (mg_unanswered_has(&broker->unanswered, message->routing_key)) {
            mg_outgoing_remove(&broker->publish.line, message);
            mg_publish_append(&broker->publish_apart, message);
        }
        message = next;
    }
}

static void publish_unstick(struct mg_publisher *publisher)
{
    struct mg_link *link = &publisher->link;
    int64_t now = mg_clock_boot_ms();
    int64_t patience_ms =
        link->broker->confirm_timeout_ms / (publisher->is_apart ? APART_SHARE : STUCK_SHARE);
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
        publish_suspect_sent(link->broker);
    }
    if (link->is_open) {
        mg_link_fail(link, MG_TROUBLE_UNREACHABLE, "nothing is confirmed any more");
    }
}

/* If there is no second connection, all queues share the first. */
static void publish_note_expired(const struct mg_publisher *publisher, const struct mg_outgoing *message)
{
    struct mg_broker *broker = publisher->link.broker;
    if (message->state == MG_OUTGOING_SENT) {
        mg_unanswered_add(&broker->unanswered, message->routing_key);
    } else if (publisher->is_apart && !publisher->link.is_open) {
        mg_unanswered_remove(&broker->unanswered, message->routing_key);
    }
}

void mg_publish_on_expiry(void *arg)
{
    struct mg_publisher *publisher = arg;
    struct mg_broker *broker = publisher->link.broker;
    mg_broker_enter(broker);
    publish_unstick(publisher);
    int64_t latest_boot_ms = mg_clock_boot_ms() - broker->confirm_timeout_ms;
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
        mg_metric_add(broker->published.outcomes[MG_PUBLISH_UNKNOWN], 1);
        if (message->done != NULL) {
            message->done(message->arg, MG_PUBLISH_UNKNOWN);
        }
    }
    if (TAILQ_FIRST(&publisher->line.all) == NULL && publisher->expiry != NULL) {
        mg_timer_stop(publisher->expiry);
    }
    mg_broker_leave(broker);
}
