/*
 * Requests that a service handles itself, sent over real sockets by a client on another thread while the loop
 * turns: whole, in pieces, too large, too many, answered later, answered without end.
 */
#include <check.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "http_ask.h"
#include "suite.h"

#define KEPT_MAX    8
#define HANDLED_MAX 2u
#define EVENT       "data: 1\n\n"
#define LATE_EVENT  "data: late\n\n"

static struct mg_http_exchange *kept[KEPT_MAX]; /* to be answered later */
static int kept_count, kept_most, gone_count, closed_count;
static struct mg_http_stream *stream;

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

static int socket_option(int fd, int level, int option)
{
    int value = -1;
    socklen_t size = sizeof(value);
    return getsockopt(fd, level, option, &value, &size) == 0 ? value : -1;
}

/* Answers with the options of the server's end of the one connection. */
static void answer_alive(struct mg_http_exchange *request)
{
    for (int fd = 3; fd < 256; fd++) {
        struct sockaddr_in own = {0}, peer = {0};
        socklen_t own_size = sizeof(own), peer_size = sizeof(peer);
        if (getsockname(fd, (struct sockaddr *)&own, &own_size) == 0 &&
            getpeername(fd, (struct sockaddr *)&peer, &peer_size) == 0 &&
            ntohs(own.sin_port) == mg_http_server_port(server)) {
            char text[64];
            (void)snprintf(text, sizeof(text), "keepalive %d after %d s, confirmed within %d ms",
                           socket_option(fd, SOL_SOCKET, SO_KEEPALIVE),
                           socket_option(fd, IPPROTO_TCP, TCP_KEEPIDLE),
                           socket_option(fd, IPPROTO_TCP, TCP_USER_TIMEOUT));
            answer_text(request, 200, text);
            return;
        }
    }
    answer_text(request, 500, "no connection");
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

static void handle(void *arg, struct mg_http_exchange *request)
{
    ck_assert_ptr_eq(arg, &kept_count);
    const char *path = mg_http_exchange_path(request);
    if (strcmp(path, "/later") == 0) {
        ck_assert_int_lt(kept_count, KEPT_MAX);
        mg_http_exchange_on_gone(request, on_gone, NULL);
        kept[kept_count++] = request;
        kept_most = kept_count > kept_most ? kept_count : kept_most;
    } else if (strcmp(path, "/count") == 0) {
        char text[16];
        (void)snprintf(text, sizeof(text), "%u of q", mg_http_exchange_query_count(request, "q"));
        answer_text(request, 200, text);
    } else if (strcmp(path, "/host") == 0) {
        char text[64];
        (void)snprintf(text, sizeof(text), "at %s", mg_http_exchange_header(request, "Host"));
        answer_text(request, 200, text);
    } else if (strcmp(path, "/alive") == 0) {
        answer_alive(request);
    } else if (strcmp(path, "/stream") == 0) {
        const struct mg_http_response begin = {
            .status = 200, .type = "text/event-stream", .body = mg_slice_of(": begins\n\n")};
        stream = mg_http_stream_open(request, &begin, on_closed, NULL);
        ck_assert_ptr_nonnull(stream);
    } else {
        answer_echo(request);
    }
}

static void set_up(void)
{
    const struct mg_http_server_options options = {
        .address = "127.0.0.1:0", .handle = handle, .arg = &kept_count, .handled_max = HANDLED_MAX};
    ask_set_up(&options);
}

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
    assert_answer(ask("GET /count?q=1&r=2&Q=3&q" CLOSE), "HTTP/1.1 200 ", "3 of q"); /* in any case */
    assert_answer(ask("PUT /" CLOSE), "HTTP/1.1 200 ", "PUT / q=none x=none sid=none body 0: ");
    assert_answer(ask("GET /healthz" CLOSE), "HTTP/1.1 200 ", "\r\n\r\nok\n"); /* the probes go on */
}
END_TEST

/* Catches: a rest of the body that is taken for the next request, behind a proxy that reads another length.
 */
