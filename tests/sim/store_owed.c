/*
 * The statements of common/io/store/owed.c: marks on events, reply queues that did not take a status,
 * retries, and the end of retries.
 */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "store_tables.h"

#define FIRST_RETRY_MS  1000
#define PATIENCE        16 /* part of the time without success after which a queue is tried again */
#define PATIENCE_MAX_MS INT64_C(14400000)
#define OWED_REST_MS    1000
#define RETRIES_MAX     100
#define SHARED_PART     2
#define CLIENTS_MAX     50
#define EVENTS_MAX      64

/* ---- tables ---- */

/* One row in four, if other transactions are writing; a replay by the standby skips the same rows. */
static bool is_locked(const struct sim_input *input, const char *key)
{
    uint64_t hash = input->transaction->locked_salt;
    for (const char *at = key; hash != 0 && *at != '\0'; at++) {
        hash = (hash ^ (uint8_t)*at) * UINT64_C(0x100000001b3); /* FNV-1a */
    }
    return hash != 0 && (hash >> 32) % 4 == 0;
}

static struct sim_reply_queue *queue_find(const struct sim_tables *tables, struct mg_slice name)
{
    for (int i = 0; i < tables->reply_queue_count; i++) {
        if (mg_slice_equal(tables->reply_queues[i].name, name)) {
            return &tables->reply_queues[i];
        }
    }
    return NULL;
}

/* The order with the transaction's changes so far. */
static struct sim_order *order_see(const struct sim_transaction *transaction, struct sim_order *order)
{
    for (int i = 0; i < transaction->change_count; i++) {
        if (transaction->changes[i].before == order) {
            return transaction->changes[i].after;
        }
    }
    return order;
}

struct event_at {
    struct sim_order *order;
    int index;
};

static const struct sim_event_times *times_of(const struct event_at *at)
{
    return &at->order->times[at->index];
}

static int compare_events(const void *a, const void *b)
{
    const struct event_at *one = a, *two = b;
    if (times_of(one)->at_ms != times_of(two)->at_ms) {
        return times_of(one)->at_ms < times_of(two)->at_ms ? -1 : 1;
    }
    int order = strcmp(one->order->record.order_id, two->order->record.order_id);
    return order != 0 ? order : (one->index > two->index) - (one->index < two->index);
}

/* Events owed to a queue (absent: not tried yet), the oldest first. The caller frees them. */
static struct event_at *owed_to(const struct sim_transaction *transaction, struct mg_slice queue,
                                int *ret_count)
{
    struct event_at *events = NULL;
    int count = 0;
    for (int i = 0; i < transaction->tables->order_count; i++) {
        struct sim_order *order = order_see(transaction, transaction->tables->orders[i]);
        for (int k = 0; k < order->event_count; k++) {
            struct mg_slice to = order->times[k].owed_to;
            if (order->events[k].is_owed && (to.data == NULL) == (queue.data == NULL) &&
                mg_slice_equal(to, queue)) {
                events = sim_grow(events, count, sizeof(*events));
                events[count++] = (struct event_at){order, k};
            }
        }
    }
    if (count > 0) {
        qsort(events, (size_t)count, sizeof(*events), compare_events);
    }
    *ret_count = count;
    return events;
}

/* ---- marking ---- */

static const char *const MARKS[] = {"order_id", "version", "owed", "is_retry", "reply_to"};
enum { ORDER_ID, VERSION, IS_OWED, IS_RETRY, REPLY_TO };

/* The order's current reply queue, or else the queue that was tried. */
static struct mg_slice owed_to_of(const struct sim_order *order, const struct mg_slice *values)
{
    return order->record.reply_to.data != NULL ? order->record.reply_to : values[REPLY_TO];
}

