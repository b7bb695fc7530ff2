/*
 * A connection to RabbitMQ on the loop. The library's own sends wait without an end, and its publish can hang
 * on a silent broker (before 0.14). So two rules hold here: frames are read only with a zero time-out, and
 * sent only after the socket has reported room for the whole frame. The library sends and judges heartbeats
 * within its reads; a timer repeats the reads however busy or idle the process is.
 *
 * It never waits on the loop's thread, but for a fifth of a second at its end. After an error it closes
 * without a handshake: the peer may be gone.
 */
#include "io/amqp/link.h"

#include <errno.h>
#include <linux/sock_diag.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/types.h>

#include "base/clock.h"
#include "base/id.h"
#include "base/secret.h"
#include "core/backoff.h"
#include "io/amqp/frame.h"

#define BACKOFF_FIRST_MS    100
#define BACKOFF_MAX_MS      5000  /* all are back within 10 s after the broker is, handshake included */
#define BACKOFF_LEAST_MS    10    /* full jitter may draw 0; prevents a tight loop */
#define LASTING_MS          10000 /* a connection that lasts this long resets the backoff */
#define SERVICE_PERIOD_MS   2000  /* a heartbeat that goes out this late is still in time */
#define FRAMES_PER_TURN     2048  /* then other sockets get their turn */
#define SEND_OVERHEAD_BYTES 2048  /* possible charge of the kernel for a packet, and of TLS for a record */
#define RECORD_BYTES        16384 /* of one TLS record, which may be a packet of its own */
#define END_MS              200   /* for the broker's end of a connection; usually a few milliseconds */
#define NAME_SIZE           256
#define OUTBOX_BYTES        65536 /* then it is sent, so that the broker can begin to read */
#define OUTBOX_MAX_BYTES    (OUTBOX_BYTES + MG_LINK_BODY_FRAME_MAX + MG_FRAME_TEXTS_MAX)

/* The connecting thread's data; it touches nothing else. The broker owns the texts and outlives the job. The
 * URL may change meanwhile, so the job has its own copy. */
struct mg_link_job {
    struct mg_link *link;
    struct mg_broker_address address;
    char *url;
    char name[NAME_SIZE];
    const char *queues[MG_LINK_QUEUES_MAX];
    int queue_count;
    bool is_confirming, is_plain, is_absent;
    amqp_connection_state_t connection;
    enum mg_class class;
    struct mg_err err;
};

static void link_connect(void *arg);
static void link_connect_work(void *arg);
static void link_connect_done(void *arg);
static void link_retry_later(struct mg_link *link);
static void link_on_socket(void *arg, int events);
static void link_on_service(void *arg);
static void link_on_again(void *arg);
static bool link_empty_outbox(struct mg_link *link);
static void link_take_frame(struct mg_link *link, const amqp_frame_t *frame);
static void link_take_control(struct mg_link *link, const amqp_method_t *method);
static void link_take_close(struct mg_link *link, const amqp_method_t *method);
static void link_close(struct mg_link *link);

enum mg_class mg_link_init(struct mg_link *link, struct mg_broker_base *base, const char *role,
                           const struct mg_link_events *events, void *owner, struct mg_err *err)
{
    link->base = base;
    link->owner = owner;
    link->role = role;
    link->events = events;
    mg_buf_init(&link->outbox, OUTBOX_MAX_BYTES);
    link->service = mg_timer_create(base->loop, link_on_service, link);
    link->retry = mg_timer_create(base->loop, link_connect, link);
    link->again = mg_idle_create(base->loop, link_on_again, link);
    if (link->service == NULL || link->retry == NULL || link->again == NULL) {
        return mg_err_set(err, MG_TRANSIENT, "could not prepare the broker's connection: no memory");
    }
    return MG_OK;
}

void mg_link_start(struct mg_link *link)
{
    if (link->is_started) {
        return;
    }
    link->is_started = true;
    mg_timer_start(link->retry, 0, 0);
}

/* Reads until the broker ends the connection, which it does when it has taken everything before the close. A
 * socket that is closed with unread data resets the connection, and the broker then drops what it has not
 * read: acks, whose messages would be redelivered. After its answer to the close the broker waits for the
 * client's end of the connection: without that, the wait would last for all of its time. */
