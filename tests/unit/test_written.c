/*
 * What is sent and printed, to the byte. Other programs read it, and some keep it: a change here is a change
 * of the contract in proto/, or of an answer that scripts read.
 */
#include <check.h>
#include <stdio.h>
#include <string.h>

#include "operator/table.h"
#include "suite.h"
#include "wire/alert.h"
#include "wire/command.h"
#include "wire/otlp.h"
#include "wire/reply.h"
#include "wire/request.h"
#include "wire/service_control.h"
#include "wire/status.h"

#define AT_MS INT64_C(1769862896789) /* 2026-01-31T12:34:56.789Z */

static struct mg_buf body;

static void set_up(void)
{
    mg_buf_init(&body, 1 << 16);
}

static void tear_down(void)
{
    mg_buf_finish(&body);
}

/* Compares what has been written, and begins anew. */
static void assert_written(const char *text)
{
    ck_assert(!body.failed);
    ck_assert_str_eq(body.data, text);
    mg_buf_clear(&body);
}

START_TEST(a_request)
{
    struct mg_request request = {.order_id = "o-1",
                                 .step = "charge",
                                 .service = "payment",
                                 .attempt = 3,
                                 .kind = MG_KIND_UNDO,
                                 .idempotency_key = "o-1.charge.undo.1",
                                 .do_key = "o-1.charge.do",
                                 .complete_by_ms = AT_MS,
                                 .sent_at_ms = AT_MS - 1};
    request.request = mg_slice_of("{\"path\":\"\\/a\\u002fb\",\"body\":{ \"n\" : 14.00 }}");
    mg_request_write(&request, &body);
    assert_written("{\"v\":1,\"order_id\":\"o-1\",\"step\":\"charge\",\"service\":\"payment\",\"attempt\":3,"
                   "\"kind\":\"undo\",\"idempotency_key\":\"o-1.charge.undo.1\",\"do_key\":\"o-1.charge.do\","
                   "\"complete_by\":\"2026-01-31T12:34:56.789Z\",\"sent_at\":\"2026-01-31T12:34:56.788Z\","
                   "\"request\":{\"path\":\"\\/a\\u002fb\",\"body\":{ \"n\" : 14.00 }}}");
    request = (struct mg_request){
        .attempt = 1,
        .is_at_most_once = true,
        .is_pollable = true,
        .traceparent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",
        .request = mg_slice_of("{}"),
    };
    mg_request_write(&request, &body);
    assert_written("{\"v\":1,\"order_id\":\"\",\"step\":\"\",\"service\":\"\",\"attempt\":1,\"kind\":\"do\","
                   "\"idempotency_key\":\"\",\"do_key\":\"\",\"complete_by\":\"1970-01-01T00:00:00.000Z\","
                   "\"sent_at\":\"1970-01-01T00:00:00.000Z\",\"at_most_once\":true,\"pollable\":true,"
                   "\"traceparent\":\"00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01\","
                   "\"request\":{}}");
}
END_TEST

START_TEST(a_reply)
{
    struct mg_reply reply = {.order_id = "o-1",
                             .step = "charge",
                             .attempt = 3,
                             .outcome = MG_OUTCOME_DONE,
                             .executed = MG_EXECUTED_YES,
                             .retry_after_ms = -1};
    reply.result = mg_slice_of("{\"price\" : 14.00}");
    mg_reply_write(&reply, &body);
    assert_written("{\"v\":1,\"order_id\":\"o-1\",\"step\":\"charge\",\"attempt\":3,\"kind\":\"do\","
                   "\"outcome\":\"done\",\"executed\":\"yes\",\"result\":{\"price\" : 14.00}}");
    reply = (struct mg_reply){.order_id = "o",
                              .step = "s",
                              .attempt = 1,
                              .kind = MG_KIND_VERIFY,
                              .outcome = MG_OUTCOME_UNKNOWN,
                              .executed = MG_EXECUTED_NO,
                              .is_truncated = true,
                              .may_still_act = true,
                              .error_code = "http_5\xc3",
                              .error_text = "\xff\xed\xa0\x80 \"o\"\\\n\x7f \xf0\x9f\x98\x80\xc3",
                              .retry_after_ms = 7};
    mg_reply_write(&reply, &body);
    assert_written(
        "{\"v\":1,\"order_id\":\"o\",\"step\":\"s\",\"attempt\":1,\"kind\":\"verify\","
        "\"outcome\":\"unknown\",\"executed\":\"no\",\"result\":null,\"truncated\":true,"
        "\"error\":{\"code\":\"http_5\xef\xbf\xbd\",\"text\":\"\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd"
        "\xef\xbf\xbd \\\"o\\\"\\\\\\n\\u007f \xf0\x9f\x98\x80\xef\xbf\xbd\"},"
        "\"may_still_act\":true,\"retry_after_ms\":7}");
}
END_TEST

