/*
 * `order submit`: works as a client does. Every order has its id before its first publish and keeps it, so
 * that a submission without a confirm can be published again. Statuses arrive at a private queue. After a
 * reconnect that queue has a new name; submitting again redirects the statuses to it.
 */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/id.h"
#include "cli.h"
#include "core/key.h"
#include "io/amqp/topology.h"
#include "wire/status.h"
#include "wire/submission.h"

/* The file is read into memory at once. A larger one must be split. */
#define FILE_MAX_BYTES ((size_t)256 * 1024 * 1024)
/* Submissions without a confirm. This stays below the broker client's publish window and keeps the intake
 * queue short. */
#define SUBMIT_WINDOW  256
#define PUMP_PERIOD_MS 20
/* Up to this number of orders each status is printed; above it, a progress bar. */
#define SHOW_EACH_MAX 20

struct order {
    struct submit *submit; /* set at each publish */
    char order_id[MG_ORDER_ID_MAX + 1];
    char *body;
    size_t body_len;
    bool is_high, is_sent, is_confirmed, has_ended;
    uint64_t seq; /* of the newest status shown */
};

struct submit {
    struct mg_cli *cli;
    struct order *orders;
    int count, capacity;
    int *by_id; /* hash table of indices into orders; -1: empty; the size is a power of two */
    size_t slot_count;
    char reply_queue[256];
    bool is_over;
    int unconfirmed, confirmed, ended, processed, rejected;
    int named_here; /* orders without an id in the file: the next run would give them another */
    enum mg_exit_code code;
};

/* ---- reading ---- */

static enum mg_exit_code order_add(struct submit *submit, struct mg_slice text, int line)
{
    struct mg_submission submission;
    struct mg_err err;
    char id_json[MG_ORDER_ID_MAX + 3];
    if (mg_submission_parse(text, &MG_JSON_LIMITS_DATA, &submission, &err) != MG_OK) {
        return mg_cli_fail(MG_EXIT_USAGE, "line %d: %s", line, err.text);
    }
    if (submit->count == submit->capacity) {
        int capacity = submit->capacity > 0 ? submit->capacity * 2 : 64;
        struct order *orders = realloc(submit->orders, (size_t)capacity * sizeof(*orders));
        if (orders == NULL) {
            return mg_cli_fail(MG_EXIT_ERROR, "could not keep the orders: out of memory");
        }
        submit->orders = orders;
        submit->capacity = capacity;
    }
    struct order *order = &submit->orders[submit->count];
    memset(order, 0, sizeof(*order));
    order->is_high = submission.is_high;
    struct mg_buf body;
    mg_buf_init(&body, text.len + sizeof(id_json) + 64);
    if (submission.order_id[0] != '\0') {
        (void)snprintf(order->order_id, sizeof(order->order_id), "%s", submission.order_id);
        mg_buf_append_slice(&body, text);
    } else {
        char uuid[MG_UUID_SIZE];
        mg_uuid_random(uuid);
        submit->named_here++;
        (void)snprintf(order->order_id, sizeof(order->order_id), "%s", uuid);
        (void)snprintf(id_json, sizeof(id_json), "\"%s\"", uuid);
        if (mg_json_set(text, "/order_id", mg_slice_of(id_json), &body, &err) != MG_OK) {
            mg_buf_finish(&body);
            return mg_cli_fail_err(&err);
        }
    }
    if (body.failed) {
        mg_buf_finish(&body);
        return mg_cli_fail(MG_EXIT_ERROR, "could not keep the orders: out of memory");
    }
    order->body = body.data;
    order->body_len = body.len;
    submit->count++;
    return MG_EXIT_DONE;
}

/* A file holds one order in any layout, or one order a line. */
static enum mg_exit_code orders_read(struct submit *submit, const char *text, size_t len)
{
    struct mg_err err;
    if (mg_json_check((struct mg_slice){text, len}, &MG_JSON_LIMITS_DATA, &err) == MG_OK) {
        return order_add(submit, (struct mg_slice){text, len}, 1);
    }
    int line = 0;
    for (size_t at = 0; at < len;) {
        const char *end = memchr(text + at, '\n', len - at);
        size_t line_len = end != NULL ? (size_t)(end - (text + at)) : len - at;
        line++;
        if (strspn(text + at, " \t\r") < line_len) {
            enum mg_exit_code code = order_add(submit, (struct mg_slice){text + at, line_len}, line);
            if (code != MG_EXIT_DONE) {
                return code;
            }
        }
        at += line_len + 1;
    }
    return submit->count > 0 ? MG_EXIT_DONE : mg_cli_fail(MG_EXIT_USAGE, "there is no order in the file");
}

