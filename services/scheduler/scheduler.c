/*
 * The scheduler as a whole: its parts, its lead, the start of the next batch, and its stop. A batch starts
 * when the store and the broker are up, the last batch is committed and its messages are handed to the
 * broker. Under load it also starts some time after the last one's beginning. So work in memory is bounded by
 * one batch and the publish window.
 *
 * A store that stays away may be away from this instance alone. The scheduler stops consuming and requeues
 * all waiting work until the store is back: another instance may reach it.
 *
 * Stopping (law 15, restart recovers): stop consuming, requeue work that has not begun, finish the work in
 * hand. Work that does not finish in time is redelivered to another instance, as after a crash.
 */
#include "scheduler.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/id.h"
#include "base/log.h"
#include "route.h"

/* Random part of the rank, for processes started in the same millisecond: with equal ranks they would take
 * turns. */
#define MG_RANK_LOTS 1000
/* Time without the store until waiting work is requeued: longer than a server's restart, since each
 * requeue counts as a delivery. With the 15 s until a silent session is given up, the requeue happens
 * within 25 s. */
#define MG_AWAY_MS 5000
/* The last acks go out with the next turns of the loop. */
#define MG_LINGER_MS 50

/* Shares of the bytes in hand. Each lane has its own, so that waiting new orders leave room for the
 * replies of earlier ones. */
static const size_t HELD_EIGHTHS[MG_LANE_CONSUMERS] = {[MG_LANE_REPLIES] = 2,
                                                       [MG_LANE_COMMANDS] = 1,
                                                       [MG_LANE_SIGNALS] = 1,
                                                       [MG_LANE_HIGH] = 2,
                                                       [MG_LANE_NORMAL] = 2};

static bool is_idle(const struct mg_scheduler *scheduler)
{
    return scheduler->batcher.batch == NULL && scheduler->shared.works.count == 0 &&
           TAILQ_EMPTY(&scheduler->outbox.unsent) && scheduler->outbox.sent_count == 0 &&
           STAILQ_EMPTY(&scheduler->owing.marks) && STAILQ_EMPTY(&scheduler->owing.in_hand);
}

static void on_pump(void *arg)
{
    struct mg_scheduler *scheduler = arg;
    if (scheduler->shared.has_ended) {
        return;
    }
    mg_definitions_store(&scheduler->workflows);
    mg_owed_flush(&scheduler->owing);
    mg_reports_flush(&scheduler->reports);
    mg_outbox_pump(&scheduler->outbox);
    bool may_start =
        scheduler->workflows.is_loaded && scheduler->shared.is_store_up && scheduler->shared.is_broker_up &&
        scheduler->batcher.batch == NULL && TAILQ_EMPTY(&scheduler->outbox.unsent) &&
        !mg_timer_is_active(scheduler->batcher.backoff) && !mg_timer_is_active(scheduler->batcher.pace);
    if (may_start && (!mg_inbox_is_empty(&scheduler->inbox) || mg_aside_is_due(&scheduler->aside))) {
        mg_batch_start(&scheduler->batcher);
    }
    if (scheduler->shared.is_away || scheduler->shared.is_draining) {
        mg_aside_give_back(&scheduler->aside);
    }
    if (scheduler->shared.is_away) { /* the last batch, and deliveries that came before the broker stopped */
        mg_inbox_give_back(&scheduler->inbox);
    }
    if (scheduler->shared.is_draining) {
        mg_ack_left_due(&scheduler->ack, true);
    }
    if (scheduler->shared.is_draining && is_idle(scheduler) && !scheduler->is_lingering) {
        scheduler->is_lingering = true;
        mg_timer_start(scheduler->drain_timer, MG_LINGER_MS, 0);
    }
}

/* A scheduler that others leave no work reads no orders, and with them no clock. It would miss that the clock
 * was set back and set right again, and judge the deadlines of that time as passed when it takes over. */
static void clock_look(struct mg_shared *shared)
{
    int64_t asked_boot_ms, now_ms = mg_store_clock_ms(shared->store, &asked_boot_ms);
    if (shared->is_store_up && asked_boot_ms > shared->db_clock.asked_boot_ms) {
        (void)mg_far_clock_note(&shared->db_clock, now_ms, asked_boot_ms, mg_clock_boot_ms());
    }
}

static void on_tick(void *arg)
{
    struct mg_scheduler *scheduler = arg;
    clock_look(&scheduler->shared);
    mg_gates_look(&scheduler->gates);
    mg_aside_look(&scheduler->aside);
    mg_set_aside_look(&scheduler->set_aside);
    mg_standstill_look(&scheduler->standstill);
    mg_keyed_search(&scheduler->keyed);
    mg_rest_look(&scheduler->rest, scheduler->batcher.causes_done, mg_clock_boot_ms());
    mg_scheduler_wake(&scheduler->shared);
}

