/*
 * The client of the benchmark: submits orders, receives their statuses, and keeps every sample.
 *
 *   makegood-bench-load --url URL --orders N --in-flight N      closed: the next follows a `processed`
 *   makegood-bench-load --url URL --orders N --rate N           open: by the clock alone
 *       [--workflow NAME] [--payload BYTES] [--samples FILE] [--timeout-s N] [--skip N] [--stamps FILE]
 *
 * In open load an order's latency counts from the moment at which it was due, not from when it was sent. If
 * the system, or this program, stalls, all orders due meanwhile have waited (no coordinated omission).
 * Closed load counts its rate after the first --skip orders and without the last, when no more are submitted.
 * Arrivals are a Poisson process of a fixed seed. The result is one JSON object.
 */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <time.h>

#include "bench.h"

#define ENDED_WORD "\"status\":\"processed\""

struct order {
    char id[BENCH_ID_SIZE];
    int64_t due_us, ended_us;
    bool is_sent;
};

static struct {
    const char *url, *workflow, *samples, *stamps;
    long orders, in_flight, skip, timeout_s, payload;
    double rate;
} options = {.workflow = "bench", .timeout_s = 600, .payload = 1024};

static struct order *orders;
static int *by_id; /* hash table of indices into orders, -1: empty */
static size_t slot_count;
static long sent, ended, others;
static int64_t began_us, first_us, steady_us, last_us;
static const char *reply_queue;
static struct bench_link publisher, consumer;
static struct bench_buf payload, body;

static size_t slot_of(const char *id)
{
    uint64_t hash = UINT64_C(14695981039346656037); /* FNV-1a */
    for (int i = 0; i < BENCH_ID_SIZE - 1; i++) {
        hash = (hash ^ (unsigned char)id[i]) * UINT64_C(1099511628211);
    }
    return hash & (slot_count - 1);
}

static void orders_make(void)
{
    struct timespec wall;
    (void)clock_gettime(CLOCK_REALTIME, &wall);
    int64_t wall_ms = (int64_t)wall.tv_sec * 1000 + wall.tv_nsec / 1000000;
    orders = bench_alloc((size_t)options.orders * sizeof(*orders));
    for (slot_count = 64; slot_count < 2 * (size_t)options.orders;) {
        slot_count *= 2;
    }
    by_id = bench_alloc(slot_count * sizeof(*by_id));
    memset(by_id, 0xFF, slot_count * sizeof(*by_id));
    srand48(1);
    double due_us = 0;
    for (int i = 0; i < options.orders; i++) {
        bench_id((uint64_t)i, wall_ms + i, orders[i].id);
        orders[i].due_us = (int64_t)due_us;
        if (options.rate > 0) {
            due_us += -log(1.0 - drand48()) * 1e6 / options.rate;
        }
        size_t slot = slot_of(orders[i].id);
        while (by_id[slot] >= 0) {
            slot = (slot + 1) & (slot_count - 1);
        }
        by_id[slot] = i;
    }
    bench_payload_add(&payload, (size_t)options.payload);
}

static void submit(struct order *order)
{
    char head[256];
    int len = snprintf(head, sizeof(head), "{\"order_id\":\"%s\",\"workflow\":\"%s\",\"payload\":", order->id,
                       options.workflow);
    body.len = 0;
    bench_buf_add(&body, head, (size_t)len);
    bench_buf_add(&body, payload.data, payload.len);
    bench_buf_add(&body, "}", 1);
    struct bench_message message = {.exchange = "makegood.intake",
                                    .routing_key = "orders.intake",
                                    .type = "submission",
                                    .message_id = order->id,
                                    .correlation_id = order->id,
                                    .reply_to = reply_queue,
                                    .body = body.data,
                                    .body_len = body.len};
    if (options.rate <= 0) {
        order->due_us = bench_now_us() - began_us;
    }
    order->is_sent = true;
    (void)bench_link_publish(&publisher, &message);
    sent++;
}

static struct order *order_find(const char *text, size_t len)
{
    static const char key[] = "\"order_id\":\"";
    const char *at = memmem(text, len, key, sizeof(key) - 1);
    if (at == NULL || (size_t)(at - text) + sizeof(key) + BENCH_ID_SIZE > len) {
        return NULL;
    }
    at += sizeof(key) - 1;
    for (size_t slot = slot_of(at); by_id[slot] >= 0; slot = (slot + 1) & (slot_count - 1)) {
        if (memcmp(orders[by_id[slot]].id, at, BENCH_ID_SIZE - 1) == 0) {
            return &orders[by_id[slot]];
        }
    }
    return NULL;
}

