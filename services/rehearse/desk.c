/*
 * See desk.h. A batch of one cause passes the scheduler's stages `read` and `decide`. Between them the
 * order in memory stands for the load, and after them it stands for the write. The gates are open: NULL gates
 * are those of services whose queues are not watched.
 */
#include "desk.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/id.h"
#include "base/json_write.h"
#include "core/order.h"
#include "json/scan.h"
#include "scheduler/batch.h"
#include "scheduler/fold.h"
#include "scheduler/order_input.h"

/* Of one cause, with the largest order and all its results. */
#define BATCH_MEMORY_MAX  ((size_t)128 * 1024 * 1024)
#define COMMAND_MAX_BYTES 4096
#define QUIESCE_MS        3000 /* as --quiesce and --park of the scheduler, if not given */
#define PARK_MS           1000
/* The order's client, and its queue. Statuses and answers go to no queue; the names only make them wanted. */
#define CLIENT   "own"
#define REPLY_TO "client." CLIENT ".statuses"

/* Batches stay until the end: texts of the order live in them. */
struct kept {
    struct kept *next;
    struct mg_batch *batch;
};

struct mg_desk {
    struct mg_scheduler_options options;
    struct mg_shared shared;
    struct mg_outbox outbox;
    struct mg_workflow_entry entry;
    struct mg_desk_events events;
    struct mg_order_record *record; /* NULL: no order yet */
    struct kept *kept;
    struct mg_desk_signal *signal; /* that is decided now; NULL: none */
    bool has_failed;
};

/* The ends of works, which have no broker to go to. */
static void on_settled(void *arg, struct mg_work *work)
{
    mg_work_free(arg, work);
}

struct mg_desk *mg_desk_create(const struct mg_workflow *workflow, const struct mg_desk_events *events)
{
    struct mg_desk *desk = calloc(1, sizeof(*desk));
    struct mg_metrics *metrics = mg_metrics_create();
    if (desk == NULL || metrics == NULL) {
        free(desk);
        mg_metrics_destroy(metrics);
        return NULL;
    }
    struct mg_shared *shared = &desk->shared;
    desk->events = *events;
    desk->options = (struct mg_scheduler_options){.instance = "rehearsal",
                                                  .quiesce_ms = QUIESCE_MS,
                                                  .park_ms = PARK_MS,
                                                  .memory_bytes = BATCH_MEMORY_MAX,
                                                  .limits = MG_JSON_LIMITS_SUBMISSION};
    shared->options = &desk->options;
    shared->metrics = metrics;
    shared->message_limits = MG_REQUEST_LIMITS;
    shared->works.on_settled = on_settled;
    shared->works.arg = &shared->works;
    TAILQ_INIT(&desk->outbox.unsent);
    TAILQ_INIT(&desk->outbox.sent);
    mg_buf_init(&desk->outbox.scratch, MG_REQUEST_MAX);
    mg_scheduler_metrics_init(&shared->series, metrics);
    desk->entry.workflow = (struct mg_workflow *)(uintptr_t)workflow; /* only read */
    return desk;
}

void mg_desk_destroy(struct mg_desk *desk)
{
    if (desk == NULL) {
        return;
    }
    while (desk->kept != NULL) {
        struct kept *kept = desk->kept;
        desk->kept = kept->next;
        mg_batch_destroy(kept->batch);
        free(kept);
    }
    mg_send_list_drop(&desk->outbox.unsent);
    mg_buf_finish(&desk->outbox.scratch);
    mg_metrics_destroy(desk->shared.metrics);
    free(desk);
}

/* ---- one cause ---- */

static struct mg_batch *batch_create(struct mg_desk *desk, int64_t now_ms)
{
    struct mg_batch *batch = calloc(1, sizeof(*batch));
    struct kept *kept = calloc(1, sizeof(*kept));
    struct mg_arena *arena = mg_arena_create(BATCH_MEMORY_MAX);
    struct mg_item *items = arena != NULL ? mg_arena_alloc(arena, sizeof(*items)) : NULL;
    struct mg_fold **folds = arena != NULL ? mg_arena_alloc(arena, sizeof(struct mg_fold *)) : NULL;
    if (batch == NULL || kept == NULL || items == NULL || folds == NULL) {
        free(batch);
        free(kept);
        mg_arena_destroy(arena);
        return NULL;
    }
    batch->shared = &desk->shared;
    batch->outbox = &desk->outbox;
    batch->arena = arena;
    batch->items = items;
    batch->folds = folds;
    batch->now_ms = now_ms;
    mg_buf_init(&batch->scratch, MG_REQUEST_MAX);
    kept->batch = batch;
    kept->next = desk->kept;
    desk->kept = kept;
    return batch;
}

