/*
 * A node's publishes, as common/io/amqp/publish.c and publish_stuck.c handle them. A channel without an
 * answer for a while is replaced. Queues with open publishes on it then use the line apart, one at a time. A
 * queue that gets no answer there either is the cause.
 */
#include <assert.h>
#include <stdlib.h>

#include "base/clock.h"
#include "broker.h"
#include "kernel.h"

/* As in common/io/amqp/publish.c and publish_stuck.c. */
#define WINDOW_MESSAGES    2048
#define CONFIRM_TIMEOUT_MS 10000
#define STUCK_SHARE        2
#define APART_SHARE        4
/* As in common/io/amqp/link.c, the first of its backoffs. */
#define REOPEN_MIN_US 10000
#define REOPEN_MAX_US 110000

static void look_plan(struct sim_line *line);

const char *mg_publish_outcome_name(enum mg_publish_outcome outcome)
{
    static const char *const NAMES[] = {"confirmed", "refused", "returned", "unknown", "unsent"};
    return NAMES[outcome];
}

void sim_line_init(struct sim_line *line, struct mg_broker *broker, struct sim_node *node, int64_t timeout_ms,
                   struct mg_unanswered *unanswered, struct sim_line *apart)
{
    *line = (struct sim_line){.broker = broker,
                              .node = node,
                              .timeout_ms = timeout_ms > 0 ? timeout_ms : CONFIRM_TIMEOUT_MS,
                              .unanswered = unanswered,
                              .apart = apart};
}

static bool is_apart(const struct sim_line *line)
{
    return line->apart == NULL;
}

static void outgoing_append(struct sim_outgoing *outgoing, struct sim_line *line)
{
    outgoing->line = line;
    outgoing->previous = line->last;
    outgoing->next = NULL;
    *(line->last != NULL ? &line->last->next : &line->first) = outgoing;
    line->last = outgoing;
    line->count++;
}

static void outgoing_unlink(struct sim_outgoing *outgoing)
{
    struct sim_line *line = outgoing->line;
    *(outgoing->previous != NULL ? &outgoing->previous->next : &line->first) = outgoing->next;
    *(outgoing->next != NULL ? &outgoing->next->previous : &line->last) = outgoing->previous;
    line->count--;
}

/* ---- outcomes ---- */

static void outgoing_end(struct sim_outgoing *outgoing, enum mg_publish_outcome outcome)
{
    struct sim_line *line = outgoing->line;
    bool is_answered = outcome != MG_PUBLISH_UNKNOWN && outcome != MG_PUBLISH_UNSENT;
    assert(!outgoing->is_over);
    outgoing->is_over = true;
    outgoing_unlink(outgoing);
    if (is_answered && is_apart(line)) {
        mg_unanswered_remove(line->unanswered, outgoing->message->routing_key);
    }
    sim_message_release(outgoing->message);
    outgoing->message = NULL;
    if (outcome != MG_PUBLISH_CONFIRMED) {
        sim_trace("publish %s%s", mg_publish_outcome_name(outcome), is_apart(line) ? " apart" : "");
    }
    if (outgoing->done != NULL) {
        outgoing->done(outgoing->arg, outcome);
    }
}

static bool is_gone(const struct sim_line *line)
{
    return sim_broker_is_destroyed(line->broker);
}

void sim_line_confirmed(struct sim_outgoing *outgoing, enum mg_publish_outcome outcome)
{
    struct sim_line *line = outgoing->line;
    line->received_boot_ms = mg_clock_boot_ms();
    if (!outgoing->is_over && !is_gone(line)) {
        outgoing_end(outgoing, outcome);
    }
    if (!is_gone(line)) {
        sim_line_flush(line);
    }
}

void sim_line_lost(struct sim_line *line)
{
    while (!is_gone(line) && line->first != NULL && line->first->is_sent) {
        outgoing_end(line->first, MG_PUBLISH_UNKNOWN);
    }
}

/* ---- a channel without answers ---- */

void sim_line_reopen(struct sim_line *line)
{
    line->is_replaced = false;
}

static void on_reopen(void *arg)
{
    struct sim_line *line = arg;
    if (!is_gone(line) && line->is_replaced) {
        sim_line_reopen(line);
        sim_broker_say_state(line->broker, "away");
        sim_line_flush(line);
    }
}

static void channel_replace(struct sim_line *line)
{
    struct sim_link *link = sim_broker_link(line->broker);
    if (link == NULL) {
        return; /* it has failed meanwhile */
    }
    sim_trace("nothing is confirmed any more%s", is_apart(line) ? " apart" : "");
    line->is_replaced = true;
    sim_link_replace_channel(link, is_apart(line));
    sim_line_lost(line);
    if (!is_gone(line)) {
        sim_broker_say_state(line->broker, "nothing is confirmed any more");
        sim_after(line->node, sim_draw_between(REOPEN_MIN_US, REOPEN_MAX_US), on_reopen, line);
    }
}

static bool is_for(const struct sim_outgoing *outgoing, const struct sim_message *message)
{
    return mg_slice_equal(outgoing->message->routing_key, message->routing_key);
}

static struct sim_outgoing *find_waiting(const struct sim_line *line, const struct sim_message *message)
{
    for (struct sim_outgoing *outgoing = line->first; outgoing != NULL; outgoing = outgoing->next) {
        if (!outgoing->is_sent && is_for(outgoing, message)) {
            return outgoing;
        }
    }
    return NULL;
}

