/*
 * The ledger's statements. Each is one INSERT or UPDATE that decides and counts in the same breath and
 * returns the row as it is afterwards, so that two requests of one key cannot both find it free.
 */
#include "ledger.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "ledger_sql.h"

#define BUSY_TIMEOUT_MS 5000 /* a test that reads the file with sqlite3 holds it for less */

#define ROW "id, state, do_requests, undo_requests, ready_at_ms, body"

static const char schema[] =
    "PRAGMA journal_mode = WAL;"
    "PRAGMA synchronous = NORMAL;"
    "CREATE TABLE IF NOT EXISTS entry ("
    " id INTEGER PRIMARY KEY, service TEXT NOT NULL, key TEXT NOT NULL,"
    " state TEXT NOT NULL DEFAULT 'none' CHECK (state IN ('none', 'done', 'undone', 'cancelled')),"
    " body BLOB, undo_body BLOB,"
    " do_requests INTEGER NOT NULL DEFAULT 0, replays INTEGER NOT NULL DEFAULT 0,"
    " conflicts INTEGER NOT NULL DEFAULT 0, blocked INTEGER NOT NULL DEFAULT 0,"
    " executions INTEGER NOT NULL DEFAULT 0, undo_requests INTEGER NOT NULL DEFAULT 0,"
    " undos INTEGER NOT NULL DEFAULT 0, get_requests INTEGER NOT NULL DEFAULT 0,"
    " first_seen_at_ms INTEGER NOT NULL, done_at_ms INTEGER, ready_at_ms INTEGER NOT NULL DEFAULT 0,"
    " undone_at_ms INTEGER, UNIQUE (service, key));"
    "CREATE TABLE IF NOT EXISTS call (service TEXT NOT NULL, key TEXT NOT NULL, traceparent TEXT NOT NULL);"
    "CREATE INDEX IF NOT EXISTS call_key ON call (service, key);"
    "CREATE TABLE IF NOT EXISTS switch ("
    " service TEXT PRIMARY KEY, behaviour TEXT NOT NULL, remaining INTEGER NOT NULL, touches INTEGER NOT "
    "NULL);";

