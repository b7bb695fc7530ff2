/*
 * The relay runs on a thread of its own and is controlled by two atomics; the rest runs on the test's thread.
 * Queues are declared and read over short connections, separate from the broker under test.
 */
#include "broker_fixture.h"

#include <arpa/inet.h>
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/id.h"
#include "io/amqp/connection.h"

#define PAIRS_MAX 32
#define TICK_MS   5

struct relay {
    int listener;
    struct sockaddr_in target;
    char url[512];
    atomic_int mode;
    atomic_bool is_cutting, is_stopping;
    pthread_t thread;
    struct {
        int client, server;
        bool is_stuck;
    } pairs[PAIRS_MAX];
    int pair_count;
};

/* ---- the relay ---- */

static void relay_close_pair(struct relay *relay, int i)
{
    struct linger reset = {.l_onoff = 1}; /* a reset, as of a process that was killed */
    (void)setsockopt(relay->pairs[i].client, SOL_SOCKET, SO_LINGER, &reset, sizeof(reset));
    close(relay->pairs[i].client);
    close(relay->pairs[i].server);
    relay->pairs[i] = relay->pairs[--relay->pair_count];
}

static void relay_accept(struct relay *relay)
{
    int client = accept(relay->listener, NULL, NULL);
    if (client < 0) {
        return;
    }
    int server = -1;
    bool is_refused = relay->mode == RELAY_DOWN || relay->mode == RELAY_FULL;
    if (!is_refused && relay->pair_count < PAIRS_MAX) {
        server = socket(AF_INET, SOCK_STREAM, 0);
    }
    if (server < 0 || connect(server, (struct sockaddr *)&relay->target, sizeof(relay->target)) != 0) {
        if (server >= 0) {
            close(server);
        }
        close(client);
        return;
    }
    relay->pairs[relay->pair_count].client = client;
    relay->pairs[relay->pair_count].is_stuck = false;
    relay->pairs[relay->pair_count++].server = server;
}

#define BASIC_CANCEL 30
#define BASIC_ACK    80

/* AMQP 0-9-1 §2.3.5: type, channel, size, payload, end. Takes one method of basic (60) out of whole frames.
 */
static ssize_t method_leave(unsigned char *bytes, ssize_t n, unsigned char basic_method)
{
    ssize_t kept = 0;
    for (ssize_t at = 0; at < n;) {
        ck_assert_int_le(at + 7, n);
        size_t size = (size_t)bytes[at + 3] << 24 | (size_t)bytes[at + 4] << 16 | (size_t)bytes[at + 5] << 8 |
                      bytes[at + 6];
        ssize_t whole = (ssize_t)size + 8;
        ck_assert_int_le(at + whole, n);
        const unsigned char method[] = {0, 60, 0, basic_method};
        bool is_taken = bytes[at] == 1 && size > 4 && memcmp(bytes + at + 7, method, sizeof(method)) == 0;
        if (!is_taken) {
            memmove(bytes + kept, bytes + at, (size_t)whole);
            kept += whole;
        }
        at += whole;
    }
    return kept;
}

/* `basic_method` is taken out; 0: none. `ret_is_stuck`: set where the stuck queue is named; NULL: not looked
 * for. */
static bool relay_move(int from, int to, unsigned char basic_method, bool *ret_is_stuck)
{
    unsigned char bytes[65536];
    ssize_t n = recv(from, bytes, sizeof(bytes), 0);
    if (n <= 0) {
        return false;
    }
    const char *name = RELAY_STUCK_QUEUE;
    if (ret_is_stuck != NULL && memmem(bytes, (size_t)n, name, strlen(name)) != NULL) {
        *ret_is_stuck = true;
    }
    if (basic_method != 0) {
        n = method_leave(bytes, n, basic_method);
    }
    for (ssize_t sent = 0; sent < n;) {
        ssize_t m = send(to, bytes + sent, (size_t)(n - sent), MSG_NOSIGNAL);
        if (m <= 0) {
            return false;
        }
        sent += m;
    }
    return true;
}

static unsigned char relay_withholds(const struct relay *relay, int pair)
{
    bool is_stuck = relay->mode == RELAY_STUCK && relay->pairs[pair].is_stuck;
    if (relay->mode == RELAY_UNCONFIRMED || is_stuck) {
        return BASIC_ACK;
    }
    return relay->mode == RELAY_FORGETFUL ? BASIC_CANCEL : 0;
}