static void blame_first(struct sim_line *line)
{
    struct sim_message *message = line->first->message;
    struct sim_outgoing *waiting;
    sim_message_hold(message);
    sim_trace("it was %s", message->routing_key.data);
    outgoing_end(line->first, MG_PUBLISH_UNKNOWN);
    for (size_t left = line->count; left > 0 && !is_gone(line); left--) {
        if ((waiting = find_waiting(line, message)) == NULL) {
            break;
        }
        outgoing_end(waiting, MG_PUBLISH_UNSENT);
    }
    sim_message_release(message);
}

static void suspect_sent(struct sim_line *line)
{
    struct sim_outgoing *outgoing = line->first;
    for (; outgoing != NULL && outgoing->is_sent; outgoing = outgoing->next) {
        mg_unanswered_add(line->unanswered, outgoing->message->routing_key);
        sim_minority_found(line->node, outgoing->message->routing_key);
    }
    while (outgoing != NULL) {
        struct sim_outgoing *next = outgoing->next;
        if (mg_unanswered_has(line->unanswered, outgoing->message->routing_key)) {
            outgoing_unlink(outgoing);
            outgoing_append(outgoing, line->apart);
        }
        outgoing = next;
    }
}

static int64_t patience_ms(const struct sim_line *line)
{
    return line->timeout_ms / (is_apart(line) ? APART_SHARE : STUCK_SHARE);
}

/* The time at which the channel has been silent for too long; INT64_MAX: it owes no answer. */
static int64_t silent_at_boot_ms(const struct sim_line *line)
{
    const struct sim_outgoing *first = line->first;
    if (sim_broker_link(line->broker) == NULL || line->is_replaced || first == NULL || !first->is_sent) {
        return INT64_MAX;
    }
    int64_t since_boot_ms =
        first->sent_boot_ms > line->received_boot_ms ? first->sent_boot_ms : line->received_boot_ms;
    return since_boot_ms + patience_ms(line);
}

static void on_look(void *arg)
{
    struct sim_line *line = arg;
    line->look_at_us = 0;
    if (!is_gone(line) && silent_at_boot_ms(line) <= mg_clock_boot_ms()) {
        if (is_apart(line)) {
            blame_first(line);
        } else {
            suspect_sent(line);
            sim_line_flush(line->apart);
        }
        if (!is_gone(line)) {
            channel_replace(line);
        }
    }
    while (!is_gone(line) && line->first != NULL &&
           line->first->since_boot_ms + line->timeout_ms <= mg_clock_boot_ms()) {
        if (line->first->is_sent) {
            mg_unanswered_add(line->unanswered, line->first->message->routing_key);
        }
        outgoing_end(line->first, line->first->is_sent ? MG_PUBLISH_UNKNOWN : MG_PUBLISH_UNSENT);
    }
    if (!is_gone(line)) {
        look_plan(line);
    }
}

/* An earlier planned check stays planned: one too many does no harm. */
static void look_plan(struct sim_line *line)
{
    if (line->first == NULL) {
        return;
    }
    int64_t at_boot_ms = line->first->since_boot_ms + line->timeout_ms, silent_ms = silent_at_boot_ms(line);
    at_boot_ms = silent_ms < at_boot_ms ? silent_ms : at_boot_ms;
    int64_t left_ms = at_boot_ms > mg_clock_boot_ms() ? at_boot_ms - mg_clock_boot_ms() : 0;
    int64_t at_us = sim_now_us() + (left_ms + 1) * 1000;
    if (line->look_at_us == 0 || at_us < line->look_at_us) {
        line->look_at_us = at_us;
        sim_after(line->node, at_us - sim_now_us(), on_look, line);
    }
}

/* ---- publishing ---- */

void sim_line_flush(struct sim_line *line)
{
    struct sim_outgoing *outgoing = line->first;
    for (; outgoing != NULL && sim_broker_link(line->broker) != NULL && !line->is_replaced;
         outgoing = outgoing->next) {
        if (outgoing->is_sent) {
            continue;
        }
        if (is_apart(line) && !is_for(outgoing, line->first->message)) {
            break;
        }
        outgoing->is_sent = true;
        outgoing->sent_boot_ms = mg_clock_boot_ms();
        sim_link_publish(sim_broker_link(line->broker), outgoing, is_apart(line));
    }
    look_plan(line);
}

size_t sim_line_room(const struct sim_line *line)
{
    return WINDOW_MESSAGES - line->count;
}

enum mg_class sim_line_publish(struct sim_line *line, const struct mg_message *message, mg_published_fn *done,
                               void *arg, struct mg_err *err)
{
    if (sim_line_room(line) == 0) {
        return mg_err_set(err, MG_TRANSIENT, "the publish window is full");
    }
    if (!sim_has_memory()) {
        return mg_err_set(err, MG_TRANSIENT, "could not publish: no memory");
    }
    struct sim_outgoing *outgoing = calloc(1, sizeof(*outgoing));
    assert(outgoing != NULL);
    *outgoing = (struct sim_outgoing){.message = sim_message_create(message, mg_slice_of(message->app_id)),
                                      .done = done,
                                      .arg = arg,
                                      .since_boot_ms = mg_clock_boot_ms()};
    outgoing_append(outgoing, line);
    sim_trace("> %s %s%s%s", message->routing_key,
              message->message_id != NULL ? message->message_id : message->type,
              message->is_again ? " again" : "", is_apart(line) ? " apart" : "");
    sim_line_flush(line);
    return MG_OK;
}
