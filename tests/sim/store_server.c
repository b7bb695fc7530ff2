/*
 * The simulated server. Requests of a session run one after the other, each transaction in an instant, and
 * are answered after a while. Faults of single requests occur here.
 */
#include "store_server.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#define TYPICAL_LINE_US  100
#define TYPICAL_READ_US  300
#define TYPICAL_WRITE_US 800                  /* a commit waits for the disk */
#define STATEMENT_MAX_US (10 * SIM_SECOND_US) /* the longest statement_timeout of a session */
/* The duration of a statement on a lagging server: longer than a gap in sweeping, and below the statement
 * time-out. */
#define LAG_LEAST_US (3 * SIM_SECOND_US + SIM_SECOND_US / 4)
/* In one read of so many other transactions commit between its statements. One sweep of so many finds locked
 * rows. */
#define ONE_IN 16

struct sim_server sim_server;

/* ---- requests ---- */

/* A copy with its own memory: a request on its way outlives its sender. */
static void params_copy(const struct mg_pg_params *from, struct mg_pg_params *ret_params)
{
    *ret_params = *from;
    for (int i = 0; i < from->count; i++) {
        struct mg_buf *bytes = &ret_params->items[i].bytes;
        if (bytes->data != NULL) {
            bytes->data = malloc(bytes->capacity);
            assert(bytes->data != NULL);
            memcpy(bytes->data, from->items[i].bytes.data, bytes->len + 1);
        }
    }
}

struct sim_request *sim_request_create(const struct mg_pg_statement *statements, int count)
{
    struct sim_request *request = calloc(1, sizeof(*request));
    assert(request != NULL);
    request->references = 1;
    request->sent_us = sim_now_us();
    request->params = calloc((size_t)count, sizeof(*request->params));
    assert(request->params != NULL);
    request->count = count;
    for (int i = 0; i < count; i++) {
        request->sqls[i] = statements[i].sql;
        request->is_write = request->is_write || sim_statement_of(statements[i].sql)->is_write;
        if (statements[i].params != NULL) {
            params_copy(statements[i].params, &request->params[i]);
        }
    }
    return request;
}

void sim_request_hold(struct sim_request *request)
{
    request->references++;
}

void sim_request_release(struct sim_request *request)
{
    if (--request->references > 0) {
        return;
    }
    for (int i = 0; i < request->count; i++) {
        mg_pg_params_finish(&request->params[i]);
        PQclear(request->outputs[i].result);
    }
    free(request->params);
    free(request);
}

static void request_plan(struct sim_request *request, struct sim_node *node, int64_t delay_us, sim_fn *fn)
{
    sim_request_hold(request);
    sim_after(node, delay_us, fn, request);
}

/* ---- answers to the client ---- */

static int64_t answer_delay_us(struct sim_session *session)
{
    int64_t at_us = sim_now_us() + sim_draw_delay_us(TYPICAL_LINE_US);
    session->answers_us = at_us > session->answers_us ? at_us : session->answers_us;
    return session->answers_us - sim_now_us();
}

static void on_answer(void *arg)
{
    struct sim_request *request = arg;
    struct sim_session *session = request->session;
    if (session->pg != NULL && !session->is_silent) {
        sim_client_answered(session->pg, request);
    }
    sim_request_release(request);
}

static void on_lost(void *arg)
{
    struct sim_session *session = arg;
    struct mg_pg *pg = session->pg;
    session->pg = NULL;
    if (pg != NULL) {
        sim_client_lost(pg, session->reason);
    }
}

static void on_connected(void *arg)
{
    struct sim_session *session = arg;
    if (session->pg != NULL) {
        sim_client_connected(session->pg);
    }
}

/* ---- sessions ---- */

