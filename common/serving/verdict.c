/* See verdict.h. */
#include "verdict.h"

#include <stdio.h>

void mg_verdict_make(enum mg_outcome outcome, enum mg_executed executed, enum mg_call_health health,
                     enum mg_error_reason reason, const char *text, struct mg_verdict_of_try *ret_verdict)
{
    ret_verdict->outcome = outcome;
    ret_verdict->executed = executed;
    ret_verdict->may_still_act = false;
    ret_verdict->health = health;
    ret_verdict->is_probe = false;
    ret_verdict->retry_after_ms = -1;
    ret_verdict->http_status = 0;
    ret_verdict->reason = reason;
    snprintf(ret_verdict->code, sizeof(ret_verdict->code), "%s", mg_error_reason_name(reason));
    snprintf(ret_verdict->text, sizeof(ret_verdict->text), "%s", text);
}

void mg_verdict_code_set(struct mg_verdict_of_try *verdict, const char *code)
{
    const struct mg_error_facts facts = mg_error_facts_read(mg_slice_of(code));
    verdict->reason = facts.reason;
    verdict->http_status = facts.http_status;
    snprintf(verdict->code, sizeof(verdict->code), "%s", code);
}

void mg_verdict_not_made(enum mg_error_reason reason, const char *why, struct mg_verdict_of_try *ret_verdict)
{
    mg_verdict_make(MG_OUTCOME_TRANSIENT, MG_EXECUTED_NO, MG_CALL_VOID, reason, why, ret_verdict);
}

void mg_verdict_redelivered(struct mg_verdict_of_try *ret_verdict)
{
    mg_verdict_make(
        MG_OUTCOME_UNKNOWN, MG_EXECUTED_MAYBE, MG_CALL_VOID, MG_ERROR_REASON_NONE,
        "the request came a second time and may be sent at most once: an earlier agent may have sent it",
        ret_verdict);
    mg_verdict_code_set(ret_verdict, "redelivered");
    ret_verdict->may_still_act = true;
}

enum mg_executed mg_verdict_fold(enum mg_kind kind, enum mg_executed executed, bool may_have_run_before)
{
    if (kind == MG_KIND_VERIFY || !may_have_run_before || executed != MG_EXECUTED_NO) {
        return executed;
    }
    return MG_EXECUTED_MAYBE;
}

bool mg_outcome_has_result(enum mg_outcome outcome)
{
    return outcome == MG_OUTCOME_DONE || outcome == MG_OUTCOME_ACCEPTED;
}
