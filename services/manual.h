/* What the manual pages of the three services say beyond their options; read by mg_config_load for --man. */
#ifndef MG_MANUAL_H
#define MG_MANUAL_H

#include "base/config.h"

extern const struct mg_manual mg_manual_scheduler, mg_manual_agent, mg_manual_supervisor;

#endif
