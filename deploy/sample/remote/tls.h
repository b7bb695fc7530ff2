/* HTTPS for the sample remote, with clients that show a certificate of the same authority. */
#ifndef REMOTE_TLS_H
#define REMOTE_TLS_H

#include <microhttpd.h>
#include <stdbool.h>

struct tls_files {
    char *ca, *cert, *key; /* contents of ca.pem, cert.pem and key.pem; NULL: plain HTTP */
};

/* Reads the three files of a folder. False if one cannot be read; stderr has the reason. The caller frees
 * `files` in both cases. */
bool tls_read(const char *folder, struct tls_files *files);
void tls_free(struct tls_files *files);

/* For MHD_OPTION_NOTIFY_CONNECTION: a client that shows a wrong certificate is refused in the handshake. */
void tls_judge_clients(void *arg, struct MHD_Connection *connection, void **connection_arg,
                       enum MHD_ConnectionNotificationCode code);

/* Whether the client of a connection over TLS has shown a certificate of the authority. */
bool tls_is_known_client(struct MHD_Connection *connection);

#endif
