/*
 * Adds advice to the messages of libpq and the server. Both name host, port, user and object; they lack the
 * side that must act.
 */
#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "io/pg/libpq.h"

#define CERTIFICATE_REFUSED "certificate verify failed"
/* Begin and end of libpq's advice for a missing CA file: to provide it, or to verify nothing. */
#define UNSAFE_ADVICE     " Either provide the file"
#define UNSAFE_ADVICE_END "certificate verification."

/* libpq's own messages are English in any language of the server; `reach` counts only for those. A refusal of
 * the server is judged by its SQLSTATE. */
static const struct {
    const char *words, *advice;
    enum mg_reach reach;
} ADVICE[] = {
    {CERTIFICATE_REFUSED, "its certificate does not come from a CA in sslrootcert, or is out of date",
     MG_REACH_REFUSED},
    {"does not match host name",
     "use one of its certificate's names as host, or give it a certificate with this one", MG_REACH_REFUSED},
    {"root certificate file", "put the CA's certificate there, or name its file with sslrootcert",
     MG_REACH_REFUSED},
    {"no encryption", "it requires TLS: write sslmode=verify-full sslrootcert=FILE", MG_REACH_UNKNOWN},
    {"server does not support SSL", "turn ssl on there; only in a private network use sslmode=disable",
     MG_REACH_REFUSED},
    {"requires a valid client certificate", "name the client's with sslcert and sslkey", MG_REACH_UNKNOWN},
    {"certificate authentication failed", "the certificate in sslcert must be for this user",
     MG_REACH_UNKNOWN},
    {"certificate required", "it requires a client certificate: name it with sslcert and sslkey",
     MG_REACH_REFUSED},
    {"alert certificate expired", "renew the certificate in sslcert", MG_REACH_REFUSED},
    {"alert unknown ca", "the certificate in sslcert must come from a CA that the server trusts",
     MG_REACH_REFUSED},
    {"password authentication failed", "see user and password in the connection string", MG_REACH_UNKNOWN},
    {"no password supplied", "the connection string names no password", MG_REACH_REFUSED},
    {"permission denied for database", "give the user the right to connect", MG_REACH_UNKNOWN},
    {"session is read-only",
     "it is a standby: name the primary, or all hosts; or default_transaction_read_only is on for this user, "
     "database or server: set it to off",
     MG_REACH_UNKNOWN},
    {"Connection refused", NULL, MG_REACH_ABSENT},
    {"could not translate host name", NULL, MG_REACH_ABSENT},
    {"No such file or directory", NULL, MG_REACH_ABSENT}, /* for a socket */
    {"No route to host", NULL, MG_REACH_ABSENT},
    {"Network is unreachable", NULL, MG_REACH_ABSENT},
};

/* Refusals at log-in that do not pass by themselves. */
static const char *const REFUSALS[] = {
    "28",    /* invalid authorization: user, password, pg_hba.conf */
    "3D000", /* no such database */
    MG_SQLSTATE_NO_RIGHT,
};
#define SQLSTATE_LEN 5

#define POOLER_ADVICE                                                                                        \
    "a pooler gives each transaction another session: let it pool sessions, or connect to PostgreSQL itself"

/* Its text appears once for each address that was tried. */
static void drop_unsafe_advice(char *text)
{
    for (char *from; (from = strstr(text, UNSAFE_ADVICE)) != NULL;) {
        const char *end = strstr(from, UNSAFE_ADVICE_END);
        const char *rest = end != NULL ? end + strlen(UNSAFE_ADVICE_END) : "";
        memmove(from, rest, strlen(rest) + 1);
    }
}

/* libpq reveals the SQLSTATE of a refused log-in only as the text of messages at the verbosity "sqlstate". So
 * this connects once more. */
