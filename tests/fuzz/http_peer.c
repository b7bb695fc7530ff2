/* See http_peer.h. */
#include "http_peer.h"

#include <microhttpd.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#define ANSWERS_MAX_BYTES (8 * 1024 * 1024)
#define PATIENCE_TICKS    5  /* milliseconds; then the client closes */
#define END_TICKS         10 /* then the wait for the server's reaction ends: it may have no bytes to send */

static struct MHD_Daemon *daemon_seen;

struct peer {
    struct mg_loop *loop;
    struct mg_watch *watch;
    struct http_answers *answers;
    int fd, ticks;
};

const union MHD_DaemonInfo *__real_MHD_get_daemon_info(struct MHD_Daemon *daemon,
                                                       enum MHD_DaemonInfoType type, ...);
const union MHD_DaemonInfo *__wrap_MHD_get_daemon_info(struct MHD_Daemon *daemon,
                                                       enum MHD_DaemonInfoType type, ...);

/* The server queries its epoll descriptor at the start; the wrapper records which daemon is its own. */
const union MHD_DaemonInfo *__wrap_MHD_get_daemon_info(struct MHD_Daemon *daemon,
                                                       enum MHD_DaemonInfoType type, ...)
{
    daemon_seen = daemon;
    return __real_MHD_get_daemon_info(daemon, type);
}

static void hang_up(struct peer *peer)
{
    mg_watch_destroy(peer->watch);
    peer->watch = NULL;
    close(peer->fd);
    peer->fd = -1;
}

static bool is_over(const struct peer *peer)
{
    const union MHD_DaemonInfo *info =
        __real_MHD_get_daemon_info(daemon_seen, MHD_DAEMON_INFO_CURRENT_CONNECTIONS);
    return peer->fd < 0 && (info->num_connections == 0 || peer->ticks >= END_TICKS);
}

static void on_answer(void *arg, int events)
{
    struct peer *peer = arg;
    char bytes[16384];
    (void)events;
    for (;;) {
        ssize_t n = recv(peer->fd, bytes, sizeof(bytes), MSG_DONTWAIT);
        if (n < 0) {
            return;
        }
        if (n == 0) {
            break;
        }
        mg_buf_append(&peer->answers->bytes, bytes, (size_t)n);
    }
    peer->answers->is_whole = true;
    hang_up(peer);
    if (is_over(peer)) {
        mg_loop_stop(peer->loop);
    }
}

static void on_tick(void *arg)
{
    struct peer *peer = arg;
    if (++peer->ticks == PATIENCE_TICKS && peer->fd >= 0) {
        hang_up(peer);
    }
    if (is_over(peer)) {
        mg_loop_stop(peer->loop);
    }
}

void http_peer_ask(struct mg_loop *loop, struct mg_slice bytes, struct http_answers *ret_answers)
{
    static const struct sockaddr_in from = {.sin_family = AF_INET};
    union {
        struct sockaddr any;
        struct sockaddr_in v4;
    } address = {.v4 = from};
    struct peer peer = {.loop = loop, .answers = ret_answers};
    int pair[2];
    mg_buf_init(&ret_answers->bytes, ANSWERS_MAX_BYTES);
    ret_answers->is_whole = false;
    FUZZ_REQUIRE(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) == 0);
    peer.fd = pair[1];
    FUZZ_REQUIRE(send(peer.fd, bytes.data, bytes.len, MSG_NOSIGNAL) == (ssize_t)bytes.len);
    FUZZ_REQUIRE(shutdown(peer.fd, SHUT_WR) == 0);
    peer.watch = mg_watch_create(loop, peer.fd, on_answer, &peer);
    struct mg_timer *timer = mg_timer_create(loop, on_tick, &peer);
    FUZZ_REQUIRE(peer.watch != NULL && timer != NULL);
    mg_watch_set(peer.watch, MG_READABLE);
    mg_timer_start(timer, 1, 1);
    FUZZ_REQUIRE(MHD_add_connection(daemon_seen, pair[0], &address.any, sizeof(address.v4)) == MHD_YES);
    mg_loop_run(loop);
    mg_timer_destroy(timer);
    FUZZ_REQUIRE(!ret_answers->bytes.failed);
}
