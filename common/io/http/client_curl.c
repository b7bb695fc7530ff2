/*
 * HTTP calls by libcurl's multi interface, driven by our loop. libcurl names the sockets and the time-out
 * that it waits for; the loop watches them and passes the events back. libcurl never waits by itself.
 * http/request_curl.c sets up the single call, and prevents a second send; http/socket_curl.c looks after
 * kept connections; http/answer_curl.c makes the call's answer.
 *
 * Connections are divided among pools, each with a multi handle of its own. To find a reusable connection,
 * libcurl walks all connections of the host. Among 2,000 busy ones that takes longer than the rest of a call
 * (ConnectionExists in libcurl's url.c). A call goes to the first pool with room, so few calls use few
 * connections. A pool without a call for the lifetime of a kept connection is closed; the first one stays.
 *
 * Each call has a timer of our own besides libcurl's time-out, which does not cover the wait for a free
 * connection. Callers' callbacks run outside of libcurl's, so they may start and cancel calls and destroy
 * clients.
 */
#include "io/http/client.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "io/http/curl.h"

/* Connections of a pool: walking them takes a microsecond, and the pools stay few. Each pool parses its own
 * CAs. */
#define POOL_ROOM 128
/* The shortest time between two checks for empty pools. */
#define REAP_MIN_MS 1000

/* These versions of libcurl append an answer's first header, if it begins with a blank, to the last header
 * read by the handle. That header is freed (curl's issue 11101). So such handles are not reused. */
#define REUSE_UNSAFE_FROM 0x075300 /* 7.83.0 */
#define REUSE_SAFE_FROM   0x080101 /* 8.1.1 */

static void pool_drive(struct mg_http_pool *pool, curl_socket_t fd, int events);
static void client_answer(struct mg_http_client *client);
static void pool_emptied(struct mg_http_pool *pool);
static void call_detach(struct mg_http_call *call);
static void call_destroy(struct mg_http_call *call);

/* ---- the loop's side ---- */

/* One socket that libcurl waits for. */
struct socket_watch {
    struct mg_http_pool *pool;
    struct mg_watch *watch;
    curl_socket_t fd;
};

static void on_socket(void *arg, int events)
{
    struct socket_watch *socket = arg;
    int mask = 0;
    if (events & MG_READABLE) {
        mask |= CURL_CSELECT_IN;
    }
    if (events & MG_WRITABLE) {
        mask |= CURL_CSELECT_OUT;
    }
    pool_drive(socket->pool, socket->fd, mask);
}

static void on_timer(void *arg)
{
    pool_drive(arg, CURL_SOCKET_TIMEOUT, 0);
}

/* libcurl requests a watch on a socket. Without memory the socket stays unwatched and the call ends by its
 * timer; an error returned here would end every call. */
static int on_curl_socket(CURL *easy, curl_socket_t fd, int what, void *arg, void *socket_arg)
{
    (void)easy;
    struct mg_http_pool *pool = arg;
    struct socket_watch *socket = socket_arg;
    if (what == CURL_POLL_REMOVE) {
        if (socket) {
            mg_watch_destroy(socket->watch);
        }
        free(socket);
        /* fails only for a socket that libcurl drops anyway */
        (void)curl_multi_assign(pool->multi, fd, NULL);
        return 0;
    }
    if (!socket) {
        socket = calloc(1, sizeof(*socket));
        if (!socket) {
            return 0;
        }
        *socket = (struct socket_watch){.pool = pool, .fd = fd};
        socket->watch = mg_watch_create(pool->client->loop, fd, on_socket, socket);
        if (!socket->watch || curl_multi_assign(pool->multi, fd, socket) != CURLM_OK) {
            mg_watch_destroy(socket->watch);
            free(socket);
            return 0;
        }
    }
    int events = 0;
    if (what & CURL_POLL_IN) {
        events |= MG_READABLE;
    }
    if (what & CURL_POLL_OUT) {
        events |= MG_WRITABLE;
    }
    mg_watch_set(socket->watch, events);
    return 0;
}

