/*
 * What a broker sends: our links on librabbitmq, from the handshake on. Each connection is one half of a
 * socket pair, put under the library where it would open a socket; all that the broker will ever say is
 * written before, then its side is closed. So nothing waits, and every byte is read.
 *
 * The input: a byte that picks which of the three connections is tried, and how; then pieces, each of
 * KIND, LENGTH (two bytes) and so many bytes. KIND (its two lowest bits) makes of them a method, header or
 * body frame, or sends them as they are; with bit 2 a frame is for channel 0.
 */
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include "fuzz.h"
#include "io/broker.h"
#include "io/broker_amqp.h"

#define BODY_MAX_BYTES 512
#define HELD_MAX       32
#define PUBLISHED      6
#define CONSUMERS      2
#define STREAM_MAX     (64 * 1024) /* what the socket takes whole */

enum role { CONSUME, PUBLISH, WATCH, ROLE_COUNT };
static const char *const ROLES[] = {"(consume)", "(publish)", "(watch)"};

static struct {
    int fds[ROLE_COUNT][2]; /* the client's end, the broker's */
    atomic_bool is_taken[ROLE_COUNT];
} sockets;

struct run {
    struct mg_loop *loop;
    struct mg_broker *broker;
    enum role role;
    struct mg_slice choices; /* what the receiver does with each delivery, byte by byte */
    struct mg_delivery *held[HELD_MAX];
    int held_count;
    int outcomes[PUBLISHED];
};

/* ---- librabbitmq's socket ---- */

static _Thread_local enum role role_here;

enum mg_class __real_mg_amqp_connect(const struct mg_broker_address *address, const char *name,
                                     amqp_connection_state_t *ret_connection, struct mg_err *err);
enum mg_class __wrap_mg_amqp_connect(const struct mg_broker_address *address, const char *name,
                                     amqp_connection_state_t *ret_connection, struct mg_err *err);
int __wrap_amqp_socket_open_noblock(amqp_socket_t *socket, const char *host, int port,
                                    const struct timeval *timeout);

/* On the connecting thread: the connection's name says whose it is. */
enum mg_class __wrap_mg_amqp_connect(const struct mg_broker_address *address, const char *name,
                                     amqp_connection_state_t *ret_connection, struct mg_err *err)
{
    for (role_here = CONSUME; role_here < ROLE_COUNT; role_here++)
        if (strstr(name, ROLES[role_here]) != NULL) break;
    FUZZ_REQUIRE(role_here < ROLE_COUNT);
    return __real_mg_amqp_connect(address, name, ret_connection, err);
}

int __wrap_amqp_socket_open_noblock(amqp_socket_t *socket, const char *host, int port,
                                    const struct timeval *timeout)
{
    (void)host, (void)port, (void)timeout;
    if (atomic_exchange(&sockets.is_taken[role_here], true)) return AMQP_STATUS_SOCKET_ERROR;
    amqp_tcp_socket_set_sockfd(socket, sockets.fds[role_here][0]);
    return AMQP_STATUS_OK;
}

/* ---- what the broker says ---- */

static void put_number(struct mg_buf *stream, uint64_t number, int bytes)
{
    for (int i = bytes - 1; i >= 0; i--) {
        char byte = (char)(number >> (8 * i));
        mg_buf_append(stream, &byte, 1);
    }
}

static void put_frame(struct mg_buf *stream, int type, int channel, const void *payload, size_t len)
{
    put_number(stream, (uint64_t)type, 1);
    put_number(stream, (uint64_t)channel, 2);
    put_number(stream, len, 4);
    mg_buf_append(stream, payload, len);
    put_number(stream, AMQP_FRAME_END, 1);
}

