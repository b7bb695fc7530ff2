/*
 * Bytes of a broker: the AMQP connections on librabbitmq, from the handshake on. Each connection is one half
 * of a socket pair, put in place where the library would open a socket. All bytes of the broker are written
 * in advance. When the client sends nothing more, the broker's side closes, and the client ends.
 *
 * The input: one byte picks one of the three connections and its variant; pieces follow (frames.h). The bytes
 * after the first also pick the outcome of each delivery.
 */
#include <errno.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include "frames.h"
#include "io/amqp/consuming.h"

#define BODY_MAX_BYTES 512
#define HELD_MAX       32
#define PUBLISHED      6
#define CONSUMERS      2
#define BODY           "{}"
#define SILENT_TICKS   2                       /* milliseconds */
#define INPUT_MAX      (FRAMES_STREAM_MAX / 4) /* each piece grows by a frame's head and end */

enum mg_role { CONSUME, PUBLISH, WATCH, ROLE_COUNT };
static const char *const ROLES[] = {"(consume)", "(publish)", "(watch)"};

static struct {
    int fds[ROLE_COUNT][2]; /* the client's end, the broker's */
    atomic_bool is_taken[ROLE_COUNT];
} sockets;

struct run {
    struct mg_loop *loop;
    struct mg_broker *broker;
    enum mg_role role;
    bool is_private;
    struct mg_slice choices; /* the receiver's outcome of each delivery, byte by byte */
    struct {
        struct mg_delivery *delivery;
        uint64_t tag;
    } held[HELD_MAX];
    int held_count;
    bool has_ack; /* among the broker's bytes */
    struct published {
        const struct run *run;
        bool is_told;
    } published[PUBLISHED];
    struct frames_reader reader;
    int silent_ticks;
};

/* ---- librabbitmq's socket ---- */

static _Thread_local enum mg_role role_here;

enum mg_class __real_mg_amqp_connect(const struct mg_broker_address *address, const char *name,
                                     amqp_connection_state_t *ret_connection, bool *ret_is_absent,
                                     struct mg_err *err);
enum mg_class __wrap_mg_amqp_connect(const struct mg_broker_address *address, const char *name,
                                     amqp_connection_state_t *ret_connection, bool *ret_is_absent,
                                     struct mg_err *err);
int __wrap_amqp_socket_open_noblock(amqp_socket_t *socket, const char *host, int port,
                                    const struct timeval *timeout);

/* Runs on the connecting thread; the connection's name shows its role. */
enum mg_class __wrap_mg_amqp_connect(const struct mg_broker_address *address, const char *name,
                                     amqp_connection_state_t *ret_connection, bool *ret_is_absent,
                                     struct mg_err *err)
{
    for (role_here = CONSUME; role_here < ROLE_COUNT; role_here++) {
        if (strstr(name, ROLES[role_here]) != NULL) {
            break;
        }
    }
    FUZZ_REQUIRE(role_here < ROLE_COUNT);
    return __real_mg_amqp_connect(address, name, ret_connection, ret_is_absent, err);
}

int __wrap_amqp_socket_open_noblock(amqp_socket_t *socket, const char *host, int port,
                                    const struct timeval *timeout)
{
    (void)host, (void)port, (void)timeout;
    if (atomic_exchange(&sockets.is_taken[role_here], true)) {
        return AMQP_STATUS_SOCKET_ERROR;
    }
    amqp_tcp_socket_set_sockfd(socket, sockets.fds[role_here][0]);
    return AMQP_STATUS_OK;
}

/* ---- tags ---- */

static uint64_t tag_arrived; /* of the next delivery to the service, or of the last one */

struct mg_delivery *__real_mg_acks_begin(struct mg_consuming *consuming, int consumer,
                                         const amqp_basic_deliver_t *method,
                                         const amqp_basic_properties_t *properties, size_t body_bytes);
struct mg_delivery *__wrap_mg_acks_begin(struct mg_consuming *consuming, int consumer,
                                         const amqp_basic_deliver_t *method,
                                         const amqp_basic_properties_t *properties, size_t body_bytes);

struct mg_delivery *__wrap_mg_acks_begin(struct mg_consuming *consuming, int consumer,
                                         const amqp_basic_deliver_t *method,
                                         const amqp_basic_properties_t *properties, size_t body_bytes)
{
    tag_arrived = method->delivery_tag;
    return __real_mg_acks_begin(consuming, consumer, method, properties, body_bytes);
}

/* Deliveries without room, until the broker takes them back. */
static uint64_t passed[HELD_MAX];
static int passed_count;

void __real_mg_acks_pass(struct mg_consuming *consuming);
void __wrap_mg_acks_pass(struct mg_consuming *consuming);

void __wrap_mg_acks_pass(struct mg_consuming *consuming)
{
    if (passed_count < HELD_MAX) {
        passed[passed_count++] = tag_arrived;
    }
    __real_mg_acks_pass(consuming);
}

