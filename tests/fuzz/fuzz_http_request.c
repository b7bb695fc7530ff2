/*
 * Requests of strangers to /healthz, /readyz and /metrics: the HTTP server on libmicrohttpd. The input is a
 * client's bytes before it closes its side.
 */
#include <stdio.h>

#include "http_peer.h"
#include "io/http/server.h"

static struct mg_loop *loop;

static bool is_ready(void *arg, char *ret_reason, size_t size)
{
    bool *was_ready = arg;
    *was_ready = !*was_ready;
    (void)snprintf(ret_reason, size, "the broker is away");
    return *was_ready;
}

static void prepare(void)
{
    static bool was_ready;
    static struct mg_http_server *server;
    const struct mg_http_server_options options = {
        .address = "127.0.0.1:0", .metrics = mg_metrics_create(), .is_ready = is_ready, .arg = &was_ready};
    struct mg_err err;
    loop = mg_loop_create();
    FUZZ_REQUIRE(loop != NULL && options.metrics != NULL);
    FUZZ_REQUIRE(mg_http_server_create(loop, &options, &server, &err) == MG_OK);
}

/* An answer is one of the server's own, or the library's refusal. */
static void answer_is_sound(struct mg_slice all)
{
    static const char *const statuses[] = {"200", "404", "405", "503", "400", "411", "413",
                                           "414", "417", "431", "500", "501", "505", "100"};
    bool is_known = all.len == 0;
    for (size_t i = 0; i < sizeof(statuses) / sizeof(statuses[0]) && !is_known; i++) {
        for (int minor = 0; minor <= 1; minor++) {
            char line[32];
            (void)snprintf(line, sizeof(line), "HTTP/1.%d %s ", minor, statuses[i]);
            is_known = is_known || (all.len >= strlen(line) && memcmp(all.data, line, strlen(line)) == 0);
        }
    }
    FUZZ_REQUIRE(is_known);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct http_answers answers;
    if (loop == NULL) {
        prepare();
    }
    http_peer_ask(loop, (struct mg_slice){(const char *)data, size}, &answers);
    answer_is_sound(mg_buf_slice(&answers.bytes));
    mg_buf_finish(&answers.bytes);
    return 0;
}
