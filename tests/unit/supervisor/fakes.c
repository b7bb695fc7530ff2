/* See fakes.h. */
#include "fakes.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/log.h"

struct fake_world fake;
static struct mg_supervisor *supervisor;
static struct mg_metrics *metrics;

/* ---- loop and clocks ---- */

struct mg_loop {
    int unused;
};
struct mg_timer {
    struct mg_timer *next;
    mg_loop_fn *fn;
    void *arg;
    bool is_active;
    int64_t at_ms, repeat_ms;
};
static struct mg_loop the_loop;
static struct mg_timer *timers;

int64_t mg_clock_boot_ms(void)
{
    return fake.boot_ms;
}

int64_t mg_clock_boot_us(void)
{
    return fake.boot_ms * 1000;
}

int64_t mg_clock_wall_ms(void)
{
    return fake.boot_ms;
}

int64_t fake_database_ms(void)
{
    return fake.boot_ms + fake.database_ahead_ms;
}

struct mg_timer *mg_timer_create(struct mg_loop *loop, mg_loop_fn *fn, void *arg)
{
    assert(loop == &the_loop);
    struct mg_timer *timer = calloc(1, sizeof(*timer));
    assert(timer != NULL);
    timer->fn = fn;
    timer->arg = arg;
    timer->next = timers;
    timers = timer;
    return timer;
}

void mg_timer_start(struct mg_timer *timer, int64_t after_ms, int64_t repeat_ms)
{
    timer->is_active = true;
    timer->at_ms = fake.boot_ms + (after_ms < 1 ? 1 : after_ms);
    timer->repeat_ms = repeat_ms;
}

void mg_timer_stop(struct mg_timer *timer)
{
    timer->is_active = false;
}

void mg_timer_destroy(struct mg_timer *timer)
{
    (void)timer; /* all go at the end of the test */
}

void mg_loop_stop(struct mg_loop *loop)
{
    (void)loop;
    fake.loops_stopped++;
}

void fake_pass(int64_t ms)
{
    for (int64_t end_ms = fake.boot_ms + ms; fake.boot_ms < end_ms;) {
        int64_t left_ms = end_ms - fake.boot_ms;
        fake.boot_ms += left_ms < 50 ? left_ms : 50;
        for (struct mg_timer *timer = timers; timer != NULL; timer = timer->next) {
            if (timer->is_active && timer->at_ms <= fake.boot_ms) {
                timer->is_active = timer->repeat_ms > 0;
                timer->at_ms = fake.boot_ms + timer->repeat_ms;
                timer->fn(timer->arg);
            }
        }
    }
}

/* ---- log ---- */

void mg_log_write(enum mg_log_level level, const char *message, const struct mg_log_field *fields)
{
    (void)fields;
    fake.errors += level == MG_LOG_ERROR;
    fake.warnings += level == MG_LOG_WARN;
    if (level >= MG_LOG_WARN) {
        (void)snprintf(fake.last_line, sizeof(fake.last_line), "%s", message);
    }
}

/* ---- store ---- */

static mg_store_lead_fn *lead_done;
static mg_store_sweep_fn *sweep_done;
static mg_store_wake_fn *wake_done;
static mg_store_alerts_fn *write_done;
static mg_store_done_fn *resign_done;
static mg_store_rows_fn *count_done;
static mg_store_retire_fn *retire_done;

/* Never looked into; it only differs from the leader's store. */
static struct mg_store *fake_counting_store(void)
{
    static int store;
    return (struct mg_store *)(void *)&store;
}

bool mg_store_is_up(const struct mg_store *store, char *ret_reason, size_t size)
{
    bool is_up = store == fake_counting_store() ? !fake.is_counting_away : fake.is_store_up;
    (void)snprintf(ret_reason, size, "%s", is_up ? "" : "the database is away");
    return is_up;
}

bool mg_store_is_ready(const struct mg_store *store, char *ret_reason, size_t size)
{
    return mg_store_is_up(store, ret_reason, size);
}

void mg_store_try_lead(struct mg_store *store, const char *holder, mg_store_lead_fn *done, void *arg)
{
    (void)store;
    assert(!fake.is_trying && strcmp(holder, "me") == 0 && arg == supervisor);
    fake.is_trying = true;
    fake.tries++;
    lead_done = done;
}

