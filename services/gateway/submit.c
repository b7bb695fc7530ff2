/*
 * Posting an order. The gateway refuses a submission that a scheduler would reject: a client without a queue
 * for statuses would never learn the reason. Then it publishes the body as it came, and answers when the
 * broker has confirmed it. The same request may be sent again after any failure: its order has the same id.
 *
 * Between the look at the database and the scheduler's decision, another post may come, or a newer version of
 * the workflow; and the scheduler's moment of acceptance is a later one, by the database's clock. Then the
 * scheduler may reject the submission, which stays in orders.rejected.
 */
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "core/key.h"
#include "gateway/call.h"
#include "io/amqp/broker.h"
#include "io/amqp/topology.h"
#include "wire/submission.h"
#include "wire/workflow.h"

#define KEY_HEADER    "Idempotency-Key"
#define KEY_MAX       255          /* a short string of AMQP, as the message's id */
#define LABELS_MEMORY (64u * 1024) /* for the values of an order's labels */
#define CONFLICT      "another order has this id; give the new one an id of its own"

/* ---- the request ---- */

/* Reads the key of a request, with or without the quotes of a structured field. False: it is not valid. */
static bool key_read(const struct mg_http_exchange *request, struct mg_slice *ret_key)
{
    const char *text = mg_http_exchange_header(request, KEY_HEADER);
    struct mg_slice key = mg_slice_of(text);
    *ret_key = key;
    if (text == NULL) {
        return true;
    }
    if (key.len >= 2 && key.data[0] == '"' && key.data[key.len - 1] == '"') {
        key = (struct mg_slice){key.data + 1, key.len - 2};
    }
    bool is_valid =
        key.len > 0 && key.len <= KEY_MAX && mg_http_exchange_header_count(request, KEY_HEADER) == 1;
    for (size_t i = 0; i < key.len; i++) {
        is_valid = is_valid && key.data[i] > ' ' && key.data[i] <= '~';
    }
    *ret_key = key;
    return is_valid;
}

/* The order's id: the submitted one, else the one that a scheduler derives from client and message id. */
static void identity_make(struct mg_call *call, const struct mg_submission *submission, struct mg_slice key)
{
    char user[sizeof("client-") + MG_QUEUE_NAME_SIZE];
    if (submission->order_id[0] != '\0') {
        memcpy(call->order_id, submission->order_id, sizeof(call->order_id));
        return;
    }
    (void)snprintf(user, sizeof(user), "client-%s", mg_client_name(call->client));
    mg_uuid_derived(mg_slice_of(user), key, call->order_id);
}
_Static_assert(MG_UUID_SIZE <= MG_ORDER_ID_MAX + 1, "a derived id fits");

/* False: the call has been refused. */
static bool submission_read(struct mg_call *call, struct mg_submission *ret_submission)
{
    struct mg_slice body = mg_http_exchange_body(call->request);
    struct mg_json_limits limits = MG_JSON_LIMITS_DATA;
    struct mg_err err;
    limits.max_bytes = (size_t)call->gateway->options->body_max;
    enum mg_class class = mg_json_check(body, &limits, &err);
    unsigned int status = 400;
    if (class == MG_OK) {
        status = 422;
        class = mg_submission_parse(body, &limits, ret_submission, &err);
    }
    if (class != MG_OK) {
        mg_call_refuse(call, class == MG_TRANSIENT ? 503 : status, "%s", err.text);
    }
    return class == MG_OK;
}

/* ---- publishing ---- */

static void accepted_answer(struct mg_call *call)
{
    char location[MG_ORDER_ID_MAX + 32], memory[MG_ORDER_ID_MAX + 32];
    struct mg_buf json;
    (void)snprintf(location, sizeof(location), "/v1/orders/%s", call->order_id);
    mg_buf_init_fixed(&json, memory, sizeof(memory));
    mg_buf_printf(&json, "{\"order_id\": \"%s\"}\n", call->order_id);
    mg_call_answer(call, 202, mg_buf_slice(&json), location);
}

