/* See otlp.h. */
#include "wire/otlp.h"

#include <inttypes.h>
#include <stdio.h>

#include "base/id.h"
#include "json/json.h"
#include "wire/message_write.h"

/* OTLP's STATUS_CODE_ERROR. */
#define STATUS_ERROR 2
/* A collector's answer to one batch: a number and a sentence. */
static const struct mg_json_limits ANSWER_LIMITS = {
    .max_bytes = 64 * 1024, .max_depth = 32, .max_members = 1000};

static void put_id(struct mg_json_writer *json, const char *name, const uint8_t *bytes, size_t size)
{
    char text[2 * MG_TRACE_ID_SIZE + 1];
    *mg_hex_write(bytes, size, text) = '\0';
    mg_json_member_word(json, name, text);
}

static void put_number(struct mg_json_writer *json, const char *name, int64_t number)
{
    char text[24];
    (void)snprintf(text, sizeof(text), "%" PRId64, number);
    mg_json_member_word(json, name, text);
}

static void put_time(struct mg_json_writer *json, const char *name, int64_t at_us)
{
    put_number(json, name, at_us * 1000); /* nanoseconds */
}

static void put_attributes(struct mg_json_writer *json, const struct mg_span_attribute *attributes, int count)
{
    mg_json_member_array(json, "attributes");
    for (int i = 0; i < count; i++) {
        mg_json_element_object(json);
        mg_message_put_text(json, "key", attributes[i].name);
        mg_json_member_object(json, "value");
        if (attributes[i].text != NULL) {
            mg_message_put_text(json, "stringValue", attributes[i].text);
        } else {
            put_number(json, "intValue", attributes[i].number);
        }
        mg_json_object_end(json);
        mg_json_object_end(json);
    }
    mg_json_array_end(json);
}

/* MG_OTLP_TAIL closes it. */
void mg_otlp_write_head(const char *service, const char *instance, struct mg_buf *ret_head)
{
    const struct mg_span_attribute resource[] = {{.name = "service.name", .text = service},
                                                 {.name = "service.instance.id", .text = instance},
                                                 {.name = "service.version", .text = MG_VERSION}};
    struct mg_json_writer json = mg_json_compact(ret_head);
    mg_json_object_begin(&json);
    mg_json_member_array(&json, "resourceSpans");
    mg_json_element_object(&json);
    mg_json_member_object(&json, "resource");
    put_attributes(&json, resource, sizeof(resource) / sizeof(resource[0]));
    mg_json_object_end(&json);
    mg_json_member_array(&json, "scopeSpans");
    mg_json_element_object(&json);
    mg_json_member_object(&json, "scope");
    mg_json_member_word(&json, "name", "makegood");
    mg_json_member_word(&json, "version", MG_VERSION);
    mg_json_object_end(&json);
    mg_json_name(&json, "spans");
}

void mg_otlp_write_span(const struct mg_span *span, struct mg_buf *ret_span)
{
    struct mg_json_writer json = mg_json_compact(ret_span);
    mg_json_object_begin(&json);
    put_id(&json, "traceId", span->trace.trace_id, MG_TRACE_ID_SIZE);
    put_id(&json, "spanId", span->id, MG_SPAN_ID_SIZE);
    if (mg_trace_has_parent(&span->trace)) {
        put_id(&json, "parentSpanId", span->trace.parent_id, MG_SPAN_ID_SIZE);
    }
    mg_json_member_int(&json, "flags", span->trace.flags);
    mg_message_put_text(&json, "name", span->name);
    mg_json_member_int(&json, "kind", span->kind);
    put_time(&json, "startTimeUnixNano", span->begin_us);
    put_time(&json, "endTimeUnixNano", span->end_us);
    put_attributes(&json, span->attributes, span->attribute_count);
    if (span->is_error) {
        mg_json_member_object(&json, "status");
        mg_json_member_int(&json, "code", STATUS_ERROR);
        mg_json_object_end(&json);
    }
    mg_json_object_end(&json);
}

int64_t mg_otlp_read_rejected(struct mg_slice answer)
{
    struct mg_err err;
    if (answer.len == 0 || mg_json_check(answer, &ANSWER_LIMITS, &err) != MG_OK) {
        return 0;
    }
    struct mg_slice value = mg_json_find(answer, "/partialSuccess/rejectedSpans");
    if (value.data == NULL) {
        return 0;
    }
    const char *at = value.data[0] == '"' ? value.data + 1 : value.data; /* both are valid protobuf JSON */
    const char *end = value.data + value.len;
    int64_t count = 0;
    while (at < end && *at >= '0' && *at <= '9' && count < INT32_MAX) {
        count = count * 10 + (*at++ - '0');
    }
    return count;
}