/* ---- the broker's bytes ---- */

static void say(struct run *run, enum mg_role role, struct mg_slice input, bool has_handshake)
{
    struct mg_buf stream;
    int fd = sockets.fds[role][1];
    bool is_tried = role == run->role;
    mg_buf_init(&stream, FRAMES_STREAM_MAX);
    if (has_handshake) {
        frames_put_handshake(&stream, role == CONSUME && !run->is_private ? CONSUMERS : 0, role == PUBLISH);
    }
    if (is_tried) {
        frames_put_input(&stream, input);
    }
    FUZZ_REQUIRE(!stream.failed);
    frames_send(fd, &stream);
    if (is_tried) {
        run->has_ack = frames_have_ack(&stream);
    }
    mg_buf_finish(&stream);
}

/* ---- the client's bytes ---- */

/* An ack covers returned deliveries only: a delivery that is still held must be redelivered after a crash. */
static void told(const struct run *run, uint64_t tag, bool is_multiple, bool is_nack)
{
    FUZZ_REQUIRE(tag > 0 && tag <= tag_arrived);
    for (int i = 0; i < passed_count; i++) {
        if (is_nack && passed[i] == tag) {
            passed[i] = UINT64_MAX;
        } else {
            FUZZ_REQUIRE(is_multiple ? passed[i] > tag : passed[i] != tag);
        }
    }
    for (int i = 0; i < run->held_count; i++) {
        FUZZ_REQUIRE(is_multiple ? run->held[i].tag > tag : run->held[i].tag != tag);
    }
}

static void hear(struct run *run)
{
    struct frames_said said;
    while (frames_next(&run->reader, &said)) {
        if (said.method == AMQP_BASIC_ACK_METHOD || said.method == AMQP_BASIC_NACK_METHOD ||
            said.method == AMQP_BASIC_REJECT_METHOD) {
            FUZZ_REQUIRE(run->role == CONSUME && said.arguments.len == 9);
            bool is_multiple = said.method != AMQP_BASIC_REJECT_METHOD && (said.arguments.data[8] & 1) != 0;
            told(run, fuzz_number(said.arguments.data, 8), is_multiple,
                 said.method == AMQP_BASIC_NACK_METHOD);
        } else if (said.method == AMQP_BASIC_PUBLISH_METHOD) {
            FUZZ_REQUIRE(run->role == PUBLISH);
            FUZZ_REQUIRE(mg_slice_is(said.body, BODY) || said.body.len == 0); /* a probe has no body */
        }
    }
}

/* ---- the service ---- */

static int choose(struct run *run)
{
    if (run->choices.len == 0) {
        return 0;
    }
    int choice = (unsigned char)run->choices.data[0];
    run->choices.data++;
    run->choices.len--;
    return choice;
}

static void give_back(struct run *run, struct mg_delivery *delivery, int choice)
{
    if (choice % 3 == 0) {
        mg_broker_ack(run->broker, delivery);
    } else if (choice % 3 == 1) {
        mg_broker_reject(run->broker, delivery);
    } else {
        mg_broker_requeue(run->broker, delivery);
    }
}

/* Reads every byte, so that a sanitizer detects freed or short memory. */
static void delivery_is_whole(const struct mg_delivery *delivery)
{
    const struct mg_slice slices[] = {delivery->body,       delivery->message_id, delivery->correlation_id,
                                      delivery->reply_to,   delivery->type,       delivery->app_id,
                                      delivery->user_id,    delivery->exchange,   delivery->routing_key,
                                      delivery->traceparent};
    FUZZ_REQUIRE(delivery->consumer >= 0 && delivery->consumer <= CONSUMERS);
    FUZZ_REQUIRE(delivery->body.len <= BODY_MAX_BYTES);
    FUZZ_REQUIRE(!delivery->is_oversized || delivery->body.len == 0);
    for (size_t i = 0; i < sizeof(slices) / sizeof(slices[0]); i++) {
        if (slices[i].data == NULL) {
            continue;
        }
        FUZZ_REQUIRE(slices[i].data[slices[i].len] == '\0');
    }
}

static void on_delivery(void *arg, struct mg_delivery *delivery)
{
    struct run *run = arg;
    delivery_is_whole(delivery);
    int choice = choose(run);
    if (choice >= 128 && run->held_count < HELD_MAX) {
        run->held[run->held_count].delivery = delivery;
        run->held[run->held_count++].tag = tag_arrived;
        return;
    }
    give_back(run, delivery, choice);
    if (choice >= 64 && run->held_count > 0) {
        give_back(run, run->held[--run->held_count].delivery, choice / 3);
    }
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
    struct published *published = arg;
    FUZZ_REQUIRE(outcome < MG_PUBLISH_OUTCOME_COUNT && !published->is_told);
    FUZZ_REQUIRE(outcome != MG_PUBLISH_CONFIRMED || published->run->has_ack);
    published->is_told = true;
}

