/*
 * The lines of keys (core/line.h). Schedulers tell the next order that its turn has come; a turn that was
 * lost with its message or its process stays in the store, and is asked for here. An order in error may hold
 * up a line, which is told after a while.
 */
#include <stdio.h>

#include "supervisor.h"

/* A look reads only lines with a head that has not begun: none, as a rule. */
#define TURNS_PERIOD_MS 2000
/* As parameters of reports. A turn has its message and its commit within this time, or is asked for again. */
#define TURN_OLDER_THAN_MS "3000"
#define TURNS_AT_ONCE      "100"
#define LINES_PERIOD_MS    10000    /* shorter than the time after which an alert counts as gone */
#define HELD_FOR_MS        "600000" /* ten minutes: time for a person that watches errors anyway */

enum { TURN_ORDER_ID, TURN_GENERATION };
enum { LINES_WAITING, LINES_OLDEST, LINES_HELD, LINES_ORDER_ID, LINES_OTHERS };

static void lines_silence(struct mg_supervisor *supervisor)
{
    mg_metric_silence(supervisor->lines_waiting);
    mg_metric_silence(supervisor->line_oldest);
}

void mg_supervisor_lines_make(struct mg_supervisor *supervisor)
{
    supervisor->lines_waiting =
        mg_metrics_series(supervisor->metrics, MG_GAUGE, "makegood_lines_waiting", NULL,
                          "orders that wait in the line of their key: makegood order list --line KEY");
    supervisor->line_oldest =
        mg_metrics_series(supervisor->metrics, MG_GAUGE, "makegood_line_oldest_seconds", NULL,
                          "how long the first of the orders that wait in lines has waited");
    lines_silence(supervisor);
}

/* ---- turns ---- */

static void turns_answered(void *arg, const struct mg_rows *rows, const struct mg_err *err)
{
    struct mg_supervisor *supervisor = arg;
    if (!mg_supervisor_answered(supervisor, &supervisor->is_turns_asking, &supervisor->turns_failure_logged,
                                "could not look for turns that were not taken", err)) {
        return;
    }
    bool has_room = true;
    for (int row = 0; has_room && row < mg_rows_count(rows); row++) {
        struct mg_due due = {.ask = MG_CAUSE_TURN};
        mg_supervisor_row_text(rows, row, TURN_ORDER_ID, due.order_id, sizeof(due.order_id));
        due.attempt = (uint32_t)mg_supervisor_row_number(rows, row, TURN_GENERATION);
        has_room = mg_supervisor_ask(supervisor, &due);
    }
}

static void turns_look(void *arg)
{
    static const char *const PARAMS[] = {TURN_OLDER_THAN_MS, TURNS_AT_ONCE};
    struct mg_supervisor *supervisor = arg;
    if (!supervisor->is_leader || supervisor->is_turns_asking || supervisor->is_held) {
        return; /* or more commands would only fill their queue */
    }
    supervisor->is_turns_asking = true;
    mg_store_report(supervisor->counting, MG_REPORT_LINE_TURNS, PARAMS, 2, turns_answered, supervisor);
}

/* ---- figures and the alert ---- */

static void held_note(struct mg_supervisor *supervisor, const struct mg_rows *rows)
{
    char order_id[MG_ORDER_ID_MAX + 1], text[384];
    long long held = (long long)mg_supervisor_row_number(rows, 0, LINES_HELD);
    if (held == 0) {
        mg_supervisor_watch_looked(supervisor, MG_WATCHED_LINES, NULL);
        return;
    }
    mg_supervisor_row_text(rows, 0, LINES_ORDER_ID, order_id, sizeof(order_id));
    (void)snprintf(
        text, sizeof(text),
        "order %s is in error or set aside, and %lld others wait in the line of its key (%lld such lines). Resume it, or "
        "let the next go: makegood order release %s",
        order_id, (long long)mg_supervisor_row_number(rows, 0, LINES_OTHERS), held, order_id);
    mg_supervisor_watch_looked(supervisor, MG_WATCHED_LINES, text);
}

static void lines_answered(void *arg, const struct mg_rows *rows, const struct mg_err *err)
{
    struct mg_supervisor *supervisor = arg;
    if (!mg_supervisor_answered(supervisor, &supervisor->is_lines_asking, &supervisor->lines_failure_logged,
                                "could not count the orders in lines; their metrics are missing", err) ||
        mg_rows_count(rows) == 0) {
        lines_silence(supervisor);
        return;
    }
    mg_metric_set(supervisor->lines_waiting, mg_supervisor_row_number(rows, 0, LINES_WAITING));
    mg_metric_set(supervisor->line_oldest, mg_supervisor_row_number(rows, 0, LINES_OLDEST) / 1000.0);
    held_note(supervisor, rows);
}

static void lines_look(void *arg)
{
    static const char *const PARAMS[] = {HELD_FOR_MS};
    struct mg_supervisor *supervisor = arg;
    if (!supervisor->is_leader || supervisor->is_lines_asking) {
        return;
    }
    supervisor->is_lines_asking = true;
    mg_store_report(supervisor->counting, MG_REPORT_LINE_FIGURES, PARAMS, 1, lines_answered, supervisor);
}

bool mg_supervisor_lines_start(struct mg_supervisor *supervisor)
{
    supervisor->is_turns_asking = supervisor->is_lines_asking = false;
    if (supervisor->counting == NULL) {
        return true;
    }
    return mg_supervisor_timer_begin(supervisor, &supervisor->turns_timer, turns_look, TURNS_PERIOD_MS,
                                     TURNS_PERIOD_MS) &&
           mg_supervisor_timer_begin(supervisor, &supervisor->lines_timer, lines_look, 0, LINES_PERIOD_MS);
}

void mg_supervisor_lines_stop(struct mg_supervisor *supervisor)
{
    mg_supervisor_timer_end(supervisor->turns_timer);
    mg_supervisor_timer_end(supervisor->lines_timer);
    lines_silence(supervisor);
}
