/*
 * The sweep: one bounded question to the database each period: what is due? After a gap in which nobody swept
 * (or the database was away) deadlines that passed in the gap get a grace first: replies that waited for the
 * same outage may still come. A brake holds back mass expiry, which is more often a clock that jumped than so
 * many dead agents.
 */
#include "base/clock.h"
#include "base/log.h"
#include "supervisor.h"

/* Leave this much of the publish window to alerts. */
#define ASK_RESERVE 64

static void grace_update(struct supervisor *supervisor, int64_t now_ms)
{
    int64_t swept_at_ms = supervisor->swept_at_ms;
    if (swept_at_ms != 0 && now_ms - swept_at_ms > supervisor->options.gap_ms) {
        supervisor->grace_after_ms = swept_at_ms;
        supervisor->grace_before_ms = now_ms;
        supervisor->grace_until_ms = now_ms + supervisor->options.grace_ms;
        mg_log(MG_LOG_WARN, "a gap in sweeping: deadlines that passed in it get a grace",
               MG_LOG_NUMBER("gap_ms", now_ms - swept_at_ms),
               MG_LOG_NUMBER("grace_ms", supervisor->options.grace_ms));
    } else if (supervisor->grace_until_ms != 0 && now_ms >= supervisor->grace_until_ms) {
        supervisor->grace_after_ms = supervisor->grace_before_ms = supervisor->grace_until_ms = 0;
    }
    supervisor->swept_at_ms = now_ms;
}

static void brake_check(struct supervisor *supervisor, const struct mg_sweep_answer *answer)
{
    int64_t held_back = answer->overdue_total - supervisor->options.overdue_limit;
    mg_metric_set(supervisor->held_back, held_back > 0 ? (double)held_back : 0);
    if (held_back > 0) {
        char text[160];
        (void)snprintf(text, sizeof(text), "%lld attempts are overdue at once; they are judged %lld a sweep",
                       (long long)answer->overdue_total, (long long)supervisor->options.overdue_limit);
        supervisor_watch_saw(supervisor, WATCHED_MASS_EXPIRY, text);
    }
}

static void stuck_check(struct supervisor *supervisor, const struct mg_due *due)
{
    if (!due->is_stuck) {
        return;
    }
    char text[160];
    (void)snprintf(text, sizeof(text), "order %s is open and nothing in it runs, waits or is due",
                   due->order_id);
    mg_metric_add(supervisor->violations, 1);
    mg_log(MG_LOG_ERROR, "an open order has nothing that will move it",
           MG_LOG_TEXT("order_id", due->order_id));
    supervisor_watch_saw(supervisor, WATCHED_STUCK_ORDERS, text);
}

static void sweep_answered(void *arg, const struct mg_sweep_answer *answer, const struct mg_err *err)
{
    struct supervisor *supervisor = arg;
    supervisor->is_sweeping = false;
    if (!supervisor->is_leader || supervisor->is_stopping) {
        return;
    }
    if (err != NULL) {
        mg_log(MG_LOG_WARN, "could not sweep", MG_LOG_TEXT("reason", err->text));
        return;
    }
    if (!answer->is_leader) {
        supervisor_lead_lost(supervisor, "another supervisor leads in a newer epoch");
        return;
    }
    mg_metric_add(supervisor->sweeps, 1);
    /* The question was asked with the grace known before; a gap found only now held its overdue ones back by
     * itself. */
    grace_update(supervisor, answer->now_ms);
    brake_check(supervisor, answer);
    for (int i = 0; i < answer->due_count; i++) {
        stuck_check(supervisor, &answer->dues[i]);
        bool is_in_grace =
            answer->dues[i].due_at_ms > supervisor->grace_after_ms &&
            answer->dues[i].due_at_ms <= supervisor->grace_before_ms &&
            (answer->dues[i].ask == MG_CAUSE_OVERDUE || answer->dues[i].ask == MG_CAUSE_EXPIRED);
        if (!is_in_grace && !supervisor_ask(supervisor, &answer->dues[i])) {
            break; /* what was not asked is due again after ask-again */
        }
    }
    if (answer->is_full) {
        mg_timer_start(supervisor->sweep_timer, 0, supervisor->options.sweep_period_ms);
    }
}

static void sweep_run(void *arg)
{
    struct supervisor *supervisor = arg;
    char reason[256];
    if (!supervisor->is_leader || supervisor->is_sweeping) {
        return;
    }
    size_t room = mg_broker_publish_room(supervisor->broker);
    if (!mg_broker_is_up(supervisor->broker, reason, sizeof(reason)) || room <= ASK_RESERVE) {
        return;
    }
    room -= ASK_RESERVE;
    bool is_small = room < (size_t)supervisor->options.sweep_batch;
    struct mg_sweep_options options = {
        .epoch = supervisor->epoch,
        .holder = supervisor->holder,
        .limit = is_small ? (int)room : (int)supervisor->options.sweep_batch,
        .ask_again_ms = supervisor->options.ask_again_ms,
        .grace_before_ms = supervisor->grace_before_ms,
        .grace_after_ms = supervisor->grace_after_ms,
        .overdue_limit = (int)supervisor->options.overdue_limit,
    };
    supervisor->is_sweeping = true;
    mg_store_sweep(supervisor->store, &options, sweep_answered, supervisor);
}

void supervisor_sweep_start(struct supervisor *supervisor)
{
    supervisor->is_sweeping = false;
    if (supervisor->sweep_timer == NULL) {
        supervisor->sweep_timer = mg_timer_create(supervisor->loop, sweep_run, supervisor);
    }
    if (supervisor->sweep_timer != NULL) {
        mg_timer_start(supervisor->sweep_timer, 0, supervisor->options.sweep_period_ms);
    }
}
