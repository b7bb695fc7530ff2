/* See aside.h. */
#include "aside.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/id.h"
#include "base/json_write.h"
#include "base/log.h"
#include "core/backoff.h"
#include "lanes.h"

/* The pauses of an order: it goes on within seconds of its lock's end, and a retry of all locked orders
 * together costs one short wait. */
#define MG_ASIDE_PAUSE_MIN_MS 500
#define MG_ASIDE_PAUSE_MAX_MS 5000
/* One try in so many gives a statement its whole time, for an order that is just large. Others wait for it.
 */
#define MG_ASIDE_PATIENT_EACH 8
/* The bound, both of tries and time. For a passing fault it is longer than maintenance holds a lock. For a
 * lasting one it is long enough to see that it lasts. A fault of a single order without a witness has the
 * long bound: meanwhile another order meets the fault too, or is the witness. */
#define MG_ASIDE_PASSING_FOR_MS (10 * 60 * 1000)
#define MG_ASIDE_PASSING_TRIES  10
#define MG_ASIDE_LASTING_FOR_MS 5000
#define MG_ASIDE_LASTING_TRIES  4
/* So many orders with one fault, such as a long transaction that locks them all, or a trigger that refuses
 * the next state of each: it counts as one of all, even if others are written. */
#define MG_ASIDE_CROWD 8
/* So many have one fault of all, if no other order was written as they are. */
#define MG_ASIDE_ALIKE 2
/* Supervisors ask again within this time: an order without causes is then of no interest. */
#define MG_ASIDE_FORGET_MS (3 * 60 * 1000)
/* Orders that wait at once: more are left to the broker for a while. */
#define MG_ASIDE_ORDERS_MAX 256
/* Their causes take one part in so many of a queue's prefetch; those of a crowd take all parts but one, since
 * each that is left to the broker counts a delivery. */
#define MG_ASIDE_SHARE 4
/* A lock that ends sooner is not reported. With the heartbeat and the supervisor's looks the others are
 * reported within 15 s. */
#define MG_ASIDE_TOLD_AFTER_MS 3000
/* Of one in the heartbeat, with its id and its reason escaped. */
#define MG_ASIDE_ACCOUNT_SIZE 2048

static void look_up(struct mg_aside_order *order);

void mg_aside_init(struct mg_asides *aside, struct mg_inbox *inbox, struct mg_set_asides *set_aside,
                   struct mg_alerts *alerts)
{
    aside->shared = inbox->shared;
    aside->inbox = inbox;
    aside->set_aside = set_aside;
    aside->alerts = alerts;
    TAILQ_INIT(&aside->orders);
}

void mg_aside_finish(struct mg_asides *aside)
{
    mg_buf_finish(&aside->account);
    struct mg_aside_order *order;
    while ((order = TAILQ_FIRST(&aside->orders)) != NULL) {
        TAILQ_REMOVE(&aside->orders, order, entry);
        free(order);
    }
    aside->order_count = 0;
}

static struct mg_aside_order *order_find(const struct mg_asides *aside, const char *order_id)
{
    struct mg_aside_order *order;
    TAILQ_FOREACH(order, &aside->orders, entry)
    {
        if (strcmp(order->order_id, order_id) == 0) {
            return order;
        }
    }
    return NULL;
}

static void order_drop(struct mg_aside_order *order)
{
    struct mg_asides *aside = order->aside;
    TAILQ_REMOVE(&aside->orders, order, entry);
    mg_metric_set(order->aside->shared->series.orders_aside, --aside->order_count);
    free(order);
}

/* NULL: too many wait, or no memory. */
static struct mg_aside_order *order_add(struct mg_asides *aside, const char *order_id)
{
    struct mg_aside_order *order =
        aside->order_count < MG_ASIDE_ORDERS_MAX ? calloc(1, sizeof(*order)) : NULL;
    if (order == NULL) {
        return NULL;
    }
    order->aside = aside;
    snprintf(order->order_id, sizeof(order->order_id), "%s", order_id);
    order->since_boot_ms = mg_clock_boot_ms();
    TAILQ_INSERT_TAIL(&aside->orders, order, entry);
    mg_metric_set(aside->shared->series.orders_aside, ++aside->order_count);
    return order;
}

/* ---- faults of all ---- */

static bool is_waiting(const struct mg_aside_order *order)
{
    return order->tries > 0 && (order->works.first != NULL || order->is_trying);
}

