/*
 * The sweep asks the database one bounded question each period: which orders are due? During a gap nothing is
 * judged (no leader, no database, no broker, no scheduler that takes commands). Deadlines that passed in a
 * gap get a grace first: replies that waited for the same outage may still come. A brake holds back mass
 * expiry: a jump of a clock is a more likely cause than so many dead agents.
 *
 * A gap lasts from the answer of one sweep to the question of the next one that is answered, on this
 * machine's clock. So neither a long sweep nor a jump of the database's clock makes a gap. Each deadline gets
 * one grace: the windows of two gaps do not overlap, and the later one ends the grace of the earlier. The
 * first sweep that is asked after that has its deadlines judged.
 *
 * A database clock that is set forward passes deadlines that had time left. They keep that time, and the
 * grace with it, on this machine's clock. If the clock was set back before, this holds by the clock that set
 * the deadline.
 */
#include <stdio.h>

#include "base/clock.h"
#include "base/failpoint.h"
#include "base/log.h"
#include "io/amqp/topology.h"
#include "supervisor.h"

/* The part of the publish window that is left to alerts. */
#define ASK_RESERVE 64
/* Period of looks at the queue of commands, and the time for which a look is valid. */
#define COMMANDS_PERIOD_MS 1000
#define COMMANDS_VALID_MS  5000
/* From this many sweeps' worth of unread commands on no more are added. Schedulers that are only busy take
 * these in well under the ask-again time. More would fill the queue to no use. */
#define COMMANDS_BACKLOG_SWEEPS 2

/* Open steps that one sweep reads: some 50 ms of the database, a fifth of the period. Of 500 orders each may
 * have eight; of orders with 64 steps it reads 64. */
#define STEPS_SWEPT_MAX 4096

/* Later than any deadline: the grace of a gap reaches up to the sweep's own moment, not yet known. */
#define FAR_FUTURE_MS INT64_C(253370764800000) /* the year 9999 */

static bool is_gap(const struct mg_supervisor *supervisor)
{
    return supervisor->options.grace_ms > 0 &&
           mg_clock_boot_ms() - supervisor->answered_at_boot_ms > supervisor->options.gap_ms;
}

/* The sweep after a gap has been answered: deadlines that passed up to its moment are left for a while. */
static void grace_begin(struct mg_supervisor *supervisor, int64_t now_ms)
{
    supervisor->grace_after_ms = supervisor->swept_at_ms;
    supervisor->grace_before_ms = now_ms;
    supervisor->grace_until_boot_ms = mg_clock_boot_ms() + supervisor->options.grace_ms;
    if (supervisor->swept_at_ms != 0) {
        mg_log(MG_LOG_WARN, "a gap between sweeps: deadlines that passed in it get a grace period",
               MG_LOG_NUMBER("gap_ms", supervisor->gap_asked_ms),
               MG_LOG_NUMBER("grace_ms", supervisor->options.grace_ms));
    }
}

static void grace_clear(struct mg_supervisor *supervisor)
{
    supervisor->grace_after_ms = supervisor->grace_before_ms = supervisor->grace_until_boot_ms = 0;
}

static void grace_end(struct mg_supervisor *supervisor)
{
    if (supervisor->grace_until_boot_ms != 0 && mg_clock_boot_ms() >= supervisor->grace_until_boot_ms) {
        grace_clear(supervisor);
    }
}

/* The deadlines that the database's clock passed too early. The grace comes on top: that long after its own
 * deadline a late attempt can no longer act, as if quiescing. */
static struct mg_spared spared_now(const struct mg_supervisor *supervisor, int64_t extra_ms)
{
    return mg_far_clock_spared(&supervisor->db_clock, mg_clock_boot_ms(), extra_ms);
}

static bool is_spared(const struct mg_supervisor *supervisor, const struct mg_due *due)
{
    struct mg_spared spared = spared_now(supervisor, supervisor->options.grace_ms);
    return (due->ask == MG_CAUSE_OVERDUE || due->ask == MG_CAUSE_EXPIRED) &&
           mg_spared_has(&spared, due->due_at_ms, due->set_at_ms);
}