static const char *const texts[SQL_STATEMENT_COUNT] = {
    /* ?1 service ?2 key ?3 body ?4 now */
    [SQL_NOTE_DO] =
        "INSERT INTO entry (service, key, body, do_requests, first_seen_at_ms) VALUES (?1, ?2, ?3, 1, ?4)"
        " ON CONFLICT (service, key) DO UPDATE SET do_requests = do_requests + 1,"
        " conflicts = conflicts + (body IS NOT NULL AND body <> excluded.body),"
        " replays = replays + (state = 'done'), blocked = blocked + (state IN ('undone', 'cancelled')),"
        " body = COALESCE(body, excluded.body) RETURNING " ROW ", body <> ?3",
    /* ?1 service ?2 key ?3 forgetful ?4 now ?5 ready at */
    [SQL_EXECUTE] = "UPDATE entry SET state = 'done', executions = executions + 1,"
                    " done_at_ms = COALESCE(done_at_ms, ?4), ready_at_ms = ?5 WHERE service = ?1 AND key = ?2"
                    " AND (state = 'none' OR (?3 AND state = 'done')) RETURNING " ROW,
    [SQL_NOTE_BLOCKED] = "UPDATE entry SET blocked = blocked + (state IN ('undone', 'cancelled'))"
                         " WHERE service = ?1 AND key = ?2 RETURNING " ROW,
    /* ?1 service ?2 key ?3 body ?4 now */
    [SQL_NOTE_UNDO] = "INSERT INTO entry (service, key, undo_body, undo_requests, first_seen_at_ms) VALUES "
                      "(?1, ?2, ?3, 1, ?4)"
                      " ON CONFLICT (service, key) DO UPDATE SET undo_requests = undo_requests + 1,"
                      " undo_body = COALESCE(excluded.undo_body, undo_body) RETURNING " ROW,
    /* ?1 service ?2 key ?3 now */
    [SQL_UNDO] = "UPDATE entry SET undos = undos + CASE state WHEN 'done' THEN executions ELSE 0 END,"
                 " undone_at_ms = COALESCE(undone_at_ms, ?3),"
                 " state = CASE state WHEN 'done' THEN 'undone' WHEN 'none' THEN 'cancelled' ELSE state END"
                 " WHERE service = ?1 AND key = ?2 RETURNING " ROW,
    [SQL_NOTE_GET] =
        "UPDATE entry SET get_requests = get_requests + 1 WHERE service = ?1 AND key = ?2 RETURNING " ROW,
    /* ?1 service ?2 key ?3 traceparent */
    [SQL_NOTE_TRACE] = "INSERT INTO call (service, key, traceparent) VALUES (?1, ?2, ?3)",
    [SQL_SWITCH_SET] = "INSERT INTO switch (service, behaviour, remaining, touches) VALUES (?1, ?2, ?3, ?4)"
                       " ON CONFLICT (service) DO UPDATE SET behaviour = excluded.behaviour,"
                       " remaining = excluded.remaining, touches = excluded.touches",
    [SQL_SWITCH_READ] = "SELECT behaviour, remaining FROM switch WHERE service = ?1 AND (touches & ?2) <> 0 "
                        "AND remaining <> 0",
    [SQL_SWITCH_TAKE] = "UPDATE switch SET remaining = remaining - 1 WHERE service = ?1 AND remaining > 0"
                        " RETURNING remaining",
    [SQL_TOTALS] =
        "SELECT service, COUNT(*), TOTAL(do_requests), TOTAL(undo_requests), TOTAL(get_requests), "
        "TOTAL(replays),"
        " TOTAL(conflicts), TOTAL(blocked), TOTAL(executions), TOTAL(undos), TOTAL(executions - undos),"
        " TOTAL(executions > 1), TOTAL(state = 'done'), TOTAL(state = 'undone'), TOTAL(state = 'cancelled'),"
        " TOTAL(state = 'none') FROM entry WHERE (?1 IS NULL OR service = ?1) AND (?2 IS NULL OR key = ?2)"
        " GROUP BY service ORDER BY service",
    [SQL_ENTRIES] =
        "SELECT id, service, key, state, do_requests, replays, conflicts, blocked, executions, "
        "undo_requests, undos,"
        " get_requests, first_seen_at_ms, done_at_ms, ready_at_ms, undone_at_ms,"
        " (SELECT group_concat(traceparent, ' ') FROM call c WHERE c.service = entry.service AND c.key = entry.key),"
        " body, undo_body FROM entry"
        " WHERE (?1 IS NULL OR service = ?1) AND (?2 IS NULL OR key = ?2) ORDER BY id",
    [SQL_SWITCHES] = "SELECT service, behaviour, remaining, touches FROM switch ORDER BY service",
};

static const char *const state_names[] = {"none", "done", "undone", "cancelled"};

/* ---- opening ---- */

struct ledger *ledger_open(const char *path)
{
    struct ledger *ledger = calloc(1, sizeof(*ledger));
    if (!ledger) {
        return NULL;
    }
    (void)pthread_mutex_init(&ledger->mutex, NULL); /* cannot fail with default attributes on Linux */
    char *message = NULL;
    if (sqlite3_open(path, &ledger->db) != SQLITE_OK) {
        goto failed;
    }
    sqlite3_busy_timeout(ledger->db, BUSY_TIMEOUT_MS);
    if (sqlite3_exec(ledger->db, schema, NULL, NULL, &message) != SQLITE_OK) {
        goto failed;
    }
    for (int i = 0; i < SQL_STATEMENT_COUNT; i++) {
        if (sqlite3_prepare_v3(ledger->db, texts[i], -1, SQLITE_PREPARE_PERSISTENT, &ledger->statements[i],
                               NULL) != SQLITE_OK) {
            goto failed;
        }
    }
    return ledger;
failed:
    (void)fprintf(stderr, "could not open the ledger %s: %s\n", path,
                  message ? message : sqlite3_errmsg(ledger->db));
    sqlite3_free(message);
    ledger_close(ledger);
    return NULL;
}

void ledger_close(struct ledger *ledger)
{
    if (!ledger) {
        return;
    }
    for (int i = 0; i < SQL_STATEMENT_COUNT; i++) {
        sqlite3_finalize(ledger->statements[i]);
    }
    sqlite3_close(ledger->db);
    (void)pthread_mutex_destroy(&ledger->mutex);
    free(ledger);
}

