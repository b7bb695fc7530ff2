/*
 * The bytes that a consumer may have in hand. From the sizes lately seen this file computes the number of
 * deliveries that fit, and when the consumer stops or starts anew for it.
 */
#include "base/clock.h"
#include "io/amqp/consuming.h"

/* Sizes count for one to two spans of at least this many deliveries and this time. So an occasional large
 * message counts, and one of yesterday does not. The first span ends by its count alone; until then a guess
 * shrinks (mg_room_guess). */
#define SPAN_DELIVERIES 64
#define SPAN_MS         10000

/* A power of two, so that small differences of size do not restart the consumer each time. */
uint16_t mg_room_prefetch(const struct mg_consumer_slot *slot)
{
    if (slot->bytes_max == 0) {
        return slot->prefetch;
    }
    size_t largest = slot->largest[0] > slot->largest[1] ? slot->largest[0] : slot->largest[1];
    size_t fit = slot->bytes_max / 2 / (largest > 0 ? largest : 1);
    uint16_t prefetch = 1;
    while (prefetch < slot->prefetch && 2 * (size_t)prefetch <= fit) {
        prefetch = (uint16_t)(2 * prefetch);
    }
    return prefetch < slot->prefetch ? prefetch : slot->prefetch;
}

static bool has_room(const struct mg_consumer_slot *slot)
{
    return slot->bytes_max == 0 || slot->held_bytes <= slot->bytes_max / 2;
}

void mg_room_freed(struct mg_consuming *consuming, int consumer)
{
    struct mg_consumer_slot *slot = &consuming->consumers[consumer];
    if (slot->is_full && has_room(slot) && !consuming->base->is_closing) {
        slot->is_full = false;
        mg_timer_start(consuming->reconsume, 0, 0);
    }
}

bool mg_room_takes(const struct mg_consumer_slot *slot, size_t body_size)
{
    return slot->bytes_max == 0 || slot->held_bytes == 0 || slot->held_bytes + body_size <= slot->bytes_max;
}

void mg_room_note_size(struct mg_consuming *consuming, struct mg_consumer_slot *slot, uint64_t body_size)
{
    size_t size = body_size < slot->body_max_bytes ? (size_t)body_size : slot->body_max_bytes;
    uint16_t before = mg_room_prefetch(slot);
    if (slot->bytes_max == 0) {
        return;
    }
    size += MG_DELIVERY_OVERHEAD_BYTES;
    if (size > slot->largest[0]) {
        slot->largest[0] = size;
    }
    if (++slot->sized >= SPAN_DELIVERIES && mg_clock_boot_ms() >= slot->span_boot_ms) {
        slot->largest[1] = slot->largest[0];
        slot->largest[0] = 0;
        slot->sized = 0;
        slot->span_boot_ms = mg_clock_boot_ms() + SPAN_MS;
    }
    if (mg_room_prefetch(slot) != before) {
        mg_timer_start(consuming->reconsume, 0, 0);
    }
}

/* Until the first span is over, largest[1] is a guess. It begins at the limit, and shrinks with each prefetch
 * that is used up, even if none of it is settled. Otherwise slow work would wait minutes for the span's end.
 * All steps but the last are at most half of the requested prefetch, so together they add less than one full
 * prefetch. */
void mg_room_guess(struct mg_consumer_slot *slot)
{
    bool is_guess = slot->bytes_max > 0 && slot->span_boot_ms == 0;
    if (!is_guess || slot->given < slot->prefetch_sent) {
        return;
    }
    while (slot->largest[1] > slot->largest[0]) {
        uint16_t next = mg_room_prefetch(slot);
        bool is_step = next > slot->prefetch_sent && next <= slot->prefetch / 2;
        if (is_step || next == slot->prefetch) {
            return;
        }
        slot->largest[1] /= 2;
    }
}

/* RabbitMQ (quorum queues, 3.8.24 on) delivers nothing more to a stopped consumer: deliveries on their way
 * return to the queue, and count as one more delivery. With the prefetch used up nothing is on its way, and
 * before that no larger prefetch is needed. */
bool mg_room_is_outgrown(const struct mg_consumer_slot *slot)
{
    return slot->state == MG_CONSUMER_ON && slot->is_wanted && slot->given >= slot->prefetch_sent &&
           slot->prefetch_sent < mg_room_prefetch(slot);
}

/* False while another request waits for its answer: that may take seconds, and acks must not wait for it. */
bool mg_room_is_growing(const struct mg_consuming *consuming)
{
    if (consuming->base->is_closing || consuming->link.answer_by_boot_ms != 0) {
        return false;
    }
    for (int i = 0; i < consuming->consumer_count; i++) {
        if (mg_room_is_outgrown(&consuming->consumers[i])) {
            return true;
        }
    }
    return false;
}
