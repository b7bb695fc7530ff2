/*
 * The client: a thread with a loop, and calls from any thread. One lock guards the orders in hand. A call
 * puts an order on its way to the loop (`joining`, `leaving`), wakes it by a descriptor, and waits for a
 * change. It holds no order across a wait: another call may have dropped it.
 *
 * The poster belongs to the loop's thread. Its callbacks take the lock.
 */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"
#include "library_private.h"
#include "wire/status.h"

/* A status waits so long for those before it: they may have gone to a queue that is lost. */
#define GAP_MS 5000
/* Longer waits are as this one: no sum of times overflows. */
#define WAIT_MAX_MS   (INT64_C(10) * 365 * 24 * 3600 * 1000)
#define REASON_SIZE   256
#define NAME_DEFAULT  "makegood-client"
#define MS_PER_SECOND 1000
#define NS_PER_MS     1000000

TAILQ_HEAD(order_list, mg_library_order);

struct mg_client {
    pid_t maker; /* the process that has the thread */
    pthread_t thread;
    struct mg_loop *loop;
    struct mg_poster *poster;
    struct mg_watch *watch;
    int wake_fd;

    pthread_mutex_t lock; /* of all that follows */
    pthread_cond_t changed;
    struct order_list orders, joining, leaving;
    int order_count, callers;
    uint64_t serial; /* of the newest order */
    bool is_closing;
    char name[MG_NAME_MAX + 1]; /* "": none, so it sends no signals */
    char reason[REASON_SIZE];   /* why the broker is not up; "": it is */
};

/* ---- the loop's thread ---- */

static bool on_posted(void *arg, struct mg_posting *posting, enum mg_publish_outcome outcome)
{
    struct mg_client *client = arg;
    struct mg_library_order *order = posting->owner;
    bool is_refusal = outcome == MG_PUBLISH_REFUSED || outcome == MG_PUBLISH_RETURNED;
    (void)pthread_mutex_lock(&client->lock);
    order->is_taken = order->is_taken || outcome == MG_PUBLISH_CONFIRMED;
    /* A refusal proves nothing of an earlier post. And only a call that waits can report it. */
    is_refusal = is_refusal && !order->is_taken && !posting->is_maybe && order->submitters > 0;
    if (is_refusal) {
        order->refusal = outcome;
        order->is_posting = false;
        mg_poster_remove(client->poster, posting);
    }
    (void)pthread_cond_broadcast(&client->changed);
    (void)pthread_mutex_unlock(&client->lock);
    return !is_refusal;
}

/* The schedulers' answer to a signal; any message without a verdict is passed over. */
static bool answer_take(struct mg_client *client, struct mg_library_order *order, struct mg_slice body)
{
    struct mg_command_result answer;
    struct mg_err err;
    enum mg_class class = mg_command_result_parse(body, &answer, &err);
    (void)pthread_mutex_lock(&client->lock);
    if (class == MG_OK) {
        order->answer = answer;
        order->is_answered = true;
    }
    (void)pthread_cond_broadcast(&client->changed);
    (void)pthread_mutex_unlock(&client->lock);
    if (class != MG_OK) {
        mg_log(MG_LOG_WARN, "an answer to a signal was passed over",
               MG_LOG_TEXT("signal_id", order->signal_id), MG_LOG_TEXT("reason", err.text));
    }
    return class == MG_OK;
}

