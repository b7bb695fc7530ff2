/* The tables as documents: `makegood workflow states` prints them, the README shows them, a test compares the
 * two. */
#ifndef MG_CORE_DESCRIBE_H
#define MG_CORE_DESCRIBE_H

/* Receives the text piece by piece. */
typedef void mg_describe_fn(void *arg, const char *text);

/* Two Mermaid state diagrams, the order's and the step's: every transition that a table allows. */
void mg_describe_mermaid(mg_describe_fn *put, void *arg);
/* table,state,event,verdict,next,effects,why: one line for each cell, none left out (RFC 4180). */
void mg_describe_csv(mg_describe_fn *put, void *arg);

#endif
