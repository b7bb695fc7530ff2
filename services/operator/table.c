/* See table.h. */
#include "operator/table.h"

#include <stdlib.h>
#include <string.h>

bool mg_table_keep(struct mg_table *table, const struct mg_rows *rows, bool is_for_people)
{
    int row_count = mg_rows_count(rows);
    int column_count = mg_rows_column_count(rows);
    size_t cell_count = (size_t)row_count * (size_t)column_count;
    table->columns = calloc((size_t)column_count + 1, sizeof(char *));
    table->cells = calloc(cell_count + 1, sizeof(char *));
    table->types = calloc((size_t)column_count + 1, sizeof(*table->types));
    if (table->columns == NULL || table->cells == NULL || table->types == NULL) {
        return false;
    }
    table->row_count = row_count;
    table->column_count = column_count;
    for (int column = 0; column < column_count; column++) {
        table->columns[column] = strdup(mg_rows_column(rows, column));
        table->types[column] = mg_rows_type(rows, column);
        if (table->columns[column] == NULL) {
            return false;
        }
        for (int row = 0; row < row_count; row++) {
            struct mg_slice value = mg_rows_value(rows, row, column);
            char **cell = &table->cells[row * column_count + column];
            *cell = value.data != NULL ? strndup(value.data, value.len) : NULL;
            if (value.data != NULL && *cell == NULL) {
                return false;
            }
            if (*cell != NULL && is_for_people) {
                mg_text_make_plain(*cell);
            }
        }
    }
    return true;
}

static void head_move(struct mg_table *to, struct mg_table *from, int column_count)
{
    to->columns = from->columns;
    to->types = from->types;
    to->column_count = column_count;
    for (int column = column_count; column < from->column_count; column++) {
        free(from->columns[column]);
    }
    from->columns = NULL;
    from->types = NULL;
}

bool mg_table_move(struct mg_table *to, struct mg_table *from, int column_count)
{
    size_t rows = (size_t)to->row_count + (size_t)from->row_count;
    char **cells = realloc(to->cells, (rows * (size_t)column_count + 1) * sizeof(char *));
    if (cells == NULL) {
        return false;
    }
    to->cells = cells;
    for (int row = 0; row < from->row_count; row++) {
        char **cell = &from->cells[row * from->column_count];
        if (cell[0] == NULL) {
            continue;
        }
        memcpy(&cells[to->row_count * column_count], cell, (size_t)column_count * sizeof(char *));
        memset(cell, 0, (size_t)column_count * sizeof(char *));
        to->row_count++;
    }
    if (to->columns == NULL) {
        head_move(to, from, column_count);
    }
    return true;
}

void mg_table_free(struct mg_table *table)
{
    for (int i = 0; i < table->row_count * table->column_count; i++) {
        free(table->cells[i]);
    }
    for (int i = 0; table->columns != NULL && i < table->column_count; i++) {
        free(table->columns[i]);
    }
    free(table->cells);
    free(table->columns);
    free(table->types);
    *table = (struct mg_table){0};
}

static int column_find(const struct mg_table *table, const char *name)
{
    for (int i = 0; i < table->column_count; i++) {
        if (strcmp(table->columns[i], name) == 0) {
            return i;
        }
    }
    return -1;
}

const char *mg_table_cell(const struct mg_table *table, int row, const char *column)
{
    int found = column_find(table, column);
    if (found < 0 || row < 0 || row >= table->row_count) {
        return "";
    }
    const char *cell = table->cells[row * table->column_count + found];
    return cell != NULL ? cell : "";
}

bool mg_table_put(struct mg_table *table, int row, const char *column, const char *text)
{
    int found = column_find(table, column);
    if (found < 0 || row >= table->row_count) {
        return true;
    }
    char *copy = strdup(text), **cell = &table->cells[row * table->column_count + found];
    if (copy == NULL) {
        return false;
    }
    free(*cell);
    *cell = copy;
    return true;
}

int mg_table_row_add(struct mg_table *table)
{
    size_t columns = (size_t)table->column_count, count = columns * (size_t)table->row_count;
    char **cells = realloc(table->cells, (count + columns + 1) * sizeof(char *));
    if (cells == NULL) {
        return -1;
    }
    memset(cells + count, 0, columns * sizeof(char *));
    table->cells = cells;
    return table->row_count++;
}

bool mg_text_is_listed(const char *const *names, const char *name)
{
    for (int i = 0; names != NULL && names[i] != NULL; i++) {
        if (strcmp(names[i], name) == 0) {
            return true;
        }
    }
    return false;
}

/* PostgreSQL's Infinity and NaN are no numbers in JSON. */
static bool is_number(const char *text)
{
    text += *text == '-';
    return *text >= '0' && *text <= '9';
}

static void value_write(struct mg_json_writer *json, enum mg_value_type type, const char *name,
                        const char *cell)
{
    switch (type) {
    case MG_VALUE_NUMBER:
        mg_json_member_raw(json, name, mg_slice_of(is_number(cell) ? cell : "null"));
        break;
    case MG_VALUE_BOOL:
        mg_json_member_bool(json, name, strcmp(cell, "t") == 0);
        break;
    case MG_VALUE_JSON:
        mg_json_member_raw(json, name, mg_slice_of(cell));
        break;
    case MG_VALUE_TEXT:
        mg_json_member_string(json, name, cell);
        break;
    }
}

static void members_write(struct mg_json_writer *json, const struct mg_table *table, int row,
                          int column_count, const char *const *quoted)
{
    for (int column = 0; column < column_count; column++) {
        const char *cell = table->cells[row * table->column_count + column];
        const char *name = table->columns[column];
        bool is_text = table->types == NULL || mg_text_is_listed(quoted, name);
        if (cell == NULL) {
            mg_json_member_null(json, name);
        } else {
            value_write(json, is_text ? MG_VALUE_TEXT : table->types[column], name, cell);
        }
    }
}

/* The first `column_count` columns of a row. */
static void row_write(struct mg_json_writer *json, const struct mg_table *table, int row, int column_count,
                      const char *const *quoted)
{
    mg_json_object_begin(json);
    members_write(json, table, row, column_count, quoted);
    mg_json_object_end(json);
}

void mg_table_write_members(struct mg_json_writer *json, const struct mg_table *table, int row)
{
    members_write(json, table, row, table->column_count, NULL);
}

void mg_table_write_object(struct mg_json_writer *json, const struct mg_table *table, int row,
                           const char *const *quoted)
{
    row_write(json, table, row, table->column_count, quoted);
}

static void element_begin(struct mg_json_writer *json)
{
    mg_json_wrap(json, "\n ");
    mg_json_element(json);
}

void mg_table_write_array(struct mg_json_writer *json, const struct mg_table *table,
                          const char *const *quoted)
{
    mg_json_array_begin(json);
    for (int row = 0; row < table->row_count; row++) {
        element_begin(json);
        mg_table_write_object(json, table, row, quoted);
    }
    mg_json_array_end(json);
}

void mg_table_write_orders(struct mg_json_writer *json, const struct mg_table *table)
{
    int listed = MG_ORDERS_LISTED_COLUMNS;
    int column_count = table->column_count < listed ? table->column_count : listed;
    mg_json_array_begin(json);
    for (int row = 0; row < table->row_count; row++) {
        if (table->cells[row * table->column_count] != NULL) { /* else the page alone */
            element_begin(json);
            row_write(json, table, row, column_count, NULL);
        }
    }
    mg_json_array_end(json);
}
