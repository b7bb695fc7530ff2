/* See frames.h. Big-endian numbers; a short string is a byte of length and so many bytes. */
#include "frames.h"

#include <string.h>

#define GREETING_LEN 8 /* "AMQP", 0, and the version */
#define HEAD_LEN     7 /* type, channel, size of the payload */
#define TAIL_LEN     1
#define TAIL         0xCE
#define METHOD_LEN   4
/* Content header: class, weight, size of the body, then the flags of the properties. */
#define FLAGS_AT             12
#define HAS_CONTENT_TYPE     0x8000
#define HAS_CONTENT_ENCODING 0x4000
#define HAS_HEADERS          0x2000
#define HAS_DELIVERY_MODE    0x1000
#define HAS_EXPIRATION       0x0100
#define PERSISTENT           2
#define MANDATORY            1

static uint32_t number(const uint8_t *bytes, size_t len)
{
    uint32_t value = 0;
    for (size_t i = 0; i < len; i++) {
        value = value << 8 | bytes[i];
    }
    return value;
}

int64_t mg_frame_next(uint8_t *bytes, size_t len, struct mg_frame *ret_frame)
{
    if (len > 0 && bytes[0] == 'A') {
        *ret_frame = (struct mg_frame){.type = MG_FRAME_GREETING};
        return len < GREETING_LEN ? 0 : GREETING_LEN;
    }
    if (len < HEAD_LEN) {
        return 0;
    }
    size_t payload_len = number(bytes + 3, 4), size = HEAD_LEN + payload_len + TAIL_LEN;
    if (payload_len > MG_FRAME_MAX_BYTES || (len >= size && bytes[size - 1] != TAIL)) {
        return -1;
    }
    *ret_frame = (struct mg_frame){.type = bytes[0],
                                   .channel = (uint16_t)number(bytes + 1, 2),
                                   .payload = bytes + HEAD_LEN,
                                   .payload_len = payload_len};
    if (len >= size && bytes[0] == MG_FRAME_METHOD && payload_len >= METHOD_LEN) {
        ret_frame->method = number(bytes + HEAD_LEN, METHOD_LEN);
    }
    return len < size ? 0 : (int64_t)size;
}

struct reader {
    uint8_t *at, *end;
    bool is_short;
};

/* The next bytes; NULL, from then on: they are not there. */
static uint8_t *take(struct reader *reader, size_t len)
{
    if (reader->is_short || len > (size_t)(reader->end - reader->at)) {
        reader->is_short = true;
        return NULL;
    }
    uint8_t *taken = reader->at;
    reader->at += len;
    return taken;
}

static uint8_t *take_short(struct reader *reader, size_t *ret_len)
{
    const uint8_t *len = take(reader, 1);
    uint8_t *text = take(reader, len != NULL ? *len : 0);
    *ret_len = text != NULL ? *len : 0;
    return text;
}

static struct reader reader_of(const struct mg_frame *frame)
{
    return (struct reader){frame->payload, frame->payload + frame->payload_len, false};
}

static bool begins(const uint8_t *bytes, size_t len, const char *text)
{
    return len >= strlen(text) && memcmp(bytes, text, strlen(text)) == 0;
}

bool mg_frame_read_publish(const struct mg_frame *frame, struct mg_posted *ret_posted, uint8_t **ret_key,
                           size_t *ret_key_len)
{
    struct reader reader = reader_of(frame);
    size_t exchange_len = 0, key_len = 0;
    (void)take(&reader, METHOD_LEN + 2);
    const uint8_t *exchange = take_short(&reader, &exchange_len);
    uint8_t *key = take_short(&reader, &key_len);
    const uint8_t *bits = take(&reader, 1);
    if (bits == NULL || !begins(key, key_len, "orders.intake") ||
        (exchange_len > 0 && !begins(exchange, exchange_len, "makegood.intake"))) {
        return false;
    }
    *ret_posted = (struct mg_posted){.is_mandatory = (*bits & MANDATORY) != 0};
    *ret_key = key;
    *ret_key_len = key_len;
    return true;
}

bool mg_frame_read_header(const struct mg_frame *frame, struct mg_posted *ret_posted)
{
    struct reader reader = reader_of(frame);
    size_t len = 0;
    (void)take(&reader, FLAGS_AT);
    const uint8_t *bytes = take(&reader, 2);
    uint32_t flags = bytes != NULL ? number(bytes, 2) : 0;
    if (flags & HAS_CONTENT_TYPE) {
        bytes = take_short(&reader, &len);
        size_t kept = len < sizeof(ret_posted->content_type) ? len : sizeof(ret_posted->content_type) - 1;
        memcpy(ret_posted->content_type, bytes != NULL ? bytes : (const uint8_t *)"", kept);
        ret_posted->content_type[kept] = '\0';
    }
    if (flags & HAS_CONTENT_ENCODING) {
        (void)take_short(&reader, &len);
    }
    if (flags & HAS_HEADERS) {
        bytes = take(&reader, 4);
        (void)take(&reader, bytes != NULL ? number(bytes, 4) : 0);
    }
    if (flags & HAS_DELIVERY_MODE) {
        bytes = take(&reader, 1);
        ret_posted->is_persistent = bytes != NULL && *bytes == PERSISTENT;
    }
    ret_posted->has_expiration = (flags & HAS_EXPIRATION) != 0;
    return !reader.is_short;
}

void mg_frame_make_nack(const struct mg_frame *frame)
{
    frame->payload[3] = MG_FRAME_NACK & 0xFF; /* tag and bits have the same places in both */
}
