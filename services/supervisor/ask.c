/*
 * Due work becomes commands to the schedulers. The command's id is derived from the question, so the same
 * question asked twice (by two leaders, or after a lost confirm) is one cause.
 */
#include <stdio.h>
#include <string.h>

#include "base/failpoint.h"
#include "io/amqp/topology.h"
#include "io/store/schedules.h"
#include "schedule/schedule.h"
#include "supervisor.h"
#include "wire/command.h"

/* The largest command, with all its members at their longest. */
#define COMMAND_MAX_BYTES 4096

static void ask_published(void *arg, enum mg_publish_outcome outcome)
{
    struct mg_supervisor *supervisor = arg;
    MG_FAILPOINT(SUPERVISOR_CONFIRMED);
    if (outcome != MG_PUBLISH_CONFIRMED) {
        mg_metric_add(supervisor->unasked, 1); /* it stays due, and is asked again */
    }
}

/* For an order that was only woken: its deadline is still to come, so it is not due again until all are woken
 * anew. */
static void woken_published(void *arg, enum mg_publish_outcome outcome)
{
    ask_published(arg, outcome);
    if (outcome != MG_PUBLISH_CONFIRMED) {
        mg_supervisor_wake_later(arg);
    }
}

static void command_of(const struct mg_supervisor *supervisor, const struct mg_due *due,
                       struct mg_command *ret_command)
{
    memset(ret_command, 0, sizeof(*ret_command));
    ret_command->kind = due->ask;
    ret_command->attempt = due->attempt;
    ret_command->generation = due->ask == MG_CAUSE_TURN ? due->attempt : 0;
    ret_command->version = due->ask == MG_CAUSE_NUDGE ? due->version : 0;
    ret_command->seq = due->ask == MG_CAUSE_OWED ? due->seq : 0;
    (void)snprintf(ret_command->order_id, sizeof(ret_command->order_id), "%s", due->order_id);
    (void)snprintf(ret_command->step, sizeof(ret_command->step), "%s", due->step);
    (void)snprintf(ret_command->by, sizeof(ret_command->by), "%.*s", MG_COMMAND_BY_MAX, supervisor->holder);

    char identity[256];
    int len = snprintf(identity, sizeof(identity), "%s.%s.%s.%u.%llu.%llu.%lld", due->order_id,
                       mg_cause_name(due->ask), due->step, due->attempt, (unsigned long long)due->version,
                       (unsigned long long)due->seq, (long long)due->due_at_ms);
    mg_uuid_derived(mg_slice_of("supervisor"), (struct mg_slice){identity, (size_t)len},
                    ret_command->command_id);
}

/* False: no room. */
static bool command_publish(struct mg_supervisor *supervisor, const struct mg_command *command,
                            mg_published_fn *published)
{
    struct mg_buf body;
    struct mg_err err;
    mg_buf_init(&body, COMMAND_MAX_BYTES);
    mg_command_write(command, &body);
    bool is_taken = false;
    if (!body.failed) {
        struct mg_message message = {.exchange = MG_EXCHANGE_SUPERVISOR,
                                     .routing_key = MG_QUEUE_COMMANDS,
                                     .type = "command",
                                     .message_id = command->command_id,
                                     .body = mg_buf_slice(&body)};
        is_taken = mg_broker_publish(supervisor->broker, &message, published, supervisor, &err) == MG_OK;
    }
    mg_buf_finish(&body);
    if (is_taken) {
        MG_FAILPOINT(SUPERVISOR_ASKED);
        mg_metric_add(supervisor->asked[command->kind], 1);
    } else {
        mg_metric_add(supervisor->unasked, 1);
    }
    return is_taken;
}

bool mg_supervisor_ask(struct mg_supervisor *supervisor, const struct mg_due *due)
{
    struct mg_command command;
    command_of(supervisor, due, &command);
    bool is_woken = !due->is_parked && due->due_at_ms > supervisor->swept_at_ms;
    return command_publish(supervisor, &command, is_woken ? woken_published : ask_published);
}

bool mg_supervisor_fire(struct mg_supervisor *supervisor, const struct mg_due_slot *slot)
{
    struct mg_command command = {.kind = MG_CAUSE_FIRE, .slot_ms = slot->slot_ms};
    char order_id[MG_UUID_SIZE];
    mg_schedule_order_id(slot->schedule, slot->slot_ms, order_id);
    (void)snprintf(command.order_id, sizeof(command.order_id), "%s", order_id);
    (void)snprintf(command.schedule, sizeof(command.schedule), "%s", slot->schedule);
    (void)snprintf(command.by, sizeof(command.by), "%.*s", MG_COMMAND_BY_MAX, supervisor->holder);
    mg_uuid_derived(mg_slice_of("supervisor fire"), mg_slice_of(order_id), command.command_id);
    return command_publish(supervisor, &command, ask_published);
}
