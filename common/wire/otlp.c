/* See otlp.h. */
#include "wire/otlp.h"

#include <inttypes.h>

#include "base/id.h"
#include "wire/json.h"
#include "wire/json_write.h"

/* OTLP's STATUS_CODE_ERROR. */
#define STATUS_ERROR 2
/* A collector's answer to one batch: a number and a sentence. */
static const struct mg_json_limits ANSWER_LIMITS = {
    .max_bytes = 64 * 1024, .max_depth = 32, .max_members = 1000};

static void put_id(struct mg_json_out *out, const char *name, const uint8_t *bytes, size_t size)
{
    char text[2 * MG_TRACE_ID_SIZE + 1];
    *mg_hex_write(bytes, size, text) = '\0';
    mg_json_put_text(out, name, text);
}

static void put_number(struct mg_json_out *out, const char *name, int64_t number)
{
    mg_json_put_name(out, name);
    mg_buf_printf(out->buf, "\"%" PRId64 "\"", number);
}

static void put_time(struct mg_json_out *out, const char *name, int64_t at_us)
{
    put_number(out, name, at_us * 1000); /* nanoseconds */
}

static void write_attributes(const struct mg_span_attribute *attributes, int count, struct mg_buf *buf)
{
    mg_buf_append_text(buf, "[");
    for (int i = 0; i < count; i++) {
        struct mg_json_out attribute, value;
        if (i > 0) mg_buf_append_text(buf, ",");
        mg_json_begin(&attribute, buf);
        mg_json_put_text(&attribute, "key", attributes[i].name);
        mg_json_put_name(&attribute, "value");
        mg_json_begin(&value, buf);
        if (attributes[i].text != NULL)
            mg_json_put_text(&value, "stringValue", attributes[i].text);
        else
            put_number(&value, "intValue", attributes[i].number);
        mg_json_end(&value);
        mg_json_end(&attribute);
    }
    mg_buf_append_text(buf, "]");
}

void mg_otlp_write_head(const char *service, const char *instance, struct mg_buf *ret_head)
{
    const struct mg_span_attribute resource[] = {{.name = "service.name", .text = service},
                                                 {.name = "service.instance.id", .text = instance},
                                                 {.name = "service.version", .text = MG_VERSION}};
    mg_buf_append_text(ret_head, "{\"resourceSpans\":[{\"resource\":{\"attributes\":");
    write_attributes(resource, sizeof resource / sizeof resource[0], ret_head);
    mg_buf_append_text(ret_head, "},\"scopeSpans\":[{\"scope\":");
    struct mg_json_out scope;
    mg_json_begin(&scope, ret_head);
    mg_json_put_text(&scope, "name", "makegood");
    mg_json_put_text(&scope, "version", MG_VERSION);
    mg_json_end(&scope);
    mg_buf_append_text(ret_head, ",\"spans\":[");
}

void mg_otlp_write_span(const struct mg_span *span, struct mg_buf *ret_span)
{
    struct mg_json_out out;
    mg_json_begin(&out, ret_span);
    put_id(&out, "traceId", span->trace.trace_id, MG_TRACE_ID_SIZE);
    put_id(&out, "spanId", span->id, MG_SPAN_ID_SIZE);
    if (mg_trace_has_parent(&span->trace))
        put_id(&out, "parentSpanId", span->trace.parent_id, MG_SPAN_ID_SIZE);
    mg_json_put_integer(&out, "flags", span->trace.flags);
    mg_json_put_text(&out, "name", span->name);
    mg_json_put_integer(&out, "kind", span->kind);
    put_time(&out, "startTimeUnixNano", span->begin_us);
    put_time(&out, "endTimeUnixNano", span->end_us);
    mg_json_put_name(&out, "attributes");
    write_attributes(span->attributes, span->attribute_count, ret_span);
    if (span->is_error) {
        struct mg_json_out status;
        mg_json_put_name(&out, "status");
        mg_json_begin(&status, ret_span);
        mg_json_put_integer(&status, "code", STATUS_ERROR);
        mg_json_end(&status);
    }
    mg_json_end(&out);
}

int64_t mg_otlp_read_rejected(struct mg_slice answer)
{
    struct mg_err err;
    if (answer.len == 0 || mg_json_check(answer, &ANSWER_LIMITS, &err) != MG_OK) return 0;
    struct mg_slice value = mg_json_find(answer, "/partialSuccess/rejectedSpans");
    if (value.data == NULL) return 0;
    const char *at = value.data[0] == '"' ? value.data + 1 : value.data; /* both are valid protobuf JSON */
    const char *end = value.data + value.len;
    int64_t count = 0;
    while (at < end && *at >= '0' && *at <= '9' && count < INT32_MAX)
        count = count * 10 + (*at++ - '0');
    return count;
}
