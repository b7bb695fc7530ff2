/*
 * `POST /v1/orders:batch`: a submission a line, each posted as a single one is (post.c), and a line of answer
 * for each, in the same order. A line may have a member `idempotency_key` in place of the header; it is taken
 * out of the line, so that a batch and single posts mean the same order.
 *
 * Lines are posted while the body arrives. The body waits while too many are under way, or while the client's
 * rate is used up. So a batch holds bounded lines, bytes and answers. The library cannot answer within a
 * body, so the answers are sent after its end. A client that did not get them sends the same batch again.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "gateway/call.h"
#include "json/json.h"

#define BATCHES_MAX           16 /* fewer where the memory budget has no room for as many */
#define BATCHES_OF_CLIENT_MAX 4  /* one client leaves places for others */
#define LINES_MAX             10000
#define LINES_MAX_TEXT        "10000"
#define UNDER_WAY_MAX         64             /* lines; the broker confirms so many together */
#define BYTES_MAX             (1024u * 1024) /* of lines under way */
#define ANSWER_MAX            8192u          /* a problem's text is shorter, with all its escapes */
#define ANSWERS_MAX           (4u * 1024 * 1024)
#define BATCH_MAX_MS          (INT64_C(5) * 60 * 1000)
#define TICK_MS               10  /* between two looks whether the client's rate permits more */
#define KEY_ROOM              512 /* for the member `idempotency_key` of a line */
#define PENDING_MAX           (2 * MG_HTTP_PIECE_MAX)
#define BATCH_BYTES           (ANSWERS_MAX + BYTES_MAX + PENDING_MAX)
#define REASON_SIZE           512
#define KEY_MEMBER            "idempotency_key"
#define TOO_LARGE             "the line is too large"

struct item {
    STAILQ_ENTRY(item) entry;
    struct batch *batch;
    struct mg_post post;
    struct mg_buf body, key;
    struct mg_buf answer;
    bool is_answered;
};

struct batch {
    TAILQ_ENTRY(batch) entry;
    struct mg_batches *batches;
    struct mg_call *call;
    STAILQ_HEAD(, item) items; /* those with answers that are not among `answers` yet */
    int under_way;
    size_t bytes;
    struct mg_buf pending; /* of the body, not yet divided */
    size_t divided;        /* bytes of it that are */
    struct mg_buf line;    /* failed: it is too long, or there was no memory */
    bool is_line_whole;
    struct mg_buf answers;
    int64_t lines;
    int64_t end_ms; /* by the clock since boot */
    bool is_full;   /* further lines are dropped */
    bool is_whole;  /* the body */
    bool is_paused; /* the body */
    bool is_taking; /* lines are being taken further up the stack */
};

struct mg_batches {
    struct mg_gateway *gateway;
    struct mg_timer *timer; /* runs while there are batches */
    TAILQ_HEAD(, batch) all;
    int count;
};

/* ---- answers ---- */

static void line_measure(const struct batch *batch, unsigned int status)
{
    char labels[32];
    (void)snprintf(labels, sizeof(labels), "status=\"%u\"", status);
    mg_metric_add(mg_metrics_series(batch->batches->gateway->metrics, MG_COUNTER,
                                    "makegood_gateway_batch_lines_total", labels,
                                    "lines of batches, by their answer"),
                  1);
}

/* The line of answer: 202 with the order's id, or the problem document that a single post would get. */
static void item_answer(struct item *item, unsigned int status, const char *text)
{
    if (text != NULL) {
        mg_problem_write(&item->answer, status, text);
    } else {
        mg_accepted_write(&item->answer, status, &item->post);
    }
    item->is_answered = true;
    line_measure(item->batch, status);
}

static void item_free(struct item *item)
{
    mg_buf_finish(&item->body);
    mg_buf_finish(&item->key);
    mg_buf_finish(&item->answer);
    free(item);
}

/* Moves the answers that are next to those of the batch. */
static void answers_collect(struct batch *batch)
{
    struct item *item;
    while ((item = STAILQ_FIRST(&batch->items)) != NULL && item->is_answered) {
        STAILQ_REMOVE_HEAD(&batch->items, entry);
        batch->under_way--;
        batch->bytes -= item->body.len;
        mg_buf_append_slice(&batch->answers, mg_buf_slice(&item->answer));
        mg_buf_fail_with(&batch->answers, &item->answer);
        item_free(item);
    }
}

