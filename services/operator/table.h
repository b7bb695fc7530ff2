/*
 * Rows of a report kept beyond their callback, as texts: for the tool and for the console, which show the
 * same things. Columns are known by their names, as the reports give them (io/store/store.h).
 */
#ifndef MG_OPERATOR_TABLE_H
#define MG_OPERATOR_TABLE_H

#include <stdbool.h>

#include "base/buf.h"
#include "io/store/store.h"

struct table {
    int row_count, column_count;
    char **columns; /* names */
    char **cells;   /* row_count * column_count; NULL: SQL NULL */
};

/* Copies of rows; `is_for_people`: made plain. False: no memory; what was copied is there to be freed. */
bool table_keep(struct table *ret_table, const struct mg_rows *rows, bool is_for_people);
void table_free(struct table *table);
/* "" if NULL or no such column or row */
const char *table_cell(const struct table *table, int row, const char *column);
/* Another text in a cell; nothing happens where there is no such column. False: no memory. */
bool table_put(struct table *table, int row, const char *column, const char *text);
/* One row as a JSON object of texts and null; cells of the columns named in `raw` (NULL-ended; NULL: none)
 * are JSON already. */
void table_append_object(struct mg_buf *buf, const struct table *table, int row, const char *const *raw);
void table_append_array(struct mg_buf *buf, const struct table *table, const char *const *raw);

/* How many of `len` bytes of UTF-8, at least one, make up a character that would steer a terminal or, as a
 * mark of direction does, make a line read as another; 0: this one does not. Line ends and tabs do not. */
size_t text_steers(const char *text, size_t len);
/* Strangers' texts, in place, for a terminal: blanks for line ends and tabs, dots for what would steer it.
 * Rows that are read for people have gone through it. */
void text_make_plain(char *text);
/* Whether a NULL-ended list of names has it; NULL is an empty one. */
bool text_is_listed(const char *const *names, const char *name);

#endif
