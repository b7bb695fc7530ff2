/*
 * Heads of requests that a proxy and libmicrohttpd read in different ways, whole and byte by byte. After
 * each one comes a request, or a rest of its body.
 */
#include "base/clock.h"
#include "http_ask.h"
#include "suite.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))
#define AT_ONCE_MS   5000 /* below the time after which a still connection is closed */
#define NEXT         "GET /next" CLOSE

static void handle(void *arg, struct mg_http_exchange *request)
{
    (void)arg;
    char text[256];
    const char *field = mg_http_exchange_header(request, "X-Field");
    (void)snprintf(text, sizeof(text), "%s field=%s body=%zu", mg_http_exchange_path(request),
                   field ? field : "none", mg_http_exchange_body(request).len);
    answer_text(request, 200, text);
}

static void set_up(void)
{
    const struct mg_http_server_options options = {
        .address = "127.0.0.1:0", .handle = handle, .handled_max = 4};
    ask_set_up(&options);
}

/* The text of a literal, and its length with each NUL. */
#define TEXT(literal)                                                                                        \
    {                                                                                                        \
        literal, sizeof(literal) - 1                                                                         \
    }

static const struct text {
    const char *bytes;
    size_t len;
} unsound[] = {
    TEXT("Content-Length: 5\r\nContent-Length : 7\r\n"),
    TEXT("Content-Length : 5\r\n"),
    TEXT("Content-Length\t: 5\r\n"),
    TEXT("Content-Length: 5\r\nTransfer-Encoding : chunked\r\n"),
    TEXT("Content-Length: 5\r\nTransfer-Encoding:\r\n chunked\r\n"),
    TEXT("Content-Length:\r\n 5\r\n"),
    TEXT("X-Field: a\r\n Transfer-Encoding: chunked\r\n"),
    TEXT("X-Field: a\r\n\tb\r\n"),
    TEXT("X-Field: a\r\n \r\n"),
    TEXT("X-Field: a\r\n b\r\n c\r\n"),
    TEXT(" X-Field: a\r\n"),
    TEXT("X-Field: a\rContent-Length: 5\r\n"),
    TEXT("X-Field: a\r\r\n"),
    TEXT("X-Field\r: a\r\n"),
    TEXT("X-Field: a\0b\r\n"),
    TEXT("X-Field: a\0\r\n"),
    TEXT("X-Field: a\0\0\r\n"),
    TEXT("X-Field: a\0\0Content-Length\0 5\r\n"),
    TEXT("X-Field: \0\r\n"),
    TEXT("X-Field\0: a\r\n"),
    TEXT("\0X-Field: a\r\n"),
    TEXT("X-Field: a\0\r\nX-More: b\r\n"),
    TEXT("Content-Length\r\n"),
    TEXT("X-Field\r\n"),
    TEXT("X Field: a\r\n"),
    TEXT(": a\r\n"),
    TEXT("X-(Field): a\r\n"),
    TEXT("\"Content-Length\": 5\r\n"),
    TEXT("Content-Length\x0b: 5\r\n"),
    TEXT("X-F\xc3\xa9ld: a\r\n"),
};

static const char *ask_head(const char *before, struct text head, const char *after, size_t piece)
{
    static char text[1024];
    size_t before_len = strlen(before), after_len = strlen(after);
    ck_assert(before_len + head.len + after_len < sizeof(text));
    memcpy(text, before, before_len);
    memcpy(text + before_len, head.bytes, head.len);
    memcpy(text + before_len + head.len, after, after_len);
    size_t len = before_len + head.len + after_len;
    return ask_in_pieces(text, len, piece == 0 ? len : piece);
}

/* Catches: a rest of a body that is served as the next request. `_i`: whole, or byte by byte; the head alone
 * or between others. */
