/*
 * A scheduler without broker and database: one order in memory, decided by the scheduler's own reading,
 * deciding and rendering (services/scheduler). Causes come in as messages, and the messages that follow go to
 * a callback. The clock is the caller's.
 */
#ifndef MG_REHEARSE_DESK_H
#define MG_REHEARSE_DESK_H

#include "core/model.h"
#include "wire/command.h"
#include "wire/request.h"
#include "workflow/answer_conditions.h"
#include "workflow/workflow.h"

/* One change of a step's state. */
struct mg_desk_change {
    int step;
    enum mg_step_state from, to;
    struct mg_slice reason; /* a word of core/words.def */
};

struct mg_desk_events {
    void (*request)(void *arg, int step, const struct mg_request *request);
    void (*status)(void *arg, struct mg_slice body); /* a status message */
    void (*change)(void *arg, const struct mg_desk_change *change);
    /* A condition of a step's guard had this value (MG_CONDITION_WHEN, or a requirement). */
    void (*condition)(void *arg, int step, int number, bool is_true);
    /* The conditions of a step gave a good answer, or a signal that does not end it, this meaning. */
    void (*answer)(void *arg, int step, enum mg_answer_meaning meaning);
    void *arg;
};

/* All orders have this id; expectations may name its keys. */
#define MG_DESK_ORDER_ID "order-1"

struct mg_desk;

/* A signal and its outcome. */
struct mg_desk_signal {
    const char *name, *id;
    const char *by; /* as in a file of cases: an operator, "client" or "client:NAME" */
    struct mg_slice payload;
    enum mg_signal_outcome outcome; /* NONE: it is no signal that the order could take */
    char text[MG_COMMAND_REASON_MAX + 1];
};

/* The workflow must outlive the desk. NULL: no memory. */
struct mg_desk *mg_desk_create(const struct mg_workflow *workflow, const struct mg_desk_events *events);
void mg_desk_destroy(struct mg_desk *desk); /* accepts NULL */

/* Each decides one cause at `now_ms`. False: no memory. */
bool mg_desk_submit(struct mg_desk *desk, struct mg_slice body, int64_t now_ms);
bool mg_desk_reply(struct mg_desk *desk, struct mg_slice body, int64_t now_ms);
/* Fills in the outcome. */
bool mg_desk_signal(struct mg_desk *desk, struct mg_desk_signal *signal, int64_t now_ms);
/* Asks about all that is due, as a supervisor does. */
bool mg_desk_ask(struct mg_desk *desk, int64_t now_ms);

/* NULL: no order was stored. */
const struct mg_order *mg_desk_order(const struct mg_desk *desk);
/* Why it turned back, the `cause` in its last status; data NULL: it goes forward. */
struct mg_slice mg_desk_cause(const struct mg_desk *desk);
/* The next moment at which mg_desk_ask has something to ask; 0: none. */
int64_t mg_desk_due_ms(const struct mg_desk *desk);
/* The labels of the order, as a JSON object. */
void mg_desk_labels(const struct mg_desk *desk, struct mg_buf *ret_labels);

#endif
