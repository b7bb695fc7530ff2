/*
 * TLS to RabbitMQ. librabbitmq opens the socket and moves the bytes, but OpenSSL's own functions set up its
 * context here. The library's name check does not handle addresses (before 0.12), it has no default trust,
 * and its only error text is "SSL error". With this set-up OpenSSL itself refuses a wrong certificate during
 * the handshake, so the refusal is in the broker's log too. OpenSSL's verdict on the certificate and the
 * broker's alert about ours are recorded as they happen (struct trace).
 *
 * Renegotiation is off: a write never waits for a read. OpenSSL and librabbitmq start up under locks of their
 * own; several threads may connect at once.
 */
#include "io/amqp/amqp_tls.h"

#include <arpa/inet.h>
#include <errno.h>
#include <openssl/crypto.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "io/tls/certificate_fault.h"

#ifdef MG_AMQP_HAS_OWN_FOLDER
#include <rabbitmq-c/ssl_socket.h>
#else
#include <amqp_ssl_socket.h>
#endif

#define HOST_SIZE 80
#define PATH_SIZE 120
#define TEXT_SIZE 480

/* Lives as long as its context. */
struct trace {
    const struct mg_broker_names *names;
    char host[HOST_SIZE], ca_file[PATH_SIZE], cert_file[PATH_SIZE]; /* for messages; may be cut */
    char refusal[TEXT_SIZE]; /* our reason against the broker's certificate; "": none */
    int alert;               /* the broker's last fatal alert; -1: none */
    bool is_cert_wanted;     /* the broker requested a certificate of ours */
};

static CRYPTO_ONCE trace_once = CRYPTO_ONCE_STATIC_INIT;
static int trace_index = -1;

static void trace_free(void *parent, void *trace, CRYPTO_EX_DATA *data, int index, long argl, void *argp)
{
    (void)parent;
    (void)data;
    (void)index;
    (void)argl;
    (void)argp;
    free(trace);
}

static void trace_start(void)
{
    trace_index = SSL_CTX_get_ex_new_index(0, NULL, NULL, NULL, trace_free);
}

static bool is_given(const char *path)
{
    return path != NULL && path[0] != '\0';
}

/* ---- files ---- */

const struct mg_broker_names *mg_broker_names_of(const struct mg_broker_address *address)
{
    static const struct mg_broker_names options = {"--amqp-ca-file", "--amqp-cert-file", "--amqp-key-file",
                                                   "--allow-plaintext"};
    return address->names != NULL ? address->names : &options;
}

static const char *last_reason(void)
{
    const char *reason = ERR_reason_error_string(ERR_peek_last_error());
    return reason == NULL ? "unknown" : reason;
}

static enum mg_class file_check(const char *option, const char *path, struct mg_err *err)
{
    FILE *file = fopen(path, "re");
    if (file == NULL) {
        return mg_err_set(err, MG_BAD_INPUT, "cannot read %s %s: %s", option, path, strerror(errno));
    }
    (void)fclose(file); /* read only: no data can be lost */
    return MG_OK;
}

/* Without it OpenSSL would ask for a passphrase on the terminal. */
static int passphrase_none(char *buffer, int size, int is_writing, void *arg)
{
    (void)buffer;
    (void)size;
    (void)is_writing;
    (void)arg;
    return -1;
}

static enum mg_class files_load_own(SSL_CTX *context, const struct mg_broker_address *address,
                                    struct mg_err *err)
{
    const struct mg_tls_files *files = &address->tls;
    const struct mg_broker_names *names = mg_broker_names_of(address);
    if (is_given(files->cert_file) != is_given(files->key_file)) {
        return mg_err_set(err, MG_BAD_INPUT, "cannot use %s alone: %s and %s go together",
                          is_given(files->cert_file) ? files->cert_file : files->key_file, names->cert_file,
                          names->key_file);
    }
    if (!is_given(files->cert_file)) {
        return MG_OK;
    }
    enum mg_class class = file_check(names->cert_file, files->cert_file, err);
    if (class == MG_OK) {
        class = file_check(names->key_file, files->key_file, err);
    }
    if (class != MG_OK) {
        return class;
    }
    SSL_CTX_set_default_passwd_cb(context, passphrase_none);
    if (SSL_CTX_use_certificate_chain_file(context, files->cert_file) != 1) {
        return mg_err_set(err, MG_BAD_INPUT, "cannot use %s %s: %s; it should hold a PEM certificate",
                          names->cert_file, files->cert_file, last_reason());
    }
    if (SSL_CTX_use_PrivateKey_file(context, files->key_file, SSL_FILETYPE_PEM) != 1) {
        return mg_err_set(err, MG_BAD_INPUT,
                          "cannot use %s %s: %s; it should hold the PEM key of %s, without a passphrase",
                          names->key_file, files->key_file, last_reason(), files->cert_file);
    }
    return MG_OK;
}

