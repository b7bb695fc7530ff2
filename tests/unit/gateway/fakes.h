/*
 * The world around one webhook: a clock and a timer that the test moves, a broker that records acks, an HTTP
 * client that records requests, and a store that records questions. The test gives each answer. An order's
 * name is one letter, so "a2" is the status of order a with seq 2.
 */
#ifndef MG_TESTS_GATEWAY_FAKES_H
#define MG_TESTS_GATEWAY_FAKES_H

#include <check.h>

#include "gateway/hook.h"

#define FAKE_MAX           512
#define FAKE_QUESTIONS_MAX 2 /* as many as a hook asks at once */
#define FAKE_CLIENT        "shop"
#define FAKE_AT            "2026-01-31T12:34:56.789Z" /* of every status */
#define FAKE_AT_MS         INT64_C(1769862896789)
/* One less than a multiple of 1, 2, 4, …, 32 and 60 s. */
#define FAKE_LONGEST 479999

struct fake_request {
    char url[128], id[64], timestamp[32], signature[256], body[256];
    void *arg;
    bool is_open;
};

struct fake_world {
    int64_t boot_ms, wall_ms, timer_at_ms; /* timer: 0: stopped */
    uint64_t random;                       /* for every wait; FAKE_LONGEST: the longest below each bound */
    int log_count;                         /* lines at warning or above */
    /* One word for each action since the last look: "send:a1", "ack:a1", "reject:a1", "requeue:a1", "ask:a>0"
     * and "archive:a>0", the questions for statuses after a seq. */
    char story[4096];
    struct fake_request requests[FAKE_MAX];
    int request_count;
    bool refuses_calls; /* the HTTP client has no descriptors */
    bool has_no_queue;  /* the broker has not the webhook's */
    struct mg_gateway gateway;
    struct mg_process_options process;
    struct mg_gateway_options options;
    struct mg_hook *hook;
};
extern struct fake_world fake;

void fake_start(void); /* a hook with a target at https://shop.example.org/ */
void fake_end(void);
struct mg_hook_target fake_target(const char *url);
/* "a2": a delivery of that status; "?": of bytes that are no status; "-": of one above the limit. */
void fake_deliver(const char *status);
/* Answers the open request of this status; -1: it got no answer. */
void fake_answer(const char *status, int http_status);
void fake_answer_later(const char *status, int http_status, int64_t retry_after_ms);
void fake_answer_cut(const char *status, int http_status); /* the answer ends after its status */
/* Answers the oldest open question with the statuses of its order from `first` to `last` (0: none);
 * `has_order` false: no row. */
void fake_rows(bool has_order, int first, int last);
void fake_rows_fail(void);
/* Moves both clocks, and runs the timer at each of its moments. */
void fake_pass(int64_t ms);
/* The actions since the last look. */
void fake_expect(const char *story);

#endif
