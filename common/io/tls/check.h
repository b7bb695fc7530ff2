/*
 * Reads certificate files and checks them before a connection would fail: readable PEM, and a key without
 * passphrase that fits the certificate. Messages name the file and the remedy. Blocks on the disk: for the
 * start and for SIGHUP.
 */
#ifndef MG_IO_TLS_CHECK_H
#define MG_IO_TLS_CHECK_H

#include <stddef.h>

#include "base/err.h"
#include "io/tls/files.h"

#define MG_TLS_WARNING_SIZE 256

/* The contents of a certificate and its key file, NUL-terminated PEM; both NULL if no files are given. */
struct mg_tls_pair {
    char *cert, *key;
    char warning[MG_TLS_WARNING_SIZE]; /* expired, or not valid yet, which is no error; "": none */
};

/* MG_BAD_INPUT: a file cannot be read or used, or one of the two is missing. */
enum mg_class mg_tls_pair_read(const struct mg_tls_files *files, struct mg_tls_pair *ret_pair,
                               struct mg_err *err) MG_MUSTCHECK;
void mg_tls_pair_finish(struct mg_tls_pair *pair); /* wipes the key */

/* The same check for all three files, for libraries that read them by themselves. Writes the warning, or "",
 * into `ret_warning`. */
enum mg_class mg_tls_check(const struct mg_tls_files *files, char *ret_warning, size_t size,
                           struct mg_err *err) MG_MUSTCHECK;

#endif
