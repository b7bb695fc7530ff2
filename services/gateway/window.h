/*
 * The statuses of one webhook that are in hand, and which of them may be sent now: those of one order
 * strictly by `seq`, one at a time; of different orders several at once. A target that fails gets one request
 * at a time, at growing intervals. No I/O, and the clock is a parameter.
 */
#ifndef MG_GATEWAY_WINDOW_H
#define MG_GATEWAY_WINDOW_H

#include <sys/queue.h>

#include "core/model.h"
#include "io/amqp/broker.h"
#include "wire/status.h"

/* Requests under way to one target: as many as a small receiver takes at once, or as its line says. */
#define MG_WINDOW_CALLS     8
#define MG_WINDOW_CALLS_MAX 64 /* as many as are in hand */
/* Failures in a row after which a target counts as down: more than one bad status causes by itself. */
#define MG_WINDOW_DOWN_AFTER 5
/* Waits between two tries: full jitter below a bound that doubles. A target that is back is found within a
 * minute, and one that is down gets two requests a minute. */
#define MG_WINDOW_BACKOFF_MS     1000
#define MG_WINDOW_BACKOFF_MAX_MS 60000
/* The longest Retry-After that is kept: a target that is well again before waits no longer. */
#define MG_WINDOW_RETRY_AFTER_MAX_MS 600000
/* A status that its target refuses for so long, and takes others in each hour of it, is hopeless. A target
 * that takes none keeps all of its queue. */
#define MG_WINDOW_GIVE_UP_MS (INT64_C(24) * 60 * 60 * 1000)
#define MG_WINDOW_TAKES_MS   (60 * 60 * 1000)
/* Refused statuses that are remembered: twice those in hand, since one that is given back to the broker is
 * redelivered. */
#define MG_WINDOW_REFUSALS_MAX 128

struct mg_window_status {
    TAILQ_ENTRY(mg_window_status) entry;
    struct mg_delivery *delivery; /* NULL: read from the database */
    struct mg_status_identity identity;
    struct mg_slice body; /* the delivery's, or after this struct */
};
TAILQ_HEAD(mg_window_queue, mg_window_status);

/* The statuses of one order, in their turn. */
struct mg_window_line {
    TAILQ_ENTRY(mg_window_line) entry;
    void *owner; /* free for the caller */
    char order_id[MG_ORDER_ID_MAX + 1];
    struct mg_window_queue statuses; /* by seq */
    bool is_busy;
    struct mg_window_status *sent; /* set by the caller: the one under way; NULL: none */
    bool is_put_off;               /* set by the caller: until mg_window_resume, or its time */
    uint32_t failures;             /* in a row */
    uint32_t targets;              /* the window's number at the begin of the turn */
    int64_t retry_at_ms;
};

struct mg_window {
    TAILQ_HEAD(, mg_window_line) lines; /* the one that has waited longest first */
    int busy_count;
    int calls; /* under way at most, while it is not down; set by the caller */
    bool is_down;
    uint32_t targets;         /* that it had; a turn may outlast one */
    uint32_t failures;        /* in a row, of any line */
    int64_t retry_at_ms;      /* while it is down */
    int64_t failing_since_ms; /* 0: the last request was taken, or there was none */
    int64_t taken_at_ms;      /* 0: none */
    struct mg_window_memory *memory;
};

bool mg_window_init(struct mg_window *window); /* false: no memory */
/* The caller has removed all lines. */
void mg_window_finish(struct mg_window *window);

/* Puts the status, which the window keeps, into its order's line. NULL: no memory; the status stays the
 * caller's. */
struct mg_window_line *mg_window_add(struct mg_window *window, struct mg_window_status *status);
/* The line that is next, which is busy from now on. NULL: none may be sent now; `*ret_wait_ms` is the time
 * until one may, or -1: at the next change. */
struct mg_window_line *mg_window_next(struct mg_window *window, int64_t now_ms, int64_t *ret_wait_ms);

/* Each of these ends a line's turn. */
/* The target has taken the sent status, which the caller has removed. */
void mg_window_taken(struct mg_window *window, struct mg_window_line *line, int64_t now_ms);
/* It has not. `retry_after_ms`: -1: none. True: the target counts as down from now on. A status that an
 * earlier target has not taken goes to the present one at once. */
bool mg_window_failed(struct mg_window *window, struct mg_window_line *line, int64_t retry_after_ms,
                      uint64_t random, int64_t now_ms);
/* The line could not be sent, for no fault of the target. */
void mg_window_defer(struct mg_window *window, struct mg_window_line *line, int64_t until_ms);
/* Every line may go at once: the target has failed, and takes statuses again. */
void mg_window_restart(struct mg_window *window);
/* A new target has never failed, and refused nothing. */
void mg_window_retarget(struct mg_window *window);
/* The line's turn began with an earlier target. */
bool mg_window_is_outdated(const struct mg_window *window, const struct mg_window_line *line);
/* The lines that were put off may go. */
void mg_window_resume(struct mg_window *window);
/* Frees a line without statuses; a busy one's turn ends. */
void mg_window_drop(struct mg_window *window, struct mg_window_line *line);

/* The seq of the last status of an order that the target has taken, as far as it is remembered; -1: not
 * known. It is forgotten with the process, and after some thousand other orders. */
int64_t mg_window_last(const struct mg_window *window, const char *order_id);
void mg_window_note(struct mg_window *window, const char *order_id, int64_t seq);

/* Notes that the target has refused the status. True: it is hopeless. The first refusal is remembered beyond
 * the delivery, but not beyond the process, nor an hour in which the target took none. */
bool mg_window_refused(struct mg_window *window, const struct mg_window_status *status, int64_t now_ms);
/* The target has taken the status, or it is set aside: the order's next one may go, and its refusals are
 * forgotten. */
void mg_window_settle(struct mg_window *window, const struct mg_window_status *status);

#endif
