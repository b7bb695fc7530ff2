/* The statement "wake" of common/io/store/sweep_due.c. */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "store_tables.h"

#define WOKEN_MS 1

/* Sorts orders with the longest sleep first. */
static int compare_longest(const void *a, const void *b)
{
    const struct mg_order_record *one = &(*(struct sim_order *const *)a)->record;
    const struct mg_order_record *two = &(*(struct sim_order *const *)b)->record;
    if (one->order.wake_at_ms != two->order.wake_at_ms) {
        return one->order.wake_at_ms > two->order.wake_at_ms ? -1 : 1;
    }
    return strcmp(two->order_id, one->order_id);
}

void sim_wake(struct sim_input *input, struct sim_output *output)
{
    struct sim_tables *tables = input->transaction->tables;
    int64_t limit = sim_int(sim_scalar(input, 3));
    bool is_leading = sim_is_leader(input, false);
    struct sim_order **asleep = calloc((size_t)tables->order_count + 1, sizeof(struct sim_order *));
    int64_t count = 0;
    assert(asleep != NULL);
    for (int i = 0; i < tables->order_count && is_leading; i++) {
        if (tables->orders[i]->record.order.wake_at_ms > WOKEN_MS) {
            asleep[count++] = tables->orders[i];
        }
    }
    qsort(asleep, (size_t)count, sizeof(struct sim_order *), compare_longest);
    int64_t woken = count < limit ? count : limit;
    for (int64_t i = 0; i < woken; i++) {
        asleep[i]->record.order.wake_at_ms = WOKEN_MS;
    }
    if (is_leading && woken < limit) {
        tables->leader.swept_at_ms = input->transaction->now_ms;
    }
    sim_output_begin(output, 2);
    sim_output_row(output);
    sim_output_bool(output, 0, is_leading);
    sim_output_bool(output, 1, woken >= limit);
    free(asleep);
}