static void on_published(void *arg, enum mg_publish_outcome outcome)
{
    struct mg_call *call = arg;
    if (outcome == MG_PUBLISH_CONFIRMED) {
        accepted_answer(call);
        return;
    }
    if (outcome == MG_PUBLISH_UNKNOWN) {
        mg_call_refuse(call, 503,
                       "the broker did not confirm the order, but may have it; send the same again");
        return;
    }
    mg_recent_forget(call->gateway->recent, mg_client_name(call->client), call->order_id);
    mg_call_refuse(call, 503,
                   outcome == MG_PUBLISH_REFUSED
                       ? "the queue of new orders is full; send the same again later"
                   : outcome == MG_PUBLISH_RETURNED
                       ? "there is no queue for new orders; the operator runs: makegood broker apply"
                       : "the broker took nothing in time; send the same again");
}

/* The message's id is the key if there is one, so that the scheduler derives the same order from it. */
static void order_publish(struct mg_call *call, const struct mg_submission *submission, struct mg_slice key)
{
    char message_id[KEY_MAX + 1];
    struct mg_err err;
    const char *client = mg_client_name(call->client), *exchange = mg_client_exchange(call->client);
    if (mg_recent_match(call->gateway->recent, client, call->order_id, call->digest) == MG_RECENT_OTHER) {
        mg_call_refuse(call, 409, CONFLICT);
        return;
    }
    if (exchange == NULL) {
        mg_call_refuse(
            call, 503,
            "the broker has no exchange for client %s; the operator runs: makegood broker apply --client %s",
            client, client);
        return;
    }
    (void)snprintf(message_id, sizeof(message_id), "%.*s", (int)key.len, key.data);
    const struct mg_message message = {
        .exchange = exchange,
        .routing_key = submission->is_high ? MG_QUEUE_INTAKE_HIGH : MG_QUEUE_INTAKE,
        .type = "submission",
        .message_id = submission->order_id[0] == '\0' ? message_id : call->order_id,
        .traceparent = mg_http_exchange_header(call->request, "traceparent"),
        .body = mg_http_exchange_body(call->request)};
    mg_recent_note(call->gateway->recent, client, call->order_id, call->digest);
    if (mg_broker_publish(call->gateway->broker, &message, on_published, call, &err) != MG_OK) {
        mg_recent_forget(call->gateway->recent, client, call->order_id);
        mg_call_refuse(call, 503, "%s", err.text);
    }
}

/* ---- the demands of the workflow ---- */

/* MG_OK; MG_TRANSIENT: no memory; else the text is the reason for the client. */
static enum mg_class workflow_check(const struct mg_workflow *workflow, const struct mg_call *call,
                                    const struct mg_submission *submission, struct mg_err *err)
{
    const struct mg_render_input input = {.workflow = workflow,
                                          .order_id = call->order_id,
                                          .payload = submission->payload,
                                          .accepted_at_ms = mg_clock_wall_ms(),
                                          .is_high = submission->is_high};
    enum mg_class class = mg_workflow_payload_check(workflow, submission->payload, err);
    const struct mg_payload_need *lack =
        class == MG_OK ? mg_workflow_lacks(workflow, submission->payload) : NULL;
    if (lack != NULL) {
        return mg_err_set(err, MG_BAD_INPUT, "payload has no member \"%.300s\"; step \"%s\" needs it",
                          lack->pointer, workflow->steps[lack->step].name);
    }
    if (class == MG_OK) {
        class = mg_workflow_require(&input, err);
    }
    if (class != MG_OK) {
        return class;
    }
    struct mg_slice labels[MG_LABELS_MAX];
    struct mg_arena *arena = mg_arena_create(LABELS_MEMORY);
    class = arena != NULL ? mg_workflow_labels_render(&input, arena, labels, err)
                          : mg_err_set(err, MG_TRANSIENT, "no memory");
    mg_arena_destroy(arena);
    return class;
}

