/* The option that bounds the memory for messages: a row in the option table of each program that holds
 * messages. */
#ifndef MG_SERVICES_MEMORY_OPTION_H
#define MG_SERVICES_MEMORY_OPTION_H

#include "base/config.h"
#include "base/memory.h"

/* clang-format off */
#define MG_MEMORY_OPTION(variable)                                                                             \
    {.name = "memory-budget", .type = MG_OPTION_INTEGER, .target = &(variable), .default_value = "0",          \
     .min = 0, .max = INT64_C(1) << 40, .value_name = "BYTES",                                               \
     .help = "memory for messages in hand and what is made of them, 16 MiB or more; 0: half of what the "    \
             "control group or the machine allows, 512 MiB at most"}
/* clang-format on */

/* MG_BAD_INPUT: too little for one message. */
enum mg_class mg_memory_option_check(int64_t asked, size_t *ret_bytes, struct mg_err *err) MG_MUSTCHECK;

#endif