static size_t slot_of(const struct submit *submit, const char *order_id)
{
    uint64_t hash = 14695981039346656037u; /* FNV-1a */
    for (const char *at = order_id; *at != '\0'; at++) {
        hash = (hash ^ (unsigned char)*at) * 1099511628211u;
    }
    return (size_t)(hash & (submit->slot_count - 1));
}

static struct order *order_find(const struct submit *submit, const char *order_id)
{
    for (size_t slot = slot_of(submit, order_id); submit->by_id[slot] >= 0;
         slot = (slot + 1) & (submit->slot_count - 1)) {
        if (strcmp(submit->orders[submit->by_id[slot]].order_id, order_id) == 0) {
            return &submit->orders[submit->by_id[slot]];
        }
    }
    return NULL;
}

static enum mg_exit_code orders_index(struct submit *submit)
{
    submit->slot_count = 64;
    while (submit->slot_count < 2 * (size_t)submit->count) {
        submit->slot_count *= 2;
    }
    submit->by_id = malloc(submit->slot_count * sizeof(int));
    if (submit->by_id == NULL) {
        return mg_cli_fail(MG_EXIT_ERROR, "could not keep the orders: out of memory");
    }
    memset(submit->by_id, 0xff, submit->slot_count * sizeof(int));
    for (int i = 0; i < submit->count; i++) {
        if (order_find(submit, submit->orders[i].order_id) != NULL) {
            return mg_cli_fail(MG_EXIT_USAGE, "two orders of the file have the order_id %s",
                               submit->orders[i].order_id);
        }
        size_t slot = slot_of(submit, submit->orders[i].order_id);
        while (submit->by_id[slot] >= 0) {
            slot = (slot + 1) & (submit->slot_count - 1);
        }
        submit->by_id[slot] = i;
    }
    return MG_EXIT_DONE;
}

/* ---- sending ---- */

static void end_check(struct submit *submit)
{
    int total = submit->cli->options.waits ? submit->ended : submit->confirmed;
    submit->is_over = submit->is_over || total == submit->count;
}

static void order_published(void *arg, enum mg_publish_outcome outcome)
{
    struct order *order = arg;
    struct submit *submit = order->submit;
    submit->unconfirmed--;
    if (outcome == MG_PUBLISH_CONFIRMED) {
        submit->confirmed += !order->is_confirmed;
        order->is_confirmed = true;
    } else {
        order->is_sent = false; /* published again with the same id and bytes */
    }
    if (outcome == MG_PUBLISH_RETURNED) {
        submit->code =
            mg_cli_fail(MG_EXIT_UNAVAILABLE, "there is no intake queue; run: makegood broker apply");
        submit->is_over = true;
    }
    end_check(submit);
}

static bool order_send(struct submit *submit, int index)
{
    struct order *order = &submit->orders[index];
    struct mg_err err;
    order->submit = submit;
    struct mg_message message = {.exchange = MG_EXCHANGE_INTAKE,
                                 .routing_key = order->is_high ? MG_QUEUE_INTAKE_HIGH : MG_QUEUE_INTAKE,
                                 .type = "submission",
                                 .message_id = order->order_id,
                                 .correlation_id = order->order_id,
                                 .reply_to = submit->cli->options.waits ? submit->reply_queue : NULL,
                                 .body = {order->body, order->body_len}};
    if (mg_broker_publish(submit->cli->broker, &message, order_published, order, &err) != MG_OK) {
        return false;
    }
    order->is_sent = true;
    submit->unconfirmed++;
    return true;
}

static void progress_show(const struct submit *submit)
{
    if (submit->cli->options.waits && submit->count > SHOW_EACH_MAX && isatty(STDERR_FILENO)) {
        int filled = submit->ended * 30 / submit->count;
        (void)fprintf(stderr, "\r[%.*s%*s] %d of %d ended ", filled, "##############################",
                      30 - filled, "", submit->ended, submit->count);
    }
}

static void pump(void *arg)
{
    struct submit *submit = arg;
    char reason[16];
    progress_show(submit);
    if (!mg_broker_is_up(submit->cli->broker, reason, sizeof(reason)) ||
        (submit->cli->options.waits && submit->reply_queue[0] == '\0')) {
        return;
    }
    for (int i = 0; i < submit->count && submit->unconfirmed < SUBMIT_WINDOW; i++) {
        const struct order *order = &submit->orders[i];
        if (!order->is_sent && !order->has_ended && !order_send(submit, i)) {
            return;
        }
    }
}

