/* What the pg*.c files share and nobody else sees: libpq's connection and results, and what SQLSTATEs mean.
 */
#ifndef MG_IO_PG_LIBPQ_H
#define MG_IO_PG_LIBPQ_H

#include <libpq-fe.h>

#include "io/pg/pg.h"
#include "io/reach.h"

struct mg_rows {
    PGresult *result;
};

/* Connects and blocks meanwhile (name resolution does in any case). Never NULL but for want of memory; the
 * caller asks PQstatus. An empty `dsn` means the PG* environment. */
PGconn *mg_pg_connect(const char *dsn, const char *name);
/* Whether libpq can read the string; it connects to nothing. */
enum mg_class mg_pg_check_dsn(const char *dsn, struct mg_err *err) MG_MUSTCHECK;

enum mg_pg_fault mg_pg_fault_of(const char *sqlstate);
enum mg_class mg_pg_class_of(enum mg_pg_fault fault);
/* libpq's message in one line, without its "ERROR:" and the newline at its end. */
void mg_pg_message(const char *message, char *ret_text, size_t size);

/* ---- what people are told (pg/explain.c) ---- */

#define SQLSTATE_NO_RIGHT  "42501" /* insufficient_privilege */
#define SQLSTATE_DISK_FULL "53100" /* disk_full */

struct mg_pg_failure {
    char text[MG_ERR_TEXT_MAX];
    enum mg_reach reach;
};

/* Why the connection could not be made, what to do about it, and where its address stands. May block as
 * connecting does. `failure` holds what was found at the attempt before ("": nothing): the server is not
 * asked again about the same words. */
void mg_pg_explain_connect(PGconn *conn, const char *dsn, struct mg_pg_failure *failure);
/* What is wrong with the certificate of a server whose certificate libpq has just refused (pg/tls.c). False:
 * it cannot be told. */
bool mg_pg_judge_certificate(PGconn *conn, char *ret_text, size_t size);
/* Why a statement failed; of one for which a right is missing, also who lacks it and what gives it. */
void mg_pg_explain_result(const PGconn *conn, const PGresult *result, char *ret_text, size_t size);

#endif
