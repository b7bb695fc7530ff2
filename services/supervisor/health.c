/* See health.h. */
#include "health.h"

#include <stdio.h>
#include <string.h>

static bool is_down_for_most(const struct supervisor_replica *replicas, int count)
{
    int ready = 0, down = 0;
    for (int i = 0; i < count; i++) {
        ready += replicas[i].is_ready;
        down += replicas[i].is_ready && replicas[i].breaker != MG_BREAKER_CLOSED;
    }
    return 2 * down > ready;
}

/* NULL: it is gone, or not ready. */
static const struct supervisor_replica *ready_find(const char *instance,
                                                   const struct supervisor_replica *replicas, int count)
{
    for (int i = 0; i < count; i++) {
        if (replicas[i].is_ready && strcmp(replicas[i].instance, instance) == 0) {
            return &replicas[i];
        }
    }
    return NULL;
}

static bool is_closed(const struct supervisor_replica *replica)
{
    return replica != NULL && replica->breaker == MG_BREAKER_CLOSED;
}

static bool is_anybody_ready(const struct supervisor_replica *replicas, int count)
{
    for (int i = 0; i < count; i++) {
        if (replicas[i].is_ready) {
            return true;
        }
    }
    return false;
}

/* Who wants to probe already, as under the leader before this one; else the next behind the last prober. Only
 * of those that report it down: what another says next might be older than its being named. */
static const struct supervisor_replica *prober_choose(const struct supervisor_health *health,
                                                      const struct supervisor_replica *replicas, int count)
{
    const struct supervisor_replica *first = NULL, *next = NULL;
    for (int i = 0; i < count; i++) {
        const struct supervisor_replica *replica = &replicas[i];
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

/* `proven`: whose success ends it; "": nobody's. */
static bool word_end(struct supervisor_health *health, const char *proven, int64_t now_ms)
{
    struct supervisor_health ended = {.since_ms = now_ms};
    (void)snprintf(ended.proven, sizeof(ended.proven), "%s", proven);
    *health = ended;
    return true;
}

static bool word_begin(struct supervisor_health *health, const struct supervisor_replica *prober,
                       int64_t now_ms)
{
    bool is_same = health->is_down && strcmp(health->prober, prober->instance) == 0;
    *health = (struct supervisor_health){.is_down = true, .since_ms = now_ms};
    (void)snprintf(health->prober, sizeof(health->prober), "%s", prober->instance);
    return !is_same;
}

static bool is_turn_over(const struct supervisor_health *health, const struct supervisor_replica *prober,
                         int64_t now_ms)
{
    int64_t age_ms = now_ms - health->since_ms;
    return prober->breaker == MG_BREAKER_OPEN &&
           age_ms >= (health->has_probed ? SUPERVISOR_TURN_MS : SUPERVISOR_TURN_MAX_MS);
}

bool supervisor_health_judge(struct supervisor_health *health, const struct supervisor_replica *replicas,
                             int count, int64_t now_ms)
{
    if (!health->is_down) {
        bool is_settling = health->since_ms != 0 && now_ms - health->since_ms < SUPERVISOR_SETTLE_MS;
        return !is_settling && !is_closed(ready_find(health->proven, replicas, count)) &&
               is_down_for_most(replicas, count) &&
               word_begin(health, prober_choose(health, replicas, count), now_ms);
    }
    const struct supervisor_replica *prober = ready_find(health->prober, replicas, count);
    if (is_closed(prober)) {
        return word_end(health, prober->instance, now_ms);
    }
    if (prober != NULL) {
        health->has_probed = health->has_probed || prober->breaker == MG_BREAKER_HALF_OPEN;
        if (!is_turn_over(health, prober, now_ms)) {
            return false;
        }
    }
    const struct supervisor_replica *next = prober_choose(health, replicas, count);
    if (next != NULL) {
        return word_begin(health, next, now_ms);
    }
    return is_anybody_ready(replicas, count) && word_end(health, "", now_ms);
}