/* ---- statuses ---- */

/* The private queue is new, at the start or after a reconnect. Orders that have not ended are submitted
 * again, with the new name as reply_to. */
static void queue_named(void *arg, int consumer, const char *queue)
{
    struct submit *submit = arg;
    (void)consumer;
    (void)snprintf(submit->reply_queue, sizeof(submit->reply_queue), "%s", queue);
    for (int i = 0; i < submit->count; i++) {
        submit->orders[i].is_sent = submit->orders[i].has_ended;
    }
}

static bool is_last(enum mg_status status)
{
    return status == MG_STATUS_PROCESSED || status == MG_STATUS_COMPENSATED ||
           status == MG_STATUS_CANCELLED || status == MG_STATUS_ERROR || status == MG_STATUS_REJECTED;
}

/* Prints the status message as it came, so that its values keep their digits. A rejection may lack the id. */
static void message_print(const struct submit *submit, const struct order *order, struct mg_slice message)
{
    char id[MG_ORDER_ID_MAX + 3];
    struct mg_answer answer;
    struct mg_err err;
    (void)mg_answer_begin(submit->cli, &answer);
    (void)snprintf(id, sizeof(id), "\"%s\"", order->order_id);
    if (mg_json_set(message, "/order_id", mg_slice_of(id), &answer.buf, &err) != MG_OK) {
        mg_buf_finish(&answer.buf);
        (void)mg_cli_fail_err(&err);
        return;
    }
    (void)mg_answer_print(&answer);
}

static void output_print(struct mg_slice output)
{
    struct mg_buf text;
    mg_buf_init(&text, output.len + 1);
    mg_buf_append_slice(&text, output);
    if (text.len > 0 && !text.failed) {
        mg_text_make_plain(text.data);
        (void)printf("  %s", text.data);
    }
    mg_buf_finish(&text);
}

/* Prints the parts of a cause that the reason does not have. */
static void cause_print(struct mg_slice cause)
{
    static const struct {
        const char *pointer, *before;
    } PARTS[] = {{"/step", "; step "}, {"/code", ": "}, {"/text", ", "}};
    for (size_t i = 0; i < sizeof(PARTS) / sizeof(PARTS[0]) && mg_json_find(cause, "/step").data != NULL;
         i++) {
        struct mg_buf text;
        mg_buf_init(&text, cause.len);
        if (mg_json_string(mg_json_find(cause, PARTS[i].pointer), &text) && text.len > 0 && !text.failed) {
            mg_text_make_plain(text.data);
            (void)printf("%s%s", PARTS[i].before, text.data);
        }
        mg_buf_finish(&text);
    }
}

static void status_print(const struct submit *submit, const struct order *order,
                         struct mg_status_message *status, struct mg_slice message)
{
    bool is_end = is_last(status->status);
    if (submit->cli->is_json) {
        if (is_end) {
            message_print(submit, order, message);
        }
    } else if (is_end || submit->count <= SHOW_EACH_MAX) {
        char at[MG_TIME_TEXT_SIZE];
        mg_time_format(status->at_ms, at);
        mg_text_make_plain(status->reason);
        (void)printf("%s  %s  %s%s%s%s%s", at, status->order_id, mg_status_name(status->status),
                     status->step[0] != '\0' ? "  " : "", status->step, status->reason[0] != '\0' ? "  " : "",
                     status->reason);
        cause_print(status->cause);
        output_print(status->output);
        (void)putchar('\n');
    }
    (void)fflush(stdout);
}

static void status_take(struct submit *submit, const struct mg_delivery *delivery)
{
    struct mg_status_message status;
    struct mg_err err;
    enum mg_class class = mg_status_parse(delivery->body, &status, &err);
    char correlation[MG_ORDER_ID_MAX + 1] = "";
    if (delivery->correlation_id.data != NULL && delivery->correlation_id.len <= MG_ORDER_ID_MAX) {
        memcpy(correlation, delivery->correlation_id.data, delivery->correlation_id.len);
    }
    if (class != MG_OK) {
        (void)mg_cli_fail(MG_EXIT_ERROR, "a status could not be read: %s", err.text);
        return;
    }
    struct order *order = order_find(submit, correlation);
    if (order == NULL || order->has_ended || (status.seq != 0 && status.seq <= order->seq)) {
        return; /* a repeated status, or one of another run */
    }
    order->seq = status.seq;
    (void)snprintf(status.order_id, sizeof(status.order_id), "%s", order->order_id);
    if (is_last(status.status)) {
        order->has_ended = true;
        submit->ended++;
        submit->processed += status.status == MG_STATUS_PROCESSED;
        submit->rejected += status.status == MG_STATUS_REJECTED;
    }
    status_print(submit, order, &status, delivery->body);
    end_check(submit);
}

