/* Shared by the files of pg/ only: libpq's connection and results, and the meaning of SQLSTATEs. */
#ifndef MG_IO_PG_LIBPQ_H
#define MG_IO_PG_LIBPQ_H

#include <libpq-fe.h>

#include "io/pg/pg.h"
#include "io/reach.h"

struct mg_rows {
    PGresult *result;
};

/* Connects, and blocks (name resolution always does). NULL only without memory; otherwise the caller checks
 * PQstatus. An empty `dsn` means the PG* environment. */
PGconn *mg_pg_connect(const char *dsn, const char *name);
/* Whether libpq can read the string; makes no connection. */
enum mg_class mg_pg_check_dsn(const char *dsn, struct mg_err *err) MG_MUSTCHECK;

enum mg_pg_fault mg_pg_fault_of(const char *sqlstate);
/* Of a failed statement. An ERROR ends the statement, a FATAL the session (PostgreSQL 15, 55.8): so a code of
 * a lost session in an ERROR of a function, trigger or foreign table is the statement's fault, and may pass.
 */
enum mg_pg_fault mg_pg_fault_read(const PGresult *result);
enum mg_class mg_pg_class_of(enum mg_pg_fault fault);
/* libpq's message in one line, without its "ERROR:" and the final newline. */
void mg_pg_message(const char *message, char *ret_text, size_t size);

/* ---- messages for people (pg/advice.c) ---- */

#define MG_SQLSTATE_NO_RIGHT  "42501" /* insufficient_privilege */
#define MG_SQLSTATE_DISK_FULL "53100" /* disk_full */

struct mg_pg_failure {
    char text[MG_ERR_TEXT_MAX];
    enum mg_reach reach;
};

/* Writes why the connection failed, the remedy, and where its address is set. May block like a connect.
 * `failure` holds the result of the attempt before ("": none): for the same message the server is not
 * contacted again. */
void mg_pg_explain_connect(PGconn *conn, const char *dsn, struct mg_pg_failure *failure);
/* Writes the defect of a server's certificate that libpq has just refused (pg/pg_tls.c). False: unknown. */
bool mg_pg_judge_certificate(PGconn *conn, char *ret_text, size_t size);
/* Writes why a statement failed. For a missing right it adds the user that lacks it and the remedy. */
void mg_pg_explain_result(const PGconn *conn, const PGresult *result, char *ret_text, size_t size);

#endif
