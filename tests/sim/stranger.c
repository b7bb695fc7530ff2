/*
 * A client with an exchange of its own, or with access to another's. It sends replies, reports, commands and
 * submissions in the name of others. Every id of its messages begins with SIM_FORGED, so that the checker
 * recognises them. Each message must change nothing and end as a dead letter.
 */
#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "broker.h"
#include "io/amqp/topology.h"
#include "kernel.h"
#include "nodes.h"
#include "orders.h"
#include "wire/command.h"
#include "wire/reply.h"

#define BODY_MAX 4096

static int number;

static void forge(const char *exchange, const char *queue, const char *type, const struct mg_buf *body)
{
    char id[32];
    (void)snprintf(id, sizeof(id), SIM_FORGED "%d", ++number);
    const struct mg_message message = {.exchange = exchange,
                                       .routing_key = queue,
                                       .type = type,
                                       .message_id = id,
                                       .is_again = sim_draw(2) == 0,
                                       .body = mg_buf_slice(body)};
    assert(!body->failed);
    sim_trace("forged %s %s through %s", type, id, exchange);
    if (!sim_broker_is_down()) {
        (void)sim_broker_take(sim_message_create(&message, mg_slice_of("client")));
    }
}

/* Never the exchange of `service`: messages through that one are proved to be the service's own. */
static const char *exchange_draw(const char *service, char ret_other[MG_QUEUE_NAME_SIZE])
{
    static const char *const STRANGERS[] = {"agent.stock.control.evil", MG_EXCHANGE_DEAD, "amq.topic",
                                            MG_EXCHANGE_CONTROL};
    int index = (int)sim_draw((uint64_t)sim_service_count());
    if (sim_draw(2) == 0 || strcmp(sim_service_name(index), service) == 0) {
        return STRANGERS[sim_draw(sizeof(STRANGERS) / sizeof(STRANGERS[0]))];
    }
    mg_topology_reply_exchange(sim_service_name(index), ret_other);
    return ret_other;
}

static void reply_forge(const struct mg_order_record *record, int step, struct mg_buf *body)
{
    static const enum mg_outcome OUTCOMES[] = {MG_OUTCOME_DONE, MG_OUTCOME_PERMANENT, MG_OUTCOME_ABSENT};
    const struct mg_step *state = &record->order.steps[step];
    struct mg_reply reply = {.attempt = state->attempt,
                             .kind = state->kind,
                             .outcome = OUTCOMES[sim_draw(sizeof(OUTCOMES) / sizeof(OUTCOMES[0]))],
                             .executed = MG_EXECUTED_NO,
                             .result = mg_slice_of("\"" SIM_FORGED "\""),
                             .error_code = SIM_FORGED,
                             .error_text = SIM_FORGED,
                             .retry_after_ms = -1};
    (void)snprintf(reply.order_id, sizeof(reply.order_id), "%s", record->order_id);
    (void)snprintf(reply.step, sizeof(reply.step), "%s", record->step_names[step]);
    mg_reply_write(&reply, body);
    char other[MG_QUEUE_NAME_SIZE];
    forge(exchange_draw(record->services[step], other), MG_QUEUE_REPLIES, "reply", body);
}

static void report_forge(struct mg_buf *body)
{
    const char *service = sim_service_name((int)sim_draw((uint64_t)sim_service_count()));
    struct mg_service_report report = {
        .instance = SIM_FORGED, .breaker = MG_BREAKER_OPEN, .concurrency = 1, .process = 1, .sequence = 1};
    (void)snprintf(report.service, sizeof(report.service), "%s", service);
    mg_service_report_write(&report, body);
    char other[MG_QUEUE_NAME_SIZE];
    forge(exchange_draw(service, other), MG_QUEUE_REPLIES, "service_report", body);
}

static void command_forge(const struct mg_order_record *record, struct mg_buf *body)
{
    struct mg_command command = {.kind = sim_draw(2) == 0 ? MG_CAUSE_CANCEL : MG_CAUSE_COMPENSATE,
                                 .by = SIM_FORGED,
                                 .reason = SIM_FORGED};
    (void)snprintf(command.order_id, sizeof(command.order_id), "%s", record->order_id);
    (void)snprintf(command.command_id, sizeof(command.command_id), SIM_FORGED "%d", number + 1);
    mg_command_write(&command, body);
    char other[MG_QUEUE_NAME_SIZE];
    forge(sim_draw(2) == 0 ? MG_EXCHANGE_SUPERVISOR : exchange_draw("", other), MG_QUEUE_COMMANDS, "command",
          body);
}

static void submission_forge(struct mg_buf *body)
{
    mg_buf_printf(body, "{\"order_id\":\"" SIM_FORGED "%d\",\"workflow\":\"line\",\"payload\":{}}",
                  number + 1);
    char other[MG_QUEUE_NAME_SIZE];
    forge(exchange_draw("", other), MG_QUEUE_INTAKE, "submission", body);
}

bool sim_is_forged(struct mg_slice text)
{
    return text.len > 0 && memmem(text.data, text.len, SIM_FORGED, strlen(SIM_FORGED)) != NULL;
}

/* No stored value comes from a message through an exchange that does not prove its sender. */
void sim_check_speakers(const struct mg_order_write *write)
{
    const struct mg_order_record *record = write->record;
    for (int i = 0; i < write->event_count; i++) {
        const struct mg_event_record *event = &write->events[i];
        if (sim_is_forged(event->by) || sim_is_forged(event->reason) || sim_is_forged(event->cause)) {
            sim_violated("speakers", "order %s: %.*s, which a stranger sent, counts", record->order_id,
                         (int)event->cause.len, event->cause.data);
        }
    }
    for (int i = 0; i < record->order.step_count; i++) {
        if (sim_is_forged(record->steps[i].result) || sim_is_forged(record->steps[i].error_code)) {
            sim_violated("speakers", "order %s: step %d has a stranger's result", record->order_id, i);
        }
    }
}

static void on_stranger(void *arg)
{
    (void)arg;
    struct sim_stored stored;
    if (sim_store_order_count() == 0) {
        return;
    }
    sim_happened(SIM_STRANGER);
    sim_store_order_at((int)sim_draw((uint64_t)sim_store_order_count()), &stored);
    int steps = stored.record->order.step_count; /* with a row: an order in line has none */
    int step = steps > 0 ? (int)sim_draw((uint64_t)steps) : 0;
    struct mg_buf body;
    mg_buf_init(&body, BODY_MAX);
    switch (sim_draw(4)) {
    case 0:
        report_forge(&body);
        break;
    case 1:
        command_forge(stored.record, &body);
        break;
    case 2:
        submission_forge(&body);
        break;
    default:
        if (stored.record->step_names[step] != NULL) {
            reply_forge(stored.record, step, &body);
        }
        break;
    }
    mg_buf_finish(&body);
}

void sim_strangers_start(void)
{
    sim_every(SIM_STRANGER, on_stranger);
}