static void status_came(void *arg, struct mg_delivery *delivery)
{
    struct submit *submit = arg;
    status_take(submit, delivery);
    mg_broker_ack(submit->cli->broker, delivery);
}

static enum mg_exit_code submit_run(struct submit *submit)
{
    struct mg_cli *cli = submit->cli;
    struct mg_err err;
    struct mg_broker_options options = {.address = cli->options.broker,
                                        .name = "makegood",
                                        .on_delivery = status_came,
                                        .on_state = NULL,
                                        .arg = submit};
    if (cli->options.waits) {
        /* The private queue must be set up before the broker client first connects. */
        if (mg_broker_create(cli->loop, &options, &cli->broker, &err) != MG_OK) {
            return mg_cli_fail_err(&err);
        }
        mg_broker_consume_private(cli->broker, SUBMIT_WINDOW, queue_named, submit);
    }
    enum mg_exit_code code = mg_cli_open_broker(cli, &options);
    if (code != MG_EXIT_DONE) {
        return code;
    }
    struct mg_timer *timer = mg_timer_create(cli->loop, pump, submit);
    if (timer == NULL) {
        return mg_cli_fail(MG_EXIT_ERROR, "could not start: no memory or descriptors");
    }
    mg_timer_start(timer, 0, PUMP_PERIOD_MS);
    (void)mg_cli_wait(cli, &submit->is_over, cli->options.timeout_ms);
    mg_timer_destroy(timer);
    progress_show(submit);
    if (submit->code != MG_EXIT_DONE) {
        return submit->code;
    }
    if (!submit->is_over) {
        return mg_cli_fail(
            MG_EXIT_TIMED_OUT, "%d of %d orders %s in time; %s",
            submit->cli->options.waits ? submit->count - submit->ended : submit->count - submit->confirmed,
            submit->count, submit->cli->options.waits ? "have not ended" : "were not confirmed",
            submit->named_here == 0
                ? "submit the same file again to go on waiting"
                : "look for them with order list: submitting the file again would make new orders of those "
                  "that have no order_id in it");
    }
    return MG_EXIT_DONE;
}

static enum mg_exit_code ids_print(const struct submit *submit)
{
    struct mg_cli *cli = submit->cli;
    enum mg_exit_code code = MG_EXIT_DONE;
    for (int i = 0; i < submit->count && code == MG_EXIT_DONE; i++) {
        struct mg_answer answer;
        if (!cli->is_json) {
            (void)printf("%s\n", submit->orders[i].order_id);
            continue;
        }
        struct mg_json_writer *json = mg_answer_begin(cli, &answer);
        mg_json_object_begin(json);
        mg_json_member_string(json, "order_id", submit->orders[i].order_id);
        mg_json_object_end(json);
        code = mg_answer_print(&answer);
    }
    return code;
}

static enum mg_exit_code submit_report(const struct submit *submit)
{
    if (!submit->cli->options.waits) {
        return ids_print(submit);
    }
    (void)fprintf(stderr, "%s%d of %d orders processed%s\n", isatty(STDERR_FILENO) ? "\r\033[K" : "",
                  submit->processed, submit->count,
                  submit->processed < submit->count ? "; the others ended as shown" : "");
    return submit->processed == submit->count ? MG_EXIT_DONE : MG_EXIT_ERROR;
}

enum mg_exit_code mg_verb_order_submit(struct mg_cli *cli)
{
    struct submit submit = {.cli = cli};
    char *text = NULL;
    size_t len = 0;
    enum mg_exit_code code = mg_cli_read_file(cli->words.items[0], FILE_MAX_BYTES, &text, &len);
    if (code == MG_EXIT_DONE) {
        code = orders_read(&submit, text, len);
    }
    if (code == MG_EXIT_DONE) {
        code = orders_index(&submit);
    }
    if (code == MG_EXIT_DONE) {
        code = submit_run(&submit);
    }
    if (code == MG_EXIT_DONE) {
        code = submit_report(&submit);
    }
    if (cli->broker != NULL) { /* its callbacks use the orders */
        mg_broker_destroy(cli->broker);
        cli->broker = NULL;
    }
    for (int i = 0; i < submit.count; i++) {
        free(submit.orders[i].body);
    }
    free(submit.orders);
    free(submit.by_id);
    free(text);
    return code;
}
