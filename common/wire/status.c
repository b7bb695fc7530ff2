/* The status message to a client. Only a rejection may lack an order id. */
#include "wire/status.h"

#include "json/reader.h"
#include "wire/message_write.h"

static const char *const NAMES[] = {"v",      "order_id", "seq",   "status", "at",    "step", "reason",
                                    "signal", "title",    "until", "output", "cause", NULL};

void mg_status_write(const struct mg_status_message *status, struct mg_buf *ret_body)
{
    struct mg_json_writer json = mg_json_compact(ret_body);

    mg_json_object_begin(&json);
    mg_json_member_int(&json, "v", 1);
    mg_message_put_text_if(&json, "order_id", status->order_id);
    mg_json_member_int(&json, "seq", (int64_t)status->seq);
    mg_json_member_word(&json, "status", mg_status_name(status->status));
    mg_message_put_time(&json, "at", status->at_ms);
    mg_message_put_text_if(&json, "step", status->step);
    mg_message_put_text_if(&json, "reason", status->reason);
    mg_message_put_text_if(&json, "signal", status->signal);
    if (status->title.data != NULL) {
        mg_json_member_raw(&json, "title", status->title);
    }
    if (status->until_ms != 0) {
        mg_message_put_time(&json, "until", status->until_ms);
    }
    if (status->output.data != NULL) {
        mg_json_member_raw(&json, "output", status->output);
    }
    if (status->cause.data != NULL) {
        mg_json_member_raw(&json, "cause", status->cause);
    }
    mg_json_object_end(&json);
}

enum mg_class mg_status_parse(struct mg_slice body, struct mg_status_message *ret_status, struct mg_err *err)
{
    struct mg_json_faults faults = {.err = err};
    struct mg_json_object object;
    struct mg_status_message status = {0};

    if (!mg_json_message_open(&object, &faults, body, &MG_JSON_LIMITS_DATA, NAMES, MG_JSON_UNKNOWN_IGNORED)) {
        return faults.class;
    }
    mg_json_version_check(&object);
    int word = mg_json_get_word(&object, "status", MG_REQUIRED, MG_WORDS_STATUS, MG_STALE, -1);
    bool is_rejection = word == MG_STATUS_REJECTED;
    mg_json_get_order_id(&object, "order_id", is_rejection ? MG_OPTIONAL : MG_REQUIRED, status.order_id);
    status.seq =
        (uint64_t)mg_json_get_integer(&object, "seq", MG_REQUIRED, is_rejection ? 0 : 1, INT64_MAX, 0);
    status.at_ms = mg_json_get_time(&object, "at");
    mg_json_get_name(&object, "step", MG_OPTIONAL, status.step);
    mg_json_get_text(&object, "reason", MG_OPTIONAL, status.reason, sizeof(status.reason));
    mg_json_get_name(&object, "signal", MG_OPTIONAL, status.signal);
    status.title = mg_json_get_typed(&object, "title", MG_OPTIONAL, MG_JSON_STRING);
    bool has_until = mg_json_get(&object, "until", MG_OPTIONAL).data != NULL;
    status.until_ms = has_until ? mg_json_get_time(&object, "until") : 0;
    status.output = mg_json_get(&object, "output", MG_OPTIONAL);
    status.cause = mg_json_get_typed(&object, "cause", MG_OPTIONAL, MG_JSON_OBJECT);
    if (faults.class != MG_OK) {
        return faults.class;
    }
    status.status = (enum mg_status)word;
    *ret_status = status;
    return MG_OK;
}

enum mg_class mg_status_identify(struct mg_slice body, struct mg_status_identity *ret_identity,
                                 struct mg_err *err)
{
    struct mg_json_faults faults = {.err = err};
    struct mg_json_object object;
    struct mg_status_identity identity = {0};

    if (!mg_json_message_open(&object, &faults, body, &MG_JSON_LIMITS_DATA, NAMES, MG_JSON_UNKNOWN_IGNORED)) {
        return faults.class;
    }
    mg_json_get_order_id(&object, "order_id", MG_OPTIONAL, identity.order_id);
    identity.seq = (uint64_t)mg_json_get_integer(&object, "seq", MG_REQUIRED, 0, INT64_MAX, 0);
    identity.at_ms = mg_json_get_time(&object, "at");
    if (faults.class == MG_OK) {
        *ret_identity = identity;
    }
    return faults.class;
}
