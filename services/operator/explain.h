/*
 * Explains an order in three lines: its present step; since when and why, in the service's own words; its
 * next request, and the consequences of a failure (operator/forecast.h). Tool, console and gateway have the
 * lines from here. It works on rows that the caller has read. mg_explain_asks_queue names a queue if its
 * counts are needed, which only the broker has.
 */
#ifndef MG_OPERATOR_EXPLAIN_H
#define MG_OPERATOR_EXPLAIN_H

#include "base/clock.h"
#include "base/json_write.h"
#include "core/words.h"
#include "io/amqp/topology.h"
#include "operator/table.h"
#include "workflow/workflow.h"

struct mg_explain_queue {
    int64_t ready, consumers; /* as mg_queue_seen_fn reports them */
};

/* Reports, each of one order or of all services. NULL: not read; the lines lack its facts. */
struct mg_explain_facts {
    /* The steps have the columns of mg_steps_complete; without them the reasons of guards are missing. */
    const struct mg_table *order, *steps;
    struct mg_slice definition;      /* of the order's version; absent: unknown, and so is the next request */
    const struct mg_table *since;    /* MG_REPORT_ORDER_SINCE */
    const struct mg_table *services; /* MG_REPORT_SERVICES */
    const struct mg_table *controlled;    /* MG_REPORT_CONTROLLED; of use if mg_explain_asks_controlled */
    const struct mg_explain_queue *queue; /* the queue of mg_explain_asks_queue */
    const struct mg_table *owed;          /* MG_REPORT_ORDER_OWED */
    const struct mg_table *line;          /* MG_REPORT_LINE of the order */
    bool has_branches;                    /* the notes have the reasons of guards, too */
};

#define MG_EXPLAIN_CODES_MAX 2 /* of the order and of the step */

/* Moments stand in the texts as in reports: "2026-01-31T12:34:56.789Z". */
struct mg_explanation {
    struct mg_buf what, why, next;
    struct mg_buf notes; /* further facts, each ended by a line end */
    /* `since`: the begin of `why`. `next_at`: the first of the moments in `next`. "": unknown, or none is
     * set. */
    char since[MG_TIME_TEXT_SIZE], next_at[MG_TIME_TEXT_SIZE];
    /* The reasons in `why`, by their words, for deploy/docs/codes.md. */
    enum mg_reason codes[MG_EXPLAIN_CODES_MAX];
    int code_count;
};

bool mg_explain_has_ended(const struct mg_table *order);

/* Whether the explanation needs MG_REPORT_CONTROLLED, because a step waits for a service that is paused or
 * down. */
bool mg_explain_asks_controlled(const struct mg_table *steps);

/* Whether the explanation needs the state of a request queue, and its name. True if a request is out,
 * which may lie there unread, or if the step waits for the queue. */
bool mg_explain_asks_queue(const struct mg_table *order, const struct mg_table *steps,
                           char ret_queue[MG_QUEUE_NAME_SIZE]);
/* The key of the line that the order has a place in; "": none. */
const char *mg_explain_line_key(const struct mg_explain_facts *facts);

/* The caller frees it in any case; without memory a text's `failed` is set. */
void mg_explanation_init(struct mg_explanation *ret); /* without a text */
void mg_explanation_make(struct mg_explanation *ret, const struct mg_explain_facts *facts);
void mg_explanation_free(struct mg_explanation *explanation);
/* Writes the member `explanation`: {"what", "since", "why", "codes": [word, …], "next", "next_at",
 * "notes": [text, …]}. */
void mg_explanation_write(struct mg_json_writer *json, const struct mg_explanation *explanation);
/* Appends the lines for a terminal, each ended; moments as mg_moments_format has them. */
void mg_explanation_format(struct mg_buf *out, const struct mg_explanation *explanation, int64_t now_ms);

/* Appends a text for people with each moment in it as "04:01:10 UTC (in 28 s)"; one of another day has its
 * date. */
void mg_moments_format(struct mg_buf *out, struct mg_slice text, int64_t now_ms);

/* explain_next.c: appends the next request for this row of the steps (-1: none), and its moment. */
void mg_explain_next_write(struct mg_explanation *explanation, const struct mg_explain_facts *facts, int row);
/* Appends the method and the path of a call up to its first reference: "GET /rooms/…". */
void mg_explain_call_write(struct mg_buf *out, const struct mg_workflow *workflow, int step, int call);

#endif
