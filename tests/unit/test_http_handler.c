/*
 * Requests that a service handles itself, sent over real sockets by a client on another thread while the loop
 * turns: whole, in pieces, too large, too many, answered later, answered without end.
 */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "http_connect.h"
#include "io/http/server.h"
#include "suite.h"

#define ANSWER_MAX  (8 * 1024 * 1024) /* all that two sockets can hold, and more */
#define GUARD_MS    20000             /* a test that takes so long has failed */
#define KEPT_MAX    8
#define HANDLED_MAX 2u
#define EVENT       "data: 1\n\n"
#define LATE_EVENT  "data: late\n\n"

static struct mg_loop *loop;
static struct mg_http_server *server;
static struct mg_timer *guard, *timer;
static struct mg_http_exchange *kept[KEPT_MAX]; /* to be answered later */
static int kept_count, kept_most, gone_count, closed_count;
static struct mg_http_stream *stream;

static void on_guard(void *arg)
{
    (void)arg;
    ck_abort_msg("nothing came for %d ms", GUARD_MS);
}

static void answer_text(struct mg_http_exchange *request, unsigned int status, const char *text)
{
    static const struct mg_http_header headers[] = {{"X-Made-By", "test"}, {NULL, NULL}};
    const struct mg_http_response answer = {
        .status = status, .type = "text/plain", .body = mg_slice_of(text), .headers = headers};
    mg_http_answer(request, &answer);
}

static const char *or_none(const char *text)
{
    return text ? text : "none";
}

/* Answers with the parts that it has read of the request. */
static void answer_echo(struct mg_http_exchange *request)
{
    static char text[2 * MG_HTTP_BODY_MAX];
    struct mg_slice body = mg_http_exchange_body(request);
    (void)snprintf(text, sizeof(text), "%s %s q=%s x=%s sid=%s body %zu: %.*s",
                   mg_http_exchange_method(request), mg_http_exchange_path(request),
                   or_none(mg_http_exchange_query(request, "q")),
                   or_none(mg_http_exchange_header(request, "X-Test")),
                   or_none(mg_http_exchange_cookie(request, "sid")), body.len, (int)body.len, body.data);
    answer_text(request, 200, text);
}

static void on_gone(void *arg)
{
    (void)arg;
    gone_count++;
}

static void on_closed(void *arg)
{
    (void)arg;
    closed_count++;
    stream = NULL;
}

/* ---- a body in pieces ---- */

static struct mg_http_exchange *paused;
static size_t piece_bytes;
static int piece_count, whole_count;

static enum mg_http_next on_piece(void *arg, struct mg_slice bytes)
{
    ck_assert_ptr_eq(arg, &piece_count);
    ck_assert_ptr_null(paused); /* a pause holds until the resume */
    ck_assert_uint_le(bytes.len, MG_HTTP_PIECE_MAX);
    piece_bytes += bytes.len;
    piece_count++;
    if (memchr(bytes.data, '!', bytes.len) != NULL) {
        return MG_HTTP_CLOSE;
    }
    paused = piece_count % 2 == 0 ? kept[0] : NULL;
    return paused ? MG_HTTP_PAUSE : MG_HTTP_NEXT;
}

static void on_whole(void *arg)
{
    char text[64];
    ck_assert_ptr_eq(arg, &piece_count);
    whole_count++;
    (void)snprintf(text, sizeof(text), "%zu bytes", piece_bytes);
    answer_text(kept[0], 200, text);
}

static bool takes_pieces(void *arg, const char *method, const char *path)
{
    ck_assert_ptr_eq(arg, &kept_count);
    return strcmp(method, "POST") == 0 && strncmp(path, "/pieces", strlen("/pieces")) == 0;
}

static void pieces_handle(struct mg_http_exchange *request)
{
    if (strcmp(mg_http_exchange_path(request), "/pieces/refused") == 0) {
        answer_text(request, 403, "no");
        return;
    }
    kept[0] = request;
    mg_http_exchange_on_gone(request, on_gone, NULL);
    mg_http_exchange_on_body(request, on_piece, on_whole, &piece_count);
}

