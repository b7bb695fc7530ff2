/*
 * The meaning of an operator's command for its order.
 */
#ifndef MG_CORE_OPERATOR_H
#define MG_CORE_OPERATOR_H

#include "core/decider.h"

enum mg_verdict mg_operator_decide(struct mg_decider *decider);

#endif
