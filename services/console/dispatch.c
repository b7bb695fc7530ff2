/*
 * Dispatches requests and checks permissions. The Host header must name this console. An attacker can point
 * the name of another site to this address; pages of that site are refused. Every change is a POST with a
 * CSRF token that only this console's own page can read.
 */
#include <string.h>

#include "base/host.h"
#include "console/console_parts.h"

#define API       "/api/v1/"
#define LOGIN_MAX 4096 /* bytes of a login, which has a token and comes from anybody */

static bool is_host_meant(const struct mg_console *console, const struct mg_http_exchange *request)
{
    char name[MG_HOST_NAME_SIZE], allowed[MG_HOST_NAME_SIZE];
    int port;
    const char *host = mg_http_exchange_header(request, "Host");
    if (host == NULL || !mg_host_read(host, name, &port)) {
        return false;
    }
    bool is_meant = mg_host_is_loopback(name);
    for (int i = 0; i < console->options->hosts->count && !is_meant; i++) {
        is_meant =
            mg_host_read(console->options->hosts->items[i], allowed, &port) && strcmp(allowed, name) == 0;
    }
    return is_meant;
}

/* Whether a request for a change comes from the console's own page, by the headers of the browser; others are
 * refused. A client that is no browser may omit them: it holds no cookie that another site could misuse. No
 * page can set Sec-Fetch-Site, so it counts alone: a proxy in between may have changed Host. */
static bool check_from_here(struct mg_http_exchange *request)
{
    const char *site = mg_http_exchange_header(request, "Sec-Fetch-Site");
    const char *origin = mg_http_exchange_header(request, "Origin");
    const char *host = mg_http_exchange_header(request, "Host");
    const char *type = mg_http_exchange_header(request, "Content-Type");
    if (type == NULL || strncmp(type, "application/json", strlen("application/json")) != 0) {
        /* a form of another site can send other types without a preflight */
        mg_answer_error(request, 403, "expected the header Content-Type: application/json");
    } else if (site != NULL && strcmp(site, "same-origin") != 0) {
        mg_answer_error(request, 403,
                        "not from a page of this console: the header Sec-Fetch-Site is %.40s, expected "
                        "same-origin",
                        site);
    } else if (site == NULL && origin != NULL && !mg_host_is_of_origin(host, origin)) {
        mg_answer_error(request, 403,
                        "not from a page of this console: the header Origin is %.100s, and Host is %.100s; a "
                        "proxy must pass on Host as the browser sends it",
                        origin, host);
    } else {
        return true;
    }
    return false;
}

/* ---- routes ---- */

#define FILTERS "state workflow step service error label since until after"

static const struct {
    const char *noun;
    bool has_id;
    query_fn *query;
    const char *parameters; /* separated by blanks */
} QUERIES[] = {
    {"orders", false, mg_query_orders, FILTERS " waits_for due_within"},
    {"orders", true, mg_query_order, ""},
    {"calls", true, mg_query_calls, "step"},
    {"failures", false, mg_query_failures, FILTERS},
    {"alerts", false, mg_query_alerts, "all"},
    {"services", false, mg_query_services, ""},
    {"workflows", false, mg_query_workflows, ""},
    {"workflows", true, mg_query_workflow, ""},
    {"audit", false, mg_query_audit, "since until by subject after"},
    {"schedules", false, mg_query_schedules, ""},
    {"schedules", true, mg_query_schedule, ""},
    {"bulk", false, mg_query_bulk_list, ""},
    {"bulk", true, mg_query_bulk, "result after"},
    {"choice", false, mg_query_choice, "workflow step service error label"},
    {"find", false, mg_query_find, "text"},
    {"waiting", false, mg_query_waiting, "signal workflow order after"},
};

/* A misspelled filter would show, or choose, more than was meant. False: it has been refused. */
static bool parameters_check(struct mg_http_exchange *request, const char *names)
{
    const char *fault = mg_http_exchange_query_fault(request, names);
    if (fault != NULL) {
        mg_answer_error(request, 400, "%.80s: not expected in the query, or only once; it may have: %s",
                        fault, names[0] != '\0' ? names : "nothing");
    }
    return fault == NULL;
}

static void report_get(struct mg_console *console, struct mg_http_exchange *request, const char *rest)
{
    char noun[MG_PATH_PART_SIZE], id[MG_PATH_PART_SIZE], verb[MG_PATH_PART_SIZE];
    struct mg_page page = {.request = request, .id = id};
    struct mg_query query;
    if (mg_path_split(rest, noun, id, verb) && verb[0] == '\0') {
        for (size_t i = 0; i < sizeof(QUERIES) / sizeof(QUERIES[0]); i++) {
            if (strcmp(QUERIES[i].noun, noun) == 0 && QUERIES[i].has_id == (id[0] != '\0')) {
                if (!parameters_check(request, QUERIES[i].parameters)) {
                    return;
                }
                if (QUERIES[i].query(&page, &query)) {
                    mg_ask_for_request(console->asker, &query, request);
                } else {
                    mg_answer_error(request, 400, "%s", page.refusal);
                }
                return;
            }
        }
    }
    mg_answer_error(request, 404, "unknown address");
}

