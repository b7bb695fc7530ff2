/* See turn_send.h. */
#include "turn_send.h"

#include <stdio.h>
#include <string.h>

#include "base/log.h"
#include "io/amqp/topology.h"
#include "wire/command.h"

static struct mg_work *work_of(const struct mg_batch *batch, const struct mg_fold *fold)
{
    for (int i = 0; i < batch->item_count; i++) {
        if (batch->items[i].fold == fold) {
            return batch->items[i].work;
        }
    }
    return NULL;
}

/* The same id for the same turn, so that the command twice is one cause. */
static void command_of(const struct mg_batch *batch, const struct mg_turn *turn,
                       struct mg_command *ret_command)
{
    char identity[MG_ORDER_ID_MAX + 32];
    *ret_command = (struct mg_command){.kind = MG_CAUSE_TURN, .generation = turn->generation};
    memcpy(ret_command->order_id, turn->order_id, sizeof(turn->order_id));
    (void)snprintf(ret_command->by, sizeof(ret_command->by), "%.*s", MG_COMMAND_BY_MAX,
                   batch->shared->options->instance);
    int len = snprintf(identity, sizeof(identity), "%s.%u", turn->order_id, turn->generation);
    mg_uuid_derived(mg_slice_of("turn"), (struct mg_slice){identity, (size_t)len}, ret_command->command_id);
}

void mg_turn_add(struct mg_batch *batch, struct mg_fold *fold)
{
    struct mg_command command;
    command_of(batch, &fold->write->turn, &command);
    mg_buf_clear(&batch->scratch);
    mg_command_write(&command, &batch->scratch);
    struct mg_send_spec spec = {.work = work_of(batch, fold),
                                .kind = MG_SEND_TURN,
                                .exchange = "",
                                .routing_key = MG_QUEUE_COMMANDS,
                                .type = "command",
                                .message_id = mg_slice_of(command.command_id),
                                .body = mg_buf_slice(&batch->scratch)};
    struct mg_send *send = batch->scratch.failed ? NULL : mg_send_create(batch->outbox, &spec);
    if (send == NULL) {
        mg_log(MG_LOG_WARN, "no memory to tell an order that its turn has come; a supervisor will",
               MG_LOG_TEXT("order_id", command.order_id));
        return;
    }
    TAILQ_INSERT_TAIL(&fold->sends, send, entry);
}
