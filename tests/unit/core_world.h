/*
 * The world around one order, for the walk over the decision core: a broker that duplicates, delays, reorders
 * and loses, and remote services that keep each key's state. Their `executed` is always true. The world sees
 * only the core's messages, so its evidence is independent of the core.
 */
#ifndef MG_TEST_CORE_WORLD_H
#define MG_TEST_CORE_WORLD_H

#include <stdio.h>
#include <string.h>

#include "core/decide.h"
#include "core/order.h"

#define WORLD_STEPS       8
#define WORLD_ATTEMPTS    256 /* of one step; the walk ends its faults long before */
#define WORLD_GENERATIONS 64
#define WORLD_MESSAGES    96

/* A remote service's record of one key. */
struct remote_key {
    bool stands, is_tombstoned, is_working, was_undo_dispatched;
    bool is_work_refused; /* for good, and each verify answers so */
    bool is_refused;      /* to every call that comes from now on, by a service that replays its answers */
    int64_t finish_at_ms, finish_by_ms; /* of work that it accepted; it keeps that time, or not */
    bool is_undoing, is_undo_to_refuse, is_undo_refused; /* an undo that it accepted */
    int64_t undo_at_ms, undo_by_ms;                      /* its end; it keeps that time, or not */
    uint32_t acted;                                      /* the attempt with the effect that stands */
};

/* One attempt, as the world saw it. */
struct remote_attempt {
    enum mg_kind kind;
    bool asks_undone; /* the verify of an undo */
    uint32_t generation;
    int64_t complete_by_ms;
    bool is_out;         /* a request went into the broker, or may have */
    bool is_answered;    /* a reply for it was taken */
    bool is_accepted;    /* by a 202 */
    bool is_open;        /* the core has evidence that it may still act, for any reply */
    bool is_no;          /* the service answered that it did not and will not execute */
    bool may_have_acted; /* a copy of it executed, or may yet */
    bool is_late;        /* the service, given up by its agent, still acts */
    bool was_given_up;   /* as a reply says */
    bool was_delivered, was_delivered_again, was_replied_to;
};

/* The facts of a reply, and of a request that the broker refused. Any other cause: done, and executed. */
static inline struct mg_cause_reply reply_of(const struct mg_cause *cause)
{
    struct mg_cause_reply reply = {.outcome = MG_OUTCOME_DONE, .executed = MG_EXECUTED_YES};
    if (cause->kind == MG_CAUSE_REPLY) {
        reply = cause->reply;
    } else if (cause->kind == MG_CAUSE_UNPUBLISHABLE) {
        reply.executed = cause->unpublishable.executed;
    }
    return reply;
}

enum message_kind { MESSAGE_REQUEST, MESSAGE_REPLY, MESSAGE_LATE_DO };

struct message {
    bool is_used;
    bool is_of_late_copy; /* of a request that was redelivered after its reply: the core gets no evidence of
                             it */
    enum message_kind kind;
    int64_t at_ms;
    int step;
    uint32_t attempt;
    struct mg_cause reply;
};

struct world {
    uint64_t random;
    int64_t now_ms, quiesce_ms;
    bool is_calm;   /* no more faults */
    bool is_traced; /* the second run of an order that failed */
    int doubled;    /* a step, from 1: two attempts acted at a service that does not de-duplicate; 0: none */
    const struct mg_plan *plan;
    struct message messages[WORLD_MESSAGES];
    struct remote_key keys[WORLD_STEPS][WORLD_GENERATIONS];
    struct remote_attempt attempts[WORLD_STEPS][WORLD_ATTEMPTS];
};

#define TRACE(world, ...)                                                                                    \
    do {                                                                                                     \
        if ((world)->is_traced) {                                                                            \
            (void)fprintf(stderr, "%8lld  ", (long long)(world)->now_ms - 1000000);                          \
            (void)fprintf(stderr, __VA_ARGS__);                                                              \
            (void)fputc('\n', stderr);                                                                       \
        }                                                                                                    \
    } while (0)

static inline uint64_t world_random(struct world *world)
{
    uint64_t z = world->random += 0x9E3779B97F4A7C15u;
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
    return z ^ (z >> 31);
}

static inline int world_pick(struct world *world, int count)
{
    return (int)(world_random(world) % (uint64_t)count);
}

static inline bool world_chance(struct world *world, int percent)
{
    return world_pick(world, 100) < percent;
}

/* A fault of the world; none once it is calm. */
static inline bool world_fault(struct world *world, int percent)
{
    return world_chance(world, percent) && !world->is_calm;
}

