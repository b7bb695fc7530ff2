/*
 * The reason why a peer's certificate was refused: its owner, the defect and the remedy. Contains OpenSSL's
 * types; for the files that set up its contexts (amqp/amqp_tls.c, pg/pg_tls.c).
 */
#ifndef MG_IO_TLS_CERTIFICATE_FAULT_H
#define MG_IO_TLS_CERTIFICATE_FAULT_H

#include <openssl/ssl.h>
#include <stddef.h>

#define MG_TLS_TIME_SIZE 32

struct mg_tls_words {
    const char *peer;      /* "broker" */
    const char *host;      /* the name or address that was dialled */
    const char *ca_file;   /* trusted CAs; "": the system's CAs */
    const char *ca_option; /* the option that names that file */
};

/* The verdict of OpenSSL when it called the verify callback with this store. Names from the certificate are
 * made printable. */
void mg_tls_judge(X509_STORE_CTX *store, const struct mg_tls_words *words, char *ret_text, size_t size);
void mg_tls_write_time(const ASN1_TIME *time, char text[MG_TLS_TIME_SIZE]);

#endif
