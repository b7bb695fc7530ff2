/*
 * Between the core and the record: one cause is decided on an order in memory. Its transitions become an
 * event row, its effects become messages. A batch folds all causes of an order this way and writes the order
 * once (law 4, version guard).
 *
 * JSON in an event row:
 *   transitions  [{"step":"charge","from":"running","to":"done","attempt":2,"kind":"do","reason":"none",
 *                  "due_at":"2026-01-31T12:34:56.789Z"}, …]; "step", "attempt", "kind" are absent in a
 *                transition of the order itself, "due_at" without a wait
 *   statuses     [status messages exactly as they are sent]
 *
 * A request that cannot be built is a further cause with an event of its own, in the same write. Its statuses
 * are kept with the external cause, because only that one can be redelivered (law 3, re-creation). For the
 * consequences of a refused request see chain.c.
 */
#include "fold.h"

#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/json_write.h"
#include "base/log.h"
#include "chain.h"
#include "core/order.h"
#include "failure.h"
#include "guard_facts.h"
#include "kept_signals.h"
#include "order_input.h"
#include "output.h"
#include "render.h"
#include "wire/alert.h"

/* A step can be asked about, and fail to render as do, as undo, and as do of a new generation. */
#define MG_FOLLOW_MAX (4 * MG_STEPS_MAX)
/* All statuses of one cause: at most one for each step, below 2.5 KiB with the title of a wait, a few for the
 * order, and one output. */
#define MG_STATUSES_MAX_BYTES (192 * 1024 + MG_OUTPUT_MAX_BYTES)

/* The consequences of a decision, in the same fold: a request that cannot be built, or the facts of a guard.
 * It is short, since every cause clears the whole list. */
struct mg_followed {
    enum mg_cause_kind kind;
    int step;
    uint32_t attempt;
};

struct mg_follow {
    struct mg_followed causes[MG_FOLLOW_MAX];
    int count;
    uint64_t asked; /* steps whose facts are in the list, not yet decided: further decisions ask again */
};

/* ---- the order ---- */

bool mg_fold_bind(struct mg_batch *batch, struct mg_fold *fold, struct mg_order_record *record)
{
    const struct mg_workflow *workflow = fold->workflow->workflow;
    record->order.step_count = workflow->plan.step_count;
    for (int i = 0; i < workflow->plan.step_count; i++) {
        record->step_names[i] = workflow->steps[i].name;
        record->services[i] = workflow->steps[i].service;
    }
    fold->before = mg_arena_alloc(batch->arena, mg_order_size(&record->order));
    if (fold->before == NULL) {
        fold->has_failed = true;
        return false;
    }
    memcpy(fold->before, &record->order, mg_order_size(&record->order));
    fold->expected_version = record->order.version;
    fold->record = record;
    return true;
}

/* ---- the event row ---- */

static void transition_write(struct mg_json_writer *json, const struct mg_fold *fold,
                             const struct mg_transition *transition)
{
    mg_json_element_object(json);
    if (transition->step >= 0) {
        mg_json_member_word(json, "step", fold->record->step_names[transition->step]);
        mg_json_member_word(json, "from", mg_step_state_name((enum mg_step_state)transition->from));
        mg_json_member_word(json, "to", mg_step_state_name((enum mg_step_state)transition->to));
        mg_json_member_int(json, "attempt", transition->attempt);
        mg_json_member_word(json, "kind", mg_kind_name(transition->kind));
    } else {
        mg_json_member_word(json, "from", mg_order_state_name((enum mg_order_state)transition->from));
        mg_json_member_word(json, "to", mg_order_state_name((enum mg_order_state)transition->to));
    }
    mg_json_member_word(json, "reason", mg_reason_name(transition->reason));
    if (transition->due_at_ms != 0) {
        char at[MG_TIME_TEXT_SIZE];
        mg_time_format(transition->due_at_ms, at);
        mg_json_member_word(json, "due_at", at);
    }
    mg_json_object_end(json);
}