static void link_await_end(int fd)
{
    char discarded[4096];
    (void)shutdown(fd, SHUT_WR);
    int64_t until_ms = mg_clock_boot_ms() + END_MS, left_ms = END_MS;
    struct pollfd socket = {.fd = fd, .events = POLLIN};
    while (left_ms > 0 && poll(&socket, 1, (int)left_ms) > 0 &&
           recv(fd, discarded, sizeof(discarded), MSG_DONTWAIT) > 0) {
        left_ms = until_ms - mg_clock_boot_ms();
    }
}

void mg_link_finish(struct mg_link *link)
{
    if (link->is_open && mg_link_has_room(link, 0)) {
        amqp_connection_close_t close = {.reply_code = AMQP_REPLY_SUCCESS,
                                         .reply_text = amqp_cstring_bytes("bye")};
        if (amqp_send_method(link->connection, 0, AMQP_CONNECTION_CLOSE_METHOD, &close) == AMQP_STATUS_OK) {
            link_await_end(amqp_get_sockfd(link->connection));
        }
    }
    link->is_open = false;
    link_close(link);
    mg_buf_finish(&link->outbox);
    mg_timer_destroy(link->service);
    mg_timer_destroy(link->retry);
    if (link->again != NULL) {
        mg_idle_destroy(link->again);
    }
    link->service = link->retry = NULL;
    link->again = NULL;
}

/* ---- connecting ---- */

static void link_job_free(struct mg_link_job *job)
{
    mg_secret_free(job->url);
    free(job);
}

static void link_connect(void *arg)
{
    struct mg_link *link = arg;
    struct mg_link_job *job = calloc(1, sizeof(*job));
    if (job != NULL) {
        job->url = strdup(link->base->address.url);
    }
    if (job == NULL || job->url == NULL) {
        free(job);
        link_retry_later(link);
        return;
    }
    job->link = link;
    job->address = link->base->address;
    job->address.url = job->url;
    (void)snprintf(job->name, sizeof(job->name), "%.200s (%s)", link->base->name, link->role);
    memcpy(job->queues, link->queues, sizeof(job->queues));
    job->queue_count = link->queue_count;
    job->is_confirming = link->is_confirming;
    job->is_plain = strncmp(job->url, "amqp:", strlen("amqp:")) == 0;
    if (!mg_loop_offload(link->base->loop, link_connect_work, link_connect_done, job)) {
        link_job_free(job);
        link_retry_later(link);
        return;
    }
    link->job = job;
    mg_broker_enter(link->base);
}

static void link_connect_work(void *arg)
{
    struct mg_link_job *job = arg;
    job->class = mg_amqp_connect(&job->address, job->name, &job->connection, &job->is_absent, &job->err);
    if (job->class != MG_OK) {
        return;
    }
    job->class = mg_amqp_check_queues(job->connection, job->queues, job->queue_count, &job->err);
    if (job->class == MG_OK && job->is_confirming &&
        amqp_confirm_select(job->connection, MG_AMQP_CHANNEL) == NULL) {
        job->class = mg_amqp_result(amqp_get_rpc_reply(job->connection), NULL, &job->err);
    }
    if (job->class != MG_OK) {
        mg_amqp_destroy(job->connection);
        job->connection = NULL;
    }
}

static void link_connect_done(void *arg)
{
    struct mg_link_job *job = arg;
    struct mg_link *link = job->link;
    struct mg_broker_base *base = link->base;
    link->job = NULL;
    if (base->is_closing) {
        mg_amqp_destroy(job->connection);
    } else if (job->class != MG_OK) {
        link->trouble = job->class == MG_TRANSIENT ? MG_TROUBLE_UNREACHABLE : MG_TROUBLE_SETUP;
        link->is_absent = job->is_absent;
        (void)snprintf(link->reason, sizeof(link->reason), "%.*s", (int)sizeof(link->reason) - 1,
                       job->err.text);
        link_retry_later(link);
        base->changed(base->arg);
    } else {
        link->connection = job->connection;
        link->watch = mg_watch_create(base->loop, amqp_get_sockfd(link->connection), link_on_socket, link);
        if (link->watch == NULL) {
            link_close(link);
            link_retry_later(link);
        } else {
            link->is_open = true;
            link->trouble = MG_TROUBLE_NONE;
            link->generation++;
            link->opened_boot_ms = mg_clock_boot_ms();
            link->is_blocked = link->is_reopening = false;
            link->content = MG_CONTENT_NONE;
            link->answer_by_boot_ms = 0;
            link->send_budget = 0;
            link->is_plain = job->is_plain;
            mg_watch_set(link->watch, MG_READABLE);
            mg_timer_start(link->service, SERVICE_PERIOD_MS, SERVICE_PERIOD_MS);
            mg_idle_arm(link->again); /* frames may have come during the other thread's last requests */
            mg_metric_add(base->connects, 1);
            link->events->opened(link);
            base->changed(base->arg);
        }
    }
    link_job_free(job);
    mg_broker_leave(base);
}

