/*
 * Shared by the benchmark's programs: an epoll loop, and AMQP directly on the socket. The load generator, the
 * limit program and the remote service run on the measured machine, so they must cost next to nothing.
 * Messages are written straight into one buffer and leave with one write a turn.
 *
 * These are measuring instruments, not services: every error ends the program with a line on stderr.
 */
#ifndef BENCH_H
#define BENCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

_Noreturn void bench_fail(const char *format, ...) __attribute__((format(printf, 1, 2)));
void *bench_alloc(size_t size); /* zeroed */
int64_t bench_now_us(void);     /* CLOCK_MONOTONIC */
double bench_cpu_s(void);       /* of this process */

/* A buffer that grows. */
struct bench_buf {
    char *data;
    size_t len, size;
};
void bench_buf_add(struct bench_buf *buf, const void *data, size_t len);
void bench_buf_add_u16(struct bench_buf *buf, unsigned number); /* these three are big-endian */
void bench_buf_add_u32(struct bench_buf *buf, uint32_t number);
void bench_buf_add_u64(struct bench_buf *buf, uint64_t number);
void bench_buf_drop_front(struct bench_buf *buf, size_t len);

/* ---- the loop ---- */

struct bench_source {
    int fd;
    uint32_t events; /* EPOLLIN, EPOLLOUT */
    void (*on_ready)(void *arg, uint32_t events);
    void *arg;
};
void bench_watch(struct bench_source *source, uint32_t events); /* adds it, or changes the awaited events */
/* Serves ready sources; waits for one at most `timeout_us` (-1: for ever). */
void bench_turn(int64_t timeout_us);

/* ---- AMQP: one connection with one channel ---- */

struct bench_delivery {
    uint64_t tag;
    const char *routing_key;
    size_t routing_key_len;
    const char *body; /* valid until the callback returns */
    size_t body_len;
};

struct bench_link {
    struct bench_source source;
    struct bench_buf in, out, body;
    uint64_t published; /* the tag of the last message published */
    struct bench_delivery arriving;
    size_t body_left;
    char routing_key[256];
    void (*on_delivery)(struct bench_link *link, const struct bench_delivery *delivery);
    /* All tags from `first` to `last` are confirmed. */
    void (*on_confirm)(struct bench_link *link, uint64_t first, uint64_t last);
    uint64_t confirmed; /* all up to here */
    bool *is_confirmed; /* ring: confirmed alone, above `confirmed` */
    void *arg;
};

#define BENCH_WINDOW 65536 /* most unconfirmed messages of a link; a power of two */

struct bench_message {
    const char *exchange, *routing_key, *type, *message_id, *correlation_id,
        *reply_to; /* last two may be NULL */
    const char *body;
    size_t body_len;
};

void bench_link_open(struct bench_link *link, const char *url, bool is_confirming);
/* Before bench_link_start. `queue` NULL: an exclusive queue that the broker names; its name is returned. */
const char *bench_link_declare_private(struct bench_link *link);
void bench_link_consume(struct bench_link *link, const char *queue, unsigned prefetch);
/* Persistent and mandatory, with the properties that Makegood sends; returns its tag. */
uint64_t bench_link_publish(struct bench_link *link, const struct bench_message *message);
void bench_link_ack(struct bench_link *link, uint64_t tag); /* multiple: all up to it */
void bench_link_flush(struct bench_link *link);

/* ---- orders ---- */

/* A payload like an order's: some fields, and a text that fills it up to `size`. */
void bench_payload_add(struct bench_buf *buf, size_t size);

#define BENCH_ID_SIZE 37
/* A UUID of version 7: one after another in time, the rest random by the number. */
void bench_id(uint64_t number, int64_t wall_ms, char ret_id[BENCH_ID_SIZE]);

#endif
