/*
 * Days of the archive: made ahead, and dropped when their time is over. No other session waits for this. A
 * day is made as a table of its own and attached; it is detached concurrently and dropped as a table of its
 * own. A statement that would wait long for a lock gives up and is left to the next run. A past day grows no
 * more, so it is exported page by page, without a long transaction.
 */
#include <stdio.h>

#include "io/pg/pg.h"
#include "io/store/retention.h"
#include "io/store/sql.h"

/* If no run happens, this is the number of days until the archive lacks a day. */
#define DAYS_AHEAD "7"
/* Rows held in memory at once: mostly some kilobytes each, tens of megabytes at worst. */
#define PAGE_ROWS "10"
#define NAME_SIZE 64

/* No session shall wait long behind this one; detaching has a limit of its own. */
#define LOCK_TIMEOUT "SET lock_timeout = '1s'"
/* A day is written as 2026-01-31, independent of the server's settings. */
static const char PREPARE[] = LOCK_TIMEOUT "; SET statement_timeout = '1h'; SET datestyle = 'ISO'";
/* Held until the session ends. */
static const char LOCK[] = "SELECT pg_try_advisory_lock(" MG_SQL_LOCK("5") ")";

/* clang-format off */
static const char READ_POLICY[] =
    "SELECT hot IS NOT NULL FROM retention WHERE name = 'orders'";
static const char READ_MISSING[] =
    "SELECT 'order_archive_' || to_char(day, 'YYYYMMDD'), day::date, day::date + 1"
    " FROM generate_series((clock_timestamp() AT TIME ZONE 'UTC')::date,"
    "  (clock_timestamp() AT TIME ZONE 'UTC')::date + " DAYS_AHEAD ", interval '1 day') day"
    " WHERE to_regclass('order_archive_' || to_char(day, 'YYYYMMDD')) IS NULL ORDER BY day";
#define READ_DAYS \
    "SELECT * FROM (SELECT d.name, d.day, d.is_detached, d.is_pending, d.is_marked," \
    "  coalesce(d.day < ((clock_timestamp() - r.keep) AT TIME ZONE 'UTC')::date, false) AS is_over" \
    "  FROM (" MG_SQL_PART_archive_days ") d, retention r WHERE r.name = 'orders') n"
static const char READ_NEXT[] =
    READ_DAYS " WHERE n.day > $1::date AND (n.is_over OR n.is_detached OR n.is_pending)"
    " ORDER BY n.day LIMIT 1";
static const char READ_AGAIN[] = READ_DAYS " WHERE n.name = $1::text";
#define DETACH "ALTER TABLE order_archive DETACH PARTITION"
/* clang-format on */

enum { COLUMN_NAME, COLUMN_DAY, COLUMN_IS_DETACHED, COLUMN_IS_PENDING, COLUMN_IS_MARKED, COLUMN_IS_OVER };

struct retaining {
    struct mg_pg_once *once;
    const struct mg_day_export *to;
    int64_t detach_wait_ms;
    void (*report)(void *arg, const char *line);
    void *arg;
    struct mg_err *err;
};

struct day {
    char table[NAME_SIZE], date[NAME_SIZE];
    bool is_detached, is_pending, is_marked;
    bool is_over; /* by the current policy */
};

static void line_report(const struct retaining *retaining, const char *before, const char *what,
                        const char *after)
{
    char line[MG_ERR_TEXT_MAX];
    snprintf(line, sizeof(line), "%s%s%s", before, what, after);
    if (retaining->report != NULL) {
        retaining->report(retaining->arg, line);
    }
}

/* Runs a statement with a table's name, which cannot be a parameter. */
static enum mg_class run_on(const struct retaining *retaining, const char *before, const char *table,
                            const char *after)
{
    char text[256];
    snprintf(text, sizeof(text), "%s %s %s", before, table, after);
    return mg_pg_once_run(retaining->once, text, NULL, 0, NULL, retaining->err);
}

/* The boolean result of a statement without parameters. */
static enum mg_class ask(const struct retaining *retaining, const char *text, bool *ret_is_true)
{
    struct mg_rows *rows = NULL;
    enum mg_class class = mg_pg_once_run(retaining->once, text, NULL, 0, &rows, retaining->err);
    *ret_is_true = class == MG_OK && mg_rows_bool(rows, 0, 0);
    if (class == MG_OK) {
        mg_rows_destroy(rows);
    }
    return class;
}

/* ---- making ---- */

