/*
 * The requests of the HTTP server. Probes are answered by http/probe_mhd.c; others go to the service's
 * handler once they are whole. libmicrohttpd polls for an answer. So a connection is suspended while its
 * answer is still to come, and a stream's while it has nothing to send.
 *
 * A request lives from its headers until libmicrohttpd reports its completion, after its answer or at the end
 * of the daemon. While a connection is suspended, only mg_http_exchange_is_hung_up detects a client that
 * hangs up.
 */
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/host.h"
#include "io/http/mhd.h"

#define WORD_SIZE          33 /* of a client, quoted in a refusal */
#define FAULT_SIZE         128
#define STREAM_BLOCK_BYTES 8192 /* requested from a stream at once; fits into the connection's memory */

struct mg_http_stream {
    struct mg_http_exchange *request;
    struct mg_buf unsent;
    size_t sent;     /* bytes of it that are already on their way */
    bool is_open;    /* `closed` has not been called yet */
    bool is_resting; /* suspended, since it has no bytes */
    bool is_cut;     /* its client was too slow */
    bool is_ended;   /* no further write */
    void (*closed)(void *arg);
    void *arg;
};

struct mg_http_exchange {
    LIST_ENTRY(mg_http_exchange) entry; /* in its daemon */
    struct mg_http_daemon *daemon;
    struct MHD_Connection *connection;
    const char *method, *path;         /* owned by libmicrohttpd, for the request's life */
    char authority[MG_HOST_NAME_SIZE]; /* of a target in absolute form; "": none */
    struct mg_http_trim *trims;
    struct mg_buf body;
    size_t received;               /* bytes of the body, the dropped ones too */
    size_t body_held, unsent_held; /* as they are counted in the server */
    bool is_handled, is_answered, is_suspended;
    bool is_in_pieces, is_whole; /* of the body */
    bool is_read;                /* to its end */
    enum mg_http_next (*piece)(void *arg, struct mg_slice bytes);
    void (*whole)(void *arg);
    void *body_arg;
    size_t answer_len;
    struct MHD_Response *response; /* answered from within the handler, not yet queued */
    unsigned int status;
    void (*gone)(void *arg);
    void *arg;
    struct mg_http_stream stream;
};

/* ---- requests ---- */

static size_t body_max(const struct mg_http_server *server)
{
    return server->options.body_max > 0 ? server->options.body_max : MG_HTTP_BODY_MAX;
}

static struct mg_http_exchange *request_create(struct mg_http_daemon *daemon,
                                               struct MHD_Connection *connection, const char *path,
                                               const char *method)
{
    struct mg_http_exchange *request = calloc(1, sizeof(*request));
    if (!request || !mg_http_trims_make(connection, &request->trims)) {
        if (request) {
            mg_http_trims_free(request->trims);
        }
        free(request);
        return NULL;
    }
    request->daemon = daemon;
    request->connection = connection;
    request->path = path;
    request->method = method;
    mg_buf_init(&request->body, body_max(daemon->server));
    mg_buf_init(&request->stream.unsent, MG_HTTP_STREAM_UNSENT_MAX);
    request->stream.request = request;
    LIST_INSERT_HEAD(&daemon->exchanges, request, entry);
    return request;
}

/* ---- memory ---- */

/* Call it whenever the body or the stream has other bytes. */
static void held_count(struct mg_http_exchange *request)
{
    struct mg_http_server *server = request->daemon->server;
    size_t unsent = request->answer_len + mg_http_stream_unsent(&request->stream);
    server->body_bytes = server->body_bytes - request->body_held + request->body.len;
    server->unsent_bytes = server->unsent_bytes - request->unsent_held + unsent;
    request->body_held = request->body.len;
    request->unsent_held = unsent;
    if (server->options.held) {
        mg_metric_set(server->options.held, (double)(server->body_bytes + server->unsent_bytes));
    }
}

static bool has_room(const struct mg_http_server *server, uint64_t body_len)
{
    size_t max = server->options.bodies_max;
    return max == 0 || (server->body_bytes < max && body_len <= max - server->body_bytes);
}

