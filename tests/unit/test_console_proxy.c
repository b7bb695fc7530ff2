/*
 * Identity by a proxy's headers, over real sockets: the console's own routes and libmicrohttpd's parsing,
 * without database or broker. A change that passes the checks is refused for lack of a reason (400), before
 * any question to either.
 */
#include <arpa/inet.h>
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/id.h"
#include "base/log.h"
#include "console/console_parts.h"
#include "suite.h"

#define ANSWER_MAX  65536
#define GUARD_MS    20000 /* a test that takes so long has failed */
#define PROXY_TOKEN "the proxy's token"
#define OTTO_TOKEN  "otto's token"

#define PROOF    "X-Makegood-Proxy-Token: " PROXY_TOKEN "\r\n"
#define OTTO     "Remote-User: otto\r\n"
#define OPERATOR PROOF OTTO "Remote-Groups: dev, ops\r\n"

static struct mg_loop *loop;
static struct mg_http_server *server;
static struct mg_timer *guard;
static struct mg_list groups, hosts;
static struct mg_console_options options;
static struct mg_process process;
static struct mg_console console;
static char tokens_path[64];

static void on_guard(void *arg)
{
    (void)arg;
    ck_abort_msg("nothing came for %d ms", GUARD_MS);
}

/* ---- the console's configuration ---- */

static void line_write(FILE *file, const char *who, const char *token)
{
    uint8_t digest[MG_SHA256_SIZE];
    char text[2 * MG_SHA256_SIZE + 1];
    mg_sha256(mg_slice_of(token), digest);
    *mg_hex_write(digest, sizeof(digest), text) = '\0';
    ck_assert_int_gt(fprintf(file, "%s %s\n", who, text), 0);
}

/* A file with these lines; NULL for none. */
static void tokens_write(const char *person, const char *proxy)
{
    FILE *file = fopen(tokens_path, "we");
    ck_assert_ptr_nonnull(file);
    if (person != NULL) {
        line_write(file, person, OTTO_TOKEN);
    }
    if (proxy != NULL) {
        line_write(file, proxy, PROXY_TOKEN);
    }
    ck_assert_int_eq(fclose(file), 0);
}

static void options_default(void)
{
    groups = (struct mg_list){.items = {"admins", "ops"}, .count = 2};
    process = (struct mg_process){.options = {.http = "127.0.0.1:0", .http_cert_file = ""}, .own = &options};
    options = (struct mg_console_options){.process = &process.options,
                                          .tokens_file = tokens_path,
                                          .proxy = {"Remote-User", "Remote-Groups", &groups},
                                          .hosts = &hosts};
    tokens_write("operator otto", "proxy gate");
}

static void sessions_begin(void)
{
    struct mg_err err;
    mg_sessions_destroy(console.sessions);
    console.options = &options;
    console.sessions = mg_sessions_create(&options, &err);
    ck_assert_msg(console.sessions != NULL, "%s", err.text);
}

static void set_up(void)
{
    struct mg_err err;
    (void)snprintf(tokens_path, sizeof(tokens_path), "/tmp/makegood-tokens-XXXXXX");
    int fd = mkstemp(tokens_path);
    ck_assert_int_ge(fd, 0);
    (void)close(fd);
    loop = mg_loop_create();
    guard = mg_timer_create(loop, on_guard, NULL);
    mg_timer_start(guard, GUARD_MS, 0);
    options_default();
    sessions_begin();
    const struct mg_http_server_options http = {
        .address = process.options.http, .handle = mg_route_request, .arg = &console, .handled_max = 4};
    ck_assert_msg(mg_http_server_create(loop, &http, &server, &err) == MG_OK, "%s", err.text);
}

static void tear_down(void)
{
    mg_http_server_destroy(server);
    mg_sessions_destroy(console.sessions);
    console.sessions = NULL;
    mg_timer_destroy(guard);
    mg_loop_destroy(loop);
    (void)unlink(tokens_path);
}

