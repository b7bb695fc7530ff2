/*
 * One session. A thread connects it, the loop drives it in pipeline mode, and after a loss it is begun anew
 * with backoff.
 *
 *   down ──timer──> connecting (thread) ──> up ──error, watchdog, drop──> down
 *
 * Calls stand in one FIFO in the order of their Syncs. PQgetResult is called only while PQisBusy is false, so
 * it never blocks. A call is answered when its PGRES_PIPELINE_SYNC has come, since only that proves the
 * COMMIT. A lost session answers all its calls with MG_PG_LOST. Failures are only recorded at first
 * (`broken`) and handled in the idle turn, so that no caller is answered from within its own call.
 */
#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/id.h"
#include "base/metrics.h"
#include "base/secret.h"
#include "core/backoff.h"
#include "io/pg/call.h"
#include "io/pg/libpq.h"

/* Back within 10 s after the server is, handshake included. */
#define RECONNECT_MIN_MS 100
#define RECONNECT_MAX_MS (5 * 1000)
/* Longer than the server's limit for any statement (10 s): only a stalled server or path exceeds it. */
#define ANSWER_MAX_MS   (15 * 1000)
#define WATCH_PERIOD_MS 1000
/* Unanswered calls. A handler has a few; this many mean that the server does not keep up. */
#define CALLS_MAX 1024
/* Bytes that libpq may hold for a server that does not read. */
#define CALL_BYTES_MAX (128u * 1024 * 1024)
/* Makegood has some thirty constant statements. */
#define PREPARED_MAX 64
#define REASON_SIZE  MG_ERR_TEXT_MAX

/* Owned by the thread until it is done; then by the session, or freed if the session is gone. */
struct connect_job {
    struct mg_pg *pg;
    char *dsn, *name;
    PGconn *conn;
    struct mg_pg_failure failure; /* why it is not connected; at first the reason of the attempt before */
};

struct mg_pg {
    struct mg_loop *loop;
    struct mg_pg_options options;
    char *dsn, *name;
    PGconn *conn; /* NULL: not up */
    struct connect_job *job;
    struct mg_watch *watch;
    struct mg_timer *reconnect, *watchdog;
    struct mg_idle *idle;
    struct mg_pg_calls calls, refused;
    int call_count;
    size_t call_bytes;
    int64_t progress_ms; /* time of the last answer */
    uint32_t failures;
    bool is_broken;
    char reason[REASON_SIZE];
    struct mg_pg_failure failure; /* of the last attempt to connect; no text: it succeeded */
    const struct mg_sql *denied;  /* the last statement refused for a missing right */
    const struct mg_sql *prepared[PREPARED_MAX];
    int prepared_count;
    int callback_depth;
    bool is_destroyed;
    struct mg_metric *metric_seconds, *metric_calls, *metric_failures, *metric_connects, *metric_up;
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
    if (class != MG_OK) return class;
    struct mg_pg *pg = calloc(1, sizeof *pg);
    if (pg == NULL) return mg_err_set(err, MG_TRANSIENT, "could not make a database session: no memory");
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
    if (options->metrics != NULL) create_metrics(pg);
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
    if (pg->conn == NULL) return;
    mg_watch_destroy(pg->watch);
    pg->watch = NULL;
    PQfinish(pg->conn);
    pg->conn = NULL;
    pg->prepared_count = 0;
    mg_timer_stop(pg->watchdog);
    if (pg->metric_up != NULL) mg_metric_add(pg->metric_up, -1);
}

void mg_pg_destroy(struct mg_pg *pg)
{
    if (pg == NULL || pg->is_destroyed) return;
    pg->is_destroyed = true;
    close_connection(pg);
    if (pg->job != NULL) pg->job->pg = NULL; /* on_connected frees it after the thread */
    mg_timer_destroy(pg->reconnect);
    mg_timer_destroy(pg->watchdog);
    if (pg->idle != NULL) mg_idle_destroy(pg->idle);
    for (struct mg_pg_call *call; (call = mg_pg_calls_pop(&pg->calls)) != NULL;)
        mg_pg_call_free(call);
    for (struct mg_pg_call *call; (call = mg_pg_calls_pop(&pg->refused)) != NULL;)
        mg_pg_call_free(call);
    mg_secret_free(pg->dsn);
    free(pg->name);
    pg->dsn = pg->name = NULL;
    if (pg->callback_depth == 0) free(pg);
}

