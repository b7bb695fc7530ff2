/*
 * makegood-sample-remote: plays the remote services of the samples (inventory, payment, carrier), keeps a
 * ledger of its effects, and misbehaves on request. For the demo and the tests; nothing in it is fit for real
 * money.
 *
 * Each connection has a thread: a handler that waits delays no other, which is all the speed it needs.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <getopt.h>
#include <microhttpd.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "exchange.h"
#include "tls.h"

#define CONNECTIONS_MAX      4096u /* a thread each; agents keep at most some hundreds */
#define CONNECTION_TIMEOUT_S 3700u /* above the longest wait of a behaviour, which it must not cut */
#define THREAD_STACK_SIZE    (512u * 1024)
#define BODY_FIRST_CAPACITY  1024u
#define OUR_SERVICES         3

struct options {
    const char *listen, *ledger, *service, *tls;
    const char *behaviours[OUR_SERVICES]; /* "payment=decline" */
    int behaviour_count;
    unsigned int undo_unknown_status;
};

static const char help[] =
    "usage: makegood-sample-remote --ledger FILE [options]\n"
    "  --listen ADDRESS:PORT        IPv4 address; port 0 takes a free one (127.0.0.1:8080)\n"
    "  --service NAME               inventory, payment or carrier; default: all three\n"
    "  --behaviour SERVICE=MODE     as PUT /switches/SERVICE would set it; may be given for each service\n"
    "  --undo-unknown 204|404       the answer to an undo whose do never came (204)\n"
    "  --tls DIR                    HTTPS with cert.pem and key.pem of DIR, for clients of its ca.pem\n"
    "  --help                       this text\n"
    "Prints the address it listens on; ends on SIGTERM. Endpoints and modes: deploy/sample/README.md\n";

/* ---- requests ---- */

/* Gathers the body, then serves. */
static void body_add(struct exchange *exchange, const char *data, size_t len)
{
    size_t need = exchange->body_len + len + 1, capacity = BODY_FIRST_CAPACITY;
    if (exchange->is_over || need > BODY_MAX_BYTES) {
        exchange->is_over = true;
        return;
    }
    while (capacity < need) {
        capacity *= 2;
    }
    char *grown = realloc(exchange->body, capacity);
    if (!grown) {
        exchange->is_over = true;
        return;
    }
    exchange->body = grown;
    if (len > 0) {
        memcpy(grown + exchange->body_len, data, len);
    }
    exchange->body_len += len;
    grown[exchange->body_len] = '\0';
}

static enum MHD_Result on_request(void *arg, struct MHD_Connection *connection, const char *path,
                                  const char *method, const char *version, const char *upload,
                                  size_t *upload_len, void **request_arg)
{
    (void)version;
    struct exchange *exchange = *request_arg;
    if (!exchange) {
        /* A health check needs no client certificate. */
        const struct remote *remote = arg;
        if (remote->is_tls && strcmp(path, "/healthz") != 0 && !tls_is_known_client(connection)) {
            (void)fprintf(stderr, "%s %s: turned away, the client showed no certificate of the CA\n", method,
                          path);
            const struct exchange refused = {.remote = arg, .connection = connection};
            return answer_error(&refused, MHD_HTTP_FORBIDDEN, "no_certificate",
                                "show a certificate of the CA that ca.pem holds");
        }
        exchange = calloc(1, sizeof(*exchange));
        if (!exchange) {
            return MHD_NO;
        }
        exchange->remote = arg;
        exchange->connection = connection;
        *request_arg = exchange;
        return MHD_YES;
    }
    if (*upload_len > 0) {
        body_add(exchange, upload, *upload_len);
        *upload_len = 0;
        return MHD_YES;
    }
    body_add(exchange, "", 0);
    exchange->path = path;
    exchange->method = method;
    return serve(exchange);
}

static void on_completed(void *arg, struct MHD_Connection *connection, void **request_arg,
                         enum MHD_RequestTerminationCode code)
{
    (void)arg, (void)connection, (void)code;
    struct exchange *exchange = *request_arg;
    if (exchange) {
        free(exchange->body);
    }
    free(exchange);
    *request_arg = NULL;
}

