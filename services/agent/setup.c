/*
 * From options to a running agent. Service files are read and checked whole; then each service gets its lane,
 * and the broker and the HTTP clients are made. Nothing connects here; connections are made in the loop.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "agent.h"
#include "base/clock.h"
#include "base/log.h"
#include "io/tls/check.h"

/* A service file is a page of text; a larger one is some other file. */
#define SERVICE_FILE_MAX (64 * 1024)
/* Below the keep-alive of common servers (Node.js closes after 5 s), so that a reused connection is seldom a
 * dead one. */
#define IDLE_CONNECTION_MS 4000
#define ANSWER_HEADERS_MAX (64 * 1024)

static enum mg_class file_read(const char *path, struct mg_buf *ret_text, struct mg_err *err)
{
    FILE *file = fopen(path, "re");
    if (file == NULL) {
        return mg_err_set(err, MG_BAD_INPUT, "could not read service file %s: %s", path, strerror(errno));
    }
    char piece[4096];
    size_t len;
    while ((len = fread(piece, 1, sizeof piece, file)) > 0) {
        mg_buf_append(ret_text, piece, len);
    }
    bool is_bad = ferror(file) != 0;
    fclose(file);
    if (is_bad) {
        return mg_err_set(err, MG_BAD_INPUT, "could not read service file %s: %s", path, strerror(errno));
    }
    if (ret_text->failed) {
        return mg_err_set(err, ret_text->is_out_of_memory ? MG_TRANSIENT : MG_BAD_INPUT,
                          "could not read service file %s: it is larger than %d bytes, or there is no memory",
                          path, SERVICE_FILE_MAX);
    }
    return MG_OK;
}

struct telling {
    const char *path;
    int count;
};

/* Prints all mistakes but the first, which the error carries. */
static void mistake_print(void *arg, const char *pointer, const char *text)
{
    struct telling *telling = arg;
    if (telling->count++ > 0) {
        fprintf(stderr, "%s: %s: %s\n", telling->path, pointer[0] == '\0' ? "(the whole)" : pointer, text);
    }
}

static enum mg_class certificates_check(const struct mg_service *service,
                                        char ret_warning[MG_TLS_WARNING_SIZE], struct mg_err *err)
{
    const struct mg_tls_files files = {.ca_file = service->ca_file,
                                       .cert_file = service->client_cert_file,
                                       .key_file = service->client_key_file};
    return mg_tls_check(&files, ret_warning, MG_TLS_WARNING_SIZE, err);
}

enum mg_class mg_lane_check_certificates(const struct mg_lane *lane, struct mg_err *err)
{
    char warning[MG_TLS_WARNING_SIZE];
    enum mg_class class = certificates_check(lane->service, warning, err);
    if (class == MG_OK && warning[0] != '\0') {
        mg_log(MG_LOG_WARN, "a service is called with a bad certificate",
               MG_LOG_TEXT("service", lane->service->name), MG_LOG_TEXT("why", warning));
    }
    return class;
}

/* A file that is good in itself can conflict with the options, or name bad certificates. */
static enum mg_class service_check(const struct mg_service *service, bool is_plaintext_allowed,
                                   struct mg_err *err)
{
    char warning[MG_TLS_WARNING_SIZE];
    if (service->endpoint.is_plaintext && !is_plaintext_allowed) {
        return mg_err_set(err, MG_BAD_INPUT,
                          "/url: %s would send orders in plaintext over a network; write https://, or give "
                          "--allow-plaintext on a private network",
                          service->url);
    }
    if (certificates_check(service, warning, err) != MG_OK) {
        return mg_err_prefix(err, "/tls");
    }
    return MG_OK;
}

static enum mg_class service_load(const char *path, struct mg_service **ret_service, struct mg_err *err)
{
    struct mg_buf text;
    struct telling telling = {.path = path};
    const struct mg_mistakes mistakes = {.add = mistake_print, .arg = &telling};
    mg_buf_init(&text, SERVICE_FILE_MAX);
    enum mg_class class = file_read(path, &text, err);
    if (class == MG_OK) {
        class = mg_service_parse(mg_buf_slice(&text), &mistakes, ret_service, err);
        if (class != MG_OK) {
            mg_err_prefix(err, "service file %s", path);
        }
    }
    mg_buf_finish(&text);
    return class;
}

