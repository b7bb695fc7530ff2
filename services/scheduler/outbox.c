/*
 * The outbox. An outcome that is unknown because the connection was lost decides nothing: the message goes
 * out once more, marked `again`, unless that might make a service act twice. A request is repeated by a cause
 * of its own, since its step must be maybe before a second copy exists (law 10, sticky maybe). An unknown
 * outcome while the broker is up is due to the message's queue: the queue of a client or a service then
 * rests.
 */
#include "outbox.h"

#include <stdlib.h>
#include <string.h>

#include "base/failpoint.h"
#include "base/log.h"

/* Publishes of a message to one of Makegood's own queues before it counts as not taken; each waits for the
 * confirm time-out. The queue of a client or a service gets one. */
#define MG_SEND_TRIES 2
/* Retry period if the broker has no room although no publish is outstanding. */
#define MG_OUTBOX_RETRY_MS 20
#define MG_SEND_TEXTS      10 /* texts after a send, a NUL each */

bool mg_outbox_init(struct mg_outbox *outbox, struct mg_shared *shared)
{
    outbox->shared = shared;
    TAILQ_INIT(&outbox->unsent);
    TAILQ_INIT(&outbox->sent);
    mg_buf_init(&outbox->scratch, MG_MESSAGE_MAX);
    outbox->retry = mg_scheduler_timer(shared);
    return outbox->retry != NULL;
}

void mg_send_list_drop(struct mg_send_list *list)
{
    while (!TAILQ_EMPTY(list)) {
        struct mg_send *send = TAILQ_FIRST(list);
        TAILQ_REMOVE(list, send, entry);
        if (send->is_trial) {
            mg_gate_untry(send->gate, send->routing_key);
        }
        free(send);
    }
}

void mg_outbox_finish(struct mg_outbox *outbox)
{
    mg_send_list_drop(&outbox->unsent);
    mg_send_list_drop(&outbox->sent);
    outbox->sent_count = 0;
    mg_buf_finish(&outbox->scratch);
    mg_timer_destroy(outbox->retry);
}

static struct mg_slice text_put(char **at, struct mg_slice text)
{
    if (text.data == NULL) {
        return text;
    }
    struct mg_slice copy = {*at, text.len};
    memcpy(*at, text.data, text.len);
    (*at)[text.len] = '\0';
    *at += text.len + 1;
    return copy;
}

struct mg_send *mg_send_create(struct mg_outbox *outbox, const struct mg_send_spec *spec)
{
    struct mg_slice key = mg_slice_of(spec->routing_key);
    struct mg_slice rendered = spec->request != NULL ? spec->request->request : (struct mg_slice){NULL, 0};
    size_t request_size = spec->request != NULL ? sizeof(*spec->request) : 0;
    size_t size = sizeof(struct mg_send) + request_size + key.len + spec->message_id.len +
                  spec->correlation_id.len + spec->reply_to.len + spec->traceparent.len + spec->app_id.len +
                  spec->reason.len + spec->origin.len + spec->body.len + rendered.len + MG_SEND_TEXTS;
    struct mg_send *send = calloc(1, size);
    if (send == NULL) {
        return NULL;
    }
    outbox->made_bytes += size;
    char *at = (char *)(send + 1);
    send->outbox = outbox;
    send->work = spec->work;
    send->kind = spec->kind;
    send->exchange = spec->exchange;
    send->type = spec->type;
    if (spec->request != NULL) { /* first, since it needs alignment */
        send->request = (struct mg_request *)(void *)at;
        *send->request = *spec->request;
        at += request_size;
        send->request->request = text_put(&at, rendered);
    }
    send->routing_key = text_put(&at, key).data;
    send->message_id = text_put(&at, spec->message_id).data;
    send->correlation_id = text_put(&at, spec->correlation_id).data;
    send->reply_to = text_put(&at, spec->reply_to).data;
    send->traceparent = text_put(&at, spec->traceparent).data;
    send->app_id = text_put(&at, spec->app_id).data;
    send->reason = text_put(&at, spec->reason).data;
    send->origin = text_put(&at, spec->origin).data;
    send->body = text_put(&at, spec->body);
    return send;
}

void mg_outbox_add(struct mg_outbox *outbox, struct mg_send *send)
{
    if (send->work != NULL) {
        mg_work_hold(send->work);
    }
    TAILQ_INSERT_TAIL(&outbox->unsent, send, entry);
}

void mg_outbox_add_all(struct mg_outbox *outbox, struct mg_send_list *list)
{
    while (!TAILQ_EMPTY(list)) {
        struct mg_send *send = TAILQ_FIRST(list);
        TAILQ_REMOVE(list, send, entry);
        mg_outbox_add(outbox, send);
    }
}

static void send_end(struct mg_send *send)
{
    struct mg_outbox *outbox = send->outbox;
    struct mg_work *work = send->work;
    free(send);
    if (work != NULL) {
        mg_work_release(&outbox->shared->works, work);
    }
}

static bool is_for_client(const struct mg_send *send)
{
    return send->kind == MG_SEND_STATUS || send->kind == MG_SEND_RESULT;
}

/* True if its queue has not taken the last message, and this one is not the trial. */
static bool is_left_alone(const struct mg_send *send)
{
    return is_for_client(send)
               ? mg_silence_holds(&send->outbox->silence, send->routing_key)
               : send->kind == MG_SEND_REQUEST && mg_gate_is_resting(send->gate, send->routing_key);
}