/* ---- a client ---- */

static struct {
    char question[ANSWER_MAX], answer[ANSWER_MAX];
} talk;

/* On another thread, because it blocks. */
static void talk_blocking(void *arg)
{
    (void)arg;
    size_t len = 0;
    ssize_t got;
    struct sockaddr_in address = {.sin_family = AF_INET,
                                  .sin_port = htons((uint16_t)mg_http_server_port(server)),
                                  .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd < 0 || connect(fd, (struct sockaddr *)&address, sizeof(address)) != 0 ||
        send(fd, talk.question, strlen(talk.question), MSG_NOSIGNAL) < 0) {
        abort();
    }
    while (len < ANSWER_MAX - 1 && (got = recv(fd, talk.answer + len, ANSWER_MAX - 1 - len, 0)) > 0) {
        len += (size_t)got;
    }
    talk.answer[len] = '\0';
    close(fd);
}

static void on_talked(void *arg)
{
    (void)arg;
    mg_loop_stop(loop);
}

static const char *talk_over(void)
{
    ck_assert(mg_loop_offload(loop, talk_blocking, on_talked, NULL));
    mg_loop_run(loop);
    return talk.answer;
}

static const char *get(const char *path, const char *headers)
{
    (void)snprintf(talk.question, sizeof(talk.question),
                   "GET /api/v1/%s HTTP/1.1\r\nHost: localhost\r\n%sConnection: close\r\n\r\n", path,
                   headers);
    return talk_over();
}

static const char *post(const char *path, const char *headers, const char *csrf, const char *body)
{
    (void)snprintf(talk.question, sizeof(talk.question),
                   "POST /api/v1/%s HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n%s"
                   "X-Makegood-CSRF: %s\r\nContent-Length: %zu\r\nConnection: close\r\n\r\n%s",
                   path, headers, csrf, strlen(body), body);
    return talk_over();
}

static void expect(const char *answer, int status, const char *part)
{
    char line[32];
    (void)snprintf(line, sizeof(line), "HTTP/1.1 %d ", status);
    ck_assert_msg(strncmp(answer, line, strlen(line)) == 0, "wanted %d: %.600s", status, answer);
    ck_assert_msg(strstr(answer, part) != NULL, "wanted %s: %.900s", part, answer);
}

/* Cuts the text in the answer between `before` and the next quote. */
static void cut(const char *answer, const char *before, char *ret_text, size_t size)
{
    const char *at = strstr(answer, before);
    ck_assert_msg(at != NULL, "%s: %.600s", before, answer);
    at += strlen(before);
    (void)snprintf(ret_text, size, "%.*s", (int)strcspn(at, "\";"), at);
}

static void csrf_get(const char *headers, char ret_csrf[MG_CSRF_SIZE])
{
    cut(get("me", headers), "\"csrf\": \"", ret_csrf, MG_CSRF_SIZE);
    ck_assert_uint_eq(strlen(ret_csrf), MG_CSRF_SIZE - 1);
}

#define CHANGE      "alerts/1/ack"
#define LET_THROUGH 400 /* for lack of a reason */
#define IS_LOGIN    "{\"token\": \"" OTTO_TOKEN "\"}"

/* ---- trusted headers ---- */

