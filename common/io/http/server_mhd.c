/*
 * The HTTP server's daemon by libmicrohttpd, without a thread of its own: our loop watches its epoll
 * descriptor. So answers are made on the loop's thread and may read the service's state without a lock.
 *
 * A TLS handshake is part of a connection and waits in the same epoll set. One that takes longer than a whole
 * request may take is closed, however many bytes came.
 */
#include "io/http/mhd.h"

#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/host.h"
#include "io/http/alive.h"

#define HANDLED_MAX  32u /* requests with the handler, if the options give no number */
#define ADDRESS_SIZE 128
/* GnuTLS's default ciphers, for the two secure versions. The library takes a pointer that is not const, but
 * only reads it. */
static char tls_priorities[] = "NORMAL:-VERS-ALL:+VERS-TLS1.3:+VERS-TLS1.2";

/* ---- the loop's side ---- */

static void daemon_destroy(struct mg_http_daemon *daemon)
{
    if (!daemon) {
        return;
    }
    mg_watch_destroy(daemon->watch);
    mg_timer_destroy(daemon->timer);
    mg_http_exchanges_end(daemon);
    if (daemon->mhd) {
        MHD_stop_daemon(daemon->mhd); /* closes its connections */
    }
    mg_idle_destroy(daemon->idle);
    free(daemon);
}

static void on_readable(void *arg, int events)
{
    (void)events;
    mg_http_daemon_run(arg);
}

static void on_timer(void *arg)
{
    mg_http_daemon_run(arg);
}

/* ---- creation ---- */

/* Numbers only: a name would have to be resolved, which blocks. */
static enum mg_class address_parse(const char *text, struct addrinfo **ret_address, struct mg_err *err)
{
    char host[ADDRESS_SIZE];
    const char *colon = text ? strrchr(text, ':') : NULL;
    size_t host_len = colon ? (size_t)(colon - text) : 0;
    if (!colon || host_len >= sizeof(host) || colon[1] == '\0') {
        goto bad;
    }
    memcpy(host, text, host_len);
    host[host_len] = '\0';
    if (host[0] == '[') {
        if (host[host_len - 1] != ']') {
            goto bad;
        }
        host[host_len - 1] = '\0';
        memmove(host, host + 1, host_len - 1);
    } else if (strchr(host, ':')) {
        goto bad; /* an IPv6 address without brackets: the port's colon is ambiguous */
    }
    char *end = NULL;
    long port = strtol(colon + 1, &end, 10);
    if (host[0] == '\0' || *end != '\0' || port < 0 || port > UINT16_MAX) {
        goto bad;
    }
    const struct addrinfo hints = {.ai_flags = AI_NUMERICHOST | AI_NUMERICSERV | AI_PASSIVE,
                                   .ai_socktype = SOCK_STREAM};
    if (getaddrinfo(host, colon + 1, &hints, ret_address) == 0) {
        return MG_OK;
    }
bad:
    return mg_err_set(
        err, MG_BAD_INPUT,
        "could not listen on \"%s\": not an address and port such as 127.0.0.1:9100 or [::1]:9100",
        text ? text : "");
}

static int socket_port(int fd)
{
    union {
        struct sockaddr any;
        struct sockaddr_in v4;
        struct sockaddr_in6 v6;
    } address = {0};
    socklen_t len = sizeof(address);
    if (getsockname(fd, &address.any, &len) < 0) {
        return -1;
    }
    return ntohs(address.any.sa_family == AF_INET6 ? address.v6.sin6_port : address.v4.sin_port);
}

