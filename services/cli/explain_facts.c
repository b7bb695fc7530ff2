/* Reads the facts for `order explain` that are not in the order's rows: the pause of its service, and the
 * state of a queue. */
#include <string.h>

#include "cli.h"
#include "operator/explain.h"

/* How long to wait for the broker's answer about a queue, once connected. */
#define LOOK_TIMEOUT_MS 3000
#define LOOK_PERIOD_MS  250

struct look {
    bool is_over;
    struct mg_explain_queue queue;
};

static void queue_seen(void *arg, const char *queue, int64_t ready_messages, int64_t consumers)
{
    struct look *look = arg;
    (void)queue;
    look->is_over = true;
    look->queue = (struct mg_explain_queue){ready_messages, consumers};
}

/* False: the broker has not answered. */
static bool queue_look(struct mg_cli *cli, const char *queue, struct mg_explain_queue *ret_queue)
{
    struct look look = {.is_over = false};
    const struct mg_broker_options options = {.consumer_count = 0};
    struct mg_err err;
    bool is_known =
        mg_cli_open_broker(cli, &options) == MG_EXIT_DONE &&
        mg_broker_watch_queue(cli->broker, queue, LOOK_PERIOD_MS, queue_seen, &look, &err) == MG_OK &&
        mg_cli_wait(cli, &look.is_over, LOOK_TIMEOUT_MS);
    if (cli->broker != NULL) { /* its callback uses `look` */
        mg_broker_destroy(cli->broker);
        cli->broker = NULL;
    }
    *ret_queue = look.queue;
    return is_known;
}

void mg_explain_order(struct mg_cli *cli, const struct mg_table *order, const struct mg_table *steps,
                      const struct mg_table *services, struct mg_slice definition, struct mg_buf *ret_text)
{
    char name[MG_QUEUE_NAME_SIZE];
    struct mg_table controlled = {0}, owed = {0};
    struct mg_explain_queue queue;
    const char *params[] = {mg_table_cell(order, 0, "order_id")};
    struct mg_explain_facts facts = {.order = order,
                                     .steps = steps,
                                     .services = services,
                                     .controlled = &controlled,
                                     .owed = &owed,
                                     .definition = definition};
    if (mg_explain_asks_controlled(steps)) { /* if this fails, the line does not name the operator */
        (void)mg_table_read(cli, MG_REPORT_CONTROLLED, NULL, 0, &controlled);
    }
    (void)mg_table_read(cli, MG_REPORT_ORDER_OWED, params, 1,
                        &owed); /* optional: the line works without them */
    if (mg_explain_asks_queue(order, steps, name) && queue_look(cli, name, &queue)) {
        facts.queue = &queue;
    }
    mg_explain_write(ret_text, &facts);
    mg_table_free(&controlled);
    mg_table_free(&owed);
}