static struct mg_slice transitions_write(struct mg_batch *batch, const struct mg_fold *fold)
{
    const struct mg_decision *decision = &batch->decision;
    struct mg_buf *buf = &batch->scratch;
    struct mg_json_writer json = mg_json_compact(buf);
    mg_buf_clear(buf);
    mg_json_array_begin(&json);
    for (int i = 0; i < decision->transition_count; i++) {
        transition_write(&json, fold, &decision->transitions[i]);
    }
    mg_json_array_end(&json);
    return buf->failed ? (struct mg_slice){NULL, 0} : mg_arena_copy(batch->arena, mg_buf_slice(buf));
}

static void *array_grow(struct mg_batch *batch, const void *old, int count, int *room, size_t size)
{
    if (count < *room) {
        return NULL;
    }
    int wider = *room == 0 ? 4 : *room * 2;
    void *array = mg_arena_alloc(batch->arena, (size_t)wider * size);
    if (array != NULL) {
        if (count > 0) {
            memcpy(array, old, (size_t)count * size);
        }
        *room = wider;
    }
    return array;
}

static void event_add(struct mg_batch *batch, struct mg_item *item, const struct mg_cause *cause,
                      struct mg_story story)
{
    struct mg_fold *fold = item->fold;
    void *wider =
        array_grow(batch, fold->events, fold->event_count, &fold->event_room, sizeof(*fold->events));
    fold->events = wider != NULL ? wider : fold->events;
    struct mg_slice transitions = transitions_write(batch, fold);
    struct mg_slice identity = item->cause;
    if (item->first_event >= 0) { /* a follow-up: its identity is the cause's with a number after it */
        identity = mg_slice_of(mg_arena_printf(batch->arena, "%.*s/%d", (int)item->cause.len,
                                               item->cause.data, fold->event_count - item->first_event));
    }
    if (fold->event_count >= fold->event_room || transitions.data == NULL || identity.data == NULL) {
        fold->has_failed = true;
        return;
    }
    struct mg_event_record *event = &fold->events[fold->event_count];
    memset(event, 0, sizeof(*event));
    event->version = fold->record->order.version;
    event->cause_kind = cause->kind;
    event->cause = identity;
    event->by = story.by;
    event->attempt = cause->attempt;
    event->step =
        cause->step >= 0 ? mg_slice_of(fold->record->step_names[cause->step]) : (struct mg_slice){NULL, 0};
    event->reason = story.reason.data != NULL ? story.reason : mg_slice_of(batch->decision.why);
    event->transitions = transitions;
    if (item->first_event < 0) {
        item->first_event = fold->event_count;
    }
    fold->event_count++;
}

void mg_fold_close_item(struct mg_batch *batch, struct mg_item *item)
{
    if (item->first_event < 0 || item->fold->has_failed || item->statuses.len == 0) {
        return;
    }
    mg_buf_append_text(&item->statuses, "]");
    struct mg_slice statuses = mg_arena_copy(batch->arena, mg_buf_slice(&item->statuses));
    if (item->statuses.failed || statuses.data == NULL) {
        item->fold->has_failed = true;
        return;
    }
    item->fold->events[item->first_event].statuses = statuses;
    /* A refused request is a cause that is never redelivered. Its statuses are owed until the supervisor's
     * command, since they would otherwise end with this process. So they may go out twice. */
    item->fold->events[item->first_event].is_owed = item->work->lane == MG_LANE_INTERNAL;
}

/* ---- effects ---- */

static void status_send(struct mg_batch *batch, struct mg_item *item, const struct mg_status_text *status)
{
    struct mg_fold *fold = item->fold;
    if (fold->record->reply_to.data == NULL) {
        return;
    }
    struct mg_send *send = mg_status_send(batch->outbox, item->work, fold->record, status);
    if (send == NULL) {
        fold->has_failed = true;
        return;
    }
    TAILQ_INSERT_TAIL(&fold->sends, send, entry);
}

