/*
 * Walking a queue message by message, for the operator: dead letters and rejected orders. Each message read
 * is held until the end and then given back, so that none is shown twice. A requeued message is removed only
 * after the broker has confirmed its new copy: a crash in between leaves two, never none.
 *
 * A walk fetches each message by basic.get, which costs a quorum queue a write to its log and a sync. A look
 * fetches only the first so: its answer alone is certain about an empty queue, and has the number of messages
 * behind. The broker then sends the rest by itself.
 *
 * Blocks, with a bound on every wait.
 */
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>

#include "io/amqp/connection.h"
#include "io/amqp/link.h"
#include "io/amqp/topology.h"

#define LETTER_BODY_MAX                                                                                      \
    (16 * 1024 * 1024) /* RabbitMQ's own limit from 4.0; larger ones are shown without their body */
#define HEADERS_MAX 64 /* kept of a message that is requeued */
/* A message that does not come within this time is held or removed by others. */
#define QUIET_MS 1000
/* A header frame's type, channel, length, class, weight, size of the body, and end. */
#define HEADER_FRAME_REST 20
/* Messages given back in one go. A quorum queue takes a larger part back in no order, as a map of Erlang
 * beyond 32 keys has none. It takes back that many parts before it merges several. */
#define PART_LETTERS 32
_Static_assert(MG_DEAD_LOOK_MAX / PART_LETTERS + 2 < 32, "returned messages would lose their order");
/* Not a bare number: a quorum queue uses numbers as tags for basic.get. */
#define LOOK_TAG "look"

struct walk {
    amqp_connection_state_t connection;
    const char *queue;
    uint64_t published; /* tags of our publishes */
    uint64_t highest_held;
};

/* A message with its memory: properties live in the library's pool until the next is fetched. */
struct letter {
    uint64_t tag;
    uint32_t behind; /* number of messages after it when it was fetched */
    const amqp_basic_properties_t *properties;
    char *body;
    size_t body_len;
    bool is_whole;
    struct mg_dead_letter shown;
};

static enum mg_class walk_fetch(struct walk *walk, struct letter *ret_letter, bool *ret_is_empty,
                                struct mg_err *err);
static enum mg_class walk_settle(struct walk *walk, const struct letter *letter, enum mg_dead_verb verb,
                                 struct mg_err *err);
static enum mg_class walk_requeue(struct walk *walk, const struct letter *letter, struct mg_err *err);
static bool copy_fits(const struct letter *letter);

enum mg_class mg_topology_walk(const struct mg_broker_address *address, const char *queue, int max,
                               enum mg_dead_verb (*pick)(void *arg, const struct mg_dead_letter *letter),
                               void *arg, int *ret_count, struct mg_err *err)
{
    struct walk walk = {.queue = queue};
    *ret_count = 0;
    enum mg_class class = mg_amqp_connect(address, "makegood dead", &walk.connection, NULL, err);
    if (class != MG_OK) {
        return class;
    }
    if (amqp_confirm_select(walk.connection, MG_AMQP_CHANNEL) == NULL) {
        class = mg_amqp_result(amqp_get_rpc_reply(walk.connection), NULL, err);
    }
    while (class == MG_OK && *ret_count < max) {
        struct letter letter = {0};
        bool is_empty = false;
        class = walk_fetch(&walk, &letter, &is_empty, err);
        if (class == MG_OK && !is_empty) {
            /* The walk ends with the messages that were there at its start: a requeued one may die again at
             * once, and would be redelivered again and again. */
            if (*ret_count == 0 && letter.behind < (uint32_t)max) {
                max = (int)letter.behind + 1;
            }
            class = walk_settle(&walk, &letter, pick(arg, &letter.shown), err);
            *ret_count += class == MG_OK;
        }
        free(letter.body);
        amqp_maybe_release_buffers(walk.connection);
        if (is_empty) {
            break;
        }
    }
    if (class == MG_OK && walk.highest_held > 0 &&
        amqp_basic_nack(walk.connection, MG_AMQP_CHANNEL, walk.highest_held, 1, 1) != AMQP_STATUS_OK) {
        class = mg_err_set(err, MG_TRANSIENT, "could not give messages back to %s: connection lost", queue);
    }
    if (class == MG_OK) {
        (void)amqp_connection_close(walk.connection,
                                    AMQP_REPLY_SUCCESS); /* held messages return to the queue by themselves */
    }
    mg_amqp_destroy(walk.connection);
    return class;
}