static bool is_changed(const struct mg_event_record *event, const struct sim_event_times *times,
                       struct mg_slice owed_to, const struct mg_slice *values)
{
    bool is_elsewhere =
        (times->owed_to.data == NULL) != (owed_to.data == NULL) || !mg_slice_equal(times->owed_to, owed_to);
    if (!sim_bool(values[IS_OWED])) {
        return event->is_owed || times->given_up_at_ms != 0;
    }
    return sim_bool(values[IS_RETRY]) ? event->is_owed && is_elsewhere : !event->is_owed || is_elsewhere;
}

/* Whether a later row names the same event: then this row has no effect. */
static bool is_overtaken(struct sim_input later)
{
    struct mg_slice order_id = later.values[ORDER_ID];
    int64_t version = sim_int(later.values[VERSION]);
    while (sim_input_next(&later)) {
        if (mg_slice_equal(later.values[ORDER_ID], order_id) && sim_int(later.values[VERSION]) == version) {
            return true;
        }
    }
    return false;
}

/* The statement's rows for one queue, combined. */
struct saying {
    struct mg_slice name;
    bool is_failing, is_later;
};
struct sayings {
    struct saying *items;
    int count;
};

static void say(struct sayings *sayings, struct mg_slice name, bool is_failing, bool is_later)
{
    int at = 0;
    while (at < sayings->count && !mg_slice_equal(sayings->items[at].name, name)) {
        at++;
    }
    if (name.data == NULL) {
        return;
    }
    if (at == sayings->count) {
        sayings->items = sim_grow(sayings->items, sayings->count, sizeof(*sayings->items));
        sayings->items[sayings->count++] = (struct saying){.name = name};
    }
    sayings->items[at].is_failing = sayings->items[at].is_failing || is_failing;
    sayings->items[at].is_later = sayings->items[at].is_later || is_later;
}

static void event_mark(struct sim_input *input, const struct sim_order *order, int index,
                       struct sayings *sayings)
{
    const struct mg_slice *values = input->values;
    bool is_owed = sim_bool(values[IS_OWED]);
    struct mg_slice owed_to = owed_to_of(order, values);
    if (is_changed(&order->events[index], &order->times[index], owed_to, values)) {
        struct sim_order *after = sim_transaction_change(input->transaction, values[ORDER_ID])->after;
        struct sim_event_times *times = &after->times[index];
        *times = (struct sim_event_times){
            .at_ms = times->at_ms, .owed_to = is_owed ? sim_text(owed_to) : (struct mg_slice){NULL, 0}};
        after->events[index].is_owed = is_owed;
        say(sayings, times->owed_to, true, false);
    }
}

static void queue_mark(struct sim_tables *tables, const struct saying *saying, int64_t now_ms)
{
    struct sim_reply_queue *queue = queue_find(tables, saying->name);
    if (queue == NULL && saying->is_failing) {
        tables->reply_queues =
            sim_grow(tables->reply_queues, tables->reply_queue_count, sizeof(*tables->reply_queues));
        tables->reply_queues[tables->reply_queue_count++] =
            (struct sim_reply_queue){.name = sim_text(saying->name),
                                     .since_ms = now_ms,
                                     .tried_at_ms = now_ms,
                                     .ask_at_ms = now_ms + FIRST_RETRY_MS};
        return;
    }
    if (queue == NULL) {
        return;
    }
    queue->is_open = !saying->is_failing;
    if (!saying->is_failing) {
        queue->since_ms = queue->tried_at_ms = queue->ask_at_ms = now_ms;
    } else if (saying->is_later) {
        int64_t patience_ms = (now_ms - queue->since_ms) / PATIENCE;
        int64_t at_ms = now_ms + (patience_ms < PATIENCE_MAX_MS ? patience_ms : PATIENCE_MAX_MS);
        queue->tried_at_ms = now_ms > queue->tried_at_ms ? now_ms : queue->tried_at_ms;
        queue->ask_at_ms = at_ms > queue->ask_at_ms ? at_ms : queue->ask_at_ms;
    }
}

