/*
 * The facts of a step's guard (`when`, `require`), which workflow/step_guard.c evaluates. The core sees no
 * payload: it asks with MG_EFFECT_ASK when the step becomes ready. The handler evaluates, and decides
 * MG_CAUSE_FACTS in the same fold. The verdict is durable with its event row and is not taken again, except
 * after a command that begins the step anew.
 */
#ifndef MG_CORE_GUARD_H
#define MG_CORE_GUARD_H

#include "core/decider.h"

enum mg_verdict mg_guard_facts(struct mg_decider *decider);

#endif
