/*
 * Shared by the tests of the store. The database is the test program's own: made, migrated and dropped by
 * store_main. The store's loop runs until a condition holds. Orders are simple.
 */
#ifndef MG_TESTS_STORE_FIXTURE_H
#define MG_TESTS_STORE_FIXTURE_H

#include <check.h>
#include <libpq-fe.h>
#include <stdbool.h>

#include "io/store/store.h"

#define STORE_WAIT_MS     15000 /* no test waits longer for anything that should happen */
#define STORE_ARENA_BYTES (64u * 1024 * 1024)

struct rig {
    struct mg_loop *loop;
    struct mg_store *store;
    struct mg_arena *arena;
    PGconn *admin;                       /* another session, blocking, for reads and interference */
    int answers, ups, downs, transients; /* transients: answers of that class */
    struct mg_err err;                   /* of the last answer; class MG_OK if it had none */
    char refused[512];
    bool is_timed_out;
    /* copies of the last answers */
    const struct mg_load_answer *loaded;
    struct mg_sweep_answer sweep;
    struct mg_due dues[256];
    struct mg_parked_answer parked;
    struct mg_parked_queue parked_queues[MG_PARKED_QUEUES_MAX];
    struct mg_lead_answer lead;
    bool is_refused, is_found, is_changed[16];
    int64_t version;
    char text[4096];
    int row_count;
    uint64_t owed_versions[8];
    char owed_statuses[8][256];
    int owed_count;
};

/* Runs the suite in a fresh, migrated database named after `name`, and drops it. */
int store_main(Suite *suite, const char *name);
const char *store_dsn(void);
/* A DSN of the test's server for another database. */
void store_dsn_of(const char *database, char *ret_dsn, size_t size);
const char *store_migrations(void); /* the folder */

void rig_open(struct rig *rig);  /* without a store */
void rig_start(struct rig *rig); /* with one that is up, and empty tables */
void rig_start_with(struct rig *rig, struct mg_store_options options, bool waits_until_up);
void rig_finish(struct rig *rig);
/* Checks `is_done` after each callback of the store and every few milliseconds; fails the test if it does not
 * come. */
void rig_wait(struct rig *rig, bool (*is_done)(const struct rig *rig));
bool rig_is_up(const struct rig *rig);
bool rig_is_refused(const struct rig *rig);
bool rig_is_locked_out(const struct rig *rig);    /* the store's session waits for a lock of another one */
void rig_admin(struct rig *rig, const char *sql); /* must succeed */
const char *rig_value(struct rig *rig, const char *sql); /* first value as text; "" if NULL or no row */

/* Each sends, waits for the answer and keeps it in the rig. */
void rig_load(struct rig *rig, const struct mg_load *loads, int count);
struct mg_order_record *rig_load_one(struct rig *rig, const char *order_id);
void rig_commit(struct rig *rig, struct mg_order_write *writes, int count);
void rig_ask_parked(struct rig *rig, const struct mg_parked_options *options); /* fills parked and dues */
void rig_sweep(struct rig *rig, const struct mg_sweep_options *options);
void rig_lead(struct rig *rig, const char *holder);
/* Returns the report as text: "column=value " of each cell, "-" for NULL. */
const char *rig_report(struct rig *rig, enum mg_report which, const char *const *params, int count);
void assert_has(const char *text, const char *part);
void rig_done(void *arg, const struct mg_err *err); /* a mg_store_done_fn */
void rig_wait_answer(struct rig *rig);              /* waits until the number of answers has grown by one */

/* A new order, pending, with one step "reserve" that has no row yet. */
void order_make(struct mg_order_record *record, const char *order_id);
/* A write of it, with one event of `cause`. */
struct mg_order_write write_make(const struct mg_order_record *record, uint64_t expected_version,
                                 struct mg_event_record *event, const char *cause);
/* Stores a new order with `step` as its step 0 (unless NULL). */
void order_store(struct rig *rig, struct mg_order_record *record, const struct mg_step *step);

#endif
