/* The database of a program that moves no orders: a session for its reports, and another for statements
 * that may take longer. */
#ifndef MG_DATABASE_READER_H
#define MG_DATABASE_READER_H

#include "process.h"

struct mg_reader {
    const char *name, *timeout;               /* of the session for reports; the longest statement */
    const char *beside_name, *beside_timeout; /* NULL: the store's default */
};

/* Logs the state of the first session, and a schema that it cannot use: the program goes on, and answers with
 * the reason until the schema is migrated. */
enum mg_class mg_reader_open(const struct mg_process *process, const struct mg_reader *reader,
                             struct mg_store **ret_store, struct mg_store **ret_beside,
                             struct mg_err *err) MG_MUSTCHECK;

#endif
