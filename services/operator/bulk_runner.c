/*
 * See bulk_runner.h. One turn has three parts. The runner looks at the tables and sends the due commands of
 * all bulk actions. Then, for each bulk action in turn, it writes the results of ended orders, or, if there
 * are none, the next part of the plan (core/bulk_plan.h). After a write the next turn begins at once. Writes
 * are sequential, so two turns never overlap.
 */
#include "operator/bulk_runner.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "alert_publish.h"
#include "base/clock.h"
#include "base/failpoint.h"
#include "base/log.h"
#include "base/once.h"
#include "operator/bulk_orders.h"

/* As often as a supervisor sweeps; an operator sees progress. */
#define LOOK_PERIOD_MS 250
/* The period while no bulk action is open. */
#define IDLE_PERIOD_MS 1000
/* How often a standby tries to lead, and how soon a leader looks again after a failed look. */
#define LEAD_PERIOD_MS 500
/* How often the leader updates its row. It is well below the 10 s after which `bulk show` reports that no
 * runner is alive. */
#define KEEP_PERIOD_MS 2000
/* A leader that cannot send commands for this long gives up the lead, so that another process can try. */
#define MUTE_MAX_MS 5000
#define WHY_SIZE    320

/* A bulk action that has not ended. */
struct running {
    struct mg_bulk_orders orders;
    bool is_seen;                  /* in the last look */
    struct mg_once failure_logged; /* of its last write */
};

struct mg_bulk_runner {
    struct mg_store *store;
    struct mg_command_client *client;
    struct mg_timer *timer;
    char holder[128];
    void (*on_refused)(void *arg, const char *reason);
    void *arg;

    bool is_leader, is_busy;       /* is_busy: a database call is under way */
    bool has_written, has_failed;  /* in this turn */
    struct mg_once failure_logged; /* of the last look */
    char refusal[256];             /* why this session can never lead; "" if it can */
    int64_t kept_boot_ms;
    int64_t mute_since_boot_ms; /* since when no command can be sent; 0: commands can be sent */
    struct running running[MG_BULK_OPEN_MAX];
    int running_count;
    int turn;           /* index of the bulk action that is written next */
    char why[WHY_SIZE]; /* why that bulk action stops */
};

static void result_came(void *arg, const struct mg_command_result *result, struct mg_slice correlation_id)
{
    (void)correlation_id;
    struct mg_bulk_runner *runner = arg;
    for (int i = 0; i < runner->running_count; i++) {
        if (mg_bulk_orders_answer(&runner->running[i].orders, result)) {
            return;
        }
    }
}

/* The reply queue is new: answers to earlier commands went to the old one and are lost. */
static void place_changed(void *arg)
{
    struct mg_bulk_runner *runner = arg;
    for (int i = 0; i < runner->running_count; i++) {
        mg_bulk_orders_forget_sent(&runner->running[i].orders);
    }
}

/* ---- bulk actions ---- */

static void running_forget(struct mg_bulk_runner *runner)
{
    for (int i = 0; i < runner->running_count; i++) {
        mg_bulk_orders_finish(&runner->running[i].orders);
    }
    runner->running_count = 0;
}

static struct running *running_of(struct mg_bulk_runner *runner, const struct mg_bulk_row *row)
{
    for (int i = 0; i < runner->running_count; i++) {
        if (strcmp(runner->running[i].orders.row.bulk_id, row->bulk_id) == 0) {
            return &runner->running[i];
        }
    }
    if (runner->running_count == MG_BULK_OPEN_MAX ||
        !mg_bulk_orders_init(&runner->running[runner->running_count].orders)) {
        return NULL; /* the next look tries again */
    }
    mg_once_reset(&runner->running[runner->running_count].failure_logged);
    return &runner->running[runner->running_count++];
}