static void answer_lead(const struct mg_lead_answer *answer)
{
    assert(fake.is_trying);
    fake.is_trying = false;
    lead_done(supervisor, answer, NULL);
}

void fake_answer_lead(bool is_leader, int64_t swept_ago_ms)
{
    answer_lead(
        &(struct mg_lead_answer){.is_leader = is_leader,
                                 .epoch = is_leader ? 7 : 0,
                                 .now_ms = fake_database_ms(),
                                 .swept_at_ms = swept_ago_ms < 0 ? 0 : fake_database_ms() - swept_ago_ms});
}

void fake_answer_lead_refused(const char *refusal)
{
    answer_lead(&(struct mg_lead_answer){.refusal = refusal});
}

void fake_answer_lead_held(const char *held_by)
{
    answer_lead(&(struct mg_lead_answer){.now_ms = fake_database_ms(), .held_by = held_by});
}

void mg_store_stop_leading(struct mg_store *store, mg_store_done_fn *done, void *arg)
{
    (void)store;
    assert(arg == supervisor);
    fake.is_resigning = true;
    fake.resigned++;
    resign_done = done;
}

void fake_answer_resigned(void)
{
    assert(fake.is_resigning);
    fake.is_resigning = false;
    resign_done(supervisor, NULL);
}

struct mg_rows {
    int count;
    const char *const (*cells)[FAKE_COLUMNS];
};

void mg_store_report(struct mg_store *store, enum mg_report report, const char *const *params,
                     int param_count, mg_store_rows_fn *done, void *arg)
{
    (void)params;
    assert(param_count == (report == MG_REPORT_WAITING ? 1 : 0));
    if (report == MG_REPORT_FIGURES) {
        assert(!fake.is_count_open && store == fake_counting_store() && arg == supervisor);
        fake.is_count_open = true;
        fake.counts++;
        count_done = done;
        return;
    }
    if (report == MG_REPORT_CONTROL) {
        struct mg_err err;
        const struct mg_rows rows = {fake.wanted_count, fake.wanted};
        (void)mg_err_set(&err, MG_TRANSIENT, "the database is away");
        assert(store == fake_counting_store());
        fake.boot_ms += fake.wanted_takes_ms;
        done(arg, fake.is_wanted_unreadable ? NULL : &rows, fake.is_wanted_unreadable ? &err : NULL);
        return;
    }
    if (report == MG_REPORT_UNNEEDED_ALERTS) {
        struct mg_err err;
        const struct mg_rows rows = {fake.unneeded_count, fake.unneeded};
        (void)mg_err_set(&err, MG_TRANSIENT, "the database is away");
        assert(store == fake_counting_store());
        done(arg, fake.is_unneeded_unreadable ? NULL : &rows, fake.is_unneeded_unreadable ? &err : NULL);
        return;
    }
    if (report == MG_REPORT_PROCESSES) {
        const struct mg_rows rows = {fake.process_count, fake.processes};
        assert(store == fake_counting_store());
        done(arg, &rows, NULL);
        return;
    }
    if (report == MG_REPORT_WAITING) {
        const struct mg_rows rows = {fake.waiting_count, fake.waiting};
        done(arg, &rows, NULL);
        return;
    }
    assert(report == MG_REPORT_LEADER);
    fake.kept++;
    done(arg, NULL, NULL);
}

int mg_rows_count(const struct mg_rows *rows)
{
    return rows->count;
}

struct mg_slice mg_rows_value(const struct mg_rows *rows, int row, int column)
{
    return mg_slice_of(rows->cells[row][column]);
}

void fake_answer_count(const char *const (*cells)[FAKE_COLUMNS], int count)
{
    const struct mg_rows rows = {count, cells};
    assert(fake.is_count_open);
    fake.is_count_open = false;
    count_done(supervisor, &rows, NULL);
}

void fake_answer_count_failed(void)
{
    struct mg_err err;
    (void)mg_err_set(&err, MG_TRANSIENT, "the database is away");
    assert(fake.is_count_open);
    fake.is_count_open = false;
    count_done(supervisor, NULL, &err);
}

