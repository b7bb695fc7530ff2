/* The answers that database and broker owe to the console (servers.c); only for the files of servers.h. */
#ifndef MG_TESTS_FUZZ_OWED_H
#define MG_TESTS_FUZZ_OWED_H

#include "console/console_parts.h"

struct owed {
    struct owed *next;
    void (*answer)(struct owed *owed);
    void (*fn)(void); /* the callback, of the type that `answer` expects */
    void *arg;
    enum mg_report report;
    struct mg_command_result result;
    bool is_work; /* of the loop: it is ended also when no caller waits any more */
};

/* `answer` runs once, in the loop's next turn; at the end only if `is_work`. The caller fills the rest of the
 * returned object before that turn. */
struct owed *servers_owe(void (*answer)(struct owed *), void (*fn)(void), void *arg);

/* An action is recorded; each record permits one change, which comes later. */
void servers_note(void);
void servers_use_note(void);

#endif
