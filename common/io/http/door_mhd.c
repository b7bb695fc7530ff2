/*
 * The entry of the HTTP server. It listens and accepts by itself and gives the sockets to libmicrohttpd. At
 * its limit that library takes its own listening socket out of its epoll set, and never puts it back.
 *
 * A connection waits in the lobby until the head of its first request, or the first record of its TLS
 * handshake, is complete. There it costs a descriptor and a watch; its bytes are only peeked at. Then it
 * enters the library, which spends some tens of KB on it.
 *
 * Both have a limit. At the lobby's limit the oldest connection is closed, either of those without a byte or
 * of those with a part, whichever group is larger. So a flood pushes out itself. No connection is closed
 * before GRACE_MS; until then the others wait in the kernel's queue. In the library the oldest without a
 * whole request is closed. It has more places than the handler may have requests in hand, so a probe finds
 * one.
 *
 * A kept connection is idle from its last answer to the first line of the next request. The time for a whole
 * request begins with that line. The server closes an idle one somewhat later than it announces, and not
 * while it has bytes: the client closes first, and no request is lost.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"
#include "io/http/mhd.h"

#define LOBBY_MAX      512   /* with GRACE_MS: enough for 20,000 connections a second */
#define LOBBY_MIN      64    /* where descriptors are few: */
#define LOBBY_SHARE    4     /* at most this part of them; the others are for the service's work */
#define GRACE_MS       25    /* from the connection to the first bytes, on a busy machine */
#define PROBE_PLACES   128u  /* some tens of KB each, only while clients take them */
#define ACCEPT_MAX     64    /* in one turn; clients accepted before are served in between */
#define CLOSING_MAX    64u   /* shut down in one turn; the library closes them at its end */
#define REQUEST_MAX_MS 10000 /* for a whole request, since the connection or its first line */
#define IDLE_GRACE_MS  2000  /* for a client that counts whole seconds, and for a request on its way */
#define LOOK_MS        1000  /* between two checks for later ones */
#define DRAIN_IDLE_MS  1000  /* a connection in use has its next request by then; others are not waited for */
#define DRAIN_LOOK_MS  100
#define PAUSE_MS       100  /* without descriptors: until the next attempt */
#define PEEK_MAX       2048 /* for a longer head the library waits */
#define RUN_MAX_MS     10   /* for the library's turns in one of the loop; records may have one byte */
#define TLS_HANDSHAKE  0x16 /* type of a record (RFC 8446, 5.1); its length is in bytes 3 and 4 */
#define TLS_HEAD       5

struct mg_http_place {
    TAILQ_ENTRY(mg_http_place) entry;
    struct mg_http_server *server;
    struct mg_watch *watch;                  /* only in the lobby */
    struct mg_http_certificate *certificate; /* NULL: in the lobby, or plaintext */
    enum mg_http_stage stage;
    int fd;
    int peeked;            /* bytes present at the last look */
    int64_t since_boot_ms; /* start of its wait for a whole request */
    bool is_address_cut;   /* of the request in its first line: too long, or of too many parameters */
};

/* ---- places ---- */

static void place_enter(struct mg_http_place *place, enum mg_http_stage stage)
{
    struct mg_http_crowd *crowd = &place->server->crowds[stage];
    place->stage = stage;
    crowd->count++;
    TAILQ_INSERT_TAIL(&crowd->places, place, entry);
}

static void place_leave(struct mg_http_place *place)
{
    struct mg_http_crowd *crowd = &place->server->crowds[place->stage];
    crowd->count--;
    TAILQ_REMOVE(&crowd->places, place, entry);
}

static void place_move(struct mg_http_place *place, enum mg_http_stage stage)
{
    place_leave(place);
    place_enter(place, stage);
}

static bool is_in_lobby(const struct mg_http_place *place)
{
    return place->stage == MG_HTTP_SILENT || place->stage == MG_HTTP_BEGUN;
}

