/*
 * `order submit`: reads orders, hands them to the poster (client/poster.h) as every client does, and prints
 * their statuses or ids. Each order has its id before its first post and keeps it.
 */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/id.h"
#include "base/print.h"
#include "cli.h"
#include "client/poster.h"
#include "client/statuses.h"
#include "wire/status.h"
#include "wire/submission.h"

/* The file is read into memory at once. A larger one must be split. */
#define FILE_MAX_BYTES ((size_t)256 * 1024 * 1024)
/* A progress bar looks steady at this pace. */
#define PROGRESS_PERIOD_MS 50
/* Up to this number of orders each status is printed; above it, a progress bar. */
#define SHOW_EACH_MAX    20
#define STATUS_MAX_BYTES ((size_t)2 * 1024 * 1024) /* twice the largest message */

struct order {
    struct mg_posting posting;
    struct mg_buf body;
    struct mg_statuses statuses;
    char order_id[MG_ORDER_ID_MAX + 1];
    bool is_confirmed, has_ended;
};

struct submit {
    struct mg_cli *cli;
    struct mg_poster *poster;
    struct order *orders;
    int count, capacity;
    bool is_over;
    int confirmed, ended, processed, rejected;
    int named_here; /* orders without an id in the file: the next run would give them another */
    enum mg_exit_code code;
};

/* ---- reading ---- */