/* Code that calls back stands between these two. If `leave` returns false the session is gone. */
static void enter(struct mg_pg *pg)
{
    pg->callback_depth++;
}

static bool leave(struct mg_pg *pg)
{
    pg->callback_depth--;
    if (!pg->is_destroyed) return true;
    if (pg->callback_depth == 0) free(pg);
    return false;
}

/* ---- connecting ---- */

static void connect_on_thread(void *arg)
{
    struct connect_job *job = arg;
    job->conn = mg_pg_connect(job->dsn, job->name);
    if (job->conn != NULL && PQstatus(job->conn) != CONNECTION_OK)
        mg_pg_explain_connect(job->conn, job->dsn, &job->failure);
}

static void job_free(struct connect_job *job)
{
    if (job == NULL) return;
    PQfinish(job->conn);
    mg_secret_free(job->dsn);
    free(job->name);
    free(job);
}

static void schedule_reconnect(struct mg_pg *pg)
{
    int64_t wait_ms = mg_backoff_ms(RECONNECT_MIN_MS, RECONNECT_MAX_MS, pg->failures, -1, mg_random_u64());
    if (pg->failures < UINT32_MAX) pg->failures++;
    mg_timer_start(pg->reconnect, wait_ms, 0);
}

static void ignore_notice(void *arg, const PGresult *result)
{
    (void)arg;
    (void)result;
}

/* True: the session is up. */
static bool begin_session(struct mg_pg *pg, const struct connect_job *job)
{
    PGconn *conn = job->conn;
    if (conn == NULL) {
        snprintf(pg->reason, sizeof pg->reason, "no memory");
        return false;
    }
    if (PQstatus(conn) != CONNECTION_OK) {
        pg->failure = job->failure;
        memcpy(pg->reason, job->failure.text, sizeof pg->reason);
        return false;
    }
    PQsetNoticeReceiver(conn, ignore_notice, NULL);
    if (PQsetnonblocking(conn, 1) != 0 || PQenterPipelineMode(conn) != 1) {
        mg_pg_message(PQerrorMessage(conn), pg->reason, sizeof pg->reason);
        return false;
    }
    pg->watch = mg_watch_create(pg->loop, PQsocket(conn), on_watch, pg);
    if (pg->watch == NULL) {
        snprintf(pg->reason, sizeof pg->reason, "no memory or no descriptors");
        return false;
    }
    pg->conn = conn;
    pg->failure = (struct mg_pg_failure){.text = ""};
    pg->is_broken = false;
    pg->progress_ms = mg_clock_boot_ms();
    mg_watch_set(pg->watch, MG_READABLE);
    mg_timer_start(pg->watchdog, WATCH_PERIOD_MS, WATCH_PERIOD_MS);
    if (pg->metric_connects != NULL) mg_metric_add(pg->metric_connects, 1);
    if (pg->metric_up != NULL) mg_metric_add(pg->metric_up, 1);
    return true;
}

static void on_connected(void *arg)
{
    struct connect_job *job = arg;
    struct mg_pg *pg = job->pg;
    if (pg == NULL) {
        job_free(job);
        return;
    }
    pg->job = NULL;
    bool is_up = begin_session(pg, job);
    if (is_up) job->conn = NULL;
    job_free(job);
    if (!is_up) schedule_reconnect(pg);
    enter(pg);
    if (is_up) {
        pg->options.on_connected(pg->options.arg);
    } else {
        if (pg->options.on_unreached != NULL) pg->options.on_unreached(pg->options.arg, pg->failure.reach);
        pg->options.on_lost(pg->options.arg, pg->reason);
    }
    (void)leave(pg); /* last: the session may be gone */
}

static void on_reconnect(void *arg)
{
    struct mg_pg *pg = arg;
    assert(pg->conn == NULL && pg->job == NULL);
    struct connect_job *job = calloc(1, sizeof *job);
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
    if (copy == NULL) return mg_err_set(err, MG_TRANSIENT, "could not take another DSN: no memory");
    mg_secret_free(pg->dsn);
    pg->dsn = copy;
    return MG_OK;
}

/* ---- losing the session ---- */

void mg_pg_drop(struct mg_pg *pg, const char *reason)
{
    if (pg->conn == NULL || pg->is_broken) return;
    pg->is_broken = true;
    snprintf(pg->reason, sizeof pg->reason, "%s", reason);
    mg_idle_arm(pg->idle);
}

