/* Requests of any stage to the scheduler as a whole. */
#ifndef MG_SCHEDULER_PUMP_H
#define MG_SCHEDULER_PUMP_H

#include "base/loop.h"
#include "core/far_clock.h"

struct mg_scheduler;

/* The period of the supervisor's sweep and of the looks at queues in use. A shorter one has no effect on a
 * parked step. */
#define MG_TICK_MS 250

struct mg_pump {
    struct mg_idle *idle;
    struct mg_far_clock db_clock;
    int64_t rank;  /* among all schedulers, while it may lead */
    bool has_left; /* messages left to others, which rank above this process from now on */
    bool has_ended;
    uint32_t failures;       /* batches in a row that the store did not take, or not wholly */
    int64_t failing_boot_ms; /* since then it has taken nothing of any batch; 0: it takes some */
    int64_t spared_boot_ms;  /* until then, attempts are not judged as overdue */
};

/* Something changed that may allow the next batch, or end the drain. */
void mg_scheduler_wake(struct mg_scheduler *scheduler);
void mg_scheduler_end(struct mg_scheduler *scheduler, int exit_code);
/* Something changed that may give or take the lead. */
void mg_scheduler_rank(struct mg_scheduler *scheduler);
/* The store took nothing of a batch that began at `began_boot_ms`. */
void mg_scheduler_failed(struct mg_scheduler *scheduler, int64_t began_boot_ms);
void mg_scheduler_stored(struct mg_scheduler *scheduler, bool is_whole);
/* Whether attempts are spared: their replies may have come while the store took nothing (law 7, waiting is
 * not failing). */
bool mg_scheduler_spares(const struct mg_scheduler *scheduler);
int64_t mg_scheduler_db_now_ms(const struct mg_scheduler *scheduler);

#endif
