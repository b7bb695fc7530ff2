/* Identities and their lifetimes: tokens, the file that names them, sessions and their ends. */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../suite.h"
#include "world.h"

#define COUNT(list)  (sizeof(list) / sizeof(list)[0])
#define DAY_MS       (INT64_C(12) * 3600 * 1000) /* a working day */
#define OWN_MAX      8
#define SESSIONS_MAX 256
#define GUESSES      5 /* that are answered and logged in a second */

#define HEX "0123456789abcdef0123456789ABCDEF0123456789abcdef0123456789abcdef"

static unsigned int login_status(const char *body)
{
    struct mg_http_exchange request = fake_post("/api/v1/login", body);
    return fake_send(&request);
}

/* Would catch: a session that goes on for ever while a page stays open, or that ends with a pause. */
START_TEST(a_session_ends_after_a_working_day_however_busy)
{
    const struct fake_browser otto = fake_login(TOKEN_OPERATOR);
    const int64_t began_ms = fake_clock.boot_ms;
    for (; fake_clock.boot_ms < began_ms + DAY_MS; fake_clock.boot_ms += DAY_MS / 16) {
        ck_assert_str_eq(fake_role(&otto), "operator");
    }
    fake_clock.boot_ms = began_ms + DAY_MS - 1;
    ck_assert_str_eq(fake_role(&otto), "operator");
    fake_clock.boot_ms = began_ms + DAY_MS;
    ck_assert_str_eq(fake_role(&otto), "none");
    fake_clock.boot_ms = began_ms;
    ck_assert_str_eq(fake_role(&otto), "none"); /* it has ended, it does not only look so */
}
END_TEST

/* Would catch: a session that outlives the removal of its line from the file or a change to reader; one
 * removal that ends all sessions. */
START_TEST(a_removed_or_changed_token_ends_its_sessions)
{
    struct mg_err err;
    static const struct {
        const char *role, *name, *token;
    } others[] = {{"reader", "otto", TOKEN_OPERATOR}, /* no longer an operator */
                  {"operator", "otto", "another token"},
                  {"operator", "anna", TOKEN_OPERATOR}};
    char lines[LINES_SIZE];
    for (size_t i = 0; i <= COUNT(others); i++) {
        size_t len = fake_line(lines, 0, "operator", "otto", TOKEN_OPERATOR);
        (void)fake_line(lines, len, "reader", "rita", TOKEN_READER);
        fake_write_tokens(lines);
        ck_assert_int_eq(fake_reload(&err), MG_OK);
        const struct fake_browser otto = fake_login(TOKEN_OPERATOR), rita = fake_login(TOKEN_READER);
        ck_assert_int_eq(fake_reload(&err), MG_OK);
        ck_assert_str_eq(fake_role(&otto), "operator");
        len = fake_line(lines, 0, "reader", "rita", TOKEN_READER);
        if (i < COUNT(others)) {
            (void)fake_line(lines, len, others[i].role, others[i].name, others[i].token);
        }
        fake_write_tokens(lines);
        ck_assert_int_eq(fake_reload(&err), MG_OK);
        ck_assert_str_eq(fake_role(&otto), "none");
        ck_assert_str_eq(fake_role(&rita), "reader");
    }
    ck_assert_uint_eq(login_status("{\"token\": \"" TOKEN_OPERATOR "\"}"), 403);
}
END_TEST

/* Would catch: a mistake in the file that locks out everyone, or keeps a session that should end. */
START_TEST(a_file_that_cannot_be_read_leaves_all_as_it_was)
{
    struct mg_err err;
    const struct fake_browser otto = fake_login(TOKEN_OPERATOR);
    fake_write_tokens("operator otto\n");
    ck_assert_int_eq(fake_reload(&err), MG_BAD_INPUT);
    ck_assert_str_eq(fake_role(&otto), "operator");
    ck_assert_int_eq(remove(fake.path), 0);
    ck_assert_int_eq(fake_reload(&err), MG_BAD_INPUT);
    ck_assert_str_eq(fake_role(&otto), "operator");
    const struct fake_browser rita = fake_login(TOKEN_READER);
    ck_assert_str_eq(fake_role(&rita), "reader");
}
END_TEST

