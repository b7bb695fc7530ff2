/* Spans as OTLP's JSON, to the byte: a collector that finds one name or type wrong drops the whole batch. */
#include <check.h>
#include <string.h>

#include "json/json.h"
#include "suite.h"
#include "wire/otlp.h"

static struct mg_buf text;

static void set_up(void)
{
    mg_buf_init(&text, MG_OTLP_SPAN_MAX_BYTES);
}

static void tear_down(void)
{
    mg_buf_finish(&text);
}

static struct mg_span span_of(const char *traceparent)
{
    struct mg_span span = {.name = "POST",
                           .kind = MG_SPAN_CLIENT,
                           .begin_us = INT64_C(1800000000123456),
                           .end_us = INT64_C(1800000001123456)};
    ck_assert(mg_trace_parse(mg_slice_of(traceparent), &span.trace));
    memset(span.id, 0xab, sizeof(span.id));
    return span;
}

/* Catches: identities in base64, long numbers as numbers, names in snake_case, enums as words. */
START_TEST(a_span_is_written_by_the_mapping_of_otlp)
{
    struct mg_span span = span_of("00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01");
    span.is_error = true;
    mg_span_put_text(&span, "makegood.step", "char\"ge");
    mg_span_put_number(&span, "http.response.status_code", 503);
    mg_otlp_write_span(&span, &text);
    ck_assert(!text.failed);
    ck_assert_str_eq(
        text.data,
        "{\"traceId\":\"0af7651916cd43dd8448eb211c80319c\",\"spanId\":\"abababababababab\","
        "\"parentSpanId\":\"b7ad6b7169203331\",\"flags\":1,\"name\":\"POST\",\"kind\":3,"
        "\"startTimeUnixNano\":\"1800000000123456000\",\"endTimeUnixNano\":\"1800000001123456000\","
        "\"attributes\":[{\"key\":\"makegood.step\",\"value\":{\"stringValue\":\"char\\\"ge\"}},"
        "{\"key\":\"http.response.status_code\",\"value\":{\"intValue\":\"503\"}}],"
        "\"status\":{\"code\":2}}");
}
END_TEST

/* Catches: a parent of zeros, so that no viewer finds a root. */
START_TEST(a_trace_that_begins_here_names_no_parent)
{
    struct mg_span span = {.name = "order two", .kind = MG_SPAN_CONSUMER};
    mg_trace_of_order("o1", &span.trace);
    mg_otlp_write_span(&span, &text);
    ck_assert_ptr_null(strstr(text.data, "parentSpanId"));
    ck_assert_ptr_null(strstr(text.data, "status"));
}
END_TEST

/* Catches: a body with unclosed brackets, or a process without a name. */
START_TEST(head_span_and_tail_are_one_text)
{
    struct mg_span span = span_of("00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01");
    struct mg_err err;
    mg_otlp_write_head("makegood-agent", "host:1:2", &text);
    mg_buf_append_text(&text, "[");
    mg_otlp_write_span(&span, &text);
    mg_buf_append_text(&text, ",");
    mg_otlp_write_span(&span, &text);
    mg_buf_append_text(&text, "]" MG_OTLP_TAIL);
    ck_assert(!text.failed);
    ck_assert_msg(mg_json_check(mg_buf_slice(&text), &MG_JSON_LIMITS_DEFAULT, &err) == MG_OK, "%s", err.text);
    struct mg_slice name =
        mg_json_find(mg_buf_slice(&text), "/resourceSpans/0/resource/attributes/0/value/stringValue");
    ck_assert(mg_slice_is(name, "\"makegood-agent\""));
    ck_assert_ptr_nonnull(mg_json_find(mg_buf_slice(&text), "/resourceSpans/0/scopeSpans/0/spans/1").data);
}
END_TEST

/* Catches: spans that a collector has refused, counted as taken. */
START_TEST(a_rejection_of_the_collector_is_read)
{
    static const struct {
        const char *answer;
        int64_t rejected;
    } ANSWERS[] = {{"", 0},
                   {"{}", 0},
                   {"{\"partialSuccess\":{}}", 0},
                   {"{\"partialSuccess\":{\"rejectedSpans\":\"5\",\"errorMessage\":\"too old\"}}", 5},
                   {"{\"partialSuccess\":{\"rejectedSpans\":7}}", 7},
                   {"{\"partialSuccess\":{\"rejectedSpans\":\"-5\"}}", 0},
                   {"{\"partialSuccess\":{\"rejectedSpans\":null}}", 0},
                   {"{\"partialSuccess\":{\"rejectedSpans\":\"\"}}", 0},
                   {"{\"partialSuccess\":[5]}", 0},
                   {"{\"partialSuccess\":{\"rejectedSpans\":\"5\"", 0},
                   {"<html>", 0}};
    for (size_t i = 0; i < sizeof(ANSWERS) / sizeof(ANSWERS[0]); i++) {
        ck_assert_int_eq(mg_otlp_read_rejected(mg_slice_of(ANSWERS[i].answer)), ANSWERS[i].rejected);
    }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("otlp");
    TCase *tests = tcase_create("otlp");
    tcase_add_checked_fixture(tests, set_up, tear_down);
    tcase_add_test(tests, a_span_is_written_by_the_mapping_of_otlp);
    tcase_add_test(tests, a_trace_that_begins_here_names_no_parent);
    tcase_add_test(tests, head_span_and_tail_are_one_text);
    tcase_add_test(tests, a_rejection_of_the_collector_is_read);
    suite_add_tcase(suite, tests);
    return run_suite(suite);
}