void mg_fold_status(struct mg_batch *batch, struct mg_item *item, const struct mg_status_text *status)
{
    struct mg_fold *fold = item->fold;
    struct mg_status_text text = *status;
    if (item->first_event >= 0) {
        if (item->statuses.max == 0) {
            mg_buf_init(&item->statuses, MG_STATUSES_MAX_BYTES);
        }
        mg_buf_append_text(&item->statuses, item->statuses.len == 0 ? "[" : ",");
        mg_buf_append_slice(&item->statuses, text.body);
        fold->has_failed = fold->has_failed || item->statuses.failed;
        text.version = fold->events[item->first_event].version;
    }
    status_send(batch, item, &text);
}

static bool is_of_definition(struct mg_slice error_code)
{
    enum mg_reason reason = MG_REASON_NONE;
    (void)mg_reason_parse(error_code.data, error_code.len, &reason);
    return reason == MG_REASON_UNRENDERABLE || reason == MG_REASON_REQUIREMENT ||
           reason == MG_REASON_EXPRESSION || reason == MG_REASON_SKIP_REFUSED;
}

/* The reason why a request could not be built concerns the submission. Words of a service stand in the cause.
 */
static void status_reason(const struct mg_fold *fold, const struct mg_effect *effect,
                          struct mg_status_message *status)
{
    const struct mg_order_record *record = fold->record;
    if (effect->reason == MG_REASON_NONE) {
        return;
    }
    int len = snprintf(status->reason, sizeof(status->reason), "%s: %s", mg_reason_name(effect->reason),
                       mg_reason_text(effect->reason));
    int step = mg_failure_step(&record->order, effect);
    if (step >= 0 && is_of_definition(record->steps[step].error_code)) {
        struct mg_slice text = record->steps[step].error_text;
        snprintf(status->reason + len, sizeof(status->reason) - (size_t)len, "; step %s: %.*s",
                 record->step_names[step], (int)text.len, text.data);
    } else if (step < 0 && effect->reason == MG_REASON_UNRENDERABLE) {
        snprintf(status->reason + len, sizeof(status->reason) - (size_t)len, "; %.*s",
                 (int)fold->output_fault.len, fold->output_fault.data);
    }
}

static void status_wait(const struct mg_fold *fold, int step, struct mg_status_message *status)
{
    const struct mg_signal_wait *signal = fold->workflow->workflow->steps[step].signal;
    status->until_ms = fold->record->order.steps[step].due_at_ms;
    if (signal != NULL) {
        snprintf(status->signal, sizeof(status->signal), "%s", signal->name);
        status->title = signal->title;
    }
}

static void effect_status(struct mg_batch *batch, struct mg_item *item, const struct mg_effect *effect)
{
    const struct mg_order_record *record = item->fold->record;
    struct mg_status_message status = {.seq = effect->seq, .status = effect->status, .at_ms = batch->now_ms};
    memcpy(status.order_id, record->order_id, sizeof(status.order_id));
    if (effect->step >= 0) {
        snprintf(status.step, sizeof(status.step), "%s", record->step_names[effect->step]);
    }
    status_reason(item->fold, effect, &status);
    if (effect->status == MG_STATUS_PROCESSED) {
        status.output = item->fold->output;
    }
    if (effect->status == MG_STATUS_WAITING) {
        status_wait(item->fold, effect->step, &status);
    }
    status.cause = mg_failure_cause(batch, item->fold, effect);
    mg_buf_clear(&batch->scratch);
    mg_status_write(&status, &batch->scratch);
    item->fold->has_failed = item->fold->has_failed || batch->scratch.failed;
    const struct mg_status_text text = {
        .seq = effect->seq, .status = effect->status, .body = mg_buf_slice(&batch->scratch)};
    mg_fold_status(batch, item, &text);
}

