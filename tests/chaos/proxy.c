/*
 * A TCP proxy on loopback that misbehaves on command. Each process under test reaches each of its servers
 * through a route of its own, and each direction of a route has a mode.
 *
 *   makegood-chaos-proxy SOCKET    takes commands at the unix socket, one a line
 *
 *   route NAME LISTEN TARGET PROTOCOL  from 127.0.0.1:LISTEN to 127.0.0.1:TARGET; raw, pg or amqp
 *   target NAME TARGET                 the target of its next connections
 *   mode NAME up|down|both MODE [N]    up is towards the server; counting begins anew
 *   close NAME                         its connections are reset
 *   count NAME                         changes nothing
 *
 * The answer is "error …", or "ok", for the last three with CONNECTIONS FIRED BYTES-UP BYTES-DOWN after it.
 *
 * Modes:
 *   pass
 *   delay N        N ms
 *   blackhole      nothing passes, nothing is lost, neither end is informed
 *   reset          connections are reset, new ones too
 *   slice          one byte a write
 *   cut N          reset after N bytes
 *   drop-ack [N]   AMQP's basic.ack frames vanish: N of them, or all
 *   corrupt N      a bit of the N-th frame or message is turned, where its protocol must notice
 *   cut-commit N   PostgreSQL's N-th end of a transaction is sent; the server's answer to it is
 *                  discarded and the client reset
 *   hold-commit N  the same, but the answer is held back until the mode changes
 *
 * cut, corrupt and those of a commit act once on each connection. FIRED counts how often they and drop-ack
 * acted.
 */

#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "link.h"

enum {
    ROUTES_MAX = 96, /* fifteen processes, two servers each, three remotes, and room */
    /* Connections at a time; more are reset. After an outage nine agents of 64 calls each are all busy at
       once. */
    LINKS_MAX = 2048,
    FILES_MAX = 2 * LINKS_MAX + ROUTES_MAX + 16,
    LINE_MAX_SIZE = 256,
};

static const char *const mode_names[] = {
    [MODE_PASS] = "pass",
    [MODE_DELAY] = "delay",
    [MODE_BLACKHOLE] = "blackhole",
    [MODE_RESET] = "reset",
    [MODE_SLICE] = "slice",
    [MODE_CUT] = "cut",
    [MODE_DROP_ACK] = "drop-ack",
    [MODE_CORRUPT] = "corrupt",
    [MODE_CUT_COMMIT] = "cut-commit",
    [MODE_HOLD_COMMIT] = "hold-commit",
};

static struct route routes[ROUTES_MAX];
static int route_count;
static struct link *links[LINKS_MAX];
static int link_count;
static int control_listener;
static int control = -1;
static char line[LINE_MAX_SIZE];
static size_t line_size;

/* ---- commands ---- */

static struct route *route_find(const char *name)
{
    for (int i = 0; i < route_count; i++) {
        if (strcmp(routes[i].name, name) == 0) {
            return &routes[i];
        }
    }
    return NULL;
}

static bool number_read(const char *word, long max, long *ret_number)
{
    char *end = NULL;
    *ret_number = strtol(word, &end, 10); /* out of range: LONG_MAX, which is above any `max` but itself */
    return end != word && *end == '\0' && *ret_number >= 0 && *ret_number <= max;
}

static const char *route_add(const char *name, const char *words)
{
    long port = 0, target = 0;
    char port_word[8] = "", target_word[8] = "", protocol[8] = "";
    if (sscanf(words, "%7s %7s %7s", port_word, target_word, protocol) != 3 ||
        !number_read(port_word, UINT16_MAX, &port) || !number_read(target_word, UINT16_MAX, &target)) {
        return "error usage: route NAME LISTEN TARGET PROTOCOL";
    }
    if (route_count == ROUTES_MAX || route_find(name) != NULL) {
        return "error there are too many routes, or one of this name";
    }
    struct route *route = &routes[route_count];
    memset(route, 0, sizeof(*route));
    (void)snprintf(route->name, sizeof(route->name), "%s", name);
    route->target = (uint16_t)target;
    route->protocol = strcmp(protocol, "pg") == 0     ? PROTOCOL_PG
                      : strcmp(protocol, "amqp") == 0 ? PROTOCOL_AMQP
                                                      : PROTOCOL_RAW;
    route->listener = listen_on((uint16_t)port);
    if (route->listener < 0) {
        return "error cannot listen there";
    }
    route_count++;
    return "ok";
}

