/*
 * libpq's and the server's words, with what to do about them. Both name host, port, user and object well;
 * what they leave out is whose move it is.
 */
#include <stdio.h>
#include <string.h>

#include "io/pg_libpq.h"

#define CERTIFICATE_REFUSED "certificate verify failed"
/* From and to where libpq, missing the CA's file, advises to provide it, or else to verify nothing. */
#define UNSAFE_ADVICE     " Either provide the file"
#define UNSAFE_ADVICE_END "certificate verification."

static const struct {
    const char *words, *advice;
} ADVICE[] = {
    {CERTIFICATE_REFUSED, "its certificate does not come from a CA in sslrootcert, or is out of date"},
    {"does not match host name",
     "use one of its certificate's names as host, or give it a certificate with this one"},
    {"root certificate file", "put the CA's certificate there, or name its file with sslrootcert"},
    {"no encryption", "it wants TLS: write sslmode=verify-full sslrootcert=FILE"},
    {"server does not support SSL", "turn ssl on there; only in a private network use sslmode=disable"},
    {"requires a valid client certificate", "name ours with sslcert and sslkey"},
    {"certificate authentication failed", "the certificate in sslcert must be for this user"},
    {"certificate required", "it wants a certificate of ours: name it with sslcert and sslkey"},
    {"alert certificate expired", "renew the certificate in sslcert"},
    {"alert unknown ca", "the certificate in sslcert must come from a CA that the server trusts"},
    {"password authentication failed", "see user and password in the connection string"},
    {"no password supplied", "the connection string names no password"},
    {"permission denied for database", "give the user the right to connect"},
};

/* Once for each address that was tried. */
static void drop_unsafe_advice(char *text)
{
    for (char *from; (from = strstr(text, UNSAFE_ADVICE)) != NULL;) {
        const char *end = strstr(from, UNSAFE_ADVICE_END);
        const char *rest = end != NULL ? end + strlen(UNSAFE_ADVICE_END) : "";
        memmove(from, rest, strlen(rest) + 1);
    }
}

void mg_pg_explain_connect(PGconn *conn, char *ret_text, size_t size)
{
    char why[MG_ERR_TEXT_MAX];
    mg_pg_message(PQerrorMessage(conn), ret_text, size);
    drop_unsafe_advice(ret_text);
    if (strstr(ret_text, CERTIFICATE_REFUSED) != NULL && mg_pg_judge_certificate(conn, why, sizeof why)) {
        size_t used = strlen(ret_text);
        (void)snprintf(ret_text + used, size - used, ": %s", why);
        return;
    }
    for (size_t i = 0; i < sizeof ADVICE / sizeof ADVICE[0]; i++) {
        if (strstr(ret_text, ADVICE[i].words) == NULL) continue;
        size_t used = strlen(ret_text);
        (void)snprintf(ret_text + used, size - used, "; %s", ADVICE[i].advice);
        return;
    }
}

void mg_pg_explain_result(const PGconn *conn, const PGresult *result, char *ret_text, size_t size)
{
    const char *sqlstate = PQresultErrorField(result, PG_DIAG_SQLSTATE), *role = PQuser(conn);
    if (sqlstate == NULL || strcmp(sqlstate, SQLSTATE_NO_RIGHT) != 0 || role == NULL) {
        mg_pg_message(PQresultErrorMessage(result), ret_text, size);
        return;
    }
    (void)snprintf(ret_text, size,
                   "role %s: %s; `makegood db migrate`, run as the owner, gives the rights of grants.sql",
                   role, PQresultErrorField(result, PG_DIAG_MESSAGE_PRIMARY));
}