/* A bulk action that is absent from the look has ended. */
static void running_sweep(struct mg_bulk_runner *runner)
{
    int kept = 0;
    for (int i = 0; i < runner->running_count; i++) {
        if (runner->running[i].is_seen) {
            runner->running[kept++] = runner->running[i];
        } else {
            mg_bulk_orders_finish(&runner->running[i].orders);
        }
    }
    runner->running_count = kept;
}

static void running_take(struct mg_bulk_runner *runner, const struct mg_bulk_look *looked)
{
    for (int i = 0; i < runner->running_count; i++) {
        runner->running[i].is_seen = false;
    }
    for (int i = 0; i < looked->count; i++) {
        struct running *running = running_of(runner, &looked->rows[i]);
        if (running != NULL) {
            running->is_seen = true;
            mg_bulk_orders_take(&running->orders, i, looked);
        }
    }
    running_sweep(runner);
    for (int i = 0; i < runner->running_count; i++) {
        mg_bulk_orders_send(&runner->running[i].orders, runner->client);
    }
}

/* ---- the alert of a stopped bulk action ---- */

/* Published through the default exchange, to which the operator's user may write. If the publish fails,
 * the alert is still in the table. */
static void alert_publish(struct mg_bulk_runner *runner, const struct mg_bulk_row *row, const char *why)
{
    struct mg_alert_message alert = {.alert = MG_ALERT_BULK_STOPPED, .at_ms = row->bulk.now_us / 1000};
    (void)snprintf(alert.subject, sizeof(alert.subject), "%s", row->bulk_id);
    (void)snprintf(alert.text, sizeof(alert.text), "%s", why);
    if (!mg_alert_publish(mg_command_client_broker(runner->client), "", &alert, NULL, NULL)) {
        mg_log(MG_LOG_WARN, "could not publish an alert; the database has it",
               MG_LOG_TEXT("alert", mg_alert_name(alert.alert)), MG_LOG_TEXT("subject", alert.subject));
    }
}

/* ---- a turn ---- */

static void lead_lost(struct mg_bulk_runner *runner, const char *why)
{
    if (runner->is_leader) {
        mg_log(MG_LOG_WARN, "no longer running the bulk actions", MG_LOG_TEXT("reason", why));
    }
    runner->is_leader = false;
    running_forget(runner);
    mg_timer_start(runner->timer, LEAD_PERIOD_MS, 0);
}

static void turn_end(struct mg_bulk_runner *runner)
{
    runner->is_busy = false;
    int64_t period_ms = runner->running_count > 0 ? LOOK_PERIOD_MS : IDLE_PERIOD_MS;
    mg_timer_start(runner->timer,
                   runner->has_failed    ? LEAD_PERIOD_MS
                   : runner->has_written ? 1
                                         : period_ms,
                   0);
}

static void turn_failed(struct mg_bulk_runner *runner, const struct mg_err *err)
{
    mg_log(mg_once_set(&runner->failure_logged) ? MG_LOG_WARN : MG_LOG_DEBUG,
           "the bulk actions cannot proceed", MG_LOG_TEXT("reason", err->text));
    runner->has_failed = true;
    turn_end(runner);
}

static void bulk_failed(struct mg_bulk_runner *runner, struct running *running, const struct mg_err *err)
{
    mg_log(mg_once_set(&running->failure_logged) ? MG_LOG_WARN : MG_LOG_DEBUG, "a bulk action cannot proceed",
           MG_LOG_TEXT("bulk_id", running->orders.row.bulk_id), MG_LOG_TEXT("reason", err->text));
    runner->has_failed = true;
}

/* "3 failed again", "3 failed again, 1 otherwise" */
static void failed_write(int64_t failed, int64_t otherwise, char *ret_text, size_t size)
{
    if (otherwise == 0) {
        (void)snprintf(ret_text, size, "%lld failed again", (long long)failed);
    } else {
        (void)snprintf(ret_text, size, "%lld failed again, %lld otherwise", (long long)(failed - otherwise),
                       (long long)otherwise);
    }
}