static void batch_free(struct batch *batch)
{
    struct mg_batches *batches = batch->batches;
    struct item *item;
    TAILQ_REMOVE(&batches->all, batch, entry);
    if (--batches->count == 0) {
        mg_timer_stop(batches->timer);
    }
    while ((item = STAILQ_FIRST(&batch->items)) != NULL) {
        STAILQ_REMOVE_HEAD(&batch->items, entry);
        item_free(item);
    }
    mg_buf_finish(&batch->pending);
    mg_buf_finish(&batch->line);
    mg_buf_finish(&batch->answers);
    free(batch);
}

static void batch_answer(struct batch *batch)
{
    struct mg_call *call = batch->call;
    if (batch->answers.failed) {
        mg_call_refuse(call, 503, "no memory for the answers; send the same batch again");
    } else if (batch->answers.len == 0) {
        mg_call_refuse(call, 400, "the batch has no line");
    } else {
        mg_call_answer(call, 200, mg_buf_slice(&batch->answers));
    }
    batch_free(batch);
}

/* ---- a line ---- */

/* Copies a line without the member of this value, and without the comma next to it and its blanks. */
static void member_cut(struct mg_slice line, struct mg_slice value, struct mg_buf *ret)
{
    const char *blanks = " \t\r\n", *from = value.data, *to = value.data + value.len;
    do {
        from--;
    } while (*from != '"'); /* the end of its name */
    do {
        from--;
    } while (*from != '"');
    while (strchr(blanks, *to) != NULL) {
        to++;
    }
    if (*to == ',') {
        do {
            to++;
        } while (strchr(blanks, *to) != NULL);
    } else {
        const char *comma = from - 1;
        while (strchr(blanks, *comma) != NULL) {
            comma--;
        }
        from = *comma == ',' ? comma : from;
    }
    mg_buf_append(ret, line.data, (size_t)(from - line.data));
    mg_buf_append(ret, to, (size_t)(line.data + line.len - to));
}

/* Takes the key out of the line. NULL: `item` has the submission; else the reason for a refusal. */
static const char *line_read(struct item *item, struct mg_slice line)
{
    struct mg_json_limits limits = MG_JSON_LIMITS_SUBMISSION;
    struct mg_slice value = {0};
    struct mg_err err;
    limits.max_bytes = line.len;
    /* A line that cannot be read is refused by the post. */
    if (memmem(line.data, line.len, KEY_MEMBER, strlen(KEY_MEMBER)) != NULL &&
        mg_json_check(line, &limits, &err) == MG_OK) {
        value = mg_json_find(line, "/" KEY_MEMBER);
    }
    if (value.data == NULL) {
        mg_buf_append_slice(&item->body, line);
        return NULL;
    }
    member_cut(line, value, &item->body);
    if (!mg_json_string(value, &item->key) || !mg_post_key_is_valid(mg_buf_slice(&item->key))) {
        return KEY_MEMBER ": expected 1 to " MG_POST_KEY_MAX_TEXT " printable ASCII characters";
    }
    return NULL;
}

static void lines_take(struct batch *batch);

static void on_posted(struct mg_post *post, unsigned int status, const char *text)
{
    struct item *item = post->arg;
    item_answer(item, status, text);
    lines_take(item->batch); /* may free it */
}

/* A line ends with LF or CR LF: neither is among the bytes of the order. */
static struct mg_slice line_of(const struct batch *batch)
{
    struct mg_slice line = mg_buf_slice(&batch->line);
    line.len -= line.len > 0 && line.data[line.len - 1] == '\r';
    return line;
}

static void item_post(struct item *item)
{
    const struct batch *batch = item->batch;
    const char *refusal = line_read(item, line_of(batch));
    if (item->body.failed || item->key.is_out_of_memory) {
        item_answer(item, 503, "no memory for the line; send it again");
    } else if (refusal != NULL) {
        item_answer(item, 400, refusal);
    } else if (item->body.len > (size_t)batch->batches->gateway->options->body_max) {
        item_answer(item, 413, TOO_LARGE);
    } else {
        item->post =
            (struct mg_post){.gateway = batch->batches->gateway,
                             .client = batch->call->client,
                             .body = mg_buf_slice(&item->body),
                             .key = item->key.len > 0 ? mg_buf_slice(&item->key) : (struct mg_slice){0},
                             .key_name = KEY_MEMBER,
                             .traceparent = batch->call->traceparent,
                             .done = on_posted,
                             .arg = item};
        mg_post_begin(&item->post);
    }
}