/* ---- fetching ---- */

/* MG_STALE: no frame came in time. */
static enum mg_class walk_wait(struct walk *walk, int timeout_ms, amqp_frame_t *ret_frame, struct mg_err *err)
{
    struct timeval timeout = {.tv_sec = timeout_ms / 1000, .tv_usec = timeout_ms % 1000 * 1000};
    int status = amqp_simple_wait_frame_noblock(walk->connection, ret_frame, &timeout);
    if (status != AMQP_STATUS_OK) {
        return mg_err_set(err, status == AMQP_STATUS_TIMEOUT ? MG_STALE : MG_TRANSIENT,
                          "could not read from the broker: %s", amqp_error_string2(status));
    }
    if (ret_frame->frame_type == AMQP_FRAME_METHOD &&
        (ret_frame->payload.method.id == AMQP_CHANNEL_CLOSE_METHOD ||
         ret_frame->payload.method.id == AMQP_CONNECTION_CLOSE_METHOD)) {
        amqp_rpc_reply_t reply = {.reply_type = AMQP_RESPONSE_SERVER_EXCEPTION,
                                  .reply = ret_frame->payload.method};
        return mg_amqp_result(reply, NULL, err);
    }
    return MG_OK;
}

static enum mg_class walk_frame(struct walk *walk, amqp_frame_t *ret_frame, struct mg_err *err)
{
    enum mg_class class = walk_wait(walk, MG_AMQP_RPC_TIMEOUT_MS, ret_frame, err);
    return class == MG_STALE ? (err->class = MG_TRANSIENT) : class;
}

/* Reads header and body of the message after its method; `letter` NULL: drops it. */
static enum mg_class walk_content(struct walk *walk, struct letter *letter, struct mg_err *err)
{
    amqp_frame_t frame;
    enum mg_class class = walk_frame(walk, &frame, err);
    if (class != MG_OK) {
        return class;
    }
    /* The properties of another class are another struct, and shorter. */
    if (frame.frame_type != AMQP_FRAME_HEADER || frame.payload.properties.class_id != AMQP_BASIC_CLASS) {
        return mg_err_set(err, MG_TRANSIENT, "could not read from the broker: no header came");
    }
    uint64_t left = frame.payload.properties.body_size;
    if (letter != NULL) {
        letter->properties = frame.payload.properties.decoded;
        letter->is_whole = left <= LETTER_BODY_MAX;
        letter->body = malloc(letter->is_whole ? (size_t)left + 1 : 1);
        if (letter->body == NULL) {
            return mg_err_set(err, MG_TRANSIENT, "could not read a message: no memory");
        }
    }
    while (left > 0) {
        class = walk_frame(walk, &frame, err);
        if (class != MG_OK) {
            return class;
        }
        if (frame.frame_type != AMQP_FRAME_BODY || frame.payload.body_fragment.len > left) {
            return mg_err_set(err, MG_TRANSIENT, "could not read from the broker: no body came");
        }
        left -= frame.payload.body_fragment.len;
        if (letter != NULL && letter->is_whole) {
            memcpy(letter->body + letter->body_len, frame.payload.body_fragment.bytes,
                   frame.payload.body_fragment.len);
            letter->body_len += frame.payload.body_fragment.len;
        }
    }
    return MG_OK;
}

static struct mg_slice letter_property(const amqp_basic_properties_t *properties, amqp_flags_t flag,
                                       amqp_bytes_t bytes)
{
    return (properties->_flags & flag) == 0 ? (struct mg_slice){0} : mg_amqp_slice(bytes);
}

/* A time beyond the range is cut to the range. */
static int64_t letter_time_ms(int64_t time_s)
{
    const int64_t most_s = INT64_MAX / 1000;
    return (time_s > most_s ? most_s : time_s < -most_s ? -most_s : time_s) * 1000;
}

/* The exchange that proves the sender, so that the default exchange does not speak for it after a requeue. It
 * is the one that the broker recorded at the last death, else the one in our header. A sender with an
 * exchange of its own cannot forge the broker's record. Its messages with x-death are copied without it, or
 * are too large to requeue. */
static struct mg_slice letter_origin(const struct letter *letter, const amqp_field_value_t *died_through)
{
    struct mg_slice broker = died_through != NULL ? mg_amqp_value_text(died_through) : (struct mg_slice){0};
    return broker.len > 0 ? broker : mg_amqp_header_text(letter->properties, MG_HEADER_ORIGIN);
}

