/* The private PostgreSQL of servers.h. */
#ifndef MG_DEV_POSTGRES_H
#define MG_DEV_POSTGRES_H

#include "servers.h"

/* Starts initdb if there are no data yet, and prepares the server. Fills `dsn`. */
enum mg_class mg_postgres_prepare(struct mg_servers *servers, const struct mg_state *state,
                                  struct mg_parts *parts, struct mg_err *err) MG_MUSTCHECK;
/* Takes over the result of initdb, and starts the server. */
enum mg_class mg_postgres_start(struct mg_servers *servers, const struct mg_state *state,
                                struct mg_err *err) MG_MUSTCHECK;

#endif
