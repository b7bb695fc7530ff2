/*
 * The world around one webhook, over the fakes of clock, loop, log, broker, HTTP client and reports. The test
 * gives each answer. An order's name is one letter, so "a2" is the status of order a with seq 2.
 */
#ifndef MG_TESTS_GATEWAY_WORLD_H
#define MG_TESTS_GATEWAY_WORLD_H

#include <check.h>

#include "fake_broker.h"
#include "fake_clock.h"
#include "fake_http.h"
#include "fake_log.h"
#include "fake_loop.h"
#include "fake_report.h"
#include "gateway/hook.h"

#define FAKE_CLIENT "shop"
#define FAKE_AT     "2026-01-31T12:34:56.789Z" /* of every status */
#define FAKE_AT_MS  INT64_C(1769862896789)
/* One less than a multiple of 1, 2, 4, …, 32 and 60 s. */
#define FAKE_LONGEST 479999

struct fake_world {
    uint64_t random; /* for every wait; FAKE_LONGEST: the longest below each bound */
    /* One word for each action since the last look: "send:a1", "ack:a1", "reject:a1", "requeue:a1", "ask:a>0"
     * and "archive:a>0", the questions for statuses after a seq. */
    char story[4096];
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
/* The value of a header of this call; lives until the next but one. */
const char *fake_header(int call, const char *name);
/* Answers the oldest open question with the statuses of its order from `first` to `last` (0: none);
 * `has_order` false: no row. */
void fake_rows(bool has_order, int first, int last);
void fake_rows_fail(void);
/* The actions since the last look. */
void fake_expect(const char *story);

#endif
