/*
 * libmakegood: clients and agents of Makegood in C11 and C++.
 *
 *     cc $(pkg-config --cflags makegood) example.c $(pkg-config --libs makegood)
 *
 * A client posts orders and receives their statuses. Its connection has a thread of its own, which takes no
 * signals; the library changes no signal handler. Any thread may call the functions; those with a time-out
 * wait. In a child after fork(2) the clients and agents of its parent are closed: functions with an error
 * give MG_ERROR_CLOSED, and the others do nothing. No function is a cancellation point: pthread_cancel(3)
 * takes effect after its return. A handler must return.
 *
 * An agent takes the requests of services and answers them by handlers. It keeps the protocol as
 * makegood-agent does: deadlines by the database's clock, priorities, the circuit breaker, pause and limit.
 *
 * Every function that can fail returns an error code, 0 for success, and fills `error`, which may be NULL. On
 * failure `ret_` values are untouched, unless their comment differs.
 *
 * Options and orders are structures that may grow with the library's SONAME. Set them to zero first:
 * `struct mg_client_options options = {0}`; a member of zero or NULL has its default.
 */
#ifndef MG_MAKEGOOD_H
#define MG_MAKEGOOD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define MG_API __attribute__((visibility("default")))

/* ---- errors ---- */

enum mg_error_code {
    MG_ERROR_NONE = 0,
    MG_ERROR_INPUT,   /* an argument is wrong; nothing was sent */
    MG_ERROR_REFUSED, /* the broker certainly did not take the order, or the client is full */
    MG_ERROR_TIMEOUT, /* it did not happen in time; it may happen later */
    MG_ERROR_CLOSED,  /* the client is being closed, or it belongs to the parent of this process */
    MG_ERROR_SYSTEM   /* no memory, no thread, no descriptor */
};

#define MG_ERROR_TEXT_SIZE 512

struct mg_error {
    enum mg_error_code code;
    char text[MG_ERROR_TEXT_SIZE]; /* for people: the operation, its object and the reason */
};

/* ---- log ---- */

enum mg_severity { MG_SEVERITY_DEBUG, MG_SEVERITY_INFO, MG_SEVERITY_WARNING, MG_SEVERITY_ERROR };

/*
 * Takes one line of the log: readable text without time, severity and line end, of fewer than 4,096 bytes. It
 * belongs to the library, and is valid during the call. The thread that logs makes the call: a client's own,
 * that of mg_agent_run, or a caller's; at any time one of them. It must not block, since connections and
 * deadlines wait for it, and it calls no function of the library.
 */
typedef void mg_log_fn(void *arg, enum mg_severity severity, const char *line);

/* Passes the lines of `least` and above to `log`, for all clients and agents of the process. NULL: warnings
 * and errors go to standard error as JSON, as without this call. When it returns, no call of the function
 * before is under way, and its `arg` may be freed. */
MG_API void mg_log_redirect(mg_log_fn *log, void *arg, enum mg_severity least);

/* ---- client ---- */

#define MG_CLIENT_ORDER_ID_SIZE 65 /* the longest order id, and NUL */
/* Orders in hand of one client, at most: all are posted again at once after a reconnect. */
#define MG_CLIENT_ORDERS_MAX 1000

struct mg_client;

struct mg_client_options {
    const char *url; /* amqps://user:password@host:port/vhost, or amqp:// */
    /* The client's name: it writes to the exchange and reads from the queue that `makegood broker apply
     * --client NAME` made. NULL: the common exchange, and a private queue. At any time one process, and one
     * client in it, has the name: two of them would share the queue, and each lose statuses to the other.
     * The broker does not prevent that. */
    const char *client;
    const char *ca_file;              /* CAs in PEM for the broker's certificate; NULL: the system's */
    const char *cert_file, *key_file; /* the client's own, in PEM; NULL: none */
    bool is_plaintext_allowed;        /* amqp:// to another machine */
};

