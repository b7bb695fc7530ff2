/* The alert message: opened or closed, for one code and subject. */
#include "wire/alert.h"

#include "wire/json_reader.h"
#include "wire/json_write.h"

static const char *const NAMES[] = {"v", "alert", "closed", "subject", "order_id", "text", "at", NULL};

static bool is_subject(const char *text, size_t len)
{
    for (size_t i = 0; i < len; i++) {
        if (text[i] < ' ' || text[i] > '~') return false;
    }
    return len > 0;
}

void mg_alert_write(const struct mg_alert_message *alert, struct mg_buf *ret_body)
{
    struct mg_json_out out;

    mg_json_begin(&out, ret_body);
    mg_json_put_integer(&out, "v", 1);
    mg_json_put_text(&out, "alert", mg_alert_name(alert->alert));
    if (alert->is_closed) mg_json_put_bool(&out, "closed", true);
    mg_json_put_text(&out, "subject", alert->subject);
    mg_json_put_text_if(&out, "order_id", alert->order_id);
    mg_json_put_text(&out, "text", alert->text);
    mg_json_put_time(&out, "at", alert->at_ms);
    mg_json_end(&out);
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
                        alert.subject, sizeof alert.subject);
    mg_json_get_order_id(&object, "order_id", MG_OPTIONAL, alert.order_id);
    mg_json_get_text(&object, "text", MG_REQUIRED, alert.text, sizeof alert.text);
    alert.at_ms = mg_json_get_time(&object, "at");
    if (faults.class != MG_OK) return faults.class;
    alert.alert = (enum mg_alert)word;
    *ret_alert = alert;
    return MG_OK;
}