/* A message above the size from a sender's own exchange may have died with an x-death that the sender forged.
 */
static const char *letter_obstacle(const struct letter *letter)
{
    struct mg_slice queue = letter->shown.queue;
    if (queue.data == NULL || queue.len == 0 || queue.len > MG_AMQP_SHORT_MAX) {
        return "no header names its origin";
    }
    _Static_assert(MG_REQUEUE_BODY_MAX == 1024 * 1024, "the text names another size");
    if (!letter->is_whole || letter->body_len > MG_REQUEUE_BODY_MAX) {
        return "it is above 1 MiB, the maximum that a scheduler takes";
    }
    if (!copy_fits(letter)) {
        return "its headers fill a frame of the broker and leave no room for the mark of a requeue";
    }
    return NULL;
}

/* The first entry of x-death is the last death. A rejected order has none: it came from the intake. */
static void letter_show(const struct walk *walk, struct letter *letter)
{
    const amqp_basic_properties_t *properties = letter->properties;
    struct mg_dead_letter *shown = &letter->shown;
    shown->message_id = letter_property(properties, AMQP_BASIC_MESSAGE_ID_FLAG, properties->message_id);
    shown->type = letter_property(properties, AMQP_BASIC_TYPE_FLAG, properties->type);
    shown->correlation_id =
        letter_property(properties, AMQP_BASIC_CORRELATION_ID_FLAG, properties->correlation_id);
    if (letter->is_whole) {
        shown->body = (struct mg_slice){.data = letter->body, .len = letter->body_len};
    }
    const amqp_field_value_t *died_through = NULL;
    const amqp_field_value_t *deaths = (properties->_flags & AMQP_BASIC_HEADERS_FLAG) == 0
                                           ? NULL
                                           : mg_amqp_table_find(&properties->headers, "x-death");
    if (deaths != NULL && deaths->kind == AMQP_FIELD_KIND_ARRAY && deaths->value.array.num_entries > 0 &&
        deaths->value.array.entries[0].kind == AMQP_FIELD_KIND_TABLE) {
        const amqp_table_t *death = &deaths->value.array.entries[0].value.table;
        const amqp_field_value_t *value = mg_amqp_table_find(death, "queue");
        if (value != NULL) {
            shown->queue = mg_amqp_value_text(value);
        }
        died_through = mg_amqp_table_find(death, "exchange");
        value = mg_amqp_table_find(death, "reason");
        if (value != NULL) {
            shown->reason = mg_amqp_value_text(value);
        }
        value = mg_amqp_table_find(death, "count");
        if (value != NULL) {
            shown->count = (uint64_t)mg_amqp_value_number(value);
        }
        value = mg_amqp_table_find(death, "time");
        if (value != NULL) {
            shown->died_at_ms = letter_time_ms(mg_amqp_value_number(value));
        }
    }
    shown->exchange = letter_origin(letter, died_through);
    struct mg_slice reason = mg_amqp_header_text(properties, MG_HEADER_REASON);
    if (reason.data != NULL) {
        shown->reason = reason;
    }
    /* A rejected order has no death, and the scheduler's time in its place. */
    if (reason.data != NULL && shown->died_at_ms == 0 &&
        (properties->_flags & AMQP_BASIC_TIMESTAMP_FLAG) != 0) {
        shown->died_at_ms = letter_time_ms((int64_t)properties->timestamp);
    }
    if (shown->queue.data == NULL && strcmp(walk->queue, MG_QUEUE_REJECTED) == 0) {
        shown->queue = mg_slice_of(MG_QUEUE_INTAKE);
    }
    shown->obstacle = letter_obstacle(letter);
}

static enum mg_class walk_fetch(struct walk *walk, struct letter *ret_letter, bool *ret_is_empty,
                                struct mg_err *err)
{
    amqp_rpc_reply_t reply =
        amqp_basic_get(walk->connection, MG_AMQP_CHANNEL, amqp_cstring_bytes(walk->queue), 0);
    enum mg_class class = mg_amqp_result(reply, NULL, err);
    if (class != MG_OK) {
        return mg_err_prefix(err, "could not read from queue %s", walk->queue);
    }
    if (reply.reply.id == AMQP_BASIC_GET_EMPTY_METHOD) {
        *ret_is_empty = true;
        return MG_OK;
    }
    const amqp_basic_get_ok_t *got = reply.reply.decoded;
    ret_letter->tag = got->delivery_tag;
    ret_letter->behind = got->message_count;
    class = walk_content(walk, ret_letter, err);
    if (class == MG_OK) {
        letter_show(walk, ret_letter);
    }
    return class;
}

