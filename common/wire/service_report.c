/* An agent's report about its service: breaker, readiness, calls under way and ended. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "json/reader.h"
#include "wire/message_write.h"
#include "wire/reply.h"

static const char *const NAMES[] = {
    "v",      "service",         "instance", "breaker",  "ready",  "in_flight", "concurrency",
    "reason", "control_version", "process",  "sequence", "prober", "calls",     NULL};
static const char *const CALLS_NAMES[] = {"count",         "failed",   "refused", "within", "durations",
                                          "failing_since", "probe_at", "error",   NULL};
static const char *const ERROR_NAMES[] = {"code", "text", "at", NULL};
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

static void time_write_if(struct mg_json_writer *json, const char *name, int64_t wall_ms)
{
    if (wall_ms > 0) {
        mg_message_put_time(json, name, wall_ms);
    }
}

int mg_call_bucket(int64_t duration_us)
{
    int64_t above_ms = duration_us > 0 ? (duration_us - 1) / 1000 : 0; /* a bucket's end belongs to it */
    int bucket = 0;
    while (above_ms >= 16 && bucket < MG_CALL_DURATIONS) {
        above_ms /= 2;
        bucket += 8;
    }
    return bucket < MG_CALL_DURATIONS - 8 ? bucket + (int)above_ms : MG_CALL_DURATIONS - 1;
}

static void numbers_write(const char *name, const int64_t *numbers, int count, struct mg_json_writer *json)
{
    mg_json_member_array(json, name);
    for (int i = 0; i < count; i++) {
        char number[24];
        (void)snprintf(number, sizeof(number), "%lld", (long long)numbers[i]);
        mg_json_element_raw(json, mg_slice_of(number));
    }
    mg_json_array_end(json);
}

void mg_call_figures_write(const struct mg_call_figures *calls, struct mg_json_writer *json)
{
    mg_json_object_begin(json);
    mg_json_member_int(json, "count", calls->count);
    mg_json_member_int(json, "failed", calls->failed);
    numbers_write("within", calls->within, MG_CALL_BUCKETS, json);
    if (calls->has_durations) {
        mg_json_member_int(json, "refused", calls->refused);
        numbers_write("durations", calls->durations, MG_CALL_DURATIONS, json);
    }
    time_write_if(json, "failing_since", calls->failing_since_ms);
    time_write_if(json, "probe_at", calls->probe_at_ms);
    if (calls->error_at_ms > 0) {
        mg_json_member_object(json, "error");
        mg_message_put_text(json, "code", calls->error_code);
        mg_message_put_text(json, "text", calls->error_text);
        mg_message_put_time(json, "at", calls->error_at_ms);
        mg_json_object_end(json);
    }
    mg_json_object_end(json);
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
    if (report->has_calls) {
        mg_json_name(&json, "calls");
        mg_call_figures_write(&report->calls, &json);
    }
    mg_json_object_end(&json);
}

static bool is_not_empty(const char *text, size_t len)
{
    (void)text; /* any text is a valid instance name */
    return len > 0;
}

/* False: no whole number that a count may have. */
static bool count_read(struct mg_slice value, int64_t *ret_count)
{
    char text[24], *end = text;
    if (mg_json_type_of(value) != MG_JSON_NUMBER || value.len >= sizeof(text)) {
        return false;
    }
    memcpy(text, value.data, value.len);
    text[value.len] = '\0';
    errno = 0;
    *ret_count = strtoll(text, &end, 10);
    return errno == 0 && *end == '\0' && *ret_count >= 0;
}

/* False: absent, or refused. */
static bool numbers_read(const struct mg_json_object *object, const char *member, enum mg_json_need need,
                         int most, int64_t *ret_numbers)
{
    struct mg_slice array = mg_json_get_typed(object, member, need, MG_JSON_ARRAY), name, value;
    int count = 0;
    if (array.data == NULL) {
        return false;
    }
    for (struct mg_json_walk walk = mg_json_walk_of(array); mg_json_walk_next(&walk, &name, &value);) {
        int64_t number;
        if (count == most || !count_read(value, &number)) {
            count = -1;
            break;
        }
        ret_numbers[count++] = number;
    }
    if (count != most) {
        mg_json_member_fault(object, MG_BAD_INPUT, member, "expected %d whole numbers from 0 on", most);
    }
    return count == most;
}

/* 0: absent. */
static int64_t time_read_if(const struct mg_json_object *object, const char *name)
{
    return mg_json_get(object, name, MG_OPTIONAL).data != NULL ? mg_json_get_time(object, name) : 0;
}

static void calls_read(const struct mg_json_object *report, struct mg_service_report *ret_report)
{
    struct mg_slice value = mg_json_get_typed(report, "calls", MG_OPTIONAL, MG_JSON_OBJECT);
    struct mg_call_figures *calls = &ret_report->calls;
    struct mg_json_object object, error;
    if (value.data == NULL || !mg_json_object_open(&object, report->faults, value, "/calls", CALLS_NAMES,
                                                   MG_JSON_UNKNOWN_IGNORED)) {
        return;
    }
    ret_report->has_calls = true;
    calls->count = mg_json_get_integer(&object, "count", MG_REQUIRED, 0, INT64_MAX, 0);
    calls->failed = mg_json_get_integer(&object, "failed", MG_REQUIRED, 0, INT64_MAX, 0);
    calls->refused = mg_json_get_integer(&object, "refused", MG_OPTIONAL, 0, INT64_MAX, 0);
    (void)numbers_read(&object, "within", MG_REQUIRED, MG_CALL_BUCKETS, calls->within);
    calls->has_durations =
        numbers_read(&object, "durations", MG_OPTIONAL, MG_CALL_DURATIONS, calls->durations);
    calls->failing_since_ms = time_read_if(&object, "failing_since");
    calls->probe_at_ms = time_read_if(&object, "probe_at");
    struct mg_slice last = mg_json_get_typed(&object, "error", MG_OPTIONAL, MG_JSON_OBJECT);
    if (last.data != NULL && mg_json_object_open(&error, report->faults, last, "/calls/error", ERROR_NAMES,
                                                 MG_JSON_UNKNOWN_IGNORED)) {
        mg_json_get_text(&error, "code", MG_REQUIRED, calls->error_code, sizeof(calls->error_code));
        mg_json_get_text(&error, "text", MG_REQUIRED, calls->error_text, sizeof(calls->error_text));
        calls->error_at_ms = mg_json_get_time(&error, "at");
    }
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
    calls_read(&object, &report);
    if (faults.class != MG_OK) {
        return faults.class;
    }
    report.breaker = (enum mg_breaker_state)breaker;
    *ret_report = report;
    return MG_OK;
}