static void handle(void *arg, struct mg_http_exchange *request)
{
    ck_assert_ptr_eq(arg, &kept_count);
    const char *path = mg_http_exchange_path(request);
    if (takes_pieces(arg, mg_http_exchange_method(request), path)) {
        pieces_handle(request);
    } else if (strcmp(path, "/later") == 0) {
        ck_assert_int_lt(kept_count, KEPT_MAX);
        mg_http_exchange_on_gone(request, on_gone, NULL);
        kept[kept_count++] = request;
        kept_most = kept_count > kept_most ? kept_count : kept_most;
    } else if (strcmp(path, "/stream") == 0) {
        const struct mg_http_response begin = {
            .status = 200, .type = "text/event-stream", .body = mg_slice_of(": begins\n\n")};
        stream = mg_http_stream_open(request, &begin, on_closed, NULL);
        ck_assert_ptr_nonnull(stream);
    } else {
        answer_echo(request);
    }
}

static void (*on_tick)(void);

static void on_timer(void *arg)
{
    (void)arg;
    on_tick();
}

static void set_up(void)
{
    struct mg_err err;
    loop = mg_loop_create();
    guard = mg_timer_create(loop, on_guard, NULL);
    timer = mg_timer_create(loop, on_timer, NULL);
    mg_timer_start(guard, GUARD_MS, 0);
    const struct mg_http_server_options options = {.address = "127.0.0.1:0",
                                                   .handle = handle,
                                                   .takes_pieces = takes_pieces,
                                                   .arg = &kept_count,
                                                   .handled_max = HANDLED_MAX};
    ck_assert_msg(mg_http_server_create(loop, &options, &server, &err) == MG_OK, "%s", err.text);
}

static void tear_down(void)
{
    mg_http_server_destroy(server);
    mg_timer_destroy(timer);
    mg_timer_destroy(guard);
    mg_loop_destroy(loop);
}

/* ---- clients ---- */

static int client_connect(void)
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
static void ask_blocking(void *arg)
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

static void on_asked(void *arg)
{
    (void)arg;
    mg_loop_stop(loop);
}

static const char *ask_in_pieces(const char *text, size_t len, size_t piece)
{
    question.text = text;
    question.len = len;
    question.piece = piece;
    ck_assert(mg_loop_offload(loop, ask_blocking, on_asked, NULL));
    mg_loop_run(loop);
    return question.answer;
}

static const char *ask(const char *text)
{
    return ask_in_pieces(text, strlen(text), strlen(text));
}

static void assert_answer(const char *answer, const char *status, const char *part)
{
    ck_assert_msg(strncmp(answer, status, strlen(status)) == 0, "%.300s", answer);
    ck_assert_msg(strstr(answer, part) != NULL, "%.300s", answer);
}

#define CLOSE " HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"

/* ---- requests ---- */

START_TEST(handler_reads_all_of_a_request)
{
    assert_answer(ask("GET /a%20b?q=1%262&r=3 HTTP/1.1\r\nHost: x\r\nx-test: yes\r\nCookie: a=b; sid=42\r\n"
                      "Connection: close\r\n\r\n"),
                  "HTTP/1.1 200 ", "GET /a b q=1&2 x=yes sid=42 body 0: ");
    ck_assert_ptr_nonnull(strstr(question.answer, "X-Made-By: test\r\n"));
    ck_assert_ptr_nonnull(strstr(question.answer, "Cache-Control: no-store\r\n"));
    assert_answer(ask("GET / HTTP/1.1\r\nHost: x\r\nCookie: SID=1; sid=42\r\nConnection: close\r\n\r\n"),
                  "HTTP/1.1 200 ", "sid=42 body 0: ");
    assert_answer(ask("GET / HTTP/1.1\r\nHost: x\r\nCookie: Sid=1\r\nConnection: close\r\n\r\n"),
                  "HTTP/1.1 200 ", "sid=none body 0: ");
    assert_answer(ask("GET / HTTP/1.1\r\nHost: x\r\nCookie: sid=1; sid=42\r\nConnection: close\r\n\r\n"),
                  "HTTP/1.1 200 ", "sid=none body 0: ");
    assert_answer(ask("PUT /" CLOSE), "HTTP/1.1 200 ", "PUT / q=none x=none sid=none body 0: ");
    assert_answer(ask("GET /healthz" CLOSE), "HTTP/1.1 200 ", "\r\n\r\nok\n"); /* the probes go on */
}
END_TEST