START_TEST(a_head_of_a_wrong_form_is_refused_and_closes)
{
    static const char *const places[][2] = {{"POST /a HTTP/1.1\r\nHost: x\r\n", "\r\n" NEXT},
                                            {"POST /a HTTP/1.1\r\n", "Host: x\r\n\r\n" NEXT},
                                            {"GET /a HTTP/1.1\r\nHost: x\r\n", "\r\n" NEXT}};
    const char *const *place = places[_i / 2];
    for (size_t i = 0; i < COUNT(unsound); i++) {
        const char *answer = ask_head(place[0], unsound[i], place[1], _i % 2);
        ck_assert_msg(strncmp(answer, "HTTP/1.1 400 ", 13) == 0, "%zu: %.200s", i, answer);
        ck_assert_msg(strcasestr(answer, "Connection: close") != NULL && strstr(answer, "Keep-Alive") == NULL,
                      "%zu: %.300s", i, answer);
        ck_assert_msg(strstr(answer, "/next") == NULL && strstr(answer + 1, "HTTP/1.1 ") == NULL,
                      "%zu: %.300s", i, answer);
    }
}
END_TEST

/* Catches: a chunk that ends elsewhere for a proxy. */
START_TEST(a_chunk_of_a_wrong_size_is_not_taken)
{
    static const char *const chunks[] = {"+2\r\n{}\r\n",  "-2\r\n{}\r\n",  "0x2\r\n{}\r\n",
                                         " 2\r\n{}\r\n",  "2 2\r\n{}\r\n", "2\r\n{}{}\r\n",
                                         "2\r\n{}XX",     "\r\n{}\r\n",    "g\r\n{}\r\n",
                                         "2\0\r\n{}\r\n", "2\r{}\r\n",     "10000000000000002\r\n{}\r\n"};
    for (size_t i = 0; i < COUNT(chunks); i++) {
        const struct text chunk = {chunks[i], strlen(chunks[i])};
        const char *answer = ask_head("POST /a HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n",
                                      chunk, "0\r\n\r\n" NEXT, _i == 0 ? 0 : 1);
        ck_assert_msg(strncmp(answer, "HTTP/1.1 2", 10) != 0 && strstr(answer, "/next") == NULL,
                      "%zu: %.300s", i, answer);
    }
}
END_TEST

static const struct {
    const char *head, *part;
} sound[] = {
    {"POST /a HTTP/1.1\r\nHost: x\r\nX-Field: a\r\nContent-Length: 2\r\n\r\n{}" NEXT, "/a field=a body=2"},
    {"POST /a HTTP/1.1\r\nHost: x\r\nContent-Length:2\r\nX-Field:\r\n\r\n{}" NEXT, "/a field= body=2"},
    {"POST /a HTTP/1.1\r\nHost: x\r\nX-Field:  \t a:b, c \r\nContent-Length: \t2\r\n\r\n{}" NEXT,
     "/a field=a:b, c body=2"},
    {"POST /a HTTP/1.1\r\nHost: x \r\nX-Field: a b\t \t\r\nContent-Encoding: identity \r\n"
     "Content-Type: text/plain; charset=utf-8 \r\nContent-Length: 2\r\n\r\n{}" NEXT,
     "/a field=a b body=2"},
    {"GET /a HTTP/1.1\r\nHost: x\r\nX-More: b \r\nX-Field: \t \r\nX-Last: c \r\n\r\n" NEXT,
     "/a field= body=0"},
    {"POST /a?x=%00&y HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n" NEXT,
     "/a field=none body=2"},
    {"GET /a%20b%0d?c=%0a HTTP/1.1\r\nhost:x\r\nX-FIELD: \xc3\xa9\tx\r\nCookie: a=b; c=d\r\n\r\n" NEXT,
     "field=\xc3\xa9\tx body=0"},
    {"\r\nGET /a HTTP/1.1\r\nHost: x\r\n!#$%&'*+-.^_`|~09: x\r\nX-Field: a\r\n\r\n" NEXT, "/a field=a"},
    {"GET /a HTTP/1.1\nHost: x\nX-Field: a\n\n" NEXT, "/a field=a body=0"},
    {"GET http://x/a HTTP/1.1\r\nHost: y\r\nX-Field: a\r\nX-Field: b\r\n\r\n" NEXT, "/a field=a body=0"},
};

