/* Private to ledger.c and ledger_report.c. */
#ifndef REMOTE_LEDGER_SQL_H
#define REMOTE_LEDGER_SQL_H

#include <pthread.h>
#include <sqlite3.h>

#include "ledger.h"

enum statement {
    SQL_NOTE_DO,
    SQL_EXECUTE,
    SQL_NOTE_BLOCKED,
    SQL_NOTE_UNDO,
    SQL_UNDO,
    SQL_NOTE_GET,
    SQL_NOTE_TRACE,
    SQL_SWITCH_SET,
    SQL_SWITCH_READ,
    SQL_SWITCH_TAKE,
    SQL_TOTALS,
    SQL_ENTRIES,
    SQL_SWITCHES,
    SQL_STATEMENT_COUNT,
};

struct ledger {
    pthread_mutex_t mutex; /* one statement at a time */
    sqlite3 *db;
    sqlite3_stmt *statements[SQL_STATEMENT_COUNT];
};

/* Locks the ledger and gives the statement, ready for values; end it with ledger_end. */
sqlite3_stmt *ledger_begin(struct ledger *ledger, enum statement statement);
/* Unlocks. `code` is the last one of sqlite3_step: SQLITE_DONE is success. */
bool ledger_end(struct ledger *ledger, sqlite3_stmt *statement, int code);

#endif