/* Catches: a user or a role that differs from the headers; a name that a token could have, too. */
START_TEST(a_user_named_by_a_proxy_has_the_rights_of_the_groups)
{
    expect(get("me", OPERATOR), 200, "{\"name\": \"otto via gate\", \"role\": \"operator\"");
    expect(get("me", OPERATOR), 200, "\"needs_login\": false");
    static const char *const operators[] = {"ops",        "a,ops", "ops,a", "a | ops |b",
                                            " \tops\t ,", ",,ops", "admins"};
    static const char *const readers[] = {"", ",", "op", "opss", "Ops", "ops2,a", "dev ops", "ops:a", "dev"};
    char headers[512];
    for (size_t i = 0; i < sizeof(operators) / sizeof(operators[0]); i++) {
        (void)snprintf(headers, sizeof(headers), PROOF OTTO "Remote-Groups: %s\r\n", operators[i]);
        expect(get("me", headers), 200, "\"role\": \"operator\"");
    }
    for (size_t i = 0; i < sizeof(readers) / sizeof(readers[0]); i++) {
        (void)snprintf(headers, sizeof(headers), PROOF OTTO "Remote-Groups: %s\r\n", readers[i]);
        expect(get("me", headers), 200, "\"role\": \"reader\"");
    }
    expect(get("me", PROOF OTTO), 200, "\"role\": \"reader\"");
    expect(get("me", "x-makegood-proxy-token: " PROXY_TOKEN "\r\nREMOTE-USER: otto\r\n"), 200,
           "otto via gate");
}
END_TEST

/* Catches: a stranger that reaches the port, not through the proxy, and sends the proxy's headers. */
START_TEST(a_request_without_proof_of_the_proxy_is_refused)
{
    static const char *const refused[] = {
        OTTO,
        "Remote-Groups: ops\r\n",
        OTTO "Remote-Groups: ops\r\n",
        "X-Makegood-Proxy-Token:\r\n" OTTO,
        "X-Makegood-Proxy-Token: a guess\r\n" OTTO,
        "X-Makegood-Proxy-Token: the proxy's toke\r\n" OTTO,
        "X-Makegood-Proxy-Token: " OTTO_TOKEN "\r\n" OTTO,
        "X-Makegood_Proxy_Token: " PROXY_TOKEN "\r\n" OTTO,
        PROOF PROOF OTTO,
        PROOF "X-Makegood-Proxy-Token: a guess\r\n" OTTO,
        "X-Makegood-Proxy-Token: a guess\r\n" PROOF OTTO,
    };
    for (size_t i = 0; i < sizeof(refused) / sizeof(refused[0]); i++) {
        expect(get("me", refused[i]), 403, "does not have its token");
        expect(get("overview", refused[i]), 403, "does not have its token");
        expect(post(CHANGE, refused[i], "", "{}"), 403, "does not have its token");
    }
}
END_TEST

/* Catches: of two users the one that a browser has sent; a header with a similar name in place of the
 * configured one. */
START_TEST(headers_that_decide_come_once_and_by_their_name)
{
    static const char *const nobody[] = {
        PROOF,
        PROOF "Remote_User: otto\r\n",
        PROOF "RemoteUser: otto\r\n",
        PROOF "X-Remote-User: otto\r\n",
        PROOF OTTO OTTO,
        PROOF OTTO "Remote-User: anna\r\n",
        PROOF OTTO "remote-user: anna\r\n",
        PROOF OTTO "Remote-User:\r\n",
        PROOF "Remote-Groups: ops\r\n",
    };
    for (size_t i = 0; i < sizeof(nobody) / sizeof(nobody[0]); i++) {
        expect(get("me", nobody[i]), 403, "--proxy-user-header must occur once");
    }
    expect(get("me", PROOF OTTO "Remote_User: anna\r\n"), 200, "\"otto via gate\"");
    expect(get("me", PROOF OTTO "Remote-Groups: a\r\nRemote-Groups: ops\r\n"), 403,
           "--proxy-groups-header must occur once");
    expect(get("me", PROOF OTTO "Remote-Groups: a\r\nremote-groups: a\r\n"), 403,
           "--proxy-groups-header must occur once");
    expect(get("me", PROOF OTTO "Remote_Groups: ops\r\n"), 200, "\"role\": \"reader\"");
}
END_TEST

