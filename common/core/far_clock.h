/*
 * An estimate of another machine's clock from its answers: the database's clock, by which deadlines are
 * judged.
 *
 * The server reads its clock at some moment between question and answer. Each answer narrows the range of its
 * offset, so an answer that took seconds does not move the estimate by seconds. An answer outside the range
 * proves that the clock was set. The new offset then assumes that the clock was read at the last moment, so
 * the estimate is not ahead.
 *
 * A clock that is set forward passes deadlines that had time left, although nothing failed. Deadlines between
 * its old and its new value keep that time, measured by this machine's clock. They keep it, too, if the clock
 * then goes back by less. A part that it has gone back may pass again as normal time. If a second step
 * forward follows while some deadlines have time left, only its end counts: time that passed normally between
 * the two steps was judged then.
 *
 * A step forward often sets right a clock that was set back. Deadlines from before the step back are then
 * judged by the clock that set them (core/spared.h). For this, a step back is remembered for a day; a process
 * that was started since, or had no answer while the clock was right, spares them like all others. Such a
 * deadline is late by as much as the clock was set back, at most.
 *
 * The newest stored moment would tell such a process that a clock was higher. It does not tell which one set
 * a deadline: after two steps back there is a third, and by the highest one its deadlines would be judged too
 * early. A late deadline costs time, one judged early an attempt.
 */
#ifndef MG_CORE_FAR_CLOCK_H
#define MG_CORE_FAR_CLOCK_H

#include <stdbool.h>
#include <stdint.h>

#include "core/spared.h"

/* The smallest step forward that counts. No deadline misses less: quiescing alone allows for more. */
#define MG_FAR_CLOCK_STEP_MS 1000
/* Schedulers may use the old clock for this long after a step, because they read it at this interval. A
 * passed deadline that they set meanwhile lies at most this far after the end of the step. A deadline of the
 * new clock lies that near only if it leaves no time for a call. */
#define MG_FAR_CLOCK_STALE_MS 250
/* Between two answers further apart than this the clock may have been set back and forward, unseen. It is
 * then not known which clock has set a deadline. A broker or a database that is away for some seconds is no
 * such silence: clocks are set at such moments, too. */
#define MG_FAR_CLOCK_SILENCE_MS 60000
/* A step back is remembered for this long. In that time two machines' clocks drift apart by some seconds at
 * most. */
#define MG_FAR_CLOCK_KEPT_MS (24 * INT64_C(3600000))

/* The clock as it was until a step back. A row has one moment, that of its latest write, for all attempts in
 * it. So only moments count by which none of them can have begun in the stay below. */
struct mg_far_high {
    int64_t boot_ms;           /* boot time of the step back */
    int64_t offset_ms;         /* least offset of that clock */
    int64_t from_ms, until_ms; /* its values, shown by no lower clock before; 0: no step back is known */
    int64_t low_from_ms, low_until_ms; /* values of the lower clocks since */
};

struct mg_far_clock {
    bool is_read;              /* at least one answer has come */
    int64_t offset_ms;         /* estimated offset from this machine's boot clock to that clock */
    int64_t least_ms, most_ms; /* range of the offset, by all answers since the clock was set */
    int64_t set_boot_ms;       /* boot time of the first step forward that still counts */
    int64_t set_from_ms;       /* value of the clock before that step */
    int64_t set_to_ms;         /* value after it, less later steps back; 0: no step counts */
    int64_t asked_boot_ms;     /* when the latest answer was asked for */
    int64_t known_from_ms;     /* values from this one on were shown by no clock lower than the present one */
    int64_t set_known_from_ms; /* the same by the clock before the first step forward that still counts */
    struct mg_far_high high;
};

/* Before the first answer the estimate is this machine's wall clock. */
void mg_far_clock_init(struct mg_far_clock *clock, int64_t wall_ms, int64_t boot_ms);
/* Records an answer. Returns the ms by which it proves that the clock was set forward; 0: not set forward. */
int64_t mg_far_clock_note(struct mg_far_clock *clock, int64_t answer_ms, int64_t asked_boot_ms,
                          int64_t answered_boot_ms);
int64_t mg_far_clock_now_ms(const struct mg_far_clock *clock, int64_t boot_ms);
/* The present value of the clock as it was until it was set back, while it is below the last value of that
 * one; 0: it is not. */
int64_t mg_far_clock_high_now_ms(const struct mg_far_clock *clock, int64_t boot_ms);
/* The spared deadlines, each with `extra_ms` more than its time left. */
struct mg_spared mg_far_clock_spared(const struct mg_far_clock *clock, int64_t boot_ms, int64_t extra_ms);

#endif