static enum mg_class files_load(SSL_CTX *context, const struct mg_broker_address *address, struct mg_err *err)
{
    const char *ca_file = address->tls.ca_file, *name = mg_broker_names_of(address)->ca_file;
    ERR_clear_error();
    if (!is_given(ca_file)) {
        if (SSL_CTX_set_default_verify_paths(context) != 1) {
            return mg_err_set(err, MG_TRANSIENT, "could not read the system's CA certificates: %s",
                              last_reason());
        }
        return files_load_own(context, address, err);
    }
    enum mg_class class = file_check(name, ca_file, err);
    if (class != MG_OK) {
        return class;
    }
    if (SSL_CTX_load_verify_locations(context, ca_file, NULL) != 1) {
        return mg_err_set(err, MG_BAD_INPUT, "cannot use %s %s: %s; it should hold PEM certificates", name,
                          ca_file, last_reason());
    }
    return files_load_own(context, address, err);
}

enum mg_class mg_tls_check_files(const struct mg_broker_address *address, struct mg_err *err)
{
    SSL_CTX *context = SSL_CTX_new(TLS_client_method());
    if (context == NULL) {
        return mg_err_set(err, MG_TRANSIENT, "could not check certificates: no memory");
    }
    enum mg_class class = files_load(context, address, err);
    SSL_CTX_free(context);
    ERR_clear_error(); /* otherwise the thread's next caller takes them for its own */
    return class;
}

/* ---- recording the handshake ---- */

static struct trace *trace_of(const SSL *ssl)
{
    return SSL_CTX_get_ex_data(SSL_get_SSL_CTX(ssl), trace_index);
}

static int on_verify(int is_good, X509_STORE_CTX *store)
{
    if (is_good == 1) {
        return 1;
    }
    const SSL *ssl = X509_STORE_CTX_get_ex_data(store, SSL_get_ex_data_X509_STORE_CTX_idx());
    struct trace *trace = trace_of(ssl);
    const struct mg_tls_words words = {"broker", trace->host, trace->ca_file, trace->names->ca_file};
    mg_tls_judge(store, &words, trace->refusal, sizeof(trace->refusal));
    return 0;
}

static int on_cert_wanted(SSL *ssl, void *arg)
{
    (void)arg;
    trace_of(ssl)->is_cert_wanted = true;
    return 1;
}

static void on_info(const SSL *ssl, int where, int value)
{
    bool is_fatal = (value >> 8) == SSL3_AL_FATAL;
    if (where == SSL_CB_READ_ALERT && is_fatal) {
        trace_of(ssl)->alert = value & 0xff;
    }
}

/* ---- the socket ---- */

static bool context_expect_host(SSL_CTX *context, const char *host)
{
    X509_VERIFY_PARAM *expected = SSL_CTX_get0_param(context);
    struct in6_addr address; /* room for either kind */
    if (inet_pton(AF_INET, host, &address) == 1 || inet_pton(AF_INET6, host, &address) == 1) {
        return X509_VERIFY_PARAM_set1_ip_asc(expected, host) == 1;
    }
    X509_VERIFY_PARAM_set_hostflags(expected, X509_CHECK_FLAG_NO_PARTIAL_WILDCARDS);
    return X509_VERIFY_PARAM_set1_host(expected, host, 0) == 1;
}

enum mg_class mg_tls_socket_create(amqp_connection_state_t connection,
                                   const struct mg_broker_address *address, const char *host,
                                   amqp_socket_t **ret_socket, struct mg_err *err)
{
    const struct mg_tls_files *files = &address->tls;
    (void)CRYPTO_THREAD_run_once(&trace_once, trace_start);
    amqp_socket_t *socket = amqp_ssl_socket_new(connection);
    struct trace *trace = socket == NULL ? NULL : calloc(1, sizeof(*trace));
    SSL_CTX *context = socket == NULL ? NULL : amqp_ssl_socket_get_context(socket);
    if (trace == NULL || trace_index < 0 || SSL_CTX_set_ex_data(context, trace_index, trace) != 1) {
        free(trace);
        return mg_err_set(err, MG_TRANSIENT, "no memory for TLS");
    }
    trace->names = mg_broker_names_of(address);
    trace->alert = -1;
    (void)snprintf(trace->host, sizeof(trace->host), "%s", host);
    (void)snprintf(trace->ca_file, sizeof(trace->ca_file), "%s",
                   is_given(files->ca_file) ? files->ca_file : "");
    (void)snprintf(trace->cert_file, sizeof(trace->cert_file), "%s",
                   is_given(files->cert_file) ? files->cert_file : "");
    SSL_CTX_set_verify(context, SSL_VERIFY_PEER, on_verify);
    SSL_CTX_set_info_callback(context, on_info);
    SSL_CTX_set_cert_cb(context, on_cert_wanted, NULL);
    (void)SSL_CTX_set_options(context, SSL_OP_NO_RENEGOTIATION);
    if (SSL_CTX_set_min_proto_version(context, TLS1_2_VERSION) != 1 || !context_expect_host(context, host)) {
        return mg_err_set(err, MG_TRANSIENT, "could not set up TLS: %s", last_reason());
    }
    amqp_ssl_socket_set_verify_peer(socket, 1);
    amqp_ssl_socket_set_verify_hostname(socket, 0); /* OpenSSL has checked the name, addresses included */
    enum mg_class class = files_load(context, address, err);
    if (class == MG_BAD_INPUT) {
        class = err->class = MG_PERMANENT; /* they were good when the service started */
    }
    if (class == MG_OK) {
        *ret_socket = socket;
    }
    return class;
}

