/*
 * AMQP frames as bytes (AMQP 0-9-1 §2.3.5), so that many of them leave in one write. The library's own send
 * makes one system call for each.
 */
#ifndef MG_IO_AMQP_FRAME_H
#define MG_IO_AMQP_FRAME_H

#include "base/buf.h"
#include "io/amqp/connection.h"

/* Appends a method, header or body frame; its texts must fit MG_FRAME_TEXTS_MAX. False: they do not fit, or
 * there is no memory. */
#define MG_FRAME_TEXTS_MAX 8192 /* more than a header frame of ours with all its texts */
bool mg_frame_append(struct mg_buf *buf, const amqp_frame_t *frame) MG_MUSTCHECK;

#endif
