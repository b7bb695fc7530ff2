/* A store in memory with the version guard of the real one. Calls wait in line until the test answers
 * them. */
#include <fnmatch.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "core/key.h"
#include "fake_store.h"
#include "io/store/signal_rows.h"
#include "status_make.h"

#define ORDERS_MAX 64
#define EVENTS_MAX 64
#define CALLS_MAX  32

struct fake_store fake_store;

static struct order {
    struct mg_order_record record;
    struct mg_event_record events[EVENTS_MAX];
    int event_count;
} orders[ORDERS_MAX];
static int order_count;
static struct mg_arena *memory; /* of all that is kept */

enum call_kind {
    CALL_LOAD,
    CALL_COMMIT,
    CALL_WORKFLOW,
    CALL_DONE,
    CALL_ALERTS,
    CALL_OWED,
    CALL_MARK,
    CALL_PARKED,
    CALL_LENGTHS,
    CALL_READ_ASIDE,
    CALL_SET_ASIDE,
    CALL_SLOT,
    CALL_SLOTS,
    CALL_MATCH,
    CALL_MATCHES,
    CALL_LOST
};
#define MATCHES_MAX 4
static struct call {
    enum call_kind kind;
    struct mg_arena *arena;
    const struct mg_load *loads;
    struct mg_order_write *writes;
    int count;
    char name[64];
    union {
        mg_store_load_fn *load;
        mg_store_done_fn *done;
        mg_store_workflow_fn *workflow;
        mg_store_alerts_fn *alerts;
        mg_store_events_fn *events;
        mg_store_marked_fn *marked;
        mg_store_parked_count_fn *parked;
        mg_store_aside_fn *aside;
        mg_store_changed_fn *changed;
        mg_store_lengths_fn *lengths;
        mg_store_slot_fn *slot;
        mg_store_slots_fn *slots;
        mg_store_match_fn *match;
        mg_store_matches_fn *matches;
        mg_store_lost_fn *lost;
    } fn;
    void *arg;
} calls[CALLS_MAX];
static int call_count;

void fake_store_reset(void)
{
    mg_arena_destroy(memory);
    memory = mg_arena_create(64u * 1024 * 1024);
    fake_store = (struct fake_store){0};
    memset(orders, 0, sizeof(orders));
    order_count = call_count = 0;
}

static struct call *call_add(enum call_kind kind, void *arg)
{
    struct call *call = &calls[call_count++];
    memset(call, 0, sizeof(*call));
    call->kind = kind;
    call->arg = arg;
    return call;
}

static struct order *order_find(const char *order_id)
{
    for (int i = 0; i < order_count; i++) {
        if (strcmp(orders[i].record.order_id, order_id) == 0) {
            return &orders[i];
        }
    }
    return NULL;
}

const struct mg_order_record *fake_store_order(const char *order_id)
{
    struct order *order = order_find(order_id);
    return order != NULL ? &order->record : NULL;
}

struct mg_order_record *fake_store_record(const char *order_id)
{
    struct order *order = order_find(order_id);
    return order != NULL ? &order->record : NULL;
}

int fake_store_event_count(const char *order_id)
{
    struct order *order = order_find(order_id);
    return order != NULL ? order->event_count : 0;
}

const struct mg_event_record *fake_store_event(const char *order_id, int n)
{
    return n < fake_store_event_count(order_id) ? &order_find(order_id)->events[n] : NULL;
}

void fake_store_owe(const char *order_id)
{
    order_find(order_id)->events[0].is_owed = true;
}

void fake_store_bump(const char *order_id)
{
    order_find(order_id)->record.order.version++;
}