static bool on_status(void *arg, struct mg_posting *posting, struct mg_slice body)
{
    struct mg_client *client = arg;
    if (posting->signal != NULL) {
        return answer_take(client, posting->owner, body);
    }
    struct mg_library_order *order = posting->owner;
    struct mg_status_message status;
    struct mg_status_identity identity;
    struct mg_err err;
    bool is_end = false, is_final = false;
    enum mg_class class = mg_status_parse(body, &status, &err);
    if (class == MG_OK) {
        identity.seq = status.seq;
        is_end = mg_status_is_end(status.status);
        is_final = mg_status_is_final(status.status);
    } else if (class == MG_STALE) { /* a word of a newer engine */
        class = mg_status_identify(body, &identity, &err);
    }
    (void)pthread_mutex_lock(&client->lock);
    if (class == MG_OK) {
        class = mg_statuses_put(&order->statuses, identity.seq, is_end, body, mg_clock_boot_ms(), &err);
    }
    order->is_taken = true;
    (void)pthread_cond_broadcast(&client->changed);
    (void)pthread_mutex_unlock(&client->lock);
    if (class != MG_OK) {
        mg_log(MG_LOG_WARN, "a status was passed over", MG_LOG_TEXT("order_id", posting->order_id),
               MG_LOG_TEXT("reason", err.text));
    }
    return class == MG_OK && is_final;
}

static void on_state(void *arg, bool is_up, const char *reason)
{
    struct mg_client *client = arg;
    (void)pthread_mutex_lock(&client->lock);
    (void)snprintf(client->reason, sizeof(client->reason), "%s", is_up ? "" : reason);
    (void)pthread_mutex_unlock(&client->lock);
}

static void on_wake(void *arg, int events)
{
    struct mg_client *client = arg;
    struct mg_library_order *order;
    uint64_t count;
    (void)events;
    (void)!read(client->wake_fd, &count, sizeof(count)); /* only its readiness counts */
    (void)pthread_mutex_lock(&client->lock);
    while ((order = TAILQ_FIRST(&client->joining)) != NULL) {
        TAILQ_REMOVE(&client->joining, order, move);
        order->is_joining = false;
        order->is_posting = true;
        mg_poster_add(client->poster, &order->posting);
    }
    while ((order = TAILQ_FIRST(&client->leaving)) != NULL) {
        TAILQ_REMOVE(&client->leaving, order, move);
        if (order->is_posting) { /* not refused meanwhile */
            mg_poster_remove(client->poster, &order->posting);
        }
        mg_library_order_free(order);
    }
    bool is_closing = client->is_closing;
    (void)pthread_mutex_unlock(&client->lock);
    if (is_closing) {
        mg_loop_stop(client->loop);
    }
}

static void loop_end(struct mg_client *client)
{
    mg_poster_destroy(client->poster);
    mg_watch_destroy(client->watch);
    mg_loop_destroy(client->loop);
}

static void *thread_run(void *arg)
{
    struct mg_client *client = arg;
    mg_loop_run(client->loop);
    loop_end(client);
    return NULL;
}

/* ---- opening and closing ---- */

static enum mg_class client_start(struct mg_client *client, const struct mg_client_options *options,
                                  struct mg_err *err)
{
    const struct mg_poster_options poster = {
        .address = {.url = options->url,
                    .tls = {options->ca_file, options->cert_file, options->key_file},
                    .is_plaintext_allowed = options->is_plaintext_allowed,
                    .names = &mg_library_names},
        .name = options->client != NULL ? options->client : NAME_DEFAULT,
        .client = options->client,
        .wants_statuses = true,
        .on_posted = on_posted,
        .on_status = on_status,
        .on_state = on_state,
        .arg = client,
    };
    (void)snprintf(client->name, sizeof(client->name), "%s", options->client != NULL ? options->client : "");
    client->loop = mg_loop_create_as_guest();
    client->wake_fd = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
    if (client->loop == NULL || client->wake_fd < 0 ||
        (client->watch = mg_watch_create(client->loop, client->wake_fd, on_wake, client)) == NULL) {
        return mg_err_set(err, MG_TRANSIENT, "could not open a client: no memory or descriptors");
    }
    mg_watch_set(client->watch, MG_READABLE);
    enum mg_class class = mg_poster_create(client->loop, &poster, &client->poster, err);
    if (class == MG_OK && (errno = pthread_create(&client->thread, NULL, thread_run, client)) != 0) {
        class = mg_err_set(err, MG_TRANSIENT, "could not open a client: no thread: %s", strerror(errno));
    }
    return class;
}

