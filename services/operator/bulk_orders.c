/* See bulk_orders.h. */
#include "operator/bulk_orders.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/failpoint.h"

/* A command without an answer is sent again after RESEND_FIRST_MS; the wait doubles up to RESEND_MOST_MS.
 * Schedulers that are away for a day find some hundred copies of one command, and take the others for
 * duplicates. */
#define RESEND_FIRST_MS 2000
#define RESEND_MOST_MS  (10 * 60 * 1000)
#define TEXT_SIZE       200

struct mg_bulk_item {
    int64_t n;
    uint64_t version;
    char order_id[MG_ORDER_ID_MAX + 1], command_id[MG_UUID_SIZE];
    int64_t sent_boot_ms;             /* 0: not yet sent by this process */
    int64_t wait_ms;                  /* until the command is sent again */
    bool is_taken;                    /* the order has a newer version, by this command or by another cause */
    bool is_refused, is_inapplicable; /* the latter: by the order's state */
    char text[TEXT_SIZE];             /* why the command was refused */
};

bool mg_bulk_orders_init(struct mg_bulk_orders *orders)
{
    *orders = (struct mg_bulk_orders){.items = calloc(MG_BULK_UNDER_WAY_MAX, sizeof(*orders->items)),
                                      .before = calloc(MG_BULK_UNDER_WAY_MAX, sizeof(*orders->before)),
                                      .ended = calloc(MG_BULK_UNDER_WAY_MAX, sizeof(*orders->ended))};
    if (orders->items == NULL || orders->before == NULL || orders->ended == NULL) {
        mg_bulk_orders_finish(orders);
        return false;
    }
    return true;
}

void mg_bulk_orders_finish(struct mg_bulk_orders *orders)
{
    free(orders->items);
    free(orders->before);
    free(orders->ended);
    *orders = (struct mg_bulk_orders){.item_count = 0};
}

/* ---- rows of the latest look ---- */

static void item_init(struct mg_bulk_item *item, const struct mg_bulk_row *row,
                      const struct mg_bulk_order_row *order)
{
    char identity[MG_UUID_SIZE + MG_ORDER_ID_MAX + 32];
    int len = snprintf(identity, sizeof(identity), "%s.%s.%llu", row->bulk_id, order->order_id,
                       (unsigned long long)order->order.version);
    *item = (struct mg_bulk_item){.n = order->n, .version = order->order.version, .wait_ms = RESEND_FIRST_MS};
    (void)snprintf(item->order_id, sizeof(item->order_id), "%s", order->order_id);
    /* The former name of bulk actions: commands that are under way during the upgrade must keep their ids. */
    mg_uuid_derived(mg_slice_of("batch"), (struct mg_slice){identity, (size_t)len}, item->command_id);
}

static const char *text_of(struct mg_bulk_item *item, const struct mg_bulk_order *order,
                           enum mg_bulk_result result, const char *otherwise)
{
    if (item->is_refused && !item->is_taken) {
        return item->text;
    }
    if (result == MG_BULK_RESULT_FAILED && order->state == MG_ORDER_ERROR && otherwise[0] != '\0') {
        (void)snprintf(item->text, sizeof(item->text), MG_BULK_OTHERWISE "%s", otherwise);
        mg_utf8_mend(item->text); /* the cut may split a character */
        return item->text;
    }
    return result == MG_BULK_RESULT_SKIPPED     ? "the order has changed since the bulk action was started"
           : result != MG_BULK_RESULT_FAILED    ? ""
           : order->state == MG_ORDER_ERROR     ? "in error again"
           : order->state == MG_ORDER_PROCESSED ? "the order was processed"
                                                : "the order was compensated or cancelled";
}

static void item_judge(struct mg_bulk_orders *orders, struct mg_bulk_item *item,
                       const struct mg_bulk_order_row *row)
{
    struct mg_bulk_order order = row->order;
    order.is_ours = strcmp(row->cause, item->command_id) == 0;
    order.is_refused = item->is_refused;
    order.is_inapplicable = item->is_inapplicable;
    item->is_taken = order.order_version > order.version;
    enum mg_bulk_result result = mg_bulk_judge(&order);
    if (result != MG_BULK_RESULT_ASKED) {
        orders->ended[orders->ended_count++] =
            (struct mg_bulk_ended){item->n, result, text_of(item, &order, result, row->otherwise)};
    }
}

