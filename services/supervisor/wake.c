/*
 * After the database's clock went back, all open orders are woken. Waits that were set while the clock was
 * ahead, and wake_at with them, end too far in the future. The complete-by of a request stays as it is: until
 * then an attempt may act.
 */
#include "base/clock.h"
#include "base/log.h"
#include "supervisor.h"

/* This long after the step back every scheduler has seen the clock again, and its work in hand is written. A
 * leader that dies before wakes none. */
#define WAKE_REST_MS 2000
/* Orders that were passed by sleep on. So all are woken once more, with a pause that doubles: an order may
 * stay locked or damaged for long, and each waking costs a look at every open order. */
#define WAKE_PAUSE_MAX_MS (60 * 60 * 1000)
/* Orders woken by one statement: some 50 ms of an index's work. */
#define WAKE_BATCH 2000

void mg_supervisor_wake_later(struct mg_supervisor *supervisor)
{
    supervisor->wake_at_boot_ms = mg_clock_boot_ms() + WAKE_REST_MS;
}

static void wake_finish(struct mg_supervisor *supervisor)
{
    if (mg_store_passed_rows(supervisor->store, NULL, 0) == 0) {
        supervisor->wake_at_boot_ms = supervisor->wake_pause_ms = 0;
        mg_log(MG_LOG_INFO, "all open orders are checked, because the database's clock jumped back",
               MG_LOG_NONE);
        return;
    }
    int64_t pause_ms = supervisor->wake_pause_ms == 0 ? WAKE_REST_MS : supervisor->wake_pause_ms * 2;
    supervisor->wake_pause_ms = pause_ms < WAKE_PAUSE_MAX_MS ? pause_ms : WAKE_PAUSE_MAX_MS;
    supervisor->wake_at_boot_ms = mg_clock_boot_ms() + supervisor->wake_pause_ms;
}

static void wake_answered(void *arg, bool is_leader, bool is_full, const struct mg_err *err)
{
    struct mg_supervisor *supervisor = arg;
    supervisor->is_sweeping = false;
    if (!supervisor->is_leader || supervisor->is_stopping) {
        return;
    }
    if (err != NULL) {
        mg_log(mg_once_set(&supervisor->failure_logged) ? MG_LOG_WARN : MG_LOG_DEBUG,
               "could not wake the open orders; this is retried", MG_LOG_TEXT("reason", err->text));
        mg_supervisor_wake_later(supervisor); /* sweeps go on meanwhile */
        return;
    }
    if (!is_leader) {
        mg_supervisor_lead_lost(supervisor, "another supervisor leads in a newer epoch");
        return;
    }
    if (!is_full) {
        wake_finish(supervisor);
    }
    mg_timer_start(supervisor->sweep_timer, 0, supervisor->options.sweep_period_ms);
}

/* No sweep comes between: it would put the orders woken first back to sleep. */
bool mg_supervisor_is_waking(struct mg_supervisor *supervisor)
{
    if (supervisor->wake_at_boot_ms == 0 || mg_clock_boot_ms() < supervisor->wake_at_boot_ms) {
        return false;
    }
    supervisor->is_sweeping = true;
    mg_store_wake(supervisor->store, supervisor->epoch, supervisor->holder, WAKE_BATCH, wake_answered,
                  supervisor);
    return true;
}