static void on_away(void *arg)
{
    struct mg_scheduler *scheduler = arg;
    scheduler->shared.is_away = true;
    mg_log(MG_LOG_WARN, "the store is still not available; waiting messages are left to other schedulers",
           MG_LOG_NUMBER("in_hand", scheduler->shared.works.count));
    mg_consumed_update(&scheduler->consumed);
    mg_scheduler_wake(&scheduler->shared);
}

static void on_drained(void *arg)
{
    struct mg_scheduler *scheduler = arg;
    mg_log(MG_LOG_INFO,
           scheduler->is_lingering ? "drained" : "drain timeout: unfinished messages will be redelivered",
           MG_LOG_NUMBER("left", scheduler->shared.works.count));
    mg_scheduler_end(&scheduler->shared, 0);
}

void mg_scheduler_account(void *scheduler, struct mg_beat *ret_beat)
{
    const struct mg_scheduler *self = scheduler;
    mg_standstill_account(&self->standstill, ret_beat);
    mg_orders_account(&self->shared.series, self->shared.metrics, ret_beat);
}

void mg_scheduler_drain(struct mg_scheduler *scheduler)
{
    if (scheduler->shared.is_draining) { /* called twice; the timeout bounds it anyway */
        return;
    }
    scheduler->shared.is_draining = true;
    mg_consumed_update(&scheduler->consumed);
    mg_inbox_give_back(&scheduler->inbox);
    mg_ack_left_due(&scheduler->ack, true);
    mg_log(MG_LOG_INFO, "draining", MG_LOG_NUMBER("in_hand", scheduler->shared.works.count));
    mg_timer_start(scheduler->drain_timer, scheduler->shared.options->drain_timeout_ms, 0);
    mg_scheduler_wake(&scheduler->shared);
}

bool mg_scheduler_is_ready(void *arg, char *ret_reason, size_t size)
{
    struct mg_scheduler *scheduler = arg;
    if (scheduler->shared.is_draining) {
        snprintf(ret_reason, size, "draining");
    } else if (!mg_store_is_ready(scheduler->shared.store, ret_reason, size)) {
        return false;
    } else if (!mg_broker_is_up(scheduler->shared.broker, ret_reason, size)) {
        return false;
    } else if (!scheduler->workflows.is_loaded) {
        snprintf(ret_reason, size, "the workflows are not loaded yet");
    } else if (mg_standstill_is(&scheduler->standstill, ret_reason, size)) {
        return false;
    } else {
        ret_reason[0] = '\0';
        if (scheduler->ack.newer_left + scheduler->ack.newer_set_aside > 0) {
            snprintf(ret_reason, size,
                     "messages of a newer version: %" PRId64 " left to other schedulers, %" PRId64
                     " set aside; upgrade this one",
                     scheduler->ack.newer_left, scheduler->ack.newer_set_aside);
        }
        return true;
    }
    return false;
}

/* ---- states of store and broker ---- */

static void on_store_state(void *arg, bool is_up, const char *reason)
{
    struct mg_scheduler *scheduler = arg;
    scheduler->shared.is_store_up = is_up;
    mg_cache_clear(&scheduler->cache);
    scheduler->loader.seen_at_boot_ms = 0; /* it may be another server, with another clock */
    mg_scheduler_rank(&scheduler->shared);
    mg_log(is_up ? MG_LOG_INFO : MG_LOG_WARN, is_up ? "the store is up" : "the store is down",
           MG_LOG_TEXT("why", reason != NULL ? reason : ""));
    if (is_up) {
        int64_t asked_boot_ms, now_ms = mg_store_clock_ms(scheduler->shared.store, &asked_boot_ms);
        (void)mg_far_clock_note(&scheduler->shared.db_clock, now_ms, asked_boot_ms, mg_clock_boot_ms());
        mg_timer_stop(scheduler->away_timer);
        if (scheduler->shared.is_away) {
            scheduler->shared.is_away = false;
            mg_consumed_update(&scheduler->consumed);
        }
    } else if (!scheduler->shared.is_draining && !scheduler->shared.is_away) {
        mg_timer_start(scheduler->away_timer, MG_AWAY_MS, 0);
    }
    mg_scheduler_wake(&scheduler->shared);
}

static void on_store_refused(void *arg, const char *reason)
{
    mg_log(MG_LOG_ERROR, "cannot use this store", MG_LOG_TEXT("why", reason));
    mg_scheduler_end(&((struct mg_scheduler *)arg)->shared, 1);
}

