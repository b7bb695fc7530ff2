/*
 * The broker object that services use: options, state with reason, lifetime. The parts (consume, ack,
 * publish, watch, cast) do the work. Each has its own connection, so an alarm that blocks publishers leaves
 * acks and heartbeats alone.
 */
#include "io/amqp/broker.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/secret.h"
#include "io/amqp/broker_parts.h"

static enum mg_class broker_copy_options(struct mg_broker *broker, const struct mg_broker_options *options,
                                         struct mg_err *err);
static void broker_finish_parts(struct mg_broker *broker);

enum mg_class mg_broker_create(struct mg_loop *loop, const struct mg_broker_options *options,
                               struct mg_broker **ret_broker, struct mg_err *err)
{
    struct mg_broker *broker = calloc(1, sizeof(*broker));
    if (broker == NULL) {
        return mg_err_set(err, MG_TRANSIENT, "could not create the broker: no memory");
    }
    broker->loop = loop;
    enum mg_class class = mg_amqp_check_address(&options->address, broker->host_port, err);
    if (class == MG_OK) {
        class = broker_copy_options(broker, options, err);
    }
    if (class == MG_OK && broker->own_metrics == NULL && options->metrics == NULL) {
        class = mg_err_set(err, MG_TRANSIENT, "could not create the broker: no memory");
    }
    if (class != MG_OK) {
        mg_broker_free(broker);
        return class;
    }
    struct mg_broker_options with_metrics = *options;
    if (with_metrics.metrics == NULL) {
        with_metrics.metrics = broker->own_metrics;
    }
    struct mg_metrics *metrics = with_metrics.metrics;
    broker->up = mg_metrics_series(metrics, MG_GAUGE, "makegood_broker_up", NULL,
                                   "1 while all consumers consume and publishing is possible.");
    broker->connects = mg_metrics_series(metrics, MG_COUNTER, "makegood_broker_connects_total", NULL,
                                         "Connections made to the broker.");
    broker->deliveries = mg_metrics_series(metrics, MG_COUNTER, "makegood_deliveries_total", NULL,
                                           "Messages that came from the broker.");
    broker->redeliveries = mg_metrics_series(metrics, MG_COUNTER, "makegood_redeliveries_total", NULL,
                                             "Messages that the broker had delivered before.");
    broker->passed =
        mg_metrics_series(metrics, MG_COUNTER, "makegood_passed_total", NULL,
                          "Messages given back unread, because the memory for those in hand had no room.");
    class = mg_acks_init(broker, err);
    if (class == MG_OK) {
        class = mg_consume_init(broker, err);
    }
    if (class == MG_OK) {
        class = mg_publish_init(broker, &with_metrics, err);
    }
    if (class == MG_OK) {
        class = mg_watches_init(broker, err);
    }
    if (class == MG_OK) {
        class = mg_casts_init(broker, err);
    }
    if (class == MG_OK) {
        class = mg_consume_watch(broker, err);
    }
    if (class != MG_OK) {
        broker_finish_parts(broker);
        mg_broker_free(broker);
        return class;
    }
    if (broker->consumer_count == 0) {
        for (int i = 0; i < broker->check_count; i++) {
            broker->publish.link.queues[broker->publish.link.queue_count++] = broker->check_queues[i];
        }
    } else {
        mg_link_start(&broker->consume);
    }
    if (!options->only_consumes) {
        mg_link_start(&broker->publish.link);
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
    if (options->consumer_count < 0 || options->consumer_count > MG_CONSUMERS_MAX) {
        return mg_err_set(err, MG_BAD_INPUT, "cannot consume from %d queues: at most %d",
                          options->consumer_count, MG_CONSUMERS_MAX);
    }
    broker->body_max_bytes =
        options->body_max_bytes > 0 ? options->body_max_bytes : MG_BROKER_BODY_MAX_DEFAULT;
    const struct mg_tls_files *tls = &options->address.tls;
    bool has_memory = (broker->url = strdup(options->address.url)) != NULL &&
                      (broker->ca_file = copy_path(tls->ca_file)) != NULL &&
                      (broker->cert_file = copy_path(tls->cert_file)) != NULL &&
                      (broker->key_file = copy_path(tls->key_file)) != NULL;
    broker->address = (struct mg_broker_address){
        .url = broker->url,
        .tls = {broker->ca_file, broker->cert_file, broker->key_file},
        .is_plaintext_allowed = options->address.is_plaintext_allowed,
        .names = options->address.names,
    };
    has_memory =
        has_memory && (broker->name = strdup(options->name == NULL ? "makegood" : options->name)) != NULL;
    for (int i = 0; i < options->consumer_count && has_memory; i++) {
        const struct mg_consumer *consumer = &options->consumers[i];
        if (consumer->prefetch == 0 || consumer->prefetch > MG_PREFETCH_MAX ||
            strlen(consumer->queue) > MG_AMQP_SHORT_MAX) {
            return mg_err_set(err, MG_BAD_INPUT, "cannot consume from %.255s: prefetch should be 1 to %d",
                              consumer->queue, MG_PREFETCH_MAX);
        }
        size_t body_max_bytes =
            consumer->body_max_bytes > 0 ? consumer->body_max_bytes : broker->body_max_bytes;
        broker->consumers[i] = (struct mg_consumer_slot){.queue = strdup(consumer->queue),
                                                         .prefetch = consumer->prefetch,
                                                         .bytes_max = consumer->bytes_max,
                                                         .body_max_bytes = body_max_bytes,
                                                         .largest = {0, body_max_bytes},
                                                         .is_wanted = true,
                                                         .is_awaited = true};
        has_memory = broker->consumers[i].queue != NULL;
        broker->consumer_count++;
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
    broker->rank = options->rank;
    broker->on_delivery = options->on_delivery;
    broker->on_state = options->on_state;
    broker->arg = options->arg;
    return MG_OK;
}

void mg_broker_destroy(struct mg_broker *broker)
{
    if (broker == NULL || broker->is_closing) {
        return;
    }
    broker->is_closing = true;
    mg_broker_enter(broker);
    broker_finish_parts(broker);
    mg_broker_leave(broker);
}

static void broker_finish_parts(struct mg_broker *broker)
{
    mg_acks_finish(broker);
    mg_consume_finish(broker);
    mg_publish_finish(broker);
    mg_watches_finish(broker);
    mg_casts_finish(broker);
}

enum mg_class mg_broker_set_url(struct mg_broker *broker, const char *url, struct mg_err *err)
{
    struct mg_broker_address address = broker->address;
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
    mg_secret_free(broker->url);
    broker->url = copy;
    broker->address.url = copy;
    memcpy(broker->host_port, host_port, sizeof(host_port));
    return MG_OK;
}
