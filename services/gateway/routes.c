/*
 * The routes, and the checks that all of them share. They come in this order: the path and the method, the
 * token, its right, the client's rate, the forms of answer, body and query.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/clock.h"
#include "core/key.h"
#include "gateway/call.h"

#define JSON      "application/json"
#define EVENTS    "text/event-stream"
#define LINES     "application/x-ndjson"
#define LIST_COST 10u /* a list of 50 orders takes the database some milliseconds, a read a tenth of one */

/* tests/unit/openapi.py reads these lines. */
static const struct mg_route ROUTES[] = {
    {"POST", "/v1/orders", MG_RIGHT_SUBMIT, 1, JSON, false, JSON, mg_submit_run,
     "202 400 401 403 406 409 413 415 422 429 503", ""},
    {"POST", "/v1/orders:batch", MG_RIGHT_SUBMIT, 1, LINES, true, LINES, mg_batch_run,
     "200 400 401 403 406 415 429 503", ""},
    {"GET", "/v1/orders", MG_RIGHT_READ, LIST_COST, NULL, false, JSON, mg_list_run,
     "200 400 401 403 406 429 503", "label state cursor"},
    {"GET", "/v1/orders/{order_id}", MG_RIGHT_READ, 1, NULL, false, JSON, mg_read_run,
     "200 400 401 403 404 406 429 503", "wait"},
    {"GET", "/v1/orders/{order_id}/events", MG_RIGHT_READ, 1, NULL, false, EVENTS, mg_events_run,
     "200 204 400 401 403 404 406 429 503", "after"},
    {"POST", "/v1/orders/{order_id}/cancel", MG_RIGHT_CANCEL, 1, JSON, false, JSON, mg_cancel_run,
     "200 400 401 403 404 406 409 413 415 429 503", ""},
    {"POST", "/v1/orders/{order_id}/signals/{signal}", MG_RIGHT_SIGNAL, 1, JSON, false, JSON, mg_signal_run,
     "200 400 401 403 404 406 409 413 415 422 429 503", ""},
    {"POST", "/v1/signals/{signal}", MG_RIGHT_SIGNAL, 1, JSON, false, JSON, mg_signal_run,
     "200 400 401 403 406 409 413 415 422 429 503", "key"},
    {"POST", "/v1/callbacks/{token}", 0, 1, NULL, false, JSON, mg_callback_run, "200 400 404 409 413 503",
     ""},
};
#define ROUTE_COUNT (sizeof(ROUTES) / sizeof(ROUTES[0]))

/* Takes the part of the path that stands for the mark at `*form`; false: it is no such part. */
static bool part_take(const char **form, const char **path, struct mg_call *call)
{
    static const char ORDER[] = "{order_id}", SIGNAL[] = "{signal}";
    size_t len = strcspn(*path, "/");
    char *part = call->signal;
    bool is_valid = mg_name_is_valid(*path, len);
    if (strncmp(*form, ORDER, strlen(ORDER)) == 0) {
        part = call->order_id;
        is_valid = mg_order_id_is_valid(*path, len);
    } else if (strncmp(*form, SIGNAL, strlen(SIGNAL)) != 0) { /* the rest of the path */
        *form = *path = "";
        return true;
    }
    if (is_valid) {
        memcpy(part, *path, len);
        part[len] = '\0';
    }
    *form = strchr(*form, '}') + 1;
    *path += len;
    return is_valid;
}

/* Whether the path has the form of the route's; the call gets its parts. */
static bool path_matches(const char *form, const char *path, struct mg_call *call)
{
    while (*form != '\0') {
        if (*form == '{') {
            if (!part_take(&form, &path, call)) {
                return false;
            }
        } else if (*form++ != *path++) {
            return false;
        }
    }
    return *path == '\0';
}

/* NULL: there is no such route. `call->allow` gets the methods that the path has. */
static const struct mg_route *route_find(struct mg_call *call, const char *method, const char *path)
{
    const char *wanted = strcmp(method, "HEAD") == 0 ? "GET" : method;
    size_t len = 0;
    for (size_t i = 0; i < ROUTE_COUNT; i++) {
        if (path_matches(ROUTES[i].path, path, call)) {
            if (strcmp(ROUTES[i].method, wanted) == 0) {
                return &ROUTES[i];
            }
            len += (size_t)snprintf(call->allow + len, sizeof(call->allow) - len, "%s%s", len > 0 ? ", " : "",
                                    ROUTES[i].method);
        }
    }
    return NULL;
}

/* The page's origin, if the options name it. */
static const char *origin_of(const struct mg_gateway *gateway, const struct mg_http_exchange *request)
{
    const char *origin = mg_http_exchange_header(request, "Origin");
    for (int i = 0; origin != NULL && i < gateway->options->origins->count; i++) {
        if (strcmp(gateway->options->origins->items[i], origin) == 0) {
            return gateway->options->origins->items[i];
        }
    }
    return NULL;
}

/* Whether a header's media type, up to its parameters, is `type`. */
static bool is_type(const char *text, size_t len, const char *type)
{
    size_t end = 0;
    while (end < len && text[end] != ';') {
        end++;
    }
    while (end > 0 && strchr(" \t", text[end - 1]) != NULL) {
        end--;
    }
    return end == strlen(type) && strncasecmp(text, type, end) == 0;
}

