/*
 * What the proxy understands of the streams that pass through it: where a message of PostgreSQL or a frame of
 * AMQP begins and ends, which message ends a transaction, which frame is an acknowledgement.
 */
#ifndef CHAOS_SIFT_H
#define CHAOS_SIFT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum protocol {
    PROTOCOL_RAW,  /* bytes; a unit is whatever has arrived */
    PROTOCOL_PG,   /* PostgreSQL 3.0 without TLS: type, length, body; a startup packet has no type */
    PROTOCOL_AMQP, /* AMQP 0-9-1: type, channel, size, payload, 0xCE; first the 8 bytes of the protocol header
                    */
};

/* How far into a stream of one direction the units have been told apart. All zero: at its beginning. */
struct sift {
    bool is_begun; /* the startup packet or the protocol header is past */
};

/* What the next unit is. */
struct unit {
    size_t size;            /* bytes, its head included */
    bool ends_transaction;  /* PostgreSQL's Sync or Query: what was sent before it is committed when it is
                               answered */
    bool is_ack;            /* AMQP's basic.ack */
    bool asks_for_one_byte; /* PostgreSQL's request for encryption: the answer is one byte, not a message */
};

/* Tells what begins at `bytes`. False: its head has not all arrived yet. `is_upward`: from the client to the
 * server. */
bool sift_next(struct sift *sift, enum protocol protocol, bool is_upward, const uint8_t *bytes, size_t size,
               struct unit *ret_unit);

#endif
