/*
 * Service files (proto/service.schema.json): how an agent reaches one remote service, and how it reads its
 * answers. Only agents read them; elsewhere the name is known, and how far the limits go.
 */
#ifndef MG_WIRE_SERVICE_H
#define MG_WIRE_SERVICE_H

#include "core/model.h"
#include "wire/http_url.h"
#include "wire/json.h"
#include "wire/workflow.h"

#define MG_SERVICE_HEADERS_MAX     16
#define MG_SERVICE_RULES_MAX       32
#define MG_SERVICE_CONCURRENCY_MAX 4096    /* a process has a descriptor a call, and 1024 to 8192 in all */
#define MG_SERVICE_RATE_MAX        1000000 /* calls a second: more than one process makes */

struct mg_answer_rule { /* "409": {"outcome": "done"} or with a range "5xx" */
    int status_from, status_to;
    bool for_kind[MG_KIND_COUNT];
    enum mg_outcome outcome;
    enum mg_executed executed;
};

struct mg_service {
    char name[MG_NAME_MAX + 1];
    char *url;                                  /* base, no trailing slash, no query, no user */
    struct mg_http_url endpoint;                /* the same, read */
    char *headers[MG_SERVICE_HEADERS_MAX + 1];  /* "Name: value" */
    char *header_files[MG_SERVICE_HEADERS_MAX]; /* of each: whence its value came; NULL: it was given */
    char *ca_file, *client_cert_file, *client_key_file;
    int tries;                                  /* HTTP calls within one attempt; default 3 */
    int64_t try_timeout_ms;                     /* of one call; 0: what is left of complete-by */
    int64_t try_backoff_ms, try_max_backoff_ms; /* between tries; 100 ms, 2 s */
    int concurrency;   /* calls in flight in one process; prefetch follows; default 64 */
    double rate_per_s; /* 0: no limit */
    struct {
        double failure_ratio;
        int min_calls;
        int64_t window_ms, open_ms;
        int probes;
    } breaker;                                 /* 0.5, 20, 10 s, 5 s, 1 */
    size_t result_max_bytes, answer_max_bytes; /* 64 KiB, 1 MiB */
    char *result_pointer; /* the part of the answer that is the result; NULL: the whole */
    bool is_fresh_connection;
    struct mg_answer_rule rules[MG_SERVICE_RULES_MAX];
    int rule_count;
};

enum mg_class mg_service_parse(struct mg_slice text, const struct mg_mistakes *mistakes,
                               struct mg_service **ret_service, struct mg_err *err) MG_MUSTCHECK;
void mg_service_destroy(struct mg_service *service); /* accepts NULL */

/* Reads again the values that came from files (renewed tokens). On error nothing has changed. `*ret_count`:
 * how many there are; `*ret_is_new`: one at least is another. Calls made later carry them. */
enum mg_class mg_service_reread_headers(struct mg_service *service, int *ret_count, bool *ret_is_new,
                                        struct mg_err *err) MG_MUSTCHECK;

/* How an HTTP status counts: the service's rules first, then the defaults of the design (part 2). */
void mg_service_classify(const struct mg_service *service, enum mg_kind kind, int http_status,
                         bool is_pollable, enum mg_outcome *ret_outcome, enum mg_executed *ret_executed);

#endif
