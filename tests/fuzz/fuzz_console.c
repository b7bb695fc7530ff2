/*
 * The console: requests of browsers and of strangers, and the contents of the database and broker behind it.
 * The input is two bytes that pick the state of these two, and the texts of strangers in their tables. After
 * a NUL follow a client's bytes before it closes its side. In those bytes, placeholders stand for values that
 * only a logged-in client has:
 *
 *   \1 \2  the operator's session and its CSRF token   \3 \4  the reader's
 *   \5     the page's reference to a dead letter
 *
 * A change needs a request of an operator's own page, and each such request makes one change (servers.h). An
 * answer is complete and matches its content type. A page contains no text of strangers. Texts of the tables
 * arrive unchanged.
 */
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <strings.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/id.h"
#include "base/log.h"
#include "console/assets.h"
#include "console/console_parts.h"
#include "http_peer.h"
#include "servers.h"

#define SECRET_LEN  64
#define METHODS_MAX 64

enum { OPERATOR, READER, PEOPLE };
static const struct {
    const char *name, *role, *token;
    char session, csrf; /* their placeholders */
} PERSONS[PEOPLE] = {{"olga", "operator", "operator-token", 1, 2}, {"rita", "reader", "reader-token", 3, 4}};
#define LETTER '\5'

static struct mg_loop *loop;
static struct mg_http_server *server;
static struct mg_process process;
static char tokens_file[32];
static struct {
    bool is_known;
    char session[SECRET_LEN + 1], csrf[SECRET_LEN + 1];
} known[PEOPLE];
static char letter_mark[SECRET_LEN + 1];
static bool was_head[METHODS_MAX]; /* for each request that reached the console */
static int request_count;

/* ---- which requests may change something: a second reading of each request ---- */

void __real_mg_route_request(void *arg, struct mg_http_exchange *request);
void __wrap_mg_route_request(void *arg, struct mg_http_exchange *request);

static bool has(const struct mg_http_exchange *request, const char *name, const char *value)
{
    const char *text = mg_http_exchange_header(request, name);
    return text != NULL && strcmp(text, value) == 0;
}

/* The length of the name in "name:port", without a dot at its end. */
static size_t name_len(const char *host)
{
    size_t len = strcspn(host, ":");
    return len > 0 && host[len - 1] == '.' ? len - 1 : len;
}

static bool is_same_name(const char *host, const char *other)
{
    return name_len(host) == name_len(other) && strncasecmp(host, other, name_len(host)) == 0;
}

/* Ports are not read a second time. */
static bool is_of_own_page(const struct mg_http_exchange *request)
{
    const char *host = mg_http_exchange_header(request, "Host");
    const char *type = mg_http_exchange_header(request, "Content-Type");
    const char *origin = mg_http_exchange_header(request, "Origin");
    const char *name = origin != NULL ? strstr(origin, "://") : NULL;
    bool has_site = mg_http_exchange_header(request, "Sec-Fetch-Site") != NULL;
    if (host == NULL || strlen(host) > 100 || type == NULL) {
        return false;
    }
    if (strncmp(type, "application/json", strlen("application/json")) != 0) {
        return false;
    }
    if (has_site) {
        return has(request, "Sec-Fetch-Site", "same-origin");
    }
    return origin == NULL || (name != NULL && is_same_name(host, name + strlen("://")));
}

static bool is_loopback(const char *host)
{
    static const char *const names[] = {"localhost", "127.0.0.1", "[::1]"};
    for (size_t i = 0; host != NULL && i < sizeof(names) / sizeof(names[0]); i++) {
        size_t len = strlen(names[i]);
        size_t dot = strncasecmp(host, names[i], len) == 0 && host[0] != '[' && host[len] == '.';
        if (strncasecmp(host, names[i], len) == 0 && (host[len + dot] == '\0' || host[len + dot] == ':')) {
            return true;
        }
    }
    return false;
}

/* With two cookies, one may be a stranger's. */
static bool has_one_session(const struct mg_http_exchange *request)
{
    static const char name[] = "makegood=";
    const char *cookies = mg_http_exchange_header(request, "Cookie");
    int count = 0;
    for (const char *at = cookies; at != NULL && (at = strstr(at, name)) != NULL; at += strlen(name)) {
        count += at == cookies || strchr(" \t;,", at[-1]) != NULL;
    }
    return count == 1;
}

