/*
 * Retention in the store (deploy/postgres/0006_retention.sql): orders that have ended leave the tables that
 * schedulers work on for an archive that is divided by day, and days leave the archive. Operators say when,
 * the leading supervisor moves orders a bite at a time, and the owner of the schema makes and drops days.
 */
#ifndef MG_IO_STORE_RETENTION_H
#define MG_IO_STORE_RETENTION_H

#include "io/store/store.h"

/* As the table says, too: the least time for which the same id is recognised as the same order. */
#define MG_HOT_MIN_MS INT64_C(86400000)

/* What mg_store_retain writes on a table before it detaches it. */
#define MG_SQL_ARCHIVE_MARK "'makegood db retain drops this'"
/* The archive's tables with their days; is_detached: it holds a day that nobody reads any more, is_pending:
 * it is about to become so, and is_marked: mg_store_retain made it so. */
#define MG_SQL_ARCHIVE_DAYS                                                                                  \
    "SELECT c.relname AS name, to_date(right(c.relname, 8), 'YYYYMMDD') AS day,"                             \
    " i.inhrelid IS NULL AS is_detached, coalesce(i.inhdetachpending, false) AS is_pending,"                 \
    " coalesce(obj_description(c.oid, 'pg_class') = " MG_SQL_ARCHIVE_MARK ", false) AS is_marked"            \
    " FROM pg_class c LEFT JOIN pg_inherits i ON i.inhrelid = c.oid"                                         \
    " WHERE c.relnamespace = current_schema()::regnamespace AND c.relkind = 'r'"                             \
    "  AND c.relname ~ '^order_archive_[0-9]{8}$'"

/* ---- the operator's ---- */

struct mg_retention {
    bool has_hot, has_keep; /* what is not said stays as it is */
    int64_t hot_ms;         /* after its last change, an ended order leaves; 0: none does */
    int64_t keep_ms;        /* in the archive; 0: for ever */
    const char *reason, *by;
};
/* One transaction with its line of operator_action. */
void mg_store_set_retention(struct mg_store *store, const struct mg_retention *wanted, mg_store_done_fn *done,
                            void *arg);

/* ---- the supervisor's ---- */

enum mg_retire_outcome {
    MG_RETIRE_MOVED,
    MG_RETIRE_OFF,          /* there is no policy */
    MG_RETIRE_FENCED,       /* (epoch, holder) is no longer the leader's */
    MG_RETIRE_NO_PARTITION, /* the archive has no place for today: makegood db retain makes it */
};
#define MG_RETIRE_FAILURE_MAX 512 /* what is longer is cut */
struct mg_retire_answer {
    enum mg_retire_outcome outcome;
    int64_t moved;     /* orders */
    bool is_full;      /* there are more of them where it looked */
    bool is_round;     /* with this it has looked everywhere, and begins again */
    int64_t oldest_ms; /* how long ago the oldest of the ended orders changed that stay where it looked; 0 */
    /* An order that could not be moved, and why, in this round or the last; "": none. Others go on. */
    char failure[MG_RETIRE_FAILURE_MAX];
};
typedef void mg_store_retire_fn(void *arg, const struct mg_retire_answer *answer, const struct mg_err *err);
/* Moves at most `bite` orders, in one transaction of which nothing is seen but these. Of an error nothing was
 * moved: ask for fewer, since only with one the order that cannot be moved is known, and passed by. */
void mg_store_retire(struct mg_store *store, uint64_t epoch, const char *holder, int bite,
                     mg_store_retire_fn *done, void *arg);

/* ---- the owner's ---- */

/* Where a day goes before it is dropped. A day that is not taken whole is kept. */
struct mg_day_export {
    enum mg_class (*begin)(void *arg, const char *day, struct mg_err *err); /* "2026-01-31" */
    enum mg_class (*put)(void *arg, struct mg_slice line,
                         struct mg_err *err);            /* one order, without its end */
    enum mg_class (*end)(void *arg, struct mg_err *err); /* after the last */
    void (*give_up)(void *arg);                          /* in the place of `end`: what was put is not all */
    void *arg;
};
/* What detaching a day waits for those who read the archive. A dump of it at night reads for minutes, and
 * would else keep every night's run from dropping anything; only those who ask for the very table wait, too.
 */
#define MG_DETACH_WAIT_MS INT64_C(1200000)

/* Makes the archive's days ahead, and drops those that were kept long enough; `to` NULL: without exporting
 * them. Blocks (for the tool). What was begun and broken off is finished by the next. A day that fails does
 * not keep those behind it from being tried: the first failure is returned, the others are reported.
 * MG_STALE: another is at it, and drops; days were made all the same. */
enum mg_class mg_store_retain(const char *dsn, const struct mg_day_export *to, int64_t detach_wait_ms,
                              void (*report)(void *arg, const char *line), void *arg,
                              struct mg_err *err) MG_MUSTCHECK;

#endif
