/* See silence.h. */
#include "silence.h"

#include <stdio.h>
#include <string.h>

#include "base/log.h"

static struct mg_silent_queue *queue_find(struct mg_silence *silence, const char *queue)
{
    for (int i = 0; i < silence->count; i++) {
        if (strcmp(silence->queues[i].queue, queue) == 0) {
            return &silence->queues[i];
        }
    }
    return NULL;
}

static struct mg_silent_queue *queue_add(struct mg_silence *silence, const char *queue)
{
    struct mg_silent_queue *place = &silence->queues[0];
    if (silence->count < MG_SILENT_QUEUES_MAX) {
        place = &silence->queues[silence->count++];
    } else {
        for (int i = 1; i < silence->count; i++) {
            bool is_sooner = silence->queues[i].rest.until_boot_ms < place->rest.until_boot_ms;
            place = is_sooner ? &silence->queues[i] : place;
        }
    }
    mg_queue_rest_end(&place->rest);
    (void)snprintf(place->queue, sizeof(place->queue), "%s", queue);
    return place;
}

bool mg_silence_holds(struct mg_silence *silence, const char *queue)
{
    const struct mg_silent_queue *found = queue_find(silence, queue);
    return found != NULL && mg_queue_rest_holds(&found->rest);
}

void mg_silence_try(struct mg_silence *silence, const char *queue)
{
    struct mg_silent_queue *found = queue_find(silence, queue);
    if (found != NULL) {
        (void)mg_queue_rest_try(&found->rest);
    }
}

void mg_silence_begin(struct mg_silence *silence, const char *queue)
{
    struct mg_silent_queue *found = queue_find(silence, queue);
    found = found != NULL ? found : queue_add(silence, queue);
    if (mg_queue_rest_begin(&found->rest, true)) {
        mg_log(MG_LOG_WARN, "a queue confirms no messages; its statuses are retried later",
               MG_LOG_TEXT("queue", queue), MG_LOG_NUMBER("rest_ms", found->rest.ms));
    }
}

void mg_silence_end(struct mg_silence *silence, const char *queue)
{
    struct mg_silent_queue *found = queue_find(silence, queue);
    if (found != NULL) {
        mg_log(MG_LOG_INFO, "a queue confirms messages again", MG_LOG_TEXT("queue", queue));
        *found = silence->queues[--silence->count];
    }
}
