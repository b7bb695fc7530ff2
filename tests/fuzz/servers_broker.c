/* The broker behind the console: see servers.h. */
#include <stdio.h>

#include "io/amqp/topology.h"
#include "owed.h"
#include "servers.h"
#include "wire/submission.h"

static struct mg_command_client_options client_options; /* of the one client */

enum mg_class mg_command_client_create(struct mg_loop *loop, const struct mg_command_client_options *options,
                                       struct mg_command_client **ret_client, struct mg_err *err)
{
    (void)loop, (void)err;
    client_options = *options;
    *ret_client = (struct mg_command_client *)&client_options;
    return MG_OK;
}

void mg_command_client_destroy(struct mg_command_client *client)
{
    (void)client;
}

struct mg_broker *mg_command_client_broker(struct mg_command_client *client)
{
    (void)client;
    return NULL;
}

/* No queue depth is ever reported: services are shown as their agents report them. */
enum mg_class __wrap_mg_broker_watch_queue(struct mg_broker *broker, const char *queue, int64_t period_ms,
                                           mg_queue_seen_fn *seen, void *arg, struct mg_err *err);
enum mg_class __wrap_mg_broker_watch_queue(struct mg_broker *broker, const char *queue, int64_t period_ms,
                                           mg_queue_seen_fn *seen, void *arg, struct mg_err *err)
{
    (void)broker, (void)queue, (void)period_ms, (void)seen, (void)arg, (void)err;
    return MG_OK;
}

static void publish_answer(struct owed *owed)
{
    ((mg_published_fn *)owed->fn)(owed->arg, (enum mg_publish_outcome)(servers.variant % 4));
}

/* An order that an operator posts: a submission that schedulers can read. */
enum mg_class __wrap_mg_broker_publish(struct mg_broker *broker, const struct mg_message *message,
                                       mg_published_fn *done, void *arg, struct mg_err *err);
enum mg_class __wrap_mg_broker_publish(struct mg_broker *broker, const struct mg_message *message,
                                       mg_published_fn *done, void *arg, struct mg_err *err)
{
    struct mg_submission submission;
    (void)broker;
    FUZZ_REQUIRE(mg_submission_parse(message->body, &MG_JSON_LIMITS_SUBMISSION, &submission, err) == MG_OK);
    FUZZ_REQUIRE(strcmp(submission.order_id, message->message_id) == 0);
    servers_use_note();
    servers_owe(publish_answer, (void (*)(void))done, arg);
    return MG_OK;
}

bool mg_command_client_is_up(const struct mg_command_client *client, char *ret_reason, size_t size)
{
    (void)client;
    (void)snprintf(ret_reason, size, "%s", servers.is_broker_up ? "" : "the broker is away");
    return servers.is_broker_up;
}

static void command_answer(struct owed *owed)
{
    client_options.on_result(client_options.arg, &owed->result, mg_slice_of(owed->result.command_id));
}

enum mg_class mg_command_client_send(struct mg_command_client *client, const struct mg_command *command,
                                     struct mg_err *err)
{
    return mg_command_client_send_by(client, NULL, command, err);
}

enum mg_class mg_command_client_send_by(struct mg_command_client *client, const struct mg_command_way *way,
                                        const struct mg_command *command, struct mg_err *err)
{
    (void)way; /* operators' commands only */
    struct mg_command again;
    struct mg_buf body;
    struct mg_arena *arena = mg_arena_create(FUZZ_TEXT_MAX);
    (void)client;
    mg_buf_init(&body, FUZZ_TEXT_MAX);
    mg_command_write(command, &body);
    FUZZ_REQUIRE(arena != NULL && command->version > 0);
    FUZZ_REQUIRE(mg_command_parse(mg_buf_slice(&body), &MG_JSON_LIMITS_DATA, arena, &again, err) == MG_OK);
    FUZZ_REQUIRE(strcmp(again.by, servers.who) == 0 && strcmp(again.reason, command->reason) == 0);
    mg_buf_finish(&body);
    mg_arena_destroy(arena);
    servers_use_note();
    struct mg_command_result *result = &servers_owe(command_answer, NULL, NULL)->result;
    result->verdict = (enum mg_command_verdict)(servers.variant % 4);
    memcpy(result->command_id, command->command_id, sizeof(result->command_id));
    memcpy(result->order_id, command->order_id, sizeof(result->order_id));
    (void)snprintf(result->text, sizeof(result->text), "%.500s", servers.texts);
    return MG_OK;
}

static struct mg_dead_letter letter_make(const char *queue)
{
    struct mg_slice text = mg_slice_of(servers.texts);
    return (struct mg_dead_letter){.body = text,
                                   .message_id = text,
                                   .type = text,
                                   .queue = mg_slice_of(queue),
                                   .reason = text,
                                   .correlation_id = text,
                                   .died_at_ms = 7};
}

enum mg_class mg_topology_walk(const struct mg_broker_address *address, const char *queue, int max,
                               enum mg_dead_verb (*pick)(void *arg, const struct mg_dead_letter *letter),
                               void *arg, int *ret_count, struct mg_err *err)
{
    (void)address;
    const struct mg_dead_letter letter = letter_make(queue);
    if (!servers.is_broker_up) {
        return mg_err_set(err, MG_TRANSIENT, "the broker is away");
    }
    for (*ret_count = 0; *ret_count < max && *ret_count < servers.row_count; (*ret_count)++) {
        if (pick(arg, &letter) != MG_DEAD_LIST) {
            servers_use_note();
        }
    }
    return MG_OK;
}

enum mg_class mg_topology_look(const struct mg_broker_address *address, const char *queue, int max,
                               void (*show)(void *arg, const struct mg_dead_letter *letter), void *arg,
                               int *ret_count, struct mg_err *err)
{
    (void)address;
    const struct mg_dead_letter letter = letter_make(queue);
    if (!servers.is_broker_up) {
        return mg_err_set(err, MG_TRANSIENT, "the broker is away");
    }
    for (*ret_count = 0; *ret_count < max && *ret_count < servers.row_count; (*ret_count)++) {
        show(arg, &letter);
    }
    return MG_OK;
}