static void on_delivery(struct bench_link *link, const struct bench_delivery *delivery)
{
    (void)link;
    if (memmem(delivery->body, delivery->body_len, ENDED_WORD, sizeof(ENDED_WORD) - 1) == NULL) {
        others++;
        if (memmem(delivery->body, delivery->body_len, "\"status\":\"accepted\"", 19) == NULL) {
            (void)fprintf(stderr, "bench: %.*s\n", (int)delivery->body_len, delivery->body);
        }
        return;
    }
    struct order *order = order_find(delivery->body, delivery->body_len);
    if (order == NULL || order->ended_us != 0) {
        return;
    }
    order->ended_us = bench_now_us() - began_us;
    ended++;
    last_us = order->ended_us;
    if (ended == options.skip) {
        first_us = last_us;
    }
    if (ended == options.orders - options.in_flight) {
        steady_us = last_us;
    }
}

/* Sends all due orders; returns the time until the next one is due. */
static int64_t send_due(void)
{
    if (options.rate <= 0) {
        while (sent < options.orders && sent - ended < options.in_flight) {
            submit(&orders[sent]);
        }
        return -1;
    }
    int64_t now_us = bench_now_us() - began_us;
    while (sent < options.orders && orders[sent].due_us <= now_us) {
        submit(&orders[sent]);
    }
    return sent < options.orders ? orders[sent].due_us - now_us : -1;
}

static void write_samples(const char *path, bool is_stamps)
{
    FILE *file = path == NULL ? NULL : fopen(path, "w");
    if (path != NULL && file == NULL) {
        bench_fail("cannot write %s", path);
    }
    for (long i = 0; file != NULL && i < options.orders; i++) {
        if (orders[i].ended_us == 0 || (!is_stamps && i < options.skip)) {
            continue;
        }
        (void)fprintf(file, "%" PRId64 "\n",
                      is_stamps ? orders[i].ended_us : orders[i].ended_us - orders[i].due_us);
    }
    if (file != NULL && fclose(file) != 0) {
        bench_fail("cannot write %s", path);
    }
}

static void options_read(int argc, char **argv)
{
    for (int i = 1; i < argc; i += 2) {
        const char *name = argv[i], *value = i + 1 < argc ? argv[i + 1] : NULL;
        if (value == NULL) {
            bench_fail("%s takes a value", name);
        }
        if (strcmp(name, "--url") == 0) {
            options.url = value;
        } else if (strcmp(name, "--workflow") == 0) {
            options.workflow = value;
        } else if (strcmp(name, "--samples") == 0) {
            options.samples = value;
        } else if (strcmp(name, "--stamps") == 0) {
            options.stamps = value;
        } else if (strcmp(name, "--orders") == 0) {
            options.orders = strtol(value, NULL, 10);
        } else if (strcmp(name, "--in-flight") == 0) {
            options.in_flight = strtol(value, NULL, 10);
        } else if (strcmp(name, "--skip") == 0) {
            options.skip = strtol(value, NULL, 10);
        } else if (strcmp(name, "--payload") == 0) {
            options.payload = strtol(value, NULL, 10);
        } else if (strcmp(name, "--timeout-s") == 0) {
            options.timeout_s = strtol(value, NULL, 10);
        } else if (strcmp(name, "--rate") == 0) {
            options.rate = strtod(value, NULL);
        } else {
            bench_fail("there is no option %s", name);
        }
    }
    if (options.url == NULL || options.orders <= options.skip + options.in_flight ||
        (options.in_flight > 0) == (options.rate > 0) || options.in_flight > BENCH_WINDOW / 2) {
        bench_fail(
            "--url, --orders above --skip and --in-flight together, and one of --in-flight and --rate are needed");
    }
}

int main(int argc, char **argv)
{
    options_read(argc, argv);
    bench_link_open(&publisher, options.url, true);
    bench_link_open(&consumer, options.url, false);
    reply_queue = bench_link_declare_private(&consumer);
    consumer.on_delivery = on_delivery;
    bench_link_consume(&consumer, reply_queue, 0);
    orders_make();
    began_us = bench_now_us();
    int64_t until_us = began_us + options.timeout_s * 1000000;
    while (ended < options.orders) {
        int64_t wait_us = send_due();
        bench_link_flush(&publisher);
        int64_t left_us = until_us - bench_now_us();
        if (left_us <= 0) {
            break;
        }
        bench_turn(wait_us >= 0 && wait_us < left_us ? wait_us : left_us);
    }
    write_samples(options.samples, false);
    write_samples(options.stamps, true);
    /* At the end fewer and fewer are under way: that stretch is no steady state and does not count. */
    long counted = options.orders - options.in_flight - options.skip;
    double seconds = (double)(steady_us - first_us) / 1e6;
    printf("{\"orders\":%ld,\"ended\":%ld,\"other_statuses\":%ld,\"seconds\":%.3f,\"orders_per_s\":%.2f,"
           "\"cpu_s\":%.3f}\n",
           options.orders, ended, others, (double)last_us / 1e6,
           seconds > 0 ? (double)counted / seconds : 0.0, bench_cpu_s());
    return ended == options.orders ? 0 : 1;
}