/* Catches: a user without a distinct name, or with one that writes into logs, tables and terminals. */
START_TEST(a_user_has_a_name_that_can_be_kept)
{
    static const char *const bad[] = {"",         "otto berg",   "otto via gate", "otto\tberg", "otto\x1b[2J",
                                      "otto\x7f", "ott\xc3\xb6", "o,\x01"};
    char headers[1024], user[256];
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        (void)snprintf(headers, sizeof(headers), PROOF "Remote-User: %s\r\n", bad[i]);
        expect(get("me", headers), 403, "printable ASCII");
    }
    ck_assert_ptr_null(strstr(get("me", PROOF "Remote-User: otto\r\n anna\r\n"), "via gate")); /* folded */
    expect(get("me", PROOF "Remote-User: o\"otto@example.org\r\n"), 200,
           "\"o\\\"otto@example.org via gate\"");
    size_t longest = MG_USER_NAME_SIZE - sizeof(" via gate");
    memset(user, 'o', sizeof(user));
    (void)snprintf(headers, sizeof(headers), PROOF "Remote-User: %.*s\r\n", (int)longest, user);
    expect(get("me", headers), 200, "ooo via gate\"");
    (void)snprintf(headers, sizeof(headers), PROOF "Remote-User: %.*s\r\n", (int)longest + 1, user);
    expect(get("me", headers), 403, "too long");
}
END_TEST

/* ---- changes ---- */

/* Catches: a change by the page of another user, or of another console; one by a reader. */
START_TEST(a_change_carries_a_secret_of_its_own_user)
{
    char otto[MG_CSRF_SIZE], anna[MG_CSRF_SIZE];
    csrf_get(OPERATOR, otto);
    csrf_get(PROOF "Remote-User: anna\r\n", anna);
    ck_assert_str_ne(otto, anna);
    expect(post(CHANGE, OPERATOR, otto, "{}"), LET_THROUGH, "reason");
    expect(post(CHANGE, OPERATOR, anna, "{}"), 403, "belongs to another session");
    expect(post(CHANGE, OPERATOR, "", "{}"), 403, "belongs to another session");
    expect(post(CHANGE, PROOF "Remote-User: anna\r\n", anna, "{}"), 403,
           "anna via gate has read-only access");
    expect(post(CHANGE, OPERATOR "Origin: http://evil.example\r\n", otto, "{}"), 403, "page of this console");
    expect(post(CHANGE, OPERATOR "Sec-Fetch-Site: same-site\r\n", otto, "{}"), 403, "page of this console");
    sessions_begin(); /* another console, or after a restart */
    expect(post(CHANGE, OPERATOR, otto, "{}"), 403, "belongs to another session");
}
END_TEST

/* Catches: users of the same name at two proxies, taken for one person. */
START_TEST(users_of_two_proxies_are_two)
{
    FILE *file = fopen(tokens_path, "we");
    ck_assert_ptr_nonnull(file);
    line_write(file, "proxy gate", PROXY_TOKEN);
    line_write(file, "proxy door", "the other's token");
    ck_assert_int_eq(fclose(file), 0);
    sessions_begin();
    char gate[MG_CSRF_SIZE], door[MG_CSRF_SIZE];
    csrf_get(OPERATOR, gate);
    csrf_get("X-Makegood-Proxy-Token: the other's token\r\n" OTTO, door);
    ck_assert_ptr_nonnull(strstr(talk.answer, "\"otto via door\""));
    ck_assert_str_ne(gate, door);
}
END_TEST

/* ---- tokens alongside it ---- */

/* Catches: a proxy's user that acts with the token of a session in the same browser, or the reverse; a
 * proxy's token that lets a person in. */