/* Whether what clients have not read yet has no room for these bytes, of a request that has more than its
 * even part. */
static bool is_crowded(const struct mg_http_exchange *request, size_t len)
{
    const struct mg_http_server *server = request->daemon->server;
    size_t max = server->options.unsent_max;
    return max > 0 && server->unsent_bytes + len > max &&
           request->unsent_held + len > max / server->handled_max;
}

/* Calls the callbacks that are still open. */
static void request_end(struct mg_http_exchange *request)
{
    struct mg_http_stream *stream = &request->stream;
    void (*gone)(void *) = request->is_handled && !request->is_answered ? request->gone : NULL;
    request->gone = NULL;
    request->is_answered = true;
    if (gone) {
        gone(request->arg);
    }
    if (stream->is_open) {
        stream->is_open = false;
        if (stream->closed) {
            stream->closed(stream->arg);
        }
    }
}

static void request_resume(struct mg_http_exchange *request)
{
    MHD_resume_connection(request->connection);
    request->is_suspended = request->stream.is_resting = false;
    mg_idle_arm(request->daemon->idle);
}

void mg_http_exchanges_end(struct mg_http_daemon *daemon)
{
    struct mg_http_exchange *request;
    LIST_FOREACH(request, &daemon->exchanges, entry)
    {
        request_end(request);
        if (request->is_suspended || request->stream.is_resting) {
            request_resume(request);
        }
    }
}

void mg_http_on_completed(void *arg, struct MHD_Connection *connection, void **request_arg,
                          enum MHD_RequestTerminationCode why)
{
    struct mg_http_exchange *request = *request_arg;
    mg_http_place_set(connection, MG_HTTP_IDLE);
    if (why == MHD_REQUEST_TERMINATED_COMPLETED_OK) {
        (void)MHD_set_connection_option(connection, MHD_CONNECTION_OPTION_TIMEOUT,
                                        mg_http_library_timeout_s(((struct mg_http_daemon *)arg)->server));
    }
    if (!request) {
        return;
    }
    request_end(request);
    LIST_REMOVE(request, entry);
    if (request->response) {
        MHD_destroy_response(request->response);
    }
    mg_buf_finish(&request->body);
    mg_buf_finish(&request->stream.unsent);
    request->stream.sent = request->answer_len = 0;
    held_count(request);
    mg_http_trims_free(request->trims);
    free(request);
    *request_arg = NULL;
}

/* The bytes of a body with a length; 0: it has none. The library has checked that it is a number. */
static uint64_t body_len(struct MHD_Connection *connection)
{
    const char *text =
        MHD_lookup_connection_value(connection, MHD_HEADER_KIND, MHD_HTTP_HEADER_CONTENT_LENGTH);
    return text ? strtoull(text, NULL, 10) : 0;
}

bool mg_http_has_body(struct MHD_Connection *connection)
{
    return body_len(connection) > 0 || MHD_lookup_connection_value(connection, MHD_HEADER_KIND,
                                                                   MHD_HTTP_HEADER_TRANSFER_ENCODING) != NULL;
}

struct name_count {
    const char *name;
    unsigned int count;
};

static enum MHD_Result on_name(void *arg, enum MHD_ValueKind kind, const char *name, const char *value)
{
    (void)kind, (void)value;
    struct name_count *names = arg;
    names->count += strcasecmp(name, names->name) == 0; /* as the library's look-ups compare */
    return MHD_YES;
}

static unsigned int names_count(struct MHD_Connection *connection, enum MHD_ValueKind kind, const char *name)
{
    struct name_count names = {.name = name};
    (void)MHD_get_connection_values(connection, kind, on_name, &names);
    return names.count;
}

/* RFC 9112 section 6.3: a proxy in between may see another end of such a body, and take the rest for the next
 * request. */
static bool is_length_ambiguous(struct MHD_Connection *connection)
{
    unsigned int lengths = names_count(connection, MHD_HEADER_KIND, MHD_HTTP_HEADER_CONTENT_LENGTH);
    unsigned int codings = names_count(connection, MHD_HEADER_KIND, MHD_HTTP_HEADER_TRANSFER_ENCODING);
    return lengths + codings > 1;
}

