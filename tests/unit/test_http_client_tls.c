/*
 * The HTTP client over TLS, against servers made of OpenSSL: refusals by either side, and the reported state
 * of the request. A failure before the request counts as not sent, and every other one as maybe. Otherwise an
 * order is paid twice or held up for nothing. Also: renewed files are read after a reload.
 */
#include <linux/tcp.h>
#include <openssl/err.h>
#include <poll.h>
#include <sys/syscall.h>

#include "base/clock.h"
#include "http_fixture.h"
#include "suite.h"
#include "tls_fixture.h"

/* The server's demand on its clients. */
enum demand { NOTHING, CERTIFICATE, CERTIFICATE_AFTER_REQUEST };

static SSL_CTX *context;
static enum demand demand;
static atomic_int tls_requests; /* that a server decrypted */
static atomic_bool hangs_up;    /* the server resets the connection as soon as it has refused a client */

/* libcurl calls it between the handshake and the request. A refused client waits here until the server has
 * closed the connection. Without it the order of the two is chance. */
__attribute__((visibility("default"))) int getpeername(int fd, __SOCKADDR_ARG address,
                                                       socklen_t *restrict len)
{
    struct tcp_info info = {0};
    socklen_t size = sizeof(info);
    struct pollfd reset = {.fd = fd};
    (void)getsockopt(fd, IPPROTO_TCP, TCP_INFO, &info, &size);
    if (atomic_load(&hangs_up) && info.tcpi_bytes_received > 0) {
        (void)poll(&reset, 1, GUARD_MS);
    }
    return (int)syscall(SYS_getpeername, fd, address.__sockaddr__, len);
}

static void context_make(const char *from, int version_max, const char *client_ca)
{
    char name[64];
    SSL_CTX_free(context);
    context = SSL_CTX_new(TLS_server_method());
    (void)snprintf(name, sizeof(name), "%s/cert.pem", from);
    ck_assert_int_eq(SSL_CTX_use_certificate_chain_file(context, tls_path(name).text), 1);
    (void)snprintf(name, sizeof(name), "%s/key.pem", from);
    ck_assert_int_eq(SSL_CTX_use_PrivateKey_file(context, tls_path(name).text, SSL_FILETYPE_PEM), 1);
    (void)SSL_CTX_set_cipher_list(context, "ALL:@SECLEVEL=0");
    (void)SSL_CTX_set_min_proto_version(context, TLS1_VERSION);
    (void)SSL_CTX_set_max_proto_version(context, version_max);
    ck_assert_int_eq(SSL_CTX_load_verify_locations(context, tls_path(client_ca).text, NULL), 1);
    ck_assert_int_eq(SSL_CTX_set_session_id_context(context, (const unsigned char *)"s", 1), 1);
    if (demand == CERTIFICATE) {
        SSL_CTX_set_verify(context, SSL_VERIFY_PEER | SSL_VERIFY_FAIL_IF_NO_PEER_CERT, NULL);
    }
}

/* False: the client has opened another connection, so it waits for no answer on this one. */
static bool await_request(const struct server *server, int fd)
{
    struct pollfd fds[] = {{.fd = fd, .events = POLLIN}, {.fd = server->listen_fd, .events = POLLIN}};
    return poll(fds, 2, -1) > 0 && fds[0].revents != 0;
}

