/* The statements of a supervisor's second session: those of common/io/store/report.c that it asks for, and
 * retention.c. */
#include <stdlib.h>
#include <string.h>

#include "store_tables.h"

#define SHARE_VALID_MS (10 * 1000) /* common/io/store/sql/report_control.sql */
#define ALERT_YOUNG_MS (10 * 1000)

/* ---- report_control ---- */

enum {
    SERVICE,
    VERSION,
    IS_PAUSED,
    CONCURRENCY,
    RATE,
    INSTANCE,
    BREAKER,
    IS_READY,
    PROCESS,
    IS_PROBER,
    IS_CALLING,
    NOW,
    COLUMN_COUNT
};

static int compare_texts(struct mg_slice a, struct mg_slice b)
{
    int order = memcmp(a.data, b.data, a.len < b.len ? a.len : b.len);
    return order != 0 ? order : (a.len > b.len) - (a.len < b.len);
}

static int compare_rows(const void *a, const void *b)
{
    const struct sim_service *one = a, *two = b;
    int order = compare_texts(one->service, two->service);
    return order != 0 ? order : compare_texts(one->instance, two->instance);
}

static bool is_fresh(const struct sim_service *row, int64_t now_ms)
{
    return row->reported_at_ms >= now_ms - SHARE_VALID_MS && row->reported_at_ms <= now_ms + SHARE_VALID_MS;
}

/* `row` NULL: none of the service's agents has a fresh report. No operator writes service_control here. */
static void control_put(struct sim_output *output, struct mg_slice service, const struct sim_service *row,
                        int64_t now_ms)
{
    sim_output_row(output);
    sim_output_text(output, SERVICE, service);
    sim_output_int(output, VERSION, 0);
    sim_output_bool(output, IS_PAUSED, false);
    sim_output_int(output, CONCURRENCY, 0);
    sim_output_int(output, RATE, 0);
    sim_output_text(output, INSTANCE, row != NULL ? row->instance : mg_slice_of(""));
    sim_output_text(output, BREAKER, row != NULL ? row->breaker : mg_slice_of(""));
    sim_output_bool(output, IS_READY, row != NULL && row->is_ready);
    sim_output_int(output, PROCESS, row != NULL ? row->process : 0);
    sim_output_bool(output, IS_PROBER, row != NULL && row->is_prober);
    sim_output_bool(output, IS_CALLING, row != NULL && row->in_flight > 0);
    sim_output_int(output, NOW, now_ms);
}

/* The rows of one service; returns the index after them. */
static int service_put(struct sim_output *output, const struct sim_service *rows, int first, int count,
                       int64_t now_ms)
{
    int put = 0, i = first;
    for (; i < count && mg_slice_equal(rows[i].service, rows[first].service); i++) {
        if (is_fresh(&rows[i], now_ms) && put < MG_SERVICE_INSTANCES_MAX) {
            control_put(output, rows[i].service, &rows[i], now_ms);
            put++;
        }
    }
    if (put == 0) {
        control_put(output, rows[first].service, NULL, now_ms);
    }
    return i;
}

static void report_control(struct sim_input *input, struct sim_output *output)
{
    const struct sim_tables *tables = input->transaction->tables;
    struct sim_service *rows = NULL;
    for (int i = 0; i < tables->service_count; i++) {
        rows = sim_grow(rows, i, sizeof(*rows));
        rows[i] = tables->services[i];
    }
    if (rows != NULL) {
        qsort(rows, (size_t)tables->service_count, sizeof(*rows), compare_rows);
    }
    sim_output_begin(output, COLUMN_COUNT);
    for (int i = 0; i < tables->service_count;) {
        i = service_put(output, rows, i, tables->service_count, input->transaction->now_ms);
    }
    free(rows);
}

/* ---- the others ---- */

/* An order's row has a wake_at. */
static bool needs(const struct sim_order *order, struct mg_slice service)
{
    for (int i = 0; i < MG_STEPS_MAX && order->record.order.wake_at_ms != 0; i++) {
        enum mg_step_state state = order->record.order.steps[i].state;
        bool is_under_way = state == MG_STEP_RUNNING || state == MG_STEP_WAITING ||
                            state == MG_STEP_UNKNOWN || state == MG_STEP_UNDO_PENDING ||
                            state == MG_STEP_UNDO_RUNNING || state == MG_STEP_UNDO_WAITING;
        if ((order->record.stored_steps >> i & 1) != 0 && is_under_way &&
            mg_slice_is(service, order->record.services[i])) {
            return true;
        }
    }
    return false;
}

static int compare_subjects(const void *a, const void *b)
{
    return compare_texts(*(const struct mg_slice *)a, *(const struct mg_slice *)b);
}

static void report_unneeded_alerts(struct sim_input *input, struct sim_output *output)
{
    const struct sim_tables *tables = input->transaction->tables;
    struct mg_slice *subjects = NULL;
    int count = 0;
    for (int i = 0; i < tables->alert_count; i++) {
        const struct sim_alert *alert = &tables->alerts[i];
        bool is_needed = alert->code != MG_ALERT_UNPUBLISHABLE || alert->closed_at_ms != 0 ||
                         alert->opened_at_ms >= input->transaction->now_ms - ALERT_YOUNG_MS;
        for (int k = 0; k < tables->order_count && !is_needed; k++) {
            is_needed = needs(tables->orders[k], alert->subject);
        }
        if (!is_needed) {
            subjects = sim_grow(subjects, count, sizeof(*subjects));
            subjects[count++] = alert->subject;
        }
    }
    if (count > 0) {
        qsort(subjects, (size_t)count, sizeof(*subjects), compare_subjects);
    }
    sim_output_begin(output, 1);
    for (int i = 0; i < count; i++) {
        sim_output_row(output);
        sim_output_text(output, 0, subjects[i]);
    }
    free(subjects);
}

/* Only metrics depend on these figures, and no metric is read in a run. */
static void report_figures(struct sim_input *input, struct sim_output *output)
{
    (void)input;
    sim_output_begin(output, 0);
}

/* $1 epoch, $2 holder. No operator sets a policy. */
static void retire(struct sim_input *input, struct sim_output *output)
{
    enum { OUTCOME, MOVED, IS_FULL, IS_ROUND, OLDEST, FAILURE, COUNT };
    sim_output_begin(output, COUNT);
    sim_output_row(output);
    sim_output_word(output, OUTCOME, sim_sweep_is_leader(input) ? "off" : "fenced");
    sim_output_int(output, MOVED, 0);
    sim_output_bool(output, IS_FULL, false);
    sim_output_bool(output, IS_ROUND, false);
}

/* The checker knows which processes live; no process of the simulator writes its heartbeat. */
static void report_processes(struct sim_input *input, struct sim_output *output)
{
    (void)input;
    sim_output_begin(output, 9);
}

static void report_waiting(struct sim_input *input, struct sim_output *output)
{
    (void)input;
    sim_output_begin(output, 4);
}

const struct sim_statement SIM_COUNT_STATEMENTS[] = {
    SIM_SCALARS("report_control", report_control, false),
    SIM_SCALARS("report_unneeded_alerts", report_unneeded_alerts, false),
    SIM_SCALARS("report_figures", report_figures, false),
    SIM_SCALARS("report_processes", report_processes, false),
    SIM_SCALARS("report_waiting", report_waiting, false),
    SIM_SCALARS("retire", retire, true),
    {.name = NULL},
};