START_TEST(head_has_headers_only)
{
    assert_answer(ask("HEAD /a" CLOSE), "HTTP/1.1 200 ", "Content-Length: ");
    ck_assert_ptr_null(strstr(question.answer, "body"));
}
END_TEST

/* Catches: a handler that is called before the body is whole. */
START_TEST(request_in_pieces_is_handled_once_it_is_whole)
{
    static const char text[] =
        "POST /a?q=1 HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Length: 11\r\n\r\n"
        "hello world";
    static const char chunks[] =
        "POST /a HTTP/1.1\r\nHost: x\r\nConnection: close\r\nTransfer-Encoding: chunked\r\n"
        "\r\n6\r\nhello \r\n5\r\nworld\r\n0\r\n\r\n";
    assert_answer(ask_in_pieces(text, sizeof(text) - 1, 1), "HTTP/1.1 200 ",
                  "q=1 x=none sid=none body 11: hello world");
    assert_answer(ask_in_pieces(chunks, sizeof(chunks) - 1, 1), "HTTP/1.1 200 ", "body 11: hello world");
}
END_TEST

static char *body_make(const char *head, size_t body_len, const char *tail, size_t *ret_len)
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

START_TEST(body_has_a_limit)
{
    char head[200];
    size_t len;
    const char *const format =
        "POST / HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Length: %u\r\n\r\n";
    (void)snprintf(head, sizeof(head), format, MG_HTTP_BODY_MAX);
    char *text = body_make(head, MG_HTTP_BODY_MAX, "", &len);
    assert_answer(ask_in_pieces(text, len, 4096), "HTTP/1.1 200 ", "body 65536: bbb");
    free(text);
    (void)snprintf(head, sizeof(head), format, MG_HTTP_BODY_MAX + 1);
    assert_answer(ask(head), "HTTP/1.1 413 ", "the body is too large");
    (void)snprintf(
        head, sizeof(head),
        "POST / HTTP/1.1\r\nHost: x\r\nConnection: close\r\nTransfer-Encoding: chunked\r\n\r\n%x\r\n",
        MG_HTTP_BODY_MAX + 1);
    text = body_make(head, MG_HTTP_BODY_MAX + 1, "\r\n0\r\n\r\n", &len);
    assert_answer(ask_in_pieces(text, len, 4096), "HTTP/1.1 413 ", "the body is too large");
    free(text);
    (void)snprintf(head, sizeof(head),
                   "POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n%x\r\n",
                   MG_HTTP_BODY_MAX + MG_HTTP_DROPPED_MAX + 1);
    text = body_make(head, MG_HTTP_BODY_MAX + MG_HTTP_DROPPED_MAX + 1, "\r\n0\r\n\r\n", &len);
    ck_assert_str_eq(ask_in_pieces(text, len, 65536), ""); /* the server closed it */
    free(text);
    assert_answer(ask("GET /" CLOSE), "HTTP/1.1 200 ", "GET /");
}
END_TEST

static void tick_resume(void)
{
    if (paused) {
        struct mg_http_exchange *request = paused;
        paused = NULL;
        mg_http_exchange_resume(request);
    }
}