/* ---- start and end ---- */

static int usage_error(const char *what)
{
    (void)fprintf(stderr, "makegood-sample-remote: %s\n%s", what, help);
    return 2;
}

/* 0: go on; else the exit code plus one, so that --help ends well. */
static int options_read(int argc, char **argv, struct options *options)
{
    static const struct option words[] = {{"listen", required_argument, NULL, 'l'},
                                          {"ledger", required_argument, NULL, 'f'},
                                          {"service", required_argument, NULL, 's'},
                                          {"behaviour", required_argument, NULL, 'b'},
                                          {"undo-unknown", required_argument, NULL, 'u'},
                                          {"tls", required_argument, NULL, 't'},
                                          {"help", no_argument, NULL, 'h'},
                                          {NULL, 0, NULL, 0}};
    int word;
    while ((word = getopt_long(argc, argv, "", words, NULL)) != -1) {
        if (word == 'l') {
            options->listen = optarg;
        }
        if (word == 'f') {
            options->ledger = optarg;
        }
        if (word == 's') {
            options->service = optarg;
        }
        if (word == 't') {
            options->tls = optarg;
        }
        if (word == 'b') {
            if (options->behaviour_count == OUR_SERVICES) {
                return usage_error("too many --behaviour") + 1;
            }
            options->behaviours[options->behaviour_count++] = optarg;
        }
        if (word == 'u') {
            options->undo_unknown_status = strcmp(optarg, "404") == 0 ? 404 : 204;
        }
        if (word == 'u' && strcmp(optarg, "404") != 0 && strcmp(optarg, "204") != 0) {
            return usage_error("--undo-unknown takes 204 or 404") + 1;
        }
        if (word == 'h') {
            (void)fputs(help, stdout);
            return 1;
        }
        if (word == '?') {
            return usage_error("unknown option") + 1;
        }
    }
    if (optind < argc || !options->ledger) {
        return usage_error("--ledger FILE is needed, and no other words") + 1;
    }
    if (options->service && strcmp(options->service, "inventory") != 0 &&
        strcmp(options->service, "payment") != 0 && strcmp(options->service, "carrier") != 0) {
        return usage_error("--service takes inventory, payment or carrier") + 1;
    }
    return 0;
}

static bool address_read(const char *text, struct sockaddr_in *ret_address)
{
    char host[INET_ADDRSTRLEN];
    const char *colon = strchr(text, ':');
    char *end = NULL;
    if (!colon || (size_t)(colon - text) >= sizeof(host) || colon[1] == '\0') {
        return false;
    }
    memcpy(host, text, (size_t)(colon - text));
    host[colon - text] = '\0';
    long port = strtol(colon + 1, &end, 10);
    *ret_address = (struct sockaddr_in){.sin_family = AF_INET, .sin_port = htons((uint16_t)port)};
    return *end == '\0' && port >= 0 && port <= UINT16_MAX &&
           inet_pton(AF_INET, host, &ret_address->sin_addr) == 1;
}

static bool switches_set(struct ledger *ledger, const struct options *options)
{
    for (int i = 0; i < options->behaviour_count; i++) {
        struct behaviour behaviour;
        char service[32];
        const char *equals = strchr(options->behaviours[i], '=');
        if (!equals || (size_t)(equals - options->behaviours[i]) >= sizeof(service) ||
            !behaviour_parse(equals + 1, &behaviour)) {
            (void)fprintf(stderr, "cannot read --behaviour %s\n", options->behaviours[i]);
            return false;
        }
        memcpy(service, options->behaviours[i], (size_t)(equals - options->behaviours[i]));
        service[equals - options->behaviours[i]] = '\0';
        if (!ledger_switch_set(ledger, service, equals + 1, -1, behaviour_default_on(behaviour.mode))) {
            return false;
        }
    }
    return true;
}

