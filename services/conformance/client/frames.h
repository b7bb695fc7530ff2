/* The frames of AMQP 0-9-1 (2.3.5), as a relay sees them pass. */
#ifndef MG_CONFORMANCE_CLIENT_FRAMES_H
#define MG_CONFORMANCE_CLIENT_FRAMES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* RabbitMQ's largest frame, unless it is configured otherwise; a client may agree on a smaller one. */
#define MG_FRAME_MAX_BYTES ((size_t)131072)

enum { MG_FRAME_METHOD = 1, MG_FRAME_HEADER = 2, MG_FRAME_GREETING = -1 };
/* Class and method ids. */
#define MG_FRAME_CONFIRM_SELECT UINT32_C(0x0055000A)
#define MG_FRAME_CONSUME        UINT32_C(0x003C0014)
#define MG_FRAME_PUBLISH        UINT32_C(0x003C0028)
#define MG_FRAME_ACK            UINT32_C(0x003C0050)
#define MG_FRAME_NACK           UINT32_C(0x003C0078)

struct mg_frame {
    int type; /* MG_FRAME_GREETING: the eight bytes in front of all frames */
    uint16_t channel;
    uint32_t method;  /* of a method frame, else 0 */
    uint8_t *payload; /* within the bytes */
    size_t payload_len;
};

/* The frame at the beginning of `bytes`: its whole size; 0: it is not complete; -1: the bytes are no frame,
 * or it is above MG_FRAME_MAX_BYTES. */
int64_t mg_frame_next(uint8_t *bytes, size_t len, struct mg_frame *ret_frame);

/* A post, as its frames show it. */
struct mg_posted {
    bool is_mandatory;
    bool is_persistent;
    bool has_expiration;
    char content_type[64]; /* "": none */
};
/* Reads basic.publish. False: it is cut short, or goes to no queue of orders. `ret_key` is within the frame.
 */
bool mg_frame_read_publish(const struct mg_frame *frame, struct mg_posted *ret_posted, uint8_t **ret_key,
                           size_t *ret_key_len);
/* Reads the properties that follow it. False: they are cut short. */
bool mg_frame_read_header(const struct mg_frame *frame, struct mg_posted *ret_posted);
/* An ack becomes a refusal of the same posts. */
void mg_frame_make_nack(const struct mg_frame *frame);

#endif