bool mg_http_door_is_empty(const struct mg_http_server *server)
{
    unsigned int count = 0;
    for (int stage = 0; stage < MG_HTTP_STAGE_COUNT; stage++) {
        count += server->crowds[stage].count;
    }
    return count == 0;
}

/* A connection has ended: was it the last one of a server that stops? */
static void drain_look(struct mg_http_server *server)
{
    if (server->is_draining && server->fd < 0 && mg_http_door_is_empty(server)) {
        mg_timer_start(server->drain_timer, 0, 0); /* not from within the library */
    }
}

static void place_free(struct mg_http_place *place)
{
    struct mg_http_server *server = place->server;
    place_leave(place);
    mg_watch_destroy(place->watch);
    mg_http_certificate_drop(place->certificate);
    free(place);
    drain_look(server);
}

static void place_close(struct mg_http_place *place)
{
    int fd = place->fd;
    if (is_in_lobby(place)) {
        place_free(place);
        (void)close(fd);
    } else {                           /* the library's descriptor: it detects the end and closes it */
        (void)shutdown(fd, SHUT_RDWR); /* fails only if it has already ended */
        place_move(place, MG_HTTP_CLOSING);
    }
}

static struct mg_http_place *place_of(struct MHD_Connection *connection)
{
    const union MHD_ConnectionInfo *info =
        MHD_get_connection_info(connection, MHD_CONNECTION_INFO_SOCKET_CONTEXT);
    return info ? info->socket_context : NULL;
}

void mg_http_place_set(struct MHD_Connection *connection, enum mg_http_stage stage)
{
    struct mg_http_place *place = place_of(connection);
    if (!place || place->stage == MG_HTTP_CLOSING) {
        return;
    }
    if (stage == MG_HTTP_READING || stage == MG_HTTP_IDLE) {
        place->since_boot_ms = mg_clock_boot_ms();
    }
    place_move(place, stage);
}

void *mg_http_on_first_line(void *arg, const char *target, struct MHD_Connection *connection)
{
    (void)arg;
    struct mg_http_place *place = place_of(connection);
    if (place && place->stage == MG_HTTP_IDLE) {
        mg_http_place_set(connection, MG_HTTP_READING);
    }
    if (place) {
        place->is_address_cut = mg_http_address_cut(target);
    }
    return NULL; /* the request's argument is made with its head */
}

bool mg_http_is_address_cut(struct MHD_Connection *connection)
{
    const struct mg_http_place *place = place_of(connection);
    return !place || place->is_address_cut;
}

static int64_t idle_ms(const struct mg_http_server *server)
{
    return server->options.idle_ms > 0 ? server->options.idle_ms : MG_HTTP_IDLE_MS;
}

unsigned int mg_http_library_timeout_s(const struct mg_http_server *server)
{
    return (unsigned int)(idle_ms(server) / 1000) + MG_HTTP_STILL_MAX_S;
}

static bool is_kept(struct MHD_Connection *connection)
{
    const char *wish = MHD_lookup_connection_value(connection, MHD_HEADER_KIND, MHD_HTTP_HEADER_CONNECTION);
    return wish == NULL || strcasestr(wish, "close") == NULL;
}

enum MHD_Result mg_http_answer_queue(struct MHD_Connection *connection, unsigned int status,
                                     struct MHD_Response *response, bool is_whole)
{
    char timeout[32];
    const struct mg_http_place *place = place_of(connection);
    if (place && place->server->is_draining) {
        (void)MHD_add_response_header(response, MHD_HTTP_HEADER_CONNECTION, "close");
    } else if (place && is_whole && is_kept(connection)) {
        (void)snprintf(timeout, sizeof(timeout), "timeout=%lld", (long long)idle_ms(place->server) / 1000);
        (void)MHD_add_response_header(response, "Keep-Alive", timeout);
    }
    (void)MHD_set_connection_option(connection, MHD_CONNECTION_OPTION_TIMEOUT, MG_HTTP_STILL_MAX_S);
    return MHD_queue_response(connection, status, response);
}

