/*
 * The kinds of change in a write: a row inserted or updated, of its table, into its state, for its workflow
 * and step. A trigger, a constraint or a damaged index refuses kinds of change. So a write proves nothing
 * about one with other kinds: a new order is taken while no step can be done.
 */
#ifndef MG_SCHEDULER_CHANGE_H
#define MG_SCHEDULER_CHANGE_H

#include <stdbool.h>
#include <stdint.h>

struct mg_order_write;

/* A power of two. Two kinds in one slot would count as one: rare, since a write has a handful of kinds. */
#define MG_CHANGE_SLOTS 256

/* One bit for each slot. */
struct mg_changes {
    uint64_t bits[MG_CHANGE_SLOTS / 64];
};

/* By slot, when such a change was last stored, as a count of stored orders; 0: never. */
struct mg_change_log {
    uint64_t count, last[MG_CHANGE_SLOTS];
};

struct mg_changes mg_changes_of(const struct mg_order_write *write);
/* That rows can be read. */
struct mg_changes mg_changes_of_read(void);
void mg_change_log_add(struct mg_change_log *log, const struct mg_changes *changes);
/* Whether each of the kinds was stored after `since`, a count. */
bool mg_change_log_has(const struct mg_change_log *log, const struct mg_changes *changes, uint64_t since);

#endif
