/* See table_layout.h. */
#include "table_layout.h"

#include <string.h>

#include "base/print.h"

#define GAP            2  /* between columns */
#define TEXT_WIDTH_MIN 16 /* a shorter piece of a text is of no use */

/* Texts that may be cut. */
static const char *const TEXTS[] = {"text", "reason", "error", "title", "why", NULL};
/* Ids of orders, which a person copies into the next command. */
static const char *const IDS[] = {"order_id", "subject", "bulk_id", NULL};
/* Columns of words with colours. */
static const char *const STATES[] = {"state", "end", "last_end", "result", NULL};
/* Columns of little importance, the least important first. Where these do not do, the last column is left
 * out. */
static const char *const DISPENSABLE[] = {
    "version",     "workflow_version", "skipped",   "zone",       "next_local", "failure_count",
    "alert_id",    "obeying",          "capacity",  "rate_per_s", "by_whom",    "loaded_at",
    "archived_on", "on_timeout",       "signed_by", "example",    "asked_at",   "in_flight",
    "acked_by",    "concurrency",      "found_by",  "since",      "code",       "breakers_open",
    "oldest",      "created_at",       NULL};

/* Whether the column holds moments: its name says so, for an id may look like one. */
static bool is_time(const char *name)
{
    static const char *const times[] = {"since", "until", "oldest", "newest", NULL};
    static const char *const ends[] = {"_at", "_since", "_until", NULL};
    size_t len = strlen(name);
    bool is_one = mg_text_is_listed(times, name);
    for (int i = 0; ends[i] != NULL && !is_one; i++) {
        size_t end_len = strlen(ends[i]);
        is_one = len > end_len && strcmp(name + len - end_len, ends[i]) == 0;
    }
    return is_one;
}

static const char *name_of(const struct mg_layout *layout, int column)
{
    return layout->table->columns[layout->columns[column].index];
}

/* Row -1 is the heading. A word for nothing is no news. */
static const char *text_of(const struct mg_layout *layout, int column, int row, char ret_text[MG_STYLED_SIZE])
{
    const struct mg_table *table = layout->table;
    int index = layout->columns[column].index;
    const char *cell = row < 0 ? table->columns[index] : table->cells[row * table->column_count + index];
    if (row >= 0 && (cell == NULL || cell[0] == '\0' || strcmp(cell, "none") == 0)) {
        return "-";
    }
    if (row >= 0 && table->types != NULL && table->types[index] == MG_VALUE_BOOL) {
        return strcmp(cell, "t") == 0 ? "yes" : "no";
    }
    return row >= 0 && is_time(table->columns[index]) ? mg_style_time(layout->style, cell, ret_text) : cell;
}

static int width_of(const struct mg_layout *layout, int column)
{
    char text[MG_STYLED_SIZE];
    int widest = 0;
    for (int row = -1; row < layout->table->row_count; row++) {
        int width = mg_text_columns(mg_slice_of(text_of(layout, column, row, text)));
        widest = width > widest ? width : widest;
    }
    return widest;
}

static bool is_text(const struct mg_layout *layout, int column)
{
    return mg_text_is_listed(TEXTS, name_of(layout, column));
}

static int total_of(const struct mg_layout *layout, bool is_cut)
{
    int total = 0;
    for (int i = 0; i < layout->count; i++) {
        int width = layout->columns[i].width;
        total += is_cut && is_text(layout, i) && width > TEXT_WIDTH_MIN ? TEXT_WIDTH_MIN : width;
        total += i > 0 ? GAP : 0;
    }
    return total;
}

static void column_drop(struct mg_layout *layout, int column)
{
    layout->count--;
    memmove(&layout->columns[column], &layout->columns[column + 1],
            (size_t)(layout->count - column) * sizeof(layout->columns[0]));
}