/* The text may name the row, a block or a moment. It counts only where the database gave no SQLSTATE. */
static bool is_alike(const struct mg_aside_order *a, const struct mg_aside_order *b)
{
    bool is_same_text = a->sqlstate[0] != '\0' || strcmp(a->text, b->text) == 0;
    return a->is_read == b->is_read && strcmp(a->sqlstate, b->sqlstate) == 0 && is_same_text;
}

/* The orders that wait for faults alike, this one included. A fault that is proved in an order's own rows is
 * its own, however many have lost the same. */
static int alike_count(const struct mg_aside_order *order)
{
    const struct mg_aside_order *other;
    int count = 0;
    TAILQ_FOREACH(other, &order->aside->orders, entry)
    {
        bool may_be_of_all = is_waiting(other) && other->refusal != MG_REFUSAL_DAMAGED;
        count += may_be_of_all && is_alike(other, order) ? 1 : 0;
    }
    return count;
}

/* Another order with changes of the same kinds was stored since. */
static bool has_witness(const struct mg_aside_order *order)
{
    return mg_change_log_has(&order->aside->log, &order->changes, order->stored_before);
}

/* The orders that wait for one fault of all, this one included; 0: its fault may be its own. */
static int crowd_count(const struct mg_aside_order *order)
{
    int count = order->refusal != MG_REFUSAL_DAMAGED ? alike_count(order) : 0;
    if (count >= MG_ASIDE_CROWD) {
        return count;
    }
    return count >= MG_ASIDE_ALIKE && !has_witness(order) ? count : 0;
}

const struct mg_aside_order *mg_aside_crowd(const struct mg_asides *aside, int *ret_count)
{
    const struct mg_aside_order *order;
    TAILQ_FOREACH(order, &aside->orders, entry) /* the oldest first */
    {
        *ret_count = is_waiting(order) ? crowd_count(order) : 0;
        if (*ret_count > 0) {
            return order;
        }
    }
    return NULL;
}

/* ---- the works ---- */

static size_t size_of(const struct mg_work *work)
{
    return work->delivery != NULL ? work->delivery->body.len : 0;
}

static bool has_room(const struct mg_aside_order *order, const struct mg_work *work)
{
    const struct mg_asides *aside = order->aside;
    if (work->delivery == NULL) { /* it waits for nothing from a queue; its origin's is counted there */
        return true;
    }
    int parts = crowd_count(order) > 0 ? MG_ASIDE_SHARE - 1 : 1;
    return aside->held[work->lane] <
               parts * mg_consumed_prefetch(aside->inbox->consumed, work->lane) / MG_ASIDE_SHARE &&
           aside->bytes + size_of(work) <= aside->shared->options->memory_bytes / MG_MEMORY_ASIDE;
}

static void work_keep(struct mg_aside_order *order, struct mg_work *work)
{
    struct mg_asides *aside = order->aside;
    mg_consumed_clear(aside->inbox->consumed, work); /* it did not crash its handler */
    mg_work_list_append(&order->works, work);
    aside->shared->works.apart_count++;
    aside->held[work->lane]++;
    aside->bytes += size_of(work);
}

static struct mg_work *work_pop(struct mg_aside_order *order)
{
    struct mg_asides *aside = order->aside;
    struct mg_work *work = mg_work_list_pop(&order->works);
    if (work != NULL) {
        order->aside->shared->works.apart_count--;
        aside->held[work->lane]--;
        aside->bytes -= size_of(work);
    }
    return work;
}

/* An operator gets an answer in time, and a supervisor asks again anyway. The rest waits, also a command that
 * was delivered before: its statuses may be owed. So does a kept signal, which nobody else looks for again.
 */
static void item_keep(const struct mg_asides *aside, struct mg_batch *batch, struct mg_aside_order *order,
                      struct mg_item *item)
{
    bool comes_again = mg_command_comes_again(item);
    if (item->command != NULL && item->work->keyed == NULL && !item->work->is_again && !comes_again) {
        char text[MG_REFUSAL_TEXT_SIZE + 64];
        snprintf(text, sizeof(text), "%s: %s; nothing was changed",
                 order != NULL && order->is_listed ? "the order is set aside"
                                                   : "the database refuses this order's rows",
                 order == NULL      ? "too many orders wait"
                 : order->is_listed ? "makegood order readmit lets it in again"
                                    : order->text);
        mg_command_refuse(batch, item, order == NULL || !order->is_listed, text);
    } else if (comes_again && (order == NULL || order->works.first != NULL)) {
        mg_work_settle(&aside->shared->works, item->work, MG_END_ACK);
    } else if (order == NULL || !has_room(order, item->work)) {
        mg_work_settle(&aside->shared->works, item->work, MG_END_LEAVE);
    } else {
        work_keep(order, item->work);
    }
}