void __wrap_mg_route_request(void *arg, struct mg_http_exchange *request)
{
    const char *session = mg_http_exchange_cookie(request, "makegood");
    was_head[request_count++ % METHODS_MAX] = strcmp(mg_http_exchange_method(request), "HEAD") == 0;
    servers.may_change = known[OPERATOR].is_known && session != NULL && has_one_session(request) &&
                         strcmp(session, known[OPERATOR].session) == 0 &&
                         has(request, "X-Makegood-CSRF", known[OPERATOR].csrf) &&
                         strcmp(mg_http_exchange_method(request), "POST") == 0 && is_of_own_page(request) &&
                         is_loopback(mg_http_exchange_header(request, "Host"));
    __real_mg_route_request(arg, request);
    servers.may_change = false;
}

/* ---- answers ---- */

struct answer {
    int status;
    struct mg_slice head, body; /* head: from the first header on */
    bool is_chunked;
};

/* The value of a header; absent if there is none or more than one. */
static struct mg_slice header_of(struct mg_slice head, const char *name)
{
    struct mg_slice found = {NULL, 0};
    size_t len = strlen(name);
    for (const char *at = head.data, *end = head.data + head.len; at < end;) {
        const char *line_end = memmem(at, (size_t)(end - at), "\r\n", 2);
        if (line_end == NULL) {
            break;
        }
        if ((size_t)(line_end - at) >= len + 2 && strncasecmp(at, name, len) == 0 && at[len] == ':') {
            if (found.data != NULL) {
                return (struct mg_slice){NULL, 0};
            }
            found = (struct mg_slice){at + len + 2, (size_t)(line_end - at) - len - 2};
        }
        at = line_end + 2;
    }
    return found;
}

/* No sent bytes have become a header of the answer. */
static void head_is_ours(struct mg_slice head)
{
    static const char *const names[] = {"Date",
                                        "Connection",
                                        "Keep-Alive",
                                        "Content-Length",
                                        "Transfer-Encoding",
                                        "Content-Type",
                                        "Cache-Control",
                                        "ETag",
                                        "Set-Cookie",
                                        "Retry-After",
                                        "Content-Security-Policy",
                                        "X-Content-Type-Options",
                                        "X-Frame-Options",
                                        "Referrer-Policy",
                                        "Cross-Origin-Opener-Policy",
                                        "Cross-Origin-Resource-Policy",
                                        "Permissions-Policy",
                                        "X-Accel-Buffering"};
    size_t lines = 0, known_lines = 0;
    for (size_t i = 0; i + 1 < head.len; i++) {
        lines += head.data[i] == '\r' && head.data[i + 1] == '\n';
    }
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        known_lines += header_of(head, names[i]).data != NULL;
    }
    FUZZ_REQUIRE(lines == known_lines);
    FUZZ_REQUIRE(mg_slice_is(header_of(head, "X-Content-Type-Options"), "nosniff"));
    FUZZ_REQUIRE(mg_slice_is(header_of(head, "X-Frame-Options"), "DENY"));
    FUZZ_REQUIRE(header_of(head, "Cache-Control").data != NULL);
}

/* Joins the chunks of a body without a length. The caller finishes the buf. */
static struct mg_buf chunks_join(struct mg_slice body)
{
    struct mg_buf all;
    mg_buf_init(&all, body.len + 1);
    for (const char *at = body.data, *end = body.data + body.len; at < end;) {
        const char *line_end = memmem(at, (size_t)(end - at), "\r\n", 2);
        size_t len = line_end != NULL ? strtoul(at, NULL, 16) : 0;
        if (len == 0 || len > (size_t)(end - line_end) - 2) {
            break;
        }
        mg_buf_append(&all, line_end + 2, len);
        at = line_end + 2 + len + 2;
    }
    return all;
}

/* Texts of the tables arrive unchanged. */
static void rows_are_told(json_t *rows)
{
    size_t index;
    json_t *row;
    json_array_foreach(rows, index, row)
    {
        if (json_object_get(row, "username") ==
            NULL) { /* the last of the texts: a list has the first ones alone */
            return;
        }
        for (int i = 0; SERVERS_TEXTS[i] != NULL; i++) {
            char *cell = servers_cell((int)index, SERVERS_TEXTS[i]);
            const char *told = json_string_value(json_object_get(row, SERVERS_TEXTS[i]));
            FUZZ_REQUIRE(told != NULL && strcmp(told, cell) == 0);
            free(cell);
        }
    }
}