static const struct {
    const char *lines, *wrong; /* NULL: it is right */
} FILES[] = {
    {"operator otto " HEX "\n", NULL},
    {"# a comment\n\n  reader\trita  " HEX "  \r\n", NULL},
    {"operator otto " HEX, NULL}, /* without its line's end */
    {"", "has no entry"},
    {"# operator otto " HEX "\n", "has no entry"},
    {"admin otto " HEX "\n", "line 1"},
    {"Operator otto " HEX "\n", "line 1"},
    {"operators otto " HEX "\n", "line 1"},
    {"operatoroperator otto " HEX "\n", "line 1"},
    {"operator " HEX "\n", "line 1"},
    {"operator otto\n", "line 1"},
    {"operator otto " HEX "0\n", "line 1"},
    {"operator otto 0" HEX " more\n", "line 1"},
    {"operator otto the third " HEX "\n", "line 1"},
    {"operator otto " HEX " more\n", "line 1"},
    {"operator \xc3\xb6tto " HEX "\n", "line 1"},
    {"operator ott\x01 " HEX "\n", "line 1"},
    {"operator otto g123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef\n", "line 1"},
    {"operator otto 0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcde-\n", "line 1"},
    {"operator otto 0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcde\n", "line 1"},
    {"reader rita " HEX "\n# who acts:\nadmin anna " HEX "\n", "line 3"},
};

/* Would catch: a line that creates an unintended operator, and one that is skipped. */
START_TEST(each_line_of_the_file_is_right_or_refused_by_its_number)
{
    for (size_t i = 0; i < COUNT(FILES); i++) {
        struct mg_err err = {.text = ""};
        fake_write_tokens(FILES[i].lines);
        enum mg_class class = fake_check(&err);
        ck_assert_msg(class == (FILES[i].wrong == NULL ? MG_OK : MG_BAD_INPUT), "\"%s\": %s", FILES[i].lines,
                      err.text);
        ck_assert_msg(FILES[i].wrong == NULL || strstr(err.text, FILES[i].wrong) != NULL, "\"%s\": %s",
                      FILES[i].lines, err.text);
        ck_assert_ptr_null(strstr(err.text, "0123456789")); /* the message goes to the log */
    }
}
END_TEST

/* Would catch: names that are skipped in silence because there is no more room. */
START_TEST(a_file_names_so_many_and_no_more)
{
    struct mg_err err = {.text = ""};
    char lines[LINES_SIZE], name[32];
    size_t len = 0;
    for (int i = 0; i < 256; i++) {
        (void)snprintf(name, sizeof(name), "r%d", i);
        len = fake_line(lines, len, "reader", name, name);
    }
    fake_write_tokens(lines);
    ck_assert_int_eq(fake_check(&err), MG_OK);
    (void)fake_line(lines, len, "reader", "one-more", "one more");
    fake_write_tokens(lines);
    ck_assert_int_eq(fake_check(&err), MG_BAD_INPUT);
    ck_assert_ptr_nonnull(strstr(err.text, "more than 256"));
}
END_TEST

/* Would catch: one browser too many that ends another person's session, or that is not let in. */
START_TEST(one_token_ends_only_its_own_sessions_and_of_them_the_least_used)
{
    struct fake_browser ottos[OWN_MAX];
    const struct fake_browser rita = fake_login(TOKEN_READER);
    for (int i = 0; i < OWN_MAX; i++) {
        fake_clock.boot_ms++;
        ottos[i] = fake_login(TOKEN_OPERATOR);
    }
    fake_clock.boot_ms++;
    ck_assert_str_eq(fake_role(&ottos[0]), "operator"); /* so ottos[1] is the least used */
    fake_clock.boot_ms++;
    const struct fake_browser another = fake_login(TOKEN_OPERATOR);
    for (int i = 0; i < OWN_MAX; i++) {
        ck_assert_str_eq(fake_role(&ottos[i]), i == 1 ? "none" : "operator");
    }
    ck_assert_str_eq(fake_role(&another), "operator");
    ck_assert_str_eq(fake_role(&rita), "reader");
}
END_TEST