bool mg_http_place_send(struct MHD_Connection *connection, struct mg_slice bytes)
{
    const struct mg_http_place *place = place_of(connection);
    if (!place || place->server->cert_file[0] != '\0') {
        return false;
    }
    (void)send(place->fd, bytes.data, bytes.len, MSG_DONTWAIT | MSG_NOSIGNAL);
    return true;
}

void mg_http_place_close(struct MHD_Connection *connection)
{
    struct mg_http_place *place = place_of(connection);
    if (place && place->stage != MG_HTTP_CLOSING) {
        place_close(place);
    }
}

bool mg_http_is_handler_free(const struct mg_http_server *server)
{
    return server->crowds[MG_HTTP_HANDLED].count < server->handled_max;
}

static void looks_begin(struct mg_http_server *server)
{
    int64_t period_ms = server->is_draining ? DRAIN_LOOK_MS : LOOK_MS;
    mg_timer_start(server->look_timer, period_ms, period_ms);
}

static struct mg_http_place *place_create(struct mg_http_server *server, int fd, enum mg_http_stage stage)
{
    struct mg_http_place *place = calloc(1, sizeof(*place));
    if (!place) {
        return NULL;
    }
    *place = (struct mg_http_place){.server = server, .fd = fd, .since_boot_ms = mg_clock_boot_ms()};
    place_enter(place, stage);
    if (!mg_timer_is_active(server->look_timer)) {
        looks_begin(server);
    }
    return place;
}

static void spare_take(struct mg_http_server *server)
{
    if (server->spare_fd < 0) {
        server->spare_fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
    }
}

/* The place of a connection from the lobby; any other connection gets a new one. */
static struct mg_http_place *place_adopt(struct mg_http_server *server, struct MHD_Connection *connection)
{
    const union MHD_ConnectionInfo *info =
        MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CONNECTION_FD);
    struct mg_http_place *place = server->entering;
    server->entering = NULL;
    if (!place && info) {
        place = place_create(server, info->connect_fd, MG_HTTP_READING);
    }
    /* without a place it could stay for ever */
    if (!place && info) {
        (void)shutdown(info->connect_fd, SHUT_RDWR);
    }
    if (place) {
        place->certificate = mg_http_certificate_present(server->certificate, connection);
    }
    return place;
}

void mg_http_on_connection(void *arg, struct MHD_Connection *connection, void **place_arg,
                           enum MHD_ConnectionNotificationCode what)
{
    struct mg_http_server *server = ((struct mg_http_daemon *)arg)->server;
    if (what == MHD_CONNECTION_NOTIFY_STARTED) {
        *place_arg = place_adopt(server, connection);
    } else if (*place_arg) {
        place_free(*place_arg);
        *place_arg = NULL;
    }
}

/* ---- closing connections at a limit ---- */

static struct mg_http_crowd *larger_of(struct mg_http_crowd *one, struct mg_http_crowd *other)
{
    return other->count > one->count ? other : one;
}

static struct mg_http_crowd *lobby_crowd(struct mg_http_server *server)
{
    return larger_of(&server->crowds[MG_HTTP_SILENT], &server->crowds[MG_HTTP_BEGUN]);
}

static bool oldest_close(struct mg_http_crowd *crowd)
{
    struct mg_http_place *oldest = TAILQ_FIRST(&crowd->places);
    if (oldest) {
        place_close(oldest);
    }
    return oldest != NULL;
}

/* Closes a connection of the library at its limit. Some have no request with the handler, so one is always
 * found. */
static void library_make_room(struct mg_http_server *server)
{
    struct mg_http_crowd *crowds = server->crowds;
    unsigned int count = crowds[MG_HTTP_READING].count + crowds[MG_HTTP_IDLE].count +
                         crowds[MG_HTTP_HANDLED].count + crowds[MG_HTTP_ANSWERED].count;
    if (count < server->handled_max + PROBE_PLACES) {
        return;
    }
    if (!oldest_close(&crowds[MG_HTTP_IDLE]) && !oldest_close(&crowds[MG_HTTP_READING])) {
        (void)oldest_close(&crowds[MG_HTTP_ANSWERED]);
    }
}

