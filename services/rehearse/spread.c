/* See spread.h. */
#include "spread.h"

#include <math.h>
#include <string.h>

#include "base/clock.h"
#include "base/err.h"

#define TIME_MAX_MS   (365 * INT64_C(86400000)) /* as the longest wait of a definition */
#define PART_SIZE     32
#define SHARE_PLACES  4      /* of a percentage: a millionth */
#define Z_OF_P99      2.3263 /* the standard normal distribution's 99th percentile */
#define MANTISSA_BITS 53

/* ---- reading ---- */

static bool part_copy(const char *text, size_t len, char ret_part[PART_SIZE])
{
    if (len == 0 || len >= PART_SIZE) {
        return false;
    }
    memcpy(ret_part, text, len);
    ret_part[len] = '\0';
    return true;
}

static int64_t part_duration(const char *text, size_t len)
{
    char part[PART_SIZE];
    int64_t ms = part_copy(text, len, part) ? mg_duration_parse(part) : -1;
    return ms <= TIME_MAX_MS ? ms : -1;
}

enum mg_class mg_spread_parse(const char *text, struct mg_spread *ret_spread, struct mg_err *err)
{
    const char *dots = strstr(text, ".."), *comma = strstr(text, ",p99=");
    *ret_spread = (struct mg_spread){.is_skewed = comma != NULL};
    if (comma != NULL) {
        ret_spread->low_ms = part_duration(text, (size_t)(comma - text));
        ret_spread->high_ms = part_duration(comma + strlen(",p99="), strlen(comma + strlen(",p99=")));
    } else if (dots != NULL) {
        ret_spread->low_ms = part_duration(text, (size_t)(dots - text));
        ret_spread->high_ms = part_duration(dots + 2, strlen(dots + 2));
    } else {
        ret_spread->low_ms = ret_spread->high_ms = part_duration(text, strlen(text));
    }
    bool is_good = ret_spread->low_ms >= 0 && ret_spread->high_ms >= ret_spread->low_ms &&
                   (comma == NULL || ret_spread->low_ms > 0);
    return is_good
               ? MG_OK
               : mg_err_set(err, MG_BAD_INPUT,
                            "\"%s\" is no time; write \"200ms\", \"1s..3s\" for any time between the two, "
                            "or \"200ms,p99=2s\" for a half below 200ms and one in a hundred above 2s",
                            text);
}

enum mg_class mg_share_parse(const char *text, uint32_t *ret_share, struct mg_err *err)
{
    uint64_t value = 0;
    int places = -1; /* none read yet */
    const char *at = text;
    for (; (*at >= '0' && *at <= '9') || (*at == '.' && places < 0 && at > text); at++) {
        if (*at == '.') {
            places = 0;
        } else if (places < SHARE_PLACES && value <= MG_SHARE_ALL) {
            value = value * 10 + (uint64_t)(*at - '0');
            places += places >= 0 ? 1 : 0;
        } else {
            break;
        }
    }
    bool is_whole = at > text && at[-1] != '.' && strcmp(at, "%") == 0;
    for (places = places < 0 ? 0 : places; places < SHARE_PLACES; places++) {
        value *= 10;
    }
    if (!is_whole || value > MG_SHARE_ALL) {
        return mg_err_set(err, MG_BAD_INPUT, "\"%s\" is no share; write \"30%%\" or \"0.5%%\", up to 100%%",
                          text);
    }
    *ret_share = (uint32_t)value;
    return MG_OK;
}

enum mg_class mg_arrival_parse(const char *text, struct mg_arrival *ret_arrival, struct mg_err *err)
{
    static const size_t WORD_LEN = sizeof(" in ") - 1;
    const char *in = strstr(text, " in "), *at = strstr(text, " at "), *word = in != NULL ? in : at;
    char share[PART_SIZE];
    *ret_arrival = (struct mg_arrival){.is_since_acceptance = in == NULL};
    size_t len = word != NULL ? (size_t)(word - text) : strlen(text);
    bool is_good = part_copy(text, len, share) && mg_share_parse(share, &ret_arrival->share, err) == MG_OK &&
                   (word != NULL ? mg_spread_parse(word + WORD_LEN, &ret_arrival->time, err) == MG_OK
                                 : ret_arrival->share == 0);
    return is_good ? MG_OK
                   : mg_err_set(err, MG_BAD_INPUT,
                                "\"%s\" is no share with its time; write \"85%% in 2h..2d\" for a time since "
                                "the step waits, \"85%% at 2h..2d\" since the acceptance, or \"0%%\"",
                                text);
}

enum mg_class mg_range_parse(const char *text, int64_t *ret_from_ms, int64_t *ret_until_ms,
                             struct mg_err *err)
{
    const char *dots = strstr(text, "..");
    *ret_from_ms = dots != NULL ? part_duration(text, (size_t)(dots - text)) : -1;
    *ret_until_ms = dots != NULL ? part_duration(dots + 2, strlen(dots + 2)) : -1;
    return *ret_from_ms >= 0 && *ret_until_ms > *ret_from_ms
               ? MG_OK
               : mg_err_set(
                     err, MG_BAD_INPUT,
                     "\"%s\" is no time of an outage; write its begin and its end since the start of the "
                     "simulation, \"10m..25m\"",
                     text);
}

/* ---- drawing ---- */

uint64_t mg_stream_next(uint64_t *stream)
{
    uint64_t z = *stream += UINT64_C(0x9E3779B97F4A7C15);
    z = (z ^ (z >> 30)) * UINT64_C(0xBF58476D1CE4E5B9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94D049BB133111EB);
    return z ^ (z >> 31);
}

uint64_t mg_stream_of(uint64_t seed, uint64_t number)
{
    uint64_t stream = seed;
    stream = mg_stream_next(&stream) ^ number;
    return mg_stream_next(&stream);
}

bool mg_share_draw(uint32_t share, uint64_t *stream)
{
    return share > 0 && mg_stream_next(stream) % MG_SHARE_ALL < share;
}

/* Above 0 and below 1. */
static double unit_draw(uint64_t *stream)
{
    return ((double)(mg_stream_next(stream) >> (64 - MANTISSA_BITS)) + 0.5) /
           (double)(UINT64_C(1) << MANTISSA_BITS);
}

int64_t mg_spread_draw(const struct mg_spread *spread, uint64_t *stream)
{
    if (spread->high_ms == spread->low_ms) {
        return spread->low_ms;
    }
    if (!spread->is_skewed) {
        uint64_t width = (uint64_t)(spread->high_ms - spread->low_ms) + 1;
        return spread->low_ms + (int64_t)(mg_stream_next(stream) % width);
    }
    double radius = sqrt(-2 * log(unit_draw(stream)));
    double normal = radius * cos(2 * M_PI * unit_draw(stream)); /* Box and Muller */
    double sigma = log((double)spread->high_ms / (double)spread->low_ms) / Z_OF_P99;
    double ms = (double)spread->low_ms * exp(normal * sigma);
    return ms < (double)TIME_MAX_MS ? (int64_t)ms : TIME_MAX_MS;
}
