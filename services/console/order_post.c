/*
 * An order that an operator posts. It is held against the newest version of its workflow before it is
 * published: the console has no queue in which a rejection would arrive. Like the tool, it publishes to the
 * exchange of clients without a name.
 */
#include <string.h>

#include "console/change_request.h"
#include "core/key.h"
#include "io/amqp/topology.h"
#include "operator/payload_check.h"

#define BODY_MAX (MG_COMMAND_RESULT_MAX + 1024)

static void posted_tell(struct mg_change *change)
{
    struct mg_buf buf;
    char memory[512];
    mg_buf_init_fixed(&buf, memory, sizeof(memory));
    struct mg_json_writer json = mg_json_spaced(&buf);
    mg_json_object_begin(&json);
    mg_json_member_word(&json, "text", "the order is posted");
    mg_json_member_string(&json, "order_id", change->command.order_id);
    mg_json_object_end(&json);
    mg_change_end_with(change, 200, mg_buf_slice(&buf));
}

static void on_published(void *arg, enum mg_publish_outcome outcome)
{
    struct mg_change *change = arg;
    if (outcome == MG_PUBLISH_CONFIRMED) {
        posted_tell(change);
    } else {
        mg_change_end(change, 503,
                      outcome == MG_PUBLISH_UNKNOWN
                          ? "the broker did not confirm the order, but may have it; post it again"
                      : outcome == MG_PUBLISH_RETURNED
                          ? "there is no queue for new orders; run: makegood broker apply"
                          : "the broker did not take the order; post it again later");
    }
}

void mg_console_post_send(struct mg_change *change)
{
    struct mg_err err;
    struct mg_buf body;
    mg_buf_init(&body, BODY_MAX);
    struct mg_json_writer json = mg_json_spaced(&body);
    mg_json_object_begin(&json);
    mg_json_member_string(&json, "order_id", change->command.order_id);
    mg_json_member_string(&json, "workflow", change->workflow);
    mg_json_member_raw(&json, "payload", change->command.payload);
    mg_json_object_end(&json);
    const struct mg_message message = {.exchange = MG_EXCHANGE_INTAKE,
                                       .routing_key = MG_QUEUE_INTAKE,
                                       .type = "submission",
                                       .message_id = change->command.order_id,
                                       .body = mg_buf_slice(&body)};
    bool is_sent = !body.failed && mg_broker_publish(mg_commander_broker(change->console->commander),
                                                     &message, on_published, change, &err) == MG_OK;
    mg_buf_finish(&body);
    if (!is_sent) {
        mg_change_end(change, 503, "the order could not be sent to the broker; post it again");
    }
}

static void on_workflow(void *arg, bool found, int64_t version, struct mg_slice definition,
                        const struct mg_err *err)
{
    struct mg_change *change = arg;
    struct mg_err fault;
    (void)version;
    if (err != NULL) {
        mg_change_end(change, 503, err->text);
        return;
    }
    if (!found) {
        mg_change_end(change, 404, "unknown workflow: it has not been loaded");
        return;
    }
    enum mg_class class = mg_operator_payload_check(definition, change->command.payload, &fault);
    if (class != MG_OK) {
        mg_change_end(change, class == MG_TRANSIENT ? 503 : 400, fault.text);
    } else {
        change->note(change);
    }
}

/* The id is the operator's, or derived from the click, so that a second click is the same order. */
static const char *order_id_read(struct mg_change *change, struct mg_slice body)
{
    char click[MG_UUID_SIZE];
    char *order_id = change->command.order_id;
    if (!mg_document_text(body, "/order_id", order_id, sizeof(change->command.order_id)) ||
        (order_id[0] != '\0' && !mg_order_id_is_valid(order_id, strlen(order_id)))) {
        return "order_id: expected 1 to 64 characters A-Z, a-z, 0-9, ., _, :, -, or nothing";
    }
    if (order_id[0] == '\0') {
        (void)mg_document_text(body, "/command_id", click, sizeof(click));
        mg_console_command_id_make(change, 0, click, order_id);
    }
    return NULL;
}
_Static_assert(MG_UUID_SIZE <= MG_ORDER_ID_MAX + 1, "a derived id fits");

const char *mg_console_post_begin(struct mg_change *change, struct mg_slice body)
{
    struct mg_slice payload = mg_json_find(body, "/payload");
    const char *wrong = order_id_read(change, body);
    if (wrong == NULL && (!mg_document_text(body, "/workflow", change->workflow, sizeof(change->workflow)) ||
                          !mg_name_is_valid(change->workflow, strlen(change->workflow)))) {
        wrong = "workflow: expected the name of a workflow";
    }
    if (wrong == NULL) {
        wrong = payload.data == NULL
                    ? "payload: expected JSON"
                    : mg_console_json_read(change, "payload", payload, &change->command.payload);
    }
    if (wrong == NULL) {
        mg_store_get_workflow(change->console->changing_store, change->workflow, 0, on_workflow, change);
    }
    return wrong;
}