/* ---- the target and the form of a body ---- */

/* The path of a target. In absolute form (RFC 9112, 3.2.2) it begins after the authority, which counts in
 * place of Host. NULL: it is no target of HTTP. */
static const char *path_of(const char *target, char ret_authority[MG_HOST_NAME_SIZE])
{
    const bool is_tls = strncasecmp(target, "https://", strlen("https://")) == 0;
    char name[MG_HOST_NAME_SIZE];
    int port;
    ret_authority[0] = '\0';
    if (!is_tls && strncasecmp(target, "http://", strlen("http://")) != 0) {
        return target;
    }
    const char *authority = strstr(target, "://") + strlen("://");
    size_t len = strcspn(authority, "/");
    if (len >= MG_HOST_NAME_SIZE) {
        return NULL;
    }
    memcpy(ret_authority, authority, len);
    ret_authority[len] = '\0';
    return !mg_host_read(ret_authority, name, &port) ? NULL : authority[len] == '/' ? authority + len : "/";
}

/* The value of the parameter charset of a media type; its length is 0 if there is none. */
static struct mg_slice charset_of(const char *type)
{
    const char *name = type ? strcasestr(type, "charset=") : NULL;
    const char *value = name ? name + strlen("charset=") : "";
    value += *value == '"';
    return (struct mg_slice){value, strcspn(value, "\"; \t")};
}

static bool is_word(struct mg_slice text, const char *word)
{
    return text.len == strlen(word) && strncasecmp(text.data, word, text.len) == 0;
}

/* Copies a word of the client for a refusal, up to a character that JSON would escape. */
static const char *word_quote(struct mg_slice word, char ret_text[WORD_SIZE])
{
    static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-._";
    size_t len = strspn(word.data, letters);
    (void)snprintf(ret_text, WORD_SIZE, "%.*s", (int)(len < word.len ? len : word.len), word.data);
    return ret_text;
}

/* Refuses a body of a form that nothing here reads: a transfer coding but chunked (RFC 9112, 6.1), a content
 * coding, a charset but UTF-8 (RFC 9110, 15.5.16). The transfer coding counts with blanks after it, with
 * which the library does not read it either. 0: its form is good, or there is none. */
static unsigned int form_fault(struct MHD_Connection *connection, char ret_text[FAULT_SIZE])
{
    char word[WORD_SIZE];
    const char *transfer = MHD_lookup_connection_value(connection, MHD_HEADER_KIND, "Transfer-Encoding");
    const char *text = MHD_lookup_connection_value(connection, MHD_HEADER_KIND, "Content-Encoding");
    struct mg_slice coding = {text, text ? mg_http_value_len(text) : 0};
    struct mg_slice charset =
        charset_of(MHD_lookup_connection_value(connection, MHD_HEADER_KIND, "Content-Type"));
    if (transfer && strcasecmp(transfer, "chunked") != 0) {
        (void)snprintf(ret_text, FAULT_SIZE, "Transfer-Encoding %s: only chunked is taken",
                       word_quote(mg_slice_of(transfer), word));
        return MHD_HTTP_NOT_IMPLEMENTED;
    }
    if (!mg_http_has_body(connection)) {
        return 0;
    }
    if (coding.len > 0 && !is_word(coding, "identity")) {
        (void)snprintf(ret_text, FAULT_SIZE, "Content-Encoding %s: only bodies without a coding are taken",
                       word_quote(coding, word));
        return MHD_HTTP_UNSUPPORTED_MEDIA_TYPE;
    }
    if (charset.len > 0 && !is_word(charset, "utf-8") && !is_word(charset, "utf8") &&
        !is_word(charset, "us-ascii")) {
        (void)snprintf(ret_text, FAULT_SIZE, "charset %s: only utf-8 is taken", word_quote(charset, word));
        return MHD_HTTP_UNSUPPORTED_MEDIA_TYPE;
    }
    return 0;
}