/* Starts to connect, and returns without waiting for the broker. MG_ERROR_INPUT: URL, name or files. The
 * texts need not outlive the call. */
MG_API enum mg_error_code mg_client_open(const struct mg_client_options *options,
                                         struct mg_client **ret_client, struct mg_error *error);

/* Ends calls under way with MG_ERROR_CLOSED, closes the connection and frees the client. Orders that the
 * broker has taken go on. An attempt to connect is waited for, some seconds. Accepts NULL. */
MG_API void mg_client_close(struct mg_client *client);

/* A submission: proto/submission.schema.json. */
struct mg_client_order {
    const char *workflow;
    const char *payload;         /* the text of a JSON object, kept byte for byte; NULL: {} */
    const char *order_id;        /* NULL: a new one; "" is refused, as every invalid id */
    const char *priority;        /* "normal", "high" */
    const char *complete_within; /* "15m"; NULL: the workflow's */
    const char *notify;          /* "steps": a status for each step that is completed */
    int64_t workflow_version;    /* 0: the newest */
    const char *traceparent;     /* W3C trace context; NULL: none */
};

/*
 * Posts an order and waits for the broker's confirm. From then on the order is in hand until
 * mg_client_forget: it is posted again after each reconnect, the same bytes under the same id, which is the
 * same order.
 *
 * `ret_order_id` is set as soon as the order has its id, so also with MG_ERROR_TIMEOUT and MG_ERROR_CLOSED.
 * MG_ERROR_TIMEOUT: it is unknown whether the order was taken, and it stays in hand. Submit it again with its
 * id, or wait for it. MG_ERROR_REFUSED: it was not taken, or there are MG_CLIENT_ORDERS_MAX in hand.
 * MG_ERROR_INPUT: the order is no submission, which is found before anything is sent, or its id is in hand
 * with another content.
 */
MG_API enum mg_error_code mg_client_submit(struct mg_client *client, const struct mg_client_order *order,
                                           int64_t timeout_ms, char ret_order_id[MG_CLIENT_ORDER_ID_SIZE],
                                           struct mg_error *error);

/* A signal to an order: proto/command.schema.json. */
struct mg_client_signal {
    const char *name;
    const char *order_id,
        *key;            /* either of them: the order, or the key under which one waits for the signal */
    const char *payload; /* the text of any JSON of up to 64 KiB, kept byte for byte; NULL: null */
    /* The signal's identity, best the id of the event that it reports: the same again is the same signal.
     * NULL: a new one. */
    const char *signal_id;
};

#define MG_CLIENT_OUTCOME_SIZE 16

/*
 * Sends a signal and waits for the schedulers' answer: taken, kept, counted or duplicate. Only for a client
 * with a name, and for the signals that `makegood broker apply --client NAME --signal NAME` gave it. It
 * counts as one of MG_CLIENT_ORDERS_MAX.
 *
 * MG_ERROR_REFUSED: it changed nothing, and `ret_outcome` is late, refused, not_found, conflict or invalid;
 * "returned", if the client may not send it at all; "full", if its queue is. MG_ERROR_TIMEOUT: it is unknown
 * whether it was taken; send it again with its signal_id.
 */
MG_API enum mg_error_code mg_client_send_signal(struct mg_client *client,
                                                const struct mg_client_signal *signal, int64_t timeout_ms,
                                                char ret_outcome[MG_CLIENT_OUTCOME_SIZE],
                                                struct mg_error *error);

/* A status of an order. All texts belong to the status. */
struct mg_client_status {
    int64_t seq; /* from 1, rising; 0: a rejection */
    /* accepted, step_completed, waiting, compensating, processed, compensated, cancelled, error, rejected; a
     * newer engine may send others */
    const char *status;
    /* The order has ended: one of the last five. An order in `error` may go on after an operator's repair. */
    bool is_end;
    int64_t at_ms;          /* since 1970, by the database's clock */
    const char *step;       /* NULL: no step is concerned */
    const char *reason;     /* NULL: none */
    const char *output;     /* JSON, of a processed order; NULL: its workflow has none */
    const char *cause;      /* JSON: why the order failed; NULL: it did not */
    const char *cause_step; /* parts of the cause; NULL: not in it */
    const char *cause_code;
    const char *cause_text;
    const char *message; /* the whole message, JSON as it came */
    size_t message_size; /* without the NUL */
};

