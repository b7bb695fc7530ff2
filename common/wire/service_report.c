/* An agent's report about its service: breaker, readiness, calls in flight. */
#include <string.h>

#include "json/reader.h"
#include "wire/message_write.h"
#include "wire/reply.h"

static const char *const NAMES[] = {"v",         "service",     "instance", "breaker",         "ready",
                                    "in_flight", "concurrency", "reason",   "control_version", "process",
                                    "sequence",  "prober",      NULL};
static const char *const BREAKER_STATES[] = {"closed", "open", "half_open", NULL};

const char *mg_breaker_state_name(enum mg_breaker_state state)
{
    return BREAKER_STATES[state];
}

bool mg_breaker_state_parse(const char *word, size_t len, enum mg_breaker_state *ret)
{
    for (int i = 0; BREAKER_STATES[i] != NULL; i++) {
        if (strlen(BREAKER_STATES[i]) == len && memcmp(BREAKER_STATES[i], word, len) == 0) {
            *ret = (enum mg_breaker_state)i;
            return true;
        }
    }
    return false;
}

void mg_service_report_write(const struct mg_service_report *report, struct mg_buf *ret_body)
{
    struct mg_json_writer json = mg_json_compact(ret_body);

    mg_json_object_begin(&json);
    mg_json_member_int(&json, "v", 1);
    mg_message_put_text(&json, "service", report->service);
    mg_message_put_text(&json, "instance", report->instance);
    mg_json_member_word(&json, "breaker", mg_breaker_state_name(report->breaker));
    mg_json_member_bool(&json, "ready", report->is_ready);
    mg_json_member_int(&json, "in_flight", report->in_flight);
    mg_json_member_int(&json, "concurrency", report->concurrency);
    mg_message_put_text_if(&json, "reason", report->reason);
    if (report->control_version > 0) {
        mg_json_member_int(&json, "control_version", (int64_t)report->control_version);
    }
    if (report->process > 0) {
        mg_json_member_int(&json, "process", (int64_t)report->process);
        mg_json_member_int(&json, "sequence", (int64_t)report->sequence);
    }
    if (report->is_prober) {
        mg_json_member_bool(&json, "prober", true);
    }
    mg_json_object_end(&json);
}

static bool is_not_empty(const char *text, size_t len)
{
    (void)text; /* any text is a valid instance name */
    return len > 0;
}

enum mg_class mg_service_report_parse(struct mg_slice body, struct mg_service_report *ret_report,
                                      struct mg_err *err)
{
    struct mg_json_faults faults = {.err = err};
    struct mg_json_object object;
    struct mg_service_report report = {0};

    if (!mg_json_message_open(&object, &faults, body, &MG_JSON_LIMITS_DEFAULT, NAMES,
                              MG_JSON_UNKNOWN_IGNORED)) {
        return faults.class;
    }
    mg_json_version_check(&object);
    mg_json_get_name(&object, "service", MG_REQUIRED, report.service);
    mg_json_get_checked(&object, "instance", MG_REQUIRED, is_not_empty, "1 to 127 bytes", report.instance,
                        sizeof(report.instance));
    int breaker = mg_json_get_word(&object, "breaker", MG_REQUIRED, BREAKER_STATES, MG_STALE, -1);
    report.is_ready = mg_json_get_bool(&object, "ready", MG_REQUIRED, false);
    report.in_flight = mg_json_get_integer(&object, "in_flight", MG_REQUIRED, 0, INT32_MAX, 0);
    report.concurrency = mg_json_get_integer(&object, "concurrency", MG_REQUIRED, 0, INT32_MAX, 0);
    mg_json_get_text(&object, "reason", MG_OPTIONAL, report.reason, sizeof(report.reason));
    report.control_version =
        (uint64_t)mg_json_get_integer(&object, "control_version", MG_OPTIONAL, 0, INT64_MAX, 0);
    report.process = (uint64_t)mg_json_get_integer(&object, "process", MG_OPTIONAL, 0, INT64_MAX, 0);
    report.sequence = (uint64_t)mg_json_get_integer(&object, "sequence", MG_OPTIONAL, 0, INT64_MAX, 0);
    report.is_prober = mg_json_get_bool(&object, "prober", MG_OPTIONAL, false);
    if (faults.class != MG_OK) {
        return faults.class;
    }
    report.breaker = (enum mg_breaker_state)breaker;
    *ret_report = report;
    return MG_OK;
}
