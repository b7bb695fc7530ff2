/*
 * What strangers send to /healthz, /readyz and /metrics: our HTTP server on libmicrohttpd. The input is what
 * a client sends before it closes its side. The connection is one half of a socket pair, given to the library
 * as if it had been accepted.
 */
#include <microhttpd.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/log.h"
#include "fuzz.h"
#include "io/http_server.h"

#define ANSWERS_MAX_BYTES 65536
#define PATIENCE_TICKS    3 /* of a millisecond */

static struct mg_loop *loop;
static struct MHD_Daemon *daemon_seen;
static char answers[ANSWERS_MAX_BYTES]; /* the first of what came back */
static size_t answers_len;
static int client_fd = -1;
static struct mg_watch *client_watch;

/* ---- libmicrohttpd's connection ---- */

const union MHD_DaemonInfo *__real_MHD_get_daemon_info(struct MHD_Daemon *daemon,
                                                       enum MHD_DaemonInfoType type, ...);
const union MHD_DaemonInfo *__wrap_MHD_get_daemon_info(struct MHD_Daemon *daemon,
                                                       enum MHD_DaemonInfoType type, ...);

/* The server asks for its epoll descriptor as it starts; so we learn which daemon is its. */
const union MHD_DaemonInfo *__wrap_MHD_get_daemon_info(struct MHD_Daemon *daemon,
                                                       enum MHD_DaemonInfoType type, ...)
{
    daemon_seen = daemon;
    return __real_MHD_get_daemon_info(daemon, type);
}

/* ---- the client ---- */

static bool is_ready(void *arg, char *ret_reason, size_t size)
{
    bool *was_ready = arg;
    *was_ready = !*was_ready;
    (void)snprintf(ret_reason, size, "the broker is away");
    return *was_ready;
}

static void hang_up(void)
{
    mg_watch_destroy(client_watch);
    client_watch = NULL;
    close(client_fd);
    client_fd = -1;
}

static void on_answer(void *arg, int events)
{
    (void)arg, (void)events;
    char bytes[4096];
    for (;;) {
        ssize_t n = recv(client_fd, bytes, sizeof bytes, MSG_DONTWAIT);
        if (n < 0) return;
        if (n == 0) break;
        size_t room = sizeof answers - answers_len, kept = (size_t)n < room ? (size_t)n : room;
        memcpy(answers + answers_len, bytes, kept);
        answers_len += kept;
    }
    hang_up();
}

/* Half a request is waited for, a while: then the client is gone. Over when the server has let go of it. */
static void on_tick(void *arg)
{
    int *ticks = arg;
    if (++*ticks == PATIENCE_TICKS && client_fd >= 0) hang_up();
    const union MHD_DaemonInfo *info =
        __real_MHD_get_daemon_info(daemon_seen, MHD_DAEMON_INFO_CURRENT_CONNECTIONS);
    if (client_fd < 0 && info->num_connections == 0) mg_loop_stop(loop);
}

static void prepare(void)
{
    static bool was_ready;
    static struct mg_http_server *server;
    const struct mg_http_server_options options = {
        .address = "127.0.0.1:0", .metrics = mg_metrics_create(), .is_ready = is_ready, .arg = &was_ready};
    struct mg_err err;
    loop = mg_loop_create();
    FUZZ_REQUIRE(loop != NULL && options.metrics != NULL);
    FUZZ_REQUIRE(mg_http_server_create(loop, &options, &server, &err) == MG_OK && daemon_seen != NULL);
}

/* An answer is one of ours, or the library's own refusal. */
static void answer_is_sound(void)
{
    static const char *const statuses[] = {"200", "404", "405", "503", "400", "411", "413",
                                           "414", "417", "431", "500", "501", "505", "100"};
    struct mg_slice all = {answers, answers_len};
    bool is_known = answers_len == 0;
    for (size_t i = 0; i < sizeof statuses / sizeof statuses[0] && !is_known; i++) {
        for (int minor = 0; minor <= 1; minor++) {
            char line[32];
            (void)snprintf(line, sizeof line, "HTTP/1.%d %s ", minor, statuses[i]);
            is_known = is_known || (all.len >= strlen(line) && memcmp(all.data, line, strlen(line)) == 0);
        }
    }
    FUZZ_REQUIRE(is_known);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const struct sockaddr_in from = {.sin_family = AF_INET};
    union {
        struct sockaddr any;
        struct sockaddr_in v4;
    } address = {.v4 = from};
    int pair[2], ticks = 0;
    if (loop == NULL) prepare();
    answers_len = 0;
    FUZZ_REQUIRE(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) == 0);
    client_fd = pair[1];
    FUZZ_REQUIRE(send(client_fd, data, size, MSG_NOSIGNAL) == (ssize_t)size);
    FUZZ_REQUIRE(shutdown(client_fd, SHUT_WR) == 0);
    client_watch = mg_watch_create(loop, client_fd, on_answer, NULL);
    struct mg_timer *timer = mg_timer_create(loop, on_tick, &ticks);
    FUZZ_REQUIRE(client_watch != NULL && timer != NULL);
    mg_watch_set(client_watch, MG_READABLE);
    mg_timer_start(timer, 1, 1);
    FUZZ_REQUIRE(MHD_add_connection(daemon_seen, pair[0], &address.any, sizeof address.v4) == MHD_YES);
    mg_loop_run(loop);
    mg_timer_destroy(timer);
    answer_is_sound();
    return 0;
}