static enum mg_exit_code order_add(struct submit *submit, struct mg_slice text, int line)
{
    struct mg_submission submission;
    struct mg_err err;
    char id_json[MG_ORDER_ID_MAX + 3];
    if (mg_submission_parse(text, &MG_JSON_LIMITS_SUBMISSION, &submission, &err) != MG_OK) {
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
    order->posting.is_high = submission.is_high;
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
    order->body = body;
    submit->count++;
    return MG_EXIT_DONE;
}

/* A file holds one order in any layout, or one order a line. */
static enum mg_exit_code orders_read(struct submit *submit, const char *text, size_t len)
{
    struct mg_err err;
    if (mg_json_check((struct mg_slice){text, len}, &MG_JSON_LIMITS_SUBMISSION, &err) == MG_OK) {
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

/* ---- sending ---- */

static void end_check(struct submit *submit)
{
    int total = submit->cli->options.waits ? submit->ended : submit->confirmed;
    submit->is_over = submit->is_over || total == submit->count;
}

static bool order_posted(void *arg, struct mg_posting *posting, enum mg_publish_outcome outcome)
{
    struct submit *submit = arg;
    struct order *order = posting->owner;
    if (outcome == MG_PUBLISH_CONFIRMED) {
        submit->confirmed += !order->is_confirmed;
        order->is_confirmed = true;
    }
    if (outcome == MG_PUBLISH_RETURNED && !submit->is_over) {
        submit->code =
            mg_cli_fail(MG_EXIT_UNAVAILABLE, "there is no intake queue; run: makegood broker apply");
        submit->is_over = true;
    }
    end_check(submit);
    return !submit->is_over;
}

/* The orders stay where they are from now on. */
static enum mg_exit_code orders_hand_over(struct submit *submit)
{
    for (int i = 0; i < submit->count; i++) {
        struct order *order = &submit->orders[i];
        order->posting.order_id = order->order_id;
        order->posting.body = mg_buf_slice(&order->body);
        order->posting.owner = order;
        mg_statuses_init(&order->statuses);
        if (mg_poster_find(submit->poster, mg_slice_of(order->order_id)) != NULL) {
            return mg_cli_fail(MG_EXIT_USAGE, "two orders of the file have the order_id %s", order->order_id);
        }
        mg_poster_add(submit->poster, &order->posting);
    }
    return MG_EXIT_DONE;
}

static void progress_show(void *arg)
{
    const struct submit *submit = arg;
    if (submit->cli->options.waits && submit->count > SHOW_EACH_MAX && isatty(STDERR_FILENO)) {
        int filled = submit->ended * 30 / submit->count;
        mg_print(stderr, "\r[%.*s%*s] %d of %d ended ", filled, "##############################", 30 - filled,
                 "", submit->ended, submit->count);
    }
}

/* ---- statuses ---- */

/* Prints the status message as it came, so that its values keep their digits. A rejection may lack the id. */
static void message_print(const struct submit *submit, const struct order *order, struct mg_slice message)
{
    char id[MG_ORDER_ID_MAX + 3];
    struct mg_buf text;
    struct mg_err err;
    mg_buf_init(&text, STATUS_MAX_BYTES);
    (void)snprintf(id, sizeof(id), "\"%s\"", order->order_id);
    enum mg_class class = mg_json_set(message, "/order_id", mg_slice_of(id), &text, &err);
    if (class == MG_OK && text.failed) {
        class = mg_err_set(&err, MG_TRANSIENT, "could not print the status: no memory");
    }
    if (class == MG_OK) {
        (void)mg_answer_print_raw(submit->cli, mg_buf_slice(&text));
    } else {
        (void)mg_cli_fail_err(&err);
    }
    mg_buf_finish(&text);
}

static void output_print(struct mg_slice output)
{
    if (output.len > 0) {
        mg_print(stdout, "  %.*s", (int)output.len, output.data);
    }
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
            mg_print(stdout, "%s%s", PARTS[i].before, text.data);
        }
        mg_buf_finish(&text);
    }
}

static void status_print(const struct submit *submit, const struct order *order,
                         struct mg_status_message *status, struct mg_slice message)
{
    bool is_end = mg_status_is_end(status->status);
    if (submit->cli->is_json) {
        if (is_end) {
            message_print(submit, order, message);
        }
    } else if (is_end || submit->count <= SHOW_EACH_MAX) {
        char at[MG_TIME_TEXT_SIZE];
        mg_time_format(status->at_ms, at);
        mg_print(stdout, "%s  %s  %s%s%s%s%s", at, status->order_id, mg_status_name(status->status),
                 status->step[0] != '\0' ? "  " : "", status->step, status->reason[0] != '\0' ? "  " : "",
                 status->reason);
        cause_print(status->cause);
        output_print(status->output);
        (void)putchar('\n');
    }
    (void)fflush(stdout);
}

/* Shown as it comes: an order of an earlier run, of which only the last status is sent, waits for no gap. */
static bool status_came(void *arg, struct mg_posting *posting, struct mg_slice body)
{
    struct submit *submit = arg;
    struct order *order = posting->owner;
    struct mg_status_message status;
    struct mg_err err;
    int64_t due_ms;
    enum mg_class class = mg_status_parse(body, &status, &err);
    if (class == MG_OK) {
        class = mg_statuses_put(&order->statuses, status.seq, mg_status_is_end(status.status), body, 0, &err);
    }
    if (class != MG_OK) {
        (void)mg_cli_fail(MG_EXIT_ERROR, "a status could not be read: %s", err.text);
        return false;
    }
    if (order->has_ended || mg_statuses_next(&order->statuses, 0, 0, &due_ms) == NULL) {
        return order->has_ended; /* a repeated status */
    }
    mg_statuses_read(&order->statuses, status.seq);
    (void)snprintf(status.order_id, sizeof(status.order_id), "%s", order->order_id);
    if (mg_status_is_end(status.status)) {
        order->has_ended = true;
        submit->ended++;
        submit->processed += status.status == MG_STATUS_PROCESSED;
        submit->rejected += status.status == MG_STATUS_REJECTED;
    }
    status_print(submit, order, &status, body);
    end_check(submit);
    return order->has_ended;
}

static enum mg_exit_code submit_run(struct submit *submit)
{
    struct mg_cli *cli = submit->cli;
    struct mg_err err;
    const struct mg_poster_options options = {.address = cli->options.broker,
                                              .name = "makegood",
                                              .wants_statuses = cli->options.waits,
                                              .on_posted = order_posted,
                                              .on_status = status_came,
                                              .arg = submit};
    if (mg_poster_create(cli->loop, &options, &submit->poster, &err) != MG_OK) {
        return mg_cli_fail_err(&err);
    }
    cli->broker = mg_poster_broker(submit->poster);
    enum mg_exit_code code = orders_hand_over(submit);
    if (code == MG_EXIT_DONE) {
        code = mg_cli_open_broker(cli, &(struct mg_broker_options){0});
    }
    if (code != MG_EXIT_DONE) {
        return code;
    }
    struct mg_timer *timer = mg_timer_create(cli->loop, progress_show, submit);
    if (timer == NULL) {
        return mg_cli_fail(MG_EXIT_ERROR, "could not start: no memory or descriptors");
    }
    mg_timer_start(timer, 0, PROGRESS_PERIOD_MS);
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
            mg_print(stdout, "%s\n", submit->orders[i].order_id);
            continue;
        }
        struct mg_json_writer *json = mg_answer_begin(cli, &answer);
        mg_json_member_string(json, "order_id", submit->orders[i].order_id);
        code = mg_answer_print(&answer);
    }
    return code;
}

static enum mg_exit_code submit_report(const struct submit *submit)
{
    if (!submit->cli->options.waits) {
        return ids_print(submit);
    }
    (void)fputs(isatty(STDERR_FILENO) ? "\r\033[K" : "", stderr);
    mg_print(stderr, "%d of %d orders processed%s\n", submit->processed, submit->count,
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
        code = submit_run(&submit);
    }
    if (code == MG_EXIT_DONE) {
        code = submit_report(&submit);
    }
    mg_poster_destroy(submit.poster); /* its callbacks use the orders */
    cli->broker = NULL;
    for (int i = 0; i < submit.count; i++) {
        mg_statuses_finish(&submit.orders[i].statuses);
        mg_buf_finish(&submit.orders[i].body);
    }
    free(submit.orders);
    free(text);
    return code;
}
