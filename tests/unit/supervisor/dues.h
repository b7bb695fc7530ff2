/* Rows of a sweep, for tests. */
#ifndef MG_TESTS_SUPERVISOR_DUES_H
#define MG_TESTS_SUPERVISOR_DUES_H

#include <stdio.h>

#include "io/store/store.h"

static inline struct mg_due overdue(const char *order_id, int64_t due_at_ms)
{
    struct mg_due due = {.ask = MG_CAUSE_OVERDUE, .step = "reserve", .attempt = 3, .version = 9, .seq = 4};
    (void)snprintf(due.order_id, sizeof(due.order_id), "%s", order_id);
    due.due_at_ms = due_at_ms;
    return due;
}

static inline struct mg_due other(enum mg_cause_kind ask, const char *order_id, int64_t due_at_ms)
{
    struct mg_due due = {.ask = ask, .version = 9, .seq = 4, .due_at_ms = due_at_ms};
    (void)snprintf(due.order_id, sizeof(due.order_id), "%s", order_id);
    if (ask == MG_CAUSE_DUE) {
        (void)snprintf(due.step, sizeof(due.step), "charge");
        due.attempt = 2;
    }
    return due;
}

#endif