/* The event of a cause that was decided before; NULL: it is new. */
static struct mg_event_record *event_find(const struct mg_desk *desk, struct mg_slice cause)
{
    for (const struct kept *kept = desk->kept; kept != NULL; kept = kept->next) {
        for (int i = 0; i < kept->batch->fold_count; i++) {
            struct mg_fold *fold = kept->batch->folds[i];
            for (int event = 0; event < fold->event_count; event++) {
                if (mg_slice_equal(fold->events[event].cause, cause)) {
                    return &fold->events[event];
                }
            }
        }
    }
    return NULL;
}

/* The item's order, as a load would have found it. */
static bool fold_bind(struct mg_desk *desk, struct mg_batch *batch, struct mg_item *item)
{
    struct mg_fold *fold = mg_arena_alloc(batch->arena, sizeof(*fold));
    if (fold == NULL) {
        return false;
    }
    fold->order_id = item->order_id;
    fold->item_count = 1;
    TAILQ_INIT(&fold->sends);
    batch->folds[batch->fold_count++] = fold;
    item->fold = fold;
    item->load = -1;
    item->event = item->wants_event ? event_find(desk, item->cause) : NULL;
    if (desk->record == NULL) {
        item->workflow = &desk->entry;
        return true;
    }
    fold->record = desk->record;
    fold->workflow = &desk->entry;
    return mg_fold_bind(batch, fold, desk->record);
}

/* ---- conditions ----
 * The scheduler has evaluated them, and reports verdicts alone. They are evaluated once more over the same
 * record, which gives the same values. */

struct condition_report {
    struct mg_desk *desk;
    int step;
};

static void condition_report(void *arg, int number, bool is_true)
{
    const struct condition_report *report = arg;
    report->desk->events.condition(report->desk->events.arg, report->step, number, is_true);
}

/* Of a step that has just left `pending`. */
static void guard_report(struct mg_desk *desk, const struct mg_desk_change *change)
{
    struct condition_report report = {desk, change->step};
    struct mg_order_input input;
    if (change->from != MG_STEP_PENDING ||
        mg_slice_is(change->reason, mg_reason_name(MG_REASON_NEEDS_SKIPPED))) {
        return;
    }
    mg_order_input_make(desk->entry.workflow, desk->record, change->step, &input);
    mg_workflow_guard_watch(&input.input, change->step, condition_report, &report);
}

/* Of a reply that has been read and is not decided yet. */
static void answer_report(struct mg_desk *desk, const struct mg_item *item)
{
    const struct mg_reply *reply = item->reply;
    if (reply == NULL || desk->record == NULL) {
        return;
    }
    int step = mg_workflow_step_index(desk->entry.workflow, mg_slice_of(reply->step));
    bool is_good = reply->outcome == MG_OUTCOME_DONE || reply->outcome == MG_OUTCOME_ACCEPTED;
    if (step < 0 || !is_good || reply->kind == MG_KIND_UNDO ||
        !mg_workflow_is_judged(&desk->entry.workflow->steps[step].conditions) ||
        !mg_step_awaits(&desk->record->order.steps[step], reply->attempt, reply->kind)) {
        return;
    }
    struct mg_order_input input;
    char why[MG_ERROR_TEXT_MAX + 1];
    const char *fault = mg_reply_result_fault(reply);
    fault = fault[0] != '\0' ? fault : NULL;
    mg_order_input_make(desk->entry.workflow, desk->record, step, &input);
    desk->events.answer(desk->events.arg, step,
                        mg_workflow_answer(&input.input, &desk->entry.workflow->steps[step].conditions,
                                           reply->result, mg_slice_of(fault), why));
}

