/* Declarations shared by the console's files. sign_in.c and proxy.c authenticate, dispatch.c dispatches,
 * page_answer.c sends. pages.c and report_cache.c read reports, live.c streams events, queues.c watches
 * queues. act.c, order_actions.c, order_post.c, schedule_actions.c, bulk_actions.c and change_request.c make
 * changes; dead.c handles dead letters. */
#ifndef MG_CONSOLE_CONSOLE_PARTS_H
#define MG_CONSOLE_CONSOLE_PARTS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/queue.h>

#include "base/id.h"
#include "base/json_write.h"
#include "console/console.h"
#include "io/http/server.h"
#include "io/store/store.h"
#include "operator/bulk_runner.h"
#include "operator/commander.h"
#include "operator/table.h"
#include "wire/command.h"

struct mg_console {
    struct mg_process *process;
    const struct mg_console_options *options;
    struct mg_loop *loop;
    struct mg_metrics *metrics;
    struct mg_store *store;
    struct mg_store *changing_store; /* for statements longer than a page's bound */
    struct mg_bulk_runner *runner;
    struct mg_sessions *sessions;
    struct mg_asker *asker;
    struct mg_live *live;
    struct mg_dead *dead;
    struct mg_command_link *commander;
    struct mg_queues *queues;
    LIST_HEAD(, mg_change) changes; /* under way */
};

/* ---- page_answer.c: all answers carry the security headers ---- */

#define MG_ANSWER_MAX_BYTES                                                                                  \
    (16u * 1024 * 1024) /* holds the dossier of a long story; for more use the tool                          \
                         */

void mg_answer_json(struct mg_http_exchange *request, unsigned int status, struct mg_slice body);
/* Answers {"text": text}: what was done. */
void mg_answer_text(struct mg_http_exchange *request, unsigned int status, const char *text);
/* Writes {"error": text}. */
void mg_error_write(struct mg_buf *out, const char *text);
/* Answers that. The text names the attempt, the reason and the remedy. */
void mg_answer_error(struct mg_http_exchange *request, unsigned int status, const char *format, ...)
    MG_PRINTF(3, 4);
/* The headers of every answer, followed by up to MG_ANSWER_HEADERS_MORE of `more`; ends with name NULL. */
#define MG_ANSWER_HEADERS_MORE 4
#define MG_ANSWER_HEADERS_MAX  (7 + MG_ANSWER_HEADERS_MORE + 1)
void mg_answer_headers(struct mg_http_header ret_headers[MG_ANSWER_HEADERS_MAX],
                       const struct mg_http_header *more);

/* ---- assets.c: the pages ---- */

/* With the asset of the path; with 404 and the page if there is none, so that a person sees where it is
 * missing. */
void mg_asset_answer(struct mg_http_exchange *request);

/* ---- sign_in.c: authentication ---- */

enum mg_role {
    MG_ROLE_NONE,
    MG_ROLE_READER,
    MG_ROLE_OPERATOR,
    MG_ROLE_PROXY, /* of a token, never of a visitor: may name users */
};
#define MG_USER_NAME_SIZE (MG_COMMAND_BY_MAX + 1) /* the limit of a command's operator */
#define MG_CSRF_SIZE      (2 * MG_SHA256_SIZE + 1)
struct mg_visitor {
    enum mg_role role;
    char name[MG_USER_NAME_SIZE]; /* a token's name, without blanks; or "USER via PROXY" */
    char csrf[MG_CSRF_SIZE];      /* required in a change; "": changes are not possible */
    bool has_login;               /* logs in with a token, so it can log out */
    uint64_t session;             /* 0: none */
    const char *refusal;          /* why the request is refused; NULL: it is not */
};

/* Checks that the tokens' file is valid, and that it has a proxy's token if the options need one. */
enum mg_class mg_tokens_check(const struct mg_console_options *options, struct mg_err *err) MG_MUSTCHECK;
/* Without a tokens' file every client is a reader. The options are borrowed. */
struct mg_sessions *mg_sessions_create(const struct mg_console_options *options, struct mg_err *err);
void mg_sessions_destroy(struct mg_sessions *sessions);
enum mg_class mg_sessions_reload(struct mg_sessions *sessions, struct mg_err *err) MG_MUSTCHECK;
void mg_session_find(struct mg_sessions *sessions, const struct mg_http_exchange *request,
                     struct mg_visitor *ret_visitor);
bool mg_session_is_open(const struct mg_sessions *sessions, uint64_t number);
/* These answer the request. */
void mg_session_login(struct mg_sessions *sessions, struct mg_http_exchange *request);
void mg_session_logout(struct mg_sessions *sessions, struct mg_http_exchange *request);
void mg_session_send(struct mg_http_exchange *request, const struct mg_visitor *visitor);

/* ---- proxy.c: users named by a proxy ---- */

#define MG_PROXY_TOKEN_HEADER "X-Makegood-Proxy-Token" /* the proxy's proof of identity */

enum mg_class mg_proxy_check(const struct mg_console_options *options, struct mg_err *err) MG_MUSTCHECK;
bool mg_proxy_is_wanted(const struct mg_console_proxy *proxy);
/* Whether a proxy is configured and the request has any header that only the proxy should send. */
bool mg_proxy_is_present(const struct mg_console_proxy *proxy, const struct mg_http_exchange *request);
/* "" if the header is absent or repeated: one of several may come from the browser. */
const char *mg_proxy_token(const struct mg_http_exchange *request);
/* Reads the user and the role from the headers. Returns NULL, or the reason for a refusal. */
const char *mg_proxy_read(const struct mg_console_proxy *proxy, const struct mg_http_exchange *request,
                          const char **ret_user, enum mg_role *ret_role);