#define PIECES_LEN (1024u * 1024) /* far above the limit of a body that is kept */

/* Catches: a body that is kept whole or cut at the limit; a piece that comes in a pause, or is lost with one.
 */
START_TEST(body_in_pieces_has_no_limit_and_waits_in_a_pause)
{
    char head[200];
    size_t len;
    (void)snprintf(head, sizeof(head),
                   "POST /pieces HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Length: %u\r\n\r\n",
                   PIECES_LEN);
    on_tick = tick_resume;
    mg_timer_start(timer, 1, 1);
    char *text = body_make(head, PIECES_LEN, "", &len);
    assert_answer(ask_in_pieces(text, len, 65536), "HTTP/1.1 200 ", "1048576 bytes");
    free(text);
    ck_assert_int_eq(whole_count, 1);
    ck_assert_int_gt(piece_count, (int)(PIECES_LEN / MG_HTTP_PIECE_MAX));
    ck_assert_int_eq(gone_count, 0);
    assert_answer(
        ask("POST /pieces/refused HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Length: 5\r\n\r\n"),
        "HTTP/1.1 403 ", "no");
    assert_answer(ask("GET /" CLOSE), "HTTP/1.1 200 ", "GET /");
}
END_TEST

/* Catches: a handler that waits for the rest of a body whose connection has ended. */
START_TEST(body_in_pieces_may_end_with_its_connection)
{
    ck_assert_str_eq(ask("POST /pieces HTTP/1.1\r\nHost: x\r\nContent-Length: 50\r\n\r\nhalf!"), "");
    ck_assert_int_eq(gone_count, 1);
    ck_assert_int_eq(whole_count, 0);
}
END_TEST

/* ---- answers that come later ---- */

static void kept_answer_first(void)
{
    struct mg_http_exchange *request = kept[0];
    kept_count--;
    for (int i = 0; i < kept_count; i++) {
        kept[i] = kept[i + 1];
    }
    answer_text(request, 202, "it took a while");
}

static void tick_answer(void)
{
    if (kept_count > 0) {
        kept_answer_first();
    }
}

START_TEST(answer_may_come_later)
{
    on_tick = tick_answer;
    mg_timer_start(timer, 1, 1);
    /* The second comes on the same connection, behind the first. */
    static const char two[] = "GET /later HTTP/1.1\r\nHost: x\r\n\r\nGET /later" CLOSE;
    const char *answer = ask(two);
    assert_answer(answer, "HTTP/1.1 202 ", "it took a while");
    ck_assert_ptr_nonnull(strstr(strstr(answer, "it took a while") + 1, "it took a while"));
}
END_TEST

static void tick_nothing(void)
{
}

static void tick_stop_when_full(void)
{
    if (kept_count == (int)HANDLED_MAX) {
        mg_loop_stop(loop);
    }
}

START_TEST(requests_above_the_limit_are_refused_and_probes_are_not)
{
    int crowd[HANDLED_MAX];
    for (unsigned int i = 0; i < HANDLED_MAX; i++) {
        crowd[i] = client_connect();
        ck_assert(http_send(crowd[i], "GET /later" CLOSE, strlen("GET /later" CLOSE)));
    }
    on_tick = tick_stop_when_full;
    mg_timer_start(timer, 1, 1);
    mg_loop_run(loop);
    on_tick = tick_nothing;
    assert_answer(ask("GET /later" CLOSE), "HTTP/1.1 503 ", "too many requests at once");
    assert_answer(ask("GET /healthz" CLOSE), "HTTP/1.1 200 ", "ok\n");
    while (kept_count > 0) {
        kept_answer_first();
    }
    on_tick = tick_answer;
    assert_answer(ask("GET /later" CLOSE), "HTTP/1.1 202 ", "it took a while");
    ck_assert_int_eq(kept_most, (int)HANDLED_MAX);
    for (unsigned int i = 0; i < HANDLED_MAX; i++) {
        close(crowd[i]);
    }
}
END_TEST

