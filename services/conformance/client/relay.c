/* See relay.h. */
#include "relay.h"

#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define HOST_SIZE 256
#define PORT_SIZE 8
#define SCHEME    "amqp://"
#define AMQP_PORT "5672"
#define LINKS_MAX 8 /* connections of a client at once; a library has one or two */
#define BACKLOG   8
#define ROOM      (2 * MG_FRAME_MAX_BYTES) /* one whole frame and the beginning of the next */

enum { CLIENT, BROKER, SIDES };

/* One direction: bytes read from a side and not yet written to the other. */
struct flow {
    uint8_t bytes[ROOM];
    size_t len, passed; /* the first ones are whole frames that were read */
};

struct connection {
    struct mg_relay *relay;
    int fds[SIDES];
    struct mg_watch *watches[SIDES];
    struct flow from[SIDES];
    uint64_t confirming; /* one bit for each channel, by its lowest six bits */
    bool is_header_due;  /* of a post that has begun */
    bool is_held;
};

struct mg_relay {
    struct mg_loop *loop;
    int listening;
    struct mg_watch *watch;
    struct sockaddr_storage broker;
    socklen_t broker_len;
    char url[MG_RELAY_URL_SIZE];
    struct connection *links[LINKS_MAX];
    enum mg_relay_plan plan;
    struct mg_relay_seen seen;
};

/* ---- the URL ---- */

bool mg_relay_url_make(const char *url, int port, char ret_host[HOST_SIZE], char ret_port[PORT_SIZE],
                       char ret_url[MG_RELAY_URL_SIZE])
{
    if (strncmp(url, SCHEME, strlen(SCHEME)) != 0) {
        return false;
    }
    const char *user = url + strlen(SCHEME), *end = user + strcspn(user, "/?");
    const char *host = end;
    while (host > user && host[-1] != '@') {
        host--;
    }
    bool is_bracketed = *host == '[';
    const char *name = is_bracketed ? host + 1 : host;
    size_t name_len = strcspn(name, is_bracketed ? "]" : ":/?");
    const char *colon = memchr(name + name_len, ':', (size_t)(end - name) - name_len);
    size_t port_len = colon != NULL ? (size_t)(end - colon - 1) : 0;
    if (name_len >= HOST_SIZE || port_len >= PORT_SIZE) {
        return false;
    }
    snprintf(ret_host, HOST_SIZE, "%.*s", name_len > 0 ? (int)name_len : HOST_SIZE,
             name_len > 0 ? name : "localhost");
    snprintf(ret_port, PORT_SIZE, "%.*s", port_len > 0 ? (int)port_len : PORT_SIZE,
             port_len > 0 ? colon + 1 : AMQP_PORT);
    int len = snprintf(ret_url, MG_RELAY_URL_SIZE, "%.*s127.0.0.1:%d%s", (int)(host - url), url, port, end);
    return len > 0 && len < MG_RELAY_URL_SIZE;
}

/* ---- connections ---- */

static void connection_end(struct connection *connection)
{
    struct mg_relay *relay = connection->relay;
    for (int side = 0; side < SIDES; side++) {
        mg_watch_destroy(connection->watches[side]);
        if (connection->fds[side] >= 0) {
            (void)close(connection->fds[side]);
        }
    }
    for (int i = 0; i < LINKS_MAX; i++) {
        relay->links[i] = relay->links[i] == connection ? NULL : relay->links[i];
    }
    free(connection);
}

static void watches_set(struct connection *connection)
{
    for (int side = 0; side < SIDES; side++) {
        const struct flow *in = &connection->from[side], *out = &connection->from[SIDES - 1 - side];
        bool is_stopped = side == BROKER && connection->is_held;
        mg_watch_set(connection->watches[side],
                     (in->len < ROOM && !is_stopped ? MG_READABLE : 0) | (out->passed > 0 ? MG_WRITABLE : 0));
    }
}

