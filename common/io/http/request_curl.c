/*
 * One HTTP call for libcurl: method, URL, headers and body, the rules of every call, and the callbacks that
 * count its bytes.
 *
 * libcurl must be kept from one thing. If a kept connection dies before the first byte of an answer, it
 * silently sends the request again, a POST too. The remote may have executed the first. The pre-request
 * callback runs last before a send. It lets a second send pass only if the first put no byte on the wire.
 */
#include <ctype.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/clock.h"
#include "io/http/curl.h"

#define LENGTH_TEXT_SIZE 64 /* a length has up to 19 digits; a proxy may repeat it */

/* ---- one call and libcurl ---- */

bool mg_http_call_has_sent(const struct mg_http_call *call)
{
    long bytes = 0;
    if (call->sends == 0) {
        return false;
    }
    if (curl_easy_getinfo(call->easy, CURLINFO_REQUEST_SIZE, &bytes) != CURLE_OK) {
        return true;
    }
    /* For TLS libcurl counts whole records only: zero does not prove that no byte left. */
    return bytes > 0 || !call->is_plain_http;
}

/* Alerts by which a server refuses a client's certificate (RFC 8446 §6.2). */
static bool is_certificate_alert(int alert)
{
    static const unsigned char alerts[] = {40,   /* handshake_failure */
                                           42,   /* bad_certificate */
                                           43,   /* unsupported_certificate */
                                           44,   /* certificate_revoked */
                                           45,   /* certificate_expired */
                                           46,   /* certificate_unknown */
                                           48,   /* unknown_ca */
                                           49,   /* access_denied */
                                           51,   /* decrypt_error */
                                           116}; /* certificate_required */
    for (size_t i = 0; i < sizeof(alerts); i++) {
        if (alerts[i] == alert) {
            return true;
        }
    }
    return false;
}

/* ---- the server's last TLS alert ---- */

/* The fatal alert of a connection is stored in its SSL_CTX. libcurl makes one SSL_CTX for each connection;
 * the call that caused it holds a reference. So a kept connection never points to an ended call, and a call
 * on a kept connection has no SSL_CTX. */
#define TLS13_MARK 0x100 /* set with the alert: the connection uses TLS 1.3 */

/* The index of the alert in an SSL_CTX; below 0: none. */
static int alert_place(void)
{
    static int place = -1;
    if (place < 0) {
        place = SSL_CTX_get_ex_new_index(0, NULL, NULL, NULL, NULL);
    }
    return place;
}

static void on_tls_event(const SSL *ssl, int where, int value)
{
    if (where != SSL_CB_READ_ALERT || value >> 8 != SSL3_AL_FATAL) {
        return;
    }
    uintptr_t mark = SSL_version(ssl) == TLS1_3_VERSION ? TLS13_MARK : 0;
    (void)SSL_CTX_set_ex_data(SSL_get_SSL_CTX(ssl), alert_place(), (void *)(mark | (value & 0xff)));
}

/* Alert and mark; 0: no alert, or none on this call's own connection. */
static int call_alert(const struct mg_http_call *call)
{
    return call->tls ? (int)(uintptr_t)SSL_CTX_get_ex_data(call->tls, alert_place()) : 0;
}

/* A client of TLS 1.3 sends its certificate and its request together, and the server reads them in this
 * order. It has no key for the request until it has accepted the certificate (RFC 8446 §4.4.4). So a fatal
 * alert about the certificate, as the first message on a new connection, proves that the server did not read
 * the request. Post-handshake authentication would break this proof; on_tls_context switches it off. In TLS
 * 1.2 a server may ask for a certificate again after the request. One that refuses it earlier leaves no
 * connection to send on.
 *
 * libcurl's own result and text are weaker. A server that closes with the request unread resets the
 * connection, and libcurl's first failure then may be anything but the alert. The alert came earlier, and is
 * read when libcurl closes its side. libcurl must do so before it reports the end; hence a connection is kept
 * only after an answer has come over it. */
bool mg_http_call_is_refused_by_tls(const struct mg_http_call *call)
{
    int alert = call_alert(call);
    return call->sends == 1 && call->header_bytes == 0 && (alert & TLS13_MARK) != 0 &&
           is_certificate_alert(alert & 0xff);
}

