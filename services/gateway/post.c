/*
 * Posting a submission. The gateway refuses one that a scheduler would reject: a client without a queue for
 * statuses would never learn the reason. Then it publishes the body as it came, and reports when the broker
 * has confirmed it. The same may be posted again after any failure: its order has the same id.
 *
 * Between the look at the database and the scheduler's decision, another post may come, or a newer version of
 * the workflow; and the scheduler's moment of acceptance is a later one, by the database's clock. Then the
 * scheduler may reject the submission, which stays in orders.rejected.
 */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "gateway/call.h"
#include "io/amqp/broker.h"
#include "io/amqp/topology.h"
#include "workflow/admission.h"

#define LABELS_MEMORY (64u * 1024) /* for the values of an order's labels */

/* ---- the result ---- */

static void post_accept(struct mg_post *post)
{
    post->done(post, 202, NULL);
}

static void post_refuse(struct mg_post *post, unsigned int status, const char *format, ...) MG_PRINTF(3, 4);

static void post_refuse(struct mg_post *post, unsigned int status, const char *format, ...)
{
    char text[MG_ERR_TEXT_MAX + 256];
    va_list args;
    va_start(args, format);
    (void)vsnprintf(text, sizeof(text), format, args);
    va_end(args);
    mg_utf8_mend(text); /* the cut may split a character */
    post->done(post, status, text);
}

static bool is_gone(const struct mg_post *post)
{
    return post->body.data == NULL;
}

/* ---- the submission ---- */

/* The order's id: the submitted one, else the one that a scheduler derives from client and message id. */
static void identity_make(struct mg_post *post)
{
    const struct mg_submission *submission = &post->submission;
    char user[sizeof("client-") + MG_QUEUE_NAME_SIZE];
    if (submission->order_id[0] != '\0') {
        memcpy(post->order_id, submission->order_id, sizeof(post->order_id));
        return;
    }
    (void)snprintf(user, sizeof(user), "client-%s", mg_client_name(post->client));
    mg_uuid_derived(mg_slice_of(user), post->key, post->order_id);
}
_Static_assert(MG_UUID_SIZE <= MG_ORDER_ID_MAX + 1, "a derived id fits");

/* False: the post has been refused. */
static bool submission_read(struct mg_post *post)
{
    struct mg_json_limits limits = MG_JSON_LIMITS_SUBMISSION;
    struct mg_err err;
    limits.max_bytes = (size_t)post->gateway->options->body_max;
    enum mg_class class = mg_json_check(post->body, &limits, &err);
    unsigned int status = 400;
    if (class == MG_OK) {
        status = 422;
        class = mg_submission_parse(post->body, &limits, &post->submission, &err);
    }
    if (class != MG_OK) {
        post_refuse(post, class == MG_TRANSIENT ? 503 : status, "%s", err.text);
    }
    return class == MG_OK;
}

/* A submission of this gateway that no scheduler may have taken yet has the id. */
static bool is_other_queued(const struct mg_post *post)
{
    return mg_recent_is_other(post->gateway->recent, mg_client_name(post->client), post->order_id,
                              post->digest);
}

/* ---- publishing ---- */

static void on_published(void *arg, enum mg_publish_outcome outcome)
{
    struct mg_post *post = arg;
    if (outcome == MG_PUBLISH_CONFIRMED) {
        post_accept(post);
        return;
    }
    if (outcome == MG_PUBLISH_UNKNOWN) {
        post_refuse(post, 503, "the broker did not confirm the order, but may have it; send the same again");
        return;
    }
    mg_recent_forget(post->gateway->recent, mg_client_name(post->client), post->order_id);
    post_refuse(post, 503,
                outcome == MG_PUBLISH_REFUSED ? "the queue of new orders is full; send the same again later"
                : outcome == MG_PUBLISH_RETURNED
                    ? "there is no queue for new orders; the operator runs: makegood broker apply"
                    : "the broker took nothing in time; send the same again");
}

