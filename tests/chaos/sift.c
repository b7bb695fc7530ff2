/* Where units begin and end: sift.h. */
#include "sift.h"

#include <string.h>

enum {
    PG_STARTUP_HEAD = 8,
    PG_HEAD = 5,
    PG_SSL_REQUEST = 80877103,
    PG_GSS_REQUEST = 80877104,
    AMQP_PROTOCOL_HEADER = 8,
    AMQP_HEAD = 7,
    AMQP_FRAME_METHOD = 1,
    AMQP_METHOD_HEAD = AMQP_HEAD + 4,
    AMQP_CLASS_BASIC = 60,
    AMQP_METHOD_ACK = 80,
};

static uint32_t u32_at(const uint8_t *bytes)
{
    return (uint32_t)bytes[0] << 24 | (uint32_t)bytes[1] << 16 | (uint32_t)bytes[2] << 8 | bytes[3];
}

static unsigned u16_at(const uint8_t *bytes)
{
    return (unsigned)bytes[0] << 8 | bytes[1];
}

static bool next_of_pg(struct sift *sift, bool is_upward, const uint8_t *bytes, size_t size,
                       struct unit *unit)
{
    if (is_upward && !sift->is_begun) {
        if (size < PG_STARTUP_HEAD) {
            return false;
        }
        uint32_t code = u32_at(bytes + 4);
        unit->size = u32_at(bytes) > PG_STARTUP_HEAD ? u32_at(bytes) : PG_STARTUP_HEAD;
        unit->asks_for_one_byte = code == PG_SSL_REQUEST || code == PG_GSS_REQUEST;
        sift->is_begun = !unit->asks_for_one_byte;
        return true;
    }
    if (size < PG_HEAD) {
        return false;
    }
    unit->size = (size_t)u32_at(bytes + 1) + 1;
    unit->ends_transaction = is_upward && (bytes[0] == 'S' || bytes[0] == 'Q');
    return true;
}

static bool next_of_amqp(struct sift *sift, bool is_upward, const uint8_t *bytes, size_t size,
                         struct unit *unit)
{
    if (is_upward && !sift->is_begun) {
        unit->size = AMQP_PROTOCOL_HEADER;
        sift->is_begun = true;
        return true;
    }
    if (size < AMQP_HEAD || (bytes[0] == AMQP_FRAME_METHOD && size < AMQP_METHOD_HEAD)) {
        return false;
    }
    unit->size = AMQP_HEAD + (size_t)u32_at(bytes + 3) + 1;
    unit->is_ack = bytes[0] == AMQP_FRAME_METHOD && u16_at(bytes + AMQP_HEAD) == AMQP_CLASS_BASIC &&
                   u16_at(bytes + AMQP_HEAD + 2) == AMQP_METHOD_ACK;
    return true;
}

bool sift_next(struct sift *sift, enum protocol protocol, bool is_upward, const uint8_t *bytes, size_t size,
               struct unit *ret_unit)
{
    memset(ret_unit, 0, sizeof(*ret_unit));
    if (protocol == PROTOCOL_PG) {
        return next_of_pg(sift, is_upward, bytes, size, ret_unit);
    }
    if (protocol == PROTOCOL_AMQP) {
        return next_of_amqp(sift, is_upward, bytes, size, ret_unit);
    }
    ret_unit->size = size;
    return true;
}