/* ---- reports of a decision ---- */

static void change_report(struct mg_desk *desk, struct mg_slice transition)
{
    struct mg_slice step = mg_json_find(transition, "/step");
    struct mg_slice from = mg_json_find(transition, "/from"), to = mg_json_find(transition, "/to");
    struct mg_slice reason = mg_json_find(transition, "/reason");
    struct mg_desk_change change;
    if (step.data == NULL || reason.len < 2) {
        return; /* of the order itself */
    }
    change.step =
        mg_workflow_step_index(desk->entry.workflow, (struct mg_slice){step.data + 1, step.len - 2});
    change.reason = (struct mg_slice){reason.data + 1, reason.len - 2};
    if (change.step >= 0 && mg_step_state_parse(from.data + 1, from.len - 2, &change.from) &&
        mg_step_state_parse(to.data + 1, to.len - 2, &change.to)) {
        desk->events.change(desk->events.arg, &change);
        guard_report(desk, &change);
    }
}

static void changes_report(struct mg_desk *desk, const struct mg_fold *fold)
{
    for (int i = 0; i < fold->event_count; i++) {
        struct mg_slice none, transition;
        struct mg_json_walk walk = mg_json_walk_of(fold->events[i].transitions);
        while (mg_json_walk_next(&walk, &none, &transition)) {
            change_report(desk, mg_json_trim(transition));
        }
    }
}

static void result_take(struct mg_desk *desk, struct mg_slice body)
{
    struct mg_command_result result;
    struct mg_err err;
    if (mg_command_result_parse(body, &result, &err) == MG_OK) {
        desk->signal->outcome = result.signal;
        (void)snprintf(desk->signal->text, sizeof(desk->signal->text), "%s", result.text);
    } else {
        desk->has_failed = true; /* the scheduler's own words: there was no memory */
    }
}

static void sends_report(struct mg_desk *desk, struct mg_send_list *sends)
{
    struct mg_send *send;
    TAILQ_FOREACH(send, sends, entry)
    {
        if (send->kind == MG_SEND_REQUEST) {
            desk->events.request(desk->events.arg, send->step, send->request);
        } else if (send->kind == MG_SEND_STATUS || send->is_status) {
            desk->events.status(desk->events.arg, send->body);
        } else if (send->kind == MG_SEND_RESULT && desk->signal != NULL) {
            result_take(desk, send->body);
        }
    }
    mg_send_list_drop(sends);
}

/* Delivers a message and decides it. */
static bool deliver(struct mg_desk *desk, enum mg_lane lane, const struct mg_delivery *message,
                    int64_t now_ms)
{
    struct mg_batch *batch = batch_create(desk, now_ms);
    struct mg_delivery *delivery = batch != NULL ? mg_arena_alloc(batch->arena, sizeof(*delivery)) : NULL;
    struct mg_work *work = delivery != NULL ? mg_work_create(&desk->shared.works, lane) : NULL;
    if (work == NULL) {
        return false;
    }
    *delivery = *message;
    delivery->body = mg_arena_copy(batch->arena, message->body);
    work->delivery = delivery;
    batch->works[batch->work_count++] = work;
    if (delivery->body.data == NULL) {
        mg_work_free(&desk->shared.works, work);
        return false;
    }
    mg_batch_read(batch);
    if (batch->item_count == 0) { /* refused unread: its work is settled, or waits for its messages */
        sends_report(desk, &desk->outbox.unsent);
        if (!LIST_EMPTY(&desk->shared.works.all)) {
            mg_work_free(&desk->shared.works, work);
        }
        return true;
    }
    struct mg_item *item = &batch->items[0];
    if (!fold_bind(desk, batch, item)) {
        return false;
    }
    answer_report(desk, item);
    mg_batch_decide(batch);
    struct mg_fold *fold = item->fold;
    desk->record = fold->record;
    desk->has_failed = desk->has_failed || fold->has_failed;
    changes_report(desk, fold);
    sends_report(desk, &fold->sends);
    mg_work_free(&desk->shared.works, work);
    return !desk->has_failed;
}

