/*
 * Leading: the advisory lock on the store's dedicated session, and with it the next epoch. A standby tries at
 * each lead period, unless the broker is away and it could not ask. A leader that has lost its session leads
 * no more, regardless of its own state. A second leader by accident is harmless: asking is idempotent, and
 * its writes carry an epoch that is no longer the row's.
 */
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/failpoint.h"
#include "base/log.h"
#include "supervisor.h"

/* The server ends a supervisor's session that is idle for 10 s, so that a paused leader loses its lock. A
 * live one uses its session before that, even with nothing to ask. */
#define SESSION_KEEP_MS 3000
/* The timer of a leader has no other work. */
#define LEADER_PERIOD_MS (SESSION_KEEP_MS / 2)

static void lead_take(struct mg_supervisor *supervisor, const struct mg_lead_answer *answer)
{
    MG_FAILPOINT(SUPERVISOR_ELECTED);
    supervisor->is_leader = true;
    supervisor->epoch = answer->epoch;
    mg_timer_start(supervisor->lead_timer, LEADER_PERIOD_MS, LEADER_PERIOD_MS);
    mg_metric_set(supervisor->leading, 1);
    mg_log(MG_LOG_INFO, "leading", MG_LOG_NUMBER("epoch", answer->epoch),
           MG_LOG_TEXT("holder", supervisor->holder));
    if (!supervisor->duties->start(supervisor, answer->now_ms, answer->swept_at_ms)) {
        mg_supervisor_lead_give_back(supervisor, "no memory");
    }
}

/* Logged once: every further try would give the same line. */
static void lead_refused(struct mg_supervisor *supervisor, const char *refusal)
{
    if (strcmp(supervisor->refusal, refusal) != 0) {
        (void)snprintf(supervisor->refusal, sizeof(supervisor->refusal), "%s", refusal);
        mg_log(MG_LOG_ERROR, "cannot lead", MG_LOG_TEXT("reason", refusal));
    }
}

/* Logged at each change. */
static void lead_held(struct mg_supervisor *supervisor, const char *held_by)
{
    if ((supervisor->held_by[0] != '\0') != (held_by[0] != '\0')) {
        mg_log(MG_LOG_WARN, held_by[0] != '\0' ? "no supervisor leads" : "a supervisor leads again",
               MG_LOG_TEXT("why", held_by));
    }
    (void)snprintf(supervisor->held_by, sizeof(supervisor->held_by), "%s", held_by);
}

static void lead_answered(void *arg, const struct mg_lead_answer *answer, const struct mg_err *err)
{
    struct mg_supervisor *supervisor = arg;
    supervisor->is_electing = false;
    if (supervisor->is_stopping) {
        return;
    }
    if (err != NULL) {
        mg_log(MG_LOG_DEBUG, "could not request the lead", MG_LOG_TEXT("reason", err->text));
    } else if (answer->refusal != NULL) {
        lead_refused(supervisor, answer->refusal);
    } else {
        (void)mg_supervisor_clock_read(supervisor, answer->now_ms, supervisor->lead_asked_at_boot_ms);
        lead_held(supervisor, answer->held_by != NULL ? answer->held_by : "");
        if (answer->is_leader && !supervisor->is_leader) {
            supervisor->refusal[0] = '\0';
            lead_take(supervisor, answer);
        }
    }
}

static void session_kept(void *arg, const struct mg_rows *rows, const struct mg_err *err)
{
    (void)rows;
    (void)err; /* the store reports a lost session by itself */
    ((struct mg_supervisor *)arg)->is_keeping = false;
}

static void session_keep(struct mg_supervisor *supervisor)
{
    int64_t now_boot_ms = mg_clock_boot_ms();
    if (supervisor->is_keeping || now_boot_ms - supervisor->kept_at_boot_ms < SESSION_KEEP_MS) {
        return;
    }
    supervisor->is_keeping = true;
    supervisor->kept_at_boot_ms = now_boot_ms;
    mg_store_report(supervisor->store, MG_REPORT_LEADER, NULL, 0, session_kept, supervisor);
}

