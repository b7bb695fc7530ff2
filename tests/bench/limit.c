/*
 * The limit: the load that broker, database and remote service carry without any decision, parser or check.
 *
 *   makegood-bench-limit --url URL --dsn DSN --port N --orders N (--in-flight N | --rate N)
 *       [--batch N] [--sessions N] [--connections N] [--prefetch N] [--timeout-s N]
 *       [--submission N] [--request N] [--reply N] [--status N] [--call N] [--payload N]     sizes in bytes
 *
 * One process plays client, scheduler and agent with a connection for publishing and one for consuming each,
 * as in Makegood. An order is nine messages through Makegood's queues: a submission, three requests and three
 * replies through quorum queues, two statuses to the client's own queue. Each is persistent and confirmed;
 * each consumed one is acked only when the messages that follow from it are confirmed. An order is also four
 * transactions with the rows of limit_rows.c, and three POSTs. Messages are packed and taken, and rows
 * written over several sessions, in batches of all that has arrived. Nothing waits without need.
 */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>

#include "limit.h"

struct limit_options limit_options = {.timeout_s = 600,
                                      .batch = 256,
                                      .sessions = 4,
                                      .connections = 128,
                                      .prefetch = 2000,
                                      .submission_bytes = 1150,
                                      .request_bytes = 1550,
                                      .reply_bytes = 220,
                                      .status_bytes = 140,
                                      .call_bytes = 1100,
                                      .payload_bytes = 1024};

/* Consumes and publishes: its deliveries are acked, in order, when all messages that follow from them are
 * confirmed. */
struct role {
    struct bench_link consume, publish;
    uint8_t pending[BENCH_WINDOW];   /* by delivery: confirms and steps that it still waits for */
    uint64_t cause_of[BENCH_WINDOW]; /* by published message: the delivery it follows from */
    uint64_t delivered, acked, acked_told;
};

struct order {
    char id[BENCH_ID_SIZE];
    int64_t due_us, ended_us;
};

static struct role scheduler, agent;
static struct bench_link client_publish, client_consume;
static const char *reply_queue;
static struct order *orders;
static long sent, ended;
static int64_t began_us, first_us, steady_us, last_us;
static char *filler;
static unsigned run_number;

const char *limit_order_id(uint64_t order)
{
    return orders[order].id;
}

/* ---- messages: the run, the order's number and stage, then as many bytes as Makegood's message has ---- */

static void message_publish(struct bench_link *link, const char *exchange, const char *key, const char *type,
                            const struct limit_event *event, long bytes)
{
    char id[96];
    (void)snprintf(id, sizeof(id), "%s.reserve.1.do", orders[event->order].id);
    char head[32];
    (void)snprintf(head, sizeof(head), "%08x%08x%d", run_number, (unsigned)event->order, event->stage);
    memcpy(filler, head, 17);
    struct bench_message message = {.exchange = exchange,
                                    .routing_key = key,
                                    .type = type,
                                    .message_id = id,
                                    .correlation_id = id,
                                    .reply_to =
                                        event->stage == 0 && link == &client_publish ? reply_queue : NULL,
                                    .body = filler,
                                    .body_len = (size_t)bytes};
    (void)bench_link_publish(link, &message);
}

/* Returns false for a message of an earlier run, the last acks of which did not reach the broker. */
static bool message_read(const struct bench_delivery *delivery, struct limit_event *ret_event)
{
    char number[17] = "";
    memcpy(number, delivery->body, 16);
    uint64_t both = strtoull(number, NULL, 16);
    *ret_event = (struct limit_event){
        .order = both & UINT32_MAX, .stage = delivery->body[16] - '0', .cause = delivery->tag};
    return both >> 32 == run_number;
}

/* ---- roles ---- */

static void role_follow(struct role *role, const char *exchange, const char *key, const char *type,
                        const struct limit_event *event, long bytes)
{
    role->pending[event->cause % BENCH_WINDOW]++;
    role->cause_of[(role->publish.published + 1) % BENCH_WINDOW] = event->cause;
    message_publish(&role->publish, exchange, key, type, event, bytes);
}

static void role_release(struct role *role, uint64_t cause)
{
    role->pending[cause % BENCH_WINDOW]--;
    while (role->acked < role->delivered && role->pending[(role->acked + 1) % BENCH_WINDOW] == 0) {
        role->acked++;
    }
}

static void role_on_confirm(struct bench_link *link, uint64_t first, uint64_t last)
{
    struct role *role = link->arg;
    for (uint64_t tag = first; tag <= last; tag++) {
        role_release(role, role->cause_of[tag % BENCH_WINDOW]);
    }
}

static void role_take(struct role *role, const struct bench_delivery *delivery)
{
    role->delivered = delivery->tag;
    role->pending[delivery->tag % BENCH_WINDOW] = 1; /* until its own step is done */
}