static enum mg_reach reach_ask(PGconn *conn)
{
    (void)PQsetErrorVerbosity(conn, PQERRORS_SQLSTATE);
    PQreset(conn);
    if (PQstatus(conn) == CONNECTION_OK) {
        return MG_REACH_UNKNOWN; /* the next attempt will connect */
    }
    const char *text = PQerrorMessage(conn);
    size_t len = strlen(text);
    while (len > 0 && isspace((unsigned char)text[len - 1])) {
        len--;
    }
    if (len < SQLSTATE_LEN) {
        return MG_REACH_UNKNOWN;
    }
    const char *sqlstate = text + len - SQLSTATE_LEN;
    for (size_t i = 0; i < sizeof(REFUSALS) / sizeof(REFUSALS[0]); i++) {
        if (strncmp(sqlstate, REFUSALS[i], strlen(REFUSALS[i])) == 0) {
            return MG_REACH_REFUSED;
        }
    }
    return MG_REACH_UNKNOWN;
}

/* Appends to `text`. Without room it cuts the end of `text`: an address is worth more than the last words. */
static void add(char *text, size_t size, const char *separator, const char *more)
{
    size_t used = strlen(text), len = strlen(separator) + strlen(more);
    if (len >= size) {
        return;
    }
    if (used + len >= size) {
        used = size - 1 - len;
    }
    memcpy(text + used, separator, strlen(separator));
    memcpy(text + used + strlen(separator), more, strlen(more) + 1);
}

void mg_pg_explain_connect(PGconn *conn, const char *dsn, struct mg_pg_failure *failure)
{
    char text[MG_ERR_TEXT_MAX], why[MG_ERR_TEXT_MAX];
    enum mg_reach reach = MG_REACH_UNKNOWN;
    mg_pg_message(PQerrorMessage(conn), text, sizeof(text));
    drop_unsafe_advice(text);
    size_t i = 0, count = sizeof(ADVICE) / sizeof(ADVICE[0]);
    while (i < count && strstr(text, ADVICE[i].words) == NULL) {
        i++;
    }
    if (i < count) {
        reach = ADVICE[i].reach;
    }
    if (i == 0 && mg_pg_judge_certificate(conn, why, sizeof(why))) {
        add(text, sizeof(text), ": ", why);
    } else if (i < count && ADVICE[i].advice != NULL) {
        add(text, sizeof(text), "; ", ADVICE[i].advice);
    }
    add(text, sizeof(text), "; ", dsn == NULL || dsn[0] == '\0' ? MG_REACH_NO_DSN : MG_REACH_PG_DSN);
    if (strcmp(text, failure->text) == 0) {
        return;
    }
    memcpy(failure->text, text, sizeof(text));
    failure->reach = reach == MG_REACH_UNKNOWN ? reach_ask(conn) : reach;
}

/* Prepared statements of one session are known in it alone, and under one name once. */
static bool is_of_pooler(const char *sqlstate)
{
    return strcmp(sqlstate, "26000") == 0 || strcmp(sqlstate, "42P05") == 0;
}

void mg_pg_explain_result(const PGconn *conn, const PGresult *result, char *ret_text, size_t size)
{
    const char *sqlstate = PQresultErrorField(result, PG_DIAG_SQLSTATE), *role = PQuser(conn);
    bool is_of_function = PQresultErrorField(result, PG_DIAG_CONTEXT) != NULL;
    if (sqlstate != NULL && is_of_pooler(sqlstate) && !is_of_function) {
        mg_pg_message(PQresultErrorMessage(result), ret_text, size);
        add(ret_text, size, "; ", POOLER_ADVICE);
        return;
    }
    if (sqlstate == NULL || strcmp(sqlstate, MG_SQLSTATE_NO_RIGHT) != 0 || role == NULL) {
        mg_pg_message(PQresultErrorMessage(result), ret_text, size);
        return;
    }
    (void)snprintf(ret_text, size,
                   "role %s: %s; `makegood db migrate`, run as the owner, gives the rights of grants.sql",
                   role, PQresultErrorField(result, PG_DIAG_MESSAGE_PRIMARY));
}
