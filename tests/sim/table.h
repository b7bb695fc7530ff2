/* A table from text to a value of the owner. Entries are never removed; they are listed in the order of their
 * insertion. */
#ifndef SIM_TABLE_H
#define SIM_TABLE_H

#include "base/buf.h"

struct sim_entry {
    struct sim_entry *next; /* of the same hash */
    char *key;
    void *value; /* belongs to the owner */
};

struct sim_table {
    struct sim_entry **heads;
    size_t head_count;
    struct sim_entry **entries; /* by age */
    size_t count, room;
};

uint64_t sim_hash(struct mg_slice key); /* FNV-1a */
/* The entry of `key`; NULL: there is none. */
struct sim_entry *sim_table_find(const struct sim_table *table, struct mg_slice key);
/* The same; creates an entry with a NULL value if there is none. */
struct sim_entry *sim_table_put(struct sim_table *table, struct mg_slice key);

#endif
