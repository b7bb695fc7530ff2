/*
 * The meaning of an operator's command for its order.
 */
#ifndef MG_CORE_OPERATOR_H
#define MG_CORE_OPERATOR_H

#include "core/decider.h"

enum mg_verdict mg_operator_decide(struct mg_decider *decider);
/* An order in error goes on by itself as soon as no step blocks it. After lost state it needs a command. */
enum mg_verdict mg_operator_order_go_on(struct mg_decider *decider);

#endif
