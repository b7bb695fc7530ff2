/*
 * One session. A thread connects it, the loop drives it in pipeline mode, and after a loss it is begun anew
 * with backoff. pipeline.c sends its calls and reads their answers.
 *
 *   down ──timer──> connecting (thread) ──> up ──error, watchdog, drop──> down
 *
 * A lost session answers all its calls with MG_PG_LOST. Failures are only recorded at first (`broken`) and
 * handled in the idle turn, so that no caller is answered from within its own call.
 */
#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/id.h"
#include "base/metrics.h"
#include "base/secret.h"
#include "core/backoff.h"
#include "io/pg/session.h"

/* Back within 10 s after the server is, handshake included. */
#define RECONNECT_MIN_MS 100
#define RECONNECT_MAX_MS (5 * 1000)
/* Longer than the server's limit for any statement (10 s): only a stalled server or path exceeds it. */
#define ANSWER_MAX_MS   (15 * 1000)
#define WATCH_PERIOD_MS 1000
/* Owned by the thread until it is done; then by the session, or freed if the session is gone. */
struct mg_pg_connect_job {
    struct mg_pg *pg;
    char *dsn, *name;
    PGconn *conn;
    struct mg_pg_failure failure; /* why it is not connected; at first the reason of the attempt before */
};

static void on_reconnect(void *arg);
static void on_watchdog(void *arg);
static void on_idle(void *arg);
static void on_watch(void *arg, int events);
static void create_metrics(struct mg_pg *pg);

enum mg_class mg_pg_create(struct mg_loop *loop, const struct mg_pg_options *options, struct mg_pg **ret_pg,
                           struct mg_err *err)
{
    enum mg_class class = mg_pg_check_dsn(options->dsn, err);
    if (class != MG_OK) {
        return class;
    }
    struct mg_pg *pg = calloc(1, sizeof(*pg));
    if (pg == NULL) {
        return mg_err_set(err, MG_TRANSIENT, "could not make a database session: no memory");
    }
    pg->loop = loop;
    pg->options = *options;
    pg->dsn = strdup(options->dsn == NULL ? "" : options->dsn);
    pg->name = strdup(options->name == NULL ? "makegood" : options->name);
    pg->reconnect = mg_timer_create(loop, on_reconnect, pg);
    pg->watchdog = mg_timer_create(loop, on_watchdog, pg);
    pg->idle = mg_idle_create(loop, on_idle, pg);
    if (pg->dsn == NULL || pg->name == NULL || pg->reconnect == NULL || pg->watchdog == NULL ||
        pg->idle == NULL) {
        mg_pg_destroy(pg);
        return mg_err_set(err, MG_TRANSIENT, "could not make a database session: no memory");
    }
    if (options->metrics != NULL) {
        create_metrics(pg);
    }
    mg_timer_start(pg->reconnect, 0, 0);
    *ret_pg = pg;
    return MG_OK;
}

static void create_metrics(struct mg_pg *pg)
{
    struct mg_metrics *metrics = pg->options.metrics;
    pg->metric_seconds = mg_metrics_series(metrics, MG_HISTOGRAM, "makegood_store_call_seconds", NULL,
                                           "time from sending a database call to its answer");
    pg->metric_calls =
        mg_metrics_series(metrics, MG_COUNTER, "makegood_store_calls_total", NULL, "database calls answered");
    pg->metric_failures = mg_metrics_series(metrics, MG_COUNTER, "makegood_store_call_failures_total", NULL,
                                            "database calls answered with an error");
    pg->metric_connects = mg_metrics_series(metrics, MG_COUNTER, "makegood_store_connects_total", NULL,
                                            "database sessions begun");
    pg->metric_up = mg_metrics_series(metrics, MG_GAUGE, "makegood_store_sessions", NULL,
                                      "database sessions that are up");
}

static void close_connection(struct mg_pg *pg)
{
    if (pg->conn == NULL) {
        return;
    }
    mg_watch_destroy(pg->watch);
    pg->watch = NULL;
    PQfinish(pg->conn);
    pg->conn = NULL;
    pg->prepared_count = 0;
    mg_timer_stop(pg->watchdog);
    if (pg->metric_up != NULL) {
        mg_metric_add(pg->metric_up, -1);
    }
}

