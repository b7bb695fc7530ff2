/*
 * The remote service of the benchmark: answers every POST with a small JSON object, at once or after a delay.
 * It stands for a foreign system, and must never be the bottleneck.
 *
 *   makegood-bench-remote PORT [DELAY_MS]      on 127.0.0.1; GET /count returns the number of answered POSTs
 */
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "bench.h"

#define REQUEST_MAX 65536
#define BACKLOG     4096
/* Answers fall due on a clock of one millisecond, like those of most servers: ten thousand timers a second
 * would cost more than the answers. */
#define TICK_US 1000

struct client {
    struct bench_source source;
    size_t len;
    int64_t due_us; /* when the answer is due; 0: no request */
    struct client *next_due;
    bool is_gone;
    char in[REQUEST_MAX];
};

static int64_t delay_us;
static uint64_t count;
static struct client *due_first,
    *due_last; /* one delay for all: the order of requests is the order of answers */

static void client_close(struct client *client)
{
    (void)close(client->source.fd);
    client->is_gone = true;
    if (client->due_us == 0) {
        free(client);
    }
}

static void client_answer(struct client *client, const char *body)
{
    char text[256];
    int len = snprintf(text, sizeof(text),
                       "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: %zu\r\n\r\n%s",
                       strlen(body), body);
    if (send(client->source.fd, text, (size_t)len, MSG_NOSIGNAL) != len) {
        client_close(client);
    }
}

static void client_done(struct client *client)
{
    count++;
    client_answer(client, "{\"id\":\"remote-1\",\"state\":\"done\"}");
}

/* Returns the length of the whole request if all of it has arrived, else 0. */
static size_t request_len(const struct client *client)
{
    const char *end = memmem(client->in, client->len, "\r\n\r\n", 4);
    if (end == NULL) {
        return 0;
    }
    size_t head = (size_t)(end - client->in) + 4, body = 0;
    for (const char *line = client->in; line < end; line++) {
        line = memchr(line, '\n', (size_t)(end - line));
        if (line == NULL) {
            break;
        }
        if (strncasecmp(line + 1, "content-length:", 15) == 0) {
            body = strtoul(line + 16, NULL, 10);
        }
    }
    return client->len >= head + body ? head + body : 0;
}

static void on_client(void *arg, uint32_t events)
{
    struct client *client = arg;
    (void)events;
    ssize_t got = recv(client->source.fd, client->in + client->len, REQUEST_MAX - client->len, 0);
    if (got < 0 && errno == EAGAIN) {
        return;
    }
    if (got <= 0) {
        client_close(client);
        return;
    }
    client->len += (size_t)got;
    if (client->len == REQUEST_MAX) {
        bench_fail("a request is above %d bytes", REQUEST_MAX);
    }
    size_t len = request_len(client);
    if (len == 0) {
        return;
    }
    bool is_post = client->in[0] == 'P';
    client->len = 0; /* no client sends the next request before the answer */
    if (!is_post) {
        char text[32];
        (void)snprintf(text, sizeof(text), "%llu", (unsigned long long)count);
        client_answer(client, text);
    } else if (delay_us == 0) {
        client_done(client);
    } else {
        int64_t due_us = bench_now_us() + delay_us + TICK_US - 1;
        client->due_us = due_us - due_us % TICK_US;
        client->next_due = NULL;
        *(due_last != NULL ? &due_last->next_due : &due_first) = client;
        due_last = client;
    }
}

static void on_listener(void *arg, uint32_t events)
{
    struct bench_source *listener = arg;
    (void)events;
    for (;;) {
        int fd = accept4(listener->fd, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
        if (fd < 0) {
            return;
        }
        int one = 1;
        (void)setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
        struct client *client = malloc(sizeof(*client));
        if (client == NULL) {
            bench_fail("no memory for a connection");
        }
        memset(client, 0, offsetof(struct client, in));
        client->source = (struct bench_source){.fd = fd, .on_ready = on_client, .arg = client};
        bench_watch(&client->source, EPOLLIN);
    }
}

static int64_t answer_due(void)
{
    while (due_first != NULL) {
        struct client *client = due_first;
        int64_t wait_us = client->due_us - bench_now_us();
        if (wait_us > 0) {
            return wait_us;
        }
        due_first = client->next_due;
        if (due_first == NULL) {
            due_last = NULL;
        }
        client->due_us = 0;
        if (client->is_gone) {
            free(client);
        } else {
            client_done(client);
        }
    }
    return -1;
}

int main(int argc, char **argv)
{
    if (argc < 2 || argc > 3) {
        (void)fprintf(stderr, "usage: makegood-bench-remote PORT [DELAY_MS]\n");
        return 2;
    }
    delay_us = argc > 2 ? strtoll(argv[2], NULL, 10) * 1000 : 0;
    struct sockaddr_in address = {.sin_family = AF_INET,
                                  .sin_port = htons((uint16_t)strtoul(argv[1], NULL, 10)),
                                  .sin_addr = {.s_addr = htonl(INADDR_LOOPBACK)}};
    struct bench_source listener = {.fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0),
                                    .on_ready = on_listener};
    int one = 1;
    listener.arg = &listener;
    (void)setsockopt(listener.fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
    if (bind(listener.fd, (struct sockaddr *)&address, sizeof(address)) != 0 ||
        listen(listener.fd, BACKLOG) != 0) {
        bench_fail("cannot listen on 127.0.0.1:%s: %s", argv[1], strerror(errno));
    }
    bench_watch(&listener, EPOLLIN);
    for (;;) {
        bench_turn(answer_due());
    }
}