/* ---- settling ---- */

static enum mg_class walk_settle(struct walk *walk, const struct letter *letter, enum mg_dead_verb verb,
                                 struct mg_err *err)
{
    enum mg_class class = MG_OK;
    switch (verb) {
    case MG_DEAD_LIST:
        walk->highest_held = letter->tag;
        return MG_OK;
    case MG_DEAD_REQUEUE:
        class = walk_requeue(walk, letter, err);
        break;
    case MG_DEAD_DROP:
        break;
    }
    if (class == MG_OK &&
        amqp_basic_ack(walk->connection, MG_AMQP_CHANNEL, letter->tag, 0) != AMQP_STATUS_OK) {
        class =
            mg_err_set(err, MG_TRANSIENT, "could not remove a message from %s: connection lost", walk->queue);
    }
    return class;
}

/* Copies the sender's headers. It drops those that brokers and Makegood added on the way here, and adds the
 * mark x-makegood-again. CC and BCC are dropped too: they name further queues, to which the broker would
 * deliver by the operator's right instead of the sender's. */
static int walk_headers(const struct letter *letter, amqp_table_entry_t entries[HEADERS_MAX])
{
    static const char *const dropped[] = {"x-death",
                                          "x-delivery-count",
                                          "x-acquired-count",
                                          MG_HEADER_REASON,
                                          MG_HEADER_PUBLISH,
                                          MG_HEADER_AGAIN,
                                          MG_HEADER_ORIGIN,
                                          "CC",
                                          "BCC"};
    const amqp_basic_properties_t *properties = letter->properties;
    struct mg_slice origin = letter->shown.exchange;
    int count = 0;
    entries[count] = (amqp_table_entry_t){.key = amqp_cstring_bytes(MG_HEADER_AGAIN)};
    entries[count].value.kind = AMQP_FIELD_KIND_BOOLEAN;
    entries[count++].value.value.boolean = 1;
    if (origin.len > 0) {
        entries[count] = (amqp_table_entry_t){.key = amqp_cstring_bytes(MG_HEADER_ORIGIN)};
        entries[count].value.kind = AMQP_FIELD_KIND_UTF8;
        entries[count++].value.value.bytes = mg_amqp_bytes(origin);
    }
    if ((properties->_flags & AMQP_BASIC_HEADERS_FLAG) == 0) {
        return count;
    }
    for (int i = 0; i < properties->headers.num_entries && count < HEADERS_MAX; i++) {
        struct mg_slice key = mg_amqp_slice(properties->headers.entries[i].key);
        bool is_dropped = (key.len >= 14 && memcmp(key.data, "x-first-death-", 14) == 0) ||
                          (key.len >= 13 && memcmp(key.data, "x-last-death-", 13) == 0);
        for (size_t d = 0; d < sizeof(dropped) / sizeof(dropped[0]); d++) {
            is_dropped = is_dropped || mg_slice_is(key, dropped[d]);
        }
        if (!is_dropped) {
            entries[count++] = properties->headers.entries[i];
        }
    }
    return count;
}

static enum mg_class walk_confirm(struct walk *walk, struct mg_err *err)
{
    bool is_returned = false;
    for (;;) {
        amqp_frame_t frame;
        enum mg_class class = walk_frame(walk, &frame, err);
        if (class != MG_OK) {
            return class;
        }
        if (frame.frame_type != AMQP_FRAME_METHOD) {
            continue;
        }
        if (frame.payload.method.id == AMQP_BASIC_RETURN_METHOD) {
            is_returned = true;
            class = walk_content(walk, NULL, err);
            if (class != MG_OK) {
                return class;
            }
        } else if (frame.payload.method.id == AMQP_BASIC_NACK_METHOD) {
            return mg_err_set(err, MG_TRANSIENT, "the queue is full");
        } else if (frame.payload.method.id == AMQP_BASIC_ACK_METHOD) {
            const amqp_basic_ack_t *ack = frame.payload.method.decoded;
            if (ack->delivery_tag >= walk->published) {
                return is_returned ? mg_err_set(err, MG_PERMANENT, "there is no such queue") : MG_OK;
            }
        }
    }
}

/* The broker would require our own user id, and the expiration has passed long ago. An order without an id of
 * its own gets it from sender and message, and keeps it. Schedulers accept an app id in place of the user
 * id. */
