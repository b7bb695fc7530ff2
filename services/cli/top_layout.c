/*
 * Places the contents of `top` on a screen. The head shows the verdict and the numbers of orders. The lists
 * follow: all of them if two rows of each fit, else the selected one. The last line names the verb for the
 * selected row.
 */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "core/words.h"
#include "top.h"

#define CELL_SIZE     512
#define CELL_MAX      40 /* the most cells of a column that is not the last */
#define HEAD_MAX      7
#define LISTS_AT_ONCE (3 * MG_TOP_LIST_COUNT) /* a heading and two rows of each */

struct drawing {
    const struct mg_top_view *view;
    const struct mg_top_place *place;
    top_line_fn *put;
    void *arg;
    int row, end; /* the current line, and the first one beyond the area */
};

/* ---- text by cells ---- */

static bool is_continuation(char byte)
{
    return ((unsigned char)byte & 0xc0) == 0x80;
}

static int cells_of(const char *text)
{
    int cells = 0;
    for (; *text != '\0'; text++) {
        cells += !is_continuation(*text);
    }
    return cells;
}

/* The number of bytes of the text that fill `cells` cells. */
static size_t bytes_within(const char *text, int cells)
{
    size_t len = 0;
    while (text[len] != '\0' && (cells > 0 || is_continuation(text[len]))) {
        cells -= !is_continuation(text[len]);
        len++;
    }
    return len;
}

/* A line under construction; text beyond its width is dropped. */
struct line {
    char text[MG_TOP_LINE_SIZE];
    size_t len;
    int cells, width;
};

static void line_begin(struct line *line, int width)
{
    line->len = 0;
    line->cells = 0;
    line->width = width < MG_TOP_WIDTH_MAX ? width : MG_TOP_WIDTH_MAX;
    line->text[0] = '\0';
}

static void line_add(struct line *line, const char *text)
{
    int room = line->width - line->cells;
    size_t len = bytes_within(text, room);
    assert(line->len + len < sizeof(line->text));
    memcpy(line->text + line->len, text, len);
    line->len += len;
    line->text[line->len] = '\0';
    line->cells += cells_of(text) < room ? cells_of(text) : room;
}

static void line_fill_to(struct line *line, int cells)
{
    while (line->cells < cells && line->cells < line->width) {
        line_add(line, " ");
    }
}

/* Adds the text at the right end of the screen, if it fits with a blank before it. On an unbounded area it
 * follows the line. */
static void line_add_right(struct line *line, const struct mg_top_place *place, const char *text)
{
    if (place->height == 0) {
        line_add(line, "  ");
        line_add(line, text);
        return;
    }
    int begin = line->width - cells_of(text);
    if (begin > line->cells + 1) {
        line_fill_to(line, begin);
        line_add(line, text);
    }
}

static void line_put(struct drawing *drawing, enum mg_top_tone tone, bool is_chosen, const struct line *line)
{
    if (drawing->row < drawing->end) {
        drawing->put(drawing->arg, drawing->row++, tone, is_chosen, line->text);
    }
}

/* ---- the head ---- */

static void verdict_put(struct drawing *drawing)
{
    const struct mg_top_view *view = drawing->view;
    struct line line;
    struct mg_alert_causes causes;
    char reasons[MG_TOP_WIDTH_MAX], age[24], when[64];
    const char *now = mg_table_cell(&view->accepted, 0, "now");
    int wrong = mg_top_judge(view, reasons, sizeof(reasons));
    line_begin(&line, drawing->place->width);
    line_add(&line, wrong > 0 ? "NOT WELL: " : view->read_age_ms < 0 ? "looking" : "well");
    line_add(&line, reasons);
    mg_alert_causes_count(&view->causes, &causes);
    if (causes.known > 0) {
        line_add(&line, wrong > 0 ? "; " : ", ");
        line_add(&line, causes.known_text);
    }
    mg_top_write_age(view->count_age_ms, age, sizeof(age));
    (void)snprintf(when, sizeof(when), "%.8s UTC%s%s%s", strlen(now) > 19 ? now + 11 : "", /* 12:34:56 */
                   view->count_age_ms >= 2000 ? ", " : "", view->count_age_ms >= 2000 ? age : "",
                   view->count_age_ms >= 2000 ? " ago" : "");
    line_add_right(&line, drawing->place, now[0] != '\0' ? when : "");
    line_put(drawing,
             wrong > 0               ? MG_TOP_BAD
             : view->read_age_ms < 0 ? MG_TOP_PLAIN
                                     : MG_TOP_GOOD,
             false, &line);
}

