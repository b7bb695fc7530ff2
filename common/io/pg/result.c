/*
 * Rows of a PGresult, and the table that maps an SQLSTATE to the caller's action. Rows are in text format:
 * there are few numbers, and reports print them unchanged.
 */
#include "base/id.h"
#include "io/pg/libpq.h"

#include <stdlib.h>
#include <string.h>

/*
 * First match wins: whole codes before their classes (PostgreSQL documentation, appendix A). A code tells
 * only whether the session can go on, and whether the same may succeed later. No code tells whether one row
 * is faulty or the whole server: 54000 is an index row that is too large, and also a database out of
 * transaction ids. That is found by other rows (store/witness.c).
 */
static const struct {
    const char *prefix;
    enum mg_pg_fault fault;
} FAULTS[] = {
    {"40003", MG_PG_LOST},  /* statement_completion_unknown */
    {"40", MG_PG_RETRY},    /* transaction rollback: a deadlock, a serialization failure */
    {"55P03", MG_PG_RETRY}, /* lock_not_available: lock_timeout */
    {"57014", MG_PG_RETRY}, /* query_canceled: statement_timeout */
    {"25006", MG_PG_LOST},  /* read_only_sql_transaction: a failover made this server a standby */
    {"25", MG_PG_LOST},     /* invalid transaction state: the session is out of step */
    {"26", MG_PG_LOST},     /* invalid_sql_statement_name: our prepared statement is missing */
    {"08", MG_PG_LOST},     /* connection exception */
    {"57P", MG_PG_LOST},    /* shutdown, crash, database dropped, idle_session_timeout: no session remains */
    {"22", MG_PG_DATA},     /* data exception; 22012 is also our guard (store/write.c) */
    {"23", MG_PG_DATA},     /* integrity constraint violation; 23505 is also a new order's guard */
    {"21", MG_PG_DATA},     /* cardinality violation */
    {"54", MG_PG_DATA},     /* program limit exceeded: an index row too large, or no transaction id left */
    {"P0001", MG_PG_DATA},  /* raise_exception: a trigger of the database's owner refuses */
    {"XX001", MG_PG_WRONG}, /* data_corrupted: no repetition mends it */
    {"XX002", MG_PG_WRONG}, /* index_corrupted: likewise */
    {"28", MG_PG_WRONG},    /* invalid authorization */
    {"3D", MG_PG_WRONG},    /* invalid_catalog_name */
    {"3F", MG_PG_WRONG},    /* invalid_schema_name */
    {"42", MG_PG_WRONG},    /* syntax error or access rule violation */
    {"0A", MG_PG_WRONG},    /* feature not supported: an encoding that cannot be converted, for example */
    {"P0", MG_PG_WRONG},    /* an error in a function or trigger of the database's owner */
    {"53", MG_PG_BUSY},     /* insufficient resources: disk, memory, connections */
    {"55", MG_PG_BUSY},     /* object not in prerequisite state: in use, or not yet ready */
    {"57", MG_PG_BUSY},     /* operator intervention */
    {"58", MG_PG_BUSY},     /* system error: input and output */
    {"XX", MG_PG_BUSY},     /* internal error */
    {"", MG_PG_BUSY},       /* unknown ones, and those of extensions and triggers: may pass */
};

enum mg_pg_fault mg_pg_fault_of(const char *sqlstate)
{
    size_t i = 0;
    while (strncmp(sqlstate, FAULTS[i].prefix, strlen(FAULTS[i].prefix)) != 0) {
        i++;
    }
    return FAULTS[i].fault;
}

/* Codes that the server itself raises as an ERROR, without a function around them, when its session is
 * useless. */
static bool is_of_statement(const PGresult *result, const char *sqlstate)
{
    const char *severity = PQresultErrorField(result, PG_DIAG_SEVERITY_NONLOCALIZED);
    bool is_error = severity != NULL && strcmp(severity, "ERROR") == 0;
    bool ends_session = strncmp(sqlstate, "08", 2) == 0 || strncmp(sqlstate, "57P", 3) == 0;
    return is_error && (ends_session || PQresultErrorField(result, PG_DIAG_CONTEXT) != NULL);
}

enum mg_pg_fault mg_pg_fault_read(const PGresult *result)
{
    const char *sqlstate = PQresultErrorField(result, PG_DIAG_SQLSTATE);
    enum mg_pg_fault fault = sqlstate == NULL ? MG_PG_LOST : mg_pg_fault_of(sqlstate);
    return fault == MG_PG_LOST && sqlstate != NULL && is_of_statement(result, sqlstate) ? MG_PG_BUSY : fault;
}

