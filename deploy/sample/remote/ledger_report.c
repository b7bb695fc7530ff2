/*
 * The ledger as JSON, for tests and for people. Bodies are given as the bytes that came: as a JSON string if
 * they are UTF-8, which decodes to the same bytes, else in hexadecimal.
 */
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "ledger_sql.h"

static void bind_filter(sqlite3_stmt *statement, const char *service, const char *key)
{
    if (service) {
        (void)sqlite3_bind_text(statement, 1, service, -1, SQLITE_STATIC);
    }
    if (key) {
        (void)sqlite3_bind_text(statement, 2, key, -1, SQLITE_STATIC);
    }
}

static json_t *hex_of(const unsigned char *bytes, size_t len)
{
    static const char digits[] = "0123456789abcdef";
    char *text = malloc(2 * len + 1);
    if (!text) {
        return NULL;
    }
    for (size_t i = 0; i < len; i++) {
        text[2 * i] = digits[bytes[i] >> 4];
        text[2 * i + 1] = digits[bytes[i] & 15];
    }
    json_t *value = json_stringn(text, 2 * len);
    free(text);
    return value;
}

static json_t *value_of(sqlite3_stmt *statement, int column)
{
    switch (sqlite3_column_type(statement, column)) {
    case SQLITE_INTEGER:
    case SQLITE_FLOAT: /* TOTAL() of whole numbers */
        return json_integer(sqlite3_column_int64(statement, column));
    case SQLITE_TEXT:
        return json_string((const char *)sqlite3_column_text(statement, column));
    default:
        return json_null();
    }
}

static void body_add(json_t *object, const char *name, const char *hex_name, sqlite3_stmt *statement,
                     int column)
{
    const void *bytes = sqlite3_column_blob(statement, column);
    size_t len = (size_t)sqlite3_column_bytes(statement, column);
    if (sqlite3_column_type(statement, column) == SQLITE_NULL) {
        (void)json_object_set_new(object, name, json_null());
        return;
    }
    json_t *text = json_stringn(bytes ? bytes : "", len); /* NULL: not UTF-8 */
    if (text) {
        (void)json_object_set_new(object, name, text);
    } else {
        (void)json_object_set_new(object, hex_name, hex_of(bytes, len));
    }
}

/* One object by service, and their sums. A field that could not be set for want of memory is missing. */
static bool totals_add(struct ledger *ledger, const char *service, const char *key, json_t *report)
{
    static const char *const names[] = {NULL,           "keys",    "do_requests", "undo_requests",
                                        "get_requests", "replays", "conflicts",   "blocked",
                                        "effects",      "undos",   "net_effects", "keys_with_several_effects",
                                        "done",         "undone",  "cancelled",   "none"};
    enum { COLUMNS = sizeof(names) / sizeof(names[0]) };
    json_t *totals = json_object(), *services = json_object();
    for (int i = 1; i < COLUMNS; i++) {
        (void)json_object_set_new(totals, names[i], json_integer(0));
    }
    sqlite3_stmt *statement = ledger_begin(ledger, SQL_TOTALS);
    bind_filter(statement, service, key);
    int code;
    while ((code = sqlite3_step(statement)) == SQLITE_ROW) {
        json_t *one = json_object();
        for (int i = 1; i < COLUMNS; i++) {
            json_int_t before = json_integer_value(json_object_get(totals, names[i]));
            (void)json_object_set_new(one, names[i], value_of(statement, i));
            (void)json_object_set_new(totals, names[i],
                                      json_integer(before + sqlite3_column_int64(statement, i)));
        }
        (void)json_object_set_new(services, (const char *)sqlite3_column_text(statement, 0), one);
    }
    bool is_read = ledger_end(ledger, statement, code);
    (void)json_object_set_new(report, "totals", totals);
    (void)json_object_set_new(report, "services", services);
    return is_read;
}

static bool entries_add(struct ledger *ledger, const char *service, const char *key, json_t *report)
{
    static const char *const names[] = {"id",
                                        "service",
                                        "key",
                                        "state",
                                        "do_requests",
                                        "replays",
                                        "conflicts",
                                        "blocked",
                                        "effects",
                                        "undo_requests",
                                        "undos",
                                        "get_requests",
                                        "first_seen_at_ms",
                                        "done_at_ms",
                                        "ready_at_ms",
                                        "undone_at_ms",
                                        "traceparents"};
    enum { COLUMNS = sizeof(names) / sizeof(names[0]) };
    json_t *entries = json_array();
    sqlite3_stmt *statement = ledger_begin(ledger, SQL_ENTRIES);
    bind_filter(statement, service, key);
    int code;
    while ((code = sqlite3_step(statement)) == SQLITE_ROW) {
        json_t *entry = json_object();
        for (int i = 0; i < COLUMNS; i++) {
            (void)json_object_set_new(entry, names[i], value_of(statement, i));
        }
        body_add(entry, "body", "body_hex", statement, COLUMNS);
        body_add(entry, "undo_body", "undo_body_hex", statement, COLUMNS + 1);
        (void)json_array_append_new(entries, entry);
    }
    bool is_read = ledger_end(ledger, statement, code);
    (void)json_object_set_new(report, "entries", entries);
    return is_read;
}

static bool switches_add(struct ledger *ledger, json_t *report)
{
    json_t *switches = json_object();
    sqlite3_stmt *statement = ledger_begin(ledger, SQL_SWITCHES);
    int code;
    while ((code = sqlite3_step(statement)) == SQLITE_ROW) {
        json_t *one = json_object();
        (void)json_object_set_new(one, "mode", value_of(statement, 1));
        (void)json_object_set_new(one, "count", value_of(statement, 2));
        (void)json_object_set_new(switches, (const char *)sqlite3_column_text(statement, 0), one);
    }
    bool is_read = ledger_end(ledger, statement, code);
    (void)json_object_set_new(report, "switches", switches);
    return is_read;
}

char *ledger_report(struct ledger *ledger, const char *service, const char *key, bool has_entries)
{
    char *text = NULL;
    json_t *report = json_object();
    if (report && totals_add(ledger, service, key, report) && switches_add(ledger, report) &&
        (!has_entries || entries_add(ledger, service, key, report))) {
        text = json_dumps(report, JSON_COMPACT);
    }
    json_decref(report);
    return text;
}
