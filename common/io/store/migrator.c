/*
 * Applies the files of a migration. A lock that other sessions hold is asked for in short tries: later
 * requests wait behind this one, so a long one would stop all programs. Between the tries they go on.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "io/store/migrate.h"

/* Of one lock. Below the lock_timeout of the programs (2 s), so that none of their statements fails for it.
 */
#define TRY_MS 1000
/* Between two tries: the programs do what came meanwhile. */
#define PAUSE_MS 3000
#define PAUSE    "SELECT pg_sleep(3)"
/* Some plans have four rounds; more rounds are a plan that never ends. */
#define ROUNDS_MAX 20

static const char RECORD[] =
    "INSERT INTO makegood_migration (version, name, sha256, serves_from) VALUES ($1, $2, $3, $4)";
/* Times of other roles' sessions are visible to members of pg_read_all_stats only. */
static const char READ_HOLDERS[] =
    "SELECT string_agg(CASE h.pid WHEN 0 THEN 'a prepared transaction (pg_prepared_xacts)' ELSE"
    " format('session %s of user %s, \"%s\"%s%s', h.pid, a.usename, a.application_name,"
    " ', in a transaction since ' || to_char(a.xact_start, 'HH24:MI:SS'),"
    " ', its statement since ' || to_char(a.query_start, 'HH24:MI:SS')) END, '; ')"
    " FROM (SELECT DISTINCT pid FROM unnest(pg_blocking_pids($1)) AS b (pid) ORDER BY pid LIMIT 2) h"
    " LEFT JOIN pg_stat_activity a ON a.pid = h.pid";

static void report_holder(const struct mg_migrator *migrator, const struct mg_migration *migration,
                          const char *then)
{
    char line[MG_MIGRATION_NAME_SIZE + sizeof(migrator->holder) + 64];
    (void)snprintf(line, sizeof(line), "%s waits for %s%s", migration->name,
                   migrator->holder[0] == '\0' ? "a lock" : migrator->holder, then);
    if (migrator->report != NULL) {
        migrator->report(migrator->arg, line);
    }
}

/* Called while a statement runs: finds the sessions that it waits for. A statement may have ended the
 * observer's session, too. */
static void look(void *arg)
{
    struct mg_migrator *migrator = arg;
    struct mg_err unused; /* the next look may succeed */
    char pid[16];
    struct mg_rows *rows = NULL;
    if (migrator->observer == NULL && mg_pg_once_open(migrator->dsn, &migrator->observer, &unused) != MG_OK) {
        return;
    }
    (void)snprintf(pid, sizeof(pid), "%d", mg_pg_once_backend_pid(migrator->once));
    const char *const params[] = {pid};
    if (mg_pg_once_run(migrator->observer, READ_HOLDERS, params, 1, &rows, &unused) != MG_OK) {
        mg_pg_once_close(migrator->observer);
        migrator->observer = NULL;
        return;
    }
    if (!mg_rows_is_null(rows, 0, 0)) {
        mg_rows_copy(rows, 0, 0, migrator->holder, sizeof(migrator->holder));
    }
    mg_rows_destroy(rows);
}

static enum mg_class run(struct mg_migrator *migrator, const char *text, struct mg_err *err)
{
    return mg_pg_once_run(migrator->once, text, NULL, 0, NULL, err);
}

static enum mg_class record(struct mg_migrator *migrator, const struct mg_migration *migration,
                            struct mg_err *err)
{
    char version[16], serves_from[16];
    if (migration->version == 0) {
        return MG_OK;
    }
    snprintf(version, sizeof(version), "%d", migration->version);
    snprintf(serves_from, sizeof(serves_from), "%d", migration->serves_from);
    const char *const params[] = {version, migration->name, migration->sha256, serves_from};
    return mg_pg_once_run(migrator->once, RECORD, params, 4, NULL, err);
}

static enum mg_class set_lock_timeout(struct mg_migrator *migrator, int64_t timeout_ms, struct mg_err *err)
{
    char text[64];
    (void)snprintf(text, sizeof(text), "SET lock_timeout = %lld", (long long)timeout_ms);
    return run(migrator, text, err);
}

/* ---- one try ---- */

static enum mg_class try_whole(struct mg_migrator *migrator, const struct mg_migration *migration,
                               struct mg_err *err)
{
    enum mg_class class = set_lock_timeout(migrator, TRY_MS, err);
    if (class == MG_OK) {
        class = run(migrator, "BEGIN", err);
    }
    if (class == MG_OK) {
        class = run(migrator, migration->text, err);
    }
    if (class == MG_OK) {
        class = record(migrator, migration, err);
    }
    return class == MG_OK ? run(migrator, "COMMIT", err) : class;
}