static void *relay_run(void *arg)
{
    struct relay *relay = arg;
    while (!relay->is_stopping) {
        if (atomic_exchange(&relay->is_cutting, false) || relay->mode == RELAY_DOWN) {
            while (relay->pair_count > 0) {
                relay_close_pair(relay, 0);
            }
        }
        struct pollfd fds[1 + 2 * PAIRS_MAX] = {{.fd = relay->listener, .events = POLLIN}};
        int count = relay->pair_count;
        bool is_silent = relay->mode == RELAY_SILENT;
        for (int i = 0; i < count; i++) {
            bool is_deaf = is_silent || (relay->mode == RELAY_STUCK && relay->pairs[i].is_stuck);
            fds[1 + 2 * i] = (struct pollfd){.fd = is_deaf ? -1 : relay->pairs[i].client, .events = POLLIN};
            fds[2 + 2 * i] = (struct pollfd){.fd = is_silent ? -1 : relay->pairs[i].server, .events = POLLIN};
        }
        if (is_silent) {
            fds[0].fd = -1; /* the kernel accepts, no program answers */
        }
        (void)poll(fds, 1U + 2U * (unsigned)count, TICK_MS);
        for (int i = count - 1; i >= 0; i--) {
            int client = relay->pairs[i].client, server = relay->pairs[i].server;
            bool is_alive =
                fds[1 + 2 * i].revents == 0 || relay_move(client, server, 0, &relay->pairs[i].is_stuck);
            is_alive = is_alive && (fds[2 + 2 * i].revents == 0 ||
                                    relay_move(server, client, relay_withholds(relay, i), NULL));
            if (!is_alive) {
                relay_close_pair(relay, i);
            }
        }
        if (fds[0].fd >= 0 && fds[0].revents != 0) {
            relay_accept(relay);
        }
    }
    while (relay->pair_count > 0) {
        relay_close_pair(relay, 0);
    }
    return NULL;
}

struct relay *relay_start(void)
{
    struct relay *relay = calloc(1, sizeof(*relay));
    ck_assert_ptr_nonnull(relay);
    char *copy = strdup(test_amqp_url());
    struct amqp_connection_info info;
    ck_assert_int_eq(amqp_parse_url(copy, &info), AMQP_STATUS_OK);
    relay->target = (struct sockaddr_in){.sin_family = AF_INET, .sin_port = htons((uint16_t)info.port)};
    if (inet_pton(AF_INET, info.host, &relay->target.sin_addr) != 1) {
        relay->target.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    }
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t size = sizeof(address);
    relay->listener = socket(AF_INET, SOCK_STREAM, 0);
    ck_assert_int_eq(bind(relay->listener, (struct sockaddr *)&address, size), 0);
    ck_assert_int_eq(listen(relay->listener, PAIRS_MAX), 0);
    ck_assert_int_eq(getsockname(relay->listener, (struct sockaddr *)&address, &size), 0);
    (void)snprintf(relay->url, sizeof(relay->url), "%s://%s:%s@127.0.0.1:%d/", info.ssl ? "amqps" : "amqp",
                   info.user, info.password, ntohs(address.sin_port));
    free(copy);
    ck_assert_int_eq(pthread_create(&relay->thread, NULL, relay_run, relay), 0);
    return relay;
}

void relay_stop(struct relay *relay)
{
    relay->is_stopping = true;
    (void)pthread_join(relay->thread, NULL);
    close(relay->listener);
    free(relay);
}

void relay_set(struct relay *relay, enum relay_mode mode)
{
    relay->mode = (int)mode;
}

void relay_cut(struct relay *relay)
{
    relay->is_cutting = true;
}

const char *relay_url(const struct relay *relay)
{
    return relay->url;
}

/* ---- queues ---- */

/* MAKEGOOD_TEST_OVER_TLS: the same tests, over TLS. */
static const char *test_variable(const char *plain, const char *tls)
{
    const char *name = getenv("MAKEGOOD_TEST_OVER_TLS") == NULL ? plain : tls;
    const char *value = getenv(name);
    ck_assert_msg(value != NULL && value[0] != '\0', "%s should name a RabbitMQ to test against", name);
    return value;
}

const char *test_amqp_url(void)
{
    return test_variable("MAKEGOOD_TEST_AMQP_URL", "MAKEGOOD_TEST_AMQPS_URL");
}

const struct mg_broker_address *test_address(void)
{
    static struct mg_broker_address address;
    address = (struct mg_broker_address){.url = test_amqp_url(),
                                         .tls = {.ca_file = getenv("MAKEGOOD_TEST_TLS_CA"),
                                                 .cert_file = getenv("MAKEGOOD_TEST_TLS_CERT"),
                                                 .key_file = getenv("MAKEGOOD_TEST_TLS_KEY")}};
    return &address;
}

void test_queue_name(const char *what, char ret_name[64])
{
    (void)snprintf(ret_name, 64, "test.%s.%016llx", what, (unsigned long long)mg_random_u64());
}