void sim_session_end(struct sim_session *session, const char *reason, bool is_cut)
{
    if (session->is_ended) {
        return;
    }
    sim_trace("db session %d ends: %s", session->pid, reason);
    session->is_ended = true;
    session->reason = reason;
    sim_session_unlock(session);
    while (session->first != NULL) {
        struct sim_request *request = session->first;
        session->first = request->next;
        sim_request_release(request);
    }
    if (session->pg != NULL && !session->is_silent) {
        int64_t delay_us =
            is_cut && sim_draw(2) == 0 ? sim_draw_delay_us(TYPICAL_LINE_US) : answer_delay_us(session);
        sim_after(session->node, delay_us, on_lost, session);
    }
}

static void on_idle_limit(void *arg)
{
    struct sim_session *session = arg;
    int64_t left_us = session->idle_since_us + session->idle_limit_us - sim_now_us();
    session->is_idle_planned = false;
    if (session->is_ended || session->first != NULL) {
        return;
    }
    if (left_us > 0) {
        session->is_idle_planned = true;
        sim_after(NULL, left_us, on_idle_limit, session);
        return;
    }
    sim_session_end(session, "terminating connection due to idle-session timeout", false);
}

static void session_rest(struct sim_session *session)
{
    session->idle_since_us = sim_now_us();
    if (session->idle_limit_us > 0 && !session->is_idle_planned) {
        session->is_idle_planned = true;
        sim_after(NULL, session->idle_limit_us, on_idle_limit, session);
    }
}

int sim_session_pid(const struct sim_session *session)
{
    return session->pid;
}

void sim_session_set_idle_limit(struct sim_session *session, int64_t limit_ms)
{
    session->idle_limit_us = limit_ms * 1000;
}

void sim_session_set_statement_limit(struct sim_session *session, int64_t limit_ms)
{
    session->statement_limit_us = limit_ms * 1000;
}

bool sim_session_try_lock(struct sim_session *session)
{
    if (sim_server.locked_by == NULL) {
        sim_server.locked_by = session;
    }
    return sim_server.locked_by == session;
}

bool sim_session_has_lock(const struct sim_session *session)
{
    return sim_server.locked_by == session;
}

void sim_session_unlock(struct sim_session *session)
{
    if (sim_server.locked_by == session) {
        sim_server.locked_by = NULL;
    }
}

/* ---- running ---- */

static void session_begin(struct sim_session *session);

struct sim_transaction sim_transaction_of(const struct sim_request *request, struct sim_tables *tables,
                                          struct sim_session *session)
{
    return (struct sim_transaction){.tables = tables,
                                    .now_ms = request->now_ms,
                                    .sent_us = request->sent_us,
                                    .session = session,
                                    .locked_salt = request->locked_salt};
}

static void request_fail(struct sim_request *request, const char *sqlstate, const char *what)
{
    memcpy(request->sqlstate, sqlstate, sizeof(request->sqlstate));
    request->what = what;
}

/* Fails with an error after which a retry may succeed: a deadlock, a time limit, another transaction's
 * commit. */
static void request_abort(struct sim_request *request)
{
    static const struct {
        const char *sqlstate, *what;
    } CAUSES[] = {{"40P01", "deadlock detected"},
                  {"40001", "could not serialize access"},
                  {"55P03", "canceling statement due to lock timeout"},
                  {"57014", "canceling statement due to statement timeout"}};
    size_t cause = sim_draw(sizeof(CAUSES) / sizeof(CAUSES[0]));
    request_fail(request, CAUSES[cause].sqlstate, CAUSES[cause].what);
}

/* Runs one statement of it, or all; true: it is complete. */
static bool request_run(struct sim_request *request)
{
    request->now_ms = request->is_lagging ? request->begun_ms : sim_store_now_ms();
    struct sim_transaction transaction = sim_transaction_of(request, sim_server.tables, request->session);
    int until = request->is_torn ? request->run_count + 1 : request->count;
    for (; request->run_count < until; request->run_count++) {
        int i = request->run_count;
        sim_statement_run(&transaction, request->sqls[i], &request->params[i], &request->outputs[i]);
    }
    if (transaction.sqlstate[0] != '\0') {
        request_fail(request, transaction.sqlstate, transaction.what);
    }
    sim_transaction_end(&transaction);
    return request->sqlstate[0] != '\0' || request->run_count == request->count;
}