static enum mg_class listen_on(const char *text, int *ret_fd, struct mg_err *err)
{
    struct addrinfo *address = NULL;
    enum mg_class class = address_parse(text, &address, err);
    if (class != MG_OK) {
        return class;
    }
    int yes = 1;
    int fd = socket(address->ai_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    /* A restarted service takes its port back at once. */
    if (fd >= 0) {
        mg_http_keep_alive(fd);
    }
    if (fd < 0 || setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof(yes)) < 0 ||
        bind(fd, address->ai_addr, address->ai_addrlen) < 0 || listen(fd, SOMAXCONN) < 0) {
        class = mg_err_set(err, MG_PERMANENT, "could not listen on %s: %s", text, strerror(errno));
        if (fd >= 0) {
            close(fd);
        }
    } else {
        *ret_fd = fd;
    }
    freeaddrinfo(address);
    return class;
}

static bool has_certificate(const struct mg_http_server_options *options)
{
    return (options->cert_file && options->cert_file[0]) || (options->key_file && options->key_file[0]);
}

/* Whether the options permit to serve this address. */
static enum mg_class privacy_check(const struct mg_http_server_options *options,
                                   const struct addrinfo *address, struct mg_err *err)
{
    char host[ADDRESS_SIZE];
    if (has_certificate(options) || options->is_plaintext_allowed) {
        return MG_OK;
    }
    if (getnameinfo(address->ai_addr, address->ai_addrlen, host, sizeof(host), NULL, 0, NI_NUMERICHOST) ==
            0 &&
        mg_host_is_loopback(host)) {
        return MG_OK;
    }
    return mg_err_set(
        err, MG_BAD_INPUT,
        "could not listen on %s: it is not loopback, and HTTP would cross the network in "
        "plaintext; give --http-cert-file and --http-key-file, or --allow-plaintext on a private "
        "network",
        options->address);
}

enum mg_class mg_http_server_check(const struct mg_http_server_options *options, struct mg_err *err)
{
    struct addrinfo *address = NULL;
    enum mg_class class = address_parse(options->address, &address, err);
    if (class != MG_OK) {
        return class;
    }
    class = privacy_check(options, address, err);
    freeaddrinfo(address);
    return class == MG_OK ? mg_http_certificate_check(options, err) : class;
}

/* The texts of a request are C strings here, which an escaped NUL would end early: such a text stays as it is
 * written. */
static size_t on_escaped(void *arg, struct MHD_Connection *connection, char *text)
{
    (void)arg, (void)connection;
    return strstr(text, "%00") != NULL ? strlen(text) : MHD_http_unescape(text);
}

static struct mg_http_daemon *daemon_create(struct mg_http_server *server)
{
    bool is_tls = server->certificate != NULL;
    struct mg_http_daemon *daemon = calloc(1, sizeof(*daemon));
    if (!daemon) {
        return NULL;
    }
    daemon->server = server;
    daemon->timer = mg_timer_create(server->loop, on_timer, daemon);
    daemon->idle = mg_idle_create(server->loop, on_timer, daemon);
    if (daemon->timer && daemon->idle) {
        daemon->mhd = MHD_start_daemon(
            MHD_USE_EPOLL | MHD_USE_NO_LISTEN_SOCKET | MHD_ALLOW_SUSPEND_RESUME | (is_tls ? MHD_USE_TLS : 0),
            0, NULL, NULL, mg_http_on_request, daemon, MHD_OPTION_NOTIFY_COMPLETED, mg_http_on_completed,
            daemon, MHD_OPTION_NOTIFY_CONNECTION, mg_http_on_connection, daemon, MHD_OPTION_UNESCAPE_CALLBACK,
            on_escaped, NULL, MHD_OPTION_CONNECTION_LIMIT, mg_http_connections_max(server),
            MHD_OPTION_URI_LOG_CALLBACK, mg_http_on_first_line, NULL, MHD_OPTION_CONNECTION_TIMEOUT,
            mg_http_library_timeout_s(server), MHD_OPTION_CONNECTION_MEMORY_LIMIT, (size_t)MG_HTTP_MEMORY_MAX,
            is_tls ? MHD_OPTION_HTTPS_CERT_CALLBACK : MHD_OPTION_END, mg_http_on_certificate,
            MHD_OPTION_HTTPS_PRIORITIES, tls_priorities, MHD_OPTION_END);
    }
    const union MHD_DaemonInfo *info =
        daemon->mhd ? MHD_get_daemon_info(daemon->mhd, MHD_DAEMON_INFO_EPOLL_FD) : NULL;
    if (info) {
        daemon->watch = mg_watch_create(server->loop, info->epoll_fd, on_readable, daemon);
    }
    if (daemon->watch) {
        mg_watch_set(daemon->watch, MG_READABLE);
        return daemon;
    }
    daemon_destroy(daemon);
    return NULL;
}

