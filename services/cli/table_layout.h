/*
 * The columns of a printed table: which are shown, how wide, and with which text. On a terminal a row has one
 * line: long texts are cut, then the columns of least importance are left out. An id is never cut.
 */
#ifndef MG_CLI_TABLE_LAYOUT_H
#define MG_CLI_TABLE_LAYOUT_H

#include "operator/table.h"
#include "tty_style.h"

#define MG_LAYOUT_MAX 64 /* columns of any report */

struct mg_layout {
    const struct mg_table *table;
    const struct mg_style *style;
    int count;
    struct mg_layout_column {
        int index; /* in the table */
        int width; /* in columns of the terminal */
    } columns[MG_LAYOUT_MAX];
};

/* `names` selects and orders the columns, and ends with NULL; NULL: all. Table and style are borrowed. */
void mg_layout_make(const struct mg_table *table, const char *const *names, const struct mg_style *style,
                    struct mg_layout *ret);
/* Prints the heading and the rows; on a terminal no line is longer than it is wide. */
void mg_layout_print(FILE *out, const struct mg_layout *layout);

#endif