static struct mg_order_record record_copy(struct mg_arena *arena, const struct mg_order_record *from)
{
    struct mg_order_record copy;
    size_t steps_size = (size_t)from->order.step_count * sizeof(from->steps[0]);
    memset(&copy, 0, sizeof(copy));
    memcpy(&copy, from,
           offsetof(struct mg_order_record, steps) + steps_size); /* a record out of the cache ends there */
    copy.payload = mg_arena_copy(arena, from->payload);
    copy.reply_to = mg_arena_copy(arena, from->reply_to);
    copy.correlation_id = mg_arena_copy(arena, from->correlation_id);
    copy.traceparent = mg_arena_copy(arena, from->traceparent);
    copy.client = mg_arena_copy(arena, from->client);
    struct mg_label *labels = mg_arena_alloc(arena, sizeof(*labels) * MG_LABELS_MAX);
    for (int i = 0; i < from->label_count; i++) {
        labels[i] = (struct mg_label){mg_arena_text(arena, mg_slice_of(from->labels[i].name)),
                                      mg_arena_copy(arena, from->labels[i].value)};
    }
    copy.labels = labels;
    copy.failure = mg_arena_copy(arena, from->failure);
    for (int i = 0; i < from->order.step_count; i++) {
        copy.steps[i].cause = mg_arena_copy(arena, from->steps[i].cause);
        copy.steps[i].result = mg_arena_copy(arena, from->steps[i].result);
        copy.steps[i].undo_result = mg_arena_copy(arena, from->steps[i].undo_result);
        copy.steps[i].unreadable = mg_arena_copy(arena, from->steps[i].unreadable);
        copy.steps[i].open = mg_arena_copy(arena, from->steps[i].open);
        copy.steps[i].error_code = mg_arena_copy(arena, from->steps[i].error_code);
        copy.steps[i].error_text = mg_arena_copy(arena, from->steps[i].error_text);
        copy.steps[i].error_message = mg_arena_copy(arena, from->steps[i].error_message);
        copy.steps[i].error_body = mg_arena_copy(arena, from->steps[i].error_body);
    }
    return copy;
}

static struct mg_event_record event_copy(struct mg_arena *arena, const struct mg_event_record *from)
{
    struct mg_event_record copy = *from;
    copy.cause = mg_arena_copy(arena, from->cause);
    copy.by = mg_arena_copy(arena, from->by);
    copy.step = mg_arena_copy(arena, from->step);
    copy.reason = mg_arena_copy(arena, from->reason);
    copy.transitions = mg_arena_copy(arena, from->transitions);
    copy.statuses = mg_arena_copy(arena, from->statuses);
    return copy;
}

/* Only rows that exist are filled by a load; the others are zero. */
static void write_apply(struct mg_order_write *write)
{
    if (fake_store.keeps_nothing) {
        write->result = MG_WRITE_DONE;
        return;
    }
    struct order *order = order_find(write->record->order_id);
    uint64_t version = order != NULL ? order->record.order.version : 0;
    if (fake_store.poisoned != NULL &&
        mg_slice_equal(write->record->payload, mg_slice_of(fake_store.poisoned))) {
        write->result = MG_WRITE_REFUSED;
        write->refusal = MG_REFUSAL_LASTING;
        return;
    }
    const char *refused[] = {fake_store.refused, fake_store.refused_too};
    bool is_refused = false;
    for (int i = 0; i < 2; i++) {
        is_refused =
            is_refused || (refused[i] != NULL && fnmatch(refused[i], write->record->order_id, 0) == 0);
    }
    if (is_refused) {
        write->result = MG_WRITE_REFUSED;
        write->refusal = fake_store.refusal;
        const char *sqlstate = fake_store.sqlstate != NULL ? fake_store.sqlstate : "XX001";
        snprintf(write->sqlstate, sizeof(write->sqlstate), "%s", sqlstate);
        snprintf(write->text, sizeof(write->text), "as the test wants (%s) of %s", sqlstate,
                 write->record->order_id); /* a trigger may name the row */
        return;
    }
    if (version != write->expected_version) {
        write->result = MG_WRITE_CONFLICT;
        return;
    }
    if (write->record->stored_steps != (order != NULL ? order->record.stored_steps : 0)) {
        abort(); /* PostgreSQL would find no row, or one too many */
    }
    if (order == NULL) {
        order = &orders[order_count++];
        order->record = record_copy(memory, write->record);
        memset(order->record.order.steps, 0, sizeof(order->record.order.steps));
    }
    struct mg_order_record before = order->record;
    order->record = record_copy(memory, write->record);
    for (int i = 0; i < MG_STEPS_MAX; i++) { /* a member that was not named as changed is not written */
        if ((write->changed_steps >> i & 1) == 0) {
            order->record.order.steps[i] = before.order.steps[i];
            order->record.steps[i] = before.steps[i];
        }
    }
    order->record.stored_steps |= write->changed_steps;
    for (int i = 0; i < write->event_count; i++) {
        order->events[order->event_count++] = event_copy(memory, &write->events[i]);
    }
    write->result = MG_WRITE_DONE;
}

