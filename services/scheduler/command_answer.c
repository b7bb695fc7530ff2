/* See command_answer.h. */
#include "command_answer.h"

#include <stdio.h>
#include <string.h>

#include "io/amqp/topology.h"

/* A queue with a name from the broker is its declarer's alone, and no other client can guess the name. */
static bool is_named_by_broker(struct mg_slice queue)
{
    static const char PREFIX[] = "amq.gen-";
    return queue.len > sizeof(PREFIX) - 1 && memcmp(queue.data, PREFIX, sizeof(PREFIX) - 1) == 0;
}

/* Supervisors set no reply_to, so a result for one would go to a foreign queue. A client names a queue of its own, or
 * its gateway does for it. */
static bool may_answer(const struct mg_delivery *delivery)
{
    struct mg_slice client, queue = delivery->reply_to;
    enum mg_commander commander = mg_topology_commander(delivery->exchange, &client);
    if (queue.len == 0 || mg_topology_is_reserved(queue)) {
        return false;
    }
    switch (commander) {
    case MG_COMMANDER_OPERATOR:
    case MG_COMMANDER_GATEWAY:
        return true;
    case MG_COMMANDER_CLIENT:
        return is_named_by_broker(queue) || mg_topology_is_queue_of(client, queue);
    case MG_COMMANDER_CALLBACK:
        return is_named_by_broker(queue);
    case MG_COMMANDER_SUPERVISOR:
    case MG_COMMANDER_NONE:
        break;
    }
    return false;
}

struct mg_send *mg_command_answer_make(struct mg_outbox *outbox, struct mg_work *work,
                                       const struct mg_delivery *delivery,
                                       const struct mg_command_result *result)
{
    char queue[256];
    if (delivery == NULL || !may_answer(delivery)) {
        return NULL;
    }
    mg_buf_clear(&outbox->scratch);
    mg_command_result_write(result, &outbox->scratch);
    (void)snprintf(queue, sizeof(queue), "%.*s", (int)delivery->reply_to.len, delivery->reply_to.data);
    bool is_correlated = delivery->correlation_id.len > 0;
    const struct mg_send_spec spec = {
        .work = work,
        .kind = MG_SEND_RESULT,
        .exchange = "",
        .routing_key = queue,
        .type = "command_result",
        .correlation_id = is_correlated ? delivery->correlation_id : mg_slice_of(result->command_id),
        .body = mg_buf_slice(&outbox->scratch)};
    return outbox->scratch.failed ? NULL : mg_send_create(outbox, &spec);
}

void mg_command_answer_work(struct mg_outbox *outbox, struct mg_work *work,
                            const struct mg_command_result *result)
{
    struct mg_send *send = mg_command_answer_make(outbox, work, work->delivery, result);
    if (send != NULL) {
        mg_outbox_add(outbox, send);
    }
}
