/*
 * The HTTP server with a certificate: accepted and refused clients, certificates changed while it serves, and
 * handshakes that hold up no other. Regular requests use the project's client, and the others OpenSSL on a
 * thread.
 */
#include <netinet/tcp.h>

#include "http_connect.h"
#include "http_fixture.h"
#include "io/http/server.h"
#include "suite.h"
#include "tls_fixture.h"

static struct mg_http_server *server;
static struct mg_metrics *metrics;
static struct path cert_file, key_file;

static void certificate_put(const char *from)
{
    char name[64];
    (void)snprintf(name, sizeof(name), "%s/cert.pem", from);
    file_copy(tls_path(name).text, cert_file.text);
    (void)snprintf(name, sizeof(name), "%s/key.pem", from);
    file_copy(tls_path(name).text, key_file.text);
}

static void server_set_up(void)
{
    struct mg_err err;
    set_up();
    cert_file = tls_path("cert.pem");
    key_file = tls_path("key.pem");
    certificate_put("ours/server");
    metrics = mg_metrics_create();
    const struct mg_http_server_options options = {
        .address = "127.0.0.1:0", .cert_file = cert_file.text, .key_file = key_file.text, .metrics = metrics};
    ck_assert_msg(mg_http_server_create(loop, &options, &server, &err) == MG_OK, "%s", err.text);
}

static void server_tear_down(void)
{
    mg_http_server_destroy(server);
    mg_metrics_destroy(metrics);
    tear_down();
}

static struct outcome get(const char *path, const char *ca, bool is_fresh)
{
    char url[128], ca_name[64];
    (void)snprintf(url, sizeof(url), "https://localhost:%d%s", mg_http_server_port(server), path);
    (void)snprintf(ca_name, sizeof(ca_name), "%s/ca.pem", ca);
    struct path ca_file = tls_path(ca_name);
    struct mg_http_request request = {.method = "GET",
                                      .url = url,
                                      .ca_file = ca_file.text,
                                      .timeout_ms = PATIENT_TIMEOUT_MS,
                                      .is_fresh = is_fresh};
    return perform(&request);
}

START_TEST(probes_and_metrics_are_answered_over_tls)
{
    enum { SERIES = 60, HELP_LEN = 600 }; /* more than a record of TLS holds */
    char name[64], help[HELP_LEN + 1];
    memset(help, 'x', HELP_LEN);
    help[HELP_LEN] = '\0';
    for (int i = 0; i < SERIES; i++) {
        (void)snprintf(name, sizeof(name), "makegood_tests_%d", i);
        (void)mg_metrics_series(metrics, MG_GAUGE, name, NULL, help);
    }
    ck_assert_int_eq(get("/healthz", "ours", false).answer.status, 200);
    ck_assert_int_eq(get("/readyz", "ours", false).answer.status, 200);
    struct outcome outcome = get("/metrics", "ours", false);
    ck_assert_int_eq(outcome.answer.status, 200);
    ck_assert_uint_gt(outcome.answer.body.len, (size_t)SERIES * HELP_LEN);
    ck_assert_str_eq(outcome.content_type, "text/plain; version=0.0.4; charset=utf-8");
    ck_assert_int_eq(get("/healthz", "others", true).answer.sent, MG_SENT_NO);
}
END_TEST

/* ---- OpenSSL on a thread, because it blocks ---- */

struct question {
    int version_max;
    int fd; /* 0: a new connection */
    const char *text;
    SSL *ssl;
    bool is_connected;
    char answer[65536];
};

static int client_connect(void)
{
    return http_connect(mg_http_server_port(server));
}

static void connect_blocking(void *arg)
{
    struct question *question = arg;
    SSL_CTX *context = SSL_CTX_new(TLS_client_method());
    (void)SSL_CTX_set_cipher_list(context, "ALL:@SECLEVEL=0");
    (void)SSL_CTX_set_min_proto_version(context, TLS1_VERSION);
    (void)SSL_CTX_set_max_proto_version(context, question->version_max);
    question->ssl = SSL_new(context);
    question->fd = question->fd ? question->fd : client_connect();
    (void)SSL_set_fd(question->ssl, question->fd);
    question->is_connected = SSL_connect(question->ssl) == 1;
    SSL_CTX_free(context);
}

static void write_blocking(void *arg)
{
    const struct question *question = arg;
    int yes = 1, no = 0;
    /* A record for each byte, all in one segment. */
    (void)setsockopt(question->fd, IPPROTO_TCP, TCP_CORK, &yes, sizeof(yes));
    for (const char *at = question->text; *at && SSL_write(question->ssl, at, 1) == 1; at++) {
        ;
    }
    (void)setsockopt(question->fd, IPPROTO_TCP, TCP_CORK, &no, sizeof(no));
}

