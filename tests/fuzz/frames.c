/* See frames.h. Frames are as in AMQP 0-9-1, §4.2.3: type, channel, length, payload, end. */
#include "frames.h"

#include <sys/socket.h>

#define HEAD_BYTES     7
#define PROTOCOL_BYTES 8
#define HEARTBEAT      8

static const char PROTOCOL[PROTOCOL_BYTES] = {'A', 'M', 'Q', 'P', 0, 0, 9, 1};

/* ---- the broker ---- */

static void put_number(struct mg_buf *stream, uint64_t number, int bytes)
{
    for (int i = bytes - 1; i >= 0; i--) {
        char byte = (char)(number >> (8 * i));
        mg_buf_append(stream, &byte, 1);
    }
}

static void put_frame(struct mg_buf *stream, int type, int channel, const void *payload, size_t len)
{
    put_number(stream, (uint64_t)type, 1);
    put_number(stream, (uint64_t)channel, 2);
    put_number(stream, len, 4);
    mg_buf_append(stream, payload, len);
    put_number(stream, AMQP_FRAME_END, 1);
}

void frames_put_handshake(struct mg_buf *stream, int declared, bool is_confirming)
{
    static const char start[] = "\0\x0a\0\x0a\0\x09\0\0\0\0\0\0\0\x05PLAIN\0\0\0\x05"
                                "en_US",
                      tune[] = "\0\x0a\0\x1e\x07\xff\0\x02\0\0\0\x0a", open_ok[] = "\0\x0a\0\x29",
                      channel_open_ok[] = "\0\x14\0\x0b\0\0\0", confirm_ok[] = "\0\x55\0\x0b",
                      declare_ok[] = "\0\x32\0\x0b\x01q\0\0\0\0\0\0\0\0";
    put_frame(stream, AMQP_FRAME_METHOD, 0, start, sizeof(start) - 1);
    put_frame(stream, AMQP_FRAME_METHOD, 0, tune, sizeof(tune) - 1);
    put_frame(stream, AMQP_FRAME_METHOD, 0, open_ok, sizeof(open_ok));
    put_frame(stream, AMQP_FRAME_METHOD, MG_AMQP_CHANNEL, channel_open_ok, sizeof(channel_open_ok));
    for (int i = 0; i < declared; i++) {
        put_frame(stream, AMQP_FRAME_METHOD, MG_AMQP_CHANNEL, declare_ok, sizeof(declare_ok) - 1);
    }
    if (is_confirming) {
        put_frame(stream, AMQP_FRAME_METHOD, MG_AMQP_CHANNEL, confirm_ok, sizeof(confirm_ok) - 1);
    }
}

void frames_put_input(struct mg_buf *stream, struct mg_slice input)
{
    const unsigned char *at = (const unsigned char *)input.data, *end = at + input.len;
    while (end - at >= 3) {
        int kind = at[0] & 3, channel = at[0] & 4 ? 0 : MG_AMQP_CHANNEL;
        size_t len = (size_t)at[1] << 8 | at[2];
        at += 3;
        if (len > (size_t)(end - at)) {
            len = (size_t)(end - at);
        }
        if (kind == 0) {
            mg_buf_append(stream, at, len);
        } else {
            put_frame(stream, kind, channel, at, len);
        }
        at += len;
    }
}

void frames_send(int fd, const struct mg_buf *stream)
{
    if (stream->len > 0) {
        FUZZ_REQUIRE(send(fd, stream->data, stream->len, MSG_NOSIGNAL) == (ssize_t)stream->len);
    }
}

bool frames_have_ack(const struct mg_buf *stream)
{
    static const char ack[] = {0, 60, 0, 80};
    return stream->len > 0 && memmem(stream->data, stream->len, ack, sizeof(ack)) != NULL;
}

/* ---- the client ---- */

struct frame {
    int type, channel;
    struct mg_slice payload;
};

void frames_reader_init(struct frames_reader *reader)
{
    reader->at = 0;
    mg_buf_init(&reader->bytes, FUZZ_TEXT_MAX);
    mg_buf_init(&reader->body, FUZZ_TEXT_MAX);
}

