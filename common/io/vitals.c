/* See vitals.h. */
#include "io/vitals.h"

#include <stdio.h>
#include <stdlib.h>

struct mg_vitals {
    struct mg_vitals_of of;
    struct mg_timer *timer;
};

static void on_period(void *arg)
{
    const struct mg_vitals_of *of = &((struct mg_vitals *)arg)->of;
    if (of->store != NULL) {
        mg_store_probe(of->store);
    }
    if (of->broker != NULL) {
        mg_broker_probe(of->broker, of->probe_exchange);
    }
}

struct mg_vitals *mg_vitals_create(struct mg_loop *loop, const struct mg_vitals_of *of)
{
    struct mg_vitals *vitals = calloc(1, sizeof(*vitals));
    if (vitals == NULL) {
        return NULL;
    }
    vitals->of = *of;
    vitals->timer = mg_timer_create(loop, on_period, vitals);
    if (vitals->timer == NULL) {
        free(vitals);
        return NULL;
    }
    mg_timer_start(vitals->timer, MG_VITALS_PERIOD_MS, MG_VITALS_PERIOD_MS);
    return vitals;
}

void mg_vitals_destroy(struct mg_vitals *vitals)
{
    if (vitals == NULL) {
        return;
    }
    mg_timer_destroy(vitals->timer);
    free(vitals);
}

bool mg_vitals_are_good(const struct mg_vitals *vitals, char *ret_reason, size_t size)
{
    const struct mg_vitals_of *of = &vitals->of;
    if (of->store != NULL && !mg_store_is_well(of->store, ret_reason, size)) {
        return false;
    }
    if (of->broker == NULL || !mg_broker_is_silent(of->broker)) {
        return true;
    }
    (void)snprintf(ret_reason, size, "the broker does not answer");
    return false;
}