/* In the order of importance: the alert, its reason, and the effects that may still stand at the services. */
static void alert_text(const struct mg_fold *fold, const struct mg_effect *effect,
                       struct mg_alert_message *message)
{
    const struct mg_order_record *record = fold->record;
    size_t size = sizeof(message->text);
    bool has_reason = effect->reason != MG_REASON_NONE;
    size_t len = (size_t)snprintf(message->text, size, "%s%s%s", mg_alert_text(effect->alert),
                                  has_reason ? "; " : "", has_reason ? mg_reason_text(effect->reason) : "");
    int step = mg_failure_step(&record->order, effect);
    mg_failure_describe(record, step, message->text, size);
    len = strlen(message->text);
    if (step < 0 && effect->reason == MG_REASON_UNRENDERABLE && len < size) {
        len += (size_t)snprintf(message->text + len, size - len, "; %.*s", (int)fold->output_fault.len,
                                fold->output_fault.data);
    }
    uint64_t standing = mg_order_not_undone(&fold->workflow->workflow->plan, &record->order);
    for (int i = 0, n = 0; i < record->order.step_count && !message->is_closed && len < size; i++) {
        if ((standing >> i & 1) != 0) {
            len += (size_t)snprintf(message->text + len, size - len, "%s%s",
                                    n++ == 0 ? "; not undone: " : ", ", record->step_names[i]);
        }
    }
}

static void effect_alert(struct mg_batch *batch, struct mg_item *item, const struct mg_effect *effect)
{
    struct mg_fold *fold = item->fold;
    const struct mg_order_record *record = fold->record;
    struct mg_alert_message message = {
        .alert = effect->alert, .is_closed = effect->kind == MG_EFFECT_CLOSE_ALERT, .at_ms = batch->now_ms};
    memcpy(message.order_id, record->order_id, sizeof(message.order_id));
    snprintf(message.subject, sizeof(message.subject), "%s%s%s", record->order_id,
             effect->step >= 0 ? "." : "", effect->step >= 0 ? record->step_names[effect->step] : "");
    alert_text(fold, effect, &message);

    void *wider =
        array_grow(batch, fold->alerts, fold->alert_count, &fold->alert_room, sizeof(*fold->alerts));
    fold->alerts = wider != NULL ? wider : fold->alerts;
    const char *subject = mg_arena_text(batch->arena, mg_slice_of(message.subject));
    const struct mg_failure *failure = message.is_closed ? NULL : mg_failure_of_alert(batch, fold, effect);
    struct mg_slice text = mg_arena_copy(batch->arena, mg_slice_of(message.text));
    mg_buf_clear(&batch->scratch);
    mg_alert_write(&message, &batch->scratch);
    struct mg_send_spec spec = {.work = item->work,
                                .kind = MG_SEND_ALERT,
                                .exchange = MG_EXCHANGE_ALERTS,
                                .routing_key = MG_QUEUE_ALERTS,
                                .type = "alert",
                                .body = mg_buf_slice(&batch->scratch)};
    struct mg_send *send = batch->scratch.failed ? NULL : mg_send_create(batch->outbox, &spec);
    if (send != NULL) {
        TAILQ_INSERT_TAIL(&fold->sends, send, entry);
    }
    bool is_whole =
        subject != NULL && text.data != NULL && send != NULL && (message.is_closed || failure != NULL);
    if (fold->alert_count >= fold->alert_room || !is_whole) {
        fold->has_failed = true;
        return;
    }
    fold->alerts[fold->alert_count++] = (struct mg_alert_write){.alert = message.alert,
                                                                .is_closed = message.is_closed,
                                                                .subject = subject,
                                                                .order_id = record->order_id,
                                                                .text = text,
                                                                .failure = failure};
}

static void follow_add(struct mg_fold *fold, struct mg_follow *follow, enum mg_cause_kind kind, int step)
{
    if (follow->count >= MG_FOLLOW_MAX) {
        fold->has_failed = true;
        return;
    }
    follow->causes[follow->count++] =
        (struct mg_followed){kind, step, fold->record->order.steps[step].attempt};
}