static inline struct remote_key *world_key(struct world *world, int step, uint32_t attempt)
{
    return &world->keys[step][world->attempts[step][attempt].generation % WORLD_GENERATIONS];
}

static inline void world_post(struct world *world, const struct message *message, int64_t at_ms)
{
    for (int i = 0; i < WORLD_MESSAGES; i++) {
        if (!world->messages[i].is_used) {
            world->messages[i] = *message;
            world->messages[i].is_used = true;
            world->messages[i].at_ms = at_ms;
            return;
        }
    }
}

static inline int64_t world_delay_ms(struct world *world)
{
    if (world->is_calm || world_chance(world, 70)) {
        return 1 + world_pick(world, 300);
    }
    return 1 + world_pick(world, 12000); /* beyond the complete-by of many attempts */
}

static inline void world_broker_take(struct world *world, const struct message *message)
{
    if (world_fault(world, 8)) {
        return; /* lost */
    }
    world_post(world, message, world->now_ms + world_delay_ms(world));
    if (world_fault(world, 10)) {
        world_post(world, message, world->now_ms + world_delay_ms(world));
    }
}

static inline void world_send(struct world *world, int step, uint32_t attempt)
{
    struct message request = {.kind = MESSAGE_REQUEST, .step = step, .attempt = attempt};
    world_broker_take(world, &request);
}

static inline void world_reply(struct world *world, int step, uint32_t attempt, enum mg_outcome outcome,
                               enum mg_executed executed, bool is_service_down)
{
    struct remote_attempt *at = &world->attempts[step][attempt];
    struct message reply = {.kind = MESSAGE_REPLY, .step = step, .attempt = attempt};
    at->was_replied_to = true;
    if (executed == MG_EXECUTED_NO && at->kind == MG_KIND_DO) {
        at->is_no = true;
    }
    reply.reply = (struct mg_cause){.kind = MG_CAUSE_REPLY,
                                    .step = step,
                                    .attempt = attempt,
                                    .reply = {.kind = at->kind,
                                              .outcome = outcome,
                                              .executed = executed,
                                              .is_service_down = is_service_down,
                                              .is_work_refused = at->kind == MG_KIND_VERIFY &&
                                                                 outcome == MG_OUTCOME_PERMANENT &&
                                                                 executed == MG_EXECUTED_NO,
                                              .may_still_act = at->is_late || at->was_delivered_again,
                                              .retry_after_ms = world_chance(world, 10) ? 2000 : -1}};
    world_broker_take(world, &reply);
}

static inline bool is_answered_again(const struct world *world, int step, uint32_t attempt)
{
    const struct remote_attempt *at = &world->attempts[step][attempt];
    return at->was_replied_to && at->was_delivered_again;
}

static inline bool remote_do(struct world *world, int step, uint32_t attempt)
{
    struct remote_key *key = world_key(world, step, attempt);
    if (key->is_tombstoned) {
        return false;
    }
    const struct mg_step_plan *plan = &world->plan->steps[step];
    bool is_removing_duplicates = plan->on_unknown == MG_ON_UNKNOWN_RETRY || plan->learn == MG_LEARN_REPEAT;
    /* Not promised: an agent that lost its ack gets an answered request once more. */
    bool is_answered_copy =
        is_answered_again(world, step, attempt) || is_answered_again(world, step, key->acted);
    if ((key->stands || key->is_working) && key->acted != attempt && !is_removing_duplicates &&
        !is_answered_copy) {
        world->doubled = step + 1;
    }
    key->acted = attempt;
    key->stands = true;
    key->is_working = key->is_refused = key->is_work_refused = false;
    world->attempts[step][attempt].may_have_acted = true;
    return true;
}

/* The service, or the way to it, acts too late, but no later than quiesce allows for. */
static inline void remote_do_later(struct world *world, int step, uint32_t attempt)
{
    struct remote_attempt *at = &world->attempts[step][attempt];
    int64_t room_ms = at->complete_by_ms + world->quiesce_ms - 1 - world->now_ms;
    if (room_ms > 0) {
        struct message late = {
            .kind = MESSAGE_LATE_DO, .step = step, .attempt = attempt, .is_of_late_copy = at->was_replied_to};
        at->may_have_acted = at->is_late = true;
        world_post(world, &late, world->now_ms + 1 + (int64_t)(world_random(world) % (uint64_t)room_ms));
    }
}

