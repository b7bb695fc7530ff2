/*
 * The calls of one session. They stand in one FIFO in the order of their Syncs. PQgetResult is called only
 * while PQisBusy is false, so it never blocks. A call is answered when its PGRES_PIPELINE_SYNC has come,
 * since only that proves the COMMIT.
 */
#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/metrics.h"
#include "io/pg/session.h"

/* Unanswered calls. A handler has a few; this many mean that the server does not keep up. */
#define CALLS_MAX 1024
/* Bytes that libpq may hold for a server that does not read. */
#define CALL_BYTES_MAX (128u * 1024 * 1024)

/* ---- losing the session ---- */

void mg_pg_drop(struct mg_pg *pg, const char *reason)
{
    if (pg->conn == NULL || pg->is_broken) {
        return;
    }
    pg->is_broken = true;
    snprintf(pg->reason, sizeof(pg->reason), "%s", reason);
    mg_idle_arm(pg->idle);
}

void mg_pg_drop_with_message(struct mg_pg *pg)
{
    char text[MG_PG_REASON_SIZE];
    mg_pg_message(PQerrorMessage(pg->conn), text, sizeof(text));
    mg_pg_drop(pg, text[0] == '\0' ? "the connection was closed" : text);
}

/* ---- answering ---- */

void mg_pg_answer_call(struct mg_pg *pg, struct mg_pg_call *call)
{
    if (call->prepares != NULL) {
        /* Removed, so that the next use prepares it again. */
        if (call->fault != MG_PG_NONE && call->fault != MG_PG_LOST) {
            mg_pg_calls_fail(&pg->calls, call);
        }
        for (int i = 0; call->fault != MG_PG_NONE && i < pg->prepared_count; i++) {
            if (pg->prepared[i] == call->prepares) {
                pg->prepared[i] = pg->prepared[--pg->prepared_count];
            }
        }
        return;
    }
    if (pg->metric_calls != NULL) {
        mg_metric_add(pg->metric_calls, 1);
        mg_metric_observe(pg->metric_seconds, (double)(mg_clock_boot_ms() - call->sent_ms) / 1000.0);
        if (call->fault != MG_PG_NONE) {
            mg_metric_add(pg->metric_failures, 1);
        }
    }
    struct mg_pg_answer answer = {.fault = call->fault, .sqlstate = call->sqlstate};
    if (call->fault != MG_PG_NONE) {
        answer.err = &call->err;
    }
    for (int i = 0; i < call->row_count; i++) {
        answer.rows[i] = &call->rows[i];
    }
    call->fn(call->arg, &answer);
}

/* Only success of the same statement proves that the right has been granted. The refused statement is the
 * first without rows. */
static void judge_rights(struct mg_pg *pg, const struct mg_pg_call *call)
{
    bool is_denied = strcmp(call->sqlstate, MG_SQLSTATE_NO_RIGHT) == 0;
    if (pg->options.on_denied == NULL) {
        return;
    }
    if (is_denied && pg->denied == NULL && call->row_count < call->statement_count) {
        pg->denied = call->statements[call->row_count];
        pg->options.on_denied(pg->options.arg, call->err.text);
    } else if (call->fault == MG_PG_NONE && pg->denied != NULL && mg_pg_call_has(call, pg->denied)) {
        pg->denied = NULL;
        pg->options.on_denied(pg->options.arg, NULL);
    }
}

