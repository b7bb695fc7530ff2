/* The alert message: opened or closed, for one code and subject. */
#include "wire/alert.h"

#include "json/reader.h"
#include "wire/message_write.h"

static const char *const NAMES[] = {"v", "alert", "closed", "subject", "order_id", "text", "at", NULL};

static bool is_subject(const char *text, size_t len)
{
    for (size_t i = 0; i < len; i++) {
        if (text[i] < ' ' || text[i] > '~') {
            return false;
        }
    }
    return len > 0;
}

void mg_alert_write(const struct mg_alert_message *alert, struct mg_buf *ret_body)
{
    struct mg_json_writer json = mg_json_compact(ret_body);

    mg_json_object_begin(&json);
    mg_json_member_int(&json, "v", 1);
    mg_json_member_word(&json, "alert", mg_alert_name(alert->alert));
    if (alert->is_closed) {
        mg_json_member_bool(&json, "closed", true);
    }
    mg_message_put_text(&json, "subject", alert->subject);
    mg_message_put_text_if(&json, "order_id", alert->order_id);
    mg_message_put_text(&json, "text", alert->text);
    mg_message_put_time(&json, "at", alert->at_ms);
    mg_json_object_end(&json);
}

enum mg_class mg_alert_parse(struct mg_slice body, struct mg_alert_message *ret_alert, struct mg_err *err)
{
    struct mg_json_faults faults = {.err = err};
    struct mg_json_object object;
    struct mg_alert_message alert = {0};

    if (!mg_json_message_open(&object, &faults, body, &MG_JSON_LIMITS_DEFAULT, NAMES,
                              MG_JSON_UNKNOWN_IGNORED)) {
        return faults.class;
    }
    mg_json_version_check(&object);
    int word = mg_json_get_word(&object, "alert", MG_REQUIRED, MG_WORDS_ALERT, MG_STALE, -1);
    alert.is_closed = mg_json_get_bool(&object, "closed", MG_OPTIONAL, false);
    mg_json_get_checked(&object, "subject", MG_REQUIRED, is_subject, "1 to 128 printable ASCII characters",
                        alert.subject, sizeof(alert.subject));
    mg_json_get_order_id(&object, "order_id", MG_OPTIONAL, alert.order_id);
    mg_json_get_text(&object, "text", MG_REQUIRED, alert.text, sizeof(alert.text));
    alert.at_ms = mg_json_get_time(&object, "at");
    if (faults.class != MG_OK) {
        return faults.class;
    }
    alert.alert = (enum mg_alert)word;
    *ret_alert = alert;
    return MG_OK;
}
