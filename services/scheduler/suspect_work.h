/* The scheduler's suspects (core/suspects.h). */
#ifndef MG_SCHEDULER_SUSPECT_WORK_H
#define MG_SCHEDULER_SUSPECT_WORK_H

#include "work.h"

#include "base/loop.h"

struct mg_scheduler;

/* Isolated suspects, which wait until they are alone; the least often delivered first. */
struct mg_isolated {
    struct mg_work *first;
    int count;
    struct mg_timer *timer;
};

/* Judges new work and adapts the consumers to it. True: the work is isolated, and kept here. */
bool mg_work_isolate(struct mg_scheduler *scheduler, struct mg_work *work);
struct mg_work *
mg_isolated_take(struct mg_scheduler *scheduler); /* NULL: none waits, or it is not yet alone */
void mg_isolated_give_back(struct mg_scheduler *scheduler);

#endif
