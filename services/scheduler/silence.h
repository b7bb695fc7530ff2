/*
 * Clients' queues that left a message without a confirm: they rest. What a queue without its majority is
 * given holds up all that follows over the same connection.
 */
#ifndef MG_SCHEDULER_SILENCE_H
#define MG_SCHEDULER_SILENCE_H

#include "queue_rest.h"

#include "io/store/owed.h"

/* More at once are rare, and then the one that is due first gives way: its next message finds out anew. */
#define MG_SILENT_QUEUES_MAX 64

struct mg_silent_queue {
    char queue[MG_REPLY_TO_MAX + 1];
    struct mg_queue_rest rest;
};

struct mg_silence {
    struct mg_silent_queue queues[MG_SILENT_QUEUES_MAX];
    int count;
};

/* Nothing may be published to it now. */
bool mg_silence_holds(struct mg_silence *silence, const char *queue);
void mg_silence_try(struct mg_silence *silence, const char *queue);   /* a message has been published to it */
void mg_silence_begin(struct mg_silence *silence, const char *queue); /* a message was not confirmed */
void mg_silence_end(struct mg_silence *silence, const char *queue);   /* the broker answered about one */

#endif
