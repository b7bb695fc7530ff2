/*
 * Service files (proto/service.schema.json): how an agent calls one remote service, and how it classifies the
 * answers. Only agents read them; other processes use only a service's name and the limits below.
 *
 *   service.c        the file and its members
 *   file_reader.c    texts, objects and secrets of any part of it
 *   call_headers.c   headers of every call, most often a secret
 *   auth.c           the header of the idempotency key, and the proof of origin
 *   answer_rules.c   the meaning of an HTTP status
 *   error_places.c   code and text in a refusing body
 */
#ifndef MG_SERVICE_SERVICE_H
#define MG_SERVICE_SERVICE_H

#include "core/maybe.h"
#include "core/model.h"
#include "json/json.h"
#include "service/auth.h"
#include "wire/http_url.h"
#include "wire/reply.h"

#define MG_SERVICE_HEADERS_MAX     16
#define MG_SERVICE_RULES_MAX       32
#define MG_SERVICE_CONCURRENCY_MAX 4096 /* one descriptor for each call; a process has 1024 to 8192 */

struct mg_answer_rule { /* "409": {"outcome": "done"} or with a range "5xx" */
    int status_from, status_to;
    bool for_kind[MG_KIND_COUNT];
    enum mg_outcome outcome;
    enum mg_executed executed;
};

struct mg_service {
    char name[MG_NAME_MAX + 1];
    char *url;                                  /* base, no trailing slash, no query, no user */
    struct mg_http_url endpoint;                /* the same, parsed */
    char *headers[MG_SERVICE_HEADERS_MAX + 1];  /* "Name: value" */
    char *header_files[MG_SERVICE_HEADERS_MAX]; /* for each header: the file of its value; NULL: given
                                                   directly */
    char *old_headers[MG_SERVICE_HEADERS_MAX];  /* before their last renewal; a call under way may carry
                                                   them. NULL: none */
    struct mg_auth auth;
    char *key_line; /* "Idempotency-Key: ", with the key's prefix if it has one */
    char *proxy;    /* "http://host:port" for calls and token requests; NULL: none */
    char *ca_file, *client_cert_file, *client_key_file;
    int tries;                                  /* HTTP calls within one attempt; default 3 */
    int64_t try_timeout_ms;                     /* of one call; 0: the time left until complete-by */
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
    struct {
        char *code[MG_ERROR_POINTERS_MAX + 1], *text[MG_ERROR_POINTERS_MAX + 1]; /* JSON pointers; the first
                                                                                    that finds one counts */
        size_t keep_bytes; /* 0: neither body nor text is kept */
    } error;               /* in a refusing body */
    bool is_fresh_connection;
    bool is_text_answer; /* an answer that is no JSON becomes a JSON string */
    struct mg_answer_rule rules[MG_SERVICE_RULES_MAX];
    int rule_count;
};

enum mg_class mg_service_parse(struct mg_slice text, const struct mg_mistakes *mistakes,
                               struct mg_service **ret_service, struct mg_err *err) MG_MUSTCHECK;
/* The same without the secrets, for a rehearsal: no file that the text names is read, and no call can be
 * made. */
enum mg_class mg_service_parse_rules(struct mg_slice text, const struct mg_mistakes *mistakes,
                                     struct mg_service **ret_service, struct mg_err *err) MG_MUSTCHECK;
void mg_service_destroy(struct mg_service *service); /* accepts NULL */
/* Another URL in place of the file's. MG_BAD_INPUT: the text has its fault; the service is of no more use. */
enum mg_class mg_service_set_url(struct mg_service *service, const char *url,
                                 struct mg_err *err) MG_MUSTCHECK;

/* Reads the header values from their files again (renewed tokens); later calls carry them. On error nothing
 * has changed. `*ret_count`: the number of such headers; `*ret_is_new`: at least one has changed. */
enum mg_class mg_service_reread_headers(struct mg_service *service, int *ret_count, bool *ret_is_new,
                                        struct mg_err *err) MG_MUSTCHECK;

/* The same for the secrets of `auth`. An access token in use stays in use. */
enum mg_class mg_service_reread_auth(struct mg_service *service, int *ret_count, bool *ret_is_new,
                                     struct mg_err *err) MG_MUSTCHECK;

/* True if a rule of the service file gives this status its meaning. */
bool mg_service_has_rule(const struct mg_service *service, enum mg_kind kind, int http_status);
/* Classifies an HTTP status: the service's rules first, then the defaults of answer_rules.c. */
struct mg_maybe mg_service_classify(const struct mg_service *service, enum mg_kind kind, int http_status,
                                    bool is_pollable);

#endif