static inline void agent_do_badly(struct world *world, int step, uint32_t attempt)
{
    struct remote_attempt *at = &world->attempts[step][attempt];
    struct remote_key *key = world_key(world, step, attempt);
    bool is_replaying = world->plan->steps[step].learn == MG_LEARN_REPEAT, is_certain;
    enum mg_outcome doubt = world_chance(world, 50) ? MG_OUTCOME_TRANSIENT : MG_OUTCOME_UNKNOWN;
    bool is_down = world_chance(world, 25);
    switch (world_pick(world, 8)) {
    case 0: /* acts, and the reply is lost */
        (void)remote_do(world, step, attempt);
        return;
    case 1: /* acts, and the answer is unreadable */
        (void)remote_do(world, step, attempt);
        world_reply(world, step, attempt, doubt, MG_EXECUTED_MAYBE, is_down);
        return;
    case 2: /* silent, and acts late */
        remote_do_later(world, step, attempt);
        return;
    case 3: /* answers in doubt, and acts late */
        remote_do_later(world, step, attempt);
        world_reply(world, step, attempt, doubt, MG_EXECUTED_MAYBE, is_down);
        return;
    case 4:
        world_reply(world, step, attempt, MG_OUTCOME_PERMANENT, MG_EXECUTED_MAYBE, false);
        return;
    case 5:
        return;
    case 6: /* a service that replays refuses neither finished nor accepted work */
        is_certain = !at->may_have_acted && !(is_replaying && (key->stands || key->is_working));
        key->is_refused = is_replaying && is_certain;
        world_reply(world, step, attempt, MG_OUTCOME_PERMANENT,
                    is_certain ? MG_EXECUTED_NO : MG_EXECUTED_MAYBE, false);
        return;
    default:
        world_reply(world, step, attempt, MG_OUTCOME_TRANSIENT,
                    at->may_have_acted ? MG_EXECUTED_MAYBE : MG_EXECUTED_NO, is_down);
        return;
    }
}

static inline void agent_do(struct world *world, int step, uint32_t attempt)
{
    struct remote_attempt *at = &world->attempts[step][attempt];
    struct remote_key *key = world_key(world, step, attempt);
    if (at->is_no) {
        return; /* its answer that nothing happened holds for all copies of the attempt */
    }
    at->was_delivered_again = at->was_delivered;
    if (at->was_delivered && world->plan->steps[step].is_at_most_once) {
        world_reply(world, step, attempt, MG_OUTCOME_UNKNOWN, MG_EXECUTED_MAYBE, false);
        return;
    }
    at->was_delivered = true;
    if (key->is_tombstoned || key->is_refused) {
        world_reply(world, step, attempt, MG_OUTCOME_PERMANENT, MG_EXECUTED_NO, false);
    } else if (world_fault(world, 35)) {
        agent_do_badly(world, step, attempt);
    } else if (!key->stands && world_chance(world, 15)) {
        at->may_have_acted = true;
        key->is_working = world->plan->steps[step].finish_within_ms > 0;
        key->acted = attempt;
        key->stands = !key->is_working;
        key->finish_at_ms = world->now_ms + world_pick(world, world->is_calm ? 2000 : 20000);
        key->finish_by_ms = world->now_ms + world->plan->steps[step].finish_within_ms;
        world_reply(world, step, attempt, MG_OUTCOME_ACCEPTED, MG_EXECUTED_YES, false);
    } else {
        (void)remote_do(world, step, attempt);
        world_reply(world, step, attempt, MG_OUTCOME_DONE, MG_EXECUTED_YES, false);
    }
}

/* A final absence takes back requests that were still on their way to the service. */
static inline void remote_make_absence_final(struct world *world, int step, uint32_t verify)
{
    uint32_t generation = world->attempts[step][verify].generation;
    for (int i = 0; i < WORLD_MESSAGES; i++) {
        struct message *message = &world->messages[i];
        if (message->is_used && message->step == step && message->kind != MESSAGE_REPLY &&
            world->attempts[step][message->attempt].kind == MG_KIND_DO &&
            world->attempts[step][message->attempt].generation == generation) {
            message->is_used = false;
        }
    }
}

/* A verify, of a do or an undo, that learns nothing: without a reply, or with one that proves nothing. */
static inline void agent_verify_fails(struct world *world, int step, uint32_t attempt)
{
    if (world_chance(world, 60)) {
        world_reply(world, step, attempt,
                    world_chance(world, 80) ? MG_OUTCOME_TRANSIENT : MG_OUTCOME_PERMANENT, MG_EXECUTED_MAYBE,
                    world_chance(world, 30));
    }
}