/* Would catch: a console that refuses every login once all places are taken. */
START_TEST(where_all_places_are_taken_the_least_used_one_is_given_away)
{
    enum { NAMES = SESSIONS_MAX / OWN_MAX + 1 };
    struct mg_err err;
    char lines[LINES_SIZE], token[32];
    struct fake_browser browsers[NAMES][OWN_MAX];
    size_t len = 0;
    for (int n = 0; n < NAMES; n++) {
        (void)snprintf(token, sizeof(token), "token-%d", n);
        len = fake_line(lines, len, "reader", token, token);
    }
    fake_write_tokens(lines);
    ck_assert_int_eq(fake_reload(&err), MG_OK);
    for (int n = 0; n < NAMES; n++) {
        (void)snprintf(token, sizeof(token), "token-%d", n);
        for (int i = 0; i < OWN_MAX; i++) {
            fake_clock.boot_ms++;
            browsers[n][i] = fake_login(token);
        }
    }
    for (int i = 0; i < OWN_MAX; i++) {
        ck_assert_str_eq(fake_role(&browsers[0][i]), "none");
        ck_assert_str_eq(fake_role(&browsers[1][i]), "reader");
        ck_assert_str_eq(fake_role(&browsers[NAMES - 1][i]), "reader");
    }
}
END_TEST

/* Would catch: two consoles of one host, on two ports, that log each other out. */
START_TEST(consoles_at_two_ports_have_two_cookies)
{
    static const struct {
        const char *host, *name;
    } hosts[] = {{"localhost:9180", "makegood-9180="},
                 {"localhost:9181", "makegood-9181="},
                 {"localhost", "makegood="},
                 {"[::1]:9180", "makegood-9180="},
                 {"localhost:", "makegood="}};
    for (size_t i = 0; i < COUNT(hosts); i++) {
        struct mg_http_exchange request = fake_post("/api/v1/login", "{\"token\": \"" TOKEN_OPERATOR "\"}");
        request.host = hosts[i].host;
        request.origin = NULL;
        (void)fake_send(&request);
        if (request.status == 200) {
            ck_assert_msg(strncmp(request.set_cookie, hosts[i].name, strlen(hosts[i].name)) == 0, "%s: %s",
                          hosts[i].host, request.set_cookie);
        }
        ck_assert(i > 0 || request.status == 200);
    }
}
END_TEST

/* Would catch: live events that go on after the session's end. */
START_TEST(a_listener_is_known_by_its_session_up_to_its_end)
{
    struct mg_err err;
    char lines[LINES_SIZE];
    for (int end = 0; end < 3; end++) {
        (void)fake_line(lines, fake_line(lines, 0, "operator", "otto", TOKEN_OPERATOR), "reader", "rita",
                        TOKEN_READER);
        fake_write_tokens(lines);
        ck_assert_int_eq(fake_reload(&err), MG_OK);
        const struct fake_browser otto = fake_login(TOKEN_OPERATOR);
        struct mg_http_exchange live = fake_get("/api/v1/live");
        fake_use(&live, &otto);
        ck_assert_uint_eq(fake_send(&live), 200);
        const uint64_t session = fake.session;
        ck_assert_uint_ne(session, 0);
        ck_assert(mg_session_is_open(fake.console.sessions, session));
        if (end == 0) {
            struct mg_http_exchange logout = fake_post("/api/v1/logout", "");
            fake_use(&logout, &otto);
            ck_assert_uint_eq(fake_send(&logout), 200);
        } else if (end == 1) {
            (void)fake_line(lines, 0, "reader", "rita", TOKEN_READER);
            fake_write_tokens(lines);
            ck_assert_int_eq(fake_reload(&err), MG_OK);
        } else {
            fake_clock.boot_ms += DAY_MS;
        }
        ck_assert(!mg_session_is_open(fake.console.sessions, session));
    }
}
END_TEST

