/* Classification of an HTTP answer, or of a missing one. */
#include <check.h>
#include <stdio.h>
#include <string.h>

#include "../suite.h"
#include "classify.h"
#include "serving/tries.h"

static struct mg_service *service;
static struct mg_verdict_of_try verdict;

static void setup(void)
{
    struct mg_err err;
    struct mg_slice text = mg_slice_of("{\"service\":\"payment\",\"url\":\"http://127.0.0.1:1\","
                                       "\"result\":{\"max_bytes\":1024,\"pointer\":\"/receipt\"}}");
    ck_assert_msg(mg_service_parse(text, NULL, &service, &err) == MG_OK, "%s", err.text);
}

static void teardown(void)
{
    mg_service_destroy(service);
}

static void classify(const struct mg_http_answer *received, enum mg_kind kind, bool is_pollable,
                     int64_t budget_ms)
{
    struct mg_http_answer answer = *received;
    struct mg_reading reading;
    mg_reading_take(&answer, service->is_text_answer, &reading);
    mg_classify_answer(service, kind, is_pollable, &answer, &reading, budget_ms, &verdict);
    mg_reading_finish(&reading);
}

static void answered(enum mg_kind kind, int status)
{
    struct mg_http_answer answer = {
        .sent = MG_SENT_YES, .status = status, .content_type = "", .retry_after_ms = -1};
    classify(&answer, kind, true, 9000);
}

static void broke(enum mg_kind kind, enum mg_sent sent, bool is_timed_out, int64_t budget_ms)
{
    struct mg_http_answer answer = {.sent = sent,
                                    .content_type = "",
                                    .retry_after_ms = -1,
                                    .is_timed_out = is_timed_out,
                                    .reason = "it broke"};
    classify(&answer, kind, true, budget_ms);
}

static void expect(enum mg_outcome outcome, enum mg_executed executed, enum mg_call_health health,
                   const char *code)
{
    ck_assert_str_eq(mg_outcome_name(verdict.outcome), mg_outcome_name(outcome));
    ck_assert_str_eq(mg_executed_name(verdict.executed), mg_executed_name(executed));
    ck_assert_int_eq(verdict.health, health);
    ck_assert_str_eq(verdict.code, code);
    /* The numbers are those of the text. */
    ck_assert_int_eq(verdict.reason, mg_error_facts_read(mg_slice_of(code)).reason);
    ck_assert(verdict.reason != MG_ERROR_REASON_ANSWERED ||
              verdict.http_status == mg_error_facts_read(mg_slice_of(code)).http_status);
}

START_TEST(statuses_have_the_meaning_of_the_contract)
{
    answered(MG_KIND_DO, 200);
    expect(MG_OUTCOME_DONE, MG_EXECUTED_YES, MG_CALL_HEALTHY, "");
    ck_assert_int_eq(verdict.http_status, 200);
    answered(MG_KIND_DO, 202);
    expect(MG_OUTCOME_ACCEPTED, MG_EXECUTED_MAYBE, MG_CALL_HEALTHY, "");
    answered(MG_KIND_DO, 422);
    expect(MG_OUTCOME_PERMANENT, MG_EXECUTED_NO, MG_CALL_HEALTHY, "http_422");
    answered(MG_KIND_DO, 302);
    expect(MG_OUTCOME_PERMANENT, MG_EXECUTED_MAYBE, MG_CALL_HEALTHY, "http_302");
    answered(MG_KIND_DO, 409);
    expect(MG_OUTCOME_TRANSIENT, MG_EXECUTED_MAYBE, MG_CALL_HEALTHY, "http_409");
    answered(MG_KIND_DO, 429);
    expect(MG_OUTCOME_TRANSIENT, MG_EXECUTED_MAYBE, MG_CALL_FAILING, "http_429");
    answered(MG_KIND_DO, 503);
    expect(MG_OUTCOME_TRANSIENT, MG_EXECUTED_MAYBE, MG_CALL_FAILING, "http_503");
    answered(MG_KIND_VERIFY, 404);
    expect(MG_OUTCOME_ABSENT, MG_EXECUTED_NO, MG_CALL_HEALTHY, "http_404");
    answered(MG_KIND_UNDO, 410);
    expect(MG_OUTCOME_ABSENT, MG_EXECUTED_NO, MG_CALL_HEALTHY, "http_410");
}
END_TEST