START_TEST(a_proxy_s_user_and_a_token_s_session_do_not_mix)
{
    char cookie[256], both[1024], token_csrf[MG_CSRF_SIZE], reader_csrf[MG_CSRF_SIZE];
    const char *answer = post("login", "", "", IS_LOGIN);
    expect(answer, 200, "\"name\": \"otto\"");
    cut(answer, "Set-Cookie: ", cookie, sizeof(cookie));
    cut(answer, "\"csrf\": \"", token_csrf, sizeof(token_csrf));
    (void)snprintf(both, sizeof(both), "Cookie: %s\r\n", cookie);
    expect(get("me", both), 200, "{\"name\": \"otto\", \"role\": \"operator\"");
    expect(get("me", both), 200, "\"needs_login\": true");

    (void)snprintf(both, sizeof(both), "Cookie: %s\r\n" PROOF OTTO, cookie); /* a reader, by the proxy */
    csrf_get(both, reader_csrf);
    ck_assert_ptr_nonnull(strstr(talk.answer, "{\"name\": \"otto via gate\", \"role\": \"reader\""));
    expect(post(CHANGE, both, token_csrf, "{}"), 403, "belongs to another session");
    expect(post(CHANGE, both, reader_csrf, "{}"), 403, "read-only access");
    (void)snprintf(both, sizeof(both), "Cookie: %s\r\n" OTTO, cookie); /* without the proof */
    expect(get("me", both), 403, "does not have its token");
    (void)snprintf(both, sizeof(both), "Cookie: %s\r\n", cookie);
    expect(post(CHANGE, both, reader_csrf, "{}"), 403, "belongs to another session");
    expect(post(CHANGE, both, token_csrf, "{}"), LET_THROUGH, "reason");

    expect(post("login", "", "", "{\"token\": \"" PROXY_TOKEN "\"}"), 403, "unknown token");
}
END_TEST

/* Catches: a login behind a proxy, without any effect on the identity; a console that asks for a token
 * although no user can log in. */
START_TEST(a_user_named_by_a_proxy_has_no_login)
{
    char csrf[MG_CSRF_SIZE];
    csrf_get(OPERATOR, csrf);
    expect(post("login", OPERATOR, csrf, IS_LOGIN), LET_THROUGH, "error");
    ck_assert_ptr_null(strstr(talk.answer, "Set-Cookie"));
    expect(post("logout", OPERATOR, csrf, "{}"), LET_THROUGH, "error");
    ck_assert_ptr_null(strstr(talk.answer, "Set-Cookie"));

    expect(get("overview", ""), 401, "log in first");
    tokens_write(NULL, "proxy gate");
    sessions_begin();
    expect(get("me", ""), 403, "open the address of the proxy");
    expect(get("overview", ""), 403, "open the address of the proxy");
    expect(post("login", "", "", IS_LOGIN), 403, "open the address of the proxy");
    expect(get("me", OPERATOR), 200, "otto via gate");
}
END_TEST

/* Catches: a proxy that is trusted after its line has gone; without one, headers of any client that are
 * trusted. */
START_TEST(a_proxy_is_believed_as_long_as_it_is_named)
{
    struct mg_err err;
    tokens_write("operator otto", NULL);
    ck_assert_int_eq(mg_sessions_reload(console.sessions, &err), MG_BAD_INPUT);
    ck_assert_ptr_nonnull(strstr(err.text, "--proxy-user-header"));
    expect(get("me", OPERATOR), 200, "otto via gate"); /* a wrong file changes nothing */
    FILE *file = fopen(tokens_path, "we");
    ck_assert_ptr_nonnull(file);
    line_write(file, "proxy gate", "another token");
    ck_assert_int_eq(fclose(file), 0);
    ck_assert_int_eq(mg_sessions_reload(console.sessions, &err), MG_OK);
    expect(get("me", OPERATOR), 403, "does not have its token");

    tokens_write("operator otto", NULL);
    options.proxy.user_header = options.proxy.groups_header = "";
    sessions_begin();
    expect(get("me", OPERATOR), 200, "\"role\": \"none\"");
}
END_TEST

/* ---- options ---- */

static void expect_refused(const char *part)
{
    struct mg_err err = {.text = ""};
    ck_assert_msg(MG_CONSOLE.check(&process, &err) == MG_BAD_INPUT, "taken, wanted: %s", part);
    ck_assert_msg(strstr(err.text, part) != NULL, "wanted %s: %s", part, err.text);
    options_default();
}

