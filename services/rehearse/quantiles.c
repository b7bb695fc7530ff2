/* See quantiles.h. */
#include "quantiles.h"

/* log2 of MG_QUANTILES_EXACT and of MG_QUANTILES_PARTS */
#define EXACT_BITS 7
#define PART_BITS  6

static int place_of(uint64_t number)
{
    if (number < MG_QUANTILES_EXACT) {
        return (int)number;
    }
    int bits = 63 - __builtin_clzll(number);
    int part = (int)(number >> (bits - PART_BITS)) & (MG_QUANTILES_PARTS - 1);
    int place = MG_QUANTILES_EXACT + (bits - EXACT_BITS) * MG_QUANTILES_PARTS + part;
    return place < MG_QUANTILES_PLACES ? place : MG_QUANTILES_PLACES - 1;
}

/* The least number of a place: round times stay round. */
static int64_t number_of(int place)
{
    if (place < MG_QUANTILES_EXACT) {
        return place;
    }
    int bits = EXACT_BITS + (place - MG_QUANTILES_EXACT) / MG_QUANTILES_PARTS;
    int64_t part = (place - MG_QUANTILES_EXACT) % MG_QUANTILES_PARTS;
    int64_t width = INT64_C(1) << (bits - PART_BITS);
    return (MG_QUANTILES_PARTS + part) * width;
}

void mg_quantiles_add(struct mg_quantiles *quantiles, int64_t number)
{
    quantiles->count++;
    quantiles->sum += (double)number;
    quantiles->places[place_of(number > 0 ? (uint64_t)number : 0)]++;
}

int64_t mg_quantiles_at(const struct mg_quantiles *quantiles, int percent)
{
    uint64_t before = (quantiles->count * (uint64_t)percent + 99) / 100, seen = 0;
    for (int i = 0; i < MG_QUANTILES_PLACES && quantiles->count > 0; i++) {
        seen += quantiles->places[i];
        if (seen >= before && seen > 0) {
            return number_of(i);
        }
    }
    return 0;
}

double mg_quantiles_mean(const struct mg_quantiles *quantiles)
{
    return quantiles->count > 0 ? quantiles->sum / (double)quantiles->count : 0;
}
