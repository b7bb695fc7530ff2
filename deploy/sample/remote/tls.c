/* HTTPS for the sample remote; see tls.h. The library asks clients for a certificate, but leaves the verdict
 * to us. */
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
    (void)snprintf(path, sizeof path, "%s/%s", folder, name);
    char *text = calloc(1, FILE_BYTES_MAX);
    FILE *file = fopen(path, "re");
    size_t len = file && text ? fread(text, 1, FILE_BYTES_MAX - 1, file) : 0;
    if (len == 0) {
        (void)fprintf(stderr, "could not read %s: %s\n", path, errno ? strerror(errno) : "it is empty");
        free(text);
        text = NULL;
    }
    if (file) (void)fclose(file);
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

bool tls_is_known_client(struct MHD_Connection *connection)
{
    const union MHD_ConnectionInfo *info =
        MHD_get_connection_info(connection, MHD_CONNECTION_INFO_GNUTLS_SESSION);
    unsigned int status = 0;
    return info && info->tls_session &&
           gnutls_certificate_verify_peers2(info->tls_session, &status) == GNUTLS_E_SUCCESS && status == 0;
}
