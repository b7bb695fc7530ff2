/*
 * The database's clock as far as an agent without a database can know it (law 6, database clock), what is
 * left of a request by it, and how long a call may take.
 *
 * Every request, and every word of the leading supervisor, carries `sent_at` by the database's clock. None
 * arrives before it was sent, so the least difference between receipt (CLOCK_BOOTTIME) and `sent_at` over the
 * last minute is the closest bound. A smaller difference is believed at once: it is a proof. A greater one
 * has two possible causes: the message was held up on its way, or the database's clock went back.
 *
 * Messages that were held up together arrive at one moment and were sent at several, or the other way round.
 * A clock that went back shifts all alike. So fresh messages in a row with equal differences, sent and
 * received over half a second, prove that the clock went back, and all that was known before is forgotten.
 * One message with the usual difference proves that it did not. Until one of the two has come, a request that
 * seems late is in doubt, and is neither called nor dropped.
 *
 * What waited in a queue proves nothing of the sort about a clock that is known: a clock that was ahead and
 * went back may have sent it, however long ago. So such a request of the future is not called.
 *
 * A clock that is set forward carries requests past their complete-by that have time left, and nothing
 * failed. A request that was sent by the old clock is judged by the old clock.
 *
 * Fresh is what came while this process had room for more, and so did not wait in a queue. Only fresh
 * messages say that a clock is *ahead*. Without them a full queue looks like a clock that is ahead, so the
 * later of both estimates is taken.
 */
#ifndef MG_AGENT_DEADLINE_H
#define MG_AGENT_DEADLINE_H

#include <stdbool.h>
#include <stdint.h>

#define MG_SKEW_SECONDS 60
/* A clock is called ahead, or known, only by this many fresh samples: one may have been held up on its way.
 */
#define MG_SKEW_FRESH_MIN 3
/* With room for so long, whatever was in the queue has been delivered. */
#define MG_SKEW_ROOM_MS 1000

/* A message whose difference is so far above the least was held up, or the clock went back. Together with the
 * hop itself less than the 2 s of skew for which quiescing allows: a fresh request that is not so far above
 * it may be judged by its receipt. */
#define MG_SKEW_FAR_MS 1000
/* What proves that the clock went back: fresh differences, equal within the band, received (and so sent) over
 * the span. What a broker or a network held up is released in a burst, so its differences vary by as much as
 * the moments of sending do. Three are enough if the supervisor's word is among them; of requests alone so
 * many are needed that they are not each held up for as long by chance. The supervisor has read the clock up
 * to a quarter of a second before it speaks. */
#define MG_SKEW_BACK_SPAN_MS      500
#define MG_SKEW_BACK_BAND_MS      50
#define MG_SKEW_BACK_WORD_BAND_MS 250
#define MG_SKEW_BACK_REQUESTS     5
/* After a step the schedulers go by the old clock for up to 250 ms, and what they decided by it takes a
 * commit to come here. Their messages prove nothing about one that was received less than this before. */
#define MG_SKEW_SETTLE_MS 1000
/* So long a request is in doubt at most; a fresh one for half of its time, if that is less. Three words prove
 * a step. Each comes up to 1,250 ms after the one before: a period of a second, and a supervisor's look. */
#define MG_SKEW_DOUBT_MS 4500
/* For so long a doubt that is over speaks against a step back for what is behind it in its queue. By then
 * two words have come, and the second of them ends the backlog's next doubt. */
#define MG_SKEW_RECENT_MS 3000

/* Of a process that turns each second: without a turn for longer it stood still (stopped, swapped, its
 * machine frozen). */
#define MG_STANDSTILL_MS 1500

/* Kept back from what is left, so that the reply still arrives before complete-by. */
#define MG_DEADLINE_MARGIN_MS 250

/* A request in doubt is judged again this often. */
#define MG_DEADLINE_LOOK_MS 100

enum mg_sample {
    MG_SAMPLE_QUEUED, /* a request that may have waited in its queue */
    MG_SAMPLE_FRESH,  /* a request that has not */
    MG_SAMPLE_WORD,   /* the supervisor's word, which has not either, and is told for this */
};

/* What the samples of a minute say. */
struct mg_minute {
    int64_t least_ms; /* of receipt - sent_at */
    int count, fresh_count;
};