static void on_seen(void *arg, const char *queue, int64_t ready_messages, int64_t consumers)
{
    (void)arg;
    FUZZ_REQUIRE(strcmp(queue, "q.watched") == 0 && ready_messages >= 0 && consumers >= -1);
}

/* ---- a run ---- */

static void start(struct run *run)
{
    struct mg_broker_options options = {
        .address = {.url = "amqp://guest:guest@127.0.0.1:5672/"},
        .name = "fuzz",
        .consumers = {{.queue = "q.one", .prefetch = 10}, {.queue = "q.two", .prefetch = 2, .bytes_max = 1}},
        .consumer_count = run->is_private ? 0 : CONSUMERS,
        .body_max_bytes = BODY_MAX_BYTES,
        .on_delivery = on_delivery,
        .on_state = on_state,
        .arg = run};
    struct mg_err err;
    passed_count = 0;
    run->loop = mg_loop_create();
    FUZZ_REQUIRE(run->loop != NULL);
    FUZZ_REQUIRE(mg_broker_create(run->loop, &options, &run->broker, &err) == MG_OK);
    if (run->is_private) {
        mg_broker_consume_private(run->broker, 5, on_named, run);
    }
    if (run->role == WATCH) {
        FUZZ_REQUIRE(mg_broker_watch_queue(run->broker, "q.watched", 1000, on_seen, run, &err) == MG_OK);
    }
    for (int i = 0; i < PUBLISHED && run->role == PUBLISH; i++) {
        const struct mg_message message = {.exchange = i % 2 == 0 ? "makegood.replies" : "",
                                           .routing_key = "q",
                                           .type = "reply",
                                           .message_id = "m",
                                           .body = mg_slice_of(BODY)};
        run->published[i].run = run;
        FUZZ_REQUIRE(mg_broker_publish(run->broker, &message, on_published, &run->published[i], &err) ==
                     MG_OK);
    }
}

/* The broker's end of the socket pair, until the client closes. */
static void on_client(void *arg, int events)
{
    (void)events;
    struct run *run = arg;
    bool is_over = !frames_receive(&run->reader, sockets.fds[run->role][1]);
    run->silent_ticks = 0;
    hear(run);
    if (is_over) {
        mg_loop_stop(run->loop);
    }
}

static void on_tick(void *arg)
{
    struct run *run = arg;
    if (++run->silent_ticks == SILENT_TICKS) {
        FUZZ_REQUIRE(shutdown(sockets.fds[run->role][1], SHUT_WR) == 0 || errno == ENOTCONN);
    }
}

static void try_run(struct run *run)
{
    frames_reader_init(&run->reader);
    start(run);
    struct mg_watch *watch = mg_watch_create(run->loop, sockets.fds[run->role][1], on_client, run);
    struct mg_timer *timer = mg_timer_create(run->loop, on_tick, run);
    FUZZ_REQUIRE(watch != NULL && timer != NULL);
    mg_watch_set(watch, MG_READABLE);
    mg_timer_start(timer, 1, 1);
    mg_loop_run(run->loop);
    mg_timer_destroy(timer);
    for (int i = 0; i < run->held_count; i++) { /* the receiver also owns those of a lost connection */
        delivery_is_whole(run->held[i].delivery);
        if (i % 2 == 0) {
            give_back(run, run->held[i].delivery, i);
        }
    }
    mg_watch_destroy(watch);
    for (int role = 0; role < ROLE_COUNT; role++) { /* as a broker ends a connection that was closed */
        (void)shutdown(sockets.fds[role][1], SHUT_WR);
    }
    mg_broker_destroy(run->broker);
    mg_loop_destroy(run->loop);
    frames_reader_finish(&run->reader);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    uint8_t choice = size > 0 ? data[0] : 0;
    struct mg_slice input = {(const char *)data + (size > 0), size - (size > 0)};
    if (input.len > INPUT_MAX) {
        return 0;
    }
    bool has_handshake = (choice & 4) == 0;
    struct run run = {
        .role = (enum mg_role)((choice & 3) % ROLE_COUNT), .is_private = (choice & 8) != 0, .choices = input};
    for (int role = 0; role < ROLE_COUNT; role++) {
        atomic_store(&sockets.is_taken[role], false);
        FUZZ_REQUIRE(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, sockets.fds[role]) == 0);
        say(&run, (enum mg_role)role, input, has_handshake || role != (int)run.role);
    }
    tag_arrived = 0;
    try_run(&run);
    for (int role = 0; role < ROLE_COUNT; role++) {
        if (!atomic_load(&sockets.is_taken[role])) {
            close(sockets.fds[role][0]);
        }
        close(sockets.fds[role][1]);
    }
    return 0;
}