/* Keeps a piece of the body, or drops it above the limit. False: too much is dropped. */
static bool body_take(struct mg_http_exchange *request, const char *bytes, size_t len)
{
    request->received += len;
    if (!request->body.failed && !has_room(request->daemon->server, len)) {
        mg_buf_finish(&request->body);
        mg_buf_init(&request->body, 0);
        request->body.failed = request->body.is_out_of_memory = true;
    }
    mg_buf_append(&request->body, bytes, len);
    held_count(request);
    return request->received <= body_max(request->daemon->server) + MG_HTTP_DROPPED_MAX;
}

static enum MHD_Result overload_refuse(struct mg_http_exchange *request)
{
    return mg_http_refuse(request->daemon->server, request->connection, MHD_HTTP_SERVICE_UNAVAILABLE,
                          "too many requests at once");
}

static void request_suspend(struct mg_http_exchange *request)
{
    MHD_suspend_connection(request->connection);
    request->is_suspended = true;
}

static void request_handle(struct mg_http_exchange *request)
{
    const struct mg_http_server_options *options = &request->daemon->server->options;
    mg_http_place_set(request->connection, MG_HTTP_HANDLED);
    request->is_handled = true;
    options->handle(options->arg, request);
}

/* Queues the answer, or waits for it. */
static enum MHD_Result request_go_on(struct mg_http_exchange *request)
{
    if (!request->is_answered) {
        request_suspend(request);
        return MHD_YES;
    }
    if (!request->response) {
        return MHD_NO; /* there was no memory for it */
    }
    enum MHD_Result result = mg_http_answer_queue(request->connection, request->status, request->response,
                                                  request->is_read || !mg_http_has_body(request->connection));
    MHD_destroy_response(request->response);
    request->response = NULL;
    return result;
}

/* The body is whole, or the answer has come. */
static enum MHD_Result request_finish(struct mg_http_exchange *request)
{
    request->is_read = true;
    if (request->body.failed) {
        return mg_http_refuse(
            request->daemon->server, request->connection,
            request->body.is_out_of_memory ? MHD_HTTP_SERVICE_UNAVAILABLE : MG_HTTP_TOO_LARGE,
            request->body.is_out_of_memory ? "no memory for the body" : "the body is too large");
    }
    if (!request->is_handled) {
        if (!mg_http_is_handler_free(request->daemon->server)) {
            return overload_refuse(request);
        }
        request_handle(request);
    } else if (request->is_in_pieces && !request->is_whole) {
        request->is_whole = true;
        request->whole(request->body_arg);
    }
    return request_go_on(request);
}

/* ---- a body in pieces ---- */

static enum MHD_Result pieces_begin(struct mg_http_exchange *request)
{
    if (!mg_http_is_handler_free(request->daemon->server)) {
        return overload_refuse(request);
    }
    (void)MHD_set_connection_option(request->connection, MHD_CONNECTION_OPTION_TIMEOUT, MG_HTTP_STILL_MAX_S);
    request_handle(request);
    return request->is_answered ? request_go_on(request) : MHD_YES;
}

static enum MHD_Result piece_take(struct mg_http_exchange *request, struct mg_slice bytes)
{
    if (request->is_answered) {
        return MHD_YES; /* in `handle`; the library closes after that answer */
    }
    enum mg_http_next next = request->piece(request->body_arg, bytes);
    if (next == MG_HTTP_PAUSE) {
        request_suspend(request);
    }
    return next == MG_HTTP_CLOSE ? MHD_NO : MHD_YES;
}

void mg_http_exchange_on_body(struct mg_http_exchange *request,
                              enum mg_http_next (*piece)(void *arg, struct mg_slice bytes),
                              void (*whole)(void *arg), void *arg)
{
    request->piece = piece;
    request->whole = whole;
    request->body_arg = arg;
}

void mg_http_exchange_resume(struct mg_http_exchange *request)
{
    if (request->is_suspended) {
        request_resume(request);
    }
}

/* ---- a whole body ---- */

