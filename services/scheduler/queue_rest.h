/*
 * The rest of a queue that took nothing: none of its messages goes out for a while, and then one alone, the
 * trial, whose outcome ends the rest or makes the next one longer.
 */
#ifndef MG_SCHEDULER_QUEUE_REST_H
#define MG_SCHEDULER_QUEUE_REST_H

#include <stdbool.h>
#include <stdint.h>

struct mg_queue_rest {
    int64_t ms; /* 0: it takes what it is given */
    int64_t until_boot_ms;
    bool is_trial; /* one message is on its way; until_boot_ms is when its outcome is known at the latest */
};

/* Nothing may be made for it now. */
bool mg_queue_rest_holds(const struct mg_queue_rest *rest);
/* What is made for it already may not go out either, but for the trial. */
bool mg_queue_rest_stops(const struct mg_queue_rest *rest);
/* One message goes out to it: if it rested, that is the trial. True: it is. */
bool mg_queue_rest_try(struct mg_queue_rest *rest);
/* The trial does not go out after all: the next message is it. */
void mg_queue_rest_untry(struct mg_queue_rest *rest);
/* It did not take a message; `is_silent`: nor answer. False: the message left before the rest began. */
bool mg_queue_rest_begin(struct mg_queue_rest *rest, bool is_silent);
void mg_queue_rest_end(struct mg_queue_rest *rest);

#endif