void mg_pg_destroy(struct mg_pg *pg)
{
    if (pg == NULL || pg->is_destroyed) {
        return;
    }
    pg->is_destroyed = true;
    close_connection(pg);
    if (pg->job != NULL) {
        pg->job->pg = NULL; /* on_connected frees it after the thread */
    }
    mg_timer_destroy(pg->reconnect);
    mg_timer_destroy(pg->watchdog);
    if (pg->idle != NULL) {
        mg_idle_destroy(pg->idle);
    }
    for (struct mg_pg_call *call; (call = mg_pg_calls_pop(&pg->calls)) != NULL;) {
        mg_pg_call_free(call);
    }
    for (struct mg_pg_call *call; (call = mg_pg_calls_pop(&pg->refused)) != NULL;) {
        mg_pg_call_free(call);
    }
    mg_secret_free(pg->dsn);
    free(pg->name);
    pg->dsn = pg->name = NULL;
    if (pg->callback_depth == 0) {
        free(pg);
    }
}

/* Code that calls back stands between these two. If `leave` returns false the session is gone. */
static void enter(struct mg_pg *pg)
{
    pg->callback_depth++;
}

static bool leave(struct mg_pg *pg)
{
    pg->callback_depth--;
    if (!pg->is_destroyed) {
        return true;
    }
    if (pg->callback_depth == 0) {
        free(pg);
    }
    return false;
}

/* ---- connecting ---- */

static void connect_on_thread(void *arg)
{
    struct mg_pg_connect_job *job = arg;
    job->conn = mg_pg_connect(job->dsn, job->name);
    if (job->conn != NULL && PQstatus(job->conn) != CONNECTION_OK) {
        mg_pg_explain_connect(job->conn, job->dsn, &job->failure);
    }
}

static void job_free(struct mg_pg_connect_job *job)
{
    if (job == NULL) {
        return;
    }
    PQfinish(job->conn);
    mg_secret_free(job->dsn);
    free(job->name);
    free(job);
}

static void schedule_reconnect(struct mg_pg *pg)
{
    int64_t wait_ms = mg_backoff_ms(RECONNECT_MIN_MS, RECONNECT_MAX_MS, pg->failures, -1, mg_random_u64());
    if (pg->failures < UINT32_MAX) {
        pg->failures++;
    }
    mg_timer_start(pg->reconnect, wait_ms, 0);
}

/* True: the session is up. */
static bool begin_session(struct mg_pg *pg, const struct mg_pg_connect_job *job)
{
    PGconn *conn = job->conn;
    if (conn == NULL) {
        snprintf(pg->reason, sizeof(pg->reason), "no memory");
        return false;
    }
    if (PQstatus(conn) != CONNECTION_OK) {
        pg->failure = job->failure;
        memcpy(pg->reason, job->failure.text, sizeof(pg->reason));
        return false;
    }
    if (PQsetnonblocking(conn, 1) != 0 || PQenterPipelineMode(conn) != 1) {
        mg_pg_message(PQerrorMessage(conn), pg->reason, sizeof(pg->reason));
        return false;
    }
    pg->watch = mg_watch_create(pg->loop, PQsocket(conn), on_watch, pg);
    if (pg->watch == NULL) {
        snprintf(pg->reason, sizeof(pg->reason), "no memory or no descriptors");
        return false;
    }
    pg->conn = conn;
    pg->failure = (struct mg_pg_failure){.text = ""};
    pg->is_broken = false;
    pg->progress_ms = mg_clock_boot_ms();
    mg_watch_set(pg->watch, MG_READABLE);
    mg_timer_start(pg->watchdog, WATCH_PERIOD_MS, WATCH_PERIOD_MS);
    if (pg->metric_connects != NULL) {
        mg_metric_add(pg->metric_connects, 1);
    }
    if (pg->metric_up != NULL) {
        mg_metric_add(pg->metric_up, 1);
    }
    return true;
}

