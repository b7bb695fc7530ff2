/*
 * AMQP 0-9-1 by hand. The library opens the connection and the channel, then this file takes its socket over.
 * Frames are assembled in one buffer and parsed in another, with one system call for all available bytes.
 */
#if __has_include(<rabbitmq-c/amqp.h>) /* 0.12 and newer */
#include <rabbitmq-c/amqp.h>
#include <rabbitmq-c/tcp_socket.h>
#else
#include <amqp.h>
#include <amqp_tcp_socket.h>
#endif
#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>

#include "bench.h"

#define CHANNEL       1
#define FRAME_MAX     131072
#define FRAME_HEAD    7
#define READ_MAX      (256 * 1024)
#define ANSWER_MAX_MS 10000
#define CLASS_BASIC   60
enum { BASIC_CONSUME = 20, BASIC_CONSUME_OK, BASIC_PUBLISH = 40, BASIC_DELIVER = 60, BASIC_ACK = 80 };

static void on_ready(void *arg, uint32_t events);

static void check(amqp_connection_state_t connection, const char *what)
{
    amqp_rpc_reply_t reply = amqp_get_rpc_reply(connection);
    if (reply.reply_type == AMQP_RESPONSE_NORMAL) {
        return;
    }
    if (reply.reply_type == AMQP_RESPONSE_LIBRARY_EXCEPTION) {
        bench_fail("could not %s: %s", what, amqp_error_string2(reply.library_error));
    }
    bench_fail("could not %s: the broker refused", what);
}

void bench_link_open(struct bench_link *link, const char *url, bool is_confirming)
{
    char *copy = strdup(url);
    struct amqp_connection_info info;
    if (copy == NULL || amqp_parse_url(copy, &info) != AMQP_STATUS_OK) {
        bench_fail("%s is no AMQP URL", url);
    }
    amqp_connection_state_t connection = amqp_new_connection();
    amqp_socket_t *socket = amqp_tcp_socket_new(connection);
    if (socket == NULL || amqp_socket_open(socket, info.host, info.port) != AMQP_STATUS_OK) {
        bench_fail("could not connect to %s", url);
    }
    amqp_rpc_reply_t reply =
        amqp_login(connection, info.vhost, 0, FRAME_MAX, 0, AMQP_SASL_METHOD_PLAIN, info.user, info.password);
    if (reply.reply_type != AMQP_RESPONSE_NORMAL) {
        bench_fail("could not log in at %s", url);
    }
    free(copy);
    (void)amqp_channel_open(connection, CHANNEL);
    check(connection, "open a channel");
    if (is_confirming) {
        (void)amqp_confirm_select(connection, CHANNEL);
        check(connection, "turn confirms on");
        link->is_confirmed = bench_alloc(BENCH_WINDOW * sizeof(bool));
    }
    /* From here on the library's object only keeps its socket open; it ends with the process. */
    int fd = amqp_get_sockfd(connection);
    (void)fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) | O_NONBLOCK);
    link->source = (struct bench_source){.fd = fd, .on_ready = on_ready, .arg = link};
    bench_watch(&link->source, EPOLLIN);
}

/* ---- writing ---- */

static size_t frame_begin(struct bench_buf *out, unsigned type)
{
    unsigned char byte = (unsigned char)type;
    bench_buf_add(out, &byte, 1);
    bench_buf_add_u16(out, CHANNEL);
    bench_buf_add_u32(out, 0);
    return out->len;
}

static void frame_end(struct bench_buf *out, size_t begin)
{
    static const unsigned char end = AMQP_FRAME_END;
    size_t size = out->len - begin;
    unsigned char *at = (unsigned char *)out->data + begin - 4;
    at[0] = (unsigned char)(size >> 24);
    at[1] = (unsigned char)(size >> 16);
    at[2] = (unsigned char)(size >> 8);
    at[3] = (unsigned char)size;
    bench_buf_add(out, &end, 1);
}

static size_t method_begin(struct bench_buf *out, unsigned method)
{
    size_t begin = frame_begin(out, AMQP_FRAME_METHOD);
    bench_buf_add_u16(out, CLASS_BASIC);
    bench_buf_add_u16(out, method);
    return begin;
}

static void add_byte(struct bench_buf *out, unsigned byte)
{
    unsigned char value = (unsigned char)byte;
    bench_buf_add(out, &value, 1);
}

static void add_short(struct bench_buf *out, const char *text)
{
    size_t len = strlen(text);
    assert(len < 256);
    add_byte(out, (unsigned)len);
    bench_buf_add(out, text, len);
}

