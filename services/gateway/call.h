/* Declarations shared by the gateway's files. routes.c dispatches, clients.c authenticates, problem_answer.c
 * sends. submit.c and ndjson.c post orders by post.c; meets.c, recent.c and kept.c help it to refuse.
 * signal.c and callback.c publish signals. get_order.c, list.c, events.c and cancel.c are about orders that
 * exist; long_poll.c and observe.c bring them the changes of orders. hooks.c sends statuses to clients
 * (hook.h). */
#ifndef MG_GATEWAY_CALL_H
#define MG_GATEWAY_CALL_H

#include <sys/queue.h>

#include "base/id.h"
#include "base/metrics.h"
#include "base/trace.h"
#include "core/key.h"
#include "core/model.h"
#include "gateway/gateway.h"
#include "io/http/server.h"
#include "io/store/store.h"
#include "operator/commander.h"
#include "wire/submission.h"

enum { MG_RIGHT_SUBMIT = 1, MG_RIGHT_READ = 2, MG_RIGHT_CANCEL = 4, MG_RIGHT_SIGNAL = 8 };

#define MG_WAITS_MAX     1000
#define MG_STREAMS_MAX   1000
#define MG_OBSERVERS_MAX (MG_WAITS_MAX + MG_STREAMS_MAX)

struct mg_client; /* clients.c */

/* Observes an order; observe.c. */
struct mg_observer {
    TAILQ_ENTRY(mg_observer) entry;
    const char *client;   /* borrowed; an order of another one is as none */
    const char *order_id; /* borrowed; there may be no such order yet */
    int64_t version;      /* the last one noticed; 0: none */
    int place;            /* in the report under way */
    /* The order has another version, or exists. `is_end`: its state is one of the end. It may end this
     * observer, and no other. */
    void (*changed)(void *arg, bool is_end);
    void *arg;
};

#define MG_POST_KEY_MAX      255 /* a short string of AMQP, as the message's id */
#define MG_POST_KEY_MAX_TEXT "255"

/* A submission on its way to the queue; post.c. Texts and bytes are borrowed until `done`. */
struct mg_post {
    struct mg_gateway *gateway;
    struct mg_client *client;
    struct mg_slice body;            /* absent: it is gone with its request */
    struct mg_slice key;             /* identifies the order if the body does not; absent: none */
    const char *key_name;            /* where the key would be */
    const char *traceparent;         /* of the order's trace; "": none */
    struct mg_submission submission; /* borrows from the body */
    char order_id[MG_ORDER_ID_MAX + 1];
    uint8_t digest[MG_SHA256_SIZE];
    bool is_taken;     /* another order has the id */
    const char *state; /* the present one of the order that this submission repeats; NULL: it is a new one */
    int64_t line_at_most;               /* orders that the line of its key may have, and the key */
    char line_key[MG_LINE_KEY_MAX + 1]; /* while the line's length is asked for */
    TAILQ_ENTRY(mg_post) entry;         /* while it waits to be asked about; meets.c */
    /* The answer: `row` of MG_REPORT_SUBMISSIONS_MEET, or a failure. */
    void (*met)(struct mg_post *post, const struct mg_rows *rows, int row, const struct mg_err *err);
    /* 202: the broker has the order. Else `text` is the reason of a refusal. */
    void (*done)(struct mg_post *post, unsigned int status, const char *text);
    void *arg;
};

/* A request of a client, from its dispatch to its answer. */
struct mg_call {
    TAILQ_ENTRY(mg_call) entry;
    struct mg_gateway *gateway;
    struct mg_http_exchange *request; /* NULL: it is gone, and gets no answer */
    const struct mg_route *route;     /* NULL: none matches */
    struct mg_client *client;         /* NULL: not known */
    int64_t began_us;                 /* by the clock since boot */
    const char *origin;               /* a page that may read the answer; NULL: no page may */
    char allow[16];                   /* without a route: the methods of its path, as 405 names them */
    char order_id[MG_ORDER_ID_MAX + 1], signal[MG_NAME_MAX + 1]; /* of the path */
    char *payload; /* of a signal: it must outlive the request; NULL: none */
    const struct mg_signal_sending *sending;
    struct mg_post post; /* of a single submission */
    const struct mg_lookup *lookup;
    char traceparent[MG_TRACEPARENT_SIZE];
    int64_t after_seq;     /* of events: the last status that the client has */
    int64_t wait_until_ms; /* by the clock since boot; 0: it does not wait */
    bool is_waiting;
    struct mg_observer observer;         /* while it waits */
    void (*woken)(struct mg_call *call); /* when it has waited */
    TAILQ_ENTRY(mg_call) listing;        /* in the line of lists */
    uint64_t turn;                       /* its place there */
    bool is_unknown;                     /* the client has no such order yet; it waits for one */
    bool is_archive_read;                /* it is not in the tables */
};
TAILQ_HEAD(mg_call_queue, mg_call);