START_TEST(a_body_has_one_length)
{
    static const char *const lengths[] = {"Content-Length: 5\r\nContent-Length: 44\r\n",
                                          "Content-Length: 5\r\nContent-Length: 5\r\n",
                                          "Content-Length: 44\r\nTransfer-Encoding: chunked\r\n",
                                          "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n"};
    for (size_t i = 0; i < sizeof(lengths) / sizeof(lengths[0]); i++) {
        char text[512];
        (void)snprintf(text, sizeof(text), "POST /a HTTP/1.1\r\nHost: x\r\n%s\r\n0\r\n\r\nGET /next" CLOSE,
                       lengths[i]);
        assert_answer(ask(text), "HTTP/1.1 400 ", ""); /* newer libmicrohttpd refuses some itself */
        ck_assert_ptr_null(strstr(question.answer, "GET /next")); /* no second answer */
    }
}
END_TEST

/* Catches: an address that is another one behind a proxy or a client with one, which send it whole. */
START_TEST(a_target_in_absolute_form_is_its_path)
{
    assert_answer(ask("GET http://127.0.0.1:9280/a%20b?q=1" CLOSE), "HTTP/1.1 200 ", "GET /a b q=1 ");
    assert_answer(ask("GET HTTPS://Shop.example" CLOSE), "HTTP/1.1 200 ", "GET / q=none ");
    assert_answer(ask("GET http://[::1]:80/host" CLOSE), "HTTP/1.1 200 ", "at [::1]:80"); /* not x of Host */
    assert_answer(ask("GET /host" CLOSE), "HTTP/1.1 200 ", "at x");
    assert_answer(ask("GET http://h/healthz" CLOSE), "HTTP/1.1 200 ", "\r\n\r\nok\n");
    assert_answer(ask("GET http://me:pass@h/a" CLOSE), "HTTP/1.1 400 ", "neither a path nor an address");
    assert_answer(ask("GET http:///a" CLOSE), "HTTP/1.1 400 ", "neither a path nor an address");
}
END_TEST

static const struct {
    const char *header, *status, *part;
} forms[] = {
    {"Content-Encoding: gzip", "HTTP/1.1 415 ", "Content-Encoding gzip: only bodies without a coding"},
    {"Content-Encoding: br", "HTTP/1.1 415 ", "\r\nAccept-Encoding: identity\r\n"},
    {"Content-Encoding: \"<x", "HTTP/1.1 415 ", "Content-Encoding : only"},
    {"Content-Encoding: Identity", "HTTP/1.1 200 ", "POST /a "},
    {"Content-Type: application/json; charset=utf-16", "HTTP/1.1 415 ", "charset utf-16: only utf-8"},
    {"Content-Type: text/x; Charset=\"ISO-8859-1\"", "HTTP/1.1 415 ", "charset ISO-8859-1: only utf-8"},
    {"Content-Type: application/json; charset=\"UTF-8\"", "HTTP/1.1 200 ", "POST /a "},
    {"Content-Type: application/json", "HTTP/1.1 200 ", "POST /a "},
};

/* Catches: coded bytes that are read as JSON, with an error that does not name their coding. */
START_TEST(a_body_of_another_form_is_refused_by_its_name)
{
    char text[512];
    (void)snprintf(text, sizeof(text),
                   "POST /a HTTP/1.1\r\nHost: x\r\n%s\r\nContent-Length: 2\r\nConnection: close\r\n\r\n{}",
                   forms[_i].header);
    assert_answer(ask(text), forms[_i].status, forms[_i].part);
    (void)snprintf(text, sizeof(text), "GET /a HTTP/1.1\r\nHost: x\r\n%s\r\nConnection: close\r\n\r\n",
                   forms[_i].header);
    assert_answer(ask(text), "HTTP/1.1 200 ", "GET /a "); /* without a body its form is nothing */
}
END_TEST

/* Catches: a request that gets no answer, since its end is never found. */
START_TEST(a_transfer_coding_but_chunked_is_refused)
{
    static const char *const codings[] = {"gzip, chunked", "identity", "gzip", "x"};
    for (size_t i = 0; i < sizeof(codings) / sizeof(codings[0]); i++) {
        char text[256];
        (void)snprintf(text, sizeof(text),
                       "POST /a HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: %s\r\n\r\n0\r\n\r\n", codings[i]);
        assert_answer(ask(text), "HTTP/1.1 501 ", "only chunked is taken");
    }
    assert_answer(ask("POST /a HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: Chunked\r\nConnection: "
                      "close\r\n\r\n2\r\nab\r\n0\r\n\r\n"),
                  "HTTP/1.1 200 ", "body 2: ab");
}
END_TEST

