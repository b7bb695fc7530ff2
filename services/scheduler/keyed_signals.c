/* See keyed_signals.h. */
#include "keyed_signals.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/log.h"
#include "command_answer.h"
#include "io/amqp/topology.h"
#include "kept_signals.h"

/* Two of them and the store's answers take about a minute. */
#define SEARCH_PERIOD_MS 30000

/* One call of the store. */
struct mg_look {
    LIST_ENTRY(mg_look) entry;
    struct mg_keyed *keyed;
    struct mg_work *work; /* held */
    bool is_own;          /* `work` is the signal's own message, and waits for the answer */
    struct mg_looker looker;
    char signal[MG_NAME_MAX + 1], signal_id[MG_KEYED_ID_SIZE], key[MG_SIGNAL_KEY_MAX + 1];
};

void mg_keyed_command_id(const char *signal_id, char ret_command_id[static MG_COMMAND_ID_MAX + 1])
{
    (void)snprintf(ret_command_id, MG_COMMAND_ID_MAX + 1, "%.*s", (int)strcspn(signal_id, "/"), signal_id);
}

void mg_keyed_init(struct mg_keyed *keyed, struct mg_inbox *inbox, struct mg_outbox *outbox)
{
    keyed->inbox = inbox;
    keyed->outbox = outbox;
    keyed->searched_boot_ms = mg_clock_boot_ms();
    LIST_INIT(&keyed->looks);
}

void mg_keyed_finish(struct mg_keyed *keyed)
{
    while (!LIST_EMPTY(&keyed->looks)) {
        struct mg_look *look = LIST_FIRST(&keyed->looks);
        LIST_REMOVE(look, entry);
        free(look);
    }
}

/* NULL: no memory; the message that the work follows from is redelivered. */
static struct mg_look *look_create(struct mg_keyed *keyed, struct mg_work *work, bool is_own)
{
    struct mg_look *look = calloc(1, sizeof(*look));
    if (look == NULL) {
        mg_work_give_up(work);
        return NULL;
    }
    look->keyed = keyed;
    look->work = work;
    look->is_own = is_own;
    mg_work_hold(work);
    LIST_INSERT_HEAD(&keyed->looks, look, entry);
    return look;
}

static void look_end(struct mg_look *look)
{
    struct mg_keyed *keyed = look->keyed;
    struct mg_work *work = look->work;
    LIST_REMOVE(look, entry);
    free(look);
    mg_work_release(&keyed->inbox->shared->works, work);
    mg_scheduler_wake(keyed->inbox->shared);
}

/* Its message is left for a redelivery. */
static void look_fail(struct mg_look *look, const struct mg_err *err)
{
    mg_log(MG_LOG_WARN, "could not look for the order of a signal; its message is left for a redelivery",
           MG_LOG_TEXT("signal", look->signal), MG_LOG_TEXT("why", err->text));
    if (look->work->is_settled) {
        mg_work_give_up(look->work);
    } else {
        mg_work_settle(&look->keyed->inbox->shared->works, look->work, MG_END_LEAVE);
    }
    look_end(look);
}

/* The signal's own message has its end. */
static void own_answer(struct mg_look *look, enum mg_command_verdict verdict, enum mg_signal_outcome outcome,
                       const char *text)
{
    if (look->is_own) {
        struct mg_command_result result = {.verdict = verdict, .signal = outcome};
        mg_keyed_command_id(look->signal_id, result.command_id);
        (void)snprintf(result.text, sizeof(result.text), "%s", text);
        mg_command_answer_work(look->keyed->outbox, look->work, &result);
    }
}

static void own_settle(struct mg_look *look)
{
    if (!look->work->is_settled) {
        mg_work_settle(&look->keyed->inbox->shared->works, look->work, MG_END_ACK);
    }
}

/* The kept signal, as a cause of the order: internal work, for which `look->work` waits. NULL: no memory. */
static struct mg_work *cause_add(struct mg_look *look, const char *order_id,
                                 const struct mg_kept_signal *signal)
{
    struct mg_keyed_signal *found = calloc(1, sizeof(*found) + signal->payload.len);
    struct mg_work *work = found != NULL ? mg_inbox_add_internal(look->keyed->inbox, look->work) : NULL;
    if (work == NULL) {
        free(found);
        return NULL;
    }
    found->looker = look->looker;
    (void)snprintf(found->order_id, sizeof(found->order_id), "%s", order_id);
    (void)snprintf(found->signal, sizeof(found->signal), "%s", signal->signal);
    (void)snprintf(found->signal_id, sizeof(found->signal_id), "%s", signal->signal_id);
    (void)snprintf(found->key, sizeof(found->key), "%s", signal->key);
    (void)snprintf(found->by, sizeof(found->by), "%s", signal->by);
    (void)snprintf(found->client, sizeof(found->client), "%s", signal->client != NULL ? signal->client : "");
    found->is_client = signal->client != NULL;
    found->is_own = look->is_own && strcmp(look->signal_id, signal->signal_id) == 0;
    memcpy(found + 1, signal->payload.data, signal->payload.len);
    found->payload = (struct mg_slice){(const char *)(found + 1), signal->payload.len};
    work->keyed = found;
    (void)snprintf(work->order_id, sizeof(work->order_id), "%s", order_id);
    return work;
}