static void tick_stop_when_both(void)
{
    if (kept_count == 1 && stream) {
        mg_loop_stop(loop);
    }
}

/* Catches: a server that cannot end while a request waits, or a handler with a pointer to a request that is
 * gone. */
START_TEST(server_ends_with_requests_under_way)
{
    int waiting = client_connect(), listening = client_connect();
    ck_assert(http_send(waiting, "GET /later" CLOSE, strlen("GET /later" CLOSE)));
    ck_assert(http_send(listening, "GET /stream" CLOSE, strlen("GET /stream" CLOSE)));
    on_tick = tick_stop_when_both;
    mg_timer_start(timer, 1, 1);
    mg_loop_run(loop);
    mg_http_server_destroy(server);
    server = NULL;
    ck_assert_int_eq(gone_count, 1);
    ck_assert_int_eq(closed_count, 1);
    close(waiting);
    close(listening);
}
END_TEST

/* ---- streams ---- */

static int listener;
static size_t written;

static void tick_write_event(void)
{
    if (stream && written < 3) {
        ck_assert(mg_http_stream_write(stream, mg_slice_of(EVENT)));
        written++;
    }
}

/* Reads until three events are there, and closes the connection. */
static void listen_blocking(void *arg)
{
    (void)arg;
    static char text[4096];
    size_t len = 0;
    int count = 0;
    listener = client_connect();
    (void)http_send(listener, "GET /stream" CLOSE, strlen("GET /stream" CLOSE));
    while (count < 3) {
        ssize_t got = recv(listener, text + len, sizeof(text) - 1 - len, 0);
        if (got <= 0) {
            abort();
        }
        len += (size_t)got;
        text[len] = '\0';
        count = 0;
        for (const char *at = text; (at = strstr(at, EVENT)) != NULL; at++) {
            count++;
        }
    }
    if (strstr(text, ": begins\n\n") == NULL) {
        abort();
    }
    close(listener);
}

static void tick_write_to_nobody(void)
{
    if (stream) {
        (void)mg_http_stream_write(stream, mg_slice_of(EVENT));
    } else {
        mg_loop_stop(loop);
    }
}

START_TEST(stream_is_heard_as_it_is_written_and_ends_with_its_client)
{
    on_tick = tick_write_event;
    mg_timer_start(timer, 1, 1);
    ck_assert(mg_loop_offload(loop, listen_blocking, on_asked, NULL));
    mg_loop_run(loop);
    on_tick = tick_write_to_nobody; /* detects that the client is gone */
    if (closed_count == 0) {
        mg_loop_run(loop);
    }
    ck_assert_int_eq(closed_count, 1);
}
END_TEST

static void tick_write_much(void)
{
    static char much[16 * 1024];
    memset(much, 'm', sizeof(much));
    if (stream && mg_http_stream_write(stream, (struct mg_slice){much, sizeof(much)})) {
        written += sizeof(much);
    } else if (stream || closed_count > 0) {
        mg_loop_stop(loop);
    }
}

static void read_blocking(void *arg)
{
    (void)arg;
    question.answer_len = http_read_to_end(listener, question.answer, sizeof(question.answer));
}

/* Catches: a client that never reads, and for which memory grows. */
START_TEST(slow_reader_is_let_go)
{
    listener = client_connect();
    int small = 256 * 1024; /* well above one segment of loopback */
    ck_assert_int_eq(setsockopt(listener, SOL_SOCKET, SO_RCVBUF, &small, sizeof(small)), 0);
    ck_assert(http_send(listener, "GET /stream" CLOSE, strlen("GET /stream" CLOSE)));
    on_tick = tick_write_much;
    mg_timer_start(timer, 1, 1);
    mg_loop_run(loop);
    mg_timer_stop(timer);
    ck_assert_uint_ge(written, MG_HTTP_STREAM_UNSENT_MAX);
    ck_assert(mg_loop_offload(loop, read_blocking, on_asked, NULL));
    mg_loop_run(loop);
    ck_assert_int_eq(closed_count, 1);
    ck_assert_uint_lt(question.answer_len, written); /* unsent bytes are dropped */
    close(listener);
}
END_TEST

