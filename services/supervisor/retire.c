/*
 * Retention: orders that ended long ago are moved to the archive, if operators have set a policy (`makegood
 * db vacuum-policy`). The database moves them by a right of its own and returns numbers: a supervisor sees no
 * payload. Orders move a bite at a time, on the session that counts, so that no sweep waits for it. A bite is
 * as large as a short statement allows, and none runs while sweeps are late. An order that cannot be moved
 * stays in its tables.
 */
#include <stdio.h>

#include "base/clock.h"
#include "base/log.h"
#include "supervisor.h"

/* Period of looks while there is nothing to move. */
#define RETIRE_PERIOD_MS 1000
/* A new policy is noticed within the first; a failed bite is tried again after the second. */
#define RETIRE_OFF_MS    15000
#define RETIRE_FAILED_MS 5000
/* Operator settings for agents wait behind a bite, and must reach the agents within a second. */
#define BITE_LONG_MS  100
#define BITE_SHORT_MS 40
#define BITE_MAX      500
#define BITE_FIRST    20
/* Bites take half of the time at most; and each commit waits for a disk that others need, too. */
#define REST_MIN_MS 20
/* No bite while sweeps are later than this: deadlines come first. */
#define SWEEP_LATE_MS 1000
/* A failure that lasts longer needs a person. A held lock or a busy server passes by itself before. */
#define FAILING_MAX_MS 60000

static void failure_note(struct mg_supervisor *supervisor, const char *why)
{
    int64_t now_boot_ms = mg_clock_boot_ms();
    char text[256];
    if (supervisor->retire_failed_boot_ms == 0) {
        supervisor->retire_failed_boot_ms = now_boot_ms;
        mg_log(MG_LOG_WARN, "could not move ended orders to the archive; the move is retried",
               MG_LOG_TEXT("reason", why));
    }
    if (now_boot_ms - supervisor->retire_failed_boot_ms >= FAILING_MAX_MS) {
        (void)snprintf(text, sizeof(text), "ended orders are not moved to the archive: %s", why);
        mg_supervisor_watch_looked(supervisor, MG_WATCHED_RETENTION, text);
    }
}

static void bite_fit(struct mg_supervisor *supervisor, int64_t took_ms, bool is_full)
{
    if (took_ms > BITE_LONG_MS) {
        supervisor->retire_bite = supervisor->retire_bite > 1 ? supervisor->retire_bite / 2 : 1;
    } else if (is_full && took_ms < BITE_SHORT_MS) {
        int wider = supervisor->retire_bite + supervisor->retire_bite / 4 + 1;
        supervisor->retire_bite = wider < BITE_MAX ? wider : BITE_MAX;
    }
}

/* Each page reports its own oldest order; the figure is that of the whole round. */
static void oldest_note(struct mg_supervisor *supervisor, const struct mg_retire_answer *answer)
{
    if (answer->oldest_ms > supervisor->finished_oldest_ms) {
        supervisor->finished_oldest_ms = answer->oldest_ms;
    }
    if (answer->is_round) {
        mg_metric_set(supervisor->finished_oldest, (double)supervisor->finished_oldest_ms / 1000.0);
        supervisor->finished_oldest_ms = 0;
    }
}

/* The failure of a single order is reported until a whole round has succeeded. Meanwhile the others leave. */
static void passed_by_note(struct mg_supervisor *supervisor, const char *failure)
{
    char text[MG_RETIRE_FAILURE_MAX + 64];
    (void)snprintf(text, sizeof(text), "one ended order is not moved to the archive, others are: %s",
                   failure);
    mg_supervisor_watch_looked(supervisor, MG_WATCHED_RETENTION, failure[0] != '\0' ? text : NULL);
}

/* Returns the milliseconds until the next bite. */
static int64_t answer_take(struct mg_supervisor *supervisor, const struct mg_retire_answer *answer,
                           int64_t took_ms)
{
    supervisor->retire_failed_boot_ms = 0;
    switch (answer->outcome) {
    case MG_RETIRE_NO_PARTITION:
        mg_supervisor_watch_looked(
            supervisor, MG_WATCHED_RETENTION,
            "ended orders are not moved to the archive: it has no partition for today; run makegood db "
            "retain once a day");
        return RETIRE_FAILED_MS;
    case MG_RETIRE_OFF:
        mg_metric_silence(supervisor->finished_oldest);
        mg_supervisor_watch_looked(supervisor, MG_WATCHED_RETENTION, NULL);
        return RETIRE_OFF_MS;
    case MG_RETIRE_FENCED:
        return RETIRE_PERIOD_MS; /* the next sweep detects it, too */
    case MG_RETIRE_MOVED:
        break;
    }
    passed_by_note(supervisor, answer->failure);
    mg_metric_add(supervisor->retired, (double)answer->moved);
    if (answer->moved > 0) {
        mg_metric_observe(supervisor->retire_seconds, (double)took_ms / 1000.0);
    }
    bite_fit(supervisor, took_ms, answer->is_full);
    oldest_note(supervisor, answer);
    if (!answer->is_full) {
        return RETIRE_PERIOD_MS;
    }
    return took_ms > REST_MIN_MS ? took_ms : REST_MIN_MS;
}

static void retire_answered(void *arg, const struct mg_retire_answer *answer, const struct mg_err *err)
{
    struct mg_supervisor *supervisor = arg;
    int64_t took_ms = mg_clock_boot_ms() - supervisor->retiring_boot_ms;
    int64_t next_ms = RETIRE_FAILED_MS;
    supervisor->is_retiring = false;
    if (!supervisor->is_leader || supervisor->is_stopping) {
        return;
    }
    if (err != NULL) {
        bite_fit(supervisor, BITE_LONG_MS + 1, false); /* the server breaks off one that takes too long */
        failure_note(supervisor, err->text);
    } else {
        next_ms = answer_take(supervisor, answer, took_ms);
    }
    mg_timer_start(supervisor->retire_timer, next_ms, 0);
}

static void retire_ask(void *arg)
{
    struct mg_supervisor *supervisor = arg;
    if (!supervisor->is_leader || supervisor->is_retiring) {
        return;
    }
    if (supervisor->lag_ms > SWEEP_LATE_MS) {
        mg_timer_start(supervisor->retire_timer, RETIRE_PERIOD_MS, 0);
        return;
    }
    supervisor->is_retiring = true;
    supervisor->retiring_boot_ms = mg_clock_boot_ms();
    mg_store_retire(supervisor->counting, supervisor->epoch, supervisor->holder, supervisor->retire_bite,
                    retire_answered, supervisor);
}

bool mg_supervisor_retire_start(struct mg_supervisor *supervisor)
{
    supervisor->retire_bite = BITE_FIRST;
    supervisor->retire_failed_boot_ms = 0;
    supervisor->finished_oldest_ms = 0;
    if (supervisor->counting == NULL) {
        return true;
    }
    return mg_supervisor_timer_begin(supervisor, &supervisor->retire_timer, retire_ask, RETIRE_PERIOD_MS, 0);
}

void mg_supervisor_retire_stop(struct mg_supervisor *supervisor)
{
    mg_supervisor_timer_end(supervisor->retire_timer);
    mg_metric_silence(supervisor->finished_oldest);
}