static void effect_request(struct mg_batch *batch, struct mg_item *item, int step, struct mg_follow *follow)
{
    struct mg_fold *fold = item->fold;
    enum mg_cause_kind kind = MG_CAUSE_UNRENDERABLE;
    switch (mg_render_request(batch, item, step, false)) {
    case MG_RENDER_OK:
        fold->record->steps[step].cause = mg_chain_cause(batch, item);
        fold->has_failed = fold->has_failed || fold->record->steps[step].cause.data == NULL;
        fold->touched |= UINT64_C(1) << step;
        return;
    case MG_RENDER_NO_MEMORY:
        fold->has_failed = true;
        return;
    case MG_RENDER_UNRENDERABLE:
        break;
    case MG_RENDER_CHANGED:
        kind = MG_CAUSE_REQUEST_CHANGED;
        break;
    }
    follow_add(fold, follow, kind, step);
}

static void effect_ask(struct mg_fold *fold, int step, struct mg_follow *follow)
{
    uint64_t bit = UINT64_C(1) << step;
    if ((follow->asked & bit) == 0) {
        follow->asked |= bit;
        follow_add(fold, follow, MG_CAUSE_FACTS, step);
    }
}

/* All effects of a batch make one move. A place that was not stored yet is given up by not taking it. */
static void effect_line(struct mg_fold *fold, enum mg_effect_kind kind)
{
    struct mg_line_move *move = &fold->line;
    if (kind == MG_EFFECT_LINE_JOIN) {
        *move = (struct mg_line_move){.joins = true, .leaves = fold->expected_version > 0, .key = move->key};
    } else if (kind == MG_EFFECT_LINE_BEGIN) {
        move->begins = true;
    } else if (move->joins) {
        move->joins = false;
    } else {
        move->leaves = true;
    }
}

static void effects_make(struct mg_batch *batch, struct mg_item *item, struct mg_follow *follow)
{
    const struct mg_decision *decision = &batch->decision;
    for (int i = 0; i < decision->effect_count && !item->fold->has_failed; i++) {
        const struct mg_effect *effect = &decision->effects[i];
        switch (effect->kind) {
        case MG_EFFECT_REQUEST:
            effect_request(batch, item, effect->step, follow);
            break;
        case MG_EFFECT_ASK:
            effect_ask(item->fold, effect->step, follow);
            break;
        case MG_EFFECT_STATUS:
            effect_status(batch, item, effect);
            break;
        case MG_EFFECT_LINE_JOIN:
        case MG_EFFECT_LINE_BEGIN:
        case MG_EFFECT_LINE_LEAVE:
            effect_line(item->fold, effect->kind);
            break;
        case MG_EFFECT_ALERT:
        case MG_EFFECT_CLOSE_ALERT:
            effect_alert(batch, item, effect);
            break;
        }
    }
}

/* ---- deciding ---- */

static void context_make(const struct mg_batch *batch, struct mg_fold *fold, const struct mg_cause *cause,
                         const struct mg_step_record *after, struct mg_context *ret_context)
{
    const struct mg_shared *shared = batch->shared;
    memset(ret_context, 0, sizeof(*ret_context));
    ret_context->now_ms = batch->now_ms;
    ret_context->spared = mg_far_clock_spared(&shared->db_clock, mg_clock_boot_ms(), 0);
    ret_context->high_now_ms = mg_far_clock_high_now_ms(&shared->db_clock, mg_clock_boot_ms());
    ret_context->random = mg_random_u64();
    ret_context->quiesce_ms = shared->options->quiesce_ms;
    ret_context->park_ms = shared->options->park_ms;
    ret_context->wants_step_status = fold->record->wants_step_status;
    ret_context->known_results = mg_render_known_results(fold, cause->step, after);
    ret_context->is_output_open = fold->workflow->workflow->output.data != NULL;
    for (int i = 0; i < fold->workflow->workflow->plan.step_count; i++) {
        bool is_first = fold->record->order.steps[i].state == MG_STEP_PENDING;
        ret_context->gate[i] = mg_gate_reason(fold->workflow->gates[i], fold->record->is_high, is_first);
    }
}

