/* What the parts of the checker share (checker.c and check_*.c: while it happens; verdict.c: at the end). */
#ifndef SIM_CHECKER_H
#define SIM_CHECKER_H

#include "orders.h"
#include "wire/workflow.h"

/* Whether there was another copy of a do of this step: given out again by the broker, or sent again (law 3,
 * re-creation).
 */
bool sim_check_has_copies(const char *order_id, const char *step);
/* An answer to this do that leaves nothing open is on its way, and Makegood has sent its request once:
 * whoever gets it from now on, after an ack that the broker has lost, is nobody's to know of. */
bool sim_check_is_do_settled(const char *correlation_id);
bool sim_check_has_left(const char *correlation_id); /* this request was sent, whatever became of it */
/* copies.c: a message is in a queue; `is_again`: and not for the first time. */
struct sim_message;
void sim_copies_published(const struct sim_message *message, bool is_again);
struct mg_request;
bool sim_check_read_request(const struct sim_message *message, struct mg_request *ret_request);
void sim_check_parked_written(struct sim_submitted *order); /* check_deadline.c: it was committed */
/* clock_run.c: nothing but its clock was wrong when it was committed. */
void sim_check_clock_committed(const struct mg_order_record *before, const struct mg_order_write *write);
/* minority_run.c: nothing failed but queues without their majority. */
void sim_check_minority_committed(const struct mg_order_record *before, const struct mg_order_write *write);
const struct mg_workflow *sim_check_workflow(const char *name); /* as parsed from definitions.c; NULL: none */

/* A queue has had a message of this type. */
bool sim_check_is_published(const char *type, const char *message_id);
/* The event says so itself: the order may have gone on in the same write, and lost this reason again. */
bool sim_check_tells_of_lost_state(const struct mg_event_record *event);

#endif
