/*
 * Submissions. A valid one becomes an order. A repeated one is answered, or redirects its order's statuses to
 * its own reply queue. An invalid one is refused: its sender gets a status, and the unchanged message is kept
 * in orders.rejected with the reason (law 13, nothing lost).
 */
#include "lanes.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "core/key.h"
#include "core/order.h"
#include "failure.h"
#include "fold.h"
#include "line_room.h"
#include "slot_fire.h"
#include "workflow/admission.h"

#define MG_CLIENT_USER_SIZE                                                                                  \
    (sizeof("client-") + 255) /* a client's name is part of an exchange's, a short string, too */
/* Codes in the cause of a rejection, for programs; its text is the reason. */
#define REFUSED_INVALID  "invalid"          /* the body, or a value that the workflow needs */
#define REFUSED_ENVELOPE "invalid_envelope" /* reply_to, correlation_id, headers */
#define REFUSED_IDENTITY "no_identity"
#define REFUSED_SIZE     "too_large"
#define REFUSED_CONFLICT "conflict"
#define REFUSED_WORKFLOW "unknown_workflow"
#define REFUSED_LINE     MG_ADMISSION_LINE_FULL

/* Replaces the body of an oversized message in orders.rejected. */
#define MG_OVERSIZED_NOTE "{\"oversized\":true,\"original\":\"in dead.letters\"}"

static bool is_reply_to_usable(const struct mg_delivery *delivery)
{
    struct mg_slice client;
    return delivery->reply_to.data != NULL && delivery->reply_to.len > 0 &&
           delivery->reply_to.len <= MG_REPLY_TO_MAX && !mg_topology_is_reserved(delivery->reply_to) &&
           !mg_topology_is_direct_reply(delivery->reply_to) &&
           mg_topology_client(delivery->exchange, &client) &&
           mg_topology_is_queue_of(client, delivery->reply_to);
}

/* A refusal is best effort, so direct reply-to is good enough for it. */
static bool is_refusal_answered(const struct mg_delivery *delivery)
{
    return is_reply_to_usable(delivery) || mg_topology_is_direct_reply(delivery->reply_to);
}

/* An invalid trace is dropped: it must not cost the order. One of a later version is reduced to the fields
 * of version 00. */
static struct mg_slice traceparent_of(struct mg_batch *batch, const struct mg_delivery *delivery)
{
    struct mg_trace trace;
    char text[MG_TRACEPARENT_SIZE];
    if (!mg_trace_parse(delivery->traceparent, &trace)) {
        return (struct mg_slice){NULL, 0};
    }
    mg_trace_write(&trace, text);
    return mg_arena_copy(batch->arena, mg_slice_of(text));
}

/* Texts in the database must be UTF-8 without NUL. */
static bool is_text(struct mg_slice bytes)
{
    size_t len;
    for (size_t at = 0; at < bytes.len; at += len) {
        len = mg_utf8_len(bytes.data + at, bytes.len - at);
        if (len == 0 || bytes.data[at] == '\0') {
            return false;
        }
    }
    return true;
}

/* In the shared namespace the message names its sender. The broker has verified a user_id, but never an
 * app_id. */
static struct mg_slice sender_of(const struct mg_delivery *delivery)
{
    return delivery->user_id.len > 0 ? delivery->user_id : delivery->app_id;
}

/* NULL: no memory. */
static struct mg_send *rejection_make(struct mg_batch *batch, struct mg_work *work, const char *order_id,
                                      const char *code, const char *reason)
{
    const struct mg_delivery *delivery = work->delivery;
    struct mg_status_message status = {.status = MG_STATUS_REJECTED,
                                       .at_ms = mg_scheduler_db_now_ms(batch->shared)};
    snprintf(status.order_id, sizeof(status.order_id), "%s", order_id);
    snprintf(status.reason, sizeof(status.reason), "%s", reason);
    status.cause = mg_failure_of_refusal(batch, code, reason);
    mg_buf_clear(&batch->scratch);
    mg_status_write(&status, &batch->scratch);
    char queue[MG_REPLY_TO_MAX + 1];
    snprintf(queue, sizeof(queue), "%.*s", (int)delivery->reply_to.len, delivery->reply_to.data);
    struct mg_send_spec spec = {.work = work,
                                .kind = MG_SEND_RESULT,
                                .exchange = "",
                                .routing_key = queue,
                                .type = "status",
                                .correlation_id = delivery->correlation_id,
                                .body = mg_buf_slice(&batch->scratch)};
    struct mg_send *send = batch->scratch.failed ? NULL : mg_send_create(batch->outbox, &spec);
    if (send != NULL) {
        send->is_status = true;
        send->status = MG_STATUS_REJECTED;
    }
    return send;
}