static void why_write(const struct running *running, enum mg_bulk_why why, char *ret_text, size_t size)
{
    const struct mg_bulk *bulk = &running->orders.row.bulk;
    char failed[80];
    if (why == MG_BULK_CANARY_FAILED) {
        failed_write(bulk->failed, bulk->failed_otherwise, failed, sizeof(failed));
        (void)snprintf(ret_text, size,
                       "of its canary orders %s, %lld succeeded; %lld more were not started: makegood "
                       "bulk show %s --result failed",
                       failed, (long long)bulk->done, (long long)bulk->waiting, running->orders.row.bulk_id);
    } else {
        failed_write(bulk->recent_failed, bulk->recent_failed_otherwise, failed, sizeof(failed));
        (void)snprintf(ret_text, size,
                       "of the last %lld orders %s; %lld more were not started: makegood bulk show %s "
                       "--result failed",
                       (long long)bulk->recent, failed, (long long)bulk->waiting,
                       running->orders.row.bulk_id);
    }
}

static void turn_next(struct mg_bulk_runner *runner);

static void bulk_written(void *arg, const struct mg_bulk_written *written, const struct mg_err *err)
{
    struct mg_bulk_runner *runner = arg;
    struct running *running = &runner->running[runner->turn++];
    if (err != NULL) {
        bulk_failed(runner, running, err);
        turn_next(runner); /* the other bulk actions go on */
        return;
    }
    MG_FAILPOINT(BULK_WRITTEN);
    if (!written->is_leader) {
        runner->is_busy = false;
        lead_lost(runner, "another process leads");
        return;
    }
    mg_once_reset(&running->failure_logged);
    runner->has_written = true; /* the row is new, even if an operator changed it first */
    if (written->is_alerted) {
        mg_log(MG_LOG_WARN, "a bulk action stopped", MG_LOG_TEXT("bulk_id", running->orders.row.bulk_id),
               MG_LOG_TEXT("reason", runner->why));
        alert_publish(runner, &running->orders.row, runner->why);
    }
    turn_next(runner);
}

/* Makes the next write of a bulk action; false: none is due. Results are written first, because the plan is
 * made from the written results. They fit into one write: there are at most as many as orders under way. */
static bool write_make(struct mg_bulk_runner *runner, struct running *running,
                       struct mg_bulk_write *ret_write)
{
    const struct mg_bulk *bulk = &running->orders.row.bulk;
    char reason[256];
    struct mg_bulk_plan same = {bulk->state, bulk->is_tried, 0, bulk->next_us, MG_BULK_GOES_ON};
    *ret_write = (struct mg_bulk_write){.row = &running->orders.row, .plan = same};
    if (running->orders.ended_count > 0) {
        ret_write->ended = running->orders.ended;
        ret_write->ended_count = running->orders.ended_count;
        return true;
    }
    ret_write->plan = mg_bulk_plan(bulk);
    if (!mg_command_client_is_up(runner->client, reason, sizeof(reason))) {
        ret_write->plan.ask = 0; /* marked orders would only wait for their commands */
        ret_write->plan.next_us = bulk->next_us;
    }
    if (ret_write->plan.why != MG_BULK_GOES_ON) {
        why_write(running, ret_write->plan.why, runner->why, sizeof(runner->why));
        ret_write->why = runner->why;
    }
    return ret_write->plan.ask > 0 || ret_write->plan.state != bulk->state;
}

/* Writes the bulk actions one after the other, then ends the turn. */
static void turn_next(struct mg_bulk_runner *runner)
{
    for (; runner->turn < runner->running_count; runner->turn++) {
        struct running *running = &runner->running[runner->turn];
        struct mg_bulk_write write;
        if (write_make(runner, running, &write)) {
            if (write.plan.state != running->orders.row.bulk.state) {
                mg_log(MG_LOG_INFO, "the state of a bulk action changed",
                       MG_LOG_TEXT("bulk_id", running->orders.row.bulk_id),
                       MG_LOG_TEXT("state", mg_bulk_state_name(write.plan.state)),
                       MG_LOG_NUMBER("waiting", running->orders.row.bulk.waiting),
                       MG_LOG_NUMBER("done", running->orders.row.bulk.done),
                       MG_LOG_NUMBER("failed", running->orders.row.bulk.failed));
            }
            mg_store_write_bulk(runner->store, &write, bulk_written, runner);
            return;
        }
    }
    turn_end(runner);
}