/* Whether `range` of the header Accept has the type, up to its parameters. */
static bool is_in_range(const char *range, size_t len, const char *type)
{
    char all[32];
    (void)snprintf(all, sizeof(all), "%.*s*", (int)(strchr(type, '/') + 1 - type), type);
    return is_type(range, len, "*/*") || is_type(range, len, all) || is_type(range, len, type);
}

static bool is_accepted(const struct mg_http_exchange *request, const char *type)
{
    const char *accept = mg_http_exchange_header(request, "Accept");
    while (accept != NULL && *accept != '\0') {
        accept += strspn(accept, " \t,");
        size_t len = strcspn(accept, ",");
        if (is_in_range(accept, len, type)) {
            return true;
        }
        accept += len;
    }
    return mg_http_exchange_header(request, "Accept") == NULL;
}

static bool is_body_fit(const struct mg_route *route, const struct mg_http_exchange *request)
{
    const char *type = mg_http_exchange_header(request, "Content-Type");
    if (route->takes == NULL || (!route->needs_body && mg_http_exchange_body(request).len == 0)) {
        return true;
    }
    return type != NULL && is_type(type, strlen(type), route->takes);
}

static void call_check(struct mg_call *call)
{
    unsigned int rights = 0;
    const struct mg_route *route = call->route;
    const char *fault = mg_http_exchange_query_fault(call->request, route->parameters);
    call->client = mg_client_find(call->gateway->clients, call->request, &rights);
    if (call->client == NULL) {
        if (mg_http_exchange_header(call->request, "Authorization") != NULL) {
            mg_clients_log_refusal(call->gateway->clients);
        }
        mg_call_refuse(call, 401,
                       "expected the header Authorization: Bearer TOKEN with the token of a client");
    } else if (!(rights & route->right)) {
        mg_call_refuse(call, 403, "the token of client %s does not have the right for this",
                       mg_client_name(call->client));
    } else if (!mg_client_count(call->client, route->cost)) {
        mg_call_refuse(call, 429, "client %s makes more than %lld requests a second; try again later",
                       mg_client_name(call->client), (long long)call->gateway->options->rate_per_s);
    } else if (!is_accepted(call->request, route->answers)) {
        mg_call_refuse(call, 406, "the answer is %s, which the header Accept excludes", route->answers);
    } else if (!is_body_fit(route, call->request)) {
        mg_call_refuse(call, 415, "expected a body of the type %s", route->takes);
    } else if (fault != NULL) {
        mg_call_refuse(call, 400, "%.80s: not expected in the query, or only once; it may have: %s", fault,
                       route->parameters[0] != '\0' ? route->parameters : "nothing");
    } else {
        route->run(call);
    }
}

static void on_gone(void *arg)
{
    struct mg_call *call = arg;
    call->request = NULL;
    call->post.body = (struct mg_slice){0};
}

static void no_memory_answer(struct mg_http_exchange *request)
{
    const struct mg_http_response answer = {
        .status = 503,
        .type = "application/problem+json",
        .body =
            mg_slice_of("{\"type\": \"about:blank\", \"title\": \"Service Unavailable\", \"status\": 503, "
                        "\"detail\": \"no memory\"}\n")};
    mg_http_answer(request, &answer);
}

bool mg_gateway_takes_pieces(void *arg, const char *method, const char *path)
{
    (void)arg;
    for (size_t i = 0; i < ROUTE_COUNT; i++) {
        if (ROUTES[i].needs_body && strcmp(ROUTES[i].method, method) == 0 &&
            strcmp(ROUTES[i].path, path) == 0) {
            return true;
        }
    }
    return false;
}

bool mg_gateway_admit(void *arg, struct mg_http_exchange *request)
{
    struct mg_gateway *gateway = arg;
    struct mg_call call = {0};
    unsigned int rights = 0;
    const struct mg_route *route =
        route_find(&call, mg_http_exchange_method(request), mg_http_exchange_path(request));
    bool is_open = route != NULL && route->right == 0;
    if (is_open || (route != NULL && mg_client_find(gateway->clients, request, &rights) != NULL &&
                    (rights & route->right) != 0)) {
        return true;
    }
    mg_gateway_route(gateway, request);
    return false;
}

void mg_gateway_route(void *arg, struct mg_http_exchange *request)
{
    struct mg_gateway *gateway = arg;
    const char *method = mg_http_exchange_method(request);
    struct mg_call *call = calloc(1, sizeof(*call));
    if (call == NULL) {
        no_memory_answer(request);
        return;
    }
    call->gateway = gateway;
    call->request = request;
    call->began_us = mg_clock_boot_us();
    call->origin = origin_of(gateway, request);
    call->route = route_find(call, method, mg_http_exchange_path(request));
    TAILQ_INSERT_TAIL(&gateway->calls, call, entry);
    mg_http_exchange_on_gone(request, on_gone, call);
    if (call->route != NULL && call->route->right == 0) {
        call->route->run(call);
    } else if (call->route != NULL) {
        call_check(call);
    } else if (call->allow[0] == '\0') {
        mg_call_refuse(call, 404, "there is no such address; proto/openapi.yaml lists all");
    } else if (strcmp(method, "OPTIONS") == 0 && call->origin != NULL) {
        mg_call_permit(call);
    } else {
        mg_call_refuse(call, 405, "this address does not have the method");
    }
}
