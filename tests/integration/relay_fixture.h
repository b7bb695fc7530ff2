/*
 * One broker behind a relay that makes the faults: to the client it is a broker that is stopped, killed or
 * gone. Each file of tests that includes it has its own.
 */
#ifndef MG_TESTS_RELAY_FIXTURE_H
#define MG_TESTS_RELAY_FIXTURE_H

#include "broker_fixture.h"

#define CONFIRM_TIMEOUT_MS 1500

static struct fixture fixture;
static struct relay *relay;
static char queue[64];
static int wanted;

static inline void setup(void)
{
    relay = relay_start();
    fixture_init_queue(&fixture, relay_url(relay), "faults", queue);
    fixture.options.confirm_timeout_ms = CONFIRM_TIMEOUT_MS;
}

static inline void teardown(void)
{
    fixture_finish(&fixture);
    relay_stop(relay);
    if (test_queue_ready(queue) >= 0) {
        test_queue_delete(queue);
    }
}

static inline bool is_up(const struct fixture *f)
{
    return f->is_up;
}

static inline bool wait_for(bool (*is_done)(const struct fixture *), int count)
{
    wanted = count;
    return fixture_run(&fixture, is_done, WAIT_MS);
}

#endif