static void api_get(struct mg_console *console, struct mg_http_exchange *request, const char *rest)
{
    struct mg_visitor visitor;
    struct mg_query query;
    mg_session_find(console->sessions, request, &visitor);
    if (visitor.refusal != NULL) {
        mg_answer_error(request, 403, "%s", visitor.refusal);
    } else if (strcmp(rest, "me") == 0) {
        mg_session_send(request, &visitor);
    } else if (visitor.role == MG_ROLE_NONE) {
        mg_answer_error(request, 401, "log in first");
    } else if (strcmp(rest, "live") == 0) {
        if (parameters_check(request, "order")) {
            mg_live_listen(console->live, request, &visitor);
        }
    } else if (strcmp(rest, "dead") == 0) {
        if (parameters_check(request, "queue find")) {
            mg_dead_list(console->dead, request);
        }
    } else if (strcmp(rest, "overview") == 0) {
        if (parameters_check(request, "")) {
            mg_query_overview(&query);
            mg_ask_for_request(console->asker, &query, request);
        }
    } else {
        report_get(console, request, rest);
    }
}

static void api_post(struct mg_console *console, struct mg_http_exchange *request, const char *rest)
{
    struct mg_visitor visitor;
    const char *csrf = mg_http_exchange_header(request, "X-Makegood-CSRF");
    if (!check_from_here(request)) {
        return;
    }
    mg_session_find(console->sessions, request, &visitor);
    if (visitor.refusal != NULL) {
        mg_answer_error(request, 403, "%s", visitor.refusal);
    } else if (strcmp(rest, "login") == 0 && visitor.has_login) {
        mg_session_login(console->sessions, request);
    } else if (strcmp(rest, "logout") == 0 && visitor.has_login) {
        mg_session_logout(console->sessions, request); /* works with an expired session, too */
    } else if (visitor.role == MG_ROLE_NONE) {
        mg_answer_error(request, 401, "log in first");
    } else if (visitor.csrf[0] == '\0' || csrf == NULL || strcmp(csrf, visitor.csrf) != 0) {
        mg_answer_error(request, 403,
                        visitor.csrf[0] == '\0'
                            ? "this console is read-only: it was started without --tokens-file"
                            : "the page belongs to another session; reload it");
    } else if (visitor.role != MG_ROLE_OPERATOR) {
        mg_answer_error(request, 403, "%s has read-only access", visitor.name);
    } else {
        mg_console_act(console, request, &visitor, rest);
    }
}

static void method_refuse(struct mg_http_exchange *request)
{
    mg_answer_error(request, 405, "unsupported method: expected GET, HEAD or POST");
}

/* The path below the API; NULL: it is outside. */
static const char *api_rest(const struct mg_http_exchange *request)
{
    const char *path = mg_http_exchange_path(request);
    return strncmp(path, API, strlen(API)) == 0 ? path + strlen(API) : NULL;
}

bool mg_route_admit(void *arg, struct mg_http_exchange *request)
{
    struct mg_console *console = arg;
    struct mg_visitor visitor;
    const char *rest = api_rest(request);
    mg_session_find(console->sessions, request, &visitor);
    bool is_known = visitor.refusal == NULL && visitor.role != MG_ROLE_NONE;
    if (rest == NULL || !is_host_meant(console, request) || (!is_known && strcmp(rest, "login") != 0)) {
        mg_route_request(console, request);
        return false;
    }
    if (!is_known) {
        mg_http_exchange_body_limit(request, LOGIN_MAX);
    }
    return true;
}

void mg_route_request(void *arg, struct mg_http_exchange *request)
{
    struct mg_console *console = arg;
    const char *method = mg_http_exchange_method(request);
    const char *rest = api_rest(request);
    bool is_get = strcmp(method, "GET") == 0 || strcmp(method, "HEAD") == 0;
    if (!is_host_meant(console, request)) {
        mg_answer_error(request, 421, "unknown host name: allow it with --host");
    } else if (rest != NULL && strcmp(method, "POST") == 0) {
        api_post(console, request, rest);
    } else if (!is_get) {
        method_refuse(request);
    } else if (rest != NULL) {
        api_get(console, request, rest);
    } else {
        mg_asset_answer(request);
    }
}
