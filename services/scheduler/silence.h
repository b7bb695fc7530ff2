/*
 * Client queues that left a message without a confirm: they rest. A message to a queue without its majority
 * delays all later ones on the same connection.
 */
#ifndef MG_SCHEDULER_SILENCE_H
#define MG_SCHEDULER_SILENCE_H

#include "queue_rest.h"

#include "io/store/owed.h"

/* More at once are rare. Then the entry that is due first is dropped; the next message to its queue
 * detects the silence again. */
#define MG_SILENT_QUEUES_MAX 64

struct mg_silent_queue {
    char queue[MG_REPLY_TO_MAX + 1];
    struct mg_queue_rest rest;
};

struct mg_silence {
    struct mg_silent_queue queues[MG_SILENT_QUEUES_MAX];
    int count;
};

/* True: nothing may be published to the queue now. */
bool mg_silence_holds(struct mg_silence *silence, const char *queue);
void mg_silence_try(struct mg_silence *silence, const char *queue);   /* a message has been published to it */
void mg_silence_begin(struct mg_silence *silence, const char *queue); /* a message was not confirmed */
void mg_silence_end(struct mg_silence *silence, const char *queue);   /* the broker answered about one */

#endif
