/*
 * The relay from the leader to the agents. It carries operator settings from the table service_control, since
 * agents have no database access. It also carries the health of each service, judged from the reports of its
 * agents (health.h). The leader looks a few times a second. It sends to all agents of each service when
 * anything has changed, and once a second, with the database's time. A limit applies to the service as a
 * whole, so the leader divides it among the agent processes with recent reports. Each gets one call at least,
 * or it would hold requests that it never makes.
 *
 * A new leader finds all state of this file anew. It sends the same, under a higher epoch, and marks a
 * service of unknown health as undecided.
 */
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/log.h"
#include "io/amqp/topology.h"
#include "supervisor.h"
#include "wire/service_control.h"

/* With a hop and an agent's turn still well below a second from an operator's change to the last agent. */
#define RELAY_LOOK_MS 250
/* A slower answer does not pass on the database's clock: an agent's estimate must be right within a
 * second. */
#define RELAY_CLOCK_MS 250
/* A row for each service that was ever paused or limited, and for each agent of each service. */
#define RELAY_ROWS_BYTES (4 * 1024 * 1024)

enum {
    COLUMN_SERVICE,
    COLUMN_VERSION,
    COLUMN_IS_PAUSED,
    COLUMN_CONCURRENCY,
    COLUMN_RATE,
    COLUMN_INSTANCE,
    COLUMN_BREAKER,
    COLUMN_IS_READY,
    COLUMN_PROCESS,
    COLUMN_IS_PROBER,
    COLUMN_IS_CALLING,
    COLUMN_NOW
};
/* The columns after these change with every call; such a change alone sends no message. */
#define COLUMNS_SENT (COLUMN_IS_READY + 1)

static bool is_same_service(const struct mg_rows *rows, int a, int b)
{
    return mg_slice_equal(mg_rows_value(rows, a, COLUMN_SERVICE), mg_rows_value(rows, b, COLUMN_SERVICE));
}

/* ---- shares ---- */

/* An equal part for each, one more for the first ones until all is given away, and at least 1. */
static int64_t part_of(int64_t whole, int count, int index)
{
    int64_t part = whole / count + (index < whole % count ? 1 : 0);
    return part > 0 ? part : 1;
}

static void shares_make(const struct mg_rows *rows, int first, int end, struct mg_service_control *control)
{
    int64_t concurrency = (int64_t)mg_supervisor_row_number(rows, first, COLUMN_CONCURRENCY);
    double rate_per_s = mg_supervisor_row_number(rows, first, COLUMN_RATE);
    int count = mg_rows_value(rows, first, COLUMN_INSTANCE).len > 0 ? end - first : 0;
    control->is_limited = concurrency > 0 || rate_per_s > 0;
    if (!control->is_limited) {
        return;
    }
    for (int i = 0; i < count && i < MG_SHARES_MAX; i++) {
        struct mg_share *share = &control->shares[control->share_count++];
        mg_supervisor_row_text(rows, first + i, COLUMN_INSTANCE, share->instance, sizeof(share->instance));
        share->concurrency = concurrency > 0 ? part_of(concurrency, count, i) : 0;
        share->rate_per_s = rate_per_s / count;
    }
}

/* ---- health ---- */

static struct mg_supervisor_service *service_find(struct mg_supervisor *supervisor, const char *name)
{
    for (int i = 0; i < supervisor->service_count; i++) {
        if (strcmp(supervisor->services[i].name, name) == 0) {
            return &supervisor->services[i];
        }
    }
    if (supervisor->service_count == MG_SUPERVISOR_SERVICES_MAX) {
        return NULL;
    }
    struct mg_supervisor_service *service = &supervisor->services[supervisor->service_count++];
    memset(service, 0, sizeof(*service));
    (void)snprintf(service->name, sizeof(service->name), "%s", name);
    return service;
}

/* Agents beyond MG_SUPERVISOR_REPLICAS_MAX follow the health like all others, but their reports do not count.
 */
static int replicas_read(const struct mg_rows *rows, int first, int end, struct mg_supervisor_replica *ret)
{
    int count = 0;
    for (int row = first; row < end && count < MG_SUPERVISOR_REPLICAS_MAX; row++) {
        struct mg_supervisor_replica *replica = &ret[count];
        struct mg_slice breaker = mg_rows_value(rows, row, COLUMN_BREAKER);
        mg_supervisor_row_text(rows, row, COLUMN_INSTANCE, replica->instance, sizeof(replica->instance));
        replica->is_ready = mg_slice_is(mg_rows_value(rows, row, COLUMN_IS_READY), "t");
        replica->process = (uint64_t)mg_supervisor_row_number(rows, row, COLUMN_PROCESS);
        replica->is_prober = mg_slice_is(mg_rows_value(rows, row, COLUMN_IS_PROBER), "t");
        replica->is_calling = mg_slice_is(mg_rows_value(rows, row, COLUMN_IS_CALLING), "t");
        count += breaker.len > 0 && mg_breaker_state_parse(breaker.data, breaker.len, &replica->breaker);
    }
    return count;
}

/* True if the service's health changed. */
static bool service_judge(struct mg_supervisor_service *service, const struct mg_rows *rows, int first,
                          int end)
{
    static struct mg_supervisor_replica
        replicas[MG_SUPERVISOR_REPLICAS_MAX]; /* 19 KiB, of one call at a time */
    int count = replicas_read(rows, first, end, replicas);
    if (!mg_supervisor_health_judge(&service->health, replicas, count, mg_clock_boot_ms())) {
        return false;
    }
    mg_log(service->health.is_down ? MG_LOG_WARN : MG_LOG_INFO,
           service->health.is_down ? "a service is down for most of its agents; one agent probes it"
                                   : "a service is no longer down for its agents",
           MG_LOG_TEXT("service", service->name), MG_LOG_NUMBER("agents", count),
           MG_LOG_TEXT("prober", service->health.prober));
    return true;
}

