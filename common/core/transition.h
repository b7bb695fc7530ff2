/*
 * The two dense tables: the result of each event in each state. Every cell is filled; only these tables set a
 * state.
 */
#ifndef MG_CORE_TRANSITION_H
#define MG_CORE_TRANSITION_H

#include "core/model.h"

/* The effects of a transition; decider.c makes them in this order. */
enum mg_cell_effect {
    MG_CELL_CLOSE_ALERT = 1, /* of the state that is left, where one is open */
    MG_CELL_STATUS = 2, /* a step's: step_completed, where the client wants it; an order's: its new state */
    MG_CELL_ALERT = 4,  /* of the new state; of a step in doubt only where no verify will ask */
    MG_CELL_REQUEST = 8 /* of the step's next attempt */
};

struct mg_cell {
    enum mg_verdict verdict;
    int next;         /* state after; the same for any verdict but MG_GO */
    unsigned effects; /* bits of mg_cell_effect; 0 for any verdict but MG_GO */
    const char *why;  /* printed by logs and `explain` */
};

const struct mg_cell *mg_step_cell(enum mg_step_state state, enum mg_step_event event);
const struct mg_cell *mg_order_cell(enum mg_order_state state, enum mg_order_event event);

#endif