static void orders_put(struct drawing *drawing)
{
    const struct mg_top_view *view = drawing->view;
    struct line line;
    char text[160];
    int64_t open = mg_top_open(view);
    line_begin(&line, drawing->place->width);
    (void)snprintf(text, sizeof(text), "orders  %lld%s open", (long long)open,
                   open >= MG_TOP_FIGURES_MAX ? " or more" : "");
    line_add(&line, view->count_age_ms < 0 ? "orders  not yet counted" : text);
    if (view->has_rates) {
        (void)snprintf(text, sizeof(text), ", %.1f/s accepted, %.1f/s ended", view->accepted_per_s,
                       view->ended_per_s);
        line_add(&line, text);
    }
    line_put(drawing, MG_TOP_PLAIN, false, &line);
}

static void states_put(struct drawing *drawing)
{
    struct line line;
    const char *before = "states  ";
    line_begin(&line, drawing->place->width);
    for (int i = 0; i < MG_ORDER_STATE_COUNT; i++) {
        if (mg_order_state_is_terminal((enum mg_order_state)i)) {
            continue;
        }
        char text[128], age[24];
        int64_t oldest_ms;
        const char *state = mg_order_state_name((enum mg_order_state)i);
        long long count = (long long)mg_top_open_in(drawing->view, state, &oldest_ms);
        mg_top_write_age(oldest_ms, age, sizeof(age));
        (void)snprintf(text, sizeof(text), "%s%s %lld%s%s%s", before, state, count, count > 0 ? " (" : "",
                       count > 0 ? age : "", count > 0 ? ")" : "");
        line_add(&line, text);
        before = "  ";
    }
    line_put(drawing, MG_TOP_PLAIN, false, &line);
}

static void alerts_put(struct drawing *drawing)
{
    struct line line;
    int kinds = mg_top_row_count(drawing->view, MG_TOP_ALERTS);
    line_begin(&line, drawing->place->width);
    line_add(&line, kinds > 0 ? "alerts" : "alerts  none open");
    for (int i = 0; i < kinds; i++) {
        char number[24], word[64], text[128];
        mg_top_cell(drawing->view, MG_TOP_ALERTS, i, 0, number, sizeof(number));
        mg_top_cell(drawing->view, MG_TOP_ALERTS, i, 2, word, sizeof(word));
        (void)snprintf(text, sizeof(text), "  %s %s", word, number);
        line_add(&line, text);
    }
    line_put(drawing, MG_TOP_PLAIN, false, &line);
}

static void leader_put(struct drawing *drawing)
{
    const struct mg_table *leader = &drawing->view->leader;
    struct line line;
    char text[400];
    line_begin(&line, drawing->place->width);
    if (mg_table_cell(leader, 0, "holder")[0] == '\0') {
        line_add(&line, "leader  none");
    } else {
        (void)snprintf(text, sizeof(text), "leader  %s, epoch %s, seen %s ms ago",
                       mg_table_cell(leader, 0, "holder"), mg_table_cell(leader, 0, "epoch"),
                       mg_table_cell(leader, 0, "age_ms"));
        line_add(&line, text);
    }
    line_put(drawing, MG_TOP_PLAIN, false, &line);
}

static void servers_put(struct drawing *drawing)
{
    const struct mg_top_view *view = drawing->view;
    struct line line;
    char text[80];
    line_begin(&line, drawing->place->width);
    (void)snprintf(text, sizeof(text), "servers database %s, broker %s",
                   view->store_fault[0] == '\0' ? "answers" : "away",
                   view->broker_fault[0] != '\0' ? "away"
                   : view->is_broker_up          ? "answers"
                                                 : "not yet connected");
    line_add(&line, text);
    line_put(drawing, MG_TOP_PLAIN, false, &line);
}

/* ", 1 late (nightly)", if there is one. */
static bool some_add(struct line *line, const struct mg_table *schedules, const char *count, const char *name,
                     const char *what)
{
    char text[128];
    bool is_some = strtoll(mg_table_cell(schedules, 0, count), NULL, 10) > 0;
    (void)snprintf(text, sizeof(text), ", %s %s (%s)", mg_table_cell(schedules, 0, count), what,
                   mg_table_cell(schedules, 0, name));
    line_add(line, is_some ? text : "");
    return is_some;
}

