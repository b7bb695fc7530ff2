/* Spreads of times, shares, and the random numbers of a simulation: the same seed gives the same ones. */
#ifndef MG_REHEARSE_SPREAD_H
#define MG_REHEARSE_SPREAD_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"

/* All shares are in millionths: exact, and the same on each machine. */
#define MG_SHARE_ALL 1000000

struct mg_spread {
    int64_t low_ms, high_ms; /* the same: always so long; or the range; or, if skewed, p50 and p99 */
    bool is_skewed;          /* log-normal, as times of services are */
};

/* Something that comes in a share of the orders, some time after another event. */
struct mg_arrival {
    uint32_t share;
    struct mg_spread time;
    bool is_since_acceptance; /* of the order; else since the step that waits for it has begun */
};

/* "200ms", "1s..3s", "200ms,p99=2s". MG_BAD_INPUT: the text has the mistake and a valid form. */
enum mg_class mg_spread_parse(const char *text, struct mg_spread *ret_spread,
                              struct mg_err *err) MG_MUSTCHECK;
#define MG_SHARE_SIZE 16 /* room for the text of a share */
/* "30%", "0.5%": up to four places. MG_BAD_INPUT as above. */
enum mg_class mg_share_parse(const char *text, uint32_t *ret_share, struct mg_err *err) MG_MUSTCHECK;
/* "85% in 2h..2d", "85% at 2h..2d" for a time since the acceptance, "0%". MG_BAD_INPUT as above. */
enum mg_class mg_arrival_parse(const char *text, struct mg_arrival *ret_arrival,
                               struct mg_err *err) MG_MUSTCHECK;
/* "10m..25m", two different moments in this order. MG_BAD_INPUT as above. */
enum mg_class mg_range_parse(const char *text, int64_t *ret_from_ms, int64_t *ret_until_ms,
                             struct mg_err *err) MG_MUSTCHECK;

/* The next number of a stream (splitmix64). */
uint64_t mg_stream_next(uint64_t *stream);
/* The beginning of a stream of its own for each order. */
uint64_t mg_stream_of(uint64_t seed, uint64_t number);
bool mg_share_draw(uint32_t share, uint64_t *stream);
int64_t mg_spread_draw(const struct mg_spread *spread, uint64_t *stream);

#endif