const char *mg_http_call_alert_text(const struct mg_http_call *call)
{
    int alert = call_alert(call) & 0xff;
    return alert != 0 ? ERR_reason_error_string(ERR_PACK(ERR_LIB_SSL, 0, SSL_AD_REASON_OFFSET + alert))
                      : NULL;
}

void mg_http_call_leave_tls(struct mg_http_call *call)
{
    SSL_CTX_free(call->tls);
    call->tls = NULL;
}

static CURLcode on_tls_context(CURL *easy, void *context, void *arg)
{
    (void)easy;
    struct mg_http_call *call = arg;
    /* libcurl offers post-handshake authentication; a server that uses it may have read the request
     * before. */
    SSL_CTX_set_post_handshake_auth(context, 0);
    mg_http_call_leave_tls(call);
    /* An alert on a connection made after the send proves nothing about the one that carried the request. */
    if (call->sends > 0 || SSL_CTX_up_ref(context) != 1) {
        return CURLE_OK;
    }
    call->tls = context;
    SSL_CTX_set_info_callback(context, on_tls_event);
    return CURLE_OK;
}

/* Whether the call has a connection that an earlier call made. */
static bool is_kept(const struct mg_http_call *call)
{
    long made = 0;
    return curl_easy_getinfo(call->easy, CURLINFO_NUM_CONNECTS, &made) == CURLE_OK && made == 0;
}

/* The last moment before a send, on an established connection. */
static int on_before_send(void *arg, char *remote_ip, char *local_ip, int remote_port, int local_port)
{
    (void)remote_ip, (void)local_ip, (void)remote_port;
    struct mg_http_call *call = arg;
    if (mg_http_call_has_sent(call)) {
        call->is_resend = true;
        return CURL_PREREQFUNC_ABORT;
    }
    if (mg_clock_boot_ms() >= call->deadline_boot_ms) {
        call->is_late = true;
        return CURL_PREREQFUNC_ABORT;
    }
    if (is_kept(call) && !mg_http_sockets_are_clean(&call->pool->sockets, local_port)) {
        call->is_unclean = true;
        return CURL_PREREQFUNC_ABORT;
    }
    call->sends++;
    return CURL_PREREQFUNC_OK;
}

static size_t on_body(char *data, size_t size, size_t count, void *arg)
{
    struct mg_http_call *call = arg;
    size_t len = size * count; /* libcurl: size is always 1 */
    if (!mg_http_room_take(call, len)) {
        return CURL_WRITEFUNC_PAUSE;
    }
    mg_buf_append(&call->answer_body, data, len);
    if (!call->answer_body.failed) {
        return len;
    }
    call->is_body_over = true;
    return 0;
}

/* Three digits end a status (RFC 9112, 4). Some versions of libcurl read more of them, others their
 * beginning. */
static bool has_status(const char *line, size_t len)
{
    const char *status = memchr(line, ' ', len);
    size_t digits = 0;
    while (status != NULL && status + 1 + digits < line + len && isdigit((unsigned char)status[1 + digits])) {
        digits++;
    }
    return digits == 3;
}

/* Several lengths count if all are the same (RFC 9110, 8.6). libcurl takes the last one, and of a list the
 * first. */
static void note_length(struct mg_http_call *call, const char *value, size_t len)
{
    char text[LENGTH_TEXT_SIZE], *rest = text, *end;
    if (len >= sizeof(text)) {
        call->is_length_bad = true;
        return;
    }
    memcpy(text, value, len);
    text[len] = '\0';
    for (char *word; (word = strsep(&rest, ", \t\r\n")) != NULL;) {
        if (*word != '\0') {
            long long length = strtoll(word, &end, 10);
            call->is_length_bad =
                call->is_length_bad || *end != '\0' || (call->length >= 0 && call->length != length);
            call->length = length;
        }
    }
    if (call->is_length_bad) { /* bytes beyond one of the lengths may follow */
        (void)curl_easy_setopt(call->easy, CURLOPT_FORBID_REUSE, 1L);
    }
}

/* Gets each line, of interim answers and trailers too; newer libcurl also passes on the beginning of a line
 * with which the connection ends. libcurl treats a head that ends with its connection as whole, so the empty
 * line is checked here. */