static int on_curl_timer(CURLM *multi, long timeout_ms, void *arg)
{
    (void)multi;
    struct mg_http_pool *pool = arg;
    mg_timer_stop(pool->timer);
    if (timeout_ms == 0) {
        mg_idle_arm(pool->idle); /* a timer would cost each call a millisecond */
    } else if (timeout_ms > 0) {
        mg_timer_start(pool->timer, timeout_ms, 0);
    }
    return 0;
}

/* ---- the end of a call ---- */

/* Takes the call back from libcurl; client_answer calls the caller back and frees it. */
static void call_finish(struct mg_http_call *call, CURLcode result)
{
    call->result = result;
    call->is_finished = true;
    mg_timer_stop(call->timer);
    TAILQ_REMOVE(&call->client->calls, call, entry);
    /* called back in the order in which they ended */
    TAILQ_INSERT_TAIL(&call->client->finished, call, entry);
}

/* Ends a call that libcurl did not end by itself. */
static void call_fail(struct mg_http_call *call, CURLcode result)
{
    call_finish(call, result);
    client_answer(call->client);
}

static void on_call_timer(void *arg)
{
    struct mg_http_call *call = arg;
    call->is_late = true;
    call_fail(call, CURLE_OPERATION_TIMEDOUT);
}

/* Nothing of the request was sent, and libcurl has closed the connection. A new one has no older bytes. */
static bool call_restart(struct mg_http_call *call)
{
    CURLM *multi = call->pool->multi;
    call->is_unclean = false;
    call->error_text[0] = '\0';
    (void)curl_multi_remove_handle(multi, call->easy);
    return curl_easy_setopt(call->easy, CURLOPT_FRESH_CONNECT, 1L) == CURLE_OK &&
           curl_multi_add_handle(multi, call->easy) == CURLM_OK;
}

static void pool_drive(struct mg_http_pool *pool, curl_socket_t fd, int events)
{
    int running = 0;
    (void)curl_multi_socket_action(pool->multi, fd, events, &running); /* fails only for an unknown socket */
    CURLMsg *message;
    int left = 0;
    while ((message = curl_multi_info_read(pool->multi, &left))) {
        if (message->msg != CURLMSG_DONE) {
            continue;
        }
        struct mg_http_call *call = NULL;
        CURLcode result = message->data.result;
        (void)curl_easy_getinfo(message->easy_handle, CURLINFO_PRIVATE, &call);
        assert(call);
        if (call->is_unclean && call_restart(call)) {
            continue;
        }
        call_finish(call, result);
    }
    client_answer(pool->client);
}

/* Calls back for each finished call. A callback may start and cancel calls, and destroy the client. */
static void client_answer(struct mg_http_client *client)
{
    client->is_answering = true;
    while (!client->is_destroyed && !TAILQ_EMPTY(&client->finished)) {
        struct mg_http_call *call = TAILQ_FIRST(&client->finished);
        struct mg_http_answer answer;
        TAILQ_REMOVE(&client->finished, call, entry);
        mg_http_call_conclude(call, &answer);
        call_detach(call); /* from now on the call outlives the client */
        call->is_in_callback = true;
        call->done(call->arg, &answer);
        call_destroy(call);
    }
    client->is_answering = false;
    if (client->is_destroyed) {
        free(client); /* destroyed within a callback: only the memory is left */
    }
}

static void call_detach(struct mg_http_call *call)
{
    struct mg_http_pool *pool = call->pool;
    if (!pool) {
        return;
    }
    call->pool = NULL;
    (void)curl_multi_remove_handle(pool->multi, call->easy); /* closes if unfinished */
    if (--pool->call_count == 0) {
        pool_emptied(pool);
    }
}

static bool is_reuse_safe(unsigned version)
{
    return version < REUSE_UNSAFE_FROM || version >= REUSE_SAFE_FROM;
}

