/* HTTPS for the sample remote; see tls.h. The library requests a certificate of clients and leaves the check
 * to this file. A wrong one is refused in the handshake, which proves to the client that its request was not
 * read. A missing one is refused at the request, because a health check needs none.
 */
#include "tls.h"

#include <errno.h>
#include <gnutls/gnutls.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FILE_BYTES_MAX (64u * 1024) /* a chain of certificates has a few KiB */
#define PATH_SIZE      4096

static char *read_text(const char *folder, const char *name)
{
    char path[PATH_SIZE];
    (void)snprintf(path, sizeof(path), "%s/%s", folder, name);
    char *text = calloc(1, FILE_BYTES_MAX);
    FILE *file = fopen(path, "re");
    size_t len = file && text ? fread(text, 1, FILE_BYTES_MAX - 1, file) : 0;
    if (len == 0) {
        (void)fprintf(stderr, "could not read %s: %s\n", path, errno ? strerror(errno) : "it is empty");
        free(text);
        text = NULL;
    }
    if (file) {
        (void)fclose(file);
    }
    return text;
}

bool tls_read(const char *folder, struct tls_files *files)
{
    files->ca = read_text(folder, "ca.pem");
    files->cert = read_text(folder, "cert.pem");
    files->key = read_text(folder, "key.pem");
    return files->ca && files->cert && files->key;
}

void tls_free(struct tls_files *files)
{
    free(files->ca);
    free(files->cert);
    free(files->key);
}

/* GnuTLS's check of the client's certificate. GnuTLS sends no alert for it by itself. */
static int on_certificate(gnutls_session_t session)
{
    unsigned int status = 0, count = 0;
    if (!gnutls_certificate_get_peers(session, &count) || count == 0) {
        return 0;
    }
    if (gnutls_certificate_verify_peers2(session, &status) == GNUTLS_E_SUCCESS && status == 0) {
        return 0;
    }
    bool is_expired = (status & GNUTLS_CERT_EXPIRED) != 0;
    (void)fprintf(stderr, "turned away: the client's certificate %s\n",
                  is_expired ? "has expired" : "is not of the CA");
    (void)gnutls_alert_send(session, GNUTLS_AL_FATAL,
                            is_expired ? GNUTLS_A_CERTIFICATE_EXPIRED : GNUTLS_A_UNKNOWN_CA);
    return GNUTLS_E_CERTIFICATE_ERROR;
}

void tls_judge_clients(void *arg, struct MHD_Connection *connection, void **connection_arg,
                       enum MHD_ConnectionNotificationCode code)
{
    (void)arg, (void)connection_arg;
    gnutls_certificate_credentials_t credentials = NULL;
    const union MHD_ConnectionInfo *info =
        MHD_get_connection_info(connection, MHD_CONNECTION_INFO_GNUTLS_SESSION);
    if (code == MHD_CONNECTION_NOTIFY_STARTED && info && info->tls_session &&
        gnutls_credentials_get(info->tls_session, GNUTLS_CRD_CERTIFICATE, (void **)&credentials) ==
            GNUTLS_E_SUCCESS) {
        gnutls_certificate_set_verify_function(credentials, on_certificate);
    }
}

bool tls_is_known_client(struct MHD_Connection *connection)
{
    const union MHD_ConnectionInfo *info =
        MHD_get_connection_info(connection, MHD_CONNECTION_INFO_GNUTLS_SESSION);
    unsigned int status = 0;
    return info && info->tls_session &&
           gnutls_certificate_verify_peers2(info->tls_session, &status) == GNUTLS_E_SUCCESS && status == 0;
}
