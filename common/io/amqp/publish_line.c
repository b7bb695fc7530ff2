/* The line of a publisher's messages: each is appended once, and leaves it by its outcome. */
#include <stdlib.h>

#include "base/clock.h"
#include "io/amqp/broker_parts.h"

#define EXPIRY_PERIOD_MS 100

static void publish_count(const struct mg_broker *broker)
{
    mg_metric_set(broker->published.outstanding,
                  broker->publish.line.count + broker->publish_apart.line.count);
}

void mg_publish_append(struct mg_publisher *publisher, struct mg_outgoing *message)
{
    mg_outgoing_append(&publisher->line, message);
    publish_count(publisher->link.broker);
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
    publish_count(publisher->link.broker);
    if (message->tag != 0 && publisher->ring[message->tag % MG_RING_SIZE] == message) {
        publisher->ring[message->tag % MG_RING_SIZE] = NULL;
    }
    struct mg_broker *broker = publisher->link.broker;
    bool is_answered = outcome != MG_PUBLISH_UNKNOWN && outcome != MG_PUBLISH_UNSENT;
    if (is_answered && publisher->is_apart) {
        mg_unanswered_remove(&broker->unanswered, message->routing_key);
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
    mg_metric_add(broker->published.outcomes[outcome], 1);
    if (is_answered) {
        mg_metric_observe(broker->published.confirm_seconds, seconds);
    }
    if (done != NULL) {
        done(arg, outcome);
    }
}