/* Catches: a good head that is refused. */
START_TEST(a_head_of_a_right_form_is_taken_and_the_connection_kept)
{
    for (size_t i = 0; i < COUNT(sound); i++) {
        size_t len = strlen(sound[i].head);
        const char *answer = ask_in_pieces(sound[i].head, len, _i == 0 ? len : (size_t)_i);
        assert_answer(answer, "HTTP/1.1 200 ", sound[i].part);
        ck_assert_msg(strstr(answer, "/next field=none") != NULL, "%zu: %.400s", i, answer);
    }
}
END_TEST

/* Catches: a head that the library has moved while it grew. */
START_TEST(a_large_head_is_taken)
{
    static char text[16000];
    size_t len = (size_t)snprintf(text, sizeof(text), "GET /a HTTP/1.1\r\nHost: x\r\nX-Field: a\r\n");
    for (int i = 0; i < 60; i++) {
        len += (size_t)snprintf(text + len, sizeof(text) - len, "X-Field-%d: %0100d\r\n", i, i);
    }
    (void)snprintf(text + len, sizeof(text) - len, "\r\n" NEXT);
    for (size_t piece = 1; piece < 2000; piece = piece * 3 + 1) {
        const char *answer = ask_in_pieces(text, strlen(text), piece);
        assert_answer(answer, "HTTP/1.1 200 ", "/a field=a");
        ck_assert_ptr_nonnull(strstr(answer, "/next field=none"));
    }
}
END_TEST

/* Catches: a whole request that gets no answer, since its head has used up the memory of the connection. */
START_TEST(each_head_has_an_answer_however_it_is_filled)
{
    static const struct {
        const char *target, *unit;
        int count;
        const char *answer;
    } heads[] = {
        {"/a?", "&x=b", 60, "HTTP/1.1 200 "},      {"/a?", "&x=b", 100, "HTTP/1.1 414 "},
        {"/a?", "&x=b", 240, "HTTP/1.1 414 "},     {"/a?", "&", 2000, "HTTP/1.1 414 "},
        {"/a?", "&", 16000, "HTTP/1.1 414 "},      {"/a?x=", "b", 15000, "HTTP/1.1 200 "},
        {"/a?x=", "b", 16000, "HTTP/1.1 200 "},    {"/a?x=", "b", 16500, "HTTP/1.1 414 "},
        {"/a", "b", 16000, "HTTP/1.1 200 "},       {"/a", "b", 16500, "HTTP/1.1 414 "},
        {"/a?x=", "b", 20000, "HTTP/1.1 414 "},    {"/a?x=", "b", 70000, "HTTP/1.1 414 "},
        {NULL, "b", 15000, "HTTP/1.1 200 "},       {NULL, "b", 16000, "HTTP/1.1 200 "},
        {NULL, "b", 16500, "HTTP/1.1 431 "},       {NULL, "b", 30000, "HTTP/1.1 431 "},
        {NULL, "b", 70000, "HTTP/1.1 431 "},       {NULL, "\r\nX: b", 100, "HTTP/1.1 200 "},
        {NULL, "\r\nX: b", 200, "HTTP/1.1 200 "},  {NULL, "\r\nX: b", 600, "HTTP/1.1 431 "},
        {NULL, "\r\nX: b", 2000, "HTTP/1.1 431 "},
    };
    static char text[100000];
    for (size_t i = 0; i < COUNT(heads); i++) {
        size_t len = (size_t)snprintf(text, sizeof(text), "GET %s", heads[i].target ? heads[i].target : "/a");
        if (!heads[i].target) {
            len += (size_t)snprintf(text + len, sizeof(text) - len, " HTTP/1.1\r\nHost: x\r\nX-Field: a");
        }
        for (int n = 0; n < heads[i].count; n++) {
            len += (size_t)snprintf(text + len, sizeof(text) - len, "%s", heads[i].unit);
        }
        len += (size_t)snprintf(text + len, sizeof(text) - len, "%s",
                                heads[i].target ? " HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"
                                                : "\r\nConnection: close\r\n\r\n");
        const int64_t begun_ms = mg_clock_boot_ms();
        const char *answer = ask_in_pieces(text, len, _i == 0 ? len : (size_t)_i);
        ck_assert_msg(strncmp(answer, heads[i].answer, strlen(heads[i].answer)) == 0, "%zu: %.200s", i,
                      answer);
        ck_assert_msg(mg_clock_boot_ms() - begun_ms < AT_ONCE_MS, "%zu", i);
    }
}
END_TEST