/* A second copy can only do harm if the definition allows one send only. A message lost with its
 * connection has not used up a try: it waits for the next connection without limit. */
static bool may_send_again(struct mg_send *send, bool is_up)
{
    bool is_once = send->request != NULL && send->request->is_at_most_once;
    if (!is_once && !is_up) {
        send->tries = 0;
        return true;
    }
    bool is_of_others = is_for_client(send) || send->kind == MG_SEND_REQUEST;
    return !is_once && !is_of_others && send->tries < MG_SEND_TRIES;
}

/* A missing confirm while the broker is up is due to the message's own queue. A message that was never
 * sent proves nothing. */
static void silence_note(const struct mg_send *send, enum mg_publish_outcome outcome, bool is_up)
{
    struct mg_silence *silence = &send->outbox->silence;
    if (!is_for_client(send) || outcome == MG_PUBLISH_UNSENT) {
        return;
    }
    if (outcome != MG_PUBLISH_UNKNOWN) {
        mg_silence_end(silence, send->routing_key);
    } else if (is_up) {
        mg_silence_begin(silence, send->routing_key);
    }
}

static void on_published(void *arg, enum mg_publish_outcome outcome)
{
    struct mg_send *send = arg;
    struct mg_outbox *outbox = send->outbox;
    TAILQ_REMOVE(&outbox->sent, send, entry);
    outbox->sent_count--;
    bool is_answered = outcome != MG_PUBLISH_UNKNOWN && outcome != MG_PUBLISH_UNSENT;
    bool is_up = is_answered || mg_broker_is_up(outbox->shared->broker, NULL, 0);
    bool is_repeated = !is_answered && may_send_again(send, is_up);
    silence_note(send, outcome, is_up);
    if (outcome == MG_PUBLISH_CONFIRMED) {
        MG_FAILPOINT(SCHEDULER_CONFIRMED);
        outbox->on_arrived(outbox->arg, send);
        send_end(send);
    } else if (is_repeated && send->kind != MG_SEND_REQUEST) {
        TAILQ_INSERT_TAIL(&outbox->unsent, send, entry);
    } else {
        outbox->on_failed(outbox->arg, send, outcome, mg_publish_outcome_name(outcome), is_repeated);
        send_end(send);
    }
    mg_outbox_pump(outbox);
    mg_scheduler_wake(outbox->shared);
}

/* MG_TRANSIENT: no room or no memory, the send stays. Any other error: it can never be sent. */
static enum mg_class send_publish(struct mg_send *send, struct mg_err *err)
{
    struct mg_outbox *outbox = send->outbox;
    struct mg_message message = {.exchange = send->exchange,
                                 .routing_key = send->routing_key,
                                 .type = send->type,
                                 .message_id = send->message_id,
                                 .correlation_id = send->correlation_id,
                                 .reply_to = send->reply_to,
                                 .traceparent = send->traceparent,
                                 .app_id = send->app_id,
                                 .reason = send->reason,
                                 .origin = send->origin,
                                 .is_again = send->is_again,
                                 .body = send->body};
    if (send->request != NULL) {
        send->request->sent_at_ms = mg_scheduler_db_now_ms(outbox->shared);
        mg_buf_clear(&outbox->scratch);
        mg_request_write(send->request, &outbox->scratch);
        if (outbox->scratch.failed) {
            return mg_err_set(err, mg_buf_class(&outbox->scratch),
                              "could not write a request: larger than %zu bytes or no memory",
                              outbox->scratch.max);
        }
        message.body = mg_buf_slice(&outbox->scratch);
    }
    return mg_broker_publish(outbox->shared->broker, &message, on_published, send, err);
}

void mg_outbox_pump(struct mg_outbox *outbox)
{
    while (!TAILQ_EMPTY(&outbox->unsent) && mg_broker_is_up(outbox->shared->broker, NULL, 0)) {
        struct mg_send *send = TAILQ_FIRST(&outbox->unsent);
        struct mg_err err;
        if (is_left_alone(send)) {
            TAILQ_REMOVE(&outbox->unsent, send, entry);
            outbox->on_failed(outbox->arg, send, MG_PUBLISH_REFUSED,
                              "its queue accepts no messages at present", false);
            send_end(send);
            continue;
        }
        enum mg_class class = send_publish(send, &err);
        if (class == MG_TRANSIENT) {
            if (outbox->sent_count == 0 && !mg_timer_is_active(outbox->retry)) {
                mg_timer_start(outbox->retry, MG_OUTBOX_RETRY_MS, 0);
            }
            return;
        }
        TAILQ_REMOVE(&outbox->unsent, send, entry);
        if (class == MG_OK) {
            MG_FAILPOINT(SCHEDULER_PUBLISHED);
            send->tries++;
            if (is_for_client(send)) {
                mg_silence_try(&outbox->silence, send->routing_key);
            }
            outbox->sent_count++;
            TAILQ_INSERT_TAIL(&outbox->sent, send, entry);
        } else {
            mg_log(MG_LOG_ERROR, "cannot publish a message", MG_LOG_TEXT("why", err.text),
                   MG_LOG_TEXT("queue", send->routing_key));
            outbox->on_failed(outbox->arg, send, MG_PUBLISH_RETURNED, err.text, false);
            send_end(send);
        }
    }
}
