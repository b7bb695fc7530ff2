/* The table of verbs of `order`; the other order_*.c run them. */
#include "verb_table.h"

#define CHANGES_ORDER (MG_EXTRA_REASON | MG_EXTRA_VERSION)

const struct mg_verb MG_ORDER_VERBS[] = {
    {"order", "submit", "FILE", 1, 1, MG_EXTRA_WAIT, MG_PRINTS_LIST, mg_verb_order_submit,
     "posts orders from a file: one JSON, or one per line (- is stdin)", 0},
    {"order", "list", "", 0, 0,
     MG_EXTRA_FILTER | MG_EXTRA_STEP | MG_EXTRA_FAILURE | MG_EXTRA_TIME | MG_EXTRA_AFTER | MG_EXTRA_LIMIT,
     MG_PRINTS_LIST, mg_verb_order_list, "lists the newest orders by state, workflow, time or failure", 0},
    {"order", "find", "TEXT", 1, 1, MG_EXTRA_LIMIT, MG_PRINTS_LIST, mg_verb_order_find,
     "finds orders by the beginning of an id or by a label's value, and rejected submissions", 0},
    {"order", "show", "ORDER", 1, 1, 0, MG_PRINTS_ONE, mg_verb_order_show,
     "shows an order's history: attempts, waits and reasons", 0},
    {"order", "watch", "ORDER", 1, 1, 0, MG_PRINTS_LIST, mg_verb_order_watch,
     "follows an order until it ends", 0},
    {"order", "explain", "ORDER", 1, 1, 0, MG_PRINTS_ONE, mg_verb_order_explain,
     "prints in one line why the order waits or stopped", 0},
    {"order", "export", "ORDER", 1, 1, 0, MG_PRINTS_JSON, mg_verb_order_export,
     "prints all stored data of an order as one JSON, with payload, for support and audit", 0},
    {"order", "resume", "ORDER", 1, 1, CHANGES_ORDER | MG_EXTRA_SET | MG_EXTRA_STEP, MG_PRINTS_ONE,
     mg_verb_order_command, "continues an order from its failed step; --set repairs the payload",
     MG_CAUSE_RESUME},
    {"order", "restart", "ORDER", 1, 1, CHANGES_ORDER, MG_PRINTS_ONE, mg_verb_order_command,
     "starts an order again, in a new generation", MG_CAUSE_RESTART},
    {"order", "settle", "ORDER", 1, 1, CHANGES_ORDER | MG_EXTRA_STEP | MG_EXTRA_OUTCOME, MG_PRINTS_ONE,
     mg_verb_order_command, "records the outcome of a step by hand", MG_CAUSE_SETTLE},
    {"order", "skip", "ORDER", 1, 1, CHANGES_ORDER | MG_EXTRA_STEP, MG_PRINTS_ONE, mg_verb_order_command,
     "continues an order without a step and the steps that need it", MG_CAUSE_SKIP},
    {"order", "compensate", "ORDER", 1, 1, CHANGES_ORDER, MG_PRINTS_ONE, mg_verb_order_command,
     "compensates all steps of an order", MG_CAUSE_COMPENSATE},
    {"order", "cancel", "ORDER", 1, 1, CHANGES_ORDER, MG_PRINTS_ONE, mg_verb_order_command,
     "cancels an order and compensates its steps", MG_CAUSE_CANCEL},
    {"order", "set-aside", "ORDER", 1, 1, MG_EXTRA_REASON, MG_PRINTS_ONE, mg_verb_order_aside,
     "takes an order out of the way: its messages go to dead.letters", 1},
    {"order", "readmit", "ORDER", 1, 1, MG_EXTRA_REASON, MG_PRINTS_ONE, mg_verb_order_aside,
     "ends `order set-aside`, also of an order that a scheduler set aside", 0},
    {0}};