/* The windows of a gap and of a step forward overlap or lie close: one question has room for one window. */
static void spared_add(const struct mg_supervisor *supervisor, struct mg_sweep_options *options)
{
    struct mg_spared spared = spared_now(supervisor, supervisor->options.grace_ms);
    if (spared.before_ms == 0) {
        return;
    }
    bool is_alone = options->grace_before_ms == 0;
    bool is_high_first = is_alone || spared.high_after_ms < options->grace_after_ms;
    options->grace_high_after_ms = is_high_first ? spared.high_after_ms : options->grace_after_ms;
    options->high = spared.high;
    if (is_alone || spared.after_ms < options->grace_after_ms) {
        options->grace_after_ms = spared.after_ms;
    }
    if (is_alone || spared.before_ms > options->grace_before_ms) {
        options->grace_before_ms = spared.before_ms;
    }
}

static void clock_follow(struct mg_supervisor *supervisor, int64_t now_ms)
{
    int64_t back_ms = supervisor->swept_at_ms - now_ms;
    if (back_ms > 0) {
        mg_log(MG_LOG_WARN, "the database's clock jumped back", MG_LOG_NUMBER("by_ms", back_ms));
        grace_clear(supervisor);
        mg_supervisor_wake_later(supervisor);
    } else if (supervisor->gap_asked_ms > 0) {
        grace_begin(supervisor, now_ms);
    }
    supervisor->swept_at_ms = now_ms;
    supervisor->answered_at_boot_ms = mg_clock_boot_ms();
}

/* A slow database delays deadlines in silence. So it is reported, whether the sweep is answered or fails. */
static void duration_note(struct mg_supervisor *supervisor, bool is_answered)
{
    char text[160];
    int64_t took_ms = mg_clock_boot_ms() - supervisor->asked_at_boot_us / 1000;
    bool is_slow = took_ms > supervisor->options.gap_ms;
    (void)snprintf(
        text, sizeof(text),
        "a sweep %s %lld.%lld s; deadlines are judged late by this time. Check the database's load",
        is_answered ? "took" : "failed after", (long long)(took_ms / 1000),
        (long long)(took_ms % 1000 / 100));
    if (took_ms >= supervisor->longest_ms ||
        mg_clock_boot_ms() - supervisor->longest_at_boot_ms >= mg_supervisor_gone_ms(supervisor)) {
        supervisor->longest_ms = took_ms;
        supervisor->longest_at_boot_ms = mg_clock_boot_ms();
    }
    mg_metric_set(supervisor->sweep_longest, (double)supervisor->longest_ms / 1000.0);
    if (is_slow || is_answered) { /* an early failure proves nothing about the speed of sweeps */
        mg_supervisor_watch_looked(supervisor, MG_WATCHED_SLOW_SWEEP, is_slow ? text : NULL);
    }
}

/* The most of the last seconds. Attempts held back are looked at again only after a second, and the sweeps
 * until then find none of them. */
static void held_back_note(struct mg_supervisor *supervisor, int64_t held_back)
{
    int64_t now_boot_ms = mg_clock_boot_ms();
    if (held_back >= supervisor->held_back_most ||
        now_boot_ms - supervisor->held_back_at_boot_ms >= mg_supervisor_gone_ms(supervisor)) {
        supervisor->held_back_most = held_back;
        supervisor->held_back_at_boot_ms = now_boot_ms;
    }
    mg_metric_set(supervisor->held_back, (double)supervisor->held_back_most);
}

/* True: the brake holds some back. */
static bool brake_check(struct mg_supervisor *supervisor, const struct mg_sweep_answer *answer)
{
    int64_t held_back = answer->overdue_total - supervisor->options.overdue_limit;
    char text[160];
    (void)snprintf(
        text, sizeof(text),
        "%lld attempts and orders are overdue at once; each sweep judges %lld. Check for a clock jump",
        (long long)answer->overdue_total, (long long)supervisor->options.overdue_limit);
    held_back_note(supervisor, held_back > 0 ? held_back : 0);
    mg_supervisor_watch_looked(supervisor, MG_WATCHED_MASS_EXPIRY, held_back > 0 ? text : NULL);
    return held_back > 0;
}

