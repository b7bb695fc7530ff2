/*
 * The world around the runner of bulk actions: one bulk action in a table of the test's own, over the
 * fakes of clock, loop, log and broker. The test plays the schedulers' part.
 */
#ifndef MG_TESTS_OPERATOR_WORLD_H
#define MG_TESTS_OPERATOR_WORLD_H

#include <check.h>

#include "fake_broker.h"
#include "fake_clock.h"
#include "fake_log.h"
#include "fake_loop.h"
#include "io/store/bulk.h"
#include "operator/bulk_orders.h"
#include "wire/alert.h"

#define ORDERS   400
#define BULK_ID  "11111111-1111-5111-8111-111111111111"
#define OLDER_ID "00000000-0000-5000-8000-000000000000"
#define NOW_US   INT64_C(1750000000000000)
#define SENT_MAX 4000

struct fake_order {
    enum mg_bulk_result result;
    uint64_t version;
    enum mg_order_state state;
    char cause[MG_UUID_SIZE], text[64];
    int sent;
};

struct fake_world {
    /* the table */
    struct mg_bulk_row row;
    struct fake_order orders[ORDERS];
    int asked_to;
    bool is_ended;
    int looks, writes, keeps, tries;
    /* faults */
    bool is_store_up, is_broker_up, fails_look, fails_write, fails_keep, is_fenced, is_paused_meanwhile,
        is_held_by_other;
    const char *refusal; /* why its session can never lead */
    bool has_older;      /* another bulk action, looked at first, of which no write succeeds */
    bool is_turned;      /* an order that ends reaches the opposite of the requested end */
    /* the commands sent */
    struct mg_command sent[SENT_MAX];
    int sent_count;
    struct mg_alert_message alert;
    int alert_count, resigned;
    char why[400];
    /* the runner's */
    struct mg_store_options store;
    struct mg_command_client_options client;
};
extern struct fake_world fake;

void fake_begin(void);
int fake_count(enum mg_bulk_result result); /* the orders with this result */
/* The schedulers take every command that was sent, and have the order end so. */
void fake_end_all(enum mg_order_state state);
/* They answer the i-th command. */
void fake_answer(int i, enum mg_command_verdict verdict, uint64_t version, const char *text);

#endif