static enum mg_class make_day(const struct retaining *retaining, const struct mg_rows *rows, int row)
{
    char name[NAME_SIZE], day[NAME_SIZE], next[NAME_SIZE], text[512];
    mg_rows_copy(rows, row, 0, name, sizeof(name));
    mg_rows_copy(rows, row, 1, day, sizeof(day));
    mg_rows_copy(rows, row, 2, next, sizeof(next));
    /* A table created as a partition would block users of the other partitions. Both statements are one
     * transaction. */
    snprintf(text, sizeof(text),
             "CREATE TABLE %s (LIKE order_archive INCLUDING STORAGE INCLUDING COMPRESSION);"
             " ALTER TABLE order_archive ATTACH PARTITION %s FOR VALUES FROM ('%s') TO ('%s')",
             name, name, day, next);
    enum mg_class class = mg_pg_once_run(retaining->once, text, NULL, 0, NULL, retaining->err);
    if (class == MG_OK) {
        line_report(retaining, "made the archive of ", day, "");
        return MG_OK;
    }
    struct mg_err unused; /* another run may have made it at the same time */
    const struct retaining quiet = {.once = retaining->once, .err = &unused};
    bool is_made = false;
    snprintf(text, sizeof(text), "SELECT to_regclass('%s') IS NOT NULL", name);
    if (ask(&quiet, text, &is_made) == MG_OK && is_made) {
        return MG_OK;
    }
    return mg_err_prefix(retaining->err, "could not make the archive of %s", day);
}

static enum mg_class make_days(const struct retaining *retaining)
{
    struct mg_rows *rows = NULL;
    enum mg_class class = mg_pg_once_run(retaining->once, READ_MISSING, NULL, 0, &rows, retaining->err);
    if (class != MG_OK) {
        return mg_err_prefix(retaining->err, "could not look for the archive's days");
    }
    for (int row = 0; class == MG_OK && row < mg_rows_count(rows); row++) {
        class = make_day(retaining, rows, row);
    }
    mg_rows_destroy(rows);
    return class;
}

/* ---- exporting ---- */

static enum mg_class put_page(const struct retaining *retaining, const struct mg_rows *rows)
{
    enum mg_class class = MG_OK;
    for (int row = 0; class == MG_OK && row < mg_rows_count(rows); row++) {
        class = retaining->to->put(retaining->to->arg, mg_rows_value(rows, row, 1), retaining->err);
    }
    return class;
}

static enum mg_class put_orders(const struct retaining *retaining, const struct day *day)
{
    char text[256], last[MG_ORDER_ID_MAX + 1] = "";
    /* One line for each order: in JSON a line break can only stand where a blank may. */
    snprintf(text, sizeof(text),
             "SELECT order_id, translate(dossier::text, E'\\n\\r', '  ') FROM %s WHERE archived_on = $1"
             " AND order_id > $2 ORDER BY order_id LIMIT " PAGE_ROWS,
             day->table);
    for (bool is_last = false; !is_last;) {
        const char *const params[] = {day->date, last};
        struct mg_rows *rows = NULL;
        enum mg_class class = mg_pg_once_run(retaining->once, text, params, 2, &rows, retaining->err);
        if (class != MG_OK) {
            return class;
        }
        class = put_page(retaining, rows);
        is_last = mg_rows_count(rows) == 0;
        if (!is_last) {
            mg_rows_copy(rows, mg_rows_count(rows) - 1, 0, last, sizeof(last));
        }
        mg_rows_destroy(rows);
        if (class != MG_OK) {
            return class;
        }
    }
    return MG_OK;
}

static enum mg_class export_day(const struct retaining *retaining, const struct day *day)
{
    const struct mg_day_export *to = retaining->to;
    enum mg_class class = to->begin(to->arg, day->date, retaining->err);
    if (class == MG_OK) {
        class = put_orders(retaining, day);
        if (class == MG_OK) {
            class = to->end(to->arg, retaining->err);
        } else {
            to->give_up(to->arg);
        }
    }
    if (class != MG_OK) {
        return mg_err_prefix(retaining->err, "could not export %s, which is kept", day->date);
    }
    line_report(retaining, "exported ", day->date, "");
    return MG_OK;
}

/* ---- dropping ---- */

static enum mg_class day_read(const struct retaining *retaining, const char *text, const char *param,
                              struct day *day, bool *ret_is_there)
{
    const char *const params[] = {param};
    struct mg_rows *rows = NULL;
    enum mg_class class = mg_pg_once_run(retaining->once, text, params, 1, &rows, retaining->err);
    *ret_is_there = false;
    if (class != MG_OK) {
        return mg_err_prefix(retaining->err, "could not look for days that are over");
    }
    if (mg_rows_count(rows) > 0) {
        *ret_is_there = true;
        mg_rows_copy(rows, 0, COLUMN_NAME, day->table, sizeof(day->table));
        mg_rows_copy(rows, 0, COLUMN_DAY, day->date, sizeof(day->date));
        day->is_detached = mg_rows_bool(rows, 0, COLUMN_IS_DETACHED);
        day->is_pending = mg_rows_bool(rows, 0, COLUMN_IS_PENDING);
        day->is_marked = mg_rows_bool(rows, 0, COLUMN_IS_MARKED);
        day->is_over = mg_rows_bool(rows, 0, COLUMN_IS_OVER);
    }
    mg_rows_destroy(rows);
    return MG_OK;
}

/* Days detached by others are left alone. */
static bool is_to_go(const struct day *day)
{
    return day->is_over && (day->is_marked || !(day->is_detached || day->is_pending));
}