static void read_blocking(void *arg)
{
    struct question *question = arg;
    size_t len = 0;
    int got = 0;
    while (len < sizeof(question->answer) - 1 &&
           (got = SSL_read(question->ssl, question->answer + len,
                           (int)(sizeof(question->answer) - 1 - len))) > 0) {
        len += (size_t)got;
    }
    question->answer[len] = '\0';
    SSL_free(question->ssl);
    close(question->fd);
}

static void ask_blocking(void *arg)
{
    struct question *question = arg;
    connect_blocking(question);
    if (question->is_connected) {
        write_blocking(question);
    }
    read_blocking(question);
}

static void on_asked(void *arg)
{
    (void)arg;
    mg_loop_stop(loop);
}

static struct question question;

static void ask_on(int fd, int version_max, const char *text)
{
    question = (struct question){.version_max = version_max, .fd = fd, .text = text};
    ck_assert(mg_loop_offload(loop, ask_blocking, on_asked, &question));
    mg_loop_run(loop);
}

static void ask(int version_max, const char *text)
{
    ask_on(0, version_max, text);
}

#define HEALTH "GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n"

START_TEST(tls_is_1_2_or_1_3)
{
    ask(TLS1_1_VERSION, HEALTH);
    ck_assert(!question.is_connected);
    ask(TLS1_2_VERSION, HEALTH);
    ck_assert_ptr_nonnull(strstr(question.answer, "ok\n"));
    ask(TLS1_3_VERSION, HEALTH);
    ck_assert_ptr_nonnull(strstr(question.answer, "ok\n"));
}
END_TEST

/* Catches: bytes that TLS has decrypted already, invisible to epoll, that wait for more. */
START_TEST(request_in_many_records_is_answered)
{
    static char text[8000];
    (void)snprintf(text, sizeof(text), "GET /healthz HTTP/1.1\r\nHost: x\r\nX-Fill: %06000d\r\n\r\n", 0);
    ask(TLS1_3_VERSION, text);
    ck_assert_ptr_nonnull(strstr(question.answer, "ok\n"));
    ask(TLS1_2_VERSION, text);
    ck_assert_ptr_nonnull(strstr(question.answer, "ok\n"));
}
END_TEST

START_TEST(plaintext_is_not_answered)
{
    char url[64];
    (void)snprintf(url, sizeof(url), "http://127.0.0.1:%d/healthz", mg_http_server_port(server));
    struct mg_http_request request = {.method = "GET", .url = url, .timeout_ms = PATIENT_TIMEOUT_MS};
    ck_assert_int_eq(perform(&request).answer.status, 0);
    ck_assert_int_eq(get("/healthz", "ours", false).answer.status, 200);
}
END_TEST

struct drip {
    int fd, at;
    struct mg_timer *timer;
};

/* The head of a ClientHello of 512 bytes, one byte a time. */
static void on_drip(void *arg)
{
    struct drip *drip = arg;
    static const char hello[] = {0x16, 0x03, 0x01, 0x02, 0x00, 0x01, 0x00, 0x01, (char)0xfc, 0x03, 0x03};
    char byte = drip->at < (int)sizeof(hello) ? hello[drip->at] : 'x';
    char rest[64];
    drip->at++;
    bool is_closed =
        send(drip->fd, &byte, 1, MSG_NOSIGNAL) < 0 || recv(drip->fd, rest, sizeof(rest), MSG_DONTWAIT) == 0;
    if (is_closed) {
        mg_loop_stop(loop);
    }
}

/* Catches: a client that keeps its handshake alive with a byte now and then, and so its place for ever. */
START_TEST(dripping_handshake_is_closed_and_holds_up_no_other)
{
    struct drip drip = {.fd = client_connect(), .timer = mg_timer_create(loop, on_drip, &drip)};
    ck_assert_int_eq(get("/healthz", "ours", false).answer.status, 200);
    mg_timer_start(drip.timer, 1, 500);
    mg_loop_run(loop); /* the guard aborts it if it never ends */
    mg_timer_destroy(drip.timer);
    close(drip.fd);
    ck_assert_int_eq(get("/healthz", "ours", false).answer.status, 200);
}
END_TEST

#define CROWD 700

