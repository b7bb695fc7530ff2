/*
 * What the database's clock says now, as far as an agent without a database can know (design law 6), and how
 * long a call may take.
 *
 * Every request carries `sent_at` by the database's clock. It arrives no earlier than it was sent, so the
 * least difference between receipt (CLOCK_BOOTTIME) and `sent_at` over the last minute is the closest bound.
 * A request that came while this process had room for more did not wait in a queue: only such samples say
 * that a clock is *ahead*; a request from the future says by itself that it is behind. Without a fresh sample
 * a full queue looks like a clock that is ahead, so the later of both estimates is taken: in doubt the agent
 * is silent too early, never too late.
 */
#ifndef MG_AGENT_DEADLINE_H
#define MG_AGENT_DEADLINE_H

#include <stdbool.h>
#include <stdint.h>

#define MG_SKEW_SECONDS 60
/* A clock is called ahead only by this many fresh samples: one may have been held up on its way. */
#define MG_SKEW_FRESH_MIN 3
/* With room for so long, whatever was in the queue has been delivered. */
#define MG_SKEW_ROOM_MS 1000

/* Of a process that turns each second: without a turn for longer it stood still (stopped, swapped, its
 * machine frozen). */
#define MG_STANDSTILL_MS 1500

/* Kept back from what is left, so that the reply still arrives before complete-by. */
#define MG_DEADLINE_MARGIN_MS 250

struct mg_skew {
    int64_t limit_ms;
    struct {
        int64_t second;   /* of CLOCK_BOOTTIME */
        int64_t least_ms; /* of receipt - sent_at */
        int count, fresh_count;
    } seconds[MG_SKEW_SECONDS];
    int64_t known_ms; /* wall - database when it was last measured, within ±limit; 0 before that */
    int64_t ran_at_boot_ms;
};

void mg_skew_init(struct mg_skew *skew, int64_t limit_ms, int64_t boot_ms);
void mg_skew_note(struct mg_skew *skew, int64_t boot_ms, int64_t wall_ms, int64_t sent_at_ms, bool is_fresh);

/* To be called at each turn of the process. True: it stood still since the last, or since it began. What
 * comes now may have waited for it as long, however much room there was: it is not fresh. */
bool mg_skew_stood_still(struct mg_skew *skew, int64_t boot_ms);

/* The database's clock, as well as it is known. */
int64_t mg_skew_now_ms(const struct mg_skew *skew, int64_t boot_ms, int64_t wall_ms);

/* How far this machine's wall clock is ahead of the database's (negative: behind). False: not measurable now.
 */
bool mg_skew_measure(const struct mg_skew *skew, int64_t boot_ms, int64_t wall_ms, int64_t *ret_ahead_ms);

/* What a call may take with so much left: all but the margin, or but a quarter where little is left. 0: too
 * late. */
int64_t mg_deadline_budget_ms(int64_t left_ms);

#endif