/* Orders that the look before also held keep their state: when their command was sent, and a refusal. */
void mg_bulk_orders_take(struct mg_bulk_orders *orders, int bulk, const struct mg_bulk_look *looked)
{
    struct mg_bulk_item *before = orders->items;
    int before_count = orders->item_count, old = 0;
    orders->items = orders->before;
    orders->before = before;
    orders->item_count = orders->ended_count = 0;
    orders->row = looked->rows[bulk];
    orders->row.bulk.untaken = 0;
    for (int i = 0; i < looked->order_count && orders->item_count < MG_BULK_UNDER_WAY_MAX; i++) {
        const struct mg_bulk_order_row *row = &looked->orders[i];
        if (row->bulk != bulk) {
            continue;
        }
        struct mg_bulk_item *item = &orders->items[orders->item_count++];
        while (old < before_count && before[old].n < row->n) {
            old++;
        }
        if (old < before_count && before[old].n == row->n) {
            *item = before[old];
        } else {
            item_init(item, &orders->row, row);
        }
        item_judge(orders, item, row);
        orders->row.bulk.untaken += !item->is_taken && !item->is_refused;
    }
}

/* ---- commands and answers ---- */

static bool is_due(const struct mg_bulk_item *item)
{
    return !item->is_taken && !item->is_refused &&
           (item->sent_boot_ms == 0 || mg_clock_boot_ms() - item->sent_boot_ms >= item->wait_ms);
}

static void item_send(const struct mg_bulk_row *row, struct mg_bulk_item *item,
                      struct mg_command_client *client)
{
    struct mg_command command = {.kind = row->verb, .version = item->version};
    struct mg_err err;
    (void)snprintf(command.command_id, sizeof(command.command_id), "%s", item->command_id);
    (void)snprintf(command.order_id, sizeof(command.order_id), "%s", item->order_id);
    (void)snprintf(command.by, sizeof(command.by), "%s", row->by);
    (void)snprintf(command.reason, sizeof(command.reason), "%.400s (bulk action %s)", row->reason,
                   row->bulk_id);
    if (mg_command_client_send(client, &command, &err) != MG_OK) {
        return;
    }
    MG_FAILPOINT(BULK_SENT);
    if (item->sent_boot_ms != 0) {
        item->wait_ms = item->wait_ms * 2 < RESEND_MOST_MS ? item->wait_ms * 2 : RESEND_MOST_MS;
    }
    item->sent_boot_ms = mg_clock_boot_ms();
}

void mg_bulk_orders_send(struct mg_bulk_orders *orders, struct mg_command_client *client)
{
    for (int i = 0; i < orders->item_count; i++) {
        if (is_due(&orders->items[i])) {
            item_send(&orders->row, &orders->items[i], client);
        }
    }
}

/* Only a refusal is recorded here, because no table holds it. Accepted commands, and orders at a newer
 * version, appear in the next look. A command for an order that waits for the database is sent again soon: it
 * was answered, so no copies of it pile up. */
static void item_answer(struct mg_bulk_item *item, const struct mg_command_result *result)
{
    bool is_old = result->verdict == MG_COMMAND_CONFLICT && result->version != item->version;
    if (result->may_pass) {
        item->wait_ms = RESEND_FIRST_MS;
    }
    if (result->verdict == MG_COMMAND_DONE || is_old || result->may_pass) {
        return;
    }
    item->is_refused = true;
    item->is_inapplicable = result->verdict == MG_COMMAND_CONFLICT;
    (void)snprintf(item->text, sizeof(item->text), "%s: %.150s", mg_command_verdict_name(result->verdict),
                   result->text);
    mg_utf8_mend(item->text); /* the cut may split a character */
}

bool mg_bulk_orders_answer(struct mg_bulk_orders *orders, const struct mg_command_result *result)
{
    for (int i = 0; i < orders->item_count; i++) {
        if (strcmp(orders->items[i].command_id, result->command_id) == 0) {
            item_answer(&orders->items[i], result);
            return true;
        }
    }
    return false;
}

void mg_bulk_orders_forget_sent(struct mg_bulk_orders *orders)
{
    for (int i = 0; i < orders->item_count; i++) {
        orders->items[i].sent_boot_ms = 0;
        orders->items[i].wait_ms = RESEND_FIRST_MS;
    }
}
