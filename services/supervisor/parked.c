/*
 * Parked steps wait for the gate of their service. After a sweep the leader asks about them, queue by queue,
 * as many as the queue has room for. The database holds the gates as operators and agents have set them, and
 * the same statement reads these. The broker reports how many requests wait in a queue, and whether it has
 * consumers. So a new leader needs no other state: it asks for no step of a queue that it has not seen.
 *
 * While a service that was down is probed, one step is the probe for all: the others would go out only to be
 * parked again. If the service is still probed after a look at its queue, that step may be one that cannot go
 * out. So twice as many are asked about.
 *
 * All this only avoids questions about steps that cannot go out. The scheduler decides by its own gates. A
 * step that does not go out stays parked, and is asked about again.
 */
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/failpoint.h"
#include "base/log.h"
#include "supervisor.h"

/* Time between two looks, for queues without a newly parked step for a while. */
#define PARKED_WATCH_MS 1000
/* For a queue that cannot be watched, since too many are: slow, but not stopped. */
#define PARKED_BLIND 50
/* The most steps asked about at a time while none of them is the probe: a hundred thousand take some
 * minutes. */
#define PROBES_MAX 256
/* More queues than places take turns. A turn ends after this many questions, even if the broker has not
 * answered about one of the queues. */
#define TURN_ASKS_MAX 8

static struct mg_supervisor_parked *parked_find(struct mg_supervisor *supervisor, const char *queue)
{
    for (int i = 0; i < supervisor->parked_count; i++) {
        if (strcmp(supervisor->parked[i].queue, queue) == 0) {
            return &supervisor->parked[i];
        }
    }
    return NULL;
}

/* Steps that cannot go out now must not hold up one that can. The schedulers let one out at a time. */
static void probes_double(struct mg_supervisor_parked *parked)
{
    parked->probes = 2 * parked->probes < PROBES_MAX ? 2 * parked->probes : PROBES_MAX;
}

static void parked_seen(void *arg, const char *queue, int64_t ready_messages, int64_t consumers)
{
    struct mg_supervisor_parked *parked = parked_find(arg, queue);
    if (parked->is_probing && parked->asked > 0) {
        probes_double(parked);
    }
    parked->is_seen = true;
    parked->ready = ready_messages;
    parked->consumers = consumers;
    parked->asked = 0;
}

/* A place for one more; NULL: all belong to queues of the latest answer. */
static struct mg_supervisor_parked *place_find(struct mg_supervisor *supervisor)
{
    if (supervisor->parked_count < MG_SUPERVISOR_PARKED_MAX) {
        return &supervisor->parked[supervisor->parked_count++];
    }
    for (int i = 0; i < MG_SUPERVISOR_PARKED_MAX; i++) {
        if (!supervisor->parked[i].is_named) {
            mg_broker_unwatch_queue(supervisor->broker, supervisor->parked[i].queue);
            return &supervisor->parked[i];
        }
    }
    return NULL;
}

/* NULL: none now; the next answer names the queue again. */
static struct mg_supervisor_parked *parked_make(struct mg_supervisor *supervisor,
                                                const struct mg_parked_queue *queue, const char *name)
{
    struct mg_err err;
    struct mg_supervisor_parked *parked = place_find(supervisor);
    if (parked == NULL) {
        return NULL;
    }
    *parked = (struct mg_supervisor_parked){.is_high = queue->is_high};
    enum mg_class class =
        mg_broker_watch_queue(supervisor->broker, name, PARKED_WATCH_MS, parked_seen, supervisor, &err);
    if (class == MG_TRANSIENT) {
        return NULL;
    }
    parked->is_named = true;
    (void)snprintf(parked->service, sizeof(parked->service), "%s", queue->service);
    (void)snprintf(parked->queue, sizeof(parked->queue), "%s", name);
    parked->is_blind = class != MG_OK;
    if (parked->is_blind) {
        mg_log(MG_LOG_WARN, "could not watch a queue; its parked steps resume slowly",
               MG_LOG_TEXT("queue", name), MG_LOG_TEXT("reason", err.text));
    }
    return parked;
}

static void parked_take(struct mg_supervisor_parked *parked, const struct mg_parked_queue *queue)
{
    parked->is_open = queue->is_open;
    if (!queue->is_probing || !parked->is_probing) {
        parked->probes = 1;
    } else if (parked->room > 0 && queue->asked == 0) {
        probes_double(parked); /* the steps found there had only left-over marks */
    }
    parked->is_probing = queue->is_probing;
    parked->asked = parked->is_blind ? 0 : parked->asked + queue->asked;
}

