/*
 * The certificate files of one TLS peer, from the options. Each connect reads them anew, so renewed files
 * apply without a restart.
 */
#ifndef MG_IO_TLS_FILES_H
#define MG_IO_TLS_FILES_H

/* Paths of PEM files; NULL or "": not given. */
struct mg_tls_files {
    const char *ca_file;   /* trusted CAs; not given: the system's CAs */
    const char *cert_file; /* our own certificate with its intermediate CAs after it; not given: none */
    const char *key_file;  /* its key; both or neither */
};

#endif