/* Full jitter, so that many processes do not come back in step. */
static void link_retry_later(struct mg_link *link)
{
    int64_t wait_ms = mg_backoff_ms(BACKOFF_FIRST_MS, BACKOFF_MAX_MS, link->attempts++, -1, mg_random_u64());
    mg_timer_start(link->retry, BACKOFF_LEAST_MS + wait_ms, 0);
}

void mg_link_fail(struct mg_link *link, enum mg_trouble trouble, const char *format, ...)
{
    if (!link->is_open) {
        return;
    }
    int n = snprintf(link->reason, sizeof(link->reason),
                     "lost the connection to %s (%s): ", link->base->host_port, link->role);
    if (n > 0 && (size_t)n < sizeof(link->reason)) {
        va_list args;
        va_start(args, format);
        (void)vsnprintf(link->reason + n, sizeof(link->reason) - (size_t)n, format, args);
        va_end(args);
    }
    link->trouble = trouble;
    link->is_absent = false;
    link->is_open = false;
    if (mg_clock_boot_ms() - link->opened_boot_ms >= LASTING_MS) {
        link->attempts = 0;
    }
    link_close(link);
    link_retry_later(link);
    link->events->lost(link);
    link->base->changed(link->base->arg);
}

static void link_close(struct mg_link *link)
{
    mg_watch_destroy(link->watch);
    link->watch = NULL;
    if (link->service != NULL) {
        mg_timer_stop(link->service);
    }
    mg_amqp_destroy(link->connection);
    link->connection = NULL;
    link->wants_room = link->is_corked = false;
    mg_buf_clear(&link->outbox);
}

/* ---- reading ---- */

static void link_on_socket(void *arg, int events)
{
    struct mg_link *link = arg;
    mg_broker_enter(link->base);
    mg_link_drain(link);
    if (link->is_open && link->wants_room && (events & MG_WRITABLE) != 0) {
        link->wants_room = false;
        mg_watch_set(link->watch, MG_READABLE);
        link->events->writable(link);
    }
    mg_broker_leave(link->base);
}

static void link_on_service(void *arg)
{
    struct mg_link *link = arg;
    mg_broker_enter(link->base);
    mg_link_drain(link);
    if (link->is_open && link->answer_by_boot_ms != 0 && mg_clock_boot_ms() > link->answer_by_boot_ms) {
        mg_link_fail(link, MG_TROUBLE_UNREACHABLE, "no answer within %d ms", MG_AMQP_RPC_TIMEOUT_MS);
    }
    mg_broker_leave(link->base);
}

static void link_on_again(void *arg)
{
    struct mg_link *link = arg;
    mg_broker_enter(link->base);
    mg_link_drain(link);
    mg_broker_leave(link->base);
}

void mg_link_drain(struct mg_link *link)
{
    for (int i = 0; i < FRAMES_PER_TURN; i++) {
        if (!link->is_open) {
            return;
        }
        struct timeval at_once = {0};
        amqp_frame_t frame;
        int status = amqp_simple_wait_frame_noblock(link->connection, &frame, &at_once);
        if (status == AMQP_STATUS_TIMEOUT) {
            return;
        }
        if (status != AMQP_STATUS_OK) {
            struct mg_err why;
            mg_link_fail(link, MG_TROUBLE_UNREACHABLE, "%s",
                         mg_amqp_failure_text(link->connection, status, &why));
            return;
        }
        link->received_boot_ms = mg_clock_boot_ms();
        link_take_frame(link, &frame);
        /* Between a method and its header the method still points into the pool. After that, all has been
         * copied. */
        if (link->is_open && link->content != MG_CONTENT_HEADER) {
            amqp_maybe_release_buffers_on_channel(link->connection, frame.channel);
        }
    }
    if (link->again != NULL) {
        mg_idle_arm(link->again); /* the library may hold frames for which the socket reports nothing */
    }
}

