/*
 * Days of the archive, made ahead and dropped when they were kept long enough. Nobody waits for it: a day is
 * made as a table of its own and attached, detached concurrently and dropped as a table of its own, and what
 * would have to wait for a lock gives up and is left to the next run. A day that is over grows no more, so it
 * is exported without a long transaction, a page after the other.
 */
#include <stdio.h>
#include <string.h>

#include "io/pg.h"
#include "io/store_retention.h"

/* As many days as it may go unnoticed that nobody runs this. */
#define DAYS_AHEAD "7"
/* Of a megabyte each at worst, and some kilobytes mostly. */
#define PAGE_ROWS "100"
#define NAME_SIZE 64

/* The fifth of our locks; it ends with the session. Detaching waits for whoever reads the archive; for this
 * long at most. */
static const char PREPARE[] = "SET lock_timeout = '1s'; SET statement_timeout = '1h';"
                              " SELECT pg_try_advisory_lock(19783, 5)";

/* clang-format off */
static const char READ_POLICY[] =
    "SELECT hot IS NOT NULL FROM retention WHERE name = 'orders'";
static const char READ_MISSING[] =
    "SELECT 'order_archive_' || to_char(day, 'YYYYMMDD'), day::date, day::date + 1"
    " FROM generate_series((clock_timestamp() AT TIME ZONE 'UTC')::date,"
    "  (clock_timestamp() AT TIME ZONE 'UTC')::date + " DAYS_AHEAD ", interval '1 day') day"
    " WHERE to_regclass('order_archive_' || to_char(day, 'YYYYMMDD')) IS NULL ORDER BY day";
/* A day that was being dropped is over, whatever the policy says now. */
static const char READ_OVER[] =
    "SELECT d.name, d.day, d.is_detached, d.is_pending FROM (" MG_SQL_ARCHIVE_DAYS ") d, retention r"
    " WHERE r.name = 'orders' AND (d.is_detached OR d.is_pending"
    "  OR d.day < ((clock_timestamp() - r.keep) AT TIME ZONE 'UTC')::date) ORDER BY d.day";
#define DETACH "ALTER TABLE order_archive DETACH PARTITION"
/* clang-format on */

enum { COLUMN_NAME, COLUMN_DAY, COLUMN_IS_DETACHED, COLUMN_IS_PENDING };

struct retaining {
    struct mg_pg_once *once;
    const struct mg_day_export *to;
    void (*report)(void *arg, const char *line);
    void *arg;
    struct mg_err *err;
};

static void tell(const struct retaining *retaining, const char *what, const char *day)
{
    char line[128];
    snprintf(line, sizeof line, "%s %s", what, day);
    if (retaining->report != NULL) retaining->report(retaining->arg, line);
}

/* A statement with a table's name in it, which a parameter cannot be. */
static enum mg_class run_on(const struct retaining *retaining, const char *before, const char *table,
                            const char *after)
{
    char text[256];
    snprintf(text, sizeof text, "%s %s %s", before, table, after);
    return mg_pg_once_run(retaining->once, text, NULL, 0, NULL, retaining->err);
}

/* ---- making ---- */

static enum mg_class make_day(const struct retaining *retaining, const struct mg_rows *rows, int row)
{
    char name[NAME_SIZE], day[NAME_SIZE], next[NAME_SIZE], text[512];
    mg_rows_copy(rows, row, 0, name, sizeof name);
    mg_rows_copy(rows, row, 1, day, sizeof day);
    mg_rows_copy(rows, row, 2, next, sizeof next);
    /* Made as a part of it, the table would hold up whoever uses another. Both in one transaction. */
    snprintf(text, sizeof text,
             "CREATE TABLE %s (LIKE order_archive INCLUDING STORAGE INCLUDING COMPRESSION);"
             " ALTER TABLE order_archive ATTACH PARTITION %s FOR VALUES FROM ('%s') TO ('%s')",
             name, name, day, next);
    enum mg_class class = mg_pg_once_run(retaining->once, text, NULL, 0, NULL, retaining->err);
    if (class != MG_OK) return mg_err_prefix(retaining->err, "could not make the archive of %s", day);
    tell(retaining, "made the archive of", day);
    return MG_OK;
}

static enum mg_class make_days(const struct retaining *retaining)
{
    struct mg_rows *rows = NULL;
    enum mg_class class = mg_pg_once_run(retaining->once, READ_MISSING, NULL, 0, &rows, retaining->err);
    if (class != MG_OK) return mg_err_prefix(retaining->err, "could not look for the archive's days");
    for (int row = 0; class == MG_OK && row < mg_rows_count(rows); row++)
        class = make_day(retaining, rows, row);
    mg_rows_destroy(rows);
    return class;
}

/* ---- exporting ---- */

static enum mg_class put_page(const struct retaining *retaining, const struct mg_rows *rows)
{
    enum mg_class class = MG_OK;
    for (int row = 0; class == MG_OK && row < mg_rows_count(rows); row++)
        class = retaining->to->put(retaining->to->arg, mg_rows_value(rows, row, 1), retaining->err);
    return class;
}

