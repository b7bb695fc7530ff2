/* What the console's files share. One file for each part: who (session.c, proxy.c), what is asked (ask.c,
 * pages.c), what is changed (act.c, batches.c), what is live (live.c), what lies dead (dead.c), where a
 * request goes (route.c), what is sent (answer.c). */
#ifndef MG_CONSOLE_SERVER_H
#define MG_CONSOLE_SERVER_H

#include <stdbool.h>
#include <stdint.h>

#include "base/id.h"
#include "console/commander.h"
#include "console/console.h"
#include "io/http/server.h"
#include "io/store/store.h"
#include "operator/batch_runner.h"
#include "operator/table.h"
#include "wire/command.h"

struct mg_console {
    const struct mg_console_options *options; /* but for the secrets, which may be others by now */
    char *url;                                /* of the broker, as it is now */
    struct mg_loop *loop;
    struct mg_metrics *metrics;
    struct mg_store *store;
    struct mg_vitals *vitals;
    struct mg_store *changing_store; /* for what takes longer than a page may */
    struct mg_batch_runner *runner;
    struct mg_http_server *http;
    struct sessions *sessions;
    struct asker *asker;
    struct live *live;
    struct dead *dead;
    struct commander *commander;
    struct queues *queues;
    struct change *changes; /* under way */
};

/* ---- answer.c: all that goes out has the headers that keep a browser from doing what nobody meant ---- */

#define ANSWER_MAX_BYTES (16u * 1024 * 1024) /* a dossier of a long story; what is above is for the tool */

void answer_json(struct mg_http_exchange *request, unsigned int status, struct mg_slice body);
/* {"error": text}; the text says what was attempted, why it failed and what to do. */
void answer_error(struct mg_http_exchange *request, unsigned int status, const char *format, ...)
    MG_PRINTF(3, 4);
/* The headers of every answer, with up to ANSWER_HEADERS_MORE of one's own behind; ends with name NULL. */
#define ANSWER_HEADERS_MORE 4
#define ANSWER_HEADERS_MAX  (7 + ANSWER_HEADERS_MORE + 1)
void answer_headers(struct mg_http_header ret_headers[ANSWER_HEADERS_MAX], const struct mg_http_header *more);

/* ---- assets.c: the pages ---- */

/* True if the path is one of the pages' or of their parts; then the request is answered. */
bool asset_answer(struct mg_http_exchange *request);

/* ---- session.c: who asks ---- */

enum role {
    ROLE_NONE,
    ROLE_READER,
    ROLE_OPERATOR,
    ROLE_PROXY, /* of a token, never of a visitor: may say who asks */
};
#define NAME_SIZE (MG_COMMAND_BY_MAX + 1) /* no command can name a longer one */
#define CSRF_SIZE (2 * MG_SHA256_SIZE + 1)
struct visitor {
    enum role role;
    char name[NAME_SIZE]; /* of a token as it is, which has no blank; of a proxy's user "USER via PROXY" */
    char csrf[CSRF_SIZE]; /* what a change must carry; "": nothing can be changed */
    bool has_login;       /* by a token, and so a logout */
    const char *refusal;  /* why this request is not answered; NULL: it is */
};

/* Whether the options' tokens can be read, and name a proxy if there is one. */
enum mg_class tokens_check(const struct mg_console_options *options, struct mg_err *err) MG_MUSTCHECK;
/* Without a file of tokens everybody is a reader. The options are borrowed. */
struct sessions *sessions_create(const struct mg_console_options *options, struct mg_err *err);
void sessions_destroy(struct sessions *sessions);
enum mg_class sessions_reload(struct sessions *sessions, struct mg_err *err) MG_MUSTCHECK;
void session_find(struct sessions *sessions, const struct mg_http_exchange *request,
                  struct visitor *ret_visitor);
/* Answer the request. */
void session_login(struct sessions *sessions, struct mg_http_exchange *request);
void session_logout(struct sessions *sessions, struct mg_http_exchange *request);
void session_tell(struct mg_http_exchange *request, const struct visitor *visitor);

/* ---- proxy.c: whom a proxy names ---- */

#define PROXY_TOKEN_HEADER "X-Makegood-Proxy-Token" /* its proof; each proxy can set a header */