/* Answers the sender and keeps the message. If orders.rejected cannot take it, it goes to dead.letters.
 * Without memory for both the message is left. */
static enum mg_end refusal_make(struct mg_batch *batch, struct mg_work *work, const char *order_id,
                                const char *code, const char *reason, struct mg_send_list *list)
{
    const struct mg_delivery *delivery = work->delivery;
    mg_log(MG_LOG_DEBUG, "a submission was refused", MG_LOG_TEXT("order_id", order_id),
           MG_LOG_TEXT("why", reason));
    struct mg_send_spec spec = {.work = work,
                                .kind = MG_SEND_REJECTED,
                                .exchange = "",
                                .routing_key = MG_QUEUE_REJECTED,
                                .type = "submission",
                                .message_id = delivery->message_id,
                                .correlation_id = delivery->correlation_id,
                                .reply_to = delivery->reply_to,
                                .traceparent = delivery->traceparent,
                                /* The same order, of the same client, after a requeue. */
                                .app_id = sender_of(delivery),
                                .origin = delivery->exchange,
                                .reason = mg_slice_of(reason),
                                .body = delivery->body};
    if (delivery->is_oversized) { /* its bytes are not here: the broker moves them to dead.letters */
        spec.body = mg_slice_of(MG_OVERSIZED_NOTE);
    }
    bool is_answered = is_refusal_answered(delivery);
    struct mg_send *status = is_answered ? rejection_make(batch, work, order_id, code, reason) : NULL;
    struct mg_send *send = mg_send_create(batch->outbox, &spec);
    if (send == NULL || (is_answered && status == NULL)) {
        free(status);
        free(send);
        return MG_END_LEAVE;
    }
    if (is_answered) {
        TAILQ_INSERT_TAIL(list, status, entry);
    }
    TAILQ_INSERT_TAIL(list, send, entry);
    return delivery->is_oversized ? MG_END_REJECT : MG_END_ACK;
}

static bool refuse_unread(struct mg_batch *batch, struct mg_work *work, const char *order_id,
                          const char *code, const char *reason)
{
    struct mg_send_list list = TAILQ_HEAD_INITIALIZER(list);
    enum mg_end end = refusal_make(batch, work, order_id, code, reason, &list);
    mg_outbox_add_all(batch->outbox, &list);
    mg_work_settle(&batch->shared->works, work, end);
    if (end != MG_END_LEAVE) {
        mg_metric_add(batch->shared->series.submissions[MG_SUBMITTED_REJECTED], 1);
    }
    return false;
}

static void item_refuse(struct mg_batch *batch, struct mg_item *item, const char *code, const char *reason)
{
    if (item->work->fire != NULL) { /* the schedule is told by its run, its operators by an alert */
        mg_fire_settle(item->work->fire, MG_SLOT_END_REFUSED, reason);
        item->why = mg_arena_text(batch->arena, mg_slice_of(reason));
        item->submitted = MG_SUBMITTED_REJECTED;
        return;
    }
    item->end = refusal_make(batch, item->work, item->order_id, code, reason, &item->fold->sends);
    item->submitted = item->end != MG_END_LEAVE ? MG_SUBMITTED_REJECTED : MG_SUBMITTED_NOTHING;
}

/* Law 8, derived identities: the submitted order_id, else one derived from sender and message. For a
 * client with an exchange of its own, the sender is its user name under the shipped rights, regardless of
 * the message's properties. RabbitMQ would have proved the same name as user_id. MG_BAD_INPUT: neither is
 * there; MG_TRANSIENT: no memory. */
