/*
 * Whether a remote service is down for most of its agents, as arithmetic: the agents' reports and the time
 * in, the service's health out. It reads no clock and stores only the health.
 *
 * A service is down when more than half of its ready agents report a breaker that is not closed. That is the
 * only one, both of two, or two of three. One of two is not enough: the fault may be in its own network. A
 * wrong "down" stops the agent that works for as long as the other cannot call. A missing "down" costs the
 * orders no more than the time that the agent's own breaker needs to open.
 *
 * Then one of the agents without a closed breaker is named, to probe for all. Its success ends the outage,
 * regardless of the other reports, which only repeat the leader's. Another is named when the first is gone or
 * no longer ready. Another is also named when its probes have failed for long: that may be its network, too.
 * Without a candidate the outage lasts for a while. Agents that have all just been restarted are closed, but
 * have proved nothing, and can be named once they follow the outage. After that the health is undecided, and
 * each agent's own breaker counts.
 *
 * The agent that ended the outage outvotes the others for as long as it is well: the fault is theirs, and its
 * work goes on. When the service goes down indeed, that agent detects it by itself.
 *
 * A takeover changes no health. A new leader adopts the current prober if that agent reports itself as
 * prober. Without a prober the health is undecided until most agents cannot call the service. Above all it is
 * not "up": agents without a report so far would then call a service that is down. The health that the
 * previous leader sent expires at the agents.
 */
#ifndef MG_SUPERVISOR_HEALTH_H
#define MG_SUPERVISOR_HEALTH_H

#include <stdbool.h>
#include <stdint.h>

#include "wire/reply.h"
#include "wire/service_control.h"

/* An outage lasts this long without a candidate: as long as agents follow a health that is not repeated. */
#define MG_SUPERVISOR_FORGET_MS MG_SERVICE_DOWN_VALID_MS
/* From the end of the outage on: reports that were under way are from before. */
#define MG_SUPERVISOR_SETTLE_MS 2000
/* A prober gives way to the next after this time of failed probes. A change costs an open time, so it is
 * rare. */
#define MG_SUPERVISOR_TURN_MS 15000
/* A prober gives way after this time even if it still calls, or if no look has seen its probes: they are
 * short. Longer than any open time (1 h), or none would ever get to its probe: a named agent waits for a
 * whole one. */
#define MG_SUPERVISOR_TURN_MAX_MS (65 * 60000)

/* An agent process of the service with a recent report. */
struct mg_supervisor_replica {
    char instance[MG_SHARE_INSTANCE_MAX + 1];
    enum mg_breaker_state breaker;
    bool is_ready;
    uint64_t process; /* another process of the same name has proved nothing; 0: not reported */
    bool is_prober;   /* by the last message that it received */
    bool is_calling;
};

/* All zero: undecided. */
struct mg_supervisor_health {
    bool is_down;
    char prober[MG_SHARE_INSTANCE_MAX + 1];
    bool has_probed;                        /* it wanted a probe since it was named */
    int64_t since_ms;                       /* when it was named, or the outage ended; 0: never */
    int64_t able_ms;                        /* when a possible prober was last there */
    char proven[MG_SHARE_INSTANCE_MAX + 1]; /* the agent whose success ended the last outage; "": none */
    uint64_t process;                       /* of the prober, or of the proven agent */
};

/* False: undecided. True: down, or up again. */
bool mg_supervisor_health_is_known(const struct mg_supervisor_health *health);

/* True if the health changed. `replicas` must keep their order between calls. */
bool mg_supervisor_health_judge(struct mg_supervisor_health *health,
                                const struct mg_supervisor_replica *replicas, int count, int64_t now_ms);

#endif
