/* See breaker.h. */
#include "breaker.h"

#include <assert.h>
#include <string.h>

void mg_breaker_init(struct mg_breaker *breaker, const struct mg_breaker_rules *rules)
{
    assert(rules->window_ms >= MG_BREAKER_BUCKETS && rules->probes > 0 && rules->unreachable_max > 0);
    memset(breaker, 0, sizeof(*breaker));
    breaker->rules = *rules;
    breaker->state = MG_BREAKER_CLOSED;
}

static void enter(struct mg_breaker *breaker, enum mg_breaker_state state, int64_t now_ms)
{
    breaker->state = state;
    breaker->epoch++;
    breaker->unreachable_count = 0;
    breaker->probes_out = 0;
    breaker->probes_good = 0;
    breaker->open_until_ms = state == MG_BREAKER_OPEN ? now_ms + breaker->rules.open_ms : 0;
    memset(breaker->buckets, 0, sizeof(breaker->buckets));
}

bool mg_breaker_tick(struct mg_breaker *breaker, int64_t now_ms)
{
    if (mg_breaker_rest_ms(breaker, now_ms) != 0) {
        return false;
    }
    enter(breaker, MG_BREAKER_HALF_OPEN, now_ms);
    return true;
}

int64_t mg_breaker_rest_ms(const struct mg_breaker *breaker, int64_t now_ms)
{
    if (breaker->state != MG_BREAKER_OPEN || breaker->service_health == MG_HEALTH_DOWN) {
        return -1;
    }
    return now_ms < breaker->open_until_ms ? breaker->open_until_ms - now_ms : 0;
}

bool mg_breaker_follow(struct mg_breaker *breaker, enum mg_service_health service_health, int64_t now_ms)
{
    enum mg_service_health before = breaker->service_health;
    if (service_health == before) {
        return false;
    }
    breaker->service_health = service_health;
    bool was_down = before == MG_HEALTH_DOWN || before == MG_HEALTH_PROBE;
    bool is_open = breaker->state == MG_BREAKER_OPEN, is_closed = breaker->state == MG_BREAKER_CLOSED;
    switch (service_health) {
    case MG_HEALTH_UNKNOWN:
        return was_down;
    case MG_HEALTH_UP:
        if (was_down && !is_closed) {
            enter(breaker, MG_BREAKER_CLOSED, now_ms);
        }
        return was_down;
    case MG_HEALTH_DOWN:
        if (!is_open) {
            enter(breaker, MG_BREAKER_OPEN, now_ms);
        }
        break;
    case MG_HEALTH_PROBE:
        if (is_closed || before == MG_HEALTH_DOWN) {
            enter(breaker, MG_BREAKER_OPEN, now_ms);
        }
        break;
    }
    return true;
}

enum mg_breaker_state mg_breaker_reported(const struct mg_breaker *breaker)
{
    bool is_busy = breaker->state == MG_BREAKER_HALF_OPEN && breaker->probes_out >= breaker->rules.probes;
    return is_busy ? MG_BREAKER_OPEN : breaker->state;
}

bool mg_breaker_fail(struct mg_breaker *breaker, int64_t now_ms)
{
    if (breaker->state == MG_BREAKER_OPEN) {
        return false;
    }
    enter(breaker, MG_BREAKER_OPEN, now_ms);
    return true;
}

bool mg_breaker_admit(struct mg_breaker *breaker, uint32_t *ret_ticket)
{
    if (breaker->state == MG_BREAKER_OPEN) {
        return false;
    }
    if (breaker->state == MG_BREAKER_HALF_OPEN) {
        if (breaker->probes_out >= breaker->rules.probes) {
            return false;
        }
        breaker->probes_out++;
    }
    *ret_ticket = breaker->epoch;
    return true;
}

/* Counts one call. True if the breaker must open. */
static bool window_count(struct mg_breaker *breaker, bool is_failure, int64_t now_ms)
{
    int64_t number = now_ms / (breaker->rules.window_ms / MG_BREAKER_BUCKETS);
    int slot = (int)(number % MG_BREAKER_BUCKETS);
    if (breaker->buckets[slot].number != number) {
        breaker->buckets[slot].number = number;
        breaker->buckets[slot].calls = 0;
        breaker->buckets[slot].failures = 0;
    }
    breaker->buckets[slot].calls++;
    breaker->buckets[slot].failures += is_failure ? 1 : 0;

    int calls = 0, failures = 0;
    for (int i = 0; i < MG_BREAKER_BUCKETS; i++) {
        if (breaker->buckets[i].number > number - MG_BREAKER_BUCKETS) {
            calls += breaker->buckets[i].calls;
            failures += breaker->buckets[i].failures;
        }
    }
    return is_failure && calls >= breaker->rules.min_calls &&
           failures >= breaker->rules.failure_ratio * calls;
}

static bool record_closed(struct mg_breaker *breaker, enum mg_call_health health, int64_t now_ms)
{
    breaker->unreachable_count = health == MG_CALL_UNREACHABLE ? breaker->unreachable_count + 1 : 0;
    bool is_window_bad = window_count(breaker, health != MG_CALL_HEALTHY, now_ms);
    if (!is_window_bad && breaker->unreachable_count < breaker->rules.unreachable_max) {
        return false;
    }
    enter(breaker, MG_BREAKER_OPEN, now_ms);
    return true;
}

static bool record_probe(struct mg_breaker *breaker, enum mg_call_health health, int64_t now_ms)
{
    breaker->probes_out--;
    if (health != MG_CALL_HEALTHY) {
        enter(breaker, MG_BREAKER_OPEN, now_ms);
        return true;
    }
    breaker->probes_good++;
    if (breaker->probes_good < breaker->rules.probes) {
        return false;
    }
    enter(breaker, MG_BREAKER_CLOSED, now_ms);
    return true;
}

bool mg_breaker_record(struct mg_breaker *breaker, uint32_t ticket, enum mg_call_health health,
                       int64_t now_ms)
{
    if (ticket != breaker->epoch) {
        return false; /* begun in an earlier state: it must neither close nor re-open this one */
    }
    if (health == MG_CALL_VOID) {
        breaker->probes_out -= breaker->state == MG_BREAKER_HALF_OPEN ? 1 : 0;
        return false;
    }
    return breaker->state == MG_BREAKER_HALF_OPEN ? record_probe(breaker, health, now_ms)
                                                  : record_closed(breaker, health, now_ms);
}
