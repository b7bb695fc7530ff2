/* See maybe.h. */
#include "core/maybe.h"

/* A time-out may pass by itself. A broken answer to a do leaves its outcome unknown; the workflow's
 * definition names the way to settle it. A verify only asks, and an undo may be repeated by contract. */
static const struct {
    enum mg_outcome of_do, of_others;
    enum mg_executed executed;
    bool may_still_act;
} SEEN[MG_SEEN_COUNT] = {
    [MG_SEEN_UNSENT] = {MG_OUTCOME_TRANSIENT, MG_OUTCOME_TRANSIENT, MG_EXECUTED_NO, false},
    [MG_SEEN_TIMEOUT] = {MG_OUTCOME_TRANSIENT, MG_OUTCOME_TRANSIENT, MG_EXECUTED_MAYBE, true},
    [MG_SEEN_BROKEN] = {MG_OUTCOME_UNKNOWN, MG_OUTCOME_TRANSIENT, MG_EXECUTED_MAYBE, true},
    [MG_SEEN_REDELIVERED] = {MG_OUTCOME_UNKNOWN, MG_OUTCOME_UNKNOWN, MG_EXECUTED_MAYBE, true},
    [MG_SEEN_REFUSING_PAGE] = {MG_OUTCOME_PERMANENT, MG_OUTCOME_PERMANENT, MG_EXECUTED_MAYBE, true},
    [MG_SEEN_FOREIGN_ABSENT] = {MG_OUTCOME_TRANSIENT, MG_OUTCOME_TRANSIENT, MG_EXECUTED_MAYBE, false},
    [MG_SEEN_REDIRECT] = {MG_OUTCOME_PERMANENT, MG_OUTCOME_PERMANENT, MG_EXECUTED_MAYBE, false},
    [MG_SEEN_UNPOLLED] = {MG_OUTCOME_DONE, MG_OUTCOME_DONE, MG_EXECUTED_YES, false},
};

/* The word of the service itself. Only a refusal, or that there is nothing, proves that nothing happened. */
static const enum mg_executed ANSWERED[MG_OUTCOME_COUNT] = {
    [MG_OUTCOME_DONE] = MG_EXECUTED_YES,        [MG_OUTCOME_ACCEPTED] = MG_EXECUTED_MAYBE, /* begun */
    [MG_OUTCOME_TRANSIENT] = MG_EXECUTED_MAYBE, [MG_OUTCOME_PERMANENT] = MG_EXECUTED_NO,
    [MG_OUTCOME_ABSENT] = MG_EXECUTED_NO,       [MG_OUTCOME_UNKNOWN] = MG_EXECUTED_MAYBE,
};

struct mg_maybe mg_maybe_of(enum mg_seen seen, enum mg_kind kind)
{
    return (struct mg_maybe){kind == MG_KIND_DO ? SEEN[seen].of_do : SEEN[seen].of_others,
                             SEEN[seen].executed, SEEN[seen].may_still_act};
}

enum mg_executed mg_maybe_answered(enum mg_outcome outcome)
{
    return ANSWERED[outcome];
}

void mg_maybe_give_up(struct mg_maybe *maybe)
{
    maybe->may_still_act = maybe->may_still_act || maybe->executed == MG_EXECUTED_MAYBE;
}

enum mg_executed mg_maybe_fold(enum mg_kind kind, enum mg_executed executed, bool may_have_run_before)
{
    bool is_doubtful = kind != MG_KIND_VERIFY && may_have_run_before;
    return is_doubtful && executed == MG_EXECUTED_NO ? MG_EXECUTED_MAYBE : executed;
}

enum mg_executed mg_maybe_fold_judged(enum mg_executed executed, bool may_have_run_before)
{
    return may_have_run_before && executed == MG_EXECUTED_YES ? MG_EXECUTED_MAYBE : executed;
}

enum mg_executed mg_maybe_refused(enum mg_kind kind, enum mg_outcome outcome, enum mg_executed executed)
{
    bool is_sure = outcome == MG_OUTCOME_DONE && executed == MG_EXECUTED_YES;
    return kind == MG_KIND_VERIFY || is_sure ? MG_EXECUTED_NO : MG_EXECUTED_MAYBE;
}

enum mg_executed mg_maybe_learned(enum mg_outcome outcome, enum mg_executed executed,
                                  bool is_refusal_of_service)
{
    bool is_refusal = outcome == MG_OUTCOME_PERMANENT || outcome == MG_OUTCOME_ABSENT;
    return is_refusal && !is_refusal_of_service ? MG_EXECUTED_MAYBE : executed;
}

bool mg_maybe_acts_by_default(enum mg_outcome outcome, enum mg_executed executed)
{
    return executed == MG_EXECUTED_MAYBE && outcome != MG_OUTCOME_ACCEPTED;
}