void mg_store_retire(struct mg_store *store, uint64_t epoch, const char *holder, int bite,
                     mg_store_retire_fn *done, void *arg)
{
    assert(store == fake_counting_store() && !fake.is_retire_open && arg == supervisor);
    assert(epoch == 7 && strcmp(holder, "me") == 0 && bite > 0);
    fake.is_retire_open = true;
    fake.retires++;
    fake.bite = bite;
    retire_done = done;
}

void fake_answer_retire(const struct mg_retire_answer *answer)
{
    assert(fake.is_retire_open);
    fake.is_retire_open = false;
    retire_done(supervisor, answer, NULL);
}

void fake_answer_retire_failed(void)
{
    struct mg_err err;
    (void)mg_err_set(&err, MG_TRANSIENT, "the disk is full");
    assert(fake.is_retire_open);
    fake.is_retire_open = false;
    retire_done(supervisor, NULL, &err);
}

void mg_store_sweep(struct mg_store *store, const struct mg_sweep_options *options, mg_store_sweep_fn *done,
                    void *arg)
{
    (void)store;
    assert(!fake.is_sweep_open && !fake.is_wake_open && arg == supervisor);
    fake.is_sweep_open = true;
    fake.sweeps++;
    fake.asked = *options;
    fake.asked_boot_ms = fake.boot_ms;
    sweep_done = done;
}

static void answer_sweep(struct mg_sweep_answer answer)
{
    assert(fake.is_sweep_open);
    fake.is_sweep_open = false;
    answer.now_ms = fake.asked_boot_ms + fake.database_ahead_ms;
    sweep_done(supervisor, &answer, NULL);
}

void fake_answer_sweep(const struct mg_due *dues, int count)
{
    answer_sweep((struct mg_sweep_answer){.is_leader = true, .dues = dues, .due_count = count});
}

void fake_answer_sweep_full(const struct mg_due *dues, int count, int64_t overdue_total)
{
    answer_sweep((struct mg_sweep_answer){.is_leader = true,
                                          .dues = dues,
                                          .due_count = count,
                                          .overdue_total = overdue_total,
                                          .is_full = true});
}

void fake_answer_sweep_fenced(void)
{
    answer_sweep((struct mg_sweep_answer){.is_leader = false});
}

void fake_answer_sweep_failed(void)
{
    struct mg_err err;
    (void)mg_err_set(&err, MG_TRANSIENT, "the database is away");
    assert(fake.is_sweep_open);
    fake.is_sweep_open = false;
    sweep_done(supervisor, NULL, &err);
}

void mg_store_wake(struct mg_store *store, uint64_t epoch, const char *holder, int limit,
                   mg_store_wake_fn *done, void *arg)
{
    (void)store;
    assert(!fake.is_sweep_open && !fake.is_wake_open && arg == supervisor);
    assert(epoch == 7 && strcmp(holder, "me") == 0 && limit > 0);
    fake.is_wake_open = true;
    fake.wakes++;
    wake_done = done;
}

void fake_answer_wake(bool is_leader, bool is_full)
{
    assert(fake.is_wake_open);
    fake.is_wake_open = false;
    wake_done(supervisor, is_leader, is_full, NULL);
}

void fake_answer_wake_failed(void)
{
    struct mg_err err;
    (void)mg_err_set(&err, MG_TRANSIENT, "the database is away");
    assert(fake.is_wake_open);
    fake.is_wake_open = false;
    wake_done(supervisor, false, false, &err);
}

void mg_store_write_alerts(struct mg_store *store, const struct mg_alert_write *alerts, int count,
                           mg_store_alerts_fn *done, void *arg)
{
    (void)store;
    assert(!fake.is_write_open && arg == supervisor && count > 0 &&
           count <= MG_WATCHED_COUNT + MG_SUPERVISOR_UNNEEDED_MAX);
    fake.is_write_open = true;
    fake.writes++;
    fake.alert_count = count;
    for (int i = 0; i < count; i++) {
        fake.alerts[i] = alerts[i];
        (void)snprintf(fake.alert_texts[i], sizeof(fake.alert_texts[i]), "%.*s", (int)alerts[i].text.len,
                       alerts[i].text.data);
    }
    write_done = done;
}

