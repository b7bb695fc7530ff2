/*
 * The client's side of a simulated session: io/pg/pg.h with the behaviour of common/io/pg/pg.c and
 * pipeline.c. Calls form one queue and are answered in order, never from within a call. Reconnects have the
 * same backoff, and the watchdog is the same. Errors are recorded first and handled in the idle turn.
 */
#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "core/backoff.h"
#include "io/pg/pending.h"
#include "store_tables.h"

/* As in common/io/pg/pg.c and common/io/pg/pipeline.c. */
#define RECONNECT_MIN_MS 100
#define RECONNECT_MAX_MS (5 * 1000)
#define ANSWER_MAX_MS    (15 * 1000)
#define WATCH_PERIOD_MS  1000
#define CALLS_MAX        1024

struct mg_pg {
    struct mg_pg_options options;
    struct sim_session *session; /* NULL: neither connected nor connecting */
    bool is_up, is_broken;
    char reason[MG_ERR_TEXT_MAX];
    struct mg_timer *reconnect, *watchdog;
    struct mg_idle *idle;
    struct mg_pg_calls calls, refused;
    int call_count;
    int64_t progress_ms;
    uint32_t failures;
    int callback_depth;
    bool is_destroyed;
};

/* Code that calls back runs between these two; after `leave` the client may be gone. */
static void enter(struct mg_pg *pg)
{
    pg->callback_depth++;
}

static void leave(struct mg_pg *pg)
{
    pg->callback_depth--;
    if (pg->is_destroyed && pg->callback_depth == 0) {
        free(pg);
    }
}

/* ---- connecting ---- */

static void reconnect_schedule(struct mg_pg *pg)
{
    int64_t wait_ms = mg_backoff_ms(RECONNECT_MIN_MS, RECONNECT_MAX_MS, pg->failures, -1, mg_random_u64());
    pg->failures++;
    mg_timer_start(pg->reconnect, wait_ms, 0);
}

static void on_reconnect(void *arg)
{
    struct mg_pg *pg = arg;
    assert(pg->session == NULL);
    pg->session = sim_session_open(pg);
}

void sim_client_connected(struct mg_pg *pg)
{
    pg->is_up = true;
    pg->is_broken = false;
    pg->progress_ms = mg_clock_boot_ms();
    mg_timer_start(pg->watchdog, WATCH_PERIOD_MS, WATCH_PERIOD_MS);
    enter(pg);
    pg->options.on_connected(pg->options.arg);
    leave(pg);
}

/* ---- answering ---- */

static void call_answer(struct mg_pg_call *call)
{
    struct mg_pg_answer answer = {.fault = call->fault, .sqlstate = call->sqlstate};
    if (call->fault != MG_PG_NONE) {
        answer.err = &call->err;
    }
    for (int i = 0; i < call->row_count; i++) {
        answer.rows[i] = &call->rows[i];
    }
    call->fn(call->arg, &answer);
}

static void session_lose(struct mg_pg *pg)
{
    char reason[MG_ERR_TEXT_MAX];
    memcpy(reason, pg->reason, sizeof(reason));
    if (pg->session != NULL) {
        sim_session_close(pg->session);
    }
    pg->session = NULL;
    pg->is_up = pg->is_broken = false;
    mg_timer_stop(pg->watchdog);
    reconnect_schedule(pg);
    /* Calls made by these callbacks go to `refused`, so that this loop ends. */
    for (struct mg_pg_call *call; !pg->is_destroyed && (call = mg_pg_calls_pop(&pg->calls)) != NULL;) {
        pg->call_count--;
        if (call->fault == MG_PG_NONE) {
            call->fault = MG_PG_LOST;
            (void)mg_err_set(&call->err, MG_TRANSIENT, "the database session was lost: %s", reason);
        }
        call_answer(call);
        mg_pg_call_free(call);
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
        session_lose(pg);
    }
    for (struct mg_pg_call *call; (call = mg_pg_calls_pop(&refused)) != NULL; mg_pg_call_free(call)) {
        if (!pg->is_destroyed) {
            call_answer(call);
        }
    }
    leave(pg);
}

void mg_pg_drop(struct mg_pg *pg, const char *reason)
{
    if (!pg->is_up || pg->is_broken) {
        return;
    }
    pg->is_broken = true;
    (void)snprintf(pg->reason, sizeof(pg->reason), "%s", reason);
    mg_idle_arm(pg->idle);
}

void sim_client_lost(struct mg_pg *pg, const char *reason)
{
    pg->session = NULL;
    if (pg->is_up) {
        mg_pg_drop(pg, reason);
        return;
    }
    (void)snprintf(pg->reason, sizeof(pg->reason), "%s", reason);
    reconnect_schedule(pg);
    enter(pg);
    pg->options.on_lost(pg->options.arg, pg->reason);
    leave(pg);
}

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

