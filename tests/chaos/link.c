/* Connections and the effects of the modes on them: link.h. */
#include "link.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

int64_t now_ms(void)
{
    struct timespec now;
    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

/* ---- sockets ---- */

static void close_with_reset(int fd)
{
    struct linger hard = {.l_onoff = 1, .l_linger = 0};
    (void)setsockopt(fd, SOL_SOCKET, SO_LINGER, &hard, sizeof(hard));
    (void)close(fd);
}

static struct sockaddr_in loopback(uint16_t port)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons(port)};
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    return address;
}

int listen_on(uint16_t port)
{
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    int yes = 1;
    struct sockaddr_in address = loopback(port);
    if (fd < 0) {
        return -1;
    }
    (void)setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof(yes));
    if (bind(fd, (struct sockaddr *)&address, sizeof(address)) != 0 || listen(fd, 64) != 0) {
        (void)close(fd);
        return -1;
    }
    return fd;
}

static int connect_to(uint16_t port)
{
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    struct sockaddr_in address = loopback(port);
    if (fd >= 0 && connect(fd, (struct sockaddr *)&address, sizeof(address)) != 0 && errno != EINPROGRESS) {
        (void)close(fd);
        return -1;
    }
    return fd;
}

static void send_at_once(int fd)
{
    int yes = 1;
    (void)setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof(yes));
}

/* ---- connections ---- */

struct link *link_begin(struct route *route, int client)
{
    struct link *link = calloc(1, sizeof(*link));
    int server = link != NULL ? connect_to(route->target) : -1;
    if (server < 0 || route->rules[UP].mode == MODE_RESET || route->rules[DOWN].mode == MODE_RESET) {
        if (server >= 0) {
            (void)close(server);
        }
        close_with_reset(client);
        free(link);
        return NULL;
    }
    send_at_once(client);
    send_at_once(server);
    link->route = route;
    link->ends[0] = link->lanes[UP].from = link->lanes[DOWN].to = client;
    link->ends[1] = link->lanes[UP].to = link->lanes[DOWN].from = server;
    for (int way = UP; way <= DOWN; way++) {
        link->lanes[way].edition = route->rules[way].edition;
    }
    link->is_connecting = true;
    return link;
}

void link_end(struct link *link)
{
    for (int i = 0; i < 2; i++) {
        if (link->is_condemned) {
            close_with_reset(link->ends[i]);
        } else {
            (void)close(link->ends[i]);
        }
    }
    free(link);
}

bool link_is_over(const struct link *link)
{
    return link->is_condemned || (link->lanes[UP].is_shut && link->lanes[DOWN].is_shut);
}

/* True once for each connection: the n-th occasion since the mode was set. */
static bool lane_fires(struct lane *lane, struct route *route, const struct rule *rule)
{
    lane->counted++;
    if (lane->has_fired || lane->counted < rule->n) {
        return false;
    }
    lane->has_fired = true;
    route->fired++;
    return true;
}

/* Applies the mode to a unit that begins. */
static void unit_judge(struct link *link, int way, const struct unit *unit)
{
    struct lane *lane = &link->lanes[way];
    struct route *route = link->route;
    const struct rule *rule = &route->rules[way];
    lane->unit_left = unit->size;
    lane->is_dropped = lane->is_corrupt = lane->is_commit = false;
    if (unit->asks_for_one_byte) {
        link->lanes[DOWN].wants_one_byte = true;
    }
    if (rule->mode == MODE_DROP_ACK && unit->is_ack && (rule->n == 0 || lane->counted < rule->n)) {
        lane->counted++;
        route->fired++;
        lane->is_dropped = true;
    } else if (rule->mode == MODE_CORRUPT) {
        lane->is_corrupt = lane_fires(lane, route, rule);
    } else if (rule->mode == MODE_CUT_COMMIT || rule->mode == MODE_HOLD_COMMIT) {
        lane->is_commit = unit->ends_transaction && lane_fires(lane, route, rule);
    }
}