/* Reads requests until the client goes, counts them and answers. */
static void serve_tls(struct server *server, int fd, int number)
{
    (void)number;
    char text[4096];
    SSL *ssl = SSL_new(context);
    (void)SSL_set_fd(ssl, fd);
    bool is_open = SSL_accept(ssl) == 1;
    while (is_open && await_request(server, fd)) {
        size_t len = 0;
        text[0] = '\0';
        while (is_open && !strstr(text, "{\"a\":1.00}") && len < sizeof(text) - 1) {
            int got = SSL_read(ssl, text + len, (int)(sizeof(text) - 1 - len));
            is_open = got > 0;
            if (is_open) {
                text[len += (size_t)got] = '\0';
            }
        }
        if (!is_open) {
            break;
        }
        atomic_fetch_add(&tls_requests, 1);
        if (demand == CERTIFICATE_AFTER_REQUEST) {
            SSL_set_verify(ssl, SSL_VERIFY_PEER | SSL_VERIFY_FAIL_IF_NO_PEER_CERT, NULL);
            (void)SSL_set_options(ssl, SSL_OP_NO_SESSION_RESUMPTION_ON_RENEGOTIATION);
            is_open =
                SSL_version(ssl) == TLS1_3_VERSION
                    ? SSL_verify_client_post_handshake(ssl) == 1 && SSL_do_handshake(ssl) == 1
                    : SSL_renegotiate(ssl) == 1 && SSL_do_handshake(ssl) == 1 && SSL_peek(ssl, text, 1) > 0;
        }
        is_open = is_open && SSL_write(ssl, server->answer, (int)strlen(server->answer)) > 0;
    }
    ERR_clear_error();
    if (atomic_load(&hangs_up)) {
        close_with_reset(fd);
        SSL_free(ssl);
        return;
    }
    /* Unread bytes at the close would make the kernel reset the connection, and the alert would be lost. */
    shutdown(fd, SHUT_WR);
    while (!is_open && recv(fd, text, sizeof(text), 0) > 0) {
        ;
    }
    SSL_free(ssl);
}

static struct outcome call_with(int port, const char *host, const char *ca, const char *from, bool is_fresh)
{
    char url[64], cert_name[64], key_name[64];
    (void)snprintf(url, sizeof(url), "https://%s:%d/charges", host, port);
    (void)snprintf(cert_name, sizeof(cert_name), "%s/cert.pem", from ? from : "");
    (void)snprintf(key_name, sizeof(key_name), "%s/key.pem", from ? from : "");
    struct path ca_file = tls_path(ca), cert = tls_path(cert_name), key = tls_path(key_name);
    struct mg_http_request request = {.method = "POST",
                                      .url = url,
                                      .body = mg_slice_of("{\"a\":1.00}"),
                                      .timeout_ms = PATIENT_TIMEOUT_MS,
                                      .ca_file = ca_file.text,
                                      .client_cert_file = from ? cert.text : NULL,
                                      .client_key_file = from ? key.text : NULL,
                                      .is_fresh = is_fresh};
    return perform(&request);
}

#define OURS "ours/ca.pem"

static const struct {
    const char *server, *host, *ca, *client;
    int version_max;
    enum demand demand;
    enum mg_sent sent;
    const char *part; /* of the reason */
} cases_table[] = {
    {"ours/server", "localhost", OURS, NULL, TLS1_3_VERSION, NOTHING, MG_SENT_YES, ""},
    {"ours/server", "localhost", OURS, NULL, TLS1_2_VERSION, NOTHING, MG_SENT_YES, ""},
    {"ours/server", "127.0.0.1", OURS, NULL, TLS1_3_VERSION, NOTHING, MG_SENT_YES, ""},
    {"ours/server", "localhost", OURS, "ours/client", TLS1_3_VERSION, CERTIFICATE, MG_SENT_YES, ""},
    {"ours/server", "localhost", OURS, "ours/client", TLS1_2_VERSION, CERTIFICATE, MG_SENT_YES, ""},
    /* the client refuses the server */
    {"ours/server", "localhost", OURS, NULL, TLS1_1_VERSION, NOTHING, MG_SENT_NO, "protocol version"},
    {"others/server", "localhost", OURS, NULL, TLS1_3_VERSION, NOTHING, MG_SENT_NO, "certificate"},
    {"ours/old", "localhost", OURS, NULL, TLS1_3_VERSION, NOTHING, MG_SENT_NO, "expired"},
    {"ours/server", "other.localhost", OURS, NULL, TLS1_3_VERSION, NOTHING, MG_SENT_NO, "other.localhost"},
    {"ours/server", "localhost", "none.pem", NULL, TLS1_3_VERSION, NOTHING, MG_SENT_NO, "none.pem"},
    {"ours/server", "localhost", OURS, "nobody", TLS1_3_VERSION, CERTIFICATE, MG_SENT_NO, "nobody/cert.pem"},
    /* the server refuses the client: in TLS 1.3 its alert comes when the request has left */
    {"ours/server", "localhost", OURS, NULL, TLS1_3_VERSION, CERTIFICATE, MG_SENT_NO, "certificate required"},
    {"ours/server", "localhost", OURS, "others/client", TLS1_3_VERSION, CERTIFICATE, MG_SENT_NO,
     "unknown ca"},
    {"ours/server", "localhost", OURS, "ours/old", TLS1_3_VERSION, CERTIFICATE, MG_SENT_NO, "expired"},
    {"ours/server", "localhost", OURS, NULL, TLS1_2_VERSION, CERTIFICATE, MG_SENT_NO, "handshake failure"},
    {"ours/server", "localhost", OURS, "others/client", TLS1_2_VERSION, CERTIFICATE, MG_SENT_NO,
     "unknown ca"},
    /* the server has seen the request, so nothing is proved */
    {"ours/server", "localhost", OURS, NULL, TLS1_3_VERSION, CERTIFICATE_AFTER_REQUEST, MG_SENT_MAYBE, ""},
    {"ours/server", "localhost", OURS, NULL, TLS1_2_VERSION, CERTIFICATE_AFTER_REQUEST, MG_SENT_MAYBE,
     "handshake failure"},
};

