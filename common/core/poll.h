/* Inside of the core: see poll.c. */
#ifndef MG_CORE_POLL_H
#define MG_CORE_POLL_H

#include "core/decider.h"

/* An undo that finds nothing waits for this part of the time since the work began: for a day's work that is
 * polled each second it goes out some 90 times, and takes back its effect after an eighth more time. */
#define MG_ABSENT_SHARE 8

/* The interval of the polls of the accepted do or undo. */
int64_t mg_poll_interval_ms(const struct mg_decider *decider, int step);
/* Whether the time of the accepted work is over. One that was set by a clock which was ahead is cut to the
 * time of work that begins now. */
bool mg_poll_is_over(struct mg_decider *decider, int step);
/* Whether it was over, or there is none, when the running attempt went out. Only then does its answer that
 * finds nothing hold for that work (law 11, quiesce). */
bool mg_poll_was_over(struct mg_decider *decider, int step);
/* The moment after a wait; the last one is at the end of the work's time. If the clock was set past that end,
 * work and polling continue at the normal interval. */
int64_t mg_poll_next_ms(const struct mg_decider *decider, int step, int64_t wait_ms);
/* The verify has settled nothing, and goes out again. */
enum mg_verdict mg_poll_again(struct mg_decider *decider, int step, enum mg_reason reason, int64_t due_at_ms);
/* The service works on: polling continues until the work's time is over. */
enum mg_verdict mg_poll_answered(struct mg_decider *decider, int step);
/* The answer finds nothing of the work, and proves nothing yet. The verify goes out again, once at least
 * after the end of the work's time. */
enum mg_verdict mg_poll_found_nothing(struct mg_decider *decider, int step);
/* The service works, and only the poll failed. This ends nothing before the work's time is over, counts
 * against no attempt, and is repeated at growing intervals. */
enum mg_verdict mg_poll_failed(struct mg_decider *decider, int step, enum mg_reason reason);

#endif
