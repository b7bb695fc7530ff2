/*
 * A client of our HTTP server: it sends the given bytes, closes its side and receives the answers. The
 * connection is one half of a socket pair, given to libmicrohttpd as an accepted one. A target that uses it
 * wraps MHD_get_daemon_info.
 */
#ifndef MG_TESTS_FUZZ_HTTP_PEER_H
#define MG_TESTS_FUZZ_HTTP_PEER_H

#include "base/loop.h"
#include "fuzz.h"

struct http_answers {
    struct mg_buf bytes; /* the caller finishes it */
    bool is_whole;       /* the server has closed its side: no more bytes can follow */
};

/* Sends a request to the server that was created last, and runs the loop until the server closes. A time
 * limit ends the wait for an endless answer, or for a client that sends only half a request. */
void http_peer_ask(struct mg_loop *loop, struct mg_slice bytes, struct http_answers *ret_answers);

#endif