static void link_take_frame(struct mg_link *link, const amqp_frame_t *frame)
{
    if (frame->channel != 0 && frame->channel != MG_AMQP_CHANNEL) {
        return;
    }
    bool is_content = link->content != MG_CONTENT_NONE && frame->channel != 0;
    if (frame->frame_type == AMQP_FRAME_METHOD) {
        const amqp_method_t *method = &frame->payload.method;
        if (is_content && method->id != AMQP_CHANNEL_CLOSE_METHOD) {
            mg_link_fail(link, MG_TROUBLE_UNREACHABLE, "a method came where content should");
        } else if (link->events->header != NULL &&
                   (method->id == AMQP_BASIC_DELIVER_METHOD || method->id == AMQP_BASIC_RETURN_METHOD)) {
            link->content = MG_CONTENT_HEADER;
            link->content_method = *method;
        } else {
            link_take_control(link, method);
        }
    } else if (frame->frame_type == AMQP_FRAME_HEADER && link->content == MG_CONTENT_HEADER &&
               frame->payload.properties.class_id == AMQP_BASIC_CLASS) {
        link->content = MG_CONTENT_BODY;
        link->content_left = frame->payload.properties.body_size;
        link->events->header(link, &link->content_method, frame->payload.properties.decoded,
                             link->content_left);
    } else if (frame->frame_type == AMQP_FRAME_BODY && link->content == MG_CONTENT_BODY &&
               frame->payload.body_fragment.len <= link->content_left) {
        link->content_left -= frame->payload.body_fragment.len;
        link->events->body(link, frame->payload.body_fragment);
    } else {
        mg_link_fail(link, MG_TROUBLE_UNREACHABLE, "a frame of type %d came where none should",
                     frame->frame_type);
    }
    if (link->is_open && link->content == MG_CONTENT_BODY && link->content_left == 0) {
        link->content = MG_CONTENT_NONE;
        link->events->complete(link);
    }
}

static void link_take_control(struct mg_link *link, const amqp_method_t *method)
{
    switch (method->id) {
    case AMQP_CONNECTION_BLOCKED_METHOD:
    case AMQP_CONNECTION_UNBLOCKED_METHOD:
        link->is_blocked = method->id == AMQP_CONNECTION_BLOCKED_METHOD;
        link->events->writable(link);
        link->base->changed(link->base->arg);
        return;
    case AMQP_CONNECTION_CLOSE_METHOD:
    case AMQP_CHANNEL_CLOSE_METHOD:
        link_take_close(link, method);
        return;
    case AMQP_CHANNEL_OPEN_OK_METHOD:
        mg_link_answered(link);
        link->is_reopening = false;
        link->events->opened(link);
        return;
    default: /* method numbers are the protocol's, not an enum */
        link->events->method(link, method);
        return;
    }
}

static void link_take_close(struct mg_link *link, const amqp_method_t *method)
{
    int code;
    amqp_method_number_t refused = 0;
    amqp_bytes_t text;
    if (method->id == AMQP_CHANNEL_CLOSE_METHOD) {
        const amqp_channel_close_t *close = method->decoded;
        code = close->reply_code;
        text = close->reply_text;
        refused = (amqp_method_number_t)close->class_id << 16 | close->method_id;
        if (link->events->channel_closed != NULL && link->events->channel_closed(link, close)) {
            if (!link->is_open) {
                return;
            }
            amqp_channel_close_ok_t ok = {0};
            amqp_channel_open_t open = {0};
            link->content = MG_CONTENT_NONE;
            link->is_reopening = true;
            if (!mg_link_has_room(link, 0)) { /* on an almost idle link: it is stuck */
                mg_link_fail(link, MG_TROUBLE_UNREACHABLE, "the broker does not read");
            } else if (mg_link_send(link, AMQP_CHANNEL_CLOSE_OK_METHOD, &ok) &&
                       mg_link_send(link, AMQP_CHANNEL_OPEN_METHOD, &open)) {
                mg_link_asked(link);
            }
            return;
        }
    } else {
        const amqp_connection_close_t *close = method->decoded;
        code = close->reply_code;
        text = close->reply_text;
    }
    bool is_refusal = code == AMQP_NOT_FOUND || code == AMQP_ACCESS_REFUSED || code == AMQP_NOT_ALLOWED;
    char advice[MG_ADVICE_SIZE];
    mg_amqp_advice(code, refused, text, advice);
    mg_link_fail(link, is_refusal ? MG_TROUBLE_SETUP : MG_TROUBLE_UNREACHABLE, "the broker reports: %.*s%s",
                 (int)(text.len < 255 ? text.len : 255), (const char *)text.bytes, advice);
}