/* Catches: a refusal that counts as maybe sent, and holds up orders; a request that was seen and counts as
 * not sent, and is paid twice. */
START_TEST(refusals_are_distinguished_from_requests_that_were_seen)
{
    struct server server;
    demand = cases_table[_i].demand;
    context_make(cases_table[_i].server, cases_table[_i].version_max, OURS);
    server_start(&server, serve_tls, ok_answer);
    atomic_store(&tls_requests, 0);
    struct outcome outcome =
        call_with(server.port, cases_table[_i].host, cases_table[_i].ca, cases_table[_i].client, false);
    mg_http_client_destroy(client);
    client = NULL;
    server_stop(&server);
    ck_assert_msg(outcome.answer.sent == cases_table[_i].sent, "%d %s", outcome.answer.sent,
                  outcome.answer.reason);
    ck_assert_msg(strstr(outcome.answer.reason, cases_table[_i].part) != NULL, "%s", outcome.answer.reason);
    ck_assert(!outcome.answer.is_timed_out);
    ck_assert_int_eq(atomic_load(&tls_requests), cases_table[_i].sent == MG_SENT_NO ? 0 : 1);
}
END_TEST

static const struct {
    const char *client, *part;
} refused_table[] = {
    {NULL, "certificate required"}, {"others/client", "unknown ca"}, {"ours/old", "expired"}};

/* Catches: an alert that is lost with the connection, on which the request then counts as maybe sent. */
START_TEST(a_refusal_counts_though_the_server_hangs_up_at_once)
{
    struct server server;
    demand = CERTIFICATE;
    context_make("ours/server", TLS1_3_VERSION, OURS);
    server_start(&server, serve_tls, ok_answer);
    atomic_store(&hangs_up, true);
    struct outcome outcome = call_with(server.port, "localhost", OURS, refused_table[_i].client, false);
    mg_http_client_destroy(client);
    client = NULL;
    server_stop(&server);
    ck_assert_msg(outcome.answer.sent == MG_SENT_NO, "%d %s", outcome.answer.sent, outcome.answer.reason);
    ck_assert_msg(strstr(outcome.answer.reason, refused_table[_i].part) != NULL, "%s", outcome.answer.reason);
}
END_TEST