/* As RabbitMQ answers a login and the questions that follow it. */
static void put_handshake(struct mg_buf *stream, int declared, bool is_confirming)
{
    static const char start[] = "\0\x0a\0\x0a\0\x09\0\0\0\0\0\0\0\x05PLAIN\0\0\0\x05"
                                "en_US",
                      tune[] = "\0\x0a\0\x1e\x07\xff\0\x02\0\0\0\x0a", open_ok[] = "\0\x0a\0\x29",
                      channel_open_ok[] = "\0\x14\0\x0b\0\0\0", confirm_ok[] = "\0\x55\0\x0b",
                      declare_ok[] = "\0\x32\0\x0b\x01q\0\0\0\0\0\0\0\0";
    put_frame(stream, AMQP_FRAME_METHOD, 0, start, sizeof start - 1);
    put_frame(stream, AMQP_FRAME_METHOD, 0, tune, sizeof tune - 1);
    put_frame(stream, AMQP_FRAME_METHOD, 0, open_ok, sizeof open_ok);
    put_frame(stream, AMQP_FRAME_METHOD, MG_AMQP_CHANNEL, channel_open_ok, sizeof channel_open_ok);
    for (int i = 0; i < declared; i++)
        put_frame(stream, AMQP_FRAME_METHOD, MG_AMQP_CHANNEL, declare_ok, sizeof declare_ok - 1);
    if (is_confirming)
        put_frame(stream, AMQP_FRAME_METHOD, MG_AMQP_CHANNEL, confirm_ok, sizeof confirm_ok - 1);
}

static void put_input(struct mg_buf *stream, struct mg_slice input)
{
    const unsigned char *at = (const unsigned char *)input.data, *end = at + input.len;
    while (end - at >= 3) {
        int kind = at[0] & 3, channel = at[0] & 4 ? 0 : MG_AMQP_CHANNEL;
        size_t len = (size_t)at[1] << 8 | at[2];
        at += 3;
        if (len > (size_t)(end - at)) len = (size_t)(end - at);
        if (kind == 0)
            mg_buf_append(stream, at, len);
        else
            put_frame(stream, kind, channel, at, len);
        at += len;
    }
}

static void say(enum role role, struct mg_slice input, bool is_tried, bool is_private, bool has_handshake)
{
    struct mg_buf stream;
    mg_buf_init(&stream, STREAM_MAX);
    if (has_handshake)
        put_handshake(&stream, role == CONSUME && !is_private ? CONSUMERS : 0, role == PUBLISH);
    if (is_tried) put_input(&stream, input);
    int fd = sockets.fds[role][1];
    if (stream.len > 0) FUZZ_REQUIRE(send(fd, stream.data, stream.len, MSG_NOSIGNAL) == (ssize_t)stream.len);
    if (is_tried) FUZZ_REQUIRE(shutdown(fd, SHUT_WR) == 0);
    mg_buf_finish(&stream);
}

/* ---- the service ---- */

static int choose(struct run *run)
{
    if (run->choices.len == 0) return 0;
    int choice = (unsigned char)run->choices.data[0];
    run->choices.data++;
    run->choices.len--;
    return choice;
}

static void give_back(struct run *run, struct mg_delivery *delivery, int choice)
{
    if (choice % 3 == 0)
        mg_broker_ack(run->broker, delivery);
    else if (choice % 3 == 1)
        mg_broker_reject(run->broker, delivery);
    else
        mg_broker_requeue(run->broker, delivery);
}

/* Reads all of it: what is freed or too short is noticed. */
static void delivery_is_whole(const struct mg_delivery *delivery)
{
    const struct mg_slice slices[] = {delivery->body,       delivery->message_id, delivery->correlation_id,
                                      delivery->reply_to,   delivery->type,       delivery->app_id,
                                      delivery->user_id,    delivery->exchange,   delivery->routing_key,
                                      delivery->traceparent};
    FUZZ_REQUIRE(delivery->consumer >= 0 && delivery->consumer <= CONSUMERS);
    FUZZ_REQUIRE(delivery->body.len <= BODY_MAX_BYTES);
    FUZZ_REQUIRE(!delivery->is_oversized || delivery->body.len == 0);
    for (size_t i = 0; i < sizeof slices / sizeof slices[0]; i++) {
        if (slices[i].data == NULL) continue;
        FUZZ_REQUIRE(slices[i].data[slices[i].len] == '\0');
    }
}

static void on_delivery(void *arg, struct mg_delivery *delivery)
{
    struct run *run = arg;
    delivery_is_whole(delivery);
    int choice = choose(run);
    if (choice >= 128 && run->held_count < HELD_MAX) {
        run->held[run->held_count++] = delivery;
        return;
    }
    give_back(run, delivery, choice);
    if (choice >= 64 && run->held_count > 0) give_back(run, run->held[--run->held_count], choice / 3);
}

static void on_state(void *arg, bool is_up, const char *reason)
{
    (void)arg;
    FUZZ_REQUIRE(is_up == (reason[0] == '\0'));
}