void frames_reader_finish(struct frames_reader *reader)
{
    mg_buf_finish(&reader->bytes);
    mg_buf_finish(&reader->body);
}

bool frames_receive(struct frames_reader *reader, int fd)
{
    char bytes[4096];
    ssize_t n;
    while ((n = recv(fd, bytes, sizeof(bytes), MSG_DONTWAIT)) > 0) {
        mg_buf_append(&reader->bytes, bytes, (size_t)n);
    }
    FUZZ_REQUIRE(!reader->bytes.failed);
    return n != 0;
}

static bool frame_next(const struct mg_buf *bytes, size_t *at, struct frame *ret_frame)
{
    do {
        size_t left = bytes->len - *at;
        if (left < HEAD_BYTES) {
            return false;
        }
        const char *head = bytes->data + *at;
        size_t len = (size_t)fuzz_number(head + 3, 4);
        FUZZ_REQUIRE(len <= MG_AMQP_FRAME_MAX);
        if (left < HEAD_BYTES + len + 1) {
            return false;
        }
        FUZZ_REQUIRE((unsigned char)head[HEAD_BYTES + len] == AMQP_FRAME_END);
        *ret_frame =
            (struct frame){head[0], (int)fuzz_number(head + 1, 2), (struct mg_slice){head + HEAD_BYTES, len}};
        FUZZ_REQUIRE(ret_frame->channel == 0 || ret_frame->channel == MG_AMQP_CHANNEL);
        *at += HEAD_BYTES + len + 1;
    } while (ret_frame->type == HEARTBEAT);
    return true;
}

/* A publish is followed by a content header and by the body bytes that the header announces. */
static bool body_next(struct frames_reader *reader, size_t *at)
{
    struct frame frame;
    if (!frame_next(&reader->bytes, at, &frame)) {
        return false;
    }
    FUZZ_REQUIRE(frame.type == AMQP_FRAME_HEADER && frame.channel == MG_AMQP_CHANNEL);
    FUZZ_REQUIRE(frame.payload.len >= 14 && fuzz_number(frame.payload.data, 2) == AMQP_BASIC_CLASS);
    uint64_t left = fuzz_number(frame.payload.data + 4, 8);
    mg_buf_clear(&reader->body);
    while (left > 0) {
        if (!frame_next(&reader->bytes, at, &frame)) {
            return false;
        }
        FUZZ_REQUIRE(frame.type == AMQP_FRAME_BODY && frame.channel == MG_AMQP_CHANNEL);
        FUZZ_REQUIRE(frame.payload.len > 0 && frame.payload.len <= left);
        mg_buf_append(&reader->body, frame.payload.data, frame.payload.len);
        left -= frame.payload.len;
    }
    FUZZ_REQUIRE(!reader->body.failed);
    return true;
}

bool frames_next(struct frames_reader *reader, struct frames_said *ret_said)
{
    struct frame frame;
    if (reader->at == 0) {
        if (reader->bytes.len < PROTOCOL_BYTES) {
            return false;
        }
        FUZZ_REQUIRE(memcmp(reader->bytes.data, PROTOCOL, PROTOCOL_BYTES) == 0);
        reader->at = PROTOCOL_BYTES;
    }
    size_t at = reader->at;
    if (!frame_next(&reader->bytes, &at, &frame)) {
        return false;
    }
    FUZZ_REQUIRE(frame.type == AMQP_FRAME_METHOD && frame.payload.len >= 4);
    amqp_method_number_t method = (amqp_method_number_t)fuzz_number(frame.payload.data, 4);
    bool has_body = method == AMQP_BASIC_PUBLISH_METHOD;
    if (has_body && !body_next(reader, &at)) {
        return false;
    }
    *ret_said = (struct frames_said){.method = method,
                                     .arguments = {frame.payload.data + 4, frame.payload.len - 4},
                                     .body = has_body ? mg_buf_slice(&reader->body) : mg_slice_of("")};
    reader->at = at;
    return true;
}