START_TEST(a_status)
{
    struct mg_status_message status = {
        .order_id = "o-1", .seq = 2, .status = MG_STATUS_PROCESSED, .at_ms = AT_MS};
    mg_status_write(&status, &body);
    assert_written("{\"v\":1,\"order_id\":\"o-1\",\"seq\":2,\"status\":\"processed\","
                   "\"at\":\"2026-01-31T12:34:56.789Z\"}");
    status = (struct mg_status_message){
        .status = MG_STATUS_REJECTED, .at_ms = AT_MS, .step = "charge", .reason = "caf\xc3"};
    mg_status_write(&status, &body);
    assert_written("{\"v\":1,\"seq\":0,\"status\":\"rejected\",\"at\":\"2026-01-31T12:34:56.789Z\","
                   "\"step\":\"charge\",\"reason\":\"caf\xef\xbf\xbd\"}");
}
END_TEST

START_TEST(a_command)
{
    struct mg_command command = {.command_id = "c-1",
                                 .kind = MG_CAUSE_RESUME,
                                 .order_id = "o-1",
                                 .step = "s",
                                 .version = 9,
                                 .by = "m\xc3\xbc \"x\"",
                                 .reason = "r\xff",
                                 .set_count = 2};
    command.sets[0].pointer = mg_slice_of("/a~1b");
    command.sets[0].value = mg_slice_of("14.00");
    command.sets[1].pointer = mg_slice_of("/\"");
    command.sets[1].value = mg_slice_of("{\"x\": 1}");
    mg_command_write(&command, &body);
    assert_written(
        "{\"v\":1,\"command_id\":\"c-1\",\"command\":\"resume\",\"order_id\":\"o-1\",\"version\":9,"
        "\"by\":\"m\xc3\xbc \\\"x\\\"\",\"reason\":\"r\xef\xbf\xbd\",\"set\":["
        "{\"pointer\":\"/a~1b\",\"value\":14.00},{\"pointer\":\"/\\\"\",\"value\":{\"x\": 1}}]}");
    command = (struct mg_command){.command_id = "c-2",
                                  .kind = MG_CAUSE_SETTLE,
                                  .order_id = "o-1",
                                  .step = "s",
                                  .outcome = MG_OUTCOME_ABSENT,
                                  .by = "me"};
    mg_command_write(&command, &body);
    assert_written(
        "{\"v\":1,\"command_id\":\"c-2\",\"command\":\"settle\",\"order_id\":\"o-1\",\"step\":\"s\","
        "\"outcome\":\"absent\",\"by\":\"me\"}");
    command.kind = MG_CAUSE_OVERDUE;
    command.attempt = 4;
    mg_command_write(&command, &body);
    assert_written(
        "{\"v\":1,\"command_id\":\"c-2\",\"command\":\"overdue\",\"order_id\":\"o-1\",\"step\":\"s\","
        "\"attempt\":4,\"by\":\"me\"}");
    command.kind = MG_CAUSE_OWED;
    command.seq = 5;
    mg_command_write(&command, &body);
    assert_written("{\"v\":1,\"command_id\":\"c-2\",\"command\":\"owed\",\"order_id\":\"o-1\",\"seq\":5,"
                   "\"by\":\"me\"}");
}
END_TEST

