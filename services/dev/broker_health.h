/* The judgement on a server that is tried again and again. */
#ifndef MG_DEV_BROKER_HEALTH_H
#define MG_DEV_BROKER_HEALTH_H

#include <stdbool.h>
#include <stdint.h>

/* Of one server; {0} at first. */
struct mg_health {
    int64_t failing_since_ms; /* 0: the last try went well */
    int64_t good_at_ms;       /* the last try that did; 0: none */
};

/* Takes the outcome of a try at `now_ms`, of a process that was started at `started_at_ms`. True: it has not
 * worked for a minute, or, if it never has, for the time of a slow start. All times are of the boot clock. */
bool mg_health_take(struct mg_health *health, bool is_good, int64_t started_at_ms, int64_t now_ms);

#endif
