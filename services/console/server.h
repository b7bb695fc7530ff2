/* Declarations shared by the console's files. session.c and proxy.c authenticate, route.c dispatches,
 * answer.c sends. pages.c and ask.c read reports, live.c streams events, queues.c watches queues. act.c,
 * bulk.c and change.c make changes; dead.c handles dead letters. */
#ifndef MG_CONSOLE_SERVER_H
#define MG_CONSOLE_SERVER_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/queue.h>

#include "base/id.h"
#include "base/json_write.h"
#include "console/commander.h"
#include "console/console.h"
#include "io/http/server.h"
#include "io/store/store.h"
#include "operator/bulk_runner.h"
#include "operator/table.h"
#include "wire/command.h"

struct mg_console {
    const struct mg_console_options *options; /* its secrets may be outdated after a reload */
    char *url;                                /* of the broker, current */
    struct mg_loop *loop;
    struct mg_metrics *metrics;
    struct mg_store *store;
    struct mg_vitals *vitals;
    struct mg_store *changing_store; /* for statements longer than a page's bound */
    struct mg_bulk_runner *runner;
    struct mg_http_server *http;
    struct sessions *sessions;
    struct asker *asker;
    struct live *live;
    struct dead *dead;
    struct commander *commander;
    struct queues *queues;
    LIST_HEAD(, change) changes; /* under way */
};

/* ---- answer.c: all answers carry the security headers ---- */

#define ANSWER_MAX_BYTES (16u * 1024 * 1024) /* holds the dossier of a long story; for more use the tool */

void answer_json(struct mg_http_exchange *request, unsigned int status, struct mg_slice body);
/* Answers {"text": text}: what was done. */
void answer_text(struct mg_http_exchange *request, unsigned int status, const char *text);
/* Writes {"error": text}. */
void error_write(struct mg_buf *out, const char *text);
/* Answers that. The text names the attempt, the reason and the remedy. */
void answer_error(struct mg_http_exchange *request, unsigned int status, const char *format, ...)
    MG_PRINTF(3, 4);
/* The headers of every answer, followed by up to ANSWER_HEADERS_MORE of `more`; ends with name NULL. */
#define ANSWER_HEADERS_MORE 4
#define ANSWER_HEADERS_MAX  (7 + ANSWER_HEADERS_MORE + 1)
void answer_headers(struct mg_http_header ret_headers[ANSWER_HEADERS_MAX], const struct mg_http_header *more);

/* ---- assets.c: the pages ---- */

/* True: the path belongs to an asset, and the request has been answered. */
bool asset_answer(struct mg_http_exchange *request);

/* ---- session.c: authentication ---- */

enum role {
    ROLE_NONE,
    ROLE_READER,
    ROLE_OPERATOR,
    ROLE_PROXY, /* of a token, never of a visitor: may name users */
};
#define NAME_SIZE (MG_COMMAND_BY_MAX + 1) /* the limit of a command's operator */
#define CSRF_SIZE (2 * MG_SHA256_SIZE + 1)
struct visitor {
    enum role role;
    char name[NAME_SIZE]; /* a token's name, without blanks; or "USER via PROXY" */
    char csrf[CSRF_SIZE]; /* required in a change; "": changes are not possible */
    bool has_login;       /* logs in with a token, so it can log out */
    const char *refusal;  /* why the request is refused; NULL: it is not */
};

/* Checks that the tokens' file is valid, and that it has a proxy's token if the options need one. */
enum mg_class tokens_check(const struct mg_console_options *options, struct mg_err *err) MG_MUSTCHECK;
/* Without a tokens' file every client is a reader. The options are borrowed. */
struct sessions *sessions_create(const struct mg_console_options *options, struct mg_err *err);
void sessions_destroy(struct sessions *sessions);
enum mg_class sessions_reload(struct sessions *sessions, struct mg_err *err) MG_MUSTCHECK;
void session_find(struct sessions *sessions, const struct mg_http_exchange *request,
                  struct visitor *ret_visitor);
/* These answer the request. */
void session_login(struct sessions *sessions, struct mg_http_exchange *request);
void session_logout(struct sessions *sessions, struct mg_http_exchange *request);
void session_send(struct mg_http_exchange *request, const struct visitor *visitor);

/* ---- proxy.c: users named by a proxy ---- */

#define PROXY_TOKEN_HEADER "X-Makegood-Proxy-Token" /* the proxy's proof of identity */

