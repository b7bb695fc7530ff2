/*
 * Another machine's clock, followed by what it answers: the database's, by which deadlines are judged.
 *
 * It reads its clock at some moment between the question and the answer. Each answer narrows down how far
 * that clock is ahead, and none that took seconds moves it by seconds. An answer that does not fit shows that
 * the clock was set. Then it is taken to have been read at the last moment: so it is not believed to be
 * ahead.
 *
 * A clock that is set forward carries deadlines past that had time left, and nothing failed: those between
 * its old and its new moment keep, on this machine's clock, the time that they had. They keep it too when it
 * then goes back by less. What it has gone back by it may pass again, and rightly. Of a step forward that
 * follows while some have time left only the end counts: what passed rightly between the two was judged then.
 */
#ifndef MG_BASE_FAR_CLOCK_H
#define MG_BASE_FAR_CLOCK_H

#include <stdbool.h>
#include <stdint.h>

/* A step forward by more than this is one. Less no deadline misses: quiescing alone allows for more. */
#define MG_FAR_CLOCK_STEP_MS 1000
/* So long after a step the schedulers may go by the old clock: they look at it as often. A deadline that is
 * passed when they set it lies at most so far behind the step's end. One of the new clock lies so near only
 * if it leaves no time for a call. */
#define MG_FAR_CLOCK_STALE_MS 250

struct mg_far_clock {
    bool is_read;              /* it has answered once */
    int64_t offset_ms;         /* of that clock over this machine's boot clock */
    int64_t least_ms, most_ms; /* between these it lies by all answers since it was set */
    int64_t set_boot_ms;       /* when it was found set forward, first of those that count; it went */
    int64_t set_from_ms;       /* from here */
    int64_t set_to_ms; /* to here, or as far as it has not gone back since; 0: no further than it was */
};

/* Deadlines behind `after_ms` and up to `before_ms` have time left although that clock has passed them; both
 * 0: there are none. */
struct mg_spared {
    int64_t after_ms, before_ms;
};

/* Until its first answer it is taken to be as this machine's wall clock is. */
void mg_far_clock_init(struct mg_far_clock *clock, int64_t wall_ms, int64_t boot_ms);
/* By how much this answer shows that it was set forward; 0: it does not. */
int64_t mg_far_clock_note(struct mg_far_clock *clock, int64_t answer_ms, int64_t asked_boot_ms,
                          int64_t answered_boot_ms);
int64_t mg_far_clock_now_ms(const struct mg_far_clock *clock, int64_t boot_ms);
/* With `extra_ms` more than they had. */
struct mg_spared mg_far_clock_spared(const struct mg_far_clock *clock, int64_t boot_ms, int64_t extra_ms);

#endif