sqlite3_stmt *ledger_begin(struct ledger *ledger, enum statement statement)
{
    (void)pthread_mutex_lock(&ledger->mutex); /* cannot fail: never taken twice by one thread */
    return ledger->statements[statement];
}

bool ledger_end(struct ledger *ledger, sqlite3_stmt *statement, int code)
{
    if (code != SQLITE_DONE) {
        (void)fprintf(stderr, "could not write or read the ledger: %s\n", sqlite3_errmsg(ledger->db));
    }
    sqlite3_reset(statement);
    sqlite3_clear_bindings(statement);
    (void)pthread_mutex_unlock(&ledger->mutex);
    return code == SQLITE_DONE;
}

/* ---- entries ---- */

void entry_finish(struct entry *entry)
{
    free(entry->body);
    entry->body = NULL;
}

const char *state_name(enum state state)
{
    return state_names[state];
}

int64_t ledger_now_ms(void)
{
    struct timespec now;
    (void)clock_gettime(CLOCK_REALTIME, &now); /* cannot fail for this clock */
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

static void bind_text(sqlite3_stmt *statement, int at, const char *text)
{
    /* A value that cannot be bound stays NULL, and the table refuses it. */
    (void)sqlite3_bind_text(statement, at, text, -1, SQLITE_STATIC);
}

static void bind_identity(sqlite3_stmt *statement, const char *service, const char *key)
{
    bind_text(statement, 1, service);
    bind_text(statement, 2, key);
}

/* Reads at most one row of columns ROW; an additional last column is true if a body differs. */
static bool entry_read(struct ledger *ledger, sqlite3_stmt *statement, struct entry *ret_entry)
{
    struct entry entry = {0};
    int code = sqlite3_step(statement);
    if (code == SQLITE_ROW) {
        entry.is_known = true;
        entry.id = sqlite3_column_int64(statement, 0);
        const char *name = (const char *)sqlite3_column_text(statement, 1);
        for (enum state state = STATE_NONE; state <= STATE_CANCELLED; state++) {
            if (name && strcmp(name, state_names[state]) == 0) {
                entry.state = state;
            }
        }
        entry.do_requests = sqlite3_column_int64(statement, 2);
        entry.undo_requests = sqlite3_column_int64(statement, 3);
        entry.ready_at_ms = sqlite3_column_int64(statement, 4);
        const void *body = sqlite3_column_blob(statement, 5);
        entry.body_len = sqlite3_column_bytes(statement, 5);
        entry.body = calloc(1, (size_t)entry.body_len + 1);
        if (entry.body && body) {
            memcpy(entry.body, body, (size_t)entry.body_len);
        }
        if (sqlite3_column_count(statement) > 6) {
            entry.is_other_body = sqlite3_column_int(statement, 6) != 0;
        }
        code = sqlite3_step(statement);
    }
    bool is_read = ledger_end(ledger, statement, code) && (!entry.is_known || entry.body);
    if (is_read) {
        *ret_entry = entry;
    } else {
        entry_finish(&entry);
    }
    return is_read;
}

bool ledger_note_do(struct ledger *ledger, const char *service, const char *key, const char *body,
                    size_t body_len, struct entry *ret_entry)
{
    sqlite3_stmt *statement = ledger_begin(ledger, SQL_NOTE_DO);
    bind_identity(statement, service, key);
    (void)sqlite3_bind_blob64(statement, 3, body, body_len, SQLITE_STATIC);
    (void)sqlite3_bind_int64(statement, 4, ledger_now_ms());
    return entry_read(ledger, statement, ret_entry);
}

bool ledger_execute(struct ledger *ledger, const char *service, const char *key, int64_t ready_in_ms,
                    bool is_forgetful, bool *ret_is_executed, struct entry *ret_entry)
{
    int64_t now_ms = ledger_now_ms();
    sqlite3_stmt *statement = ledger_begin(ledger, SQL_EXECUTE);
    bind_identity(statement, service, key);
    (void)sqlite3_bind_int(statement, 3, is_forgetful);
    (void)sqlite3_bind_int64(statement, 4, now_ms);
    (void)sqlite3_bind_int64(statement, 5, ready_in_ms > 0 ? now_ms + ready_in_ms : 0);
    struct entry entry;
    if (!entry_read(ledger, statement, &entry)) {
        return false;
    }
    *ret_is_executed = entry.is_known;
    if (!entry.is_known) {
        statement = ledger_begin(ledger, SQL_NOTE_BLOCKED);
        bind_identity(statement, service, key);
        if (!entry_read(ledger, statement, &entry)) {
            return false;
        }
    }
    *ret_entry = entry;
    return true;
}

bool ledger_note_undo(struct ledger *ledger, const char *service, const char *key, const char *body,
                      size_t body_len, struct entry *ret_entry)
{
    sqlite3_stmt *statement = ledger_begin(ledger, SQL_NOTE_UNDO);
    bind_identity(statement, service, key);
    if (body_len > 0) {
        (void)sqlite3_bind_blob64(statement, 3, body, body_len, SQLITE_STATIC);
    }
    (void)sqlite3_bind_int64(statement, 4, ledger_now_ms());
    return entry_read(ledger, statement, ret_entry);
}

bool ledger_undo(struct ledger *ledger, const char *service, const char *key, struct entry *ret_entry)
{
    sqlite3_stmt *statement = ledger_begin(ledger, SQL_UNDO);
    bind_identity(statement, service, key);
    (void)sqlite3_bind_int64(statement, 3, ledger_now_ms());
    return entry_read(ledger, statement, ret_entry);
}

bool ledger_note_get(struct ledger *ledger, const char *service, const char *key, struct entry *ret_entry)
{
    sqlite3_stmt *statement = ledger_begin(ledger, SQL_NOTE_GET);
    bind_identity(statement, service, key);
    return entry_read(ledger, statement, ret_entry);
}

bool ledger_note_trace(struct ledger *ledger, const char *service, const char *key, const char *traceparent)
{
    sqlite3_stmt *statement = ledger_begin(ledger, SQL_NOTE_TRACE);
    bind_identity(statement, service, key);
    bind_text(statement, 3, traceparent);
    return ledger_end(ledger, statement, sqlite3_step(statement));
}

/* ---- switches ---- */

bool ledger_switch_set(struct ledger *ledger, const char *service, const char *behaviour, int64_t count,
                       int touches)
{
    sqlite3_stmt *statement = ledger_begin(ledger, SQL_SWITCH_SET);
    bind_text(statement, 1, service);
    bind_text(statement, 2, behaviour);
    (void)sqlite3_bind_int64(statement, 3, count);
    (void)sqlite3_bind_int(statement, 4, touches);
    return ledger_end(ledger, statement, sqlite3_step(statement));
}

bool ledger_switch_take(struct ledger *ledger, const char *service, int kind, struct behaviour *ret_behaviour)
{
    struct behaviour behaviour = {.mode = MODE_ORDER, .count = -1};
    int64_t remaining = -1;
    sqlite3_stmt *statement = ledger_begin(ledger, SQL_SWITCH_READ);
    bind_text(statement, 1, service);
    (void)sqlite3_bind_int(statement, 2, kind);
    int code = sqlite3_step(statement);
    if (code == SQLITE_ROW) {
        const char *text = (const char *)sqlite3_column_text(statement, 0);
        remaining = sqlite3_column_int64(statement, 1);
        if (!text || !behaviour_parse(text, &behaviour)) {
            behaviour.mode = MODE_ORDER; /* checked when it was set */
        }
        code = sqlite3_step(statement);
    }
    if (!ledger_end(ledger, statement, code)) {
        return false;
    }
    if (remaining > 0) {
        /* Only that one of several threads that finds it above zero has it. */
        statement = ledger_begin(ledger, SQL_SWITCH_TAKE);
        bind_text(statement, 1, service);
        code = sqlite3_step(statement);
        bool is_taken = code == SQLITE_ROW;
        if (is_taken) {
            code = sqlite3_step(statement);
        }
        if (!ledger_end(ledger, statement, code)) {
            return false;
        }
        if (!is_taken) {
            behaviour = (struct behaviour){.mode = MODE_ORDER, .count = -1};
        }
    }
    *ret_behaviour = behaviour;
    return true;
}
