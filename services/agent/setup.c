/*
 * From options to a running agent. Service files are read and checked whole; then each becomes a
 * served service, and the broker and the HTTP clients are made. Nothing connects here; connections are made
 * in the loop.
 */
#include <stdio.h>
#include <string.h>

#include "agent.h"
#include "base/clock.h"
#include "base/file.h"
#include "base/log.h"
#include "io/tls/check.h"

/* A service file is a page of text; a larger one is some other file. */
#define SERVICE_FILE_MAX (64 * 1024)

static enum mg_class certificates_check(const struct mg_service *service,
                                        char ret_warning[MG_TLS_WARNING_SIZE], struct mg_err *err)
{
    const struct mg_tls_files files = {.ca_file = service->ca_file,
                                       .cert_file = service->client_cert_file,
                                       .key_file = service->client_key_file};
    return mg_tls_check(&files, ret_warning, MG_TLS_WARNING_SIZE, err);
}

enum mg_class mg_served_check_certificates(const struct mg_served *served, struct mg_err *err)
{
    char warning[MG_TLS_WARNING_SIZE];
    enum mg_class class = certificates_check(served->service, warning, err);
    if (class == MG_OK && warning[0] != '\0') {
        mg_log(MG_LOG_WARN, "a service is called with a bad certificate",
               MG_LOG_TEXT("service", served->service->name), MG_LOG_TEXT("why", warning));
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
    const struct mg_oauth2 *oauth2 = &service->auth.oauth2;
    if (oauth2->token_url != NULL && oauth2->endpoint.is_plaintext && !is_plaintext_allowed) {
        return mg_err_set(err, MG_BAD_INPUT,
                          "/auth/oauth2/token_url: %s would send the client's secret in plaintext over a "
                          "network; write https://, or give --allow-plaintext on a private network",
                          oauth2->token_url);
    }
    const struct mg_tls_files files = {.ca_file = oauth2->ca_file};
    if (oauth2->ca_file != NULL && mg_tls_check(&files, warning, sizeof(warning), err) != MG_OK) {
        return mg_err_prefix(err, "/auth/oauth2");
    }
    return MG_OK;
}

static enum mg_class service_load(const char *path, struct mg_service **ret_service, struct mg_err *err)
{
    struct mg_buf text;
    struct mg_mistake_printer printer = {.path = path, .skips_first = true};
    const struct mg_mistakes mistakes = {.add = mg_mistake_print, .arg = &printer};
    mg_buf_init(&text, SERVICE_FILE_MAX);
    enum mg_class class = mg_file_text(path, &text, err);
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
    memset(agent, 0, sizeof(*agent));
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
        struct mg_served *served = &agent->served[i];
        enum mg_class class = service_load(options->service_files.items[i], &served->service, err);
        if (class != MG_OK) {
            return class;
        }
        agent->served_count = i + 1;
        class = service_check(served->service, options->broker.is_plaintext_allowed, err);
        if (class != MG_OK) {
            return mg_err_prefix(err, "service file %s", options->service_files.items[i]);
        }
        for (int k = 0; k < i; k++) {
            if (strcmp(agent->served[k].service->name, served->service->name) == 0) {
                return mg_err_set(
                    err, MG_BAD_INPUT, "%s and %s both describe the service %s: give one of them",
                    options->service_files.items[k], options->service_files.items[i], served->service->name);
            }
        }
        if (options->concurrency > 0) {
            served->service->concurrency = (int)options->concurrency;
        }
    }
    return MG_OK;
}

static void served_init(struct mg_agent *agent, int index)
{
    struct mg_served *served = &agent->served[index];
    const struct mg_service *service = served->service;
    const struct mg_breaker_rules rules = {
        .failure_ratio = service->breaker.failure_ratio,
        .min_calls = service->breaker.min_calls,
        .window_ms = service->breaker.window_ms,
        .open_ms = service->breaker.open_ms,
        .probes = service->breaker.probes,
        .unreachable_max = service->tries, /* one request that cannot be delivered at all is proof enough */
    };
    served->agent = agent;
    mg_topology_reply_exchange(service->name, served->reply_exchange);
    mg_limiter_init(&served->limiter, service->concurrency, service->rate_per_s, mg_clock_boot_ms());
    mg_breaker_init(&served->breaker, &rules);
    TAILQ_INIT(&served->begun);
    for (int i = 0; i < MG_LINE_COUNT; i++) {
        struct mg_line *line = &served->lines[i];
        mg_topology_request_queue(service->name, i == MG_LINE_HIGH, line->queue);
        line->consumer = index * MG_LINE_COUNT + i;
        line->prefetch =
            mg_suspects_prefetch(&agent->suspects, line->consumer, mg_limiter_prefetch(&served->limiter));
        line->room_since_ms = INT64_MAX;
        TAILQ_INIT(&line->waiting);
    }
}

