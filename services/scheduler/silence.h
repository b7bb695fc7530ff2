/*
 * Clients' queues that left a message without a confirm: they are not published to for a while, and then by
 * one message at a time. What a queue without its majority is given holds up the channel for all others.
 */
#ifndef MG_SCHEDULER_SILENCE_H
#define MG_SCHEDULER_SILENCE_H

#include <stdbool.h>
#include <stdint.h>

#include "io/store/owed.h"

/* More at once are rare, and then the one that is due first gives way: its next message finds out anew. */
#define MG_SILENT_QUEUES_MAX 64

struct mg_silent_queue {
    char queue[MG_REPLY_TO_MAX + 1];
    int64_t until_boot_ms, rest_ms;
    bool is_trial; /* one message is on its way to it; until then its outcome is known */
};

struct mg_silence {
    struct mg_silent_queue queues[MG_SILENT_QUEUES_MAX];
    int count;
};

/* Nothing may be published to it now. False: it may; if it was silent before, by this message alone. */
bool mg_silence_holds(struct mg_silence *silence, const char *queue);
void mg_silence_began(struct mg_silence *silence, const char *queue); /* a message was not confirmed */
void mg_silence_ended(struct mg_silence *silence, const char *queue); /* the broker answered about one */
/* So long the next rest is after one of `rest_ms`; 0: the first. */
int64_t mg_silence_rest_ms(int64_t rest_ms);

#endif