/* The order got the 202 of this work, of a do or an undo. */
static inline bool is_known_to_work(const struct world *world, int step, const struct remote_key *key,
                                    enum mg_kind kind)
{
    bool is_in_time = kind == MG_KIND_UNDO ? key->is_undoing && key->undo_at_ms < key->undo_by_ms
                                           : key->is_working && key->finish_at_ms < key->finish_by_ms;
    for (uint32_t a = 1; a < WORLD_ATTEMPTS && is_in_time; a++) {
        const struct remote_attempt *at = &world->attempts[step][a];
        if (at->kind == kind && at->is_accepted &&
            &world->keys[step][at->generation % WORLD_GENERATIONS] == key) {
            return true;
        }
    }
    return false;
}

static inline void agent_verify(struct world *world, int step, uint32_t attempt)
{
    struct remote_key *key = world_key(world, step, attempt);
    if (world_fault(world, 30)) {
        agent_verify_fails(world, step, attempt);
    } else if (key->stands) {
        world_reply(world, step, attempt, MG_OUTCOME_DONE, MG_EXECUTED_YES, false);
    } else if (key->is_work_refused || world_chance(world, 12)) {
        key->is_working = false;
        key->is_refused = key->is_work_refused = true;
        world_reply(world, step, attempt, MG_OUTCOME_PERMANENT, MG_EXECUTED_NO, false);
    } else if (is_known_to_work(world, step, key, MG_KIND_DO) &&
               world_fault(world, 30)) { /* it shows none yet */
        world_reply(world, step, attempt, MG_OUTCOME_ABSENT, MG_EXECUTED_NO, false);
    } else if (key->is_working) {
        world_reply(world, step, attempt, MG_OUTCOME_ACCEPTED, MG_EXECUTED_YES, false);
    } else {
        if (world->plan->steps[step].is_absent_final) {
            remote_make_absence_final(world, step, attempt);
        }
        world_reply(world, step, attempt, MG_OUTCOME_ABSENT, MG_EXECUTED_NO, false);
    }
}

/* The service begins the undo, and finishes or refuses it later: until then the effect stands. */
static inline void remote_undo_begin(struct world *world, int step, uint32_t attempt)
{
    struct remote_key *key = world_key(world, step, attempt);
    if (!key->is_undoing) {
        key->is_undoing = true;
        key->undo_at_ms = world->now_ms + world_pick(world, world->is_calm ? 2000 : 20000);
        key->undo_by_ms = world->now_ms + world->plan->steps[step].undo_finish_within_ms;
        key->is_undo_to_refuse = world_fault(world, 15);
    }
}

/* The undo's own verify. */
static inline void agent_ask_undone(struct world *world, int step, uint32_t attempt)
{
    struct remote_key *key = world_key(world, step, attempt);
    if (world_fault(world, 30)) {
        agent_verify_fails(world, step, attempt);
    } else if (is_known_to_work(world, step, key, MG_KIND_UNDO) && world_fault(world, 30)) {
        world_reply(world, step, attempt, MG_OUTCOME_ABSENT, MG_EXECUTED_NO, false); /* it shows none yet */
    } else if (key->is_undoing) {
        world_reply(world, step, attempt, MG_OUTCOME_ACCEPTED, MG_EXECUTED_MAYBE, false);
    } else if (key->is_undo_refused) {
        world_reply(world, step, attempt, MG_OUTCOME_PERMANENT, MG_EXECUTED_NO, false);
    } else if (key->is_tombstoned) {
        world_reply(world, step, attempt, MG_OUTCOME_DONE, MG_EXECUTED_YES, false);
    } else {
        world_reply(world, step, attempt, MG_OUTCOME_ABSENT, MG_EXECUTED_NO, false);
    }
}