/* The end of a cause of an order that is set aside: its message is kept in dead.letters. */
static void work_end(struct mg_asides *aside, struct mg_work *work)
{
    struct mg_work *root = work;
    /* A supervisor's: operators have their answer. */
    bool comes_again = work->lane == MG_LANE_COMMANDS && !work->is_again;
    while (root->origin != NULL) {
        root = root->origin;
    }
    if (root != work) {
        root->end = MG_END_REJECT; /* the broker has only the message behind a refused request */
    }
    mg_work_settle(&aside->shared->works, work, root != work || comes_again ? MG_END_ACK : MG_END_REJECT);
}

/* The list says that the order is set aside. It may just have been readmitted, so the table is asked. */
static void item_doubt(struct mg_asides *aside, struct mg_batch *batch, struct mg_item *item)
{
    struct mg_aside_order *order = order_add(aside, item->order_id);
    if (order != NULL) {
        order->is_listed = true;
    }
    item_keep(aside, batch, order, item);
    if (order != NULL) {
        look_up(order);
    }
}

/* ---- out of and into batches ---- */

static int64_t pause_ms(const struct mg_aside_order *order)
{
    return mg_backoff_ms(MG_ASIDE_PAUSE_MIN_MS, MG_ASIDE_PAUSE_MAX_MS, order->tries, -1, mg_random_u64());
}

/* The refusal of this try. */
static void order_note(struct mg_aside_order *order, const struct mg_fold *fold, enum mg_refusal refusal,
                       const char *text)
{
    const char *sqlstate = fold->refused != NULL ? fold->sqlstate : fold->write->sqlstate;
    if (order->tries == 0 || strcmp(order->sqlstate, sqlstate) != 0) {
        order->stored_before = order->aside->log.count;
    }
    order->is_read = fold->refused != NULL;
    order->is_new = !order->is_read && fold->write->expected_version == 0;
    order->refusal = refusal;
    order->changes = order->is_read ? mg_changes_of_read() : mg_changes_of(fold->write);
    (void)snprintf(order->sqlstate, sizeof(order->sqlstate), "%s", sqlstate);
    (void)snprintf(order->text, sizeof(order->text), "%s", text);
}

void mg_aside_refuse(struct mg_asides *aside, struct mg_batch *batch, struct mg_fold *fold)
{
    enum mg_refusal refusal = fold->refused != NULL ? fold->refusal : fold->write->refusal;
    const char *text = fold->refused != NULL ? fold->refused : fold->write->text;
    struct mg_aside_order *order = order_find(aside, fold->order_id);
    bool is_news = order == NULL;
    order = is_news ? order_add(aside, fold->order_id) : order;
    mg_metric_add(aside->shared->series.refusals[refusal], 1);
    mg_log(is_news ? MG_LOG_WARN : MG_LOG_DEBUG,
           "the database refuses an order's rows; the order waits alone",
           MG_LOG_TEXT("order_id", fold->order_id), MG_LOG_TEXT("why", text));
    if (order != NULL) {
        order->is_trying = order->is_listed = false;
        order_note(order, fold, refusal, text);
        order->retry_boot_ms = mg_clock_boot_ms() + pause_ms(order);
        order->tries++;
    }
    for (int i = 0; i < batch->item_count; i++) {
        if (batch->items[i].fold == fold) {
            item_keep(aside, batch, order, &batch->items[i]);
        }
    }
    if (order != NULL && !order->is_asking) {
        look_up(order);
    }
}

/* It was read, or changed, or both. */
static void log_stored(struct mg_change_log *log, const struct mg_fold *fold)
{
    struct mg_changes changes;
    if (!fold->is_guessed) {
        changes = mg_changes_of_read();
        mg_change_log_add(log, &changes);
    }
    if (fold->write != NULL) {
        changes = mg_changes_of(fold->write);
        mg_change_log_add(log, &changes);
    }
}

