/* See silence.h. */
#include "silence.h"

#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/log.h"

/* Each message to such a queue may cost all others a confirm's time-out: so rests grow fast. */
#define REST_FIRST_MS 10000
#define REST_FACTOR   3
#define REST_MAX_MS   300000
#define TRIAL_MS      20000 /* the outcome of the one message is known by then */

int64_t mg_silence_rest_ms(int64_t rest_ms)
{
    int64_t next_ms = rest_ms > 0 ? rest_ms * REST_FACTOR : REST_FIRST_MS;
    return next_ms < REST_MAX_MS ? next_ms : REST_MAX_MS;
}

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
            place = silence->queues[i].until_boot_ms < place->until_boot_ms ? &silence->queues[i] : place;
        }
    }
    *place = (struct mg_silent_queue){.rest_ms = 0};
    (void)snprintf(place->queue, sizeof(place->queue), "%s", queue);
    return place;
}

bool mg_silence_holds(struct mg_silence *silence, const char *queue)
{
    struct mg_silent_queue *found = silence->count > 0 ? queue_find(silence, queue) : NULL;
    if (found == NULL) {
        return false;
    }
    int64_t now_boot_ms = mg_clock_boot_ms();
    if (now_boot_ms < found->until_boot_ms) {
        return true;
    }
    found->until_boot_ms = now_boot_ms + TRIAL_MS;
    found->is_trial = true;
    return false;
}

void mg_silence_began(struct mg_silence *silence, const char *queue)
{
    struct mg_silent_queue *found = queue_find(silence, queue);
    if (found != NULL && !found->is_trial) {
        return; /* sent before the rest began */
    }
    found = found != NULL ? found : queue_add(silence, queue);
    found->is_trial = false;
    found->rest_ms = mg_silence_rest_ms(found->rest_ms);
    found->until_boot_ms = mg_clock_boot_ms() + found->rest_ms;
    mg_log(MG_LOG_WARN, "a queue confirms nothing; its statuses stay owed for a while",
           MG_LOG_TEXT("queue", queue), MG_LOG_NUMBER("rest_ms", found->rest_ms));
}

void mg_silence_ended(struct mg_silence *silence, const char *queue)
{
    struct mg_silent_queue *found = silence->count > 0 ? queue_find(silence, queue) : NULL;
    if (found != NULL) {
        mg_log(MG_LOG_INFO, "a queue answers again", MG_LOG_TEXT("queue", queue));
        *found = silence->queues[--silence->count];
    }
}