/* What runs alongside the programs stops none of them, and would begin anew with each try. */
static enum mg_class try_statement(struct mg_migrator *migrator, const char *statement, struct mg_err *err)
{
    int64_t left_ms = migrator->lock_wait_ms - migrator->waited_ms;
    migrator->is_long_wait = strstr(statement, " CONCURRENTLY ") != NULL;
    enum mg_class class =
        set_lock_timeout(migrator, migrator->is_long_wait && left_ms > TRY_MS ? left_ms : TRY_MS, err);
    return class == MG_OK ? run(migrator, statement, err) : class;
}

static enum mg_class try_statements(struct mg_migrator *migrator, const struct mg_rows *rows,
                                    struct mg_err *err)
{
    enum mg_class class = MG_OK;
    for (int row = 0; class == MG_OK && row < mg_rows_count(rows); row++) {
        struct mg_slice value = mg_rows_value(rows, row, 0);
        char *statement = strndup(value.data, value.len);
        class = statement != NULL
                    ? try_statement(migrator, statement, err)
                    : mg_err_set(err, MG_TRANSIENT, "there is no memory for a statement of the plan");
        free(statement);
    }
    return class;
}

static enum mg_class try_plan(struct mg_migrator *migrator, const struct mg_migration *migration,
                              struct mg_err *err)
{
    for (int round = 0; round < ROUNDS_MAX; round++) {
        struct mg_rows *rows = NULL;
        enum mg_class class = mg_pg_once_run(migrator->once, migration->text, NULL, 0, &rows, err);
        if (class != MG_OK) {
            return class;
        }
        int count = mg_rows_count(rows);
        class = try_statements(migrator, rows, err);
        mg_rows_destroy(rows);
        if (class != MG_OK) {
            return class;
        }
        if (count == 0) {
            return record(migrator, migration, err);
        }
    }
    return mg_err_set(err, MG_BUG, "the plan has statements even after %d rounds", ROUNDS_MAX);
}

/* ---- tries ---- */

/* Ends the transaction of a failed try, if it is in one. */
static void try_end(struct mg_migrator *migrator)
{
    struct mg_err unused; /* without a session there is no transaction either */
    (void)run(migrator, "ROLLBACK", &unused);
}

/* False: the time is over. */
static bool wait_a_little(struct mg_migrator *migrator, const struct mg_migration *migration)
{
    migrator->waited_ms += migrator->is_long_wait ? migrator->lock_wait_ms : TRY_MS + PAUSE_MS;
    if (migrator->waited_ms >= migrator->lock_wait_ms) {
        return false;
    }
    report_holder(migrator, migration, "; it tries again in 3 s");
    struct mg_err unused; /* the lock that could not be had is the error */
    return run(migrator, PAUSE, &unused) == MG_OK;
}

enum mg_class mg_migrator_apply(struct mg_migrator *migrator, const struct mg_migration *migration,
                                struct mg_err *err)
{
    enum mg_class class;
    bool is_blocked;
    migrator->waited_ms = 0;
    mg_pg_once_watch(migrator->once, look, migrator);
    do {
        migrator->holder[0] = '\0';
        migrator->is_long_wait = false;
        class = migration->is_plan ? try_plan(migrator, migration, err) : try_whole(migrator, migration, err);
        is_blocked = class != MG_OK && mg_pg_once_is_blocked(migrator->once);
        if (class != MG_OK) {
            try_end(migrator);
        }
    } while (is_blocked && wait_a_little(migrator, migration));
    mg_pg_once_watch(migrator->once, NULL, NULL);
    if (is_blocked) {
        (void)mg_err_set(
            err, MG_TRANSIENT,
            "a lock was not free within %lld s: it waits for %s; end that session's transaction, or "
            "give --lock-wait more",
            (long long)(migrator->lock_wait_ms / 1000),
            migrator->holder[0] == '\0' ? "another session" : migrator->holder);
    }
    return class == MG_OK
               ? MG_OK
               : mg_err_prefix(err,
                               migration->is_plan
                                   ? "could not apply %s (the statements before are kept, and the next db "
                                     "migrate goes on)"
                                   : "could not apply %s (nothing of it was kept)",
                               migration->name);
}
