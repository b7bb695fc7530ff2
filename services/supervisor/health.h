/*
 * Whether a remote service is down for most of its agents, as arithmetic: what they report and the time in,
 * the leader's word out. It reads no clock and keeps nothing but the word.
 *
 * Down is what more than half of the ready agents say that they cannot call: the only one, both of two, two
 * of three. One of two is not enough: it may be its own network, and a word that is wrong stops the agent
 * that works for as long as the other cannot, while none costs the orders no more than that agent's own
 * breaker needs to open.
 *
 * Then one of those that cannot is named, to probe for all; its success ends the word, whatever the others
 * say: they say only what they were told. Another is named when it is gone or no longer ready, and when its
 * probes have failed for long: that may be its network, too. With nobody to name the word stays for a while:
 * agents that have all just been restarted are closed, but have proved nothing, and those that hear it can be
 * named. Then it ends unproven, and each agent's own breaker counts.
 *
 * Whoever ended the word outvotes the others for as long as it is well: theirs is the fault, and its work
 * goes on. When the service goes down indeed, it finds that out by itself.
 *
 * A takeover changes no word. A new leader goes on with the one whose prober reports that it is; while it
 * knows of none it says nothing until most cannot call the service, least of all that the service is well:
 * with that, agents that it has not heard of yet would call one that is down. What the leader before it said
 * runs out at the agents.
 */
#ifndef MG_SUPERVISOR_HEALTH_H
#define MG_SUPERVISOR_HEALTH_H

#include <stdbool.h>
#include <stdint.h>

#include "wire/reply.h"
#include "wire/service_control.h"

/* So long the word stays with nobody to name: as long as agents believe one that nobody repeats. */
#define SUPERVISOR_FORGET_MS MG_SERVICE_DOWN_VALID_MS
/* From the end of the word on: reports that were under way speak of before. */
#define SUPERVISOR_SETTLE_MS 2000
/* A prober whose probes have failed for so long gives way to the next, which costs an open time: not often.
 */
#define SUPERVISOR_TURN_MS 15000
/* So long after it was named also one that still calls, or whose probes no look has seen: they are short.
 * Longer than any open time (1 h), or none would ever get to its probe: who is named waits for a whole one.
 */
#define SUPERVISOR_TURN_MAX_MS (65 * 60000)

/* An agent process of the service that has reported of late. */
struct supervisor_replica {
    char instance[MG_SHARE_INSTANCE_MAX + 1];
    enum mg_breaker_state breaker;
    bool is_ready;
    uint64_t process; /* another one of the same name has proved nothing; 0: it does not say */
    bool is_prober;   /* by what it heard last */
    bool is_calling;
};

/* All zero: nothing is known, and nothing to be said. */
struct supervisor_health {
    bool is_down;
    char prober[MG_SHARE_INSTANCE_MAX + 1];
    bool has_probed;                        /* it wanted a probe since it was named */
    int64_t since_ms;                       /* it was named, or the word ended; 0: never */
    int64_t able_ms;                        /* somebody was last there who could probe */
    char proven[MG_SHARE_INSTANCE_MAX + 1]; /* whose success ended the last word; "": nobody's */
    uint64_t process;                       /* of the one or the other */
};

/* Whether there is a word to say: down, or well again. */
bool supervisor_health_is_known(const struct supervisor_health *health);

/* True if the word changed. `replicas` in an order that stays. */
bool supervisor_health_judge(struct supervisor_health *health, const struct supervisor_replica *replicas,
                             int count, int64_t now_ms);

#endif
