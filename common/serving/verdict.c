/* See verdict.h. */
#include "verdict.h"

#include <stdio.h>

void mg_verdict_make(struct mg_maybe maybe, enum mg_call_health health, enum mg_error_reason reason,
                     const char *text, struct mg_verdict_of_try *ret_verdict)
{
    ret_verdict->outcome = maybe.outcome;
    ret_verdict->executed = maybe.executed;
    ret_verdict->may_still_act = maybe.may_still_act;
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
    mg_verdict_make(mg_maybe_of(MG_SEEN_UNSENT, MG_KIND_DO), MG_CALL_VOID, reason, why, ret_verdict);
}

void mg_verdict_redelivered(struct mg_verdict_of_try *ret_verdict)
{
    mg_verdict_make(
        mg_maybe_of(MG_SEEN_REDELIVERED, MG_KIND_DO), MG_CALL_VOID, MG_ERROR_REASON_NONE,
        "the request came a second time and may be sent at most once: an earlier agent may have sent it",
        ret_verdict);
    mg_verdict_code_set(ret_verdict, "redelivered");
}

bool mg_outcome_has_result(enum mg_outcome outcome)
{
    return outcome == MG_OUTCOME_DONE || outcome == MG_OUTCOME_ACCEPTED;
}
