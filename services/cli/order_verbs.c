/* The table of verbs of `order`; the other order_*.c run them. */
#include "verbs.h"

#define CHANGES_ORDER (EXTRA_REASON | EXTRA_VERSION)

const struct verb ORDER_VERBS[] = {
    {"order", "submit", "FILE", 1, 1, EXTRA_WAIT, verb_order_submit,
     "posts orders, one or a line each (- is stdin); with --wait shows how each ends"},
    {"order", "list", "", 0, 0,
     EXTRA_FILTER | EXTRA_STEP | EXTRA_FAILURE | EXTRA_TIME | EXTRA_AFTER | EXTRA_LIMIT, verb_order_list,
     "the newest orders, by state, workflow, time; by what failed; --group-by error counts causes"},
    {"order", "show", "ORDER", 1, 1, 0, verb_order_show, "an order's story: attempts, waits and reasons"},
    {"order", "watch", "ORDER", 1, 1, 0, verb_order_watch, "follows an order until it ends"},
    {"order", "explain", "ORDER", 1, 1, 0, verb_order_explain, "why the order is not moving, in one line"},
    {"order", "export", "ORDER", 1, 1, 0, verb_order_export,
     "everything that is kept of an order as one JSON, payload and all, for support and audit"},
    {"order", "resume", "ORDER", 1, 1, CHANGES_ORDER | EXTRA_SET, verb_order_resume,
     "goes on from the failed step; --set repairs the payload"},
    {"order", "restart", "ORDER", 1, 1, CHANGES_ORDER, verb_order_restart,
     "starts again in a new generation"},
    {"order", "settle", "ORDER", 1, 1, CHANGES_ORDER | EXTRA_STEP | EXTRA_OUTCOME, verb_order_settle,
     "records by hand what became of a step"},
    {"order", "skip", "ORDER", 1, 1, CHANGES_ORDER | EXTRA_STEP, verb_order_skip, "goes on without a step"},
    {"order", "compensate", "ORDER", 1, 1, CHANGES_ORDER, verb_order_compensate, "has everything undone"},
    {"order", "cancel", "ORDER", 1, 1, CHANGES_ORDER, verb_order_cancel,
     "calls it off and has everything undone"},
    {0}};