/* Resets the handle for the next call, with all data of the last one. */
static void easy_keep(struct mg_http_client *client, CURL *easy)
{
    if (client->is_destroyed || client->spare_count == client->spare_max) {
        curl_easy_cleanup(easy);
        return;
    }
    curl_easy_reset(easy);
    client->spare[client->spare_count++] = easy;
}

static void call_destroy(struct mg_http_call *call)
{
    call_detach(call);
    if (call->easy) {
        easy_keep(call->client, call->easy);
    }
    mg_http_call_leave_tls(call);
    mg_http_room_leave(call);
    curl_url_cleanup(call->url);
    for (struct curl_slist *header = call->headers; header; header = header->next) {
        explicit_bzero(header->data, strlen(header->data)); /* a header may hold a token */
    }
    curl_slist_free_all(call->headers);
    mg_timer_destroy(call->timer);
    if (call->is_secret && call->body != NULL) {
        explicit_bzero(call->body, call->body_len);
    }
    if (call->is_secret && call->answer_body.data != NULL) {
        explicit_bzero(call->answer_body.data, call->answer_body.len);
    }
    mg_buf_finish(&call->answer_body);
    free(call->body);
    free(call);
}

/* ---- pools ---- */

static bool pool_set_rules(struct mg_http_pool *pool)
{
    CURLM *multi = pool->multi;
    bool is_set = true;
#define SET(option, value) is_set = curl_multi_setopt(multi, option, value) == CURLM_OK && is_set
    SET(CURLMOPT_SOCKETFUNCTION, on_curl_socket);
    SET(CURLMOPT_SOCKETDATA, pool);
    SET(CURLMOPT_TIMERFUNCTION, on_curl_timer);
    SET(CURLMOPT_TIMERDATA, pool);
    SET(CURLMOPT_MAX_TOTAL_CONNECTIONS, (long)pool->room);
    SET(CURLMOPT_MAXCONNECTS, (long)pool->room); /* all of them may be kept */
    SET(CURLMOPT_PIPELINING, (long)CURLPIPE_NOTHING);
#if LIBCURL_VERSION_NUM >= 0x081400
    SET(CURLMOPT_QUICK_EXIT, 1L); /* the end must not wait for the threads that resolve names */
#endif
#undef SET
    return is_set;
}

static void pool_destroy(struct mg_http_pool *pool)
{
    if (!pool) {
        return;
    }
    (void)curl_multi_cleanup(pool->multi); /* closes kept connections; watches go with them. Accepts NULL */
    mg_http_sockets_finish(&pool->sockets);
    mg_timer_destroy(pool->timer);
    if (pool->idle) {
        mg_idle_destroy(pool->idle);
    }
    free(pool);
}

/* The last one gets the remaining connections. */
static struct mg_http_pool *pool_create(struct mg_http_client *client, int index)
{
    struct mg_http_pool *pool = calloc(1, sizeof(*pool));
    int rest = client->options.max_connections - index * POOL_ROOM;
    if (!pool) {
        return NULL;
    }
    *pool = (struct mg_http_pool){.client = client, .room = rest < POOL_ROOM ? rest : POOL_ROOM};
    pool->timer = mg_timer_create(client->loop, on_timer, pool);
    pool->idle = mg_idle_create(client->loop, on_timer, pool);
    pool->multi = curl_multi_init();
    if (pool->timer && pool->idle && pool->multi && pool_set_rules(pool)) {
        return pool;
    }
    pool_destroy(pool);
    return NULL;
}

/* The first with room, else a new one, else the one with the fewest waiting calls. */
static struct mg_http_pool *client_choose_pool(struct mg_http_client *client)
{
    struct mg_http_pool *shortest = client->pools[0];
    int unmade = -1;
    for (int i = 0; i < client->pool_max; i++) {
        struct mg_http_pool *pool = client->pools[i];
        if (!pool) {
            if (unmade < 0) {
                unmade = i;
            }
            continue;
        }
        if (pool->call_count < pool->room) {
            return pool;
        }
        if (pool->call_count - pool->room < shortest->call_count - shortest->room) {
            shortest = pool;
        }
    }
    if (unmade >= 0) {
        client->pools[unmade] = pool_create(client, unmade);
    }
    return unmade >= 0 && client->pools[unmade] ? client->pools[unmade] : shortest;
}

