/*
 * Dispatch by path. The services' collections may stand under the service's name too
 * (/inventory/reservations), so that one base URL can serve all three.
 */
#include <jansson.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "exchange.h"

static const struct route {
    const char *service, *collection;
} routes[] = {{"inventory", "/reservations"}, {"payment", "/charges"}, {"carrier", "/bookings"}};

enum { ROUTE_COUNT = sizeof(routes) / sizeof(routes[0]) };

static const char by_key[] = "/by-key/";

/* Words that may follow a key with POST; they all undo. */
static const char *const undo_verbs[] = {"/refund", "/cancel", "/undo"};

static bool is_method(const struct exchange *exchange, const char *method)
{
    return strcmp(exchange->method, method) == 0;
}

/* The part of `text` after `prefix`, or NULL. */
static const char *after(const char *text, const char *prefix)
{
    size_t len = strlen(prefix);
    return strncmp(text, prefix, len) == 0 ? text + len : NULL;
}

static enum MHD_Result answer_not_allowed(const struct exchange *exchange)
{
    return answer_error(exchange, MHD_HTTP_METHOD_NOT_ALLOWED, "method", "not with this path");
}

/* Notes the call's trace, if it has one (W3C Trace Context). A failure to note it harms no order. */
static void note_trace(const struct exchange *exchange, const char *service, const char *key)
{
    const char *traceparent =
        MHD_lookup_connection_value(exchange->connection, MHD_HEADER_KIND, "traceparent");
    if (traceparent) {
        (void)ledger_note_trace(exchange->remote->ledger, service, key, traceparent);
    }
}

static enum MHD_Result serve_key(const struct exchange *exchange, const char *service, const char *rest)
{
    char key[KEY_MAX_LEN + 16];
    size_t len = strlen(rest);
    if (len == 0 || len >= sizeof(key)) {
        return answer_error(exchange, MHD_HTTP_BAD_REQUEST, "key", "no such key");
    }
    memcpy(key, rest, len + 1);
    bool is_post = is_method(exchange, "POST");
    for (size_t i = 0; is_post && i < sizeof(undo_verbs) / sizeof(undo_verbs[0]); i++) {
        size_t verb_len = strlen(undo_verbs[i]);
        if (len > verb_len && strcmp(key + len - verb_len, undo_verbs[i]) == 0) {
            key[len - verb_len] = '\0';
        }
    }
    note_trace(exchange, service, key);
    if (is_method(exchange, "GET") || is_method(exchange, "HEAD")) {
        return serve_get(exchange, service, key);
    }
    if (is_post || is_method(exchange, "DELETE")) {
        return serve_undo(exchange, service, key);
    }
    return answer_not_allowed(exchange);
}

static enum MHD_Result serve_collection(const struct exchange *exchange, const struct route *route,
                                        const char *rest)
{
    if (exchange->remote->only_service && strcmp(exchange->remote->only_service, route->service) != 0) {
        return answer_error(exchange, MHD_HTTP_NOT_FOUND, "not_served", "another service's");
    }
    const char *key = after(rest, by_key);
    if (key) {
        return serve_key(exchange, route->service, key);
    }
    if (rest[0] != '\0') {
        return answer_error(exchange, MHD_HTTP_NOT_FOUND, "path", "no such path");
    }
    if (!is_method(exchange, "POST")) {
        return answer_not_allowed(exchange);
    }
    key = MHD_lookup_connection_value(exchange->connection, MHD_HEADER_KIND, "Idempotency-Key");
    if (!key || key[0] == '\0' || strlen(key) > KEY_MAX_LEN) {
        return answer_error(exchange, MHD_HTTP_BAD_REQUEST, "key",
                            "the header Idempotency-Key is missing or too long");
    }
    note_trace(exchange, route->service, key);
    return serve_do(exchange, route->service, key);
}

/* Calls of the services under way, and their maximum since it was last read. */
static atomic_int calls_now, calls_most;

static enum MHD_Result serve_call(const struct exchange *exchange, const struct route *route,
                                  const char *rest)
{
    int now = atomic_fetch_add(&calls_now, 1) + 1, most = atomic_load(&calls_most);
    while (now > most && !atomic_compare_exchange_weak(&calls_most, &most, now)) {
    }
    enum MHD_Result result = serve_collection(exchange, route, rest);
    atomic_fetch_sub(&calls_now, 1);
    return result;
}

static enum MHD_Result serve_load(const struct exchange *exchange)
{
    char text[64];
    int now = atomic_load(&calls_now);
    (void)snprintf(text, sizeof(text), "{\"now\":%d,\"most\":%d}", now, atomic_exchange(&calls_most, now));
    return answer_json(exchange, MHD_HTTP_OK, text, NULL, NULL);
}

