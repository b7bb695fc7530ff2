/*
 * AMQP frames for the targets that play a broker. All bytes of the broker are written before the client
 * reads. The client's bytes are parsed by a reader that shares no code with their writer.
 */
#ifndef MG_TESTS_FRAMES_H
#define MG_TESTS_FRAMES_H

#include "fuzz.h"
#include "io/amqp/connection.h"

#define FRAMES_STREAM_MAX (64 * 1024) /* the socket takes so many bytes in one write */

/* ---- the broker ---- */

/* RabbitMQ's answers to a login and to the set-up requests after it: for `declared` queues, and for
 * confirms. */
void frames_put_handshake(struct mg_buf *stream, int declared, bool is_confirming);

/* Appends the pieces of an input. A piece is KIND, LENGTH (two bytes) and so many bytes. The two lowest bits
 * of KIND make the piece a method, header or body frame, or leave it as it is. Bit 2 sends the frame on
 * channel 0. */
void frames_put_input(struct mg_buf *stream, struct mg_slice input);

void frames_send(int fd, const struct mg_buf *stream);

/* Whether the broker's bytes may contain an ack of a publish: the class and method of one occur in them. */
bool frames_have_ack(const struct mg_buf *stream);

/* ---- the client ---- */

/* All zero except the limits of the bufs. */
struct frames_reader {
    struct mg_buf bytes; /* all bytes received so far */
    size_t at;           /* parsed up to here */
    struct mg_buf body;
};

/* A method with its content, if it has one; lent until the next one is read. */
struct frames_said {
    amqp_method_number_t method;
    struct mg_slice arguments, body;
};

void frames_reader_init(struct frames_reader *reader);
void frames_reader_finish(struct frames_reader *reader);
/* Receives the bytes that have arrived by now; false: the connection has ended. */
bool frames_receive(struct frames_reader *reader, int fd);
/* False: no further method has arrived whole. Bytes that are not AMQP are a finding. */
bool frames_next(struct frames_reader *reader, struct frames_said *ret_said);

#endif