static enum mg_class identity_of(struct mg_batch *batch, const struct mg_item *item,
                                 const char **ret_order_id)
{
    const struct mg_delivery *delivery = item->work->delivery;
    if (item->submission->order_id[0] != '\0') {
        *ret_order_id = item->submission->order_id;
        return MG_OK;
    }
    char user[MG_CLIENT_USER_SIZE];
    struct mg_slice sender = sender_of(delivery);
    if (item->client.len > 0) {
        snprintf(user, sizeof(user), "client-%.*s", (int)item->client.len, item->client.data);
        sender = mg_slice_of(user);
    }
    if (delivery->message_id.len == 0 || sender.len == 0) {
        return MG_BAD_INPUT;
    }
    char uuid[MG_UUID_SIZE];
    mg_uuid_derived(sender, delivery->message_id, uuid);
    *ret_order_id = mg_arena_text(batch->arena, mg_slice_of(uuid));
    return *ret_order_id != NULL ? MG_OK : MG_TRANSIENT;
}

/* The same for each copy of a message, another one for a message from another place. Absent: no memory. */
static struct mg_slice cause_of(struct mg_batch *batch, const struct mg_delivery *delivery)
{
    uint8_t digest[MG_SHA256_SIZE];
    const struct mg_slice parts[] = {delivery->message_id, delivery->reply_to, delivery->correlation_id};
    mg_buf_clear(&batch->scratch);
    for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++) {
        mg_buf_printf(&batch->scratch, "%zu:", parts[i].len);
        mg_buf_append_slice(&batch->scratch, parts[i]);
    }
    if (batch->scratch.failed) {
        return (struct mg_slice){NULL, 0};
    }
    mg_sha256(mg_buf_slice(&batch->scratch), digest);
    char text[] = "submit:0123456789abcdef0123456789abcdef";
    mg_hex_write(digest, 16, strchr(text, ':') + 1);
    return mg_arena_copy(batch->arena, mg_slice_of(text));
}

static bool leave_unread(struct mg_batch *batch, struct mg_work *work, enum mg_class class)
{
    mg_work_settle(&batch->shared->works, work, mg_end_of_unread(class));
    return false;
}

/* Checks the properties besides the body: the reply queue and the order's identity. */
static bool envelope_read(struct mg_batch *batch, struct mg_item *item)
{
    struct mg_work *work = item->work;
    const struct mg_delivery *delivery = work->delivery;
    if (mg_topology_is_direct_reply(delivery->reply_to)) {
        return refuse_unread(batch, work, item->submission->order_id, REFUSED_ENVELOPE,
                             "reply_to is RabbitMQ's direct reply-to, where the loss of a status cannot be "
                             "noticed; use a queue of your own");
    }
    if (delivery->reply_to.len > 0 && !is_reply_to_usable(delivery)) {
        return refuse_unread(
            batch, work, item->submission->order_id, REFUSED_ENVELOPE,
            "reply_to names a queue of Makegood's or of another client; use a queue of your own");
    }
    if (!is_text(delivery->reply_to) || !is_text(delivery->correlation_id) || !is_text(item->client)) {
        return refuse_unread(batch, work, item->submission->order_id, REFUSED_ENVELOPE,
                             "reply_to, correlation_id and the client's name must be UTF-8 without NUL");
    }
    enum mg_class class = identity_of(batch, item, &item->order_id);
    if (class == MG_BAD_INPUT) {
        return refuse_unread(
            batch, work, "", REFUSED_IDENTITY,
            "nothing identifies the order: give order_id, or message_id with user_id or app_id (with an "
            "exchange of your own: message_id)");
    }
    item->cause = cause_of(batch, delivery);
    return class == MG_OK && item->cause.data != NULL ? true : leave_unread(batch, work, MG_TRANSIENT);
}