/* Queues in the answer keep their places; only the others give theirs away. */
static void names_mark(struct mg_supervisor *supervisor, const struct mg_parked_answer *answer)
{
    char name[MG_QUEUE_NAME_SIZE];
    for (int i = 0; i < supervisor->parked_count; i++) {
        supervisor->parked[i].is_named = supervisor->parked[i].is_open = false;
    }
    for (int i = 0; i < answer->queue_count; i++) {
        mg_topology_request_queue(answer->queues[i].service, answer->queues[i].is_high, name);
        struct mg_supervisor_parked *parked = parked_find(supervisor, name);
        if (parked != NULL) {
            parked->is_named = true;
        }
    }
}

static void queues_take(struct mg_supervisor *supervisor, const struct mg_parked_answer *answer)
{
    char name[MG_QUEUE_NAME_SIZE];
    names_mark(supervisor, answer);
    for (int i = 0; i < answer->queue_count; i++) {
        const struct mg_parked_queue *queue = &answer->queues[i];
        mg_topology_request_queue(queue->service, queue->is_high, name);
        struct mg_supervisor_parked *parked = parked_find(supervisor, name);
        parked = parked != NULL ? parked : parked_make(supervisor, queue, name);
        if (parked != NULL) {
            parked_take(parked, queue);
        }
    }
}

/* Reports whether there are more queues than places. After a full answer only the next one shows it. */
static void crowd_log(struct mg_supervisor *supervisor, const struct mg_parked_answer *answer)
{
    char text[192];
    bool is_crowd = supervisor->parked_after.service[0] != '\0' && answer->queue_count > 0;
    (void)snprintf(
        text, sizeof(text),
        "steps are parked for more than %d queues, which are checked in turn: the steps resume late. Check makegood "
        "service list",
        MG_SUPERVISOR_PARKED_MAX);
    if (is_crowd || answer->queue_count < MG_SUPERVISOR_PARKED_MAX) {
        mg_supervisor_watch_looked(supervisor, MG_WATCHED_PARKED_CROWD, is_crowd ? text : NULL);
    }
}

static void turn_take(struct mg_supervisor *supervisor, const struct mg_parked_answer *answer)
{
    crowd_log(supervisor, answer);
    queues_take(supervisor, answer);
    supervisor->parked_named = answer->queue_count;
    if (answer->queue_count > 0) {
        const struct mg_parked_queue *last = &answer->queues[answer->queue_count - 1];
        (void)snprintf(supervisor->parked_last.service, sizeof(supervisor->parked_last.service), "%s",
                       last->service);
        supervisor->parked_last.is_high = last->is_high;
    }
}

/* Passes the turn on. Once all named queues have been seen, and so may have room, the queues behind them are
 * next; after the last ones the first. */
static void turn_pass(struct mg_supervisor *supervisor)
{
    bool is_seen = true;
    for (int i = 0; i < supervisor->parked_count; i++) {
        const struct mg_supervisor_parked *parked = &supervisor->parked[i];
        is_seen = is_seen && (!parked->is_open || parked->is_blind || parked->is_seen);
    }
    supervisor->parked_asks++;
    if (is_seen || supervisor->parked_asks >= TURN_ASKS_MAX) {
        bool are_more = supervisor->parked_named >= MG_SUPERVISOR_PARKED_MAX;
        supervisor->parked_after =
            are_more ? supervisor->parked_last : (struct mg_parked_place){.service = ""};
        supervisor->parked_asks = 0;
    }
}

static void parked_answered(void *arg, const struct mg_parked_answer *answer, const struct mg_err *err)
{
    struct mg_supervisor *supervisor = arg;
    if (!mg_supervisor_answered(supervisor, &supervisor->is_parked_asking, &supervisor->parked_failure_logged,
                                "could not query parked steps", err)) {
        return;
    }
    if (!answer->is_leader) {
        mg_supervisor_lead_lost(supervisor, "another supervisor leads in a newer epoch");
        return;
    }
    turn_take(supervisor, answer);
    if (answer->due_count > 0) {
        MG_FAILPOINT(SUPERVISOR_SWEPT);
    }
    for (int i = 0; i < answer->due_count; i++) {
        if (!mg_supervisor_ask(supervisor, &answer->dues[i])) {
            return; /* the rest is asked about again */
        }
    }
}

static int64_t room_of(const struct mg_supervisor *supervisor, const struct mg_supervisor_parked *parked)
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
static int rooms_make(struct mg_supervisor *supervisor, int64_t most, struct mg_parked_room *ret_rooms)
{
    int open = 0, count = 0;
    for (int i = 0; i < supervisor->parked_count; i++) {
        open += supervisor->parked[i].is_open;
    }
    for (int i = 0; i < supervisor->parked_count; i++) {
        struct mg_supervisor_parked *parked = &supervisor->parked[i];
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

void mg_supervisor_parked_ask(struct mg_supervisor *supervisor, int64_t most)
{
    static struct mg_parked_room rooms[MG_SUPERVISOR_PARKED_MAX]; /* of one call at a time */
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
    turn_pass(supervisor);
    options.after = supervisor->parked_after;
    supervisor->is_parked_asking = true;
    mg_store_ask_parked(supervisor->store, &options, parked_answered, supervisor);
}