/* The status about the order's state with the highest number, of the newest event that keeps it. */
static struct mg_status_text last_sent(const struct order *order)
{
    const enum mg_status wanted = mg_order_state_status(order->record.order.state);
    struct mg_status_text status, sent = {.seq = 0};
    for (int i = 0; i < order->event_count; i++) {
        for (int k = 0; mg_status_kept(&order->events[i], k, &status); k++) {
            sent = status.status == wanted && status.seq >= sent.seq ? status : sent;
        }
    }
    return sent;
}

static void load_answer(struct call *call)
{
    struct mg_load_answer answer = {.now_ms = mg_clock_wall_ms() + fake_store.ahead_ms,
                                    .services = &fake_store.service,
                                    .service_count = fake_store.service.service[0] != '\0'};
    answer.orders = mg_arena_alloc(call->arena, (size_t)call->count * sizeof(*answer.orders));
    fake_store.loads++;
    if (fake_store.load_max != 0 && call->count > fake_store.load_max) {
        const struct mg_err err = {MG_TRANSIENT, "the batch's memory is full"};
        call->fn.load(call->arg, NULL, &err);
        return;
    }
    if (fake_store.lost_loads > 0) {
        const struct mg_err err = {MG_TRANSIENT, "the connection was lost"};
        fake_store.lost_loads--;
        call->fn.load(call->arg, NULL, &err);
        return;
    }
    if (fake_store.is_refusing) {
        const struct mg_err err = {MG_TRANSIENT, "all is refused (54000)"};
        call->fn.load(call->arg, NULL, &err);
        return;
    }
    for (int i = 0; i < call->count; i++) {
        struct order *order = order_find(call->loads[i].order_id);
        if (fake_store.damaged != NULL && fnmatch(fake_store.damaged, call->loads[i].order_id, 0) == 0) {
            answer.orders[i] =
                (struct mg_loaded){.refused = "missing chunk (XX001)", .refusal = fake_store.refusal};
            continue;
        }
        if (order == NULL) {
            continue;
        }
        if (fake_store.unreadable != NULL && strcmp(order->record.order_id, fake_store.unreadable) == 0) {
            answer.orders[i].is_unreadable = true;
            continue;
        }
        for (int j = 0; j < i && answer.orders[i].record == NULL; j++) { /* the same order, the same record */
            if (strcmp(call->loads[j].order_id, call->loads[i].order_id) == 0) {
                answer.orders[i].record = answer.orders[j].record;
            }
        }
        if (answer.orders[i].record == NULL) {
            answer.orders[i].record = mg_arena_alloc(call->arena, sizeof(struct mg_order_record));
            *answer.orders[i].record = record_copy(call->arena, &order->record);
            answer.orders[i].record->label_count = 0; /* a load does not read them */
        }
        if (call->loads[i].wants_sent_status) {
            struct mg_status_text sent = last_sent(order);
            answer.orders[i].sent_status = mg_arena_copy(call->arena, sent.body);
            answer.orders[i].sent_version = sent.version;
            for (int j = 0; j < order->event_count; j++) {
                answer.orders[i].is_owed = answer.orders[i].is_owed || order->events[j].is_owed;
            }
        }
        for (int j = 0; j < order->event_count && call->loads[i].cause.data != NULL; j++) {
            if (mg_slice_equal(order->events[j].cause, call->loads[i].cause)) {
                answer.orders[i].event = mg_arena_alloc(call->arena, sizeof(struct mg_event_record));
                *answer.orders[i].event = event_copy(call->arena, &order->events[j]);
            }
        }
    }
    call->fn.load(call->arg, &answer, NULL);
}