static const struct {
    const char *begin, *unit, *end;
    int from, to, step;
} fills[] = {
    {"GET /a?x=", "b", " HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n", 16000, 34000, 50},
    {"GET /a HTTP/1.1\r\nHost: x\r\nConnection: close\r\nX: a", "b", "\r\n\r\n", 16000, 34000, 50},
    {"GET /a HTTP/1.1\r\nHost: x\r\nConnection: close\r\nX: a", "\r\nX: b", "\r\n\r\n", 100, 700, 1},
    {"GET /a HTTP/1.1\r\nHost: x\r\nConnection: close\r\nX: a", "\r\nX: 0123456789012345678901234567890",
     "\r\n\r\n", 100, 500, 1},
    {"GET /a HTTP/1.1\r\nHost: x\r\nConnection: close\r\nCookie: a=b", "; c=d", "\r\n\r\n", 100, 700, 1},
};

/* Catches: a head of just the size that leaves no memory for the head of an answer. */
START_TEST(no_size_of_a_head_is_without_an_answer)
{
    static char text[100000];
    size_t len = (size_t)snprintf(text, sizeof(text), "%s", fills[_i].begin);
    bool is_refused = false;
    for (int n = 0; n < fills[_i].to; n++) {
        len += (size_t)snprintf(text + len, sizeof(text) - len, "%s", fills[_i].unit);
        if (n < fills[_i].from || n % fills[_i].step != 0) {
            continue;
        }
        (void)snprintf(text + len, sizeof(text) - len, "%s", fills[_i].end);
        const char *answer = ask(text);
        bool is_taken = strncmp(answer, "HTTP/1.1 200 ", 13) == 0;
        ck_assert_msg(is_taken || strncmp(answer, "HTTP/1.1 431 ", 13) == 0 ||
                          strncmp(answer, "HTTP/1.1 414 ", 13) == 0,
                      "%d: %.200s", n, answer);
        ck_assert_msg(!is_taken || !is_refused, "%d: taken, and a smaller one is not", n);
        is_refused = !is_taken;
    }
    ck_assert(is_refused);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("http_head");
    TCase *cases = tcase_create("head");
    tcase_add_checked_fixture(cases, set_up, ask_tear_down);
    tcase_set_timeout(cases, 2.0 * GUARD_MS / 1000);
    tcase_add_loop_test(cases, a_head_of_a_wrong_form_is_refused_and_closes, 0, 6);
    tcase_add_loop_test(cases, a_chunk_of_a_wrong_size_is_not_taken, 0, 2);
    tcase_add_loop_test(cases, a_head_of_a_right_form_is_taken_and_the_connection_kept, 0, 4);
    tcase_add_test(cases, a_large_head_is_taken);
    tcase_add_loop_test(cases, each_head_has_an_answer_however_it_is_filled, 0, 1);
    tcase_add_loop_test(cases, no_size_of_a_head_is_without_an_answer, 0, COUNT(fills));
    suite_add_tcase(suite, cases);
    return run_suite(suite);
}