enum mg_class proxy_check(const struct mg_console_options *options, struct mg_err *err) MG_MUSTCHECK;
bool proxy_is_wanted(const struct mg_console_proxy *proxy);
/* Whether a proxy is configured and the request has any header that only the proxy should send. */
bool proxy_is_present(const struct mg_console_proxy *proxy, const struct mg_http_exchange *request);
/* "" if the header is absent or repeated: one of several may come from the browser. */
const char *proxy_token(const struct mg_http_exchange *request);
/* Reads the user and the role from the headers. Returns NULL, or the reason for a refusal. */
const char *proxy_read(const struct mg_console_proxy *proxy, const struct mg_http_exchange *request,
                       const char **ret_user, enum role *ret_role);

/* ---- ask.c: reports, read once for all viewers ---- */

#define REPORTS_MAX 8
#define PARAMS_MAX  8
#define PARAM_SIZE  256
#define KEY_SIZE    4096

/* The reports that a page needs, and the rendering of their rows. */
struct query {
    char key[KEY_SIZE]; /* queries with the same key have the same answer */
    int count;
    struct {
        enum mg_report report;
        int param_count;
        char params[PARAMS_MAX][PARAM_SIZE];
    } asks[REPORTS_MAX];
    /* Writes the answer's JSON from the rows and returns the HTTP status. */
    unsigned int (*render)(const struct query *query, const struct table *tables, struct mg_buf *out);
};

typedef void answered_fn(void *arg, unsigned int status, struct mg_slice json);

struct asker *asker_create(struct mg_console *console);
void asker_destroy(struct asker *asker); /* after the store */
/* Answers the request when the reports have been read, or from a fresh answer to the same query. */
void ask_for_request(struct asker *asker, const struct query *query, struct mg_http_exchange *request);
/* The same for the console itself; `done` may be called before the return. False: too many queries are under
 * way. */
bool ask_for_self(struct asker *asker, const struct query *query, answered_fn *done, void *arg);
/* Discards the kept answers after a change, so that no page shows old data. */
void asker_forget(struct asker *asker);

/* ---- queues.c: the request queues of services, from the broker ---- */

struct queues *queues_create(struct mg_console *console);
void queues_destroy(struct queues *queues); /* after the commander, as it uses its broker; accepts NULL */
/* Updates the states of MG_REPORT_CONTROLLED with the queues' counts. A service in these rows is watched
 * from then on. False: out of memory. */
bool queues_put(struct queues *queues, struct table *controlled);

/* ---- pages.c: the reports of each page ---- */

/* False: a parameter of the request is wrong, and `ret_refusal` names it. */
#define REFUSAL_SIZE 256
typedef bool query_fn(const struct mg_http_exchange *request, const char *id, struct query *ret_query,
                      char ret_refusal[REFUSAL_SIZE]);
query_fn query_orders, query_order, query_failures, query_alerts, query_services, query_workflows,
    query_bulk_list, query_bulk, query_choice;
void query_overview(struct query *ret_query);
void query_versions(const char *order_ids, struct query *ret_query);

/* ---- live.c: server-sent events ---- */

struct live *live_create(struct mg_console *console);
void live_destroy(struct live *live); /* after the HTTP server */
void live_listen(struct live *live, struct mg_http_exchange *request);

/* ---- dead.c: dead letters, from the broker ---- */

struct dead *dead_create(struct mg_console *console);
void dead_destroy(struct dead *dead);
void dead_list(struct dead *dead, struct mg_http_exchange *request);
bool dead_queue_is_known(const char *queue);
/* A request to requeue or drop one dead letter. */
struct dead_settlement {
    const char *by, *reason, *queue, *mark; /* the queue has passed dead_queue_is_known */
    bool is_drop;
};
/* Executes it, logs the outcome and answers the request. NULL: the connection is closed. */
void dead_settle(struct dead *dead, struct mg_http_exchange *request,
                 const struct dead_settlement *settlement);

/* ---- act.c: changes ---- */

/* `rest` is the path after /api/v1/. The visitor must be an operator. Answers the request. */
void act(struct mg_console *console, struct mg_http_exchange *request, const struct visitor *visitor,
         const char *rest);

/* ---- change.c ---- */

/* Frees the changes under way, after everything that could still end them is destroyed. */
void changes_free(struct mg_console *console);

/* ---- route.c ---- */

void route_request(void *console, struct mg_http_exchange *request);

#endif