static void slot_note(const struct mg_slot_write *slot)
{
    fake_store.last_slot = *slot;
    snprintf(fake_store.last_slot_text, sizeof(fake_store.last_slot_text), "%s", slot->text);
    fake_store.last_slot.schedule = fake_store.last_slot.by = NULL; /* they end with the work */
    fake_store.last_slot.order_id = fake_store.last_slot.text = NULL;
}

/* Each signal is found once. */
static void match_answer(struct call *call)
{
    const char *order_id = fake_store.match_order;
    fake_store.match_order = NULL;
    call->fn.match(call->arg, order_id, order_id != NULL ? &fake_store.match : NULL, NULL);
}

static void lost_answer(struct call *call)
{
    struct mg_lost_signal lost = {.signal = "approved", .signal_id = "s-1/psp"}, next = {.signal = ""};
    snprintf(lost.key, sizeof(lost.key), "%s", fake_store.lost_key != NULL ? fake_store.lost_key : "");
    int count = fake_store.lost_key != NULL ? 1 : 0;
    fake_store.lost_key = NULL;
    call->fn.lost(call->arg, &lost, count, &next, NULL);
}

/* True if the slot's schedule has made an order since the slot was judged. */
static bool is_overlapped(const struct mg_order_write *write)
{
    struct mg_slot_row *row = &fake_store.slot_row;
    if (write->slot == NULL || (write->slot->is_exclusive && write->slot->fired != row->fired)) {
        return write->slot != NULL;
    }
    row->fired++;
    if (fake_store.is_overlap_seen) {
        row->open = mg_arena_copy(memory, mg_slice_of(write->record->order_id));
    }
    return false;
}

static void commit_answer(struct call *call)
{
    enum fake_commit commit = fake_store.conflicts > 0 ? FAKE_COMMIT_CONFLICT : fake_store.next_commit;
    struct mg_err err = {MG_TRANSIENT, "the connection was lost"};
    fake_store.next_commit = FAKE_COMMIT_PLAIN;
    fake_store.conflicts -= fake_store.conflicts > 0 ? 1 : 0;
    fake_store.commits++;
    for (int i = 0; fake_store.is_refusing && i < call->count; i++) {
        call->writes[i].result = MG_WRITE_UNTRIED;
        commit = FAKE_COMMIT_UNKNOWN_LOST;
        snprintf(err.text, sizeof(err.text), "all is refused (54000)");
    }
    for (int i = 0; i < call->count; i++) {
        if (commit == FAKE_COMMIT_CONFLICT && order_find(call->writes[i].record->order_id) != NULL) {
            fake_store_bump(call->writes[i].record->order_id);
        }
        if (commit != FAKE_COMMIT_UNKNOWN_LOST && is_overlapped(&call->writes[i])) {
            call->writes[i].result = MG_WRITE_CONFLICT;
            continue;
        }
        if (commit != FAKE_COMMIT_UNKNOWN_LOST) {
            write_apply(&call->writes[i]);
        }
        fake_store.last_move = call->writes[i].line;
        call->writes[i].turn.order_id[0] = '\0';
        if (fake_store.turn !=
            NULL) { /* a text for each write would count as an order's cost in bench.instructions */
            snprintf(call->writes[i].turn.order_id, sizeof(call->writes[i].turn.order_id), "%s",
                     fake_store.turn);
        }
        call->writes[i].turn.generation = 0;
        fake_store.turn = NULL;
        if (call->writes[i].slot != NULL) {
            slot_note(call->writes[i].slot);
        }
    }
    bool is_known = commit == FAKE_COMMIT_PLAIN || commit == FAKE_COMMIT_CONFLICT;
    call->fn.done(call->arg, is_known ? NULL : &err);
}