static void verdict_count(struct mg_batch *batch, const struct mg_item *item, const struct mg_cause *cause,
                          enum mg_verdict verdict)
{
    struct mg_scheduler_metrics *series = &batch->shared->series;
    mg_metric_add(series->causes[cause->kind][verdict], 1);
    enum mg_log_level level = verdict == MG_IMPOSSIBLE ? MG_LOG_ERROR : MG_LOG_DEBUG;
    if (verdict == MG_STALE_CAUSE) {
        mg_metric_add(series->stale, 1);
    } else if (verdict == MG_DUPLICATE) {
        mg_metric_add(series->duplicates, 1);
    } else if (verdict == MG_IMPOSSIBLE) {
        mg_metric_add(series->impossible, 1);
    }
    mg_log(level, "a cause was decided", MG_LOG_TEXT("order_id", item->order_id),
           MG_LOG_TEXT("cause", mg_cause_name(cause->kind)), MG_LOG_NUMBER("step", cause->step),
           MG_LOG_NUMBER("attempt", cause->attempt), MG_LOG_NUMBER("verdict", verdict),
           MG_LOG_TEXT("why", batch->decision.why));
    for (int i = 0; i < batch->decision.transition_count; i++) {
        const struct mg_transition *transition = &batch->decision.transitions[i];
        if (transition->step < 0) {
            item->fold->entered[transition->to]++;
        } else if (transition->reason == MG_REASON_NO_CONSUMER) {
            mg_gate_held(item->fold->workflow->gates[transition->step]);
        } else if (transition->reason == MG_REASON_WINDOW_FULL) {
            mg_gate_parked(item->fold->workflow->gates[transition->step], item->fold->record->is_high);
        }
    }
}

/* A key of a new generation has carried no request yet. On the way back only that of the undo rises. */
static void digests_renew(struct mg_fold *fold, const uint32_t *generations)
{
    for (int i = 0; i < fold->record->order.step_count; i++) {
        const struct mg_step *step = &fold->record->order.steps[i];
        if (mg_key_generation(step, MG_KIND_UNDO) != generations[i]) {
            struct mg_step_record *more = &fold->record->steps[i];
            more->has_do_digest = more->has_do_digest && mg_step_is_backward(step);
            more->has_undo_digest = false;
            fold->touched |= UINT64_C(1) << i;
        }
    }
}

/* True if the step is to be done as if for the first time, or is skipped. After an absence it
 * is done again although it stays maybe. */
static bool is_begun_anew(const struct mg_step *step, bool is_absent)
{
    bool is_new = step->state == MG_STEP_PENDING || step->state == MG_STEP_SKIPPED ||
                  (step->state == MG_STEP_RUNNING && step->kind == MG_KIND_DO);
    return (is_new && !step->is_maybe) || (is_absent && step->state == MG_STEP_WAITING && !step->is_accepted);
}

/* Results of earlier dos belong to effects that are undone or did not happen: nothing is made from them any
 * more. A step that failed keeps its own, for an operator who settles it. */
static void results_forget(struct mg_fold *fold, const struct mg_decision *decision,
                           const struct mg_cause *cause)
{
    bool is_absence = cause->kind == MG_CAUSE_REPLY && cause->reply.outcome == MG_OUTCOME_ABSENT;
    for (int i = 0; i < decision->transition_count; i++) {
        int step = decision->transitions[i].step;
        struct mg_step_record *record = step >= 0 ? &fold->record->steps[step] : NULL;
        bool has_any = record != NULL && (record->result.data != NULL || record->undo_result.data != NULL ||
                                          record->unreadable.data != NULL);
        if (has_any && is_begun_anew(&fold->record->order.steps[step], is_absence && step == cause->step)) {
            record->result = record->undo_result = record->unreadable = (struct mg_slice){NULL, 0};
            fold->touched |= UINT64_C(1) << step;
        }
    }
}