static enum MHD_Result body_begin(struct mg_http_exchange *request)
{
    const struct mg_http_server *server = request->daemon->server;
    const struct mg_http_server_options *options = &server->options;
    uint64_t len = body_len(request->connection);
    if (options->admit && mg_http_has_body(request->connection) && !options->admit(options->arg, request)) {
        return request_go_on(request); /* the library closes after that answer */
    }
    if (len > request->body.max) {
        return mg_http_refuse(server, request->connection, MG_HTTP_TOO_LARGE, "the body is too large");
    }
    return has_room(server, len) ? MHD_YES
                                 : mg_http_refuse(server, request->connection, MHD_HTTP_SERVICE_UNAVAILABLE,
                                                  "no memory for the body");
}

/* Its head is whole. */
static enum MHD_Result request_begin(struct mg_http_daemon *daemon, struct MHD_Connection *connection,
                                     const char *target, const char *method, const char *version,
                                     struct mg_http_exchange **ret_request)
{
    const struct mg_http_server_options *options = &daemon->server->options;
    char authority[MG_HOST_NAME_SIZE], text[FAULT_SIZE];
    const char *path = path_of(target, authority), *reason;
    unsigned int fault = mg_http_head_fault(connection, mg_http_is_address_cut(connection), &reason);
    if (fault != 0) {
        return mg_http_refuse(daemon->server, connection, fault, reason);
    }
    if (!mg_http_is_head_sound(connection, method, version)) {
        return mg_http_refuse(daemon->server, connection, MHD_HTTP_BAD_REQUEST,
                              "a line of the head is no name, colon and value");
    }
    if (is_length_ambiguous(connection)) {
        return mg_http_refuse(daemon->server, connection, MHD_HTTP_BAD_REQUEST,
                              "the length of the body is given more than once");
    }
    if (!path) {
        return mg_http_refuse(daemon->server, connection, MHD_HTTP_BAD_REQUEST,
                              "the target is neither a path nor an address of HTTP");
    }
    fault = form_fault(connection, text);
    if (fault != 0) {
        return mg_http_refuse(daemon->server, connection, fault, text);
    }
    if (!options->handle || mg_http_is_probe(daemon->server, path)) {
        return mg_http_probe_answer(daemon->server, connection, path, method);
    }
    struct mg_http_exchange *request = *ret_request = request_create(daemon, connection, path, method);
    if (!request) {
        return MHD_NO;
    }
    memcpy(request->authority, authority, sizeof(authority));
    request->is_in_pieces = options->takes_pieces && options->takes_pieces(options->arg, method, path);
    return request->is_in_pieces ? pieces_begin(request) : body_begin(request);
}

enum MHD_Result mg_http_on_request(void *arg, struct MHD_Connection *connection, const char *path,
                                   const char *method, const char *version, const char *upload,
                                   size_t *upload_len, void **request_arg)
{
    struct mg_http_daemon *daemon = arg;
    struct mg_http_exchange *request = *request_arg;
    if (!request) {
        enum MHD_Result result = request_begin(daemon, connection, path, method, version, &request);
        *request_arg = request;
        return result;
    }
    if (*upload_len > 0 && request->is_in_pieces) {
        struct mg_slice bytes = {upload, *upload_len};
        *upload_len = 0;
        return piece_take(request, bytes);
    }
    if (*upload_len > 0) {
        bool is_taken = body_take(request, upload, *upload_len);
        *upload_len = 0;
        return is_taken ? MHD_YES : MHD_NO; /* within a body the only answer is to close */
    }
    return request_finish(request);
}

const char *mg_http_exchange_method(const struct mg_http_exchange *request)
{
    return request->method;
}

const char *mg_http_exchange_path(const struct mg_http_exchange *request)
{
    return request->path;
}

const char *mg_http_exchange_query(const struct mg_http_exchange *request, const char *name)
{
    return MHD_lookup_connection_value(request->connection, MHD_GET_ARGUMENT_KIND, name);
}

const char *mg_http_exchange_header(const struct mg_http_exchange *request, const char *name)
{
    if (request->authority[0] != '\0' && strcasecmp(name, MHD_HTTP_HEADER_HOST) == 0) {
        return request->authority;
    }
    return mg_http_trimmed(request->trims,
                           MHD_lookup_connection_value(request->connection, MHD_HEADER_KIND, name));
}

