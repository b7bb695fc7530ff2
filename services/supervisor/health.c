/* See health.h. */
#include "health.h"

#include <stdio.h>
#include <string.h>

static bool is_down_for_most(const struct mg_supervisor_replica *replicas, int count)
{
    int ready = 0, down = 0;
    for (int i = 0; i < count; i++) {
        ready += replicas[i].is_ready;
        down += replicas[i].is_ready && replicas[i].breaker != MG_BREAKER_CLOSED;
    }
    return 2 * down > ready;
}

/* NULL: it is gone, or not ready, or another process has its name. */
static const struct mg_supervisor_replica *ready_find(const char *instance, uint64_t process,
                                                      const struct mg_supervisor_replica *replicas, int count)
{
    for (int i = 0; i < count; i++) {
        if (replicas[i].is_ready && replicas[i].process == process &&
            strcmp(replicas[i].instance, instance) == 0) {
            return &replicas[i];
        }
    }
    return NULL;
}

static bool is_closed(const struct mg_supervisor_replica *replica)
{
    return replica != NULL && replica->breaker == MG_BREAKER_CLOSED;
}

/* An agent that is ready to probe, as under the leader before this one; else the next after the last prober.
 * Only agents that report the service down are candidates: the next report of another might be older than its
 * being named. */
static const struct mg_supervisor_replica *prober_choose(const struct mg_supervisor_health *health,
                                                         const struct mg_supervisor_replica *replicas,
                                                         int count)
{
    const struct mg_supervisor_replica *first = NULL, *next = NULL;
    for (int i = 0; i < count; i++) {
        const struct mg_supervisor_replica *replica = &replicas[i];
        if (!replica->is_ready || replica->breaker == MG_BREAKER_CLOSED) {
            continue;
        }
        if (replica->breaker == MG_BREAKER_HALF_OPEN) {
            return replica;
        }
        bool is_behind = strcmp(replica->instance, health->prober) > 0;
        first = first == NULL ? replica : first;
        next = next == NULL && is_behind ? replica : next;
    }
    return next != NULL ? next : first;
}

static bool outage_end(struct mg_supervisor_health *health, const struct mg_supervisor_replica *proven,
                       int64_t now_ms)
{
    struct mg_supervisor_health ended = {.since_ms = now_ms, .process = proven->process};
    (void)snprintf(ended.proven, sizeof(ended.proven), "%s", proven->instance);
    *health = ended;
    return true;
}

/* No agent has found the service well, so it is not reported as up. */
static bool outage_forget(struct mg_supervisor_health *health)
{
    *health = (struct mg_supervisor_health){0};
    return true;
}

static bool outage_begin(struct mg_supervisor_health *health, const struct mg_supervisor_replica *prober,
                         int64_t now_ms)
{
    bool is_same = health->is_down && strcmp(health->prober, prober->instance) == 0;
    *health = (struct mg_supervisor_health){
        .is_down = true, .since_ms = now_ms, .able_ms = now_ms, .process = prober->process};
    (void)snprintf(health->prober, sizeof(health->prober), "%s", prober->instance);
    return !is_same;
}

/* Adopts the outage of the previous leader, which its prober still follows. */
static bool outage_adopt(struct mg_supervisor_health *health, const struct mg_supervisor_replica *replicas,
                         int count, int64_t now_ms)
{
    for (int i = 0; i < count; i++) {
        if (replicas[i].is_ready && replicas[i].is_prober) {
            return outage_begin(health, &replicas[i], now_ms);
        }
    }
    return false;
}

/* A probe under way reports an open breaker, like one that has failed. */
static bool is_turn_over(const struct mg_supervisor_health *health,
                         const struct mg_supervisor_replica *prober, int64_t now_ms)
{
    int64_t age_ms = now_ms - health->since_ms;
    bool has_failed = health->has_probed && !prober->is_calling;
    return prober->breaker == MG_BREAKER_OPEN &&
           age_ms >= (has_failed ? MG_SUPERVISOR_TURN_MS : MG_SUPERVISOR_TURN_MAX_MS);
}

static bool outage_judge(struct mg_supervisor_health *health, const struct mg_supervisor_replica *replicas,
                         int count, int64_t now_ms)
{
    const struct mg_supervisor_replica *prober = ready_find(health->prober, health->process, replicas, count);
    if (is_closed(prober)) {
        return outage_end(health, prober, now_ms);
    }
    if (prober != NULL) {
        health->able_ms = now_ms;
        health->has_probed = health->has_probed || prober->breaker == MG_BREAKER_HALF_OPEN;
        if (!is_turn_over(health, prober, now_ms)) {
            return false;
        }
    }
    const struct mg_supervisor_replica *next = prober_choose(health, replicas, count);
    if (next != NULL) {
        return outage_begin(health, next, now_ms);
    }
    return now_ms - health->able_ms >= MG_SUPERVISOR_FORGET_MS && outage_forget(health);
}

bool mg_supervisor_health_is_known(const struct mg_supervisor_health *health)
{
    return health->is_down || health->since_ms != 0;
}

bool mg_supervisor_health_judge(struct mg_supervisor_health *health,
                                const struct mg_supervisor_replica *replicas, int count, int64_t now_ms)
{
    bool is_adopted = !mg_supervisor_health_is_known(health) && outage_adopt(health, replicas, count, now_ms);
    if (health->is_down) {
        return outage_judge(health, replicas, count, now_ms) || is_adopted;
    }
    bool is_settling = health->since_ms != 0 && now_ms - health->since_ms < MG_SUPERVISOR_SETTLE_MS;
    return !is_settling && !is_closed(ready_find(health->proven, health->process, replicas, count)) &&
           is_down_for_most(replicas, count) &&
           outage_begin(health, prober_choose(health, replicas, count), now_ms);
}