enum mg_class mg_pg_class_of(enum mg_pg_fault fault)
{
    switch (fault) {
    case MG_PG_NONE:
        return MG_OK;
    case MG_PG_LOST:
    case MG_PG_RETRY:
    case MG_PG_BUSY:
        return MG_TRANSIENT;
    case MG_PG_DATA:
        return MG_BAD_INPUT;
    case MG_PG_WRONG:
        return MG_PERMANENT;
    }
    return MG_BUG;
}

void mg_pg_message(const char *message, char *ret_text, size_t size)
{
    static const char *const SEVERITIES[] = {"ERROR:  ", "FATAL:  ", "PANIC:  ", "WARNING:  "};
    for (size_t i = 0; i < sizeof(SEVERITIES) / sizeof(SEVERITIES[0]); i++) {
        if (strncmp(message, SEVERITIES[i], strlen(SEVERITIES[i])) == 0) {
            message += strlen(SEVERITIES[i]);
        }
    }
    size_t len = 0;
    for (; *message != '\0' && len + 1 < size; message++) {
        if (*message == '\n' && message[1] == '\0') {
            break;
        }
        ret_text[len++] = (*message == '\n' || *message == '\t') ? ' ' : *message;
    }
    ret_text[len] = '\0';
}

void mg_rows_destroy(struct mg_rows *rows)
{
    if (rows == NULL) {
        return;
    }
    PQclear(rows->result);
    free(rows);
}

int mg_rows_count(const struct mg_rows *rows)
{
    return PQntuples(rows->result);
}

int mg_rows_column_count(const struct mg_rows *rows)
{
    return PQnfields(rows->result);
}

const char *mg_rows_column(const struct mg_rows *rows, int column)
{
    const char *name = PQfname(rows->result, column);
    return name == NULL ? "" : name;
}

/* Object identifiers of PostgreSQL's built-in types (pg_type.dat). They are part of its protocol and never
 * change; the header that names them belongs to the server. */
#define TYPE_BOOL    16
#define TYPE_INT8    20
#define TYPE_INT2    21
#define TYPE_INT4    23
#define TYPE_JSON    114
#define TYPE_FLOAT4  700
#define TYPE_FLOAT8  701
#define TYPE_NUMERIC 1700
#define TYPE_JSONB   3802

enum mg_value_type mg_rows_type(const struct mg_rows *rows, int column)
{
    switch (PQftype(rows->result, column)) {
    case TYPE_BOOL:
        return MG_VALUE_BOOL;
    case TYPE_INT2:
    case TYPE_INT4:
    case TYPE_INT8:
    case TYPE_FLOAT4:
    case TYPE_FLOAT8:
    case TYPE_NUMERIC:
        return MG_VALUE_NUMBER;
    case TYPE_JSON:
    case TYPE_JSONB:
        return MG_VALUE_JSON;
    default:
        return MG_VALUE_TEXT;
    }
}

bool mg_rows_is_null(const struct mg_rows *rows, int row, int column)
{
    return PQgetisnull(rows->result, row, column) != 0;
}

struct mg_slice mg_rows_value(const struct mg_rows *rows, int row, int column)
{
    if (mg_rows_is_null(rows, row, column)) {
        return (struct mg_slice){NULL, 0};
    }
    return (struct mg_slice){PQgetvalue(rows->result, row, column),
                             (size_t)PQgetlength(rows->result, row, column)};
}

int64_t mg_rows_int(const struct mg_rows *rows, int row, int column)
{
    return mg_rows_is_null(rows, row, column) ? 0 : strtoll(PQgetvalue(rows->result, row, column), NULL, 10);
}

bool mg_rows_bool(const struct mg_rows *rows, int row, int column)
{
    return !mg_rows_is_null(rows, row, column) && PQgetvalue(rows->result, row, column)[0] == 't';
}

void mg_rows_copy(const struct mg_rows *rows, int row, int column, char *ret_text, size_t size)
{
    struct mg_slice value = mg_rows_value(rows, row, column);
    size_t len = value.len < size ? value.len : size - 1;
    if (len > 0) {
        memcpy(ret_text, value.data, len);
    }
    ret_text[len] = '\0';
}

/* bytea in text format is "\x" and hexadecimal digits (bytea_output is set to it for each session). */
bool mg_rows_bytes(const struct mg_rows *rows, int row, int column, uint8_t *ret_bytes, size_t size)
{
    struct mg_slice value = mg_rows_value(rows, row, column);
    return value.data != NULL && value.len == 2 + 2 * size && mg_hex_read(value.data + 2, size, ret_bytes);
}
