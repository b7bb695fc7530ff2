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

extern struct mg_scheduler_options stage_options; /* of the scheduler that has started */
void stage_start(void);
void stage_start_limited(struct mg_json_limits limits); /* of submissions */
void stage_finish(void);
void stage_settle(void); /* turns, answers and confirms until nothing is left to do */

/* Time passes, by the database's clock and by the scheduler's estimate of it: the clock was not set. */
void stage_pass(int64_t ms);

/* Queues that took nothing may be tried again. */
void stage_rest_over(void);

void stage_submit(const char *order_id, bool is_again);
void stage_begin(const char *order_id); /* submits it and settles */
/* A submission with its own items and a reply queue; NULL: no reply queue. */
void stage_submit_from(const char *order_id, const char *items, const char *reply_to, bool is_again);

/*
 * "o1.reserve#2 verify transient http_503 over": a reply about attempt 2 of that step. Its words, in any
 * order:
 * - a kind (do, undo, verify), an outcome, and whether it was executed (yes, no, maybe). Without these: do,
 * done, and yes if it is done or accepted, maybe if it is unknown, else no;
 * - the error's code, and with it reason=WORD, message=TEXT, body=JSON;
 * - result=JSON, otherwise {"ref":7.50}; status=HTTP-STATUS;
 * - over: the service acts no more; probe: it is still down; again: redelivered; delivered=TIMES;
 * via=EXCHANGE. A value with blanks stands in single quotes.
 */
void stage_reply(const char *format, ...) MG_PRINTF(1, 2);
void stage_answer(const char *format, ...) MG_PRINTF(1, 2); /* and settles */
/*
 * "c-1 o1 cancel by=ann reason='too late' to=tool": a command's id, its order, its name and its members. A
 * value that begins as JSON is JSON. Besides members: to=REPLY-QUEUE; via=EXCHANGE; again: redelivered.
 */
void stage_command(const char *format, ...) MG_PRINTF(1, 2);
void stage_act(const char *format, ...) MG_PRINTF(1, 2); /* and settles */

enum mg_step_state stage_step(const char *order_id, int step);
enum mg_order_state stage_order(const char *order_id);

#endif
