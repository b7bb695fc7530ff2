/*
 * Leading: the advisory lock on the store's dedicated session, and with it the next epoch. A standby tries at
 * each lead period; a leader whose session is gone leads no more, whatever it believes. A second leader by
 * accident is harmless: asking is idempotent, and its writes carry an epoch that is no longer the row's.
 */
#include <stdio.h>
#include <string.h>

#include "base/log.h"
#include "supervisor.h"

static void lead_take(struct supervisor *supervisor, const struct mg_lead_answer *answer)
{
    supervisor->is_leader = true;
    supervisor->epoch = answer->epoch;
    supervisor->swept_at_ms = answer->swept_at_ms;
    mg_metric_set(supervisor->leading, 1);
    mg_log(MG_LOG_INFO, "leading", MG_LOG_NUMBER("epoch", answer->epoch),
           MG_LOG_TEXT("holder", supervisor->holder));
    supervisor_sweep_start(supervisor);
    supervisor_watch_start(supervisor);
}

/* Said once: every further try would give the same line. */
static void lead_refused(struct supervisor *supervisor, const char *refusal)
{
    if (strcmp(supervisor->refusal, refusal) != 0) {
        (void)snprintf(supervisor->refusal, sizeof(supervisor->refusal), "%s", refusal);
        mg_log(MG_LOG_ERROR, "cannot lead", MG_LOG_TEXT("reason", refusal));
    }
}

static void lead_answered(void *arg, const struct mg_lead_answer *answer, const struct mg_err *err)
{
    struct supervisor *supervisor = arg;
    supervisor->is_electing = false;
    if (supervisor->is_stopping) {
        return;
    }
    if (err != NULL) {
        mg_log(MG_LOG_DEBUG, "could not ask for the lead", MG_LOG_TEXT("reason", err->text));
    } else if (answer->refusal != NULL) {
        lead_refused(supervisor, answer->refusal);
    } else if (answer->is_leader && !supervisor->is_leader) {
        supervisor->refusal[0] = '\0';
        lead_take(supervisor, answer);
    }
}

static void lead_try(void *arg)
{
    struct supervisor *supervisor = arg;
    char reason[256];
    if (supervisor->is_leader || supervisor->is_electing || supervisor->is_stopping ||
        !mg_store_is_up(supervisor->store, reason, sizeof(reason))) {
        return;
    }
    supervisor->is_electing = true;
    mg_store_try_lead(supervisor->store, supervisor->holder, lead_answered, supervisor);
}

void supervisor_lead_start(struct supervisor *supervisor)
{
    supervisor->lead_timer = mg_timer_create(supervisor->loop, lead_try, supervisor);
    if (supervisor->lead_timer != NULL) {
        mg_timer_start(supervisor->lead_timer, 0, supervisor->options.lead_period_ms);
    }
}

void supervisor_lead_lost(struct supervisor *supervisor, const char *why)
{
    if (!supervisor->is_leader) {
        return;
    }
    supervisor->is_leader = false;
    if (supervisor->sweep_timer != NULL) {
        mg_timer_stop(supervisor->sweep_timer);
    }
    if (supervisor->watch_timer != NULL) {
        mg_timer_stop(supervisor->watch_timer);
    }
    mg_metric_set(supervisor->leading, 0);
    mg_log(MG_LOG_WARN, "no longer leading", MG_LOG_TEXT("reason", why),
           MG_LOG_NUMBER("epoch", supervisor->epoch));
}

static void lead_given_back(void *arg, const struct mg_err *err)
{
    (void)err; /* closing the session gives the lock back in any case */
    mg_loop_stop(((struct supervisor *)arg)->loop);
}

void supervisor_lead_stop(struct supervisor *supervisor)
{
    bool was_leader = supervisor->is_leader;
    supervisor->is_stopping = true;
    supervisor_lead_lost(supervisor, "stopping");
    if (was_leader) {
        mg_store_stop_leading(supervisor->store, lead_given_back, supervisor);
    } else {
        mg_loop_stop(supervisor->loop);
    }
}