static void answered_with(enum mg_kind kind, int status, const char *type, const char *body)
{
    const struct mg_http_answer answer = {.sent = MG_SENT_YES,
                                          .status = status,
                                          .content_type = type,
                                          .body = mg_slice_of(body),
                                          .retry_after_ms = -1};
    classify(&answer, kind, true, 9000);
}

/* Catches: an undo that overtakes a do on the evidence of a proxy or of the agent itself; one that waits
 * although the service has answered. */
START_TEST(only_the_services_own_answer_ends_a_call)
{
    static const int answers[] = {200, 201, 302, 400, 408, 409, 422, 425, 429};
    static const int failures[] = {500, 501, 503, 505, 511}; /* of the service, if they are JSON */
    static const int gateways[] = {502, 504, 520, 524, 599};
    for (size_t i = 0; i < sizeof(answers) / sizeof(answers[0]); i++) {
        answered(MG_KIND_DO, answers[i]);
        ck_assert_msg(!verdict.may_still_act, "%d", answers[i]);
        answered_with(MG_KIND_DO, answers[i], "text/html", "<html>a proxy</html>");
        ck_assert_msg(verdict.may_still_act, "a page with %d", answers[i]);
    }
    for (size_t i = 0; i < sizeof(failures) / sizeof(failures[0]); i++) {
        answered_with(MG_KIND_DO, failures[i], "application/json", "{\"code\":\"down\"}");
        ck_assert_msg(!verdict.may_still_act, "%d", failures[i]);
        static const char *const OTHERS[] = {"", "<html>time-out</html>", "upstream reset", "{\"cut"};
        for (size_t k = 0; k < sizeof(OTHERS) / sizeof(OTHERS[0]); k++) {
            answered_with(MG_KIND_DO, failures[i], "text/plain", OTHERS[k]);
            ck_assert_msg(verdict.may_still_act, "%d: %s", failures[i], OTHERS[k]);
        }
    }
    for (size_t i = 0; i < sizeof(gateways) / sizeof(gateways[0]); i++) {
        answered_with(MG_KIND_DO, gateways[i], "application/json", "{}");
        ck_assert_msg(verdict.may_still_act, "%d", gateways[i]);
    }
    static const struct mg_answer_rule RULES[] = {
        {503, 503, {[MG_KIND_DO] = true}, MG_OUTCOME_UNKNOWN, MG_EXECUTED_MAYBE},
        {500, 500, {[MG_KIND_DO] = true}, MG_OUTCOME_TRANSIENT, MG_EXECUTED_MAYBE},
    };
    memcpy(service->rules, RULES, sizeof(RULES));
    service->rule_count = 2;
    answered_with(MG_KIND_DO, 503, "application/json", "{}");
    ck_assert(verdict.may_still_act);
    answered_with(MG_KIND_DO, 500, "text/html", "<html>no</html>");
    ck_assert(!verdict.may_still_act);
    broke(MG_KIND_DO, MG_SENT_MAYBE, true, 9000);
    ck_assert(verdict.may_still_act);
    broke(MG_KIND_DO, MG_SENT_MAYBE, false, 9000);
    ck_assert(verdict.may_still_act);
    broke(MG_KIND_DO, MG_SENT_NO, true, 9000);
    ck_assert(!verdict.may_still_act);
    mg_verdict_redelivered(&verdict);
    ck_assert(verdict.may_still_act);
    mg_verdict_not_made(MG_ERROR_REASON_BREAKER_OPEN, "no", &verdict);
    ck_assert(!verdict.may_still_act);
}
END_TEST

