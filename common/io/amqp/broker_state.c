/*
 * The broker object as a whole: when its memory is freed, and whether it is up. All parts use this file.
 */
#include <stdio.h>
#include <stdlib.h>

#include "base/secret.h"
#include "io/amqp/broker_parts.h"

enum { TROUBLE_BLOCKED = MG_TROUBLE_SETUP + 1, TROUBLE_CANCELLED };

void mg_broker_free(struct mg_broker *broker)
{
    for (int i = 0; i < broker->consumer_count; i++) {
        free(broker->consumers[i].queue);
    }
    for (int i = 0; i < broker->check_count; i++) {
        free(broker->check_queues[i]);
    }
    if (broker->own_metrics != NULL) {
        mg_metrics_destroy(broker->own_metrics);
    }
    free(broker->name);
    free(broker->ca_file);
    free(broker->cert_file);
    free(broker->key_file);
    mg_secret_free(broker->url);
    free(broker);
}

void mg_broker_enter(struct mg_broker *broker)
{
    broker->busy++;
}

void mg_broker_leave(struct mg_broker *broker)
{
    if (--broker->busy == 0 && broker->is_closing) {
        mg_broker_free(broker);
    }
}

/* A broker that only consumes has no such link. */
bool mg_broker_can_publish(const struct mg_broker *broker)
{
    const struct mg_publisher *publisher = &broker->publish;
    return !publisher->link.is_started ||
           (publisher->link.is_open && !publisher->link.is_blocked && !publisher->is_doubted);
}

bool mg_broker_is_blocked(const struct mg_broker *broker)
{
    return broker->publish.link.is_open && broker->publish.link.is_blocked;
}

bool mg_broker_is_barred(const struct mg_broker *broker)
{
    return broker->publish.is_doubted || mg_broker_is_blocked(broker);
}

static bool consume_is_up(const struct mg_broker *broker)
{
    if (broker->consumer_count == 0) {
        return true;
    }
    if (!broker->consume.is_open) {
        return false;
    }
    for (int i = 0; i < broker->consumer_count; i++) {
        if (broker->consumers[i].is_wanted && broker->consumers[i].is_awaited) {
            return false;
        }
    }
    return true;
}

/* The reason why the broker is not up; 0: not known yet, or it is up. */
static int broker_trouble(const struct mg_broker *broker, const char **ret_reason)
{
    *ret_reason = "connecting";
    const struct mg_link *links[] = {&broker->publish.link, &broker->consume};
    for (size_t i = 0; i < sizeof(links) / sizeof(links[0]); i++) {
        if (links[i]->is_started && !links[i]->is_open && links[i]->trouble != MG_TROUBLE_NONE) {
            *ret_reason = links[i]->reason;
            return (int)links[i]->trouble;
        }
    }
    if (broker->publish.link.is_open && broker->publish.is_doubted) {
        *ret_reason = broker->publish.link.reason;
        return MG_TROUBLE_SETUP;
    }
    if (broker->publish.link.is_open && broker->publish.link.is_blocked) {
        *ret_reason = "the broker has blocked publishers: it is low on memory or disk";
        return TROUBLE_BLOCKED;
    }
    for (int i = 0; i < broker->consumer_count; i++) {
        if (broker->consume.is_open && broker->consumers[i].is_awaited &&
            broker->consumers[i].not_before_boot_ms > 0) {
            *ret_reason = broker->consume.reason;
            return TROUBLE_CANCELLED;
        }
    }
    return 0;
}

enum mg_reach mg_broker_reach(const struct mg_broker *broker)
{
    const struct mg_link *links[] = {&broker->publish.link, &broker->consume};
    enum mg_reach reach = MG_REACH_UNKNOWN;
    for (size_t i = 0; i < sizeof(links) / sizeof(links[0]); i++) {
        if (!links[i]->is_started || links[i]->is_open) {
            continue;
        }
        if (links[i]->trouble == MG_TROUBLE_SETUP) {
            return MG_REACH_REFUSED;
        }
        if (links[i]->trouble == MG_TROUBLE_UNREACHABLE && links[i]->is_absent) {
            reach = MG_REACH_ABSENT;
        }
    }
    return reach;
}

bool mg_broker_is_up(const struct mg_broker *broker, char *ret_reason, size_t size)
{
    bool is_up = mg_broker_can_publish(broker) && consume_is_up(broker);
    if (ret_reason != NULL && size > 0) {
        const char *reason = "";
        if (!is_up) {
            (void)broker_trouble(broker, &reason);
        }
        (void)snprintf(ret_reason, size, "%s", reason);
    }
    return is_up;
}

/* Reports each kind of trouble once, not at each retry. */
void mg_broker_state_changed(struct mg_broker *broker)
{
    if (broker->is_closing) {
        return;
    }
    char reason[MG_LINK_REASON_SIZE];
    const char *why;
    if (mg_broker_is_up(broker, reason, sizeof(reason))) {
        mg_metric_set(broker->up, 1);
        if (broker->reported == MG_REPORTED_UP) {
            return;
        }
        broker->reported = MG_REPORTED_UP;
        broker->reported_trouble = 0;
        if (broker->on_state != NULL) {
            broker->on_state(broker->arg, true, "");
        }
        return;
    }
    mg_metric_set(broker->up, 0);
    int trouble = broker_trouble(broker, &why);
    if (trouble == 0 || (broker->reported == MG_REPORTED_DOWN && broker->reported_trouble == trouble)) {
        return;
    }
    broker->reported = MG_REPORTED_DOWN;
    broker->reported_trouble = trouble;
    if (broker->on_state != NULL) {
        broker->on_state(broker->arg, false, reason);
    }
}
