/* From findings to the settings of a step (proto/workflow.schema.json: on_unknown, at_most_once). */
#include <stdio.h>

#include "audit.h"

static bool is_kept(const struct mg_audit *audit, enum mg_promise promise)
{
    return audit->findings[promise].keeping == MG_KEEPING_KEPT;
}

static bool is_broken(const struct mg_audit *audit, enum mg_promise promise)
{
    return audit->findings[promise].keeping == MG_KEEPING_BROKEN;
}

static void note(struct mg_advice *advice, const char *text)
{
    snprintf(advice->notes[advice->note_count++], MG_AUDIT_WHY_SIZE, "%s", text);
}

static void on_unknown_advise(const struct mg_audit *audit, struct mg_advice *advice)
{
    bool is_findable = is_kept(audit, MG_PROMISE_VERIFY) && is_kept(audit, MG_PROMISE_ABSENT);
    bool is_replayed = is_kept(audit, MG_PROMISE_REPLAY);
    const char *why;
    if (is_findable) {
        advice->on_unknown = MG_ON_UNKNOWN_VERIFY;
        why = is_replayed
                  ? "verify tells a done key from one that never came; retry would do as well, since a "
                    "repeated key acts once"
                  : "verify tells a done key from one that never came";
    } else if (is_replayed) {
        advice->on_unknown = MG_ON_UNKNOWN_RETRY;
        why = "a repeated key acts once, and verify does not tell a done key from one that never came";
    } else {
        advice->on_unknown = MG_ON_UNKNOWN_OPERATOR;
        why = "neither replay nor verify and absent are shown, so only a person can find the outcome";
    }
    snprintf(advice->on_unknown_why, sizeof(advice->on_unknown_why), "%s", why);
}

static void at_most_once_advise(const struct mg_audit *audit, struct mg_advice *advice)
{
    const char *why = "a repeated key acts once, so agents may repeat a call";
    advice->is_at_most_once = !is_kept(audit, MG_PROMISE_REPLAY);
    if (is_broken(audit, MG_PROMISE_REPLAY)) {
        why = "a repeated key may act twice, and agents repeat calls that fail";
    } else if (advice->is_at_most_once) {
        why = "it is not shown that a repeated key acts once; false is right if the service promises it";
    }
    snprintf(advice->at_most_once_why, sizeof(advice->at_most_once_why), "%s", why);
}

static void notes_advise(const struct mg_audit *audit, struct mg_advice *advice)
{
    if (audit->seen[MG_AUDIT_DO].is_accepted) {
        note(advice,
             "the service accepts work with 202: the step needs finish_within, or a 202 counts as done");
    }
    if (is_broken(audit, MG_PROMISE_UNDO) || is_broken(audit, MG_PROMISE_UNDO_AGAIN)) {
        note(advice,
             "an undo that fails leaves the order in error for an operator; without a working undo the "
             "step is a pivot, or has \"undo\": \"none\"");
    }
    if (is_broken(audit, MG_PROMISE_UNDO_FIRST)) {
        note(advice, "a step whose do never arrived is undone, too, and its undo would fail");
    }
    if (is_broken(audit, MG_PROMISE_TOMBSTONE) || is_broken(audit, MG_PROMISE_STAYS_UNDONE)) {
        note(advice,
             "a do must act within complete_within and 3 s, or not at all: only that keeps an undo behind "
             "it");
    }
    if (is_broken(audit, MG_PROMISE_TIME)) {
        note(advice,
             "a call that is given up may still act: give the step more complete_within, or the service "
             "file more try_timeout");
    }
}

void mg_audit_advise(struct mg_audit *audit)
{
    struct mg_advice *advice = &audit->advice;
    *advice = (struct mg_advice){.note_count = 0};
    on_unknown_advise(audit, advice);
    at_most_once_advise(audit, advice);
    notes_advise(audit, advice);
}