static size_t on_header(char *data, size_t size, size_t count, void *arg)
{
    static const char status_line[] = "HTTP/", length_name[] = "Content-Length:";
    const size_t name_len = sizeof(length_name) - 1;
    struct mg_http_call *call = arg;
    size_t len = size * count;
    if (len > 0 && (data[0] == '\r' || data[0] == '\n')) {
        call->is_head_whole = data[len - 1] == '\n';
    } else if (len > sizeof(status_line) && strncasecmp(data, status_line, sizeof(status_line) - 1) == 0) {
        call->is_head_whole = false;
        call->is_status_bad = !has_status(data, len);
        call->is_length_bad = false;
        call->length = -1;
    } else if (len > name_len && !call->is_head_whole && strncasecmp(data, length_name, name_len) == 0) {
        note_length(call, data + name_len, len - name_len);
    }
    if (call->header_bytes == 0 && call->keeps_connection) {
        (void)curl_easy_setopt(call->easy, CURLOPT_FORBID_REUSE, 0L);
    }
    call->header_bytes += len;
    if (call->header_bytes <= call->client->options.max_header_bytes) {
        return len;
    }
    call->is_headers_over = true;
    return 0;
}

/* ---- starting a call ---- */

/* RFC 9110 §5.6.2 */
static size_t token_len(const char *text)
{
    size_t len = 0;
    while (text[len] && (isalnum((unsigned char)text[len]) || strchr("!#$%&'*+-.^_`|~", text[len]))) {
        len++;
    }
    return len;
}

/* Appends one header. For libcurl "Name:" removes a header, and "Name;" sends an empty value. */
static bool headers_add(struct curl_slist **headers, const char *line)
{
    struct curl_slist *grown = curl_slist_append(*headers, line);
    if (grown) {
        *headers = grown;
    }
    return grown != NULL;
}

static enum mg_class call_set_headers(struct mg_http_call *call, const struct mg_http_request *request,
                                      struct mg_err *err)
{
    static const char content_type[] = "Content-Type";
    bool has_type = false, is_taken = true;
    for (int i = 0; request->headers && request->headers[i]; i++) {
        const char *line = request->headers[i];
        size_t name_len = token_len(line);
        if (name_len == 0 || line[name_len] != ':') {
            return mg_err_set(err, MG_BAD_INPUT, "could not start %s: header %d is not \"Name: value\"",
                              request->method, i + 1);
        }
        for (const char *c = line; *c; c++) {
            if (((unsigned char)*c < 0x20 && *c != '\t') || *c == 0x7f) {
                return mg_err_set(err, MG_BAD_INPUT,
                                  "could not start %s: header %.*s holds a control character",
                                  request->method, (int)name_len, line);
            }
        }
        if (name_len == sizeof(content_type) - 1 && strncasecmp(line, content_type, name_len) == 0) {
            has_type = true;
        }
        const char *value = line + name_len + 1;
        if (value[strspn(value, " \t")] == '\0') {
            char *empty = strndup(line, name_len + 1);
            if (empty) {
                empty[name_len] = ';';
            }
            is_taken = empty && headers_add(&call->headers, empty) && is_taken;
            free(empty);
        } else {
            is_taken = headers_add(&call->headers, line) && is_taken;
        }
    }
    /* No wait for "100 Continue", and no default content type. */
    is_taken = headers_add(&call->headers, "Expect:") && is_taken;
    if (!has_type) {
        is_taken = headers_add(&call->headers, "Content-Type:") && is_taken;
    }
    if (!is_taken || curl_easy_setopt(call->easy, CURLOPT_HTTPHEADER, call->headers) != CURLE_OK) {
        return mg_err_set(err, MG_TRANSIENT, "could not start %s: no memory for headers", request->method);
    }
    return MG_OK;
}

static enum mg_class call_set_url(struct mg_http_call *call, const struct mg_http_request *request,
                                  struct mg_err *err)
{
    char *scheme = NULL;
    call->url = curl_url();
    if (!call->url) {
        return mg_err_set(err, MG_TRANSIENT, "could not start %s: no memory", request->method);
    }
    /* Sent unchanged: "/a/../b" squashed here would be another resource than the checked one. */
    CURLUcode code =
        curl_url_set(call->url, CURLUPART_URL, request->url, CURLU_PATH_AS_IS | CURLU_DISALLOW_USER);
    if (code == CURLUE_OK) {
        code = curl_url_get(call->url, CURLUPART_SCHEME, &scheme, 0);
    }
    if (code != CURLUE_OK) {
        return mg_err_set(err, code == CURLUE_OUT_OF_MEMORY ? MG_TRANSIENT : MG_BAD_INPUT,
                          "could not start %s: URL cannot be used: %s", request->method,
                          curl_url_strerror(code));
    }
    call->is_plain_http = strcmp(scheme, "http") == 0;
    bool is_known = call->is_plain_http || strcmp(scheme, "https") == 0;
    curl_free(scheme);
    if (!is_known) {
        return mg_err_set(err, MG_BAD_INPUT, "could not start %s: URL must begin with http:// or https://",
                          request->method);
    }
    if (curl_easy_setopt(call->easy, CURLOPT_CURLU, call->url) != CURLE_OK) {
        return mg_err_set(err, MG_TRANSIENT, "could not start %s: no memory for the URL", request->method);
    }
    return MG_OK;
}