/* Would catch: one token under two names or roles, of which the last line counts in silence. */
START_TEST(a_token_stands_once_in_the_file)
{
    struct mg_err err;
    char lines[LINES_SIZE];
    (void)fake_line(lines, fake_line(lines, 0, "reader", "otto", TOKEN_OPERATOR), "operator", "anna",
                    TOKEN_OPERATOR);
    fake_write_tokens(lines);
    ck_assert_int_eq(fake_check(&err), MG_BAD_INPUT);
    ck_assert_ptr_nonnull(strstr(err.text, "line 2: this token is also that of \"otto\""));
}
END_TEST

/* Would catch: guesses by a stranger that fill the log or lock people out. */
START_TEST(guesses_are_limited_a_second_and_lock_no_user_out)
{
    for (int second = 0; second < 3; second++) {
        int logged = fake_log.lines;
        for (int i = 0; i < 4 * GUESSES; i++) {
            ck_assert_uint_eq(login_status("{\"token\": \"a guess\"}"), i < GUESSES ? 403 : 429);
        }
        ck_assert_int_eq(fake_log.lines, logged + GUESSES);
        const struct fake_browser otto = fake_login(TOKEN_OPERATOR);
        ck_assert_str_eq(fake_role(&otto), "operator");
        fake_clock.boot_ms += 1000;
    }
    struct mg_http_exchange request = fake_post("/api/v1/login", "{\"token\": \"a guess\"}");
    for (int i = 0; i < GUESSES; i++) {
        (void)login_status("{\"token\": \"a guess\"}");
    }
    ck_assert_uint_eq(fake_send(&request), 429);
    ck_assert_str_eq(request.retry_after, "1");
    ck_assert_str_eq(request.set_cookie, "");
}
END_TEST

/* Would catch: text that is no token and still logs in, or ends the console. */
START_TEST(only_a_whole_token_lets_in)
{
    static const char *const bodies[] = {"",
                                         "token",
                                         "{}",
                                         "[]",
                                         "{\"token\": null}",
                                         "{\"token\": 12}",
                                         "{\"token\": \"\"}",
                                         "{\"token\": [\"" TOKEN_OPERATOR "\"]}",
                                         "{\"token\": \"" TOKEN_OPERATOR " \"}",
                                         "{\"token\": \"a token to act wit\"}",
                                         "{\"token\": \"" TOKEN_OPERATOR "\\u0000\"}",
                                         "{\"token\": \"" TOKEN_OPERATOR "\"",
                                         "{\"Token\": \"" TOKEN_OPERATOR "\"}"};
    char longest[700] = "{\"token\": \"";
    for (size_t i = 0; i < COUNT(bodies); i++) {
        fake_clock.boot_ms += 1000;
        unsigned int status = login_status(bodies[i]);
        ck_assert_msg(status == 403 || status == 400, "%s", bodies[i]); /* 400: no text, or another member */
    }
    size_t head = strlen(longest);
    memset(longest + head, 'x', 600);
    memcpy(longest + head + 600, "\"}", sizeof("\"}"));
    fake_clock.boot_ms += 1000;
    ck_assert_uint_eq(login_status(longest), 403);
    ck_assert_uint_eq(login_status("{\"token\": \"" TOKEN_OPERATOR "\"}"), 200);
}
END_TEST

/* Would catch: a made-up cookie that counts. */
START_TEST(only_a_cookie_as_it_was_given_counts)
{
    const struct fake_browser otto = fake_login(TOKEN_OPERATOR), other = fake_login(TOKEN_OPERATOR);
    struct fake_browser forged = otto;
    ck_assert_uint_eq(strlen(otto.cookie), 64);
    ck_assert_uint_eq(strlen(otto.csrf), 64);
    ck_assert_str_ne(otto.cookie, otto.csrf);
    ck_assert_str_ne(otto.cookie, other.cookie);
    for (size_t i = 0; i < strlen(otto.cookie); i++) {
        forged = otto;
        forged.cookie[i] = forged.cookie[i] == '0' ? '1' : '0';
        ck_assert_str_eq(fake_role(&forged), "none");
    }
    forged = otto;
    forged.cookie[63] = '\0';
    ck_assert_str_eq(fake_role(&forged), "none");
    forged = otto;
    memcpy(forged.cookie + 64, "0", sizeof("0"));
    ck_assert_str_eq(fake_role(&forged), "none");
    forged.cookie[0] = '\0';
    ck_assert_str_eq(fake_role(&forged), "none");
    ck_assert_str_eq(fake_role(&otto), "operator");
}
END_TEST

