/* See processes.h. */
#include "processes.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "io/amqp/topology.h"

/* Two heartbeats are missing (io/vitals.h). */
#define SILENT_MS 10000

static int64_t cell_ms(const struct mg_table *processes, int row, const char *column)
{
    return strtoll(mg_table_cell(processes, row, column), NULL, 10);
}

static bool is_of(const struct mg_table *processes, int row, const char *kind)
{
    return strcmp(mg_table_cell(processes, row, "kind"), kind) == 0;
}

bool mg_process_is_silent(const struct mg_table *processes, int row)
{
    return cell_ms(processes, row, "age_ms") > SILENT_MS;
}

bool mg_process_stands(const struct mg_table *processes, int row)
{
    return mg_table_cell(processes, row, "stands_since")[0] != '\0';
}

static bool is_moving(const struct mg_table *processes, int row)
{
    return !mg_process_is_silent(processes, row) && !mg_process_stands(processes, row);
}

bool mg_process_lacks(const struct mg_table *processes, int row)
{
    bool may_lack = is_of(processes, row, "supervisor") || is_of(processes, row, "gateway");
    return may_lack && is_moving(processes, row) && mg_table_cell(processes, row, "reason")[0] != '\0';
}

const char *mg_processes_hold(const struct mg_table *processes)
{
    const char *reason = "";
    for (int row = 0; row < processes->row_count && reason[0] == '\0'; row++) {
        bool is_held = is_of(processes, row, "scheduler") && is_moving(processes, row);
        reason = is_held ? mg_table_cell(processes, row, "reason") : "";
    }
    return reason;
}

int mg_processes_seen(const struct mg_table *processes, const char *kind)
{
    int seen = 0;
    for (int row = 0; row < processes->row_count; row++) {
        seen += is_of(processes, row, kind) && !mg_process_is_silent(processes, row) ? 1 : 0;
    }
    return seen;
}

void mg_process_write(const struct mg_table *processes, int row, char *ret_text, size_t size)
{
    const char *instance = mg_table_cell(processes, row, "instance"),
               *order_id = mg_table_cell(processes, row, "oldest_order"),
               *reason = mg_table_cell(processes, row, "reason");
    if (mg_process_is_silent(processes, row) && is_of(processes, row, "agent")) {
        (void)snprintf(
            ret_text, size,
            "%s last reported %" PRId64 " s ago, with %s calls under way: it is frozen, killed, cut "
            "off, the broker takes none of its replies, or another session locks its row in service_state, which "
            "the schedulers' log names; see its /readyz and log, then: makegood broker apply --service %.*s",
            instance, cell_ms(processes, row, "age_ms") / 1000, mg_table_cell(processes, row, "in_hand"),
            (int)strcspn(instance, "/"), instance);
    } else if (mg_process_is_silent(processes, row)) {
        (void)snprintf(
            ret_text, size,
            "%s was last seen %" PRId64 " s ago, with %s messages in hand: it is frozen, killed or "
            "cut off; end it, so that others get its messages, and start it again",
            instance, cell_ms(processes, row, "age_ms") / 1000, mg_table_cell(processes, row, "in_hand"));
    } else if (mg_process_stands(processes, row)) {
        (void)snprintf(ret_text, size, "%s does not move since %s, with %s messages in hand%s%s%s%s",
                       instance, mg_table_cell(processes, row, "stands_since"),
                       mg_table_cell(processes, row, "in_hand"), order_id[0] != '\0' ? ", order " : "",
                       order_id, reason[0] != '\0' ? ": " : "", reason);
    } else {
        (void)snprintf(ret_text, size, "%s was seen %" PRId64 " ms ago%s%s", instance,
                       cell_ms(processes, row, "age_ms"), reason[0] != '\0' ? ": " : "", reason);
    }
}

void mg_waiting_write(const struct mg_table *waiting, char *ret_text, size_t size)
{
    ret_text[0] = '\0';
    if (waiting->row_count > 0) {
        const char *held_by = mg_table_cell(waiting, 0, "held_by");
        bool is_locked = held_by[0] != '\0';
        (void)snprintf(ret_text, size, "order %s waits since %s: %s%s", mg_table_cell(waiting, 0, "order_id"),
                       mg_table_cell(waiting, 0, "since"), is_locked ? "locked by " : "",
                       is_locked ? held_by : mg_table_cell(waiting, 0, "reason"));
    }
}

bool mg_intake_ask(struct mg_cli *cli, struct mg_intake *ret_intake)
{
    static const char *const QUEUES[] = {MG_QUEUE_INTAKE, MG_QUEUE_INTAKE_HIGH};
    *ret_intake = (struct mg_intake){.consumers = INT64_MAX};
    for (size_t i = 0; i < sizeof(QUEUES) / sizeof(QUEUES[0]); i++) {
        struct mg_service_queues queue;
        struct mg_err err;
        if (mg_topology_ask_queue(&cli->options.broker, QUEUES[i], &queue, &err) != MG_OK) {
            return false;
        }
        ret_intake->ready += queue.ready;
        ret_intake->consumers =
            queue.consumers < ret_intake->consumers ? queue.consumers : ret_intake->consumers;
    }
    return true;
}