static void stuck_check(struct mg_supervisor *supervisor, const struct mg_sweep_answer *answer)
{
    const struct mg_due *first = NULL;
    int count = 0;
    for (int i = 0; i < answer->due_count; i++) {
        if (answer->dues[i].is_stuck) {
            first = first != NULL ? first : &answer->dues[i];
            count++;
        }
    }
    if (first == NULL) {
        int64_t seen_boot_ms = supervisor->watched[MG_WATCHED_STUCK_ORDERS].seen_at_boot_ms;
        if (mg_clock_boot_ms() - seen_boot_ms >= mg_supervisor_gone_ms(supervisor)) {
            mg_metric_set(supervisor->violations, 0);
        }
        mg_supervisor_watch_looked(supervisor, MG_WATCHED_STUCK_ORDERS, NULL);
        return;
    }
    char text[256];
    (void)snprintf(
        text, sizeof(text),
        "order %s is open, but has no running step, wait or deadline (%d such orders in this sweep). This is a "
        "defect of Makegood: keep makegood order export for its report",
        first->order_id, count);
    mg_metric_set(supervisor->violations, count);
    mg_metric_add(supervisor->violations_found, count);
    mg_log(MG_LOG_ERROR, "an open order has no running step, wait or deadline",
           MG_LOG_TEXT("order_id", first->order_id), MG_LOG_NUMBER("orders", count));
    mg_supervisor_watch_looked(supervisor, MG_WATCHED_STUCK_ORDERS, text);
}

/* How late passed deadlines were found. A deadline that is not judged is found again and again, later each
 * time. A due step does not count: while its service is away it stays due, and waits rightly. */
static void lag_note(struct mg_supervisor *supervisor, const struct mg_sweep_answer *answer)
{
    int64_t lag_ms = 0, now_boot_ms = mg_clock_boot_ms();
    struct mg_spared spared = spared_now(supervisor, 0);
    for (int i = 0; i < answer->due_count; i++) {
        const struct mg_due *due = &answer->dues[i];
        bool is_judged = due->ask == MG_CAUSE_OVERDUE || due->ask == MG_CAUSE_EXPIRED;
        int64_t now_ms =
            due->due_at_ms <= spared.before_ms ? mg_spared_after_ms(&spared, due->set_at_ms) : answer->now_ms;
        int64_t late_ms = is_judged ? now_ms - due->due_at_ms : 0;
        lag_ms = late_ms > lag_ms ? late_ms : lag_ms;
    }
    /* Many sweeps fall into one scrape, and orders asked about are not found in between. */
    if (lag_ms >= supervisor->lag_ms ||
        now_boot_ms - supervisor->lag_at_boot_ms >= mg_supervisor_gone_ms(supervisor)) {
        supervisor->lag_ms = lag_ms;
        supervisor->lag_at_boot_ms = now_boot_ms;
    }
    mg_metric_set(supervisor->sweep_lag, (double)supervisor->lag_ms / 1000.0);
}

/* An item that was not asked is due again after ask-again. One that was due only because its order was woken
 * is not, so all are woken again. */
static void dues_leave(struct mg_supervisor *supervisor, const struct mg_sweep_answer *answer, int first)
{
    for (int i = first; i < answer->due_count; i++) {
        if (answer->dues[i].due_at_ms > answer->now_ms) {
            mg_supervisor_wake_later(supervisor);
        }
    }
}

/* False: the broker has no room for all of them. */
static bool dues_ask(struct mg_supervisor *supervisor, const struct mg_sweep_answer *answer)
{
    if (answer->due_count > 0) {
        MG_FAILPOINT(SUPERVISOR_SWEPT);
    }
    for (int i = 0; i < answer->due_count; i++) {
        if (!is_spared(supervisor, &answer->dues[i]) && !mg_supervisor_ask(supervisor, &answer->dues[i])) {
            dues_leave(supervisor, answer, i);
            return false;
        }
    }
    return true;
}