/* After the end of its loop. */
static void client_free(struct mg_client *client)
{
    struct mg_library_order *order;
    if (client->wake_fd >= 0) {
        (void)close(client->wake_fd);
    }
    while ((order = TAILQ_FIRST(&client->leaving)) != NULL) {
        TAILQ_REMOVE(&client->leaving, order, move);
        mg_library_order_free(order);
    }
    while ((order = TAILQ_FIRST(&client->orders)) != NULL) {
        TAILQ_REMOVE(&client->orders, order, entry);
        mg_library_order_free(order);
    }
    (void)pthread_cond_destroy(&client->changed);
    (void)pthread_mutex_destroy(&client->lock);
    free(client);
}

static struct mg_client *client_create(void)
{
    pthread_condattr_t monotonic;
    struct mg_client *client = calloc(1, sizeof(*client));
    if (client == NULL) {
        return NULL;
    }
    client->wake_fd = -1;
    client->maker = getpid();
    (void)snprintf(client->reason, sizeof(client->reason), "connecting");
    TAILQ_INIT(&client->orders);
    TAILQ_INIT(&client->joining);
    TAILQ_INIT(&client->leaving);
    /* glibc allocates nothing for these, so they do not fail. */
    (void)pthread_mutex_init(&client->lock, NULL);
    (void)pthread_condattr_init(&monotonic);
    (void)pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    (void)pthread_cond_init(&client->changed, &monotonic);
    (void)pthread_condattr_destroy(&monotonic);
    return client;
}

static enum mg_error_code client_open_held(const struct mg_client_options *options,
                                           struct mg_client **ret_client, struct mg_error *error)
{
    static const int FAULTS[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT, SIGTRAP};
    sigset_t all, before;
    struct mg_err err;
    if (options == NULL || options->url == NULL) {
        return mg_error_set(error, MG_ERROR_INPUT, "a client needs the broker's URL");
    }
    mg_library_log_start();
    struct mg_client *client = client_create();
    if (client == NULL) {
        return mg_error_set(error, MG_ERROR_SYSTEM, "could not open a client: no memory");
    }
    /* Threads inherit the mask: the process's signals stay with its own threads. A fault of a thread stays
     * its own. */
    (void)sigfillset(&all);
    for (size_t i = 0; i < sizeof(FAULTS) / sizeof(FAULTS[0]); i++) {
        (void)sigdelset(&all, FAULTS[i]);
    }
    (void)pthread_sigmask(SIG_SETMASK, &all, &before);
    enum mg_class class = client_start(client, options, &err);
    (void)pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (class != MG_OK) {
        loop_end(client);
        client_free(client);
        return mg_error_from(error, &err);
    }
    *ret_client = client;
    return MG_ERROR_NONE;
}

enum mg_error_code mg_client_open(const struct mg_client_options *options, struct mg_client **ret_client,
                                  struct mg_error *error)
{
    int state = mg_library_cancel_hold();
    enum mg_error_code code = client_open_held(options, ret_client, error);
    mg_library_cancel_release(state);
    return code;
}

static void client_wake(const struct mg_client *client)
{
    const uint64_t one = 1;
    (void)!write(client->wake_fd, &one, sizeof(one)); /* fails only if it is readable for long already */
}

static void client_close_held(struct mg_client *client)
{
    if (client == NULL || !mg_library_is_own(client->maker, NULL)) {
        return;
    }
    (void)pthread_mutex_lock(&client->lock);
    client->is_closing = true;
    (void)pthread_cond_broadcast(&client->changed);
    while (client->callers > 0) {
        (void)pthread_cond_wait(&client->changed, &client->lock);
    }
    (void)pthread_mutex_unlock(&client->lock);
    client_wake(client);
    (void)pthread_join(client->thread, NULL);
    client_free(client);
}

void mg_client_close(struct mg_client *client)
{
    int state = mg_library_cancel_hold();
    client_close_held(client);
    mg_library_cancel_release(state);
}