/* The queue of the order's oldest owed event that has one. */
static struct mg_slice queue_of_oldest(const struct sim_order *order)
{
    for (int i = 0; order != NULL && i < order->event_count; i++) {
        if (order->events[i].is_owed && order->times[i].owed_to.data != NULL) {
            return order->times[i].owed_to;
        }
    }
    return (struct mg_slice){NULL, 0};
}

static void mark_owed(struct sim_input *input, struct sim_output *output)
{
    struct sayings sayings = {NULL, 0};
    (void)output;
    while (sim_input_next(input)) {
        const struct sim_order *order = sim_tables_find(input->transaction->tables, input->values[ORDER_ID]);
        bool is_owed = sim_bool(input->values[IS_OWED]);
        if (is_overtaken(*input)) {
            continue;
        }
        bool is_later = is_owed && sim_bool(input->values[IS_RETRY]);
        struct mg_slice name = input->values[REPLY_TO];
        name = is_later && name.data == NULL ? queue_of_oldest(order) : name;
        say(&sayings, name, is_owed, is_later);
        for (int i = 0; order != NULL && i < order->event_count; i++) {
            if (order->events[i].version == (uint64_t)sim_int(input->values[VERSION])) {
                event_mark(input, order, i, &sayings);
            }
        }
    }
    for (int i = 0; i < sayings.count && input->transaction->sqlstate[0] == '\0'; i++) {
        queue_mark(input->transaction->tables, &sayings.items[i], input->transaction->now_ms);
    }
    free(sayings.items);
}

static void by_key(struct sim_input *input, struct sim_output *output)
{
    (void)input;
    sim_output_begin(output, 4);
    sim_output_row(output);
}

/* ---- giving up ---- */

static const char *const NAMES[] = {"name", "order_id"};

static int compare_names(const void *a, const void *b)
{
    const struct mg_slice *one = a, *two = b;
    size_t least = one->len < two->len ? one->len : two->len;
    int order = memcmp(one->data, two->data, least);
    return order != 0 ? order : (one->len > two->len) - (one->len < two->len);
}

static int alerts_open(const struct sim_tables *tables)
{
    int count = 0;
    for (int i = 0; i < tables->alert_count; i++) {
        count += tables->alerts[i].code == MG_ALERT_STATUSES_GIVEN_UP && tables->alerts[i].closed_at_ms == 0;
    }
    return count;
}

/* Returns the number of events given up. */
static int64_t queue_give_up(struct sim_input *input, struct mg_slice name, int64_t age_ms, int64_t limit)
{
    struct sim_transaction *transaction = input->transaction;
    int count, given_up = 0;
    struct event_at *events = owed_to(transaction, name, &count);
    for (int i = 0; i < count && given_up < limit; i++) {
        if (times_of(&events[i])->at_ms > transaction->now_ms - age_ms ||
            is_locked(input, events[i].order->record.order_id)) {
            continue;
        }
        struct sim_order *after =
            sim_transaction_change(transaction, mg_slice_of(events[i].order->record.order_id))->after;
        after->events[events[i].index].is_owed = false;
        after->times[events[i].index].owed_to = (struct mg_slice){NULL, 0};
        after->times[events[i].index].given_up_at_ms = transaction->now_ms;
        given_up++;
    }
    free(events);
    return given_up;
}

/* $3 age, $4 most events per queue */
static void give_up(struct sim_input *input, struct sim_output *output)
{
    struct sim_transaction *transaction = input->transaction;
    struct mg_slice *names = NULL;
    int name_count = 0;
    int64_t age_ms = sim_int(sim_scalar(input, 3)), limit = sim_int(sim_scalar(input, 4));
    while (sim_input_next(input)) {
        struct mg_slice name = input->values[0];
        if (name.data == NULL) {
            name = queue_of_oldest(
                order_see(transaction, sim_tables_find(transaction->tables, input->values[1])));
        }
        if (name.data != NULL) {
            names = sim_grow(names, name_count, sizeof(*names));
            names[name_count++] = name;
        }
    }
    if (name_count > 0) {
        qsort(names, (size_t)name_count, sizeof(*names), compare_names);
    }
    int open = alerts_open(transaction->tables);
    sim_output_begin(output, 3);
    for (int i = 0; i < name_count; i++) {
        bool is_seen = i > 0 && mg_slice_equal(names[i], names[i - 1]);
        int64_t given_up = is_seen ? 0 : queue_give_up(input, names[i], age_ms, limit);
        if (given_up == 0) {
            continue;
        }
        struct sim_reply_queue *queue = queue_find(transaction->tables, names[i]);
        if (given_up >= limit && queue != NULL) {
            queue->ask_at_ms = queue->tried_at_ms = transaction->now_ms;
        }
        sim_output_row(output);
        sim_output_text(output, 0, names[i]);
        sim_output_int(output, 1, given_up);
        sim_output_int(output, 2, open++); /* each opens one more alert */
    }
    free(names);
}