static struct item *item_create(struct batch *batch)
{
    struct item *item = calloc(1, sizeof(*item));
    if (item == NULL) {
        return NULL;
    }
    item->batch = batch;
    mg_buf_init(&item->body, batch->line.max);
    mg_buf_init(&item->key, MG_POST_KEY_MAX + 1);
    mg_buf_init(&item->answer, ANSWER_MAX);
    STAILQ_INSERT_TAIL(&batch->items, item, entry);
    batch->under_way++;
    return item;
}

/* Whether the answers leave room for those of all lines under way, and for one more. */
static bool has_answers_left(const struct batch *batch)
{
    return batch->answers.len + (size_t)(batch->under_way + 2) * ANSWER_MAX <= ANSWERS_MAX;
}

static bool is_late(const struct batch *batch)
{
    int64_t now_ms = mg_clock_boot_ms();
    return now_ms > batch->end_ms || now_ms > batch->batches->gateway->batches_until_ms;
}

/* Posts or refuses the line. */
static void line_take(struct batch *batch)
{
    struct item *item = item_create(batch);
    if (item == NULL) {
        batch->answers.failed = batch->is_full = true; /* no answer must be missing among others */
        return;
    }
    batch->is_full = ++batch->lines > LINES_MAX || !has_answers_left(batch);
    if (batch->is_full) {
        item_answer(item, 413,
                    "the batch has more than " LINES_MAX_TEXT
                    " lines, or too many wrong ones: this line and all later ones are not posted");
    } else if (batch->line.failed) {
        item_answer(item, batch->line.is_out_of_memory ? 503 : 413,
                    batch->line.is_out_of_memory ? "no memory for the line; send it again" : TOO_LARGE);
    } else if (is_late(batch)) {
        item_answer(item, 503, "the batch takes too long; send this line again");
    } else {
        item_post(item);
    }
    batch->bytes += item->body.len;
}

/* ---- the body ---- */

static bool is_blank(const struct mg_buf *line)
{
    size_t at = 0;
    while (at < line->len && strchr(" \t\r", line->data[at]) != NULL && line->data[at] != '\0') {
        at++;
    }
    return at == line->len && !line->failed;
}

/* Moves bytes from the body to the line. Whether the line is whole then. */
static bool line_find(struct batch *batch)
{
    size_t left = batch->pending.len - batch->divided;
    const char *bytes = left > 0 ? batch->pending.data + batch->divided : "";
    const char *end = left > 0 ? memchr(bytes, '\n', left) : NULL;
    size_t len = end != NULL ? (size_t)(end - bytes) : left;
    if (len > 0 && !batch->line.failed) {
        mg_buf_append(&batch->line, bytes, len);
    }
    batch->divided += len + (end != NULL);
    if (batch->divided == batch->pending.len) {
        mg_buf_clear(&batch->pending);
        batch->divided = 0;
    }
    return end != NULL || (batch->is_whole && !is_blank(&batch->line));
}

static bool has_room(const struct batch *batch)
{
    return batch->under_way < UNDER_WAY_MAX && batch->bytes < BYTES_MAX;
}

/* Whether the client's rate permits the line. */
static bool is_permitted(const struct batch *batch)
{
    return is_late(batch) || mg_client_count(batch->call->client, 1);
}

/* Takes lines as far as there is room, resumes the body, and answers after its last line. */
static void lines_take(struct batch *batch)
{
    if (batch->is_taking) {
        return;
    }
    batch->is_taking = true;
    answers_collect(batch);
    while (has_room(batch) && (batch->is_line_whole || line_find(batch))) {
        batch->is_line_whole = true;
        bool is_dropped = batch->is_full || is_blank(&batch->line);
        if (!is_dropped && !is_permitted(batch)) {
            break;
        }
        if (!is_dropped) {
            line_take(batch);
        }
        mg_buf_clear(&batch->line);
        batch->is_line_whole = false;
        answers_collect(batch);
    }
    batch->is_taking = false;
    bool is_divided = batch->pending.len == 0 && !batch->is_line_whole;
    if (is_divided && batch->is_paused) {
        batch->is_paused = false;
        mg_http_exchange_resume(batch->call->request);
    } else if (is_divided && batch->is_whole && STAILQ_EMPTY(&batch->items)) {
        batch_answer(batch);
    }
}

static enum mg_http_next on_piece(void *arg, struct mg_slice bytes)
{
    struct batch *batch = arg;
    if (mg_clock_boot_ms() > batch->end_ms) {
        return MG_HTTP_CLOSE;
    }
    mg_buf_append_slice(&batch->pending, bytes);
    if (batch->pending.failed) {
        return MG_HTTP_CLOSE; /* no memory */
    }
    lines_take(batch);
    batch->is_paused = batch->pending.len > 0 || batch->is_line_whole;
    return batch->is_paused ? MG_HTTP_PAUSE : MG_HTTP_NEXT;
}