/* Would catch: a cookie that goes over plain HTTP, or that another page of the host has set. */
START_TEST(over_tls_the_cookie_is_of_this_host_alone)
{
    struct mg_http_exchange request = fake_post("/api/v1/login", "{\"token\": \"" TOKEN_OPERATOR "\"}");
    ck_assert_uint_eq(fake_send(&request), 200);
    ck_assert_int_eq(strncmp(request.set_cookie, "__Host-makegood-9180=", 21), 0);
    ck_assert_ptr_nonnull(strstr(request.set_cookie, "; HttpOnly; SameSite=Strict; Max-Age=43200; Secure"));
    const struct fake_browser otto = fake_login(TOKEN_OPERATOR);
    ck_assert_str_eq(fake_role(&otto), "operator");
    request = fake_get("/api/v1/orders");
    fake_use(&request, &otto);
    ck_assert_uint_eq(fake_send(&request), 401); /* named "makegood", as over plain HTTP */
}
END_TEST

/* Would catch: a browser that stays logged in after its logout, or another browser that does not. */
START_TEST(a_logout_ends_its_session_and_no_other)
{
    const struct fake_browser otto = fake_login(TOKEN_OPERATOR), other = fake_login(TOKEN_OPERATOR);
    for (int i = 0; i < 2; i++) { /* once more does no harm */
        struct mg_http_exchange request = fake_post("/api/v1/logout", "{}");
        fake_use(&request, &otto);
        ck_assert_uint_eq(fake_send(&request), 200);
        ck_assert_ptr_nonnull(strstr(request.text, "\"role\": \"none\""));
        ck_assert_ptr_nonnull(strstr(request.set_cookie, "makegood-9180=; "));
        ck_assert_ptr_nonnull(strstr(request.set_cookie, "Max-Age=0"));
    }
    ck_assert_str_eq(fake_role(&otto), "none");
    ck_assert_str_eq(fake_role(&other), "operator");
    struct mg_http_exchange request = fake_post("/api/v1/logout", "{}");
    fake_use(&request, &other);
    request.site = NULL; /* an old browser: its Origin counts */
    request.origin = "http://evil.example";
    ck_assert_uint_eq(fake_send(&request), 403);
    ck_assert_str_eq(fake_role(&other), "operator");
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("console session");
    TCase *tests = tcase_create("session"), *tls = tcase_create("over TLS");
    tcase_add_checked_fixture(tests, fake_begin, fake_finish);
    tcase_add_test(tests, a_session_ends_after_a_working_day_however_busy);
    tcase_add_test(tests, a_removed_or_changed_token_ends_its_sessions);
    tcase_add_test(tests, a_file_that_cannot_be_read_leaves_all_as_it_was);
    tcase_add_test(tests, each_line_of_the_file_is_right_or_refused_by_its_number);
    tcase_add_test(tests, a_file_names_so_many_and_no_more);
    tcase_add_test(tests, one_token_ends_only_its_own_sessions_and_of_them_the_least_used);
    tcase_add_test(tests, where_all_places_are_taken_the_least_used_one_is_given_away);
    tcase_add_test(tests, consoles_at_two_ports_have_two_cookies);
    tcase_add_test(tests, a_listener_is_known_by_its_session_up_to_its_end);
    tcase_add_test(tests, a_token_stands_once_in_the_file);
    tcase_add_test(tests, guesses_are_limited_a_second_and_lock_no_user_out);
    tcase_add_test(tests, only_a_whole_token_lets_in);
    tcase_add_test(tests, only_a_cookie_as_it_was_given_counts);
    tcase_add_test(tests, a_logout_ends_its_session_and_no_other);
    suite_add_tcase(suite, tests);
    tcase_add_checked_fixture(tls, fake_begin_over_tls, fake_finish);
    tcase_add_test(tls, over_tls_the_cookie_is_of_this_host_alone);
    suite_add_tcase(suite, tls);
    return run_suite(suite);
}
