/* A table from text to whatever the owner keeps under it. Nothing is ever taken out; what was put in comes
 * back in the order in which it was. */
#ifndef SIM_TABLE_H
#define SIM_TABLE_H

#include "base/buf.h"

struct sim_entry {
    struct sim_entry *next; /* of the same hash */
    char *key;
    void *value; /* the owner's */
};

struct sim_table {
    struct sim_entry **heads;
    size_t head_count;
    struct sim_entry **entries; /* by age */
    size_t count, room;
};

/* The entry of `key`; NULL: there is none. */
struct sim_entry *sim_table_find(const struct sim_table *table, struct mg_slice key);
/* The same, made with a NULL value if there is none. */
struct sim_entry *sim_table_put(struct sim_table *table, struct mg_slice key);

#endif