/* ---- calls ---- */

struct call {
    struct mg_client *client;
    int64_t deadline_ms; /* by the monotonic clock */
    int64_t timeout_ms;
};

static int64_t monotonic_ms(void)
{
    struct timespec now;
    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * MS_PER_SECOND + now.tv_nsec / NS_PER_MS;
}

/* In a child of its process the lock may be held by a thread that is not there. */
static enum mg_error_code client_check(const struct mg_client *client, const char *order_id,
                                       struct mg_error *error)
{
    if (client == NULL || order_id == NULL) {
        return mg_error_set(error, MG_ERROR_INPUT,
                            client == NULL ? "there is no client" : "an order_id is needed");
    }
    return mg_library_is_own(client->maker, error) ? MG_ERROR_NONE : MG_ERROR_CLOSED;
}

static struct call call_begin(struct mg_client *client, int64_t timeout_ms)
{
    int64_t wait_ms = timeout_ms < 0 ? 0 : timeout_ms < WAIT_MAX_MS ? timeout_ms : WAIT_MAX_MS;
    (void)pthread_mutex_lock(&client->lock);
    client->callers++;
    return (struct call){client, monotonic_ms() + wait_ms, wait_ms};
}

static void call_end(struct mg_client *client)
{
    if (--client->callers == 0 && client->is_closing) {
        (void)pthread_cond_broadcast(&client->changed);
    }
    (void)pthread_mutex_unlock(&client->lock);
}

/* Waits for a change, at most `within_ms`. False: the call's time is over. */
static bool call_wait(const struct call *call, int64_t within_ms)
{
    int64_t now_ms = monotonic_ms();
    int64_t until_ms = within_ms < call->deadline_ms - now_ms ? now_ms + within_ms : call->deadline_ms;
    if (now_ms >= call->deadline_ms) {
        return false;
    }
    const struct timespec until = {.tv_sec = (time_t)(until_ms / MS_PER_SECOND),
                                   .tv_nsec = (long)(until_ms % MS_PER_SECOND * NS_PER_MS)};
    (void)pthread_cond_timedwait(&call->client->changed, &call->client->lock, &until);
    return true;
}

static enum mg_error_code closed(struct mg_error *error)
{
    return mg_error_set(error, MG_ERROR_CLOSED, "the client is closed");
}

/* Linear: at most MG_CLIENT_ORDERS_MAX orders, some microseconds. */
static struct mg_library_order *order_find(const struct mg_client *client, const char *order_id)
{
    struct mg_library_order *order;
    TAILQ_FOREACH(order, &client->orders, entry)
    {
        if (strcmp(order->order_id, order_id) == 0) {
            return order;
        }
    }
    return NULL;
}

static void order_drop(struct mg_client *client, struct mg_library_order *order)
{
    TAILQ_REMOVE(&client->orders, order, entry);
    client->order_count--;
    if (order->is_posting) {
        TAILQ_INSERT_TAIL(&client->leaving, order, move);
        client_wake(client);
        return;
    }
    if (order->is_joining) {
        TAILQ_REMOVE(&client->joining, order, move);
    }
    mg_library_order_free(order);
}

/* Puts a new order in hand, or finds the known one of the same content and frees the new one. */
static enum mg_error_code order_take(struct mg_client *client, struct mg_library_order *order,
                                     uint64_t *ret_serial, struct mg_error *error)
{
    struct mg_library_order *known = order_find(client, order->order_id);
    if (known != NULL && !mg_slice_equal(known->posting.body, order->posting.body)) {
        return mg_error_set(error, MG_ERROR_INPUT, "order %s was submitted with another content",
                            order->order_id);
    }
    if (known != NULL) {
        known->submitters++;
        *ret_serial = known->serial;
        mg_library_order_free(order);
        return MG_ERROR_NONE;
    }
    if (client->order_count >= MG_CLIENT_ORDERS_MAX) {
        return mg_error_set(error, MG_ERROR_REFUSED, "%d orders are in hand: forget those that have ended",
                            client->order_count);
    }
    order->submitters = 1;
    order->serial = *ret_serial = ++client->serial;
    order->is_joining = true;
    TAILQ_INSERT_TAIL(&client->orders, order, entry);
    TAILQ_INSERT_TAIL(&client->joining, order, move);
    client->order_count++;
    client_wake(client);
    return MG_ERROR_NONE;
}

