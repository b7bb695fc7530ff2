/*
 * A status is made once and kept with its event: each later sending has the same bytes.
 */
#include "status_make.h"

#include <stdio.h>
#include <string.h>

#include "json/json.h"
#include "wire/status.h"

struct mg_status_text mg_status_text_of(struct mg_slice body)
{
    struct mg_status_message status;
    struct mg_err err;
    struct mg_status_text text = {.body = body};
    if (body.data != NULL && mg_status_parse(body, &status, &err) == MG_OK) {
        text.seq = status.seq;
        text.status = status.status;
    }
    return text;
}

bool mg_status_kept(const struct mg_event_record *event, int index, struct mg_status_text *ret_status)
{
    char pointer[16];
    snprintf(pointer, sizeof(pointer), "/%d", index);
    const struct mg_slice none = {NULL, 0};
    struct mg_slice body = event->statuses.data != NULL ? mg_json_find(event->statuses, pointer) : none;
    *ret_status = mg_status_text_of(body);
    ret_status->version = event->version;
    return body.data != NULL;
}

struct mg_send *mg_status_send(struct mg_outbox *outbox, struct mg_work *work,
                               const struct mg_order_record *record, const struct mg_status_text *status)
{
    if (record->reply_to.data == NULL || status->seq == 0) {
        return NULL;
    }
    char message_id[MG_ORDER_ID_MAX + 24], queue[256];
    snprintf(message_id, sizeof(message_id), "%s.%llu", record->order_id, (unsigned long long)status->seq);
    snprintf(queue, sizeof(queue), "%.*s", (int)record->reply_to.len, record->reply_to.data);
    struct mg_send_spec spec = {.work = work,
                                .kind = MG_SEND_STATUS,
                                .exchange = "",
                                .type = "status",
                                .routing_key = queue,
                                .message_id = mg_slice_of(message_id),
                                .correlation_id = record->correlation_id,
                                .traceparent = record->traceparent,
                                .body = status->body};
    struct mg_send *send = mg_send_create(outbox, &spec);
    if (send != NULL) {
        memcpy(send->order_id, record->order_id, sizeof(send->order_id));
        send->version = status->version;
        send->is_status = true;
        send->status = status->status;
    }
    return send;
}