static void role_flush(struct role *role)
{
    bench_link_flush(&role->publish);
    if (role->acked > role->acked_told) {
        bench_link_ack(&role->consume, role->acked);
        role->acked_told = role->acked;
    }
    bench_link_flush(&role->consume);
}

/* An unacked message would be redelivered in the next run. */
static bool role_is_done(const struct role *role)
{
    return role->acked_told == role->delivered && role->consume.out.len == 0;
}

static void role_open(struct role *role,
                      void (*on_delivery)(struct bench_link *, const struct bench_delivery *))
{
    bench_link_open(&role->publish, limit_options.url, true);
    bench_link_open(&role->consume, limit_options.url, false);
    role->publish.on_confirm = role_on_confirm;
    role->publish.arg = role->consume.arg = role;
    role->consume.on_delivery = on_delivery;
}

/* The scheduler: the rows of a submission or a reply are written; then a request or the last status
 * follows. */
static void scheduler_on_delivery(struct bench_link *link, const struct bench_delivery *delivery)
{
    struct limit_event event;
    role_take(link->arg, delivery);
    if (message_read(delivery, &event)) {
        limit_rows_add(&event);
    } else {
        role_release(link->arg, delivery->tag);
    }
}

static void on_committed(const struct limit_event *event)
{
    if (event->stage < LIMIT_STEPS) {
        role_follow(&scheduler, "makegood.requests", "agent.bench.requests", "request", event,
                    limit_options.request_bytes);
    }
    if (event->stage == 0 || event->stage == LIMIT_STEPS) {
        role_follow(&scheduler, "", reply_queue, "status", event, limit_options.status_bytes);
    }
    role_release(&scheduler, event->cause);
}

/* The agent: a request is a call, its answer a reply. */
static void agent_on_delivery(struct bench_link *link, const struct bench_delivery *delivery)
{
    struct limit_event event;
    role_take(link->arg, delivery);
    if (message_read(delivery, &event)) {
        limit_calls_add(&event);
    } else {
        role_release(link->arg, delivery->tag);
    }
}

static void on_answered(const struct limit_event *event)
{
    struct limit_event reply = *event;
    reply.stage++;
    role_follow(&agent, "makegood.replies.bench", "scheduler.replies", "reply", &reply,
                limit_options.reply_bytes);
    role_release(&agent, event->cause);
}

static void client_on_delivery(struct bench_link *link, const struct bench_delivery *delivery)
{
    (void)link;
    struct limit_event event;
    if (!message_read(delivery, &event) || event.stage != LIMIT_STEPS) {
        return;
    }
    orders[event.order].ended_us = last_us = bench_now_us() - began_us;
    ended++;
    if (ended == limit_options.in_flight) {
        first_us = last_us;
    }
    if (ended == limit_options.orders - limit_options.in_flight) {
        steady_us = last_us;
    }
}

static int64_t client_send_due(void)
{
    int64_t now_us = bench_now_us() - began_us;
    bool is_open = limit_options.rate > 0;
    while (sent < limit_options.orders &&
           (is_open ? orders[sent].due_us <= now_us : sent - ended < limit_options.in_flight)) {
        struct limit_event event = {.order = (uint64_t)sent};
        if (!is_open) {
            orders[sent].due_us = now_us;
        }
        message_publish(&client_publish, "makegood.intake", "orders.intake", "submission", &event,
                        limit_options.submission_bytes);
        sent++;
    }
    return is_open && sent < limit_options.orders ? orders[sent].due_us - now_us : -1;
}

/* ---- the run ---- */

static void options_read(int argc, char **argv)
{
    struct limit_options *to = &limit_options;
    const struct {
        const char *name;
        long *target;
    } numbers[] = {{"--orders", &to->orders},         {"--in-flight", &to->in_flight},
                   {"--timeout-s", &to->timeout_s},   {"--batch", &to->batch},
                   {"--sessions", &to->sessions},     {"--connections", &to->connections},
                   {"--prefetch", &to->prefetch},     {"--submission", &to->submission_bytes},
                   {"--request", &to->request_bytes}, {"--reply", &to->reply_bytes},
                   {"--status", &to->status_bytes},   {"--call", &to->call_bytes},
                   {"--payload", &to->payload_bytes}};
    for (int i = 1; i + 1 < argc; i += 2) {
        bool is_known = true;
        if (strcmp(argv[i], "--url") == 0) {
            to->url = argv[i + 1];
        } else if (strcmp(argv[i], "--dsn") == 0) {
            to->dsn = argv[i + 1];
        } else if (strcmp(argv[i], "--port") == 0) {
            to->port = (int)strtol(argv[i + 1], NULL, 10);
        } else if (strcmp(argv[i], "--rate") == 0) {
            to->rate = strtod(argv[i + 1], NULL);
        } else {
            is_known = false;
        }
        for (size_t j = 0; j < sizeof(numbers) / sizeof(numbers[0]) && !is_known; j++) {
            if (strcmp(argv[i], numbers[j].name) != 0) {
                continue;
            }
            *numbers[j].target = strtol(argv[i + 1], NULL, 10);
            is_known = true;
        }
        if (!is_known) {
            bench_fail("there is no option %s", argv[i]);
        }
    }
    if (to->url == NULL || to->dsn == NULL || to->orders <= 2 * to->in_flight ||
        (to->in_flight > 0) == (to->rate > 0) || to->in_flight > BENCH_WINDOW / 8 ||
        to->prefetch > BENCH_WINDOW / 8) {
        bench_fail(
            "--url, --dsn, --port, --orders (above twice --in-flight) and one of --in-flight and --rate are needed");
    }
}