static void owed_answer(struct call *call)
{
    struct order *order = order_find(call->name);
    fake_store.owed_loads++;
    if (fake_store.is_owed_lost) {
        const struct mg_err err = {MG_TRANSIENT, "the connection was lost"};
        call->fn.events(call->arg, NULL, NULL, 0, &err);
        return;
    }
    struct mg_event_record owed[EVENTS_MAX];
    int count = 0;
    for (int i = 0; order != NULL && i < order->event_count; i++) {
        if (order->events[i].is_owed) {
            owed[count++] = order->events[i];
        }
    }
    call->fn.events(call->arg, order != NULL ? &order->record : NULL, owed, count, NULL);
}

static void aside_answer(struct call *call)
{
    bool is_there = fake_store.aside != NULL && strcmp(fake_store.aside, call->name) == 0;
    if (call->kind == CALL_READ_ASIDE) {
        call->fn.aside(call->arg, is_there ? "ann" : NULL, is_there ? "a reason" : NULL, NULL);
        return;
    }
    static char kept[64];
    snprintf(kept, sizeof(kept), "%s", call->name);
    fake_store.aside = kept;
    call->fn.changed(call->arg, !is_there, NULL);
}

static void lengths_answer(struct call *call)
{
    int64_t lengths[64] = {0};
    for (int i = 0; i < call->count && i < 64; i++) {
        lengths[i] = fake_store.line_length;
    }
    fake_store.line_looks++;
    call->fn.lengths(call->arg, lengths, NULL);
}

static void mark_answer(struct call *call)
{
    struct mg_err refusal;
    if (call->count < 0) {
        (void)mg_err_set(&refusal, MG_TRANSIENT, "could not mark owed statuses: a damaged row (XX001)");
    }
    call->fn.marked(call->arg, &fake_store.given_up, call->count < 0 ? 0 : call->count,
                    call->count < 0 ? &refusal : NULL);
}

bool fake_store_answer(void)
{
    int at = 0;
    while (at < call_count && fake_store.is_held && calls[at].kind == CALL_COMMIT) {
        at++;
    }
    if (at == call_count) {
        return false;
    }
    struct call call = calls[at];
    memmove(&calls[at], &calls[at + 1], (size_t)(call_count - at - 1) * sizeof(call));
    call_count--;
    bool is_known = strcmp(call.name, fake_store.workflow) == 0 && call.count <= 1; /* newest, or version 1 */
    const bool changed[] = {call.count > 0};
    static const bool ALL[MATCHES_MAX] = {true, true, true, true}, NONE[MATCHES_MAX];
    struct mg_err refusal;
    switch (call.kind) {
    case CALL_LOAD:
        load_answer(&call);
        break;
    case CALL_READ_ASIDE:
    case CALL_SET_ASIDE:
        aside_answer(&call);
        break;
    case CALL_COMMIT:
        commit_answer(&call);
        break;
    case CALL_WORKFLOW:
        call.fn.workflow(call.arg, is_known, is_known ? 1 : 0,
                         mg_slice_of(is_known ? fake_store.definition : NULL), NULL);
        break;
    case CALL_DONE:
        call.fn.done(call.arg, NULL);
        break;
    case CALL_ALERTS:
        call.fn.alerts(call.arg, changed, 1, NULL);
        break;
    case CALL_OWED:
        owed_answer(&call);
        break;
    case CALL_SLOT:
        (void)mg_err_set(&refusal, MG_TRANSIENT, "the connection was lost");
        call.fn.slot(call.arg, fake_store.is_slot_lost ? NULL : &fake_store.slot_row,
                     fake_store.is_slot_lost ? &refusal : NULL);
        break;
    case CALL_SLOTS:
        call.fn.slots(call.arg, fake_store.next_slots, fake_store.next_slot_count, NULL);
        break;
    case CALL_MATCH:
        match_answer(&call);
        break;
    case CALL_LOST:
        lost_answer(&call);
        break;
    case CALL_MATCHES:
        call.fn.matches(call.arg, fake_store.is_matched ? ALL : NONE, NULL);
        break;
    case CALL_PARKED:
        fake_store.parked_counts++;
        call.fn.parked(call.arg, fake_store.parked, fake_store.is_avoided, NULL);
        break;
    case CALL_LENGTHS:
        lengths_answer(&call);
        break;
    case CALL_MARK:
        mark_answer(&call);
        break;
    }
    return true;
}

