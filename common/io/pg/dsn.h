/* The connection string of the database. */
#ifndef MG_IO_PG_DSN_H
#define MG_IO_PG_DSN_H

#include <stdbool.h>

#include "base/err.h"

/* Checks a DSN: libpq can read it, and connections to a host other than loopback use sslmode=verify-full,
 * unless plaintext is allowed. The PG* environment and its service count, as for libpq. A service named in
 * the DSN cannot be read, so then its sslmode must stand in the DSN. Makes no connection; for --check-config.
 * MG_BAD_INPUT. */
enum mg_class mg_dsn_check(const char *dsn, bool is_plaintext_allowed, struct mg_err *err) MG_MUSTCHECK;

#endif
