/*
 * The effects of the sample services, by service and idempotency key, in SQLite. From it a test checks
 * afterwards that each key had one effect, the net effect of an undone order, and the bytes that arrived.
 *
 * Every call is one SQLite statement, so it is atomic, also under kill -9 (write-ahead log; no wait for the
 * disk). Calls may come from any thread.
 */
#ifndef REMOTE_LEDGER_H
#define REMOTE_LEDGER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "behaviour.h"

struct ledger;

enum state {
    STATE_NONE,      /* asked for, never executed */
    STATE_DONE,      /* executed, not undone */
    STATE_UNDONE,    /* executed and undone */
    STATE_CANCELLED, /* undone before it was executed: a tombstone */
};

struct entry {
    bool is_known;
    enum state state;
    int64_t id;
    int64_t do_requests, undo_requests; /* with this one */
    int64_t ready_at_ms;                /* done, but asynchronous: GET gets 202 until then */
    bool is_other_body;                 /* of a do: not the bytes that came first under this key */
    char *body;                         /* of the first do; owned */
    int64_t body_len;
};
void entry_finish(struct entry *entry);

/* NULL: could not be opened; a line at stderr gives the reason. */
struct ledger *ledger_open(const char *path);
void ledger_close(struct ledger *ledger); /* accepts NULL */

/* All return false on an error of SQLite, with the reason at stderr. The caller finishes returned entries. */
bool ledger_note_do(struct ledger *ledger, const char *service, const char *key, const char *body,
                    size_t body_len, struct entry *ret_entry);
/* Executes a noted do once. A done key stays unchanged unless `is_forgetful`, an undone or cancelled key
 * always. The entry holds the present state; `ret_is_executed` is true if this call executed the do. */
bool ledger_execute(struct ledger *ledger, const char *service, const char *key, int64_t ready_in_ms,
                    bool is_forgetful, bool *ret_is_executed, struct entry *ret_entry);
bool ledger_note_undo(struct ledger *ledger, const char *service, const char *key, const char *body,
                      size_t body_len, struct entry *ret_entry);
/* done becomes undone, none becomes cancelled, the others stay. */
bool ledger_undo(struct ledger *ledger, const char *service, const char *key, struct entry *ret_entry);
/* Counts the GET if the key is known. */
bool ledger_note_get(struct ledger *ledger, const char *service, const char *key, struct entry *ret_entry);
/* The trace that a call of this key was a part of. */
bool ledger_note_trace(struct ledger *ledger, const char *service, const char *key, const char *traceparent);

/* A switch: how a service behaves until it is changed. `count`: for so many requests; -1: for all. */
bool ledger_switch_set(struct ledger *ledger, const char *service, const char *behaviour, int64_t count,
                       int touches);
/* The behaviour for one request of `kind`, counted down; MODE_ORDER if no switch speaks of it. */
bool ledger_switch_take(struct ledger *ledger, const char *service, int kind,
                        struct behaviour *ret_behaviour);

/* The ledger as JSON text, to be freed; NULL: no memory. `service`, `key`: only those, or NULL. */
char *ledger_report(struct ledger *ledger, const char *service, const char *key, bool has_entries);

int64_t ledger_now_ms(void); /* milliseconds since 1970 */
const char *state_name(enum state state);

#endif
