/* Keeps the spans of a process under test, with a copy of the texts that they borrow. */
#ifndef MG_TEST_SPAN_RECORDER_H
#define MG_TEST_SPAN_RECORDER_H

#include <check.h>
#include <stdio.h>
#include <string.h>

#include "base/id.h"
#include "base/trace.h"

#define SPANS_MAX 32

static struct recorded {
    struct mg_span span;
    char name[64], trace[2 * MG_TRACE_ID_SIZE + 1], id[2 * MG_SPAN_ID_SIZE + 1],
        parent[2 * MG_SPAN_ID_SIZE + 1];
    char text[1024]; /* " name=value" of each attribute */
} recorded[SPANS_MAX];
static int recorded_count;

static void span_keep(void *arg, const struct mg_span *span)
{
    (void)arg;
    ck_assert_int_lt(recorded_count, SPANS_MAX);
    struct recorded *one = &recorded[recorded_count++];
    memset(one, 0, sizeof(*one));
    one->span = *span;
    snprintf(one->name, sizeof(one->name), "%s", span->name);
    mg_hex_write(span->trace.trace_id, MG_TRACE_ID_SIZE, one->trace);
    mg_hex_write(span->id, MG_SPAN_ID_SIZE, one->id);
    mg_hex_write(span->trace.parent_id, MG_SPAN_ID_SIZE, one->parent);
    for (int i = 0; i < span->attribute_count; i++) {
        const struct mg_span_attribute *attribute = &span->attributes[i];
        char number[32];
        snprintf(number, sizeof(number), "%lld", (long long)attribute->number);
        size_t len = strlen(one->text);
        snprintf(one->text + len, sizeof(one->text) - len, " %s=%s", attribute->name,
                 attribute->text != NULL ? attribute->text : number);
    }
}

static bool span_has(const struct recorded *one, const char *words)
{
    return strstr(one->text, words) != NULL;
}

#endif