unsigned int mg_http_exchange_query_count(const struct mg_http_exchange *request, const char *name)
{
    return names_count(request->connection, MHD_GET_ARGUMENT_KIND, name);
}

struct query_search {
    const struct mg_http_exchange *request;
    const char *names, *fault;
};

static bool is_among(const char *names, const char *name)
{
    const size_t len = strlen(name);
    for (size_t word; names[0] != '\0'; names += word + strspn(names + word, " ")) {
        word = strcspn(names, " ");
        if (word == len && memcmp(names, name, len) == 0) {
            return true;
        }
    }
    return false;
}

static enum MHD_Result on_parameter(void *arg, enum MHD_ValueKind kind, const char *name, const char *value)
{
    (void)kind, (void)value;
    struct query_search *search = arg;
    if (!is_among(search->names, name) || mg_http_exchange_query_count(search->request, name) > 1) {
        search->fault = name;
    }
    return search->fault == NULL ? MHD_YES : MHD_NO;
}

const char *mg_http_exchange_query_fault(const struct mg_http_exchange *request, const char *names)
{
    struct query_search search = {.request = request, .names = names};
    (void)MHD_get_connection_values(request->connection, MHD_GET_ARGUMENT_KIND, on_parameter, &search);
    return search.fault;
}

unsigned int mg_http_exchange_header_count(const struct mg_http_exchange *request, const char *name)
{
    return names_count(request->connection, MHD_HEADER_KIND, name);
}

struct cookie_search {
    const char *name, *value;
    int count;
};

static enum MHD_Result on_cookie(void *arg, enum MHD_ValueKind kind, const char *name, const char *value)
{
    (void)kind;
    struct cookie_search *search = arg;
    if (strcmp(name, search->name) == 0) {
        search->value = value;
        search->count++;
    }
    return MHD_YES;
}

const char *mg_http_exchange_cookie(const struct mg_http_exchange *request, const char *name)
{
    /* The library's own look-up ignores case and returns the first match. */
    struct cookie_search search = {.name = name};
    (void)MHD_get_connection_values(request->connection, MHD_COOKIE_KIND, on_cookie, &search);
    return search.count == 1 ? mg_http_trimmed(request->trims, search.value) : NULL;
}

void mg_http_exchange_body_limit(struct mg_http_exchange *request, size_t max)
{
    mg_buf_finish(&request->body);
    mg_buf_init(&request->body, max);
}

struct mg_slice mg_http_exchange_body(const struct mg_http_exchange *request)
{
    return request->body.len > 0 ? mg_buf_slice(&request->body) : mg_slice_of("");
}

void mg_http_exchange_on_gone(struct mg_http_exchange *request, void (*gone)(void *arg), void *arg)
{
    request->gone = gone;
    request->arg = arg;
}

bool mg_http_exchange_is_hung_up(const struct mg_http_exchange *request)
{
    const union MHD_ConnectionInfo *info =
        MHD_get_connection_info(request->connection, MHD_CONNECTION_INFO_CONNECTION_FD);
    struct pollfd watched = {.fd = info ? info->connect_fd : -1, .events = POLLRDHUP};
    return poll(&watched, 1, 0) > 0;
}

/* ---- answers ---- */

static bool headers_add(struct MHD_Response *response, const struct mg_http_response *answer)
{
    bool is_cached = false;
    bool is_good =
        !answer->type || MHD_add_response_header(response, "Content-Type", answer->type) == MHD_YES;
    for (const struct mg_http_header *header = answer->headers; is_good && header && header->name; header++) {
        is_cached = is_cached || strcmp(header->name, "Cache-Control") == 0;
        is_good = MHD_add_response_header(response, header->name, header->value) == MHD_YES;
    }
    return is_good &&
           (is_cached || MHD_add_response_header(response, "Cache-Control", "no-store") == MHD_YES);
}

/* Takes the response; NULL: no memory for one. */
static void request_answer(struct mg_http_exchange *request, struct MHD_Response *response,
                           const struct mg_http_response *answer)
{
    if (response && !headers_add(response, answer)) {
        MHD_destroy_response(response);
        response = NULL;
    }
    request->is_answered = true;
    request->gone = NULL;
    request->response = response;
    request->status = answer->status;
    if (request->is_suspended) {
        request_resume(request); /* the library then asks for it again */
    }
}

