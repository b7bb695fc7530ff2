/* Text of the three services' manual pages beyond their options; mg_config_load reads it for --man. */
#ifndef MG_MANUAL_H
#define MG_MANUAL_H

#include "base/config.h"

extern const struct mg_manual mg_manual_scheduler, mg_manual_agent, mg_manual_supervisor;

#endif