static void brought_keep(struct mg_fold *fold, int step, const struct mg_brought *brought)
{
    struct mg_order_record *record = fold->record;
    if (brought->step != NULL) {
        record->steps[step] = *brought->step;
        fold->touched |= UINT64_C(1) << step;
    }
    for (int i = 0; i < brought->moves.count; i++) {
        record->steps[brought->moves.steps[i].step].open = brought->moves.steps[i].open;
        fold->touched |= UINT64_C(1) << brought->moves.steps[i].step;
    }
    if (brought->payload.data != NULL) {
        record->payload = brought->payload;
        record->revision += fold->is_payload_changed ? 0 : 1; /* one write inserts one revision */
        fold->is_payload_changed = true;
    }
}

static enum mg_verdict cause_decide(struct mg_batch *batch, struct mg_item *item,
                                    const struct mg_cause *cause, const struct mg_brought *brought,
                                    struct mg_story story)
{
    struct mg_fold *fold = item->fold;
    struct mg_context context;
    uint32_t generations[MG_STEPS_MAX];
    context_make(batch, fold, cause, brought != NULL ? brought->step : NULL, &context);
    for (int i = 0; i < fold->record->order.step_count; i++) {
        generations[i] = mg_key_generation(&fold->record->order.steps[i], MG_KIND_UNDO);
    }
    enum mg_verdict verdict = mg_order_decide(&fold->workflow->workflow->plan, &context, cause,
                                              &fold->record->order, &batch->decision);
    if (verdict == MG_GO) {
        if (brought != NULL) {
            brought_keep(fold, cause->step, brought);
        }
        mg_output_finish(batch, fold, &context, cause);
    }
    verdict_count(batch, item, cause, verdict);
    if (verdict == MG_GO) {
        story.reason = story.reason.data != NULL ? story.reason : fold->output_fault;
        digests_renew(fold, generations);
        results_forget(fold, &batch->decision, cause);
        mg_order_input_note_skips(fold->record, &batch->decision);
        mg_failure_forget(fold, &batch->decision);
        if (fold->workflow->workflow->has_signals) {
            mg_kept_signals_end(fold, &batch->decision);
        }
        event_add(batch, item, cause, story);
    }
    return verdict;
}

/* Without MG_GO the step was turned back before. The reason why a request cannot be built is in its record.
 */
static void follow_decide(struct mg_batch *batch, struct mg_item *item, struct mg_follow *follow,
                          struct mg_followed followed, struct mg_slice by)
{
    struct mg_fold *fold = item->fold;
    struct mg_step_record after = fold->record->steps[followed.step];
    bool is_guard = followed.kind == MG_CAUSE_FACTS;
    struct mg_cause cause = {.kind = followed.kind, .step = followed.step, .attempt = followed.attempt};
    struct mg_story story = {.by = by};
    struct mg_brought brought = {.step = NULL};
    if (is_guard) {
        follow->asked &= ~(UINT64_C(1) << followed.step);
        mg_guard_evaluate(batch, fold, followed.step, &after, &brought.moves, &cause.facts);
        bool is_signal = fold->workflow->workflow->plan.steps[followed.step].is_signal;
        brought.step = cause.facts.fact != MG_FACT_GO || is_signal ? &after : NULL;
    }
    if (!is_guard || cause.facts.fact != MG_FACT_GO || cause.facts.signal == MG_SIGNAL_FACT_REFUSED) {
        story.reason = after.error_text;
    }
    if (cause_decide(batch, item, &cause, &brought, story) == MG_GO) {
        mg_guard_note_needs(batch, fold);
        mg_kept_signals_note_key(fold, followed.step);
        effects_make(batch, item, follow);
    }
}

static void decision_publish(struct mg_batch *batch, struct mg_item *item, struct mg_story story)
{
    struct mg_follow follow;
    follow.count = 0;
    follow.asked = 0;
    mg_render_note_missing(batch, item->fold);
    mg_guard_note_needs(batch, item->fold);
    effects_make(batch, item, &follow);
    for (int i = 0; i < follow.count && !item->fold->has_failed; i++) {
        follow_decide(batch, item, &follow, follow.causes[i], story.by);
    }
}