/* As the table does: one open row for each alert; each write returns whether it changed the row. */
void fake_answer_write(void)
{
    bool is_changed[MG_WATCHED_COUNT + MG_SUPERVISOR_UNNEEDED_MAX] = {false};
    assert(fake.is_write_open);
    fake.is_write_open = false;
    for (int i = 0; i < fake.alert_count; i++) {
        enum mg_alert alert = fake.alerts[i].alert;
        if (alert == MG_ALERT_UNPUBLISHABLE) { /* found open a moment ago */
            assert(fake.alerts[i].is_closed);
            is_changed[i] = true;
            continue;
        }
        enum mg_watched watched = alert == MG_ALERT_DEAD_LETTER                   ? MG_WATCHED_DEAD_LETTERS
                                  : alert == MG_ALERT_MASS_EXPIRY                 ? MG_WATCHED_MASS_EXPIRY
                                  : alert == MG_ALERT_RETENTION_STANDS            ? MG_WATCHED_RETENTION
                                  : alert == MG_ALERT_ORDER_PASSED_BY             ? MG_WATCHED_PASSED_BY
                                  : alert == MG_ALERT_STANDSTILL                  ? MG_WATCHED_STANDSTILL
                                  : alert != MG_ALERT_SLOW_SWEEP                  ? MG_WATCHED_STUCK_ORDERS
                                  : strcmp(fake.alerts[i].subject, "sweeps") == 0 ? MG_WATCHED_SLOW_SWEEP
                                                                                  : MG_WATCHED_PARKED_CROWD;
        for (int q = 0; alert == MG_ALERT_QUEUE_MISSING && q < MG_SUPERVISOR_QUEUES; q++) {
            if (strcmp(fake.alerts[i].subject, MG_SUPERVISOR_QUEUE_NAMES[q]) == 0) {
                watched = (enum mg_watched)(MG_WATCHED_QUEUE + q);
            }
        }
        is_changed[i] = fake.is_open[watched] == fake.alerts[i].is_closed;
        fake.is_open[watched] = !fake.alerts[i].is_closed;
    }
    write_done(supervisor, is_changed, fake.alert_count, NULL);
}

/* ---- broker ---- */

static struct {
    char queue[MG_QUEUE_NAME_SIZE];
    mg_queue_seen_fn *seen;
    void *arg;
} watches[MG_SUPERVISOR_QUEUES + FAKE_ROOMS_MAX];
static int watch_count;

bool mg_broker_is_up(const struct mg_broker *broker, char *ret_reason, size_t size)
{
    (void)broker;
    (void)snprintf(ret_reason, size, "%s", fake.is_broker_up ? "" : "the broker is away");
    return fake.is_broker_up;
}

size_t mg_broker_publish_room(const struct mg_broker *broker)
{
    (void)broker;
    return fake.room;
}

const char *mg_publish_outcome_name(enum mg_publish_outcome outcome)
{
    (void)outcome;
    return "as the test said";
}

enum mg_class mg_broker_watch_queue(struct mg_broker *broker, const char *queue, int64_t period_ms,
                                    mg_queue_seen_fn *seen, void *arg, struct mg_err *err)
{
    (void)broker;
    (void)period_ms;
    for (int i = 0; i < watch_count; i++) {
        if (strcmp(watches[i].queue, queue) == 0) {
            return MG_OK;
        }
    }
    assert(watch_count < MG_SUPERVISOR_QUEUES + FAKE_ROOMS_MAX);
    if (fake.is_unwatchable) {
        return mg_err_set(err, MG_PERMANENT, "too many are watched");
    }
    (void)snprintf(watches[watch_count].queue, MG_QUEUE_NAME_SIZE, "%s", queue);
    watches[watch_count].seen = seen;
    watches[watch_count++].arg = arg;
    return MG_OK;
}

void mg_broker_unwatch_queue(struct mg_broker *broker, const char *queue)
{
    (void)broker;
    for (int i = 0; i < watch_count; i++) {
        if (strcmp(watches[i].queue, queue) == 0) {
            watches[i] = watches[--watch_count];
            return;
        }
    }
}

int fake_watches(void)
{
    return watch_count;
}

void mg_broker_look(struct mg_broker *broker, const char *queue)
{
    (void)broker;
    (void)queue;
    fake.looks++;
}

void fake_queue_seen(const char *queue, int64_t ready, int64_t consumers)
{
    for (int i = 0; i < watch_count; i++) {
        if (strcmp(watches[i].queue, queue) == 0) {
            watches[i].seen(watches[i].arg, queue, ready, consumers);
            return;
        }
    }
    assert(!"the queue is not watched");
}

