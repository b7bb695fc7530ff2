/* See command_client.h. */
#include "operator/command_client.h"

#include <stdio.h>
#include <stdlib.h>

#include "io/amqp/topology.h"

#define COMMAND_MAX_BYTES (256 * 1024)
#define SHORT_SIZE        256 /* a short string of AMQP, and NUL */
/* Each answer is acked as soon as it is read, so a small prefetch is enough. */
#define ANSWER_PREFETCH 64

struct mg_command_client {
    struct mg_command_client_options options;
    struct mg_broker *broker;
    char reply_queue[SHORT_SIZE]; /* "": the broker has not named it yet */
};

static void queue_named(void *arg, int consumer, const char *queue)
{
    struct mg_command_client *client = arg;
    (void)consumer;
    (void)snprintf(client->reply_queue, sizeof(client->reply_queue), "%s", queue);
    if (client->options.on_place != NULL) {
        client->options.on_place(client->options.arg);
    }
}

static void result_came(void *arg, struct mg_delivery *delivery)
{
    struct mg_command_client *client = arg;
    struct mg_command_result result;
    struct mg_err err;
    char correlation_id[SHORT_SIZE]; /* the delivery ends with its ack */
    (void)snprintf(correlation_id, sizeof(correlation_id), "%.*s", (int)delivery->correlation_id.len,
                   delivery->correlation_id.len > 0 ? delivery->correlation_id.data : "");
    bool is_read = mg_command_result_parse(delivery->body, &result, &err) == MG_OK;
    mg_broker_ack(client->broker, delivery);
    if (is_read) {
        client->options.on_result(client->options.arg, &result, mg_slice_of(correlation_id));
    }
}

enum mg_class mg_command_client_create(struct mg_loop *loop, const struct mg_command_client_options *options,
                                       struct mg_command_client **ret_client, struct mg_err *err)
{
    struct mg_command_client *client = calloc(1, sizeof(*client));
    if (client == NULL) {
        return mg_err_set(err, MG_TRANSIENT, "could not connect to the broker: no memory");
    }
    client->options = *options;
    if (client->options.exchange == NULL) {
        client->options.exchange = MG_EXCHANGE_COMMANDS;
    }
    const struct mg_broker_options broker = {.address = options->address,
                                             .name = options->name,
                                             .metrics = options->metrics,
                                             .on_delivery = result_came,
                                             .arg = client};
    enum mg_class class = mg_broker_create(loop, &broker, &client->broker, err);
    if (class != MG_OK) {
        mg_command_client_destroy(client);
        return class;
    }
    mg_broker_consume_private(client->broker, ANSWER_PREFETCH, queue_named, client);
    *ret_client = client;
    return MG_OK;
}

void mg_command_client_destroy(struct mg_command_client *client)
{
    if (client != NULL && client->broker != NULL) {
        mg_broker_destroy(client->broker);
    }
    free(client);
}

bool mg_command_client_is_up(const struct mg_command_client *client, char *ret_reason, size_t size)
{
    if (!mg_broker_is_up(client->broker, ret_reason, size)) {
        return false;
    }
    (void)snprintf(ret_reason, size, "%s",
                   client->reply_queue[0] != '\0' ? "" : "the queue for answers is not declared yet");
    return client->reply_queue[0] != '\0';
}

enum mg_class mg_command_client_send(struct mg_command_client *client, const struct mg_command *command,
                                     struct mg_err *err)
{
    const struct mg_command_way way = {.exchange = client->options.exchange,
                                       .routing_key = MG_QUEUE_COMMANDS};
    return mg_command_client_send_by(client, &way, command, err);
}

enum mg_class mg_command_client_send_by(struct mg_command_client *client, const struct mg_command_way *way,
                                        const struct mg_command *command, struct mg_err *err)
{
    struct mg_buf body;
    char reason[MG_ERR_TEXT_MAX / 2];
    if (!mg_command_client_is_up(client, reason, sizeof(reason))) {
        return mg_err_set(err, MG_TRANSIENT, "could not send the command: %s", reason);
    }
    mg_buf_init(&body, COMMAND_MAX_BYTES);
    mg_command_write(command, &body);
    enum mg_class class = MG_OK;
    if (body.failed) {
        class = body.is_out_of_memory ? mg_err_set(err, MG_TRANSIENT, "could not send the command: no memory")
                                      : mg_err_set(err, MG_BAD_INPUT, "the command is too large");
    } else {
        bool is_apart = way->correlation_id != NULL;
        const struct mg_message message = {.exchange = way->exchange,
                                           .routing_key = way->routing_key,
                                           .type = "command",
                                           .message_id = command->command_id,
                                           .correlation_id =
                                               is_apart ? way->correlation_id : command->command_id,
                                           .reply_to = client->reply_queue,
                                           .body = mg_buf_slice(&body)};
        class = mg_broker_publish(client->broker, &message, way->published, way->arg, err);
    }
    mg_buf_finish(&body);
    return class;
}

struct mg_broker *mg_command_client_broker(struct mg_command_client *client)
{
    return client->broker;
}
