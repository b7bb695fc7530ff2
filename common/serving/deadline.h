/*
 * The database's clock, as an agent without a database can estimate it (law 6, database clock). From it
 * follow the time that is left of a request, and the time that a call may take.
 *
 * Every request, and every message of the leading supervisor, carries `sent_at` by the database's clock. None
 * arrives before it was sent. So the least difference between receipt (CLOCK_BOOTTIME) and `sent_at` over the
 * last minute is the closest bound. A smaller difference is a proof and is believed at once. A greater one
 * has two possible causes: the message was held up on its way, or the database's clock went back.
 *
 * Messages that were held up together arrive at one moment and were sent at several, or the other way round.
 * A clock that went back shifts all alike. So fresh messages in a row with equal differences, sent and
 * received over half a second, prove that the clock went back. All earlier samples are then forgotten. One
 * message with the usual difference proves that the clock did not go back. Until one of the two proofs has
 * come, a request that seems late is in doubt: it is neither called nor dropped.
 *
 * A message that waited in a queue is no such proof about a clock that is known. A clock that was ahead and
 * has gone back since may have stamped it, at any time before. So a queued request from the future is not
 * called.
 *
 * A clock that is set forward passes the complete-by of requests that have time left, although nothing
 * failed. A request that was sent by the old clock is judged by the old clock.
 *
 * A message is fresh if this process had room for more when it came, so that it did not wait in a queue. Only
 * fresh messages prove that a clock is *ahead*. Without them a full queue looks like a clock that is ahead,
 * so the later of both estimates is taken.
 */
#ifndef MG_SERVING_DEADLINE_H
#define MG_SERVING_DEADLINE_H

#include <stdbool.h>
#include <stdint.h>

#define MG_SKEW_SECONDS 60
/* A clock counts as ahead, or as known, only by this many fresh samples: one may have been held up on its
 * way. */
#define MG_SKEW_FRESH_MIN 3
/* After this time with room, all messages that were in the queue have been delivered. */
#define MG_SKEW_ROOM_MS 1000

/* A message with a difference this far above the least was held up, or the clock went back. Together with the
 * hop itself this is less than the 2 s of skew for which quiescing allows. So a fresh request that is not
 * this far above the least may be judged by its receipt. */
#define MG_SKEW_FAR_MS 1000
/* Proof that the clock went back: fresh differences, equal within the band, received (and so sent) over
 * the span. A broker or a network releases held messages in a burst, so their differences vary by as much
 * as the moments of sending do. Three are enough if a supervisor's message is among them. Of requests
 * alone more are needed, so that equal delays by chance are excluded. The supervisor reads the clock up to
 * a quarter of a second before it sends. */
#define MG_SKEW_BACK_SPAN_MS         500
#define MG_SKEW_BACK_BAND_MS         50
#define MG_SKEW_BACK_CONTROL_BAND_MS 250
#define MG_SKEW_BACK_REQUESTS        5
/* After a step the schedulers use the old clock for up to 250 ms, and the resulting messages take a commit
 * to come here. They prove nothing about a message that was received less than this before. */
#define MG_SKEW_SETTLE_MS 1000
/* The longest doubt about a request; for a fresh one half of its time, if that is less. Three messages of
 * the supervisor prove a step. Each comes up to 1,250 ms after the one before: a period of a second, and a
 * supervisor's look. */
#define MG_SKEW_DOUBT_MS 4500
/* For this long a finished doubt is evidence against a step back, for the requests after it in its queue.
 * By then two messages of the supervisor have come, and the second of them ends the backlog's next doubt. */
#define MG_SKEW_RECENT_MS 3000

/* The process turns each second. Without a turn for longer than this it stalled (stopped, swapped, its
 * machine frozen). */
#define MG_STANDSTILL_MS 1500

/* Kept back from the time left, so that the reply still arrives before complete-by. */
#define MG_DEADLINE_MARGIN_MS 250

/* A request in doubt is judged again this often. */
#define MG_DEADLINE_LOOK_MS 100