static void drop_with_message(struct mg_pg *pg)
{
    char text[REASON_SIZE];
    mg_pg_message(PQerrorMessage(pg->conn), text, sizeof text);
    mg_pg_drop(pg, text[0] == '\0' ? "the connection was closed" : text);
}

static void on_watchdog(void *arg)
{
    struct mg_pg *pg = arg;
    if (pg->calls.first == NULL) return;
    int64_t since_ms =
        pg->calls.first->sent_ms > pg->progress_ms ? pg->calls.first->sent_ms : pg->progress_ms;
    if (mg_clock_boot_ms() - since_ms > ANSWER_MAX_MS) mg_pg_drop(pg, "the server gave no answer in 15 s");
}

static void answer(struct mg_pg *pg, struct mg_pg_call *call)
{
    if (call->prepares != NULL) {
        /* Removed, so that the next use prepares it again. */
        if (call->fault != MG_PG_NONE && call->fault != MG_PG_LOST) mg_pg_calls_fail(&pg->calls, call);
        for (int i = 0; call->fault != MG_PG_NONE && i < pg->prepared_count; i++) {
            if (pg->prepared[i] == call->prepares) pg->prepared[i] = pg->prepared[--pg->prepared_count];
        }
        return;
    }
    if (pg->metric_calls != NULL) {
        mg_metric_add(pg->metric_calls, 1);
        mg_metric_observe(pg->metric_seconds, (double)(mg_clock_boot_ms() - call->sent_ms) / 1000.0);
        if (call->fault != MG_PG_NONE) mg_metric_add(pg->metric_failures, 1);
    }
    struct mg_pg_answer answer = {.fault = call->fault, .sqlstate = call->sqlstate};
    if (call->fault != MG_PG_NONE) answer.err = &call->err;
    for (int i = 0; i < call->row_count; i++)
        answer.rows[i] = &call->rows[i];
    call->fn(call->arg, &answer);
}

/* Only success of the same statement proves that the right has been granted. The refused statement is the
 * first without rows. */
static void judge_rights(struct mg_pg *pg, const struct mg_pg_call *call)
{
    bool is_denied = strcmp(call->sqlstate, SQLSTATE_NO_RIGHT) == 0;
    if (pg->options.on_denied == NULL) return;
    if (is_denied && pg->denied == NULL && call->row_count < call->statement_count) {
        pg->denied = call->statements[call->row_count];
        pg->options.on_denied(pg->options.arg, call->err.text);
    } else if (call->fault == MG_PG_NONE && pg->denied != NULL && mg_pg_call_has(call, pg->denied)) {
        pg->denied = NULL;
        pg->options.on_denied(pg->options.arg, NULL);
    }
}

static void settle(struct mg_pg *pg, struct mg_pg_call *call)
{
    pg->call_count--;
    pg->call_bytes -= call->bytes;
    judge_rights(pg, call);
    if (pg->options.on_full != NULL && strcmp(call->sqlstate, SQLSTATE_DISK_FULL) == 0)
        pg->options.on_full(pg->options.arg);
    answer(pg, call);
    mg_pg_call_free(call);
}

static void lose_session(struct mg_pg *pg)
{
    close_connection(pg);
    pg->is_broken = false;
    char reason[REASON_SIZE];
    memcpy(reason, pg->reason, sizeof reason);
    schedule_reconnect(pg);
    /* Calls made by these callbacks go to `refused`, so the loop ends. */
    for (struct mg_pg_call *call; !pg->is_destroyed && (call = mg_pg_calls_pop(&pg->calls)) != NULL;) {
        if (call->fault == MG_PG_NONE) call->fault = MG_PG_LOST;
        if (call->err.class == MG_OK) {
            (void)mg_err_set(&call->err, MG_TRANSIENT, "the database session was lost: %s", reason);
        }
        settle(pg, call);
    }
    if (!pg->is_destroyed) pg->options.on_lost(pg->options.arg, reason);
}

static void on_idle(void *arg)
{
    struct mg_pg *pg = arg;
    enter(pg);
    struct mg_pg_calls refused = pg->refused;
    pg->refused.first = NULL;
    if (pg->is_broken) lose_session(pg);
    for (struct mg_pg_call *call; (call = mg_pg_calls_pop(&refused)) != NULL; mg_pg_call_free(call)) {
        if (!pg->is_destroyed) answer(pg, call);
    }
    (void)leave(pg); /* last: the session may be gone */
}