/* Serves until one of `signals` arrives. */
static int serve_until_signal(struct remote *remote, const struct sockaddr_in *address,
                              const struct tls_files *tls, const sigset_t *signals)
{
    const struct MHD_OptionItem tls_options[] = {
        {MHD_OPTION_NOTIFY_CONNECTION, (intptr_t)tls_judge_clients, NULL},
        {MHD_OPTION_HTTPS_MEM_KEY, 0, tls->key},
        {MHD_OPTION_HTTPS_MEM_CERT, 0, tls->cert},
        {MHD_OPTION_HTTPS_MEM_TRUST, 0, tls->ca},
        {MHD_OPTION_END, 0, NULL}};
    static const struct MHD_OptionItem no_options[] = {{MHD_OPTION_END, 0, NULL}};
    struct MHD_Daemon *daemon = MHD_start_daemon(
        MHD_USE_INTERNAL_POLLING_THREAD | MHD_USE_THREAD_PER_CONNECTION | MHD_USE_POLL |
            (remote->is_tls ? (unsigned int)MHD_USE_TLS : 0u),
        0, NULL, NULL, on_request, remote, MHD_OPTION_SOCK_ADDR, address, MHD_OPTION_NOTIFY_COMPLETED,
        on_completed, NULL, MHD_OPTION_CONNECTION_LIMIT, CONNECTIONS_MAX, MHD_OPTION_CONNECTION_TIMEOUT,
        CONNECTION_TIMEOUT_S, MHD_OPTION_THREAD_STACK_SIZE, (size_t)THREAD_STACK_SIZE,
        MHD_OPTION_LISTENING_ADDRESS_REUSE, 1u, MHD_OPTION_ARRAY, remote->is_tls ? tls_options : no_options,
        MHD_OPTION_END);
    if (!daemon) {
        (void)fprintf(stderr, "could not listen on port %d: %s\n", ntohs(address->sin_port), strerror(errno));
        return EXIT_FAILURE;
    }
    char host[INET_ADDRSTRLEN] = "";
    const union MHD_DaemonInfo *info = MHD_get_daemon_info(daemon, MHD_DAEMON_INFO_BIND_PORT);
    (void)inet_ntop(AF_INET, &address->sin_addr, host, sizeof(host)); /* it came from text */
    (void)printf("listening on %s://%s:%d\n", remote->is_tls ? "https" : "http", host,
                 info ? info->port : ntohs(address->sin_port));
    (void)fflush(stdout);
    int signal_number = 0;
    (void)sigwait(signals, &signal_number); /* fails only for an invalid set */
    (void)eventfd_write(remote->stop_fd, 1);
    MHD_stop_daemon(daemon);
    return EXIT_SUCCESS;
}

int main(int argc, char **argv)
{
    struct options options = {.listen = "127.0.0.1:8080", .undo_unknown_status = MHD_HTTP_NO_CONTENT};
    struct sockaddr_in address;
    int code = options_read(argc, argv, &options);
    if (code != 0) {
        return code - 1;
    }
    if (!address_read(options.listen, &address)) {
        return usage_error("--listen takes an IPv4 address and a port");
    }

    sigset_t signals;
    sigemptyset(&signals);
    sigaddset(&signals, SIGTERM);
    sigaddset(&signals, SIGINT);
    (void)pthread_sigmask(SIG_BLOCK, &signals, NULL); /* before there is a second thread */
    (void)signal(SIGPIPE, SIG_IGN);

    struct remote remote = {.only_service = options.service,
                            .undo_unknown_status = options.undo_unknown_status,
                            .is_tls = options.tls != NULL,
                            .stop_fd = eventfd(0, EFD_CLOEXEC)};
    struct tls_files tls = {NULL, NULL, NULL};
    remote.ledger = ledger_open(options.ledger);
    code = EXIT_FAILURE;
    if (remote.ledger && remote.stop_fd >= 0 && switches_set(remote.ledger, &options) &&
        (!remote.is_tls || tls_read(options.tls, &tls))) {
        code = serve_until_signal(&remote, &address, &tls, &signals);
    }
    tls_free(&tls);
    ledger_close(remote.ledger);
    if (remote.stop_fd >= 0) {
        (void)close(remote.stop_fd);
    }
    return code;
}
