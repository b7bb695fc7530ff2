/* A scheduler between the fakes, with one workflow: reserve (can be undone), then charge (cannot). */
#ifndef MG_TESTS_SCHEDULER_STAGE_H
#define MG_TESTS_SCHEDULER_STAGE_H

#include "fake_broker.h"
#include "fake_clock.h"
#include "fake_loop.h"
#include "fake_store.h"
#include "scheduler.h"

#define STAGE_WORKFLOW "two"
#define STAGE_DEFINITION                                                                                     \
    "{\"workflow\":\"two\",\"version\":1,\"complete_within\":\"15m\",\"on_failure\":\"compensate\","         \
    "\"on_expiry\":\"compensate\",\"steps\":["                                                               \
    "{\"step\":\"reserve\",\"service\":\"inventory\",\"complete_within\":\"10s\",\"on_unknown\":\"retry\","  \
    "\"retry\":{\"attempts\":3,\"backoff\":\"1s\",\"max_backoff\":\"5s\"},"                                  \
    "\"do\":{\"method\":\"POST\",\"path\":\"/r\",\"body\":{\"items\":\"${/payload/items}\"}},"               \
    "\"undo\":{\"method\":\"DELETE\",\"path\":\"/r/${/do_key}\"}},"                                          \
    "{\"step\":\"charge\",\"service\":\"payment\",\"after\":[\"reserve\"],\"complete_within\":\"10s\","      \
    "\"on_unknown\":\"retry\",\"retry\":{\"attempts\":3,\"backoff\":\"1s\",\"max_backoff\":\"5s\"},"         \
    "\"do\":{\"method\":\"POST\",\"path\":\"/c\",\"body\":{\"ref\":\"${/results/reserve/"                    \
    "ref}\"}},\"undo\":\"none\"}]}"

extern struct mg_scheduler *stage_scheduler;
extern const struct mg_span_sink *stage_spans; /* NULL: spans are off; set before stage_start */
extern const char *stage_traceparent;          /* of submissions; NULL: none */
#define STAGE_MEMORY_BYTES ((size_t)128 << 20)
extern size_t stage_memory_bytes; /* for messages; before stage_start */
extern int stage_exit_code;       /* -1: it has not ended */

void stage_start(void);
void stage_start_limited(struct mg_json_limits limits); /* of submissions */
void stage_finish(void);
void stage_settle(void); /* turns, answers and confirms until nothing is left to do */

/* Time passes, by the database's clock and by the scheduler's estimate of it: the clock was not set. */
void stage_pass(int64_t ms);

/* Queues that took nothing may be tried again. */
void stage_rest_over(void);

void stage_submit(const char *order_id, bool is_again);
/* A submission with its own items and a reply queue; NULL: no reply queue. */
void stage_submit_from(const char *order_id, const char *items, const char *reply_to, bool is_again);

struct stage_reply {
    const char *order_id, *step;
    uint32_t attempt;
    const char *kind;     /* NULL: do */
    const char *outcome;  /* NULL: done */
    const char *executed; /* NULL: yes */
    bool is_again;
    uint32_t delivery_count;
    const char *exchange;   /* that it came through */
    const char *error_code; /* NULL: no error */
    const char *reason;     /* error.reason, NULL: none; it is given with a code */
    int http_status;        /* 0: none */
    const char *message;    /* the service's own, NULL: none; it is given with a code */
    const char *body;       /* kept of its answer, as a JSON string; likewise */
    const char *result;     /* JSON; NULL: {"ref":7.50} */
    bool is_over;           /* the service has answered: it does not act any more */
    bool is_probe;          /* of a service that is down still */
};
void stage_reply(const struct stage_reply *reply);
/* `words`: members of the command besides v, command_id, order_id. */
void stage_command(const char *command_id, const char *order_id, const char *words, const char *reply_to);
void stage_command_again(const char *command_id, const char *order_id, const char *words); /* redelivered */

enum mg_step_state stage_step(const char *order_id, int step);
enum mg_order_state stage_order(const char *order_id);

#endif
