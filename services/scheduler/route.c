/*
 * Not every delivery waits for a batch: agents' reports concern no order, and a forged message must change
 * nothing.
 */
#include "route.h"

#include "base/log.h"
#include "io/amqp/topology.h"

/* `dead requeue` takes from x-death the exchange that proves a message's sender. RabbitMQ (3.10 to 4.2)
 * updates an entry that exists, by any author, and keeps its exchange. So a message with x-death from a
 * sender with an exchange of its own is kept as a copy without the header, which cannot be requeued. A
 * submission is refused (intake.c). A message too large to copy is dead-lettered as it is: it is too large
 * to be requeued, too. */
static void forged_set_aside(struct mg_outbox *outbox, struct mg_work *work)
{
    const struct mg_delivery *delivery = work->delivery;
    if (delivery->is_oversized) {
        mg_work_settle(&outbox->shared->works, work, MG_END_REJECT);
        return;
    }
    struct mg_send_spec spec = {.work = work,
                                .kind = MG_SEND_REJECTED,
                                .exchange = "",
                                .routing_key = MG_QUEUE_DEAD,
                                .type = work->lane == MG_LANE_REPLIES ? "reply" : "command",
                                .message_id = delivery->message_id,
                                .correlation_id = delivery->correlation_id,
                                .origin = delivery->exchange,
                                .reason =
                                    mg_slice_of("it has the header x-death, which only the broker may write"),
                                .body = delivery->body};
    struct mg_send *send = mg_send_create(outbox, &spec);
    if (send != NULL) {
        mg_log(MG_LOG_ERROR, "dead-lettered a message whose sender wrote the header x-death",
               MG_LOG_TEXT("exchange", delivery->exchange.data));
        mg_metric_add(outbox->shared->series.dead_lettered, 1);
        mg_outbox_add(outbox, send);
    }
    mg_work_settle(&outbox->shared->works, work, send != NULL ? MG_END_ACK : MG_END_LEAVE);
    mg_outbox_pump(outbox);
}

void mg_route_delivery(struct mg_inbox *inbox, struct mg_outbox *outbox, struct mg_reports *reports,
                       struct mg_delivery *delivery)
{
    struct mg_work *work = mg_inbox_receive(inbox, delivery);
    if (work == NULL) {
        return;
    }
    bool is_submission = work->lane == MG_LANE_HIGH || work->lane == MG_LANE_NORMAL;
    if (!is_submission && mg_work_is_forged(work)) {
        forged_set_aside(outbox, work);
    } else if (work->lane == MG_LANE_REPLIES && mg_slice_is(delivery->type, "service_report")) {
        mg_reports_add(reports, work);
    } else {
        mg_inbox_add(inbox, work);
    }
}