static amqp_basic_properties_t copy_properties(const struct letter *letter,
                                               amqp_table_entry_t entries[HEADERS_MAX])
{
    amqp_basic_properties_t properties = *letter->properties;
    properties.headers.num_entries = walk_headers(letter, entries);
    properties.headers.entries = entries;
    properties._flags |= AMQP_BASIC_HEADERS_FLAG | AMQP_BASIC_DELIVERY_MODE_FLAG;
    if ((properties._flags & AMQP_BASIC_USER_ID_FLAG) != 0) {
        properties.app_id = properties.user_id;
        properties._flags |= AMQP_BASIC_APP_ID_FLAG;
    }
    properties._flags &= ~(amqp_flags_t)(AMQP_BASIC_USER_ID_FLAG | AMQP_BASIC_EXPIRATION_FLAG);
    properties.delivery_mode = AMQP_DELIVERY_PERSISTENT;
    return properties;
}

/* The broker ends the connection of the sender of a larger header frame. */
static bool copy_fits(const struct letter *letter)
{
    amqp_table_entry_t entries[HEADERS_MAX];
    amqp_basic_properties_t properties = copy_properties(letter, entries);
    const size_t room = MG_AMQP_FRAME_MAX - HEADER_FRAME_REST;
    char *scratch = malloc(room);
    bool fits = scratch != NULL && amqp_encode_properties(AMQP_BASIC_CLASS, &properties,
                                                          (amqp_bytes_t){.len = room, .bytes = scratch}) >= 0;
    free(scratch);
    return fits;
}

/* Not by amqp_basic_publish: it would cut the body to the library's limit, which is that of received
 * frames. */
static int walk_publish(struct walk *walk, const struct letter *letter)
{
    amqp_table_entry_t entries[HEADERS_MAX];
    amqp_basic_properties_t properties = copy_properties(letter, entries);
    amqp_basic_publish_t method = {.routing_key = mg_amqp_bytes(letter->shown.queue), .mandatory = 1};
    amqp_frame_t frame = {.frame_type = AMQP_FRAME_HEADER, .channel = MG_AMQP_CHANNEL};
    frame.payload.properties.class_id = AMQP_BASIC_CLASS;
    frame.payload.properties.body_size = letter->body_len;
    frame.payload.properties.decoded = &properties;
    int status = amqp_send_method(walk->connection, MG_AMQP_CHANNEL, AMQP_BASIC_PUBLISH_METHOD, &method);
    if (status == AMQP_STATUS_OK) {
        status = amqp_send_frame(walk->connection, &frame);
    }
    size_t size;
    for (size_t at = 0; status == AMQP_STATUS_OK && at < letter->body_len; at += size) {
        size = letter->body_len - at;
        size = size < MG_LINK_BODY_FRAME_MAX ? size : MG_LINK_BODY_FRAME_MAX;
        amqp_frame_t piece = {.frame_type = AMQP_FRAME_BODY, .channel = MG_AMQP_CHANNEL};
        piece.payload.body_fragment = (amqp_bytes_t){.len = size, .bytes = letter->body + at};
        status = amqp_send_frame(walk->connection, &piece);
    }
    return status;
}

static enum mg_class walk_requeue(struct walk *walk, const struct letter *letter, struct mg_err *err)
{
    struct mg_slice queue = letter->shown.queue;
    if (letter->shown.obstacle != NULL) {
        return mg_err_set(err, MG_PERMANENT, "cannot requeue a message of %s: %s", walk->queue,
                          letter->shown.obstacle);
    }
    int status = walk_publish(walk, letter);
    if (status != AMQP_STATUS_OK) {
        return mg_err_set(err, MG_TRANSIENT, "could not requeue to %.*s: %s", (int)queue.len, queue.data,
                          amqp_error_string2(status));
    }
    walk->published++;
    enum mg_class class = walk_confirm(walk, err);
    return class == MG_OK ? MG_OK
                          : mg_err_prefix(err, "could not requeue to %.*s", (int)queue.len, queue.data);
}

/* ---- looking ---- */

static enum mg_class look_begin(struct walk *walk, int count, struct mg_err *err)
{
    if (amqp_basic_qos(walk->connection, MG_AMQP_CHANNEL, 0, (uint16_t)count, 0) == NULL ||
        amqp_basic_consume(walk->connection, MG_AMQP_CHANNEL, amqp_cstring_bytes(walk->queue),
                           amqp_cstring_bytes(LOOK_TAG), 0, 0, 0, amqp_empty_table) == NULL) {
        return mg_amqp_result(amqp_get_rpc_reply(walk->connection), NULL, err);
    }
    return MG_OK;
}

