/* The processes of an installation, by their heartbeats (MG_REPORT_PROCESSES), and the queues of new orders.
 */
#ifndef MG_CLI_PROCESSES_H
#define MG_CLI_PROCESSES_H

#include "cli.h"

bool mg_process_is_silent(const struct mg_table *processes, int row); /* and no other has replaced it */
bool mg_process_stands(const struct mg_table *processes, int row);
/* A supervisor or gateway moves, and has a reason: it lacks a right or a webhook's queue, for example. */
bool mg_process_lacks(const struct mg_table *processes, int row);
/* Why a scheduler that moves does not do all of its work, such as new orders, valid as long as the table; "":
 * all do. */
const char *mg_processes_hold(const struct mg_table *processes);
int mg_processes_seen(const struct mg_table *processes, const char *kind); /* those that are not silent */
/* For people: when it was seen last, and, if it is silent or stands, since when and why. */
void mg_process_write(const struct mg_table *processes, int row, char *ret_text, size_t size);

/* Orders that the database keeps waiting, by MG_REPORT_WAITING. For people: the first, since when, why, and
 * the remedy; "" without rows. */
#define MG_WAITING_TEXT_SIZE 768
void mg_waiting_write(const struct mg_table *waiting, char *ret_text, size_t size);

struct mg_intake {
    int64_t ready;     /* orders that no scheduler has taken */
    int64_t consumers; /* of the queue with fewer; below 0: one is missing */
};
bool mg_intake_ask(struct mg_cli *cli, struct mg_intake *ret_intake); /* false: the broker does not answer */

#endif