static enum mg_error_code not_in_hand(const char *order_id, struct mg_error *error)
{
    return mg_error_set(error, MG_ERROR_INPUT, "order %.*s is not in hand", MG_CLIENT_ORDER_ID_SIZE,
                        order_id);
}

static enum mg_error_code order_refused(const struct mg_library_order *order, struct mg_error *error)
{
    const char *queue = order->posting.is_high ? "orders.intake.high" : "orders.intake";
    return order->refusal == MG_PUBLISH_REFUSED
               ? mg_error_set(error, MG_ERROR_REFUSED, "the broker refused order %s: %s is full",
                              order->order_id, queue)
               : mg_error_set(
                     error, MG_ERROR_REFUSED,
                     "the broker returned order %s: there is no queue %s; run: makegood broker apply",
                     order->order_id, queue);
}

static enum mg_error_code confirm_await(const struct call *call, const char *order_id, uint64_t serial,
                                        struct mg_error *error)
{
    struct mg_client *client = call->client;
    for (;;) {
        struct mg_library_order *order = order_find(client, order_id);
        enum mg_error_code code = MG_ERROR_NONE;
        if (order == NULL || order->serial != serial) {
            return not_in_hand(order_id, error); /* another call has forgotten it */
        }
        if (order->refusal != MG_PUBLISH_CONFIRMED) {
            code = order_refused(order, error);
        } else if (client->is_closing) {
            code = closed(error);
        } else if (!order->is_taken && call_wait(call, INT64_MAX)) {
            continue;
        } else if (!order->is_taken) {
            code = mg_error_set(
                error, MG_ERROR_TIMEOUT, "the broker did not confirm order %s within %lld ms%s%s", order_id,
                (long long)call->timeout_ms, client->reason[0] != '\0' ? ": " : "", client->reason);
        }
        if (--order->submitters == 0 && order->refusal != MG_PUBLISH_CONFIRMED) {
            order_drop(client, order);
        }
        return code;
    }
}

static enum mg_error_code client_submit_held(struct mg_client *client, const struct mg_client_order *wanted,
                                             int64_t timeout_ms, char ret_order_id[MG_CLIENT_ORDER_ID_SIZE],
                                             struct mg_error *error)
{
    struct mg_library_order *order;
    char order_id[MG_CLIENT_ORDER_ID_SIZE];
    uint64_t serial;
    enum mg_error_code code = client_check(client, "", error);
    code = code == MG_ERROR_NONE ? mg_library_order_create(wanted, &order, error) : code;
    if (code != MG_ERROR_NONE) {
        return code;
    }
    memcpy(order_id, order->order_id, sizeof(order_id));
    struct call call = call_begin(client, timeout_ms);
    code = client->is_closing ? closed(error) : order_take(client, order, &serial, error);
    if (code != MG_ERROR_NONE) {
        mg_library_order_free(order);
    } else {
        memcpy(ret_order_id, order_id, sizeof(order_id));
        code = confirm_await(&call, order_id, serial, error);
    }
    call_end(client);
    return code;
}

enum mg_error_code mg_client_submit(struct mg_client *client, const struct mg_client_order *wanted,
                                    int64_t timeout_ms, char ret_order_id[MG_CLIENT_ORDER_ID_SIZE],
                                    struct mg_error *error)
{
    int state = mg_library_cancel_hold();
    enum mg_error_code code = client_submit_held(client, wanted, timeout_ms, ret_order_id, error);
    mg_library_cancel_release(state);
    return code;
}

/* ---- signals ---- */