static void looked(void *arg, const struct mg_bulk_look *look, const struct mg_err *err)
{
    struct mg_bulk_runner *runner = arg;
    if (err != NULL) {
        turn_failed(runner, err);
        return;
    }
    mg_once_reset(&runner->failure_logged);
    runner->turn = 0;
    running_take(runner, look);
    turn_next(runner);
}

/* ---- leading ---- */

static void lead_answered(void *arg, const struct mg_lead_answer *answer, const struct mg_err *err)
{
    struct mg_bulk_runner *runner = arg;
    runner->is_busy = false;
    if (err == NULL && answer->refusal != NULL && strcmp(runner->refusal, answer->refusal) != 0) {
        (void)snprintf(runner->refusal, sizeof(runner->refusal), "%s", answer->refusal);
        mg_log(MG_LOG_ERROR, "cannot run the bulk actions", MG_LOG_TEXT("reason", runner->refusal));
    }
    if (err == NULL && answer->is_leader) {
        runner->is_leader = true;
        runner->refusal[0] = '\0';
        runner->kept_boot_ms = mg_clock_boot_ms();
        mg_log(MG_LOG_INFO, "running the bulk actions", MG_LOG_NUMBER("epoch", answer->epoch),
               MG_LOG_TEXT("holder", runner->holder));
    }
    mg_timer_start(runner->timer, runner->is_leader ? 1 : LEAD_PERIOD_MS, 0);
}

static void kept(void *arg, bool changed, const struct mg_err *err)
{
    struct mg_bulk_runner *runner = arg;
    if (err != NULL) {
        turn_failed(runner, err);
        return;
    }
    if (!changed) {
        runner->is_busy = false;
        lead_lost(runner, "another process leads");
        return;
    }
    runner->kept_boot_ms = mg_clock_boot_ms();
    mg_store_look_at_bulk(runner->store, looked, runner);
}

static void lead_given_back(void *arg, const struct mg_err *err)
{
    struct mg_bulk_runner *runner = arg;
    (void)err; /* if the session is gone, its lock is gone too */
    runner->is_busy = false;
    lead_lost(runner, "the broker is not available");
}

static bool is_mute(struct mg_bulk_runner *runner)
{
    char reason[256];
    bool is_up = mg_command_client_is_up(runner->client, reason, sizeof(reason));
    int64_t since_boot_ms = runner->mute_since_boot_ms;
    runner->mute_since_boot_ms = is_up ? 0 : since_boot_ms != 0 ? since_boot_ms : mg_clock_boot_ms();
    return !is_up;
}

static void turn_begin(void *arg)
{
    struct mg_bulk_runner *runner = arg;
    char reason[256];
    if (runner->is_busy) {
        return;
    }
    if (!mg_store_is_up(runner->store, reason, sizeof(reason))) {
        mg_timer_start(runner->timer, LEAD_PERIOD_MS, 0);
        return;
    }
    bool cannot_ask = is_mute(runner);
    runner->is_busy = true;
    runner->has_written = runner->has_failed = false;
    if (!runner->is_leader && cannot_ask) {
        mg_store_keep_bulk(runner->store, kept, runner); /* keeps the idle session alive */
    } else if (!runner->is_leader) {
        mg_store_try_lead(runner->store, runner->holder, lead_answered, runner);
    } else if (cannot_ask && mg_clock_boot_ms() - runner->mute_since_boot_ms >= MUTE_MAX_MS) {
        mg_store_stop_leading(runner->store, lead_given_back, runner);
    } else if (mg_clock_boot_ms() - runner->kept_boot_ms >= KEEP_PERIOD_MS) {
        mg_store_keep_bulk(runner->store, kept, runner);
    } else {
        mg_store_look_at_bulk(runner->store, looked, runner);
    }
}

