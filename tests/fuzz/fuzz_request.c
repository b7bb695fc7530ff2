/* Requests as an agent reads them: the message that leads to a call of a service. The input is the body. */
#include "fuzz.h"
#include "wire/http_url.h"
#include "wire/request.h"

#define ARENA_MAX (1024 * 1024)

static void is_same(const struct mg_request *a, const struct mg_request *b)
{
    FUZZ_REQUIRE(strcmp(a->order_id, b->order_id) == 0 && strcmp(a->step, b->step) == 0);
    FUZZ_REQUIRE(strcmp(a->service, b->service) == 0 && a->attempt == b->attempt && a->kind == b->kind);
    FUZZ_REQUIRE(strcmp(a->idempotency_key, b->idempotency_key) == 0 && strcmp(a->do_key, b->do_key) == 0);
    FUZZ_REQUIRE(a->complete_by_ms == b->complete_by_ms && a->sent_at_ms == b->sent_at_ms);
    FUZZ_REQUIRE(a->is_at_most_once == b->is_at_most_once && a->is_pollable == b->is_pollable);
    FUZZ_REQUIRE(mg_slice_equal(a->method, b->method) && mg_slice_equal(a->path, b->path));
    FUZZ_REQUIRE(a->version == b->version && a->is_text_answer == b->is_text_answer);
    FUZZ_REQUIRE(mg_slice_equal(a->content_type, b->content_type));
    FUZZ_REQUIRE((a->headers == NULL) == (b->headers == NULL));
    for (int i = 0; a->headers != NULL && (a->headers[i] != NULL || b->headers[i] != NULL); i++) {
        FUZZ_REQUIRE(strcmp(a->headers[i], b->headers[i]) == 0);
    }
    FUZZ_REQUIRE(mg_slice_equal(a->content, b->content) && strcmp(a->traceparent, b->traceparent) == 0);
}

static void try_request(struct mg_slice body, struct mg_arena *arena)
{
    struct mg_request request, again;
    struct mg_buf first, second;
    struct mg_err err;
    FUZZ_POISON(request);
    enum mg_class class = mg_request_parse(body, arena, &request, &err);
    if (class != MG_OK) {
        FUZZ_REQUIRE_REFUSAL(class, err, request);
        return;
    }
    FUZZ_REQUIRE(request.attempt > 0 && request.kind < MG_KIND_COUNT);
    FUZZ_REQUIRE(mg_path_fault(request.path) == NULL);
    FUZZ_REQUIRE(memchr(request.path.data, '\0', request.path.len) == NULL);
    FUZZ_REQUIRE(request.content.data == NULL || request.content_type.data != NULL ||
                 fuzz_is_within(request.content, body));
    for (int i = 0; request.headers != NULL && request.headers[i] != NULL; i++) {
        FUZZ_REQUIRE(strpbrk(request.headers[i], "\r\n") == NULL);
    }
    mg_buf_init(&first, FUZZ_TEXT_MAX);
    mg_buf_init(&second, FUZZ_TEXT_MAX);
    mg_request_write(&request, &first);
    FUZZ_REQUIRE(mg_request_parse(mg_buf_slice(&first), arena, &again, &err) == MG_OK);
    is_same(&request, &again);
    mg_request_write(&again, &second);
    fuzz_require_same(&first, &second);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct mg_arena *arena = mg_arena_create(ARENA_MAX);
    FUZZ_REQUIRE(arena != NULL);
    try_request((struct mg_slice){(const char *)data, size}, arena);
    mg_arena_destroy(arena);
    return 0;
}