/* A frame of the client: posts are counted, and the first one is treated by the plan. */
static void client_frame(struct connection *connection, const struct mg_frame *frame)
{
    struct mg_relay *relay = connection->relay;
    struct mg_relay_seen *seen = &relay->seen;
    const int room = (int)(sizeof(seen->posted) / sizeof(seen->posted[0]));
    uint64_t channel = UINT64_C(1) << (frame->channel % 64);
    struct mg_posted posted;
    uint8_t *key = NULL;
    size_t key_len = 0;
    if (frame->method == MG_FRAME_CONFIRM_SELECT) {
        connection->confirming |= channel;
    } else if (frame->method == MG_FRAME_CONSUME) {
        seen->consumers++;
    } else if (frame->type == MG_FRAME_HEADER && connection->is_header_due) {
        connection->is_header_due = false;
        if (seen->posts <= room) {
            (void)mg_frame_read_header(frame, &seen->posted[seen->posts - 1]);
        }
    } else if (frame->method == MG_FRAME_PUBLISH && mg_frame_read_publish(frame, &posted, &key, &key_len)) {
        connection->is_header_due = true;
        seen->confirming += (connection->confirming & channel) != 0 ? 1 : 0;
        if (seen->posts < room) {
            seen->posted[seen->posts] = posted;
        }
        connection->is_held = connection->is_held || (seen->posts == 0 && relay->plan == MG_RELAY_HOLD);
        if (seen->posts++ == 0 && relay->plan == MG_RELAY_MISS) {
            key[key_len - 1] = '!';
        }
    }
}

static void broker_frame(struct connection *connection, const struct mg_frame *frame)
{
    struct mg_relay *relay = connection->relay;
    if (frame->method == MG_FRAME_ACK && relay->plan == MG_RELAY_REFUSE && !relay->seen.is_refused) {
        mg_frame_make_nack(frame);
        relay->seen.is_refused = true;
    }
}

/* Reads the frames that are whole. False: they are no frames. */
static bool frames_pass(struct connection *connection, int side)
{
    struct flow *flow = &connection->from[side];
    struct mg_frame frame;
    int64_t size = 0;
    while ((size = mg_frame_next(flow->bytes + flow->passed, flow->len - flow->passed, &frame)) > 0) {
        (side == CLIENT ? client_frame : broker_frame)(connection, &frame);
        flow->passed += (size_t)size;
    }
    return size == 0;
}

/* False: the connection is over. */
static bool flow_read(struct connection *connection, int side)
{
    struct flow *flow = &connection->from[side];
    if (flow->len == ROOM) {
        return true;
    }
    ssize_t count = recv(connection->fds[side], flow->bytes + flow->len, ROOM - flow->len, MSG_DONTWAIT);
    if (count <= 0) {
        return count < 0 && (errno == EAGAIN || errno == EINTR);
    }
    flow->len += (size_t)count;
    return frames_pass(connection, side);
}

static bool flow_write(struct connection *connection, int side)
{
    struct flow *flow = &connection->from[SIDES - 1 - side];
    if (flow->passed == 0) {
        return true;
    }
    ssize_t count = send(connection->fds[side], flow->bytes, flow->passed, MSG_DONTWAIT | MSG_NOSIGNAL);
    if (count < 0) {
        return errno == EAGAIN || errno == EINTR;
    }
    flow->len -= (size_t)count;
    flow->passed -= (size_t)count;
    memmove(flow->bytes, flow->bytes + count, flow->len);
    return true;
}

/* Both sides end together; bytes on their way are lost, as in a network that fails. */
static void on_side(struct connection *connection, int side, int events)
{
    bool is_alive = (events & MG_WRITABLE) == 0 || flow_write(connection, side);
    is_alive = is_alive && ((events & MG_READABLE) == 0 || flow_read(connection, side));
    is_alive = is_alive && flow_write(connection, SIDES - 1 - side);
    if (is_alive) {
        watches_set(connection);
    } else {
        connection_end(connection);
    }
}

static void on_client(void *arg, int events)
{
    on_side(arg, CLIENT, events);
}

static void on_broker(void *arg, int events)
{
    on_side(arg, BROKER, events);
}

