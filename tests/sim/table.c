/* See table.h. */
#include "table.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

uint64_t sim_hash(struct mg_slice key)
{
    uint64_t hash = UINT64_C(0xcbf29ce484222325); /* FNV-1a */
    for (size_t i = 0; i < key.len; i++) {
        hash = (hash ^ (uint8_t)key.data[i]) * UINT64_C(0x100000001b3);
    }
    return (size_t)(hash ^ hash >> 32);
}

struct sim_entry *sim_table_find(const struct sim_table *table, struct mg_slice key)
{
    if (table->count == 0) {
        return NULL;
    }
    struct sim_entry *entry = table->heads[sim_hash(key) % table->head_count];
    while (entry != NULL && !mg_slice_is(key, entry->key)) {
        entry = entry->next;
    }
    return entry;
}

static void grow(struct sim_table *table)
{
    table->room = table->room == 0 ? 256 : 2 * table->room;
    table->entries = realloc(table->entries, table->room * sizeof(struct sim_entry *));
    free(table->heads);
    table->head_count = 2 * table->room;
    table->heads = calloc(table->head_count, sizeof(struct sim_entry *));
    assert(table->entries != NULL && table->heads != NULL);
    for (size_t i = 0; i < table->count; i++) {
        struct sim_entry *entry = table->entries[i];
        struct sim_entry **head = &table->heads[sim_hash(mg_slice_of(entry->key)) % table->head_count];
        entry->next = *head;
        *head = entry;
    }
}

struct sim_entry *sim_table_put(struct sim_table *table, struct mg_slice key)
{
    struct sim_entry *entry = sim_table_find(table, key);
    if (entry != NULL) {
        return entry;
    }
    if (table->count == table->room) {
        grow(table);
    }
    entry = calloc(1, sizeof(*entry));
    assert(entry != NULL);
    entry->key = strndup(key.data, key.len);
    struct sim_entry **head = &table->heads[sim_hash(key) % table->head_count];
    entry->next = *head;
    *head = entry;
    table->entries[table->count++] = entry;
    return entry;
}