void mg_pg_settle(struct mg_pg *pg, struct mg_pg_call *call)
{
    pg->call_count--;
    pg->call_bytes -= call->bytes;
    judge_rights(pg, call);
    if (pg->options.on_full != NULL && strcmp(call->sqlstate, MG_SQLSTATE_DISK_FULL) == 0) {
        pg->options.on_full(pg->options.arg);
    }
    mg_pg_answer_call(pg, call);
    mg_pg_call_free(call);
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

void mg_pg_flush(struct mg_pg *pg)
{
    int left = PQflush(pg->conn);
    if (left < 0) {
        mg_pg_drop_with_message(pg);
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

/* Has a Sync of its own: a failure alongside it does not undo it, and its own failure affects only the calls
 * that need it. */
static bool prepare(struct mg_pg *pg, const struct mg_sql *sql)
{
    if (sql->name[0] == '\0') {
        return true;
    }
    for (int i = 0; i < pg->prepared_count; i++) {
        if (pg->prepared[i] == sql) {
            return true;
        }
    }
    assert(pg->prepared_count < MG_PG_PREPARED_MAX);
    if (PQsendPrepare(pg->conn, sql->name, sql->text, 0, NULL) != 1 || PQpipelineSync(pg->conn) != 1) {
        return false;
    }
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
        bytes += mg_pg_params_size(statements[i].params);
    }
    if (pg->call_count >= CALLS_MAX || (pg->call_count > 0 && pg->call_bytes + bytes > CALL_BYTES_MAX)) {
        mg_pg_refuse(pg, MG_PG_BUSY, "the database does not keep up: too many calls are under way", fn, arg);
        return;
    }
    bool is_sent = true;
    for (int i = 0; is_sent && i < count; i++) {
        is_sent = prepare(pg, statements[i].sql);
    }
    for (int i = 0; is_sent && i < count; i++) {
        is_sent = send_statement(pg, &statements[i]);
    }
    if (is_sent) {
        is_sent = PQpipelineSync(pg->conn) == 1;
    }

    struct mg_pg_call *call = mg_pg_call_new(fn, arg);
    call->statement_count = count;
    for (int i = 0; i < count; i++) {
        call->statements[i] = statements[i].sql;
    }
    call->bytes = bytes;
    enlist(pg, call);
    if (is_sent) {
        mg_pg_flush(pg);
    } else {
        mg_pg_drop_with_message(pg); /* the stream may hold half a message: only a new session is safe */
    }
}

int mg_pg_backend_pid(const struct mg_pg *pg)
{
    return pg->conn == NULL ? 0 : PQbackendPID(pg->conn);
}

/* ---- receiving ---- */

/* A migration has changed the type or collation of a column that a prepared statement returns. The statement
 * fails for the rest of the session. PostgreSQL has no code of its own for it; the name is in no language. */
static bool is_outdated(const PGresult *result, const char *sqlstate)
{
    const char *function = PQresultErrorField(result, PG_DIAG_SOURCE_FUNCTION);
    return strcmp(sqlstate, "0A000") == 0 && function != NULL &&
           strcmp(function, "RevalidateCachedQuery") == 0;
}

static void take_error(struct mg_pg *pg, struct mg_pg_call *call, const PGresult *result)
{
    if (call->fault != MG_PG_NONE) {
        return; /* the first error is the cause */
    }
    const char *sqlstate = PQresultErrorField(result, PG_DIAG_SQLSTATE);
    char text[MG_PG_REASON_SIZE];
    mg_pg_explain_result(pg->conn, result, text, sizeof(text));
    if (text[0] == '\0') {
        snprintf(text, sizeof(text), "the server gives no reason");
    }
    snprintf(call->sqlstate, sizeof(call->sqlstate), "%s", sqlstate == NULL ? "" : sqlstate);
    bool is_lost = sqlstate == NULL || is_outdated(result, sqlstate);
    call->fault = is_lost ? MG_PG_LOST : mg_pg_fault_read(result);
    (void)mg_err_set(&call->err, mg_pg_class_of(call->fault), "%s%s%s%s", text, sqlstate == NULL ? "" : " (",
                     call->sqlstate, sqlstate == NULL ? "" : ")");
    if (call->fault == MG_PG_LOST) {
        mg_pg_drop(pg, text);
    }
}

/* Only a new session is surely in step with the server. */
static void take_stray(struct mg_pg *pg, struct mg_pg_call *call)
{
    static const char why[] = "the server's answers do not belong to the statements";
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
        if (call->fault == MG_PG_NONE && call->row_count < call->statement_count) {
            take_stray(pg, call);
        }
    } else if (status != PGRES_PIPELINE_ABORTED ||
               call->fault == MG_PG_NONE) { /* no statement of ours has other results */
        take_stray(pg, call);
    }
    PQclear(result);
    return is_end;
}

void mg_pg_receive(struct mg_pg *pg)
{
    int empty_in_row = 0; /* one NULL ends each statement; two in a row mean no result */
    while (!pg->is_destroyed && pg->conn != NULL && !pg->is_broken && pg->calls.first != NULL &&
           empty_in_row < 2) {
        if (PQisBusy(pg->conn)) {
            return;
        }
        PGresult *result = PQgetResult(pg->conn);
        if (result == NULL) {
            empty_in_row++;
            continue;
        }
        empty_in_row = 0;
        pg->progress_ms = mg_clock_boot_ms();
        if (!take_result(pg, pg->calls.first, result)) {
            if (PQstatus(pg->conn) == CONNECTION_BAD) {
                mg_pg_drop_with_message(pg);
            }
            continue;
        }
        struct mg_pg_call *call = mg_pg_calls_pop(&pg->calls);
        if (call->fault == MG_PG_NONE) {
            pg->failures = 0;
        }
        mg_pg_settle(pg, call);
    }
}
