/* Service files, and their classification of every status code. The input is the file. */
#include <strings.h>

#include "core/key.h"
#include "fuzz.h"
#include "service/service.h"

static void on_mistake(void *arg, struct mg_json_place place, const char *pointer, const char *text)
{
    int *count = arg;
    FUZZ_REQUIRE(pointer == NULL || pointer[0] == '\0' || pointer[0] == '/');
    FUZZ_REQUIRE(text[0] != '\0' && place.line >= (pointer != NULL ? 1 : 0));
    (*count)++;
}

static void calls_are_bounded(const struct mg_service *service)
{
    FUZZ_REQUIRE(service->tries >= 1 && service->try_timeout_ms >= 0);
    FUZZ_REQUIRE(service->try_backoff_ms >= 0 && service->try_max_backoff_ms >= service->try_backoff_ms);
    FUZZ_REQUIRE(service->concurrency >= 1 && service->rate_per_s >= 0);
    FUZZ_REQUIRE(service->breaker.failure_ratio > 0 && service->breaker.failure_ratio <= 1);
    FUZZ_REQUIRE(service->breaker.min_calls >= 1 && service->breaker.probes >= 1);
    FUZZ_REQUIRE(service->breaker.window_ms > 0 && service->breaker.open_ms > 0);
    FUZZ_REQUIRE(service->result_max_bytes > 0 && service->answer_max_bytes > 0);
    FUZZ_REQUIRE(service->rule_count >= 0 && service->rule_count <= MG_SERVICE_RULES_MAX);
}

/* A header with a line break would begin another header, or the body. */
static void header_is_one_line(const char *header)
{
    size_t name_len = strcspn(header, ":");
    FUZZ_REQUIRE(name_len > 0 && header[name_len] == ':');
    for (const char *at = header; *at != '\0'; at++) {
        FUZZ_REQUIRE(*at >= ' ' && *at <= '~');
    }
    FUZZ_REQUIRE(strncasecmp(header, "Idempotency-Key:", strlen("Idempotency-Key:")) != 0);
}

static void every_status_counts(const struct mg_service *service)
{
    for (int status = 100; status < 600; status++) {
        for (int kind = 0; kind < 2 * MG_KIND_COUNT; kind++) {
            const struct mg_maybe maybe =
                mg_service_classify(service, (enum mg_kind)(kind / 2), status, kind % 2 == 1);
            FUZZ_REQUIRE(maybe.outcome < MG_OUTCOME_COUNT && maybe.executed < MG_EXECUTED_COUNT);
            /* law 10, sticky maybe */
            bool is_maybe = service->rule_count == 0 && (status >= 500 || status == 408);
            FUZZ_REQUIRE(!is_maybe || maybe.executed == MG_EXECUTED_MAYBE);
        }
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct mg_slice text = {(const char *)data, size};
    struct mg_service *service = NULL;
    struct mg_err err;
    int count = 0;
    const struct mg_mistakes mistakes = {on_mistake, &count};
    if (fuzz_contains(text, "/dev/") || fuzz_contains(text, "/proc/")) {
        return 0; /* a file that never ends */
    }
    enum mg_class class = mg_service_parse(text, &mistakes, &service, &err);
    if (class != MG_OK) {
        fuzz_require_refusal(class, &err, NULL, 0);
        FUZZ_REQUIRE(service == NULL && count > 0);
        return 0;
    }
    FUZZ_REQUIRE(count == 0 && mg_name_is_valid(service->name, strlen(service->name)));
    FUZZ_REQUIRE(strncasecmp(service->url, "http", 4) == 0 && strpbrk(service->url, "?#") == NULL);
    FUZZ_REQUIRE(service->url[strlen(service->url) - 1] != '/');
    FUZZ_REQUIRE((service->client_cert_file == NULL) == (service->client_key_file == NULL));
    for (int i = 0; i <= MG_SERVICE_HEADERS_MAX && service->headers[i] != NULL; i++) {
        header_is_one_line(service->headers[i]);
    }
    FUZZ_REQUIRE(strpbrk(service->key_line, "\r\n") == NULL && strchr(service->key_line, ':') != NULL);
    if (service->auth.line != NULL) {
        header_is_one_line(service->auth.line);
    }
    FUZZ_REQUIRE(service->auth.hmac.header == NULL || service->auth.hmac.key.value != NULL);
    FUZZ_REQUIRE(service->auth.scheme == MG_AUTH_NONE || service->auth.secret.value != NULL);
    calls_are_bounded(service);
    every_status_counts(service);
    mg_service_destroy(service);
    return 0;
}