struct mg_route {
    /* {order_id} in the path stands for an order's id, {signal} for a signal's name, {token} for the rest. */
    const char *method, *path;
    unsigned int right;  /* 0: it needs no client, and none of the forms below is checked */
    unsigned int cost;   /* in requests of the client's rate, by the work of the database */
    const char *takes;   /* the media type of its body; NULL: it has none */
    bool needs_body;     /* which is then taken in pieces */
    const char *answers; /* the media type of its answers that are no problem */
    void (*run)(struct mg_call *call);
    /* All that it answers, and all parameters of its query; separated by blanks. proto/openapi.yaml declares
     * the same. */
    const char *statuses, *parameters;
};

struct mg_gateway {
    struct mg_process *process;
    const struct mg_gateway_options *options;
    struct mg_loop *loop;
    struct mg_metrics *metrics;
    struct mg_store *store;
    struct mg_store *listing_store; /* a session of its own, so that nothing else waits behind lists */
    struct mg_command_link *commander;
    struct mg_broker *broker; /* the commander's */
    struct mg_clients *clients;
    struct mg_meets *meets;
    struct mg_recent *recent;
    struct mg_kept *kept;
    struct mg_observers *observers;
    struct mg_waits *waits;
    struct mg_lists *lists;
    struct mg_streams *streams;
    struct mg_batches *batches;
    struct mg_hooks *hooks;
    struct mg_callbacks *callbacks;
    struct mg_call_queue calls; /* under way */
    bool is_draining;           /* waits and streams end */
    int64_t batches_until_ms;   /* by the clock since boot: their later lines are not posted */
};

/* ---- clients.c ---- */

/* MG_BAD_INPUT: the file of tokens is not valid. */
enum mg_class mg_clients_check(const struct mg_gateway_options *options, struct mg_err *err) MG_MUSTCHECK;
struct mg_clients *mg_clients_create(struct mg_gateway *gateway, struct mg_err *err);
void mg_clients_destroy(struct mg_clients *clients); /* accepts NULL */
enum mg_class mg_clients_reload(struct mg_clients *clients, struct mg_err *err) MG_MUSTCHECK;
/* NULL: the request has no valid token. `ret_rights` are those of the token. */
struct mg_client *mg_client_find(struct mg_clients *clients, const struct mg_http_exchange *request,
                                 unsigned int *ret_rights);
void mg_clients_log_refusal(
    struct mg_clients *clients); /* of a request without a valid token, if it is not one of many */
const char *mg_client_name(const struct mg_client *client);
/* The exchange that proves the client to the schedulers. NULL: the broker does not have it, so nothing may be
 * published to it. */
const char *mg_client_exchange(const struct mg_client *client);
/* The exchange for its signals. NULL: the broker does not have it, or the client has no right to signal. */
const char *mg_client_signals(const struct mg_client *client);
/* The client stays while it is held, beyond its calls under way. */
void mg_client_hold(struct mg_client *client);
void mg_client_release(struct mg_client *client);
/* Counts so many requests of its rate, or as many as it may make in a second. False: the client has made too
 * many. */
bool mg_client_count(struct mg_client *client, unsigned int cost);
/* Names the first client with an exchange that is missing, or not looked up yet; "": none. False: no client
 * has one, so none can be served. */
bool mg_clients_remark(const struct mg_clients *clients, char *ret_remark, size_t size);

/* ---- problem_answer.c: each ends the call, and frees it ---- */

/* `json` absent: the answer has no body. */
void mg_call_answer(struct mg_call *call, unsigned int status, struct mg_slice json);
/* 202: the broker has the order of the call's post. */
void mg_call_accept(struct mg_call *call);
/* The answer's JSON to a post that the broker has, with `status` where that is not 0. */
void mg_accepted_write(struct mg_buf *out, unsigned int status, const struct mg_post *post);
/* A problem document (RFC 9457). The text names the attempt, the reason and the remedy. */
void mg_call_refuse(struct mg_call *call, unsigned int status, const char *format, ...) MG_PRINTF(3, 4);
/* 204, for a page of an allowed origin that asks whether it may send a request. */
void mg_call_permit(struct mg_call *call);
/* 200 with a body that begins so and is written later (mg_http_stream_open). NULL: no memory; it got 503. */
struct mg_http_stream *mg_call_stream(struct mg_call *call, struct mg_slice beginning,
                                      void (*closed)(void *arg), void *arg);

