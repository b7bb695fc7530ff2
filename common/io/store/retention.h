/*
 * Retention in the store (deploy/postgres/0006_retention.sql). Ended orders leave the schedulers' tables for
 * an archive divided by day, and days leave the archive. Operators set the times, the leading supervisor
 * moves some orders at a time, and the owner of the schema makes and drops days.
 */
#ifndef MG_IO_STORE_RETENTION_H
#define MG_IO_STORE_RETENTION_H

#include "io/store/store.h"

/* The table checks the same limit: the shortest time for which a repeated id is recognised as the same
 * order. */
#define MG_HOT_MIN_MS INT64_C(86400000)

/* Comment that mg_store_retain sets on a table before it detaches it; sql/parts/archive_days.sql looks for
 * it. */
#define MG_SQL_ARCHIVE_MARK "'makegood db retain drops this'"
/* ---- for operators ---- */

struct mg_retention {
    bool has_hot, has_keep; /* false: keeps its value */
    int64_t hot_ms;         /* time from its last change until an ended order leaves; 0: none leaves */
    int64_t keep_ms;        /* time in the archive; 0: for ever */
    const char *reason, *by;
};
/* One transaction with its line of operator_action. */
void mg_store_set_retention(struct mg_store *store, const struct mg_retention *wanted, mg_store_done_fn *done,
                            void *arg);

/* ---- for the supervisor ---- */

enum mg_retire_outcome {
    MG_RETIRE_MOVED,
    MG_RETIRE_OFF,          /* no policy */
    MG_RETIRE_FENCED,       /* (epoch, holder) no longer leads */
    MG_RETIRE_NO_PARTITION, /* the archive has no partition for today: makegood db retain makes it */
};
#define MG_RETIRE_FAILURE_MAX 512 /* longer ones are cut */
struct mg_retire_answer {
    enum mg_retire_outcome outcome;
    int64_t moved;     /* number of orders */
    bool is_full;      /* more are due in the range just read */
    bool is_round;     /* the round is complete; the next begins anew */
    int64_t oldest_ms; /* age of the oldest change among the ended orders that stay in this range; 0: none */
    /* An order that could not be moved, with the reason, in this round or the last; "": none. Others go
     * on. */
    char failure[MG_RETIRE_FAILURE_MAX];
};
typedef void mg_store_retire_fn(void *arg, const struct mg_retire_answer *answer, const struct mg_err *err);
/* Moves at most `bite` orders, in one transaction that changes nothing else. On error nothing was moved:
 * repeat with fewer. Only with one is the order that cannot be moved identified, and skipped. */
void mg_store_retire(struct mg_store *store, uint64_t epoch, const char *holder, int bite,
                     mg_store_retire_fn *done, void *arg);

/* ---- for the owner of the schema ---- */

/* Receives a day before it is dropped. A day that is not taken completely is kept. */
struct mg_day_export {
    enum mg_class (*begin)(void *arg, const char *day, struct mg_err *err); /* "2026-01-31" */
    enum mg_class (*put)(void *arg, struct mg_slice line,
                         struct mg_err *err);            /* one order, without the line's end */
    enum mg_class (*end)(void *arg, struct mg_err *err); /* after the last order */
    void (*give_up)(void *arg);                          /* instead of `end`: the export is incomplete */
    void *arg;
};
/* How long detaching a day waits for readers of the archive. A nightly dump reads for minutes, and would
 * otherwise stop every nightly run from dropping days. Only sessions that use the same table wait too. */
#define MG_DETACH_WAIT_MS INT64_C(1200000)

/* Makes the archive's days ahead, and drops expired ones; `to` NULL: without exporting them. Blocks (for the
 * tool). The next run finishes interrupted work. A failed day does not stop the days after it: the first
 * failure is returned, the others are reported. MG_STALE: another run drops at the moment; days were made
 * nevertheless. */
enum mg_class mg_store_retain(const char *dsn, const struct mg_day_export *to, int64_t detach_wait_ms,
                              void (*report)(void *arg, const char *line), void *arg,
                              struct mg_err *err) MG_MUSTCHECK;

#endif