enum mg_verdict mg_fold_cause(struct mg_batch *batch, struct mg_item *item, const struct mg_cause *cause,
                              const struct mg_brought *brought, struct mg_story story)
{
    enum mg_verdict verdict = cause_decide(batch, item, cause, brought, story);
    item->why = batch->decision.why;
    if (verdict == MG_GO) {
        decision_publish(batch, item, story);
    }
    return verdict;
}

uint64_t mg_fold_changed_steps(const struct mg_fold *fold)
{
    uint64_t changed = fold->touched;
    for (int i = 0; i < fold->record->order.step_count; i++) {
        if (memcmp(&fold->record->order.steps[i], &fold->before->steps[i], sizeof(struct mg_step)) != 0) {
            changed |= UINT64_C(1) << i;
        }
    }
    return changed;
}

/* ---- again ---- */

/* A second copy of a request makes the step maybe before it goes out: the first copy may report no effect
 * after the second one has acted. This is an event of its own. Its identity is derived from the cause's
 * and differs from it. */
static void step_republished(struct mg_batch *batch, struct mg_item *item, int step)
{
    struct mg_slice own = item->cause;
    int first_event = item->first_event;
    const struct mg_cause cause = {
        .kind = MG_CAUSE_REPUBLISHED, .step = step, .attempt = item->fold->record->order.steps[step].attempt};
    item->cause = mg_slice_of(mg_arena_printf(batch->arena, "%.*s/again", (int)own.len, own.data));
    item->first_event = -1;
    if (item->cause.data == NULL) {
        item->fold->has_failed = true;
    } else {
        struct mg_story story = {.by = mg_slice_of(batch->shared->options->instance)};
        (void)mg_fold_cause(batch, item, &cause, NULL, story); /* duplicate: it was maybe before */
    }
    item->cause = own;
    item->first_event = first_event;
}

/* Law 3, re-creation: publishes again those requests of this cause that are still awaited, and its
 * statuses. */
static void effects_again(struct mg_batch *batch, struct mg_item *item, const struct mg_event_record *event)
{
    struct mg_fold *fold = item->fold;
    const struct mg_order_record *record = fold->record;
    for (int i = 0; i < record->order.step_count; i++) {
        const struct mg_step *step = &record->order.steps[i];
        bool is_once = fold->workflow->workflow->plan.steps[i].is_at_most_once && step->kind == MG_KIND_DO;
        if (!mg_step_is_running(step) || is_once ||
            !mg_chain_is_sent_by(record->steps[i].cause, item->cause)) {
            continue;
        }
        step_republished(batch, item, i);
        enum mg_render made = mg_render_request(batch, item, i, true);
        fold->has_failed = fold->has_failed || made == MG_RENDER_NO_MEMORY;
        if (made != MG_RENDER_OK && made != MG_RENDER_NO_MEMORY) {
            mg_log(MG_LOG_WARN, "could not write a request again; its deadline will end the attempt",
                   MG_LOG_TEXT("order_id", record->order_id), MG_LOG_TEXT("step", record->step_names[i]));
        }
    }
    for (int i = 0; fold->workflow->workflow->has_signals && i < record->order.step_count; i++) {
        mg_kept_signals_note_key(fold, i);
    }
    struct mg_status_text status;
    for (int i = 0; mg_status_kept(event, i, &status); i++) {
        status_send(batch, item, &status);
    }
    mg_metric_add(batch->shared->series.again, 1);
}

bool mg_fold_is_known(struct mg_batch *batch, struct mg_item *item)
{
    const struct mg_event_record *event = item->event;
    if (!item->wants_event) {
        return false;
    }
    for (int i = 0; event == NULL && i < item->fold->event_count; i++) { /* by a copy in this batch */
        if (mg_slice_equal(item->fold->events[i].cause, item->cause)) {
            event = &item->fold->events[i];
        }
    }
    if (event != NULL && item->work->is_again) {
        effects_again(batch, item, event);
    }
    return event != NULL;
}