void mg_pg_refuse(struct mg_pg *pg, enum mg_pg_fault fault, const char *reason, mg_pg_fn *fn, void *arg)
{
    struct mg_pg_call *call = mg_pg_call_new(fn, arg);
    call->fault = fault;
    (void)mg_err_set(&call->err, mg_pg_class_of(fault), "%s", reason);
    mg_pg_calls_push(&pg->refused, call);
    mg_idle_arm(pg->idle);
}

/* ---- sending ---- */

static void flush(struct mg_pg *pg)
{
    int left = PQflush(pg->conn);
    if (left < 0) {
        drop_with_message(pg);
        return;
    }
    mg_watch_set(pg->watch, left > 0 ? MG_READABLE | MG_WRITABLE : MG_READABLE);
}

static void enlist(struct mg_pg *pg, struct mg_pg_call *call)
{
    mg_pg_calls_push(&pg->calls, call);
    pg->call_count++;
    pg->call_bytes += call->bytes;
}

/* Has a Sync of its own: a failure beside it does not undo it, and its own failure affects only the calls
 * that need it. */
static bool prepare(struct mg_pg *pg, const struct mg_sql *sql)
{
    if (sql->name[0] == '\0') return true;
    for (int i = 0; i < pg->prepared_count; i++) {
        if (pg->prepared[i] == sql) return true;
    }
    assert(pg->prepared_count < PREPARED_MAX);
    if (PQsendPrepare(pg->conn, sql->name, sql->text, 0, NULL) != 1 || PQpipelineSync(pg->conn) != 1)
        return false;
    struct mg_pg_call *call = mg_pg_call_new(NULL, NULL);
    call->prepares = sql;
    enlist(pg, call);
    pg->prepared[pg->prepared_count++] = sql;
    return true;
}

static bool send_statement(struct mg_pg *pg, const struct mg_pg_statement *statement)
{
    const char *values[MG_PG_PARAMS_MAX];
    int lengths[MG_PG_PARAMS_MAX], formats[MG_PG_PARAMS_MAX];
    int count = statement->params == NULL ? 0 : statement->params->count;
    for (int i = 0; i < count; i++) {
        const struct mg_pg_param *param = &statement->params->items[i];
        values[i] = param->is_null ? NULL : param->bytes.len == 0 ? "" : param->bytes.data;
        lengths[i] = (int)param->bytes.len;
        formats[i] = 1;
    }
    if (statement->sql->name[0] == '\0') {
        return PQsendQueryParams(pg->conn, statement->sql->text, count, NULL, values, lengths, formats, 0) ==
               1;
    }
    return PQsendQueryPrepared(pg->conn, statement->sql->name, count, values, lengths, formats, 0) == 1;
}

void mg_pg_send(struct mg_pg *pg, const struct mg_pg_statement *statements, int count, mg_pg_fn *fn,
                void *arg)
{
    assert(count > 0 && count <= MG_PG_STATEMENTS_MAX);
    if (pg->conn == NULL || pg->is_broken) {
        mg_pg_refuse(pg, MG_PG_LOST, "the database is not connected", fn, arg);
        return;
    }
    size_t bytes = 0;
    for (int i = 0; i < count; i++) {
        if (statements[i].params == NULL) continue;
        mg_pg_params_seal(statements[i].params);
        if (statements[i].params->failed) {
            bool is_shortage = statements[i].params->is_out_of_memory;
            mg_pg_refuse(pg, is_shortage ? MG_PG_BUSY : MG_PG_DATA,
                         is_shortage ? "there is no memory for the values of a database call"
                                     : "the values are too large to be sent to the database",
                         fn, arg);
            return;
        }
        bytes += mg_pg_params_size(statements[i].params);
    }
    if (pg->call_count >= CALLS_MAX || (pg->call_count > 0 && pg->call_bytes + bytes > CALL_BYTES_MAX)) {
        mg_pg_refuse(pg, MG_PG_BUSY, "the database does not keep up: too many calls are under way", fn, arg);
        return;
    }
    bool is_sent = true;
    for (int i = 0; is_sent && i < count; i++)
        is_sent = prepare(pg, statements[i].sql);
    for (int i = 0; is_sent && i < count; i++)
        is_sent = send_statement(pg, &statements[i]);
    if (is_sent) is_sent = PQpipelineSync(pg->conn) == 1;

    struct mg_pg_call *call = mg_pg_call_new(fn, arg);
    call->statement_count = count;
    for (int i = 0; i < count; i++)
        call->statements[i] = statements[i].sql;
    call->bytes = bytes;
    enlist(pg, call);
    if (is_sent) {
        flush(pg);
    } else {
        drop_with_message(pg); /* the stream may hold half a message: only a new session is safe */
    }
}