/* The document of a problem, as one line. */
void mg_problem_write(struct mg_buf *out, unsigned int status, const char *text);

/* ---- meets.c: the order and the workflow that a submission meets in the database ---- */

struct mg_meets *mg_meets_create(struct mg_gateway *gateway); /* NULL: no memory */
void mg_meets_destroy(struct mg_meets *meets);                /* after the store; accepts NULL */
/* Calls `met` of the post once, perhaps before the return. Order id and workflow are valid names, without
 * blanks. */
void mg_meets_ask(struct mg_meets *meets, struct mg_post *post);

/* ---- recent.c: submissions that are perhaps still in the queue ---- */

/* Orders that are remembered, the newest ones of all clients: 11 MB, and 87 s at 1,500 orders a second. */
#define MG_RECENT_MAX 131072u

struct mg_recent *mg_recent_create(void); /* NULL: no memory */
void mg_recent_destroy(struct mg_recent *recent);
/* This gateway has published another submission for this order: of other bytes, or of another client. */
bool mg_recent_is_other(struct mg_recent *recent, const char *client, const char *order_id,
                        const uint8_t digest[MG_SHA256_SIZE]);
bool mg_recent_has(struct mg_recent *recent, const char *client, const char *order_id);
/* A submission that is no other goes out. */
void mg_recent_note(struct mg_recent *recent, const char *client, const char *order_id,
                    const uint8_t digest[MG_SHA256_SIZE]);
/* One that was noted is surely in no queue. Its repetitions may be, and the order is known by those. */
void mg_recent_forget(struct mg_recent *recent, const char *client, const char *order_id);

/* ---- kept.c: workflows, by which a submission is refused before it is posted ---- */

struct mg_kept *mg_kept_create(void); /* NULL: no memory */
void mg_kept_destroy(struct mg_kept *kept);
/* NULL: it is not kept. The result is valid until the next put. */
const struct mg_workflow *mg_kept_find(struct mg_kept *kept, const char *name, int64_t version);
/* Keeps a definition. NULL: it cannot be read, being one of a newer version, or there is no memory. */
const struct mg_workflow *mg_kept_put(struct mg_kept *kept, struct mg_slice text);

/* ---- post.c ---- */

bool mg_post_key_is_valid(struct mg_slice key);
#define MG_KEY_HEADER "Idempotency-Key"
/* Reads the key of a request, with or without the quotes of a structured field; absent: none. False: it is
 * not valid. submit.c. */
bool mg_post_key_read(const struct mg_http_exchange *request, struct mg_slice *ret_key);
/* The trace of the orders of a request; "" without a valid header. */
void mg_post_trace_read(const struct mg_http_exchange *request, char ret_traceparent[MG_TRACEPARENT_SIZE]);
/* Checks the submission and publishes it. `done` is called once, perhaps before the return. */
void mg_post_begin(struct mg_post *post);

/* ---- get_order.c: the lookup of an order, in the tables and then in the archive ---- */

struct mg_lookup {
    void (*found)(struct mg_call *call, const struct mg_rows *rows, bool is_archived);
    /* The client has no such order, also after the call's wait. `is_posted`: no scheduler has taken it yet.
     */
    void (*missed)(struct mg_call *call, bool is_posted);
};
void mg_lookup_begin(struct mg_call *call, const struct mg_lookup *lookup);
void mg_lookup_again(struct mg_call *call); /* after a wait */

/* ---- order_answer.c ---- */

/* Answers with the order of these rows (MG_REPORT_ORDER_OF_CLIENT) and its explanation. For an order that is
 * under way, or in error, the database is asked for its steps; for an ended one it is not. */
void mg_order_answer(struct mg_call *call, const struct mg_rows *rows);
/* Answers with the id and this state alone. */
void mg_order_answer_state(struct mg_call *call, const char *state);

/* ---- the calls of routes ---- */

void mg_submit_run(struct mg_call *call);
void mg_batch_run(struct mg_call *call); /* at the head of the request */
void mg_read_run(struct mg_call *call);
void mg_list_run(struct mg_call *call);
void mg_events_run(struct mg_call *call);
void mg_cancel_run(struct mg_call *call);
void mg_signal_run(struct mg_call *call);
void mg_callback_run(struct mg_call *call);

/* ---- signal.c: common to the two calls for signals ---- */

struct mg_signal_sending {
    void (*refuse)(struct mg_call *call, const struct mg_command_result *result); /* any other than done */
    void (*returned)(struct mg_call *call); /* no queue is bound by the signal's key */
};
/* Publishes the command, with a copy of `payload`, to `exchange`, which is borrowed until the answer. Answers
 * by the schedulers' result. */
