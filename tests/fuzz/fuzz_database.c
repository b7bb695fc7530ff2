/*
 * Bytes of a database server: the session on libpq, from the login on, and the store's reading of rows. The
 * input is a byte that picks whether the server greets correctly, then all bytes of the server before it
 * closes. They answer the first request or replace the greeting. libpq connects to a socket of this process.
 */
#include <errno.h>
#include <stdio.h>
#include <sys/socket.h>
#include <unistd.h>

#include "fuzz.h"
#include "io/pg/libpq.h"
#include "io/store/store_private.h"

#define CALLS          3
#define STATEMENTS     2
#define ORDERS         4
#define ARENA_MAX      (4 * FUZZ_TEXT_MAX)
#define INPUT_MAX      8192 /* the socket takes so many bytes in one write, with the login before them */
#define READY          'Z'  /* ReadyForQuery, which answers a Sync */
#define PREPARED_FIRST STATEMENTS /* so many Syncs precede the one of the first call */

static const struct mg_sql SQL[STATEMENTS] = {{"fuzz_orders", "SELECT 1"}, {"fuzz_events", "SELECT 2"}};

struct run {
    struct mg_loop *loop;
    struct mg_pg *pg;
    struct mg_slice sent; /* by the server */
    bool greets;
    int connects;
    int fd;                 /* the server's end; -1: not yet connected */
    struct mg_watch *watch; /* of it */
    int heard;              /* messages of the client so far: the login, then the requests */
    struct call {
        struct run *run;
        bool is_answered;
    } calls[CALLS];
    int done; /* calls that succeeded */
};

static int listener = -1;
static char dsn[128];

/* ---- the server ---- */

/* Authentication, parameters, key, ready: PostgreSQL 15's greeting of a trusted client. */
static const char GREETING[] = "R\0\0\0\x08\0\0\0\0"
                               "S\0\0\0\x18server_version\0"
                               "15.4\0"
                               "S\0\0\0\x19"
                               "client_encoding\0UTF8\0"
                               "S\0\0\0\x17in_hot_standby\0off\0"
                               "S\0\0\0\x26"
                               "default_transaction_read_only\0off\0"
                               "S\0\0\0\x23standard_conforming_strings\0on\0"
                               "K\0\0\0\x0c\0\0\0\x07\0\0\0\x07"
                               "Z\0\0\0\x05I";

static void listen_here(void)
{
    char name[64];
    (void)snprintf(name, sizeof(name), "makegood-fuzz-%d/.s.PGSQL.5432", (int)getpid());
    (void)snprintf(
        dsn, sizeof(dsn),
        "host=@makegood-fuzz-%d port=5432 user=u dbname=d password=p sslmode=disable gssencmode=disable",
        (int)getpid());
    listener = fuzz_listen(name);
}

/* The receiver may have closed its side. */
static void say(int fd, const void *bytes, size_t len)
{
    if (len > 0) {
        FUZZ_REQUIRE(send(fd, bytes, len, MSG_NOSIGNAL) == (ssize_t)len || errno == EPIPE);
    }
}

static void on_client(void *arg, int events)
{
    struct run *run = arg;
    (void)events;
    char bytes[4096];
    while (recv(run->fd, bytes, sizeof(bytes), MSG_DONTWAIT) > 0) {
        continue;
    }
    run->heard++;
    if (run->heard == 1 && run->greets) {
        say(run->fd, GREETING, sizeof(GREETING) - 1);
    } else if (run->heard <= 2) {
        say(run->fd, run->sent.data, run->sent.len);
        FUZZ_REQUIRE(shutdown(run->fd, SHUT_WR) == 0 || errno == ENOTCONN);
        mg_watch_set(run->watch, 0);
    }
}

static void on_connection(void *arg, int events)
{
    struct run *run = arg;
    (void)events;
    int fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
    FUZZ_REQUIRE(fd >= 0);
    if (run->fd >=
        0) { /* libpq connects a second time without the feature that the server does not support */
        close(fd);
        return;
    }
    run->fd = fd;
    run->watch = mg_watch_create(run->loop, fd, on_client, run);
    FUZZ_REQUIRE(run->watch != NULL);
    mg_watch_set(run->watch, MG_READABLE);
}

/* The most Syncs that these bytes answer, by libpq's own way of reading, if no error occurs. */
static int count_ready(struct mg_slice sent)
{
    int count = 0;
    size_t at = 0;
    while (sent.len - at >= 5) {
        uint64_t len = fuzz_number(sent.data + at + 1, 4);
        if (len < 4 || len > sent.len - at - 1) {
            break;
        }
        count += sent.data[at] == READY;
        at += 1 + (size_t)len;
    }
    return count;
}

/* ---- rows as the store reads them ---- */

static void order_is_sound(const struct mg_order_record *record)
{
    const struct mg_order *order = &record->order;
    FUZZ_REQUIRE(order->state < MG_ORDER_STATE_COUNT && order->step_count >= 0);
    FUZZ_REQUIRE(order->step_count <= MG_STEPS_MAX);
    FUZZ_REQUIRE(memchr(record->order_id, '\0', sizeof(record->order_id)) != NULL);
    FUZZ_REQUIRE(memchr(record->workflow, '\0', sizeof(record->workflow)) != NULL);
    for (int i = 0; i < order->step_count; i++) {
        if ((record->stored_steps >> i & 1) == 0) {
            continue;
        }
        FUZZ_REQUIRE(record->step_names[i] != NULL && record->services[i] != NULL);
        FUZZ_REQUIRE(order->steps[i].kind < MG_KIND_COUNT);
    }
}