/* Catches: CAs that libcurl has parsed and keeps for a day; connections made under the earlier CAs. */
START_TEST(reload_reads_files_anew_and_uses_no_older_connection)
{
    struct server server;
    struct path ca = tls_path("ca.pem");
    demand = NOTHING;
    context_make("ours/server", TLS1_3_VERSION, OURS);
    file_copy(tls_path(OURS).text, ca.text);
    server_start(&server, serve_tls, ok_answer);
    for (int i = 0; i < 3; i++) {
        ck_assert_int_eq(call_with(server.port, "localhost", "ca.pem", NULL, false).answer.sent, MG_SENT_YES);
    }
    ck_assert_int_eq(atomic_load(&server.connections), 1);
    file_copy(tls_path("others/ca.pem").text, ca.text);
    ck_assert_int_eq(call_with(server.port, "localhost", "ca.pem", NULL, false).answer.sent, MG_SENT_YES);
    mg_http_client_reload(client, false);
    struct outcome outcome = call_with(server.port, "localhost", "ca.pem", NULL, false);
    ck_assert_int_eq(outcome.answer.sent, MG_SENT_NO);
    ck_assert_msg(strstr(outcome.answer.reason, "certificate") != NULL, "%s", outcome.answer.reason);
    file_copy(tls_path(OURS).text, ca.text);
    mg_http_client_reload(client, false);
    ck_assert_int_eq(call_with(server.port, "localhost", "ca.pem", NULL, false).answer.sent, MG_SENT_YES);
    mg_http_client_destroy(client);
    client = NULL;
    server_stop(&server);
}
END_TEST

/* Catches: one typing error that ends good connections, or that shows only when they are gone. */
START_TEST(reload_of_bad_files_keeps_connections_and_lets_no_new_one_be_made)
{
    struct server server;
    struct path ca = tls_path("ca.pem");
    demand = NOTHING;
    context_make("ours/server", TLS1_3_VERSION, OURS);
    file_copy(tls_path(OURS).text, ca.text);
    server_start(&server, serve_tls, ok_answer);
    int64_t since_ms = mg_clock_boot_ms();
    do { /* libcurl counts the age of parsed CAs in whole seconds: until then it keeps none */
        ck_assert_int_eq(call_with(server.port, "localhost", "ca.pem", NULL, true).answer.sent, MG_SENT_YES);
    } while (mg_clock_boot_ms() - since_ms < 2000);
    ck_assert_int_eq(call_with(server.port, "localhost", "ca.pem", NULL, false).answer.sent, MG_SENT_YES);
    int count = atomic_load(&server.connections);
    file_copy(tls_path("ours/server/key.pem").text, ca.text);
    mg_http_client_reload(client, true);
    ck_assert_int_eq(call_with(server.port, "localhost", "ca.pem", NULL, false).answer.sent, MG_SENT_YES);
    ck_assert_int_eq(atomic_load(&server.connections), count);
    struct outcome outcome = call_with(server.port, "localhost", "ca.pem", NULL, true);
    ck_assert_int_eq(outcome.answer.sent, MG_SENT_NO);
    ck_assert_msg(strstr(outcome.answer.reason, "ca.pem") != NULL, "%s", outcome.answer.reason);
    mg_http_client_destroy(client);
    client = NULL;
    server_stop(&server);
}
END_TEST

int main(void)
{
    tls_set_up();
    Suite *suite = suite_create("http_client_tls");
    TCase *cases = tcase_create("tls");
    tcase_add_checked_fixture(cases, set_up, tear_down);
    tcase_set_timeout(cases, 2.0 * GUARD_MS / 1000);
    tcase_add_loop_test(cases, refusals_are_distinguished_from_requests_that_were_seen, 0,
                        COUNT(cases_table));
    tcase_add_loop_test(cases, a_refusal_counts_though_the_server_hangs_up_at_once, 0, COUNT(refused_table));
    tcase_add_test(cases, reload_reads_files_anew_and_uses_no_older_connection);
    tcase_add_test(cases, reload_of_bad_files_keeps_connections_and_lets_no_new_one_be_made);
    suite_add_tcase(suite, cases);
    int code = run_suite(suite);
    SSL_CTX_free(context);
    tls_tear_down();
    return code;
}