/*
 * The order's next status: by rising `seq`, each once. A status that went to a lost queue leaves a gap; the
 * next one is held back for 5 s. MG_ERROR_TIMEOUT: none came in time; 0 does not wait. MG_ERROR_INPUT: the
 * order is not in hand. The caller frees the status.
 *
 * Of an order with more than 64 unread statuses, or 256 KiB of them, the oldest are dropped.
 */
MG_API enum mg_error_code mg_client_next(struct mg_client *client, const char *order_id, int64_t timeout_ms,
                                         struct mg_client_status **ret_status, struct mg_error *error);

/* Waits until the order has ended, and gives the status by which it did. It may be called again, and leaves
 * the statuses for mg_client_next. Errors as there. The caller frees the status. */
MG_API enum mg_error_code mg_client_wait(struct mg_client *client, const char *order_id, int64_t timeout_ms,
                                         struct mg_client_status **ret_status, struct mg_error *error);

MG_API void mg_client_status_free(struct mg_client_status *status); /* accepts NULL */

/* Drops an order: it is not posted again, and its statuses are passed over. Of an order that is not in hand
 * nothing changes. */
MG_API void mg_client_forget(struct mg_client *client, const char *order_id);

/* ---- agent ---- */

#define MG_AGENT_CONCURRENCY_DEFAULT 16
#define MG_AGENT_CONCURRENCY_MAX     256 /* each is a thread */

struct mg_agent;

struct mg_agent_options {
    const char *url;                  /* amqps://user:password@host:port/vhost, or amqp:// */
    const char *ca_file;              /* CAs in PEM for the broker's certificate; NULL: the system's */
    const char *cert_file, *key_file; /* the agent's own, in PEM; NULL: none */
    bool is_plaintext_allowed;        /* amqp:// to another machine */
    /* Its name, at most 127 bytes, unlike that of every other agent: an operator's limit counts agents by it.
     * NULL or "": host, process, time, and from the second agent of a process on its number. */
    const char *instance;
    int concurrency;          /* handlers of one service at once; 0: MG_AGENT_CONCURRENCY_DEFAULT */
    int64_t drain_timeout_ms; /* for the handlers under way after mg_agent_stop; 0: 30 s */
    size_t memory_bytes;      /* for requests in hand and all that is derived from them; 0: 128 MiB */
    /* SIGTERM and SIGINT stop the agent. Both are then blocked for good in the thread of mg_agent_run and in
     * those that it makes. False: the agent takes no signal. */
    bool takes_signals;
};

/* A request in the hands of a handler. It ends with the handler. */
struct mg_work {
    const char *order_id, *step, *service;
    const char *kind; /* "do", "undo", "verify" */
    uint32_t attempt;
    const char *idempotency_key; /* the same for every attempt and every copy of this request */
    const char *do_key;          /* that of the do which an undo or a verify is about */
    const char *path;            /* of the definition; "" if it has none */
    const char *body;            /* JSON as it came, or the text of a step with a content type; "" if none */
    size_t body_size;            /* without the NUL */
    const char *traceparent;     /* W3C trace context; "" if none */
    const char *message;         /* the whole request, JSON as it came */
    size_t message_size;
};

/* Answers one request by one of the functions below, before it returns. It runs on a thread of the agent's,
 * at most `concurrency` at once for a service. The first answer counts. A handler without an answer counts as
 * mg_work_transient: the step may have happened. */
typedef void mg_work_fn(struct mg_work *work, void *arg);