/* Catches: a proxy's page or a login that counts as the work. */
START_TEST(a_page_in_place_of_json_is_no_answer)
{
    static const char *const PAGES[][2] = {
        {"text/html", "<p>down</p>"},
        {"application/json", "\n<!DOCTYPE html>"},
        {"", "\xef\xbb\xbf<HTML>"},
        {"application/xhtml+xml; charset=utf-8", "<x/>"},
        {"text/html", "503 Service Temporarily Unavailable"},
        {"text/html; charset=x-none", "Wartung"},
        {"Text/HTML", "-- down for maintenance --"},
        {"text/html", "{maintenance} back soon"},
        {"text/html;charset=utf-8", "[maintenance]"},
        {"text/html", "{\"id\":1"},
        {"text/html", "truely sorry, we are down"},
        {"text/plain", "<?xml version=\"1.0\"?>\n<!DOCTYPE html PUBLIC \"-//W3C//DTD XHTML 1.0\">"},
        {"", "<!-- x --><html><body>down</body></html>"},
        {"application/json", "<head><title>503</title></head>"},
        {"application/json", "<error>down</error>"},
        {"application/xml", "<?xml version=\"1.0\"?> <!-- x -->\n<html>"},
    };
    for (size_t i = 0; i < sizeof(PAGES) / sizeof(PAGES[0]); i++) {
        answered_with(MG_KIND_DO, 200, PAGES[i][0], PAGES[i][1]);
        ck_assert_msg(verdict.outcome == MG_OUTCOME_UNKNOWN, "%s", PAGES[i][1]);
        expect(MG_OUTCOME_UNKNOWN, MG_EXECUTED_MAYBE, MG_CALL_FAILING, "page_answered");
        answered_with(MG_KIND_UNDO, 200, PAGES[i][0], PAGES[i][1]);
        expect(MG_OUTCOME_TRANSIENT, MG_EXECUTED_MAYBE, MG_CALL_FAILING, "page_answered");
    }
}
END_TEST

/* Catches: a service that is taken for its proxy. */
START_TEST(any_other_answer_is_the_services)
{
    static const char *const ANSWERS[][2] = {{"text/html", "{\"id\":1}"},
                                             {"text/html", " [1]\n"},
                                             {"text/html", "true"},
                                             {"text/html", "{\"name\":\"Z\xfcrich\"}"},
                                             {"text/html", ""},
                                             {"text/html", " \n"},
                                             {"text/plain", "it is done"},
                                             {"text/plain", "<3 done"},
                                             {"text/xml; charset=utf-8", "<?xml version=\"1.0\"?><done/>"},
                                             {"application/soap+xml", "<done/>"}};
    for (size_t i = 0; i < sizeof(ANSWERS) / sizeof(ANSWERS[0]); i++) {
        answered_with(MG_KIND_DO, 200, ANSWERS[i][0], ANSWERS[i][1]);
        ck_assert_msg(verdict.outcome == MG_OUTCOME_DONE, "%s: %s", ANSWERS[i][1], verdict.text);
    }
}
END_TEST

/* Catches: a charge that stands, since a proxy refused its answer with a page after the service had acted. */
START_TEST(a_page_that_refuses_proves_nothing)
{
    static const int REFUSALS[] = {400, 403, 404, 413, 422, 451};
    for (size_t i = 0; i < sizeof(REFUSALS) / sizeof(REFUSALS[0]); i++) {
        answered_with(MG_KIND_DO, REFUSALS[i], "text/html", "<html>no</html>");
        ck_assert_int_eq(verdict.outcome, MG_OUTCOME_PERMANENT);
        ck_assert_msg(verdict.executed == MG_EXECUTED_MAYBE, "%d", REFUSALS[i]);
        ck_assert_ptr_nonnull(strstr(verdict.text, "an HTML page: a proxy may have answered"));
        answered_with(MG_KIND_DO, REFUSALS[i], "application/json", "{\"code\":\"NO\"}");
        ck_assert_int_eq(verdict.executed, MG_EXECUTED_NO);
        answered_with(MG_KIND_DO, REFUSALS[i], "text/html", "");
        ck_assert_int_eq(verdict.executed, MG_EXECUTED_NO);
    }
}
END_TEST