static void on_whole(void *arg)
{
    struct batch *batch = arg;
    batch->is_whole = true;
    lines_take(batch);
}

/* The connection has ended, or the server ends. A part of a line is no line. */
static void on_gone(void *arg)
{
    struct batch *batch = arg;
    batch->call->request = NULL;
    batch->is_whole = true;
    batch->is_paused = batch->is_line_whole = false;
    mg_buf_clear(&batch->pending);
    mg_buf_clear(&batch->line);
    batch->divided = 0;
    lines_take(batch);
}

/* ---- the life of batches ---- */

static void on_tick(void *arg)
{
    struct mg_batches *batches = arg;
    struct batch *next, *batch = TAILQ_FIRST(&batches->all);
    for (; batch != NULL; batch = next) {
        next = TAILQ_NEXT(batch, entry);
        if (batch->is_paused || batch->is_line_whole) {
            lines_take(batch);
        }
    }
}

struct mg_batches *mg_batches_create(struct mg_gateway *gateway)
{
    struct mg_batches *batches = calloc(1, sizeof(*batches));
    if (batches == NULL) {
        return NULL;
    }
    batches->gateway = gateway;
    TAILQ_INIT(&batches->all);
    batches->timer = mg_timer_create(gateway->loop, on_tick, batches);
    if (batches->timer == NULL) {
        free(batches);
        return NULL;
    }
    return batches;
}

void mg_batches_destroy(struct mg_batches *batches)
{
    while (batches != NULL && !TAILQ_EMPTY(&batches->all)) {
        batch_free(TAILQ_FIRST(&batches->all));
    }
    if (batches != NULL) {
        mg_timer_destroy(batches->timer);
    }
    free(batches);
}

static int batches_of(const struct mg_batches *batches, const struct mg_client *client)
{
    const struct batch *batch;
    int count = 0;
    TAILQ_FOREACH(batch, &batches->all, entry)
    {
        count += batch->call->client == client;
    }
    return count;
}

static int batches_max(const struct mg_gateway *gateway)
{
    size_t fit = gateway->options->memory_bytes / MG_GATEWAY_MEMORY_BATCHES / BATCH_BYTES;
    return fit < 1 ? 1 : fit < BATCHES_MAX ? (int)fit : BATCHES_MAX;
}

static struct batch *batch_create(struct mg_call *call)
{
    struct mg_batches *batches = call->gateway->batches;
    struct batch *batch = calloc(1, sizeof(*batch));
    if (batch == NULL) {
        return NULL;
    }
    batch->batches = batches;
    batch->call = call;
    batch->end_ms = mg_clock_boot_ms() + BATCH_MAX_MS;
    STAILQ_INIT(&batch->items);
    mg_buf_init(&batch->pending, PENDING_MAX);
    mg_buf_init(&batch->line, (size_t)call->gateway->options->body_max + KEY_ROOM);
    mg_buf_init(&batch->answers, ANSWERS_MAX);
    mg_post_trace_read(call->request, call->traceparent);
    TAILQ_INSERT_TAIL(&batches->all, batch, entry);
    if (batches->count++ == 0) {
        mg_timer_start(batches->timer, TICK_MS, TICK_MS);
    }
    return batch;
}

void mg_batch_run(struct mg_call *call)
{
    const struct mg_gateway *gateway = call->gateway;
    struct mg_batches *batches = gateway->batches;
    char reason[REASON_SIZE];
    if (!mg_store_is_ready(gateway->store, reason, sizeof(reason)) ||
        !mg_commander_is_up(gateway->commander, reason, sizeof(reason))) {
        mg_call_refuse(call, 503, "no line could be posted: %s", reason);
        return;
    }
    if (batches_of(batches, call->client) >= BATCHES_OF_CLIENT_MAX) {
        mg_call_refuse(call, 429, "client %s sends %d batches already, the maximum",
                       mg_client_name(call->client), BATCHES_OF_CLIENT_MAX);
        return;
    }
    struct batch *batch = batches->count < batches_max(gateway) ? batch_create(call) : NULL;
    if (batch == NULL) {
        mg_call_refuse(call, 503, "no memory, or all clients together send %d batches already, the maximum",
                       batches_max(gateway));
        return;
    }
    call->wait_until_ms = batch->end_ms; /* its time depends on its client */
    mg_http_exchange_on_gone(call->request, on_gone, batch);
    mg_http_exchange_on_body(call->request, on_piece, on_whole, batch);
}
