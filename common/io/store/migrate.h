/* Shared by the files of a migration: migrate.c reads and compares them, migrator.c applies them. */
#ifndef MG_IO_STORE_MIGRATE_H
#define MG_IO_STORE_MIGRATE_H

#include "base/id.h"
#include "io/pg/pg.h"

#define MG_MIGRATION_NAME_SIZE 256 /* limit of file systems */

struct mg_migration {
    int version;     /* 0: grants.sql, which is not recorded */
    int serves_from; /* oldest schema version of a program that works with this one */
    char name[MG_MIGRATION_NAME_SIZE];
    char *text;
    char sha256[2 * MG_SHA256_SIZE + 1];
    bool is_applied;
    /* The text is one query. The rows of its only column are statements, run one by one, each in a
     * transaction of its own or in none. The query is asked again until it has no row; so it goes by what it
     * finds, and an interrupted plan goes on with the next migration. For indexes that are built alongside
     * the programs. */
    bool is_plan;
};

struct mg_migrator {
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

/* Applies and records one file. A lock that others hold is waited for briefly, so that no program stands
 * behind this wait for long, and again after a pause. MG_TRANSIENT, with the holders' names: they hold it
 * still. */
enum mg_class mg_migrator_apply(struct mg_migrator *migrator, const struct mg_migration *migration,
                                struct mg_err *err) MG_MUSTCHECK;

#endif