/* The message's id is the key if there is one, so that the scheduler derives the same order from it. */
static void order_publish(struct mg_post *post)
{
    const struct mg_submission *submission = &post->submission;
    char message_id[MG_POST_KEY_MAX + 1];
    struct mg_err err;
    const char *client = mg_client_name(post->client), *exchange = mg_client_exchange(post->client);
    if (post->is_taken || is_other_queued(post)) { /* or another came while the workflow was read */
        post_refuse(post, 409, MG_ADMISSION_CONFLICT);
        return;
    }
    if (exchange == NULL) {
        post_refuse(
            post, 503,
            "the broker has no exchange for client %s; the operator runs: makegood broker apply --client %s",
            client, client);
        return;
    }
    (void)snprintf(message_id, sizeof(message_id), "%.*s", (int)post->key.len, post->key.data);
    const struct mg_message message = {
        .exchange = exchange,
        .routing_key = submission->is_high ? MG_QUEUE_INTAKE_HIGH : MG_QUEUE_INTAKE,
        .type = "submission",
        .message_id = submission->order_id[0] == '\0' ? message_id : post->order_id,
        .reply_to = mg_hooks_queue(post->gateway->hooks, client),
        .traceparent = post->traceparent[0] != '\0' ? post->traceparent : NULL,
        .body = post->body};
    mg_recent_note(post->gateway->recent, client, post->order_id, post->digest);
    if (mg_broker_publish(post->gateway->broker, &message, on_published, post, &err) != MG_OK) {
        mg_recent_forget(post->gateway->recent, client, post->order_id);
        post_refuse(post, 503, "%s", err.text);
    }
}

/* ---- the demands of the workflow ---- */

/* As a scheduler does; others may come before it looks. */
static void on_line_length(void *arg, const int64_t *lengths, const struct mg_err *err)
{
    struct mg_post *post = arg;
    char reason[MG_STATUS_REASON_MAX + 1];
    if (is_gone(post) || err != NULL) {
        post_refuse(post, 503, "could not read the line of the order's key: %s",
                    err != NULL ? err->text : "the end");
    } else if (lengths[0] >= post->line_at_most) {
        mg_admission_line_full(post->submission.workflow, post->line_at_most, mg_slice_of(post->line_key),
                               reason);
        post_refuse(post, 422, "%s", reason);
    } else {
        order_publish(post);
    }
}

/* `key` absent: the workflow has no line. */
static void line_check(struct mg_post *post, const struct mg_workflow *workflow, struct mg_slice key)
{
    if (key.data == NULL) {
        order_publish(post);
        return;
    }
    post->line_at_most = workflow->sequence.at_most;
    (void)snprintf(post->line_key, sizeof(post->line_key), "%.*s", (int)key.len, key.data);
    mg_store_line_lengths(post->gateway->store, &key, 1, on_line_length, post);
}

/* `workflow` NULL: it is one of a newer version, which the scheduler can read. */
static void submission_check(struct mg_post *post, const struct mg_workflow *workflow)
{
    const struct mg_submission *submission = &post->submission;
    const struct mg_render_input input = {.workflow = workflow,
                                          .order_id = post->order_id,
                                          .payload = submission->payload,
                                          .accepted_at_ms = mg_clock_wall_ms(),
                                          .is_high = submission->is_high};
    struct mg_admission admission = {.verdict = MG_ADMITTED};
    struct mg_arena *arena = mg_arena_create(LABELS_MEMORY);
    if (arena == NULL) {
        post_refuse(post, 503, "no memory");
        return;
    }
    if (workflow != NULL) {
        mg_admission_judge(&input, arena, &admission);
    }
    if (admission.verdict == MG_ADMITTED) {
        line_check(post, workflow, admission.line);
    } else {
        post_refuse(post, admission.verdict == MG_ADMISSION_NO_MEMORY ? 503 : 422, "%s", admission.reason);
    }
    mg_arena_destroy(arena); /* only the scheduler stores the labels */
}

static void on_workflow(void *arg, bool found, int64_t version, struct mg_slice definition,
                        const struct mg_err *err)
{
    struct mg_post *post = arg;
    (void)version;
    if (is_gone(post) || err != NULL) {
        post_refuse(post, 503, "could not read the workflow: %s", err != NULL ? err->text : "the end");
    } else if (!found) {
        post_refuse(post, 422, "/workflow: this version has just been taken away");
    } else {
        submission_check(post, mg_kept_put(post->gateway->kept, definition));
    }
}

/* ---- the order that is there already ---- */

static bool is_same(const struct mg_post *post, const struct mg_rows *rows, int row)
{
    char digest[2 * MG_SHA256_SIZE + 1];
    *mg_hex_write(post->digest, sizeof(post->digest), digest) = '\0';
    return mg_slice_is(mg_rows_value(rows, row, 2), digest);
}

