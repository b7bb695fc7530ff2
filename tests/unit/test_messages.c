/* Messages: a written message is read back the same, and a newer one is left for a newer reader. */
#include <check.h>
#include <stdio.h>
#include <string.h>

#include "service/service.h"
#include "suite.h"
#include "wire/alert.h"
#include "wire/command.h"
#include "wire/reply.h"
#include "wire/request.h"
#include "wire/service_control.h"
#include "wire/status.h"
#include "wire/submission.h"

#define AT_MS INT64_C(1769862896789) /* 2026-01-31T12:34:56.789Z */

static struct mg_arena *arena;
static struct mg_buf body;
static struct mg_err err;

static void set_up(void)
{
    arena = mg_arena_create(1 << 20);
    ck_assert_ptr_nonnull(arena);
    mg_buf_init(&body, 1 << 20);
    err = (struct mg_err){MG_OK, ""};
}

static void tear_down(void)
{
    mg_arena_destroy(arena);
    mg_buf_finish(&body);
}

#define ck_assert_ok(call)                                                                                   \
    do {                                                                                                     \
        enum mg_class class_ = (call);                                                                       \
        ck_assert_msg(class_ == MG_OK, "%s: %s", mg_class_name(class_), err.text);                           \
    } while (0)

/* ---- round trips ---- */

