/* See trace.h. */
#include "base/trace.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "base/id.h"

/* "00-<trace id>-<parent id>-<flags>": the offset of each part. */
enum { AT_VERSION = 0, AT_TRACE = 3, AT_PARENT = 36, AT_FLAGS = 53, TRACEPARENT_LEN = 55 };

#define SHARE_BITS 56

/* Capitals are invalid (§3.2.2). */
static bool hex_read(const char *text, size_t size, uint8_t *ret_bytes)
{
    for (size_t i = 0; i < 2 * size; i++) {
        if (text[i] >= 'A' && text[i] <= 'F') {
            return false;
        }
    }
    return mg_hex_read(text, size, ret_bytes);
}

static bool is_zero(const uint8_t *bytes, size_t size)
{
    for (size_t i = 0; i < size; i++) {
        if (bytes[i] != 0) {
            return false;
        }
    }
    return true;
}

bool mg_trace_parse(struct mg_slice traceparent, struct mg_trace *ret_trace)
{
    struct mg_trace trace;
    uint8_t version, flags;
    if (traceparent.data == NULL || traceparent.len < TRACEPARENT_LEN) {
        return false;
    }
    const char *at = traceparent.data;
    if (at[AT_TRACE - 1] != '-' || at[AT_PARENT - 1] != '-' || at[AT_FLAGS - 1] != '-') {
        return false;
    }
    if (!hex_read(at + AT_VERSION, 1, &version) ||
        !hex_read(at + AT_TRACE, MG_TRACE_ID_SIZE, trace.trace_id) ||
        !hex_read(at + AT_PARENT, MG_SPAN_ID_SIZE, trace.parent_id) || !hex_read(at + AT_FLAGS, 1, &flags)) {
        return false;
    }
    /* ff is forbidden. 00 ends here; additions of a later version stand behind another dash (§4.3). */
    if (version == 0xff || (version == 0 && traceparent.len != TRACEPARENT_LEN)) {
        return false;
    }
    if (traceparent.len > TRACEPARENT_LEN && at[TRACEPARENT_LEN] != '-') {
        return false;
    }
    if (is_zero(trace.trace_id, MG_TRACE_ID_SIZE) || is_zero(trace.parent_id, MG_SPAN_ID_SIZE)) {
        return false;
    }
    trace.flags = flags & (MG_TRACE_SAMPLED | MG_TRACE_RANDOM);
    *ret_trace = trace;
    return true;
}

void mg_trace_write(const struct mg_trace *trace, char ret_text[MG_TRACEPARENT_SIZE])
{
    const uint8_t version = 0, flags = (uint8_t)trace->flags;
    char *at = mg_hex_write(&version, 1, ret_text);
    *at++ = '-';
    at = mg_hex_write(trace->trace_id, MG_TRACE_ID_SIZE, at);
    *at++ = '-';
    at = mg_hex_write(trace->parent_id, MG_SPAN_ID_SIZE, at);
    *at++ = '-';
    at = mg_hex_write(&flags, 1, at);
    *at = '\0';
}

bool mg_trace_has_parent(const struct mg_trace *trace)
{
    return !is_zero(trace->parent_id, MG_SPAN_ID_SIZE);
}

void mg_trace_of_order(const char *order_id, struct mg_trace *ret_trace)
{
    uint8_t digest[MG_SHA256_SIZE];
    mg_sha256(mg_slice_of(order_id), digest);
    *ret_trace = (struct mg_trace){.flags = 0};
    memcpy(ret_trace->trace_id, digest, MG_TRACE_ID_SIZE);
}

/* Digits and optionally a point and digits: a form that is the same in every locale. */
bool mg_trace_threshold_parse(const char *share, uint64_t *ret_threshold)
{
    double value = 0, unit = 1;
    bool is_behind_point = false;
    for (const char *at = share; *at != '\0'; at++) {
        bool is_point = *at == '.' && at > share && at[1] != '\0' && !is_behind_point;
        if (!is_point && (*at < '0' || *at > '9')) {
            return false;
        }
        is_behind_point = is_behind_point || is_point;
        if (is_point) {
            continue;
        }
        unit = is_behind_point ? unit / 10 : 1;
        value = is_behind_point ? value + unit * (*at - '0') : value * 10 + (*at - '0');
    }
    if (share[0] == '\0' || value > 1) {
        return false;
    }
    *ret_threshold = (uint64_t)((1 - value) * (double)(UINT64_C(1) << SHARE_BITS));
    return true;
}

bool mg_trace_is_chosen(const struct mg_trace *trace, uint64_t threshold)
{
    uint64_t randomness = 0;
    for (int i = MG_TRACE_ID_SIZE - SHARE_BITS / 8; i < MG_TRACE_ID_SIZE; i++) {
        randomness = randomness << 8 | trace->trace_id[i];
    }
    return randomness >= threshold;
}

void mg_span_id(const char *what, const char *identity, uint8_t ret_id[MG_SPAN_ID_SIZE])
{
    char text[512]; /* far above the limits of an order's id and a step's name */
    uint8_t digest[MG_SHA256_SIZE];
    int len = snprintf(text, sizeof(text), "%s/%s", what, identity); /* no identity holds a slash */
    assert(len > 0 && (size_t)len < sizeof(text));
    mg_sha256((struct mg_slice){text, (size_t)len}, digest);
    memcpy(ret_id, digest, MG_SPAN_ID_SIZE);
    if (is_zero(ret_id, MG_SPAN_ID_SIZE)) {
        ret_id[MG_SPAN_ID_SIZE - 1] = 1; /* zero means: none */
    }
}

static struct mg_span_attribute *attribute_add(struct mg_span *span, const char *name)
{
    assert(span->attribute_count < MG_SPAN_ATTRIBUTES_MAX);
    struct mg_span_attribute *attribute = &span->attributes[span->attribute_count++];
    *attribute = (struct mg_span_attribute){.name = name};
    return attribute;
}

void mg_span_put_text(struct mg_span *span, const char *name, const char *text)
{
    attribute_add(span, name)->text = text;
}

void mg_span_put_number(struct mg_span *span, const char *name, int64_t number)
{
    attribute_add(span, name)->number = number;
}