static void new_order_take(struct mg_post *post, const struct mg_rows *rows, int row)
{
    const struct mg_submission *submission = &post->submission;
    if (mg_rows_is_null(rows, row, 3)) {
        char reason[MG_STATUS_REASON_MAX + 1];
        mg_admission_unknown(submission, reason);
        post_refuse(post, 422, "%s", reason);
        return;
    }
    int64_t version = mg_rows_int(rows, row, 3);
    const struct mg_workflow *workflow = mg_kept_find(post->gateway->kept, submission->workflow, version);
    if (workflow != NULL) {
        submission_check(post, workflow);
    } else {
        mg_store_get_workflow(post->gateway->store, submission->workflow, version, on_workflow, post);
    }
}

/* The state of the order of which the submission is a repetition; NULL: it is a new one. */
static const char *repeated_state(const struct mg_post *post, const struct mg_rows *rows, int row)
{
    enum mg_order_state state;
    struct mg_slice word = mg_rows_value(rows, row, 0);
    if (mg_order_state_parse(word.data, word.len, &state)) {
        return mg_order_state_name(state);
    }
    return mg_recent_has(post->gateway->recent, mg_client_name(post->client), post->order_id) ? "posted"
                                                                                              : NULL;
}

/* An order without a client was stored by an older version; its bytes make the client its own. Under an id of
 * another client a submission is treated as a new one up to its end, so that its refusal has no trace of the
 * other's order. */
static void on_met(struct mg_post *post, const struct mg_rows *rows, int row, const struct mg_err *err)
{
    if (is_gone(post) || err != NULL) {
        post_refuse(post, 503, "could not look up the order: %s", err != NULL ? err->text : "the end");
        return;
    }
    bool is_there = !mg_rows_is_null(rows, row, 0), has_client = !mg_rows_is_null(rows, row, 1);
    bool is_own = mg_slice_is(mg_rows_value(rows, row, 1), mg_client_name(post->client));
    bool is_known = is_own || (!is_there && mg_recent_has(post->gateway->recent, mg_client_name(post->client),
                                                          post->order_id));
    post->is_taken = is_there ? !is_same(post, rows, row) || (has_client && !is_own) : is_other_queued(post);
    post->state = post->is_taken ? NULL : repeated_state(post, rows, row);
    if (post->is_taken && is_known) {
        post_refuse(post, 409, MG_ADMISSION_CONFLICT);
    } else if (post->is_taken || !is_there || !is_own) {
        new_order_take(post, rows, row);
    } else if (mg_hooks_queue(post->gateway->hooks, mg_client_name(post->client)) != NULL) {
        order_publish(post); /* moves its statuses to the webhook */
    } else {
        post_accept(post);
    }
}

bool mg_post_key_is_valid(struct mg_slice key)
{
    bool is_valid = key.len > 0 && key.len <= MG_POST_KEY_MAX;
    for (size_t i = 0; i < key.len; i++) {
        is_valid = is_valid && key.data[i] > ' ' && key.data[i] <= '~';
    }
    return is_valid;
}

void mg_post_trace_read(const struct mg_http_exchange *request, char ret_traceparent[MG_TRACEPARENT_SIZE])
{
    struct mg_trace trace;
    ret_traceparent[0] = '\0';
    if (mg_trace_parse(mg_slice_of(mg_http_exchange_header(request, "traceparent")), &trace)) {
        mg_trace_write(&trace, ret_traceparent);
    }
}

/* RFC 3986 section 5.2.4: clients take these parts out of an address, so the order could not be read. */
static bool is_addressable(const char *order_id)
{
    return strcmp(order_id, ".") != 0 && strcmp(order_id, "..") != 0;
}

void mg_post_begin(struct mg_post *post)
{
    if (!submission_read(post)) {
        return;
    }
    if (!is_addressable(post->submission.order_id)) {
        post_refuse(post, 400, "/order_id: no address can end in \"%s\"", post->submission.order_id);
        return;
    }
    if (post->submission.order_id[0] == '\0' && post->key.data == NULL) {
        post_refuse(post, 400, "nothing identifies the order: give %s, or order_id in the body",
                    post->key_name);
        return;
    }
    identity_make(post);
    mg_submission_digest(post->body, post->digest);
    post->met = on_met;
    mg_meets_ask(post->gateway->meets, post);
}
