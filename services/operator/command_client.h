/*
 * Commands of operators to the schedulers, and their answers: what the tool sends for one order and a batch's
 * runner for many. A command is sent again until its answer or the order says what became of it: it carries
 * the version that it was decided on, and the same command sent twice changes once.
 */
#ifndef MG_OPERATOR_COMMAND_CLIENT_H
#define MG_OPERATOR_COMMAND_CLIENT_H

#include "io/amqp/broker.h"
#include "wire/command.h"

struct mg_command_client;

struct mg_command_client_options {
    struct mg_broker_address address;
    const char *name; /* connection name that people see */
    struct mg_metrics *metrics;
    void (*on_result)(void *arg, const struct mg_command_result *result);
    /* Answers come from now on to another place: what was sent before and not answered is not answered any
     * more. NULL: nobody wants to know. */
    void (*on_place)(void *arg);
    void *arg;
};

enum mg_class mg_command_client_create(struct mg_loop *loop, const struct mg_command_client_options *options,
                                       struct mg_command_client **ret_client,
                                       struct mg_err *err) MG_MUSTCHECK; /* MG_BAD_INPUT: address */
void mg_command_client_destroy(struct mg_command_client *client);        /* accepts NULL */
/* Whether a command can go out, and its answer come in. */
bool mg_command_client_is_up(const struct mg_command_client *client, char *ret_reason, size_t size);
/* Hands it to the broker; nobody waits for the confirm. MG_TRANSIENT: it cannot go out now. MG_BAD_INPUT: it
 * is too large. */
enum mg_class mg_command_client_send(struct mg_command_client *client, const struct mg_command *command,
                                     struct mg_err *err) MG_MUSTCHECK;
/* Its broker, for whoever has something else to publish by the way. */
struct mg_broker *mg_command_client_broker(struct mg_command_client *client);

#endif