void mg_signal_send(struct mg_call *call, struct mg_command *command, struct mg_slice payload,
                    const char *exchange, const struct mg_signal_sending *sending);

/* ---- callback.c ---- */

/* MG_BAD_INPUT: the file of the secret is not valid. */
enum mg_class mg_callbacks_check(const struct mg_gateway_options *options, struct mg_err *err) MG_MUSTCHECK;
struct mg_callbacks *mg_callbacks_create(struct mg_gateway *gateway, struct mg_err *err);
void mg_callbacks_destroy(struct mg_callbacks *callbacks); /* accepts NULL */
enum mg_class mg_callbacks_reload(struct mg_callbacks *callbacks, struct mg_err *err) MG_MUSTCHECK;

/* ---- observe.c: changes of orders, from one report for all ---- */

struct mg_observers *mg_observers_create(struct mg_gateway *gateway); /* NULL: no memory */
void mg_observers_destroy(struct mg_observers *observers);            /* accepts NULL */
int mg_observers_count(const struct mg_observers *observers); /* of orders that are being waited for */
/* The first notice comes for an order that exists, whatever its state. The observer is borrowed until its
 * end. False: no memory, or MG_OBSERVERS_MAX observe. */
bool mg_observe_begin(struct mg_observers *observers, struct mg_observer *observer);
void mg_observe_end(struct mg_observers *observers, struct mg_observer *observer);
/* Whether nothing further happens to an order in this state, but by an operator. */
bool mg_is_end(struct mg_slice state);

/* ---- long_poll.c ---- */

struct mg_waits *mg_waits_create(struct mg_gateway *gateway); /* NULL: no memory */
void mg_waits_destroy(struct mg_waits *waits);                /* accepts NULL */
/* Calls `woken` once the order has ended, or exists if it is unknown, or the call's time is over, or its
 * client has hung up, or the gateway drains. False: that is so already, or too many wait, of its client or in
 * all. */
bool mg_wait_begin(struct mg_call *call, void (*woken)(struct mg_call *call));

/* ---- lists.c: the line in which lists wait for their session ---- */

struct mg_lists *mg_lists_create(struct mg_gateway *gateway); /* NULL: no memory */
void mg_lists_destroy(struct mg_lists *lists);                /* after the store; accepts NULL */
/* Calls `run` once when it is the call's turn, perhaps before the return; then mg_lists_end must follow. A
 * call that is gone by then, or has too many before it, is refused. */
void mg_lists_begin(struct mg_call *call, void (*run)(struct mg_call *call));
/* The call leaves the line, and the next one runs. After an error all that wait are refused with it. */
void mg_lists_end(struct mg_call *call, const struct mg_err *err);

/* ---- events.c ---- */

struct mg_streams *mg_streams_create(struct mg_gateway *gateway); /* NULL: no memory */
void mg_streams_destroy(struct mg_streams *streams);              /* after the HTTP server; accepts NULL */

/* ---- ndjson.c ---- */

struct mg_batches *mg_batches_create(struct mg_gateway *gateway); /* NULL: no memory */
void mg_batches_destroy(struct mg_batches *batches); /* after the store and the broker; accepts NULL */

/* ---- hooks.c: statuses that are sent to clients ---- */

/* MG_BAD_INPUT: the file of webhooks, or one that it names, is not valid. */
enum mg_class mg_hooks_check(const struct mg_gateway_options *options, struct mg_err *err) MG_MUSTCHECK;
struct mg_hooks *mg_hooks_create(struct mg_gateway *gateway, struct mg_err *err);
void mg_hooks_destroy(struct mg_hooks *hooks); /* before the store; accepts NULL */
enum mg_class mg_hooks_reload(struct mg_hooks *hooks, struct mg_err *err) MG_MUSTCHECK;
enum mg_class mg_hooks_set_amqp_url(struct mg_hooks *hooks, const char *url, struct mg_err *err) MG_MUSTCHECK;
/* The queue for the statuses of this client's orders. NULL: it has no webhook, and had none in the last
 * minute. */
const char *mg_hooks_queue(const struct mg_hooks *hooks, const char *client);
/* Names the first webhook whose queue cannot be read, with the reason; "": each is read. */
void mg_hooks_remark(const struct mg_hooks *hooks, char *ret_remark, size_t size);

/* ---- routes.c ---- */

void mg_gateway_route(void *gateway, struct mg_http_exchange *request);
bool mg_gateway_takes_pieces(void *gateway, const char *method, const char *path);
/* At the head of a request with a body: false, and it has been refused, unless it has a route and a token
 * with its right. */
bool mg_gateway_admit(void *gateway, struct mg_http_exchange *request);

#endif