static void on_connected(void *arg)
{
    struct mg_pg_connect_job *job = arg;
    struct mg_pg *pg = job->pg;
    if (pg == NULL) {
        job_free(job);
        return;
    }
    pg->job = NULL;
    bool is_up = begin_session(pg, job);
    if (is_up) {
        job->conn = NULL;
    }
    job_free(job);
    if (!is_up) {
        schedule_reconnect(pg);
    }
    enter(pg);
    if (is_up) {
        pg->options.on_connected(pg->options.arg);
    } else {
        if (pg->options.on_unreached != NULL) {
            pg->options.on_unreached(pg->options.arg, pg->failure.reach);
        }
        pg->options.on_lost(pg->options.arg, pg->reason);
    }
    (void)leave(pg); /* last: the session may be gone */
}

static void on_reconnect(void *arg)
{
    struct mg_pg *pg = arg;
    assert(pg->conn == NULL && pg->job == NULL);
    struct mg_pg_connect_job *job = calloc(1, sizeof(*job));
    if (job != NULL) {
        job->pg = pg;
        job->dsn = strdup(pg->dsn);
        job->name = strdup(pg->name);
        job->failure = pg->failure;
    }
    if (job == NULL || job->dsn == NULL || job->name == NULL ||
        !mg_loop_offload(pg->loop, connect_on_thread, on_connected, job)) {
        job_free(job);
        schedule_reconnect(pg);
        return;
    }
    pg->job = job;
}

enum mg_class mg_pg_set_dsn(struct mg_pg *pg, const char *dsn, struct mg_err *err)
{
    char *copy = strdup(dsn == NULL ? "" : dsn);
    if (copy == NULL) {
        return mg_err_set(err, MG_TRANSIENT, "could not take another DSN: no memory");
    }
    mg_secret_free(pg->dsn);
    pg->dsn = copy;
    return MG_OK;
}

/* ---- losing the session ---- */

static void on_watchdog(void *arg)
{
    struct mg_pg *pg = arg;
    if (pg->calls.first == NULL) {
        return;
    }
    int64_t since_ms =
        pg->calls.first->sent_ms > pg->progress_ms ? pg->calls.first->sent_ms : pg->progress_ms;
    if (mg_clock_boot_ms() - since_ms > ANSWER_MAX_MS) {
        mg_pg_drop(pg, "the server gave no answer in 15 s");
    }
}

static void lose_session(struct mg_pg *pg)
{
    close_connection(pg);
    pg->is_broken = false;
    char reason[MG_PG_REASON_SIZE];
    memcpy(reason, pg->reason, sizeof(reason));
    schedule_reconnect(pg);
    /* Calls made by these callbacks go to `refused`, so the loop ends. */
    for (struct mg_pg_call *call; !pg->is_destroyed && (call = mg_pg_calls_pop(&pg->calls)) != NULL;) {
        if (call->fault == MG_PG_NONE) {
            call->fault = MG_PG_LOST;
        }
        if (call->err.class == MG_OK) {
            (void)mg_err_set(&call->err, MG_TRANSIENT, "the database session was lost: %s", reason);
        }
        mg_pg_settle(pg, call);
    }
    if (!pg->is_destroyed) {
        pg->options.on_lost(pg->options.arg, reason);
    }
}

static void on_idle(void *arg)
{
    struct mg_pg *pg = arg;
    enter(pg);
    struct mg_pg_calls refused = pg->refused;
    pg->refused.first = NULL;
    if (pg->is_broken) {
        lose_session(pg);
    }
    for (struct mg_pg_call *call; (call = mg_pg_calls_pop(&refused)) != NULL; mg_pg_call_free(call)) {
        if (!pg->is_destroyed) {
            mg_pg_answer_call(pg, call);
        }
    }
    (void)leave(pg); /* last: the session may be gone */
}

/* ---- the socket ---- */

static void on_watch(void *arg, int events)
{
    struct mg_pg *pg = arg;
    if (pg->conn == NULL || pg->is_broken) {
        return;
    }
    enter(pg);
    bool is_alive = true;
    if ((events & MG_READABLE) != 0) {
        is_alive = PQconsumeInput(pg->conn) == 1;
    }
    mg_pg_receive(pg); /* also data from before the end: the server's last message has the reason */
    if (!pg->is_destroyed && pg->conn != NULL && !pg->is_broken) {
        if (!is_alive) {
            mg_pg_drop_with_message(pg);
        } else {
            mg_pg_flush(pg); /* reading may have made room for writing (libpq documentation 34.4) */
        }
    }
    (void)leave(pg); /* last: the session may be gone */
}
