/* See vitals.h. */
#include "io/vitals.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/clock.h"

#define FIRST_MS 300 /* most servers are connected by then: a process is seen as soon as it serves */

struct mg_vitals {
    struct mg_vitals_of of;
    struct mg_timer *timer;
    int periods; /* since the last heartbeat */
    bool is_beating, is_ending;
    int64_t began_boot_ms;
    int64_t unkept_boot_ms; /* no heartbeat was kept since then; 0: the last one was */
    char refusal[MG_ERR_TEXT_MAX];
};

static void on_beaten(void *arg, const struct mg_err *err)
{
    struct mg_vitals *vitals = arg;
    vitals->is_beating = false;
    (void)snprintf(vitals->refusal, sizeof(vitals->refusal), "%s", err != NULL ? err->text : "");
    vitals->unkept_boot_ms = err != NULL ? vitals->unkept_boot_ms : 0;
}

/* A role without a free session for heartbeats writes them alongside its work. */
static struct mg_store *beating(const struct mg_vitals *vitals)
{
    const struct mg_vitals_of *of = &vitals->of;
    char reason[1];
    return of->beats != NULL && mg_store_is_up(of->beats, reason, 0) ? of->beats : of->store;
}

static void beat(struct mg_vitals *vitals)
{
    const struct mg_vitals_of *of = &vitals->of;
    struct mg_beat beat = {.kind = of->kind, .instance = of->instance, .is_end = vitals->is_ending};
    int64_t now_ms = mg_clock_boot_ms();
    struct mg_store *store = beating(vitals);
    char reason[1];
    if (vitals->is_beating || !mg_store_is_up(store, reason, 0)) {
        return;
    }
    vitals->periods = 0;
    beat.age_ms = now_ms - vitals->began_boot_ms;
    of->account(of->arg, &beat);
    if (beat.reason[0] == '\0' && mg_store_is_ready(of->store, beat.reason, sizeof(beat.reason))) {
        /* with a full disk, as with a missing right, work may go on */
        (void)mg_store_is_well(of->store, beat.reason, sizeof(beat.reason));
    }
    vitals->is_beating = true;
    vitals->unkept_boot_ms = vitals->unkept_boot_ms != 0 ? vitals->unkept_boot_ms : now_ms;
    mg_store_beat(store, &beat, on_beaten, vitals);
}

static void on_period(void *arg)
{
    struct mg_vitals *vitals = arg;
    const struct mg_vitals_of *of = &vitals->of;
    if (of->kind != NULL && !vitals->is_ending && ++vitals->periods >= MG_BEAT_PERIODS) {
        beat(vitals);
    }
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
    vitals->began_boot_ms = mg_clock_boot_ms();
    vitals->periods = MG_BEAT_PERIODS; /* the first one at once */
    vitals->timer = mg_timer_create(loop, on_period, vitals);
    if (vitals->timer == NULL) {
        free(vitals);
        return NULL;
    }
    mg_timer_start(vitals->timer, FIRST_MS, MG_VITALS_PERIOD_MS);
    return vitals;
}

void mg_vitals_end(struct mg_vitals *vitals)
{
    if (vitals != NULL && vitals->of.kind != NULL && !vitals->is_ending) {
        vitals->is_ending = true;
        vitals->is_beating = false; /* the end goes out after an open heartbeat */
        beat(vitals);
    }
}

void mg_vitals_destroy(struct mg_vitals *vitals)
{
    if (vitals == NULL) {
        return;
    }
    mg_timer_destroy(vitals->timer);
    free(vitals);
}

/* While the session is down the store has words of its own. */
static bool is_kept(const struct mg_vitals *vitals, char *ret_reason, size_t size)
{
    int64_t unkept_ms = vitals->unkept_boot_ms != 0 ? mg_clock_boot_ms() - vitals->unkept_boot_ms : 0;
    if (vitals->of.is_reader || vitals->is_ending || unkept_ms < MG_BEAT_ANSWER_MAX_MS) {
        return true;
    }
    const char *standby = mg_store_standby(beating(vitals));
    const char *why = standby[0] != '\0' ? standby : vitals->refusal;
    (void)snprintf(ret_reason, size, "the database has committed no heartbeat for %lld s%s%s",
                   (long long)(unkept_ms / 1000), why[0] != '\0' ? ": " : "", why);
    return false;
}

bool mg_vitals_are_good(const struct mg_vitals *vitals, char *ret_reason, size_t size)
{
    const struct mg_vitals_of *of = &vitals->of;
    if (of->store != NULL && !mg_store_is_well(of->store, ret_reason, size)) {
        return false;
    }
    if (of->kind != NULL && !is_kept(vitals, ret_reason, size)) {
        return false;
    }
    if (of->broker == NULL || !mg_broker_is_silent(of->broker)) {
        return true;
    }
    (void)snprintf(ret_reason, size, "the broker does not answer");
    return false;
}
