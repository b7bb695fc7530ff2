/*
 * The HTTP client of the benchmark: posts orders to a gateway, and keeps the time of every POST.
 *
 *   makegood-bench-post --port N --token TEXT --orders N --connections N      closed: the next follows an
 * answer makegood-bench-post --port N --token TEXT --orders N --rate N             open: by the clock alone
 *       [--payload BYTES] [--samples FILE] [--idle N] [--timeout-s N]
 *
 * In open load a POST's time counts from the moment at which it was due (see load.c). --idle opens that many
 * connections first, which send nothing. The result is one JSON object. An answer that is not 202 counts as
 * refused, and is printed.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "bench.h"

#define ANSWER_MAX       16384
#define OPEN_CONNECTIONS 256 /* in open load; a POST that finds none free waits, and its wait counts */

struct post {
    char id[BENCH_ID_SIZE];
    int64_t due_us, answered_us;
};

struct wire {
    struct bench_source source;
    struct wire *next_free;
    struct post *post;
    size_t len;
    char answer[ANSWER_MAX];
};

static struct {
    const char *token, *samples;
    long port, orders, connections, idle, timeout_s, payload;
    double rate;
} options = {.timeout_s = 600, .payload = 1024};

static struct post *posts;
static struct wire *free_wires;
static long sent, answered, refused, idle_gone;
static int64_t began_us, first_us, steady_us;
static struct bench_buf payload, request;

static void posts_make(void)
{
    struct timespec wall;
    (void)clock_gettime(CLOCK_REALTIME, &wall);
    int64_t wall_ms = (int64_t)wall.tv_sec * 1000 + wall.tv_nsec / 1000000;
    posts = bench_alloc((size_t)options.orders * sizeof(*posts));
    srand48(1);
    double due_us = 0;
    for (long i = 0; i < options.orders; i++) {
        bench_id((uint64_t)i, wall_ms + i, posts[i].id);
        posts[i].due_us = (int64_t)due_us;
        if (options.rate > 0) {
            due_us += -log(1.0 - drand48()) * 1e6 / options.rate;
        }
    }
    bench_payload_add(&payload, (size_t)options.payload);
}

/* ---- connections ---- */

static int gateway_connect(void)
{
    struct sockaddr_in address = {.sin_family = AF_INET,
                                  .sin_port = htons((uint16_t)options.port),
                                  .sin_addr = {.s_addr = htonl(INADDR_LOOPBACK)}};
    int one = 1, fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd < 0 || connect(fd, (struct sockaddr *)&address, sizeof(address)) != 0) {
        bench_fail("could not connect to the gateway: %s", strerror(errno));
    }
    (void)setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
    return fd;
}

static void on_idle(void *arg, uint32_t events)
{
    struct bench_source *source = arg;
    (void)events;
    (void)close(source->fd);
    idle_gone++;
}

static void idle_open(void)
{
    struct rlimit files;
    (void)getrlimit(RLIMIT_NOFILE, &files);
    files.rlim_cur = files.rlim_max;
    (void)setrlimit(RLIMIT_NOFILE, &files);
    for (long i = 0; i < options.idle; i++) {
        struct bench_source *source = bench_alloc(sizeof(*source));
        *source = (struct bench_source){.fd = gateway_connect(), .on_ready = on_idle, .arg = source};
        bench_watch(source, EPOLLIN);
    }
}

static bool is_whole(const struct wire *wire)
{
    static const char name[] = "\ncontent-length:";
    const char *end = memmem(wire->answer, wire->len, "\r\n\r\n", 4);
    for (const char *at = wire->answer; end != NULL && at < end; at++) {
        if (strncasecmp(at, name, sizeof(name) - 1) == 0) {
            size_t body = strtoul(at + sizeof(name) - 1, NULL, 10);
            return wire->len >= (size_t)(end - wire->answer) + 4 + body;
        }
    }
    return false;
}

static void post_done(struct wire *wire)
{
    static const char accepted[] = "HTTP/1.1 202 ";
    wire->post->answered_us = bench_now_us() - began_us;
    if (strncmp(wire->answer, accepted, sizeof(accepted) - 1) != 0) {
        refused++;
        (void)fprintf(stderr, "bench: %s\n", wire->answer);
    }
    answered++;
    if (answered == options.connections) {
        first_us = wire->post->answered_us;
    }
    if (answered == options.orders - options.connections) {
        steady_us = wire->post->answered_us;
    }
    wire->post = NULL;
    wire->next_free = free_wires;
    free_wires = wire;
}

static void on_answer(void *arg, uint32_t events)
{
    struct wire *wire = arg;
    (void)events;
    ssize_t got = recv(wire->source.fd, wire->answer + wire->len, ANSWER_MAX - 1 - wire->len, MSG_DONTWAIT);
    if (got < 0 && errno == EAGAIN) {
        return;
    }
    if (got <= 0 && wire->post != NULL) {
        bench_fail("the gateway closed a connection before its answer");
    }
    if (got <= 0) { /* idle for too long; the next POST on it connects again */
        (void)close(wire->source.fd);
        wire->source = (struct bench_source){.fd = -1, .on_ready = on_answer, .arg = wire};
        return;
    }
    wire->len += (size_t)got;
    wire->answer[wire->len] = '\0';
    if (is_whole(wire)) {
        post_done(wire);
    }
}