static enum mg_class call_set_body(struct mg_http_call *call, const struct mg_http_request *request,
                                   struct mg_err *err)
{
    CURL *easy = call->easy;
    const char *method = request->method;
    size_t method_len = token_len(method);
    if (method_len == 0 || method[method_len] != '\0') {
        return mg_err_set(err, MG_BAD_INPUT, "could not start a call: method is not a word of RFC 9110");
    }
    call->is_head_only = strcmp(method, "HEAD") == 0;
    if (call->is_head_only && request->body.data) {
        return mg_err_set(err, MG_BAD_INPUT, "could not start HEAD: it cannot carry a body");
    }
    /* With these methods servers require a length, even for an empty body. */
    bool has_length = request->body.data || strcmp(method, "POST") == 0 || strcmp(method, "PUT") == 0 ||
                      strcmp(method, "PATCH") == 0;
    bool is_set = true;
    if (call->is_head_only) {
        is_set = curl_easy_setopt(easy, CURLOPT_NOBODY, 1L) == CURLE_OK;
    }
    if (has_length) {
        call->body_len = request->body.len;
        call->body = malloc(request->body.len + 1);
        if (!call->body) {
            return mg_err_set(err, MG_TRANSIENT, "could not start %s: no memory for the body", method);
        }
        if (request->body.len > 0) {
            memcpy(call->body, request->body.data, request->body.len);
        }
        is_set =
            curl_easy_setopt(easy, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)request->body.len) == CURLE_OK &&
            curl_easy_setopt(easy, CURLOPT_POSTFIELDS, call->body) == CURLE_OK;
    }
    if (!is_set || curl_easy_setopt(easy, CURLOPT_CUSTOMREQUEST, method) != CURLE_OK) {
        return mg_err_set(err, MG_TRANSIENT, "could not start %s: no memory for the request", method);
    }
    return MG_OK;
}

static long as_long(int64_t value)
{
    return value > INT32_MAX ? INT32_MAX : (long)value;
}

/* libcurl's own default: CAs are not parsed for each connection, and new ones apply within a day. */
#define CA_CACHE_MAX_S (24 * 3600)

#define SET(option, value) is_set = curl_easy_setopt(easy, option, value) == CURLE_OK && is_set

static bool call_set_certificates(CURL *easy, const struct mg_http_request *request)
{
    bool is_set = true;
    if (request->ca_file) {
        SET(CURLOPT_CAINFO, request->ca_file);
        SET(CURLOPT_CAPATH, NULL); /* else a libcurl built so would trust the system's CAs too */
    }
    if (request->client_cert_file) {
        SET(CURLOPT_SSLCERT, request->client_cert_file);
    }
    if (request->client_key_file) {
        SET(CURLOPT_SSLKEY, request->client_key_file);
    }
    return is_set;
}

