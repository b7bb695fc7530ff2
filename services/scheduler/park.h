/*
 * The line of steps that are parked for a full queue of a served service. Orders that need the service join
 * its end, and all others go on (law 2, ack after effects). Once the most steps are parked, new orders of all
 * workflows wait where they are. They also do if each workflow needs the service: to park a step and to wake
 * it costs more than to leave its order in the queue, and no order would gain by it.
 */
#ifndef MG_SCHEDULER_PARK_H
#define MG_SCHEDULER_PARK_H

#include <stdbool.h>
#include <stdint.h>

struct mg_shared;

struct mg_park {
    struct mg_shared *shared;
    bool has_line;   /* steps that were not sent before are parked after those that are */
    bool is_avoided; /* a workflow does without the service */
    bool is_asking;
    int64_t asked_boot_ms, answered_boot_ms; /* 0: never */
    int64_t held_boot_ms;                    /* when new orders were last held back for it; 0: never */
    int64_t parked, since; /* at the last answer; parked by this process since that was asked for */
};

/* For each look at a queue that is full. True: new orders are held back. */
bool mg_park_holds(struct mg_park *park, const char *service, bool is_high);
/* True if new orders were held back because the most steps are parked. */
bool mg_park_is_at_most(const struct mg_park *park);

#endif