/* The broker's end of a connection; its failure shows at the first byte. */
static int broker_connect(const struct mg_relay *relay)
{
    const int on = 1;
    int fd = socket(relay->broker.ss_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (fd >= 0) {
        (void)setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
        if (connect(fd, (const struct sockaddr *)&relay->broker, relay->broker_len) != 0 &&
            errno != EINPROGRESS) {
            (void)close(fd);
            return -1;
        }
    }
    return fd;
}

static void connection_begin(struct mg_relay *relay, int fd)
{
    const int on = 1;
    int free_at = 0;
    while (free_at < LINKS_MAX && relay->links[free_at] != NULL) {
        free_at++;
    }
    struct connection *connection = free_at < LINKS_MAX ? calloc(1, sizeof(*connection)) : NULL;
    if (connection == NULL) {
        (void)close(fd);
        return;
    }
    (void)setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
    relay->links[free_at] = connection;
    connection->relay = relay;
    connection->fds[CLIENT] = fd;
    connection->fds[BROKER] = broker_connect(relay);
    if (connection->fds[BROKER] >= 0) {
        connection->watches[CLIENT] = mg_watch_create(relay->loop, fd, on_client, connection);
        connection->watches[BROKER] =
            mg_watch_create(relay->loop, connection->fds[BROKER], on_broker, connection);
    }
    if (connection->watches[CLIENT] == NULL || connection->watches[BROKER] == NULL) {
        connection_end(connection);
    } else {
        watches_set(connection);
    }
}

static void on_listening(void *arg, int events)
{
    struct mg_relay *relay = arg;
    (void)events;
    int fd = accept4(relay->listening, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
    if (fd >= 0) {
        connection_begin(relay, fd);
    }
}

/* ---- the relay ---- */

static enum mg_class listening_open(struct mg_relay *relay, int *ret_port, struct mg_err *err)
{
    struct sockaddr_in here = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t len = sizeof(here);
    relay->listening = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (relay->listening < 0 || bind(relay->listening, (struct sockaddr *)&here, len) != 0 ||
        listen(relay->listening, BACKLOG) != 0 ||
        getsockname(relay->listening, (struct sockaddr *)&here, &len) != 0) {
        return mg_err_set(err, MG_PERMANENT, "could not listen on 127.0.0.1: %s", strerror(errno));
    }
    *ret_port = ntohs(here.sin_port);
    relay->watch = mg_watch_create(relay->loop, relay->listening, on_listening, relay);
    if (relay->watch == NULL) {
        return mg_err_set(err, MG_TRANSIENT, "could not listen on 127.0.0.1: no memory");
    }
    mg_watch_set(relay->watch, MG_READABLE);
    return MG_OK;
}

static enum mg_class broker_find(struct mg_relay *relay, const char *host, const char *port,
                                 struct mg_err *err)
{
    const struct addrinfo hints = {.ai_socktype = SOCK_STREAM};
    struct addrinfo *found = NULL;
    int rc = getaddrinfo(host, port, &hints, &found);
    if (rc != 0) {
        return mg_err_set(err, MG_TRANSIENT, "could not find the broker %s: %s", host, gai_strerror(rc));
    }
    const struct addrinfo *chosen = found;
    while (chosen->ai_family != AF_INET &&
           chosen->ai_next != NULL) { /* a broker on this machine may have no other */
        chosen = chosen->ai_next;
    }
    memcpy(&relay->broker, chosen->ai_addr, chosen->ai_addrlen);
    relay->broker_len = chosen->ai_addrlen;
    freeaddrinfo(found);
    return MG_OK;
}

enum mg_class mg_relay_create(struct mg_loop *loop, const char *url, struct mg_relay **ret_relay,
                              struct mg_err *err)
{
    char host[HOST_SIZE], port[PORT_SIZE];
    int own_port = 0;
    struct mg_relay *relay = calloc(1, sizeof(*relay));
    if (relay == NULL) {
        return mg_err_set(err, MG_TRANSIENT, "no memory for the relay");
    }
    relay->loop = loop;
    relay->listening = -1;
    enum mg_class class = listening_open(relay, &own_port, err);
    if (class == MG_OK && !mg_relay_url_make(url, own_port, host, port, relay->url)) {
        class =
            mg_err_set(err, MG_BAD_INPUT,
                       "the test reads what passes between client and broker: expected an --amqp-url that "
                       "begins with " SCHEME);
    }
    class = class == MG_OK ? broker_find(relay, host, port, err) : class;
    if (class != MG_OK) {
        mg_relay_destroy(relay);
        return class;
    }
    *ret_relay = relay;
    return MG_OK;
}

void mg_relay_cut(struct mg_relay *relay)
{
    for (int i = 0; i < LINKS_MAX; i++) {
        if (relay->links[i] != NULL) {
            connection_end(relay->links[i]);
        }
    }
    relay->plan = MG_RELAY_PASS;
    relay->seen.consumers = 0;
}

void mg_relay_begin(struct mg_relay *relay, enum mg_relay_plan plan)
{
    mg_relay_cut(relay);
    relay->plan = plan;
    relay->seen = (struct mg_relay_seen){.posts = 0};
}

const struct mg_relay_seen *mg_relay_seen(const struct mg_relay *relay)
{
    return &relay->seen;
}

const char *mg_relay_url(const struct mg_relay *relay)
{
    return relay->url;
}

void mg_relay_destroy(struct mg_relay *relay)
{
    if (relay == NULL) {
        return;
    }
    mg_relay_cut(relay);
    mg_watch_destroy(relay->watch);
    if (relay->listening >= 0) {
        (void)close(relay->listening);
    }
    free(relay);
}