void mg_aside_stored(struct mg_asides *aside, const struct mg_fold *fold)
{
    struct mg_aside_order *order = order_find(aside, fold->order_id);
    if (order == NULL) {
        log_stored(&aside->log, fold);
        return;
    }
    mg_log(MG_LOG_INFO, "the database takes an order's rows again", MG_LOG_TEXT("order_id", fold->order_id));
    order->is_trying = false;
    order->tries = 0;
    if (!order->is_asking && order->works.first == NULL) {
        order_drop(order);
    } else {
        order->retry_boot_ms = 0; /* causes beyond the size of a batch */
    }
}

/* An operator's command is answered and does not wait. So it is itself a try, if no cause waits for the next
 * one: it would be refused long after the lock's end. */
static bool is_a_try(const struct mg_aside_order *order, const struct mg_item *item)
{
    bool is_idle = order->works.first == NULL && !order->is_trying && !order->is_asking && !order->is_listed;
    return is_idle && item->command != NULL && order->retry_boot_ms <= mg_clock_boot_ms();
}

void mg_aside_join(struct mg_asides *aside, struct mg_batch *batch)
{
    int left = 0;
    for (int i = 0; i < batch->item_count; i++) {
        struct mg_item *item = &batch->items[i];
        struct mg_aside_order *order = order_find(aside, item->order_id);
        if (order != NULL && !is_a_try(order, item)) {
            item_keep(aside, batch, order, item);
        } else if (order == NULL && mg_set_aside_has(aside->set_aside, item->order_id)) {
            item_doubt(aside, batch, item);
        } else {
            batch->items[left++] = *item;
        }
    }
    batch->item_count = left;
}

static bool is_due(const struct mg_aside_order *order)
{
    return order->works.first != NULL && !order->is_asking && order->retry_boot_ms <= mg_clock_boot_ms();
}

bool mg_aside_is_due(const struct mg_asides *aside)
{
    const struct mg_aside_order *order;
    TAILQ_FOREACH(order, &aside->orders, entry)
    {
        if (is_due(order)) {
            return true;
        }
    }
    return false;
}

static bool is_patient(const struct mg_aside_order *order)
{
    return order->tries % MG_ASIDE_PATIENT_EACH == 0;
}

/* All orders with passing faults, or one other: its search costs some statements. */
int mg_aside_take(struct mg_asides *aside, struct mg_work **ret_works, int max)
{
    struct mg_aside_order *order;
    int count = 0;
    if (aside->was_last && !mg_inbox_is_empty(aside->inbox)) {
        aside->was_last = false;
        return 0;
    }
    TAILQ_FOREACH(order, &aside->orders, entry)
    {
        bool may_join =
            count == 0 || (order->refusal == MG_REFUSAL_PASSING && count < max && !is_patient(order));
        if (!is_due(order) || !may_join) {
            continue;
        }
        order->is_trying = true;
        while (count < max && order->works.first != NULL) {
            ret_works[count++] = work_pop(order);
        }
        aside->is_patient = is_patient(order);
        if (order->refusal != MG_REFUSAL_PASSING || aside->is_patient) {
            break;
        }
    }
    aside->was_last = count > 0;
    return count;
}

void mg_aside_tried(struct mg_asides *aside)
{
    struct mg_aside_order *order;
    TAILQ_FOREACH(order, &aside->orders, entry)
    {
        order->is_trying = false; /* neither stored nor refused: its works come back through the inbox */
    }
}

void mg_aside_look(struct mg_asides *aside)
{
    struct mg_aside_order *order, *next;
    for (order = TAILQ_FIRST(&aside->orders); order != NULL; order = next) {
        next = TAILQ_NEXT(order, entry);
        bool is_in_use = order->works.first != NULL || order->is_trying || order->is_asking;
        if (!is_in_use && mg_clock_boot_ms() - order->retry_boot_ms >= MG_ASIDE_FORGET_MS) {
            order_drop(order);
        }
    }
}

void mg_aside_give_back(struct mg_asides *aside)
{
    struct mg_aside_order *order;
    TAILQ_FOREACH(order, &aside->orders, entry)
    {
        struct mg_work *work;
        while ((work = work_pop(order)) != NULL) {
            if (work->delivery != NULL) {
                mg_consumed_drop(aside->inbox->consumed, work);
            } else {
                mg_work_settle(&aside->shared->works, work, MG_END_LEAVE);
            }
        }
    }
}

