/* The connections of a service, and its access token. */
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "http_agent.h"
#include "service_call.h"

static const char *const call_labels[MG_CALL_DIGITS] = {"none", "1xx", "2xx", "3xx", "4xx", "5xx"};

struct mg_remote *mg_remote_of(const struct mg_served *served)
{
    return served->works;
}

static void register_metrics(struct mg_served *served)
{
    struct mg_remote *remote = served->works;
    for (int i = 0; i < MG_CALL_DIGITS; i++) {
        remote->calls[i] =
            mg_served_series(served, MG_COUNTER, "makegood_agent_calls_total", "status", call_labels[i],
                             "HTTP calls that ended, by status; none: no whole answer came");
    }
    remote->call_seconds = mg_served_series(served, MG_HISTOGRAM, "makegood_agent_call_seconds", NULL, NULL,
                                            "duration of HTTP calls");
}

bool mg_remote_measure(const struct mg_served *served, struct mg_call_figures *ret_calls)
{
    const struct mg_remote *remote = served->works;
    uint64_t within[MG_CALL_BUCKETS];
    if (!mg_metric_buckets(remote->call_seconds, within)) {
        return false;
    }
    for (int i = 0; i < MG_CALL_BUCKETS; i++) {
        ret_calls->within[i] = (int64_t)within[i];
    }
    ret_calls->count = (int64_t)mg_metric_value(remote->call_seconds);
    ret_calls->failed = remote->failed;
    ret_calls->has_durations = true;
    ret_calls->refused = remote->refused;
    memcpy(ret_calls->durations, remote->durations, sizeof(ret_calls->durations));
    return true;
}

enum mg_class mg_remote_check_certificates(const struct mg_service *service,
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
    enum mg_class class = mg_remote_check_certificates(served->service, warning, err);
    if (class == MG_OK && warning[0] != '\0') {
        mg_log(MG_LOG_WARN, "a service is called with a bad certificate",
               MG_LOG_TEXT("service", served->service->name), MG_LOG_TEXT("why", warning));
    }
    return class;
}

enum mg_class mg_remote_open(struct mg_served *served, struct mg_err *err)
{
    const struct mg_service *service = served->service;
    const struct mg_agent *agent = served->agent;
    size_t answers_bytes = agent->options->memory_bytes / MG_AGENT_MEMORY_ANSWERS;
    struct mg_remote *remote = served->works = calloc(1, sizeof(*remote));
    if (remote != NULL) {
        remote->answers = mg_http_room_create(agent->loop, answers_bytes / (size_t)agent->served_count);
    }
    if (remote == NULL || remote->answers == NULL) {
        return mg_err_set(err, MG_TRANSIENT, "could not prepare service %s: no memory", service->name);
    }
    register_metrics(served);
    struct mg_http_client_options options = mg_outgoing_client_options(service);
    options.room = remote->answers;
    enum mg_class class = mg_served_check_certificates(served, err);
    if (class == MG_OK && service->auth.scheme == MG_AUTH_OAUTH2) {
        class = mg_token_create(agent->loop, service, mg_served_on_token, served, &remote->token, err);
    }
    return class == MG_OK ? mg_http_client_create(agent->loop, &options, &remote->http, err) : class;
}

void mg_remote_close(struct mg_served *served)
{
    struct mg_remote *remote = served->works;
    mg_service_destroy(served->service);
    served->service = NULL;
    if (remote == NULL) {
        return;
    }
    if (remote->http != NULL) {
        mg_http_client_destroy(remote->http);
    }
    mg_token_destroy(remote->token);
    mg_http_room_destroy(remote->answers);
    free(remote);
    served->works = NULL;
}

static bool token_is_ready(struct mg_served *served)
{
    struct mg_token *token = mg_remote_of(served)->token;
    return token == NULL || mg_token_is_ready(token);
}

static bool token_is_coming(const struct mg_served *served)
{
    const struct mg_token *token = mg_remote_of(served)->token;
    return token != NULL && mg_token_is_coming(token);
}

static const char *token_fault(const struct mg_served *served)
{
    const struct mg_token *token = mg_remote_of(served)->token;
    return token != NULL ? mg_token_fault(token) : "";
}

const struct mg_token_source mg_remote_tokens = {
    .is_ready = token_is_ready, .is_coming = token_is_coming, .fault = token_fault};