static const char *mode_set(struct route *route, const char *words)
{
    char way[8] = "", name[16] = "", number[16] = "0";
    long n = 0;
    if (sscanf(words, "%7s %15s %15s", way, name, number) < 2 || !number_read(number, LONG_MAX, &n)) {
        return "error usage: mode NAME up|down|both MODE [N]";
    }
    for (size_t mode = 0; mode < sizeof(mode_names) / sizeof(*mode_names); mode++) {
        if (strcmp(mode_names[mode], name) != 0) {
            continue;
        }
        for (int i = UP; i <= DOWN; i++) {
            if (strcmp(way, "both") == 0 || strcmp(way, i == UP ? "up" : "down") == 0) {
                route->rules[i] = (struct rule){(enum mode)mode, n, route->rules[i].edition + 1};
            }
        }
        return "ok";
    }
    return "error there is no such mode";
}

static const char *command_run(const char *text)
{
    static char answer[LINE_MAX_SIZE];
    char verb[16] = "", name[NAME_SIZE] = "";
    int rest = 0;
    if (sscanf(text, "%15s %63s %n", verb, name, &rest) < 2) {
        return "error usage: VERB NAME …";
    }
    if (strcmp(verb, "route") == 0) {
        return route_add(name, text + rest);
    }
    struct route *route = route_find(name);
    if (route == NULL) {
        return "error there is no such route";
    }
    if (strcmp(verb, "mode") == 0) {
        return mode_set(route, text + rest);
    }
    int connections = 0;
    for (int i = 0; i < link_count; i++) {
        connections += links[i]->route == route;
        links[i]->is_condemned =
            links[i]->is_condemned || (links[i]->route == route && strcmp(verb, "close") == 0);
    }
    if (strcmp(verb, "target") == 0) {
        route->target = (uint16_t)strtoul(text + rest, NULL, 10);
    } else if (strcmp(verb, "close") != 0 && strcmp(verb, "count") != 0) {
        return "error there is no such command";
    }
    (void)snprintf(answer, sizeof(answer), "ok %d %ld %lld %lld", connections, route->fired, route->bytes[UP],
                   route->bytes[DOWN]);
    return answer;
}

static void control_end(void)
{
    (void)close(control);
    control = -1;
    line_size = 0;
}

/* Reads the available input and answers whole lines. One controller at a time; its answers are shorter than
 * the socket's room. */
static void control_serve(void)
{
    ssize_t got = read(control, line + line_size, sizeof(line) - 1 - line_size);
    if (got <= 0) {
        if (got == 0 || (errno != EAGAIN && errno != EINTR)) {
            control_end();
        }
        return;
    }
    line_size += (size_t)got;
    char *end;
    while ((end = memchr(line, '\n', line_size)) != NULL) {
        *end = '\0';
        if (dprintf(control, "%s\n", command_run(line)) < 0) {
            control_end();
            return;
        }
        line_size -= (size_t)(end + 1 - line);
        memmove(line, end + 1, line_size);
    }
    if (line_size == sizeof(line) - 1) {
        control_end();
    }
}

static int control_listen(const char *path)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (fd < 0 || strlen(path) >= sizeof(address.sun_path)) {
        return -1;
    }
    memcpy(address.sun_path, path, strlen(path) + 1);
    (void)unlink(path);
    return bind(fd, (struct sockaddr *)&address, sizeof(address)) == 0 && listen(fd, 4) == 0 ? fd : -1;
}

