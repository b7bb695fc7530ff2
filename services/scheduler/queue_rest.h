/*
 * The rest of a queue that took nothing. For a while no message goes out to it, then one alone, the trial.
 * The outcome of the trial ends the rest or begins a longer one.
 */
#ifndef MG_SCHEDULER_QUEUE_REST_H
#define MG_SCHEDULER_QUEUE_REST_H

#include <stdbool.h>
#include <stdint.h>

struct mg_queue_rest {
    int64_t ms; /* 0: no rest */
    int64_t until_boot_ms;
    bool is_trial; /* one message is out; until_boot_ms is the latest time of its outcome */
};

/* True: no message may be made for the queue now. */
bool mg_queue_rest_holds(const struct mg_queue_rest *rest);
/* True: messages already made for it must not go out either. The trial may. */
bool mg_queue_rest_stops(const struct mg_queue_rest *rest);
/* A message goes out to the queue. True: the queue rested, and this message is the trial. */
bool mg_queue_rest_try(struct mg_queue_rest *rest);
/* The trial does not go out. The next message is the trial. */
void mg_queue_rest_untry(struct mg_queue_rest *rest);
/* The queue did not take a message; `is_silent`: the broker did not even answer. False: the message left
 * before the rest began. */
bool mg_queue_rest_begin(struct mg_queue_rest *rest, bool is_silent);
void mg_queue_rest_end(struct mg_queue_rest *rest);

#endif