/* ---- the interface ---- */

enum mg_class mg_store_create(struct mg_loop *loop, const struct mg_store_options *options,
                              struct mg_store **ret_store, struct mg_err *err)
{
    (void)loop;
    (void)err;
    fake_store.options = *options;
    *ret_store = (struct mg_store *)&fake_store;
    return MG_OK;
}

void mg_store_destroy(struct mg_store *store)
{
    (void)store;
    call_count = 0;
}

int64_t mg_store_clock_ms(const struct mg_store *store, int64_t *ret_asked_boot_ms)
{
    (void)store;
    *ret_asked_boot_ms = mg_clock_boot_ms();
    return mg_clock_wall_ms() + fake_store.ahead_ms;
}

const char *mg_store_standby(const struct mg_store *store)
{
    (void)store;
    return "";
}

bool mg_store_is_up(const struct mg_store *store, char *ret_reason, size_t size)
{
    (void)store;
    (void)ret_reason;
    (void)size;
    return true;
}

bool mg_store_is_ready(const struct mg_store *store, char *ret_reason, size_t size)
{
    return mg_store_is_up(store, ret_reason, size);
}

void mg_store_load(struct mg_store *store, struct mg_arena *arena, const struct mg_load *loads, int count,
                   mg_store_load_fn *done, void *arg)
{
    (void)store;
    struct call *call = call_add(CALL_LOAD, arg);
    call->arena = arena;
    call->loads = loads;
    call->count = count;
    call->fn.load = done;
}

void mg_store_commit(struct mg_store *store, struct mg_order_write *writes, int count, mg_store_done_fn *done,
                     void *arg)
{
    (void)store;
    struct call *call = call_add(CALL_COMMIT, arg);
    call->writes = writes;
    call->count = count;
    call->fn.done = done;
}

void mg_store_read_aside(struct mg_store *store, const char *order_id, mg_store_aside_fn *done, void *arg)
{
    (void)store;
    struct call *call = call_add(CALL_READ_ASIDE, arg);
    strncpy(call->name, order_id, sizeof(call->name) - 1);
    call->fn.aside = done;
}

/* The answer comes at once, as nothing else waits for it. */
void mg_store_list_aside(struct mg_store *store, mg_store_asides_fn *done, void *arg)
{
    char order_ids[1][MG_ORDER_ID_MAX + 1] = {""};
    (void)store;
    if (fake_store.aside != NULL) {
        (void)snprintf(order_ids[0], sizeof(order_ids[0]), "%s", fake_store.aside);
    }
    done(arg, (const char(*)[MG_ORDER_ID_MAX + 1]) order_ids, fake_store.aside != NULL ? 1 : 0, NULL);
}

void mg_store_set_aside(struct mg_store *store, const struct mg_aside *aside, mg_store_changed_fn *done,
                        void *arg)
{
    (void)store;
    struct call *call = call_add(CALL_SET_ASIDE, arg);
    strncpy(call->name, aside->order_id, sizeof(call->name) - 1);
    call->fn.changed = done;
}