static bool has_bytes(const struct mg_http_place *place)
{
    char byte;
    return recv(place->fd, &byte, sizeof(byte), MSG_PEEK | MSG_DONTWAIT) > 0;
}

static void close_late(struct mg_http_server *server, enum mg_http_stage stage, int64_t max_ms)
{
    int64_t latest_boot_ms = mg_clock_boot_ms() - max_ms;
    struct mg_http_place *place = TAILQ_FIRST(&server->crowds[stage].places);
    while (place) {
        struct mg_http_place *next = TAILQ_NEXT(place, entry);
        bool is_late = place->since_boot_ms <= latest_boot_ms;
        if (is_late && ((stage != MG_HTTP_IDLE && stage != MG_HTTP_SILENT) || !has_bytes(place))) {
            place_close(place);
        }
        place = next;
    }
}

static void on_look(void *arg)
{
    struct mg_http_server *server = arg;
    close_late(server, MG_HTTP_SILENT, server->is_draining ? DRAIN_IDLE_MS : REQUEST_MAX_MS);
    close_late(server, MG_HTTP_BEGUN, REQUEST_MAX_MS);
    close_late(server, MG_HTTP_READING, REQUEST_MAX_MS);
    close_late(server, MG_HTTP_IDLE, server->is_draining ? DRAIN_IDLE_MS : idle_ms(server) + IDLE_GRACE_MS);
    spare_take(server);
    if (mg_http_door_is_empty(server)) {
        mg_timer_stop(server->look_timer);
    }
}

static void since_now(struct mg_http_crowd *crowd)
{
    struct mg_http_place *place;
    TAILQ_FOREACH(place, &crowd->places, entry)
    {
        place->since_boot_ms = mg_clock_boot_ms();
    }
}

void mg_http_door_drain(struct mg_http_server *server)
{
    since_now(&server->crowds[MG_HTTP_SILENT]);
    since_now(&server->crowds[MG_HTTP_IDLE]);
    looks_begin(server);
}

/* ---- the library's turn ---- */

/* TLS may hold decrypted bytes that epoll does not report; the time-out is 0 then. */
void mg_http_daemon_run(struct mg_http_daemon *daemon)
{
    MHD_UNSIGNED_LONG_LONG timeout_ms = 0;
    bool has_timeout = true;
    const int64_t until_ms = mg_clock_boot_ms() + RUN_MAX_MS;
    do {
        (void)MHD_run(daemon->mhd); /* fails only if the library runs in another mode */
        has_timeout = MHD_get_timeout(daemon->mhd, &timeout_ms) == MHD_YES;
    } while (has_timeout && timeout_ms == 0 && mg_clock_boot_ms() < until_ms);
    if (has_timeout) {
        mg_timer_start(daemon->timer, (int64_t)timeout_ms, 0);
    } else {
        mg_timer_stop(daemon->timer);
    }
}

/* ---- the lobby ---- */

enum arrival { ARRIVAL_PART, ARRIVAL_WHOLE, ARRIVAL_WRONG };

static enum arrival tls_arrival(const unsigned char *bytes, int len)
{
    if (len > 0 && bytes[0] != TLS_HANDSHAKE) {
        return ARRIVAL_WRONG;
    }
    if (len < TLS_HEAD) {
        return ARRIVAL_PART;
    }
    return len >= TLS_HEAD + (bytes[3] << 8 | bytes[4]) || len == PEEK_MAX ? ARRIVAL_WHOLE : ARRIVAL_PART;
}

