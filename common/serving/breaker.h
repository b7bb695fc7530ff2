/*
 * The circuit breaker of one remote service, as arithmetic: results and the time in, a state out. It calls
 * nothing, reads no clock and allocates nothing.
 *
 * Closed: calls go out and are counted over a sliding window. The breaker opens when the share of failures
 * reaches the ratio, with at least min_calls in the window. It also opens after unreachable_max calls in a
 * row that never reached the service: those cost the remote nothing and prove enough. Open: no call for
 * open_ms. Half-open: at most `probes` calls under way; as many successes close it, one failure opens it
 * again.
 *
 * All agents of a service follow the state that most of them report (mg_breaker_follow). While it is down,
 * one agent probes for all. The others stay open for as long as that state holds, regardless of their own
 * calls. The prober's own service file sets the time of its probes: no agent's clock is compared with
 * another's.
 */
#ifndef MG_SERVING_BREAKER_H
#define MG_SERVING_BREAKER_H

#include <stdbool.h>
#include <stdint.h>

#include "wire/reply.h"

enum mg_call_health {
    MG_CALL_HEALTHY,     /* an answer of a service that works, a refusal included: 4xx is about the request */
    MG_CALL_FAILING,     /* 408, 429, 5xx, a time-out, a broken answer */
    MG_CALL_UNREACHABLE, /* nothing was sent: name, connection or TLS */
    MG_CALL_VOID,        /* proves nothing about the service: cancelled, or this process lacked the means */
};

/* The service's health, as the leading supervisor sends it. */
enum mg_service_health {
    MG_HEALTH_UNKNOWN, /* undecided, or not received: its own calls count */
    MG_HEALTH_UP,      /* not down for most agents: its own calls count, too */
    MG_HEALTH_DOWN,    /* down for most agents; another one probes */
    MG_HEALTH_PROBE,   /* down for most agents; this one probes for all */
};

struct mg_breaker_rules {
    double failure_ratio;
    int min_calls;
    int64_t window_ms, open_ms;
    int probes;
    int unreachable_max; /* this many unreachable calls in a row open it */
};

/* The window moves in tenths: old calls leave it in steps small enough not to matter. */
#define MG_BREAKER_BUCKETS 10

struct mg_breaker {
    struct mg_breaker_rules rules;
    enum mg_breaker_state state;
    enum mg_service_health service_health;
    uint32_t epoch; /* rises with every change of state: results of calls from before it do not count */
    int64_t open_until_ms;
    int unreachable_count;
    int probes_out, probes_good;
    struct {
        int64_t number; /* time / bucket length */
        int calls, failures;
    } buckets[MG_BREAKER_BUCKETS];
};

void mg_breaker_init(struct mg_breaker *breaker, const struct mg_breaker_rules *rules);

/* Lets an open breaker become half-open when its time is over. True if the state changed. */
bool mg_breaker_tick(struct mg_breaker *breaker, int64_t now_ms);

/* Applies the service's health, as the supervisor sends it. The end of an outage closes a breaker that
 * followed it. A health that becomes unknown leaves it open, until its own probe. An agent that replaces
 * another prober first waits for a whole open time: the other's last probe may still be out. True if the
 * state changed, or if an outage begins, ends or changes its prober. */
bool mg_breaker_follow(struct mg_breaker *breaker, enum mg_service_health service_health, int64_t now_ms);

/* The state for reports: half-open only while a request for a probe is wanted. */
enum mg_breaker_state mg_breaker_reported(const struct mg_breaker *breaker);

/* Milliseconds until it becomes half-open by itself; -1: it does not. */
int64_t mg_breaker_rest_ms(const struct mg_breaker *breaker, int64_t now_ms);

/* No call can be made at all, for another reason than the service's answers: opens the breaker. True if the
 * state changed. */
bool mg_breaker_fail(struct mg_breaker *breaker, int64_t now_ms);

/* True if a call may begin. Then `ret_ticket` must come back with its result, exactly once. */
bool mg_breaker_admit(struct mg_breaker *breaker, uint32_t *ret_ticket);

/* True if the state changed. */
bool mg_breaker_record(struct mg_breaker *breaker, uint32_t ticket, enum mg_call_health health,
                       int64_t now_ms);

#endif