START_TEST(a_result_of_a_command)
{
    struct mg_command_result result = {.command_id = "c-1",
                                       .order_id = "o-1",
                                       .verdict = MG_COMMAND_CONFLICT,
                                       .version = 3,
                                       .state = MG_ORDER_ERROR,
                                       .text = "why\xc3"};
    mg_command_result_write(&result, &body);
    assert_written(
        "{\"v\":1,\"command_id\":\"c-1\",\"order_id\":\"o-1\",\"verdict\":\"conflict\",\"version\":3,"
        "\"state\":\"error\",\"text\":\"why\xef\xbf\xbd\"}");
    result = (struct mg_command_result){.verdict = MG_COMMAND_INVALID};
    mg_command_result_write(&result, &body);
    assert_written("{\"v\":1,\"verdict\":\"invalid\",\"text\":\"\"}");
    result.may_pass = true;
    mg_command_result_write(&result, &body);
    assert_written("{\"v\":1,\"verdict\":\"invalid\",\"may_pass\":true,\"text\":\"\"}");
}
END_TEST

START_TEST(an_alert)
{
    struct mg_alert_message alert = {
        .alert = MG_ALERT_ORDER_ERROR, .subject = "o-1", .order_id = "o-1", .text = "t\n", .at_ms = AT_MS};
    mg_alert_write(&alert, &body);
    assert_written("{\"v\":1,\"alert\":\"order_error\",\"subject\":\"o-1\",\"order_id\":\"o-1\","
                   "\"text\":\"t\\n\",\"at\":\"2026-01-31T12:34:56.789Z\"}");
    alert.is_closed = true;
    alert.order_id[0] = '\0';
    mg_alert_write(&alert, &body);
    assert_written("{\"v\":1,\"alert\":\"order_error\",\"closed\":true,\"subject\":\"o-1\","
                   "\"text\":\"t\\n\",\"at\":\"2026-01-31T12:34:56.789Z\"}");
}
END_TEST

START_TEST(the_control_of_a_service)
{
    struct mg_service_control control = {.service = "payment", .epoch = 3, .version = 4};
    mg_service_control_write(&control, &body);
    assert_written("{\"v\":1,\"service\":\"payment\",\"epoch\":3,\"version\":4,\"paused\":false}");
    control.is_limited = true;
    mg_service_control_write(&control, &body);
    assert_written(
        "{\"v\":1,\"service\":\"payment\",\"epoch\":3,\"version\":4,\"paused\":false,\"shares\":[]}");
    control.share_count = 2;
    control.shares[0] = (struct mg_share){.instance = "h:1\xff", .concurrency = 5, .rate_per_s = 0.1};
    control.shares[1] = (struct mg_share){.instance = "h:2"};
    control.is_paused = control.is_down = control.is_undecided = true;
    (void)snprintf(control.prober, sizeof(control.prober), "h:2");
    control.sent_at_ms = AT_MS;
    mg_service_control_write(&control, &body);
    assert_written("{\"v\":1,\"service\":\"payment\",\"epoch\":3,\"version\":4,\"paused\":true,\"shares\":["
                   "{\"instance\":\"h:1\xef\xbf\xbd\",\"concurrency\":5,\"rate\":0.10000000000000001},"
                   "{\"instance\":\"h:2\"}],\"down\":{\"prober\":\"h:2\"},\"undecided\":true,"
                   "\"sent_at\":\"2026-01-31T12:34:56.789Z\"}");
}
END_TEST

START_TEST(the_report_of_a_service)
{
    struct mg_service_report report = {.service = "payment",
                                       .instance = "h:1",
                                       .breaker = MG_BREAKER_OPEN,
                                       .is_ready = true,
                                       .in_flight = 3,
                                       .concurrency = 4};
    mg_service_report_write(&report, &body);
    assert_written(
        "{\"v\":1,\"service\":\"payment\",\"instance\":\"h:1\",\"breaker\":\"open\",\"ready\":true,"
        "\"in_flight\":3,\"concurrency\":4}");
    report = (struct mg_service_report){.service = "payment",
                                        .instance = "h:1",
                                        .reason = "x\xe2\x82",
                                        .control_version = 5,
                                        .process = 6,
                                        .sequence = 7,
                                        .is_prober = true};
    mg_service_report_write(&report, &body);
    assert_written(
        "{\"v\":1,\"service\":\"payment\",\"instance\":\"h:1\",\"breaker\":\"closed\","
        "\"ready\":false,\"in_flight\":0,\"concurrency\":0,\"reason\":\"x\xef\xbf\xbd\xef\xbf\xbd\","
        "\"control_version\":5,\"process\":6,\"sequence\":7,\"prober\":true}");
}
END_TEST

