/* The connection string of the database. */
#ifndef MG_IO_PG_DSN_H
#define MG_IO_PG_DSN_H

#include <stdbool.h>

#include "base/err.h"

/* Whether one could connect with this DSN: libpq can read it, and what goes to a host that is not loopback
 * goes with sslmode=verify-full, unless plaintext is allowed. The PG* environment and the service that it
 * names count, as they will for libpq; a service that the DSN names cannot be looked into, so that its
 * sslmode must stand in the DSN. Connects to nothing; for --check-config. MG_BAD_INPUT. */
enum mg_class mg_dsn_check(const char *dsn, bool is_plaintext_allowed, struct mg_err *err) MG_MUSTCHECK;

#endif