int mg_pg_backend_pid(const struct mg_pg *pg)
{
    return pg->conn == NULL ? 0 : PQbackendPID(pg->conn);
}

/* ---- receiving ---- */

static void take_error(struct mg_pg *pg, struct mg_pg_call *call, const PGresult *result)
{
    if (call->fault != MG_PG_NONE) return; /* the first error is the cause */
    const char *sqlstate = PQresultErrorField(result, PG_DIAG_SQLSTATE);
    char text[REASON_SIZE];
    mg_pg_explain_result(pg->conn, result, text, sizeof text);
    if (text[0] == '\0') snprintf(text, sizeof text, "the server does not say why");
    snprintf(call->sqlstate, sizeof call->sqlstate, "%s", sqlstate == NULL ? "" : sqlstate);
    call->fault = sqlstate == NULL ? MG_PG_LOST : mg_pg_fault_of(sqlstate);
    (void)mg_err_set(&call->err, mg_pg_class_of(call->fault), "%s%s%s%s", text, sqlstate == NULL ? "" : " (",
                     call->sqlstate, sqlstate == NULL ? "" : ")");
    if (call->fault == MG_PG_LOST) mg_pg_drop(pg, text);
}

/* Only a new session is surely in step with the server. */
static void take_stray(struct mg_pg *pg, struct mg_pg_call *call)
{
    static const char why[] = "the server's answers are not to what was asked";
    if (call->fault == MG_PG_NONE) {
        call->fault = MG_PG_LOST;
        (void)mg_err_set(&call->err, mg_pg_class_of(MG_PG_LOST), "%s", why);
    }
    mg_pg_drop(pg, why);
}

/* Takes ownership of `result`. True: it is the Sync that ends the call. */
static bool take_result(struct mg_pg *pg, struct mg_pg_call *call, PGresult *result)
{
    ExecStatusType status = PQresultStatus(result);
    bool is_end = status == PGRES_PIPELINE_SYNC;
    if (status == PGRES_TUPLES_OK || status == PGRES_COMMAND_OK) {
        if (call->row_count < call->statement_count) {
            call->rows[call->row_count++].result = result;
            return false;
        }
    } else if (status == PGRES_FATAL_ERROR || status == PGRES_BAD_RESPONSE) {
        take_error(pg, call, result);
    } else if (is_end) {
        if (call->fault == MG_PG_NONE && call->row_count < call->statement_count) take_stray(pg, call);
    } else if (status != PGRES_PIPELINE_ABORTED ||
               call->fault == MG_PG_NONE) { /* no statement of ours has other results */
        take_stray(pg, call);
    }
    PQclear(result);
    return is_end;
}

static void receive(struct mg_pg *pg)
{
    int empty_in_row = 0; /* one NULL ends each statement; two in a row mean no result */
    while (!pg->is_destroyed && pg->conn != NULL && !pg->is_broken && pg->calls.first != NULL &&
           empty_in_row < 2) {
        if (PQisBusy(pg->conn)) return;
        PGresult *result = PQgetResult(pg->conn);
        if (result == NULL) {
            empty_in_row++;
            continue;
        }
        empty_in_row = 0;
        pg->progress_ms = mg_clock_boot_ms();
        if (!take_result(pg, pg->calls.first, result)) {
            if (PQstatus(pg->conn) == CONNECTION_BAD) drop_with_message(pg);
            continue;
        }
        struct mg_pg_call *call = mg_pg_calls_pop(&pg->calls);
        if (call->fault == MG_PG_NONE) pg->failures = 0;
        settle(pg, call);
    }
}

static void on_watch(void *arg, int events)
{
    struct mg_pg *pg = arg;
    if (pg->conn == NULL || pg->is_broken) return;
    enter(pg);
    bool is_alive = true;
    if ((events & MG_READABLE) != 0) is_alive = PQconsumeInput(pg->conn) == 1;
    receive(pg); /* also data from before the end: the server's last message has the reason */
    if (!pg->is_destroyed && pg->conn != NULL && !pg->is_broken) {
        if (!is_alive) {
            drop_with_message(pg);
        } else {
            flush(pg); /* reading may have made room for writing (libpq documentation 34.4) */
        }
    }
    (void)leave(pg); /* last: the session may be gone */
}
