/* What several files of the supervisor read and note. None of them need call the one that judges. */
#include <stdio.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/log.h"
#include "supervisor.h"

/* ---- the looks for the conditions that watch.c judges ---- */

void mg_supervisor_watch_looked(struct mg_supervisor *supervisor, enum mg_watched watched, const char *text)
{
    struct mg_watched_state *state = &supervisor->watched[watched];
    state->looked_at_boot_ms = mg_clock_boot_ms();
    if (text != NULL) {
        state->seen_at_boot_ms = state->looked_at_boot_ms;
        (void)snprintf(state->text, sizeof(state->text), "%s", text);
    }
}

bool mg_supervisor_is_queue_missing(const struct mg_supervisor *supervisor, char *ret_reason, size_t size)
{
    for (int i = 0; supervisor->is_leader && i < MG_SUPERVISOR_QUEUES; i++) {
        const struct mg_watched_state *state = &supervisor->watched[MG_WATCHED_QUEUE + i];
        if (state->seen_at_boot_ms != 0 && state->seen_at_boot_ms == state->looked_at_boot_ms) {
            (void)snprintf(ret_reason, size, "%s", state->text);
            return true;
        }
    }
    return false;
}

/* ---- the database's clock: a supervisor follows it by the answers to its questions (core/far_clock.h) ----
 */

bool mg_supervisor_clock_read(struct mg_supervisor *supervisor, int64_t now_ms, int64_t asked_boot_ms)
{
    int64_t by_ms = mg_far_clock_note(&supervisor->db_clock, now_ms, asked_boot_ms, mg_clock_boot_ms());
    if (by_ms > 0) {
        mg_log(MG_LOG_WARN, "the database's clock jumped forward: deadlines inside the jump keep their time",
               MG_LOG_NUMBER("by_ms", by_ms));
    }
    return by_ms > 0;
}

/* ---- answers to a leader's questions ---- */

bool mg_supervisor_answered(const struct mg_supervisor *supervisor, bool *is_asking,
                            struct mg_once *failure_logged, const char *failure, const struct mg_err *err)
{
    *is_asking = false;
    if (!supervisor->is_leader || supervisor->is_stopping) {
        return false;
    }
    if (err != NULL) {
        mg_log(mg_once_set(failure_logged) ? MG_LOG_WARN : MG_LOG_DEBUG, failure,
               MG_LOG_TEXT("reason", err->text));
    } else {
        mg_once_reset(failure_logged);
    }
    return err == NULL;
}

/* ---- the timers of a leader's duties ---- */

bool mg_supervisor_timer_begin(struct mg_supervisor *supervisor, struct mg_timer **timer, mg_loop_fn *fn,
                               int64_t first_ms, int64_t period_ms)
{
    if (*timer == NULL) {
        *timer = mg_timer_create(supervisor->loop, fn, supervisor);
    }
    if (*timer != NULL) {
        mg_timer_start(*timer, first_ms, period_ms);
    }
    return *timer != NULL;
}

void mg_supervisor_timer_end(struct mg_timer *timer)
{
    if (timer != NULL) {
        mg_timer_stop(timer);
    }
}

/* ---- values of a report's rows ---- */

void mg_supervisor_row_text(const struct mg_rows *rows, int row, int column, char *ret_text, size_t size)
{
    struct mg_slice value = mg_rows_value(rows, row, column);
    (void)snprintf(ret_text, size, "%.*s", (int)value.len, value.data != NULL ? value.data : "");
}

double mg_supervisor_row_number(const struct mg_rows *rows, int row, int column)
{
    char text[64]; /* longer than any number in PostgreSQL's answers to these reports */
    mg_supervisor_row_text(rows, row, column, text, sizeof(text));
    return strtod(text, NULL);
}