/* Without a schedule there is no line. */
static void schedules_put(struct drawing *drawing)
{
    const struct mg_table *schedules = &drawing->view->schedules;
    struct line line;
    if (strtoll(mg_table_cell(schedules, 0, "schedules"), NULL, 10) == 0) {
        return;
    }
    line_begin(&line, drawing->place->width);
    line_add(&line, "schedules  ");
    line_add(&line, mg_table_cell(schedules, 0, "schedules"));
    bool is_late = some_add(&line, schedules, "late", "late_name", "late");
    bool is_missed = some_add(&line, schedules, "missed", "missed_name", "without an order for a slot");
    bool is_unloaded = some_add(&line, schedules, "unloaded", "unloaded_name", "without a workflow");
    (void)some_add(&line, schedules, "paused", "paused_name", "paused");
    line_put(drawing, is_late || is_missed || is_unloaded ? MG_TOP_BAD : MG_TOP_PLAIN, false, &line);
}

/* ---- the lists ---- */

static int column_width(const struct mg_top_view *view, enum mg_top_list list, int column)
{
    int width = cells_of(mg_top_heading(list, column));
    for (int row = 0; row < mg_top_row_count(view, list); row++) {
        char cell[CELL_SIZE];
        mg_top_cell(view, list, row, column, cell, sizeof(cell));
        int cells = cells_of(cell);
        width = cells > width ? cells : width;
    }
    return width < CELL_MAX ? width : CELL_MAX;
}

/* The begin and width of each column; no list has more columns than this. */
#define COLUMNS_MAX 10

struct columns {
    int count, begin[COLUMNS_MAX], width[COLUMNS_MAX];
};

static void columns_measure(const struct mg_top_view *view, enum mg_top_list list, struct columns *ret)
{
    int begin = 0;
    ret->count = 0;
    while (ret->count < COLUMNS_MAX && mg_top_heading(list, ret->count) != NULL) {
        int column = ret->count++;
        ret->begin[column] = begin;
        ret->width[column] = column_width(view, list, column);
        begin += ret->width[column] + 2;
    }
}

static void cell_put(struct line *line, const struct columns *columns, int column, char *text)
{
    bool is_last = column == columns->count - 1; /* it may fill the rest of the line */
    if (!is_last) {
        text[bytes_within(text, columns->width[column])] = '\0';
    }
    line_fill_to(line, columns->begin[column]);
    line_add(line, text);
}

static void heading_put(struct drawing *drawing, enum mg_top_list list, const struct columns *columns)
{
    struct line line;
    char text[64];
    int rows = mg_top_row_count(drawing->view, list);
    bool is_chosen = drawing->place->height > 0 && drawing->place->list == list;
    line_begin(&line, drawing->place->width);
    for (int column = 0; column < (rows > 0 ? columns->count : 1); column++) {
        (void)snprintf(text, sizeof(text), "%s", mg_top_heading(list, column));
        cell_put(&line, columns, column, text);
    }
    if (rows == 0) {
        line_add(&line, "  none");
    }
    line_put(drawing, MG_TOP_TITLE, is_chosen && rows == 0, &line);
}

static void row_put(struct drawing *drawing, enum mg_top_list list, int row, const struct columns *columns,
                    bool is_chosen)
{
    struct line line;
    char cell[CELL_SIZE];
    line_begin(&line, drawing->place->width);
    for (int column = 0; column < columns->count; column++) {
        mg_top_cell(drawing->view, list, row, column, cell, sizeof(cell));
        cell_put(&line, columns, column, cell);
    }
    line_put(drawing, mg_top_row_tone(drawing->view, list, row), is_chosen, &line);
}

static int row_chosen(const struct mg_top_view *view, const struct mg_top_place *place)
{
    int last = mg_top_row_count(view, place->list) - 1;
    return place->row < last ? place->row : last > 0 ? last : 0;
}

/* Prints a list with at most `room` rows: the first ones, or those up to the selected row. */
static void list_put(struct drawing *drawing, enum mg_top_list list, int room)
{
    const struct mg_top_place *place = drawing->place;
    int rows = mg_top_row_count(drawing->view, list);
    bool has_choice = place->height > 0 && place->list == list;
    int chosen = has_choice ? row_chosen(drawing->view, place) : 0;
    int first = chosen >= room ? chosen - room + 1 : 0;
    struct columns columns;
    columns_measure(drawing->view, list, &columns);
    heading_put(drawing, list, &columns);
    for (int row = first; row < rows && row < first + room; row++) {
        row_put(drawing, list, row, &columns, has_choice && row == chosen);
    }
}

