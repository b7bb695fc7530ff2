/*
 * The parts of `top`: what was read (top.c), what it means (top_view.c), where it stands on a screen
 * (top_layout.c), and the screen itself (top_curses.c). The two in the middle read nothing and draw nothing:
 * the same rows and the same size give the same lines.
 */
#ifndef MG_CLI_TOP_H
#define MG_CLI_TOP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cli.h"

/* ---- what was read ---- */

/* The fixed queues, and two for each of so many services; more are seen by `service list` and by metrics. */
#define TOP_SERVICES_MAX    64
#define TOP_QUEUES_MAX      (8 + 2 * TOP_SERVICES_MAX)
#define TOP_QUEUE_NAME_SIZE 128
#define TOP_FAULT_SIZE      MG_ERR_TEXT_MAX
#define TOP_FIGURES_MAX     100000 /* as MG_REPORT_FIGURES says: who has so many may have more */
#define TOP_READ_AGE_MAX_MS 5000   /* a database that is there answers a look well within this */
#define TOP_OWED_AGE_MAX_MS 60000  /* a status that is owed for longer has a client that is gone */

struct top_queue {
    char name[TOP_QUEUE_NAME_SIZE];
    int64_t messages, consumers; /* consumers -1: there is no such queue */
};

struct top_view {
    struct table leader, services;                    /* MG_REPORT_LEADER, MG_REPORT_CONTROLLED */
    struct table accepted, figures, oldest, failures; /* counted over many rows: read more seldom */
    struct top_queue queues[TOP_QUEUES_MAX];          /* those that have answered */
    int queue_count;
    char store_fault[TOP_FAULT_SIZE], broker_fault[TOP_FAULT_SIZE]; /* why it cannot be used; "": it can */
    bool is_broker_up;
    char read_fault[TOP_FAULT_SIZE];   /* why the last look got no answer; "": it did */
    char count_fault[TOP_FAULT_SIZE];  /* the same of the last count, which looks in between leave as it is */
    int64_t read_age_ms, count_age_ms; /* since the last answers; below 0: there was none yet */
    bool has_rates;
    double accepted_per_s, ended_per_s;
};

/* ---- what it means: top_view.c ---- */

enum top_list { TOP_SERVICES, TOP_FAILURES, TOP_OLDEST, TOP_ALERTS, TOP_QUEUES, TOP_LIST_COUNT };
enum top_tone { TOP_PLAIN, TOP_TITLE, TOP_GOOD, TOP_BAD, TOP_NOTE };

/* Why it is not well, parted by "; ", the worst first; returns how many reasons there are. */
int top_judge(const struct top_view *view, char *ret_text, size_t size);
/* How a service is, by its row of `services` and by its queues. */
const char *top_service_state(const struct top_view *view, int row);
/* Open orders: all, those in one state, and how old the oldest of them is. */
int64_t top_open(const struct top_view *view);
int64_t top_open_in(const struct top_view *view, const char *state, int64_t *ret_oldest_ms);
/* The lists: how many rows, what stands in a column ("" beyond the last), how it is to be seen, and the verb
 * that says or does more about a row. */
int top_row_count(const struct top_view *view, enum top_list list);
const char *top_heading(enum top_list list, int column); /* NULL: there is no such column */
void top_cell(const struct top_view *view, enum top_list list, int row, int column, char *ret_text,
              size_t size);
enum top_tone top_row_tone(const struct top_view *view, enum top_list list, int row);
void top_hint(const struct top_view *view, enum top_list list, int row, char *ret_text, size_t size);
/* "7s", "3m02s", "2h05m", "4d03h". */
void top_write_age(int64_t ms, char *ret_text, size_t size);

/* ---- where it stands: top_layout.c ---- */

#define TOP_WIDTH_MAX 512 /* wider than any terminal that somebody reads */
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

/* The size of what is drawn on, and what a person has chosen there. */
struct top_place {
    int width, height; /* height 0: as high as it needs to be, and nobody chooses anything */
    enum top_list list;
    int row;
};

/* Moves the choice; a row that is gone by now gives way to the last one. */
void top_move(const struct top_view *view, struct top_place *place, enum top_key key);
/* Each line once, from row 0 on, no wider and no more than fit (a character counts as one cell). `is_chosen`:
 * the row that the keys act on. */
typedef void top_line_fn(void *arg, int row, enum top_tone tone, bool is_chosen, const char *text);
void top_lay_out(const struct top_view *view, const struct top_place *place, top_line_fn *put, void *arg);

/* ---- the screen: top_curses.c ---- */

/* Whether standard input and output are a terminal that can place text. */
bool top_screen_is_there(void);
/* Takes the terminal; false: nothing is known of its kind. Whoever took it gives it back before the process
 * ends. */
bool top_screen_open(void);
void top_screen_close(void);
int top_screen_fd(void); /* readable when keys wait */
/* The next key that waits; NONE: there is no more. QUIT also when the terminal is gone. */
enum top_key top_screen_key(void);
void top_screen_measure(struct top_place *ret_place); /* its size now */
void top_screen_begin(void);
void top_screen_put(void *arg, int row, enum top_tone tone, bool is_chosen, const char *text);
void top_screen_end(void);

#endif
