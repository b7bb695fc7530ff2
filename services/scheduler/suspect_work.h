/* The scheduler's suspects (core/suspects.h). */
#ifndef MG_SCHEDULER_SUSPECT_WORK_H
#define MG_SCHEDULER_SUSPECT_WORK_H

#include "consumers.h"

/* Isolated suspects, which wait until they are alone; the least often delivered first. */
struct mg_isolated {
    struct mg_shared *shared;
    struct mg_consumed *consumed;
    struct mg_work *first;
    int count;
    struct mg_timer *timer;
};

/* Judges new work and adapts the consumers to it. True: the work is isolated, and kept here. */
bool mg_isolated_init(struct mg_isolated *isolated, struct mg_consumed *consumed); /* false: no memory */
bool mg_work_isolate(struct mg_isolated *isolated, struct mg_work *work);
struct mg_work *mg_isolated_take(struct mg_isolated *isolated); /* NULL: none waits, or it is not yet alone */
void mg_isolated_give_back(struct mg_isolated *isolated);
void mg_isolated_finish(struct mg_isolated *isolated); /* the works are freed elsewhere */

#endif