static enum mg_error_code signal_refused(const struct mg_client *client, const struct mg_library_order *order,
                                         char ret_outcome[MG_CLIENT_OUTCOME_SIZE], struct mg_error *error)
{
    bool is_full = order->refusal == MG_PUBLISH_REFUSED;
    (void)snprintf(ret_outcome, MG_CLIENT_OUTCOME_SIZE, "%s", is_full ? "full" : "returned");
    return is_full ? mg_error_set(error, MG_ERROR_REFUSED,
                                  "the broker refused signal %s: orders.signals is full", order->signal)
                   : mg_error_set(error, MG_ERROR_REFUSED,
                                  "client %s may not send signal %s, or its queue is missing; run: makegood "
                                  "broker apply --client %s --signal %s",
                                  client->name, order->signal, client->name, order->signal);
}

static enum mg_error_code signal_answered(const struct mg_library_order *order,
                                          char ret_outcome[MG_CLIENT_OUTCOME_SIZE], struct mg_error *error)
{
    const struct mg_command_result *answer = &order->answer;
    (void)snprintf(ret_outcome, MG_CLIENT_OUTCOME_SIZE, "%s",
                   answer->signal != MG_SIGNAL_NONE ? mg_signal_outcome_name(answer->signal)
                                                    : mg_command_verdict_name(answer->verdict));
    return answer->verdict == MG_COMMAND_DONE ? MG_ERROR_NONE
                                              : mg_error_set(error, MG_ERROR_REFUSED, "signal %s: %s: %s",
                                                             order->signal, ret_outcome, answer->text);
}

/* The call alone knows the signal's correlation id, so the signal stays in hand until its end here. */
static enum mg_error_code signal_await(const struct call *call, struct mg_library_order *order,
                                       char ret_outcome[MG_CLIENT_OUTCOME_SIZE], struct mg_error *error)
{
    struct mg_client *client = call->client;
    while (!order->is_answered && order->refusal == MG_PUBLISH_CONFIRMED && !client->is_closing) {
        if (!call_wait(call, INT64_MAX)) {
            return mg_error_set(error, MG_ERROR_TIMEOUT,
                                "no scheduler has answered to signal %s (signal_id %s) within %lld ms%s%s",
                                order->signal, order->signal_id, (long long)call->timeout_ms,
                                client->reason[0] != '\0' ? ": " : "", client->reason);
        }
    }
    return order->is_answered                       ? signal_answered(order, ret_outcome, error)
           : order->refusal != MG_PUBLISH_CONFIRMED ? signal_refused(client, order, ret_outcome, error)
                                                    : closed(error);
}

static enum mg_error_code client_signal_held(struct mg_client *client, const struct mg_client_signal *wanted,
                                             int64_t timeout_ms, char ret_outcome[MG_CLIENT_OUTCOME_SIZE],
                                             struct mg_error *error)
{
    struct mg_library_order *order;
    uint64_t serial;
    enum mg_error_code code = client_check(client, "", error);
    if (code == MG_ERROR_NONE && client->name[0] == '\0') {
        code = mg_error_set(error, MG_ERROR_INPUT, "a client without a name sends no signals");
    }
    code = code == MG_ERROR_NONE ? mg_library_signal_create(client->name, wanted, &order, error) : code;
    if (code != MG_ERROR_NONE) {
        return code;
    }
    struct call call = call_begin(client, timeout_ms);
    code = client->is_closing ? closed(error) : order_take(client, order, &serial, error);
    if (code != MG_ERROR_NONE) {
        mg_library_order_free(order);
    } else {
        code = signal_await(&call, order, ret_outcome, error);
        order_drop(client, order);
    }
    call_end(client);
    return code;
}

enum mg_error_code mg_client_send_signal(struct mg_client *client, const struct mg_client_signal *signal,
                                         int64_t timeout_ms, char ret_outcome[MG_CLIENT_OUTCOME_SIZE],
                                         struct mg_error *error)
{
    int state = mg_library_cancel_hold();
    enum mg_error_code code = client_signal_held(client, signal, timeout_ms, ret_outcome, error);
    mg_library_cancel_release(state);
    return code;
}