static void look_fail_for_memory(struct mg_look *look)
{
    struct mg_err err;
    (void)mg_err_set(&err, MG_TRANSIENT, "no memory");
    look_fail(look, &err);
}

static void on_matched(void *arg, const char *order_id, const struct mg_kept_signal *signal,
                       const struct mg_err *err)
{
    struct mg_look *look = arg;
    if (err != NULL) {
        look_fail(look, err);
        return;
    }
    if (order_id != NULL && cause_add(look, order_id, signal) == NULL) {
        look_fail_for_memory(look);
        return;
    }
    bool is_own_found = order_id != NULL && strcmp(look->signal_id, signal->signal_id) == 0;
    if (!is_own_found) {
        own_answer(look, MG_COMMAND_DONE, MG_SIGNAL_KEPT, "it is kept until an order waits for its key");
    }
    own_settle(look);
    mg_outbox_pump(look->keyed->outbox);
    look_end(look);
}

static void look_send(struct mg_look *look)
{
    bool is_orders = look->looker.order_id[0] != '\0';
    const struct mg_signal_query query = {.signal = look->signal,
                                          .key = look->key,
                                          .signal_id = is_orders ? "" : look->signal_id,
                                          .order_id = look->looker.order_id};
    mg_store_match_signal(look->keyed->inbox->shared->store, &query, on_matched, look);
}

void mg_keyed_look(struct mg_keyed *keyed, const struct mg_item *item, struct mg_slice key)
{
    struct mg_slice signal;
    bool has_key = mg_kept_signals_key_split(key, &signal, &key);
    struct mg_look *look = has_key ? look_create(keyed, item->work, false) : NULL;
    if (look != NULL) {
        struct mg_slice root = item->root.data != NULL ? item->root : item->cause;
        (void)snprintf(look->looker.order_id, sizeof(look->looker.order_id), "%s", item->order_id);
        (void)snprintf(look->looker.root, sizeof(look->looker.root), "%.*s", (int)root.len, root.data);
        (void)snprintf(look->signal, sizeof(look->signal), "%.*s", (int)signal.len, signal.data);
        (void)snprintf(look->key, sizeof(look->key), "%.*s", (int)key.len, key.data);
        look_send(look);
    }
}

/* ---- lost looks ---- */

static void on_lost(void *arg, const struct mg_lost_signal *signals, int count,
                    const struct mg_lost_signal *next, const struct mg_err *err)
{
    struct mg_keyed *keyed = arg;
    struct mg_works *works = &keyed->inbox->shared->works;
    keyed->is_searching = false;
    keyed->searched_boot_ms = mg_clock_boot_ms();
    if (err != NULL) {
        return; /* as every other call of the store just now */
    }
    keyed->after = *next;
    struct mg_work *work = count > 0 ? mg_work_create(works, MG_LANE_INTERNAL) : NULL; /* in no lane */
    for (int i = 0; i < count && work != NULL; i++) {
        struct mg_look *look = look_create(keyed, work, false);
        if (look != NULL) {
            (void)snprintf(look->signal, sizeof(look->signal), "%s", signals[i].signal);
            (void)snprintf(look->signal_id, sizeof(look->signal_id), "%s", signals[i].signal_id);
            (void)snprintf(look->key, sizeof(look->key), "%s", signals[i].key);
            look_send(look);
        }
    }
    if (work != NULL) {
        mg_log(MG_LOG_WARN, "kept signals had not found the orders that wait for them; it is made up for",
               MG_LOG_NUMBER("signals", count));
        mg_work_settle(works, work, MG_END_ACK);
    }
}

void mg_keyed_search(struct mg_keyed *keyed)
{
    const struct mg_shared *shared = keyed->inbox->shared;
    bool is_due = mg_clock_boot_ms() - keyed->searched_boot_ms >= SEARCH_PERIOD_MS;
    if (is_due && !keyed->is_searching && shared->is_store_up && !shared->is_draining) {
        keyed->is_searching = true;
        mg_store_find_lost_signals(shared->store, keyed->after.signal, keyed->after.key, on_lost, keyed);
    }
}