/* A head ends with an empty line; the library takes bare newlines too. */
static enum arrival http_arrival(const unsigned char *bytes, int len)
{
    if (len == PEEK_MAX) {
        return ARRIVAL_WHOLE;
    }
    for (int i = 1; i < len; i++) {
        if (bytes[i] == '\n' &&
            (bytes[i - 1] == '\n' || (i > 1 && bytes[i - 1] == '\r' && bytes[i - 2] == '\n'))) {
            return ARRIVAL_WHOLE;
        }
    }
    return ARRIVAL_PART;
}

/* Gives the socket to the library, which closes it if it cannot take it. Then the client must connect
 * again. */
static void lobby_leave(struct mg_http_place *place)
{
    struct mg_http_server *server = place->server;
    struct sockaddr_storage address = {.ss_family = AF_UNSPEC};
    socklen_t len = sizeof(address);
    int one = 1;
    mg_watch_destroy(place->watch);
    place->watch = NULL;
    (void)setsockopt(place->fd, SOL_SOCKET, SO_RCVLOWAT, &one, sizeof(one));
    (void)getpeername(place->fd, (struct sockaddr *)&address, &len); /* the library only stores it */
    library_make_room(server);
    place_move(place, MG_HTTP_READING);
    server->entering = place;
    (void)MHD_add_connection(server->serving->mhd, place->fd, (struct sockaddr *)&address, len);
    if (server->entering) {
        place_free(place);
    }
    server->entering = NULL;
}

static void on_lobby_readable(void *arg, int events);

/* Waits for more bytes than present: a plain watch would fire for those. */
static bool lobby_wait(struct mg_http_place *place)
{
    int more = place->peeked + 1;
    if (!place->watch) {
        place->watch = mg_watch_create(place->server->loop, place->fd, on_lobby_readable, place);
    }
    if (!place->watch || setsockopt(place->fd, SOL_SOCKET, SO_RCVLOWAT, &more, sizeof(more)) != 0) {
        return false;
    }
    mg_watch_set(place->watch, MG_READABLE);
    return true;
}

/* True: the library has work to do. */
static bool lobby_look(struct mg_http_place *place, bool is_first)
{
    unsigned char bytes[PEEK_MAX];
    ssize_t got = recv(place->fd, bytes, sizeof(bytes), MSG_PEEK | MSG_DONTWAIT);
    int len = got > 0 ? (int)got : 0;
    bool is_over = got == 0 || (got < 0 && errno != EAGAIN) || (!is_first && len <= place->peeked);
    enum arrival arrival = place->server->certificate ? tls_arrival(bytes, len) : http_arrival(bytes, len);
    if (arrival == ARRIVAL_WHOLE) {
        lobby_leave(place);
        return true;
    }
    if (len > 0 && place->peeked == 0) {
        place_move(place, MG_HTTP_BEGUN);
    }
    place->peeked = len;
    if (is_over || arrival == ARRIVAL_WRONG || !lobby_wait(place)) {
        place_close(place);
    }
    return false;
}

static void on_lobby_readable(void *arg, int events)
{
    (void)events;
    struct mg_http_place *place = arg;
    struct mg_http_server *server = place->server;
    if (lobby_look(place, false)) {
        mg_http_daemon_run(server->serving);
    }
}

/* ---- accepting ---- */

unsigned int mg_http_connections_max(const struct mg_http_server *server)
{
    return server->handled_max + PROBE_PLACES + CLOSING_MAX;
}

static void pause_accepting(struct mg_http_server *server, int64_t for_ms)
{
    mg_watch_set(server->watch, 0);
    mg_timer_start(server->pause_timer, for_ms, 0);
}

static void on_pause_over(void *arg)
{
    struct mg_http_server *server = arg;
    spare_take(server);
    if (server->watch) {
        mg_watch_set(server->watch, MG_READABLE);
    }
}

/* False: accepting pauses until the oldest in the lobby has had GRACE_MS. */
static bool lobby_has_room(struct mg_http_server *server)
{
    unsigned int count = server->crowds[MG_HTTP_SILENT].count + server->crowds[MG_HTTP_BEGUN].count;
    if (count < server->lobby_max) {
        return true;
    }
    struct mg_http_place *oldest = TAILQ_FIRST(&lobby_crowd(server)->places);
    int64_t left_ms = oldest->since_boot_ms + GRACE_MS - mg_clock_boot_ms();
    if (left_ms > 0) {
        pause_accepting(server, left_ms);
    } else {
        place_close(oldest);
    }
    return left_ms <= 0;
}