static void order_is_told(json_t *order)
{
    char *payload = servers_cell(0, "payload"), *text = servers_cell(0, "text");
    json_t *dossier = json_object_get(order, "dossier");
    FUZZ_REQUIRE(strcmp(json_string_value(json_object_get(order, "payload")), payload) == 0);
    FUZZ_REQUIRE(strcmp(json_string_value(json_object_get(dossier, "text")), text) == 0);
    free(payload);
    free(text);
}

static json_t *json_read(struct mg_slice text)
{
    return json_loadb(text.data, text.len, JSON_REJECT_DUPLICATES | JSON_ALLOW_NUL, NULL);
}

static void json_is_sound(int status, struct mg_slice body)
{
    json_t *json = json_read(body), *value;
    const char *name;
    FUZZ_REQUIRE(json != NULL);
    if (status >= 300) {
        const char *text = json_string_value(json_object_get(json, "error"));
        FUZZ_REQUIRE(text != NULL && text[0] != '\0');
    } else {
        json_object_foreach(json, name, value) rows_are_told(value);
        if (json_object_get(json, "explanation") != NULL) {
            order_is_told(json);
        }
    }
    json_decref(json);
}

/* A page or a part of one has exactly the bytes that were built in. */
static void page_is_ours(struct mg_slice type, struct mg_slice body)
{
    const struct mg_asset *asset = MG_ASSETS;
    while (asset->name != NULL && !(mg_slice_is(type, asset->type) && mg_slice_equal(asset->bytes, body))) {
        asset++;
    }
    FUZZ_REQUIRE(asset->name != NULL);
}

/* Each event is two lines; the second is JSON. */
static void events_are_sound(struct mg_slice text)
{
    static const char begin[] = "retry: 2000\n\n";
    if (text.len < strlen(begin)) {
        return; /* its client has disconnected */
    }
    FUZZ_REQUIRE(memcmp(text.data, begin, strlen(begin)) == 0);
    for (const char *at = text.data + strlen(begin), *end = text.data + text.len; at < end;) {
        const char *event_end = memmem(at, (size_t)(end - at), "\n\n", 2);
        const char *line_end = memchr(at, '\n', (size_t)(end - at));
        if (event_end == NULL) {
            return;
        }
        FUZZ_REQUIRE(strncmp(at, "event: ", 7) == 0 && strncmp(line_end, "\ndata: ", 7) == 0);
        struct mg_slice data = {line_end + 7, (size_t)(event_end - line_end) - 7};
        FUZZ_REQUIRE(memchr(data.data, '\n', data.len) == NULL);
        json_t *json = json_read(data);
        FUZZ_REQUIRE(json != NULL);
        json_decref(json);
        at = event_end + 2;
    }
}

static void answer_is_sound(const struct answer *answer, bool is_head)
{
    struct mg_slice type = header_of(answer->head, "Content-Type");
    head_is_ours(answer->head);
    if (answer->is_chunked) {
        struct mg_buf text = chunks_join(answer->body);
        FUZZ_REQUIRE(mg_slice_is(type, "text/event-stream; charset=utf-8"));
        events_are_sound(mg_buf_slice(&text));
        mg_buf_finish(&text);
    } else if (is_head || answer->status == 304) {
        FUZZ_REQUIRE(answer->body.len == 0);
    } else if (mg_slice_is(type, "application/json")) {
        json_is_sound(answer->status, answer->body);
    } else if (mg_slice_is(type, "text/event-stream; charset=utf-8")) { /* the answer to an HTTP/1.0 client */
        events_are_sound(answer->body);
    } else {
        FUZZ_REQUIRE(answer->status == 200 || answer->status == 404); /* the page of an unknown address */
        page_is_ours(type, answer->body);
    }
}

/* True: `ret` holds a whole answer. */
static bool answer_take(struct mg_slice *rest, bool is_head, struct answer *ret)
{
    static const char blank[] = "\r\n\r\n";
    const char *end = rest->len > 0 ? memmem(rest->data, rest->len, blank, strlen(blank)) : NULL;
    const char *line_end = end != NULL ? memmem(rest->data, rest->len, "\r\n", 2) : NULL;
    if (end == NULL) {
        return false;
    }
    FUZZ_REQUIRE(strncmp(rest->data, "HTTP/1.", 7) == 0 && strlen("HTTP/1.1 200") < rest->len);
    ret->status = (int)strtol(rest->data + 9, NULL, 10);
    ret->head = (struct mg_slice){line_end + 2, (size_t)(end - line_end)};
    const char *body = end + strlen(blank);
    size_t left = (size_t)(rest->data + rest->len - body);
    struct mg_slice length = header_of(ret->head, "Content-Length");
    bool is_bodiless = is_head || ret->status == 304 || ret->status < 200;
    ret->is_chunked = !is_bodiless && header_of(ret->head, "Transfer-Encoding").data != NULL;
    size_t len = is_bodiless ? 0 : length.data != NULL ? strtoul(length.data, NULL, 10) : left;
    if (len > left) {
        return false;
    }
    ret->body = (struct mg_slice){body, len};
    *rest = (struct mg_slice){body + len, left - len};
    return true;
}

