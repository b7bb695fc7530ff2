/* HTTP calls for the limit program: an agent's bytes, on connections that stay. */
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>

#include "limit.h"

#define ANSWER_MAX 4096
#define QUEUE_SIZE BENCH_WINDOW

struct wire {
    struct bench_source source;
    struct limit_event event;
    struct wire *next_free;
    size_t len;
    char answer[ANSWER_MAX];
};

static struct wire *free_wires;
static struct limit_event *queue;
static size_t queue_from, queue_to;
static uint64_t calls;
static void (*on_answered)(const struct limit_event *event);
static struct bench_buf text;

static void on_ready(void *arg, uint32_t events)
{
    struct wire *wire = arg;
    (void)events;
    ssize_t got = recv(wire->source.fd, wire->answer + wire->len, ANSWER_MAX - wire->len, 0);
    if (got < 0 && errno == EAGAIN) {
        return;
    }
    if (got <= 0) {
        bench_fail("the remote service closed a connection");
    }
    wire->len += (size_t)got;
    const char *end = memmem(wire->answer, wire->len, "\r\n\r\n", 4);
    if (end == NULL || wire->answer[wire->len - 1] != '}') {
        return; /* the remote answers with one object */
    }
    wire->len = 0;
    calls++;
    struct limit_event event = wire->event;
    wire->next_free = free_wires;
    free_wires = wire;
    on_answered(&event);
}

void limit_calls_open(void (*answered)(const struct limit_event *event))
{
    struct sockaddr_in address = {.sin_family = AF_INET,
                                  .sin_port = htons((uint16_t)limit_options.port),
                                  .sin_addr = {.s_addr = htonl(INADDR_LOOPBACK)}};
    on_answered = answered;
    queue = bench_alloc(QUEUE_SIZE * sizeof(*queue));
    for (long i = 0; i < limit_options.connections; i++) {
        struct wire *wire = bench_alloc(sizeof(*wire));
        int one = 1, fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
        if (connect(fd, (struct sockaddr *)&address, sizeof(address)) != 0) {
            bench_fail("could not connect to the remote service: %s", strerror(errno));
        }
        (void)setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
        wire->source = (struct bench_source){.fd = fd, .on_ready = on_ready, .arg = wire};
        bench_watch(&wire->source, EPOLLIN);
        wire->next_free = free_wires;
        free_wires = wire;
    }
}

void limit_calls_add(const struct limit_event *event)
{
    if (queue_to - queue_from == QUEUE_SIZE) {
        bench_fail("too many calls wait");
    }
    queue[queue_to++ % QUEUE_SIZE] = *event;
}

static void call(struct wire *wire)
{
    static const char *const steps[] = {"reserve", "charge", "book"};
    char head[640];
    const char *id = limit_order_id(wire->event.order), *step = steps[wire->event.stage];
    int len = snprintf(head, sizeof(head),
                       "POST /%s HTTP/1.1\r\nHost: 127.0.0.1:%d\r\nIdempotency-Key: %s.%s.do\r\n"
                       "X-Makegood-Complete-By: 2026-01-31T12:34:56.789Z\r\nX-Makegood-Order: %s\r\n"
                       "X-Makegood-Step: %s\r\nX-Makegood-Attempt: 1\r\nAccept: application/json\r\n"
                       "Content-Type: application/json\r\nContent-Length: %ld\r\n\r\n",
                       step, limit_options.port, id, step, id, step, limit_options.call_bytes);
    text.len = 0;
    bench_buf_add(&text, head, (size_t)len);
    while ((long)text.len < len + limit_options.call_bytes) {
        bench_buf_add(&text, "abcdefghijklmnopqrstuvwxyz012345",
                      (size_t)(len + limit_options.call_bytes - (long)text.len) < 32
                          ? (size_t)(len + limit_options.call_bytes - (long)text.len)
                          : 32);
    }
    if (send(wire->source.fd, text.data, text.len, MSG_NOSIGNAL) != (ssize_t)text.len) {
        bench_fail("could not send to the remote service");
    }
}

void limit_calls_pump(void)
{
    while (queue_from < queue_to && free_wires != NULL) {
        struct wire *wire = free_wires;
        free_wires = wire->next_free;
        wire->event = queue[queue_from++ % QUEUE_SIZE];
        call(wire);
    }
}

uint64_t limit_calls_count(void)
{
    return calls;
}