static void lead_try(void *arg)
{
    struct mg_supervisor *supervisor = arg;
    char reason[256];
    if (supervisor->is_electing || supervisor->is_stopping ||
        !mg_store_is_up(supervisor->store, reason, sizeof(reason))) {
        return;
    }
    if (supervisor->is_leader || !mg_broker_is_up(supervisor->broker, reason, sizeof(reason))) {
        session_keep(supervisor);
        return;
    }
    supervisor->is_electing = true;
    supervisor->lead_asked_at_boot_ms = mg_clock_boot_ms();
    mg_store_try_lead(supervisor->store, supervisor->holder, lead_answered, supervisor);
}

bool mg_supervisor_lead_start(struct mg_supervisor *supervisor, const struct mg_supervisor_duties *duties)
{
    supervisor->duties = duties;
    supervisor->lead_timer = mg_timer_create(supervisor->loop, lead_try, supervisor);
    if (supervisor->lead_timer == NULL) {
        return false;
    }
    mg_far_clock_init(&supervisor->db_clock, mg_clock_wall_ms(), mg_clock_boot_ms());
    mg_timer_start(supervisor->lead_timer, 0, supervisor->options.lead_period_ms);
    return true;
}

void mg_supervisor_lead_soon(struct mg_supervisor *supervisor)
{
    if (supervisor->lead_timer != NULL && !supervisor->is_leader) {
        mg_timer_start(supervisor->lead_timer, 0, supervisor->options.lead_period_ms);
    }
}

void mg_supervisor_lead_lost(struct mg_supervisor *supervisor, const char *why)
{
    if (!supervisor->is_leader) {
        return;
    }
    supervisor->is_leader = false;
    mg_timer_start(supervisor->lead_timer, supervisor->options.lead_period_ms,
                   supervisor->options.lead_period_ms);
    supervisor->duties->stop(supervisor);
    mg_metric_set(supervisor->leading, 0);
    mg_log(MG_LOG_WARN, "no longer leading", MG_LOG_TEXT("reason", why),
           MG_LOG_NUMBER("epoch", supervisor->epoch));
}

void mg_supervisor_lead_session(void *arg, bool is_up, const char *reason)
{
    struct mg_supervisor *supervisor = arg;
    mg_log(is_up ? MG_LOG_INFO : MG_LOG_WARN, is_up ? "database up" : "database down",
           MG_LOG_TEXT("reason", reason));
    if (is_up) {
        supervisor->refusal[0] = '\0'; /* it belonged to the old session */
        mg_supervisor_lead_soon(supervisor);
    } else {
        mg_supervisor_lead_lost(supervisor, "the database session is lost");
    }
}

bool mg_supervisor_lead_is_ready(void *arg, char *ret_reason, size_t size)
{
    const struct mg_supervisor *supervisor = arg;
    if (supervisor->refusal[0] != '\0') {
        (void)snprintf(ret_reason, size, "%s", supervisor->refusal);
        return false;
    }
    if (!mg_store_is_ready(supervisor->store, ret_reason, size)) {
        return false;
    }
    if (supervisor->held_by[0] != '\0') {
        (void)snprintf(ret_reason, size, "no supervisor leads: %s", supervisor->held_by);
        return false;
    }
    return mg_broker_is_up(supervisor->broker, ret_reason, size) &&
           !mg_supervisor_is_queue_missing(supervisor, ret_reason, size) &&
           !mg_supervisor_stands(supervisor, ret_reason, size);
}

static void lead_resigned(void *arg, const struct mg_err *err)
{
    (void)err; /* a session that is gone holds no lock */
    ((struct mg_supervisor *)arg)->is_electing = false;
}

void mg_supervisor_lead_give_back(struct mg_supervisor *supervisor, const char *why)
{
    if (!supervisor->is_leader) {
        return;
    }
    mg_supervisor_lead_lost(supervisor, why);
    supervisor->is_electing = true; /* no new try until the lock is given back */
    mg_store_stop_leading(supervisor->store, lead_resigned, supervisor);
}

static void lead_given_back(void *arg, const struct mg_err *err)
{
    (void)err; /* closing the session gives the lock back in any case */
    mg_loop_stop(((struct mg_supervisor *)arg)->loop);
}

void mg_supervisor_lead_stop(struct mg_supervisor *supervisor)
{
    bool was_leader = supervisor->is_leader;
    supervisor->is_stopping = true;
    mg_supervisor_lead_lost(supervisor, "stopping");
    if (was_leader) {
        mg_store_stop_leading(supervisor->store, lead_given_back, supervisor);
    } else {
        mg_loop_stop(supervisor->loop);
    }
}