static void set_owed(const struct mg_owed *mark)
{
    struct order *order = order_find(mark->order_id);
    for (int i = 0; order != NULL && i < order->event_count; i++) {
        if (order->events[i].version == mark->version) {
            order->events[i].is_owed = mark->is_owed;
        }
    }
}

void mg_store_mark_owed(struct mg_store *store, const struct mg_owed *marks, int count, int64_t owed_for_ms,
                        mg_store_marked_fn *done, void *arg)
{
    (void)store, (void)owed_for_ms;
    struct call *call = call_add(CALL_MARK, arg);
    call->fn.marked = done;
    fake_store.mark_calls++;
    for (int i = 0; i < count; i++) {
        if (fake_store.refused_mark != NULL && strcmp(fake_store.refused_mark, marks[i].order_id) == 0) {
            call->count = -1;
            return;
        }
    }
    for (int i = 0; i < count; i++) {
        fake_store.marks += marks[i].is_owed ? 1 : 0;
        fake_store.unmarks += marks[i].is_owed ? 0 : 1;
        strncpy(fake_store.last_mark, marks[i].order_id, sizeof(fake_store.last_mark) - 1);
        fake_store.last_mark_version = marks[i].version;
        fake_store.last_mark_is_retry = marks[i].is_retry;
        set_owed(&marks[i]);
        snprintf(fake_store.last_mark_queue, sizeof(fake_store.last_mark_queue), "%s", marks[i].reply_to);
    }
    bool is_failed = marks[count - 1].is_owed && marks[count - 1].is_retry;
    call->count = is_failed && fake_store.given_up.count > 0 ? 1 : 0;
}

void mg_store_load_owed(struct mg_store *store, const char *order_id, mg_store_events_fn *done, void *arg)
{
    (void)store;
    struct call *call = call_add(CALL_OWED, arg);
    strncpy(call->name, order_id, sizeof(call->name) - 1);
    call->fn.events = done;
}

void mg_store_put_service_states(struct mg_store *store, const struct mg_service_state *states, int count,
                                 mg_store_done_fn *done, void *arg)
{
    (void)store;
    fake_store.reports += count;
    fake_store.last_report = states[count - 1].sequence;
    snprintf(fake_store.last_calls, sizeof(fake_store.last_calls), "%.*s", (int)states[count - 1].calls.len,
             states[count - 1].calls.len > 0 ? states[count - 1].calls.data : "");
    call_add(CALL_DONE, arg)->fn.done = done;
}

void mg_store_write_alerts(struct mg_store *store, const struct mg_alert_write *alerts, int count,
                           mg_store_alerts_fn *done, void *arg)
{
    (void)store;
    struct call *call = call_add(CALL_ALERTS, arg);
    call->fn.alerts = done;
    call->count = alerts[0].is_closed ? 0 : count; /* closing an alert that was never open changes nothing */
    fake_store.alerts += call->count;
    snprintf(fake_store.last_alert, sizeof(fake_store.last_alert), "%s: %.*s", alerts[0].subject,
             (int)alerts[0].text.len, alerts[0].text.data);
    fake_store.closings += alerts[0].is_closed ? 1 : 0;
}

void mg_store_get_workflow(struct mg_store *store, const char *name, int64_t version,
                           mg_store_workflow_fn *done, void *arg)
{
    (void)store;
    struct call *call = call_add(CALL_WORKFLOW, arg);
    call->count = (int)version;
    strncpy(call->name, name, sizeof(call->name) - 1);
    call->fn.workflow = done;
}

void mg_store_count_parked(struct mg_store *store, const char *service, bool is_high, int64_t limit,
                           mg_store_parked_count_fn *done, void *arg)
{
    (void)store;
    (void)service;
    (void)is_high;
    (void)limit;
    call_add(CALL_PARKED, arg)->fn.parked = done;
}