/* Answers of the library and of the probes are checked in fuzz_http_request.c. The bytes after one of them
 * are skipped, because the answered method (HEAD or another) is unknown. */
static void answers_are_sound(const struct http_answers *answers)
{
    struct mg_slice rest = mg_buf_slice(&answers->bytes);
    struct answer answer;
    int number = 0;
    while (number < request_count && number < METHODS_MAX && answer_take(&rest, was_head[number], &answer)) {
        if (answer.status < 200) {
            continue;
        }
        if (!fuzz_contains(answer.head, "Content-Security-Policy: ")) {
            return;
        }
        answer_is_sound(&answer, was_head[number++]);
    }
    FUZZ_REQUIRE(!answers->is_whole || number == request_count || number == METHODS_MAX);
}

/* ---- values of a logged-in client ---- */

static void copy_member(struct mg_slice json, const char *pointer, char ret_text[SECRET_LEN + 1])
{
    struct mg_slice value = mg_json_find(json, pointer);
    FUZZ_REQUIRE(value.len >= 2 && value.len - 2 <= SECRET_LEN);
    memcpy(ret_text, value.data + 1, value.len - 2);
    ret_text[value.len - 2] = '\0';
}

static void login(int person)
{
    static const char cookie[] = "makegood=";
    char request[512], body[128];
    struct http_answers answers;
    struct answer answer;
    (void)snprintf(body, sizeof(body), "{\"token\": \"%s\"}", PERSONS[person].token);
    (void)snprintf(request, sizeof(request),
                   "POST /api/v1/login HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
                   "Content-Length: %zu\r\n\r\n%s",
                   strlen(body), body);
    http_peer_ask(loop, mg_slice_of(request), &answers);
    struct mg_slice rest = mg_buf_slice(&answers.bytes);
    FUZZ_REQUIRE(answer_take(&rest, false, &answer) && answer.status == 200);
    struct mg_slice set = header_of(answer.head, "Set-Cookie");
    FUZZ_REQUIRE(set.len > strlen(cookie) + SECRET_LEN);
    memcpy(known[person].session, set.data + strlen(cookie), SECRET_LEN);
    known[person].session[SECRET_LEN] = '\0';
    copy_member(answer.body, "/csrf", known[person].csrf);
    known[person].is_known = true;
    mg_buf_finish(&answers.bytes);
}

static void letter_look(void)
{
    char request[256];
    struct http_answers answers;
    struct answer answer;
    (void)snprintf(request, sizeof(request),
                   "GET /api/v1/dead HTTP/1.1\r\nHost: localhost\r\nCookie: makegood=%s\r\n\r\n",
                   known[OPERATOR].session);
    http_peer_ask(loop, mg_slice_of(request), &answers);
    struct mg_slice rest = mg_buf_slice(&answers.bytes);
    if (answer_take(&rest, false, &answer) && mg_json_find(answer.body, "/letters/0/mark").data != NULL) {
        copy_member(answer.body, "/letters/0/mark", letter_mark);
    }
    mg_buf_finish(&answers.bytes);
}

static bool is_in(char sign, struct mg_slice text)
{
    return text.len > 0 && memchr(text.data, sign, text.len) != NULL;
}

static void know(struct mg_slice sent)
{
    for (int i = 0; i < PEOPLE; i++) {
        known[i].is_known = false;
        if (is_in(PERSONS[i].session, sent) || is_in(PERSONS[i].csrf, sent)) {
            login(i);
        }
    }
    letter_mark[0] = '\0';
    if (is_in(LETTER, sent) && known[OPERATOR].is_known) {
        letter_look();
    }
}

static struct mg_buf expand(struct mg_slice sent)
{
    struct mg_buf bytes;
    mg_buf_init(&bytes, FUZZ_TEXT_MAX);
    for (size_t i = 0; i < sent.len; i++) {
        char sign = sent.data[i];
        const char *text = sign == LETTER && letter_mark[0] != '\0' ? letter_mark : NULL;
        for (int p = 0; p < PEOPLE; p++) {
            if (sign == PERSONS[p].session) {
                text = known[p].session;
            }
            if (sign == PERSONS[p].csrf) {
                text = known[p].csrf;
            }
        }
        mg_buf_append_slice(&bytes, text != NULL ? mg_slice_of(text) : (struct mg_slice){&sign, 1});
    }
    return bytes;
}

