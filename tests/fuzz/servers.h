/*
 * Database and broker behind the console, by linking: they answer in a later turn of the loop, with what the
 * input says, and require of every question that a database can answer it, and of every change that somebody
 * who may make it has asked for it. A target that uses them wraps mg_loop_offload.
 */
#ifndef MG_TESTS_FUZZ_SERVERS_H
#define MG_TESTS_FUZZ_SERVERS_H

#include "base/loop.h"
#include "fuzz.h"

struct servers {
    int row_count;                 /* of each report */
    bool is_broker_up, is_refusal; /* refusal: the database answers with an error */
    unsigned int variant;          /* which of its answers a change gets */
    char *texts;                   /* what strangers left in the tables: UTF-8, a cell a line */
    /* While a request is routed by which `who` may change something: one thing. */
    bool may_change;
    const char *who;
    int changes; /* begun */
};
extern struct servers servers;

/* Between this and the end there is one console. */
void servers_begin(struct mg_loop *loop);
void servers_end(void);

/* The columns that strangers write; every report has all of them. */
extern const char *const SERVERS_TEXTS[];
/* What a cell of theirs holds. The caller frees it. */
char *servers_cell(int row, const char *column);

#endif
