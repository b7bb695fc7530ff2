/*
 * Database and broker behind the console, replaced at link time. They answer in a later turn of the loop,
 * with rows of the input. They require that every query is one that a database can answer. They require that
 * every change belongs to an authorized request. A target that uses them wraps mg_loop_offload.
 */
#ifndef MG_TESTS_FUZZ_SERVERS_H
#define MG_TESTS_FUZZ_SERVERS_H

#include "base/loop.h"
#include "fuzz.h"

struct servers {
    int row_count;                 /* of each report */
    bool is_broker_up, is_refusal; /* refusal: the database answers with an error */
    unsigned int variant;          /* picks the answer to a change */
    char *texts;                   /* strangers' texts in the tables: UTF-8, one cell a line */
    /* Set while a request is routed by which `who` may make one change. */
    bool may_change;
    const char *who;
    int changes; /* changes begun */
};
extern struct servers servers;

/* From here to the end there is one console. */
void servers_begin(struct mg_loop *loop);
void servers_end(void);

/* The columns with strangers' texts; every report has all of them. */
extern const char *const SERVERS_TEXTS[];
/* The text of such a cell. The caller frees it. */
char *servers_cell(int row, const char *column);

#endif