/* Parked steps may wait: only as many are asked about as keep the queue of commands short, so that deadlines
 * do not wait behind them. */
static int64_t parked_most(const struct mg_supervisor *supervisor)
{
    size_t room = mg_broker_publish_room(supervisor->broker);
    int64_t left = supervisor->options.sweep_batch - supervisor->commands_ready;
    int64_t most = room > ASK_RESERVE ? (int64_t)(room - ASK_RESERVE) : 0;
    return left < most ? left : most;
}

static void sweep_answered(void *arg, const struct mg_sweep_answer *answer, const struct mg_err *err)
{
    struct mg_supervisor *supervisor = arg;
    if (supervisor->is_leader && !supervisor->is_stopping) {
        duration_note(supervisor, err == NULL);
    }
    if (!mg_supervisor_answered(supervisor, &supervisor->is_sweeping, &supervisor->failure_logged,
                                "could not sweep", err)) {
        return;
    }
    if (!answer->is_leader) {
        mg_supervisor_lead_lost(supervisor, "another supervisor leads in a newer epoch");
        return;
    }
    mg_metric_add(supervisor->sweeps, 1);
    mg_metric_observe(supervisor->sweep_seconds,
                      (double)(mg_clock_boot_us() - supervisor->asked_at_boot_us) / 1e6);
    bool is_set_forward =
        mg_supervisor_clock_read(supervisor, answer->now_ms, supervisor->asked_at_boot_us / 1000);
    clock_follow(supervisor, answer->now_ms);
    bool is_braked = !is_set_forward && brake_check(supervisor, answer);
    stuck_check(supervisor, answer);
    lag_note(supervisor, answer);
    bool has_room = dues_ask(supervisor, answer);
    if (has_room) {
        mg_supervisor_parked_ask(supervisor, parked_most(supervisor));
        mg_supervisor_owed_ask(supervisor);
        mg_supervisor_slots_ask(supervisor);
    }
    /* The next sweep follows at once only if neither the brake nor a full window must slow it down. */
    if (has_room && answer->is_full && !is_braked) {
        mg_timer_start(supervisor->sweep_timer, 0, supervisor->options.sweep_period_ms);
    }
}

/* A leader that cannot ask holds up all orders: another supervisor's connection may be better. */
static bool can_publish(struct mg_supervisor *supervisor)
{
    char reason[256];
    int64_t now_boot_ms = mg_clock_boot_ms();
    if (mg_broker_is_up(supervisor->broker, reason, sizeof(reason))) {
        supervisor->mute_since_boot_ms = 0;
        return mg_broker_publish_room(supervisor->broker) > ASK_RESERVE;
    }
    if (supervisor->mute_since_boot_ms == 0) {
        supervisor->mute_since_boot_ms = now_boot_ms;
    } else if (now_boot_ms - supervisor->mute_since_boot_ms > supervisor->options.gap_ms) {
        mg_supervisor_lead_give_back(supervisor, "the broker is not available");
    }
    return false;
}

/* Without a scheduler that takes commands, asking again would only fill the queue. A reply that lies unread
 * alongside it must not be judged late: so this is a gap, too. */
static bool are_commands_taken(struct mg_supervisor *supervisor)
{
    bool is_known = supervisor->commands_seen_boot_ms != 0 &&
                    mg_clock_boot_ms() - supervisor->commands_seen_boot_ms <= COMMANDS_VALID_MS;
    bool is_held =
        is_known && (supervisor->commands_consumers == 0 ||
                     supervisor->commands_ready > COMMANDS_BACKLOG_SWEEPS * supervisor->options.sweep_batch);
    if (is_held != supervisor->is_held) {
        supervisor->is_held = is_held;
        mg_log(is_held ? MG_LOG_WARN : MG_LOG_INFO,
               is_held ? "commands are held back until the schedulers consume the earlier ones"
                       : "commands are published again",
               MG_LOG_TEXT("queue", MG_QUEUE_COMMANDS), MG_LOG_NUMBER("ready", supervisor->commands_ready),
               MG_LOG_NUMBER("consumers", supervisor->commands_consumers));
    }
    return !is_held;
}

