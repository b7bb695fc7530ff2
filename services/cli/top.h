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

/* ---- data that was read ---- */

/* The fixed queues, and two for each of TOP_SERVICES_MAX services. `service list` and the metrics cover
 * more. */
#define TOP_SERVICES_MAX    64
#define TOP_QUEUES_MAX      (8 + 2 * TOP_SERVICES_MAX)
#define TOP_QUEUE_NAME_SIZE 128
#define TOP_FAULT_SIZE      MG_ERR_TEXT_MAX
#define TOP_FIGURES_MAX     100000 /* the bound of MG_REPORT_FIGURES: at this count there may be more */
#define TOP_READ_AGE_MAX_MS 5000   /* a database that is up answers a look well within this */

struct top_queue {
    char name[TOP_QUEUE_NAME_SIZE];
    int64_t messages, consumers; /* consumers -1: the queue does not exist */
};

struct top_view {
    struct table leader, services;                    /* MG_REPORT_LEADER, MG_REPORT_CONTROLLED */
    struct table accepted, figures, oldest, failures; /* counts over many rows, read more seldom */
    struct top_queue queues[TOP_QUEUES_MAX];          /* those that have answered */
    int queue_count;
    char store_fault[TOP_FAULT_SIZE], broker_fault[TOP_FAULT_SIZE]; /* why it cannot be used; "" if it can */
    bool is_broker_up;
    char read_fault[TOP_FAULT_SIZE];   /* why the last look failed; "" if it succeeded */
    char count_fault[TOP_FAULT_SIZE];  /* the same of the last count; looks without a count keep it */
    int64_t read_age_ms, count_age_ms; /* since the last answers; below 0: no answer yet */
    bool has_rates;
    double accepted_per_s, ended_per_s;
};

/* ---- judgement: top_view.c ---- */

enum top_list { TOP_SERVICES, TOP_FAILURES, TOP_OLDEST, TOP_ALERTS, TOP_QUEUES, TOP_LIST_COUNT };
enum top_tone { TOP_PLAIN, TOP_TITLE, TOP_GOOD, TOP_BAD, TOP_NOTE };

/* Writes the faults, separated by "; ", the worst first. Returns their number; 0: all is well. */
int top_judge(const struct top_view *view, char *ret_text, size_t size);
/* The state of a service, by its row of `services` and by its queues. */
const char *top_service_state(const struct top_view *view, int row);
/* Open orders: all of them, or those in one state with the age of the oldest. */
int64_t top_open(const struct top_view *view);
int64_t top_open_in(const struct top_view *view, const char *state, int64_t *ret_oldest_ms);
/* The lists: number of rows, text of a column ("" beyond the last), tone of a row, and the verb for the
 * row's subject. */
int top_row_count(const struct top_view *view, enum top_list list);
const char *top_heading(enum top_list list, int column); /* NULL: no such column */
void top_cell(const struct top_view *view, enum top_list list, int row, int column, char *ret_text,
              size_t size);
enum top_tone top_row_tone(const struct top_view *view, enum top_list list, int row);
void top_hint(const struct top_view *view, enum top_list list, int row, char *ret_text, size_t size);
/* "7s", "3m02s", "2h05m", "4d03h". */
void top_write_age(int64_t ms, char *ret_text, size_t size);

/* ---- layout: top_layout.c ---- */

#define TOP_WIDTH_MAX 512 /* wider than any terminal in use */
#define TOP_LINE_SIZE (4 * TOP_WIDTH_MAX + 1)

enum top_key {
    TOP_KEY_NONE,
    TOP_KEY_UP,
    TOP_KEY_DOWN,
    TOP_KEY_PAGE_UP,
    TOP_KEY_PAGE_DOWN,
    TOP_KEY_FIRST,
    TOP_KEY_LAST,
    TOP_KEY_NEXT_LIST,
    TOP_KEY_PREVIOUS_LIST,
    TOP_KEY_QUIT,
    TOP_KEY_LIST_FIRST, /* + n: list n */
    TOP_KEY_LIST_LAST = TOP_KEY_LIST_FIRST + TOP_LIST_COUNT - 1,
};

/* The size of the drawing area, and the operator's selection. */
struct top_place {
    int width, height; /* height 0: unbounded, without a selection */
    enum top_list list;
    int row;
};

/* Moves the selection. If the selected row is gone, the last row replaces it. */
void top_move(const struct top_view *view, struct top_place *place, enum top_key key);
/* Called once for each line, from row 0 on. Lines fit the width, and their number fits the height; a
 * character counts as one cell. `is_chosen`: the selected row. */
typedef void top_line_fn(void *arg, int row, enum top_tone tone, bool is_chosen, const char *text);
void top_lay_out(const struct top_view *view, const struct top_place *place, top_line_fn *put, void *arg);

/* ---- the screen: top_curses.c ---- */

/* Whether standard input and output are a terminal with cursor addressing. */
bool top_screen_is_there(void);
/* Takes the terminal; false: its type is unknown. After success the caller must call top_screen_close
 * before the process ends. */
bool top_screen_open(void);
void top_screen_close(void);
int top_screen_fd(void); /* readable when keys wait */
/* The next pending key; NONE: no more. QUIT also if the terminal is gone. */
enum top_key top_screen_key(void);
void top_screen_measure(struct top_place *ret_place); /* its current size */
void top_screen_begin(void);
void top_screen_put(void *arg, int row, enum top_tone tone, bool is_chosen, const char *text);
void top_screen_end(void);

#endif