/* Catches: an address that ends at an escaped NUL, and is another one. */
START_TEST(an_escaped_nul_ends_no_text)
{
    assert_answer(ask("GET /a%00/../b?q=1%002 HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"),
                  "HTTP/1.1 200 ", "GET /a%00/../b q=1%002 ");
}
END_TEST

/* Catches: a client that is gone without a word, and whose stream or wait stays for hours. */
START_TEST(the_kernel_looks_after_a_silent_client)
{
    assert_answer(ask("GET /alive" CLOSE), "HTTP/1.1 200 ",
                  "keepalive 1 after 30 s, confirmed within 60000 ms");
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
    /* The second comes on the same connection, after the first. */
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

START_TEST(stream_arrives_as_it_is_written_and_ends_with_its_client)
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

/* Catches: bytes of a body after the head for HEAD; its client reads them as the next answer. */
START_TEST(head_of_a_stream_leaves_the_connection_in_step)
{
    const char *text = ask("HEAD /stream HTTP/1.1\r\nHost: x\r\n\r\nGET /a" CLOSE);
    const char *behind = strstr(text, "\r\n\r\n") + strlen("\r\n\r\n");
    assert_answer(text, "HTTP/1.1 200 ", "text/event-stream");
    assert_answer(behind, "HTTP/1.1 200 ", "GET /a q=none");
    ck_assert_int_eq(closed_count, 1);
}
END_TEST

static bool has_waited;

/* Its client hangs up at the second look. */
static void tick_hang_up(void)
{
    bool is_hung_up = kept_count > 0 && mg_http_exchange_is_hung_up(kept[0]);
    if (is_hung_up) {
        ck_assert(has_waited); /* at the first look it had not */
        mg_loop_stop(loop);
    } else if (kept_count > 0 && !has_waited) {
        has_waited = true;
        close(listener);
    }
}

/* Catches: a client that is waited for although it has gone, or is taken for gone while it waits. */
START_TEST(hang_up_is_detected_before_the_answer)
{
    listener = client_connect();
    ck_assert(http_send(listener, "GET /later" CLOSE, strlen("GET /later" CLOSE)));
    on_tick = tick_hang_up;
    mg_timer_start(timer, 1, 1);
    mg_loop_run(loop);
    answer_text(kept[0], 200, "too late");
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

/* Catches: a stream that cannot be ended while its client reads nothing. */
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
    tcase_add_checked_fixture(cases, set_up, ask_tear_down);
    tcase_set_timeout(cases, 2.0 * GUARD_MS / 1000);
    tcase_add_test(cases, handler_reads_all_of_a_request);
    tcase_add_test(cases, a_body_has_one_length);
    tcase_add_test(cases, a_target_in_absolute_form_is_its_path);
    tcase_add_loop_test(cases, a_body_of_another_form_is_refused_by_its_name, 0,
                        (int)(sizeof(forms) / sizeof(forms[0])));
    tcase_add_test(cases, a_transfer_coding_but_chunked_is_refused);
    tcase_add_test(cases, an_escaped_nul_ends_no_text);
    tcase_add_test(cases, the_kernel_looks_after_a_silent_client);
    tcase_add_test(cases, head_has_headers_only);
    tcase_add_test(cases, request_in_pieces_is_handled_once_it_is_whole);
    tcase_add_test(cases, body_has_a_limit);
    tcase_add_test(cases, answer_may_come_later);
    tcase_add_test(cases, requests_above_the_limit_are_refused_and_probes_are_not);
    tcase_add_test(cases, server_ends_with_requests_under_way);
    tcase_add_test(cases, stream_arrives_as_it_is_written_and_ends_with_its_client);
    tcase_add_test(cases, slow_reader_is_let_go);
    tcase_add_test(cases, stream_that_is_ended_is_sent_whole_and_no_more);
    tcase_add_test(cases, stream_that_is_cut_ends_without_its_reader);
    tcase_add_test(cases, head_of_a_stream_leaves_the_connection_in_step);
    tcase_add_test(cases, hang_up_is_detected_before_the_answer);
    suite_add_tcase(suite, cases);
    return run_suite(suite);
}