bool mg_intake_read(struct mg_batch *batch, struct mg_item *item)
{
    struct mg_work *work = item->work;
    const struct mg_delivery *delivery = work->delivery;
    struct mg_err err;
    if (!mg_topology_client(delivery->exchange, &item->client)) {
        mg_log(MG_LOG_ERROR, "dead-lettered a submission from an exchange that does not carry submissions",
               MG_LOG_TEXT("exchange", delivery->exchange.data));
        mg_work_settle(&batch->shared->works, work, MG_END_REJECT);
        return false;
    }
    if (mg_work_is_forged(work)) { /* its copy in orders.rejected is without the header */
        return refuse_unread(
            batch, work, "", REFUSED_ENVELOPE,
            "it has the header x-death, which only the broker may write; publish it without, even if a queue "
            "of your own delays it");
    }
    if (delivery->is_oversized) {
        return refuse_unread(batch, work, "", REFUSED_SIZE, "the message is larger than a submission may be");
    }
    item->submission = mg_arena_alloc(batch->arena, sizeof(*item->submission));
    if (item->submission == NULL) {
        return leave_unread(batch, work, MG_TRANSIENT);
    }
    enum mg_class class =
        mg_submission_parse(delivery->body, &batch->shared->options->limits, item->submission, &err);
    if (class == MG_BAD_INPUT) {
        return refuse_unread(batch, work, "", REFUSED_INVALID, err.text);
    }
    if (class != MG_OK) { /* a newer version's term, or no memory: another instance */
        return leave_unread(batch, work, class);
    }
    mg_submission_digest(delivery->body, item->digest);
    item->wants_event = work->is_again;
    item->wants_sent_status = delivery->reply_to.len > 0;
    return envelope_read(batch, item);
}

/* ---- deciding ---- */

static struct mg_story story_of(const struct mg_batch *batch)
{
    return (struct mg_story){.by = mg_slice_of(batch->shared->options->instance)};
}

static bool is_high(const struct mg_item *item)
{
    return item->submission->is_high || item->work->lane == MG_LANE_HIGH;
}

/* Asks the workflow about a new order, which has no result yet. If it is taken, this moment is stored with
 * it. False: the submission is refused, or there is no memory for the answer. */
static bool is_admitted(struct mg_batch *batch, struct mg_item *item, struct mg_admission *ret_admission)
{
    const struct mg_render_input input = {
        .workflow = item->workflow->workflow,
        .order_id = item->order_id,
        .payload = item->submission->payload,
        .accepted_at_ms = batch->now_ms,
        .is_high = is_high(item),
    };
    mg_admission_judge(&input, batch->arena, ret_admission);
    switch (ret_admission->verdict) {
    case MG_ADMITTED:
        return true;
    case MG_REFUSED_PAYLOAD:
        item_refuse(batch, item, REFUSED_INVALID, ret_admission->reason);
        return false;
    case MG_REFUSED_REQUIREMENT: /* as a step that is refused */
        item_refuse(batch, item, mg_reason_name(MG_REASON_REQUIREMENT), ret_admission->reason);
        return false;
    case MG_REFUSED_EXPRESSION:
        item_refuse(batch, item, mg_reason_name(MG_REASON_EXPRESSION), ret_admission->reason);
        return false;
    case MG_ADMISSION_NO_MEMORY:
        item->fold->has_failed = true;
        return false;
    }
    return false;
}

/* False: no memory. */
static bool labels_take(struct mg_batch *batch, const struct mg_workflow *workflow,
                        const struct mg_admission *admission, struct mg_order_record *record)
{
    struct mg_label *labels = mg_arena_alloc(batch->arena, sizeof(*labels) * MG_LABELS_MAX);
    record->labels = labels;
    for (int i = 0; i < workflow->label_count && labels != NULL; i++) {
        if (admission->labels[i].data != NULL) {
            labels[record->label_count++] = (struct mg_label){workflow->labels[i].name, admission->labels[i]};
        }
    }
    return labels != NULL;
}

/* Absent: no memory; the story then has the core's words. */
static struct mg_slice fire_reason(struct mg_batch *batch, const struct mg_fire *fire)
{
    char at[MG_TIME_TEXT_SIZE];
    mg_time_format(fire->slot_ms, at);
    return mg_slice_of(mg_arena_printf(batch->arena, "schedule %s, slot %s", fire->schedule, at));
}

