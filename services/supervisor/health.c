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

static const struct supervisor_replica *prober_find(const struct supervisor_health *health,
                                                    const struct supervisor_replica *replicas, int count)
{
    for (int i = 0; i < count; i++) {
        if (replicas[i].is_ready && strcmp(replicas[i].instance, health->prober) == 0) {
            return &replicas[i];
        }
    }
    return NULL;
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

static bool word_end(struct supervisor_health *health, int64_t now_ms)
{
    *health = (struct supervisor_health){.since_ms = now_ms};
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

bool supervisor_health_judge(struct supervisor_health *health, const struct supervisor_replica *replicas,
                             int count, int64_t now_ms)
{
    const struct supervisor_replica *prober = prober_find(health, replicas, count);
    if (!health->is_down) {
        bool is_settling = health->since_ms != 0 && now_ms - health->since_ms < SUPERVISOR_SETTLE_MS;
        return !is_settling && is_down_for_most(replicas, count) &&
               word_begin(health, prober_choose(health, replicas, count), now_ms);
    }
    if (prober != NULL && prober->breaker == MG_BREAKER_CLOSED) {
        return word_end(health, now_ms);
    }
    if (prober != NULL) {
        health->has_probed = health->has_probed || prober->breaker == MG_BREAKER_HALF_OPEN;
        bool is_turn_over = health->has_probed && prober->breaker == MG_BREAKER_OPEN &&
                            now_ms - health->since_ms >= SUPERVISOR_TURN_MS;
        if (!is_turn_over) {
            return false;
        }
    }
    const struct supervisor_replica *next = prober_choose(health, replicas, count);
    return next != NULL ? word_begin(health, next, now_ms) : word_end(health, now_ms);
}