static void on_broker_state(void *arg, bool is_up, const char *reason)
{
    struct mg_scheduler *scheduler = arg;
    scheduler->shared.is_broker_up = is_up;
    mg_log(is_up ? MG_LOG_INFO : MG_LOG_WARN, is_up ? "the broker is up" : "the broker is down",
           MG_LOG_TEXT("why", reason != NULL ? reason : ""));
    scheduler->inbox.up_boot_ms = is_up ? mg_clock_boot_ms() : 0;
    if (!is_up) { /* the minimum over all processes counts: an outdated length would hide the others' */
        mg_consumed_unseen(&scheduler->consumed);
        mg_gates_unseen(&scheduler->gates);
        mg_aside_give_back(&scheduler->aside); /* they are delivered again */
    }
    mg_outbox_pump(&scheduler->outbox);
    mg_scheduler_wake(&scheduler->shared);
}

static void on_delivery(void *arg, struct mg_delivery *delivery)
{
    struct mg_scheduler *scheduler = arg;
    mg_route_delivery(&scheduler->inbox, &scheduler->outbox, &scheduler->reports, delivery);
}

/* ---- making and ending ---- */

static enum mg_class store_open(struct mg_scheduler *scheduler, struct mg_err *err)
{
    struct mg_store_options options = {
        .dsn = scheduler->shared.options->pg_dsn,
        .is_plaintext_allowed = scheduler->shared.options->broker.is_plaintext_allowed,
        .name = "makegood-scheduler",
        .statement_timeout = scheduler->shared.options->statement_timeout,
        .is_unsafe_durability_allowed = scheduler->shared.options->is_unsafe_durability_allowed,
        .metrics = scheduler->shared.metrics,
        .on_state = on_store_state,
        .on_refused = on_store_refused,
        .arg = scheduler,
    };
    return mg_store_create(scheduler->shared.loop, &options, &scheduler->shared.store, err);
}

static enum mg_class broker_open(struct mg_scheduler *scheduler, struct mg_err *err)
{
    scheduler->shared.rank = -(mg_clock_wall_ms() * MG_RANK_LOTS + (int64_t)(mg_random_u64() % MG_RANK_LOTS));
    struct mg_broker_options options = {
        .address = scheduler->shared.options->broker,
        .name = scheduler->shared.options->instance,
        .consumers = {[MG_LANE_REPLIES] = {.queue = MG_QUEUE_REPLIES},
                      [MG_LANE_COMMANDS] = {.queue = MG_QUEUE_COMMANDS},
                      [MG_LANE_SIGNALS] = {.queue = MG_QUEUE_SIGNALS},
                      [MG_LANE_HIGH] = {.queue = MG_QUEUE_INTAKE_HIGH},
                      [MG_LANE_NORMAL] = {.queue = MG_QUEUE_INTAKE}},
        .consumer_count = MG_LANE_CONSUMERS,
        .rank = scheduler->shared.rank,
        .check_queues = {MG_QUEUE_ALERTS, MG_QUEUE_REJECTED, MG_QUEUE_DEAD, NULL},
        .metrics = scheduler->shared.metrics,
        .on_delivery = on_delivery,
        .on_state = on_broker_state,
        .arg = scheduler,
    };
    for (int i = 0; i < options.consumer_count; i++) {
        bool is_intake = i == MG_LANE_HIGH || i == MG_LANE_NORMAL;
        options.consumers[i].prefetch = mg_suspects_prefetch(
            &scheduler->consumed.suspects, i, mg_consumed_prefetch(&scheduler->consumed, (enum mg_lane)i));
        options.consumers[i].bytes_max =
            scheduler->shared.options->memory_bytes / MG_MEMORY_HELD * HELD_EIGHTHS[i] / 8;
        options.consumers[i].body_max_bytes = is_intake ? scheduler->shared.options->limits.max_bytes
                                                        : scheduler->shared.message_limits.max_bytes;
    }
    return mg_broker_create(scheduler->shared.loop, &options, &scheduler->shared.broker, err);
}

static bool timers_create(struct mg_scheduler *scheduler)
{
    struct mg_loop *loop = scheduler->shared.loop;
    scheduler->shared.pump = mg_idle_create(loop, on_pump, scheduler);
    scheduler->drain_timer = mg_timer_create(loop, on_drained, scheduler);
    scheduler->away_timer = mg_timer_create(loop, on_away, scheduler);
    scheduler->tick = mg_timer_create(loop, on_tick, scheduler);
    return scheduler->shared.pump != NULL && scheduler->drain_timer != NULL &&
           scheduler->away_timer != NULL && scheduler->tick != NULL;
}

