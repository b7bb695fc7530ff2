/* Messages of agents, which may be written in any language: reports about their services, and replies. The
 * input is the body; both readers get it. */
#include "core/key.h"
#include "fuzz.h"
#include "wire/reply.h"

static void is_same_reply(const struct mg_reply *a, const struct mg_reply *b)
{
    FUZZ_REQUIRE(strcmp(a->order_id, b->order_id) == 0 && strcmp(a->step, b->step) == 0);
    FUZZ_REQUIRE(a->attempt == b->attempt && a->kind == b->kind);
    FUZZ_REQUIRE(a->outcome == b->outcome && a->executed == b->executed);
    FUZZ_REQUIRE(a->may_still_act == b->may_still_act);
    FUZZ_REQUIRE(mg_slice_equal(a->result, b->result) && a->is_truncated == b->is_truncated);
    FUZZ_REQUIRE(strcmp(a->error_code, b->error_code) == 0 && strcmp(a->error_text, b->error_text) == 0);
    FUZZ_REQUIRE(a->http_status == b->http_status && a->error_reason == b->error_reason);
    FUZZ_REQUIRE(mg_slice_equal(a->error_message, b->error_message) &&
                 mg_slice_equal(a->error_body, b->error_body));
    FUZZ_REQUIRE(a->retry_after_ms == b->retry_after_ms);
}

static void try_reply(struct mg_slice body)
{
    struct mg_reply reply, again;
    struct mg_buf first, second;
    struct mg_err err;
    FUZZ_POISON(reply);
    enum mg_class class = mg_reply_parse(body, &MG_JSON_LIMITS_DATA, &reply, &err);
    if (class != MG_OK) {
        FUZZ_REQUIRE_REFUSAL(class, err, reply);
        return;
    }
    FUZZ_REQUIRE(mg_order_id_is_valid(reply.order_id, strlen(reply.order_id)));
    FUZZ_REQUIRE(mg_name_is_valid(reply.step, strlen(reply.step)));
    FUZZ_REQUIRE(reply.attempt > 0 && reply.kind < MG_KIND_COUNT);
    FUZZ_REQUIRE(reply.outcome < MG_OUTCOME_COUNT && reply.executed < MG_EXECUTED_COUNT);
    FUZZ_REQUIRE(reply.error_reason < MG_ERROR_REASON_COUNT && reply.http_status <= MG_HTTP_STATUS_MAX);
    FUZZ_REQUIRE((reply.error_reason == MG_ERROR_REASON_NONE) == (reply.error_code[0] == '\0'));
    FUZZ_REQUIRE(reply.result.data == NULL || fuzz_is_within(reply.result, body));
    FUZZ_REQUIRE(reply.error_message.data == NULL || fuzz_is_within(reply.error_message, body));
    FUZZ_REQUIRE(reply.error_body.data == NULL || fuzz_is_within(reply.error_body, body));
    mg_buf_init(&first, FUZZ_TEXT_MAX);
    mg_buf_init(&second, FUZZ_TEXT_MAX);
    mg_reply_write(&reply, &first);
    FUZZ_REQUIRE(mg_reply_parse(mg_buf_slice(&first), &MG_JSON_LIMITS_DATA, &again, &err) == MG_OK);
    is_same_reply(&reply, &again);
    mg_reply_write(&again, &second);
    fuzz_require_same(&first, &second);
}

static void try_report(struct mg_slice body)
{
    struct mg_service_report report, again;
    struct mg_buf first, second;
    struct mg_err err;
    FUZZ_POISON(report);
    enum mg_class class = mg_service_report_parse(body, &report, &err);
    if (class != MG_OK) {
        FUZZ_REQUIRE_REFUSAL(class, err, report);
        return;
    }
    FUZZ_REQUIRE(mg_name_is_valid(report.service, strlen(report.service)));
    FUZZ_REQUIRE(report.instance[0] != '\0' && report.in_flight >= 0 && report.concurrency >= 0);
    mg_buf_init(&first, FUZZ_TEXT_MAX);
    mg_buf_init(&second, FUZZ_TEXT_MAX);
    mg_service_report_write(&report, &first);
    FUZZ_REQUIRE(mg_service_report_parse(mg_buf_slice(&first), &again, &err) == MG_OK);
    FUZZ_REQUIRE(report.breaker == again.breaker && report.is_ready == again.is_ready);
    FUZZ_REQUIRE(report.process == again.process && report.is_prober == again.is_prober);
    FUZZ_REQUIRE(report.process == 0 || report.sequence == again.sequence);
    mg_service_report_write(&again, &second);
    fuzz_require_same(&first, &second);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct mg_slice body = {(const char *)data, size};
    try_reply(body);
    try_report(body);
    return 0;
}