/* If not all rows fit, each list gets two rows, and the selected list the rest. */
static void lists_put_all(struct drawing *drawing, int room)
{
    int wanted[MG_TOP_LIST_COUNT], left = room - MG_TOP_LIST_COUNT;
    for (int i = 0; i < MG_TOP_LIST_COUNT; i++) {
        int rows = mg_top_row_count(drawing->view, (enum mg_top_list)i);
        wanted[i] = rows < 2 ? rows : 2;
        left -= wanted[i];
    }
    for (int i = 0; i < MG_TOP_LIST_COUNT; i++) { /* from the selected list on */
        int list = ((int)drawing->place->list + i) % MG_TOP_LIST_COUNT;
        int more = mg_top_row_count(drawing->view, (enum mg_top_list)list) - wanted[list];
        more = more < left ? more : left;
        wanted[list] += more > 0 ? more : 0;
        left -= more > 0 ? more : 0;
    }
    for (int i = 0; i < MG_TOP_LIST_COUNT; i++) {
        list_put(drawing, (enum mg_top_list)i, wanted[i]);
    }
}

static void hint_put(struct drawing *drawing)
{
    static const char *const keys[] = {"tab: list  arrows: row  q: end", "q: end"};
    const struct mg_top_place *place = drawing->place;
    struct line line;
    char hint[256], text[300];
    mg_top_hint(drawing->view, place->list, row_chosen(drawing->view, place), hint, sizeof(hint));
    (void)snprintf(text, sizeof(text), "> %s", hint);
    line_begin(&line, place->width);
    line_add(&line, text);
    int room = place->width - line.cells - 2;
    line_add_right(&line, place, keys[cells_of(keys[0]) <= room ? 0 : 1]);
    drawing->end = place->height;
    drawing->row = place->height - 1;
    line_put(drawing, MG_TOP_NOTE, false, &line);
}

/* The number of lines of the head. A screen of ten lines still has room for a heading, three rows and the
 * hint. */
static int head_height(int height)
{
    int lines = height - 5;
    return lines < 1 ? 1 : lines > HEAD_MAX ? HEAD_MAX : lines;
}

void mg_top_lay_out(const struct mg_top_view *view, const struct mg_top_place *place, top_line_fn *put,
                    void *arg)
{
    static void (*const head[HEAD_MAX])(struct drawing *) = {
        verdict_put, orders_put, states_put, alerts_put, leader_put, servers_put, schedules_put};
    bool is_bounded = place->height > 0;
    struct drawing drawing = {view, place, put, arg, 0, is_bounded ? place->height : INT32_MAX};
    int head_lines = is_bounded ? head_height(place->height) : HEAD_MAX;
    for (int i = 0; i < head_lines; i++) {
        head[i](&drawing);
    }
    if (!is_bounded) {
        for (int i = 0; i < MG_TOP_LIST_COUNT; i++) {
            list_put(&drawing, (enum mg_top_list)i, mg_top_row_count(view, (enum mg_top_list)i));
        }
        return;
    }
    drawing.end = place->height - 1;
    int room = drawing.end - drawing.row;
    if (room >= LISTS_AT_ONCE) {
        lists_put_all(&drawing, room);
    } else if (room > 0) {
        list_put(&drawing, place->list, room - 1);
    }
    if (place->height > 1) {
        hint_put(&drawing);
    }
}

/* ---- selection ---- */

void mg_top_move(const struct mg_top_view *view, struct mg_top_place *place, enum mg_top_key key)
{
    int last = mg_top_row_count(view, place->list) - 1;
    int page = place->height > 1 ? place->height / 2 : 1;
    int row = row_chosen(view, place);
    switch (key) {
    case MG_TOP_KEY_UP:
        row -= 1;
        break;
    case MG_TOP_KEY_DOWN:
        row += 1;
        break;
    case MG_TOP_KEY_PAGE_UP:
        row -= page;
        break;
    case MG_TOP_KEY_PAGE_DOWN:
        row += page;
        break;
    case MG_TOP_KEY_FIRST:
        row = 0;
        break;
    case MG_TOP_KEY_LAST:
        row = last;
        break;
    case MG_TOP_KEY_NEXT_LIST:
    case MG_TOP_KEY_PREVIOUS_LIST:
        place->list = (enum mg_top_list)(
            ((int)place->list + (key == MG_TOP_KEY_NEXT_LIST ? 1 : MG_TOP_LIST_COUNT - 1)) %
            MG_TOP_LIST_COUNT);
        place->row = 0;
        return;
    case MG_TOP_KEY_LIST_FIRST:
    case MG_TOP_KEY_LIST_LAST:
    case MG_TOP_KEY_NONE:
    case MG_TOP_KEY_QUIT:
        break;
    }
    if (key >= MG_TOP_KEY_LIST_FIRST && key <= MG_TOP_KEY_LIST_LAST) {
        place->list = (enum mg_top_list)(key - MG_TOP_KEY_LIST_FIRST);
        place->row = 0;
        return;
    }
    row = row < last ? row : last;
    place->row = row > 0 ? row : 0;
}