static int64_t reap_after_ms(const struct mg_http_client *client)
{
    int64_t keep_ms = client->options.idle_connection_ms;
    return keep_ms > REAP_MIN_MS ? keep_ms : REAP_MIN_MS;
}

/* libcurl closes an old connection only when a later call finds it. This pool may get no call for a long
 * time. */
static void pool_emptied(struct mg_http_pool *pool)
{
    struct mg_http_client *client = pool->client;
    if (pool == client->pools[0]) {
        return; /* keeps its parsed CAs */
    }
    pool->empty_boot_ms = mg_clock_boot_ms();
    if (!mg_timer_is_active(client->reaper)) {
        mg_timer_start(client->reaper, reap_after_ms(client), 0);
    }
}

static void on_reaper(void *arg)
{
    struct mg_http_client *client = arg;
    const int64_t after_ms = reap_after_ms(client), now_ms = mg_clock_boot_ms();
    bool is_any_left = false;
    for (int i = 1; i < client->pool_max; i++) {
        struct mg_http_pool *pool = client->pools[i];
        if (!pool || pool->call_count > 0) {
            continue;
        }
        if (now_ms - pool->empty_boot_ms >= after_ms) {
            pool_destroy(pool);
            client->pools[i] = NULL;
        } else {
            is_any_left = true;
        }
    }
    if (is_any_left) {
        mg_timer_start(client->reaper, after_ms, 0);
    }
}

/* ---- starting a call ---- */

enum mg_class mg_http_client_call(struct mg_http_client *client, const struct mg_http_request *request,
                                  mg_http_done_fn *done, void *arg, struct mg_http_call **ret_call,
                                  struct mg_err *err)
{
    assert(request->method && request->url);
    struct mg_http_call *call = calloc(1, sizeof(*call));
    if (!call) {
        return mg_err_set(err, MG_TRANSIENT, "could not start %s: no memory", request->method);
    }
    call->client = client;
    call->done = done;
    call->arg = arg;
    call->is_secret = request->is_secret;
    call->timeout_ms = request->timeout_ms > 0 ? request->timeout_ms : 0;
    call->deadline_boot_ms = mg_clock_boot_ms() + call->timeout_ms;
    mg_buf_init(&call->answer_body, client->options.max_body_bytes);
    enum mg_class class = mg_http_call_configure(call, request, err);
    if (class != MG_OK) {
        goto failed;
    }
    class = MG_TRANSIENT;
    call->timer = mg_timer_create(client->loop, on_call_timer, call);
    if (!call->timer) {
        (void)mg_err_set(err, class, "could not start %s: no memory for a timer", request->method);
        goto failed;
    }
    /* A call without time left is not started; its timer ends it. */
    if (call->timeout_ms > 0) {
        struct mg_http_pool *pool = client_choose_pool(client);
        CURLMcode code = mg_http_sockets_watch(&pool->sockets, call->easy)
                             ? curl_multi_add_handle(pool->multi, call->easy)
                             : CURLM_OUT_OF_MEMORY;
        if (code != CURLM_OK) {
            (void)mg_err_set(err, class, "could not start %s: %s", request->method,
                             curl_multi_strerror(code));
            goto failed;
        }
        call->pool = pool;
        pool->call_count++;
    }
    mg_timer_start(call->timer, call->timeout_ms, 0);
    TAILQ_INSERT_TAIL(&client->calls, call, entry);
    *ret_call = call;
    return MG_OK;
failed:
    call_destroy(call);
    return class;
}

