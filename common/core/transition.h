/*
 * The two dense tables: what each event means in each state. Every cell is filled; nothing else sets a state.
 */
#ifndef MG_CORE_TRANSITION_H
#define MG_CORE_TRANSITION_H

#include "core/model.h"

struct mg_cell {
    enum mg_verdict verdict;
    int next;            /* state after; the same for any verdict but MG_GO */
    const char *effects; /* what the transition brings with it, in words, for the printed table */
    const char *why;     /* printed by logs and `explain` */
};

const struct mg_cell *mg_step_cell(enum mg_step_state state, enum mg_step_event event);
const struct mg_cell *mg_order_cell(enum mg_order_state state, enum mg_order_event event);

#endif