/* Catches: a console that starts and, for lack of an option, accepts any client with a header, or none. */
START_TEST(options_that_make_no_sense_are_refused)
{
    struct mg_err err;
    ck_assert_msg(MG_CONSOLE.check(&process, &err) == MG_OK, "%s", err.text);
    options.proxy.groups_header = "";
    groups.count = 0;
    ck_assert_msg(MG_CONSOLE.check(&process, &err) == MG_OK, "%s", err.text);
    options_default();

    options.tokens_file = "";
    expect_refused("any client can send it");
    tokens_write("operator otto", NULL);
    expect_refused("any client can send it");
    options.proxy = (struct mg_console_proxy){"", "", &hosts};
    expect_refused("could not use the proxy of --tokens-file");
    options.proxy.user_header = "";
    expect_refused("could not use --proxy-groups-header");
    options.proxy.user_header = "";
    groups.count = 0;
    expect_refused("could not use --proxy-groups-header");
    options.proxy.user_header = options.proxy.groups_header = "";
    expect_refused("could not use --proxy-operator-group");
    options.proxy.groups_header = "";
    expect_refused("could not determine the operators");
    groups.count = 0;
    expect_refused("could not determine the operators");
    options.proxy.groups_header = "remote-user";
    expect_refused("is the header of --proxy-user-header already");

    static const char *const names[] = {"REMOTE_USER", "Remote User", "Remote-User:", "X-\xc3\xb6",
                                        "a234567890123456789012345678901234567890123456789012345678901234x"};
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        options.proxy.user_header = names[i];
        expect_refused("--proxy-user-header: expected the name of a header");
        options.proxy.groups_header = names[i];
        expect_refused("--proxy-groups-header: expected the name of a header");
    }
    options.proxy.user_header = "x-makegood-proxy-token";
    expect_refused("have another meaning");
    static const char *const bad_groups[] = {"", "a,b", "a|b", " a", "a\t"};
    for (size_t i = 0; i < sizeof(bad_groups) / sizeof(bad_groups[0]); i++) {
        groups.items[1] = bad_groups[i];
        expect_refused("--proxy-operator-group: expected the name of one group");
    }
}
END_TEST

/* Catches: a line made with a variable that was not set, so that an empty token is a user's. */
START_TEST(the_digest_of_nothing_is_no_token)
{
    static const char *const lines[] = {"proxy gate", "operator otto"};
    for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++) {
        FILE *file = fopen(tokens_path, "we");
        ck_assert_ptr_nonnull(file);
        line_write(file, lines[i], "");
        ck_assert_int_eq(fclose(file), 0);
        expect_refused("line 1: this is the SHA-256 of an empty token");
    }
}
END_TEST

int main(void)
{
    mg_log_open("test", "", MG_LOG_ERROR); /* refusals are logged as warnings */
    Suite *suite = suite_create("console_proxy");
    TCase *tests = tcase_create("proxy");
    tcase_add_checked_fixture(tests, set_up, tear_down);
    tcase_set_timeout(tests, 60);
    tcase_add_test(tests, a_user_named_by_a_proxy_has_the_rights_of_the_groups);
    tcase_add_test(tests, a_request_without_proof_of_the_proxy_is_refused);
    tcase_add_test(tests, headers_that_decide_come_once_and_by_their_name);
    tcase_add_test(tests, a_user_has_a_name_that_can_be_kept);
    tcase_add_test(tests, a_change_carries_a_secret_of_its_own_user);
    tcase_add_test(tests, users_of_two_proxies_are_two);
    tcase_add_test(tests, a_proxy_s_user_and_a_token_s_session_do_not_mix);
    tcase_add_test(tests, a_user_named_by_a_proxy_has_no_login);
    tcase_add_test(tests, a_proxy_is_believed_as_long_as_it_is_named);
    tcase_add_test(tests, options_that_make_no_sense_are_refused);
    tcase_add_test(tests, the_digest_of_nothing_is_no_token);
    suite_add_tcase(suite, tests);
    return run_suite(suite);
}