void sim_client_answered(struct mg_pg *pg, struct sim_request *request)
{
    struct mg_pg_call *call = pg->calls.first;
    if (!pg->is_up || pg->is_broken) {
        return;
    }
    assert(call != NULL);
    pg->progress_ms = mg_clock_boot_ms();
    memcpy(call->sqlstate, request->sqlstate, sizeof(call->sqlstate));
    if (request->sqlstate[0] != '\0') {
        call->fault = mg_pg_fault_of(request->sqlstate);
        (void)mg_err_set(&call->err, mg_pg_class_of(call->fault), "%s (%s)", request->what,
                         request->sqlstate);
    }
    if (call->fault == MG_PG_LOST) {
        mg_pg_drop(pg, request->what);
        return;
    }
    for (int i = 0; i < request->run_count; i++) {
        call->rows[call->row_count++].result = request->outputs[i].result;
        request->outputs[i].result = NULL;
    }
    (void)mg_pg_calls_pop(&pg->calls);
    pg->call_count--;
    pg->failures = call->fault == MG_PG_NONE ? 0 : pg->failures;
    enter(pg);
    call_answer(call);
    leave(pg);
    mg_pg_call_free(call);
}

/* ---- sending ---- */

void mg_pg_refuse(struct mg_pg *pg, enum mg_pg_fault fault, const char *reason, mg_pg_fn *fn, void *arg)
{
    struct mg_pg_call *call = mg_pg_call_new(fn, arg);
    call->fault = fault;
    (void)mg_err_set(&call->err, mg_pg_class_of(fault), "%s", reason);
    mg_pg_calls_push(&pg->refused, call);
    mg_idle_arm(pg->idle);
}

void mg_pg_send(struct mg_pg *pg, const struct mg_pg_statement *statements, int count, mg_pg_fn *fn,
                void *arg)
{
    assert(count > 0 && count <= MG_PG_STATEMENTS_MAX);
    if (!pg->is_up || pg->is_broken) {
        mg_pg_refuse(pg, MG_PG_LOST, "the database is not connected", fn, arg);
        return;
    }
    for (int i = 0; i < count; i++) {
        if (statements[i].params == NULL) {
            continue;
        }
        mg_pg_params_seal(statements[i].params);
        if (statements[i].params->failed) {
            bool is_shortage = statements[i].params->is_out_of_memory;
            mg_pg_refuse(pg, is_shortage ? MG_PG_BUSY : MG_PG_DATA,
                         is_shortage ? "there is no memory for the values of a database call"
                                     : "the values are too large to be sent to the database",
                         fn, arg);
            return;
        }
    }
    if (pg->call_count >= CALLS_MAX) {
        mg_pg_refuse(pg, MG_PG_BUSY, "the database does not keep up: too many calls are under way", fn, arg);
        return;
    }
    mg_pg_calls_push(&pg->calls, mg_pg_call_new(fn, arg));
    pg->call_count++;
    sim_session_send(pg->session, sim_request_create(statements, count));
}

int mg_pg_backend_pid(const struct mg_pg *pg)
{
    return pg->is_up && pg->session != NULL ? sim_session_pid(pg->session) : 0;
}

/* ---- creation and end ---- */

enum mg_class mg_pg_create(struct mg_loop *loop, const struct mg_pg_options *options, struct mg_pg **ret_pg,
                           struct mg_err *err)
{
    if (!sim_has_memory()) {
        return mg_err_set(err, MG_TRANSIENT, "could not prepare the database's session: no memory");
    }
    struct mg_pg *pg = calloc(1, sizeof(*pg));
    assert(pg != NULL);
    pg->options = *options;
    pg->reconnect = mg_timer_create(loop, on_reconnect, pg);
    pg->watchdog = mg_timer_create(loop, on_watchdog, pg);
    pg->idle = mg_idle_create(loop, on_idle, pg);
    if (pg->reconnect == NULL || pg->watchdog == NULL || pg->idle == NULL) {
        mg_pg_destroy(pg);
        return mg_err_set(err, MG_TRANSIENT, "could not prepare the database's session: no memory");
    }
    mg_timer_start(pg->reconnect, 0, 0);
    *ret_pg = pg;
    return MG_OK;
}

void mg_pg_destroy(struct mg_pg *pg)
{
    if (pg == NULL || pg->is_destroyed) {
        return;
    }
    pg->is_destroyed = true;
    if (pg->session != NULL) {
        sim_session_close(pg->session);
    }
    mg_timer_destroy(pg->reconnect);
    mg_timer_destroy(pg->watchdog);
    mg_idle_destroy(pg->idle);
    for (struct mg_pg_call *call; (call = mg_pg_calls_pop(&pg->calls)) != NULL;) {
        mg_pg_call_free(call);
    }
    for (struct mg_pg_call *call; (call = mg_pg_calls_pop(&pg->refused)) != NULL;) {
        mg_pg_call_free(call);
    }
    if (pg->callback_depth == 0) {
        free(pg);
    }
}

enum mg_class mg_pg_set_dsn(struct mg_pg *pg, const char *dsn, struct mg_err *err)
{
    (void)pg;
    (void)dsn;
    (void)err;
    return MG_OK;
}
