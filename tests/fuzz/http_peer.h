/*
 * A client of our HTTP server that sends what it is told, closes its side and hears what comes back. The
 * connection is one half of a socket pair, given to libmicrohttpd as if it had been accepted. A target that
 * uses it wraps MHD_get_daemon_info.
 */
#ifndef MG_TESTS_FUZZ_HTTP_PEER_H
#define MG_TESTS_FUZZ_HTTP_PEER_H

#include "base/loop.h"
#include "fuzz.h"

struct http_answers {
    struct mg_buf bytes; /* the caller's to finish */
    bool is_whole;       /* the server has closed its side: nothing more would come */
};

/* Asks the server that was created last, and runs the loop until it has let go of the client, or for so long
 * that only an answer without end, or a client that says only half, can need more. */
void http_peer_ask(struct mg_loop *loop, struct mg_slice bytes, struct http_answers *ret_answers);

#endif