void mg_http_answer(struct mg_http_exchange *request, const struct mg_http_response *answer)
{
    static const struct mg_http_response CROWDED = {.status = MHD_HTTP_SERVICE_UNAVAILABLE};
    answer = is_crowded(request, answer->body.len) ? &CROWDED : answer;
    mg_http_place_set(request->connection, MG_HTTP_ANSWERED);
    request->answer_len = answer->body.len;
    held_count(request);
    request_answer(request, mg_http_response_copy(answer->body), answer);
}

/* ---- streams ---- */

static ssize_t stream_read(void *arg, uint64_t at, char *ret_bytes, size_t max)
{
    struct mg_http_stream *stream = arg;
    (void)at;
    if (stream->is_cut || !stream->is_open) {
        return MHD_CONTENT_READER_END_WITH_ERROR;
    }
    size_t len = stream->unsent.len - stream->sent;
    if (len == 0 && stream->is_ended) {
        return MHD_CONTENT_READER_END_OF_STREAM;
    }
    if (len == 0) {
        MHD_suspend_connection(stream->request->connection);
        stream->is_resting = true;
        return 0;
    }
    len = len < max ? len : max;
    memcpy(ret_bytes, stream->unsent.data + stream->sent, len);
    stream->sent += len;
    if (stream->sent == stream->unsent.len) {
        mg_buf_finish(&stream->unsent); /* most streams rest most of the time */
        stream->sent = 0;
    }
    held_count(stream->request);
    return (ssize_t)len;
}

static void unsent_append(struct mg_http_stream *stream, struct mg_slice bytes)
{
    struct mg_buf *unsent = &stream->unsent;
    if (is_crowded(stream->request, bytes.len)) {
        stream->is_cut = true;
        return;
    }
    if (stream->sent > 0) {
        unsent->len -= stream->sent;
        memmove(unsent->data, unsent->data + stream->sent, unsent->len);
        stream->sent = 0;
    }
    mg_buf_append_slice(unsent, bytes);
    held_count(stream->request);
    stream->is_cut = unsent->failed;
}

struct mg_http_stream *mg_http_stream_open(struct mg_http_exchange *request,
                                           const struct mg_http_response *answer, void (*closed)(void *arg),
                                           void *arg)
{
    struct mg_http_stream *stream = &request->stream;
    /* Without a length the library writes the last chunk of a body even after the head for HEAD. */
    uint64_t size = strcmp(request->method, "HEAD") == 0 ? 0 : MHD_SIZE_UNKNOWN;
    struct MHD_Response *response =
        MHD_create_response_from_callback(size, STREAM_BLOCK_BYTES, stream_read, stream, NULL);
    if (answer->body.len > 0) {
        unsent_append(stream, answer->body);
    }
    if (!response || stream->is_cut) {
        if (response) {
            MHD_destroy_response(response);
        }
        const struct mg_http_response refusal = {.status = MHD_HTTP_SERVICE_UNAVAILABLE};
        mg_http_answer(request, &refusal);
        return NULL;
    }
    stream->is_open = true;
    stream->closed = closed;
    stream->arg = arg;
    request_answer(request, response, answer);
    return stream;
}

bool mg_http_stream_write(struct mg_http_stream *stream, struct mg_slice bytes)
{
    if (stream->is_cut || stream->is_ended) {
        return false;
    }
    unsent_append(stream, bytes);
    if (stream->is_resting) {
        request_resume(stream->request);
    }
    return !stream->is_cut;
}

size_t mg_http_stream_unsent(const struct mg_http_stream *stream)
{
    return stream->unsent.len - stream->sent;
}

void mg_http_stream_cut(struct mg_http_stream *stream)
{
    stream->is_cut = true;
    mg_http_place_close(stream->request->connection);
    if (stream->is_resting) {
        request_resume(stream->request);
    }
}

void mg_http_stream_end(struct mg_http_stream *stream)
{
    stream->is_ended = true;
    if (stream->is_resting) {
        request_resume(stream->request);
    }
}
