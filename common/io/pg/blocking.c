/*
 * Connecting, and the blocking session for the tool's migrations. Only the tool may block: it does one thing
 * and has no loop.
 */
#include <poll.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/log.h"
#include "io/pg/libpq.h"

/* A usual connect takes some milliseconds, TLS and a far server a few hundred. */
#define QUICK_CONNECT_MS 1000

#define WATCH_PERIOD_MS 500

struct mg_pg_once {
    PGconn *conn;
    void (*watch)(void *arg); /* called while a statement runs; NULL: none */
    void *arg;
    bool is_blocked;
};

/* No notice in answer to a statement matters: "already exists, skipping" and the like. */
static void ignore_notice(void *arg, const PGresult *result)
{
    (void)arg;
    (void)result;
}

/* The server's warnings while a session begins, for instance of a collation that has changed. */
static void log_notice(void *arg, const PGresult *result)
{
    char text[MG_ERR_TEXT_MAX];
    (void)arg;
    mg_pg_message(PQresultErrorMessage(result), text, sizeof(text));
    mg_log(MG_LOG_WARN, "the database warns at the beginning of a session", MG_LOG_TEXT("notice", text));
}

/* False: it takes long. libpq's own blocking connect writes notices to stderr, and no receiver can be set
 * before it. PQreset can have one, and gives each of several addresses its time, so it does the rest. */
static bool connect_quickly(PGconn *conn)
{
    int64_t until_ms = mg_clock_boot_ms() + QUICK_CONNECT_MS;
    PostgresPollingStatusType state = PGRES_POLLING_WRITING;
    while (state == PGRES_POLLING_READING || state == PGRES_POLLING_WRITING) {
        struct pollfd socket = {.fd = PQsocket(conn),
                                .events = state == PGRES_POLLING_READING ? POLLIN : POLLOUT};
        int64_t left_ms = until_ms - mg_clock_boot_ms();
        if (left_ms <= 0 || poll(&socket, 1, (int)left_ms) == 0) {
            return false;
        }
        state = PQconnectPoll(conn);
    }
    return true;
}

/* The DSN overrides the values before "dbname", but not those after it. */
PGconn *mg_pg_connect(const char *dsn, const char *name)
{
    const char *const keys[] = {
        "fallback_application_name",
        "connect_timeout", /* seconds for each address, the handshake included */
        "keepalives_idle", /* these three detect within 11 s a peer that died while the session was idle */
        "keepalives_interval",
        "keepalives_count",
        "tcp_user_timeout", /* ms; detects a peer that died while data were on their way */
        "dbname",
        "target_session_attrs", /* a standby takes no writes; of several hosts libpq selects the primary */
        "client_encoding",
        NULL,
    };
    const char *const values[] = {
        name, "5", "5", "2", "3", "10000", dsn == NULL ? "" : dsn, "read-write", "UTF8", NULL,
    };
    PGconn *conn = PQconnectStartParams(keys, values, 1);
    if (conn == NULL || PQstatus(conn) == CONNECTION_BAD) {
        return conn;
    }
    PQsetNoticeReceiver(conn, log_notice, NULL);
    if (!connect_quickly(conn)) {
        PQreset(conn);
    }
    PQsetNoticeReceiver(conn, ignore_notice, NULL);
    return conn;
}

enum mg_class mg_pg_once_open(const char *dsn, struct mg_pg_once **ret_once, struct mg_err *err)
{
    enum mg_class class = mg_pg_check_dsn(dsn, err);
    if (class != MG_OK) {
        return class;
    }
    struct mg_pg_once *once = calloc(1, sizeof(*once));
    if (once == NULL) {
        return mg_err_set(err, MG_TRANSIENT, "could not connect to the database: no memory");
    }
    once->conn = mg_pg_connect(dsn, "makegood");
    if (once->conn == NULL || PQstatus(once->conn) != CONNECTION_OK) {
        struct mg_pg_failure failure = {.text = ""};
        if (once->conn != NULL) {
            mg_pg_explain_connect(once->conn, dsn, &failure);
        }
        class = mg_err_set(err, MG_TRANSIENT, "could not connect to the database: %s",
                           once->conn != NULL ? failure.text : "no memory");
        mg_pg_once_close(once);
        return class;
    }
    *ret_once = once;
    return MG_OK;
}

void mg_pg_once_close(struct mg_pg_once *once)
{
    if (once == NULL) {
        return;
    }
    PQfinish(once->conn);
    free(once);
}

void mg_pg_once_watch(struct mg_pg_once *once, void (*fn)(void *arg), void *arg)
{
    once->watch = fn;
    once->arg = arg;
}

bool mg_pg_once_is_blocked(const struct mg_pg_once *once)
{
    return once->is_blocked;
}

int mg_pg_once_backend_pid(const struct mg_pg_once *once)
{
    return PQbackendPID(once->conn);
}

/* Waits until PQgetResult does not block. */
static void await(const struct mg_pg_once *once)
{
    while (PQisBusy(once->conn)) {
        struct pollfd socket = {.fd = PQsocket(once->conn), .events = POLLIN};
        if (poll(&socket, 1, once->watch == NULL ? -1 : WATCH_PERIOD_MS) == 0) {
            once->watch(once->arg);
        } else if (PQconsumeInput(once->conn) != 1) {
            return;
        }
    }
}

/* The first error among the results, or the last result. */
static PGresult *take(const struct mg_pg_once *once)
{
    PGresult *kept = NULL;
    for (;;) {
        await(once);
        PGresult *result = PQgetResult(once->conn);
        if (result == NULL) {
            return kept != NULL ? kept : PQmakeEmptyPGresult(once->conn, PGRES_FATAL_ERROR);
        }
        if (kept != NULL && PQresultStatus(kept) == PGRES_FATAL_ERROR) {
            PQclear(result);
        } else {
            PQclear(kept);
            kept = result;
        }
    }
}

enum mg_class mg_pg_once_run(struct mg_pg_once *once, const char *text, const char *const *params,
                             int param_count, struct mg_rows **ret_rows, struct mg_err *err)
{
    int is_sent = param_count == 0
                      ? PQsendQuery(once->conn, text)
                      : PQsendQueryParams(once->conn, text, param_count, NULL, params, NULL, NULL, 0);
    PGresult *result = is_sent == 1 ? take(once) : PQmakeEmptyPGresult(once->conn, PGRES_FATAL_ERROR);
    ExecStatusType status = PQresultStatus(result);
    if (status != PGRES_COMMAND_OK && status != PGRES_TUPLES_OK) {
        const char *sqlstate = PQresultErrorField(result, PG_DIAG_SQLSTATE);
        once->is_blocked =
            sqlstate != NULL && (strcmp(sqlstate, "55P03") == 0 || strcmp(sqlstate, "40P01") == 0);
        enum mg_pg_fault fault = mg_pg_fault_read(result);
        char message[MG_ERR_TEXT_MAX];
        mg_pg_explain_result(once->conn, result, message, sizeof(message));
        enum mg_class class = mg_err_set(err, mg_pg_class_of(fault), "%s", message);
        PQclear(result);
        return class;
    }
    struct mg_rows *rows = ret_rows == NULL ? NULL : calloc(1, sizeof(*rows));
    if (rows == NULL) {
        PQclear(result);
        return ret_rows == NULL ? MG_OK : mg_err_set(err, MG_TRANSIENT, "no memory for the rows of a query");
    }
    rows->result = result;
    *ret_rows = rows;
    return MG_OK;
}