static amqp_connection_state_t test_connect(void)
{
    struct mg_err err;
    amqp_connection_state_t connection = NULL;
    ck_assert_msg(mg_amqp_connect(test_address(), "test", &connection, NULL, &err) == MG_OK, "%s", err.text);
    return connection;
}

static void queue_declare(const char *queue, amqp_table_t arguments)
{
    amqp_connection_state_t connection = test_connect();
    ck_assert_ptr_nonnull(
        amqp_queue_declare(connection, MG_AMQP_CHANNEL, amqp_cstring_bytes(queue), 0, 1, 0, 0, arguments));
    mg_amqp_destroy(connection);
}

void test_queue_declare(const char *queue, int max_length)
{
    amqp_table_entry_t entries[2] = {{.key = amqp_cstring_bytes("x-max-length")},
                                     {.key = amqp_cstring_bytes("x-overflow")}};
    entries[0].value.kind = AMQP_FIELD_KIND_I32;
    entries[0].value.value.i32 = max_length;
    entries[1].value.kind = AMQP_FIELD_KIND_UTF8;
    entries[1].value.value.bytes = amqp_cstring_bytes("reject-publish");
    queue_declare(queue, (amqp_table_t){.num_entries = max_length > 0 ? 2 : 0, .entries = entries});
}

void test_quorum_queue_declare(const char *queue)
{
    amqp_table_entry_t entry = {.key = amqp_cstring_bytes("x-queue-type")};
    entry.value.kind = AMQP_FIELD_KIND_UTF8;
    entry.value.value.bytes = amqp_cstring_bytes("quorum");
    queue_declare(queue, (amqp_table_t){.num_entries = 1, .entries = &entry});
}

void test_queue_bind(const char *queue, const char *exchange)
{
    amqp_connection_state_t connection = test_connect();
    ck_assert_ptr_nonnull(amqp_queue_bind(connection, MG_AMQP_CHANNEL, amqp_cstring_bytes(queue),
                                          amqp_cstring_bytes(exchange), amqp_cstring_bytes(queue),
                                          amqp_empty_table));
    mg_amqp_destroy(connection);
}

void test_queue_delete(const char *queue)
{
    amqp_connection_state_t connection = test_connect();
    ck_assert_ptr_nonnull(amqp_queue_delete(connection, MG_AMQP_CHANNEL, amqp_cstring_bytes(queue), 0, 0));
    mg_amqp_destroy(connection);
}

bool test_publish_nested(const char *queue)
{
    /* About the most that fits into a frame; from 0.14 on about the library's own limit. */
    const int depth = amqp_version_number() < AMQP_VERSION_CODE(0, 14, 0, 0) ? 17000 : 90;
    amqp_connection_state_t connection = test_connect();
    amqp_table_entry_t *levels = calloc((size_t)depth, sizeof(*levels));
    ck_assert_ptr_nonnull(levels);
    for (int i = 0; i < depth; i++) {
        levels[i].key = amqp_cstring_bytes("a");
        levels[i].value.kind = i + 1 < depth ? AMQP_FIELD_KIND_TABLE : AMQP_FIELD_KIND_VOID;
        levels[i].value.value.table =
            (amqp_table_t){.num_entries = i + 1 < depth, .entries = i + 1 < depth ? &levels[i + 1] : NULL};
    }
    const amqp_basic_properties_t properties = {._flags = AMQP_BASIC_HEADERS_FLAG,
                                                .headers = {.num_entries = 1, .entries = levels}};
    ck_assert_ptr_nonnull(amqp_confirm_select(connection, MG_AMQP_CHANNEL));
    ck_assert_int_eq(amqp_basic_publish(connection, MG_AMQP_CHANNEL, amqp_cstring_bytes(""),
                                        amqp_cstring_bytes(queue), 0, 0, &properties,
                                        amqp_cstring_bytes("{}")),
                     AMQP_STATUS_OK);
    struct timeval timeout = {.tv_sec = 5};
    amqp_frame_t frame; /* the confirm, or the broker's refusal of such headers; either will do */
    ck_assert_int_eq(amqp_simple_wait_frame_noblock(connection, &frame, &timeout), AMQP_STATUS_OK);
    bool is_taken = frame.frame_type == AMQP_FRAME_METHOD && frame.payload.method.id == AMQP_BASIC_ACK_METHOD;
    free(levels);
    mg_amqp_destroy(connection);
    return is_taken;
}

int test_queue_ready(const char *queue)
{
    amqp_connection_state_t connection = test_connect();
    const amqp_queue_declare_ok_t *ok = amqp_queue_declare(
        connection, MG_AMQP_CHANNEL, amqp_cstring_bytes(queue), 1, 0, 0, 0, amqp_empty_table);
    int ready = ok == NULL ? -1 : (int)ok->message_count;
    mg_amqp_destroy(connection);
    return ready;
}