static void on_named(void *arg, int consumer, const char *queue)
{
    (void)arg;
    FUZZ_REQUIRE(consumer == 0 && queue != NULL);
}

static void on_published(void *arg, enum mg_publish_outcome outcome)
{
    int *outcomes = arg;
    FUZZ_REQUIRE(outcome <= MG_PUBLISH_UNKNOWN);
    FUZZ_REQUIRE(++*outcomes == 1);
}

static void on_seen(void *arg, const char *queue, int64_t ready_messages, int64_t consumers)
{
    (void)arg;
    FUZZ_REQUIRE(strcmp(queue, "q.watched") == 0 && ready_messages >= 0 && consumers >= -1);
}

/* ---- a run ---- */

static void start(struct run *run, bool is_private)
{
    struct mg_broker_options options = {.address = {.url = "amqp://guest:guest@127.0.0.1:5672/"},
                                        .name = "fuzz",
                                        .consumers = {{"q.one", 10}, {"q.two", 2}},
                                        .consumer_count = is_private ? 0 : CONSUMERS,
                                        .body_max_bytes = BODY_MAX_BYTES,
                                        .on_delivery = on_delivery,
                                        .on_state = on_state,
                                        .arg = run};
    struct mg_err err;
    run->loop = mg_loop_create();
    FUZZ_REQUIRE(run->loop != NULL);
    FUZZ_REQUIRE(mg_broker_create(run->loop, &options, &run->broker, &err) == MG_OK);
    if (is_private) mg_broker_consume_private(run->broker, 5, on_named, run);
    if (run->role == WATCH)
        FUZZ_REQUIRE(mg_broker_watch_queue(run->broker, "q.watched", 1000, on_seen, run, &err) == MG_OK);
    for (int i = 0; i < PUBLISHED && run->role == PUBLISH; i++) {
        const struct mg_message message = {.exchange = i % 2 == 0 ? "makegood.replies" : "",
                                           .routing_key = "q",
                                           .type = "reply",
                                           .message_id = "m",
                                           .body = mg_slice_of("{}")};
        enum mg_class class = mg_broker_publish(run->broker, &message, on_published, &run->outcomes[i], &err);
        FUZZ_REQUIRE(class == MG_OK);
    }
}

/* The broker's end: what the client says is read and forgotten, until the client closes. */
static void on_client(void *arg, int events)
{
    (void)events;
    struct run *run = arg;
    char bytes[4096];
    ssize_t n;
    do
        n = recv(sockets.fds[run->role][1], bytes, sizeof bytes, MSG_DONTWAIT);
    while (n > 0);
    if (n == 0) mg_loop_stop(run->loop);
}

static void try_run(struct run *run, bool is_private)
{
    start(run, is_private);
    struct mg_watch *watch = mg_watch_create(run->loop, sockets.fds[run->role][1], on_client, run);
    FUZZ_REQUIRE(watch != NULL);
    mg_watch_set(watch, MG_READABLE);
    mg_loop_run(run->loop);
    for (int i = 0; i < run->held_count; i++) { /* those of a lost connection, too, are the receiver's */
        delivery_is_whole(run->held[i]);
        if (i % 2 == 0) give_back(run, run->held[i], i);
    }
    mg_watch_destroy(watch);
    mg_broker_destroy(run->broker);
    mg_loop_destroy(run->loop);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    uint8_t choice = size > 0 ? data[0] : 0;
    struct mg_slice input = {(const char *)data + (size > 0), size - (size > 0)};
    if (input.len > STREAM_MAX / 4) return 0;
    bool has_handshake = (choice & 4) == 0, is_private = (choice & 8) != 0;
    struct run run = {.role = (enum role)((choice & 3) % ROLE_COUNT), .choices = input};
    for (int role = 0; role < ROLE_COUNT; role++) {
        atomic_store(&sockets.is_taken[role], false);
        FUZZ_REQUIRE(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, sockets.fds[role]) == 0);
        bool is_tried = role == (int)run.role;
        say((enum role)role, input, is_tried, is_private, has_handshake || !is_tried);
    }
    try_run(&run, is_private);
    for (int role = 0; role < ROLE_COUNT; role++) {
        if (!atomic_load(&sockets.is_taken[role])) close(sockets.fds[role][0]);
        close(sockets.fds[role][1]);
    }
    return 0;
}
