/*
 * libpq reports "certificate verify failed" without the reason. After that message this file fetches the
 * server's certificate once more, by the first message of PostgreSQL's own protocol, and judges it as libpq
 * did. It sends nothing beyond the TLS handshake. Blocks like a connect.
 */
#include <netdb.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#include "io/pg/libpq.h"
#include "io/tls/certificate_fault.h"

#define ASK_TIMEOUT_S 5 /* for each step, as when connecting */

/* Length 8 and the code of SSLRequest (PostgreSQL documentation, message formats). */
static const unsigned char SSL_REQUEST[] = {0, 0, 0, 8, 0x04, 0xd2, 0x16, 0x2f};

struct asking {
    struct mg_tls_words words;
    char *text;
    size_t size;
};

static int on_verify(int is_good, X509_STORE_CTX *store)
{
    if (is_good == 1) {
        return 1;
    }
    const SSL *ssl = X509_STORE_CTX_get_ex_data(store, SSL_get_ex_data_X509_STORE_CTX_idx());
    const struct asking *asking = SSL_CTX_get_app_data(SSL_get_SSL_CTX(ssl));
    mg_tls_judge(store, &asking->words, asking->text, asking->size);
    return 0;
}

static int connect_to(const char *address, const char *port)
{
    const struct addrinfo wanted = {.ai_socktype = SOCK_STREAM};
    const struct timeval timeout = {.tv_sec = ASK_TIMEOUT_S};
    struct addrinfo *found = NULL;
    if (getaddrinfo(address, port, &wanted, &found) != 0) {
        return -1;
    }
    int fd = -1;
    for (const struct addrinfo *at = found; at != NULL && fd < 0; at = at->ai_next) {
        fd = socket(at->ai_family, at->ai_socktype | SOCK_CLOEXEC, 0);
        if (fd < 0) {
            continue;
        }
        if (setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &timeout, sizeof(timeout)) != 0 ||
            setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &timeout, sizeof(timeout)) != 0 ||
            connect(fd, at->ai_addr, at->ai_addrlen) != 0) {
            (void)close(fd);
            fd = -1;
        }
    }
    freeaddrinfo(found);
    return fd;
}

/* OpenSSL writes without MSG_NOSIGNAL. A server that hangs up must not end the process by SIGPIPE. */
static void shake_hands(SSL *ssl)
{
    sigset_t pipe, before;
    const struct timespec at_once = {0};
    (void)sigemptyset(&pipe);
    (void)sigaddset(&pipe, SIGPIPE);
    (void)pthread_sigmask(SIG_BLOCK, &pipe, &before);
    (void)SSL_connect(ssl); /* only the text of on_verify counts */
    (void)sigtimedwait(&pipe, NULL, &at_once);
    (void)pthread_sigmask(SIG_SETMASK, &before, NULL);
}

static void ask(int fd, struct asking *asking)
{
    char answer = 'N';
    if (send(fd, SSL_REQUEST, sizeof(SSL_REQUEST), MSG_NOSIGNAL) != (ssize_t)sizeof(SSL_REQUEST) ||
        recv(fd, &answer, 1, 0) != 1 || answer != 'S') {
        return;
    }
    SSL_CTX *context = SSL_CTX_new(TLS_client_method());
    SSL *ssl = NULL;
    bool is_system = strcmp(asking->words.ca_file, "system") == 0;
    if (is_system) {
        asking->words.ca_file = "";
    }
    if (context != NULL && SSL_CTX_set_app_data(context, asking) == 1 &&
        (is_system ? SSL_CTX_set_default_verify_paths(context)
                   : SSL_CTX_load_verify_locations(context, asking->words.ca_file, NULL)) == 1) {
        SSL_CTX_set_verify(context, SSL_VERIFY_PEER, on_verify);
        ssl = SSL_new(context);
    }
    if (ssl != NULL && SSL_set_fd(ssl, fd) == 1) {
        shake_hands(ssl);
    }
    SSL_free(ssl);
    SSL_CTX_free(context);
}

bool mg_pg_judge_certificate(PGconn *conn, char *ret_text, size_t size)
{
    const char *address = PQhostaddr(conn), *ca_file = NULL;
    if (address == NULL || address[0] == '\0') {
        address = PQhost(conn);
    }
    PQconninfoOption *options = PQconninfo(conn);
    for (const PQconninfoOption *option = options; option != NULL && option->keyword != NULL; option++) {
        if (strcmp(option->keyword, "sslrootcert") == 0) {
            ca_file = option->val;
        }
    }
    ret_text[0] = '\0';
    if (address != NULL && ca_file != NULL && ca_file[0] != '\0') {
        struct asking asking = {{"database server", address, ca_file, "sslrootcert"}, ret_text, size};
        int fd = connect_to(address, PQport(conn));
        if (fd >= 0) {
            ask(fd, &asking);
            (void)close(fd);
        }
    }
    PQconninfoFree(options);
    return ret_text[0] != '\0';
}