/* ---- the broker under test ---- */

static void on_delivery(void *arg, struct mg_delivery *delivery)
{
    struct fixture *fixture = arg;
    ck_assert_int_lt(fixture->delivery_count, DELIVERIES_MAX);
    fixture->deliveries[fixture->delivery_count++] = delivery;
    if (fixture->acks_at_once) {
        mg_broker_ack(fixture->broker, delivery);
    }
}

static void on_state(void *arg, bool is_up, const char *reason)
{
    struct fixture *fixture = arg;
    fixture->is_up = is_up;
    if (is_up) {
        fixture->up_count++;
    } else {
        fixture->down_count++;
    }
    (void)snprintf(fixture->reason, sizeof(fixture->reason), "%s", reason);
}

static void on_published(void *arg, enum mg_publish_outcome outcome)
{
    struct fixture *fixture = arg;
    fixture->outcomes[outcome]++;
}

void fixture_init(struct fixture *fixture, const char *url)
{
    memset(fixture, 0, sizeof(*fixture));
    fixture->loop = mg_loop_create();
    ck_assert_ptr_nonnull(fixture->loop);
    fixture->options = (struct mg_broker_options){.address = {.url = url, .tls = test_address()->tls},
                                                  .name = "test",
                                                  .on_delivery = on_delivery,
                                                  .on_state = on_state,
                                                  .arg = fixture};
    fixture->ready = fixture->consumers = -2;
}

void fixture_init_queue(struct fixture *fixture, const char *url, const char *what, char ret_queue[64])
{
    test_queue_name(what, ret_queue);
    test_queue_declare(ret_queue, 0);
    fixture_init(fixture, url);
    fixture->options.consumers[0] = (struct mg_consumer){.queue = ret_queue, .prefetch = 100};
    fixture->options.consumer_count = 1;
}

int fixture_outcome_count(const struct fixture *fixture)
{
    int count = 0;
    for (int i = 0; i < MG_PUBLISH_OUTCOME_COUNT; i++) {
        count += fixture->outcomes[i];
    }
    return count;
}

void fixture_create(struct fixture *fixture)
{
    struct mg_err err;
    ck_assert_msg(mg_broker_create(fixture->loop, &fixture->options, &fixture->broker, &err) == MG_OK, "%s",
                  err.text);
}

static bool is_up(const struct fixture *fixture)
{
    return fixture->is_up;
}

void fixture_start(struct fixture *fixture)
{
    fixture_create(fixture);
    ck_assert_msg(fixture_run(fixture, is_up, WAIT_MS), "not up: %s", fixture->reason);
}

void fixture_finish(struct fixture *fixture)
{
    mg_broker_destroy(fixture->broker);
    mg_loop_destroy(fixture->loop);
}

struct running {
    struct fixture *fixture;
    bool (*is_done)(const struct fixture *);
    int64_t until_boot_ms, last_tick_boot_ms;
    bool was_done;
};

static void on_tick(void *arg)
{
    struct running *running = arg;
    int64_t now = mg_clock_boot_ms();
    int64_t turn = now - running->last_tick_boot_ms;
    if (turn > running->fixture->longest_turn_ms) {
        running->fixture->longest_turn_ms = turn;
    }
    running->last_tick_boot_ms = now;
    running->was_done = running->is_done != NULL && running->is_done(running->fixture);
    if (running->was_done || now >= running->until_boot_ms) {
        mg_loop_stop(running->fixture->loop);
    }
}

bool fixture_run(struct fixture *fixture, bool (*is_done)(const struct fixture *), int64_t timeout_ms)
{
    int64_t now = mg_clock_boot_ms();
    struct running running = {
        .fixture = fixture, .is_done = is_done, .until_boot_ms = now + timeout_ms, .last_tick_boot_ms = now};
    struct mg_timer *timer = mg_timer_create(fixture->loop, on_tick, &running);
    ck_assert_ptr_nonnull(timer);
    mg_timer_start(timer, TICK_MS, TICK_MS);
    mg_loop_run(fixture->loop);
    mg_timer_destroy(timer);
    return running.was_done;
}

void fixture_run_for(struct fixture *fixture, int64_t ms)
{
    (void)fixture_run(fixture, NULL, ms);
}

void fixture_publish_message(struct fixture *fixture, const struct mg_message *message)
{
    struct mg_err err;
    ck_assert_msg(mg_broker_publish(fixture->broker, message, on_published, fixture, &err) == MG_OK, "%s",
                  err.text);
}

void fixture_publish(struct fixture *fixture, const char *queue, const char *body)
{
    const struct mg_message message = {.exchange = "", .routing_key = queue, .body = mg_slice_of(body)};
    fixture_publish_message(fixture, &message);
}