static bool command_deliver(struct mg_desk *desk, enum mg_cause_kind kind, int step, int64_t now_ms)
{
    const struct mg_order_record *record = desk->record;
    struct mg_command command = {.kind = kind, .by = "rehearsal"};
    char memory[COMMAND_MAX_BYTES];
    struct mg_buf body;
    memcpy(command.order_id, record->order_id, sizeof(command.order_id));
    mg_uuid_random(command.command_id);
    if (step >= 0) {
        command.attempt = record->order.steps[step].attempt;
        snprintf(command.step, sizeof(command.step), "%s", record->step_names[step]);
    }
    command.version = kind == MG_CAUSE_NUDGE ? record->order.version : 0;
    mg_buf_init_fixed(&body, memory, sizeof(memory));
    mg_command_write(&command, &body);
    const struct mg_delivery delivery = {.exchange = mg_slice_of(MG_EXCHANGE_SUPERVISOR),
                                         .type = mg_slice_of("command"),
                                         .body = mg_buf_slice(&body)};
    return deliver(desk, MG_LANE_COMMANDS, &delivery, now_ms);
}

bool mg_desk_submit(struct mg_desk *desk, struct mg_slice body, int64_t now_ms)
{
    const struct mg_delivery delivery = {.exchange = mg_slice_of(MG_INTAKE_PREFIX CLIENT),
                                         .reply_to = mg_slice_of(REPLY_TO),
                                         .correlation_id = mg_slice_of(""),
                                         .message_id = mg_slice_of("1"),
                                         .type = mg_slice_of("submission"),
                                         .body = body};
    bool is_done = deliver(desk, MG_LANE_NORMAL, &delivery, now_ms);
    bool is_in_line = is_done && desk->record != NULL && mg_order_is_in_line(&desk->record->order);
    return is_in_line ? command_deliver(desk, MG_CAUSE_TURN, -1, now_ms)
                      : is_done; /* no other is in its line */
}

bool mg_desk_reply(struct mg_desk *desk, struct mg_slice body, int64_t now_ms)
{
    const struct mg_delivery delivery = {
        .exchange = mg_slice_of(MG_EXCHANGE_REPLIES), .type = mg_slice_of("reply"), .body = body};
    return deliver(desk, MG_LANE_REPLIES, &delivery, now_ms);
}

/* ---- signals ---- */

/* The meaning of a signal for a step of its name that has not ended. */
static enum mg_answer_meaning meaning_of(const struct mg_desk *desk, int step,
                                         const struct mg_desk_signal *signal)
{
    struct mg_order_input input;
    char why[MG_ERROR_TEXT_MAX + 1];
    mg_order_input_make(desk->entry.workflow, desk->record, step, &input);
    return mg_workflow_signal_judge(&input.input, step, signal->payload, why);
}

/* Reports a signal that has counted, or that its conditions leave undecided; one that ends its step shows in
 * the step's change. It went to a step that waits, best to one to which it means something, else to one that
 * has not begun. */
static void meaning_report(struct mg_desk *desk, const struct mg_desk_signal *signal)
{
    const struct mg_workflow *workflow = desk->entry.workflow;
    enum mg_answer_meaning meaning = MG_ANSWER_OPEN;
    int best = 0, place = -1;
    for (int i = 0; i < workflow->plan.step_count; i++) {
        const struct mg_step *step = &desk->record->order.steps[i];
        bool is_open = mg_step_is_open(step);
        if (workflow->steps[i].signal == NULL || strcmp(workflow->steps[i].signal->name, signal->name) != 0 ||
            (!is_open && step->state != MG_STEP_PENDING)) {
            continue;
        }
        enum mg_answer_meaning found = meaning_of(desk, i, signal);
        bool is_meant = found == MG_ANSWER_DONE || found == MG_ANSWER_REFUSED;
        int rank = !is_open ? 1 : is_meant ? 3 : 2;
        if (rank > best) {
            best = rank;
            place = i;
            meaning = found;
        }
    }
    if (place >= 0 && mg_workflow_is_judged(&workflow->steps[place].conditions)) {
        desk->events.answer(desk->events.arg, place, meaning);
    }
}