struct mg_slice mg_aside_account(struct mg_asides *aside)
{
    struct mg_buf *account = &aside->account;
    const struct mg_aside_order *order;
    if (account->max == 0) {
        mg_buf_init(account, (size_t)MG_ASIDE_ORDERS_MAX * MG_ASIDE_ACCOUNT_SIZE);
    }
    mg_buf_clear(account);
    struct mg_json_writer json = mg_json_compact(account);
    mg_json_array_begin(&json);
    TAILQ_FOREACH(order, &aside->orders, entry)
    {
        int64_t for_ms = mg_clock_boot_ms() - order->since_boot_ms;
        if (!is_waiting(order) || for_ms < MG_ASIDE_TOLD_AFTER_MS) {
            continue;
        }
        mg_json_element_object(&json);
        mg_json_member_string(&json, "order_id", order->order_id);
        mg_json_member_int(&json, "for_ms", for_ms);
        mg_json_member_string(&json, "reason", order->text);
        mg_json_object_end(&json);
    }
    mg_json_array_end(&json);
    return account->failed ? (struct mg_slice){0} : mg_buf_slice(account);
}

/* ---- the end of patience ---- */

static bool is_over(const struct mg_aside_order *order)
{
    /* The store's witness is read and is a new order; other changes it has not. */
    bool is_witnessed = order->is_read || order->is_new || has_witness(order);
    bool may_pass = order->refusal == MG_REFUSAL_PASSING || !is_witnessed;
    int64_t age_ms = mg_clock_boot_ms() - order->since_boot_ms;
    return may_pass ? order->tries >= MG_ASIDE_PASSING_TRIES && age_ms >= MG_ASIDE_PASSING_FOR_MS
                    : order->tries >= MG_ASIDE_LASTING_TRIES && age_ms >= MG_ASIDE_LASTING_FOR_MS;
}

/* The order is set aside: its messages are kept in dead.letters. */
static void order_end(struct mg_aside_order *order, const char *by, const char *reason)
{
    struct mg_asides *aside = order->aside;
    struct mg_work *work;
    mg_log(MG_LOG_ERROR, "an order is set aside; its messages are dead-lettered",
           MG_LOG_TEXT("order_id", order->order_id), MG_LOG_TEXT("by", by), MG_LOG_TEXT("why", reason));
    while ((work = work_pop(order)) != NULL) {
        work_end(aside, work);
    }
    order_drop(order);
}

static void order_leave(struct mg_aside_order *order)
{
    struct mg_work *work;
    while ((work = work_pop(order)) != NULL) {
        mg_work_settle(&order->aside->shared->works, work, MG_END_LEAVE);
    }
    order_drop(order);
}

static void on_set_aside(void *arg, bool changed, const struct mg_err *err)
{
    struct mg_aside_order *order = arg;
    order->is_asking = false;
    if (err != NULL) { /* at the next try again */
        mg_log(MG_LOG_WARN, "could not set an order aside", MG_LOG_TEXT("order_id", order->order_id),
               MG_LOG_TEXT("why", err->text));
        return;
    }
    if (changed) {
        char text[MG_REFUSAL_TEXT_SIZE + 64];
        snprintf(text, sizeof(text), "%s: %s", mg_alert_text(MG_ALERT_SET_ASIDE), order->text);
        mg_alert_tell(order->aside->alerts, MG_ALERT_SET_ASIDE, order->order_id, text);
    }
    order_end(order, order->aside->shared->options->instance, order->text);
}

static void on_looked_up(void *arg, const char *by, const char *reason, const struct mg_err *err)
{
    struct mg_aside_order *order = arg;
    struct mg_asides *aside = order->aside;
    order->is_asking = false;
    if (err == NULL && by != NULL) {
        order_end(order, by, reason);
    } else if (err != NULL && order->is_listed) { /* unknown: later, or another scheduler */
        order_leave(order);
    } else if (err == NULL && order->works.first != NULL && is_over(order) && crowd_count(order) == 0) {
        const struct mg_aside row = {
            .order_id = order->order_id, .by = aside->shared->options->instance, .reason = order->text};
        order->is_asking = true;
        mg_store_set_aside(aside->shared->store, &row, on_set_aside, order);
    }
    mg_scheduler_wake(aside->shared);
}

/* Whether it was set aside, here or elsewhere; orders that are not refused pay nothing for this. */
static void look_up(struct mg_aside_order *order)
{
    order->is_asking = true;
    mg_store_read_aside(order->aside->shared->store, order->order_id, on_looked_up, order);
}