/* ---- statuses ---- */

/* The status that a call waits for, or NULL; and when to look again, by the clock since boot. */
static const struct mg_kept_status *next_status(struct mg_library_order *order, int64_t *ret_due_ms)
{
    return mg_statuses_next(&order->statuses, GAP_MS, mg_clock_boot_ms(), ret_due_ms);
}

static const struct mg_kept_status *end_status(struct mg_library_order *order, int64_t *ret_due_ms)
{
    const struct mg_kept_status *newest = mg_statuses_newest(&order->statuses);
    *ret_due_ms = INT64_MAX;
    return newest != NULL && newest->is_end ? newest : NULL;
}

static enum mg_error_code status_await_held(struct mg_client *client, const char *order_id,
                                            int64_t timeout_ms, bool is_next,
                                            struct mg_client_status **ret_status, struct mg_error *error)
{
    enum mg_error_code code = client_check(client, order_id, error);
    if (code != MG_ERROR_NONE) {
        return code;
    }
    struct call call = call_begin(client, timeout_ms);
    const struct mg_kept_status *kept = NULL;
    struct mg_library_order *order;
    int64_t due_ms;
    do {
        order = order_find(client, order_id);
        if (client->is_closing) {
            code = closed(error);
        } else if (order == NULL) {
            code = not_in_hand(order_id, error);
        } else if ((kept = is_next ? next_status(order, &due_ms) : end_status(order, &due_ms)) == NULL &&
                   !call_wait(&call, due_ms == INT64_MAX ? INT64_MAX : due_ms - mg_clock_boot_ms())) {
            code = mg_error_set(error, MG_ERROR_TIMEOUT,
                                is_next ? "no further status of order %s within %lld ms"
                                        : "order %s has not ended within %lld ms",
                                order_id, (long long)call.timeout_ms);
        }
    } while (kept == NULL && code == MG_ERROR_NONE);
    if (kept != NULL) {
        struct mg_client_status *status = mg_library_status_create(kept);
        if (status == NULL) {
            code = mg_error_set(error, MG_ERROR_SYSTEM, "could not give a status of order %s: no memory",
                                order_id);
        } else {
            *ret_status = status;
        }
        if (status != NULL && is_next) {
            mg_statuses_read(&order->statuses, kept->seq);
        }
    }
    call_end(client);
    return code;
}

static enum mg_error_code status_await(struct mg_client *client, const char *order_id, int64_t timeout_ms,
                                       bool is_next, struct mg_client_status **ret_status,
                                       struct mg_error *error)
{
    int state = mg_library_cancel_hold();
    enum mg_error_code code = status_await_held(client, order_id, timeout_ms, is_next, ret_status, error);
    mg_library_cancel_release(state);
    return code;
}

enum mg_error_code mg_client_next(struct mg_client *client, const char *order_id, int64_t timeout_ms,
                                  struct mg_client_status **ret_status, struct mg_error *error)
{
    return status_await(client, order_id, timeout_ms, true, ret_status, error);
}

enum mg_error_code mg_client_wait(struct mg_client *client, const char *order_id, int64_t timeout_ms,
                                  struct mg_client_status **ret_status, struct mg_error *error)
{
    return status_await(client, order_id, timeout_ms, false, ret_status, error);
}

static void client_forget_held(struct mg_client *client, const char *order_id)
{
    if (client_check(client, order_id, NULL) != MG_ERROR_NONE) {
        return;
    }
    (void)call_begin(client, 0);
    struct mg_library_order *order = order_find(client, order_id);
    if (order != NULL) {
        order_drop(client, order);
    }
    call_end(client);
}

void mg_client_forget(struct mg_client *client, const char *order_id)
{
    int state = mg_library_cancel_hold();
    client_forget_held(client, order_id);
    mg_library_cancel_release(state);
}