/* ---- sending ---- */

static void control_send(struct mg_supervisor *supervisor, const struct mg_supervisor_health *health,
                         const struct mg_rows *rows, int first, int end)
{
    static struct mg_service_control control; /* 18 KiB, of one call at a time */
    struct mg_buf body;
    memset(&control, 0, sizeof(control));
    mg_supervisor_row_text(rows, first, COLUMN_SERVICE, control.service, sizeof(control.service));
    control.epoch = supervisor->epoch;
    control.version = (uint64_t)mg_supervisor_row_number(rows, first, COLUMN_VERSION);
    control.is_paused = mg_slice_is(mg_rows_value(rows, first, COLUMN_IS_PAUSED), "t");
    shares_make(rows, first, end, &control);
    control.is_undecided = health == NULL || !mg_supervisor_health_is_known(health);
    control.is_down = health != NULL && health->is_down;
    (void)snprintf(control.prober, sizeof(control.prober), "%s", control.is_down ? health->prober : "");
    if (mg_clock_boot_ms() - supervisor->relay_asked_boot_ms <= RELAY_CLOCK_MS) {
        control.sent_at_ms = (int64_t)mg_supervisor_row_number(rows, first, COLUMN_NOW);
    }
    mg_buf_init(&body, MG_CAST_BYTES_MAX);
    mg_service_control_write(&control, &body);
    if (!body.failed) {
        mg_broker_cast(supervisor->broker, MG_EXCHANGE_CONTROL, control.service, "service_control",
                       mg_buf_slice(&body));
    } else {
        mg_log(MG_LOG_ERROR, "could not write the control message of a service: too long, or no memory",
               MG_LOG_TEXT("service", control.service));
    }
    mg_buf_finish(&body);
}

static void rows_keep(const struct mg_rows *rows, struct mg_buf *ret_text)
{
    mg_buf_init(ret_text, RELAY_ROWS_BYTES);
    for (int row = 0; row < mg_rows_count(rows); row++) {
        for (int column = 0; column < COLUMNS_SENT; column++) {
            struct mg_slice value = mg_rows_value(rows, row, column);
            mg_buf_append(ret_text, value.data, value.len);
            mg_buf_append(ret_text, "\n", 1);
        }
    }
}

/* True: a row has changed, or the last messages are a period old. */
static bool is_time_to_send(struct mg_supervisor *supervisor, const struct mg_rows *rows)
{
    struct mg_buf seen;
    int64_t now_boot_ms = mg_clock_boot_ms();
    rows_keep(rows, &seen);
    bool is_same = !seen.failed && mg_slice_equal(mg_buf_slice(&seen), mg_buf_slice(&supervisor->relayed));
    if (is_same && now_boot_ms - supervisor->relayed_boot_ms < MG_SERVICE_CONTROL_PERIOD_MS) {
        mg_buf_finish(&seen);
        return false;
    }
    mg_buf_finish(&supervisor->relayed);
    supervisor->relayed = seen;
    supervisor->relayed_boot_ms = now_boot_ms;
    return true;
}

static void rows_send(struct mg_supervisor *supervisor, const struct mg_rows *rows)
{
    bool is_time = is_time_to_send(supervisor, rows);
    int first = 0;
    for (int row = 1; row <= mg_rows_count(rows); row++) {
        if (row == mg_rows_count(rows) || !is_same_service(rows, first, row)) {
            char name[MG_NAME_MAX + 1];
            mg_supervisor_row_text(rows, first, COLUMN_SERVICE, name, sizeof(name));
            struct mg_supervisor_service *service = service_find(supervisor, name);
            bool is_turned = service != NULL && service_judge(service, rows, first, row);
            if (is_time || is_turned) {
                control_send(supervisor, service != NULL ? &service->health : NULL, rows, first, row);
            }
            first = row;
        }
    }
}

/* ---- looking ---- */

static void relay_answered(void *arg, const struct mg_rows *rows, const struct mg_err *err)
{
    struct mg_supervisor *supervisor = arg;
    if (mg_supervisor_answered(
            supervisor, &supervisor->is_relay_asking, &supervisor->relay_failure_logged,
            "could not read service states and operator settings; agents keep the last ones", err)) {
        rows_send(supervisor, rows);
    }
}

static void relay_look(void *arg)
{
    struct mg_supervisor *supervisor = arg;
    if (!supervisor->is_leader || supervisor->is_relay_asking) {
        return;
    }
    supervisor->is_relay_asking = true;
    supervisor->relay_asked_boot_ms = mg_clock_boot_ms();
    mg_store_report(supervisor->counting, MG_REPORT_CONTROL, NULL, 0, relay_answered, supervisor);
}

/* ---- while leading ---- */

bool mg_supervisor_relay_start(struct mg_supervisor *supervisor)
{
    supervisor->relayed_boot_ms = 0;
    supervisor->service_count = 0;
    if (supervisor->counting == NULL) {
        return true;
    }
    return mg_supervisor_timer_begin(supervisor, &supervisor->relay_timer, relay_look, 0, RELAY_LOOK_MS);
}

void mg_supervisor_relay_stop(struct mg_supervisor *supervisor)
{
    mg_supervisor_timer_end(supervisor->relay_timer);
}

void mg_supervisor_relay_finish(struct mg_supervisor *supervisor)
{
    mg_timer_destroy(supervisor->relay_timer);
    mg_buf_finish(&supervisor->relayed);
}
