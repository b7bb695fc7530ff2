/*
 * The broker object that services use: options, state with reason, lifetime. The parts (consume, ack,
 * publish, watch, cast) do the work. Each has its own connection, so an alarm that blocks publishers leaves
 * acks and heartbeats alone.
 */
#include "io/amqp/broker_parts.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/secret.h"

#define LOOK_MS 5000 /* the period at which consumed queues are looked at */

enum { TROUBLE_BLOCKED = MG_TROUBLE_SETUP + 1, TROUBLE_CANCELLED };

static enum mg_class broker_copy_options(struct mg_broker *broker, const struct mg_broker_options *options,
                                         struct mg_err *err);
static enum mg_class broker_watch_consumed(struct mg_broker *broker, struct mg_err *err);
static void broker_changed(void *arg);
static void broker_free(void *arg);
static void broker_finish_parts(struct mg_broker *broker);

enum mg_class mg_broker_create(struct mg_loop *loop, const struct mg_broker_options *options,
                               struct mg_broker **ret_broker, struct mg_err *err)
{
    struct mg_broker *broker = calloc(1, sizeof(*broker));
    if (broker == NULL) {
        return mg_err_set(err, MG_TRANSIENT, "could not create the broker: no memory");
    }
    struct mg_broker_base *base = &broker->base;
    base->loop = loop;
    base->changed = broker_changed;
    base->ended = broker_free;
    base->arg = broker;
    broker->consuming.base = base;
    enum mg_class class = mg_amqp_check_address(&options->address, base->host_port, err);
    if (class == MG_OK) {
        class = broker_copy_options(broker, options, err);
    }
    if (class == MG_OK && broker->own_metrics == NULL && options->metrics == NULL) {
        class = mg_err_set(err, MG_TRANSIENT, "could not create the broker: no memory");
    }
    if (class != MG_OK) {
        broker_free(broker);
        return class;
    }
    struct mg_broker_options with_metrics = *options;
    if (with_metrics.metrics == NULL) {
        with_metrics.metrics = broker->own_metrics;
    }
    struct mg_metrics *metrics = with_metrics.metrics;
    broker->up = mg_metrics_series(metrics, MG_GAUGE, "makegood_broker_up", NULL,
                                   "1 while all consumers consume and publishing is possible.");
    base->connects = mg_metrics_series(metrics, MG_COUNTER, "makegood_broker_connects_total", NULL,
                                       "Connections made to the broker.");
    class = mg_acks_init(&broker->consuming, err);
    if (class == MG_OK) {
        class = mg_consume_init(&broker->consuming, metrics, err);
    }
    if (class == MG_OK) {
        class = mg_publish_init(&broker->publishing, base, &with_metrics, err);
    }
    if (class == MG_OK) {
        class = mg_watches_init(&broker->watches, base, err);
    }
    if (class == MG_OK) {
        class = mg_casts_init(&broker->casts, base, err);
    }
    if (class == MG_OK) {
        class = broker_watch_consumed(broker, err);
    }
    if (class != MG_OK) {
        broker_finish_parts(broker);
        broker_free(broker);
        return class;
    }
    struct mg_link *publish = &broker->publishing.main.link;
    struct mg_link *first = broker->consuming.consumer_count > 0 ? &broker->consuming.link : publish;
    for (int i = 0; i < broker->check_count; i++) {
        first->queues[first->queue_count++] = broker->check_queues[i];
    }
    if (first != publish) {
        mg_link_start(first);
    }
    if (!options->only_consumes) {
        mg_link_start(publish);
    }
    *ret_broker = broker;
    return MG_OK;
}

static char *copy_path(const char *path)
{
    return strdup(path == NULL ? "" : path);
}

