/* See fake_report.h. */
#include "fake_report.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

struct fake_reports fake_reports;

static void params_free(struct fake_report *report)
{
    for (int i = 0; i < report->param_count; i++) {
        free(report->params[i]);
    }
}

void fake_reports_reset(void)
{
    for (int i = 0; i < fake_reports.open_count; i++) {
        params_free(&fake_reports.open[i]);
    }
    memset(&fake_reports, 0, sizeof(fake_reports));
}

void mg_store_report(struct mg_store *store, enum mg_report report, const char *const *params, int count,
                     mg_store_rows_fn *done, void *arg)
{
    assert(fake_reports.open_count < FAKE_REPORTS_MAX);
    assert(count <= FAKE_REPORT_PARAMS_MAX);
    struct fake_report *kept = &fake_reports.open[fake_reports.open_count++];
    *kept = (struct fake_report){
        .store = store, .report = report, .param_count = count, .done = done, .arg = arg};
    for (int i = 0; i < count; i++) {
        kept->params[i] = strdup(params[i]);
    }
    fake_reports.asked++;
    if (fake_reports.on_ask != NULL) {
        fake_reports.on_ask(kept);
    }
}

void fake_report_answer(int question, const struct mg_rows *rows, const char *failure)
{
    struct mg_err err;
    assert(question >= 0 && question < fake_reports.open_count);
    struct fake_report report = fake_reports.open[question];
    fake_reports.open_count--;
    memmove(&fake_reports.open[question], &fake_reports.open[question + 1],
            (size_t)(fake_reports.open_count - question) * sizeof(fake_reports.open[0]));
    (void)mg_err_set(&err, MG_TRANSIENT, "%s", failure != NULL ? failure : "");
    report.done(report.arg, rows, rows == NULL ? &err : NULL);
    params_free(&report);
}

int mg_rows_count(const struct mg_rows *rows)
{
    return rows->count;
}

static const char *cell(const struct mg_rows *rows, int row, int column)
{
    assert(row >= 0 && row < rows->count && column >= 0 && column < rows->columns);
    return rows->cells[row * rows->columns + column];
}

bool mg_rows_is_null(const struct mg_rows *rows, int row, int column)
{
    return cell(rows, row, column) == NULL;
}

int64_t mg_rows_int(const struct mg_rows *rows, int row, int column)
{
    const char *text = cell(rows, row, column);
    return text == NULL ? 0 : strtoll(text, NULL, 10);
}

struct mg_slice mg_rows_value(const struct mg_rows *rows, int row, int column)
{
    const char *text = cell(rows, row, column);
    return text == NULL ? (struct mg_slice){NULL, 0} : mg_slice_of(text);
}
