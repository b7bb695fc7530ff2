/* See command_answer.h. */
#include "command_answer.h"
#include "lanes.h"

#include <stdio.h>
#include <string.h>

#include "io/amqp/topology.h"
#include "keyed_signals.h"

/* A queue with a name from the broker is its declarer's alone, and no other client can guess the name. */
static bool is_named_by_broker(struct mg_slice queue)
{
    static const char PREFIX[] = "amq.gen-";
    return queue.len > sizeof(PREFIX) - 1 && memcmp(queue.data, PREFIX, sizeof(PREFIX) - 1) == 0;
}

/* Supervisors set no reply_to, so a result for one would go to a foreign queue. A client names a queue of its
 * own, or its gateway does for it. */
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

static struct mg_send *answer_make(struct mg_outbox *outbox, struct mg_buf *scratch, struct mg_work *work,
                                   const struct mg_delivery *delivery, const struct mg_command_result *result)
{
    char queue[256];
    if (delivery == NULL || !may_answer(delivery)) {
        return NULL;
    }
    mg_buf_clear(scratch);
    mg_command_result_write(result, scratch);
    (void)snprintf(queue, sizeof(queue), "%.*s", (int)delivery->reply_to.len, delivery->reply_to.data);
    bool is_correlated = delivery->correlation_id.len > 0;
    const struct mg_send_spec spec = {.work = work,
                                      .kind = MG_SEND_RESULT,
                                      .exchange = "",
                                      .routing_key = queue,
                                      .type = "command_result",
                                      .correlation_id = is_correlated ? delivery->correlation_id
                                                                      : mg_slice_of(result->command_id),
                                      .body = mg_buf_slice(scratch)};
    return scratch->failed ? NULL : mg_send_create(outbox, &spec);
}

void mg_command_answer_work(struct mg_outbox *outbox, struct mg_work *work,
                            const struct mg_command_result *result)
{
    struct mg_send *send = answer_make(outbox, &outbox->scratch, work, work->delivery, result);
    if (send != NULL) {
        mg_outbox_add(outbox, send);
    }
}

/* Where the command came from; NULL: the item is no command's, or its sender has its answer. */
static const struct mg_delivery *delivery_of(const struct mg_item *item)
{
    const struct mg_work *work = item->work;
    return work->keyed == NULL ? work->delivery : work->keyed->is_own ? work->origin->delivery : NULL;
}

struct mg_send *mg_command_result_make(struct mg_batch *batch, const struct mg_item *item,
                                       enum mg_command_verdict verdict, enum mg_signal_outcome signal,
                                       bool may_pass, const struct mg_order_record *record, const char *text)
{
    struct mg_command_result result = {.verdict = verdict, .signal = signal, .may_pass = may_pass};
    if (item->command != NULL) {
        memcpy(result.command_id, item->command->command_id, sizeof(result.command_id));
        memcpy(result.order_id, item->command->order_id, sizeof(result.order_id));
    }
    if (record != NULL) {
        result.version = record->order.version;
        result.state = record->order.state;
    }
    (void)snprintf(result.text, sizeof(result.text), "%s", text);
    return answer_make(batch->outbox, &batch->scratch, item->work, delivery_of(item), &result);
}

void mg_command_answer_signal(struct mg_batch *batch, struct mg_item *item, enum mg_command_verdict verdict,
                              enum mg_signal_outcome signal, bool may_pass, const char *text)
{
    struct mg_send *send =
        mg_command_result_make(batch, item, verdict, signal, may_pass, item->fold->record, text);
    if (send != NULL) {
        TAILQ_INSERT_TAIL(&item->fold->sends, send, entry);
    }
}

/* ---- of any command ---- */

void mg_command_result(struct mg_batch *batch, struct mg_item *item, enum mg_command_verdict verdict,
                       const char *text)
{
    mg_command_answer_signal(batch, item, verdict, MG_SIGNAL_NONE, false, text);
}

static void result_send(struct mg_batch *batch, struct mg_item *item, enum mg_command_verdict verdict,
                        bool may_pass, const char *text)
{
    struct mg_send *send = mg_command_result_make(batch, item, verdict, MG_SIGNAL_NONE, may_pass, NULL, text);
    if (send != NULL) {
        mg_outbox_add(batch->outbox, send);
    }
}

void mg_command_unread(struct mg_batch *batch, struct mg_item *item, const char *text)
{
    result_send(batch, item, MG_COMMAND_INVALID, false, text);
}

void mg_command_refuse(struct mg_batch *batch, struct mg_item *item, bool may_pass, const char *text)
{
    result_send(batch, item, MG_COMMAND_INVALID, may_pass, text);
    mg_work_settle(&batch->shared->works, item->work, MG_END_ACK);
}

void mg_command_miss(struct mg_batch *batch, struct mg_item *item, const char *text)
{
    result_send(batch, item, MG_COMMAND_NOT_FOUND, false, text);
    mg_work_settle(&batch->shared->works, item->work, MG_END_ACK);
}