static void order_create(struct mg_batch *batch, struct mg_item *item, const struct mg_admission *admission)
{
    struct mg_fold *fold = item->fold;
    const struct mg_delivery *delivery = item->work->delivery;
    const struct mg_submission *submission = item->submission;
    const struct mg_workflow *workflow = item->workflow->workflow;
    struct mg_order_record *record = mg_arena_alloc(batch->arena, sizeof(*record));
    if (record == NULL || (workflow->label_count > 0 && !labels_take(batch, workflow, admission, record))) {
        fold->has_failed = true;
        return;
    }
    snprintf(record->order_id, sizeof(record->order_id), "%s", item->order_id);
    memcpy(record->workflow, workflow->name, sizeof(record->workflow));
    record->workflow_version = workflow->version;
    record->revision = 1;
    record->payload = submission->payload;
    memcpy(record->digest, item->digest, sizeof(record->digest));
    if (item->work->fire == NULL) { /* else the answer to the command goes there, and no status */
        record->reply_to = delivery->reply_to.len > 0 ? delivery->reply_to : (struct mg_slice){NULL, 0};
        record->correlation_id = delivery->correlation_id;
    }
    record->traceparent = traceparent_of(batch, delivery);
    record->client = item->client;
    record->is_high = is_high(item);
    record->wants_step_status = submission->wants_step_status;
    record->created_at_ms = batch->now_ms;
    struct mg_context context = {.now_ms = batch->now_ms};
    mg_order_init(&workflow->plan, &context, submission->complete_within_ms, &record->order);
    fold->workflow = item->workflow;
    fold->line.key = admission->line;
    if (!mg_fold_bind(batch, fold, record)) {
        return;
    }
    struct mg_cause cause = {.kind = MG_CAUSE_SUBMITTED, .step = -1};
    struct mg_story story = story_of(batch);
    if (item->work->fire != NULL) {
        story.reason = fire_reason(batch, item->work->fire);
        fold->slot = &item->work->fire->slot;
    }
    (void)mg_fold_cause(batch, item, &cause, NULL, story); /* always MG_GO */
    item->submitted = MG_SUBMITTED_ACCEPTED;
}

/* The status last sent for the order's present state, by this batch or before. It is repeated byte for
 * byte, since one number never has two messages. The newest event that keeps it suffices, so the others
 * need not be read, for any number of repetitions in a batch. False: it must be read first. */
static bool status_last_sent(const struct mg_item *item, struct mg_status_text *ret_status)
{
    const struct mg_fold *fold = item->fold;
    const enum mg_status wanted = mg_order_state_status(fold->record->order.state);
    struct mg_status_text status;
    bool is_found = false;
    for (int i = fold->event_count - 1; i >= 0 && !is_found; i--) {
        for (int k = 0; mg_status_kept(&fold->events[i], k, &status); k++) {
            if (status.seq != 0 && status.status == wanted) {
                *ret_status = status;
                is_found = true;
            }
        }
    }
    if (is_found) {
        return true;
    }
    *ret_status = mg_status_text_of(item->sent_status);
    ret_status->version = item->sent_version;
    return ret_status->seq != 0 && ret_status->status == wanted;
}

/* Redirects the order's statuses to the message's reply queue, if it has one. An order of an older version
 * is bound to its client by a revision with the same payload, since a payload's row is never changed. */
static void order_reattach(struct mg_batch *batch, struct mg_item *item)
{
    struct mg_fold *fold = item->fold;
    struct mg_order_record *record = fold->record;
    const struct mg_delivery *delivery = item->work->delivery;
    if (delivery->reply_to.len > 0) {
        record->reply_to = delivery->reply_to;
        record->correlation_id = delivery->correlation_id;
    }
    if (record->client.data == NULL) {
        record->client = item->client;
        record->revision += fold->is_payload_changed ? 0 : 1;
        fold->is_payload_changed = true;
    }
    struct mg_cause cause = {.kind = MG_CAUSE_REATTACHED, .step = -1};
    (void)mg_fold_cause(batch, item, &cause, NULL, story_of(batch)); /* no state forbids it */
}

/* Another client's order and other bytes are refused with the same text. Neither reveals more of the order
 * than that its id is taken. */
