/*
 * Looks at the heartbeats of all processes: one that is not seen any more and that no other has replaced, and
 * one that lives and does not move. Either is the alert `standstill` as long as it lasts. Orders that wait
 * for the database alone, by the same heartbeats, are the alert `order_passed_by` (watch.c).
 */
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/progress.h"
#include "supervisor.h"

#define LOOK_PERIOD_MS 2000
/* Two heartbeats are missing (io/vitals.h). */
#define SILENT_MS 10000
/* The first is named, and the messages of the alert keep the text with which it was opened. */
#define ALL_TEXT "; makegood doctor names all of now"

enum { KIND, INSTANCE, SEEN_AT, AGE_MS, IN_HAND, STANDS_SINCE, STANDS_MS, OLDEST_ORDER, REASON };

/* False: the process is well. */
static bool row_judge(const struct mg_rows *rows, int row, char *ret_text, size_t size)
{
    char kind[32], instance[128], since[40], order_id[MG_ORDER_ID_MAX + 1], reason[MG_BEAT_REASON_SIZE];
    bool is_silent = mg_supervisor_row_number(rows, row, AGE_MS) > SILENT_MS;
    mg_supervisor_row_text(rows, row, KIND, kind, sizeof(kind));
    mg_supervisor_row_text(rows, row, INSTANCE, instance, sizeof(instance));
    mg_supervisor_row_text(rows, row, is_silent ? SEEN_AT : STANDS_SINCE, since, sizeof(since));
    mg_supervisor_row_text(rows, row, OLDEST_ORDER, order_id, sizeof(order_id));
    mg_supervisor_row_text(rows, row, REASON, reason, sizeof(reason));
    if (is_silent) {
        (void)snprintf(
            ret_text, size, "%s %s was last seen at %s: it is frozen, killed or cut off%s", kind, instance,
            since,
            strcmp(kind, "agent") == 0
                ? ", the broker takes none of its replies, or another session locks its row in service_state"
                : "");
    } else if (since[0] != '\0') {
        (void)snprintf(ret_text, size, "%s %s does not move since %s%s%s%s%s", kind, instance, since,
                       order_id[0] != '\0' ? ", order " : "", order_id, reason[0] != '\0' ? ": " : "",
                       reason);
    }
    return is_silent || since[0] != '\0';
}

static void answered(void *arg, const struct mg_rows *rows, const struct mg_err *err)
{
    struct mg_supervisor *supervisor = arg;
    char text[640];
    bool is_found = false;
    if (!mg_supervisor_answered(supervisor, &supervisor->is_processes_asking,
                                &supervisor->processes_failure_logged,
                                "could not query the heartbeats of processes", err)) {
        return;
    }
    for (int row = 0; row < mg_rows_count(rows) && !is_found; row++) {
        is_found = row_judge(rows, row, text, sizeof(text));
    }
    if (is_found) {
        size_t len = strlen(text);
        (void)snprintf(text + len, sizeof(text) - len, ALL_TEXT);
    }
    mg_supervisor_watch_looked(supervisor, MG_WATCHED_STANDSTILL, is_found ? text : NULL);
}

static void waiting_answered(void *arg, const struct mg_rows *rows, const struct mg_err *err)
{
    enum { ORDER_ID, SINCE, WHY, HELD_BY };
    struct mg_supervisor *supervisor = arg;
    char order_id[MG_ORDER_ID_MAX + 1], since[40], held_by[256];
    supervisor->is_waiting_asking = false;
    if (err != NULL) { /* the look at the heartbeats, in the same session, reports it */
        return;
    }
    supervisor->waiting[0] = '\0';
    if (mg_rows_count(rows) > 0) {
        mg_supervisor_row_text(rows, 0, ORDER_ID, order_id, sizeof(order_id));
        mg_supervisor_row_text(rows, 0, SINCE, since, sizeof(since));
        mg_supervisor_row_text(rows, 0, HELD_BY, held_by, sizeof(held_by));
        bool is_locked = held_by[0] != '\0';
        if (!is_locked) {
            mg_supervisor_row_text(rows, 0, WHY, held_by, sizeof(held_by));
        }
        (void)snprintf(supervisor->waiting, sizeof(supervisor->waiting),
                       "order %s waits since %s: %s%s (%d such orders); the others go on; makegood order "
                       "explain %s",
                       order_id, since, is_locked ? "locked by " : "", held_by, mg_rows_count(rows),
                       order_id);
    }
}

static void look(void *arg)
{
    struct mg_supervisor *supervisor = arg;
    static const char *const all[] = {""};
    if (!supervisor->is_leader) {
        return;
    }
    if (!supervisor->is_processes_asking) {
        supervisor->is_processes_asking = true;
        mg_store_report(supervisor->counting, MG_REPORT_PROCESSES, NULL, 0, answered, supervisor);
    }
    if (!supervisor->is_waiting_asking) {
        supervisor->is_waiting_asking = true;
        mg_store_report(supervisor->counting, MG_REPORT_WAITING, all, 1, waiting_answered, supervisor);
    }
}

bool mg_supervisor_processes_start(struct mg_supervisor *supervisor)
{
    if (supervisor->counting == NULL) {
        return true;
    }
    return mg_supervisor_timer_begin(supervisor, &supervisor->processes_timer, look, LOOK_PERIOD_MS,
                                     LOOK_PERIOD_MS);
}

void mg_supervisor_processes_stop(struct mg_supervisor *supervisor)
{
    mg_supervisor_timer_end(supervisor->processes_timer);
}

/* A sweep is awaited since the last one, or since the lead began. */
static int64_t sweepless_ms(const struct mg_supervisor *supervisor)
{
    int64_t since_ms = supervisor->answered_at_boot_ms > supervisor->lead_asked_at_boot_ms
                           ? supervisor->answered_at_boot_ms
                           : supervisor->lead_asked_at_boot_ms;
    int64_t sweepless_ms = mg_clock_boot_ms() - since_ms - supervisor->options.sweep_period_ms;
    bool is_due = supervisor->is_leader && !supervisor->is_held && supervisor->mute_since_boot_ms == 0 &&
                  supervisor->wake_at_boot_ms == 0;
    return is_due && sweepless_ms > MG_STANDSTILL_AFTER_MS ? sweepless_ms : 0;
}

bool mg_supervisor_stands(const struct mg_supervisor *supervisor, char *ret_reason, size_t size)
{
    int64_t stands_ms = sweepless_ms(supervisor);
    if (stands_ms > 0) {
        (void)snprintf(ret_reason, size, "no sweep has been answered for %lld s: see the log",
                       (long long)(stands_ms / 1000));
    }
    return stands_ms > 0;
}

void mg_supervisor_account(void *arg, struct mg_beat *ret_beat)
{
    ret_beat->stands_ms = sweepless_ms(arg);
    (void)snprintf(ret_beat->reason, sizeof(ret_beat->reason), "%s",
                   ret_beat->stands_ms > 0 ? "no sweep is answered" : "");
}
