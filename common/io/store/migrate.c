/*
 * Migrates the schema by the numbered files of a folder (NNNN_name.sql). All run
 * under an advisory lock, so two parallel migrations act once. Files only go forward, and an applied file
 * must not change: its SHA-256 is compared, with LF as line ends. Then grants.sql of the same folder is
 * applied, each time; it sets the roles' rights and may change.
 */
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "io/store/store_private.h"

/* Numbers have four digits; a hundred files are many years of schema. */
#define FILES_MAX 100
/* Far above any schema that people write. */
#define FILE_BYTES_MAX (1024 * 1024)
#define PATH_SIZE      4096
#define GRANTS         "grants.sql"
/* A file's first line; without it the file serves only programs of its own version. */
#define SERVES_LINE "-- serves programs from schema "
/* Its second line, if it is a plan. */
#define PLAN_LINE "-- a plan of statements\n"
/* Longer than the statements and transactions of usual programs; a long report is named. */
#define LOCK_WAIT_MS 60000

/* ---- one file. A lock that other sessions hold is asked for in short tries: later requests wait behind this
 * one, so a long one would stop all programs. Between the tries they go on. ---- */

#define NAME_SIZE 256 /* limit of file systems */

struct migration {
    int version;     /* 0: grants.sql, which is not recorded */
    int serves_from; /* oldest schema version of a program that works with this one */
    char name[NAME_SIZE];
    char *text;
    char sha256[2 * MG_SHA256_SIZE + 1];
    bool is_applied;
    /* The text is one query. The rows of its only column are statements, run one by one, each in a
     * transaction of its own or in none. The query is asked again until it has no row; so it goes by what it
     * finds, and an interrupted plan goes on with the next migration. For indexes that are built alongside
     * the programs. */
    bool is_plan;
};

struct migrator {
    struct mg_pg_once *once;
    const char *dsn;
    struct mg_pg_once *observer; /* sees the sessions that the other waits for; NULL: not open */
    int64_t lock_wait_ms;        /* of one file, all its tries and pauses */
    void (*report)(void *arg, const char *line); /* may be NULL */
    void *arg;
    /* the present try */
    char holder[256];  /* the sessions that it waits for; "": none was seen */
    bool is_long_wait; /* it holds up no program: one wait as long as may be */
    int64_t waited_ms; /* of this file */
};

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

