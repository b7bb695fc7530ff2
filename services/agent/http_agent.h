/*
 * makegood-agent: serves requests (serving/agent.h) by calls of the remote service over HTTP.
 *
 *   service_files.c           its services, from their files
 *   http_try.c                one try is one HTTP call
 *   remote.c                  the connections of a service, and its access token
 *   service_call.c headers.c mask.c   the call and the meaning of its answer, without a job
 *   classify.c refusal.c answer_parts.c   from an answer to verdict and reply, pure
 *   token.c token_refusal.c   the access token of a service with OAuth 2, and which answers refuse it
 */
#ifndef MG_AGENT_HTTP_AGENT_H
#define MG_AGENT_HTTP_AGENT_H

#include "base/config.h"
#include "io/http/client.h"
#include "io/tls/check.h"
#include "serving/agent.h"
#include "token.h"

#define MG_CALL_DIGITS 6

/* The executor's part of a served service. */
struct mg_remote {
    struct mg_http_client *http;
    struct mg_http_room *answers;            /* memory for the answers being read */
    struct mg_token *token;                  /* NULL: the service needs none */
    struct mg_metric *calls[MG_CALL_DIGITS]; /* by first digit of the status; [0]: no whole answer */
    struct mg_metric *call_seconds;
    int64_t failed, refused, durations[MG_CALL_DURATIONS]; /* as in struct mg_call_figures */
};

/* A job with the call of its try. */
struct mg_http_job {
    struct mg_job job;
    struct mg_http_call *call; /* NULL: none is under way */
    int64_t call_budget_ms, call_began_us;
    int status;            /* of the last answer; 0: no whole answer came */
    uint64_t token_number; /* of the access token that the last try carried */
    struct mg_token_refusals token_refusals;
    char method[16]; /* for the span */
};

extern const struct mg_executor mg_http_executor;

/* service_files.c. `concurrency` 0: as the service files set it. */
enum mg_class mg_agent_load(struct mg_agent *agent, const struct mg_serving_options *options,
                            const struct mg_list *service_files, int concurrency,
                            struct mg_err *err) MG_MUSTCHECK;
/* remote.c */
/* Checks the service's certificate files. An expired one only causes a warning. */
enum mg_class mg_remote_check_certificates(const struct mg_service *service,
                                           char ret_warning[MG_TLS_WARNING_SIZE],
                                           struct mg_err *err) MG_MUSTCHECK;
/* The same, with the warning in the log. */
enum mg_class mg_served_check_certificates(const struct mg_served *served, struct mg_err *err) MG_MUSTCHECK;
struct mg_remote *mg_remote_of(const struct mg_served *served);
enum mg_class mg_remote_open(struct mg_served *served, struct mg_err *err) MG_MUSTCHECK;
void mg_remote_close(struct mg_served *served);
bool mg_remote_measure(const struct mg_served *served, struct mg_call_figures *ret_calls);
extern const struct mg_token_source mg_remote_tokens;

#endif