struct mg_skew {
    int64_t limit_ms;
    struct {
        int64_t second;   /* of CLOCK_BOOTTIME */
        int64_t least_ms; /* of receipt - sent_at */
        int count, fresh_count;
    } seconds[MG_SKEW_SECONDS];
    struct mg_minute minute; /* that ends with this second */
    int64_t minute_second;
    int64_t known_ms;      /* wall - database when it was last measured, within ±limit; 0 before that */
    int64_t usual_boot_ms; /* when a difference was last not far above the least */
    struct {
        int count, words; /* of fresh samples in a row, far above the least and equal; of them words */
        int64_t first_boot_ms, lead_ms, least_ms;
    } run;
    struct {
        int64_t
            by_ms; /* so far the database's clock was last set forward; 0: it was not, or went back since */
        int64_t from_ms; /* its reading just before */
    } forward;
    struct {
        int64_t boot_ms, sent_at_ms; /* of the request that waited in its queue, and began it */
        int64_t over_boot_ms;
    } doubt;
    struct {
        int64_t sent_at_ms; /* of the request that began it */
        int64_t over_boot_ms;
    } last_doubt; /* that is over */
    int64_t ran_at_boot_ms;
};

void mg_skew_init(struct mg_skew *skew, int64_t limit_ms, int64_t boot_ms);

/* A message that was sent at `sent_at_ms` came at `boot_ms`. The milliseconds by which this proves that the
 * database's clock is behind what was believed; 0: it proves no such thing. */
int64_t mg_skew_note(struct mg_skew *skew, int64_t boot_ms, int64_t wall_ms, int64_t sent_at_ms,
                     enum mg_sample sample);

/* To be called at each turn of the process. True: it stood still since the last, or since it began. What
 * comes now may have waited for it as long, however much room there was: it is not fresh. */
bool mg_skew_stood_still(struct mg_skew *skew, int64_t boot_ms);

/* The database's clock, as well as it is known. */
int64_t mg_skew_now_ms(const struct mg_skew *skew, int64_t boot_ms, int64_t wall_ms);

/* Whether fresh messages of the last minute say so: then this machine's own wall clock does not matter. */
bool mg_skew_is_known(const struct mg_skew *skew, int64_t boot_ms);

/* How far this machine's wall clock is ahead of the database's (negative: behind). False: not measurable now.
 */
bool mg_skew_measure(const struct mg_skew *skew, int64_t boot_ms, int64_t wall_ms, int64_t *ret_ahead_ms);

/* When a request's time is over. */
struct mg_deadline {
    int64_t complete_by_ms, sent_at_ms; /* by the database's clock */
    int64_t received_boot_ms;
    int64_t until_boot_ms; /* 0: not settled; the database's clock, as well as it is known, decides */
    bool is_fresh;
};

enum mg_deadline_verdict {
    MG_DEADLINE_IN_TIME,
    MG_DEADLINE_LATE,
    MG_DEADLINE_IN_DOUBT,
    MG_DEADLINE_NOT_CALLED, /* a fresh one that seems late, or one of the future: no call, its sender is told
                               so */
};

/*
 * A fresh request that came without delay has what its sender gave it, less the time since its receipt,
 * whatever clocks do from then on. Any other has what the database's clock leaves it, and no more than its
 * sender gave it; once that clock is known this holds whatever clocks do.
 * In doubt: judge it again after `MG_DEADLINE_LOOK_MS`. The usual difference that was seen before its receipt
 * says nothing: the clock may have gone back since, and the first word of that is up to 1,250 ms away.
 *
 * What waited in a queue behind a doubt that is over is late at once: held one after the other, the requests
 * of a backlog make each other late for ever. What was sent before the one that began that doubt is not,
 * since a clock that went back looks so.
 *
 * A fresh one that is late after all was held up, or its sender's clock was: a scheduler goes by the old
 * clock for a moment after a step forward. It is never dropped in silence, since that would burn an attempt
 * for what no service has seen.
 */
enum mg_deadline_verdict mg_deadline_judge(struct mg_deadline *deadline, struct mg_skew *skew,
                                           int64_t boot_ms, int64_t wall_ms);
int64_t mg_deadline_left_ms(const struct mg_deadline *deadline, const struct mg_skew *skew, int64_t boot_ms,
                            int64_t wall_ms);

/* What a call may take with so much left: all but the margin, or but a quarter where little is left. 0: too
 * late. */
int64_t mg_deadline_budget_ms(int64_t left_ms);

#endif