static void crowd_blocking(void *arg)
{
    int *fds = arg;
    static const char hello[] = {0x16, 0x03, 0x01, 0x02, 0x00, 0x01}; /* the first bytes of a ClientHello */
    for (int i = 0; i < CROWD; i++) {
        fds[i] = client_connect();
        if (i % 2 == 1) {
            (void)http_send(fds[i], hello, sizeof(hello));
        }
    }
}

/* Catches: handshakes that never end, and clients that begin none, in all places. */
START_TEST(a_crowd_without_handshakes_holds_up_no_other)
{
    static int fds[CROWD];
    for (int round = 0; round < 2; round++) {
        ck_assert(mg_loop_offload(loop, crowd_blocking, on_asked, fds));
        mg_loop_run(loop);
        for (int i = 0; i < 3; i++) {
            ck_assert_int_eq(get("/healthz", "ours", true).answer.status, 200);
        }
        for (int i = 0; i < CROWD; i++) {
            close(fds[i]);
        }
        ck_assert_int_eq(get("/healthz", "ours", true).answer.status, 200);
    }
}
END_TEST

/* ---- a certificate is changed ---- */

START_TEST(reload_serves_the_new_certificate_and_open_connections_go_on)
{
    struct mg_err err;
    certificate_put("others/server");
    int open_fd = client_connect();
    ck_assert_int_eq(get("/healthz", "ours", true).answer.status, 200); /* no reload has happened yet */
    ck_assert_msg(mg_http_server_reload(server, &err) == MG_OK, "%s", err.text);
    ck_assert_int_eq(get("/healthz", "others", true).answer.status, 200);
    ck_assert_int_eq(get("/healthz", "ours", true).answer.sent, MG_SENT_NO);
    ask_on(open_fd, TLS1_3_VERSION, HEALTH);
    ck_assert_ptr_nonnull(strstr(question.answer, "ok\n"));
    certificate_put("ours/server");
    ck_assert_int_eq(mg_http_server_reload(server, &err), MG_OK);
    ck_assert_int_eq(get("/healthz", "ours", true).answer.status, 200);
    ck_assert_int_eq(get("/healthz", "others", true).answer.sent, MG_SENT_NO);
}
END_TEST

static void run_blocking(void (*work)(void *arg))
{
    ck_assert(mg_loop_offload(loop, work, on_asked, &question));
    mg_loop_run(loop);
}

/* Catches: a request in hand, its answer or a stream that a reload cuts, with a changed certificate or the
 * same one. */
START_TEST(reloads_touch_no_open_connection)
{
    struct mg_err err;
    static const char *const certificates[] = {"ours/server", "others/server", "others/server",
                                               "ours/server"};
    question = (struct question){.version_max = TLS1_3_VERSION, .text = "GET /healthz HTTP/1.1\r\nHo"};
    run_blocking(connect_blocking);
    ck_assert(question.is_connected);
    run_blocking(write_blocking);
    for (size_t i = 0; i < COUNT(certificates); i++) {
        certificate_put(certificates[i]);
        ck_assert_int_eq(mg_http_server_reload(server, &err), MG_OK);
        ck_assert_int_eq(get("/healthz", i % 3 == 0 ? "ours" : "others", true).answer.status, 200);
    }
    question.text = "st: x\r\n\r\n";
    run_blocking(write_blocking);
    run_blocking(read_blocking);
    ck_assert_ptr_nonnull(strstr(question.answer, "ok\n"));
}
END_TEST

START_TEST(reload_of_bad_files_keeps_what_was_served)
{
    struct mg_err err;
    file_write(cert_file.text, "nonsense", 8);
    ck_assert_int_eq(mg_http_server_reload(server, &err), MG_BAD_INPUT);
    ck_assert_msg(strstr(err.text, cert_file.text) != NULL, "%s", err.text);
    ck_assert_int_eq(get("/healthz", "ours", true).answer.status, 200);
    certificate_put("ours/server");
    file_copy(tls_path("others/server/key.pem").text, key_file.text);
    ck_assert_int_eq(mg_http_server_reload(server, &err), MG_BAD_INPUT);
    ck_assert_int_eq(get("/healthz", "ours", true).answer.status, 200);
}
END_TEST

/* ---- refused at start ---- */