/* Makes an agent; it connects in mg_agent_run. MG_ERROR_INPUT: URL, files or numbers. The texts need not
 * outlive the call. */
MG_API enum mg_error_code mg_agent_open(const struct mg_agent_options *options, struct mg_agent **ret_agent,
                                        struct mg_error *error);

/* Adds a service, before mg_agent_run; 16 at most. A handler may be NULL: its requests are answered as
 * permanent, with the code no_handler. `arg` is passed to the handlers. */
MG_API enum mg_error_code mg_agent_serve(struct mg_agent *agent, const char *service, mg_work_fn *act,
                                         mg_work_fn *undo, mg_work_fn *verify, void *arg,
                                         struct mg_error *error);

/*
 * Serves until mg_agent_stop, and returns when all handlers have returned and their replies are confirmed.
 * A broker that is down is tried again for ever. Only once for each agent. MG_ERROR_INPUT: no service, or
 * files that have changed. MG_ERROR_TIMEOUT: the drain's time is over; unfinished requests go to other
 * agents, and handlers that still run keep their threads and `arg` until they return.
 */
MG_API enum mg_error_code mg_agent_run(struct mg_agent *agent, struct mg_error *error);

/* Lets mg_agent_run finish; a second call ends it at once. From any thread and from a signal handler. */
MG_API void mg_agent_stop(struct mg_agent *agent);

/* After mg_agent_run, or without it. Accepts NULL. */
MG_API void mg_agent_close(struct mg_agent *agent);

/* ---- in a handler ---- */

#define MG_WORK_POINTER_MAX 240 /* bytes; more than any sensible pointer into a body has */

/* The value at an RFC 6901 pointer of the body, as JSON: a text with its quotes, a number with its digits.
 * "" is the whole body. NULL: no such value, a pointer above MG_WORK_POINTER_MAX bytes, or no memory. The
 * value is a copy that belongs to the work; the copies of one work have about 24 MiB in all, and further ones
 * are NULL. So look a value up once. */
MG_API const char *mg_work_find(struct mg_work *work, const char *pointer);
/* The text of a JSON string there, as a copy likewise; NULL likewise, and for another value. */
MG_API const char *mg_work_text(struct mg_work *work, const char *pointer);
/* Milliseconds until an answer is dropped because the attempt's time is over; 0: it is. */
MG_API int64_t mg_work_left_ms(const struct mg_work *work);

/* It is so: the do or undo happened, the verify found it done. `result` is JSON, or NULL. Above
 * 64 KiB, 31 levels or 9,984 members and elements the reply goes without it, marked as truncated.
 * MG_ERROR_INPUT: it is no JSON, and nothing is answered. */
MG_API enum mg_error_code mg_work_done(struct mg_work *work, const char *result, struct mg_error *error);
/* The service works on it, for a step with finish_within. Otherwise as mg_work_done. */
MG_API enum mg_error_code mg_work_accepted(struct mg_work *work, const char *result, struct mg_error *error);
/* The verify or undo found that it had not happened. */
MG_API void mg_work_absent(struct mg_work *work);
/* It failed in a way that may pass. `code` and `text` are for people; NULL: "transient", none. `executed`:
 * "no" if it is certain that nothing happened; NULL: "maybe". `retry_after_ms` below 0: none; above 10
 * minutes the engine waits 10 minutes. With the code "breaker_open" and "no" it costs the step no attempt:
 * the service cannot be reached. */
MG_API void mg_work_transient(struct mg_work *work, const char *code, const char *text, const char *executed,
                              int64_t retry_after_ms);
/* A refusal that another attempt would get, too. `executed` NULL: "no". */
MG_API void mg_work_permanent(struct mg_work *work, const char *code, const char *text, const char *executed);
/* No answer proves whether it happened; the step's on_unknown decides. */
MG_API void mg_work_unknown(struct mg_work *work, const char *text);

#ifdef __cplusplus
}
#endif

#endif