enum mg_class mg_agent_load(struct mg_agent *agent, const struct mg_agent_options *options,
                            struct mg_err *err)
{
    memset(agent, 0, sizeof *agent);
    agent->options = options;
    if (options->service_files.count == 0) {
        return mg_err_set(err, MG_BAD_INPUT, "no service given: name at least one file with --service FILE");
    }
    if (options->service_files.count > MG_AGENT_SERVICES_MAX) {
        return mg_err_set(err, MG_BAD_INPUT,
                          "%d services given: one process serves at most %d; start another",
                          options->service_files.count, MG_AGENT_SERVICES_MAX);
    }
    for (int i = 0; i < options->service_files.count; i++) {
        struct mg_lane *lane = &agent->lanes[i];
        enum mg_class class = service_load(options->service_files.items[i], &lane->service, err);
        if (class != MG_OK) {
            return class;
        }
        agent->lane_count = i + 1;
        class = service_check(lane->service, options->broker.is_plaintext_allowed, err);
        if (class != MG_OK) {
            return mg_err_prefix(err, "service file %s", options->service_files.items[i]);
        }
        for (int k = 0; k < i; k++) {
            if (strcmp(agent->lanes[k].service->name, lane->service->name) == 0) {
                return mg_err_set(
                    err, MG_BAD_INPUT, "%s and %s both describe the service %s: give one of them",
                    options->service_files.items[k], options->service_files.items[i], lane->service->name);
            }
        }
        if (options->concurrency > 0) {
            lane->service->concurrency = (int)options->concurrency;
        }
    }
    return MG_OK;
}

static void lane_init(struct mg_agent *agent, int index)
{
    struct mg_lane *lane = &agent->lanes[index];
    const struct mg_service *service = lane->service;
    const struct mg_breaker_plan plan = {
        .failure_ratio = service->breaker.failure_ratio,
        .min_calls = service->breaker.min_calls,
        .window_ms = service->breaker.window_ms,
        .open_ms = service->breaker.open_ms,
        .probes = service->breaker.probes,
        .unreachable_max = service->tries, /* one request that cannot be delivered at all is proof enough */
    };
    lane->agent = agent;
    mg_topology_reply_exchange(service->name, lane->reply_exchange);
    mg_limiter_init(&lane->limiter, service->concurrency, service->rate_per_s, mg_clock_boot_ms());
    mg_breaker_init(&lane->breaker, &plan);
    TAILQ_INIT(&lane->begun);
    for (int i = 0; i < MG_LINE_COUNT; i++) {
        struct mg_line *line = &lane->lines[i];
        mg_topology_request_queue(service->name, i == MG_LINE_HIGH, line->queue);
        line->consumer = index * MG_LINE_COUNT + i;
        line->prefetch =
            mg_suspects_prefetch(&agent->suspects, line->consumer, mg_limiter_prefetch(&lane->limiter));
        line->room_since_ms = INT64_MAX;
        TAILQ_INIT(&line->waiting);
    }
}

static enum mg_class lane_start(struct mg_lane *lane, struct mg_err *err)
{
    const struct mg_service *service = lane->service;
    size_t answers_bytes = lane->agent->options->memory_bytes / MG_AGENT_MEMORY_ANSWERS;
    lane->answers = mg_http_room_create(lane->agent->loop, answers_bytes / (size_t)lane->agent->lane_count);
    const struct mg_http_client_options options = {
        .room = lane->answers,
        .max_connections = service->concurrency,
        .connect_timeout_ms = MG_CONNECT_TIMEOUT_MS,
        .idle_connection_ms = IDLE_CONNECTION_MS,
        .max_body_bytes = service->answer_max_bytes,
        .max_header_bytes = ANSWER_HEADERS_MAX,
    };
    mg_lane_register_metrics(lane);
    lane->pump = mg_idle_create(lane->agent->loop, mg_lane_pump, lane);
    lane->timer = mg_timer_create(lane->agent->loop, mg_lane_pump, lane);
    if (lane->pump == NULL || lane->timer == NULL || lane->answers == NULL) {
        return mg_err_set(err, MG_TRANSIENT, "could not prepare service %s: no memory", service->name);
    }
    enum mg_class class = mg_lane_check_certificates(lane, err);
    return class == MG_OK ? mg_http_client_create(lane->agent->loop, &options, &lane->http, err) : class;
}