bool mg_desk_signal(struct mg_desk *desk, struct mg_desk_signal *signal, int64_t now_ms)
{
    struct mg_command command = {.kind = MG_CAUSE_SIGNAL, .payload = signal->payload};
    bool is_own = strcmp(signal->by, "client") == 0;
    bool is_clients = is_own || strncmp(signal->by, "client:", strlen("client:")) == 0;
    const char *client = is_own ? CLIENT : signal->by + strlen("client:");
    char exchange[MG_QUEUE_NAME_SIZE], reply_to[MG_QUEUE_NAME_SIZE];
    struct mg_buf body;
    (void)snprintf(exchange, sizeof(exchange), "%s%s", is_clients ? MG_SIGNALS_PREFIX : MG_EXCHANGE_COMMANDS,
                   is_clients ? client : "");
    (void)snprintf(reply_to, sizeof(reply_to), "client.%s.statuses", is_clients ? client : CLIENT);
    (void)snprintf(command.order_id, sizeof(command.order_id), "%s", MG_DESK_ORDER_ID);
    (void)snprintf(command.command_id, sizeof(command.command_id), "%s", signal->id);
    (void)snprintf(command.signal, sizeof(command.signal), "%s", signal->name);
    (void)snprintf(command.by, sizeof(command.by), "%s", is_clients ? "" : signal->by);
    mg_buf_init(&body, MG_SIGNAL_PAYLOAD_MAX + COMMAND_MAX_BYTES);
    mg_command_write(&command, &body);
    const struct mg_delivery delivery = {.exchange = mg_slice_of(exchange),
                                         .reply_to = mg_slice_of(reply_to),
                                         .type = mg_slice_of("command"),
                                         .body = mg_buf_slice(&body)};
    signal->outcome = MG_SIGNAL_NONE;
    desk->signal = signal;
    bool is_done =
        !body.failed && deliver(desk, is_clients ? MG_LANE_SIGNALS : MG_LANE_COMMANDS, &delivery, now_ms);
    desk->signal = NULL;
    mg_buf_finish(&body);
    if (is_done && signal->outcome == MG_SIGNAL_COUNTED) {
        meaning_report(desk, signal);
    }
    return is_done;
}

/* ---- due moments ---- */

const struct mg_order *mg_desk_order(const struct mg_desk *desk)
{
    return desk->record != NULL ? &desk->record->order : NULL;
}

struct mg_slice mg_desk_cause(const struct mg_desk *desk)
{
    return desk->record != NULL ? desk->record->failure : (struct mg_slice){NULL, 0};
}

int64_t mg_desk_due_ms(const struct mg_desk *desk)
{
    return desk->record != NULL ? mg_order_wake_at_ms(&desk->record->order) : 0;
}

/* Parked steps are asked for like others: no service is down for good. */
bool mg_desk_ask(struct mg_desk *desk, int64_t now_ms)
{
    bool is_done = true;
    const struct mg_order *order = &desk->record->order;
    for (int i = 0; i < order->step_count && is_done; i++) {
        const struct mg_step *step = &order->steps[i];
        if (mg_step_is_running(step) && step->complete_by_ms <= now_ms) {
            is_done = command_deliver(desk, MG_CAUSE_OVERDUE, i, now_ms);
        } else if (!mg_step_is_running(step) && step->due_at_ms != 0 && step->due_at_ms <= now_ms &&
                   !mg_order_state_is_terminal(order->state)) {
            is_done = command_deliver(desk, MG_CAUSE_DUE, i, now_ms);
        }
        order = &desk->record->order;
    }
    bool is_expired = order->goal == MG_GOAL_PROCESSED && order->complete_by_ms != 0 &&
                      order->complete_by_ms <= now_ms && !mg_order_state_is_terminal(order->state);
    return is_done && is_expired ? command_deliver(desk, MG_CAUSE_EXPIRED, -1, now_ms) : is_done;
}

void mg_desk_labels(const struct mg_desk *desk, struct mg_buf *ret_labels)
{
    struct mg_json_writer json = mg_json_compact(ret_labels);
    const struct mg_order_record *record = desk->record;
    mg_json_object_begin(&json);
    for (int i = 0; record != NULL && i < record->label_count; i++) {
        mg_json_member_text(&json, record->labels[i].name, record->labels[i].value);
    }
    mg_json_object_end(&json);
}