static bool touches_parse(const char *text, enum mode mode, int *ret_touches)
{
    static const struct {
        const char *name;
        int on;
    } words[] = {{"do", ON_DO}, {"undo", ON_UNDO}, {"get", ON_GET}, {"verify", ON_GET}, {"all", ON_ALL}};
    *ret_touches = behaviour_default_on(mode);
    if (!text) {
        return true;
    }
    for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
        if (strcmp(words[i].name, text) == 0) {
            *ret_touches = words[i].on;
            return true;
        }
    }
    return false;
}

static enum MHD_Result serve_switch(const struct exchange *exchange, const char *service)
{
    bool is_known = false;
    for (int i = 0; i < ROUTE_COUNT; i++) {
        is_known = is_known || strcmp(routes[i].service, service) == 0;
    }
    if (!is_known) {
        return answer_error(exchange, MHD_HTTP_NOT_FOUND, "service", "no such service");
    }
    if (!is_method(exchange, "PUT") && !is_method(exchange, "POST")) {
        return answer_not_allowed(exchange);
    }
    const char *mode = NULL, *on = NULL;
    json_int_t count = -1;
    struct behaviour behaviour;
    int touches = 0;
    enum MHD_Result result;
    json_t *root = json_loadb(exchange->body, exchange->body_len, 0, NULL);
    if (json_unpack(root, "{s:s, s?:I, s?:s}", "mode", &mode, "count", &count, "on", &on) != 0 ||
        !behaviour_parse(mode, &behaviour) || !touches_parse(on, behaviour.mode, &touches)) {
        result = answer_error(exchange, MHD_HTTP_BAD_REQUEST, "switch",
                              "expected {\"mode\": \"unavailable\", \"count\": 3, \"on\": \"all\"}");
    } else if (!ledger_switch_set(exchange->remote->ledger, service, mode, count < 0 ? -1 : count, touches)) {
        result = answer_error(exchange, MHD_HTTP_INTERNAL_SERVER_ERROR, "ledger",
                              "the ledger could not be written");
    } else {
        result = answer_json(exchange, MHD_HTTP_OK, "{\"state\":\"set\"}", NULL, NULL);
    }
    json_decref(root);
    return result;
}

static enum MHD_Result serve_ledger(const struct exchange *exchange)
{
    struct MHD_Connection *connection = exchange->connection;
    const char *service = MHD_lookup_connection_value(connection, MHD_GET_ARGUMENT_KIND, "service");
    const char *key = MHD_lookup_connection_value(connection, MHD_GET_ARGUMENT_KIND, "key");
    const char *entries = MHD_lookup_connection_value(connection, MHD_GET_ARGUMENT_KIND, "entries");
    char *text =
        ledger_report(exchange->remote->ledger, service, key, !entries || strcmp(entries, "no") != 0);
    if (!text) {
        return answer_error(exchange, MHD_HTTP_INTERNAL_SERVER_ERROR, "ledger", "it could not be read");
    }
    enum MHD_Result result = answer_json(exchange, MHD_HTTP_OK, text, NULL, NULL);
    free(text);
    return result;
}

enum MHD_Result serve(const struct exchange *exchange)
{
    const char *path = exchange->path, *rest;
    if (exchange->is_over) {
        return answer_error(exchange, 413, "too_large", "the body is above 4 MiB");
    }
    if (strcmp(path, "/healthz") == 0) {
        return answer_json(exchange, MHD_HTTP_OK, "{\"state\":\"ok\"}", NULL, NULL);
    }
    if (strcmp(path, "/ledger") == 0) {
        return is_method(exchange, "GET") ? serve_ledger(exchange) : answer_not_allowed(exchange);
    }
    if (strcmp(path, "/load") == 0) {
        return is_method(exchange, "POST") ? serve_load(exchange) : answer_not_allowed(exchange);
    }
    if ((rest = after(path, "/switches/"))) {
        return serve_switch(exchange, rest);
    }
    for (int i = 0; i < ROUTE_COUNT; i++) {
        const char *below = path[0] == '/' ? after(path + 1, routes[i].service) : NULL;
        rest = after(below && below[0] == '/' ? below : path, routes[i].collection);
        if (rest && (rest[0] == '\0' || rest[0] == '/')) {
            return serve_call(exchange, &routes[i], rest);
        }
    }
    return answer_error(exchange, MHD_HTTP_NOT_FOUND, "path", "no such path");
}