static enum mg_class broker_copy_options(struct mg_broker *broker, const struct mg_broker_options *options,
                                         struct mg_err *err)
{
    struct mg_broker_base *base = &broker->base;
    struct mg_consuming *consuming = &broker->consuming;
    if (options->consumer_count < 0 || options->consumer_count > MG_CONSUMERS_MAX) {
        return mg_err_set(err, MG_BAD_INPUT, "cannot consume from %d queues: at most %d",
                          options->consumer_count, MG_CONSUMERS_MAX);
    }
    consuming->body_max_bytes =
        options->body_max_bytes > 0 ? options->body_max_bytes : MG_BROKER_BODY_MAX_DEFAULT;
    const struct mg_tls_files *tls = &options->address.tls;
    bool has_memory = (base->url = strdup(options->address.url)) != NULL &&
                      (base->ca_file = copy_path(tls->ca_file)) != NULL &&
                      (base->cert_file = copy_path(tls->cert_file)) != NULL &&
                      (base->key_file = copy_path(tls->key_file)) != NULL;
    base->address = (struct mg_broker_address){
        .url = base->url,
        .tls = {base->ca_file, base->cert_file, base->key_file},
        .is_plaintext_allowed = options->address.is_plaintext_allowed,
        .names = options->address.names,
    };
    has_memory =
        has_memory && (base->name = strdup(options->name == NULL ? "makegood" : options->name)) != NULL;
    for (int i = 0; i < options->consumer_count && has_memory; i++) {
        const struct mg_consumer *consumer = &options->consumers[i];
        if (consumer->prefetch == 0 || consumer->prefetch > MG_PREFETCH_MAX ||
            strlen(consumer->queue) > MG_AMQP_SHORT_MAX) {
            return mg_err_set(err, MG_BAD_INPUT, "cannot consume from %.255s: prefetch should be 1 to %d",
                              consumer->queue, MG_PREFETCH_MAX);
        }
        size_t body_max_bytes =
            consumer->body_max_bytes > 0 ? consumer->body_max_bytes : consuming->body_max_bytes;
        consuming->consumers[i] = (struct mg_consumer_slot){.queue = strdup(consumer->queue),
                                                            .prefetch = consumer->prefetch,
                                                            .bytes_max = consumer->bytes_max,
                                                            .body_max_bytes = body_max_bytes,
                                                            .largest = {0, body_max_bytes},
                                                            .is_wanted = true,
                                                            .is_awaited = true};
        has_memory = consuming->consumers[i].queue != NULL;
        consuming->consumer_count++;
    }
    int most = (int)(sizeof(broker->check_queues) / sizeof(broker->check_queues[0]));
    for (int i = 0; i < most && options->check_queues[i] != NULL && has_memory; i++) {
        broker->check_queues[i] = strdup(options->check_queues[i]);
        has_memory = broker->check_queues[i] != NULL;
        broker->check_count++;
    }
    if (!has_memory) {
        return mg_err_set(err, MG_TRANSIENT, "could not create the broker: no memory");
    }
    if (options->metrics == NULL) {
        broker->own_metrics = mg_metrics_create();
    }
    consuming->rank = options->rank;
    consuming->on_delivery = options->on_delivery;
    broker->on_state = options->on_state;
    broker->arg = consuming->arg = options->arg;
    return MG_OK;
}

/* Every consumed queue, to detect consumers that the broker dropped without a notice. */
static enum mg_class broker_watch_consumed(struct mg_broker *broker, struct mg_err *err)
{
    enum mg_class class = MG_OK;
    broker->watches.looked = mg_consume_seen;
    broker->watches.arg = &broker->consuming;
    for (int i = 0; i < broker->consuming.consumer_count && class == MG_OK; i++) {
        class = mg_broker_watch_queue(broker, broker->consuming.consumers[i].queue, LOOK_MS, NULL, NULL, err);
    }
    return class;
}

static void broker_free(void *arg)
{
    struct mg_broker *broker = arg;
    struct mg_broker_base *base = &broker->base;
    for (int i = 0; i < broker->consuming.consumer_count; i++) {
        free(broker->consuming.consumers[i].queue);
    }
    for (int i = 0; i < broker->check_count; i++) {
        free(broker->check_queues[i]);
    }
    if (broker->own_metrics != NULL) {
        mg_metrics_destroy(broker->own_metrics);
    }
    free(base->name);
    free(base->ca_file);
    free(base->cert_file);
    free(base->key_file);
    mg_secret_free(base->url);
    free(broker);
}