/* The rules of every call. */
static bool call_set_rules(struct mg_http_call *call, const struct mg_http_request *request)
{
    const struct mg_http_client *client = call->client;
    const struct mg_http_client_options *options = &client->options;
    CURL *easy = call->easy;
    /* libcurl counts whole seconds and keeps a connection through the current one. */
    int64_t keep_s = options->idle_connection_ms / 1000 - 1;
    /* Nothing older than the last reload is used: neither parsed CAs nor, after a renewal, connections.
     * libcurl counts their ages in whole seconds, hence one less. */
    const int64_t now_ms = mg_clock_boot_ms();
    int64_t read_ago_s = (now_ms - client->read_boot_ms) / 1000;
    bool is_renewed = client->renewed_boot_ms != 0;
    int64_t moved_within_ms =
        options->moved_within_ms > 0 ? options->moved_within_ms : MG_HTTP_MOVED_WITHIN_MS;
    int64_t name_s = moved_within_ms / 2 / 1000 - 1;
    int64_t life_s =
        is_renewed ? (now_ms - client->renewed_boot_ms) / 1000 - 1 : name_s; /* of a connection */
    bool is_fresh = request->is_fresh || keep_s < 1 || life_s < 1;
    bool is_set = call_set_certificates(easy, request);
    SET(CURLOPT_PRIVATE, call);
    SET(CURLOPT_ERRORBUFFER, call->error_text);
    SET(CURLOPT_NOSIGNAL, 1L);
    SET(CURLOPT_PREREQFUNCTION, on_before_send);
    SET(CURLOPT_PREREQDATA, call);
    SET(CURLOPT_WRITEFUNCTION, on_body);
    SET(CURLOPT_WRITEDATA, call);
    SET(CURLOPT_HEADERFUNCTION, on_header);
    SET(CURLOPT_HEADERDATA, call);
    SET(CURLOPT_TIMEOUT_MS, as_long(call->timeout_ms));
    SET(CURLOPT_CONNECTTIMEOUT_MS, as_long(options->connect_timeout_ms));
    SET(CURLOPT_HTTP_VERSION, (long)CURL_HTTP_VERSION_1_1); /* libcurl re-sends after some HTTP/2 refusals */
    SET(CURLOPT_PROTOCOLS_STR, "http,https");
    SET(CURLOPT_FOLLOWLOCATION, 0L);
    /* Otherwise http_proxy and no_proxy of the environment apply. */
    SET(CURLOPT_PROXY, request->proxy ? request->proxy : "");
    SET(CURLOPT_NOPROXY, "");
    SET(CURLOPT_SUPPRESS_CONNECT_HEADERS, 1L); /* the proxy's answer to CONNECT is not the remote's */
    SET(CURLOPT_NETRC, (long)CURL_NETRC_IGNORED);
    SET(CURLOPT_ACCEPT_ENCODING, "identity"); /* any coding that comes nevertheless is decoded */
    SET(CURLOPT_USERAGENT, "makegood/" MG_VERSION);
    SET(CURLOPT_SSLVERSION, (long)CURL_SSLVERSION_TLSv1_2);
    SET(CURLOPT_FRESH_CONNECT, is_fresh ? 1L : 0L);
    SET(CURLOPT_FORBID_REUSE, 1L); /* until an answer comes: failed ones are closed, see on_header */
    call->keeps_connection = !is_fresh;
    SET(CURLOPT_DNS_CACHE_TIMEOUT, as_long(name_s));
    if (!is_fresh) {
        SET(CURLOPT_MAXAGE_CONN, as_long(keep_s));
        SET(CURLOPT_MAXLIFETIME_CONN, as_long(life_s < name_s ? life_s : name_s));
    }
    /* A resumed session would skip the check of the server against the latest files. */
    SET(CURLOPT_SSL_SESSIONID_CACHE, 0L);
    if (client->is_openssl) {
        SET(CURLOPT_SSL_CTX_FUNCTION, on_tls_context);
        SET(CURLOPT_SSL_CTX_DATA, call);
    }
#if LIBCURL_VERSION_NUM >= 0x075700
    SET(CURLOPT_CA_CACHE_TIMEOUT, as_long(read_ago_s < CA_CACHE_MAX_S ? read_ago_s : CA_CACHE_MAX_S));
    SET(CURLOPT_QUICK_EXIT, 1L); /* a cancel must not wait for the thread that resolves the name */
#endif
#undef SET
    return is_set;
}

enum mg_class mg_http_call_configure(struct mg_http_call *call, const struct mg_http_request *request,
                                     struct mg_err *err)
{
    struct mg_http_client *client = call->client;
    call->easy = client->spare_count > 0 ? client->spare[--client->spare_count] : curl_easy_init();
    if (!call->easy || !call_set_rules(call, request)) {
        return mg_err_set(err, MG_TRANSIENT, "could not start %s: no memory for a call", request->method);
    }
    enum mg_class class = call_set_body(call, request, err);
    if (class == MG_OK) {
        class = call_set_url(call, request, err);
    }
    if (class == MG_OK) {
        class = call_set_headers(call, request, err);
    }
    return class;
}
