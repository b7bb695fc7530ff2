/*
 * Reads a service file with the defaults that proto/service.schema.json documents.
 */
#include "service/service.h"

#include <stdlib.h>
#include <string.h>

#include "base/secret.h"
#include "service/file_reader.h"
#include "wire/http_url.h"
#include "wire/reply.h"
#include "wire/request.h"
#include "wire/service_control.h"

#define TRIES_DEFAULT          3
#define TRY_BACKOFF_DEFAULT_MS 100
#define TRY_MAX_BACKOFF_MS     2000
#define CONCURRENCY_DEFAULT    64
#define FAILURE_RATIO_DEFAULT  0.5
#define MIN_CALLS_DEFAULT      20
#define BREAKER_WINDOW_MS      10000
#define BREAKER_OPEN_MS        5000
#define ANSWER_MAX_DEFAULT     (1024 * 1024)
#define ANSWER_MAX_MAX         (64 * 1024 * 1024) /* times the calls in flight this is the agent's memory */
#define RESULT_MAX_MAX         (128 * 1024)       /* fits a reply, and several of them a request */
#define TIME_MAX_MS            INT64_C(3600000)

static const char *const NAMES[] = {
    "$schema", "service",     "url",         "headers",          "tls",
    "tries",   "try_timeout", "try_backoff", "try_max_backoff",  "concurrency",
    "rate",    "breaker",     "result",      "answer_max_bytes", "fresh_connection",
    "answers", "key",         "auth",        "response",         "error",
    "proxy",   NULL};
static const char *const RESPONSES[] = {"json", "text", NULL};
static const char *const TLS_NAMES[] = {"ca_file", "cert_file", "key_file", NULL};
static const char *const BREAKER_NAMES[] = {"failure_ratio", "min_calls", "window",
                                            "open_for",      "probes",    NULL};
static const char *const RESULT_NAMES[] = {"max_bytes", "pointer", NULL};

/* The fault of the URL, or NULL. */
static const char *url_fault(const char *text, enum mg_class class, const struct mg_http_url *url)
{
    if (strpbrk(text, "?#") != NULL) {
        return "a service's URL has no query and no fragment; steps bring their paths";
    }
    if (class != MG_OK) {
        return "not a URL; write \"http://host:port\" or \"https://host/base\"";
    }
    if (!url->is_http) {
        return "only http and https are spoken; write \"https://host/base\"";
    }
    if (!url->has_host) {
        return "the URL has no host; write \"https://host/base\"";
    }
    if (url->has_user) {
        return "no user or password in the URL, it would show in logs; use \"headers\" with a value from a "
               "file";
    }
    return NULL;
}

/* Plaintext to a proxy on another machine crosses the network, wherever the service is. */
static void judge_plaintext(struct mg_service *service)
{
    struct mg_http_url proxy, *endpoints[] = {&service->endpoint, &service->auth.oauth2.endpoint};
    if (service->proxy == NULL || mg_http_proxy_fault(service->proxy, &proxy) != NULL) {
        return;
    }
    for (size_t i = 0; i < sizeof(endpoints) / sizeof(endpoints[0]); i++) {
        endpoints[i]->is_plaintext =
            endpoints[i]->is_plaintext || (!endpoints[i]->is_tls && proxy.is_plaintext);
    }
}

static void read_proxy(const struct mg_json_object *object, struct mg_service *service)
{
    struct mg_http_url proxy;
    service->proxy = mg_service_read_text(object, "proxy", MG_OPTIONAL);
    const char *wrong = service->proxy != NULL ? mg_http_proxy_fault(service->proxy, &proxy) : NULL;
    if (wrong != NULL) {
        mg_json_member_fault(object, MG_BAD_INPUT, "proxy", "%s", wrong);
    }
    judge_plaintext(service);
}

/* Takes `text` as the URL. MG_BAD_INPUT: `*ret_wrong` is its fault. */
static enum mg_class url_take(struct mg_service *service, char *text, const char **ret_wrong)
{
    enum mg_class class = mg_http_url_parse(text, &service->endpoint);
    *ret_wrong = class != MG_TRANSIENT ? url_fault(text, class, &service->endpoint) : NULL;
    for (size_t len = strlen(text); len > 0 && text[len - 1] == '/'; len--) {
        text[len - 1] = '\0'; /* paths begin with a slash */
    }
    free(service->url);
    service->url = text;
    judge_plaintext(service);
    return class == MG_TRANSIENT ? MG_TRANSIENT : *ret_wrong != NULL ? MG_BAD_INPUT : MG_OK;
}

