/* Rows of an answer, by row and column from 0. */
#ifndef MG_IO_PG_ROWS_H
#define MG_IO_PG_ROWS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"

struct mg_rows;

int mg_rows_count(const struct mg_rows *rows);
int mg_rows_column_count(const struct mg_rows *rows);
const char *mg_rows_column(const struct mg_rows *rows, int column);

/* The form of a column's values in JSON, by its type in the statement. Moments are formatted by the
 * statement, so they are texts. */
enum mg_value_type { MG_VALUE_TEXT, MG_VALUE_NUMBER, MG_VALUE_BOOL, MG_VALUE_JSON };
enum mg_value_type mg_rows_type(const struct mg_rows *rows, int column);

/* As text; a NULL value is an absent slice. */
struct mg_slice mg_rows_value(const struct mg_rows *rows, int row, int column);

/* A NULL value reads as 0, false, "". */
int64_t mg_rows_int(const struct mg_rows *rows, int row, int column);
bool mg_rows_bool(const struct mg_rows *rows, int row, int column);
bool mg_rows_is_null(const struct mg_rows *rows, int row, int column);
/* Copies a bytea of exactly `size` bytes into `ret_bytes`; false if it is NULL or of another size. */
bool mg_rows_bytes(const struct mg_rows *rows, int row, int column, uint8_t *ret_bytes, size_t size);
void mg_rows_copy(const struct mg_rows *rows, int row, int column, char *ret_text, size_t size);

#endif
