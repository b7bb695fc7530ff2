/*
 * The one place for "maybe": whether a call may have acted, and whether it may still act, by all that its
 * agent saw of it. Law 10, sticky maybe: only a proof makes it no. Pure.
 */
#ifndef MG_CORE_MAYBE_H
#define MG_CORE_MAYBE_H

#include "core/model.h"

/* Calls with another meaning than the word of the service itself. */
enum mg_seen {
    MG_SEEN_UNSENT,         /* nothing of it left the agent */
    MG_SEEN_TIMEOUT,        /* it went out, and no full answer came in time */
    MG_SEEN_BROKEN,         /* it went out, and its answer is cut off, or is a page */
    MG_SEEN_REDELIVERED,    /* it may be sent at most once, and an earlier agent may have sent it */
    MG_SEEN_REFUSING_PAGE,  /* refused with a page: some proxies do so after the service has acted */
    MG_SEEN_FOREIGN_ABSENT, /* 404 or 410, perhaps of a proxy that knows no such route */
    MG_SEEN_REDIRECT,       /* it may stand for completed work: its server has received the request */
    MG_SEEN_UNPOLLED,       /* accepted, and there is no poll: the 202 is the final answer */
    MG_SEEN_COUNT
};

struct mg_maybe {
    enum mg_outcome outcome;
    enum mg_executed executed;
    bool may_still_act;
};

struct mg_maybe mg_maybe_of(enum mg_seen seen, enum mg_kind kind);
/* `executed` next to an outcome that the service itself gives. */
enum mg_executed mg_maybe_answered(enum mg_outcome outcome);
/* A proxy may have given this answer, while the service is at work on the call. */
void mg_maybe_give_up(struct mg_maybe *maybe);

/* A refusal, or silence before the first byte, proves nothing about an earlier try of the same request. */
enum mg_executed mg_maybe_fold(enum mg_kind kind, enum mg_executed executed, bool may_have_run_before);
/* The same for a good answer that the workflow's conditions may make a refusal. */
enum mg_executed mg_maybe_fold_judged(enum mg_executed executed, bool may_have_run_before);
/* A good answer that its body makes a refusal. */
enum mg_executed mg_maybe_refused(enum mg_kind kind, enum mg_outcome outcome, enum mg_executed executed);
/* A do that is repeated to learn its result proves that nothing stands only by a refusal of the service,
 * which replays the first one. */
enum mg_executed mg_maybe_learned(enum mg_outcome outcome, enum mg_executed executed,
                                  bool is_refusal_of_service);
/* `may_still_act` of a reply that does not give it, as from agents that do not implement it. For accepted
 * work the verify gives the answer. */
bool mg_maybe_acts_by_default(enum mg_outcome outcome, enum mg_executed executed);

#endif
