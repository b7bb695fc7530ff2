/*
 * Frames as bytes. This file writes the envelope of a method, a header or a piece of a body; the library
 * encodes the arguments.
 */
#include "io/amqp/frame.h"

static char *put(char *at, uint64_t number, int bytes)
{
    for (int i = bytes - 1; i >= 0; i--) {
        *at++ = (char)(number >> (8 * i));
    }
    return at;
}

bool mg_frame_append(struct mg_buf *buf, const amqp_frame_t *frame)
{
    char texts[MG_FRAME_TEXTS_MAX], head[20], *at = head + 7;
    amqp_bytes_t payload = {.len = sizeof(texts), .bytes = texts};
    int len = 0;
    if (frame->frame_type == AMQP_FRAME_METHOD) {
        at = put(at, frame->payload.method.id, 4);
        len = amqp_encode_method(frame->payload.method.id, frame->payload.method.decoded, payload);
    } else if (frame->frame_type == AMQP_FRAME_HEADER) {
        at = put(at, frame->payload.properties.class_id, 2);
        at = put(at, 0, 2); /* weight, unused */
        at = put(at, frame->payload.properties.body_size, 8);
        len = amqp_encode_properties(frame->payload.properties.class_id, frame->payload.properties.decoded,
                                     payload);
    } else {
        payload = frame->payload.body_fragment;
    }
    if (len < 0) {
        return false;
    }
    if (frame->frame_type != AMQP_FRAME_BODY) {
        payload.len = (size_t)len;
    }
    size_t head_len = (size_t)(at - head);
    at = put(head, frame->frame_type, 1);
    at = put(at, frame->channel, 2);
    (void)put(at, head_len - 7 + payload.len, 4);
    static const char end = (char)AMQP_FRAME_END;
    mg_buf_append(buf, head, head_len);
    mg_buf_append(buf, payload.bytes, payload.len);
    mg_buf_append(buf, &end, 1);
    return !buf->failed;
}
