/*
 * The end of the HTTP server without the loss of a request.
 *
 * A listening socket that is closed resets the connections in its queue, and those of which the handshake is
 * under way, although their clients may have sent a request. So the kernel first drops each question for a
 * connection. The handshakes under way end meanwhile, and the queue is taken to its end. A client whose
 * question was dropped asks again after a second, and is refused.
 */
#include <linux/filter.h>
#include <sys/socket.h>
#include <unistd.h>

#include "io/http/mhd.h"

#define HANDSHAKE_MS 50   /* the way there and back across a continent */
#define TCP_FLAGS    13   /* the byte of a segment */
#define TCP_SYN      0x02 /* the bit of it: asks for a connection */

/* Without the filter some connections may be reset. */
static void requests_drop(int fd)
{
    struct sock_filter code[] = {BPF_STMT(BPF_LD | BPF_B | BPF_ABS, TCP_FLAGS),
                                 BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, TCP_SYN, 0, 1),
                                 BPF_STMT(BPF_RET | BPF_K, 0), BPF_STMT(BPF_RET | BPF_K, UINT32_MAX)};
    const struct sock_fprog program = {.len = sizeof(code) / sizeof(code[0]), .filter = code};
    (void)setsockopt(fd, SOL_SOCKET, SO_ATTACH_FILTER, &program, sizeof(program));
}

void mg_http_on_drain(void *arg)
{
    struct mg_http_server *server = arg;
    if (server->fd >= 0 && !mg_http_door_accept(server)) {
        mg_timer_start(server->drain_timer, HANDSHAKE_MS, 0);
        return;
    }
    if (server->fd >= 0) {
        mg_watch_destroy(server->watch);
        (void)close(server->fd);
        server->watch = NULL;
        server->fd = -1;
    }
    if (mg_http_door_is_empty(server)) {
        server->drained(server->drained_arg);
    }
}

void mg_http_server_drain(struct mg_http_server *server, void (*drained)(void *arg), void *arg)
{
    server->is_draining = true;
    server->drained = drained;
    server->drained_arg = arg;
    requests_drop(server->fd);
    mg_http_door_drain(server);
    mg_timer_start(server->drain_timer, HANDSHAKE_MS, 0);
}
