/*
 * The certificate files of one TLS peer, as options name them. They are read anew at each connect, so that
 * renewed files count without a restart.
 */
#ifndef MG_IO_TLS_FILES_H
#define MG_IO_TLS_FILES_H

/* Paths of PEM files; NULL or "": not given. */
struct mg_tls_files {
    const char *ca_file;   /* whom to trust; not given: the system's CAs */
    const char *cert_file; /* our own certificate, those between it and the CA behind it; not given: none */
    const char *key_file;  /* its key; given together with it */
};

#endif
