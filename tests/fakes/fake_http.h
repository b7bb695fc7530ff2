/*
 * An HTTP client without a network. Kept: each call as it was made, an answer for each, once, at the test's
 * command; a call that cannot begin. Not kept: connections, time-outs, the order of answers, the room for
 * their bytes.
 */
#ifndef MG_TESTS_FAKE_HTTP_H
#define MG_TESTS_FAKE_HTTP_H

#include "io/http/client.h"

#define FAKE_CALLS_MAX 512

struct fake_call {
    char method[16], url[512], headers[2048], body[2048]; /* headers: each with its end of line */
    int64_t timeout_ms;
    bool is_fresh, is_open, is_cancelled;
    mg_http_done_fn *done;
    void *arg;
};

extern struct fake_http {
    struct mg_http_client_options options;
    struct fake_call calls[FAKE_CALLS_MAX];
    int count;
    enum mg_class refusal;                         /* not MG_OK: each call is refused so */
    void (*on_call)(const struct fake_call *call); /* NULL: none; of a refused one, too, which is not open */
} fake_http;

void fake_http_reset(void);
void fake_http_answer(int call, const struct mg_http_answer *answer);
/* The value of the header with this name, up to its end of line; NULL: there is none. */
const char *fake_http_header(const struct fake_call *call, const char *name);

#endif