static void wires_open(void)
{
    long count = options.connections > 0 ? options.connections : OPEN_CONNECTIONS;
    for (long i = 0; i < count; i++) {
        struct wire *wire = bench_alloc(sizeof(*wire));
        wire->source = (struct bench_source){.fd = gateway_connect(), .on_ready = on_answer, .arg = wire};
        bench_watch(&wire->source, EPOLLIN);
        wire->next_free = free_wires;
        free_wires = wire;
    }
}

/* ---- posting ---- */

static void post_send(struct wire *wire, struct post *post)
{
    static const char form[] = "{\"order_id\":\"%s\",\"workflow\":\"bench\",\"payload\":";
    char head[512], begin[128];
    int begin_len = snprintf(begin, sizeof(begin), form, post->id);
    int len = snprintf(head, sizeof(head),
                       "POST /v1/orders HTTP/1.1\r\nHost: 127.0.0.1:%ld\r\nAuthorization: Bearer %s\r\n"
                       "Content-Type: application/json\r\nContent-Length: %zu\r\n\r\n",
                       options.port, options.token, (size_t)begin_len + payload.len + 1);
    request.len = 0;
    bench_buf_add(&request, head, (size_t)len);
    bench_buf_add(&request, begin, (size_t)begin_len);
    bench_buf_add(&request, payload.data, payload.len);
    bench_buf_add(&request, "}", 1);
    if (wire->source.fd < 0) {
        wire->source.fd = gateway_connect();
        bench_watch(&wire->source, EPOLLIN);
    }
    wire->post = post;
    wire->len = 0;
    if (options.rate <= 0) {
        post->due_us = bench_now_us() - began_us;
    }
    if (send(wire->source.fd, request.data, request.len, MSG_NOSIGNAL) != (ssize_t)request.len) {
        bench_fail("could not send to the gateway: %s", strerror(errno));
    }
    sent++;
}

/* Sends all that are due, while connections are free; returns the time until the next one is due, -1: the
 * next answer comes first. */
static int64_t send_due(void)
{
    int64_t now_us = bench_now_us() - began_us;
    while (free_wires != NULL && sent < options.orders && posts[sent].due_us <= now_us) {
        struct wire *wire = free_wires;
        free_wires = wire->next_free;
        post_send(wire, &posts[sent]);
    }
    return free_wires != NULL && sent < options.orders ? posts[sent].due_us - now_us : -1;
}

static void samples_write(void)
{
    FILE *file = options.samples == NULL ? NULL : fopen(options.samples, "w");
    if (options.samples != NULL && file == NULL) {
        bench_fail("cannot write %s", options.samples);
    }
    for (long i = 0; file != NULL && i < options.orders; i++) {
        if (posts[i].answered_us != 0) {
            (void)fprintf(file, "%" PRId64 "\n", posts[i].answered_us - posts[i].due_us);
        }
    }
    if (file != NULL && fclose(file) != 0) {
        bench_fail("cannot write %s", options.samples);
    }
}

static void options_read(int argc, char **argv)
{
    struct {
        const char *name;
        long *value;
    } numbers[] = {{"--port", &options.port},       {"--orders", &options.orders},
                   {"--idle", &options.idle},       {"--connections", &options.connections},
                   {"--payload", &options.payload}, {"--timeout-s", &options.timeout_s}};
    for (int i = 1; i < argc; i += 2) {
        const char *name = argv[i], *value = i + 1 < argc ? argv[i + 1] : NULL;
        bool is_known = value != NULL;
        if (value == NULL) {
            bench_fail("%s takes a value", name);
        }
        if (strcmp(name, "--token") == 0) {
            options.token = value;
        } else if (strcmp(name, "--samples") == 0) {
            options.samples = value;
        } else if (strcmp(name, "--rate") == 0) {
            options.rate = strtod(value, NULL);
        } else {
            is_known = false;
        }
        for (size_t j = 0; j < sizeof(numbers) / sizeof(numbers[0]) && !is_known; j++) {
            if (strcmp(name, numbers[j].name) == 0) {
                *numbers[j].value = strtol(value, NULL, 10);
                is_known = true;
            }
        }
        if (!is_known) {
            bench_fail("there is no option %s", name);
        }
    }
    if (options.port == 0 || options.token == NULL || options.orders <= 2 * options.connections ||
        (options.connections > 0) == (options.rate > 0)) {
        bench_fail(
            "--port, --token, --orders above twice --connections, and one of --connections and --rate are needed");
    }
}

int main(int argc, char **argv)
{
    options_read(argc, argv);
    idle_open();
    wires_open();
    posts_make();
    began_us = bench_now_us();
    int64_t until_us = began_us + options.timeout_s * 1000000;
    while (answered < options.orders) {
        int64_t wait_us = send_due(), left_us = until_us - bench_now_us();
        if (left_us <= 0) {
            break;
        }
        bench_turn(wait_us >= 0 && wait_us < left_us ? wait_us : left_us);
    }
    samples_write();
    /* The stretches while connections begin and end are no steady state and do not count. */
    double seconds = (double)(steady_us - first_us) / 1e6;
    long counted = options.orders - 2 * options.connections;
    printf(
        "{\"orders\":%ld,\"answered\":%ld,\"refused\":%ld,\"idle_closed\":%ld,\"posts_per_s\":%.2f,\"cpu_s\":%.3f}\n",
        options.orders, answered, refused, idle_gone,
        options.connections > 0 && seconds > 0 ? (double)counted / seconds : 0.0, bench_cpu_s());
    return answered == options.orders ? 0 : 1;
}
