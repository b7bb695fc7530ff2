/*
 * Commands of operators to the schedulers, and their answers. The tool sends one for an order; the bulk
 * action runner sends many. A caller sends a command again until its answer or the order's row shows the
 * result. The command carries the version that it was decided on, so a second copy changes nothing.
 */
#ifndef MG_OPERATOR_COMMAND_CLIENT_H
#define MG_OPERATOR_COMMAND_CLIENT_H

#include "io/amqp/broker.h"
#include "wire/command.h"

struct mg_command_client;

struct mg_command_client_options {
    struct mg_broker_address address;
    const char *exchange; /* proves the sender; NULL: makegood.commands, the operators' */
    const char *name;     /* connection name, shown in RabbitMQ's lists */
    struct mg_metrics *metrics;
    /* `correlation_id` is that of the command's way, else the command's id. */
    void (*on_result)(void *arg, const struct mg_command_result *result, struct mg_slice correlation_id);
    /* Called when the reply queue is new: answers to earlier commands are lost, so the caller sends
     * unanswered commands again. May be NULL. */
    void (*on_place)(void *arg);
    void *arg;
};

enum mg_class mg_command_client_create(struct mg_loop *loop, const struct mg_command_client_options *options,
                                       struct mg_command_client **ret_client, struct mg_err *err)
    MG_MUSTCHECK;                                                 /* MG_BAD_INPUT: the address is wrong */
void mg_command_client_destroy(struct mg_command_client *client); /* accepts NULL */
/* Whether a command can be sent and its answer received. `ret_reason` gets the obstacle. */
bool mg_command_client_is_up(const struct mg_command_client *client, char *ret_reason, size_t size);
/* Hands the command to the broker client without waiting for the confirm. MG_TRANSIENT: it cannot be sent
 * now. MG_BAD_INPUT: it is too large. */
enum mg_class mg_command_client_send(struct mg_command_client *client, const struct mg_command *command,
                                     struct mg_err *err) MG_MUSTCHECK;
/* A command's way to the schedulers where it is not that of the client's exchange; texts are borrowed. */
struct mg_command_way {
    const char *exchange, *routing_key;
    const char *correlation_id; /* NULL: the command's id */
    mg_published_fn *published; /* called once if the command was handed over, never from within the call */
    void *arg;
};
enum mg_class mg_command_client_send_by(struct mg_command_client *client, const struct mg_command_way *way,
                                        const struct mg_command *command, struct mg_err *err) MG_MUSTCHECK;
/* The client's broker, for other publishes of the same owner. It stays owned by the client. */
struct mg_broker *mg_command_client_broker(struct mg_command_client *client);

#endif