/* Catches: money that stands, since a proxy without a route was taken for a service without the charge. */
START_TEST(only_the_service_itself_answers_that_there_is_nothing)
{
    static const int GONE[] = {404, 410};
    for (int i = 0; i < 2; i++) {
        for (enum mg_kind kind = MG_KIND_UNDO; kind <= MG_KIND_VERIFY; kind++) {
            answered_with(kind, GONE[i], "text/plain", "default backend - 404");
            ck_assert_int_eq(verdict.outcome, MG_OUTCOME_TRANSIENT);
            ck_assert_int_eq(verdict.executed, MG_EXECUTED_MAYBE);
            ck_assert_ptr_nonnull(strstr(verdict.text, "no JSON"));
            answered_with(kind, GONE[i], "application/json", "{\"code\":\"NONE\"}");
            ck_assert_int_eq(verdict.outcome, MG_OUTCOME_ABSENT);
            answered_with(kind, GONE[i], "text/html", "");
            ck_assert_int_eq(verdict.outcome, MG_OUTCOME_ABSENT);
        }
    }
}
END_TEST

/* Catches: an undo alongside accepted work that no poll asks about. */
START_TEST(accepted_work_without_a_poll_may_still_act)
{
    struct mg_http_answer answer = {
        .sent = MG_SENT_YES, .status = 202, .content_type = "", .retry_after_ms = -1};
    classify(&answer, MG_KIND_DO, false, 9000);
    expect(MG_OUTCOME_DONE, MG_EXECUTED_YES, MG_CALL_HEALTHY, "");
    ck_assert(verdict.may_still_act);
    answered(MG_KIND_DO, 202);
    ck_assert(!verdict.may_still_act);
}
END_TEST

START_TEST(nothing_sent_is_proof_that_nothing_happened_and_costs_nothing)
{
    broke(MG_KIND_DO, MG_SENT_NO, false, 9000);
    expect(MG_OUTCOME_TRANSIENT, MG_EXECUTED_NO, MG_CALL_UNREACHABLE, "breaker_open");
    ck_assert_str_eq(verdict.text, "it broke");
}
END_TEST

START_TEST(a_connection_without_time_proves_little_about_the_service)
{
    broke(MG_KIND_DO, MG_SENT_NO, true, 50);
    expect(MG_OUTCOME_TRANSIENT, MG_EXECUTED_NO, MG_CALL_FAILING, "breaker_open");
    broke(MG_KIND_DO, MG_SENT_NO, true, MG_CONNECT_TIMEOUT_MS);
    expect(MG_OUTCOME_TRANSIENT, MG_EXECUTED_NO, MG_CALL_UNREACHABLE, "breaker_open");
}
END_TEST

START_TEST(a_broken_answer_to_a_do_leaves_its_outcome_unknown)
{
    broke(MG_KIND_DO, MG_SENT_MAYBE, false, 9000);
    expect(MG_OUTCOME_UNKNOWN, MG_EXECUTED_MAYBE, MG_CALL_FAILING, "broken_answer");
    broke(MG_KIND_UNDO, MG_SENT_MAYBE, false, 9000);
    expect(MG_OUTCOME_TRANSIENT, MG_EXECUTED_MAYBE, MG_CALL_FAILING, "broken_answer");
    broke(MG_KIND_VERIFY, MG_SENT_MAYBE, false, 9000);
    expect(MG_OUTCOME_TRANSIENT, MG_EXECUTED_MAYBE, MG_CALL_FAILING, "broken_answer");
    broke(MG_KIND_DO, MG_SENT_MAYBE, true, 9000);
    expect(MG_OUTCOME_TRANSIENT, MG_EXECUTED_MAYBE, MG_CALL_FAILING, "timeout");
}
END_TEST

START_TEST(a_good_status_with_a_body_cut_off_is_not_done)
{
    struct mg_http_answer answer = {.sent = MG_SENT_MAYBE,
                                    .status = 200,
                                    .content_type = "",
                                    .retry_after_ms = -1,
                                    .reason = "too large"};
    classify(&answer, MG_KIND_DO, true, 9000);
    expect(MG_OUTCOME_UNKNOWN, MG_EXECUTED_MAYBE, MG_CALL_FAILING, "broken_answer");
}
END_TEST

START_TEST(a_refusal_proves_nothing_about_an_earlier_try)
{
    ck_assert_int_eq(mg_maybe_fold(MG_KIND_DO, MG_EXECUTED_NO, false), MG_EXECUTED_NO);
    ck_assert_int_eq(mg_maybe_fold(MG_KIND_DO, MG_EXECUTED_NO, true), MG_EXECUTED_MAYBE);
    ck_assert_int_eq(mg_maybe_fold(MG_KIND_UNDO, MG_EXECUTED_NO, true), MG_EXECUTED_MAYBE);
    ck_assert_int_eq(mg_maybe_fold(MG_KIND_DO, MG_EXECUTED_YES, true), MG_EXECUTED_YES);
    ck_assert_int_eq(mg_maybe_fold(MG_KIND_VERIFY, MG_EXECUTED_NO, true), MG_EXECUTED_NO);
}
END_TEST