/* The column to leave out next; 0: none, for the first one and the ids stay. */
static int dispensable_find(const struct mg_layout *layout)
{
    for (int i = 0; DISPENSABLE[i] != NULL; i++) {
        for (int column = layout->count - 1; column > 0; column--) {
            if (strcmp(name_of(layout, column), DISPENSABLE[i]) == 0) {
                return column;
            }
        }
    }
    int last = layout->count - 1;
    while (last > 0 && (is_text(layout, last) || mg_text_is_listed(IDS, name_of(layout, last)))) {
        last--;
    }
    for (int column = layout->count - 1; column > 0 && last == 0; column--) {
        last = is_text(layout, column) ? column : 0;
    }
    return last;
}

/* Cuts the widest of the texts, column by column of the terminal, until the row fits. */
static void texts_cut(struct mg_layout *layout, int columns)
{
    for (int over = total_of(layout, false) - columns; over > 0; over--) {
        int widest = -1;
        for (int i = 0; i < layout->count; i++) {
            bool may_shrink = is_text(layout, i) && layout->columns[i].width > TEXT_WIDTH_MIN;
            if (may_shrink && (widest < 0 || layout->columns[i].width > layout->columns[widest].width)) {
                widest = i;
            }
        }
        if (widest < 0) {
            return;
        }
        layout->columns[widest].width--;
    }
}

static void fit(struct mg_layout *layout, int columns)
{
    int column;
    while (total_of(layout, true) > columns && (column = dispensable_find(layout)) > 0) {
        column_drop(layout, column);
    }
    texts_cut(layout, columns);
}

static void column_add(struct mg_layout *layout, int index)
{
    if (layout->count < MG_LAYOUT_MAX) {
        layout->columns[layout->count++].index = index;
        layout->columns[layout->count - 1].width = width_of(layout, layout->count - 1);
    }
}

void mg_layout_make(const struct mg_table *table, const char *const *names, const struct mg_style *style,
                    struct mg_layout *ret)
{
    *ret = (struct mg_layout){.table = table, .style = style};
    for (int index = 0; names == NULL && index < table->column_count; index++) {
        column_add(ret, index);
    }
    for (int i = 0; names != NULL && names[i] != NULL; i++) {
        for (int index = 0; index < table->column_count; index++) {
            if (strcmp(table->columns[index], names[i]) == 0) {
                column_add(ret, index);
            }
        }
    }
    if (style->columns > 0) {
        fit(ret, style->columns);
    }
}

/* The bytes of the text that fill so many columns of the terminal. */
static size_t len_within(const char *text, int columns)
{
    size_t len = 0, step;
    while (text[len] != '\0') {
        step = mg_utf8_len(text + len, strlen(text + len));
        step = step > 0 ? step : 1;
        columns -= mg_text_columns((struct mg_slice){text + len, step});
        if (columns < 0) {
            break;
        }
        len += step;
    }
    return len;
}

static void cell_print(FILE *out, const struct mg_layout *layout, int column, int row)
{
    char buffer[MG_STYLED_SIZE];
    const char *text = text_of(layout, column, row, buffer);
    int width = layout->columns[column].width, columns = mg_text_columns(mg_slice_of(text));
    int missing = column + 1 < layout->count && columns < width ? width - columns : 0; /* none at the end */
    if (row < 0) {
        mg_hue_begin(out, layout->style, MG_HUE_FAINT);
        mg_print(out, "%s", text);
        mg_hue_end(out, layout->style, MG_HUE_FAINT);
    } else if (mg_text_is_listed(STATES, name_of(layout, column))) {
        mg_hue_print(out, layout->style, text, 0);
    } else if (columns > width) {
        mg_print(out, "%.*s…", (int)len_within(text, width - 1), text);
    } else {
        mg_print(out, "%s", text);
    }
    mg_print(out, "%*s", missing, "");
}

void mg_layout_print(FILE *out, const struct mg_layout *layout)
{
    for (int row = -1; row < layout->table->row_count; row++) {
        for (int column = 0; column < layout->count; column++) {
            mg_print(out, "%*s", column > 0 ? GAP : 0, "");
            cell_print(out, layout, column, row);
        }
        (void)fputs("\n", out);
    }
}