static inline void agent_undo(struct world *world, int step, uint32_t attempt)
{
    struct remote_key *key = world_key(world, step, attempt);
    const struct mg_step_plan *plan = &world->plan->steps[step];
    struct remote_attempt *at = &world->attempts[step][attempt];
    at->was_delivered_again = at->was_delivered;
    at->was_delivered = true;
    if (plan->undo_finish_within_ms > 0 && key->stands && (key->is_undoing || world_chance(world, 50))) {
        key->is_undo_refused = false; /* an operator has it undone once more */
        remote_undo_begin(world, step, attempt);
        if (!world_fault(world, 20)) {
            world_reply(world, step, attempt, MG_OUTCOME_ACCEPTED, MG_EXECUTED_MAYBE, false);
        } else if (world_chance(world, 50)) {
            world_reply(world, step, attempt, MG_OUTCOME_UNKNOWN, MG_EXECUTED_MAYBE, world_chance(world, 20));
        }
        return;
    }
    if (world_fault(world, 12)) {
        world_reply(world, step, attempt,
                    world_chance(world, 75) ? MG_OUTCOME_TRANSIENT : MG_OUTCOME_PERMANENT, MG_EXECUTED_NO,
                    world_chance(world, 20));
        return;
    }
    if (is_known_to_work(world, step, key, MG_KIND_DO) && world_fault(world, 30)) { /* none is there yet */
        world_reply(world, step, attempt, MG_OUTCOME_ABSENT, MG_EXECUTED_NO, false);
        return;
    }
    bool was_there = key->stands || key->is_working;
    key->stands = key->is_working = false;
    key->is_tombstoned = true; /* an undo that comes before its do blocks it */
    if (world_fault(world, 15)) {
        return;
    }
    if (world_fault(world, 10)) { /* its answer, or a proxy's, leaves its effect open */
        world_reply(world, step, attempt,
                    world_chance(world, 75) ? MG_OUTCOME_TRANSIENT : MG_OUTCOME_PERMANENT, MG_EXECUTED_MAYBE,
                    false);
        return;
    }
    enum mg_outcome outcome = was_there ? MG_OUTCOME_DONE : MG_OUTCOME_ABSENT;
    bool is_final = plan->undo_finish_within_ms > 0 || !world_chance(world, 5); /* else a 202 that means it */
    world_reply(world, step, attempt, is_final ? outcome : MG_OUTCOME_ACCEPTED, MG_EXECUTED_YES, false);
}

/* An agent gets a request, or a service acts late. */
static inline void world_deliver(struct world *world, const struct message *message)
{
    struct remote_attempt *at = &world->attempts[message->step][message->attempt];
    TRACE(world, "    %s step %d attempt %u %s gen %u", message->kind == MESSAGE_REQUEST ? "agent" : "late",
          message->step, message->attempt, mg_kind_name(at->kind), at->generation);
    if (message->kind == MESSAGE_LATE_DO) {
        bool is_refused = world_key(world, message->step, message->attempt)->is_refused;
        if (!is_refused || !message->is_of_late_copy) {
            (void)remote_do(world, message->step, message->attempt);
        }
    } else if (world->now_ms >= at->complete_by_ms) {
        return; /* past complete-by: silence */
    } else if (at->kind == MG_KIND_DO) {
        agent_do(world, message->step, message->attempt);
    } else if (at->asks_undone) {
        agent_ask_undone(world, message->step, message->attempt);
    } else if (at->kind == MG_KIND_VERIFY) {
        agent_verify(world, message->step, message->attempt);
    } else {
        agent_undo(world, message->step, message->attempt);
    }
}

static inline void world_work(struct world *world)
{
    for (int i = 0; i < world->plan->step_count; i++) {
        for (int g = 0; g < WORLD_GENERATIONS; g++) {
            struct remote_key *key = &world->keys[i][g];
            if (key->is_working && key->finish_at_ms <= world->now_ms) {
                key->is_working = false;
                key->stands = true;
            }
            if (key->is_undoing && key->undo_at_ms <= world->now_ms) {
                key->is_undoing = false;
                key->is_undo_refused = key->is_undo_to_refuse;
                key->is_tombstoned = key->is_tombstoned || !key->is_undo_to_refuse;
                key->stands = key->stands && key->is_undo_to_refuse;
            }
        }
    }
}

static inline int world_standing(const struct world *world, int step)
{
    int count = 0;
    for (int g = 0; g < WORLD_GENERATIONS; g++) {
        count += world->keys[step][g].stands || world->keys[step][g].is_working;
    }
    return count;
}

/* True if a request may still act and the core has evidence of it; then no honest person reports "absent".
 * Without evidence the core must wait by itself (law 11, quiesce). */
static inline bool world_is_unsettled(const struct world *world, int step)
{
    for (int i = 0; i < WORLD_MESSAGES; i++) {
        const struct message *message = &world->messages[i];
        if (message->is_used && message->step == step && message->kind != MESSAGE_REPLY) {
            const struct remote_attempt *at = &world->attempts[step][message->attempt];
            if (at->kind == MG_KIND_DO && at->is_answered && !at->is_open && !at->is_no &&
                (message->kind == MESSAGE_LATE_DO || message->at_ms < at->complete_by_ms)) {
                return true;
            }
        }
    }
    return false;
}

#endif