static enum mg_class broker_start(struct mg_agent *agent, struct mg_err *err)
{
    char name[MG_INSTANCE_MAX + 32];
    snprintf(name, sizeof name, "makegood-agent %s", agent->instance);
    struct mg_broker_options options = {
        .address = agent->options->broker,
        .name = name,
        .consumer_count = agent->lane_count * MG_LINE_COUNT,
        .check_queues = {MG_QUEUE_REPLIES, NULL},
        .body_max_bytes = MG_REQUEST_LIMITS.max_bytes,
        .metrics = agent->metrics,
        .on_delivery = mg_agent_on_delivery,
        .on_state = mg_agent_on_state,
        .arg = agent,
    };
    for (int i = 0; i < options.consumer_count; i++) {
        const struct mg_line *line = &agent->lanes[i / MG_LINE_COUNT].lines[i % MG_LINE_COUNT];
        options.consumers[i].queue = line->queue;
        options.consumers[i].prefetch = (uint16_t)line->prefetch;
        options.consumers[i].bytes_max =
            agent->options->memory_bytes / MG_AGENT_MEMORY_HELD / (size_t)options.consumer_count;
    }
    return mg_broker_create(agent->loop, &options, &agent->broker, err);
}

enum mg_class mg_agent_start(struct mg_agent *agent, struct mg_loop *loop, struct mg_metrics *metrics,
                             struct mg_err *err)
{
    agent->loop = loop;
    snprintf(agent->instance, sizeof agent->instance, "%s", agent->options->instance);
    agent->started_ms = mg_clock_wall_ms();
    mg_skew_init(&agent->skew, agent->options->skew_limit_ms, mg_clock_boot_ms());
    for (int i = 0; i < agent->lane_count; i++) {
        lane_init(agent, i);
    }
    agent->was_ready = true;
    agent->metrics = metrics;
    agent->tick_timer = mg_timer_create(loop, mg_agent_on_tick, agent);
    agent->drain_timer = mg_timer_create(loop, mg_agent_on_drain_timer, agent);
    agent->isolated_timer = mg_timer_create(loop, mg_agent_on_isolated, agent);
    if (agent->tick_timer == NULL || agent->drain_timer == NULL || agent->isolated_timer == NULL) {
        return mg_err_set(err, MG_TRANSIENT, "could not start: no memory");
    }
    agent->skew_metric = mg_metrics_series(agent->metrics, MG_GAUGE, "makegood_clock_skew_seconds", NULL,
                                           "this machine's clock less the database's, where measurable");
    enum mg_class class = MG_OK;
    for (int i = 0; i < agent->lane_count && class == MG_OK; i++) {
        class = lane_start(&agent->lanes[i], err);
    }
    if (class == MG_OK) {
        class = broker_start(agent, err);
    }
    for (int i = 0; i < agent->lane_count && class == MG_OK; i++) {
        class = mg_lane_listen(&agent->lanes[i], err);
    }
    if (class == MG_OK) {
        mg_timer_start(agent->tick_timer, MG_AGENT_TICK_MS, MG_AGENT_TICK_MS);
    }
    return class;
}

/* Jobs still in hand go back; the broker gives them to another agent. */
static void lane_clear(struct mg_lane *lane)
{
    for (int i = 0; i < MG_LINE_COUNT; i++) {
        while (!TAILQ_EMPTY(&lane->lines[i].waiting)) {
            mg_job_finish(TAILQ_FIRST(&lane->lines[i].waiting), MG_JOB_REQUEUE);
        }
    }
    while (!TAILQ_EMPTY(&lane->begun)) {
        mg_job_finish(TAILQ_FIRST(&lane->begun), MG_JOB_REQUEUE);
    }
}

void mg_agent_finish(struct mg_agent *agent)
{
    for (int i = 0; i < agent->lane_count && agent->broker != NULL; i++) {
        lane_clear(&agent->lanes[i]);
    }
    if (agent->broker != NULL) {
        mg_broker_destroy(agent->broker);
    }
    for (int i = 0; i < agent->lane_count; i++) {
        struct mg_lane *lane = &agent->lanes[i];
        if (lane->http != NULL) {
            mg_http_client_destroy(lane->http);
        }
        mg_http_room_destroy(lane->answers);
        mg_timer_destroy(lane->timer);
        if (lane->pump != NULL) {
            mg_idle_destroy(lane->pump);
        }
        mg_service_destroy(lane->service);
    }
    mg_timer_destroy(agent->tick_timer);
    mg_timer_destroy(agent->drain_timer);
    mg_timer_destroy(agent->isolated_timer);
    memset(agent, 0, sizeof *agent); /* finishing it again does nothing */
}
