/* See tally.h. */
#include "tally.h"

#include <stdlib.h>

static bool is_same(const struct mg_cause_tally *a, const struct mg_cause_tally *b)
{
    return a->state == b->state && a->step == b->step && a->at == b->at && a->why == b->why &&
           a->reason == b->reason;
}

void mg_tally_cause(struct mg_tally *tally, const struct mg_cause_tally *cause)
{
    int i = 0;
    while (i < tally->cause_count && !is_same(&tally->causes[i], cause)) {
        i++;
    }
    if (i == MG_CAUSES_MAX) {
        tally->other_causes++;
        return;
    }
    if (i == tally->cause_count) {
        tally->causes[tally->cause_count++] = *cause;
        tally->causes[i].count = 0;
    }
    tally->causes[i].count++;
}

/* Equal counts stand by state and step, so that a run repeats. */
static int compare(const void *a, const void *b)
{
    const struct mg_cause_tally *left = a, *right = b;
    if (left->count != right->count) {
        return left->count > right->count ? -1 : 1;
    }
    if (left->state != right->state) {
        return left->state < right->state ? -1 : 1;
    }
    return left->step != right->step ? (left->step < right->step ? -1 : 1)
                                     : (int)left->reason - (int)right->reason;
}

void mg_tally_sort(struct mg_tally *tally)
{
    qsort(tally->causes, (size_t)tally->cause_count, sizeof(tally->causes[0]), compare);
}