/* ---- the loop ---- */

/* When the next delayed piece is due, in milliseconds from now; -1: there is none. */
static int time_to_wait(int64_t now)
{
    int64_t first = -1;
    for (int i = 0; i < link_count; i++) {
        int64_t due = link_due_ms(links[i]);
        first = first < 0 || (due >= 0 && due < first) ? due : first;
    }
    return first < 0 ? -1 : first > now ? (int)(first - now) : 0;
}

static void link_add(struct route *route, int client)
{
    if (link_count == LINKS_MAX) {
        (void)fprintf(stderr, "reset a connection to %s: %d are open already\n", route->name, LINKS_MAX);
        (void)close(client);
        return;
    }
    struct link *link = link_begin(route, client);
    if (link != NULL) {
        links[link_count++] = link;
    }
}

static void watch(struct pollfd *entry, int fd, short events)
{
    /* A descriptor without wanted events is not polled at all: its hang-up would wake the loop without
     * end. */
    *entry = (struct pollfd){.fd = events != 0 ? fd : -1, .events = events};
}

static void serve_once(void)
{
    static struct pollfd fds[2 + ROUTES_MAX + 2 * LINKS_MAX];
    int64_t now = now_ms();
    int served_routes = route_count, served_links = link_count;
    watch(&fds[0], control_listener, control < 0 ? POLLIN : 0);
    watch(&fds[1], control, control >= 0 ? POLLIN : 0);
    for (int i = 0; i < served_routes; i++) {
        watch(&fds[2 + i], routes[i].listener, POLLIN);
    }
    struct pollfd *ends = fds + 2 + served_routes;
    for (int i = 0; i < served_links; i++) {
        short events[2];
        link_wants(links[i], now, events);
        watch(&ends[2 * i], links[i]->ends[0], events[0]);
        watch(&ends[2 * i + 1], links[i]->ends[1], events[1]);
    }
    if (poll(fds, 2 + (nfds_t)served_routes + 2 * (nfds_t)served_links, time_to_wait(now)) < 0) {
        return;
    }
    now = now_ms();
    for (int i = 0; i < served_links; i++) {
        link_serve(links[i], (short[2]){ends[2 * i].revents, ends[2 * i + 1].revents}, now);
    }
    if (fds[0].revents != 0) {
        control = accept4(control_listener, NULL, NULL, SOCK_CLOEXEC);
    } else if (fds[1].revents != 0) {
        control_serve();
    }
    for (int i = 0; i < served_routes; i++) {
        int client = fds[2 + i].revents != 0
                         ? accept4(routes[i].listener, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC)
                         : -1;
        if (client >= 0) {
            link_add(&routes[i], client);
        }
    }
    for (int i = link_count - 1; i >= 0; i--) {
        link_renew(links[i]);
        if (link_is_over(links[i])) {
            link_end(links[i]);
            links[i] = links[--link_count];
        }
    }
}

static bool files_allow(void)
{
    struct rlimit limit = {0};
    (void)getrlimit(RLIMIT_NOFILE, &limit);
    if (limit.rlim_cur < FILES_MAX) {
        limit.rlim_cur = FILES_MAX;
        limit.rlim_max = limit.rlim_max < FILES_MAX ? FILES_MAX : limit.rlim_max;
    }
    bool is_allowed = setrlimit(RLIMIT_NOFILE, &limit) == 0;
    if (!is_allowed) {
        (void)fprintf(stderr, "could not ask for %d open files: %s\n", FILES_MAX, strerror(errno));
    }
    return is_allowed;
}

int main(int count, char **words)
{
    if (count != 2 || (control_listener = control_listen(words[1])) < 0) {
        (void)fprintf(stderr, "usage: makegood-chaos-proxy SOCKET (a path that can be made)\n");
        return 2;
    }
    (void)signal(SIGPIPE, SIG_IGN);
    if (!files_allow()) {
        return 1;
    }
    for (;;) {
        serve_once();
    }
}