START_TEST(the_result_is_the_part_pointed_at_digit_for_digit)
{
    bool is_truncated;
    struct mg_slice result =
        mg_reply_result(service, mg_slice_of("{\"receipt\": {\"sum\": 14.00}, \"x\": 1}"), &is_truncated);
    ck_assert(mg_slice_is(result, "{\"sum\": 14.00}"));
    ck_assert(!is_truncated);
}
END_TEST

/* Catches: a done step without its result, for a number that no variable of this program holds. */
START_TEST(a_result_may_have_any_number)
{
    static const char *const RECEIPTS[] = {"{\"amount\":123456789012345678901234567890,\"rate\":1e400}",
                                           "-1.50e-400000", "1e400000"};
    for (size_t i = 0; i < sizeof(RECEIPTS) / sizeof(RECEIPTS[0]); i++) {
        char body[128];
        bool is_truncated;
        (void)snprintf(body, sizeof(body), "{\"receipt\":%s}", RECEIPTS[i]);
        ck_assert(mg_slice_is(mg_reply_result(service, mg_slice_of(body), &is_truncated), RECEIPTS[i]));
        ck_assert(!is_truncated);
    }
}
END_TEST

START_TEST(an_answer_without_json_or_the_named_part_gives_no_result)
{
    bool is_truncated = true;
    static const char *const bodies[] = {"", "<html>", "{\"receipt\":1,\"receipt\":2}", "{\"other\":1}",
                                         "{\"receipt\":"};
    for (size_t i = 0; i < sizeof(bodies) / sizeof(bodies[0]); i++) {
        ck_assert_ptr_null(mg_reply_result(service, mg_slice_of(bodies[i]), &is_truncated).data);
        ck_assert(!is_truncated);
    }
}
END_TEST

START_TEST(a_result_above_the_limit_is_cut_and_marked)
{
    char body[3000];
    bool is_truncated;
    memset(body, 'a', sizeof(body));
    memcpy(body, "{\"receipt\":\"", 12);
    memcpy(body + sizeof(body) - 3, "\"}", 3);
    ck_assert_ptr_null(mg_reply_result(service, mg_slice_of(body), &is_truncated).data);
    ck_assert(is_truncated);
}
END_TEST

/* True if the answer gives a result; then schedulers must be able to read the reply that carries it. */
static bool reaches_schedulers(const struct mg_service *whole, struct mg_slice answer)
{
    struct mg_reply reply = {.attempt = 1,
                             .order_id = "o1",
                             .step = "charge",
                             .outcome = MG_OUTCOME_DONE,
                             .executed = MG_EXECUTED_YES,
                             .error_code = "code",
                             .error_text = "text",
                             .retry_after_ms = 1};
    struct mg_buf body;
    struct mg_err err;
    reply.result = mg_reply_result(whole, answer, &reply.is_truncated);
    bool is_kept = reply.result.data != NULL;
    mg_buf_init(&body, 256 * 1024);
    mg_reply_write(&reply, &body);
    enum mg_class class = mg_reply_parse(mg_buf_slice(&body), &MG_JSON_LIMITS_DATA, &reply, &err);
    mg_buf_finish(&body);
    ck_assert_msg(class == MG_OK, "%s", err.text);
    return is_kept;
}

/* Catches: an answer at the limits of JSON with a reply above them, so that finished work is never
 * reported. */
