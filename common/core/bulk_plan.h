/*
 * Bulk actions, as arithmetic: the number of orders to request next, the end of the action, and the result of
 * a requested order. Moments are the database's, in microseconds since 1970.
 *
 * A bulk action tries its canary first: that many orders are requested at once, and no more until all of them
 * have ended. Then follow the others, limited by the rate and by the number under way. It stops for good when
 * more than its share fails again: of the canary, later of the newest MG_BULK_RECENT ended orders. An order
 * that fails at another step, or for another cause, shows nothing about this one. It counts only while no
 * order succeeds.
 */
#ifndef MG_CORE_BULK_PLAN_H
#define MG_CORE_BULK_PLAN_H

#include <stdbool.h>
#include <stdint.h>

#include "core/words.h"

/* Maximum of orders requested and not ended: the damage that a newly failing service can cause before the
 * bulk action stops. */
#define MG_BULK_UNDER_WAY_MAX 200
/* The number of ended orders that count for a stop. Enough that one bad order weighs little; few enough that
 * a service which has just gone down is detected soon. */
#define MG_BULK_RECENT 50
/* While fewer have ended, failures are a share of this many: one failure among the first does not stop. */
#define MG_BULK_RECENT_MIN 10
#define MG_BULK_CANARY_MAX 10000 /* orders; more than a person waits for */
/* The most time that a late runner catches up. In any span no more orders are requested than the rate allows
 * for the span plus this, and one. Untaken commands have the same limit, because returning schedulers would
 * begin all of them at once. */
#define MG_BULK_BURST_US INT64_C(1000000)

struct mg_bulk {
    enum mg_bulk_state state;
    bool is_tried;                        /* the canary has ended well */
    int64_t canary;                       /* 0: none */
    int64_t stop_percent;                 /* the bulk action stops above this */
    int64_t spacing_us;                   /* between two orders, by its rate; at least 1 */
    int64_t waiting, asked, done, failed; /* orders by result; skipped ones do not count */
    int64_t failed_otherwise;      /* of those failed in the canary: at another step, or for another cause */
    int64_t untaken;               /* of those requested: no scheduler has executed or refused the command */
    int64_t recent, recent_failed; /* of the newest MG_BULK_RECENT that are done or failed */
    int64_t recent_failed_otherwise; /* of the latter */
    int64_t now_us, next_us;         /* the earliest moment of the next request */
};

enum mg_bulk_why { MG_BULK_GOES_ON, MG_BULK_CANARY_FAILED, MG_BULK_TOO_MANY_FAILED };

struct mg_bulk_plan {
    enum mg_bulk_state state;
    bool is_tried;
    int64_t ask;     /* the number of orders to request next, in list order */
    int64_t next_us; /* the earliest moment for the order after them */
    enum mg_bulk_why why;
};

/* Eleven days: slower than any intended rate, so that a rate near zero has a spacing, too. */
#define MG_BULK_SPACING_MAX_US INT64_C(1000000000000)
int64_t mg_bulk_spacing_us(double rate_per_s); /* 1 to MG_BULK_SPACING_MAX_US */
struct mg_bulk_plan mg_bulk_plan(const struct mg_bulk *bulk);

/* The present state of a requested order. */
struct mg_bulk_order {
    uint64_t version;          /* named by its command */
    uint64_t order_version;    /* its present version; 0: the order no longer exists */
    enum mg_order_state state; /* of the order */
    bool is_turned;       /* it ended contrary to the command: undone instead of processed, or the reverse */
    bool is_ours;         /* the change after that version was this command */
    bool is_refused;      /* a scheduler has refused the command for the order at that version */
    bool is_inapplicable; /* it was refused because the order's state does not allow it: nothing was tried */
};
/* ASKED: the order has not ended. */
enum mg_bulk_result mg_bulk_judge(const struct mg_bulk_order *order);

#endif