START_TEST(a_request_comes_back)
{
    struct mg_request request = {.order_id = "o-1",
                                 .step = "charge",
                                 .service = "payment",
                                 .attempt = MG_ATTEMPT_MAX,
                                 .kind = MG_KIND_UNDO,
                                 .idempotency_key = "o-1.charge.undo.1",
                                 .do_key = "o-1.charge.do",
                                 .complete_by_ms = AT_MS,
                                 .sent_at_ms = AT_MS - 1,
                                 .is_at_most_once = true,
                                 .is_pollable = true,
                                 .traceparent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"};
    struct mg_request back = {0};
    request.request =
        mg_slice_of("{\"method\":\"POST\",\"path\":\"\\/a\\u002fb\",\"body\":{ \"n\" : 14.00 }}");
    mg_request_write(&request, &body);
    ck_assert_ok(mg_request_parse(mg_buf_slice(&body), arena, &back, &err));
    ck_assert_str_eq(back.order_id, request.order_id);
    ck_assert_str_eq(back.step, request.step);
    ck_assert_str_eq(back.service, request.service);
    ck_assert_uint_eq(back.attempt, request.attempt);
    ck_assert_int_eq(back.kind, request.kind);
    ck_assert_str_eq(back.idempotency_key, request.idempotency_key);
    ck_assert_str_eq(back.do_key, request.do_key);
    ck_assert_int_eq(back.complete_by_ms, request.complete_by_ms);
    ck_assert_int_eq(back.sent_at_ms, request.sent_at_ms);
    ck_assert(back.is_at_most_once && back.is_pollable);
    ck_assert_str_eq(back.traceparent, request.traceparent);
    ck_assert(mg_slice_equal(back.request, request.request));
    ck_assert(mg_slice_is(back.method, "POST"));
    ck_assert(mg_slice_is(back.path, "/a/b"));
    ck_assert(mg_slice_is(back.content, "{ \"n\" : 14.00 }"));
}
END_TEST

/* Catches: an order that a scheduler accepts, with requests that every agent refuses. */
START_TEST(a_request_may_be_as_large_as_a_scheduler_makes_it)
{
    enum { DEPTH = 1000 + 32, MEMBERS = 500 * 1024 };
    struct mg_request request = {.order_id = "o",
                                 .step = "s",
                                 .service = "s",
                                 .attempt = 1,
                                 .idempotency_key = "k",
                                 .do_key = "k",
                                 .complete_by_ms = AT_MS,
                                 .sent_at_ms = AT_MS};
    struct mg_request back = {0};
    struct mg_buf text;
    mg_buf_init(&text, MG_REQUEST_LIMITS.max_bytes);
    mg_buf_append_text(&text, "{\"method\":\"POST\",\"path\":\"/\",\"body\":");
    for (int i = 0; i < DEPTH; i++) {
        mg_buf_append_text(&text, "[");
    }
    for (int i = 0; i < MEMBERS; i++) {
        mg_buf_append_text(&text, i == 0 ? "0" : ",0");
    }
    for (int i = 0; i < DEPTH; i++) {
        mg_buf_append_text(&text, "]");
    }
    mg_buf_append_text(&text, "}");
    request.request = mg_buf_slice(&text);
    mg_buf_finish(&body);
    mg_buf_init(&body, MG_REQUEST_LIMITS.max_bytes);
    mg_request_write(&request, &body);
    ck_assert_ok(mg_request_parse(mg_buf_slice(&body), arena, &back, &err));
    mg_buf_finish(&text);
}
END_TEST

/* Catches: a broken traceparent, which a client may have sent, that makes agents refuse the request. */
START_TEST(a_traceparent_that_is_none_is_left_out)
{
    struct mg_request request = {.order_id = "o",
                                 .step = "s",
                                 .service = "s",
                                 .attempt = 1,
                                 .idempotency_key = "k",
                                 .do_key = "k",
                                 .complete_by_ms = AT_MS,
                                 .sent_at_ms = AT_MS,
                                 .traceparent = "00-xyz"};
    struct mg_request back = {0};
    request.request = mg_slice_of("{\"method\":\"GET\",\"path\":\"/\"}");
    mg_request_write(&request, &body);
    ck_assert_ok(mg_request_parse(mg_buf_slice(&body), arena, &back, &err));
    ck_assert_str_eq(back.traceparent, "");
    ck_assert_ptr_null(back.content.data);
    ck_assert(!back.is_at_most_once && !back.is_pollable);
}
END_TEST

START_TEST(a_reply_comes_back)
{
    for (int outcome = 0; outcome < MG_OUTCOME_COUNT; outcome++) {
        struct mg_reply back = {0}, reply = {.order_id = "o-1",
                                             .step = "charge",
                                             .attempt = 3,
                                             .kind = MG_KIND_VERIFY,
                                             .http_status = 503,
                                             .error_reason = MG_ERROR_REASON_ANSWERED,
                                             .error_code = "http_503",
                                             .error_text = "it \"said\"\nno",
                                             .error_message = mg_slice_of("\"no \\u00e9\""),
                                             .error_body = mg_slice_of("\"{\\\"a\\\": 14.00}\""),
                                             .retry_after_ms = outcome - 1};
        reply.outcome = (enum mg_outcome)outcome;
        reply.executed = (enum mg_executed)(outcome % MG_EXECUTED_COUNT);
        reply.may_still_act = outcome % 2 == 1;
        reply.result = mg_slice_of("{\"price\" : 14.00}");
        mg_buf_clear(&body);
        mg_reply_write(&reply, &body);
        ck_assert_ok(mg_reply_parse(mg_buf_slice(&body), &MG_JSON_LIMITS_DEFAULT, &back, &err));
        ck_assert_str_eq(back.order_id, "o-1");
        ck_assert_str_eq(back.step, "charge");
        ck_assert_uint_eq(back.attempt, 3);
        ck_assert_int_eq(back.kind, MG_KIND_VERIFY);
        ck_assert_int_eq(back.outcome, reply.outcome);
        ck_assert_int_eq(back.executed, reply.executed);
        ck_assert_int_eq(back.may_still_act, reply.may_still_act);
        ck_assert(mg_slice_is(back.result, "{\"price\" : 14.00}"));
        ck_assert(!back.is_truncated);
        ck_assert_int_eq(back.http_status, 503);
        ck_assert_int_eq(back.error_reason, MG_ERROR_REASON_ANSWERED);
        ck_assert_str_eq(back.error_code, reply.error_code);
        ck_assert_str_eq(back.error_text, reply.error_text);
        ck_assert(mg_slice_equal(back.error_message, reply.error_message));
        ck_assert(mg_slice_equal(back.error_body, reply.error_body));
        ck_assert_int_eq(back.retry_after_ms, reply.retry_after_ms);
    }
}
END_TEST

START_TEST(a_truncated_result_is_none)
{
    struct mg_reply back = {0}, reply = {.order_id = "o",
                                         .step = "s",
                                         .attempt = 1,
                                         .is_truncated = true,
                                         .retry_after_ms = -1};
    mg_reply_write(&reply, &body);
    ck_assert_ptr_nonnull(strstr(body.data, "\"result\":null,\"truncated\":true"));
    ck_assert_ok(mg_reply_parse(mg_buf_slice(&body), &MG_JSON_LIMITS_DEFAULT, &back, &err));
    ck_assert(back.is_truncated);
    ck_assert_ptr_null(back.result.data);
    ck_assert_int_eq(back.retry_after_ms, -1);
}
END_TEST

/* Catches: an outcome lost because its explanation was cut in the middle of a character, or was no UTF-8 at
 * all. */
START_TEST(a_bad_error_text_does_not_lose_the_reply)
{
    struct mg_reply back = {0}, reply = {.order_id = "o",
                                         .step = "s",
                                         .attempt = 1,
                                         .error_text = "caf\xc3",
                                         .retry_after_ms = -1};
    mg_reply_write(&reply, &body);
    ck_assert_ok(mg_reply_parse(mg_buf_slice(&body), &MG_JSON_LIMITS_DEFAULT, &back, &err));
    ck_assert_str_eq(back.error_text, "caf\xef\xbf\xbd");
    mg_buf_clear(&body);
    memcpy(reply.error_text, "\xff\xc0\xaf\xed\xa0\x80\xf4\x90\x80\x80 ok \xf0\x9f\x98\x80", 19);
    mg_reply_write(&reply, &body);
    ck_assert_ok(mg_reply_parse(mg_buf_slice(&body), &MG_JSON_LIMITS_DEFAULT, &back, &err));
    ck_assert_ptr_nonnull(strstr(back.error_text, " ok \xf0\x9f\x98\x80"));
}
END_TEST

/* Catches: a text for people that is refused, or cut in the middle of a character, because it is long. */
START_TEST(a_long_text_is_cut_at_a_character)
{
    struct mg_reply back = {0};
    mg_buf_append_text(
        &body,
        "{\"v\":1,\"order_id\":\"o\",\"step\":\"s\",\"attempt\":1,\"kind\":\"do\",\"outcome\":\"done\","
        "\"executed\":\"yes\",\"error\":{\"text\":\"");
    for (int i = 0; i < 200; i++) {
        mg_buf_append_text(&body, "\xe2\x82\xac"); /* three bytes each; 255 = 85 of them */
    }
    mg_buf_append_text(&body, "\",\"code\":\"");
    for (int i = 0; i < 40; i++) {
        mg_buf_append_text(&body, "\\u00fc"); /* two bytes each; 63 is in the middle */
    }
    mg_buf_append_text(&body, "\"}}");
    ck_assert_ok(mg_reply_parse(mg_buf_slice(&body), &MG_JSON_LIMITS_DEFAULT, &back, &err));
    ck_assert_uint_eq(strlen(back.error_text), 255);
    ck_assert_uint_eq(strlen(back.error_code), 62);
}
END_TEST

START_TEST(a_service_report_comes_back)
{
    struct mg_service_report back = {0}, report = {.service = "payment",
                                                   .instance = "h:1:2",
                                                   .breaker = MG_BREAKER_HALF_OPEN,
                                                   .is_ready = true,
                                                   .in_flight = 3,
                                                   .concurrency = 64,
                                                   .reason = "why",
                                                   .control_version = 7,
                                                   .process = UINT64_C(1769862896123),
                                                   .sequence = 9,
                                                   .is_prober = true};
    enum mg_breaker_state state;
    mg_service_report_write(&report, &body);
    ck_assert_ok(mg_service_report_parse(mg_buf_slice(&body), &back, &err));
    ck_assert_str_eq(back.service, "payment");
    ck_assert_str_eq(back.instance, "h:1:2");
    ck_assert_int_eq(back.breaker, MG_BREAKER_HALF_OPEN);
    ck_assert(back.is_ready);
    ck_assert_int_eq(back.in_flight, 3);
    ck_assert_int_eq(back.concurrency, 64);
    ck_assert_str_eq(back.reason, "why");
    ck_assert_uint_eq(back.control_version, 7);
    ck_assert_uint_eq(back.process, report.process);
    ck_assert_uint_eq(back.sequence, 9);
    ck_assert(back.is_prober);
    ck_assert(!back.has_calls);
    ck_assert(mg_breaker_state_parse("half_open", 9, &state) && state == MG_BREAKER_HALF_OPEN);
    ck_assert(!mg_breaker_state_parse("half", 4, &state));
}
END_TEST

/* Would catch: numbers of calls that change on their way. */
START_TEST(the_calls_of_a_service_report_come_back)
{
    struct mg_service_report back = {0}, report = {.service = "payment",
                                                   .instance = "h:1:2",
                                                   .has_calls = true,
                                                   .calls = {.count = 12,
                                                             .failed = 3,
                                                             .within = {1, 2, [14] = 9},
                                                             .failing_since_ms = INT64_C(1769862896123),
                                                             .probe_at_ms = INT64_C(1769862897000),
                                                             .error_at_ms = INT64_C(1769862896500),
                                                             .error_code = "http_503/MAINTENANCE",
                                                             .error_text = "we are \"updating\""}};
    mg_service_report_write(&report, &body);
    ck_assert_ok(mg_service_report_parse(mg_buf_slice(&body), &back, &err));
    ck_assert(back.has_calls);
    ck_assert_mem_eq(&back.calls, &report.calls, sizeof(back.calls));
}
END_TEST

/* Catches: a share that goes to another, and a limit that is read as none. */
START_TEST(the_wanted_state_of_a_service_is_read_as_written)
{
    struct mg_service_control back = {0}, control = {.service = "payment",
                                                     .epoch = 12,
                                                     .version = 7,
                                                     .is_paused = true,
                                                     .is_limited = true,
                                                     .shares = {{"h:1:2", 2, 1.0 / 3}, {"h:\"2\"", 0, 0}},
                                                     .share_count = 2};
    mg_service_control_write(&control, &body);
    ck_assert_ok(mg_service_control_parse(mg_buf_slice(&body), &back, &err));
    ck_assert_str_eq(back.service, "payment");
    ck_assert_uint_eq(back.epoch, 12);
    ck_assert_uint_eq(back.version, 7);
    ck_assert(back.is_paused && back.is_limited);
    ck_assert_int_eq(back.share_count, 2);
    ck_assert_str_eq(back.shares[0].instance, "h:1:2");
    ck_assert_int_eq(back.shares[0].concurrency, 2);
    ck_assert_double_eq(back.shares[0].rate_per_s, 1.0 / 3);
    ck_assert_str_eq(back.shares[1].instance, "h:\"2\"");
    ck_assert_int_eq(back.shares[1].concurrency, 0);
    control.share_count = 0;
    mg_buf_clear(&body);
    mg_service_control_write(&control, &body);
    ck_assert_ok(mg_service_control_parse(mg_buf_slice(&body), &back, &err));
    ck_assert(back.is_limited && back.share_count == 0);
    control.is_limited = false;
    mg_buf_clear(&body);
    mg_service_control_write(&control, &body);
    ck_assert_ok(mg_service_control_parse(mg_buf_slice(&body), &back, &err));
    ck_assert(!back.is_limited && !back.is_down);
    control.version = 0;
    control.is_down = true;
    memcpy(control.prober, "h:\"2\"", sizeof("h:\"2\""));
    mg_buf_clear(&body);
    mg_service_control_write(&control, &body);
    ck_assert_ok(mg_service_control_parse(mg_buf_slice(&body), &back, &err));
    ck_assert(back.is_down && back.version == 0 && !back.is_undecided);
    ck_assert_str_eq(back.prober, "h:\"2\"");
    control.is_down = false;
    control.is_undecided = true;
    mg_buf_clear(&body);
    mg_service_control_write(&control, &body);
    ck_assert_ok(mg_service_control_parse(mg_buf_slice(&body), &back, &err));
    ck_assert(back.is_undecided && !back.is_down);
}
END_TEST

START_TEST(a_status_comes_back)
{
    for (int word = 0; word < MG_STATUS_COUNT; word++) {
        struct mg_status_message back = {0}, status = {.order_id = "o-1",
                                                       .seq = 7,
                                                       .at_ms = AT_MS,
                                                       .step = "charge",
                                                       .reason = "b"};
        status.status = (enum mg_status)word;
        mg_buf_clear(&body);
        mg_status_write(&status, &body);
        ck_assert_ok(mg_status_parse(mg_buf_slice(&body), &back, &err));
        ck_assert_str_eq(back.order_id, "o-1");
        ck_assert_uint_eq(back.seq, 7);
        ck_assert_int_eq(back.status, status.status);
        ck_assert_int_eq(back.at_ms, AT_MS);
        ck_assert_str_eq(back.step, "charge");
        ck_assert_str_eq(back.reason, "b");
        ck_assert_ptr_null(back.output.data);
    }
}
END_TEST

/* Would catch: an output that a reader returns other than it was sent. */
START_TEST(a_status_carries_its_output_as_it_is)
{
    struct mg_status_message back = {0},
                             status = {.order_id = "o-1",
                                       .seq = 7,
                                       .status = MG_STATUS_PROCESSED,
                                       .at_ms = AT_MS,
                                       .output = mg_slice_of("{ \"paid\" : 14.00, \"sum\" : "
                                                             "12345678901234567890, \"of\" : 1e400 }")};
    mg_buf_clear(&body);
    mg_status_write(&status, &body);
    ck_assert_ok(mg_status_parse(mg_buf_slice(&body), &back, &err));
    ck_assert(mg_slice_equal(back.output, status.output));
}
END_TEST

START_TEST(an_alert_comes_back)
{
    struct mg_alert_message back = {0}, alert = {.alert = MG_ALERT_UNDO_FAILED,
                                                 .is_closed = true,
                                                 .subject = "o-1.charge",
                                                 .order_id = "o-1",
                                                 .text = "look",
                                                 .at_ms = AT_MS};
    mg_alert_write(&alert, &body);
    ck_assert_ok(mg_alert_parse(mg_buf_slice(&body), &back, &err));
    ck_assert_int_eq(back.alert, MG_ALERT_UNDO_FAILED);
    ck_assert(back.is_closed);
    ck_assert_str_eq(back.subject, "o-1.charge");
    ck_assert_str_eq(back.order_id, "o-1");
    ck_assert_str_eq(back.text, "look");
    ck_assert_int_eq(back.at_ms, AT_MS);
}
END_TEST

static const enum mg_cause_kind COMMANDS[] = {
    MG_CAUSE_OVERDUE,    MG_CAUSE_DUE,    MG_CAUSE_EXPIRED, MG_CAUSE_NUDGE,  MG_CAUSE_OWED,
    MG_CAUSE_TURN,       MG_CAUSE_RESUME, MG_CAUSE_RESTART, MG_CAUSE_SETTLE, MG_CAUSE_SKIP,
    MG_CAUSE_COMPENSATE, MG_CAUSE_CANCEL, MG_CAUSE_RELEASE};

/* Catches: a member written for a command that does not have it, so that its own reader refuses it. */
START_TEST(a_command_comes_back_with_what_belongs_to_it)
{
    enum mg_cause_kind kind = COMMANDS[_i];
    struct mg_command back = {0}, command = {.command_id = "c-1",
                                             .kind = kind,
                                             .order_id = "o-1",
                                             .step = "charge",
                                             .attempt = 3,
                                             .version = 9,
                                             .seq = 4,
                                             .outcome = MG_OUTCOME_ABSENT,
                                             .by = "me",
                                             .reason = "so",
                                             .set_count = 2};
    bool has_step =
        kind == MG_CAUSE_OVERDUE || kind == MG_CAUSE_DUE || kind == MG_CAUSE_SETTLE || kind == MG_CAUSE_SKIP;
    command.sets[0].pointer = mg_slice_of("/a\"b/~1");
    command.sets[0].value = mg_slice_of("14.00");
    command.sets[1].pointer = mg_slice_of("/c");
    command.sets[1].value = mg_slice_of("{ }");
    mg_command_write(&command, &body);
    ck_assert_ok(mg_command_parse(mg_buf_slice(&body), &MG_JSON_LIMITS_DEFAULT, arena, &back, &err));
    ck_assert_str_eq(back.command_id, "c-1");
    ck_assert_int_eq(back.kind, kind);
    ck_assert_str_eq(back.order_id, "o-1");
    ck_assert_str_eq(back.step, has_step ? "charge" : "");
    ck_assert_uint_eq(back.attempt, kind == MG_CAUSE_OVERDUE || kind == MG_CAUSE_DUE ? 3 : 0);
    ck_assert_uint_eq(back.version, 9);
    ck_assert_uint_eq(back.seq, kind == MG_CAUSE_OWED ? 4 : 0);
    if (kind == MG_CAUSE_SETTLE) {
        ck_assert_int_eq(back.outcome, MG_OUTCOME_ABSENT);
    }
    ck_assert_str_eq(back.by, "me");
    ck_assert_str_eq(back.reason, "so");
    ck_assert_int_eq(back.set_count, kind == MG_CAUSE_RESUME ? 2 : 0);
    if (kind == MG_CAUSE_RESUME) {
        ck_assert(mg_slice_is(back.sets[0].pointer, "/a\"b/~1"));
        ck_assert(mg_slice_is(back.sets[0].value, "14.00"));
        ck_assert(mg_slice_is(back.sets[1].value, "{ }"));
    }
}
END_TEST

/* Catches: an address, a name or a payload of a signal that is lost or changed on its way. */
START_TEST(a_signal_comes_back_with_its_address_and_payload)
{
    static const struct mg_command SIGNALS[] = {
        {.order_id = "o-1", .signal = "approved"},
        {.key = "invoice/17 \xe2\x80\x93 Z\xc3\xbcrich", .signal = "paid"},
        {.order_id = "o-1", .step = "charge", .generation = UINT32_MAX},
        {.order_id = "o-1", .signal = "approved", .step = "approve"},
        {.order_id = "o-1",
         .signal = "approved",
         .shown = "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"},
    };
    struct mg_command back = {0}, command = SIGNALS[_i];
    command.kind = MG_CAUSE_SIGNAL;
    memset(command.command_id, 'c', MG_COMMAND_ID_MAX);
    (void)snprintf(command.by, sizeof(command.by), "shop");
    command.payload = mg_slice_of("{\"amount\": 14.00}");
    mg_command_write(&command, &body);
    ck_assert_ok(mg_command_parse(mg_buf_slice(&body), &MG_JSON_LIMITS_DEFAULT, arena, &back, &err));
    ck_assert_int_eq(back.kind, MG_CAUSE_SIGNAL);
    ck_assert_str_eq(back.command_id, command.command_id);
    ck_assert_str_eq(back.order_id, command.order_id);
    ck_assert_str_eq(back.key, command.key);
    ck_assert_str_eq(back.signal, command.signal);
    ck_assert_str_eq(back.shown, command.shown);
    ck_assert_str_eq(back.step, command.step);
    ck_assert_uint_eq(back.generation, command.generation);
    ck_assert(mg_slice_is(back.payload, "{\"amount\": 14.00}"));
}
END_TEST

START_TEST(a_signal_without_a_payload_has_null)
{
    struct mg_command back = {0};
    const char *text =
        "{\"v\":1,\"command_id\":\"c\",\"command\":\"signal\",\"order_id\":\"o\",\"signal\":\"s\",\"by\":\"x\"}";
    ck_assert_ok(mg_command_parse(mg_slice_of(text), &MG_JSON_LIMITS_DEFAULT, arena, &back, &err));
    ck_assert(mg_slice_is(back.payload, "null"));
}
END_TEST

/* Catches: a payload above the bound that becomes the result of a step. */
START_TEST(a_payload_of_a_signal_has_at_most_64_kib)
{
    for (int more = 0; more < 2; more++) {
        struct mg_command back = {0}, command = {.kind = MG_CAUSE_SIGNAL,
                                                 .command_id = "c",
                                                 .order_id = "o",
                                                 .signal = "s",
                                                 .by = "x"};
        static char text[MG_SIGNAL_PAYLOAD_MAX + 1];
        memset(text, '1', sizeof(text));
        text[0] = text[MG_SIGNAL_PAYLOAD_MAX - 1 + more] = '"';
        command.payload = (struct mg_slice){text, (size_t)MG_SIGNAL_PAYLOAD_MAX + (size_t)more};
        mg_buf_clear(&body);
        mg_command_write(&command, &body);
        ck_assert(!body.failed);
        enum mg_class class = mg_command_parse(mg_buf_slice(&body), &MG_JSON_LIMITS_DATA, arena, &back, &err);
        ck_assert_int_eq(class, more == 0 ? MG_OK : MG_BAD_INPUT);
    }
    ck_assert_ptr_nonnull(strstr(err.text, "/payload"));
}
END_TEST

START_TEST(an_invalid_command_is_not_written)
{
    struct mg_command command = {.kind = MG_CAUSE_REPLY, .command_id = "c", .order_id = "o"};
    mg_command_write(&command, &body);
    ck_assert(body.failed);
}
END_TEST

/* Catches: an answer that names the state of an order which does not exist. */
START_TEST(a_result_of_a_signal_comes_back)
{
    for (int i = MG_SIGNAL_NONE; i < MG_SIGNAL_OUTCOME_COUNT; i++) {
        bool has_order = i != MG_SIGNAL_KEPT;
        struct mg_command_result back = {0}, result = {.command_id = "c-1",
                                                       .verdict = MG_COMMAND_DONE,
                                                       .signal = (enum mg_signal_outcome)i,
                                                       .version = has_order ? 9 : 0,
                                                       .state = MG_ORDER_PROCESSING,
                                                       .text = "so"};
        (void)snprintf(result.order_id, sizeof(result.order_id), "%s", has_order ? "o-1" : "");
        mg_buf_clear(&body);
        mg_command_result_write(&result, &body);
        ck_assert_ok(mg_command_result_parse(mg_buf_slice(&body), &back, &err));
        ck_assert_int_eq(back.signal, i);
        ck_assert_str_eq(back.order_id, result.order_id);
        ck_assert_uint_eq(back.version, result.version);
    }
}
END_TEST

START_TEST(a_command_result_comes_back)
{
    for (int verdict = MG_COMMAND_DONE; verdict <= MG_COMMAND_INVALID; verdict++) {
        struct mg_command_result back = {0}, result = {.command_id = "c-1",
                                                       .order_id = "o-1",
                                                       .version = 9,
                                                       .state = MG_ORDER_COMPENSATING,
                                                       .text = "so"};
        result.verdict = (enum mg_command_verdict)verdict;
        result.may_pass = verdict == MG_COMMAND_INVALID;
        mg_buf_clear(&body);
        mg_command_result_write(&result, &body);
        ck_assert_ok(mg_command_result_parse(mg_buf_slice(&body), &back, &err));
        ck_assert_str_eq(back.command_id, "c-1");
        ck_assert_str_eq(back.order_id, "o-1");
        ck_assert_int_eq(back.verdict, result.verdict);
        ck_assert_int_eq(back.may_pass, result.may_pass);
        ck_assert_str_eq(back.text, "so");
        ck_assert_uint_eq(back.version, verdict <= MG_COMMAND_CONFLICT ? 9 : 0);
        if (verdict <= MG_COMMAND_CONFLICT) {
            ck_assert_int_eq(back.state, MG_ORDER_COMPENSATING);
        }
    }
}
END_TEST

START_TEST(a_submission_is_read)
{
    static const char TEXT[] =
        " {\"workflow\":\"fulfilment\", \"payload\" : { \"price\": 14.00 } ,\"priority\":\"high\","
        "\"notify\":\"steps\",\"complete_within\":\"15m\",\"workflow_version\":2} ";
    struct mg_submission submission = {0};
    uint8_t a[MG_SHA256_SIZE], b[MG_SHA256_SIZE];
    ck_assert_ok(mg_submission_parse(mg_slice_of(TEXT), &MG_JSON_LIMITS_DEFAULT, &submission, &err));
    ck_assert_str_eq(submission.order_id, "");
    ck_assert_str_eq(submission.workflow, "fulfilment");
    ck_assert_int_eq(submission.workflow_version, 2);
    ck_assert(mg_slice_is(submission.payload, "{ \"price\": 14.00 }"));
    ck_assert_ptr_eq(submission.payload.data, strstr(TEXT, "{ \"price")); /* borrowed from the body */
    ck_assert(submission.is_high && submission.wants_step_status);
    ck_assert_int_eq(submission.complete_within_ms, 900000);
    ck_assert_ok(
        mg_submission_parse(mg_slice_of("{\"workflow\":\"w\"}"), &MG_JSON_LIMITS_DEFAULT, &submission, &err));
    ck_assert(mg_slice_is(submission.payload, "{}"));
    ck_assert(!submission.is_high && !submission.wants_step_status);
    mg_submission_digest(mg_slice_of("{}"), a);
    mg_submission_digest(mg_slice_of("{ }"), b);
    ck_assert_int_ne(memcmp(a, b, sizeof(a)), 0);
}
END_TEST

/* ---- classes ---- */

#define REPLY(v, kind, more)                                                                                 \
    "{\"v\":" v ",\"order_id\":\"o\",\"step\":\"s\",\"kind\":\"" kind                                        \
    "\",\"outcome\":\"done\",\"executed\":\"yes\"" more "}"

static const struct {
    const char *text;
    enum mg_class class;
} CLASSES[] = {
    {REPLY("1", "do", ",\"attempt\":1"), MG_OK},
    {REPLY("1", "do", ",\"attempt\":1,\"new\":{}"), MG_OK},
    {REPLY("1", "redo", ",\"attempt\":1"), MG_STALE},
    {REPLY("2", "do", ",\"attempt\":1"), MG_STALE},
    {REPLY("1", "redo", ""), MG_BAD_INPUT}, /* malformed goes before unknown, whichever comes first */
    {REPLY("1", "redo", ",\"attempt\":\"1\""), MG_BAD_INPUT},
    {REPLY("1", "redo", ",\"attempt\":1,\"retry_after_ms\":-1"), MG_BAD_INPUT},
    {REPLY("2", "redo", ""), MG_STALE}, /* in a newer version, nothing else can be judged */
    {REPLY("0", "do", ",\"attempt\":1"), MG_BAD_INPUT},
};

/* Catches: a newer version's message that is dead-lettered; a malformed message that goes round for ever. */
START_TEST(a_newer_word_is_left_and_a_malformed_message_refused)
{
    struct mg_reply reply;
    enum mg_class class =
        mg_reply_parse(mg_slice_of(CLASSES[_i].text), &MG_JSON_LIMITS_DEFAULT, &reply, &err);
    ck_assert_msg(class == CLASSES[_i].class, "%s: %s", mg_class_name(class), err.text);
    ck_assert(class == MG_OK || err.class == class);
}
END_TEST

#define COUNT(array) ((int)(sizeof(array) / sizeof((array)[0])))

int main(void)
{
    Suite *suite = suite_create("messages");
    TCase *tests = tcase_create("messages");
    tcase_add_checked_fixture(tests, set_up, tear_down);
    tcase_set_timeout(tests, 60);
    tcase_add_test(tests, a_request_comes_back);
    tcase_add_test(tests, a_request_may_be_as_large_as_a_scheduler_makes_it);
    tcase_add_test(tests, a_traceparent_that_is_none_is_left_out);
    tcase_add_test(tests, a_reply_comes_back);
    tcase_add_test(tests, a_truncated_result_is_none);
    tcase_add_test(tests, a_bad_error_text_does_not_lose_the_reply);
    tcase_add_test(tests, a_long_text_is_cut_at_a_character);
    tcase_add_test(tests, a_service_report_comes_back);
    tcase_add_test(tests, the_calls_of_a_service_report_come_back);
    tcase_add_test(tests, the_wanted_state_of_a_service_is_read_as_written);
    tcase_add_test(tests, a_status_comes_back);
    tcase_add_test(tests, a_status_carries_its_output_as_it_is);
    tcase_add_test(tests, an_alert_comes_back);
    tcase_add_loop_test(tests, a_command_comes_back_with_what_belongs_to_it, 0, COUNT(COMMANDS));
    tcase_add_loop_test(tests, a_signal_comes_back_with_its_address_and_payload, 0, 5);
    tcase_add_test(tests, a_signal_without_a_payload_has_null);
    tcase_add_test(tests, a_payload_of_a_signal_has_at_most_64_kib);
    tcase_add_test(tests, an_invalid_command_is_not_written);
    tcase_add_test(tests, a_result_of_a_signal_comes_back);
    tcase_add_test(tests, a_command_result_comes_back);
    tcase_add_test(tests, a_submission_is_read);
    tcase_add_loop_test(tests, a_newer_word_is_left_and_a_malformed_message_refused, 0, COUNT(CLASSES));
    suite_add_tcase(suite, tests);
    return run_suite(suite);
}