static void session_changed(void *arg, bool is_up, const char *reason)
{
    struct mg_bulk_runner *runner = arg;
    mg_log(is_up ? MG_LOG_INFO : MG_LOG_WARN, is_up ? "database up" : "database down",
           MG_LOG_TEXT("reason", reason));
    runner->refusal[0] = '\0'; /* it was about the previous session */
    if (!is_up) {
        lead_lost(runner, "the database session is lost");
    } else if (!runner->is_busy) {
        mg_timer_start(runner->timer, 0, 0);
    }
}

static void session_refused(void *arg, const char *reason)
{
    struct mg_bulk_runner *runner = arg;
    mg_log(MG_LOG_ERROR, "cannot use this database", MG_LOG_TEXT("reason", reason));
    if (runner->on_refused != NULL) {
        runner->on_refused(runner->arg, reason);
    }
}

/* ---- start and stop ---- */

enum mg_class mg_bulk_runner_start(struct mg_loop *loop, const struct mg_bulk_runner_options *options,
                                   struct mg_bulk_runner **ret_runner, struct mg_err *err)
{
    struct mg_bulk_runner *runner = calloc(1, sizeof(*runner));
    if (runner == NULL) {
        return mg_err_set(err, MG_TRANSIENT, "could not run the bulk actions: no memory");
    }
    (void)snprintf(runner->holder, sizeof(runner->holder), "%s", options->holder);
    runner->on_refused = options->on_refused;
    runner->arg = options->arg;
    runner->timer = mg_timer_create(loop, turn_begin, runner);
    const struct mg_store_options store = {.dsn = options->pg_dsn,
                                           .name = "makegood-bulk",
                                           .is_plaintext_allowed = options->broker.is_plaintext_allowed,
                                           /* The runner moves no orders; the schedulers refuse a server of
                                            * unsafe durability. */
                                           .is_unsafe_durability_allowed = true,
                                           .is_leader_session = true,
                                           .lead = MG_LEAD_BULK,
                                           .metrics = options->metrics,
                                           .on_state = session_changed,
                                           .on_refused = session_refused,
                                           .arg = runner};
    const struct mg_command_client_options client = {.address = options->broker,
                                                     .name = "makegood-bulk",
                                                     .metrics = options->metrics,
                                                     .on_result = result_came,
                                                     .on_place = place_changed,
                                                     .arg = runner};
    enum mg_class class = runner->timer != NULL
                              ? mg_command_client_create(loop, &client, &runner->client, err)
                              : mg_err_set(err, MG_TRANSIENT, "could not run the bulk actions: no memory");
    if (class == MG_OK) {
        class = mg_store_create(loop, &store, &runner->store, err);
    }
    if (class != MG_OK) {
        mg_bulk_runner_stop(runner);
        return class;
    }
    mg_timer_start(runner->timer, 0, 0);
    *ret_runner = runner;
    return MG_OK;
}

enum mg_class mg_bulk_runner_set_url(struct mg_bulk_runner *runner, const char *url, struct mg_err *err)
{
    return mg_broker_set_url(mg_command_client_broker(runner->client), url, err);
}

enum mg_class mg_bulk_runner_set_dsn(struct mg_bulk_runner *runner, const char *dsn, struct mg_err *err)
{
    return mg_store_set_dsn(runner->store, dsn, err);
}

void mg_bulk_runner_stop(struct mg_bulk_runner *runner)
{
    if (runner == NULL) {
        return;
    }
    mg_store_destroy(runner->store); /* ends the session, which releases the lock */
    mg_command_client_destroy(runner->client);
    mg_timer_destroy(runner->timer);
    running_forget(runner);
    free(runner);
}