/* ---- report_cache.c: reports, read once for all viewers ---- */

#define MG_REPORTS_MAX    12
#define MG_PARAMS_MAX     9
#define MG_PARAM_SIZE     256
#define MG_QUERY_KEY_SIZE 4096

struct mg_query;
/* Writes the answer's JSON from the rows and returns the HTTP status. */
typedef unsigned int render_fn(const struct mg_query *query, const struct mg_table *tables,
                               struct mg_buf *out);
/* The reports that a page needs, and the rendering of their rows. */
struct mg_query {
    char key[MG_QUERY_KEY_SIZE]; /* queries with the same key have the same answer */
    int count;
    struct {
        const char *name; /* of the rows in the answer */
        enum mg_report report;
        int param_count;
        char params[MG_PARAMS_MAX][MG_PARAM_SIZE];
    } asks[MG_REPORTS_MAX];
    int cut_at; /* rows that the first report gives at most; 0: the answer has no is_cut */
    render_fn *render;
};

typedef void answered_fn(void *arg, unsigned int status, struct mg_slice json);

struct mg_asker *mg_asker_create(struct mg_console *console);
void mg_asker_destroy(struct mg_asker *asker); /* after the store */
/* Answers the request when the reports have been read, or from a fresh answer to the same query. */
void mg_ask_for_request(struct mg_asker *asker, const struct mg_query *query,
                        struct mg_http_exchange *request);
/* The same for the console itself; `done` may be called before the return. False: too many queries are under
 * way. */
bool mg_ask_for_self(struct mg_asker *asker, const struct mg_query *query, answered_fn *done, void *arg);
/* Discards the kept answers after a change, so that no page shows old data. */
void mg_asker_forget(struct mg_asker *asker);

/* ---- queues.c: the request queues of services, from the broker ---- */

struct mg_queues *mg_queues_create(struct mg_console *console);
void mg_queues_destroy(
    struct mg_queues *queues); /* after the commander, as it uses its broker; accepts NULL */
/* Updates the states of MG_REPORT_CONTROLLED with the queues' counts. A service in these rows is watched
 * from then on. False: out of memory. */
bool mg_queues_put(struct mg_queues *queues, struct mg_table *controlled);

/* ---- pages.c: the reports of each page ---- */

#define MG_REFUSAL_SIZE 256
struct mg_page {
    const struct mg_http_exchange *request;
    const char *id; /* "": the address has none */
    char refusal[MG_REFUSAL_SIZE];
};
/* False: a parameter of the request is wrong, and the page's refusal names it. */
typedef bool query_fn(struct mg_page *page, struct mg_query *ret_query);
query_fn mg_query_orders, mg_query_order, mg_query_calls, mg_query_failures, mg_query_alerts,
    mg_query_services, mg_query_workflows, mg_query_schedules, mg_query_schedule, mg_query_bulk_list,
    mg_query_bulk, mg_query_choice, mg_query_find, mg_query_waiting, mg_query_audit, mg_query_workflow;
void mg_query_overview(struct mg_query *ret_query);
void mg_query_versions(const char *order_ids, struct mg_query *ret_query);

/* ---- live.c: server-sent events ---- */

struct mg_live *mg_live_create(struct mg_console *console);
void mg_live_end(struct mg_live *live);     /* ends each stream, later ones too */
void mg_live_destroy(struct mg_live *live); /* after the HTTP server */
void mg_live_listen(struct mg_live *live, struct mg_http_exchange *request, const struct mg_visitor *visitor);

/* ---- dead.c: dead letters, from the broker ---- */

struct mg_dead *mg_dead_create(struct mg_console *console);
void mg_dead_destroy(struct mg_dead *dead);
void mg_dead_list(struct mg_dead *dead, struct mg_http_exchange *request);
bool mg_dead_queue_is_known(const char *queue);
/* A request to requeue or drop one dead letter. */
struct mg_dead_settlement {
    const char *by, *reason, *queue, *mark; /* the queue has passed mg_dead_queue_is_known */
    bool is_drop;
};
/* Executes it, logs the outcome and answers the request. NULL: the connection is closed. */
void mg_dead_settle(struct mg_dead *dead, struct mg_http_exchange *request,
                    const struct mg_dead_settlement *settlement);

/* ---- act.c: changes ---- */

/* `rest` is the path after /api/v1/. The visitor must be an operator. Answers the request. */
void mg_console_act(struct mg_console *console, struct mg_http_exchange *request,
                    const struct mg_visitor *visitor, const char *rest);

/* ---- change_request.c ---- */

#define MG_PATH_PART_SIZE 128

/* Splits "orders/ID/verb"; absent parts are "". False: there are more parts, or one is too long. */
bool mg_path_split(const char *rest, char ret_noun[MG_PATH_PART_SIZE], char ret_id[MG_PATH_PART_SIZE],
                   char ret_verb[MG_PATH_PART_SIZE]);

/* Whether members.def has each member of the body at this address, with its type. An address that is unknown
 * to it is refused by its caller. */
bool mg_members_check(struct mg_slice body, const char *noun, const char *verb,
                      char ret_refusal[MG_REFUSAL_SIZE]);
/* A number of a checked body; 0 if it is absent. */
uint64_t mg_member_number(struct mg_slice body, const char *pointer);

/* Frees the changes under way, after everything that could still end them is destroyed. */
void mg_changes_free(struct mg_console *console);

/* ---- dispatch.c ---- */

void mg_route_request(void *console, struct mg_http_exchange *request);
/* At the head of a request with a body: false, and it has been answered, unless its body is wanted. */
bool mg_route_admit(void *console, struct mg_http_exchange *request);

#endif