static void message_keep(const struct mg_message *message)
{
    struct mg_err err;
    if (strcmp(message->type, "alert") == 0) {
        assert(fake.alerts_sent_count < FAKE_PUBLISHED_MAX);
        assert(mg_alert_parse(message->body, &fake.alerts_sent[fake.alerts_sent_count++], &err) == MG_OK);
        return;
    }
    struct mg_arena *arena = mg_arena_create(4096);
    struct mg_command *command = &fake.commands[fake.command_count++];
    assert(fake.command_count <= FAKE_PUBLISHED_MAX && arena != NULL);
    assert(mg_command_parse(message->body, &MG_JSON_LIMITS_DATA, arena, command, &err) == MG_OK);
    assert(strcmp(command->command_id, message->message_id) == 0);
    assert(message->reply_to == NULL);
    mg_arena_destroy(arena);
}

void mg_broker_cast(struct mg_broker *broker, const char *exchange, const char *routing_key, const char *type,
                    struct mg_slice body)
{
    struct mg_err err;
    struct mg_service_control *control = &fake.casts[fake.cast_count++];
    (void)broker;
    assert(fake.cast_count <= FAKE_CASTS_MAX && strcmp(exchange, "makegood.control") == 0);
    assert(strcmp(type, "service_control") == 0);
    assert(mg_service_control_parse(body, control, &err) == MG_OK);
    assert(strcmp(control->service, routing_key) == 0);
}

/* Confirms at once, which the real one never does; the supervisor waits for no confirm. */
enum mg_class mg_broker_publish(struct mg_broker *broker, const struct mg_message *message,
                                mg_published_fn *done, void *arg, struct mg_err *err)
{
    (void)broker;
    if (fake.room == 0) {
        return mg_err_set(err, MG_TRANSIENT, "the window is full");
    }
    fake.room--;
    if (fake.outcome == MG_PUBLISH_CONFIRMED) {
        message_keep(message);
    }
    done(arg, fake.outcome);
    return MG_OK;
}

/* ---- the whole ---- */

struct mg_supervisor *fake_start(void)
{
    fake = (struct fake_world){.boot_ms = 1000000,
                               .database_ahead_ms = FAKE_NOW_MS - 1000000,
                               .is_store_up = true,
                               .is_broker_up = true,
                               .room = 4096};
    watch_count = 0;
    supervisor = calloc(1, sizeof(*supervisor));
    assert(supervisor != NULL);
    supervisor->options = (struct mg_supervisor_options){.sweep_period_ms = 250,
                                                         .sweep_batch = 500,
                                                         .ask_again_ms = 2000,
                                                         .lead_period_ms = 500,
                                                         .gap_ms = 3000,
                                                         .grace_ms = 3000,
                                                         .overdue_limit = 200,
                                                         .window = 1000};
    (void)snprintf(supervisor->holder, sizeof(supervisor->holder), "me");
    supervisor->loop = &the_loop;
    metrics = mg_metrics_create();
    mg_supervisor_metrics_make(supervisor, metrics);
    supervisor->counting = fake_counting_store();
    assert(mg_supervisor_lead_start(supervisor, &MG_SUPERVISOR_DUTIES));
    return supervisor;
}

struct mg_supervisor *fake_supervisor(void)
{
    return supervisor;
}

void fake_finish(void)
{
    mg_supervisor_relay_finish(supervisor);
    while (timers != NULL) {
        struct mg_timer *timer = timers;
        timers = timer->next;
        free(timer);
    }
    mg_metrics_destroy(metrics);
    free(supervisor);
}

void fake_lead(int64_t swept_ago_ms)
{
    fake_pass(50);
    fake_answer_lead(true, swept_ago_ms);
    fake_pass(50);
    assert(fake.is_sweep_open);
}

void fake_pass_quietly(int64_t ms)
{
    for (int64_t passed_ms = 0; passed_ms < ms; passed_ms += 50) {
        fake_pass(50);
        if (fake.is_sweep_open) {
            fake_answer_sweep(NULL, 0);
        }
        if (fake.is_owed_open) {
            fake_answer_owed(NULL, 0);
        }
        if (fake.is_write_open) {
            fake_answer_write();
        }
    }
}
