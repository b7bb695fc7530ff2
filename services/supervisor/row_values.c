/* Values of a report's rows. */
#include <stdio.h>
#include <stdlib.h>

#include "supervisor.h"

void mg_supervisor_row_text(const struct mg_rows *rows, int row, int column, char *ret_text, size_t size)
{
    struct mg_slice value = mg_rows_value(rows, row, column);
    (void)snprintf(ret_text, size, "%.*s", (int)value.len, value.data != NULL ? value.data : "");
}

double mg_supervisor_row_number(const struct mg_rows *rows, int row, int column)
{
    char text[64]; /* longer than any number in PostgreSQL's answers to these reports */
    mg_supervisor_row_text(rows, row, column, text, sizeof(text));
    return strtod(text, NULL);
}