static void tick_end(void)
{
    if (stream && written == 0) {
        ck_assert(mg_http_stream_write(stream, mg_slice_of(EVENT)));
        mg_http_stream_end(stream);
        ck_assert(!mg_http_stream_write(stream, mg_slice_of(LATE_EVENT)));
        written++;
    }
}

/* Catches: a slow reader that gets more and more events after its stream was ended. */
START_TEST(stream_that_is_ended_is_sent_whole_and_no_more)
{
    on_tick = tick_end;
    mg_timer_start(timer, 1, 1);
    assert_answer(ask("GET /stream" CLOSE), "HTTP/1.1 200 ", ": begins\n\n");
    ck_assert_ptr_nonnull(strstr(question.answer, EVENT));
    ck_assert_ptr_null(strstr(question.answer, LATE_EVENT));
    ck_assert_ptr_nonnull(strstr(question.answer, "\r\n0\r\n")); /* and its end is sent */
    ck_assert_int_eq(closed_count, 1);
}
END_TEST

static void tick_write_until_full(void)
{
    static char much[16 * 1024];
    memset(much, 'm', sizeof(much));
    if (stream && mg_http_stream_unsent(stream) < MG_HTTP_STREAM_UNSENT_MAX / 2) {
        ck_assert(mg_http_stream_write(stream, (struct mg_slice){much, sizeof(much)}));
        written += sizeof(much);
    } else if (stream) {
        mg_http_stream_cut(stream);
        ck_assert(!mg_http_stream_write(stream, mg_slice_of(LATE_EVENT)));
    } else if (closed_count > 0) {
        mg_loop_stop(loop);
    }
}

/* Catches: a stream whose client reads nothing, and that cannot be ended. */
START_TEST(stream_that_is_cut_ends_without_its_reader)
{
    listener = client_connect();
    ck_assert(http_send(listener, "GET /stream" CLOSE, strlen("GET /stream" CLOSE)));
    on_tick = tick_write_until_full;
    mg_timer_start(timer, 1, 1);
    mg_loop_run(loop);
    mg_timer_stop(timer);
    ck_assert(mg_loop_offload(loop, read_blocking, on_asked, NULL));
    mg_loop_run(loop);
    ck_assert_int_eq(closed_count, 1);
    ck_assert_uint_lt(question.answer_len, written);
    close(listener);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("http_handler");
    TCase *cases = tcase_create("requests");
    tcase_add_checked_fixture(cases, set_up, tear_down);
    tcase_set_timeout(cases, 2.0 * GUARD_MS / 1000);
    tcase_add_test(cases, handler_reads_all_of_a_request);
    tcase_add_test(cases, head_has_headers_only);
    tcase_add_test(cases, request_in_pieces_is_handled_once_it_is_whole);
    tcase_add_test(cases, body_has_a_limit);
    tcase_add_test(cases, body_in_pieces_has_no_limit_and_waits_in_a_pause);
    tcase_add_test(cases, body_in_pieces_may_end_with_its_connection);
    tcase_add_test(cases, answer_may_come_later);
    tcase_add_test(cases, requests_above_the_limit_are_refused_and_probes_are_not);
    tcase_add_test(cases, server_ends_with_requests_under_way);
    tcase_add_test(cases, stream_is_heard_as_it_is_written_and_ends_with_its_client);
    tcase_add_test(cases, slow_reader_is_let_go);
    tcase_add_test(cases, stream_that_is_ended_is_sent_whole_and_no_more);
    tcase_add_test(cases, stream_that_is_cut_ends_without_its_reader);
    suite_add_tcase(suite, cases);
    return run_suite(suite);
}
