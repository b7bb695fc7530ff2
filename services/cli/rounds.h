/*
 * Rounds of waiting in an order's story. In a round a step is sent and returns to wait for its service, after
 * a failed call or without one. One line stands for several rounds in sequence. Rounds of each form must be
 * equal, apart from moment and attempt, and all must wait for the same reason.
 */
#ifndef MG_CLI_ROUNDS_H
#define MG_CLI_ROUNDS_H

#include "operator/document.h"
#include "operator/table.h"

/* The checked lists of one event, as its row has them; absent: none, or unreadable. */
struct mg_event_lists {
    struct mg_slice transitions, statuses;
    bool is_unreadable; /* one of them; the event is part of no round */
};

struct mg_rounds {
    int count;  /* equal rounds in sequence from a row on; 0: no round begins there */
    int events; /* of all rounds */
    int last;   /* the row at which the last round begins */
    int calls;  /* rounds in which the service was called */
    int answer; /* the row of the service's answer in the first of them */
};

/* `lists` has the lists of each row. */
struct mg_rounds mg_rounds_find(const struct mg_table *events, const struct mg_event_lists *lists, int row);

#endif