uint64_t bench_link_publish(struct bench_link *link, const struct bench_message *message)
{
    static const char name[] = "x-makegood-publish";
    struct bench_buf *out = &link->out;
    assert(message->body_len < FRAME_MAX - 8 && link->published - link->confirmed < BENCH_WINDOW);
    uint64_t tag = ++link->published;
    size_t begin = method_begin(out, BASIC_PUBLISH);
    bench_buf_add_u16(out, 0);
    add_short(out, message->exchange);
    add_short(out, message->routing_key);
    add_byte(out, 1); /* mandatory */
    frame_end(out, begin);

    begin = frame_begin(out, AMQP_FRAME_HEADER);
    bench_buf_add_u16(out, CLASS_BASIC);
    bench_buf_add_u16(out, 0);
    bench_buf_add_u64(out, message->body_len);
    bench_buf_add_u16(out, AMQP_BASIC_CONTENT_TYPE_FLAG | AMQP_BASIC_HEADERS_FLAG |
                               AMQP_BASIC_DELIVERY_MODE_FLAG |
                               (message->correlation_id != NULL ? AMQP_BASIC_CORRELATION_ID_FLAG : 0) |
                               (message->reply_to != NULL ? AMQP_BASIC_REPLY_TO_FLAG : 0) |
                               AMQP_BASIC_MESSAGE_ID_FLAG | AMQP_BASIC_TYPE_FLAG);
    add_short(out, "application/json");
    bench_buf_add_u32(out, sizeof(name) + 1 + 8); /* the name and its length, the kind, the number */
    add_short(out, name);
    add_byte(out, AMQP_FIELD_KIND_I64);
    bench_buf_add_u64(out, tag);
    add_byte(out, AMQP_DELIVERY_PERSISTENT);
    if (message->correlation_id != NULL) {
        add_short(out, message->correlation_id);
    }
    if (message->reply_to != NULL) {
        add_short(out, message->reply_to);
    }
    add_short(out, message->message_id);
    add_short(out, message->type);
    frame_end(out, begin);

    begin = frame_begin(out, AMQP_FRAME_BODY);
    bench_buf_add(out, message->body, message->body_len);
    frame_end(out, begin);
    return tag;
}

void bench_link_ack(struct bench_link *link, uint64_t tag)
{
    size_t begin = method_begin(&link->out, BASIC_ACK);
    bench_buf_add_u64(&link->out, tag);
    add_byte(&link->out, 1);
    frame_end(&link->out, begin);
}

void bench_link_flush(struct bench_link *link)
{
    while (link->out.len > 0) {
        ssize_t sent = send(link->source.fd, link->out.data, link->out.len, MSG_NOSIGNAL);
        if (sent < 0 && errno == EAGAIN) {
            break;
        }
        if (sent < 0) {
            bench_fail("lost the broker: %s", strerror(errno));
        }
        bench_buf_drop_front(&link->out, (size_t)sent);
    }
    bench_watch(&link->source, link->out.len > 0 ? EPOLLIN | EPOLLOUT : EPOLLIN);
}

/* ---- questions with an answer; before anything is consumed, so that nothing else can come ---- */

static void wait_method(struct bench_link *link, unsigned class_id, unsigned method,
                        struct bench_buf *ret_payload)
{
    bench_link_flush(link);
    ret_payload->len = 0;
    for (;;) {
        char bytes[4096];
        ssize_t got = recv(link->source.fd, bytes, sizeof(bytes), 0);
        if (got == 0 || (got < 0 && errno != EAGAIN)) {
            bench_fail("lost the broker");
        }
        if (got < 0) {
            struct pollfd answer = {.fd = link->source.fd, .events = POLLIN};
            (void)poll(&answer, 1, ANSWER_MAX_MS);
            continue;
        }
        bench_buf_add(ret_payload, bytes, (size_t)got);
        const unsigned char *at = (const unsigned char *)ret_payload->data;
        if (ret_payload->len < FRAME_HEAD + 4) {
            continue;
        }
        if ((at[7] << 8 | at[8]) != (int)class_id || (at[9] << 8 | at[10]) != (int)method) {
            bench_fail("the broker answers with method %d.%d", at[7] << 8 | at[8], at[9] << 8 | at[10]);
        }
        bench_buf_drop_front(ret_payload, FRAME_HEAD + 4);
        return;
    }
}

const char *bench_link_declare_private(struct bench_link *link)
{
    enum { CLASS_QUEUE = 50, QUEUE_DECLARE = 10, EXCLUSIVE_AUTO_DELETE = 4 | 8 };
    size_t begin = frame_begin(&link->out, AMQP_FRAME_METHOD);
    bench_buf_add_u16(&link->out, CLASS_QUEUE);
    bench_buf_add_u16(&link->out, QUEUE_DECLARE);
    bench_buf_add_u16(&link->out, 0);
    add_short(&link->out, "");
    add_byte(&link->out, EXCLUSIVE_AUTO_DELETE);
    bench_buf_add_u32(&link->out, 0);
    frame_end(&link->out, begin);
    struct bench_buf payload = {0};
    wait_method(link, CLASS_QUEUE, QUEUE_DECLARE + 1, &payload);
    char *name = strndup(payload.data + 1, (unsigned char)payload.data[0]);
    if (name == NULL) {
        bench_fail("no memory");
    }
    free(payload.data);
    return name;
}

