/*
 * The certificate of new connections. libmicrohttpd takes one for as long as its daemon lives. So the daemon
 * gets none, and each connection gets the server's present one before its handshake. A certificate lives
 * until the last connection that has it ends: GnuTLS reads it throughout a handshake.
 */
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "io/http/mhd.h"
#include "io/tls/check.h"

struct mg_http_certificate {
    gnutls_certificate_credentials_t credentials;
    unsigned int users; /* connections, and the server */
    char warning[MG_TLS_WARNING_SIZE];
};

static gnutls_datum_t datum_of(char *text)
{
    return (gnutls_datum_t){.data = (unsigned char *)text, .size = (unsigned int)strlen(text)};
}

static enum mg_class certificate_make(const struct mg_http_server_options *options,
                                      const struct mg_tls_pair *pair, struct mg_http_certificate *certificate,
                                      struct mg_err *err)
{
    const gnutls_datum_t cert = datum_of(pair->cert), key = datum_of(pair->key);
    int result = gnutls_certificate_allocate_credentials(&certificate->credentials);
    if (result >= 0) {
        result =
            gnutls_certificate_set_x509_key_mem(certificate->credentials, &cert, &key, GNUTLS_X509_FMT_PEM);
    }
    if (result >= 0) {
        return MG_OK;
    }
    return mg_err_set(err, MG_BAD_INPUT, "could not use certificate %s with key %s: GnuTLS: %s",
                      options->cert_file, options->key_file, gnutls_strerror(result));
}

/* NULL if the options name no files. */
static enum mg_class certificate_read(const struct mg_http_server_options *options,
                                      struct mg_http_certificate **ret_certificate, struct mg_err *err)
{
    struct mg_tls_pair pair;
    const struct mg_tls_files files = {.cert_file = options->cert_file, .key_file = options->key_file};
    *ret_certificate = NULL;
    enum mg_class class = mg_tls_pair_read(&files, &pair, err);
    if (class != MG_OK) {
        return mg_err_prefix(err, "HTTP on %s", options->address);
    }
    if (pair.cert == NULL) {
        return MG_OK;
    }
    struct mg_http_certificate *certificate = calloc(1, sizeof(*certificate));
    if (certificate == NULL) {
        class = mg_err_set(err, MG_TRANSIENT, "could not listen on %s: no memory", options->address);
    } else {
        certificate->users = 1;
        memcpy(certificate->warning, pair.warning, sizeof(pair.warning));
        class = certificate_make(options, &pair, certificate, err);
    }
    mg_tls_pair_finish(&pair);
    if (class != MG_OK) {
        mg_http_certificate_drop(certificate);
        return class;
    }
    *ret_certificate = certificate;
    return MG_OK;
}

enum mg_class mg_http_certificate_check(const struct mg_http_server_options *options, struct mg_err *err)
{
    struct mg_http_certificate *certificate = NULL;
    enum mg_class class = certificate_read(options, &certificate, err);
    mg_http_certificate_drop(certificate);
    return class;
}

enum mg_class mg_http_certificate_renew(struct mg_http_server *server, struct mg_err *err)
{
    struct mg_http_certificate *next = NULL;
    enum mg_class class = certificate_read(&server->options, &next, err);
    if (class != MG_OK) {
        return class;
    }
    if (next != NULL && next->warning[0] != '\0') {
        mg_log(MG_LOG_WARN, "HTTP is served with a bad certificate", MG_LOG_TEXT("why", next->warning));
    }
    mg_http_certificate_drop(server->certificate);
    server->certificate = next;
    return MG_OK;
}

void mg_http_certificate_drop(struct mg_http_certificate *certificate)
{
    if (certificate == NULL || --certificate->users > 0) {
        return;
    }
    if (certificate->credentials != NULL) {
        gnutls_certificate_free_credentials(certificate->credentials);
    }
    free(certificate);
}

struct mg_http_certificate *mg_http_certificate_present(struct mg_http_certificate *certificate,
                                                        struct MHD_Connection *connection)
{
    const union MHD_ConnectionInfo *info =
        certificate != NULL ? MHD_get_connection_info(connection, MHD_CONNECTION_INFO_GNUTLS_SESSION) : NULL;
    /* on failure the connection has none, and its handshake fails */
    if (info == NULL || gnutls_credentials_set(info->tls_session, GNUTLS_CRD_CERTIFICATE,
                                               certificate->credentials) != GNUTLS_E_SUCCESS) {
        return NULL;
    }
    certificate->users++;
    return certificate;
}

int mg_http_on_certificate(gnutls_session_t session, const gnutls_datum_t *authorities, int authority_count,
                           const gnutls_pk_algorithm_t *algorithms, int algorithm_count,
                           gnutls_pcert_st **ret_certs, unsigned int *ret_cert_count,
                           gnutls_privkey_t *ret_key)
{
    (void)session, (void)authorities, (void)authority_count, (void)algorithms, (void)algorithm_count;
    (void)ret_certs, (void)ret_cert_count, (void)ret_key;
    return GNUTLS_E_NO_CERTIFICATE_FOUND;
}