static enum mg_class put_orders(const struct retaining *retaining, const char *table, const char *day)
{
    char text[256], last[MG_ORDER_ID_MAX + 1] = "";
    /* One line each: within JSON a line's end can only stand where a blank may. */
    snprintf(text, sizeof text,
             "SELECT order_id, translate(dossier::text, E'\\n\\r', '  ') FROM %s WHERE archived_on = $1"
             " AND order_id > $2 ORDER BY order_id LIMIT " PAGE_ROWS,
             table);
    for (bool is_last = false; !is_last;) {
        const char *const params[] = {day, last};
        struct mg_rows *rows = NULL;
        enum mg_class class = mg_pg_once_run(retaining->once, text, params, 2, &rows, retaining->err);
        if (class != MG_OK) return class;
        class = put_page(retaining, rows);
        is_last = mg_rows_count(rows) == 0;
        if (!is_last) mg_rows_copy(rows, mg_rows_count(rows) - 1, 0, last, sizeof last);
        mg_rows_destroy(rows);
        if (class != MG_OK) return class;
    }
    return MG_OK;
}

static enum mg_class export_day(const struct retaining *retaining, const char *table, const char *day)
{
    const struct mg_day_export *to = retaining->to;
    enum mg_class class = to->begin(to->arg, day, retaining->err);
    if (class == MG_OK) {
        class = put_orders(retaining, table, day);
        if (class == MG_OK) {
            class = to->end(to->arg, retaining->err);
        } else {
            to->give_up(to->arg);
        }
    }
    if (class != MG_OK) return mg_err_prefix(retaining->err, "could not export %s, which is kept", day);
    tell(retaining, "exported", day);
    return MG_OK;
}

/* ---- dropping ---- */

static enum mg_class drop_day(const struct retaining *retaining, const struct mg_rows *rows, int row)
{
    char name[NAME_SIZE], day[NAME_SIZE];
    bool is_detached = mg_rows_bool(rows, row, COLUMN_IS_DETACHED);
    bool is_pending = mg_rows_bool(rows, row, COLUMN_IS_PENDING);
    enum mg_class class = MG_OK;
    mg_rows_copy(rows, row, COLUMN_NAME, name, sizeof name);
    mg_rows_copy(rows, row, COLUMN_DAY, day, sizeof day);
    if (!is_detached && !is_pending && retaining->to != NULL) {
        class = export_day(retaining, name, day);
        if (class != MG_OK) return class;
    }
    if (is_pending) {
        class = run_on(retaining, DETACH, name, "FINALIZE");
    } else if (!is_detached) {
        class = run_on(retaining, DETACH, name, "CONCURRENTLY");
    }
    if (class == MG_OK) class = run_on(retaining, "DROP TABLE", name, "");
    if (class != MG_OK) return mg_err_prefix(retaining->err, "could not drop %s; it is tried again", day);
    tell(retaining, "dropped", day);
    return MG_OK;
}

static enum mg_class drop_days(const struct retaining *retaining)
{
    struct mg_rows *rows = NULL;
    enum mg_class class = mg_pg_once_run(retaining->once, READ_OVER, NULL, 0, &rows, retaining->err);
    if (class != MG_OK) return mg_err_prefix(retaining->err, "could not look for days that are over");
    for (int row = 0; class == MG_OK && row < mg_rows_count(rows); row++)
        class = drop_day(retaining, rows, row);
    mg_rows_destroy(rows);
    return class;
}

/* ---- the whole ---- */

/* What a statement without parameters says, as a truth. */
static enum mg_class ask(const struct retaining *retaining, const char *text, bool *ret_is_true)
{
    struct mg_rows *rows = NULL;
    enum mg_class class = mg_pg_once_run(retaining->once, text, NULL, 0, &rows, retaining->err);
    *ret_is_true = class == MG_OK && mg_rows_bool(rows, 0, 0);
    if (class == MG_OK) mg_rows_destroy(rows);
    return class;
}

static enum mg_class retain(const struct retaining *retaining)
{
    bool is_alone = false, has_policy = false;
    enum mg_class class = ask(retaining, PREPARE, &is_alone);
    if (class == MG_OK) class = ask(retaining, READ_POLICY, &has_policy);
    if (class != MG_OK) return mg_err_prefix(retaining->err, "could not read the policy");
    if (!is_alone) return mg_err_set(retaining->err, MG_STALE, "another makegood db retain is at it");
    /* Days that are there go by the policy's other half, whether or not more orders are to come. */
    if (has_policy) class = make_days(retaining);
    if (class == MG_OK) class = drop_days(retaining);
    if (class == MG_OK && !has_policy && retaining->report != NULL) {
        retaining->report(retaining->arg,
                          "no order leaves: there is no policy, see makegood db vacuum-policy");
    }
    return class;
}

enum mg_class mg_store_retain(const char *dsn, const struct mg_day_export *to,
                              void (*report)(void *arg, const char *line), void *arg, struct mg_err *err)
{
    struct retaining retaining = {.to = to, .report = report, .arg = arg, .err = err};
    enum mg_class class = mg_pg_once_open(dsn, &retaining.once, err);
    if (class == MG_OK) class = retain(&retaining);
    mg_pg_once_close(retaining.once);
    return class;
}