void bench_link_consume(struct bench_link *link, const char *queue, unsigned prefetch)
{
    enum { BASIC_QOS = 10 };
    size_t begin = method_begin(&link->out, BASIC_QOS);
    bench_buf_add_u32(&link->out, 0);
    bench_buf_add_u16(&link->out, prefetch);
    add_byte(&link->out, 0);
    frame_end(&link->out, begin);
    begin = method_begin(&link->out, BASIC_CONSUME);
    bench_buf_add_u16(&link->out, 0);
    add_short(&link->out, queue);
    add_short(&link->out, queue);
    add_byte(&link->out, prefetch == 0 ? 2 : 0); /* no-ack where no delivery is to be held */
    bench_buf_add_u32(&link->out, 0);
    frame_end(&link->out, begin);
    bench_link_flush(link);
}

/* ---- reading ---- */

static uint64_t get(const unsigned char *at, int bytes)
{
    uint64_t number = 0;
    for (int i = 0; i < bytes; i++) {
        number = number << 8 | at[i];
    }
    return number;
}

static void take_confirm(struct bench_link *link, uint64_t tag, bool is_multiple)
{
    uint64_t first = is_multiple ? link->confirmed + 1 : tag;
    for (uint64_t each = first; each <= tag; each++) {
        if (link->is_confirmed[each % BENCH_WINDOW]) {
            continue;
        }
        link->is_confirmed[each % BENCH_WINDOW] = true;
        if (link->on_confirm != NULL) {
            link->on_confirm(link, each, each);
        }
    }
    while (link->confirmed < link->published && link->is_confirmed[(link->confirmed + 1) % BENCH_WINDOW]) {
        link->is_confirmed[++link->confirmed % BENCH_WINDOW] = false;
    }
}

static void take_method(struct bench_link *link, const unsigned char *at)
{
    unsigned class_id = (unsigned)get(at, 2), method = (unsigned)get(at + 2, 2);
    at += 4;
    if (class_id == CLASS_BASIC && method == BASIC_DELIVER) {
        at += 1 + at[0];
        link->arriving = (struct bench_delivery){.tag = get(at, 8), .routing_key = link->routing_key};
        at += 8 + 1;
        at += 1 + at[0];
        link->arriving.routing_key_len = at[0];
        memcpy(link->routing_key, at + 1, at[0]);
        link->routing_key[at[0]] = '\0';
    } else if (class_id == CLASS_BASIC && method == BASIC_ACK) {
        take_confirm(link, get(at, 8), (at[8] & 1) != 0);
    } else if (class_id != CLASS_BASIC || (method != BASIC_CONSUME_OK && method != 11 /* qos-ok */)) {
        bench_fail("the broker says %u.%u: %.*s", class_id, method, at[2], (const char *)at + 3);
    }
}

static void deliver(struct bench_link *link, const char *body, size_t len)
{
    link->arriving.body = body;
    link->arriving.body_len = len;
    if (link->on_delivery != NULL) {
        link->on_delivery(link, &link->arriving);
    }
}

static void take_frame(struct bench_link *link, unsigned type, const unsigned char *payload, size_t size)
{
    if (type == AMQP_FRAME_METHOD) {
        take_method(link, payload);
    } else if (type == AMQP_FRAME_HEADER) {
        link->body_left = get(payload + 4, 8);
        link->body.len = 0;
        if (link->body_left == 0) {
            deliver(link, "", 0);
        }
    } else if (type == AMQP_FRAME_BODY) {
        link->body_left -= size;
        if (link->body_left == 0 && link->body.len == 0) { /* whole in one frame: nothing is copied */
            deliver(link, (const char *)payload, size);
            return;
        }
        bench_buf_add(&link->body, payload, size);
        if (link->body_left == 0) {
            deliver(link, link->body.data, link->body.len);
        }
    }
}

static void on_ready(void *arg, uint32_t events)
{
    struct bench_link *link = arg;
    static char room[READ_MAX];
    if ((events & EPOLLOUT) != 0) {
        bench_link_flush(link);
    }
    if ((events & ~(uint32_t)EPOLLOUT) == 0) {
        return;
    }
    ssize_t got = recv(link->source.fd, room, sizeof(room), 0);
    if (got < 0 && errno == EAGAIN) {
        return;
    }
    if (got <= 0) {
        bench_fail("lost the broker");
    }
    bench_buf_add(&link->in, room, (size_t)got);
    size_t at = 0;
    while (link->in.len - at >= FRAME_HEAD) {
        const unsigned char *frame = (const unsigned char *)link->in.data + at;
        size_t size = get(frame + 3, 4);
        if (link->in.len - at < FRAME_HEAD + size + 1) {
            break;
        }
        take_frame(link, frame[0], frame + FRAME_HEAD, size);
        at += FRAME_HEAD + size + 1;
    }
    bench_buf_drop_front(&link->in, at);
}