/* ---- failures ---- */

/* The broker refused our certificate. In TLS 1.3 it judges after our side of the handshake is done. Its alert
 * can be lost when it closes with unread bytes of ours: then `alert` is "". */
static enum mg_class explain_own(const SSL_CTX *context, const struct trace *trace, const char *alert,
                                 struct mg_err *err)
{
    const X509 *own = SSL_CTX_get0_certificate(context);
    const char *colon = alert[0] == '\0' ? "" : ": ";
    if (own == NULL) {
        return mg_err_set(err, MG_PERMANENT,
                          "the broker requires a client certificate, and there is none%s%s; give %s and %s",
                          colon, alert, trace->names->cert_file, trace->names->key_file);
    }
    char to[MG_TLS_TIME_SIZE];
    mg_tls_write_time(X509_get0_notAfter(own), to);
    bool is_expired = X509_cmp_current_time(X509_get0_notAfter(own)) < 0;
    return mg_err_set(
        err, MG_PERMANENT, "the broker refuses our certificate %s, which %s %s%s%s; %s", trace->cert_file,
        is_expired ? "expired on" : "is good until", to, colon, alert,
        is_expired ? "renew it"
                   : "it must come from a CA that the broker trusts; the reason is in the broker's log");
}

static enum mg_class explain_alert(const SSL_CTX *context, const struct trace *trace, struct mg_err *err)
{
    const char *alert = trace->alert == SSL_AD_CERTIFICATE_REQUIRED
                            ? "certificate required" /* OpenSSL 3.0 has no text for it */
                            : SSL_alert_desc_string_long(trace->alert);
    if (trace->alert == SSL_AD_PROTOCOL_VERSION) {
        return mg_err_set(err, MG_PERMANENT, "the broker supports neither TLS 1.2 nor 1.3 (its alert: %s)",
                          alert);
    }
    if (trace->is_cert_wanted) {
        return explain_own(context, trace, alert, err);
    }
    return mg_err_set(err, MG_PERMANENT, "the broker ended TLS with the alert: %s", alert);
}

enum mg_class mg_tls_failure(amqp_connection_state_t connection, int status, bool is_login,
                             struct mg_err *err)
{
    const SSL_CTX *context = amqp_ssl_socket_get_context(amqp_get_socket(connection));
    const struct trace *trace = SSL_CTX_get_ex_data(context, trace_index);
    if (trace->refusal[0] != '\0') {
        return mg_err_set(err, MG_PERMANENT, "%s", trace->refusal);
    }
    if (trace->alert >= 0) {
        return explain_alert(context, trace, err);
    }
    if (status != AMQP_STATUS_SSL_ERROR && status != AMQP_STATUS_SSL_CONNECTION_FAILED) {
        return MG_OK;
    }
    unsigned long code = ERR_peek_last_error();
    int reason = ERR_GET_LIB(code) == ERR_LIB_SSL ? ERR_GET_REASON(code) : 0;
    if (reason == SSL_R_WRONG_VERSION_NUMBER || reason == SSL_R_HTTP_REQUEST) {
        return mg_err_set(
            err, MG_PERMANENT,
            "the port does not use TLS; RabbitMQ's port for amqps:// is 5671, 5672 is for amqp://");
    }
    if (reason == SSL_R_UNEXPECTED_EOF_WHILE_READING || code == 0) {
        return is_login && trace->is_cert_wanted
                   ? explain_own(context, trace, "", err)
                   : mg_err_set(err, MG_TRANSIENT, "the other side closed the connection");
    }
    return mg_err_set(err, MG_TRANSIENT, "TLS failed: %s", last_reason());
}
