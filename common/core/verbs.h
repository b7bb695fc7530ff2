/*
 * The operator's verbs that the core would take now, for whoever proposes them: each is tried on a copy.
 */
#ifndef MG_CORE_VERBS_H
#define MG_CORE_VERBS_H

#include "core/model.h"

struct mg_verbs {
    /* Of the order. In `error`: only if the order would leave it. */
    bool can_resume, can_restart, can_compensate, can_cancel;
    bool can_finish;                           /* resume without its output */
    uint64_t can_settle, can_skip, can_repeat; /* bit i: of step i */
    uint64_t can_absent;                       /* settle it as absent; one of can_settle */
    enum mg_step_state absent[MG_STEPS_MAX];   /* the state of such a step after it */
};

/* `context`: as at the moment of the command; a result that a settle would bring counts as known. */
void mg_verbs_find(const struct mg_plan *plan, const struct mg_context *context, const struct mg_order *order,
                   struct mg_verbs *ret_verbs);

#endif