static const struct {
    const char *address, *cert, *key;
    bool is_plaintext_allowed;
    enum mg_class class;
    const char *part; /* of the message */
} starts[] = {
    {"127.0.0.1:0", "ours/server/cert.pem", "ours/server/key.pem", false, MG_OK, ""},
    {"0.0.0.0:0", "ours/server/cert.pem", "ours/server/key.pem", false, MG_OK, ""},
    {"127.0.0.1:0", "ours/old/cert.pem", "ours/old/key.pem", false, MG_OK, ""},
    {"127.0.0.1:0", "none.pem", "ours/server/key.pem", false, MG_BAD_INPUT, "none.pem: No such file"},
    {"127.0.0.1:0", "ours/server/cert.pem", "none.pem", false, MG_BAD_INPUT, "none.pem: No such file"},
    {"127.0.0.1:0", "ours/server/cert.pem", NULL, false, MG_BAD_INPUT, "belong together"},
    {"127.0.0.1:0", NULL, "ours/server/key.pem", false, MG_BAD_INPUT, "belong together"},
    {"127.0.0.1:0", "ours/server/cert.pem", "others/server/key.pem", false, MG_BAD_INPUT, "not the key of"},
    {"127.0.0.1:0", "ours/server/key.pem", "ours/server/key.pem", false, MG_BAD_INPUT, "no certificate"},
    {"127.0.0.1:0", "ours/server/cert.pem", "ours/server/cert.pem", false, MG_BAD_INPUT, "no private key"},
    {"127.0.0.1:0", "ours/server/cert.pem", "locked.pem", false, MG_BAD_INPUT, "passphrase"},
    {"127.0.0.1:0", "ours", "ours/server/key.pem", false, MG_BAD_INPUT, "Is a directory"},
    {"0.0.0.0:0", NULL, NULL, false, MG_BAD_INPUT, "--http-cert-file"},
    {"[::]:0", NULL, NULL, false, MG_BAD_INPUT, "--allow-plaintext"},
    {"192.0.2.1:0", NULL, NULL, false, MG_BAD_INPUT, "plaintext"},
    {"0.0.0.0:0", NULL, NULL, true, MG_OK, ""},
    {"127.0.0.2:0", NULL, NULL, false, MG_OK, ""},
};

static const char *given(const char *name, struct path *path)
{
    if (!name) {
        return NULL;
    }
    *path = tls_path(name);
    return path->text;
}

START_TEST(start_is_refused_with_the_reason)
{
    struct mg_err err = {.text = ""};
    struct path cert, key;
    struct mg_http_server *other = NULL;
    const struct mg_http_server_options options = {.address = starts[_i].address,
                                                   .cert_file = given(starts[_i].cert, &cert),
                                                   .key_file = given(starts[_i].key, &key),
                                                   .is_plaintext_allowed = starts[_i].is_plaintext_allowed};
    ck_assert_msg(mg_http_server_check(&options, &err) == starts[_i].class, "%s", err.text);
    ck_assert_msg(strstr(err.text, starts[_i].part) != NULL, "%s", err.text);
    ck_assert_int_eq(mg_http_server_create(loop, &options, &other, &err), starts[_i].class);
    mg_http_server_destroy(other);
}
END_TEST

static void lock_key(void)
{
    char openssl[] = "/usr/bin/openssl", pkey[] = "pkey", in[] = "-in", out[] = "-out", cipher[] = "-aes256",
         pass[] = "-passout", word[] = "pass:word";
    struct path key = tls_path("ours/server/key.pem"), locked = tls_path("locked.pem");
    run_command((char *[]){openssl, pkey, in, key.text, cipher, pass, word, out, locked.text, NULL});
}

int main(void)
{
    tls_set_up();
    lock_key();
    Suite *suite = suite_create("http_server_tls");
    TCase *cases = tcase_create("tls");
    tcase_add_checked_fixture(cases, server_set_up, server_tear_down);
    tcase_set_timeout(cases, 2.0 * GUARD_MS / 1000);
    tcase_add_test(cases, probes_and_metrics_are_answered_over_tls);
    tcase_add_test(cases, tls_is_1_2_or_1_3);
    tcase_add_test(cases, request_in_many_records_is_answered);
    tcase_add_test(cases, plaintext_is_not_answered);
    tcase_add_test(cases, dripping_handshake_is_closed_and_holds_up_no_other);
    tcase_add_test(cases, a_crowd_without_handshakes_holds_up_no_other);
    tcase_add_test(cases, reload_serves_the_new_certificate_and_open_connections_go_on);
    tcase_add_test(cases, reloads_touch_no_open_connection);
    tcase_add_test(cases, reload_of_bad_files_keeps_what_was_served);
    tcase_add_loop_test(cases, start_is_refused_with_the_reason, 0, COUNT(starts));
    suite_add_tcase(suite, cases);
    int code = run_suite(suite);
    tls_tear_down();
    return code;
}