/* Moves units from `in` to `out`, as far as enough of each has arrived to judge it. */
static void lane_sift(struct link *link, int way)
{
    struct lane *lane = &link->lanes[way];
    const struct rule *rule = &link->route->rules[way];
    size_t used = 0, before = lane->out_size;
    while (used < lane->in_size && lane->out_size < BUFFER && !link->is_condemned && !link->is_doomed) {
        if (lane->unit_left == 0) {
            struct unit unit = {.size = 1};
            bool is_known = lane->wants_one_byte || sift_next(&lane->sift, link->route->protocol, way == UP,
                                                              lane->in + used, lane->in_size - used, &unit);
            if (!is_known) {
                break;
            }
            lane->wants_one_byte = false;
            unit_judge(link, way, &unit);
        }
        size_t size = lane->in_size - used;
        size = size < lane->unit_left ? size : lane->unit_left;
        size = size < BUFFER - lane->out_size ? size : BUFFER - lane->out_size;
        if (rule->mode == MODE_CUT && (long)size > rule->n - lane->counted) {
            size = (size_t)(rule->n - lane->counted);
            link->is_condemned = true;
            link->route->fired++;
        }
        if (!lane->is_dropped) {
            memcpy(lane->out + lane->out_size, lane->in + used, size);
            lane->out_size += size;
        }
        bool is_last = lane->unit_left == size;
        if (lane->is_corrupt && size > 0 && (link->route->protocol != PROTOCOL_AMQP || is_last)) {
            /* the type of a message of PostgreSQL, the end mark of a frame of AMQP */
            size_t at = link->route->protocol == PROTOCOL_AMQP ? lane->out_size - 1 : lane->out_size - size;
            lane->out[at] ^= 0x80;
            lane->is_corrupt = false;
        }
        used += size;
        lane->unit_left -= size;
        lane->counted += rule->mode == MODE_CUT ? (long)size : 0;
        if (is_last && lane->is_commit) {
            lane->is_commit = false;
            link->is_doomed = rule->mode == MODE_CUT_COMMIT;
            link->is_held = rule->mode == MODE_HOLD_COMMIT;
        }
    }
    memmove(lane->in, lane->in + used, lane->in_size - used);
    lane->in_size -= used;
    link->route->bytes[way] += (long long)(lane->out_size - before);
    if (rule->mode == MODE_DELAY && lane->out_size > before && lane->piece_count < PIECES_MAX) {
        lane->pieces[lane->piece_count++] = (struct piece){lane->out_size - before, now_ms() + rule->n};
    }
}

static bool lane_may_read(const struct link *link, int way)
{
    const struct lane *lane = &link->lanes[way];
    if (link->is_doomed) {
        return way == DOWN; /* the answer is awaited, and discarded */
    }
    return !lane->is_ended && lane->in_size < BUFFER && lane->out_size < BUFFER / 2 &&
           lane->piece_count < PIECES_MAX && link->route->rules[way].mode != MODE_BLACKHOLE &&
           !(way == DOWN && link->is_held);
}

/* How many bytes may be written now. */
static size_t lane_writable(const struct link *link, int way, int64_t now)
{
    const struct lane *lane = &link->lanes[way];
    const struct rule *rule = &link->route->rules[way];
    if (rule->mode == MODE_BLACKHOLE || (way == DOWN && (link->is_held || link->is_doomed)) ||
        link->is_connecting) {
        return 0;
    }
    size_t size = lane->out_size;
    if (lane->piece_count > 0) {
        size = 0;
        for (int i = 0; i < lane->piece_count && lane->pieces[i].due_ms <= now; i++) {
            size += lane->pieces[i].size;
        }
    }
    return rule->mode == MODE_SLICE && size > 1 ? 1 : size;
}