START_TEST(a_result_at_the_limits_leaves_room_for_its_reply)
{
    struct mg_service *whole;
    struct mg_err err;
    struct mg_slice text = mg_slice_of("{\"service\":\"payment\",\"url\":\"http://127.0.0.1:1\"}");
    ck_assert_msg(mg_service_parse(text, NULL, &whole, &err) == MG_OK, "%s", err.text);
    for (int depth = 28; depth <= 34; depth++) {
        char nested[128];
        memset(nested, '[', (size_t)depth);
        memset(nested + depth, ']', (size_t)depth);
        ck_assert_int_eq(reaches_schedulers(whole, (struct mg_slice){nested, 2 * (size_t)depth}), depth < 32);
    }
    static char flat[2 * 10002 + 1];
    for (int members = 9980; members <= 10002; members++) {
        for (int i = 0; i < members; i++) {
            memcpy(flat + 1 + 2 * i, "1,", 2);
        }
        flat[0] = '[';
        flat[2 * members] = ']';
        bool is_kept = reaches_schedulers(whole, (struct mg_slice){flat, 2 * (size_t)members + 1});
        ck_assert(is_kept || members > 9980);
    }
    mg_service_destroy(whole);
}
END_TEST

/* Catches: a refusal in the body of a second try, which would be taken for a proof about the first one. */
START_TEST(a_good_answer_that_is_judged_is_maybe_after_a_doubtful_try)
{
    static const struct {
        int version;
        enum mg_kind kind;
        bool may_have_run;
        enum mg_executed executed;
    } CASES[] = {
        {MG_REQUEST_VERSION_JUDGED, MG_KIND_DO, true, MG_EXECUTED_MAYBE},
        {MG_REQUEST_VERSION_JUDGED, MG_KIND_DO, false, MG_EXECUTED_YES},
        {MG_REQUEST_VERSION_JUDGED, MG_KIND_UNDO, true, MG_EXECUTED_MAYBE},
        {MG_REQUEST_VERSION_JUDGED, MG_KIND_UNDO, false, MG_EXECUTED_YES},
        {MG_REQUEST_VERSION_JUDGED, MG_KIND_VERIFY, true, MG_EXECUTED_YES},
        {MG_REQUEST_VERSION_REACH, MG_KIND_DO, true, MG_EXECUTED_YES},
        {1, MG_KIND_DO, true, MG_EXECUTED_YES},
    };
    struct mg_request request = {.version = CASES[_i].version, .kind = CASES[_i].kind};
    struct mg_tries tries = {.may_have_run = CASES[_i].may_have_run};
    struct mg_verdict_of_try good = {.outcome = MG_OUTCOME_DONE, .executed = MG_EXECUTED_YES};
    mg_tries_note(&tries, &request, &good);
    ck_assert_int_eq(good.executed, CASES[_i].executed);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("agent classify");
    TCase *tcase = tcase_create("classify");
    tcase_add_checked_fixture(tcase, setup, teardown);
    tcase_add_test(tcase, statuses_have_the_meaning_of_the_contract);
    tcase_add_test(tcase, only_the_services_own_answer_ends_a_call);
    tcase_add_test(tcase, a_page_in_place_of_json_is_no_answer);
    tcase_add_test(tcase, any_other_answer_is_the_services);
    tcase_add_test(tcase, a_page_that_refuses_proves_nothing);
    tcase_add_test(tcase, only_the_service_itself_answers_that_there_is_nothing);
    tcase_add_test(tcase, accepted_work_without_a_poll_may_still_act);
    tcase_add_test(tcase, nothing_sent_is_proof_that_nothing_happened_and_costs_nothing);
    tcase_add_test(tcase, a_connection_without_time_proves_little_about_the_service);
    tcase_add_test(tcase, a_broken_answer_to_a_do_leaves_its_outcome_unknown);
    tcase_add_test(tcase, a_good_status_with_a_body_cut_off_is_not_done);
    tcase_add_test(tcase, a_refusal_proves_nothing_about_an_earlier_try);
    tcase_add_loop_test(tcase, a_good_answer_that_is_judged_is_maybe_after_a_doubtful_try, 0, 7);
    tcase_add_test(tcase, the_result_is_the_part_pointed_at_digit_for_digit);
    tcase_add_test(tcase, a_result_may_have_any_number);
    tcase_add_test(tcase, an_answer_without_json_or_the_named_part_gives_no_result);
    tcase_add_test(tcase, a_result_above_the_limit_is_cut_and_marked);
    tcase_add_test(tcase, a_result_at_the_limits_leaves_room_for_its_reply);
    suite_add_tcase(suite, tcase);
    return run_suite(suite);
}