/* Each stage gets those that it calls. Lower ones report to higher ones by callbacks. False: no memory. */
static bool stages_init(struct mg_scheduler *scheduler)
{
    struct mg_shared *shared = &scheduler->shared;
    scheduler->consumed.shared = scheduler->set_aside.shared = shared;
    scheduler->gates = (struct mg_gates){.shared = shared, .unconfirmed = &scheduler->outbox.sent_count};
    scheduler->inbox = (struct mg_inbox){.shared = shared,
                                         .consumed = &scheduler->consumed,
                                         .isolated = &scheduler->isolated,
                                         .gates = &scheduler->gates};
    scheduler->loader = (struct mg_loader){
        .gates = &scheduler->gates, .cache = &scheduler->cache, .workflows = &scheduler->workflows};
    scheduler->workflows.shared = shared;
    scheduler->workflows.gates = &scheduler->gates;
    bool has_outbox = mg_outbox_init(&scheduler->outbox, shared);
    mg_alerts_init(&scheduler->alerts, &scheduler->outbox, &scheduler->gates);
    mg_owed_init(&scheduler->owing, &scheduler->alerts);
    mg_keyed_init(&scheduler->keyed, &scheduler->inbox, &scheduler->outbox);
    scheduler->fires =
        (struct mg_fires){.shared = shared, .inbox = &scheduler->inbox, .alerts = &scheduler->alerts};
    mg_confirm_init(&scheduler->confirm, &scheduler->inbox, &scheduler->owing);
    mg_reports_init(&scheduler->reports, shared);
    bool has_isolated = mg_isolated_init(&scheduler->isolated, &scheduler->consumed);
    bool has_ack = mg_ack_init(&scheduler->ack, &scheduler->consumed, &scheduler->alerts);
    mg_aside_init(&scheduler->aside, &scheduler->inbox, &scheduler->set_aside, &scheduler->alerts);
    bool has_batcher = mg_batcher_init(&scheduler->batcher, &scheduler->loader, &scheduler->aside,
                                       &scheduler->owing, &scheduler->keyed, &scheduler->fires);
    mg_standstill_init(&scheduler->standstill, &scheduler->batcher);
    return has_outbox && has_isolated && has_ack && has_batcher;
}

enum mg_class mg_scheduler_create(struct mg_loop *loop, const struct mg_scheduler_options *options,
                                  struct mg_metrics *metrics, struct mg_definition *definitions,
                                  struct mg_scheduler **ret_scheduler, struct mg_err *err)
{
    struct mg_scheduler *scheduler = calloc(1, sizeof(*scheduler));
    if (scheduler == NULL) {
        mg_definitions_destroy(definitions);
        return mg_err_set(err, MG_TRANSIENT, "could not make the scheduler: no memory");
    }
    scheduler->workflows.definitions = definitions;
    bool has_shared = mg_shared_init(&scheduler->shared, loop, options, metrics);
    bool has_stages = stages_init(scheduler);
    size_t cache_bytes = options->memory_bytes / MG_MEMORY_CACHE;
    scheduler->cache.bytes_max = cache_bytes < MG_CACHE_MAX_BYTES ? cache_bytes : MG_CACHE_MAX_BYTES;
    enum mg_class class = MG_OK;
    if (!timers_create(scheduler) || !has_shared || !has_stages) {
        class = mg_err_set(err, MG_TRANSIENT, "could not make the scheduler: no memory");
    }
    if (class == MG_OK) {
        class = store_open(scheduler, err);
    }
    if (class == MG_OK) {
        class = broker_open(scheduler, err);
    }
    if (class != MG_OK) {
        mg_scheduler_destroy(scheduler);
        return class;
    }
    mg_consumed_watch(&scheduler->consumed);
    mg_timer_start(scheduler->tick, MG_TICK_MS, MG_TICK_MS);
    mg_scheduler_wake(&scheduler->shared);
    *ret_scheduler = scheduler;
    return MG_OK;
}

void mg_scheduler_destroy(struct mg_scheduler *scheduler)
{
    if (scheduler == NULL) {
        return;
    }
    mg_store_destroy(scheduler->shared.store);
    mg_batcher_finish(&scheduler->batcher);
    mg_outbox_finish(&scheduler->outbox);
    mg_owed_finish(&scheduler->owing);
    mg_keyed_finish(&scheduler->keyed);
    mg_reports_finish(&scheduler->reports);
    mg_inbox_finish(&scheduler->inbox);
    mg_aside_finish(&scheduler->aside);
    mg_set_aside_finish(&scheduler->set_aside);
    if (scheduler->shared.broker != NULL) {
        mg_broker_destroy(scheduler->shared.broker);
    }
    mg_cache_clear(&scheduler->cache);
    mg_workflows_finish(&scheduler->workflows);
    mg_alerts_finish(&scheduler->alerts);
    mg_ack_finish(&scheduler->ack);
    mg_isolated_finish(&scheduler->isolated);
    mg_gates_finish(&scheduler->gates);
    mg_timer_destroy(scheduler->shared.store_retry);
    mg_timer_destroy(scheduler->drain_timer);
    mg_timer_destroy(scheduler->away_timer);
    mg_timer_destroy(scheduler->tick);
    if (scheduler->shared.pump != NULL) {
        mg_idle_destroy(scheduler->shared.pump);
    }
    free(scheduler);
}
