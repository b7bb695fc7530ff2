/* See alive.h. */
#include "io/http/alive.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stddef.h>
#include <sys/socket.h>

/* A call may wait 20 minutes for its answer. NATs and balancers forget a silent connection after a minute at
 * the earliest, and most peers bear a minute of a broken network. */
#define IDLE_S          30
#define PERIOD_S        10
#define PROBES          3
#define USER_TIMEOUT_MS 60000 /* the same minute for sent bytes that the peer's kernel does not confirm */

void mg_http_keep_alive(int fd)
{
    static const struct {
        int level, option, value;
    } options[] = {{SOL_SOCKET, SO_KEEPALIVE, 1},
                   {IPPROTO_TCP, TCP_KEEPIDLE, IDLE_S},
                   {IPPROTO_TCP, TCP_KEEPINTVL, PERIOD_S},
                   {IPPROTO_TCP, TCP_KEEPCNT, PROBES},
                   {IPPROTO_TCP, TCP_USER_TIMEOUT, USER_TIMEOUT_MS}};
    for (size_t i = 0; i < sizeof(options) / sizeof(options[0]); i++) {
        (void)setsockopt(fd, options[i].level, options[i].option, &options[i].value,
                         sizeof(options[i].value));
    }
}
