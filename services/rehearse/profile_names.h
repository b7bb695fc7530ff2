/* The names in a profile: steps, services and signals, and kinds of calls. Private to services/rehearse. */
#ifndef MG_REHEARSE_PROFILE_NAMES_H
#define MG_REHEARSE_PROFILE_NAMES_H

#include "profile.h"

struct mg_profile_target {
    uint64_t steps; /* bits */
    int kind;       /* -1: all kinds */
    uint8_t rank;   /* above 0; a higher one outranks */
};

/* "charge", "payment", "approved", "charge.undo", "step:charge", "service:payment.do", "signal:approved".
 * MG_BAD_INPUT: there is no such name, several things have it, or the setting is not for it. */
enum mg_class mg_profile_target_find(const struct mg_workflow *workflow, enum mg_setting setting,
                                     const char *name, struct mg_profile_target *ret,
                                     struct mg_err *err) MG_MUSTCHECK;

#endif