static void read_url(const struct mg_json_object *object, struct mg_service *service)
{
    char *text = mg_service_read_text(object, "url", MG_REQUIRED);
    const char *wrong = NULL;
    enum mg_class class = text != NULL ? url_take(service, text, &wrong) : MG_OK;
    if (class != MG_OK) {
        mg_json_member_fault(object, class, "url", "%s",
                             wrong != NULL ? wrong : "could not be read: no memory");
    }
}

enum mg_class mg_service_set_url(struct mg_service *service, const char *url, struct mg_err *err)
{
    const char *wrong = NULL;
    char *text = strdup(url);
    enum mg_class class = text != NULL ? url_take(service, text, &wrong) : MG_TRANSIENT;
    return class == MG_OK ? class
                          : mg_err_set(err, class, "%.200s: %s", url,
                                       wrong != NULL ? wrong : "could not be read: no memory");
}

static void read_tls(const struct mg_json_object *object, struct mg_service *service)
{
    struct mg_json_object tls;
    if (!mg_service_open_part(object, "tls", TLS_NAMES, &tls)) {
        return;
    }
    service->ca_file = mg_service_read_text(&tls, "ca_file", MG_OPTIONAL);
    service->client_cert_file = mg_service_read_text(&tls, "cert_file", MG_OPTIONAL);
    service->client_key_file = mg_service_read_text(&tls, "key_file", MG_OPTIONAL);
    bool has_cert = mg_json_get(&tls, "cert_file", MG_OPTIONAL).data != NULL;
    bool has_key = mg_json_get(&tls, "key_file", MG_OPTIONAL).data != NULL;
    if (has_cert != has_key) {
        mg_json_fault(tls.faults, MG_BAD_INPUT, tls.pointer,
                      "\"cert_file\" and \"key_file\" belong together; give both or none");
    }
}

static void read_breaker(const struct mg_json_object *object, struct mg_service *service)
{
    struct mg_json_object breaker;

    service->breaker.failure_ratio = FAILURE_RATIO_DEFAULT;
    service->breaker.min_calls = MIN_CALLS_DEFAULT;
    service->breaker.window_ms = BREAKER_WINDOW_MS;
    service->breaker.open_ms = BREAKER_OPEN_MS;
    service->breaker.probes = 1;
    if (!mg_service_open_part(object, "breaker", BREAKER_NAMES, &breaker)) {
        return;
    }
    service->breaker.failure_ratio =
        mg_json_get_number(&breaker, "failure_ratio", 0, 1, FAILURE_RATIO_DEFAULT);
    service->breaker.min_calls =
        (int)mg_json_get_integer(&breaker, "min_calls", MG_OPTIONAL, 1, 1000000, MIN_CALLS_DEFAULT);
    service->breaker.window_ms = mg_json_get_duration(&breaker, "window", TIME_MAX_MS, BREAKER_WINDOW_MS);
    service->breaker.open_ms = mg_json_get_duration(&breaker, "open_for", TIME_MAX_MS, BREAKER_OPEN_MS);
    service->breaker.probes =
        (int)mg_json_get_integer(&breaker, "probes", MG_OPTIONAL, 1, MG_SERVICE_CONCURRENCY_MAX, 1);
}

static void read_result(const struct mg_json_object *object, struct mg_service *service)
{
    struct mg_json_object result;

    service->is_text_answer =
        mg_json_get_word(object, "response", MG_OPTIONAL, RESPONSES, MG_BAD_INPUT, 0) == 1;
    service->result_max_bytes = MG_RESULT_MAX_DEFAULT;
    service->answer_max_bytes = (size_t)mg_json_get_integer(object, "answer_max_bytes", MG_OPTIONAL, 1024,
                                                            ANSWER_MAX_MAX, ANSWER_MAX_DEFAULT);
    if (!mg_service_open_part(object, "result", RESULT_NAMES, &result)) {
        return;
    }
    service->result_max_bytes = (size_t)mg_json_get_integer(&result, "max_bytes", MG_OPTIONAL, 1,
                                                            RESULT_MAX_MAX, MG_RESULT_MAX_DEFAULT);
    service->result_pointer = mg_service_read_text(&result, "pointer", MG_OPTIONAL);
    if (service->result_pointer != NULL && !mg_json_pointer_is_valid(service->result_pointer)) {
        mg_json_member_fault(
            &result, MG_BAD_INPUT, "pointer",
            "\"%.80s\" is no JSON pointer; write \"/member/…\", with \"~0\" for \"~\" and \"~1\" for "
            "\"/\" in a name",
            service->result_pointer);
    }
}