static void take_orders(const struct mg_rows *rows)
{
    struct mg_loaded orders[ORDERS] = {{.record = NULL}};
    struct mg_err err;
    struct mg_arena *arena = mg_arena_create(ARENA_MAX);
    FUZZ_REQUIRE(arena != NULL);
    enum mg_class class = mg_store_take_orders(arena, rows, orders, ORDERS, &err);
    FUZZ_REQUIRE(class == MG_OK || (err.class == class && err.text[0] != '\0'));
    for (int i = 0; i < ORDERS && class == MG_OK; i++) {
        FUZZ_REQUIRE(!orders[i].is_unreadable || orders[i].record == NULL);
        if (orders[i].record != NULL) {
            order_is_sound(orders[i].record);
        }
    }
    mg_arena_destroy(arena);
}

static void take_events(const struct mg_rows *rows)
{
    struct mg_event_record event;
    struct mg_err err;
    struct mg_arena *arena = mg_arena_create(ARENA_MAX);
    FUZZ_REQUIRE(arena != NULL);
    for (int row = 0; row < mg_rows_count(rows); row++) {
        enum mg_class class = mg_store_take_event(arena, rows, row, &event, &err);
        FUZZ_REQUIRE(class == MG_OK || (err.class == class && err.text[0] != '\0'));
    }
    mg_arena_destroy(arena);
}

/* Every value is text that ends at its stated length. */
static void rows_are_whole(const struct mg_rows *rows)
{
    for (int row = 0; row < mg_rows_count(rows); row++) {
        for (int column = 0; column < mg_rows_column_count(rows); column++) {
            struct mg_slice value = mg_rows_value(rows, row, column);
            FUZZ_REQUIRE((value.data == NULL) == mg_rows_is_null(rows, row, column));
            FUZZ_REQUIRE(value.data == NULL || value.data[value.len] == '\0');
        }
    }
}

/* ---- the session ---- */

static void on_answer(void *arg, const struct mg_pg_answer *answer)
{
    struct call *call = arg;
    FUZZ_REQUIRE(!call->is_answered);
    call->is_answered = true;
    FUZZ_REQUIRE((answer->fault == MG_PG_NONE) == (answer->err == NULL));
    if (answer->err != NULL) {
        FUZZ_REQUIRE(answer->err->class != MG_OK && answer->err->text[0] != '\0');
        return;
    }
    /* A commit is proved only by the answer to its Sync. At that point every statement has its rows. */
    FUZZ_REQUIRE(PREPARED_FIRST + ++call->run->done <= count_ready(call->run->sent));
    for (int i = 0; i < STATEMENTS; i++) {
        FUZZ_REQUIRE(answer->rows[i] != NULL);
        rows_are_whole(answer->rows[i]);
    }
    take_orders(answer->rows[0]);
    take_events(answer->rows[1]);
}

static void on_connected(void *arg)
{
    struct run *run = arg;
    const struct mg_pg_statement statements[STATEMENTS] = {{&SQL[0], NULL}, {&SQL[1], NULL}};
    FUZZ_REQUIRE(++run->connects == 1);
    for (int i = 0; i < CALLS; i++) {
        run->calls[i].run = run;
        mg_pg_send(run->pg, statements, STATEMENTS, on_answer, &run->calls[i]);
    }
}

static void on_lost(void *arg, const char *reason)
{
    struct run *run = arg;
    FUZZ_REQUIRE(reason[0] != '\0');
    mg_loop_stop(run->loop);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (listener < 0) {
        listen_here();
    }
    struct run run = {.sent = {(const char *)data + (size > 0), size - (size > 0)},
                      .greets = size > 0 && (data[0] & 1) == 0,
                      .fd = -1};
    const struct mg_pg_options options = {
        .dsn = dsn, .name = "fuzz", .on_connected = on_connected, .on_lost = on_lost, .arg = &run};
    struct mg_err err;
    if (run.sent.len > INPUT_MAX) {
        return 0;
    }
    run.loop = mg_loop_create();
    FUZZ_REQUIRE(run.loop != NULL);
    struct mg_watch *watch = mg_watch_create(run.loop, listener, on_connection, &run);
    FUZZ_REQUIRE(watch != NULL);
    mg_watch_set(watch, MG_READABLE);
    FUZZ_REQUIRE(mg_pg_create(run.loop, &options, &run.pg, &err) == MG_OK);
    mg_loop_run(run.loop);
    for (int i = 0; i < CALLS; i++) {
        FUZZ_REQUIRE(run.calls[i].is_answered == (run.connects > 0));
    }
    mg_pg_destroy(run.pg);
    mg_watch_destroy(watch);
    mg_watch_destroy(run.watch);
    mg_loop_destroy(run.loop);
    if (run.fd >= 0) {
        close(run.fd);
    }
    return 0;
}