/* Removes the mark of a table that stayed in the archive: a person may detach it to keep it. */
static void unmark(const struct retaining *retaining, const struct day *day)
{
    struct mg_err unused; /* only the failure of the detach counts */
    const struct retaining quiet = {.once = retaining->once, .err = &unused};
    struct day now = *day;
    bool is_there = false;
    if (day_read(&quiet, READ_AGAIN, day->table, &now, &is_there) == MG_OK && is_there && !now.is_detached &&
        !now.is_pending) {
        (void)run_on(&quiet, "COMMENT ON TABLE", day->table, "IS NULL");
    }
}

static enum mg_class detach(const struct retaining *retaining, const struct day *day)
{
    char text[64];
    struct mg_err unused; /* only the earlier failure counts */
    snprintf(text, sizeof(text), "SET lock_timeout = %lld", (long long)retaining->detach_wait_ms);
    enum mg_class class = run_on(retaining, "COMMENT ON TABLE", day->table, "IS " MG_SQL_ARCHIVE_MARK);
    if (class == MG_OK) {
        class = mg_pg_once_run(retaining->once, text, NULL, 0, NULL, retaining->err);
    }
    if (class == MG_OK) {
        class = run_on(retaining, DETACH, day->table, day->is_pending ? "FINALIZE" : "CONCURRENTLY");
        enum mg_class restored = mg_pg_once_run(retaining->once, LOCK_TIMEOUT, NULL, 0, NULL,
                                                class == MG_OK ? retaining->err : &unused);
        if (class == MG_OK) {
            class = restored;
        }
    }
    if (class != MG_OK) {
        unmark(retaining, day);
    }
    return class;
}

static enum mg_class drop_day(const struct retaining *retaining, struct day *day)
{
    enum mg_class class = MG_OK;
    if (retaining->to != NULL) {
        bool is_there = false;
        class = export_day(retaining, day);
        /* The export takes long, and the policy may have changed since. */
        if (class == MG_OK) {
            class = day_read(retaining, READ_AGAIN, day->table, day, &is_there);
        }
        if (class != MG_OK) {
            return class;
        }
        if (!is_there || !is_to_go(day)) {
            line_report(retaining, "kept ", day->date, ": it is not to go any more");
            return MG_OK;
        }
    }
    if (!day->is_detached) {
        class = detach(retaining, day);
    }
    if (class == MG_OK) {
        class = run_on(retaining, "DROP TABLE", day->table, "");
    }
    if (class != MG_OK) {
        return mg_err_prefix(retaining->err, "could not drop %s; it is tried again", day->date);
    }
    line_report(retaining, "dropped ", day->date, "");
    return MG_OK;
}

/* One after the other, each by the policy of that moment. */
static enum mg_class drop_days(const struct retaining *retaining)
{
    struct day day = {.date = "0001-01-01"};
    struct mg_err first = {.class = MG_OK};
    for (bool is_there = true; is_there;) {
        enum mg_class class = day_read(retaining, READ_NEXT, day.date, &day, &is_there);
        if (class == MG_OK && is_there && !is_to_go(&day)) {
            line_report(
                retaining, "left ", day.table,
                " alone, which is no part of the archive: this did not detach it, or it is to be kept");
        } else if (class == MG_OK && is_there) {
            class = drop_day(retaining, &day);
        }
        if (class == MG_OK) {
            continue;
        }
        if (first.class == MG_OK) {
            first = *retaining->err;
        } else {
            line_report(retaining, retaining->err->text, "", "");
        }
    }
    if (first.class != MG_OK) {
        *retaining->err = first;
    }
    return first.class;
}

/* ---- the run ---- */

static enum mg_class retain(const struct retaining *retaining)
{
    bool is_alone = false, has_policy = false;
    enum mg_class class = mg_pg_once_run(retaining->once, PREPARE, NULL, 0, NULL, retaining->err);
    if (class == MG_OK) {
        class = ask(retaining, READ_POLICY, &has_policy);
    }
    if (class != MG_OK) {
        return mg_err_prefix(retaining->err, "could not read the policy");
    }
    /* Another run may be exporting for a day, but orders need their days. So days are made without the
     * lock. */
    if (has_policy) {
        class = make_days(retaining);
    }
    if (class == MG_OK) {
        class = ask(retaining, LOCK, &is_alone);
    }
    if (class != MG_OK) {
        return class;
    }
    if (!is_alone) {
        return mg_err_set(retaining->err, MG_STALE, "another makegood db retain is at it");
    }
    /* Existing days are dropped by `keep`, whether or not more orders leave. */
    class = drop_days(retaining);
    if (class == MG_OK && !has_policy && retaining->report != NULL) {
        retaining->report(retaining->arg,
                          "no order leaves: there is no policy, see makegood db vacuum-policy");
    }
    return class;
}

enum mg_class mg_store_retain(const char *dsn, const struct mg_day_export *to, int64_t detach_wait_ms,
                              void (*report)(void *arg, const char *line), void *arg, struct mg_err *err)
{
    struct retaining retaining = {
        .to = to, .detach_wait_ms = detach_wait_ms, .report = report, .arg = arg, .err = err};
    enum mg_class class = mg_pg_once_open(dsn, &retaining.once, err);
    if (class == MG_OK) {
        class = retain(&retaining);
    }
    mg_pg_once_close(retaining.once);
    return class;
}