void mg_store_line_lengths(struct mg_store *store, const struct mg_slice *keys, int count,
                           mg_store_lengths_fn *done, void *arg)
{
    (void)store;
    (void)keys;
    struct call *call = call_add(CALL_LENGTHS, arg);
    call->count = count;
    call->fn.lengths = done;
}

void mg_store_put_workflow(struct mg_store *store, const char *name, int64_t version,
                           struct mg_slice definition, mg_store_done_fn *done, void *arg)
{
    (void)store;
    (void)name;
    (void)version;
    (void)definition;
    call_add(CALL_DONE, arg)->fn.done = done;
}

/* Signals with a key are tested with the real store. */
void mg_store_keep_signal(struct mg_store *store, const struct mg_kept_signal *signal, mg_store_keep_fn *done,
                          void *arg)
{
    (void)store;
    (void)signal;
    (void)done;
    (void)arg;
    abort();
}

void mg_store_match_signal(struct mg_store *store, const struct mg_signal_query *query,
                           mg_store_match_fn *done, void *arg)
{
    (void)store, (void)query;
    fake_store.looks++;
    call_add(CALL_MATCH, arg)->fn.match = done;
}

void mg_store_find_lost_signals(struct mg_store *store, const char *after_signal, const char *after_key,
                                mg_store_lost_fn *done, void *arg)
{
    (void)store, (void)after_signal, (void)after_key;
    call_add(CALL_LOST, arg)->fn.lost = done;
}

/* All are matched, or none. */
void mg_store_find_matches(struct mg_store *store, const struct mg_wait_over *waits, int count,
                           mg_store_matches_fn *done, void *arg)
{
    (void)store;
    if (count > MATCHES_MAX) {
        abort();
    }
    snprintf(fake_store.wait_over, sizeof(fake_store.wait_over), "%s %.*s %.*s %lld", waits[0].order_id,
             (int)waits[0].signal.len, waits[0].signal.data, (int)waits[0].key.len, waits[0].key.data,
             (long long)waits[0].ends_at_ms);
    call_add(CALL_MATCHES, arg)->fn.matches = done;
}

void mg_store_refuse_signal(struct mg_store *store, const char *signal, const char *key,
                            const char *signal_id, mg_store_done_fn *done, void *arg)
{
    (void)store, (void)signal, (void)key, (void)signal_id;
    call_add(CALL_DONE, arg)->fn.done = done;
}

void mg_store_load_slot(struct mg_store *store, const char *schedule, int64_t slot_ms, mg_store_slot_fn *done,
                        void *arg)
{
    (void)store, (void)schedule, (void)slot_ms;
    fake_store.slot_loads++;
    call_add(CALL_SLOT, arg)->fn.slot = done;
}

void mg_store_find_slots(struct mg_store *store, const char *zone, const int64_t *minutes, int count,
                         int64_t after_ms, mg_store_slots_fn *done, void *arg)
{
    (void)store, (void)zone, (void)minutes, (void)count, (void)after_ms;
    call_add(CALL_SLOTS, arg)->fn.slots = done;
}

void mg_store_settle_slot(struct mg_store *store, const struct mg_slot_write *slot, mg_store_done_fn *done,
                          void *arg)
{
    (void)store;
    fake_store.settled++;
    slot_note(slot);
    call_add(CALL_DONE, arg)->fn.done = done;
}

void mg_store_delay_slot(struct mg_store *store, const char *schedule, int64_t slot_ms, uint64_t version,
                         int64_t delay_ms, mg_store_done_fn *done, void *arg)
{
    (void)store, (void)schedule, (void)slot_ms;
    fake_store.slot_delay_ms = version == fake_store.slot_row.version ? delay_ms : 0;
    call_add(CALL_DONE, arg)->fn.done = done;
}

const char *mg_slot_end_name(enum mg_slot_end end)
{
    static const char *const NAMES[] = {"order", "overlap", "missed", "refused"};
    return NAMES[end];
}