static void read_tries(const struct mg_json_object *object, struct mg_service *service)
{
    service->tries = (int)mg_json_get_integer(object, "tries", MG_OPTIONAL, 1, 20, TRIES_DEFAULT);
    service->try_timeout_ms = mg_json_get_duration(object, "try_timeout", MG_STEP_COMPLETE_WITHIN_MAX_MS, 0);
    service->try_backoff_ms =
        mg_json_get_duration(object, "try_backoff", TIME_MAX_MS, TRY_BACKOFF_DEFAULT_MS);
    int64_t max_default =
        service->try_backoff_ms > TRY_MAX_BACKOFF_MS ? service->try_backoff_ms : TRY_MAX_BACKOFF_MS;
    service->try_max_backoff_ms = mg_json_get_duration(object, "try_max_backoff", TIME_MAX_MS, max_default);
    if (service->try_max_backoff_ms < service->try_backoff_ms) {
        mg_json_member_fault(object, MG_BAD_INPUT, "try_max_backoff",
                             "less than \"try_backoff\"; it must be the same or more");
    }
    service->concurrency = (int)mg_json_get_integer(object, "concurrency", MG_OPTIONAL, 1,
                                                    MG_SERVICE_CONCURRENCY_MAX, CONCURRENCY_DEFAULT);
    service->rate_per_s = mg_json_get_number(object, "rate", 0, MG_SERVICE_RATE_MAX, 0);
    service->is_fresh_connection = mg_json_get_bool(object, "fresh_connection", MG_OPTIONAL, false);
}

static enum mg_class service_read(struct mg_slice text, const struct mg_mistakes *mistakes,
                                  bool is_without_secrets, struct mg_service **ret_service,
                                  struct mg_err *err)
{
    struct mg_json_faults faults = mg_json_definition_faults(text, mistakes, err);
    struct mg_json_object object;
    struct mg_service *service = calloc(1, sizeof(*service));

    if (service == NULL) {
        return mg_err_set(err, MG_TRANSIENT, "could not read a service file: no memory");
    }
    service->auth.is_without_secrets = is_without_secrets;
    if (mg_json_definition_open(&object, &faults, &MG_JSON_LIMITS_DEFAULT, NAMES)) {
        (void)mg_json_get_typed(&object, "$schema", MG_OPTIONAL, MG_JSON_STRING); /* for editors */
        mg_json_get_name(&object, "service", MG_REQUIRED, service->name);
        read_url(&object, service);
        mg_service_read_headers(&object, service);
        mg_service_read_key(&object, service);
        mg_service_read_auth(&object, service);
        read_proxy(&object, service);
        read_tls(&object, service);
        read_tries(&object, service);
        read_breaker(&object, service);
        read_result(&object, service);
        mg_service_read_answers(&object, service);
        mg_service_read_error(&object, service);
    }
    if (faults.class != MG_OK) {
        mg_service_destroy(service);
        return mg_json_faults_end(&faults);
    }
    *ret_service = service;
    return MG_OK;
}

enum mg_class mg_service_parse(struct mg_slice text, const struct mg_mistakes *mistakes,
                               struct mg_service **ret_service, struct mg_err *err)
{
    return service_read(text, mistakes, false, ret_service, err);
}

enum mg_class mg_service_parse_rules(struct mg_slice text, const struct mg_mistakes *mistakes,
                                     struct mg_service **ret_service, struct mg_err *err)
{
    return service_read(text, mistakes, true, ret_service, err);
}

void mg_service_destroy(struct mg_service *service)
{
    if (service == NULL) {
        return;
    }
    for (int i = 0; i < MG_SERVICE_HEADERS_MAX; i++) {
        mg_secret_free(service->headers[i]);
        mg_secret_free(service->old_headers[i]);
        free(service->header_files[i]);
    }
    mg_service_auth_finish(&service->auth);
    free(service->key_line);
    free(service->url);
    free(service->proxy);
    free(service->ca_file);
    free(service->client_cert_file);
    free(service->client_key_file);
    free(service->result_pointer);
    mg_service_error_free(service);
    free(service);
}
