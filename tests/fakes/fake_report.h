/*
 * Reports of a store. Kept: each question with its parameters; answers come later, the oldest question first,
 * and never twice. Not kept: SQL, order of columns, the time that an answer takes; an on_ask that answers at
 * once, which the real store never does.
 */
#ifndef MG_TESTS_FAKE_REPORT_H
#define MG_TESTS_FAKE_REPORT_H

#include <stdbool.h>

#include "io/store/store.h"

#define FAKE_REPORTS_MAX       8 /* open at once */
#define FAKE_REPORT_PARAMS_MAX 8

/* The cells of a report, row by row. NULL: the cell is NULL. */
struct mg_rows {
    int count, columns;
    const char *const *cells;
};

struct fake_report {
    const struct mg_store *store;
    enum mg_report report;
    char *params[FAKE_REPORT_PARAMS_MAX];
    int param_count;
    mg_store_rows_fn *done;
    void *arg;
};

extern struct fake_reports {
    struct fake_report open[FAKE_REPORTS_MAX]; /* the oldest first */
    int open_count, asked;
    void (*on_ask)(const struct fake_report *report); /* NULL: none */
} fake_reports;

void fake_reports_reset(void);
/* Answers this open question (0: the oldest); `rows` NULL: it fails with this text. */
void fake_report_answer(int question, const struct mg_rows *rows, const char *failure);

#endif
