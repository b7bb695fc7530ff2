/*
 * The retry policy of a step's direction, forward or back: its attempts, its waits, and the causes that count
 * against neither. Inside of the core, for judge.c (forward) and undo.c (back).
 */
#ifndef MG_CORE_POLICY_H
#define MG_CORE_POLICY_H

#include "core/decider.h"

/* Of the undo, for every attempt of a step that is being undone, whatever its kind. */
const struct mg_retry_plan *mg_policy_retry(const struct mg_decider *decider, int index);
/* The service's Retry-After, within the time of accepted work or of the order; where the step has none, as on
 * the way back, at most MG_RETRY_AFTER_UNBOUNDED_MS. -1: none. */
int64_t mg_policy_retry_after_ms(const struct mg_decider *decider, int index);
/* A wait, and its reason. Until `due_at_ms`, or for as long as the service has asked for in its reply. */
struct mg_wait {
    int64_t due_at_ms;
    enum mg_reason reason;
};
struct mg_wait mg_policy_wait(const struct mg_decider *decider, int index, enum mg_reason reason,
                              int64_t due_at_ms);
int64_t mg_policy_backoff_at_ms(const struct mg_decider *decider, int index);
int64_t mg_policy_park_until_ms(const struct mg_decider *decider);

enum mg_budget { MG_BUDGET_ATTEMPT, MG_BUDGET_COOL_DOWN, MG_BUDGET_SPENT };
/* Counts one failure against the attempts and cool-downs of the step's direction. */
enum mg_budget mg_policy_count_failure(struct mg_decider *decider, int index);

/* True for an unreachable service: waiting for it is no failure (law 7, waiting is not failing). A full
 * window concerns only requests that have not been sent. */
bool mg_policy_is_service_away(const struct mg_decider *decider, int index);
/* The reason why an agent made no call. */
enum mg_reason mg_policy_down_reason(const struct mg_decider *decider);

/* Law 11, quiesce: the running attempt is over for its step, but may still act at the service. A request that
 * could overtake it waits until the attempt's time is over. */
void mg_policy_attempt_stays_open(struct mg_decider *decider, int index);
/* The undo fails: no further attempt goes out by itself. An operator may repeat it under another key. An
 * agent that loses its ack gets even an answered request once more, as long as it may begin. */
void mg_policy_undo_given_up(struct mg_decider *decider, int step);

/* The reply proves that its do did nothing and will do nothing. It is silent about earlier attempts. */
static inline bool mg_policy_is_refusal_certain(const struct mg_cause_reply *reply)
{
    return reply->executed == MG_EXECUTED_NO && !reply->may_still_act;
}

#endif
