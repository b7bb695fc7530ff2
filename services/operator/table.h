/*
 * Copies of report rows, as texts, that outlive the report's callback. The tool and the console show the same
 * reports. Columns are found by the names that the reports give them (io/store/store.h).
 */
#ifndef MG_OPERATOR_TABLE_H
#define MG_OPERATOR_TABLE_H

#include <stdbool.h>

#include "base/json_write.h"
#include "io/store/store.h"

struct mg_table {
    int row_count, column_count;
    char **columns; /* names */
    /* Of the columns, as the report declares them; NULL: all are texts. Cells stay PostgreSQL's texts. */
    enum mg_value_type *types;
    char **cells; /* row_count * column_count; NULL: SQL NULL */
};

/* Copies the rows. If `is_for_people`, the texts go through mg_text_make_plain. False: out of memory; the
 * caller frees the part that was copied. */
bool mg_table_keep(struct mg_table *ret_table, const struct mg_rows *rows, bool is_for_people);
void mg_table_free(struct mg_table *table);
/* Moves the rows of `from` after those of `to` (empty at first), with their first `column_count` columns. A
 * row whose first cell is SQL NULL stays. False: out of memory; nothing was moved. */
bool mg_table_move(struct mg_table *to, struct mg_table *from, int column_count);
/* "" for SQL NULL, an unknown column or an unknown row; -1 is one. */
const char *mg_table_cell(const struct mg_table *table, int row, const char *column);
/* Replaces the text of a cell; an unknown column is ignored. False: out of memory. */
bool mg_table_put(struct mg_table *table, int row, const char *column, const char *text);
/* Adds an empty row; -1: out of memory. */
int mg_table_row_add(struct mg_table *table);
/* Writes one row as a JSON object. Each member has the form of its column's type; SQL NULL is null, so every
 * member is there. JSON keeps its bytes. In the columns named in `quoted` (NULL-ended; NULL: none) it becomes
 * a string, for readers that would turn 14.00 into 14. */
void mg_table_write_object(struct mg_json_writer *json, const struct mg_table *table, int row,
                           const char *const *quoted);
/* The same, into an object that has begun. */
void mg_table_write_members(struct mg_json_writer *json, const struct mg_table *table, int row);
/* Writes all rows, each on a line. */
void mg_table_write_array(struct mg_json_writer *json, const struct mg_table *table,
                          const char *const *quoted);

/* Writes the orders of a page (MG_REPORT_ORDERS), each on a line, without the columns of the page. */
void mg_table_write_orders(struct mg_json_writer *json, const struct mg_table *table);

/* Whether the NULL-ended list contains `name`; a NULL list is empty. */
bool mg_text_is_listed(const char *const *names, const char *name);

#endif