/* ---- asking ---- */

struct asking {
    struct sim_input *input;
    int64_t now_ms, limit, ask_again_ms;
    struct sim_order **orders; /* orders to try again */
    uint64_t *versions;        /* parallel to them: version of the oldest event */
    int order_count;
};

static bool is_asked(const struct asking *asking, const struct sim_event_times *times)
{
    return times->asked_at_ms != 0 && times->asked_at_ms > asking->now_ms - asking->ask_again_ms &&
           times->asked_at_ms <= asking->now_ms;
}

static void order_ask(struct asking *asking, const struct event_at *event)
{
    uint64_t version = event->order->events[event->index].version;
    for (int i = 0; i < asking->order_count; i++) {
        if (asking->orders[i] == event->order) {
            asking->versions[i] = version < asking->versions[i] ? version : asking->versions[i];
            return;
        }
    }
    asking->orders = sim_grow(asking->orders, asking->order_count, sizeof(struct sim_order *));
    asking->versions = sim_grow(asking->versions, asking->order_count, sizeof(*asking->versions));
    asking->orders[asking->order_count] = event->order;
    asking->versions[asking->order_count++] = version;
}

/* Among the oldest `limit` events that are not locked: those not asked for just now. */
static void events_ask(struct asking *asking, struct mg_slice queue, int64_t limit)
{
    int count;
    struct event_at *events = owed_to(asking->input->transaction, queue, &count);
    for (int i = 0; i < count && limit > 0; i++) {
        const struct sim_event_times *times = times_of(&events[i]);
        int64_t age_ms = asking->now_ms - times->at_ms;
        bool is_resting = queue.data == NULL && age_ms < OWED_REST_MS && age_ms >= -OWED_REST_MS;
        if (is_locked(asking->input, events[i].order->record.order_id)) {
            continue;
        }
        limit--;
        if (!is_resting && !is_asked(asking, times)) {
            if (asking->input->transaction->session != NULL) {
                sim_check_asked_owed(queue);
            }
            order_ask(asking, &events[i]);
        }
    }
    free(events);
}

static int compare_due(const void *a, const void *b)
{
    const struct sim_reply_queue *one = *(struct sim_reply_queue *const *)a;
    const struct sim_reply_queue *two = *(struct sim_reply_queue *const *)b;
    if (one->ask_at_ms != two->ask_at_ms) {
        return one->ask_at_ms < two->ask_at_ms ? -1 : 1;
    }
    return compare_names(&one->name, &two->name);
}

static int compare_ahead(const void *a, const void *b)
{
    const struct sim_reply_queue *one = *(struct sim_reply_queue *const *)a;
    const struct sim_reply_queue *two = *(struct sim_reply_queue *const *)b;
    if (one->tried_at_ms != two->tried_at_ms) {
        return one->tried_at_ms > two->tried_at_ms ? -1 : 1;
    }
    return compare_names(&two->name, &one->name);
}