/* `workflow` NULL: it is one of a newer version, which the scheduler can read. */
static void submission_check(struct mg_call *call, const struct mg_workflow *workflow)
{
    struct mg_submission submission;
    struct mg_slice key;
    struct mg_err err;
    (void)key_read(call->request, &key);
    if (!submission_read(call, &submission)) { /* for memory only: it was read before */
        return;
    }
    enum mg_class class = workflow != NULL ? workflow_check(workflow, call, &submission, &err) : MG_OK;
    if (class == MG_OK) {
        order_publish(call, &submission, key);
    } else {
        mg_call_refuse(call, class == MG_TRANSIENT ? 503 : 422, "%s", err.text);
    }
}

static void on_workflow(void *arg, bool found, int64_t version, struct mg_slice definition,
                        const struct mg_err *err)
{
    struct mg_call *call = arg;
    (void)version;
    if (call->request == NULL || err != NULL) {
        mg_call_refuse(call, 503, "could not read the workflow: %s", err != NULL ? err->text : "the end");
    } else if (!found) {
        mg_call_refuse(call, 422, "/workflow: this version has just been taken away");
    } else {
        submission_check(call, mg_kept_put(call->gateway->kept, definition));
    }
}

/* ---- the order that is there already ---- */

static bool is_same(const struct mg_call *call, const struct mg_rows *rows)
{
    char digest[2 * MG_SHA256_SIZE + 1];
    *mg_hex_write(call->digest, sizeof(call->digest), digest) = '\0';
    return mg_slice_is(mg_rows_value(rows, 0, 2), digest);
}

static void new_order_take(struct mg_call *call, const struct mg_rows *rows)
{
    struct mg_submission submission;
    if (!submission_read(call, &submission)) {
        return;
    }
    if (mg_rows_is_null(rows, 0, 3)) {
        mg_call_refuse(call, 422, "/workflow: no workflow \"%s\"%s has been loaded", submission.workflow,
                       submission.workflow_version != 0 ? " of this version" : "");
        return;
    }
    int64_t version = mg_rows_int(rows, 0, 3);
    const struct mg_workflow *workflow = mg_kept_find(call->gateway->kept, submission.workflow, version);
    if (workflow != NULL) {
        submission_check(call, workflow);
    } else {
        mg_store_get_workflow(call->gateway->store, submission.workflow, version, on_workflow, call);
    }
}

/* An order without a client was stored by an older version; its bytes make the client its own. */
static void on_met(void *arg, const struct mg_rows *rows, const struct mg_err *err)
{
    struct mg_call *call = arg;
    if (call->request == NULL || err != NULL) {
        mg_call_refuse(call, 503, "could not look up the order: %s", err != NULL ? err->text : "the end");
        return;
    }
    bool is_there = !mg_rows_is_null(rows, 0, 0), has_client = !mg_rows_is_null(rows, 0, 1);
    bool is_own = mg_slice_is(mg_rows_value(rows, 0, 1), mg_client_name(call->client));
    if (is_there && (!is_same(call, rows) || (has_client && !is_own))) {
        mg_call_refuse(call, 409, CONFLICT);
    } else if (is_there && is_own) {
        accepted_answer(call);
    } else {
        new_order_take(call, rows);
    }
}

void mg_submit_run(struct mg_call *call)
{
    struct mg_submission submission;
    struct mg_slice key;
    char version[24];
    if (!key_read(call->request, &key)) {
        mg_call_refuse(call, 400, KEY_HEADER ": expected one of 1 to %d printable ASCII characters", KEY_MAX);
        return;
    }
    if (!submission_read(call, &submission)) {
        return;
    }
    if (submission.order_id[0] == '\0' && key.data == NULL) {
        mg_call_refuse(call, 400,
                       "nothing identifies the order: give the header " KEY_HEADER
                       ", or order_id in the body");
        return;
    }
    identity_make(call, &submission, key);
    mg_submission_digest(mg_http_exchange_body(call->request), call->digest);
    (void)snprintf(version, sizeof(version), "%lld", (long long)submission.workflow_version);
    mg_store_report(call->gateway->store, MG_REPORT_SUBMISSION_MEETS,
                    (const char *[]){call->order_id, submission.workflow, version}, 3, on_met, call);
}