/* ---- the console ---- */

static void tokens_write(void)
{
    struct mg_buf text;
    int fd = memfd_create("tokens", MFD_CLOEXEC);
    mg_buf_init(&text, FUZZ_TEXT_MAX);
    for (int i = 0; i < PEOPLE; i++) {
        uint8_t digest[MG_SHA256_SIZE];
        char hex[2 * MG_SHA256_SIZE + 1];
        mg_sha256(mg_slice_of(PERSONS[i].token), digest);
        *mg_hex_write(digest, sizeof(digest), hex) = '\0';
        mg_buf_printf(&text, "%s %s %s\n", PERSONS[i].role, PERSONS[i].name, hex);
    }
    FUZZ_REQUIRE(fd >= 0 && write(fd, text.data, text.len) == (ssize_t)text.len);
    (void)snprintf(tokens_file, sizeof(tokens_file), "/proc/self/fd/%d", fd);
    mg_buf_finish(&text);
}

static void open_console(void)
{
    static const struct mg_list none = {.count = 0};
    static struct mg_console_options options = {
        .tokens_file = tokens_file, .hosts = &none, .proxy = {"", "", &none}};
    struct mg_http_server_options http = {.address = "127.0.0.1:0"};
    struct mg_err err;
    servers_begin(loop);
    process = (struct mg_process){.options = {.broker = {.url = "amqp://127.0.0.1/"},
                                              .pg_dsn = "",
                                              .http = http.address,
                                              .http_cert_file = "",
                                              .http_key_file = ""},
                                  .own = &options,
                                  .instance = "fuzz",
                                  .loop = loop,
                                  .metrics = mg_metrics_create()};
    FUZZ_REQUIRE(process.metrics != NULL && MG_CONSOLE.check(&process, &err) == MG_OK &&
                 MG_CONSOLE.create(&process, &err) == MG_OK);
    http.metrics = process.metrics;
    MG_CONSOLE.serve(&process, &http);
    FUZZ_REQUIRE(mg_http_server_create(loop, &http, &server, &err) == MG_OK);
}

static void close_console(void)
{
    mg_http_server_destroy(server);
    MG_CONSOLE.destroy(&process);
    mg_metrics_destroy(process.metrics);
}

/* Sets the state of the servers; returns the client's bytes. */
static struct mg_slice servers_read(struct mg_slice input)
{
    static const int full[] = {50, 100, 200}; /* a full page of rows, in a few of a hundred inputs */
    size_t used = input.len < 2 ? input.len : 2;
    unsigned int rows = used > 0 ? (unsigned char)input.data[0] : 0;
    unsigned int way = used > 1 ? (unsigned char)input.data[1] : 0;
    struct mg_slice rest = {input.data + used, input.len - used};
    servers.row_count = rows >= 0xfd ? full[rows - 0xfd] : (int)(rows % 4);
    servers.is_refusal = (way & 1) != 0;
    servers.is_broker_up = (way & 2) == 0;
    servers.variant = way >> 2;
    servers.who = PERSONS[OPERATOR].name;
    servers.texts = fuzz_take_text(&rest);
    mg_utf8_mend(servers.texts);
    return rest;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct http_answers answers;
    if (tokens_file[0] == '\0') {
        mg_log_open("fuzz", "fuzz", MG_LOG_ERROR); /* each change and each refusal is a log line */
        tokens_write();
    }
    loop = mg_loop_create(); /* one loop for each input: nothing may remain at its end */
    FUZZ_REQUIRE(loop != NULL);
    struct mg_slice sent = servers_read((struct mg_slice){(const char *)data, size});
    open_console();
    know(sent);
    struct mg_buf bytes = expand(sent);
    request_count = 0;
    http_peer_ask(loop, mg_buf_slice(&bytes), &answers);
    answers_are_sound(&answers);
    FUZZ_REQUIRE(servers.changes == 0 || (fuzz_contains(mg_buf_slice(&bytes), known[OPERATOR].session) &&
                                          fuzz_contains(mg_buf_slice(&bytes), known[OPERATOR].csrf)));
    close_console();
    servers_end();
    mg_loop_destroy(loop);
    mg_buf_finish(&answers.bytes);
    mg_buf_finish(&bytes);
    free(servers.texts);
    return 0;
}
