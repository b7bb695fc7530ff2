/* Why an order is where it is, in one line: what it waits for, until when, and who could move it. */
#include <string.h>

#include "cli.h"
#include "core/words.h"
#include "io/topology.h"

static bool is_word(const char *a, const char *b)
{
    return strcmp(a, b) == 0;
}

static const char *reason_text(const char *word)
{
    enum mg_reason reason = MG_REASON_NONE;
    return mg_reason_parse(word, strlen(word), &reason) ? mg_reason_text(reason) : word;
}

static void queue_of(const struct table *order, const char *service, char queue[MG_QUEUE_NAME_SIZE])
{
    mg_topology_request_queue(service, is_word(table_cell(order, 0, "is_high"), "t"), queue);
}

static void breaker_print(FILE *out, const struct table *services, const char *service)
{
    for (int row = 0; row < services->row_count; row++) {
        if (is_word(table_cell(services, row, "service"), service) &&
            !is_word(table_cell(services, row, "breaker"), "closed")) {
            (void)fprintf(out, "; agent %s reports breaker %s: %s", table_cell(services, row, "instance"),
                          table_cell(services, row, "breaker"), table_cell(services, row, "reason"));
            return;
        }
    }
}

/* Who wanted it, if somebody did. */
static void pause_print(struct cli *cli, FILE *out, const char *service)
{
    struct table controlled = {0};
    if (table_read(cli, MG_REPORT_CONTROLLED, NULL, 0, &controlled) == EXIT_DONE) {
        for (int row = 0; row < controlled.row_count; row++) {
            if (is_word(table_cell(&controlled, row, "service"), service) &&
                is_word(table_cell(&controlled, row, "state"), "paused")) {
                (void)fprintf(out, "; paused by %s: %s", table_cell(&controlled, row, "by_whom"),
                              table_cell(&controlled, row, "reason"));
            }
        }
    }
    table_free(&controlled);
}

/* How long to wait for the broker's word about a queue, once it is connected. */
#define LOOK_TIMEOUT_MS 3000
#define LOOK_PERIOD_MS  250

struct look {
    bool is_over;
    int64_t ready, consumers;
};

static void queue_seen(void *arg, const char *queue, int64_t ready_messages, int64_t consumers)
{
    struct look *look = arg;
    (void)queue;
    look->is_over = true;
    look->ready = ready_messages;
    look->consumers = consumers;
}

/* A request that has gone out may lie in a queue that nobody reads; only the broker knows. */
static void queue_print(struct cli *cli, FILE *out, const char *queue)
{
    struct look look = {.is_over = false};
    const struct mg_broker_options options = {.consumer_count = 0};
    struct mg_err err;
    if (cli_open_broker(cli, &options) == EXIT_DONE &&
        mg_broker_watch_queue(cli->broker, queue, LOOK_PERIOD_MS, queue_seen, &look, &err) == MG_OK &&
        cli_wait(cli, &look.is_over, LOOK_TIMEOUT_MS)) {
        if (look.consumers < 0) {
            (void)fprintf(out, "; there is no queue %s; run: makegood broker apply", queue);
        } else if (look.consumers == 0) {
            (void)fprintf(out, "; no agent consumes queue %s, in which %lld requests lie", queue,
                          (long long)look.ready);
        }
    }
    if (cli->broker != NULL) { /* its callback knows `look` */
        mg_broker_destroy(cli->broker);
        cli->broker = NULL;
    }
}

static void step_print(struct cli *cli, FILE *out, const struct table *order, const struct table *steps,
                       int row, const struct table *services)
{
    const char *state = table_cell(steps, row, "state");
    const char *service = table_cell(steps, row, "service");
    const char *reason = table_cell(steps, row, "reason");
    char queue[MG_QUEUE_NAME_SIZE];
    queue_of(order, service, queue);
    (void)fprintf(out, "step %s ", table_cell(steps, row, "step"));
    if (is_word(state, "running") || is_word(state, "undo_running")) {
        (void)fprintf(out, "runs attempt %s (%s) at service %s until %s, through queue %s",
                      table_cell(steps, row, "attempt"), table_cell(steps, row, "kind"), service,
                      table_cell(steps, row, "complete_by"), queue);
        queue_print(cli, out, queue);
    } else if (is_word(reason, "no_consumer")) {
        (void)fprintf(out, "waits: no agent consumes queue %s; start an agent for service %s", queue,
                      service);
    } else if (table_cell(steps, row, "due_at")[0] != '\0') {
        (void)fprintf(out, "for service %s waits until %s: %s (failures %s)", service,
                      table_cell(steps, row, "due_at"), reason_text(reason),
                      table_cell(steps, row, "failure_count"));
    } else {
        (void)fprintf(out, "for service %s is %s: %s", service, state, reason_text(reason));
    }
    breaker_print(out, services, service);
    if (is_word(reason, "service_paused")) {
        pause_print(cli, out, service);
    }
}

/* The step that matters most: one that needs a person, then one that waits, then one that runs. */
static int step_choose(const struct table *steps)
{
    static const char *const order[] = {"undo_failed",  "failed",       "unknown",      "waiting",
                                        "undo_waiting", "undo_pending", "undo_running", "running"};
    for (size_t i = 0; i < sizeof(order) / sizeof(order[0]); i++) {
        for (int row = 0; row < steps->row_count; row++) {
            if (is_word(table_cell(steps, row, "state"), order[i])) {
                return row;
            }
        }
    }
    return -1;
}

void explain_print(struct cli *cli, FILE *out, const struct table *order, const struct table *steps,
                   const struct table *services)
{
    const char *state = table_cell(order, 0, "state");
    int row = step_choose(steps);
    (void)fprintf(out, "order %s is %s", table_cell(order, 0, "order_id"), state);
    if (is_word(state, "error")) {
        (void)fprintf(out, ": %s", reason_text(table_cell(order, 0, "reason")));
        if (row >= 0) {
            (void)fprintf(out, "; step %s is %s: %s", table_cell(steps, row, "step"),
                          table_cell(steps, row, "state"), table_cell(steps, row, "error_text"));
        }
        (void)fprintf(out, "; a person must resume, settle, skip, compensate or restart it");
    } else if (is_word(state, "processed") || is_word(state, "compensated") || is_word(state, "cancelled")) {
        const char *reason = reason_text(table_cell(order, 0, "reason"));
        const char *archived_on = table_cell(order, 0, "archived_on");
        (void)fprintf(out, "%s%s: it has ended", reason[0] != '\0' ? ", because " : "", reason);
        if (archived_on[0] != '\0') {
            (void)fprintf(out, ", and was archived on %s: it can be read, and not be changed", archived_on);
        }
    } else if (row >= 0) {
        (void)fprintf(out, ": ");
        step_print(cli, out, order, steps, row, services);
    } else {
        (void)fprintf(out, ": nothing has been sent yet; the supervisor looks at it at %s",
                      table_cell(order, 0, "wake_at"));
    }
    (void)fputc('\n', out);
}
