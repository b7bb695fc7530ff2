/*
 * The parts of `top`: top.c reads, top_view.c judges, top_layout.c places the lines, top_curses.c draws on
 * the terminal. The two in the middle do no I/O: the same rows and the same size give the same lines.
 */
#ifndef MG_CLI_TOP_H
#define MG_CLI_TOP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cli.h"
#include "operator/alert_causes.h"

/* ---- data that was read ---- */

/* The fixed queues, and two for each of MG_TOP_SERVICES_MAX services. `service list` and the metrics cover
 * more. */
#define MG_TOP_SERVICES_MAX    64
#define MG_TOP_QUEUES_MAX      (8 + 2 * MG_TOP_SERVICES_MAX)
#define MG_TOP_QUEUE_NAME_SIZE 128
#define MG_TOP_FAULT_SIZE      MG_ERR_TEXT_MAX
#define MG_TOP_FIGURES_MAX     100000 /* the bound of MG_REPORT_FIGURES: at this count there may be more */
#define MG_TOP_READ_AGE_MAX_MS 5000   /* a database that is up answers a look well within this */

struct mg_top_queue {
    char name[MG_TOP_QUEUE_NAME_SIZE];
    int64_t messages, consumers; /* consumers -1: the queue does not exist */
};

struct mg_top_view {
    struct mg_table leader, services, processes, waiting; /* MG_REPORT_LEADER, _CONTROLLED, _PROCESSES,
                                                             _WAITING */
    struct mg_table accepted, figures, oldest, failures, causes,
        schedules;                                 /* counts over many rows, read less often */
    struct mg_top_queue queues[MG_TOP_QUEUES_MAX]; /* those that have answered */
    int queue_count;
    char store_fault[MG_TOP_FAULT_SIZE],
        broker_fault[MG_TOP_FAULT_SIZE]; /* why it cannot be used; "" if it can */
    bool is_broker_up;
    char read_fault[MG_TOP_FAULT_SIZE];  /* why the last look failed; "" if it succeeded */
    char count_fault[MG_TOP_FAULT_SIZE]; /* the same of the last count; looks without a count keep it */
    int64_t read_age_ms, count_age_ms;   /* since the last answers; below 0: no answer yet */
    bool has_rates;
    double accepted_per_s, ended_per_s;
};

/* ---- judgement: top_view.c ---- */

enum mg_top_list {
    MG_TOP_SERVICES,
    MG_TOP_FAILURES,
    MG_TOP_OLDEST,
    MG_TOP_ALERTS,
    MG_TOP_QUEUES,
    MG_TOP_LIST_COUNT
};
enum mg_top_tone { MG_TOP_PLAIN, MG_TOP_TITLE, MG_TOP_GOOD, MG_TOP_BAD, MG_TOP_NOTE };

/* Writes the faults, separated by "; ", the worst first. Returns their number; 0: all is well. */
int mg_top_judge(const struct mg_top_view *view, char *ret_text, size_t size);
/* The state of a service, by its row of `services` and by its queues. */
const char *mg_top_service_state(const struct mg_top_view *view, int row);
/* Open orders: all of them, or those in one state with the age of the oldest. */
int64_t mg_top_open(const struct mg_top_view *view);
int64_t mg_top_open_in(const struct mg_top_view *view, const char *state, int64_t *ret_oldest_ms);
/* The lists: number of rows, text of a column ("" beyond the last), tone of a row, and the verb for the
 * row's subject. */
int mg_top_row_count(const struct mg_top_view *view, enum mg_top_list list);
const char *mg_top_heading(enum mg_top_list list, int column); /* NULL: no such column */
void mg_top_cell(const struct mg_top_view *view, enum mg_top_list list, int row, int column, char *ret_text,
                 size_t size);
enum mg_top_tone mg_top_row_tone(const struct mg_top_view *view, enum mg_top_list list, int row);
void mg_top_hint(const struct mg_top_view *view, enum mg_top_list list, int row, char *ret_text, size_t size);
/* "7s", "3m02s", "2h05m", "4d03h". */
void mg_top_write_age(int64_t ms, char *ret_text, size_t size);

/* ---- layout: top_layout.c ---- */

#define MG_TOP_WIDTH_MAX 512 /* wider than any terminal in use */
#define MG_TOP_LINE_SIZE (4 * MG_TOP_WIDTH_MAX + 1)

enum mg_top_key {
    MG_TOP_KEY_NONE,
    MG_TOP_KEY_UP,
    MG_TOP_KEY_DOWN,
    MG_TOP_KEY_PAGE_UP,
    MG_TOP_KEY_PAGE_DOWN,
    MG_TOP_KEY_FIRST,
    MG_TOP_KEY_LAST,
    MG_TOP_KEY_NEXT_LIST,
    MG_TOP_KEY_PREVIOUS_LIST,
    MG_TOP_KEY_QUIT,
    MG_TOP_KEY_LIST_FIRST, /* + n: list n */
    MG_TOP_KEY_LIST_LAST = MG_TOP_KEY_LIST_FIRST + MG_TOP_LIST_COUNT - 1,
};

/* The size of the drawing area, and the operator's selection. */
struct mg_top_place {
    int width, height; /* height 0: unbounded, without a selection */
    enum mg_top_list list;
    int row;
};

/* Moves the selection. If the selected row is gone, the last row replaces it. */
void mg_top_move(const struct mg_top_view *view, struct mg_top_place *place, enum mg_top_key key);
/* Called once for each line, from row 0 on. Lines fit the width, and their number fits the height; a
 * character counts as one cell. `is_chosen`: the selected row. */
typedef void top_line_fn(void *arg, int row, enum mg_top_tone tone, bool is_chosen, const char *text);
void mg_top_lay_out(const struct mg_top_view *view, const struct mg_top_place *place, top_line_fn *put,
                    void *arg);

/* ---- the screen: top_curses.c ---- */

/* Whether standard input and output are a terminal with cursor addressing. */
bool mg_top_screen_is_there(void);
/* Takes the terminal; false: its type is unknown. After success the caller must call mg_top_screen_close
 * before the process ends. */
bool mg_top_screen_open(void);
void mg_top_screen_close(void);
int mg_top_screen_fd(void); /* readable when keys wait */
/* The next pending key; NONE: no more. QUIT also if the terminal is gone. */
enum mg_top_key mg_top_screen_key(void);
void mg_top_screen_measure(struct mg_top_place *ret_place); /* its current size */
void mg_top_screen_begin(void);
void mg_top_screen_put(void *arg, int row, enum mg_top_tone tone, bool is_chosen, const char *text);
void mg_top_screen_end(void);

#endif