void mg_http_call_cancel(struct mg_http_call *call)
{
    if (call->is_in_callback) {
        return; /* from within its own callback: nothing to cancel */
    }
    TAILQ_REMOVE(call->is_finished ? &call->client->finished : &call->client->calls, call, entry);
    call_destroy(call);
}

/* ---- the client ---- */

enum mg_class mg_http_client_create(struct mg_loop *loop, const struct mg_http_client_options *options,
                                    struct mg_http_client **ret_client, struct mg_err *err)
{
    if (options->max_connections < 1 || options->connect_timeout_ms < 1 || options->max_body_bytes < 1 ||
        options->max_header_bytes < 1) {
        return mg_err_set(err, MG_BAD_INPUT, "could not make the HTTP client: a limit is below 1");
    }
    if (curl_global_init(CURL_GLOBAL_DEFAULT) != CURLE_OK) {
        return mg_err_set(err, MG_TRANSIENT, "could not make the HTTP client: libcurl cannot start");
    }
    const curl_version_info_data *library = curl_version_info(CURLVERSION_NOW);
    enum mg_class class = MG_TRANSIENT;
    struct mg_http_client *client = NULL;
    if (!(library->features & CURL_VERSION_ASYNCHDNS)) {
        class = mg_err_set(
            err, MG_PERMANENT,
            "could not make the HTTP client: this libcurl resolves names by blocking; install one with "
            "AsynchDNS");
        goto failed;
    }
    client = calloc(1, sizeof(*client));
    if (!client) {
        goto no_memory;
    }
    client->loop = loop;
    client->options = *options;
    client->call_fail = call_fail;
    TAILQ_INIT(&client->calls);
    TAILQ_INIT(&client->finished);
    client->read_boot_ms = mg_clock_boot_ms();
    const char *tls = library->ssl_version;
    client->spare_max = is_reuse_safe(library->version_num) ? MG_HTTP_SPARE_MAX : 0;
    client->is_openssl = tls && strncmp(tls, "OpenSSL/", strlen("OpenSSL/")) == 0;
    client->pool_max = (options->max_connections + POOL_ROOM - 1) / POOL_ROOM;
    client->pools = calloc((size_t)client->pool_max, sizeof(struct mg_http_pool *));
    client->reaper = mg_timer_create(loop, on_reaper, client);
    if (client->pools) {
        client->pools[0] = pool_create(client, 0);
    }
    if (!client->pools || !client->pools[0] || !client->reaper) {
        goto no_memory;
    }
    *ret_client = client;
    return MG_OK;
no_memory:
    class = mg_err_set(err, MG_TRANSIENT, "could not make the HTTP client: no memory");
    if (client) {
        if (client->pools) {
            pool_destroy(client->pools[0]);
        }
        free(client->pools);
        mg_timer_destroy(client->reaper);
        free(client);
    }
failed:
    curl_global_cleanup();
    return class;
}

void mg_http_client_reload(struct mg_http_client *client, bool keeps_connections)
{
    client->read_boot_ms = mg_clock_boot_ms();
    if (!keeps_connections) {
        client->renewed_boot_ms = client->read_boot_ms;
    }
}

void mg_http_client_destroy(struct mg_http_client *client)
{
    if (!client) {
        return;
    }
    struct mg_http_calls *lists[] = {&client->calls, &client->finished};
    for (size_t i = 0; i < sizeof(lists) / sizeof(lists[0]); i++) {
        while (!TAILQ_EMPTY(lists[i])) {
            struct mg_http_call *call = TAILQ_FIRST(lists[i]);
            TAILQ_REMOVE(lists[i], call, entry);
            call_destroy(call);
        }
    }
    client->is_destroyed = true;
    while (client->spare_count > 0) {
        curl_easy_cleanup(client->spare[--client->spare_count]);
    }
    for (int i = 0; i < client->pool_max; i++) {
        pool_destroy(client->pools[i]);
    }
    free(client->pools);
    mg_timer_destroy(client->reaper);
    curl_global_cleanup();
    if (!client->is_answering) {
        free(client);
    }
}