static void orders_make(void)
{
    struct timespec wall;
    (void)clock_gettime(CLOCK_REALTIME, &wall);
    int64_t wall_ms = (int64_t)wall.tv_sec * 1000 + wall.tv_nsec / 1000000;
    run_number = (unsigned)wall_ms;
    orders = bench_alloc((size_t)limit_options.orders * sizeof(*orders));
    filler = bench_alloc(BENCH_WINDOW);
    memset(filler, 'x', BENCH_WINDOW);
    srand48(1);
    double due_us = 0;
    for (long i = 0; i < limit_options.orders; i++) {
        bench_id((uint64_t)i, wall_ms + i, orders[i].id);
        orders[i].due_us = (int64_t)due_us;
        if (limit_options.rate > 0) {
            due_us += -log(1.0 - drand48()) * 1e6 / limit_options.rate;
        }
    }
}

static int compare(const void *a, const void *b)
{
    int64_t left = *(const int64_t *)a, right = *(const int64_t *)b;
    return left < right ? -1 : left > right;
}

/* Without the beginning, when queues fill, and the end, when they run empty. */
static double steady_rate(void)
{
    double seconds = (double)(steady_us - first_us) / 1e6;
    return seconds > 0 ? (double)(limit_options.orders - 2 * limit_options.in_flight) / seconds : 0.0;
}

static void report(void)
{
    int64_t *taken_us = bench_alloc((size_t)limit_options.orders * sizeof(*taken_us));
    size_t count = 0;
    for (long i = 0; i < limit_options.orders; i++) {
        if (orders[i].ended_us != 0) {
            taken_us[count++] = orders[i].ended_us - orders[i].due_us;
        }
    }
    qsort(taken_us, count, sizeof(*taken_us), compare);
    size_t middle = count / 2, late = count * 99 / 100;
    struct rusage usage;
    (void)getrusage(RUSAGE_SELF, &usage);
    uint64_t commits, events;
    limit_rows_counts(&commits, &events);
    printf(
        "{\"orders\":%ld,\"ended\":%ld,\"seconds\":%.3f,\"orders_per_s\":%.2f,\"p50_ms\":%.3f,\"p99_ms\":%.3f,"
        "\"commits\":%" PRIu64 ",\"transitions\":%" PRIu64 ",\"calls\":%" PRIu64 ",\"cpu_s\":%.3f}\n",
        limit_options.orders, ended, (double)last_us / 1e6, steady_rate(),
        count > 0 ? (double)taken_us[middle] / 1000 : 0.0, count > 0 ? (double)taken_us[late] / 1000 : 0.0,
        commits, events, limit_calls_count(),
        (double)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) +
            (double)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) / 1e6);
    free(taken_us);
}

int main(int argc, char **argv)
{
    options_read(argc, argv);
    orders_make();
    bench_link_open(&client_publish, limit_options.url, true);
    bench_link_open(&client_consume, limit_options.url, false);
    reply_queue = bench_link_declare_private(&client_consume);
    client_consume.on_delivery = client_on_delivery;
    bench_link_consume(&client_consume, reply_queue, 0);
    role_open(&scheduler, scheduler_on_delivery);
    role_open(&agent, agent_on_delivery);
    limit_rows_open(on_committed);
    limit_calls_open(on_answered);
    bench_link_consume(&scheduler.consume, "orders.intake", (unsigned)limit_options.prefetch);
    bench_link_consume(&scheduler.consume, "scheduler.replies", (unsigned)limit_options.prefetch);
    bench_link_consume(&agent.consume, "agent.bench.requests", (unsigned)limit_options.prefetch);
    began_us = bench_now_us();
    int64_t until_us = began_us + limit_options.timeout_s * 1000000;
    for (;;) {
        int64_t wait_us = client_send_due(), left_us = until_us - bench_now_us();
        limit_calls_pump();
        limit_rows_pump();
        bench_link_flush(&client_publish);
        role_flush(&scheduler);
        role_flush(&agent);
        bool is_over = ended == limit_options.orders && role_is_done(&scheduler) && role_is_done(&agent);
        if (is_over || left_us <= 0) {
            break;
        }
        bench_turn(wait_us >= 0 && wait_us < left_us ? wait_us : left_us);
    }
    report();
    return ended == limit_options.orders ? 0 : 1;
}
