/*
 * A request with a body that its handler takes in pieces, sent over real sockets by a client on another
 * thread.
 */
#include "http_ask.h"
#include "suite.h"

static struct mg_http_exchange *asked, *paused;
static size_t piece_bytes;
static int piece_count, whole_count, gone_count;

static void on_gone(void *arg)
{
    (void)arg;
    gone_count++;
}

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
    paused = piece_count % 2 == 0 ? asked : NULL;
    return paused ? MG_HTTP_PAUSE : MG_HTTP_NEXT;
}

static void on_whole(void *arg)
{
    char text[64];
    ck_assert_ptr_eq(arg, &piece_count);
    whole_count++;
    (void)snprintf(text, sizeof(text), "%zu bytes", piece_bytes);
    answer_text(asked, 200, text);
}

static bool takes_pieces(void *arg, const char *method, const char *path)
{
    ck_assert_ptr_eq(arg, &gone_count);
    return strcmp(method, "POST") == 0 && strncmp(path, "/pieces", strlen("/pieces")) == 0;
}

static void handle(void *arg, struct mg_http_exchange *request)
{
    ck_assert_ptr_eq(arg, &gone_count);
    if (!takes_pieces(arg, mg_http_exchange_method(request), mg_http_exchange_path(request))) {
        answer_text(request, 200, "whole");
        return;
    }
    if (strcmp(mg_http_exchange_path(request), "/pieces/refused") == 0) {
        answer_text(request, 403, "no");
        return;
    }
    asked = request;
    mg_http_exchange_on_gone(request, on_gone, NULL);
    mg_http_exchange_on_body(request, on_piece, on_whole, &piece_count);
}

static void set_up(void)
{
    const struct mg_http_server_options options = {.address = "127.0.0.1:0",
                                                   .handle = handle,
                                                   .takes_pieces = takes_pieces,
                                                   .arg = &gone_count,
                                                   .handled_max = 2};
    ask_set_up(&options);
}

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
    assert_answer(ask("GET /" CLOSE), "HTTP/1.1 200 ", "whole");
}
END_TEST

/* Catches: a handler that waits for the rest of a body after its connection has ended. */
START_TEST(body_in_pieces_may_end_with_its_connection)
{
    ck_assert_str_eq(ask("POST /pieces HTTP/1.1\r\nHost: x\r\nContent-Length: 50\r\n\r\nhalf!"), "");
    ck_assert_int_eq(gone_count, 1);
    ck_assert_int_eq(whole_count, 0);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("http_pieces");
    TCase *cases = tcase_create("all");
    tcase_add_checked_fixture(cases, set_up, ask_tear_down);
    tcase_set_timeout(cases, 2.0 * GUARD_MS / 1000);
    tcase_add_test(cases, body_in_pieces_has_no_limit_and_waits_in_a_pause);
    tcase_add_test(cases, body_in_pieces_may_end_with_its_connection);
    suite_add_tcase(suite, cases);
    return run_suite(suite);
}