START_TEST(the_head_of_a_batch_of_spans)
{
    mg_otlp_write_head("makegood-agent", "h:1\xc3", &body);
    mg_buf_append_text(&body, "[]" MG_OTLP_TAIL);
    assert_written("{\"resourceSpans\":[{\"resource\":{\"attributes\":["
                   "{\"key\":\"service.name\",\"value\":{\"stringValue\":\"makegood-agent\"}},"
                   "{\"key\":\"service.instance.id\",\"value\":{\"stringValue\":\"h:1\xef\xbf\xbd\"}},"
                   "{\"key\":\"service.version\",\"value\":{\"stringValue\":\"" MG_VERSION "\"}}]},"
                   "\"scopeSpans\":[{\"scope\":{\"name\":\"makegood\",\"version\":\"" MG_VERSION "\"},"
                   "\"spans\":[]}]}]}");
}
END_TEST

/* ---- rows of reports, for the tool and the console ---- */

static char *COLUMNS[] = {(char[]){"order_id"}, (char[]){"payload"}, (char[]){"text"},
                          (char[]){"version"},  (char[]){"maybe"},   (char[]){"rate_per_s"}};
static enum mg_value_type TYPES[] = {MG_VALUE_TEXT,   MG_VALUE_JSON, MG_VALUE_TEXT,
                                     MG_VALUE_NUMBER, MG_VALUE_BOOL, MG_VALUE_NUMBER};
static char *CELLS[] = {(char[]){"o-1"},
                        (char[]){"{\"price\":  14.00}"},
                        (char[]){"a \"b\"\n\xc3"},
                        (char[]){"9223372036854775807"},
                        (char[]){"t"},
                        (char[]){"-0.5"},
                        NULL,
                        NULL,
                        NULL,
                        NULL,
                        (char[]){"f"},
                        (char[]){"-Infinity"}};

START_TEST(rows)
{
    static const char *const quoted[] = {"payload", NULL};
    const struct mg_table table = {
        .row_count = 2, .column_count = 6, .columns = COLUMNS, .types = TYPES, .cells = CELLS};
    const struct mg_table untyped = {.row_count = 1, .column_count = 6, .columns = COLUMNS, .cells = CELLS};
    const struct mg_table none = {.column_count = 6, .columns = COLUMNS, .types = TYPES};
    struct mg_json_writer json = mg_json_spaced(&body);
    mg_table_write_object(&json, &table, 0, quoted);
    assert_written("{\"order_id\": \"o-1\", \"payload\": \"{\\\"price\\\":  14.00}\", "
                   "\"text\": \"a \\\"b\\\"\\n\\ufffd\", \"version\": 9223372036854775807, "
                   "\"maybe\": true, \"rate_per_s\": -0.5}");
    json = mg_json_spaced(&body);
    mg_table_write_array(&json, &table, NULL);
    assert_written("[{\"order_id\": \"o-1\", \"payload\": {\"price\":  14.00}, "
                   "\"text\": \"a \\\"b\\\"\\n\\ufffd\", \"version\": 9223372036854775807, "
                   "\"maybe\": true, \"rate_per_s\": -0.5},\n"
                   " {\"order_id\": null, \"payload\": null, \"text\": null, \"version\": null, "
                   "\"maybe\": false, \"rate_per_s\": null}]");
    json = mg_json_spaced(&body);
    mg_table_write_object(&json, &untyped, 0, NULL);
    ck_assert_ptr_nonnull(strstr(body.data, "\"maybe\": \"t\""));
    mg_buf_clear(&body);
    json = mg_json_spaced(&body);
    mg_table_write_array(&json, &none, NULL);
    assert_written("[]");
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("written");
    TCase *tests = tcase_create("written");
    tcase_add_checked_fixture(tests, set_up, tear_down);
    tcase_add_test(tests, a_request);
    tcase_add_test(tests, a_reply);
    tcase_add_test(tests, a_status);
    tcase_add_test(tests, a_command);
    tcase_add_test(tests, a_result_of_a_command);
    tcase_add_test(tests, an_alert);
    tcase_add_test(tests, the_control_of_a_service);
    tcase_add_test(tests, the_report_of_a_service);
    tcase_add_test(tests, the_head_of_a_batch_of_spans);
    tcase_add_test(tests, rows);
    suite_add_tcase(suite, tests);
    return run_suite(suite);
}