static void lane_read(struct link *link, int way)
{
    struct lane *lane = &link->lanes[way];
    ssize_t got = recv(lane->from, lane->in + lane->in_size, BUFFER - lane->in_size, 0);
    if (got > 0) {
        lane->in_size += (size_t)got;
        link->is_condemned = link->is_condemned || link->is_doomed;
    } else if (got == 0) {
        lane->is_ended = true;
        link->is_condemned = link->is_condemned || link->is_doomed;
    } else if (errno != EAGAIN && errno != EINTR) {
        link->is_condemned = true;
    }
}

static void lane_write(struct link *link, int way, int64_t now)
{
    struct lane *lane = &link->lanes[way];
    size_t size = lane_writable(link, way, now);
    if (size > 0) {
        ssize_t sent = send(lane->to, lane->out, size, MSG_NOSIGNAL);
        if (sent < 0) {
            link->is_condemned = link->is_condemned || (errno != EAGAIN && errno != EINTR);
            return;
        }
        lane->out_size -= (size_t)sent;
        memmove(lane->out, lane->out + sent, lane->out_size);
        size_t left = (size_t)sent;
        while (left > 0 && lane->piece_count > 0) {
            size_t taken = left < lane->pieces[0].size ? left : lane->pieces[0].size;
            lane->pieces[0].size -= taken;
            left -= taken;
            if (lane->pieces[0].size == 0) {
                memmove(lane->pieces, lane->pieces + 1, sizeof(struct piece) * (size_t)--lane->piece_count);
            }
        }
    }
    bool is_silent = link->route->rules[way].mode == MODE_BLACKHOLE || link->is_held || link->is_doomed;
    if (lane->is_ended && lane->out_size == 0 && !lane->is_shut && !is_silent && !link->is_connecting) {
        (void)shutdown(lane->to, SHUT_WR);
        lane->is_shut = true;
    }
}

/* A changed mode restarts its counters; held-back bytes go on. */
void link_renew(struct link *link)
{
    for (int way = UP; way <= DOWN; way++) {
        struct lane *lane = &link->lanes[way];
        const struct rule *rule = &link->route->rules[way];
        if (lane->edition != rule->edition) {
            lane->edition = rule->edition;
            lane->counted = 0;
            lane->has_fired = false;
            lane->piece_count = rule->mode == MODE_DELAY ? lane->piece_count : 0;
            link->is_held = link->is_held && rule->mode == MODE_HOLD_COMMIT;
            link->is_condemned = link->is_condemned || rule->mode == MODE_RESET;
        }
    }
}

void link_wants(const struct link *link, int64_t now, short ret_events[2])
{
    bool has_down = lane_writable(link, DOWN, now) > 0;
    bool has_up = lane_writable(link, UP, now) > 0 || link->is_connecting;
    ret_events[0] = (short)((lane_may_read(link, UP) ? POLLIN : 0) | (has_down ? POLLOUT : 0));
    ret_events[1] = (short)((lane_may_read(link, DOWN) ? POLLIN : 0) | (has_up ? POLLOUT : 0));
}

void link_serve(struct link *link, const short events[2], int64_t now)
{
    if (link->is_connecting && (events[1] & (POLLOUT | POLLERR | POLLHUP)) != 0) {
        int problem = 0;
        socklen_t size = sizeof(problem);
        (void)getsockopt(link->ends[1], SOL_SOCKET, SO_ERROR, &problem, &size);
        link->is_connecting = false;
        link->is_condemned = link->is_condemned || problem != 0;
    }
    for (int way = UP; way <= DOWN && !link->is_condemned; way++) {
        if ((events[way] & (POLLIN | POLLERR | POLLHUP)) != 0 && lane_may_read(link, way)) {
            lane_read(link, way);
        }
        if (!link->is_condemned) {
            lane_sift(link, way);
            lane_write(link, way, now);
        }
    }
}

int64_t link_due_ms(const struct link *link)
{
    int64_t due = -1;
    for (int way = UP; way <= DOWN; way++) {
        const struct lane *lane = &link->lanes[way];
        if (lane->piece_count > 0 && (due < 0 || lane->pieces[0].due_ms < due)) {
            due = lane->pieces[0].due_ms;
        }
    }
    return due;
}