static const char *name_of(const struct sim_request *request)
{
    return sim_statement_of(request->sqls[0])->name;
}

static void request_answer(struct sim_request *request)
{
    struct sim_session *session = request->session;
    sim_trace("db %d %s%s%s", session->pid, name_of(request), request->sqlstate[0] == '\0' ? "" : " ",
              request->sqlstate);
    session->first = request->next;
    if (session->pg != NULL) {
        request_plan(request, session->node, answer_delay_us(session), on_answer);
    }
    sim_request_release(request);
    if (session->first != NULL) {
        session_begin(session);
    } else {
        session_rest(session);
    }
}

static bool is_witness(const struct sim_request *request)
{
    return strcmp(sim_statement_of(request->sqls[request->count - 1])->name, "roll_back") == 0;
}

/* True: a fault occurred instead. */
static bool goes_wrong(struct sim_request *request)
{
    struct sim_session *session = request->session;
    if (request->is_late) {
        request_fail(request, "57014", "canceling statement due to statement timeout");
    } else if (request->is_write && sim_server.is_read_only) {
        request_fail(request, "25006", "cannot write in a read-only transaction");
    } else if (sim_happens(SIM_STORE_DENIED)) {
        request_fail(request, "42501", "permission denied");
    } else if (request->is_write && sim_happens(SIM_STORE_FULL)) {
        request_fail(request, "53100", "could not extend file: No space left on device");
    } else if (request->is_write && sim_server.is_refusing) {
        request_fail(request, "54000", "database is not accepting commands to avoid wraparound data loss");
    } else if (request->is_write && sim_happens(SIM_STORE_ABORTED)) {
        request_abort(request);
    } else if (request->is_write && sim_happens(SIM_STORE_UNKNOWN_LOST)) {
        sim_session_end(session, "server closed the connection unexpectedly", true);
        return true;
    }
    if (request->sqlstate[0] == '\0' && is_witness(request)) { /* a transaction sees its own rows there */
        request_fail(request, "22P02", SIM_WITNESS_TEXT);
    }
    if (request->sqlstate[0] != '\0') {
        request_answer(request);
    }
    return request->sqlstate[0] != '\0';
}

static void on_run(void *arg)
{
    struct sim_request *request = arg;
    struct sim_session *session = request->session;
    /* The session may have ended, or healing may have run the request already. */
    bool is_due = !session->is_ended && session->first == request && request->is_begun;
    if (is_due && !goes_wrong(request)) {
        if (!request_run(request)) {
            request_plan(request, NULL, sim_draw_delay_us(TYPICAL_READ_US), on_run);
        } else {
            bool is_written = request->is_write && request->sqlstate[0] == '\0';
            if (is_written && sim_server.standby != NULL) {
                sim_log_add(request);
                sim_log_replay(sim_now_us() - SIM_LAG_MAX_US);
            }
            if (is_written && sim_happens(SIM_STORE_UNKNOWN_APPLIED)) {
                sim_session_end(session, "server closed the connection unexpectedly", true);
            } else {
                request_answer(request);
            }
        }
    }
    sim_request_release(request);
}

static bool is_sweep(const struct sim_request *request)
{
    return strcmp(name_of(request), "sweep") == 0;
}

static bool is_lagging(const struct sim_request *request)
{
    return sim_now_us() < sim_server.lags_until_us && (is_sweep(request) || !sim_server.lags_in_sweeps);
}