/* The next message from the broker; `ret_is_over`: no more comes. */
static enum mg_class look_receive(struct walk *walk, struct letter *ret_letter, bool *ret_is_over,
                                  struct mg_err *err)
{
    for (;;) {
        amqp_frame_t frame;
        enum mg_class class = walk_wait(walk, QUIET_MS, &frame, err);
        if (class != MG_OK) {
            *ret_is_over = class == MG_STALE;
            return *ret_is_over ? MG_OK : class;
        }
        if (frame.frame_type != AMQP_FRAME_METHOD) {
            continue;
        }
        if (frame.payload.method.id == AMQP_BASIC_CANCEL_METHOD) { /* by the broker: the queue is gone */
            *ret_is_over = true;
            return MG_OK;
        }
        if (frame.payload.method.id == AMQP_BASIC_DELIVER_METHOD) {
            const amqp_basic_deliver_t *delivered = frame.payload.method.decoded;
            ret_letter->tag = delivered->delivery_tag;
            class = walk_content(walk, ret_letter, err);
            if (class == MG_OK) {
                letter_show(walk, ret_letter);
            }
            return class;
        }
    }
}

static enum mg_class look_fetch(struct walk *walk, struct letter *ret_letter, bool *ret_is_over,
                                struct mg_err *err)
{
    return walk->highest_held == 0 ? walk_fetch(walk, ret_letter, ret_is_over, err)
                                   : look_receive(walk, ret_letter, ret_is_over, err);
}

/* Tags begin at 1. The first message was fetched by basic.get, and goes back alone. */
static enum mg_class look_give_back(struct walk *walk, struct mg_err *err)
{
    amqp_basic_cancel_t cancel = {.consumer_tag = amqp_cstring_bytes(LOOK_TAG), .nowait = 1};
    int status = AMQP_STATUS_OK;
    if (walk->highest_held > 1) { /* otherwise the broker sends returned messages again */
        status = amqp_send_method(walk->connection, MG_AMQP_CHANNEL, AMQP_BASIC_CANCEL_METHOD, &cancel);
    }
    for (uint64_t tag = 1; status == AMQP_STATUS_OK && tag < walk->highest_held; tag += PART_LETTERS) {
        status = amqp_basic_nack(walk->connection, MG_AMQP_CHANNEL, tag, 1, 1);
    }
    if (status == AMQP_STATUS_OK) {
        status = amqp_basic_nack(walk->connection, MG_AMQP_CHANNEL, walk->highest_held, 1, 1);
    }
    return status == AMQP_STATUS_OK ? MG_OK
                                    : mg_err_set(err, MG_TRANSIENT, "could not give messages back to %s: %s",
                                                 walk->queue, amqp_error_string2(status));
}

enum mg_class mg_topology_look(const struct mg_broker_address *address, const char *queue, int max,
                               void (*show)(void *arg, const struct mg_dead_letter *letter), void *arg,
                               int *ret_count, struct mg_err *err)
{
    struct walk walk = {.queue = queue};
    enum mg_class class = mg_amqp_connect(address, "makegood dead", &walk.connection, NULL, err);
    if (class != MG_OK) {
        return class;
    }
    int count = 0;
    bool is_over = false;
    max = max < MG_DEAD_LOOK_MAX ? max : MG_DEAD_LOOK_MAX;
    while (class == MG_OK && !is_over && count < max) {
        struct letter letter = {0};
        class = look_fetch(&walk, &letter, &is_over, err);
        if (class == MG_OK && !is_over) {
            show(arg, &letter.shown);
            walk.highest_held = letter.tag;
            if (count++ == 0) {
                max = letter.behind < (uint32_t)max ? (int)letter.behind + 1 : max;
                class = max > 1 ? look_begin(&walk, max - 1, err) : MG_OK;
            }
        }
        free(letter.body);
        amqp_maybe_release_buffers(walk.connection);
    }
    if (class == MG_OK && count > 0) {
        class = look_give_back(&walk, err);
    }
    if (class == MG_OK) {
        (void)amqp_connection_close(walk.connection,
                                    AMQP_REPLY_SUCCESS); /* held messages return to the queue by themselves */
    }
    mg_amqp_destroy(walk.connection);
    if (class == MG_OK) {
        *ret_count = count;
    }
    return class;
}