static bool is_conflict(const struct mg_item *item)
{
    const struct mg_order_record *record = item->fold->record;
    bool is_anothers = record->client.data != NULL && !mg_slice_equal(record->client, item->client);
    return is_anothers || memcmp(record->digest, item->digest, sizeof(record->digest)) != 0;
}

static void order_repeat(struct mg_batch *batch, struct mg_item *item)
{
    const struct mg_delivery *delivery = item->work->delivery;
    const struct mg_order_record *record = item->fold->record;
    if (is_conflict(item)) {
        item_refuse(batch, item, REFUSED_CONFLICT, MG_ADMISSION_CONFLICT);
        return;
    }
    bool is_awaited = delivery->reply_to.len > 0; /* else no answer is expected */
    item->is_recalled = is_awaited && item->is_owed;
    if (mg_fold_is_known(batch, item)) {
        return;
    }
    struct mg_status_text status;
    if (is_awaited && !status_last_sent(item, &status)) {
        item->is_undecided = true;
        return;
    }
    mg_metric_add(batch->shared->series.duplicates, 1);
    item->submitted = MG_SUBMITTED_REPEATED;
    bool is_elsewhere = is_awaited && (!mg_slice_equal(record->reply_to, delivery->reply_to) ||
                                       !mg_slice_equal(record->correlation_id, delivery->correlation_id));
    /* Stored again, so that the next repetition need not read the whole history. */
    bool is_far = is_awaited && record->order.version >= status.version + MG_SENT_EVENTS_MAX;
    item->is_recalled = item->is_recalled || is_elsewhere; /* also statuses that are being marked as owed */
    if (is_elsewhere || is_far || record->client.data == NULL) {
        order_reattach(batch, item);
    }
    if (is_awaited) {
        mg_fold_status(batch, item, &status);
    }
}

static void order_new(struct mg_batch *batch, struct mg_item *item)
{
    struct mg_admission admission;
    if (!is_admitted(batch, item, &admission)) {
        return;
    }
    if (admission.line.data == NULL || !mg_line_is_full(batch, item, admission.line)) {
        order_create(batch, item, &admission);
    } else if (item->fold->is_guessed) {
        item->is_undecided = true; /* a read must prove that it is new */
    } else {
        char reason[MG_STATUS_REASON_MAX + 1];
        const struct mg_workflow *workflow = item->workflow->workflow;
        mg_admission_line_full(workflow->name, workflow->sequence.at_most, admission.line, reason);
        item_refuse(batch, item, REFUSED_LINE, reason);
    }
}

/* The slot has its order, which may be in the archive by now. An order that the slot did not make has taken
 * its id. */
static void slot_repeat(struct mg_batch *batch, struct mg_item *item)
{
    struct mg_fire *fire = item->work->fire;
    bool is_its_own = fire->verdict == MG_SLOT_HAS_ORDER;
    if (item->fold->record != NULL && !mg_fold_is_known(batch, item) && !is_its_own) {
        item_refuse(batch, item, REFUSED_CONFLICT, MG_ADMISSION_CONFLICT);
        return;
    }
    item->submitted = MG_SUBMITTED_REPEATED;
    if (fire->slot.is_moved) { /* no commit moves the schedule on */
        mg_fire_settle(fire, MG_SLOT_END_ORDER, "");
    }
}

void mg_intake_decide(struct mg_batch *batch, struct mg_item *item)
{
    bool has_order = item->fold->record != NULL;
    if (item->work->fire != NULL && (has_order || item->work->fire->verdict == MG_SLOT_HAS_ORDER)) {
        slot_repeat(batch, item);
    } else if (has_order) {
        order_repeat(batch, item);
    } else if (item->workflow != NULL) {
        order_new(batch, item);
    } else if (item->want != NULL &&
               (item->want->outcome == MG_FETCH_UNREADABLE || item->want->outcome == MG_FETCH_DAMAGED)) {
        item->end = MG_END_NEWER;
    } else {
        char reason[MG_STATUS_REASON_MAX + 1];
        mg_admission_unknown(item->submission, reason);
        item_refuse(batch, item, REFUSED_WORKFLOW, reason);
    }
}