/* Begins the first request of the session. */
static void session_begin(struct sim_session *session)
{
    struct sim_request *request = session->first;
    int64_t delay_us = sim_draw_delay_us(request->is_write ? TYPICAL_WRITE_US : TYPICAL_READ_US);
    if (sim_happens(SIM_STORE_SLOW)) {
        delay_us = sim_draw_between(SIM_SECOND_US / 20, STATEMENT_MAX_US + 2 * SIM_SECOND_US);
    } else if (is_lagging(request)) {
        delay_us = sim_draw_between(LAG_LEAST_US, STATEMENT_MAX_US - 1);
        /* A sweep reads the clock at its begin. */
        request->is_lagging = is_sweep(request) && sim_draw(2) == 0;
        request->begun_ms = sim_store_now_ms();
    }
    request->is_late = delay_us > session->statement_limit_us;
    delay_us = request->is_late ? session->statement_limit_us : delay_us;
    bool is_crowded = !sim_is_healed() && sim_draw(ONE_IN) == 0;
    request->is_torn = is_crowded && !request->is_write && request->count > 1;
    request->locked_salt = is_crowded && request->is_write ? sim_draw(UINT32_MAX) + 1 : 0;
    request->is_begun = true;
    request_plan(request, NULL, delay_us, on_run);
}

static void on_arrival(void *arg)
{
    struct sim_request *request = arg;
    struct sim_session *session = request->session;
    if (session->is_ended || session->is_silent) {
        sim_request_release(request);
        return;
    }
    bool is_first = session->first == NULL;
    request->next = NULL;
    *(is_first ? &session->first : &session->last->next) = request;
    session->last = request;
    if (is_first) {
        session_begin(session);
    }
}

/* ---- connecting and closing ---- */

static void on_open(void *arg)
{
    struct sim_session *session = arg;
    if (session->pg == NULL) {
        return;
    }
    if (sim_server.is_down) {
        session->is_ended = true;
        session->reason = "connection refused";
        sim_after(session->node, answer_delay_us(session), on_lost, session);
        return;
    }
    session->is_up = true;
    sim_after(session->node, answer_delay_us(session), on_connected, session);
    session_rest(session);
}

static int64_t arrival_delay_us(struct sim_session *session)
{
    int64_t at_us = sim_now_us() + sim_draw_delay_us(TYPICAL_LINE_US);
    session->arrives_us = at_us > session->arrives_us ? at_us : session->arrives_us;
    return session->arrives_us - sim_now_us();
}

struct sim_session *sim_session_open(struct mg_pg *pg)
{
    struct sim_session *session = calloc(1, sizeof(*session));
    assert(session != NULL);
    session->pg = pg;
    session->node = sim_node();
    session->pid = ++sim_server.session_count;
    session->statement_limit_us = STATEMENT_MAX_US;
    session->next = sim_server.sessions;
    sim_server.sessions = session;
    sim_after(NULL, arrival_delay_us(session), on_open, session);
    return session;
}

void sim_session_send(struct sim_session *session, struct sim_request *request)
{
    request->session = session;
    sim_after(NULL, arrival_delay_us(session), on_arrival, request); /* with its reference */
}

static void on_closed(void *arg)
{
    sim_session_end(arg, "the client is gone", false);
}

void sim_session_close(struct sim_session *session)
{
    session->pg = NULL;
    if (session->is_silent) {
        return; /* the server is not informed: its keepalive detects it */
    }
    /* After earlier requests, or before them. */
    bool is_last = sim_draw(2) == 0;
    sim_after(NULL, is_last ? arrival_delay_us(session) : 0, on_closed, session);
}

void sim_session_break_silence(struct sim_session *session)
{
    session->is_silent = false;
    if (!session->is_ended) {
        sim_session_end(session, "the line broke", false);
    } else if (session->pg != NULL) {
        sim_after(session->node, answer_delay_us(session), on_lost, session);
    }
}

void sim_session_hurry(struct sim_session *session)
{
    if (session->first != NULL && session->first->is_begun) {
        session->first->is_late = false;
        request_plan(session->first, NULL, 0, on_run);
    }
}

void sim_store_node_died(struct sim_node *node)
{
    for (struct sim_session *session = sim_server.sessions; session != NULL; session = session->next) {
        if (session->node == node && session->pg != NULL) {
            sim_session_close(session);
        }
    }
}
