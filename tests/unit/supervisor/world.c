/* See world.h. */
#include "world.h"

#include "io/store/minutes.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

struct fake_world fake;
static struct mg_supervisor *supervisor;
static struct mg_metrics *metrics;

void fake_pass(int64_t ms)
{
    for (int64_t end_ms = fake_clock.boot_ms + ms; fake_clock.boot_ms < end_ms;) {
        int64_t left_ms = end_ms - fake_clock.boot_ms;
        fake_clock_pass(left_ms < 50 ? left_ms : 50);
        fake_loop_advance(0);
    }
}

int64_t fake_database_ms(void)
{
    return fake_clock.boot_ms + fake.database_ahead_ms;
}

/* ---- store ---- */

static mg_store_lead_fn *lead_done;
static mg_store_sweep_fn *sweep_done;
static mg_store_wake_fn *wake_done;
static mg_store_alerts_fn *write_done;
static mg_store_done_fn *resign_done;
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

/* From the test's rows; NULL: it fails. */
static void report_answer(int question, const char *const (*rows)[FAKE_COLUMNS], int count)
{
    fake_report_answer(question, rows == NULL ? NULL : &(struct mg_rows){count, FAKE_COLUMNS, &rows[0][0]},
                       "the database is away");
}

/* All but the figures are answered at once. */
static void on_ask(const struct fake_report *report)
{
    const struct {
        enum mg_report report;
        const char *const (*rows)[FAKE_COLUMNS];
        int count;
        bool is_unreadable;
    } AT_ONCE[] = {
        {MG_REPORT_CONTROL, fake.wanted, fake.wanted_count, fake.is_wanted_unreadable},
        {MG_REPORT_UNNEEDED_ALERTS, fake.unneeded, fake.unneeded_count, fake.is_unneeded_unreadable},
        {MG_REPORT_PROCESSES, fake.processes, fake.process_count, false},
        {MG_REPORT_WAITING, fake.waiting, fake.waiting_count, false},
        {MG_REPORT_LINE_TURNS, fake.turns, fake.turn_count, false},
        {MG_REPORT_LINE_FIGURES, fake.lines, fake.lines != NULL ? 1 : 0, fake.is_lines_unreadable},
        {MG_REPORT_LEADER, NULL, 0, false}};
    static const char *const NONE[1][FAKE_COLUMNS];
    bool is_waiting = report->report == MG_REPORT_WAITING;
    bool is_of_leader = is_waiting || report->report == MG_REPORT_LEADER;
    bool is_of_figures = report->report == MG_REPORT_LINE_FIGURES || report->report == MG_REPORT_FIGURES;
    assert(report->param_count == (report->report == MG_REPORT_LINE_TURNS ? 2
                                   : is_waiting || is_of_figures          ? 1
                                                                          : 0));
    assert(is_of_leader || report->store == fake_counting_store());
    fake.kept += report->report == MG_REPORT_LEADER;
    fake.counts += report->report == MG_REPORT_FIGURES;
    fake_clock_pass(report->report == MG_REPORT_CONTROL ? fake.wanted_takes_ms : 0);
    for (size_t i = 0; i < sizeof(AT_ONCE) / sizeof(AT_ONCE[0]); i++) {
        if (AT_ONCE[i].report == report->report) {
            bool has_rows = AT_ONCE[i].rows != NULL;
            report_answer(fake_reports.open_count - 1,
                          AT_ONCE[i].is_unreadable ? NULL
                          : has_rows               ? AT_ONCE[i].rows
                                                   : NONE,
                          AT_ONCE[i].count);
            return;
        }
    }
    assert(report->report == MG_REPORT_FIGURES && report->arg == supervisor && fake_reports.open_count == 1);
}

void fake_answer_count(const char *const (*cells)[FAKE_COLUMNS], int count)
{
    report_answer(0, cells, count);
}

void fake_answer_count_failed(void)
{
    report_answer(0, NULL, 0);
}

