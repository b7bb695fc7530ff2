/*
 * Reads certificate files and judges them before a connection would fail for them: PEM that can be read, a
 * key without passphrase that is the certificate's. The messages name the file and say what would be right.
 * Blocks on the disk: for the start and for SIGHUP.
 */
#ifndef MG_IO_TLS_CHECK_H
#define MG_IO_TLS_CHECK_H

#include <stddef.h>

#include "base/err.h"
#include "io/tls/files.h"

#define MG_TLS_WARNING_SIZE 256

/* What a certificate and its key file hold, NUL-terminated PEM; both NULL if no files are given. */
struct mg_tls_pair {
    char *cert, *key;
    char warning[MG_TLS_WARNING_SIZE]; /* what is no error yet: expired, or not valid before some day; "" if
                                          nothing */
};

/* MG_BAD_INPUT: a file cannot be read or used, or one of the two is missing. */
enum mg_class mg_tls_pair_read(const struct mg_tls_files *files, struct mg_tls_pair *ret_pair,
                               struct mg_err *err) MG_MUSTCHECK;
void mg_tls_pair_finish(struct mg_tls_pair *pair); /* wipes the key */

/* The same judgement of all three files, for libraries that read them by themselves. Writes the warning, or
 * "", into `ret_warning`. */
enum mg_class mg_tls_check(const struct mg_tls_files *files, char *ret_warning, size_t size,
                           struct mg_err *err) MG_MUSTCHECK;

#endif
