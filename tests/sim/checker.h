/* Shared parts of the checker: checker.c and check_*.c during a run, verdict.c at its end. */
#ifndef SIM_CHECKER_H
#define SIM_CHECKER_H

#include "orders.h"
#include "workflow/workflow.h"

/* Whether there was another copy of a do of this step: redelivered by the broker, or sent again (law 3,
 * re-creation). */
bool sim_check_has_copies(const char *order_id, const char *step);
/* A conclusive answer to this do was sent before that moment, and Makegood sent its request once. A later
 * redelivery, after an ack that the broker lost, is known to no process. */
bool sim_check_is_do_settled(const char *correlation_id, int64_t before_us);
bool sim_check_has_left(const char *correlation_id); /* this request was sent, with any outcome */
/* copies.c: a message has entered a queue; `is_again`: it is not the first copy. */
struct sim_message;
void sim_copies_published(const struct sim_message *message, bool is_again);
struct mg_request;
bool sim_check_read_request(const struct sim_message *message, struct mg_request *ret_request);
void sim_check_parked_written(struct sim_submitted *order); /* check_deadline.c: the order was committed */
/* clock_run.c: checks a commit of a run in which only the database's clock is set. */
void sim_check_clock_committed(const struct mg_order_record *before, const struct mg_order_write *write);
/* minority_run.c: checks a commit of a run in which only queues lose their majority. */
void sim_check_minority_committed(const struct mg_order_record *before, const struct mg_order_write *write);
/* check_line.c: checks a commit of an order that is in line for its key. */
void sim_check_line_committed(const struct mg_order_record *before, const struct mg_order_write *write);
/* full_run.c: notes a commit of a run in which only a service is slow. */
void sim_check_full_committed(const struct mg_order_write *write);
/* check_branch.c: checks a commit of an order with conditions. */
void sim_check_branch_committed(const struct mg_order_record *before, const struct mg_order_write *write);
void sim_check_ready_begin(const struct mg_order_record *record); /* a commit of any order */
/* Each call to a service; `body` absent: it has none. */
void sim_check_called(const char *order_id, const char *step, struct mg_slice body);
/* False: by its payload the step has to be skipped or refused. */
bool sim_check_had_to_run(const struct mg_order_record *record, const struct sim_submitted *order, int step);
void sim_check_branch_ended(const struct mg_order_record *record, const struct sim_submitted *order);
struct mg_status_message;
void sim_check_refusal(const struct sim_submitted *order, const struct mg_status_message *status);
void sim_check_not_refused(const struct sim_submitted *order);

/* One transition of an event. */
struct sim_moved {
    int step; /* -1: the order itself; then the states have no meaning */
    enum mg_step_state from, to;
    enum mg_kind kind;      /* of the attempt */
    struct mg_slice reason; /* quoted */
};
/* False: the event has no such transition. */
bool sim_check_moved(const struct mg_event_record *event, const struct mg_workflow *workflow, int index,
                     struct sim_moved *ret_moved);
bool sim_check_moved_for(const struct sim_moved *moved, enum mg_reason reason);

/* check_learn.c: a reply has entered its queue, or an operator gives a step this result. */
struct mg_reply;
void sim_check_given(const struct mg_reply *reply, struct mg_slice correlation_id);
void sim_check_told(const char *order_id, const char *step, struct mg_slice result);
/* The key of the work with this number, as a request names it. A number that its service never gave, or gave
 * for another step, is in no call that Makegood may make. */
const char *sim_check_named(const char *order_id, const char *step, const char *text);
void sim_check_learn_committed(const struct mg_order_record *before, const struct mg_order_write *write);

/* check_answer.c: a reply has entered its queue. */
void sim_check_answered(const struct mg_reply *reply, struct mg_slice correlation_id);
/* By its body the work may still act, or may still begin (law 11, quiesce). */
bool sim_check_leaves_open(const struct mg_reply *reply);
void sim_check_answer_committed(const struct mg_order_record *before, const struct mg_order_write *write);

/* check_doubt.c: a service is about to act on this work. */
struct sim_work;
void sim_check_acts(const struct sim_work *work);
void sim_check_doubt_committed(const struct mg_order_record *before, const struct mg_order_write *write);
const struct mg_workflow *sim_check_workflow(const char *name); /* as parsed from definitions.c; NULL: none */

/* Whether a queue ever had a message of this type and id. */
bool sim_check_is_published(const char *type, const char *message_id);
/* The event itself records lost state: the order may have continued in the same write and no longer have this
 * reason. */
bool sim_check_tells_of_lost_state(const struct mg_event_record *event);
/* The correlation id of the reply that is this event's cause; absent for any other cause. */
struct mg_slice sim_check_correlation(const struct mg_event_record *event);

#endif