static void report_holder(const struct migrator *migrator, const struct migration *migration,
                          const char *then)
{
    char line[NAME_SIZE + sizeof(migrator->holder) + 64];
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
    struct migrator *migrator = arg;
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

static enum mg_class run(struct migrator *migrator, const char *text, struct mg_err *err)
{
    return mg_pg_once_run(migrator->once, text, NULL, 0, NULL, err);
}

static enum mg_class record(struct migrator *migrator, const struct migration *migration, struct mg_err *err)
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

static enum mg_class set_lock_timeout(struct migrator *migrator, int64_t timeout_ms, struct mg_err *err)
{
    char text[64];
    (void)snprintf(text, sizeof(text), "SET lock_timeout = %lld", (long long)timeout_ms);
    return run(migrator, text, err);
}

/* ---- one try ---- */

static enum mg_class try_whole(struct migrator *migrator, const struct migration *migration,
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
static enum mg_class try_statement(struct migrator *migrator, const char *statement, struct mg_err *err)
{
    int64_t left_ms = migrator->lock_wait_ms - migrator->waited_ms;
    migrator->is_long_wait = strstr(statement, " CONCURRENTLY ") != NULL;
    enum mg_class class =
        set_lock_timeout(migrator, migrator->is_long_wait && left_ms > TRY_MS ? left_ms : TRY_MS, err);
    return class == MG_OK ? run(migrator, statement, err) : class;
}

static enum mg_class try_statements(struct migrator *migrator, const struct mg_rows *rows, struct mg_err *err)
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

static enum mg_class try_plan(struct migrator *migrator, const struct migration *migration,
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
static void try_end(struct migrator *migrator)
{
    struct mg_err unused; /* without a session there is no transaction either */
    (void)run(migrator, "ROLLBACK", &unused);
}

/* False: the time is over. */
static bool wait_a_little(struct migrator *migrator, const struct migration *migration)
{
    migrator->waited_ms += migrator->is_long_wait ? migrator->lock_wait_ms : TRY_MS + PAUSE_MS;
    if (migrator->waited_ms >= migrator->lock_wait_ms) {
        return false;
    }
    report_holder(migrator, migration, "; it tries again in 3 s");
    struct mg_err unused; /* the lock that could not be had is the error */
    return run(migrator, PAUSE, &unused) == MG_OK;
}

/* Applies and records one file. A lock that others hold is waited for briefly, so that no program stands
 * behind this wait for long, and again after a pause. MG_TRANSIENT, with the holders' names: they hold it
 * still. */
static enum mg_class migration_apply(struct migrator *migrator, const struct migration *migration,
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

/* ---- the files of a folder ---- */

struct migrations {
    struct migration items[FILES_MAX];
    int count;
    struct migration grants; /* without text: no such file */
};

static enum mg_class read_folder(const char *directory, struct migrations *list, struct mg_err *err);
static enum mg_class compare_applied(struct mg_pg_once *once, struct migrations *list, struct mg_err *err);

/* Held until the session ends. Another migration may hold it, which builds an index alongside the programs.
 * Such a build waits for each statement that runs, so this one must be short: a single long wait would be a
 * deadlock. */
static const char TRY_LOCK[] = "SELECT pg_try_advisory_lock(" MG_SQL_LOCK("2") ")::int";
#define LOCK_PAUSE     "SELECT pg_sleep(0.2)"
#define LOCK_TRIES_MAX (10 * 60 * 5) /* ten minutes: large indexes take as long */
/* Programs of schema 1 kept their record in makegood_schema. It is copied; later runs add nothing (0002 makes
 * it a view). */
static const char PREPARE_RECORD[] =
    "DO $$ BEGIN"
    " CREATE TABLE IF NOT EXISTS makegood_migration (version integer PRIMARY KEY, name text NOT NULL, sha256 "
    "text NOT NULL, serves_from integer NOT NULL, applied_at timestamptz NOT NULL DEFAULT clock_timestamp());"
    " IF to_regclass('makegood_schema') IS NOT NULL THEN"
    "  INSERT INTO makegood_migration (version, name, sha256, serves_from, applied_at)"
    "  SELECT version, name, sha256, version, applied_at FROM makegood_schema ON CONFLICT DO NOTHING;"
    " END IF; "
    "END $$";
static const char READ_RECORD[] = "SELECT version, name, sha256 FROM makegood_migration ORDER BY version";

static enum mg_class demand_fit(struct mg_pg_once *once, struct mg_err *err)
{
    struct mg_rows *rows = NULL;
    char unfit[MG_ERR_TEXT_MAX] = "";
    enum mg_class class = mg_pg_once_run(once, "SELECT " MG_SQL_UNFIT, NULL, 0, &rows, err);
    if (class == MG_OK) {
        mg_rows_copy(rows, 0, 0, unfit, sizeof(unfit));
        mg_rows_destroy(rows);
    }
    return unfit[0] == '\0' ? class : mg_err_set(err, MG_PERMANENT, "cannot use this database: %s", unfit);
}

static enum mg_class lock_take(struct mg_pg_once *once, struct mg_err *err)
{
    for (int tries = 0; tries < LOCK_TRIES_MAX; tries++) {
        struct mg_rows *rows = NULL;
        enum mg_class class = mg_pg_once_run(once, TRY_LOCK, NULL, 0, &rows, err);
        bool is_taken = class == MG_OK && mg_rows_int(rows, 0, 0) == 1;
        mg_rows_destroy(rows);
        if (class == MG_OK && !is_taken) {
            class = mg_pg_once_run(once, LOCK_PAUSE, NULL, 0, NULL, err);
        }
        if (class != MG_OK || is_taken) {
            return class;
        }
    }
    return mg_err_set(err, MG_TRANSIENT, "another migration has not ended within ten minutes");
}

static void say(const struct migrator *migrator, const char *line)
{
    if (migrator->report != NULL) {
        migrator->report(migrator->arg, line);
    }
}

static enum mg_class migrate(struct migrator *migrator, struct migrations *list, struct mg_err *err)
{
    enum mg_class class = demand_fit(migrator->once, err);
    if (class != MG_OK) {
        return class;
    }
    class = lock_take(migrator->once, err);
    if (class == MG_OK) {
        class = mg_pg_once_run(migrator->once, PREPARE_RECORD, NULL, 0, NULL, err);
    }
    if (class != MG_OK) {
        return mg_err_prefix(err, "could not prepare the migration");
    }
    class = compare_applied(migrator->once, list, err);
    int applied = 0;
    for (int i = 0; class == MG_OK && i < list->count; i++) {
        if (list->items[i].is_applied) {
            continue;
        }
        class = migration_apply(migrator, &list->items[i], err);
        if (class != MG_OK) {
            break;
        }
        applied++;
        char line[NAME_SIZE + 32];
        snprintf(line, sizeof(line), "applied %s", list->items[i].name);
        say(migrator, line);
    }
    if (class == MG_OK && applied == 0) {
        say(migrator, "the schema is up to date");
    }
    if (class == MG_OK && list->grants.text != NULL) {
        class = migration_apply(migrator, &list->grants, err);
        if (class == MG_OK) {
            say(migrator, "applied " GRANTS " to those of its roles that exist");
        }
    }
    return class;
}

static void migrations_free(struct migrations *list)
{
    for (int i = 0; i < list->count; i++) {
        free(list->items[i].text);
    }
    free(list->grants.text);
    free(list);
}

enum mg_class mg_store_migrations_check(const char *directory, struct mg_err *err)
{
    struct migrations *list = calloc(1, sizeof(*list));
    if (list == NULL) {
        return mg_err_set(err, MG_TRANSIENT, "could not read %s: no memory", directory);
    }
    enum mg_class class = read_folder(directory, list, err);
    migrations_free(list);
    return class;
}

enum mg_class mg_store_migrate(const struct mg_migrate_options *options, struct mg_err *err)
{
    struct migrations *list = calloc(1, sizeof(*list));
    if (list == NULL) {
        return mg_err_set(err, MG_TRANSIENT, "could not migrate: no memory");
    }
    struct migrator migrator = {.dsn = options->dsn,
                                .report = options->report,
                                .arg = options->arg,
                                .lock_wait_ms =
                                    options->lock_wait_ms > 0 ? options->lock_wait_ms : LOCK_WAIT_MS};
    enum mg_class class = read_folder(options->directory, list, err);
    if (class == MG_OK) {
        class = mg_pg_once_open(options->dsn, &migrator.once, err);
    }
    if (class == MG_OK) {
        class = migrate(&migrator, list, err);
    }
    mg_pg_once_close(migrator.observer);
    mg_pg_once_close(migrator.once);
    migrations_free(list);
    return class;
}

static struct migration *find(struct migrations *list, int64_t version)
{
    for (int i = 0; i < list->count; i++) {
        if (list->items[i].version == version) {
            return &list->items[i];
        }
    }
    return NULL;
}

static enum mg_class compare_applied(struct mg_pg_once *once, struct migrations *list, struct mg_err *err)
{
    struct mg_rows *rows = NULL;
    enum mg_class class = mg_pg_once_run(once, READ_RECORD, NULL, 0, &rows, err);
    if (class != MG_OK) {
        return mg_err_prefix(err, "could not read makegood_migration");
    }
    for (int row = 0; class == MG_OK && row < mg_rows_count(rows); row++) {
        struct migration *migration = find(list, mg_rows_int(rows, row, 0));
        char name[NAME_SIZE];
        mg_rows_copy(rows, row, 1, name, sizeof(name));
        if (migration == NULL) {
            class = mg_err_set(
                err, MG_PERMANENT,
                "cannot migrate: the database has %s, which is not in this folder; use the newer program",
                name);
        } else if (!mg_slice_is(mg_rows_value(rows, row, 2), migration->sha256)) {
            class = mg_err_set(
                err, MG_PERMANENT,
                "cannot migrate: %s was applied with other content; put the file back as it was and write "
                "the change into a new one",
                migration->name);
        } else {
            migration->is_applied = true;
        }
    }
    mg_rows_destroy(rows);
    return class;
}

/* ---- files ---- */

/* "0001_schema.sql" → 1; 0: not a migration's name. */
static int version_of(const char *name)
{
    size_t len = strlen(name);
    if (len < 10 || len >= NAME_SIZE || strspn(name, "0123456789") != 4 || name[4] != '_') {
        return 0;
    }
    if (strcmp(name + len - 4, ".sql") != 0) {
        return 0;
    }
    return (int)strtol(name, NULL, 10);
}

/* CR LF becomes LF: a clone of the sources may have either, and both have one hash. Returns the new length.
 */
static size_t drop_line_ends_of_dos(char *text, size_t len)
{
    size_t kept = 0;
    for (size_t i = 0; i < len; i++) {
        if (text[i] != '\r' || i + 1 == len || text[i + 1] != '\n') {
            text[kept++] = text[i];
        }
    }
    text[kept] = '\0';
    return kept;
}

static enum mg_class read_file(const char *path, struct migration *migration, struct mg_err *err)
{
    migration->text = malloc(FILE_BYTES_MAX + 1);
    if (migration->text == NULL) {
        return mg_err_set(err, MG_TRANSIENT, "could not read %s: no memory", path);
    }
    ssize_t len = mg_file_read(path, false, migration->text, FILE_BYTES_MAX + 1);
    if (len == 0) {
        return mg_err_set(err, MG_BAD_INPUT, "cannot read %s: it is empty, or no regular file", path);
    }
    if (len < 0) {
        return mg_err_set(err, MG_BAD_INPUT, "cannot read %s: %s", path, strerror(errno));
    }
    if (len > FILE_BYTES_MAX) {
        return mg_err_set(err, MG_BAD_INPUT, "cannot read %s: it is larger than 1 MiB", path);
    }
    len = (ssize_t)drop_line_ends_of_dos(migration->text, (size_t)len);
    uint8_t digest[MG_SHA256_SIZE];
    mg_sha256((struct mg_slice){migration->text, (size_t)len}, digest);
    *mg_hex_write(digest, MG_SHA256_SIZE, migration->sha256) = '\0';
    return MG_OK;
}

/* Reads the oldest served program from the file's first line. */
static enum mg_class read_serves(struct migration *migration, struct mg_err *err)
{
    migration->serves_from = migration->version;
    if (strncmp(migration->text, SERVES_LINE, strlen(SERVES_LINE)) != 0) {
        return MG_OK;
    }
    char *end;
    long serves_from = strtol(migration->text + strlen(SERVES_LINE), &end, 10);
    if (*end != '\n' || serves_from < 1 || serves_from > migration->version) {
        return mg_err_set(err, MG_BAD_INPUT,
                          "cannot use %s: its first line should be \"%sN\", N from 1 to %d", migration->name,
                          SERVES_LINE, migration->version);
    }
    migration->serves_from = (int)serves_from;
    migration->is_plan = strncmp(end + 1, PLAN_LINE, strlen(PLAN_LINE)) == 0;
    return MG_OK;
}

static enum mg_class read_grants(const char *directory, struct migration *grants, struct mg_err *err)
{
    char path[PATH_SIZE];
    snprintf(grants->name, sizeof(grants->name), GRANTS);
    if (snprintf(path, sizeof(path), "%s/" GRANTS, directory) >= (int)sizeof(path) ||
        access(path, F_OK) != 0) {
        return MG_OK;
    }
    return read_file(path, grants, err);
}

static int compare_by_version(const void *a, const void *b)
{
    return ((const struct migration *)a)->version - ((const struct migration *)b)->version;
}

static enum mg_class read_folder(const char *directory, struct migrations *list, struct mg_err *err)
{
    DIR *dir = opendir(directory);
    if (dir == NULL) {
        return mg_err_set(err, MG_BAD_INPUT, "cannot read the folder %s: %s; --migrations names another",
                          directory, strerror(errno));
    }
    enum mg_class class = MG_OK;
    const struct dirent *entry;
    while (class == MG_OK && (entry = readdir(dir)) != NULL) {
        int version = version_of(entry->d_name);
        if (version == 0) {
            continue;
        }
        char path[PATH_SIZE];
        if (list->count == FILES_MAX || find(list, version) != NULL ||
            snprintf(path, sizeof(path), "%s/%s", directory, entry->d_name) >= (int)sizeof(path)) {
            class = mg_err_set(err, MG_BAD_INPUT,
                               "cannot use %s/%s: its number is taken, or there are too many files",
                               directory, entry->d_name);
            break;
        }
        struct migration *migration = &list->items[list->count++];
        migration->version = version;
        snprintf(migration->name, sizeof(migration->name), "%s", entry->d_name);
        class = read_file(path, migration, err);
        if (class == MG_OK) {
            class = read_serves(migration, err);
        }
    }
    (void)closedir(dir); /* read only: no data can be lost */
    if (class == MG_OK && list->count == 0) {
        class =
            mg_err_set(err, MG_BAD_INPUT, "cannot migrate: there is no file NNNN_name.sql in %s", directory);
    }
    if (class == MG_OK) {
        class = read_grants(directory, &list->grants, err);
    }
    qsort(list->items, (size_t)list->count, sizeof(list->items[0]), compare_by_version);
    return class;
}
