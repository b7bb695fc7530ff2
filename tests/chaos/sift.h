/*
 * The proxy's parser of the streams that pass through it. It finds the borders of PostgreSQL's messages and
 * AMQP's frames. It marks the message that ends a transaction, and the frame that is an acknowledgement.
 */
#ifndef CHAOS_SIFT_H
#define CHAOS_SIFT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum protocol {
    PROTOCOL_RAW,  /* bytes; a unit is any number of arrived bytes */
    PROTOCOL_PG,   /* PostgreSQL 3.0 without TLS: type, length, body; a startup packet has no type */
    PROTOCOL_AMQP, /* AMQP 0-9-1: type, channel, size, payload, 0xCE; first the 8 bytes of the protocol header
                    */
};

/* Position in a stream of one direction, up to which units have been separated. All zero: its beginning. */
struct sift {
    bool is_begun; /* the startup packet or the protocol header is past */
};

/* The next unit. */
struct unit {
    size_t size;            /* bytes, its head included */
    bool ends_transaction;  /* PostgreSQL's Sync or Query: its answer proves the commit of everything sent
                               before it */
    bool is_ack;            /* AMQP's basic.ack */
    bool asks_for_one_byte; /* PostgreSQL's request for encryption: the answer is one byte, not a message */
};

/* Describes the unit that begins at `bytes`. Returns false if its head has not arrived completely.
 * `is_upward`: from the client to the server. */
bool sift_next(struct sift *sift, enum protocol protocol, bool is_upward, const uint8_t *bytes, size_t size,
               struct unit *ret_unit);

#endif