/* ---- sending ---- */

/*
 * The kernel reports a socket as writable while a third of its send buffer is free. The same limit applies
 * here; otherwise a wait for "writable" could end at once in "still no room". The free bytes found are spent
 * without another system call; the buffer can only have become emptier since. The third that stays free takes
 * the library's heartbeats.
 */
bool mg_link_has_room(struct mg_link *link, size_t size)
{
    if (!link->is_open) {
        return false;
    }
    size_t need = size + SEND_OVERHEAD_BYTES * (1 + size / RECORD_BYTES);
    if (need > link->send_budget) {
        if (!link_empty_outbox(link)) {
            return false; /* unsent bytes would not be counted */
        }
        uint32_t memory[SK_MEMINFO_VARS] = {0};
        socklen_t length = sizeof(memory);
        link->send_budget = 0;
        if (getsockopt(amqp_get_sockfd(link->connection), SOL_SOCKET, SO_MEMINFO, memory, &length) == 0) {
            size_t buffer = memory[SK_MEMINFO_SNDBUF], used = memory[SK_MEMINFO_WMEM_QUEUED];
            size_t reserve = buffer / 3;
            if (used + reserve <= buffer) {
                link->send_budget = buffer - used - reserve + need;
            }
        }
        if (need > link->send_budget) {
            link->wants_room = true;
            mg_watch_set(link->watch, MG_READABLE | MG_WRITABLE);
            return false;
        }
    }
    link->send_budget -= need;
    return true;
}

bool mg_link_send(struct mg_link *link, amqp_method_number_t method, void *decoded)
{
    amqp_frame_t frame = {.frame_type = AMQP_FRAME_METHOD, .channel = MG_AMQP_CHANNEL};
    frame.payload.method = (amqp_method_t){.id = method, .decoded = decoded};
    return mg_link_send_frame(link, &frame);
}

bool mg_link_send_frame(struct mg_link *link, const amqp_frame_t *frame)
{
    if (!link->is_open) {
        return false;
    }
    if (link->is_plain) {
        if (!mg_frame_append(&link->outbox, frame)) {
            mg_link_fail(link, MG_TROUBLE_UNREACHABLE, "could not send: no memory for a frame");
            return false;
        }
        bool is_held_back = link->is_corked && link->outbox.len < OUTBOX_BYTES;
        return is_held_back || link_empty_outbox(link);
    }
    int status = amqp_send_frame(link->connection, frame);
    if (status == AMQP_STATUS_OK) {
        return true;
    }
    struct mg_err why;
    mg_link_fail(link, MG_TROUBLE_UNREACHABLE, "could not send: %s",
                 mg_amqp_failure_text(link->connection, status, &why));
    return false;
}

/* Room was reserved for the outbox, so the socket takes it whole. The library's heartbeats never come between
 * two pieces of it. */
static bool link_empty_outbox(struct mg_link *link)
{
    if (link->outbox.len == 0) {
        return true;
    }
    ssize_t sent = send(amqp_get_sockfd(link->connection), link->outbox.data, link->outbox.len,
                        MSG_NOSIGNAL | MSG_DONTWAIT);
    if (sent == (ssize_t)link->outbox.len) {
        mg_buf_clear(&link->outbox);
        return true;
    }
    mg_link_fail(link, MG_TROUBLE_UNREACHABLE, "could not send: %s",
                 sent < 0 ? strerror(errno) : "the socket took less than it had room for");
    return false;
}

void mg_link_cork(struct mg_link *link, bool is_corked)
{
    if (!link->is_open) {
        return;
    }
    link->is_corked = is_corked;
    if (link->is_plain) {
        if (!is_corked) {
            (void)link_empty_outbox(link);
        }
        return;
    }
    int value = is_corked;
    /* Only for speed: without it, each frame is a packet. */
    (void)setsockopt(amqp_get_sockfd(link->connection), IPPROTO_TCP, TCP_CORK, &value, sizeof(value));
}

void mg_link_asked(struct mg_link *link)
{
    link->answer_by_boot_ms = mg_clock_boot_ms() + MG_AMQP_RPC_TIMEOUT_MS;
}

void mg_link_answered(struct mg_link *link)
{
    link->answer_by_boot_ms = 0;
}