void mg_broker_destroy(struct mg_broker *broker)
{
    if (broker == NULL || broker->base.is_closing) {
        return;
    }
    broker->base.is_closing = true;
    mg_broker_enter(&broker->base);
    broker_finish_parts(broker);
    mg_broker_leave(&broker->base);
}

static void broker_finish_parts(struct mg_broker *broker)
{
    mg_acks_finish(&broker->consuming);
    mg_consume_finish(&broker->consuming);
    mg_publish_finish(&broker->publishing);
    mg_watches_finish(&broker->watches);
    mg_casts_finish(&broker->casts);
}

enum mg_class mg_broker_set_url(struct mg_broker *broker, const char *url, struct mg_err *err)
{
    struct mg_broker_address address = broker->base.address;
    char host_port[MG_AMQP_ADDRESS_SIZE];
    address.url = url;
    enum mg_class class = mg_amqp_check_address(&address, host_port, err);
    if (class != MG_OK) {
        return class;
    }
    char *copy = strdup(url);
    if (copy == NULL) {
        return mg_err_set(err, MG_TRANSIENT, "could not take another AMQP URL: no memory");
    }
    mg_secret_free(broker->base.url);
    broker->base.url = copy;
    broker->base.address.url = copy;
    memcpy(broker->base.host_port, host_port, sizeof(host_port));
    return MG_OK;
}

/* ---- its state ---- */

/* A broker that only consumes has no such link. */
bool mg_broker_can_publish(const struct mg_broker *broker)
{
    const struct mg_publisher *publisher = &broker->publishing.main;
    return !publisher->link.is_started ||
           (publisher->link.is_open && !publisher->link.is_blocked && !publisher->is_doubted);
}

bool mg_broker_is_blocked(const struct mg_broker *broker)
{
    return broker->publishing.main.link.is_open && broker->publishing.main.link.is_blocked;
}

bool mg_broker_is_barred(const struct mg_broker *broker)
{
    return broker->publishing.main.is_doubted || mg_broker_is_blocked(broker);
}

static bool consume_is_up(const struct mg_broker *broker)
{
    if (broker->consuming.consumer_count == 0) {
        return true;
    }
    if (!broker->consuming.link.is_open) {
        return false;
    }
    for (int i = 0; i < broker->consuming.consumer_count; i++) {
        if (broker->consuming.consumers[i].is_wanted && broker->consuming.consumers[i].is_awaited) {
            return false;
        }
    }
    return true;
}

/* The reason why the broker is not up; 0: not known yet, or it is up. */
static int broker_trouble(const struct mg_broker *broker, const char **ret_reason)
{
    *ret_reason = "connecting";
    const struct mg_link *links[] = {&broker->publishing.main.link, &broker->consuming.link};
    for (size_t i = 0; i < sizeof(links) / sizeof(links[0]); i++) {
        if (links[i]->is_started && !links[i]->is_open && links[i]->trouble != MG_TROUBLE_NONE) {
            *ret_reason = links[i]->reason;
            return (int)links[i]->trouble;
        }
    }
    if (broker->publishing.main.link.is_open && broker->publishing.main.is_doubted) {
        *ret_reason = broker->publishing.main.link.reason;
        return MG_TROUBLE_SETUP;
    }
    if (broker->publishing.main.link.is_open && broker->publishing.main.link.is_blocked) {
        *ret_reason = "the broker has blocked publishers: it is low on memory or disk";
        return TROUBLE_BLOCKED;
    }
    for (int i = 0; i < broker->consuming.consumer_count; i++) {
        if (broker->consuming.link.is_open && broker->consuming.consumers[i].is_awaited &&
            broker->consuming.consumers[i].not_before_boot_ms > 0) {
            *ret_reason = broker->consuming.link.reason;
            return TROUBLE_CANCELLED;
        }
    }
    return 0;
}

enum mg_reach mg_broker_reach(const struct mg_broker *broker)
{
    const struct mg_link *links[] = {&broker->publishing.main.link, &broker->consuming.link};
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
static void broker_changed(void *arg)
{
    struct mg_broker *broker = arg;
    if (broker->base.is_closing) {
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
