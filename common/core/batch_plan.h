/*
 * Bulk actions, as arithmetic: how many orders of a batch are asked for next, when it stops by itself, and
 * what became of an order that was asked for. Moments are the database's, in microseconds since 1970.
 *
 * A batch tries its canary first: so many orders are asked for at once, and nothing more until all of them
 * have ended. Then the rest, no faster than its rate and so many under way at a time. It stops for good when
 * more than its share fails again: of the canary, later of the newest so many that have ended.
 */
#ifndef MG_CORE_BATCH_PLAN_H
#define MG_CORE_BATCH_PLAN_H

#include <stdbool.h>
#include <stdint.h>

#include "core/words.h"

/* Asked for and not ended: what a service that fails anew can do harm to before the batch stops. */
#define MG_BATCH_UNDER_WAY_MAX 200
/* Of those that ended so many are looked at: enough that one bad order among them says little, few enough
 * that a service that has just gone down is noticed soon. */
#define MG_BATCH_RECENT 50
/* What a runner that was late makes up for, at most: in any span of time no more are asked for than the rate
 * lets in it and this, and one. No more than this has room for wait to be taken, either, or schedulers that
 * were away would begin all of them at once. */
#define MG_BATCH_BURST_US INT64_C(1000000)

struct mg_batch {
    enum mg_batch_state state;
    bool is_tried;        /* the canary has ended well */
    int64_t canary;       /* 0: there is none */
    int64_t stop_percent; /* it stops above this */
    int64_t spacing_us;   /* between two orders, by its rate; at least 1 */
    int64_t waiting, asked, done,
        failed;              /* how many orders, by result; those that were skipped tell nothing */
    int64_t untaken;         /* of those asked for: no scheduler has taken or refused the command */
    int64_t recent_failed;   /* of the newest MG_BATCH_RECENT that are done or failed */
    int64_t now_us, next_us; /* when the next may be asked for */
};

enum mg_batch_why { MG_BATCH_GOES_ON, MG_BATCH_CANARY_FAILED, MG_BATCH_TOO_MANY_FAILED };

struct mg_batch_plan {
    enum mg_batch_state state;
    bool is_tried;
    int64_t ask;     /* so many more, in their order */
    int64_t next_us; /* when the one behind them may be asked for */
    enum mg_batch_why why;
};

/* Eleven days: slower than anybody means, so that a rate that is next to nothing is a spacing, too. */
#define MG_BATCH_SPACING_MAX_US INT64_C(1000000000000)
int64_t mg_batch_spacing_us(double rate_per_s); /* 1 to MG_BATCH_SPACING_MAX_US */
struct mg_batch_plan mg_batch_plan(const struct mg_batch *batch);

/* An order that was asked for, as it is now. */
struct mg_batch_order {
    uint64_t version;          /* that its command names */
    uint64_t order_version;    /* that it has; 0: there is no such order any more */
    enum mg_order_state state; /* of the order */
    bool is_turned;  /* it stands where nobody sent it: undone instead of processed, or the reverse */
    bool is_ours;    /* what followed that version was our command */
    bool is_refused; /* a scheduler has answered that the order, at that version, does not allow it */
};
/* ASKED: it has not ended. */
enum mg_batch_result mg_batch_judge(const struct mg_batch_order *order);

#endif
