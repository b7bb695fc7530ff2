/* Common to all stages of a scheduler, and their requests to the scheduler as a whole. */
#ifndef MG_SCHEDULER_SHARED_H
#define MG_SCHEDULER_SHARED_H

#include "scheduler_metrics.h"
#include "scheduler_options.h"
#include "work.h"

#include "base/loop.h"
#include "core/far_clock.h"

/* The period of the supervisor's sweep and of the looks at queues in use. A shorter one has no effect on a
 * parked step. */
#define MG_TICK_MS 250

struct mg_shared {
    const struct mg_scheduler_options *options;
    struct mg_loop *loop;
    struct mg_broker *broker;
    struct mg_store *store;
    struct mg_metrics *metrics;
    struct mg_scheduler_metrics series;
    struct mg_json_limits message_limits; /* of replies and commands */
    struct mg_works works;
    bool is_store_up, is_broker_up, is_draining, has_ended;
    bool is_away;                 /* the store has been down for long: nothing is consumed */
    struct mg_timer *store_retry; /* retries the store calls that no batch makes */
    struct mg_idle *pump;         /* the scheduler begins the next work (scheduler.c) */
    struct mg_far_clock db_clock;
    int64_t rank;            /* among all schedulers, while it may lead */
    bool has_left;           /* messages left to others, which rank above this process from now on */
    uint32_t failures;       /* batches in a row that the store did not take, or not wholly */
    int64_t failing_boot_ms; /* since then it has taken nothing of any batch; 0: it takes some */
    int64_t failed_boot_ms;  /* the last time that it took nothing */
    int64_t spared_boot_ms;  /* until then, attempts are not judged as overdue */
};

/* False: no memory. */
bool mg_shared_init(struct mg_shared *shared, struct mg_loop *loop,
                    const struct mg_scheduler_options *options, struct mg_metrics *metrics);
/* Something changed that may allow the next batch, or end the drain. */
void mg_scheduler_wake(struct mg_shared *shared);
/* A timer that wakes the scheduler. NULL: no memory. */
struct mg_timer *mg_scheduler_timer(struct mg_shared *shared);
void mg_scheduler_end(struct mg_shared *shared, int exit_code);
/* Something changed that may give or take the lead. */
void mg_scheduler_rank(struct mg_shared *shared);
/* The store took nothing of a batch that began at `began_boot_ms`. */
void mg_scheduler_failed(struct mg_shared *shared, int64_t began_boot_ms);
void mg_scheduler_stored(struct mg_shared *shared, bool is_whole);
/* Whether attempts are spared: their replies may have come while the store took nothing (law 7, waiting is
 * not failing). */
bool mg_scheduler_spares(const struct mg_shared *shared);
int64_t mg_scheduler_db_now_ms(const struct mg_shared *shared);

#endif