/* The column `client` of reply_queue. */
static struct mg_slice client_of(const struct sim_reply_queue *queue)
{
    static const char PREFIX[] = "client.";
    size_t skipped = sizeof(PREFIX) - 1;
    if (queue->name.len < skipped || memcmp(queue->name.data, PREFIX, skipped) != 0) {
        return mg_slice_of("");
    }
    struct mg_slice rest = {queue->name.data + skipped, queue->name.len - skipped};
    const char *dot = memchr(rest.data, '.', rest.len);
    rest.len = dot != NULL ? (size_t)(dot - rest.data) : rest.len;
    return rest;
}

/* Clients with a due queue, each once; `clients` has room for all queues. */
static int clients_due(const struct asking *asking, struct mg_slice *clients)
{
    const struct sim_tables *tables = asking->input->transaction->tables;
    int count = 0;
    for (int i = 0; i < tables->reply_queue_count; i++) {
        struct mg_slice client = client_of(&tables->reply_queues[i]);
        int at = 0;
        while (at < count && !mg_slice_equal(clients[at], client)) {
            at++;
        }
        if (at == count && tables->reply_queues[i].ask_at_ms <= asking->now_ms) {
            clients[count++] = client;
        }
    }
    assert(count <= CLIENTS_MAX); /* no run has more, so their order does not matter */
    return count;
}

static bool is_among(struct sim_reply_queue *const *queues, int count, const struct sim_reply_queue *queue)
{
    for (int i = 0; i < count; i++) {
        if (queues[i] == queue) {
            return true;
        }
    }
    return false;
}

static int retries_max(const struct asking *asking)
{
    return asking->limit < RETRIES_MAX ? (int)asking->limit : RETRIES_MAX;
}

/* The share of each client. `queues` has room for all; returns their number. */
static int queues_share(const struct asking *asking, struct sim_reply_queue **queues)
{
    int count = 0;
    struct sim_tables *tables = asking->input->transaction->tables;
    size_t room = (size_t)tables->reply_queue_count + 1;
    struct mg_slice *clients = calloc(room, sizeof(*clients));
    struct sim_reply_queue **due = calloc(room, sizeof(struct sim_reply_queue *));
    assert(clients != NULL && due != NULL);
    int client_count = clients_due(asking, clients);
    int most = client_count > 0 ? retries_max(asking) / SHARED_PART / client_count : 0;
    most = most > 1 ? most : 1;
    for (int i = 0; i < client_count; i++) {
        int due_count = 0;
        for (int k = 0; k < tables->reply_queue_count; k++) {
            struct sim_reply_queue *queue = &tables->reply_queues[k];
            if (queue->ask_at_ms <= asking->now_ms && mg_slice_equal(client_of(queue), clients[i]) &&
                !is_locked(asking->input, sim_text(queue->name).data)) {
                due[due_count++] = queue;
            }
        }
        qsort(due, (size_t)due_count, sizeof(struct sim_reply_queue *), compare_due);
        for (int k = 0; k < due_count && k < most; k++) {
            queues[count++] = due[k];
        }
    }
    free(clients);
    free(due);
    return count;
}

/* Appends to `queues`, which has room for all, and returns the new number. */
static int queues_choose(const struct asking *asking, struct sim_reply_queue **queues, int count,
                         bool is_ahead)
{
    struct sim_tables *tables = asking->input->transaction->tables;
    int found = 0, most = is_ahead ? retries_max(asking) : retries_max(asking) - count;
    most = most > 1 ? most : 1;
    for (int i = 0; i < tables->reply_queue_count; i++) {
        struct sim_reply_queue *queue = &tables->reply_queues[i];
        bool is_due = queue->ask_at_ms <= asking->now_ms;
        bool is_chosen = is_ahead ? !is_due && queue->tried_at_ms > asking->now_ms : is_due;
        if (is_chosen && !is_among(queues, count, queue) &&
            !is_locked(asking->input, sim_text(queue->name).data)) {
            queues[count + found++] = queue;
        }
    }
    qsort(&queues[count], (size_t)found, sizeof(struct sim_reply_queue *),
          is_ahead ? compare_ahead : compare_due);
    return count + (found < most ? found : most);
}