static enum mg_class served_start(struct mg_served *served, struct mg_err *err)
{
    const struct mg_service *service = served->service;
    size_t answers_bytes = served->agent->options->memory_bytes / MG_AGENT_MEMORY_ANSWERS;
    served->answers =
        mg_http_room_create(served->agent->loop, answers_bytes / (size_t)served->agent->served_count);
    struct mg_http_client_options options = mg_outgoing_client_options(service);
    options.room = served->answers;
    mg_served_register_metrics(served);
    served->pump = mg_idle_create(served->agent->loop, mg_served_pump, served);
    served->timer = mg_timer_create(served->agent->loop, mg_served_pump, served);
    if (served->pump == NULL || served->timer == NULL || served->answers == NULL) {
        return mg_err_set(err, MG_TRANSIENT, "could not prepare service %s: no memory", service->name);
    }
    enum mg_class class = mg_served_check_certificates(served, err);
    if (class == MG_OK && service->auth.scheme == MG_AUTH_OAUTH2) {
        class =
            mg_token_create(served->agent->loop, service, mg_served_on_token, served, &served->token, err);
    }
    return class == MG_OK ? mg_http_client_create(served->agent->loop, &options, &served->http, err) : class;
}

static enum mg_class broker_start(struct mg_agent *agent, struct mg_err *err)
{
    char name[MG_INSTANCE_MAX + 32];
    snprintf(name, sizeof(name), "makegood-agent %s", agent->instance);
    struct mg_broker_options options = {
        .address = agent->options->broker,
        .name = name,
        .consumer_count = agent->served_count * MG_LINE_COUNT,
        .check_queues = {MG_QUEUE_REPLIES, NULL},
        .body_max_bytes = MG_REQUEST_LIMITS.max_bytes,
        .metrics = agent->metrics,
        .on_delivery = mg_agent_on_delivery,
        .on_state = mg_agent_on_state,
        .arg = agent,
    };
    for (int i = 0; i < options.consumer_count; i++) {
        const struct mg_line *line = &agent->served[i / MG_LINE_COUNT].lines[i % MG_LINE_COUNT];
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
    snprintf(agent->instance, sizeof(agent->instance), "%s", agent->options->instance);
    agent->started_ms = mg_clock_wall_ms();
    mg_skew_init(&agent->skew, agent->options->skew_limit_ms, mg_clock_boot_ms());
    for (int i = 0; i < agent->served_count; i++) {
        served_init(agent, i);
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
    for (int i = 0; i < agent->served_count && class == MG_OK; i++) {
        class = served_start(&agent->served[i], err);
    }
    if (class == MG_OK) {
        class = broker_start(agent, err);
    }
    for (int i = 0; i < agent->served_count && class == MG_OK; i++) {
        class = mg_served_listen(&agent->served[i], err);
    }
    if (class == MG_OK) {
        mg_timer_start(agent->tick_timer, MG_AGENT_TICK_MS, MG_AGENT_TICK_MS);
    }
    return class;
}

/* Jobs still in hand go back; the broker gives them to another agent. */
static void served_clear(struct mg_served *served)
{
    for (int i = 0; i < MG_LINE_COUNT; i++) {
        while (!TAILQ_EMPTY(&served->lines[i].waiting)) {
            mg_job_finish(TAILQ_FIRST(&served->lines[i].waiting), MG_JOB_REQUEUE);
        }
    }
    while (!TAILQ_EMPTY(&served->begun)) {
        mg_job_finish(TAILQ_FIRST(&served->begun), MG_JOB_REQUEUE);
    }
}

void mg_agent_finish(struct mg_agent *agent)
{
    for (int i = 0; i < agent->served_count && agent->broker != NULL; i++) {
        served_clear(&agent->served[i]);
    }
    if (agent->broker != NULL) {
        mg_broker_destroy(agent->broker);
    }
    for (int i = 0; i < agent->served_count; i++) {
        struct mg_served *served = &agent->served[i];
        if (served->http != NULL) {
            mg_http_client_destroy(served->http);
        }
        mg_token_destroy(served->token);
        mg_http_room_destroy(served->answers);
        mg_timer_destroy(served->timer);
        if (served->pump != NULL) {
            mg_idle_destroy(served->pump);
        }
        mg_service_destroy(served->service);
    }
    mg_timer_destroy(agent->tick_timer);
    mg_timer_destroy(agent->drain_timer);
    mg_timer_destroy(agent->isolated_timer);
    memset(agent, 0, sizeof(*agent)); /* finishing it again does nothing */
}