/* Without a free descriptor the oldest of the largest crowd is closed, or else the spare descriptor. False:
 * there is neither. */
static bool has_descriptor(struct mg_http_server *server)
{
    struct mg_http_crowd *reading = &server->crowds[MG_HTTP_READING], *idle = &server->crowds[MG_HTTP_IDLE];
    if (oldest_close(larger_of(lobby_crowd(server), larger_of(idle, reading)))) {
        return true;
    }
    if (server->spare_fd < 0) {
        return false;
    }
    (void)close(server->spare_fd);
    server->spare_fd = -1;
    return true;
}

static bool is_want_of_descriptors(int error)
{
    return error == EMFILE || error == ENFILE || error == ENOBUFS || error == ENOMEM;
}

static void client_enter(struct mg_http_server *server, int fd)
{
    struct mg_http_place *place = place_create(server, fd, MG_HTTP_SILENT);
    if (place) {
        (void)lobby_look(place, true);
    } else {
        (void)close(fd); /* no memory */
    }
}

bool mg_http_door_accept(struct mg_http_server *server)
{
    bool is_none = false;
    for (int i = 0; i < ACCEPT_MAX; i++) {
        if (!lobby_has_room(server)) {
            break;
        }
        int fd = accept4(server->fd, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
        if (fd >= 0) {
            client_enter(server, fd);
        } else if (errno == EAGAIN) {
            is_none = true;
            break;
        } else if (is_want_of_descriptors(errno)) {
            if (!has_descriptor(server)) {
                pause_accepting(server, PAUSE_MS);
            }
            break; /* the connection given up is closed in this turn */
        }
        /* else: this client has already gone */
    }
    mg_http_daemon_run(server->serving);
    return is_none;
}

static void on_client(void *arg, int events)
{
    (void)events;
    (void)mg_http_door_accept(arg);
}

static unsigned int lobby_size(void)
{
    struct rlimit limit;
    if (getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur / LOBBY_SHARE < LOBBY_MIN) {
        return LOBBY_MIN;
    }
    return limit.rlim_cur / LOBBY_SHARE < LOBBY_MAX ? (unsigned int)(limit.rlim_cur / LOBBY_SHARE)
                                                    : LOBBY_MAX;
}

enum mg_class mg_http_door_open(struct mg_http_server *server, struct mg_err *err)
{
    server->lobby_max = lobby_size();
    for (int stage = 0; stage < MG_HTTP_STAGE_COUNT; stage++) {
        TAILQ_INIT(&server->crowds[stage].places);
    }
    spare_take(server);
    server->look_timer = mg_timer_create(server->loop, on_look, server);
    server->pause_timer = mg_timer_create(server->loop, on_pause_over, server);
    server->watch = mg_watch_create(server->loop, server->fd, on_client, server);
    if (!server->look_timer || !server->pause_timer || !server->watch) {
        return mg_err_set(err, MG_TRANSIENT, "could not listen on %s: no memory", server->options.address);
    }
    mg_watch_set(server->watch, MG_READABLE);
    return MG_OK;
}

void mg_http_door_close(struct mg_http_server *server)
{
    struct mg_http_place *place;
    for (int stage = MG_HTTP_SILENT; stage <= MG_HTTP_BEGUN; stage++) {
        while (server->look_timer && (place = TAILQ_FIRST(&server->crowds[stage].places))) {
            place_close(place);
        }
    }
    mg_watch_destroy(server->watch);
    mg_timer_destroy(server->look_timer);
    mg_timer_destroy(server->pause_timer);
    if (server->spare_fd >= 0) {
        (void)close(server->spare_fd);
    }
}
