/*
 * The meaning of a cause for its step: a reply, a deadline that passed, a request that could not be sent.
 */
#ifndef MG_CORE_JUDGE_H
#define MG_CORE_JUDGE_H

#include "core/decider.h"

enum mg_verdict mg_judge_reply(struct mg_decider *decider);
enum mg_verdict mg_judge_overdue(struct mg_decider *decider);
enum mg_verdict mg_judge_unpublishable(struct mg_decider *decider);
enum mg_verdict mg_judge_republished(struct mg_decider *decider);
enum mg_verdict mg_judge_unsendable(struct mg_decider *decider, enum mg_reason reason);
/* The cause SIGNAL for a step that calls: its service calls back about work under its key. A report of done
 * work that comes too late is given once more, as KEPT: it opens an alert if the work counts as not done.
 * MG_STALE_CAUSE: the step has not been called yet. */
enum mg_verdict mg_judge_callback(struct mg_decider *decider);
/* True if the step's wait is longer than its policies allow, because a database clock that was ahead has set
 * it. `*ret_due_at_ms`: the earliest allowed end. */
bool mg_judge_wait_is_too_long(struct mg_decider *decider, int step, int64_t *ret_due_at_ms);

#endif
