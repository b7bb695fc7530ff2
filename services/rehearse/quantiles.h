/* The spread of many numbers in constant memory: a quantile is right to within a sixty-fourth. */
#ifndef MG_REHEARSE_QUANTILES_H
#define MG_REHEARSE_QUANTILES_H

#include <stdint.h>

/* Numbers below 128 have a place each; each doubling above them has 64, up to 2^48. */
#define MG_QUANTILES_EXACT   128
#define MG_QUANTILES_PARTS   64
#define MG_QUANTILES_DOUBLES 41
#define MG_QUANTILES_PLACES  (MG_QUANTILES_EXACT + MG_QUANTILES_PARTS * MG_QUANTILES_DOUBLES)

struct mg_quantiles {
    uint64_t count;
    double sum;
    uint32_t places[MG_QUANTILES_PLACES];
};

void mg_quantiles_add(struct mg_quantiles *quantiles, int64_t number);
/* The number below which `percent` of them are; 0 if there are none. */
int64_t mg_quantiles_at(const struct mg_quantiles *quantiles, int percent);
double mg_quantiles_mean(const struct mg_quantiles *quantiles); /* 0 if there are none */

#endif