/* The signal is redelivered, and its order has it: that makes its effects again. */
static void taken_again(struct mg_look *look, const char *order_id)
{
    const char *sender = &look->signal_id[strcspn(look->signal_id, "/") + 1];
    bool is_client = sender[0] != '/';
    const struct mg_kept_signal signal = {.signal = look->signal,
                                          .signal_id = look->signal_id,
                                          .key = look->key,
                                          .by = is_client ? "client:" : &sender[1],
                                          .client = is_client ? sender : NULL,
                                          .payload = mg_slice_of("null")};
    struct mg_work *work = cause_add(look, order_id, &signal);
    if (work == NULL) {
        look_fail_for_memory(look);
        return;
    }
    work->is_again = true;
    own_settle(look);
    look_end(look);
}

static void on_kept(void *arg, enum mg_keep_result result, const char *taken_by, const struct mg_err *err)
{
    struct mg_look *look = arg;
    if (err != NULL) {
        look_fail(look, err);
        return;
    }
    switch (result) {
    case MG_KEEP_DONE:
        look_send(look);
        return;
    case MG_KEEP_TAKEN:
        if (look->work->is_again && taken_by[0] != '\0') {
            taken_again(look, taken_by);
            return;
        }
        own_answer(look, MG_COMMAND_DONE, MG_SIGNAL_DUPLICATE,
                   "this signal has come before, and an order has it");
        break;
    case MG_KEEP_FULL:
        own_answer(look, MG_COMMAND_CONFLICT, MG_SIGNAL_REFUSED,
                   "10000 signals of this name and sender are kept, and no order waits for them");
        break;
    }
    own_settle(look);
    mg_outbox_pump(look->keyed->outbox);
    look_end(look);
}

void mg_keyed_signal_keep(struct mg_keyed *keyed, struct mg_work *work, const struct mg_command *command)
{
    struct mg_look *look = look_create(keyed, work, true);
    struct mg_slice client;
    char by[MG_COMMAND_BY_MAX + 1], name[MG_NAME_MAX + 1];
    bool is_client = mg_topology_commander(work->delivery->exchange, &client) == MG_COMMANDER_CLIENT;
    if (look == NULL) {
        mg_work_settle(&keyed->inbox->shared->works, work, MG_END_LEAVE);
        return;
    }
    (void)snprintf(look->signal, sizeof(look->signal), "%s", command->signal);
    (void)snprintf(look->key, sizeof(look->key), "%s", command->key);
    /* A definition can name no client with a longer name: the signal is nobody's, and is refused. */
    (void)snprintf(name, sizeof(name), "%.*s", client.len <= MG_NAME_MAX ? (int)client.len : 0, client.data);
    /* A client's name has no "/": an operator of the same name is another sender. */
    (void)snprintf(look->signal_id, sizeof(look->signal_id), "%s%s%s", command->command_id,
                   is_client ? "/" : "//", is_client ? name : command->by);
    (void)snprintf(by, sizeof(by), "%s%s", is_client ? "client:" : "", is_client ? name : command->by);
    const struct mg_kept_signal signal = {.signal = look->signal,
                                          .signal_id = look->signal_id,
                                          .key = look->key,
                                          .by = by,
                                          .client = is_client ? name : NULL,
                                          .payload = command->payload.data != NULL ? command->payload
                                                                                   : mg_slice_of("null")};
    mg_store_keep_signal(keyed->inbox->shared->store, &signal, on_kept, look);
}

/* ---- the end of a cause ---- */

static void on_refused(void *arg, const struct mg_err *err)
{
    struct mg_look *look = arg;
    if (err != NULL) {
        look_fail(look, err);
    } else {
        look_send(look);
    }
}

void mg_keyed_end(struct mg_keyed *keyed, struct mg_work *work, bool is_next, bool is_refused)
{
    const struct mg_keyed_signal *found = work->keyed;
    /* The own message waits for its answer until the signal is taken, refused or kept. */
    struct mg_look *look = is_next || is_refused
                               ? look_create(keyed, work->origin, found->is_own && is_next && !is_refused)
                               : NULL;
    if (look == NULL) {
        return;
    }
    look->looker = found->looker;
    (void)snprintf(look->signal, sizeof(look->signal), "%s", found->signal);
    (void)snprintf(look->signal_id, sizeof(look->signal_id), "%s", found->signal_id);
    (void)snprintf(look->key, sizeof(look->key), "%s", found->key);
    if (is_refused) {
        mg_store_refuse_signal(keyed->inbox->shared->store, found->signal, found->key, found->signal_id,
                               on_refused, look);
    } else {
        look_send(look);
    }
}
