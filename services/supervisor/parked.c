/*
 * Parked steps: those that wait for the gate of their service. After a sweep the leader asks about them,
 * queue by queue, as many as the queue has room for. Whether operators and agents let the service be called
 * stands in the database, and is looked at by the same statement; how many requests wait in a queue, and
 * whether anything consumes it, is what the broker says. So a new leader needs to know nothing: it asks for
 * no step of a queue that it has not seen.
 *
 * While a service that was down is probed, one step finds out for all: the others would go out only to be
 * parked again. If the service is still probed after a look at its queue, the step may have been one that
 * cannot go out, so twice as many are asked about.
 *
 * All this is only to ask no more than can go out. The scheduler decides by its own gates; what does not go
 * out stays parked, and is asked about again.
 */
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/failpoint.h"
#include "base/log.h"
#include "supervisor.h"

/* Between two looks of ours, for queues of which no step has been parked for a while. */
#define PARKED_WATCH_MS 1000
/* Of a queue that cannot be watched, since too many are: slow, and not never. */
#define PARKED_BLIND 50
/* Asked about at a time while none of them is the probe: a hundred thousand take some minutes. */
#define PROBES_MAX 256

static struct supervisor_parked *parked_find(struct supervisor *supervisor, const char *queue)
{
    for (int i = 0; i < supervisor->parked_count; i++) {
        if (strcmp(supervisor->parked[i].queue, queue) == 0) {
            return &supervisor->parked[i];
        }
    }
    return NULL;
}

/* Steps that cannot go out now must not hold up one that can. The schedulers let one out at a time. */
static void probes_double(struct supervisor_parked *parked)
{
    parked->probes = 2 * parked->probes < PROBES_MAX ? 2 * parked->probes : PROBES_MAX;
}

static void parked_seen(void *arg, const char *queue, int64_t ready_messages, int64_t consumers)
{
    struct supervisor_parked *parked = parked_find(arg, queue);
    if (parked->is_probing && parked->asked > 0) {
        probes_double(parked);
    }
    parked->is_seen = true;
    parked->ready = ready_messages;
    parked->consumers = consumers;
    parked->asked = 0;
}

/* NULL: there are as many as can be. Those that are there go first, and may make room. */
static struct supervisor_parked *parked_make(struct supervisor *supervisor,
                                             const struct mg_parked_queue *queue, const char *name)
{
    struct mg_err err;
    if (supervisor->parked_count == SUPERVISOR_PARKED_MAX) {
        return NULL;
    }
    struct supervisor_parked *parked = &supervisor->parked[supervisor->parked_count++];
    *parked = (struct supervisor_parked){.is_high = queue->is_high};
    (void)snprintf(parked->service, sizeof(parked->service), "%s", queue->service);
    (void)snprintf(parked->queue, sizeof(parked->queue), "%s", name);
    enum mg_class class = mg_broker_watch_queue(supervisor->broker, parked->queue, PARKED_WATCH_MS,
                                                parked_seen, supervisor, &err);
    if (class == MG_TRANSIENT) {
        supervisor->parked_count--; /* the next answer names it again */
        return NULL;
    }
    parked->is_blind = class != MG_OK;
    if (parked->is_blind) {
        mg_log(MG_LOG_WARN, "could not watch a queue; its parked steps go on slowly",
               MG_LOG_TEXT("queue", name), MG_LOG_TEXT("reason", err.text));
    }
    return parked;
}

static void queues_take(struct supervisor *supervisor, const struct mg_parked_answer *answer)
{
    for (int i = 0; i < supervisor->parked_count; i++) {
        supervisor->parked[i].is_open = false;
    }
    for (int i = 0; i < answer->queue_count; i++) {
        char name[MG_QUEUE_NAME_SIZE];
        const struct mg_parked_queue *queue = &answer->queues[i];
        mg_topology_request_queue(queue->service, queue->is_high, name);
        struct supervisor_parked *parked = parked_find(supervisor, name);
        parked = parked != NULL ? parked : parked_make(supervisor, queue, name);
        if (parked != NULL) {
            parked->is_open = queue->is_open;
            if (!queue->is_probing || !parked->is_probing) {
                parked->probes = 1;
            } else if (parked->room > 0 && queue->asked == 0) {
                probes_double(parked); /* what was found there were left-over marks */
            }
            parked->is_probing = queue->is_probing;
            parked->asked = parked->is_blind ? 0 : parked->asked + queue->asked;
        }
    }
}

