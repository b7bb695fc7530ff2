/*
 * A server with a handler on a loop, and a client that asks it from another thread while the loop turns. Each
 * file that includes it uses the parts that it needs.
 */
#ifndef TESTS_HTTP_ASK_H
#define TESTS_HTTP_ASK_H

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "http_connect.h"
#include "io/http/server.h"

#define ANSWER_MAX (8 * 1024 * 1024) /* all that two sockets can hold, and more */
#define GUARD_MS   20000             /* a test that takes so long has failed */

static struct mg_loop *loop;
static struct mg_http_server *server;
static struct mg_timer *guard, *timer; /* the timer calls on_tick, once a test has started it */

static inline void on_guard(void *arg)
{
    (void)arg;
    ck_abort_msg("nothing came for %d ms", GUARD_MS);
}

static void (*on_tick)(void);

static inline void on_timer(void *arg)
{
    (void)arg;
    on_tick();
}

static inline void ask_set_up(const struct mg_http_server_options *options)
{
    struct mg_err err;
    loop = mg_loop_create();
    guard = mg_timer_create(loop, on_guard, NULL);
    timer = mg_timer_create(loop, on_timer, NULL);
    mg_timer_start(guard, GUARD_MS, 0);
    ck_assert_msg(mg_http_server_create(loop, options, &server, &err) == MG_OK, "%s", err.text);
}

static inline void ask_tear_down(void)
{
    mg_http_server_destroy(server);
    mg_timer_destroy(timer);
    mg_timer_destroy(guard);
    mg_loop_destroy(loop);
}

static inline void answer_text(struct mg_http_exchange *request, unsigned int status, const char *text)
{
    static const struct mg_http_header headers[] = {{"X-Made-By", "test"}, {NULL, NULL}};
    const struct mg_http_response answer = {
        .status = status, .type = "text/plain", .body = mg_slice_of(text), .headers = headers};
    mg_http_answer(request, &answer);
}

static inline int client_connect(void)
{
    return http_connect(mg_http_server_port(server));
}

struct question {
    const char *text;
    size_t len, piece; /* sent in pieces of so many bytes */
    char answer[ANSWER_MAX];
    size_t answer_len;
};
static struct question question;

/* On another thread, because it blocks; a server that closes the connection amid the request ends the
 * sending. */
static inline void ask_blocking(void *arg)
{
    (void)arg;
    int fd = client_connect();
    for (size_t at = 0; at < question.len; at += question.piece) {
        size_t len = question.len - at < question.piece ? question.len - at : question.piece;
        if (!http_send(fd, question.text + at, len)) {
            break;
        }
    }
    question.answer_len = http_read_to_end(fd, question.answer, sizeof(question.answer));
    close(fd);
}

static inline void on_asked(void *arg)
{
    (void)arg;
    mg_loop_stop(loop);
}

static inline const char *ask_in_pieces(const char *text, size_t len, size_t piece)
{
    question.text = text;
    question.len = len;
    question.piece = piece;
    ck_assert(mg_loop_offload(loop, ask_blocking, on_asked, NULL));
    mg_loop_run(loop);
    return question.answer;
}

static inline const char *ask(const char *text)
{
    return ask_in_pieces(text, strlen(text), strlen(text));
}

static inline void assert_answer(const char *answer, const char *status, const char *part)
{
    ck_assert_msg(strncmp(answer, status, strlen(status)) == 0, "%.300s", answer);
    ck_assert_msg(strstr(answer, part) != NULL, "%.300s", answer);
}

/* The end of a request without a body. */
#define CLOSE " HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"

/* A request with a body of `body_len` bytes between `head` and `tail`; the caller frees it. */
static inline char *body_make(const char *head, size_t body_len, const char *tail, size_t *ret_len)
{
    size_t head_len = strlen(head), tail_len = strlen(tail);
    char *text = malloc(head_len + body_len + tail_len + 1);
    ck_assert_ptr_nonnull(text);
    memcpy(text, head, head_len);
    memset(text + head_len, 'b', body_len);
    memcpy(text + head_len + body_len, tail, tail_len + 1);
    *ret_len = head_len + body_len + tail_len;
    return text;
}

#endif
