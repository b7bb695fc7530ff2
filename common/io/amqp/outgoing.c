/* See outgoing.h. */
#include "io/amqp/outgoing.h"

#include <stdlib.h>
#include <string.h>

#include "io/amqp/connection.h"

#define REASON_MAX 1024 /* bytes of the reason header; method and header must fit one frame */

enum mg_class mg_outgoing_check(const struct mg_message *message, struct mg_err *err)
{
    const struct {
        const char *what, *text;
    } shorts[] = {
        {"exchange", message->exchange},
        {"routing key", message->routing_key},
        {"type", message->type},
        {"message id", message->message_id},
        {"correlation id", message->correlation_id},
        {"reply-to", message->reply_to},
        {"traceparent", message->traceparent},
        {"app id", message->app_id},
        {"origin", message->origin},
    };
    for (size_t i = 0; i < sizeof(shorts) / sizeof(shorts[0]); i++) {
        if (shorts[i].text != NULL && strlen(shorts[i].text) > MG_AMQP_SHORT_MAX) {
            return mg_err_set(err, MG_BAD_INPUT, "cannot publish: the %s is longer than %d bytes",
                              shorts[i].what, MG_AMQP_SHORT_MAX);
        }
    }
    if (message->body.len > MG_OUTGOING_BODY_MAX) {
        return mg_err_set(err, MG_BAD_INPUT, "cannot publish: the body of %zu bytes is above %d",
                          message->body.len, MG_OUTGOING_BODY_MAX);
    }
    return MG_OK;
}

static struct mg_slice text_copy(char **at, struct mg_slice text)
{
    if (text.data == NULL) {
        return text;
    }
    char *copy = *at;
    memcpy(copy, text.data, text.len);
    *at += text.len;
    return (struct mg_slice){.data = copy, .len = text.len};
}

/* Cut between characters of UTF-8. */
static struct mg_slice reason_cut(const char *reason)
{
    struct mg_slice slice = mg_slice_of(reason);
    if (slice.len > REASON_MAX) {
        slice.len = REASON_MAX;
        while (slice.len > 0 && ((unsigned char)slice.data[slice.len] & 0xC0U) == 0x80U) {
            slice.len--;
        }
    }
    return slice;
}

struct mg_outgoing *mg_outgoing_create(const struct mg_message *message)
{
    const struct mg_slice texts[] = {
        mg_slice_of(message->exchange == NULL ? "" : message->exchange),
        mg_slice_of(message->routing_key == NULL ? "" : message->routing_key),
        mg_slice_of(message->type),
        mg_slice_of(message->message_id),
        mg_slice_of(message->correlation_id),
        mg_slice_of(message->reply_to),
        mg_slice_of(message->traceparent),
        mg_slice_of(message->app_id),
        reason_cut(message->reason),
        mg_slice_of(message->origin),
        message->body,
    };
    size_t size = 0;
    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
        size += texts[i].len;
    }
    struct mg_outgoing *outgoing = malloc(sizeof(*outgoing) + size);
    if (outgoing == NULL) {
        return NULL;
    }
    *outgoing = (struct mg_outgoing){.state = MG_OUTGOING_WAITING, .is_again = message->is_again};
    struct mg_slice *const targets[] = {
        &outgoing->exchange,       &outgoing->routing_key, &outgoing->type,        &outgoing->message_id,
        &outgoing->correlation_id, &outgoing->reply_to,    &outgoing->traceparent, &outgoing->app_id,
        &outgoing->reason,         &outgoing->origin,      &outgoing->body,
    };
    char *at = outgoing->text;
    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
        *targets[i] = text_copy(&at, texts[i]);
    }
    return outgoing;
}

void mg_outgoing_init(struct mg_outgoing_line *line)
{
    *line = (struct mg_outgoing_line){.count = 0};
    TAILQ_INIT(&line->all);
}

void mg_outgoing_append(struct mg_outgoing_line *line, struct mg_outgoing *message)
{
    TAILQ_INSERT_TAIL(&line->all, message, entry);
    if (line->unsent == NULL) {
        line->unsent = message;
    }
    line->count++;
    line->bytes += message->body.len;
}

void mg_outgoing_remove(struct mg_outgoing_line *line, struct mg_outgoing *message)
{
    if (line->unsent == message) {
        line->unsent = TAILQ_NEXT(message, entry);
    }
    TAILQ_REMOVE(&line->all, message, entry);
    line->count--;
    line->bytes -= message->body.len;
}

void mg_outgoing_free_all(struct mg_outgoing_line *line)
{
    struct mg_outgoing *message, *next;
    for (message = TAILQ_FIRST(&line->all); message != NULL; message = next) {
        next = TAILQ_NEXT(message, entry);
        free(message);
    }
    mg_outgoing_init(line);
}

struct mg_outgoing *mg_outgoing_find_waiting(const struct mg_outgoing_line *line, const char *queue)
{
    for (struct mg_outgoing *message = line->unsent; message != NULL; message = TAILQ_NEXT(message, entry)) {
        if (message->state == MG_OUTGOING_WAITING && mg_slice_is(message->routing_key, queue)) {
            return message;
        }
    }
    return NULL;
}
