/* A dead letter's identity, as the tool and the console record it when an operator requeues or drops it. */
#ifndef MG_OPERATOR_LETTER_H
#define MG_OPERATOR_LETTER_H

#include "io/amqp/topology.h"

#define MG_LETTER_MARK_SIZE 33
/* A hash of its contents, because its place in the queue changes, and its message id may be absent. Out of
 * memory the mark is empty, and names no letter. */
void mg_letter_mark_make(const struct mg_dead_letter *letter, char ret_mark[MG_LETTER_MARK_SIZE]);

#define MG_LETTER_ID_SIZE 256 /* the longest message id of AMQP */
/* The message id for logs and tables; "" if it is absent. Cut at a NUL; invalid UTF-8 is replaced. */
void mg_letter_id_write(const struct mg_dead_letter *letter, char ret_id[MG_LETTER_ID_SIZE]);

/* Whether this is a message of the searched order: the order_id in its body, its message id or its
 * correlation id begins with `text`. A submission without an order_id derives its id from the message id.
 * `ret_id`: the order_id, or the message id if there is none. */
bool mg_letter_find(const struct mg_dead_letter *letter, const char *text, char ret_id[MG_LETTER_ID_SIZE]);

#endif