enum mg_sample {
    MG_SAMPLE_QUEUED,  /* a request that may have waited in its queue */
    MG_SAMPLE_FRESH,   /* a request that has not */
    MG_SAMPLE_CONTROL, /* the supervisor's message, which has not waited either, and is sent for this */
};

/* The samples of one minute. */
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
    int64_t known_ms;      /* wall - database at the last measurement, within ±limit; 0 before that */
    int64_t usual_boot_ms; /* when a difference was last not far above the least */
    struct {
        int count, controls; /* equal fresh samples in a row, far above the least; the supervisor's of them */
        int64_t first_boot_ms, lead_ms, least_ms;
    } run;
    struct {
        int64_t by_ms;   /* the last step forward of the database's clock; 0: none, or it went back since */
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

/* Takes a message that was sent at `sent_at_ms` and came at `boot_ms` as a sample. Returns the
 * milliseconds by which it proves that the database's clock is behind the estimate; 0: no such proof. */
int64_t mg_skew_note(struct mg_skew *skew, int64_t boot_ms, int64_t wall_ms, int64_t sent_at_ms,
                     enum mg_sample sample);

/* Call it at each turn of the process. True: the process stalled since the last turn, or since its
 * begin. Messages that come now may have waited as long, even with room in hand: they are not fresh. */
bool mg_skew_stood_still(struct mg_skew *skew, int64_t boot_ms);

/* The best estimate of the database's clock. */
int64_t mg_skew_now_ms(const struct mg_skew *skew, int64_t boot_ms, int64_t wall_ms);

/* Whether the estimate rests on fresh messages of the last minute. Then this machine's own wall clock does
 * not matter. */
bool mg_skew_is_known(const struct mg_skew *skew, int64_t boot_ms);

/* How far this machine's wall clock is ahead of the database's (negative: behind). False: not measurable now.
 */
bool mg_skew_measure(const struct mg_skew *skew, int64_t boot_ms, int64_t wall_ms, int64_t *ret_ahead_ms);

/* When a request's time is over. */
struct mg_deadline {
    int64_t complete_by_ms, sent_at_ms; /* by the database's clock */
    int64_t received_boot_ms;
    int64_t until_boot_ms; /* 0: not settled; the estimate of the database's clock decides */
    bool is_fresh;
};

enum mg_deadline_verdict {
    MG_DEADLINE_IN_TIME,
    MG_DEADLINE_LATE,
    MG_DEADLINE_IN_DOUBT,
    MG_DEADLINE_NOT_CALLED, /* a fresh one that seems late, or one from the future: answered without a call */
};

/*
 * A fresh request that came without delay has the time that its sender gave it, less the time since its
 * receipt. Later jumps of a clock do not change that. Any other request has the time that the database's
 * clock leaves it, and at most the time that its sender gave it. Once that clock is known, later jumps do not
 * change this either.
 *
 * In doubt: judge it again after `MG_DEADLINE_LOOK_MS`. A usual difference that was seen before its receipt
 * proves nothing. The clock may have gone back since, and the first message that shows it is up to 1,250 ms
 * away.
 *
 * A queued request after a finished doubt is late at once. Held one after the other, the requests of a
 * backlog would make each other late for ever. One that was sent before the request that began that doubt is
 * not late at once, since a clock that went back looks so.
 *
 * A fresh request that is late after all was held up, or its sender's clock was. A scheduler uses the old
 * clock for a moment after a step forward. Such a request is never dropped in silence, since that would use
 * up an attempt that no service has seen.
 */
enum mg_deadline_verdict mg_deadline_judge(struct mg_deadline *deadline, struct mg_skew *skew,
                                           int64_t boot_ms, int64_t wall_ms);
int64_t mg_deadline_left_ms(const struct mg_deadline *deadline, const struct mg_skew *skew, int64_t boot_ms,
                            int64_t wall_ms);

/* The longest time for a call: the time left less the margin, or less a quarter of it where little is
 * left. 0: too late. */
int64_t mg_deadline_budget_ms(int64_t left_ms);

#endif
