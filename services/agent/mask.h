/*
 * A service that refuses a call may repeat its credentials: "invalid token eyJ…". A refusing body goes to
 * clients and operators, so the secrets of the call are taken out of it first.
 */
#ifndef MG_AGENT_MASK_H
#define MG_AGENT_MASK_H

#include "base/buf.h"

/* A shorter secret could be a word of any text. */
#define MG_MASK_MIN_BYTES 8

/* `body` with an asterisk for each byte of a secret, also of one with JSON's escapes. The body itself if it
 * holds none, otherwise a copy in the arena; absent without memory. */
struct mg_slice mg_mask(struct mg_slice body, const struct mg_slice *secrets, int count,
                        struct mg_arena *arena);

#endif