static void queues_ask(struct asking *asking)
{
    struct sim_tables *tables = asking->input->transaction->tables;
    struct sim_reply_queue **queues =
        calloc((size_t)tables->reply_queue_count + 1, sizeof(struct sim_reply_queue *));
    assert(queues != NULL);
    int count = queues_share(asking, queues), open_count = 0;
    count = queues_choose(asking, queues, count, false);
    count = queues_choose(asking, queues, count, true);
    for (int i = 0; i < count; i++) {
        open_count += queues[i]->is_open;
    }
    for (int i = 0; i < count; i++) {
        int64_t share = queues[i]->is_open && asking->limit > open_count ? asking->limit / open_count : 1;
        events_ask(asking, queues[i]->name, share);
    }
    for (int i = 0; i < count; i++) {
        int owed_count;
        free(owed_to(asking->input->transaction, queues[i]->name, &owed_count));
        queues[i]->tried_at_ms = asking->now_ms;
        queues[i]->ask_at_ms = asking->now_ms + asking->ask_again_ms;
        queues[i]->is_open = false;
        queues[i]->is_forgotten = owed_count == 0;
    }
    int kept = 0;
    for (int i = 0; i < tables->reply_queue_count; i++) {
        if (!tables->reply_queues[i].is_forgotten) {
            tables->reply_queues[kept++] = tables->reply_queues[i];
        }
    }
    tables->reply_queue_count = kept;
    free(queues);
}

static void orders_remember(const struct asking *asking)
{
    for (int i = 0; i < asking->order_count; i++) {
        struct sim_order *order = asking->orders[i];
        bool is_held = is_locked(asking->input, order->record.order_id);
        for (int k = 0, events = 0; k < order->event_count && events < EVENTS_MAX && !is_held; k++) {
            if (order->events[k].is_owed) {
                order->times[k].asked_at_ms = asking->now_ms;
                events++;
            }
        }
    }
}

/* $1 epoch, $2 holder, $3 limit, $4 ask again */
static void ask_owed(struct sim_input *input, struct sim_output *output)
{
    enum { IS_LEADER, ASKED_ORDER, ASKED_VERSION, ASKED_SEQ, COUNT };
    const struct sim_transaction *transaction = input->transaction;
    struct asking asking = {.input = input,
                            .now_ms = transaction->now_ms,
                            .limit = sim_int(sim_scalar(input, 3)),
                            .ask_again_ms = sim_int(sim_scalar(input, 4))};
    bool is_leader = sim_is_leader(input, false);
    sim_output_begin(output, COUNT);
    if (is_leader) {
        events_ask(&asking, (struct mg_slice){NULL, 0}, asking.limit);
        queues_ask(&asking);
        orders_remember(&asking);
    }
    for (int i = 0; i < transaction->tables->order_count; i++) {
        struct sim_order *order = transaction->tables->orders[i];
        for (int k = 0; k < asking.order_count; k++) {
            if (asking.orders[k] == order) {
                sim_output_row(output);
                sim_output_bool(output, IS_LEADER, true);
                sim_output_word(output, ASKED_ORDER, order->record.order_id);
                sim_output_int(output, ASKED_VERSION, (int64_t)asking.versions[k]);
                sim_output_int(output, ASKED_SEQ, (int64_t)order->record.order.seq);
            }
        }
    }
    if (output->row < 0) {
        sim_output_row(output);
        sim_output_bool(output, IS_LEADER, is_leader);
    }
    free(asking.orders);
    free(asking.versions);
}

const struct sim_statement SIM_OWED_STATEMENTS[] = {
    SIM_STATEMENT("mark_owed", mark_owed, MARKS, true),
    SIM_SCALARS("by_key", by_key, false),
    SIM_SCALARS("by_key_soon", by_key, false),
    SIM_STATEMENT("give_up", give_up, NAMES, true),
    SIM_SCALARS("ask_owed", ask_owed, true),
    SIM_SCALARS("ask_owed_keys", sim_no_keys, false),
    {.name = NULL},
};