static void parked_answered(void *arg, const struct mg_parked_answer *answer, const struct mg_err *err)
{
    struct supervisor *supervisor = arg;
    supervisor->is_parked_asking = false;
    if (!supervisor->is_leader || supervisor->is_stopping) {
        return;
    }
    if (err != NULL) {
        mg_log(supervisor->is_parked_failing ? MG_LOG_DEBUG : MG_LOG_WARN, "could not ask about parked steps",
               MG_LOG_TEXT("reason", err->text));
        supervisor->is_parked_failing = true;
        return;
    }
    supervisor->is_parked_failing = false;
    if (!answer->is_leader) {
        supervisor_lead_lost(supervisor, "another supervisor leads in a newer epoch");
        return;
    }
    queues_take(supervisor, answer);
    if (answer->due_count > 0) {
        MG_FAILPOINT(SUPERVISOR_SWEPT);
    }
    for (int i = 0; i < answer->due_count; i++) {
        if (!supervisor_ask(supervisor, &answer->dues[i])) {
            return; /* what was not asked is asked about again */
        }
    }
}

static int64_t room_of(const struct supervisor *supervisor, const struct supervisor_parked *parked)
{
    if (parked->is_blind) {
        return parked->is_probing ? 1 : PARKED_BLIND;
    }
    bool is_served = parked->is_seen && parked->consumers > 0;
    int64_t window = supervisor->options.window;
    window = parked->is_probing && parked->probes < window ? parked->probes : window;
    return is_served ? window - parked->ready - parked->asked : 0;
}

/* Each queue that is open has an equal share of `most`. */
static int rooms_make(struct supervisor *supervisor, int64_t most, struct mg_parked_room *ret_rooms)
{
    int open = 0, count = 0;
    for (int i = 0; i < supervisor->parked_count; i++) {
        open += supervisor->parked[i].is_open;
    }
    for (int i = 0; i < supervisor->parked_count; i++) {
        struct supervisor_parked *parked = &supervisor->parked[i];
        parked->room = 0;
        if (!parked->is_open) {
            continue;
        }
        int64_t room = room_of(supervisor, parked);
        int64_t share = most / open > 0 ? most / open : 1;
        room = room < share ? room : share;
        parked->room = room;
        if (room > 0) {
            ret_rooms[count++] = (struct mg_parked_room){parked->service, parked->is_high, (int)room};
        }
        if (!parked->is_blind) {
            mg_broker_look(supervisor->broker, parked->queue); /* for the next time */
        }
    }
    return count;
}

void supervisor_parked_ask(struct supervisor *supervisor, int64_t most)
{
    static struct mg_parked_room rooms[SUPERVISOR_PARKED_MAX]; /* of one call at a time */
    int64_t now_boot_ms = mg_clock_boot_ms();
    bool is_soon = now_boot_ms - supervisor->parked_asked_boot_ms < supervisor->options.sweep_period_ms / 2;
    if (supervisor->is_parked_asking || is_soon || most <= 0) {
        return;
    }
    supervisor->parked_asked_boot_ms = now_boot_ms;
    struct mg_parked_options options = {.epoch = supervisor->epoch,
                                        .holder = supervisor->holder,
                                        .ask_again_ms = supervisor->options.ask_again_ms,
                                        .rooms = rooms,
                                        .room_count = rooms_make(supervisor, most, rooms)};
    supervisor->is_parked_asking = true;
    mg_store_ask_parked(supervisor->store, &options, parked_answered, supervisor);
}