static enum mg_class server_serve(struct mg_http_server *server, struct mg_err *err)
{
    enum mg_class class = mg_http_certificate_renew(server, err);
    if (class != MG_OK) {
        return class;
    }
    server->serving = daemon_create(server);
    if (!server->serving) {
        return mg_err_set(err, MG_PERMANENT, "could not listen on %s: no memory or no descriptors",
                          server->options.address);
    }
    return MG_OK;
}

enum mg_class mg_http_server_reload(struct mg_http_server *server, struct mg_err *err)
{
    return has_certificate(&server->options) ? mg_http_certificate_renew(server, err) : MG_OK;
}

/* Connections with a request in hand are not closed for others, so they leave half of the descriptors. */
static unsigned int handled_limit(unsigned int wanted)
{
    struct rlimit limit;
    bool is_few = getrlimit(RLIMIT_NOFILE, &limit) == 0 && limit.rlim_cur / 2 < wanted;
    return is_few ? (unsigned int)(limit.rlim_cur / 2) : wanted;
}

static char *text_keep(const char *text)
{
    return strdup(text ? text : "");
}

enum mg_class mg_http_server_create(struct mg_loop *loop, const struct mg_http_server_options *options,
                                    struct mg_http_server **ret_server, struct mg_err *err)
{
    enum mg_class class = mg_http_server_check(options, err);
    if (class != MG_OK) {
        return class;
    }
    struct mg_http_server *server = calloc(1, sizeof(*server));
    if (!server) {
        return mg_err_set(err, MG_TRANSIENT, "could not listen on %s: no memory", options->address);
    }
    server->loop = loop;
    server->fd = server->spare_fd = -1;
    server->options = *options;
    if (options->handle) {
        server->handled_max = handled_limit(options->handled_max > 0 ? options->handled_max : HANDLED_MAX);
    }
    server->options.address = server->address = text_keep(options->address);
    server->options.cert_file = server->cert_file = text_keep(options->cert_file);
    server->options.key_file = server->key_file = text_keep(options->key_file);
    server->drain_timer = mg_timer_create(loop, mg_http_on_drain, server);
    if (!server->address || !server->cert_file || !server->key_file || !server->drain_timer) {
        class = mg_err_set(err, MG_TRANSIENT, "could not listen on %s: no memory", options->address);
    } else {
        class = listen_on(options->address, &server->fd, err);
        if (class == MG_OK) {
            class = mg_http_door_open(server, err);
        }
        if (class == MG_OK) {
            class = server_serve(server, err);
        }
    }
    if (class != MG_OK) {
        mg_http_server_destroy(server);
        return class;
    }
    server->port = socket_port(server->fd);
    *ret_server = server;
    return MG_OK;
}

void mg_http_server_destroy(struct mg_http_server *server)
{
    if (!server) {
        return;
    }
    daemon_destroy(server->serving);
    mg_http_door_close(server);
    mg_timer_destroy(server->drain_timer);
    mg_http_certificate_drop(server->certificate);
    if (server->fd >= 0) {
        (void)close(server->fd);
    }
    free(server->address);
    free(server->cert_file);
    free(server->key_file);
    free(server);
}

int mg_http_server_port(const struct mg_http_server *server)
{
    return server->port;
}