void mg_store_forget_signals(struct mg_store *store, uint64_t epoch, const char *holder, int64_t bite,
                             int64_t late_for_ms, mg_store_forget_signals_fn *done, void *arg)
{
    struct mg_err err;
    assert(store == fake_counting_store() && arg == supervisor);
    assert(epoch == 7 && strcmp(holder, "me") == 0 && bite == 1000 && late_for_ms == 86400000);
    fake.forgets++;
    (void)mg_err_set(&err, MG_TRANSIENT, "the disk is full");
    done(arg, &fake.kept_signals, fake.is_forget_failing ? &err : NULL);
}

void mg_store_count_minutes(struct mg_store *store, uint64_t epoch, const char *holder,
                            mg_store_done_fn *done, void *arg)
{
    struct mg_err err;
    assert(store == fake_counting_store() && arg == supervisor);
    assert(epoch == 7 && strcmp(holder, "me") == 0);
    fake.minute_counts++;
    (void)mg_err_set(&err, MG_TRANSIENT, "the disk is full");
    done(arg, fake.is_minute_failing ? &err : NULL);
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
    fake.asked_boot_ms = fake_clock.boot_ms;
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
                                  : alert == MG_ALERT_LINE_HELD                   ? MG_WATCHED_LINES
                                  : alert == MG_ALERT_SIGNAL_UNMATCHED            ? MG_WATCHED_SIGNALS
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

static void message_keep(const struct mg_message *message)
{
    struct mg_err err;
    if (strcmp(message->type, "alert") == 0) {
        assert(fake.alerts_sent_count < FAKE_KEPT_MAX);
        assert(mg_alert_parse(message->body, &fake.alerts_sent[fake.alerts_sent_count++], &err) == MG_OK);
        return;
    }
    struct mg_arena *arena = mg_arena_create(4096);
    struct mg_command *command = &fake.commands[fake.command_count++];
    assert(fake.command_count <= FAKE_KEPT_MAX && arena != NULL);
    assert(mg_command_parse(message->body, &MG_JSON_LIMITS_DATA, arena, command, &err) == MG_OK);
    assert(strcmp(command->command_id, message->message_id) == 0);
    assert(message->reply_to == NULL);
    mg_arena_destroy(arena);
}

static void on_cast(const char *exchange, const char *routing_key, const char *type, struct mg_slice body)
{
    struct mg_err err;
    struct mg_service_control *control = &fake.casts[fake.cast_count++];
    assert(fake.cast_count <= FAKE_CASTS_MAX && strcmp(exchange, "makegood.control") == 0);
    assert(strcmp(type, "service_control") == 0);
    assert(mg_service_control_parse(body, control, &err) == MG_OK);
    assert(strcmp(control->service, routing_key) == 0);
}

/* Ends at once, which the real one never does; the supervisor waits for no confirm. Its place in the window
 * stays taken. */
static void on_publish(const struct mg_message *message)
{
    if (fake.outcome == MG_PUBLISH_CONFIRMED) {
        message_keep(message);
    }
    fake_broker_end(message->type, fake.outcome);
    fake_broker.room--;
    fake_broker_forget();
}

/* ---- the whole ---- */

struct mg_supervisor *fake_start(void)
{
    fake = (struct fake_world){.database_ahead_ms = FAKE_NOW_MS - 1000000, .is_store_up = true};
    fake_clock = (struct fake_clock){1000000, 1000000};
    fake_log = (struct fake_log){0};
    fake_loop_reset();
    fake_broker_reset();
    fake_broker.room = 4096;
    fake_broker.on_publish = on_publish;
    fake_broker.on_cast = on_cast;
    fake_reports_reset();
    fake_reports.on_ask = on_ask;
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
    fake_loop_reset();
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
        if (fake.is_slots_open) {
            fake_answer_slots(NULL, 0);
        }
        if (fake.is_write_open) {
            fake_answer_write();
        }
    }
}