enum mg_class proxy_check(const struct mg_console_options *options, struct mg_err *err) MG_MUSTCHECK;
bool proxy_is_wanted(const struct mg_console_proxy *proxy);
/* Whether there is a proxy, and the request has any header that only it should send. */
bool proxy_speaks(const struct mg_console_proxy *proxy, const struct mg_http_exchange *request);
/* "": there is none, or several, of which one may be a stranger's. */
const char *proxy_token(const struct mg_http_exchange *request);
/* Who asks, as the header has it, and what they may; NULL, or why that cannot be told. */
const char *proxy_read(const struct mg_console_proxy *proxy, const struct mg_http_exchange *request,
                       const char **ret_user, enum role *ret_role);

/* ---- ask.c: reports, asked once for all who want the same ---- */

#define REPORTS_MAX 8
#define PARAMS_MAX  8
#define PARAM_SIZE  256
#define KEY_SIZE    4096

struct plan {
    char key[KEY_SIZE]; /* what is asked: plans with the same key have the same answer */
    int count;
    struct {
        enum mg_report report;
        int param_count;
        char params[PARAMS_MAX][PARAM_SIZE];
    } asks[REPORTS_MAX];
    /* Writes the answer's JSON from the rows, and returns its status. */
    unsigned int (*render)(const struct plan *plan, const struct table *tables, struct mg_buf *out);
};

typedef void answered_fn(void *arg, unsigned int status, struct mg_slice json);

struct asker *asker_create(struct mg_console *console);
void asker_destroy(struct asker *asker); /* after the store */
/* Answers the request when the reports are in, or from what was asked just before. */
void ask_for_request(struct asker *asker, const struct plan *plan, struct mg_http_exchange *request);
/* The same for one's own; `done` may be called at once. False: too much is being asked already. */
bool ask_for_self(struct asker *asker, const struct plan *plan, answered_fn *done, void *arg);
/* Something has changed: what was asked before is not told again. */
void asker_forget(struct asker *asker);

/* ---- queues.c: the request queues of services, as the broker has them ---- */

struct queues *queues_create(struct mg_console *console);
void queues_destroy(struct queues *queues); /* after the commander, whose broker it asks; accepts NULL */
/* Puts what is known of them into the states of MG_REPORT_CONTROLLED; who is asked for once is watched.
 * False: no memory. */
bool queues_put(struct queues *queues, struct table *controlled);

/* ---- pages.c: what is asked for each page ---- */

/* False: `ret_refusal` says what is wrong with the request's parameters. */
#define REFUSAL_SIZE 256
typedef bool plan_fn(const struct mg_http_exchange *request, const char *id, struct plan *ret_plan,
                     char ret_refusal[REFUSAL_SIZE]);
plan_fn plan_orders, plan_order, plan_failures, plan_alerts, plan_services, plan_workflows, plan_batches,
    plan_batch, plan_choice;
void plan_overview(struct plan *ret_plan);
void plan_versions(const char *order_ids, struct plan *ret_plan);

/* ---- live.c: server-sent events ---- */

struct live *live_create(struct mg_console *console);
void live_destroy(struct live *live); /* after the HTTP server */
void live_listen(struct live *live, struct mg_http_exchange *request);

/* ---- dead.c: messages that were set aside, from the broker ---- */

struct dead *dead_create(struct mg_console *console);
void dead_destroy(struct dead *dead);
void dead_list(struct dead *dead, struct mg_http_exchange *request);
bool dead_queue_is_known(const char *queue);
/* A letter that somebody wants sent back to where it came from, or dropped. */
struct dead_wish {
    const char *by, *queue, *mark; /* the queue is known */
    bool is_drop;
};
/* Does it, logs what became of it, and answers the request; NULL: that is no more. */
void dead_settle(struct dead *dead, struct mg_http_exchange *request, const struct dead_wish *wish);

/* ---- act.c: what changes something ---- */

/* `rest` is what stands behind /api/v1/; the visitor may act. Answers the request. */
void act(struct mg_console *console, struct mg_http_exchange *request, const struct visitor *visitor,
         const char *rest);

/* ---- change.c ---- */

/* Ends the changes that are under way, when nothing is left that would end them. */
void changes_free(struct mg_console *console);

/* ---- route.c ---- */

void route_request(void *console, struct mg_http_exchange *request);

#endif
