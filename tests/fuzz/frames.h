/*
 * AMQP for the targets whose other end is a broker: what it says, all of it written before the client reads,
 * and what the client has said, read by other code than wrote it.
 */
#ifndef MG_TESTS_FRAMES_H
#define MG_TESTS_FRAMES_H

#include "fuzz.h"
#include "io/amqp/connection.h"

#define FRAMES_STREAM_MAX (64 * 1024) /* what a socket takes whole */

/* ---- the broker ---- */

/* As RabbitMQ answers a login and the questions that follow it: for `declared` queues, and for confirms. */
void frames_put_handshake(struct mg_buf *stream, int declared, bool is_confirming);

/* Pieces of an input, each of KIND, LENGTH (two bytes) and so many bytes. KIND (its two lowest bits) makes of
 * them a method, header or body frame, or leaves them as they are; with bit 2 a frame is for channel 0. */
void frames_put_input(struct mg_buf *stream, struct mg_slice input);

void frames_send(int fd, const struct mg_buf *stream);

/* Whether an ack of a publish may be among what is said: its class and method are. */
bool frames_have_ack(const struct mg_buf *stream);

/* ---- the client ---- */

/* All zero but for the limits of the bufs. */
struct frames_reader {
    struct mg_buf bytes; /* all that was said */
    size_t at;           /* read up to here */
    struct mg_buf body;
};

/* A method with its content, if it has one; lent until the next is read. */
struct frames_said {
    amqp_method_number_t method;
    struct mg_slice arguments, body;
};

void frames_reader_init(struct frames_reader *reader);
void frames_reader_finish(struct frames_reader *reader);
/* What has come by now; false: it is over. */
bool frames_receive(struct frames_reader *reader, int fd);
/* False: no further method has come whole. What is no AMQP is a finding. */
bool frames_next(struct frames_reader *reader, struct frames_said *ret_said);

#endif