static void commands_seen(void *arg, const char *queue, int64_t ready_messages, int64_t consumers)
{
    struct mg_supervisor *supervisor = arg;
    mg_supervisor_queue_seen(supervisor, queue, ready_messages, consumers);
    supervisor->commands_seen_boot_ms = mg_clock_boot_ms();
    supervisor->commands_ready = ready_messages;
    supervisor->commands_consumers = consumers;
}

static void sweep_run(void *arg)
{
    struct mg_supervisor *supervisor = arg;
    if (!supervisor->is_leader || supervisor->is_sweeping || !can_publish(supervisor) ||
        !are_commands_taken(supervisor) || mg_supervisor_is_waking(supervisor)) {
        return;
    }
    grace_end(supervisor);
    size_t room = mg_broker_publish_room(supervisor->broker) - ASK_RESERVE;
    bool is_small = room < (size_t)supervisor->options.sweep_batch;
    struct mg_sweep_options options = {
        .epoch = supervisor->epoch,
        .holder = supervisor->holder,
        .limit = is_small ? (int)room : (int)supervisor->options.sweep_batch,
        .ask_again_ms = supervisor->options.ask_again_ms,
        .grace_before_ms = supervisor->grace_before_ms,
        .grace_after_ms = supervisor->grace_after_ms,
        .overdue_limit = (int)supervisor->options.overdue_limit,
        .step_limit = STEPS_SWEPT_MAX,
    };
    supervisor->gap_asked_ms = is_gap(supervisor) ? mg_clock_boot_ms() - supervisor->answered_at_boot_ms : 0;
    if (supervisor->gap_asked_ms > 0) {
        options.grace_after_ms = supervisor->swept_at_ms;
        options.grace_before_ms = FAR_FUTURE_MS;
    }
    options.gap_after_ms = options.grace_after_ms;
    options.gap_before_ms = options.grace_before_ms;
    spared_add(supervisor, &options);
    supervisor->is_sweeping = true;
    supervisor->asked_at_boot_us = mg_clock_boot_us();
    mg_store_sweep(supervisor->store, &options, sweep_answered, supervisor);
    MG_FAILPOINT(SUPERVISOR_SWEEPING);
}

bool mg_supervisor_sweep_start(struct mg_supervisor *supervisor, int64_t now_ms, int64_t swept_at_ms)
{
    struct mg_err err;
    int64_t age_ms = now_ms > swept_at_ms ? now_ms - swept_at_ms : 0;
    supervisor->is_sweeping = false;
    supervisor->swept_at_ms = swept_at_ms;
    supervisor->answered_at_boot_ms = mg_clock_boot_ms() - age_ms;
    supervisor->mute_since_boot_ms = 0;
    if (mg_broker_watch_queue(supervisor->broker, MG_QUEUE_COMMANDS, COMMANDS_PERIOD_MS, commands_seen,
                              supervisor, &err) != MG_OK) {
        mg_log(MG_LOG_WARN, "could not watch the queue of commands", MG_LOG_TEXT("reason", err.text));
    }
    return mg_supervisor_timer_begin(supervisor, &supervisor->sweep_timer, sweep_run, 0,
                                     supervisor->options.sweep_period_ms);
}

/* The lateness and slowness of this leader are no figures of the next one. */
void mg_supervisor_sweep_stop(struct mg_supervisor *supervisor)
{
    mg_supervisor_timer_end(supervisor->sweep_timer);
    supervisor->lag_ms = supervisor->longest_ms = supervisor->held_back_most = 0;
    mg_metric_set(supervisor->sweep_lag, 0);
    mg_metric_set(supervisor->sweep_longest, 0);
    mg_metric_set(supervisor->held_back, 0);
}
